"""The memory of one story as people read it: recaps, chapters, episodes, scenes, notes, analyses, and the cast."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

from previously.core.cast import Fact, Knowledge
from previously.core.errors import BadInput
from previously.core.fold_rules import FoldRules, Timeline
from previously.core.marks import SPAN_SCOPE, Mark, MarkKind
from previously.core.note import Note, parse_note
from previously.core.path import OnPath, Span, find_position
from previously.core.people import NARRATORS, list_characters
from previously.core.presence import PresenceSource
from previously.core.scene import Analysis, Scene
from previously.core.scripts import casefold
from previously.core.snapshot import Snapshot
from previously.core.versions import Kind, Version
from previously.folds.builtin.quotes import renumber_quotes
from previously.folds.cast_facts import Knower, find_knowers
from previously.folds.scene import parse_scene
from previously.folds.summary import Gap, find_gaps
from previously.folds.tiles import TileRules, cut_scene_tiles
from previously.lore.merge import find_entry
from previously.lore.state import State
from previously.memory.in_force import ChapterText, InForce, MemoryText
from previously.memory.known import CastFacts
from previously.memory.memory_map import MemoryMap, draw_map
from previously.memory.notes import (
    find_analyses,
    find_updates,
    has_notes,
    list_end_kinds,
    read_analysis,
    read_fragments,
)
from previously.runtime.story_moment import StoryMoment
from previously.story.access import StoryAccess, StoryChange
from previously.story.deeds import describe_mark
from previously.story.memory_edits import TextName, read_text


@dataclass(frozen=True, slots=True)
class SceneText:
    """A scene that was noted: where it stands, what happened, and what it left behind."""

    span: Span
    summary: str
    entries: tuple[str, ...]
    """The names of what it describes."""
    made_by: str
    version: int
    scene: Scene
    """All of it."""


@dataclass(frozen=True, slots=True)
class CastItem:
    """A character and what they know."""

    name: str
    knowledge: Knowledge
    stale: bool
    """True if an earlier message was changed since it was noted."""
    facts: tuple[Fact, ...] = ()
    """All that is kept of what they know, however much it is; `knowledge` has the little that is told of them."""


class MemoryTexts:
    """Reads the memory of one story."""

    def __init__(self, access: StoryAccess) -> None:
        self._access = access

    async def recap(self) -> MemoryText | None:
        """Return the recap of the open chapter, what a person wrote of it included.

        >>> from previously import BlockingMemory, Settings
        >>> with BlockingMemory(":memory:", settings=Settings(tail_messages=1, fold_messages=2)) as memory:
        ...     story = memory.story("ferry")
        ...     for text in ("Odalys hid the ledger.", "Wren saw her.", "Rain."):
        ...         _ = story.add("assistant", text)
        ...     _ = story.fold()
        ...     recap = story.recap()
        >>> recap.span.last, recap.made_by
        (1, 'builtin')
        """
        return await self._read_text(Kind.RECAP)

    async def brief(self) -> MemoryText | None:
        """Return the same where it is an agent's brief (`timeline = "brief"`); None where it is not."""
        return await self.recap() if self._access.rules.timeline is Timeline.BRIEF else None

    async def backbone(self) -> MemoryText | None:
        """Return the summary of all closed chapters, as far as it has got."""
        return await self._read_text(Kind.BACKBONE)

    async def chapters(self) -> list[ChapterText]:
        """Return every closed chapter with its recap, the oldest first.

        >>> from previously import BlockingMemory
        >>> with BlockingMemory(":memory:") as memory:
        ...     story = memory.story("ferry")
        ...     _ = story.add("user", "The ferry sank.")
        ...     _ = story.close_chapter("The last crossing")
        ...     [(chapter.number, chapter.title) for chapter in story.chapters()]
        [(1, 'The last crossing')]
        """

        def read(moment: StoryMoment) -> list[ChapterText]:
            in_force = InForce(moment.snapshot)
            return in_force.chapters(in_force.timeline()[:-1])

        return await self._access.read(read)

    async def cast(self) -> list[CastItem]:
        """Return every character whose knowledge is kept, by name, and what they know."""
        facts = await self._access.read(read_cast)
        return [CastItem(name, known.knowledge, known.stale, known.all_facts) for name, known in facts.items()]

    async def who_knows(self, query: str) -> list[Knower]:
        """Return who knows something about these words, and what: all that is known of them, not only their key
        facts."""
        if not query.strip():
            raise BadInput("Say what somebody may know of.")
        facts = await self._access.read(read_cast)
        return find_knowers(
            {
                name: Knowledge(known.asked.summary if known.asked else "", known.all_facts)
                for name, known in facts.items()
            },
            query,
        )

    async def end_scene(self, at: int = -1) -> Mark:
        """End the scene with the message at `at`: the next fold notes it."""

        def change(change: StoryChange) -> Mark:
            position = find_position(change.snapshot.messages, at)
            marks = change.snapshot.marks(list_end_kinds(change.rules), since=position)
            if any(mark.position == position for mark in marks):
                raise BadInput(f"A scene ends with message {position} already.")
            return change.add_mark(MarkKind.SCENE, position)

        return await self._access.change(change)

    async def episodes(self) -> list[MemoryText]:
        """Return what happened in each span that an update told, in path order; of spans told anew the newest."""

        def read(moment: StoryMoment) -> list[MemoryText]:
            snapshot = moment.snapshot
            return InForce(snapshot).episodes(0, snapshot.messages - 1) if has_notes(snapshot, Kind.EPISODE) else []

        return await self._access.read(read)

    async def scenes(self) -> list[SceneText]:
        """Return every scene that was noted and stands on the path, the oldest first."""
        return await self._access.read(lambda moment: read_scenes(moment.snapshot, moment.rules))

    async def notes(self) -> list[tuple[Span, Note]]:
        """Return what updates noted of each span, in path order."""

        def read(moment: StoryMoment) -> list[tuple[Span, Note]]:
            notes, _ = find_updates(moment.snapshot, _read_path(moment.snapshot))
            return [(tile.span, parse_note(tile.note.made.text)) for tile in notes if tile.note]

        return await self._access.read(read)

    async def notes_in_force(self) -> list[int]:
        """Return the versions of the notes, episodes and scenes that stand on the path."""

        def read(moment: StoryMoment) -> list[int]:
            tilings = find_updates(moment.snapshot, _read_path(moment.snapshot))
            scenes = read_scenes(moment.snapshot, moment.rules)
            return [
                *(tile.note.id for tiles in tilings for tile in tiles if tile.note),
                *(scene.version for scene in scenes),
            ]

        return await self._access.read(read)

    async def analyses(self) -> list[tuple[int, Analysis]]:
        """Return the newest analysis of every fragment that has one, with its position."""

        def read(moment: StoryMoment) -> list[tuple[int, Analysis]]:
            if not has_notes(moment.snapshot, Kind.ANALYSIS):
                return []
            tiles = find_analyses(moment.snapshot, _read_path(moment.snapshot))
            return [(tile.span.first, read_analysis(tile)) for tile in tiles if tile.note]

        return await self._access.read(read)

    async def gaps(self) -> list[Gap]:
        """Return where the librarian's summary cannot go on, or could not: fragments without an analysis, or without a
        word for the summary. None where no librarian keeps it."""

        def read(moment: StoryMoment) -> Sequence[Gap]:
            fragments = read_fragments(moment.snapshot, _read_path(moment.snapshot))
            return find_gaps(fragments, moment.rules.apply_after)

        return list(await self._access.read(read)) if self._access.rules.timeline is Timeline.LIBRARIAN else []

    async def memory_map(self) -> MemoryMap:
        """Return which memory stands for which messages of the active branch, threads from opening to settling, who was
        present, what is by hand, and what nothing tells yet.

        >>> from previously import BlockingMemory, Settings
        >>> with BlockingMemory(":memory:", settings=Settings(tail_messages=1, fold_messages=2)) as memory:
        ...     story = memory.story("ferry")
        ...     for text in ("Odalys hid the ledger.", "Wren saw her.", "Rain."):
        ...         _ = story.add("assistant", text)
        ...     _ = story.fold()
        ...     drawn = story.memory_map()
        >>> [(band.kind, band.span.first, band.span.last) for band in drawn.bands], drawn.untold
        ([('recap', 0, 1)], (Span(first=2, last=2),))
        """

        def read(moment: StoryMoment) -> MemoryMap:
            presence = moment.read_presence()
            stretches = [
                stretch if stretch.names is None else replace(stretch, names=presence.show_names(stretch.names))
                for stretch in presence.stretches()
            ]
            whole = moment.read_known().state.threads.threads
            threads = [thread for thread in whole if thread.opened >= 0]  # others began before this story
            describe = partial(describe_mark, moment.snapshot)
            return draw_map(moment.snapshot, moment.rules, threads, stretches, describe)

        return await self._access.read(read)

    async def list_key_facts(self, name: str) -> list[str]:
        """Return what somebody knows in this story, in a few lines, without what they know from elsewhere."""
        return await self._access.read(lambda moment: moment.read_own_facts(name))

    async def _read_text(self, kind: Kind) -> MemoryText | None:
        return await self._access.read(lambda moment: read_text(moment.snapshot, moment.rules, TextName(kind)))


