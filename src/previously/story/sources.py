"""Sources: the messages behind a sentence of memory.

A sentence is looked for in every memory in force. A text that is rewritten with each fold says a sentence since the
version that first had it, and that version read few messages: those, and no others, are where it can come from. Of
them the ones are named that share its telling words, rare ones before common ones; a word that all of them have tells
none apart. What was noted with its message names that.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from previously.core.errors import BadInput
from previously.core.path import OnPath, Span
from previously.core.scripts import casefold
from previously.core.snapshot import Snapshot
from previously.core.versions import IN_FORCE, Kind, Version
from previously.memory.in_force import InForce, MemoryText
from previously.runtime.story_moment import StoryMoment
from previously.story.access import PERSON, StoryAccess
from previously.story.memory_edits import TextName, read_text
from previously.text.compare import find_terms
from previously.text.sentences import split_sentences

SAYS = 0.6
"""The share of the telling words that a sentence must have to be taken for the one that was asked for: as much as two
threads that are one share (`lore.threads.SAME_THREAD`)."""

TELLS = 0.3
"""The share of the weight of a sentence's words that a message must have to be a source: a third part of it."""

MOST_SOURCES = 5
"""Messages that are named for one sentence: a sentence of 30 words sums up no more that can be told apart."""

MOST_SENTENCES = 8
"""Sentences of memory that are told of: more would say the same once more."""


@dataclass(frozen=True, slots=True)
class SentenceSource:
    """A sentence of memory, and where it comes from."""

    thing: str
    """The memory that says it: `recap`, `chapter:2`, `thread:7`."""
    sentence: str
    span: Span
    """The messages that were read for it."""
    messages: tuple[OnPath, ...]
    """Those of them that say it, the one that says most of it first."""
    version: int | None = None
    """The version that brought it in; None for what is no text of a fold."""
    by_hand: bool = False
    """True for the words of a person, which come from no message."""
    story: str = ""
    """The story it is from, where that is one that came before."""

    def as_json(self) -> dict[str, Any]:
        """Return it in the shape of commands and routes; `from_story` only where that is another story."""
        return {
            "thing": self.thing,
            "sentence": self.sentence,
            "version": self.version,
            "by_hand": self.by_hand,
            "span": [self.span.first, self.span.last],
            **({"from_story": self.story} if self.story else {}),
            "messages": [
                {"position": item.position, "speaker": item.entry.message.speaker, "text": item.entry.message.text}
                for item in self.messages
            ],
        }


@dataclass(frozen=True, slots=True)
class _Said:
    """A text of memory, and where it can have come from."""

    thing: str
    text: str
    span: Span
    kind: Kind | None = None
    version: int | None = None
    positions: tuple[int, ...] = ()
    """The messages that it was noted with."""
    by_hand: bool = False


class Sources:
    """Finds where one story's memory has its sentences from."""

    def __init__(self, access: StoryAccess) -> None:
        self._access = access

    async def blame(self, sentence: str) -> list[SentenceSource]:
        """Return every sentence of memory in force that says this, or holds these words, with the version that brought
        it in and the messages behind it; the nearest first."""
        if not sentence.strip():
            raise BadInput("Give a sentence of memory, or a part of one.")
        return await self._access.read(lambda moment: _blame(moment, sentence))


def _blame(moment: StoryMoment, asked: str) -> list[SentenceSource]:
    near: list[tuple[float, _Said, str]] = []
    for said in _list_said(moment):
        for sentence in _split(said):
            likeness = _measure_likeness(asked, sentence)
            if likeness >= SAYS:
                near.append((likeness, said, sentence))
    near.sort(key=lambda found: -found[0])
    closest = near[0][0] if near else 0.0
    # Where the very words stand somewhere, what is only like them is something else.
    chosen = [found for found in near if closest < 1 or found[0] == closest][:MOST_SENTENCES]
    versions = moment.snapshot.versions() if chosen else []
    found = [_find_source(moment.snapshot, versions, said, sentence) for _, said, sentence in chosen]
    earlier = moment.find_earlier()
    if found or earlier is None:
        return found
    return [replace(source, story=source.story or earlier.name) for source in _blame(earlier, asked)]


def _split(said: _Said) -> list[str]:
    return [said.text] if said.kind is None else [" ".join(one.split()) for one in split_sentences(said.text)]


def _measure_likeness(asked: str, sentence: str) -> float:
    """Return how much of what was asked for a sentence says, from 0 to 1; 1 where it holds the very words."""
    if casefold(asked).rstrip(".!?… ") in casefold(sentence):
        return 1.0
    terms, others = set(find_terms(asked)), set(find_terms(sentence))
    return 0.99 * len(terms & others) / len(terms) if terms else 0.0


