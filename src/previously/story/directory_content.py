"""The content of a directory, read from a story at one moment."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from previously.core.path import OnPath, Span
from previously.core.scripts import casefold
from previously.core.versions import Kind
from previously.formats.story_directory import (
    OPEN,
    SETTLED,
    DirectoryContent,
    Fields,
    MessageLine,
    name_state,
    number_ids,
    tidy_line,
    tidy_list,
    tidy_text,
)
from previously.lore.keys import normalize_name
from previously.lore.reader_state import FactWeight
from previously.memory.in_force import InForce, MemoryText
from previously.runtime.story_moment import StoryMoment
from previously.story.memory_edits import TextName, read_text
from previously.story.memory_texts import read_cast

_ELSEWHERE = frozenset({FactWeight.THREAD, FactWeight.STATE, FactWeight.LORE})
"""Facts that everybody knows from what has files of its own."""


def read_content(moment: StoryMoment, story: str, known: Collection[str] = ()) -> DirectoryContent:
    """Return the active branch of a story as a directory has it. `known` are the addresses that the directory has: an
    entry of lore goes on under its own, whatever it is called now."""
    snapshot = moment.snapshot
    things = dict(_list_things(moment, story, known))
    path = snapshot.path(0, snapshot.messages - 1)
    ids = number_ids(item.entry.digest for item in path)
    return DirectoryContent(things, tuple(map(_make_line, path, ids)))


def _list_things(moment: StoryMoment, story: str, known: Collection[str]) -> Iterator[tuple[str, Fields]]:
    snapshot, in_force = moment.snapshot, InForce(moment.snapshot)
    closed = in_force.chapters(in_force.timeline()[:-1])
    recap, backbone = (read_text(snapshot, moment.rules, TextName(kind)) for kind in (Kind.RECAP, Kind.BACKBONE))
    counts = {"messages": str(snapshot.messages), "chapters": str(len(closed))}
    yield "story", {"story": story, "branch": snapshot.branch, **counts, "text": _find_words(backbone)}
    number = str(len(closed) + 1)
    yield "recap", {"chapter": number, "messages": _show_span(recap.span) if recap else "", "text": _find_words(recap)}
    for chapter in closed:
        fields = {
            "title": tidy_line(chapter.title),
            "messages": _show_span(chapter.span),
            "text": _find_words(chapter.recap),
        }
        yield f"chapter:{chapter.number}", fields
    yield from _list_lore(moment, known)
    yield from _list_cast(moment)
    state = moment.read_known().state
    for thread in state.threads.threads:
        status = OPEN if thread.settled is None else SETTLED
        fields = {"text": thread.text, "status": status, "due": thread.due, "owner": thread.owner}
        yield f"thread:{thread.id}", {name: tidy_line(value) for name, value in fields.items()}
    values = {name_state(value.thing, value.aspect, value.value): value.text for value in state.current.standing}
    for address in sorted(values):
        yield address, {"line": tidy_line(values[address])}


def _list_lore(moment: StoryMoment, known: Collection[str]) -> Iterator[tuple[str, Fields]]:
    kept = moment.read_known()
    entries = [
        entry
        for entry in kept.state.lore.values()
        if entry.key not in kept.corrected.removed and entry not in kept.suggested
    ]
    taken = {f"lore:{entry.key}" for entry in entries}
    for entry in sorted(entries, key=lambda entry: entry.key):
        former = (f"lore:{normalize_name(alias)}" for alias in entry.aliases)
        own = f"lore:{entry.key}"
        address = own if own in known else next((one for one in former if one in known and one not in taken), own)
        taken.add(address)
        yield (
            address,
            {
                "name": tidy_line(entry.name),
                "type": entry.type,
                "keywords": tidy_list(entry.keywords),
                "content": tidy_text(entry.content),
            },
        )


def _list_cast(moment: StoryMoment) -> Iterator[tuple[str, Fields]]:
    for name, facts in read_cast(moment).items():
        knowledge = facts.choose_beside(_ELSEWHERE, lambda _: False)
        if not knowledge.is_empty:
            told = {casefold(line): line for fact in knowledge.facts if (line := tidy_line(fact.text))}
            summary = tidy_line(knowledge.summary)
            fields: Fields = {"name": tidy_line(name), "summary": summary, "facts": tuple(told.values())}
            yield f"cast:{normalize_name(name)}", fields


def _show_span(span: Span) -> str:
    return f"{span.first}-{span.last}"


def _find_words(text: MemoryText | None) -> str:
    return tidy_text(text.text) if text else ""


def _make_line(item: OnPath, ident: str) -> MessageLine:
    entry, said = item.entry, item.entry.message
    return MessageLine(
        said.text, said.role.value, said.speaker or "", said.witnesses, entry.attributes.at or "",
        entry.attributes.hidden, ident, entry.id, entry.replaces or 0,
    )  # fmt: skip
