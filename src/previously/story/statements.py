"""Statements: all that memory says, a sentence or a line each, under the address of the memory it stands in.

Addresses are those of the command line: `recap`, `chapter:2`, `thread:7`, `lore:NAME`. What one reader may not know is
not among the statements for them: texts of the whole story only if they witnessed all of it, and of the lists what
follows from what they witnessed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from previously.core.fold_rules import Timeline
from previously.core.path import Span
from previously.core.quote_lines import parse_line
from previously.lore.reader_state import FactWeight
from previously.memory.in_force import InForce
from previously.memory.known import CastFacts, KnownState, is_told_all
from previously.memory.notes import resolve_tail
from previously.runtime.story_moment import StoryMoment
from previously.runtime.view_memory import BEFORE
from previously.runtime.writer import BuiltinWriter
from previously.story.memory_texts import read_cast, read_scenes
from previously.text.sentences import split_sentences
from previously.view.reader import Reader


@dataclass(frozen=True, slots=True)
class Statement:
    """One sentence or line of memory."""

    address: str
    text: str
    spans: tuple[Span, ...] = ()
    """The messages it was made from; none for what comes from a book."""
    subject: str = ""
    """Its subject where its own words do not say so: the name of an entry, the title of a chapter."""
    note: str = ""
    """Its standing: `open`, `settled`, `stale`, the book it is from."""
    story: str = ""
    """The story it is of, where that is one that came before."""
    is_quoted: bool = False
    """True where memory merely quotes messages, which a search finds by themselves."""


def list_statements(moment: StoryMoment, reader: Reader) -> list[Statement]:
    """Return what memory says to a reader; to nobody in particular, all of it."""
    presence = reader.presence or (moment.read_presence() if reader.name else None)
    known = moment.read_known(reader.name, presence)
    if reader.name and presence is not None:
        name = presence.names.shown(presence.names.key(reader.name)) if presence.has(reader.name) else reader.name
        facts = moment.known_reader.read_facts(moment.snapshot, known, reader.name, presence)
        cast: Mapping[str, CastFacts] = {name: facts}
        is_for_all = is_told_all(moment.snapshot, reader.name, presence)
    else:
        cast, is_for_all = read_cast(moment), True
    timeline = _list_timeline(moment) if is_for_all else ()
    everybody = moment.read_known() if reader.name else known
    return [*timeline, *_list_known(known, everybody), *_list_lore(moment, known, reader.name), *_list_cast(cast)]


def _list_timeline(moment: StoryMoment) -> Iterator[Statement]:
    snapshot = moment.snapshot
    rules = resolve_tail(snapshot, moment.rules)
    in_force = InForce(snapshot)
    *closed, current = in_force.timeline()
    chapters = in_force.chapters(closed)
    texts = [("backbone", "", text) for text in in_force.backbone(chapters[-1].span.last)] if chapters else []
    texts += [(f"chapter:{chapter.number}", chapter.title, chapter.recap) for chapter in chapters if chapter.recap]
    recap = "brief" if rules.timeline is Timeline.BRIEF else "recap"
    texts += [(recap, "", text) for text in in_force.recap(current, rules.recap.tail_messages)]
    episodes = in_force.newest_episodes(0, snapshot.messages - 1)
    texts += [(f"episode:{number}", "", text) for number, text in enumerate(episodes, 1)]
    for address, subject, text in texts:
        # Its brief puts things in words of its own; a novel's recap is joined from notes, which may all be quotations.
        is_quoted = (text.made_by == BuiltinWriter.made_by and recap == "recap") or _has_only_quotes(text.text)
        note = "stale" if text.stale else ""
        for statement in _split(address, text.text, (text.told,), subject, note):
            yield replace(statement, is_quoted=is_quoted)
    for number, scene in enumerate(read_scenes(snapshot, moment.rules), 1):
        yield from _split(f"scene:{number}", scene.summary, (scene.span,))
    for mark in in_force.standing_marks()[0]:
        yield from _split(f"pin:{mark.id}", mark.text, ())


def _has_only_quotes(text: str) -> bool:
    lines = [line for line in text.splitlines() if line.strip()]
    return bool(lines) and all(parse_line(line) for line in lines)


def _split(address: str, text: str, spans: tuple[Span, ...], subject: str = "", note: str = "") -> Iterator[Statement]:
    return (Statement(address, sentence, spans, subject, note) for sentence in split_sentences(text))


def _list_known(known: KnownState, everybody: KnownState) -> Iterator[Statement]:
    """Yield the lines of the lists. A line has the number that it has in the list for everybody; a value that somebody
    still believes has none."""
    state, whole = known.state, everybody.state
    numbers = {thread.id: number for number, thread in enumerate(whole.threads.threads, 1)}
    for thread in state.threads.threads:
        text = thread.text + (f" ({thread.due})" if thread.due else "")
        text += f" – {thread.outcome}" if thread.outcome else ""
        spans = _place((thread.opened, thread.touched, thread.settled))
        note = ("open" if thread.settled is None else "settled") + (f", {BEFORE}" if thread.opened < 0 else "")
        yield Statement(f"thread:{numbers.get(thread.id, thread.text)}", text, spans, note=note)
    values = {value.text: number for number, value in enumerate(whole.current.standing, 1)}
    for value in state.current.standing:
        yield Statement(
            f"state:{values.get(value.text, value.thing)}",
            value.text,
            _place([value.position]),
            note=BEFORE if value.position < 0 else "",
        )
    wishes = {wish.id: number for number, wish in enumerate(whole.wishes, 1)}
    for wish in state.wishes:
        yield Statement(f"wish:{wishes.get(wish.id, wish.text)}", wish.text, _place([wish.position]))
    for player in state.players.values():
        yield Statement(f"cast:{player.character}", f"{player.line}.", _place([player.since]))


def _list_lore(moment: StoryMoment, known: KnownState, reader: str) -> Iterator[Statement]:
    own = {entry.name: entry for entry in known.entries}
    for entry in own.values():
        note = BEFORE if entry.touched < 0 else ""
        yield from _split(f"lore:{entry.name}", entry.content, _place(entry.sources), entry.name, note)
    for keyed in moment.read_lore(known, reader).index.entries.values():
        if keyed.book and keyed.enabled:
            yield from _split(f"lore:{keyed.name}", keyed.content, (), keyed.name, f"from the book {keyed.book}")


def _list_cast(cast: Mapping[str, CastFacts]) -> Iterator[Statement]:
    """Yield what each character was told or is known to know. What follows from threads, state and lore is said
    there."""
    for name, known in cast.items():
        asked = known.asked
        note = "stale" if known.stale else ""
        if asked:
            yield from _split(f"cast:{name}", asked.summary, (), name, note)
        told = [fact.fact for fact in known.noted if fact.weight is FactWeight.TOLD]
        for fact in (*(asked.facts if asked else ()), *told):
            yield Statement(f"cast:{name}", fact.text, _place([fact.since]), name, note)


def _place(positions: Iterable[int | None]) -> tuple[Span, ...]:
    placed = sorted({position for position in positions if position is not None and position >= 0})
    return tuple(Span(position, position) for position in placed)