def _list_said(moment: StoryMoment) -> Iterator[_Said]:
    """Yield all that memory in force says."""
    snapshot, rules = moment.snapshot, moment.rules
    in_force = InForce(snapshot)
    texts: list[tuple[str, Kind, MemoryText | None]] = [
        ("recap", Kind.RECAP, read_text(snapshot, rules, TextName(Kind.RECAP))),
        ("backbone", Kind.BACKBONE, read_text(snapshot, rules, TextName(Kind.BACKBONE))),
    ]
    chapters = in_force.chapters(in_force.timeline()[:-1])
    texts += [(f"chapter:{chapter.number}", Kind.CHAPTER, chapter.recap) for chapter in chapters]
    episodes = in_force.episodes(0, snapshot.messages - 1)
    texts += [(f"episode:{number}", Kind.EPISODE, episode) for number, episode in enumerate(episodes, 1)]
    for thing, kind, text in texts:
        if text is not None:
            yield _Said(thing, text.text, text.span, kind, text.version, by_hand=text.version is None)
    state = moment.read_known().state
    last = max(0, snapshot.messages - 1)
    for number, thread in enumerate(state.threads.threads, 1):
        if thread.opened < 0:
            continue  # what is older than the story is told of by the one before
        ends = (thread.settled,) if thread.settled is not None else ()
        yield _note(f"thread:{number}", thread.text, (thread.opened, *ends), last, by_hand=thread.by == PERSON)
    for number, value in enumerate(state.current.standing, 1):
        if value.position < 0:
            continue
        yield _note(f"state:{number}", value.text, (value.position,), last, by_hand=value.by == PERSON)
    for entry in state.lore.values():
        if entry.touched < 0:
            continue
        mine = "content" in entry.locked
        yield _note(f"lore:{entry.name}", entry.content, entry.sources or (entry.touched,), last, by_hand=mine)


def _note(thing: str, text: str, positions: Sequence[int], last: int, *, by_hand: bool) -> _Said:
    on_path = tuple(sorted({min(max(position, 0), last) for position in positions}))
    return _Said(thing, text, Span(on_path[0], on_path[-1]), positions=on_path, by_hand=by_hand)


def _find_source(snapshot: Snapshot, versions: Sequence[Version], said: _Said, sentence: str) -> SentenceSource:
    if said.by_hand:
        return SentenceSource(said.thing, sentence, said.span, (), by_hand=True)
    if said.positions:
        noted = [item for at in said.positions for item in snapshot.path(at, at)]
        return SentenceSource(said.thing, sentence, said.span, tuple(noted))
    first = _find_first(snapshot, versions, said, sentence)
    span = first[1] if first else said.span
    messages = _choose_messages(snapshot.path(span.first, span.last), sentence)
    if not messages and span != said.span:  # it may be carried over from what was read before, in other words
        messages, span = _choose_messages(snapshot.path(said.span.first, said.span.last), sentence), said.span
    return SentenceSource(said.thing, sentence, span, tuple(messages), first[0] if first else said.version)


def _find_first(snapshot: Snapshot, versions: Sequence[Version], said: _Said, sentence: str) -> tuple[int, Span] | None:
    """Return the first version of the text that has the sentence, and the messages that it read, where they stand on
    this branch."""
    newest = next((one for one in versions if one.id == said.version), None)
    places = {version: Span(first, last) for first, last, version in snapshot.cover(said.kind)}
    words = casefold(sentence)
    for version in versions:
        same = newest is not None and version.made.scope == newest.made.scope and version.made.kind is said.kind
        if same and version.made.status in IN_FORCE and version.id in places and words in casefold(version.made.text):
            length = len(version.made.span)
            last = places[version.id].last
            return version.id, Span(max(0, last - length + 1), last)
    return (newest.id, said.span) if newest else None


def _choose_messages(path: Sequence[OnPath], sentence: str) -> list[OnPath]:
    """Return the messages that say most of a sentence, each only for what those before it do not say."""
    terms = set(find_terms(sentence))
    held = {item.position: terms & set(find_terms(item.entry.message.text)) for item in path}
    spread = Counter(term for own in held.values() for term in own)
    weights = {term: 1 / spread[term] for term in spread}
    whole = sum(weights.values()) + len(terms - spread.keys())
    chosen: list[OnPath] = []
    left = set(weights)
    while left and len(chosen) < MOST_SOURCES:
        best = max(path, key=lambda item: (sum(weights[term] for term in held[item.position] & left), -item.position))
        gained = held[best.position] & left
        share = sum(weights[term] for term in held[best.position]) / whole
        if not gained or share < TELLS:
            break
        chosen.append(best)
        left -= gained
    return chosen
