"""Checking the truth itself: every entry that a node holds, and every node.

A node is checked against its parent and its entry as they are stored; since those are checked in the same way, every
hash is derived from the words of all messages before it. Nothing is kept but the ids of entries, eight bytes each.
"""

from __future__ import annotations

import json
from array import array
from itertools import groupby, islice

from previously.core.digests import ROOT_HASH, digest, match_key, node_hash
from previously.storage.damage import Damaged
from previously.storage.rows import entry_of
from previously.storage.tables.findings import LOWEST, ROWS_AT_ONCE, Findings
from previously.storage.tables.records import NO_NODE, StoryKey
from previously.storage.tables.session import Row, Session


def check_messages(session: Session, key: StoryKey, findings: Findings) -> int:
    """Check nodes, then entries; how many nodes the story has."""
    entries = array("q")
    after = {"parent": LOWEST, "entry": LOWEST}
    asked = {"story": key.story, "owner": key.owner, "most": ROWS_AT_ONCE}
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
        rows = _entry_rows(session, key, some, findings)
        for row in rows:
            _check_entry(row, key.story, findings)
        findings.looked_at("entries", len(rows))


def _entry_rows(session: Session, key: StoryKey, entries: list[int], findings: Findings) -> list[Row]:
    """The rows of these entries; one by one where some cannot be read."""
    try:
        return session.rows("check_entries", {"ids": json.dumps(entries), "story": key.story, "owner": key.owner})
    except Damaged as damage:
        if len(entries) == 1:
            findings.fault(f"entry {entries[0]}", f"{damage.what} in it {damage.why}")
            return []
        return [row for entry in entries for row in _entry_rows(session, key, [entry], findings)]


def _check_entry(row: Row, story: int, findings: Findings) -> None:
    """The columns of `entry_of`, then the match key and the story of the entry that it replaces."""
    *columns, kept_match_key, replaced_story = row
    what = f"entry {columns[0]}"
    text, parts, replaces = columns[3], columns[4], columns[11]
    if (text is None) == (parts is None):
        findings.fault(what, "it must have either a text or parts")
    try:
        entry = entry_of(columns)
    except Damaged as damage:
        findings.fault(what, f"it {damage.why}")
        return
    if digest(entry.message) != entry.digest:
        findings.fault(what, "its digest is not that of its words")
    if match_key(entry.message) != kept_match_key:
        findings.fault(what, "its match key is not that of its words")
    if replaces is not None and replaced_story != story:
        findings.fault(what, f"it replaces entry {replaces}, which this story does not have")
