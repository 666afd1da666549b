"""Reading paths: what stands where on a branch, and the tree around it. Called inside a snapshot."""

from __future__ import annotations

from previously.core.align import KnownEntry
from previously.core.path import OnPath
from previously.storage.rows import entry_of, known_of
from previously.storage.store import StoryKey
from previously.storage.tables.lines import Lines
from previously.storage.tables.session import Row, Session
from previously.storage.tables.stories import BranchRow


class PathReader:
    """Reads entries and nodes, by their place on a branch or by node."""

    def __init__(self, session: Session, lines: Lines) -> None:
        self._session = session
        self._lines = lines

    def span(self, key: StoryKey, branch: BranchRow, first: int, last: int) -> list[OnPath]:
        """What stands at positions first to last, as far as the path has them."""
        within = max(first, 0), min(last, branch.messages - 1)
        return [_on_path(row) for row in self._lines.rows(key, "path_span", branch.line, *within)]

    def known(self, key: StoryKey, branch: BranchRow) -> list[KnownEntry]:
        """The whole path as alignment needs it."""
        return [known_of(row) for row in self._lines.rows(key, "path_known", branch.line, 0, branch.messages - 1)]

    def siblings(self, key: StoryKey, branch: BranchRow, position: int) -> list[OnPath]:
        """All that ever stood at a position after the same messages, the oldest first."""
        _, _, parent = self._lines.node_at(key, branch.line, position)
        values = {"story": key.story, "owner": key.owner, "parent": parent}
        return [_on_path(row) for row in self._session.rows("node_siblings", values)]

    def position_of(self, key: StoryKey, branch: BranchRow, node: int) -> int | None:
        """The last place on the branch where the entry of a node stands."""
        found = self._session.one("node_entry", {"node": node, "story": key.story, "owner": key.owner})
        return None if found is None else self._lines.last_place(key, branch.line, branch.messages - 1, found[0])

    def leading_to(self, key: StoryKey, node: int, most: int) -> list[OnPath]:
        """The last messages of the path that ends in a node, in order."""
        values = {"node": node, "most": most, "story": key.story, "owner": key.owner}
        return [_on_path(row) for row in self._session.rows("leading_to", values)]


def _on_path(row: Row) -> OnPath:
    return OnPath(row[0], row[1], row[2], entry_of(row[3:]))
