"""Applying scripts on PostgreSQL: as on SQLite, with ids from sequences, since several writers work at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from previously.core.digests import node_hash
from previously.core.messages import Draft
from previously.core.scripts import Put, Reuse
from previously.storage.postgres.session import PostgresSession
from previously.storage.rows import entry_row
from previously.storage.sqlite.cover import CoverTable
from previously.storage.sqlite.lines import Lines
from previously.storage.sqlite.marks import MarkTable
from previously.storage.sqlite.writing import _DIGEST_COLUMN, Kept, PathWriter, _at, _Tip
from previously.storage.store import StoryKey


class PostgresPathWriter(PathWriter):
    """Changes paths. Exactly as many ids are taken as rows are written."""

    def __init__(self, session: PostgresSession, lines: Lines, cover: CoverTable, marks: MarkTable) -> None:
        super().__init__(session, lines, cover, marks)  # type: ignore[arg-type] # see `tables`
        self._session = session

    def add_alternatives(
        self, key: StoryKey, parent: int, depth: int, parent_hash: bytes, drafts: Sequence[Draft], chosen: bytes = b""
    ) -> int:
        present = {chosen} | {digest for (digest,) in self._session.rows("sibling_digests", _at(key, parent))}
        fresh: dict[bytes, Draft] = {}
        for draft in drafts:
            digest = entry_row(0, key.owner, key.story, draft, None)[_DIGEST_COLUMN]
            if digest not in present:
                fresh.setdefault(digest, draft)
        entries, nodes = self._session.reserve("entry", len(fresh)), self._session.reserve("node", len(fresh))
        self._session.many(
            "insert_entry",
            (
                entry_row(entry, key.owner, key.story, draft, None)
                for entry, draft in zip(entries, fresh.values(), strict=True)
            ),
        )
        self._session.many(
            "insert_node",
            (
                (node, key.owner, key.story, parent, depth, entry, node_hash(parent_hash, digest))
                for node, entry, digest in zip(nodes, entries, fresh, strict=True)
            ),
        )
        return len(fresh)

    def _write(self, key: StoryKey, line: int, tip: _Tip, steps: list[Kept | Put | Reuse]) -> None:
        new_entries = iter(self._session.reserve("entry", sum(isinstance(step, Put) for step in steps)))
        new_nodes: Iterator[int] = iter(())
        entries, nodes, path = [], [], []
        alternatives: list[tuple[int, int, bytes, Sequence[Draft]]] = []
        for number, step in enumerate(steps):
            existing = None
            if isinstance(step, Put):
                row = entry_row(next(new_entries), key.owner, key.story, step.draft, step.replaces)
                entries.append(row)
                entry, digest = row[0], row[_DIGEST_COLUMN]
                if step.draft.alternatives:
                    alternatives.append((tip.node, tip.depth, tip.hash, step.draft.alternatives))
            else:
                entry, digest = step.entry, self._digest(key, step)
                if not tip.fresh:
                    existing = self._session.one("node_at", {**_at(key, tip.node), "entry": entry})
            if existing is None:
                # Behind a new node all are new.
                node = next(new_nodes, 0)
                if not node:
                    new_nodes = iter(self._session.reserve("node", len(steps) - number))
                    node = next(new_nodes)
                new_hash = node_hash(tip.hash, digest)
                nodes.append((node, key.owner, key.story, tip.node, tip.depth, entry, new_hash))
                tip.node, tip.hash, tip.fresh = node, new_hash, True
            else:
                tip.node, tip.hash = existing
            path.append((key.owner, line, tip.depth, tip.node, entry))
            tip.depth += 1
        self._session.many("insert_entry", entries)
        self._session.many("insert_node", nodes)
        self._session.many("insert_path", path)
        for parent, depth, parent_hash, drafts in alternatives:
            self.add_alternatives(key, parent, depth, parent_hash, drafts)
