"""Deeds: what a person did to a story, and the way back from it.

Most deeds are marks, and a mark that is taken off leaves what was there before. What changes a path, an attribute, the
active branch or the status of versions is no mark; a mark of the kind *deed* stands beside it and says how to go back.
A deed is its branch's own: a new branch begins without any. No deed is passed over for an older one: where no way leads
back from the newest, that is said, and only the next `undo` goes further back.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, takewhile

from previously.core.deed import PERSON, Deed, DeedKind, parse_deed
from previously.core.digests import ROOT_HASH
from previously.core.errors import BadInput
from previously.core.marks import Mark, MarkKind, MarkPlace
from previously.core.path import OnPath, Reuse, Splice, Splices
from previously.core.snapshot import Snapshot
from previously.core.versions import Status
from previously.lore.hand_records import (
    EntryAction,
    HandRecord,
    LoreRecord,
    PersonRecord,
    StateRecord,
    ThreadAction,
    ThreadRecord,
    WishRecord,
    parse_record,
)
from previously.memory.presence import HAND_MARKS, place_corrections
from previously.runtime.note_deed import add_deed
from previously.storage.store import StoryKey
from previously.storage.tables import Tables

QUOTED = 60
"""Characters of a person's words that are told when they are taken back: enough to know them again, on one line."""


_PATH = frozenset(
    {
        DeedKind.ADDED, DeedKind.IMPORTED, DeedKind.INSERTED, DeedKind.EDITED, DeedKind.DELETED, DeedKind.CHOSE,
        DeedKind.REPLIED, DeedKind.WROTE,
    }
)  # fmt: skip
_WORDS = {
    DeedKind.ADDED: "adding message {at}",
    DeedKind.IMPORTED: "what the import changed",
    DeedKind.INSERTED: "putting in message {at}",
    DeedKind.EDITED: "the edit of message {at}",
    DeedKind.DELETED: "the deletion of message {at}",
    DeedKind.CHOSE: "the choice of another text for message {at}",
    DeedKind.REPLIED: "the reply at message {at}",
    DeedKind.WROTE: "message {at} and the reply to it",
    DeedKind.HID: "hiding message {at}",
    DeedKind.UNHID: "showing message {at}",
    DeedKind.SWITCHED: "the switch; {was} is active again",
    DeedKind.RESTORED: "putting an earlier version in force",
    DeedKind.TOOK_BACK: "taking a version back",
    DeedKind.APPROVED: "the approval",
    DeedKind.REJECTED: "the rejection",
    DeedKind.ATTACHED: "attaching the book {what}",
    DeedKind.DETACHED: "detaching the book {what}",
    DeedKind.BRANCHED: "making the branch {what}",
    DeedKind.CONTINUED: "continuing this story as {what}",
    DeedKind.FORGOT: "forgetting {what}",
    DeedKind.RENAMED: "renaming {what}",
    DeedKind.SET: "the change of {what}",
}
_LASTING = {
    DeedKind.BRANCHED: "it stays beside this one and changes nothing here",
    DeedKind.CONTINUED: "`previously undo {what}` takes the link back there",
    DeedKind.FORGOT: "what is forgotten is gone for good",
    DeedKind.RENAMED: "the new name stays until you rename it again",
    DeedKind.SET: "`previously set` changes settings back",
}
"""The deeds from which no way leads back, each with what there is instead."""
_MARKS = {
    MarkKind.CHAPTER: "the end of the chapter at message {at}",
    MarkKind.RECAP: "your words for the recap",
    MarkKind.CHAPTER_RECAP: "your words for a chapter",
    MarkKind.BACKBONE: "your words for the backbone",
    MarkKind.PIN: "the pin {text}",
    MarkKind.KEPT_OPEN: "opening the chapter that ended at message {at}",
    MarkKind.UNLOCKED: "{text}",
    MarkKind.SCENE: "the end of the scene at message {at}",
    MarkKind.LORE: "",
    MarkKind.THREAD: "",
    MarkKind.HELD: "",
    MarkKind.WISH: "",
    MarkKind.PERSON: "",
    MarkKind.LEFT: "that {text} left",
    MarkKind.ENTERED: "that {text} came back",
    MarkKind.PRESENCE: "who was present at {span}",
    MarkKind.TURN: "what you said of how the game stands",
    MarkKind.CONTINUES: "that this story continues another",
    MarkKind.DISMISSED: "that a contradiction at message {at} is none",
}
"""The marks that a person makes, in words; those without words hold a record."""