def _read_path(snapshot: Snapshot) -> list[OnPath]:
    return snapshot.path(0, snapshot.messages - 1)


def read_scenes(snapshot: Snapshot, rules: FoldRules) -> list[SceneText]:
    if not has_notes(snapshot, Kind.SCENE):
        return []
    path = _read_path(snapshot)
    notes = snapshot.notes(Kind.SCENE, SPAN_SCOPE, [item.entry.digest for item in path]) if path else []
    ends = {mark.position for mark in snapshot.marks(list_end_kinds(rules))}
    scenes = []
    for tile in cut_scene_tiles(path, notes, ends, TileRules(1, snapshot.messages)):
        if tile.note:
            scene, made = parse_scene(tile.note.made.text), tile.note.made
            scene = replace(scene, summary=renumber_quotes(scene.summary, made, tile.span))
            names = tuple(entry.name for entry in scene.entries)
            scenes.append(SceneText(tile.span, scene.summary, names, made.made_by, tile.note.id, scene))
    return scenes


def read_cast(moment: StoryMoment) -> dict[str, CastFacts]:
    """Return what each character knows, by name: those who speak as characters, and those whom updates noted. A
    narrator or a group is nobody who knows something."""
    state, presence = moment.read_known().state, moment.read_presence()
    learnt = [person.name for person in state.learnt.values()]
    noted = [
        name
        for stretch in presence.stretches()
        if stretch.source is PresenceSource.NOTED
        for name in stretch.names or ()
        if presence.has(name)
    ]
    persons = [name for name in (*learnt, *noted) if _is_person(state, name)]
    people = {presence.names.key(name): name for name in (*persons, *list_characters(state.people))}
    shown = {key: presence.names.shown(key) if presence.has(name) else name for key, name in people.items()}
    return {
        name: moment.known_reader.read_facts(moment.snapshot, moment.read_known(name, presence), name, presence)
        for name in sorted(shown.values())
    }


