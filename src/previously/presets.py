"""The values of settings: what a role-play, a novel, a game and an agent need; the bounds; how words are read.

A preset changes defaults only: whatever a file, a variable or a story says wins over it. Nothing here knows where a
value comes from.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from previously.core.errors import BadInput
from previously.models.tokenizers import KNOWN, is_known

NEVER_FIRST = 10_000_000
"""A threshold that no window of tokens is large enough to reach before the one in tokens is."""

PRESETS: Mapping[str, Mapping[str, int | str]] = {
    "roleplay": {},
    "novel": {
        "tail_messages": 10,
        "recap_words": 800,
        "chapter_messages": 0,
        "chapter_words": 800,
        "backbone_words": 800,
        "timeline": "librarian",
        "lore": "suggest",
        "cast": "off",
    },
    "game": {
        "tail_turns": 4,
        "tail_percent": 40,
        "recall_percent": 10,
        "fold_messages": 1_000,
        "fold_words": 100_000,
        "fold_tokens": 1_500,
        "recap_words": 100,
        "chapter_messages": 0,
        "backbone_words": 300,
        "scene_messages": 0,
        "lore": "off",
        "cast": "turn",
    },
    "agent": {
        "tail_turns": 2,
        "tail_percent": 90,
        "recall_percent": 10,
        "fold_messages": NEVER_FIRST,
        "fold_words": NEVER_FIRST,
        "recap_words": 1_000,
        "chapter_messages": 0,
        "backbone_words": 0,
        "timeline": "brief",
        "clock": "chat",
        "scene_messages": 0,
        "lore": "off",
        "cast": "off",
    },
}
"""By name, what differs from the defaults of `Settings`. A novel's chapters close at headings, or where its
librarian's summary is full, and are as long as its recap; a game's close when the game says so; an agent has none."""

MEANINGS: Mapping[str, str] = {
    "roleplay": "A chat between characters: recap, chapters, threads, lore, and what each character knows.",
    "novel": "A text in fragments: a librarian notes each, chapters follow headings, lore is only suggested.",
    "game": "Short turns with a state: small recaps, and what each witness knows after every turn.",
    "agent": "An agent at work: a brief of goal, decisions and files instead of a recap.",
}
"""The presets in words."""

FOLD_PERCENT: Mapping[str, int] = {"roleplay": 25, "novel": 25, "agent": 85}
"""The share of the window that `fold_tokens` is where nobody gives it; a game has a number of its own."""

TAIL_PERCENT: Mapping[str, int] = {"roleplay": 60, "novel": 60, "game": 40, "agent": 25}
"""The share of the window that a tail counted in turns may take."""

LARGEST_FOLD = 3_000
"""The most tokens a story's fold waits for: beyond that an episode of 150 words leaves out what matters, and below half
of it the question costs more than the messages. An agent's brief waits for its window."""


def describe_presets(preset: str | None = None) -> list[dict[str, Any]]:
    """Return a preset, or all, with their meanings and what they change; `BadInput` if there is none of that name."""
    if preset is not None and preset not in PRESETS:
        raise BadInput(f"There is no preset {preset!r}; there are {', '.join(PRESETS)}.")
    named = PRESETS if preset is None else [preset]
    return [{"preset": name, "meaning": MEANINGS[name], "settings": dict(PRESETS[name])} for name in named]


def compute_fold_tokens(preset: str, window_tokens: int) -> int:
    """Return the tokens that make a fold due in a window of that size, where nobody says otherwise."""
    fixed = PRESETS[preset].get("fold_tokens")
    if isinstance(fixed, int):
        return fixed
    share = window_tokens * FOLD_PERCENT[preset] // 100
    return share if preset == "agent" else min(LARGEST_FOLD, share)


_LOWEST = {
    **dict.fromkeys(("fold_messages", "fold_words", "fold_tokens", "timeout_s"), 1),
    "chapter_words": 10,
    "tail_percent": 10,
    "window_tokens": 256,
    "memory_window_tokens": 2_048,
    "summary_characters": 100,
    "summary_target_characters": 100,
}
"""The lowest value of a number, where that is not 0."""

_HIGHEST = {
    "timeout_s": 86_400,
    "tail_percent": 90,
    "recall_percent": 50,
    "lore_percent": 50,
    "lore_depth": 1_000,
    "lore_deepest": 1_000,
    "lore_steps": 100,
    "lore_least": 1_000,
    "scene_messages": 500,
}
_LARGEST = 10**12
"""The highest value of any other number; a larger one is a slip."""

CHOICES: dict[str, tuple[str, ...]] = {
    "preset": tuple(PRESETS),
    "timeline": ("recap", "librarian", "scenes", "brief"),
    "lore": ("on", "suggest", "off"),
    "lore_scan": ("exact", "sillytavern"),
    "cast": ("group", "turn", "off"),
    "clock": ("story", "chat"),
    "folding": ("automatic", "ask", "off"),
}

_WORDS = {**dict.fromkeys(("true", "yes", "on", "1"), True), **dict.fromkeys(("false", "no", "off", "0"), False)}

_KINDS = {int: "a whole number", float: "a number", bool: "true or false", str: "text"}


def parse_words(kind: type[Any], text: str) -> Any:
    """The value that the words stand for; the words themselves if they stand for none."""
    if kind is bool:
        return _WORDS.get(text.strip().lower(), text)
    try:
        return kind(text.strip())
    except ValueError:
        return text


def find_fault(key: str, kind: type[Any], value: Any) -> str:
    """Say what the value of a setting must be and this one is not; empty if all is well."""
    kinds: tuple[type[Any], ...] = (int, float) if kind is float else (kind,)
    if not isinstance(value, kinds) or (isinstance(value, bool) and kind is not bool):
        return _KINDS[kind]
    if key == "tokenizer":
        return "" if is_known(value) else KNOWN
    if key == "lore_tags":
        return ""
    if kind is str:
        return "" if value in CHOICES[key] else f"one of {', '.join(CHOICES[key])}"
    lowest, highest = _LOWEST.get(key, 0), _HIGHEST.get(key, _LARGEST)
    if not value >= lowest:
        return f"at least {lowest}"
    return "" if value <= highest else f"at most {highest}"


def shorten_value(value: object) -> str:
    """A value as it can stand in a sentence."""
    text = hex(value) if isinstance(value, int) and abs(value) > _LARGEST**9 else repr(value)
    return text if len(text) <= 60 else f"{text[:59]}…"


def show_value(value: object) -> str:
    """A value as people read it."""
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:,}" if isinstance(value, int | float) else str(value)