@dataclass(frozen=True, slots=True)
class WayBack:
    """The newest deed of a branch, and what takes it back."""

    mark: Mark
    words: str
    head: int
    deed: Deed | None = None
    was: str = ""
    """The branch that becomes active again."""
    script: Splices = ()
    places: tuple[MarkPlace, ...] = ()
    """The marks that stand again where they stood."""
    stays: str = ""
    """The reason why it cannot be taken back: no way leads back from it, or none does any more."""
    before: str = ""
    """Of such a deed, the one before it in words; empty if there is none."""


def list_marks_in(tables: Tables, key: StoryKey, branch: str, script: Splices) -> tuple[MarkPlace, ...]:
    """Return the marks in the part of the path that a script is about to change, as a deed keeps them."""
    first, end = script[0].at, script[-1].at + script[-1].remove
    marks = enumerate(mark for mark, _ in tables.marks.every(key, tables.branch(key, branch).id))
    return tuple((at, mark.position, mark.behind) for at, mark in marks if first <= mark.position < end)


def add_path_deed(
    tables: Tables,
    key: StoryKey,
    branch: str,
    did: DeedKind,
    position: int,
    old_head: int,
    marks: tuple[MarkPlace, ...] = (),
) -> None:
    """Note that a person has just changed the path of a branch, from a position on."""
    snapshot = tables.snapshot(key, branch)
    if snapshot.head != old_head:
        seen = _hash_of(snapshot, old_head) + _hash_of(snapshot, snapshot.head)
        deed = Deed(did, marks=marks)
        add_deed(tables, key, deed, min(position, snapshot.messages - 1), seen=seen, branch=branch)


def find_deleted(tables: Tables, key: StoryKey) -> frozenset[int]:
    """Return the entries that somebody took out of a story, on any branch: each is no swipe of what is written in its
    place."""
    moves = [move for branch in tables.stories.branches(key) for move in _list_deletions(tables, key, branch.name)]
    return tables.reader.find_deleted(key, moves) if moves else frozenset()


def _list_deletions(tables: Tables, key: StoryKey, branch: str) -> list[tuple[int, int]]:
    """Return the moves of a branch's head by which messages may have been taken out: deletions and imports."""
    row, moves = tables.branch(key, branch), list[tuple[int, int]]()
    for mark in tables.snapshot(key, branch).marks({MarkKind.DEED}):
        deed = parse_deed(mark.text)
        if deed and deed.did in (DeedKind.DELETED, DeedKind.IMPORTED):
            half = len(mark.seen) // 2
            move = tables.stories.move_between(key, row, mark.seen[:half], mark.seen[half:])
            moves += [(move.old_head, move.new_head)] if move else []
    return moves


def add_reply_deed(
    tables: Tables, key: StoryKey, branch: str, heads: Sequence[int], text: str, marks: tuple[MarkPlace, ...] = ()
) -> None:
    """Note that a reply with this text has just been put at the end of a branch. `heads` are where the branch ended
    before: before what the user said, if that was said with it, and before the reply. Nothing is noted of a reply that
    came too late and stands beside another."""
    snapshot, row = tables.snapshot(key, branch), tables.branch(key, branch)
    newest = snapshot.path(snapshot.messages - 1, snapshot.messages - 1)
    hashes = [_hash_of(snapshot, head) for head in (*heads, snapshot.head)]
    if not newest or newest[0].entry.message.text != text or not tables.stories.move_between(key, row, *hashes[-2:]):
        return
    if len(hashes) > 2 and tables.stories.move_between(key, row, *hashes[:2]):
        added = b"".join(hashes[:2])  # by itself no more: one step takes back both
        for mark in snapshot.marks({MarkKind.DEED}, since=newest[0].position - 1):
            if mark.seen == added:
                tables.marks.take_back(key, row, mark.id)
    else:
        hashes = hashes[-2:]
    did = DeedKind.WROTE if len(hashes) > 2 else DeedKind.REPLIED
    add_deed(tables, key, Deed(did, marks=marks), newest[0].position, seen=b"".join(hashes), branch=branch)


