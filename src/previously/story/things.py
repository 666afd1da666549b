"""Things of a story found, read and changed by their names, whatever kind they are of.

A change may say which words its writer has read (`expected`, see `json_shapes.make_etag`). If others stand there by
now, nothing is changed (`TextChanged`); if the writer's own words stand there already, there is nothing left to do.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from shlex import quote
from typing import Any

from previously.core.errors import BadInput, TextChanged
from previously.core.marks import Mark
from previously.core.presence import NameBook
from previously.core.versions import Status, Version
from previously.memory.in_force import ChapterText, MemoryText
from previously.runtime.retry import retry_when_moved
from previously.story import json_shapes as shapes
from previously.story.access import StoryAccess
from previously.story.history import History
from previously.story.lore_edits import LoreEdits, LoreListing
from previously.story.memory_edits import MemoryEdits
from previously.story.memory_texts import MemoryTexts, render_version
from previously.story.thing_name import TEXTS, Thing, ThingKind
from previously.story.threads_state import ThreadsState, find_meant
from previously.story.transcript import Transcript
from previously.text.compare import WordChange, diff_words


@dataclass(frozen=True, slots=True)
class ThingText:
    """A thing as it is read."""

    heading: str
    words: str
    record: dict[str, Any]
    """Its fields as JSON."""


@dataclass(frozen=True, slots=True)
class Unlocked:
    """A text or an entry that a person has given up."""

    name: str
    is_entry: bool = False
    is_gone: bool = False
    """True for an entry of which no fold says anything."""

    @property
    def sentence(self) -> str:
        """Return what stands there now, in a sentence."""
        if not self.is_entry:
            return f"{self.name[0].upper()}{self.name[1:]} is folded again from now on."
        if self.is_gone:
            return f"{self.name} is gone, since no scene says anything of it. `previously undo` brings it back."
        return f"{self.name} is again what scenes say of it."


@dataclass(frozen=True, slots=True)
class TextComparison:
    """Two versions and what changed from one to the other; the same version twice where there is no earlier one."""

    older: Version
    newer: Version
    changes: Sequence[WordChange]


class Things:
    """The things of one story."""

    def __init__(
        self,
        access: StoryAccess,
        name: str,
        transcript: Transcript,
        texts: MemoryTexts,
        edits: MemoryEdits,
        history: History,
        lore: LoreEdits,
        state: ThreadsState,
    ) -> None:
        self._access = access
        self._name = name
        self._transcript = transcript
        self._texts = texts
        self._edits = edits
        self._history = history
        self._lore = lore
        self._state = state

    async def find_listed(self, thing: Thing) -> Any:
        """Return the thread, line, wish, entry, character, chapter, scene, episode or pin that is meant."""
        match thing.kind:
            case ThingKind.THREAD:
                threads = sorted(await self._state.threads(everything=True), key=lambda one: one.number)
                listed = [((str(one.number), one.thread.id), one.thread.text, one) for one in threads]
                return find_meant(thing.which, listed, "thread", "threads list --all")
            case ThingKind.STATE:
                lines = [((str(at),), one.text, one) for at, one in enumerate(await self._state.state(), 1)]
                return find_meant(thing.which, lines, "line of the state", "state list")
            case ThingKind.WISH:
                wishes = [((str(at), one.id), one.text, one) for at, one in enumerate(await self._state.wishes(), 1)]
                return find_meant(thing.which, wishes, "wish", "wishes list")
            case ThingKind.LORE:
                entries = [((one.name,), one.name, one) for one in await self._lore.lore(everything=True)]
                return find_meant(thing.which, entries, "entry", "lore list --all", named=True)
            case ThingKind.CAST:
                return await self._find_character(thing)
            case ThingKind.CHAPTER:
                return _find_chapter(await self._texts.chapters(), thing)
            case ThingKind.SCENE:
                return _pick(await self._texts.scenes(), thing)
            case ThingKind.EPISODE:
                return _pick(await self._texts.episodes(), thing)
            case ThingKind.PIN:
                pins = [((str(one.id),), one.text, one) for one in await self._edits.pins()]
                return find_meant(thing.which, pins, "pin", "show")
            case _:
                raise BadInput(f"{thing} is in no list.")

    async def _find_character(self, thing: Thing) -> Any:
        cast = await self._texts.cast()
        names = NameBook(one.name for one in cast)
        same = [one for one in cast if names.same_person(one.name, thing.which)]
        listed = [((one.name,), one.name, one) for one in cast]
        return same[0] if len(same) == 1 else find_meant(thing.which, listed, "character", "cast list", named=True)

    async def read_thing(self, thing: Thing) -> ThingText:
        """Return a thing: its heading, its words, and what the JSON says of it."""
        record: dict[str, Any]
        match thing.kind:
            case ThingKind.RECAP | ThingKind.BACKBONE | ThingKind.BRIEF:
                text = await self._read_text(thing)
                if text is None:
                    raise BadInput(f"There is no {thing.kind.value} yet.")
                record = {"text": text.text, "span": shapes.span_json(text.told), "made_by": text.made_by}
                heading = f"{thing.kind.value.capitalize()} ({text.told}, by {text.made_by})"
                return ThingText(heading, text.text, {**record, "stale": text.stale})
            case ThingKind.MESSAGE:
                item = (await self._transcript.messages(thing.position, thing.position))[0]
                message, attributes = item.entry.message, item.entry.attributes
                record = {"position": item.position, "role": message.role.value, "speaker": message.speaker}
                record |= {"at": attributes.at, "hidden": attributes.hidden, "text": message.text}
                who = message.speaker or message.role.value
                return ThingText(f"Message {item.position}, {who}", message.text, record)
            case ThingKind.VERSION:
                version = next((one for one in await self._history.log() if one.id == thing.number), None)
                if version is None:
                    raise BadInput(f"There is no version {thing.number} here; `log -v` lists them.")
                heading = f"Version {version.id}, {version.made.kind.value} of {version.made.span}"
                record = {"version": version.id, "kind": version.made.kind.value, "text": version.made.text}
                return ThingText(heading, render_version(version), record)
            case ThingKind.BRANCH:
                branch = next((one for one in await self._transcript.branches() if one.name == thing.which), None)
                if branch is None:
                    raise BadInput(f"There is no branch {thing.which!r}; `branches list` shows those there are.")
                counted = f"{branch.messages:,} message{'' if branch.messages == 1 else 's'}"
                record = {"branch": branch.name, "messages": branch.messages}
                return ThingText(f"Branch {branch.name}", counted, record)
            case _:
                return _describe(await self.find_listed(thing), thing)

    async def edit_thing(self, thing: Thing, words: str, *, expected: str | None = None) -> str:
        """Put a person's words in place of a thing; return its name. No fold changes them."""
        if thing.kind is ThingKind.MESSAGE:
            await self._transcript.edit(thing.position, words, expected=expected)
            return str(thing)
        if expected is None:
            return await self._write(thing, words)

        async def write_unless_changed() -> str:
            stamp = await self._access.read_stamp()
            current = await self.read_words(thing)
            if current == words:
                return str(thing)
            if shapes.make_etag(current) != expected:
                raise TextChanged(current)
            with self._access.expect(stamp):
                return await self._write(thing, words)

        return await retry_when_moved(write_unless_changed)

    async def read_words(self, thing: Thing) -> str:
        """Return the words that a person would replace; empty where there are none yet."""
        match thing.kind:
            case ThingKind.RECAP | ThingKind.BACKBONE:
                text = await self._read_text(thing)
                return text.text if text else ""
            case ThingKind.CHAPTER:
                return (await self.find_listed(thing)).text or ""
            case ThingKind.THREAD:
                return str((await self.find_listed(thing)).thread.text)
            case ThingKind.LORE:
                return str((await self.find_listed(thing)).content)
            case _:
                return (await self.read_thing(thing)).words

    async def _write(self, thing: Thing, words: str) -> str:
        match thing.kind:
            case ThingKind.RECAP | ThingKind.BACKBONE | ThingKind.CHAPTER:
                return await self._name_text(thing, lambda name: self._edits.write(name, words))
            case ThingKind.THREAD:
                thread = (await self.find_listed(thing)).thread
                return f"thread:{(await self._state.edit_thread(thread.id, words)).text}"
            case ThingKind.STATE:
                return f"state:{(await self._state.reword_held(thing.which, words)).text}"
            case ThingKind.WISH:
                return f"wish:{(await self._state.reword_wish(thing.which, words)).text}"
            case ThingKind.LORE:
                return f"lore:{(await self._lore.write_lore(await self._find_own(thing), content=words)).name}"
            case ThingKind.PIN:
                return f"pin:{(await self._edits.reword_pin((await self.find_listed(thing)).id, words)).id}"
            case _:
                raise BadInput(f"{thing} is written by folds alone; edit the messages that it tells, or the recap.")

    async def remove_thing(self, thing: Thing) -> str:
        """Take a thing away; return a sentence that says so. Nothing is destroyed."""
        match thing.kind:
            case ThingKind.MESSAGE:
                await self._transcript.delete(thing.position)
                return f"Took message {thing.position} out of {self._name}."
            case ThingKind.THREAD:
                thread = (await self.find_listed(thing)).thread
                return f"Removed the thread: {(await self._state.remove_thread(thread.id)).text}"
            case ThingKind.STATE:
                return f"Ended: {(await self._state.end_held(thing.which)).text}"
            case ThingKind.WISH:
                return f"Removed the wish: {(await self._state.withdraw_wish(thing.which)).text}"
            case ThingKind.LORE:
                return f"{(await self._lore.remove_lore(await self._find_own(thing))).name} is shown no more."
            case ThingKind.PIN:
                pin = await self.find_listed(thing)
                await self._edits.unpin(pin.id)
                return f"Pin {pin.id} is gone."
            case ThingKind.CHAPTER:
                chapter = await self.find_listed(thing)
                await self._edits.open_chapter(chapter.number)
                return f"Chapter {chapter.number} ends with message {chapter.span.last} no more."
            case _:
                raise BadInput(f"{thing} cannot be removed; `unlock` gives up your words, `forget` destroys messages.")

    async def lock_thing(self, thing: Thing) -> LoreListing | str:
        """Keep a text or an entry of lore as it stands; return the entry, or the name of the text."""
        if thing.kind is ThingKind.LORE:
            return await self._lore.lock_lore(await self._find_own(thing))
        _expect_text(thing, "locked")
        return await self._name_text(thing, self._edits.lock)

    async def unlock_thing(self, thing: Thing) -> Unlocked:
        """Give up what a person wrote or locked."""
        if thing.kind is ThingKind.LORE:
            name = await self._find_own(thing)
            return Unlocked(name, is_entry=True, is_gone=await self._lore.unlock_lore(name) is None)
        _expect_text(thing, "unlocked")
        return Unlocked(await self._name_text(thing, self._edits.unlock))

    async def pin_thing(self, thing: Thing) -> Mark:
        """Show the words of a thing in every view."""
        if thing.kind is ThingKind.MESSAGE:
            return await self._edits.pin(None, at=thing.position)
        return await self._edits.pin((await self.read_thing(thing)).words)

    async def restore_thing(self, thing: Thing) -> tuple[int | str, str]:
        """Put an earlier version in force again, of a text the one before, or bring back what was removed; return what
        that is, and a sentence that says so."""
        if thing.kind is ThingKind.LORE:
            made = await self._lore.accept_lore(await self._find_own(thing))
            return f"lore:{made.name}", f"{made.name} is part of the lore again."
        if thing.kind is ThingKind.THREAD:
            thread = await self._state.reopen_thread((await self.find_listed(thing)).thread.id)
            return f"thread:{thread.text}", f"Open again: {thread.text}"
        version = thing.number if thing.kind is ThingKind.VERSION else (await self._find_earlier(thing)).id
        restored = await self._history.restore(version)
        return restored.id, f"Version {restored.id} is in force again."

    async def compare_texts(self, old: Thing | None = None, new: Thing | None = None) -> TextComparison:
        """Compare two versions word by word; one version with the newest; a text with the version before it; by
        default what was written last with what it replaced."""
        kept = await self._list_kept()
        named = [await self._find_version(kept, thing) for thing in (old, new) if thing is not None]
        newest = kept[-1] if kept else None
        if newest is None:
            raise BadInput(f"Nothing is folded yet; `previously fold {quote(self._name)}` folds what is due.")
        if len(named) == 2:
            older, newer = named
        elif named and old is not None and old.kind is ThingKind.VERSION:
            older, newer = named[0], newest
        else:
            newer = named[0] if named else newest
            older = _find_before(kept, newer)
        return TextComparison(older, newer, diff_words(render_version(older), render_version(newer)))

    async def versions_of(self, thing: Thing) -> list[Version]:
        """Return the versions of a text, the newest first: the one in force, what it replaced or went on from, and
        what was tried in its place."""
        kept = await self._history.log()
        known = {version.id: version for version in kept}
        current = await self._find_version(kept, thing)
        chain, waiting = {current.id}, [current]
        while waiting:
            made = waiting.pop().made
            for before in (made.before, made.replaces):
                if before and before in known and before not in chain:
                    chain.add(before)
                    waiting.append(known[before])
        same = (current.made.kind, current.made.scope)
        return [one for one in reversed(kept) if one.id in chain or (one.made.kind, one.made.scope) == same]

    async def trace(self, thing: Thing | None = None) -> tuple[Version, bool]:
        """Return the version that a thing is, by default the recap in force, and whether it is in force."""
        versions = [version for version in await self._history.log() if version.made.status is not Status.ASKED]
        texts = await self._list_in_force(versions)
        if thing is not None:
            version = await self._find_version(versions, thing)
        else:
            ident = texts[0] if texts else versions[-1].id if versions else None
            version = self._get_version(versions, ident)
        return version, version.id in texts

    async def _list_in_force(self, versions: Sequence[Version]) -> list[int]:
        """List the versions that speak for the story now: of the recap, the backbone, each chapter, the notes."""
        texts = [await self._texts.recap(), await self._texts.backbone()]
        texts += [chapter.recap for chapter in await self._texts.chapters()]
        by_hand = {one.made.text: one.id for one in versions if one.made.status is Status.BY_HAND}
        ids = [by_hand.get(text.text) if text.version is None else text.version for text in texts if text]
        return [*(ident for ident in ids if ident is not None), *await self._texts.notes_in_force()]

    async def _find_earlier(self, thing: Thing) -> Version:
        kept = await self._list_kept()
        newer = await self._find_version(kept, thing)
        older = _find_before(kept, newer)
        if older.id == newer.id:
            raise BadInput(f"There is no earlier version of {thing}; `previously log -v` lists them all.")
        return older

    async def _list_kept(self) -> list[Version]:
        """List the versions that were texts of the story."""
        none = (Status.REFUSED, Status.ASKED)
        return [version for version in await self._history.log() if version.made.status not in none]

    async def _find_version(self, versions: Sequence[Version], thing: Thing) -> Version:
        """Return the version that a thing is: itself, or the one of its text in force."""
        if thing.kind is ThingKind.VERSION:
            return self._get_version(versions, thing.number)
        text = await self._read_text(thing)
        if text is None:
            raise BadInput(f"{thing} has no text yet.")
        by_hand = {one.made.text: one.id for one in versions if one.made.status is Status.BY_HAND}
        version = by_hand.get(text.text) if text.version is None else text.version
        if version is None:
            raise BadInput(f"{thing} is joined of several texts; `previously log -v` lists their versions.")
        return self._get_version(versions, version)

    def _get_version(self, versions: Sequence[Version], wanted: int | None) -> Version:
        if wanted is None:
            raise BadInput(f"Nothing is folded yet; `previously fold {quote(self._name)}` folds what is due.")
        for version in versions:
            if version.id == wanted:
                return version
        raise BadInput(f"There is no version {wanted} here; `previously log {quote(self._name)}` lists them.")

    async def _read_text(self, thing: Thing) -> MemoryText | None:
        match thing.kind:
            case ThingKind.RECAP:
                return await self._texts.recap()
            case ThingKind.BRIEF:
                return await self._texts.brief()
            case ThingKind.BACKBONE:
                return await self._texts.backbone()
            case ThingKind.CHAPTER:
                recap: MemoryText | None = (await self.find_listed(thing)).recap
                return recap
            case ThingKind.EPISODE:
                episode: MemoryText = await self.find_listed(thing)
                return episode
            case _:
                raise BadInput(f"{thing} has no versions: recap, backbone, chapter:N, episode:N and version:N have.")

    async def _name_text(self, thing: Thing, do: Callable[[str], Awaitable[None]]) -> str:
        """Do something to a text; return its name."""
        is_chapter = thing.kind is ThingKind.CHAPTER
        named = f"chapter:{(await self.find_listed(thing)).number}" if is_chapter else str(thing)
        await do(named)
        return named

    async def _find_own(self, thing: Thing) -> str:
        """Return the name of the entry that is meant; one of a book is changed in the book."""
        entry = await self.find_listed(thing)
        if entry.book:
            raise BadInput(
                f"{entry.name!r} is an entry of the book {entry.book!r}; change the book's file and add it again."
            )
        return str(entry.name)


