"""How the story stands, as people see it and change it: threads, state, wishes, cast, scenes, the librarian's gaps.

What must stay true: what a person says of it follows the branch and can be undone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from previously.core.cast import Knowledge
from previously.core.errors import BadInput
from previously.core.json_values import clean
from previously.core.marks import SPAN_SCOPE, Mark, MarkKind
from previously.core.note import Note, parse_note
from previously.core.path import Span, find_position
from previously.core.people import Person, list_characters
from previously.core.presence import PresenceSource
from previously.core.scene import Analysis, Scene
from previously.core.scripts import casefold
from previously.core.versions import Kind
from previously.folds.builtin.quotes import renumber_quotes
from previously.folds.cast_facts import Knower, find_knowers
from previously.folds.recap import Timeline
from previously.folds.scene import parse_scene
from previously.folds.summary import Gap, find_gaps
from previously.lore.current_state import StateValue
from previously.lore.hand_records import HandRecord, StateRecord, ThreadAction, ThreadRecord, WishRecord, render_record
from previously.lore.state import Player, Wish
from previously.lore.threads import DORMANT_AFTER, Thread, ThreadStatus, find_status, rank_threads
from previously.runtime.derived import analysis_now, fragments_of
from previously.runtime.handle import StoryHandle
from previously.runtime.knowing import CastFacts, Known
from previously.runtime.noted import analysed, ends_of, updated
from previously.runtime.remembering import MemoryText, Remembering
from previously.storage.store import Store

LONGEST_SAID = 500
MOST_READ = 100_000

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ThreadItem:
    """A thread and how it stands."""

    thread: Thread
    status: ThreadStatus
    suggestions: tuple[str, ...] = ()
    """What was noted since of a thread that a person wrote."""


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
    """Whether an earlier message was changed since it was noted."""


class Standing(StoryHandle):
    """How one story stands."""

    async def threads(self, *, everything: bool = False) -> list[ThreadItem]:
        """What is open, what matters most first; with `everything`, also what sleeps and what is settled."""
        known = await self._now()
        now, asleep = (await self.branch_info()).messages, self._rules.dormant_messages or MOST_READ
        all_threads = known.state.threads.threads
        order = rank_threads(all_threads, now, asleep)
        settled = [one for one in all_threads if one.settled is not None]
        suggested = known.state.threads.suggestions
        found = [
            ThreadItem(
                one, find_status(one, now, asleep), tuple(said.text for said in suggested if said.thread == one.id)
            )
            for one in (*order, *settled)
        ]
        return [one for one in found if everything or one.status is ThreadStatus.OPEN]

    async def open_thread(self, text: str, due: str = "") -> None:
        """Say that something is open: a promise, a debt, a question."""
        await self._note(
            MarkKind.THREAD, ThreadRecord(ThreadAction.OPEN, _words(text), _words(due) if due.strip() else "")
        )

    async def resolve_thread(self, text: str) -> Thread:
        """Say that it is settled, by its words or some of them, or by its id."""
        meant = await self._thread(text, "open")
        await self._note(MarkKind.THREAD, ThreadRecord(ThreadAction.RESOLVE, meant.text, id=meant.id))
        return await self._again(meant)

    async def reword_thread(self, text: str, words: str) -> Thread:
        """Give an open thread other words, which no model changes."""
        meant = await self._thread(text, "open")
        await self._note(MarkKind.THREAD, ThreadRecord(ThreadAction.REWORD, _words(words), id=meant.id, was=meant.text))
        return await self._again(meant)

    async def reopen_thread(self, text: str) -> Thread:
        """Say that a settled thread is open all the same."""
        meant = await self._thread(text, "settled")
        await self._note(MarkKind.THREAD, ThreadRecord(ThreadAction.OPEN, meant.text, id=meant.id))
        return await self._again(meant)

    async def _thread(self, text: str, how: str) -> Thread:
        """The one thread that stands like this and has this id, these words or some of them."""
        all_threads = (await self._now()).state.threads.threads
        found = [one for one in all_threads if (one.settled is None) == (how == "open")]
        return _meant(text, [(one.id, one.text, one) for one in found], f"{how} thread", "threads")

    async def _again(self, thread: Thread) -> Thread:
        """A thread as it stands now."""
        now = (await self._now()).state.threads.threads
        return next((one for one in now if one.id == thread.id), thread)

    async def state(self) -> list[StateValue]:
        """How things stand, a value for each thing and aspect; the newest last."""
        return list((await self._now()).state.current.standing)

    async def hold(self, text: str) -> None:
        """Say how something stands: `Thing / aspect: value`, or in free words. No model changes it."""
        await self._note(MarkKind.HELD, StateRecord(_words(text)))

    async def end_held(self, text: str) -> StateValue:
        """Say that something holds no more, by its line or a part of it."""
        listed = [(one.text, one.text, one) for one in await self.state()]
        meant = _meant(text, listed, "line of the state", "state")
        await self._note(MarkKind.HELD, StateRecord(meant.text, ended=True))
        return meant

    async def wishes(self) -> list[Wish]:
        """What the players asked for about the telling, the oldest first."""
        return list((await self._now()).state.wishes)

    async def reword_wish(self, text: str, words: str) -> Wish:
        """Give a wish other words."""
        meant = await self._wish(text)
        new = _words(words)
        await self._note(MarkKind.WISH, WishRecord(meant.id, meant.text, new))
        return next((one for one in await self.wishes() if one.text == new), meant)

    async def withdraw_wish(self, text: str) -> Wish:
        """Take a wish back, by its words or some of them, or by its id."""
        meant = await self._wish(text)
        await self._note(MarkKind.WISH, WishRecord(meant.id, meant.text))
        return meant

    async def _wish(self, text: str) -> Wish:
        return _meant(text, [(one.id, one.text, one) for one in await self.wishes()], "wish", "wishes")

    async def players(self) -> list[Player]:
        """Return who plays whom, where a character's name is not the player's own."""
        return list((await self._now()).state.players.values())

    async def people(self) -> list[Person]:
        """Everyone who takes part, as far as messages say: those who speak, play or were there, by name."""
        return sorted((await self._now()).state.people.values(), key=lambda one: one.name)

    async def cast(self) -> list[CastItem]:
        """Every character whose knowledge is kept, by name, and what they know."""

        async def read(store: Store) -> list[CastItem]:
            found = await self._cast_facts(store)
            return [CastItem(name, one.knowledge, one.stale) for name, one in found.items()]

        return await self._store.at_one_moment(self._key.owner, read)

    async def who_knows(self, query: str) -> list[Knower]:
        """Who knows something about these words, and what: all that is known of them, not only their key facts."""
        if not query.strip():
            raise BadInput("Say what somebody may know of.")
        found = await self._store.at_one_moment(self._key.owner, self._cast_facts)
        return find_knowers(
            {name: Knowledge(one.asked.summary if one.asked else "", one.all_facts) for name, one in found.items()},
            query,
        )

    async def _cast_facts(self, store: Store) -> dict[str, CastFacts]:
        """Return what each character knows, by name: those who speak as characters, and those whom updates noted."""
        branch = await store.branch(self._key)
        state = (await self._knowing.known(store, self._key, branch, self._rules)).state
        presence = await self._presence(store)
        told = [one.name for one in state.learnt.values()]
        noted = [
            name
            for one in presence.stretches()
            if one.source is PresenceSource.NOTED
            for name in one.names or ()
            if presence.has(name)
        ]
        people = {presence.names.key(name): name for name in (*told, *noted, *list_characters(state.people))}
        shown = {key: presence.names.shown(key) if presence.has(name) else name for key, name in people.items()}
        return {
            name: await self._knowing.facts(store, self._key, branch, self._rules, name, presence)
            for name in sorted(shown.values())
        }

    async def end_scene(self, at: int = -1) -> Mark:
        """End the scene with the message at `at`: the next fold notes it."""
        branch = await self.branch_info()
        position = find_position(branch.messages, at)
        marks = await self._store.marks(self._key, branch.name, ends_of(self._rules), since=position)
        if any(mark.position == position for mark in marks):
            raise BadInput(f"A scene ends with message {position} already.")
        return await self._add_mark(branch, MarkKind.SCENE, position)

    async def episodes(self) -> list[MemoryText]:
        """Return what happened in each span that an update told, in path order; of spans told anew the newest."""

        async def read(store: Store) -> list[MemoryText]:
            branch = await store.branch(self._key)
            return await Remembering(store, self._key, branch).episodes(0, branch.messages - 1)

        return await self._store.at_one_moment(self._key.owner, read)

    async def scenes(self) -> list[SceneText]:
        """Every scene that was noted and stands on the path, the oldest first."""
        from previously.folds.tiles import TileRules, cut_scene_tiles

        async def read(store: Store) -> list[SceneText]:
            branch = await store.branch(self._key)
            path = await store.path(self._key, branch.name, 0, branch.messages - 1) if branch.messages else []
            digests = [item.entry.digest for item in path]
            notes = await store.notes(self._key, Kind.SCENE, SPAN_SCOPE, digests) if path else []
            ends = {mark.position for mark in await store.marks(self._key, branch.name, ends_of(self._rules))}
            tiles = cut_scene_tiles(path, notes, ends, TileRules(1, branch.messages))
            found = []
            for tile in tiles:
                if tile.note:
                    scene, made = parse_scene(tile.note.made.text), tile.note.made
                    scene = replace(scene, summary=renumber_quotes(scene.summary, made, tile.span))
                    names = tuple(one.name for one in scene.entries)
                    found.append(SceneText(tile.span, scene.summary, names, made.made_by, tile.note.id, scene))
            return found

        return await self._store.at_one_moment(self._key.owner, read)

    async def notes(self) -> list[tuple[Span, Note]]:
        """Return what updates noted of each span, in path order."""

        async def read(store: Store) -> list[tuple[Span, Note]]:
            branch = await store.branch(self._key)
            path = await store.path(self._key, branch.name, 0, branch.messages - 1) if branch.messages else []
            notes, _ = await updated(store, self._key, path)
            return [(tile.span, parse_note(tile.note.made.text)) for tile in notes if tile.note]

        return await self._store.at_one_moment(self._key.owner, read)

    async def notes_in_force(self) -> list[int]:
        """Return the versions of the notes, episodes and scenes that stand on the path."""

        async def read(store: Store) -> list[int]:
            branch = await store.branch(self._key)
            path = await store.path(self._key, branch.name, 0, branch.messages - 1) if branch.messages else []
            return [tile.note.id for tiles in await updated(store, self._key, path) for tile in tiles if tile.note]

        found = await self._store.at_one_moment(self._key.owner, read)
        return [*found, *(scene.version for scene in await self.scenes())]

    async def analyses(self) -> list[tuple[int, Analysis]]:
        """The newest analysis of every fragment that has one, with its position."""

        async def read(store: Store) -> list[tuple[int, Analysis]]:
            branch = await store.branch(self._key)
            path = await store.path(self._key, branch.name, 0, branch.messages - 1) if branch.messages else []
            tiles = await analysed(store, self._key, path)
            return [(tile.span.first, analysis_now(tile)) for tile in tiles if tile.note]

        return await self._store.at_one_moment(self._key.owner, read)

    async def gaps(self) -> list[Gap]:
        """Where the librarian's summary cannot go on, or could not: fragments without an analysis, or without a word
        for the summary. None where no librarian keeps it."""
        if self._rules.timeline is not Timeline.LIBRARIAN:
            return []

        async def read(store: Store) -> Sequence[Gap]:
            branch = await store.branch(self._key)
            path = await store.path(self._key, branch.name, 0, branch.messages - 1) if branch.messages else []
            return find_gaps(await fragments_of(store, self._key, path), self._rules.apply_after)

        return list(await self._store.at_one_moment(self._key.owner, read))

    async def _now(self) -> Known:
        async def read(store: Store) -> Known:
            return await self._knowing.known(store, self._key, await store.branch(self._key), self._rules)

        return await self._store.at_one_moment(self._key.owner, read)

    async def _note(self, kind: MarkKind, record: HandRecord) -> None:
        branch = await self.branch_info()
        await self._add_mark(branch, kind, branch.messages - 1, render_record(record))


def _meant(text: str, listed: Sequence[tuple[str, str, T]], what: str, command: str) -> T:
    """The one of these, each with its id and words, that a text names: by id, by its words, or by some of them."""
    wanted = _words(text)
    exact = [one for ident, words, one in listed if wanted in (ident, words)]
    meant = exact or [one for _, words, one in listed if casefold(wanted) in casefold(words)]
    if len(meant) > 1:
        several = "; ".join(words for _, words, one in listed if one in meant[:3])
        raise BadInput(f"{wanted!r} could mean several: {several}.")
    if not meant:
        raise BadInput(f"No {what} says {wanted!r}; `{command}` shows those there are.")
    return meant[0]


def _words(text: str) -> str:
    words = " ".join(clean(text)[0].split())
    if not words or len(words) > LONGEST_SAID:
        raise BadInput(f"Say it in 1 to {LONGEST_SAID} characters.")
    return words


__all__ = ["DORMANT_AFTER", "CastItem", "SceneText", "Standing", "ThreadItem"]
