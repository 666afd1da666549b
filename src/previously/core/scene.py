"""Scenes, analyses and the signals in both: plain values that say what a span changed.

The librarian makes an analysis of a fragment (`folds.analysis`), a scene leaves a summary and entries behind
(`folds.scene`); `lore` merges and finds the entries. Each list of signals is bounded, its items are one line each, and
no item is there twice.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from previously.core.scripts import casefold

MOST_ITEMS = 8
"""Items of each list that are kept: a model that names more has begun to retell."""

LONGEST_ITEM = 200
"""Characters of an item that are kept: one sentence."""


@dataclass(frozen=True, slots=True)
class Signals:
    """Events, changes of state, threads that were left open and threads that were settled."""

    events: tuple[str, ...] = ()
    state_changes: tuple[str, ...] = ()
    open_threads: tuple[str, ...] = ()
    resolved_threads: tuple[str, ...] = ()

    @property
    def is_empty(self) -> bool:
        return not any(getattr(self, one.name) for one in fields(self))

    def as_json(self) -> dict[str, list[str]]:
        return {one.name: list(getattr(self, one.name)) for one in fields(self)}


NO_SIGNALS = Signals()


@dataclass(frozen=True, slots=True)
class Settled:
    """A thread that a span settled, named by what opened it, and how it ended; its own words where that is not said."""

    thread: str
    text: str


def parse_settled(given: object) -> tuple[Settled, ...]:
    """Return the settled threads in what a version holds; what is none is passed over."""
    items = given if isinstance(given, list) else ()
    pairs = ((item.get("thread"), item.get("text")) for item in items if isinstance(item, Mapping))
    return tuple(Settled(thread, text) for thread, text in pairs if isinstance(thread, str) and isinstance(text, str))


def render_settled(settled: Iterable[Settled]) -> dict[str, list[dict[str, str]]]:
    """Return the settled threads as a field of a version; no field where there are none."""
    listed = [{"thread": one.thread, "text": one.text} for one in settled]
    return {"settled": listed} if listed else {}


def parse_signals(given: Mapping[str, Any]) -> Signals:
    """Return the signals in what a model or a file gives: a text counts as a list of one, what is no text is passed
    over."""
    return Signals(**{one.name: parse_items(given.get(one.name)) for one in fields(Signals)})


def parse_items(given: object) -> tuple[str, ...]:
    """Return a list of short texts, trimmed, each once whatever its case, at most `MOST_ITEMS`."""
    items: Iterable[object] = (given,) if isinstance(given, str) else given if isinstance(given, list | tuple) else ()
    lines: dict[str, str] = {}
    for item in items:
        line = " ".join(item.split())[:LONGEST_ITEM].strip() if isinstance(item, str) else ""
        if line:
            lines.setdefault(casefold(line), line)
    return tuple(lines.values())[:MOST_ITEMS]


def keep_newest(items: Sequence[str]) -> tuple[str, ...]:
    """Return the newest of short texts, each once, in their order."""
    return tuple(reversed(parse_items(items[::-1])))


def join_signals(first: Signals, second: Signals) -> Signals:
    """Return the signals of two parts; what the second settled is no longer open. Of too many the newest stay."""
    settled = set(map(casefold, second.resolved_threads))
    still_open = tuple(text for text in first.open_threads if casefold(text) not in settled)
    return Signals(
        keep_newest(first.events + second.events),
        keep_newest(first.state_changes + second.state_changes),
        keep_newest(still_open + second.open_threads),
        keep_newest(first.resolved_threads + second.resolved_threads),
    )


LONGEST_UPDATE = 1_200
"""Characters of a summary update that are kept: about three long sentences."""

MOST_MENTIONS = 16
"""People of a fragment that are kept: more are a crowd."""


@dataclass(frozen=True, slots=True)
class Analysis:
    """The addition of a fragment to the summary, and its changes."""

    summary_update: str
    """One to three sentences, past tense."""
    signals: Signals = NO_SIGNALS
    mentions: tuple[str, ...] = ()
    """The people in the fragment, by name."""
    contradictions: tuple[str, ...] = ()
    """Places where it says otherwise than the story so far."""
    settled: tuple[Settled, ...] = ()
    """The threads that it settled, by what opened them."""

    @property
    def is_empty(self) -> bool:
        return not self.summary_update.strip() and self.signals.is_empty


@dataclass(frozen=True, slots=True)
class Fragment:
    """One position of a path as the librarian sees it."""

    position: int
    is_fragment: bool
    """False for what tells nothing: system messages, messages without text, chapter headings."""
    analysis: Analysis | None = None
    """The newest one, if there is one."""


TYPES = ("character", "location", "item", "faction", "concept", "lore", "event", "rule", "document")
"""The things an entry can be about."""

_SYNONYMS = {
    "character": "person people npc npcs characters pc creature animal monster being",
    "location": "place places locations area region city town village building room site setting",
    "item": "items object objects artifact artefact weapon equipment thing tool vehicle",
    "faction": "factions group groups organization organisation guild gang clan company",
    "concept": "concepts idea relationship status secret secrets ability skill magic power system",
    "lore": "history world worldbuilding world-building background myth legend culture",
    "event": "events",
    "rule": "rules law laws",
    "document": "documents letter book note text",
}
_TYPE_OF = {word: known for known, words in _SYNONYMS.items() for word in (known, *words.split())}


def find_type(word: str) -> str:
    """Return the type that a word stands for: itself in lower case, or the one it is another word for."""
    return _TYPE_OF.get(casefold(word), casefold(word))


@dataclass(frozen=True, slots=True)
class Described:
    """One thing as one scene, file or person describes it."""

    name: str
    type: str
    """One of `TYPES`."""
    keywords: tuple[str, ...]
    content: str


@dataclass(frozen=True, slots=True)
class Scene:
    """The memory of a span: `{summary, lorebooks}`, and its signals."""

    summary: str
    entries: tuple[Described, ...] = ()
    signals: Signals = NO_SIGNALS
    settled: tuple[Settled, ...] = ()
    """The threads that it settled, by what opened them."""


NO_MESSAGES = -1
"""The position of a memory that does not say which messages it is about."""


@dataclass(frozen=True, slots=True)
class SpanMemory:
    """Memory that another program made of a span of messages, or a person there. Positions are those in its file, or
    `NO_MESSAGES`."""

    first: int
    last: int
    source: str
    """The program it is from."""
    text: str = ""
    """An account of the events; empty where it only describes things."""
    title: str = ""
    scene: Scene | None = None
    """All of it, where it describes things too."""
    analysis: Analysis | None = None
    """All of it, where it is what a librarian noted of one fragment."""