def _expect_text(thing: Thing, verb: str) -> None:
    if thing.kind not in TEXTS:
        raise BadInput(f"{thing} cannot be {verb}: only recap, backbone, chapter:N and lore:NAME can.")


def _find_before(versions: Sequence[Version], newer: Version) -> Version:
    """Return the version it went on from or replaced, else the one before it of the same text; itself where there is
    none."""
    earlier = [version for version in versions if version.id in (newer.made.before, newer.made.replaces)]
    same = (newer.made.kind, newer.made.scope)
    earlier = earlier or [one for one in versions if one.id < newer.id and (one.made.kind, one.made.scope) == same]
    return earlier[-1] if earlier else newer


def _pick(things: Sequence[Any], thing: Thing) -> Any:
    if not 1 <= thing.number <= len(things):
        raise BadInput(f"There is no {thing}; there are {len(things)}.")
    return things[thing.number - 1]


def _find_chapter(chapters: Sequence[ChapterText], thing: Thing) -> ChapterText:
    if thing.which.isdecimal():
        chapter: ChapterText = _pick(chapters, thing)
        return chapter
    titled = [((str(one.number),), one.title, one) for one in chapters if one.title]
    return find_meant(thing.which, titled, "chapter", "chapters list", named=True)


def _describe(one: Any, thing: Thing) -> ThingText:
    """Return a thing of a list as it is read."""
    match thing.kind:
        case ThingKind.CHAPTER:
            words = one.text or "Its recap waits to be folded."
            return ThingText(f"{one.name} ({one.span})", words, shapes.chapter_json(one))
        case ThingKind.EPISODE:
            return ThingText(f"Episode ({one.span})", one.text, shapes.episode_json(one))
        case ThingKind.SCENE:
            return ThingText(f"Scene {thing.which} ({one.span})", one.summary, shapes.scene_json(thing.number, one))
        case ThingKind.THREAD:
            words = f"{one.thread.line}{f' Ended: {one.thread.outcome}' if one.thread.outcome else ''}"
            heading = f"Thread {one.number}, {one.status.value} since message {one.thread.opened}"
            return ThingText(heading, words, shapes.thread_json(one))
        case ThingKind.STATE:
            return ThingText(f"Since message {one.position}, by {one.by}", one.text, shapes.held_json(one))
        case ThingKind.WISH:
            return ThingText(f"A wish since message {one.position}", one.text, shapes.wish_json(one))
        case ThingKind.PIN:
            return ThingText(f"Pin {one.id} at message {one.position}", one.text, shapes.pin_json(one))
        case ThingKind.LORE:
            keywords = f"\nKeywords: {', '.join(one.keywords)}" if one.keywords else ""
            heading = f"{one.name} ({one.type}, {one.status}, by {one.by})"
            return ThingText(heading, one.content + keywords, shapes.lore_json(one))
        case _:
            facts = [f"- {fact.text} ({fact.source}, message {fact.since})" for fact in one.knowledge.facts]
            words = "\n".join([one.knowledge.summary, *facts]).strip() or "Nothing is noted of what they know."
            return ThingText(one.name, words, shapes.cast_json(one))