def find_way_back(tables: Tables, key: StoryKey) -> WayBack:
    """Return the way back from the newest thing that a person did on the active branch; `BadInput` if there is none."""
    snapshot = tables.snapshot(key)
    mine = [mark for mark in snapshot.marks() if mark.made_by == PERSON and _is_deed(mark)]
    newest_first = sorted(mine, key=lambda mark: -mark.id)
    if not newest_first:
        raise BadInput(
            "There is nothing to undo: you did nothing on this branch that can be taken back. "
            "For what folds wrote there are `restore` and `undo STORY version:N`."
        )
    way = _find_way(tables, key, snapshot, newest_first[0])
    if way.stays and len(newest_first) > 1:
        way = replace(way, before=_find_way(tables, key, snapshot, newest_first[1]).words)
    return way


def _is_deed(mark: Mark) -> bool:
    return mark.kind in _MARKS or (mark.kind is MarkKind.DEED and mark.origin == mark.id)


def _find_way(tables: Tables, key: StoryKey, snapshot: Snapshot, mark: Mark) -> WayBack:
    if mark.kind is not MarkKind.DEED:
        return WayBack(mark, describe_mark(snapshot, mark), snapshot.head)
    deed = parse_deed(mark.text)
    if deed is None:
        stays = "a newer version of Previously noted it"
        return WayBack(mark, f"what you did at message {mark.position}", snapshot.head, stays=stays)
    branches = [branch.name for branch in tables.stories.branches(key)]
    was = branches[deed.was] if 0 <= deed.was < len(branches) else ""
    words = _WORDS[deed.did].format(at=mark.position, was=was, what=deed.what)
    way = WayBack(mark, words, snapshot.head, deed, was=was)
    if deed.did in _PATH:
        placed = _find_splice(tables, key, snapshot, mark.seen)
        if placed is None:
            vague = _WORDS[deed.did].replace("message {at}", "a message")  # nobody knows where it would stand now
            return replace(way, words=vague, stays="its messages were changed again or forgotten since")
        splice, first = placed
        listed = [other.id for other, _ in tables.marks.every(key, tables.branch(key, None).id)]
        places = tuple(
            (listed[rank], position - first + splice.at, behind)
            for rank, position, behind in deed.marks
            if 0 <= rank < len(listed) and first <= position
        )
        words = _WORDS[deed.did].format(at=splice.at)
        return replace(way, words=words, script=[splice], places=places)
    return replace(way, stays=_find_obstacle(tables, key, snapshot, way))


def _find_obstacle(tables: Tables, key: StoryKey, snapshot: Snapshot, way: WayBack) -> str:
    """Return why a deed that did not change the path cannot be taken back; empty if it can."""
    match way.deed:
        case Deed(did, what=what) if did in _LASTING:
            return _LASTING[did].format(what=what)
        case Deed(DeedKind.HID | DeedKind.UNHID as did):
            item = snapshot.path(way.mark.position, way.mark.position)
            same = item and item[0].entry.digest == way.mark.seen
            stands = same and item[0].entry.attributes.hidden == (did is DeedKind.HID)
            return "" if stands else "the message was changed again or forgotten since"
        case Deed(DeedKind.SWITCHED):
            return "" if way.was else "that branch is not there any more"
        case Deed(DeedKind.ATTACHED, what=book):
            return "" if book in tables.books.attached(key) else "the book is not attached any more"
        case Deed(DeedKind.DETACHED, what=book):
            return "" if tables.books.get(key.owner, book) else "there is no book of that name any more"
        case Deed(statuses=statuses):
            versions = snapshot.versions()
            changed = [(versions[at], status) for at, status, _ in statuses if 0 <= at < len(versions)]
            forgotten = any(version.made.status is Status.FORGOTTEN for version, _ in changed)
            if forgotten or len(changed) < len(statuses):
                return "what it was about is forgotten"
            taken = any(tables.versions.find_rival(key, *one) for one in changed)
            return "a fold has written another text in its place since" if taken else ""
        case None:
            return ""


