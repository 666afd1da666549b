"""The history of memory: taking back, restoring, approving.

Versions are never deleted. What is undone stays in the log and can be restored; what is rejected says why. Folds belong
to the messages they read, so undoing or restoring one concerns every branch that holds those; what a person wrote
belongs to the branch, and so does taking it back.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from previously.core.count_nouns import count_nouns
from previously.core.deed import Deed, DeedKind
from previously.core.digests import span_key
from previously.core.errors import BadInput, HeadMoved
from previously.core.fold_rules import FoldRules
from previously.core.json_values import clean
from previously.core.marks import Mark, find_starts, is_of_a_span
from previously.core.path import Span, find_position
from previously.core.snapshot import Snapshot
from previously.core.versions import IN_FORCE, REJECTED, TAKEN_BACK, Kind, Status, Version, has_read
from previously.memory.in_force import InForce
from previously.memory.notes import find_notes
from previously.runtime.clock import time_at
from previously.runtime.note_deed import add_deed
from previously.runtime.retry import retry_when_moved
from previously.storage.store import StoryKey
from previously.storage.tables import Tables
from previously.story.access import StoryAccess, StoryChange, find_version
from previously.story.deeds import WayBack, find_way_back, put_statuses_back
from previously.story.memory_edits import TextName, list_hand_marks, parse_text_name, read_text, write_text

_RESTORABLE = IN_FORCE | {Status.UNDONE}


@dataclass(frozen=True, slots=True)
class Telling:
    """A memory in force that stands, or stood, for a message."""

    kind: Kind
    version: int | None
    """None for what a person wrote."""
    span: Span
    cut: Span | None = None
    """The messages around this one that it tells no more, because it had grown too long; None where it tells it."""


class History:
    """The versions of one story, as people decide about them."""

    def __init__(self, access: StoryAccess) -> None:
        self._access = access

    async def log(self) -> list[Version]:
        """Return every version of every memory, the oldest first.

        >>> from previously import BlockingMemory
        >>> with BlockingMemory(":memory:") as memory:
        ...     story = memory.story("ferry")
        ...     _ = story.add("user", "The ferry sank.")
        ...     story.log()
        []
        """
        return await self._access.read(lambda moment: moment.snapshot.versions())

    async def telling(self, position: int) -> list[Telling]:
        """Return every memory in force that stands for the message at a position: notes of its span, then the texts."""
        return await self._access.read(lambda moment: _list_telling(moment.snapshot, self._access.rules, position))

    async def undo(self) -> str:
        """Take back the last thing that a person did to the active branch of this story, or the switch to it; return
        what that was, in words. What folds wrote is not touched: see `take_back`. `BadInput` says what cannot be taken
        back; that is left as it is, and the next call goes one step further back."""
        return await retry_when_moved(self._undo)

    async def to_undo(self) -> tuple[str, int]:
        """Return what `undo` would take back, in words, and how many messages it would take out of the story."""
        key = self._access.key
        way = await self._access.store.read(key.owner, lambda tables: find_way_back(tables, key))
        return way.words, sum(max(0, splice.remove - len(splice.pieces)) for splice in way.script)

    async def _undo(self) -> str:
        key, store = self._access.key, self._access.store
        way = await store.read(key.owner, lambda tables: find_way_back(tables, key))
        if way.script:
            branch = await self._access.read_branch()
            after = await store.apply(
                key, branch.name, way.script, at=time_at(), expected_head=way.head,
                also=lambda tables: _end_way(tables, key, way),
            )  # fmt: skip
            return _say_undone(way, branch.messages - after.messages, after.messages)

        def write(tables: Tables) -> None:
            if find_way_back(tables, key) != way:
                raise HeadMoved("Something else was done to this story meanwhile.")
            _go_back(tables, key, way)

        await store.write(key, write)
        if way.stays:
            raise BadInput(_say_not_undone(way))
        return way.words

    async def take_back(self, version: int | None = None) -> Version:
        """Put a version out of force that a fold wrote, by default the newest that is in force. The next fold makes
        another."""
        return await self._access.change(lambda change: _take_back(change, version))

    async def restore(self, version: int) -> Version:
        """Put an earlier version in force again, in place of what came after it and of what a person wrote since."""

        def change(change: StoryChange) -> Version:
            if find_version(change.snapshot, version).made.status is Status.BY_HAND:
                return _restore(change, version)  # whose mark says it all
            before = change.snapshot.versions()
            restored = _restore(change, version)
            name = _name_text(change.snapshot, restored)
            retired = list_hand_marks(change.snapshot, parse_text_name(name)) if name else ()
            _note_statuses(change, DeedKind.RESTORED, before, retired)
            return restored

        return await self._access.change(change)

    async def pending(self) -> list[Version]:
        """Return what waits for approval, the oldest first; of texts that one answer gave, the first stands for all."""
        waiting = [version for version in await self.log() if version.made.status is Status.PENDING]
        return [
            version
            for at, version in enumerate(waiting)
            if not any(_is_same_answer(version, other) for other in waiting[:at])
        ]

    async def failures(self) -> list[Version]:
        """Return the folds that failed and that nothing better stands in place of yet, the newest first: what was
        refused, and what the built-in writer made for a model that could not. The reason of each says why."""
        latest: dict[tuple[Kind, str, Span], Version] = {}
        for version in await self.log():
            latest[version.made.kind, version.made.scope, version.made.span] = version
        is_failed = {Status.REFUSED, Status.PROVISIONAL}
        failed = [one for one in latest.values() if one.made.status in is_failed and REJECTED not in one.made.reason]
        return sorted(failed, key=lambda version: -version.id)

    async def approve(self, version: int) -> Version:
        """Put a version that waits in force."""
        return await self._decide(version, Status.COMMITTED, "approved by a person")

    async def reject(self, version: int, reason: str = "") -> Version:
        """Refuse a version that waits. The next fold makes another."""
        why = f": {clean(reason)[0]}" if reason.strip() else ""
        return await self._decide(version, Status.REFUSED, f"{REJECTED}{why}")

    async def _decide(self, version: int, status: Status, reason: str) -> Version:
        def change(change: StoryChange) -> Version:
            decided = find_version(change.snapshot, version)
            if decided.made.status is not Status.PENDING:
                raise BadInput(f"Version {version} does not wait for approval: it is {decided.made.status.value}.")
            before = change.snapshot.versions()
            for other in before:
                if other.id != version and other.made.status is Status.PENDING and _is_same_answer(other, decided):
                    change.tables.versions.set_status(change.key, other.id, status, reason)
            made = change.tables.versions.set_status(change.key, version, status, reason)
            _note_statuses(change, DeedKind.APPROVED if status is Status.COMMITTED else DeedKind.REJECTED, before)
            return made

        return await self._access.change(change)


def _say_undone(way: WayBack, taken: int, left: int) -> str:
    if taken <= 0 or way.deed is None or way.deed.did is not DeedKind.IMPORTED:
        return way.words
    messages = f"{count_nouns(taken, 'message')} taken out"
    emptied = "" if left else ", all there were: the story is empty now"
    return f"{way.words}: {messages}{emptied}; importing the file again brings them back"


def _say_not_undone(way: WayBack) -> str:
    words = way.words[0].upper() + way.words[1:]
    further = f"; `undo` again takes back {way.before}" if way.before else ""
    return f"{words} cannot be taken back here: {way.stays}. Nothing was changed{further}."


def _list_telling(snapshot: Snapshot, rules: FoldRules, position: int) -> list[Telling]:
    at = find_position(snapshot.messages, position)
    notes = {(note.version.made.kind, note.span): note for note in find_notes(snapshot)}
    telling = [Telling(kind, note.version.id, span) for (kind, span), note in notes.items() if at in span]
    in_force = InForce(snapshot)
    *closed, _ = in_force.timeline()
    texts = [(kind, read_text(snapshot, rules, TextName(kind))) for kind in (Kind.RECAP, Kind.BACKBONE)]
    around = [chapter for chapter in closed if chapter.last is not None and chapter.first <= at <= chapter.last]
    texts += [(Kind.CHAPTER, chapter.recap) for chapter in in_force.chapters(around)]
    for kind, text in texts:
        if text and at in text.span:
            cut = next((cut for cut in text.cuts if at in cut), None)
            telling.append(Telling(kind, text.version, text.span, cut))
    return telling


def _take_mark_back(tables: Tables, key: StoryKey, mark: Mark) -> None:
    tables.marks.take_back(key, tables.branch(key, None), mark.id)


def _end_way(tables: Tables, key: StoryKey, way: WayBack) -> None:
    """Put the marks back that stood on a path which is now as it was."""
    _take_mark_back(tables, key, way.mark)
    tables.writer.place_marks(key, tables.branch(key, None), way.places)


def _go_back(tables: Tables, key: StoryKey, way: WayBack) -> None:
    """Take back a deed that did not change the path; of one that stays, only its mark."""
    snapshot = tables.snapshot(key)
    _take_mark_back(tables, key, way.mark)
    if way.stays:
        return
    match way.deed:
        case Deed(DeedKind.HID | DeedKind.UNHID):
            entry = snapshot.path(way.mark.position, way.mark.position)[0].entry
            attributes = replace(entry.attributes, hidden=not entry.attributes.hidden)
            tables.writer.set_attributes(key, [(entry.id, attributes)])
        case Deed(DeedKind.SWITCHED):
            tables.stories.switch(key, way.was)
        case Deed(DeedKind.ATTACHED, what=book):
            tables.books.detach(key, book)
        case Deed(DeedKind.DETACHED, what=book):
            tables.books.attach(key, book)
        case Deed():
            put_statuses_back(tables, key, snapshot, way.deed)
        case None:
            pass  # the mark was all of it


def _take_back(change: StoryChange, version: int | None) -> Version:
    snapshot = change.snapshot
    notes = find_notes(snapshot)
    kinds = [kind for kind in Kind if kind is not Kind.STATE]  # which only follows from others
    in_force = {ident for kind in kinds for _, _, ident in snapshot.cover(kind)} | {note.version.id for note in notes}
    if not in_force:
        raise BadInput("Nothing is folded yet: there is no version to take back.")
    ident = max(in_force) if version is None else find_version(snapshot, version).id
    if ident not in in_force:
        raise BadInput(f"Version {ident} is not in force on this branch; `log` says how each stands.")
    before = snapshot.versions()
    taken = change.tables.versions.set_status(change.key, ident, Status.UNDONE, TAKEN_BACK)
    for note in notes:
        if note.version.id == ident:
            _take_back_states(change, note.span.first)
    _note_statuses(change, DeedKind.TOOK_BACK, before)
    return taken


def _note_statuses(change: StoryChange, did: DeedKind, before: Sequence[Version], retired: Sequence[Mark] = ()) -> None:
    """Note as a deed which versions have another status than before, and which words of a person are given up."""
    now = {version.id: version.made.status for version in change.snapshot.versions()}
    statuses = tuple(
        (at, version.made.status, version.made.reason)
        for at, version in enumerate(before)
        if now[version.id] is not version.made.status
    )
    deed = Deed(did, statuses=statuses)
    add_deed(change.tables, change.key, deed, instead_of=retired)


def _restore(change: StoryChange, version: int) -> Version:
    snapshot, versions = change.snapshot, change.tables.versions
    wanted = find_version(snapshot, version)
    if wanted.made.status is Status.BY_HAND:
        what = _name_text(snapshot, wanted)
        if not what:
            raise BadInput(f"Version {version} is about a chapter that is not on branch {snapshot.branch!r} now.")
        write_text(change, what, wanted.made.text)
        return wanted
    if wanted.made.status not in _RESTORABLE:
        raise BadInput(f"Version {version} was never in force: it is {wanted.made.status.value}.")
    chain = _read_chain(snapshot, wanted)
    span = _find_span(snapshot, chain)
    if span is None:
        raise BadInput(
            f"Version {version} was made for messages that are not on branch {snapshot.branch!r} as they were; "
            "write its words by hand to have them anyhow."
        )
    for link in chain:
        if link.made.status is Status.UNDONE:
            versions.set_status(change.key, link.id, Status.COMMITTED, "restored by a person")
    why = f"undone when version {version} was restored"
    for _, last, other in snapshot.cover(wanted.made.kind):
        shadows = last > span.last or (last == span.last and other > version)
        if shadows and find_version(snapshot, other).made.scope == wanted.made.scope:
            versions.set_status(change.key, other, Status.UNDONE, why)
    if is_of_a_span(wanted.made.scope):
        for note in find_notes(snapshot):
            if note.version.made.key == wanted.made.key and note.version.id > version:
                versions.set_status(change.key, note.version.id, Status.UNDONE, why)
        _take_back_states(change, span.first)
    return find_version(snapshot, version)


def _take_back_states(change: StoryChange, first: int) -> None:
    """Take back kept states, and loosen recaps, that may hold what was noted from a message on."""
    versions = change.tables.versions
    for _, last, version in change.snapshot.cover(Kind.STATE):
        if last >= first:
            versions.set_status(change.key, version, Status.UNDONE, "a note in it was taken back")
    if change.rules.timeline.is_derived:
        recaps = change.snapshot.cover(Kind.RECAP)
        versions.loosen(change.key, [version for _, last, version in recaps if last >= first])


def _name_text(snapshot: Snapshot, version: Version) -> str:
    """Return what a person calls the text that a version is of; empty if the branch has no such text now."""
    if version.made.kind is Kind.BACKBONE:
        return Kind.BACKBONE.value
    if version.made.kind is Kind.SHORT:
        return ""  # a person writes the full form; this one follows
    *closed, current = InForce(snapshot).timeline()
    scope = version.made.scope
    if version.made.kind is Kind.CHAPTER:
        numbers = [chapter.number for chapter in closed if scope in (chapter.scope, chapter.last_stretch.scope)]
        return f"{Kind.CHAPTER.value}:{numbers[-1]}" if numbers else ""
    return Kind.RECAP.value if scope in [stretch.scope for stretch in current.stretches] else ""


def _read_chain(snapshot: Snapshot, version: Version) -> list[Version]:
    """Return a version and all it was built on, the first link first."""
    chain = [version]
    while chain[0].made.before:
        chain.insert(0, find_version(snapshot, chain[0].made.before))
    return chain


def _find_span(snapshot: Snapshot, chain: list[Version]) -> Span | None:
    """Return where the run of the last of a chain stands on the branch, if all the runs of the chain stand there."""
    scope = chain[0].made.scope
    if is_of_a_span(scope):
        return _find_run(snapshot, chain[0])
    first = find_starts(snapshot.marks(), [scope]).get(scope)
    span = None
    for link in chain:
        if first is None or first + len(link.made.span) > snapshot.messages:
            return None
        span = Span(first, first + len(link.made.span) - 1)
        run = snapshot.path(span.first, span.last)
        if span_key(item.entry.digest for item in run) != link.made.key:
            return None
        first = span.last + 1
    return span


def _find_run(snapshot: Snapshot, note: Version) -> Span | None:
    """Return where the run that a note has read stands on the branch, the last time; None if it does not."""
    digests = [item.entry.digest for item in snapshot.path(0, snapshot.messages - 1)]
    length = len(note.made.span)
    for at in range(len(digests) - length, -1, -1):
        if digests[at] == note.made.first and has_read(note.made, digests[at : at + length]):
            return Span(at, at + length - 1)
    return None


def _is_same_answer(version: Version, other: Version) -> bool:
    """Return whether two versions came of one answer: an update gives a recap, an episode and a note at once, and where
    a chapter ends with it the short form and the backbone; the question of a closed chapter gives these two and
    sometimes its full form. What is kept of a chapter reads more than the update did, and ends with it."""
    kinds = {version.made.kind, other.made.kind}
    of_chapters = {Kind.CHAPTER, Kind.SHORT, Kind.BACKBONE}
    if not kinds <= {Kind.RECAP, Kind.EPISODE, Kind.NOTE, *of_chapters} or (
        (version.made.at, version.made.anchor) != (other.made.at, other.made.anchor)
    ):
        return False
    return len(kinds) > 1 if kinds & of_chapters else version.made.key == other.made.key
