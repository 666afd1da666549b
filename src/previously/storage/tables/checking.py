"""Checking a story: every hash and every cache derived anew from what it is derived from, and compared.

All of one story is read in one snapshot, in pieces: what is held at once are ids and digests, not messages. Rows that
nothing refers to are no fault: an interrupted import leaves them, and `gc` takes them.
"""

from __future__ import annotations

import json

from previously.storage.tables.books import BookTable
from previously.storage.tables.checking_cover import CoverCheck, check_marks
from previously.storage.tables.checking_messages import check_messages
from previously.storage.tables.checking_paths import LineMap, check_paths
from previously.storage.tables.checking_versions import check_versions
from previously.storage.tables.findings import ROWS_AT_ONCE, Findings
from previously.storage.tables.garbage import garbage_of, old_leases
from previously.storage.tables.index_state import read_state
from previously.storage.tables.records import NO_NODE, StoryKey
from previously.storage.tables.session import Row, Session
from previously.storage.tables.stories import BranchRow, StoryRow, story_rows

MOST_STRAYS = 1_000


def check_story(session: Session, owner: str, story: int, before: str, findings: Findings) -> None:
    """Check all of one story. What was begun before that time and never published counts as garbage."""
    session.one("plan_for_copying", {})  # rows are read piece by piece here too
    found = [row for row in story_rows(session, owner) if row.id == story]
    if not found:
        return  # it was forgotten meanwhile
    key = StoryKey(owner, story)
    findings.begin(found[0].name)
    asked = {"story": story, "owner": owner}
    branches = [BranchRow(*row) for row in session.rows("branch_rows", asked)]
    lines = LineMap.read(session, key)
    _check_story_row(found[0], branches, findings)
    nodes = check_messages(session, key, findings)
    check_paths(session, key, lines, branches, findings)
    made = check_versions(session, key, nodes, findings)
    covers = CoverCheck(session, key, lines, made, findings)
    covers.check_rows(branches)
    for branch in sorted(branches, key=lambda one: lines.order(one.line)):  # neighbours share most of their paths
        starts = check_marks(session, key, branch, findings)
        if branch.line in lines.lines:
            covers.check_branch(branch, starts)
    covers.check_keys()
    _check_moves(session, key, branches, findings)
    _check_attached(session, key, findings)
    _, state = read_state(session, key)
    if state is not None:
        from previously.storage.tables.checking_index import check_index  # brings numpy

        check_index(session, key, state, findings)
    for kind in ("receipts", "leases"):
        counted = session.one(f"count_{kind}", asked)
        findings.looked_at(kind, counted[0] if counted else 0)
    findings.garbage += garbage_of(session, key, before)


def check_books(session: Session, owner: str, findings: Findings) -> None:
    """Check that every book of an owner can be read. One is held at a time."""
    books = BookTable(session)
    infos = books.all(owner)
    for info in infos:
        book = books.get(owner, info.name)
        try:
            json.loads(book.body if book else "")
        except (ValueError, RecursionError):
            findings.fault(f"book {info.name!r}", "it cannot be read")
    findings.checked["books"] += len(infos)  # of no story: nobody is told of one


def check_strays(session: Session, owner: str, before: str, findings: Findings) -> None:
    """Find rows of stories and branches that are not there."""
    findings.begin("")
    for table, row, story, branch in session.rows("check_strays", {"owner": owner, "most": MOST_STRAYS}):
        reason = f"it is of story {story}, which is not there"
        findings.fault(f"{table} {row}", reason if not branch else f"it is of branch {branch}, which is not there")
    findings.garbage += old_leases(session, owner, before)


def _check_story_row(row: StoryRow, branches: list[BranchRow], findings: Findings) -> None:
    if row.active not in [branch.id for branch in branches]:
        findings.fault("the story itself", f"its active branch, {row.active}, is not there")
    for what, kept in (("header", row.header), ("settings", row.settings)):
        try:
            json.loads(kept)
        except ValueError:
            findings.fault("the story itself", f"its {what} cannot be read")


def _check_attached(session: Session, key: StoryKey, findings: Findings) -> None:
    """Every book that is attached is there, each at a place of its own."""
    rows = session.rows("check_attached", {"story": key.story, "owner": key.owner})
    for number, (name, position, owner) in enumerate(rows):
        if owner is None:
            findings.fault(f"attached book {name!r}", "there is no such book")
        if number and position == rows[number - 1][1]:
            findings.fault(f"attached book {name!r}", f"another is at place {position} too")
    findings.looked_at("attached books", len(rows))


def _check_moves(session: Session, key: StoryKey, branches: list[BranchRow], findings: Findings) -> None:
    """Every head that a branch left or came to is there, and the last one is where it is now."""
    ends: dict[int, int] = {}
    after = 0
    asked = {"story": key.story, "owner": key.owner, "most": ROWS_AT_ONCE}
    while rows := session.rows("check_moves", {**asked, "after": after}):
        for row in rows:
            _check_move(row, key.story, findings)
            ends[row[1]] = row[4]
        after = rows[-1][0]
        findings.looked_at("moves", len(rows))
    for branch in branches:
        if ends.get(branch.id, branch.head) != branch.head:
            came_to = ends[branch.id]
            findings.fault(f"branch {branch.name!r}", f"it last moved to node {came_to}, its head is {branch.head}")


def _check_move(row: Row, story: int, findings: Findings) -> None:
    move, branch, branch_story, old_head, new_head, old_story, new_story = row
    what = f"move {move}"
    if branch_story != story:
        findings.fault(what, f"it is of branch {branch}, which this story does not have")
    for node, node_story in ((old_head, old_story), (new_head, new_story)):
        if node != NO_NODE and node_story != story:
            findings.fault(what, f"node {node} is not there, or of another story")
