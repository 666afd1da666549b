"""The swipes of a message: its other forms, which stood at the same place after the same messages.

What another role said there is none: it stood before the message, or behind it, until one was taken out or put in. What
somebody deleted is none either: another message was written in its place.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from previously.core.path import OnPath, find_position
from previously.core.snapshot import Snapshot, read_run
from previously.core.tree import TreeNode
from previously.storage.store import StoryKey
from previously.storage.tables import Tables
from previously.story.deeds import find_deleted


class SwipeReader:
    """Reads the swipes of the active branch, all of one moment."""

    def __init__(self, tables: Tables, key: StoryKey) -> None:
        self._tables = tables
        self._key = key
        self.snapshot: Snapshot = tables.snapshot(key)

    @cached_property
    def _deleted(self) -> frozenset[int]:
        return find_deleted(self._tables, self._key)

    def list_at(self, position: int) -> tuple[OnPath, list[OnPath]]:
        """Return the message at a position, and all its forms, the oldest first; itself among them."""
        place = find_position(self.snapshot.messages, position)
        item = read_run(self.snapshot, place, place)[0]
        return item, self._list_forms(item)

    def count(self, first: int, last: int) -> dict[int, tuple[int, int]]:
        """Return, for each position from first to last, which swipe is chosen and how many there are."""
        counts = {}
        for item in self.snapshot.path(first, last):
            forms = [form.entry.id for form in self._list_forms(item)]
            counts[item.position] = forms.index(item.entry.id), len(forms)
        return counts

    def _list_forms(self, item: OnPath) -> list[OnPath]:
        role = item.entry.message.role
        forms = [other for other in self.snapshot.siblings(item.position) if other.entry.message.role is role]
        if len(forms) == 1:  # most have no other form: then nobody asks what was deleted
            return forms
        return [form for form in forms if form.entry.id == item.entry.id or form.entry.id not in self._deleted]


def find_no_swipes(tables: Tables, key: StoryKey, head: int, nodes: Sequence[TreeNode]) -> set[int]:
    """Return the nodes of a story whose message was deleted, as far as they do not lead to this head."""
    deleted = find_deleted(tables, key)
    gone = {node.id for node in nodes if node.entry in deleted}
    above = {node.id: node.parent for node in nodes}
    while gone and head in above:
        gone.discard(head)
        head = above[head]
    return gone