def _find_splice(tables: Tables, key: StoryKey, snapshot: Snapshot, seen: bytes) -> tuple[Splice, int] | None:
    """Return the change that puts back what a change of the path, or several in a row, took away, wherever that stands
    now, and where it stood then; None where it stands nowhere as it was left."""
    size, row = len(ROOT_HASH), tables.branch(key, None)
    hashes = [seen[at : at + size] for at in range(0, len(seen), size)]
    moves = [tables.stories.move_between(key, row, *pair) for pair in pairwise(hashes)]
    if not moves or (first := moves[0]) is None or (last := moves[-1]) is None:
        return None
    old, new = _read_entries(snapshot, first.old_head), _read_entries(snapshot, last.new_head)
    front = len(list(takewhile(lambda pair: pair[0] == pair[1], zip(old, new, strict=False))))
    rest_old, rest_new = old[front:], new[front:]
    back = len(list(takewhile(lambda pair: pair[0] == pair[1], zip(rest_old[::-1], rest_new[::-1], strict=False))))
    gone, came = rest_old[: len(rest_old) - back], rest_new[: len(rest_new) - back]
    now: list[int | None] = [item.entry.id for item in snapshot.path(0, snapshot.messages - 1)]
    before, after = new[front - 1] if front else None, new[front + len(came)] if back else None
    at = _find_place(now, came, before, after)
    return None if at is None else (Splice(at, len(came), tuple(map(Reuse, gone))), front)


def _find_place(now: list[int | None], came: Sequence[int], before: int | None, after: int | None) -> int | None:
    """Return where the entries that came stand now; where none came, the place between the two around it."""
    if came:
        starts = [at for at, entry in enumerate(now) if entry == came[0]]
        return next((at for at in starts if list(now[at : at + len(came)]) == list(came)), None)
    if before in now:
        return now.index(before) + 1
    if after in now:
        return now.index(after)
    return 0 if before is None else None


def _read_entries(snapshot: Snapshot, head: int) -> list[int]:
    if not head:
        return []
    depth = snapshot.leading_to(head, 1)[0].position + 1
    return [item.entry.id for item in snapshot.leading_to(head, depth)]


def _hash_of(snapshot: Snapshot, head: int) -> bytes:
    last: Sequence[OnPath] = snapshot.leading_to(head, 1) if head else ()
    return last[0].hash if last else ROOT_HASH


def put_statuses_back(tables: Tables, key: StoryKey, snapshot: Snapshot, deed: Deed) -> None:
    """Give versions the status back that they had before a deed."""
    listed = snapshot.versions()
    for at, status, reason in deed.statuses:
        tables.versions.set_status(key, listed[at].id, status, reason)


def describe_mark(snapshot: Snapshot, mark: Mark) -> str:
    """Return a person's mark in words."""
    if not _MARKS[mark.kind]:
        record = parse_record(mark.text)
        return describe_record(record) if record else f"what you said at message {mark.position}"
    span = f"message {mark.position + 1}"
    if mark.kind is MarkKind.PRESENCE:  # its mark stands before the first message that it is about
        placed = place_corrections(snapshot, snapshot.marks(HAND_MARKS))
        span = next((str(where) for other, where in placed if other.id == mark.id), span)
    text = quote(mark.text) if mark.kind is MarkKind.PIN else mark.text or "the unlocking"
    return _MARKS[mark.kind].format(at=mark.position, text=text, span=span)


def describe_record(record: HandRecord) -> str:
    """Return what a person said in words."""
    match record:
        case LoreRecord(EntryAction.MERGE) | PersonRecord():
            return f"merging {record.name} into {record.into}"
        case LoreRecord(EntryAction.RENAME):
            return f"renaming {record.name} to {record.into}"
        case LoreRecord(EntryAction.WRITE):
            return f"your words on {record.name}"
        case LoreRecord(EntryAction.ACCEPT):
            return f"accepting {record.name}"
        case LoreRecord():
            return f"removing {record.name}"
        case ThreadRecord(action):
            return f"{_THREAD_WORDS[action]} the thread {quote(record.was or record.text)}"
        case StateRecord(ended=True):
            return f"ending {quote(record.text)}"
        case StateRecord():
            return f"how things stand: {quote(record.text)}"
        case WishRecord():
            return f"{'rewording' if record.text else 'removing'} the wish {quote(record.was)}"


_THREAD_WORDS = {
    ThreadAction.OPEN: "opening",
    ThreadAction.RESOLVE: "settling",
    ThreadAction.REWORD: "the edit of",
    ThreadAction.REMOVE: "removing",
    ThreadAction.MERGE: "merging",
}


def quote(text: str) -> str:
    """Return words as they stand in a sentence: on one line, and short."""
    line = " ".join(text.split())
    return f"“{line}”" if len(line) <= QUOTED else f"“{line[:QUOTED].rsplit(' ', 1)[0]}…”"
