"""Check an owner's stories: derive every hash and every cache anew from its source, and compare.

Each story is read in a snapshot of its own, so that a check of many holds nobody up, and in pieces: ids and digests are
held, eight or sixteen bytes each, not messages. A node is checked against its parent and its entry as they are stored;
since those are checked in the same way, every hash is derived from the words of all messages before it. Rows that
nothing refers to are no fault: an interrupted import leaves them, and `gc` takes them.
"""

from __future__ import annotations

import json
from array import array
from itertools import groupby, islice

from previously.core.digests import ROOT_HASH, digest, match_key, node_hash
from previously.storage.findings import ROWS_AT_ONCE, Findings
from previously.storage.gc import count_garbage, count_old_leases
from previously.storage.tables.books import BookTable
from previously.storage.tables.damage import Damaged
from previously.storage.tables.index_state import read_state
from previously.storage.tables.records import NO_NODE, StoryKey
from previously.storage.tables.rows import decode_entry
from previously.storage.tables.session import LOWEST, Row, Session
from previously.storage.tables.stories import BranchRow, StoryRow, read_story_rows
from previously.storage.verify_memory import CoverCheck, check_marks, check_versions
from previously.storage.verify_paths import LineMap, check_paths


def check_messages(session: Session, key: StoryKey, findings: Findings) -> int:
    """Check nodes, then entries; how many nodes the story has."""
    entries = array("q")
    after = {"parent": LOWEST, "entry": LOWEST}
    asked = {**key.values, "most": ROWS_AT_ONCE}
    while rows := session.rows("check_nodes", {**asked, **after}):
        for row in rows:
            _check_node(row, key.story, findings)
            entries.append(row[3])
        after = {"parent": rows[-1][1], "entry": rows[-1][3]}
        findings.looked_at("nodes", len(rows))
    nodes = len(entries)
    _check_entries(session, key, entries, findings)
    return nodes


def _check_node(row: Row, story: int, findings: Findings) -> None:
    """id, parent, depth, entry, hash; depth, hash and story of the parent; digest and story of the entry."""
    node, parent, depth, entry, node_hashed, parent_depth, parent_hash, parent_story, entry_digest, entry_story = row
    what = f"node {node}"
    if parent == NO_NODE:
        parent_depth, parent_hash, parent_story = -1, ROOT_HASH, story
    if parent_story is None:
        findings.fault(what, f"its parent, node {parent}, is not there")
    elif parent_story != story:
        findings.fault(what, f"its parent, node {parent}, is of another story")
    elif parent >= node:
        findings.fault(what, f"its parent, node {parent}, is younger than it")
    elif depth != parent_depth + 1:
        findings.fault(what, f"its depth is {depth}, that of its parent {parent_depth}")
    if entry_story is None:
        findings.fault(what, f"its entry {entry} is not there")
    elif entry_story != story:
        findings.fault(what, f"its entry {entry} is of another story")
    elif parent_hash is not None and node_hash(parent_hash, entry_digest) != node_hashed:
        findings.fault(what, "its hash is not that of its parent and its entry")


def _check_entries(session: Session, key: StoryKey, held: array[int], findings: Findings) -> None:
    """Check each entry once, however many nodes hold it."""
    each = (entry for entry, _ in groupby(array("q", sorted(held))))
    while some := list(islice(each, ROWS_AT_ONCE)):
        rows = _read_entry_rows(session, key, some, findings)
        for row in rows:
            _check_entry(row, key.story, findings)
        findings.looked_at("entries", len(rows))


def _read_entry_rows(session: Session, key: StoryKey, entries: list[int], findings: Findings) -> list[Row]:
    """The rows of these entries; one by one where some cannot be read."""
    try:
        return session.rows("check_entries", {"ids": json.dumps(entries), **key.values})
    except Damaged as damage:
        if len(entries) == 1:
            findings.fault(f"entry {entries[0]}", f"{damage.what} in it {damage.why}")
            return []
        return [row for entry in entries for row in _read_entry_rows(session, key, [entry], findings)]


def _check_entry(row: Row, story: int, findings: Findings) -> None:
    """Check the columns of `decode_entry`, then the match key and the story of the entry that it replaces."""
    *columns, kept_match_key, replaced_story = row
    what = f"entry {columns[0]}"
    text, parts, replaces = columns[3], columns[4], columns[11]
    if (text is None) == (parts is None):
        findings.fault(what, "it must have either a text or parts")
    try:
        entry = decode_entry(columns)
    except Damaged as damage:
        findings.fault(what, f"it {damage.why}")
        return
    if digest(entry.message) != entry.digest:
        findings.fault(what, "its digest is not that of its words")
    if match_key(entry.message) != kept_match_key:
        findings.fault(what, "its match key is not that of its words")
    if replaces is not None and replaced_story != story:
        findings.fault(what, f"it replaces entry {replaces}, which this story does not have")


MOST_STRAYS = 1_000
"""Rows of no story that are read: ten times the faults that are listed, the others are not even counted."""


def check_story(session: Session, findings: Findings, owner: str, story: int, before: str) -> None:
    """Check all of one story. What was begun before that time and never published counts as garbage."""
    session.one("plan_for_copying", {})  # rows are read piece by piece here too
    rows = [row for row in read_story_rows(session, owner) if row.id == story]
    if not rows:
        return  # it was forgotten meanwhile
    key = StoryKey(owner, story)
    findings.begin(rows[0].name)
    asked = {"story": story, "owner": owner}
    branches = [BranchRow(*row) for row in session.rows("branch_rows", asked)]
    lines = LineMap.read(session, key)
    _check_story_row(rows[0], branches, findings)
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
        from previously.storage.verify_index import check_index  # brings numpy

        check_index(session, key, state, findings)
    for kind in ("receipts", "leases"):
        counted = session.one(f"count_{kind}", asked)
        findings.looked_at(kind, counted[0] if counted else 0)
    findings.garbage += count_garbage(session, key, before)


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
    findings.garbage += count_old_leases(session, owner, before)


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
    rows = session.rows("check_attached", key.values)
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
    asked = {**key.values, "most": ROWS_AT_ONCE}
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
