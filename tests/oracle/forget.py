"""Forgetting in the in-memory store: what `tables.forgetting` does, said in the plainest code."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from previously.core.digests import ROOT_HASH, digest, node_hash
from previously.core.messages import Attributes
from previously.core.versions import Status, Version
from previously.storage.store import Forgotten, Traces
from previously.storage.tables.forget import make_empty
from tests.oracle.story_tree import StoryTree


def standing_at(story: StoryTree, branch: str, first: int, last: int) -> set[int]:
    """The entries at these positions, their other wordings, and what else stood there and stands nowhere now."""
    standing = {node.entry for name in story.heads for node in story.path(name)}
    found: set[int] = set()
    for node in story.path(branch)[max(first, 0) : last + 1]:
        siblings = {one.entry for one in story.nodes.values() if one.parent == node.parent}
        found |= {node.entry} | (siblings - standing - story.forgotten)
    grew = True
    while grew:
        pairs = [(one.id, one.replaces) for one in story.entries.values() if one.replaces is not None]
        more = {a for pair in pairs if found & set(pair) for a in pair} - found
        found |= more
        grew = bool(more)
    return found


def traces(story: StoryTree, entries: Collection[int]) -> Traces:
    """By what these entries are known in a copy of the story."""
    found: dict[bytes, set[bytes]] = {}
    for node in story.nodes.values():
        if node.entry in entries:
            found.setdefault(story.entries[node.entry].digest, set()).add(node.hash)
    return found


def entries_like(story: StoryTree, traces: Traces) -> tuple[set[int], bool]:
    """The entries that leave these traces, and whether that is certain."""
    found, certain = set[int](), True
    for said, hashes in traces.items():
        saying = {one.id for one in story.entries.values() if one.digest == said and one.id not in story.forgotten}
        there = {node.entry for node in story.nodes.values() if node.hash in hashes} & saying
        certain = certain and bool(there or len(saying) <= 1)
        found |= there or (saying if len(saying) == 1 else set())
    return found, certain


def forget_entries(story: StoryTree, entries: Collection[int]) -> Forgotten:
    """Destroy what these say, and the memory made where they could be read; the same messages in the same place too."""
    hashes = {node.hash for node in story.nodes.values() if node.entry in entries}
    own = {node.entry for node in story.nodes.values() if node.hash in hashes}
    for entry in own:
        old = story.entries[entry]
        message = make_empty(old.message.role)
        story.entries[entry] = replace(
            old, message=message, digest=digest(message), attributes=Attributes(None, None, {}, True)
        )
    story.forgotten |= own
    if story.index:
        story.index.forget(own)
    reached: set[int] = set()
    for ident, node in story.nodes.items():  # a parent was made before its children
        if node.entry in own or node.parent in reached:
            reached.add(ident)
            before = story.nodes[node.parent].hash if node.parent else ROOT_HASH
            story.nodes[ident] = replace(node, hash=node_hash(before, story.entries[node.entry].digest))
    made = [one for one in story.versions.values() if one.made.anchor in reached or not one.made.anchor]
    gone = [one for one in made if one.made.status not in (Status.BY_HAND, Status.FORGOTTEN)]
    for one in made:
        story.versions[one.id] = (
            _emptied(one) if one in gone else replace(one, made=replace(one.made, key=b"", first=b""))
        )
    story.recipes.clear()  # views may have shown it, word for word or retold
    return Forgotten(len(own), len(gone))


def _emptied(version: Version) -> Version:
    made = replace(
        version.made,
        status=Status.FORGOTTEN,
        text="",
        carry="",
        reason="",
        key=b"",
        shed=(),
        unverified=(),
        commitments=(),
        first=b"",
    )
    return replace(version, made=made)
