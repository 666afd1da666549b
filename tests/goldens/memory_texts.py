"""Sets texts that a fold wrote apart from the structure around them.

In the structure a marker stands where memory stood; what it was is kept under the same place as a hash with a count.
So a change of what memory says shows in `memory_texts` alone, and a change of anything else in the other groups.
"""

from __future__ import annotations

import re
from typing import Any

from tests.goldens.normal_form import LONG_LIST, hash_of, remove_mark

MARKER = "<memory>"
FOLLOWS = "<follows memory>"
RECALLED = "<recalled>"

TEXTS = {
    "show": {"recap", "backbone", "brief", "scenes", "lore", "cast", "threads", "state"},
    "blame": {"text", "shed", "unverified", "found"},
    "diff": {"changes"},
    "pending": {"text", "shed", "unverified"},
    "threads": {"threads"},
    "state": {"state"},
    "cast": {"cast", "summary", "facts", "sentences"},
    "who-knows": {"knows"},
    "scenes": {"scenes"},
    "analyze": {"analyses"},
    "presence": {"stretches"},
    "chapters": {"title", "text", "short"},
    "lore list": {"entries"},
    "lore explain": {"entries"},
    "compact": {"brief", "shed", "unverified"},
    "demo": {"changed", "no_longer_hold"},
}
"""For each command the keys whose values a fold wrote, at any depth. Items in such a list that a person wrote stay."""

FIGURES = {
    "fold": {"input_tokens", "output_tokens"},
    "analyze": {"input_tokens", "output_tokens"},
    "log": {"input_tokens", "output_tokens"},
    "blame": {"input_tokens", "output_tokens"},
    "pending": {"input_tokens", "output_tokens"},
    "demo": {"view_tokens", "verbatim_messages", "left_out", "folds", "named_in_view", "texts", "calls"},
    "view": {"tokens", "items", "left_out", "sections", "free_tokens", "unchanged_tokens", "unchanged_share",
             "volatile_tokens", "new_epoch", "fold_due"},
    "why": {"tokens", "items", "left_out", "sections", "free_tokens", "unchanged_tokens", "unchanged_share",
            "volatile_tokens", "new_epoch", "fold_due"},
    "compact": {"tokens", "reason"},
    "lore list": {"counts"},
    "forget": {"texts"},
    "verify": {"versions", "cover rows", "marks", "moves"},
}  # fmt: skip
"""For each command the keys whose values follow from how long memory is, or how much of it there is."""

BY_FOLDS = {"model", "builtin"}
"""What `by` says of an item that no person wrote."""

HEADINGS = (
    "# The story so far",
    "# Earlier chapters",
    "# Previously in this story",
    "# Earlier in this conversation",
    "# Earlier episodes",
    "# Still open before the messages below",
    "# As things stood before the messages below",
    "# What you know",
    "# About this world",
)
"""What memory begins with in a message; it reaches to the end of its message. Pins are a person's, and stay."""

NEWEST = 4
"""So many of the newest messages of a view are kept: how far back it reaches follows from the length of memory."""

_RECALLED = re.compile(r"\A<recalled>\n.*?\n</recalled>\n\n", re.DOTALL)


class Apart:
    """What was set apart, by its place."""

    def __init__(self) -> None:
        self.kept: dict[str, Any] = {}

    def text(self, place: str, value: Any) -> Any:
        """Keep what a fold wrote; return what stands for it. Items of people stay beside the marker."""
        if value is None:
            return None
        if not isinstance(value, list):
            self.kept[place] = measured(value)
            return MARKER
        folded = [item for item in value if not _is_a_persons(item)]
        self.kept[place] = measured(folded)
        return [MARKER, *(item for item in value if _is_a_persons(item))]

    def figure(self, place: str, value: Any) -> str:
        """Keep what follows from memory; return what stands for it."""
        self.kept[place] = value if isinstance(value, int | float | str | None) else measured(value)
        return FOLLOWS

    def of_command(self, command: str, place: str, answer: Any) -> Any:
        """Return a command's answer without what a fold wrote."""
        noun = command.partition(" ")[0]
        texts, figures = (table.get(command, table.get(noun, set())) for table in (TEXTS, FIGURES))
        if command in ("view", "why", "compact") and "messages" in answer:
            answer = {**answer, "messages": self.of_messages(f"{place}/messages", answer["messages"])}

        def visit(value: Any, at: str) -> Any:
            if isinstance(value, dict):
                return {key: self._of_key(texts, figures, key, inside, f"{at}/{key}", visit)
                        for key, inside in value.items()}  # fmt: skip
            if isinstance(value, list) and len(value) > LONG_LIST:
                inner = Apart()
                told = [inner.of_command(command, str(number), inside) for number, inside in enumerate(value)]
                self.kept[at] = {"items": len(value), "hash": hash_of(inner.kept)}
                return told
            if isinstance(value, list):
                return [visit(inside, f"{at}/{number}") for number, inside in enumerate(value)]
            return value

        return visit(answer, place)

    def _of_key(self, texts: set[str], figures: set[str], key: str, value: Any, place: str, visit: Any) -> Any:
        if key in texts:
            return self.text(place, value)
        return self.figure(place, value) if key in figures else visit(value, place)

    def of_messages(self, place: str, messages: list[Any]) -> Any:
        """Return the messages of a view: the instructions at its front, and the newest."""
        front = [message for message in messages[:1] if message.get("role") in ("system", "developer")]
        older = max(len(front), len(messages) - NEWEST)
        told = [self.of_body(f"{place}/front", message) for message in front]
        told += [self.of_body(f"{place}/newest {at}", message) for at, message in enumerate(messages[older:])]
        between = messages[len(front) : older]
        self.kept[f"{place}/between"] = {"items": len(between), "hash": hash_of(between)}
        return told

    def of_body(self, place: str, value: Any) -> Any:
        """Return a body, or a part of one, without the memory in its texts."""
        if isinstance(value, dict):
            return {key: self.of_body(f"{place}/{key}", inside) for key, inside in value.items()}
        if isinstance(value, list):
            return [self.of_body(f"{place}/{number}", inside) for number, inside in enumerate(value)]
        return self._of_shown(place, value) if isinstance(value, str) else value

    def _of_shown(self, place: str, text: str) -> str:
        text = remove_mark(text)
        if match := _RECALLED.match(text):
            self.kept[f"{place} recalled"] = measured(match[0])
            text = RECALLED + text[match.end() :]
        found = [text.find(heading) for heading in HEADINGS if text.startswith(heading) or f"\n{heading}\n" in text]
        if not found:
            return text
        begins = min(found)
        self.kept[place] = measured(text[begins:])
        return text[:begins] + MARKER


def measured(value: Any) -> Any:
    """Return a text as its words and a hash, a list as its length, the keys of its items and a hash."""
    if isinstance(value, list):
        keys = sorted({key for item in value if isinstance(item, dict) for key in item})
        return {"items": len(value), "keys": " ".join(keys), "hash": hash_of(value)}
    if isinstance(value, dict):
        return {"keys": " ".join(sorted(value)), "hash": hash_of(value)}
    return {"words": len(str(value).split()), "hash": hash_of(value)}


def _is_a_persons(item: Any) -> bool:
    return isinstance(item, dict) and "by" in item and item["by"] not in BY_FOLDS