def _is_person(state: State, name: str) -> bool:
    entry = find_entry(state.lore, name)
    return casefold(name) not in NARRATORS and (entry is None or entry.type == "character")


def render_version(version: Version) -> str:
    """Return the text of a version for people: a note under headings, with the messages its items come from."""
    made = version.made
    return _lay_out_note(parse_note(made.text), made.span.first) if made.kind is Kind.NOTE else made.text


def _lay_out_note(note: Note, first: int) -> str:
    """Return a note whose span begins at that position, in lines under headings; empty lists are left out."""

    def at(*offsets: int | None) -> str:
        return " ".join(f"#{first + one}" for one in offsets if one is not None)

    lists = {
        "THREADS": [f"{one.change.value} {at(one.at) or 'earlier'}: {one.text}" for one in note.threads],
        "STATE": [f"{at(one.at)} {one.thing} / {one.aspect.value}: {one.value or 'ended'}" for one in note.state],
        "PRESENT": [f"{at(one.first)}-{at(one.last)}: {', '.join(one.names) or '-'}" for one in note.present],
        "LEARNT": [f"{at(one.at)} {', '.join(one.names)}: {one.text}" for one in note.learnt],
        "LORE": [f"{at(*one.at)} {one.name} | {one.type} | {one.content}" for one in note.lore],
        "PLAYERS": [f"{at(one.at)} {one.player}: {one.character}" for one in note.players],
        "WISHES": [f"{at(one.at)} {one.text}" for one in note.wishes],
        "SCENES": [f"ends at {at(one)}" for one in note.scene_ends],
    }
    blocks = [
        "\n".join([heading, *(f"- {item.strip()}" for item in items)]) for heading, items in lists.items() if items
    ]
    return "\n\n".join(blocks) or "nothing to note"
