"""Keeping the cover table equal to `core.cover.place`, without asking about the whole path each time.

Cover rows lie on the line of a branch. A line inherits from its parent those that end before its fork, of the scopes
that its branch has.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from previously.core.cover import Covered, Link, place
from previously.core.marks import starts
from previously.core.versions import Status, Version
from previously.storage.sqlite.file import Row, SqliteFile
from previously.storage.sqlite.lines import Lines
from previously.storage.sqlite.marks import MarkTable
from previously.storage.store import StoryKey


class CoverTable:
    """Writes cover rows. Always called inside the transaction that changes a path or adds a version."""

    def __init__(self, file: SqliteFile, lines: Lines, marks: MarkTable) -> None:
        self._file = file
        self._lines = lines
        self._marks = marks

    def rows(self, key: StoryKey, query: str, line: int, last: int, **values: object) -> Iterator[Row]:
        """The rows of a cover query that end at `last` or before, from the newest line to the oldest."""
        for segment in self._lines.reaching(key, line, last):
            found = {"line": segment.line, "first": 0, "last": segment.last, "owner": key.owner, **values}
            yield from self._file.rows(query, found)

    def path_changed(self, key: StoryKey, branch: int, line: int, depth: int, length: int) -> None:
        """The path of `line` is new from `depth` on and now has this length: find what is valid there."""
        owner = {"owner": key.owner}
        self._file.run("delete_cover_from", {"line": line, "depth": depth, **owner})
        longest = self._file.one("longest_version", {"story": key.story, **owner})
        if longest is None or longest[0] == 0:
            return
        scopes = starts(self._marks.of(key, branch))
        after: list[tuple[int | str, int]] = list(scopes.items())
        # A link that reaches `depth` goes on from one that ends less than the longest run before it.
        nearest = max(0, depth - longest[0])
        for _, last, version, scope in self.rows(key, "cover_span", line, depth - 1, first=nearest):
            if scope in scopes:
                after.append((version, last + 1))
        kinds: dict[int, tuple[str, str]] = {}

        def links_after(before: int | str) -> list[Link]:
            query, name = ("links_beginning", "scope") if isinstance(before, str) else ("links_after", "before")
            found: list[Link] = []
            for version, run, span_key, kind, scope in self._file.rows(
                query, {"story": key.story, name: before, **owner}
            ):
                kinds[version] = (kind, scope)
                found.append(Link(version, before, run, span_key))
            return found

        covers = place(links_after, length, partial(self._lines.digests, key, line), after=after, reaching=depth)
        for cover in covers:
            self._write(key, line, *kinds[cover.version], cover)

    def version_added(self, key: StoryKey, version: Version) -> None:
        """Find every branch of the story on which the new version is valid."""
        if version.made.status is Status.REFUSED:
            return
        link = version.link
        for branch, _, _, messages, line in self._file.rows("branch_rows", {"story": key.story, "owner": key.owner}):
            scopes = starts(self._marks.of(key, branch))
            if version.made.scope not in scopes:
                continue
            if isinstance(link.before, str):
                first = scopes[version.made.scope]
            else:
                before = next(self.rows(key, "cover_of_version", line, messages - 1, version=link.before), None)
                if before is None:
                    continue
                first = before[0] + 1
            if next(self.rows(key, "cover_of_version", line, messages - 1, version=version.id), None):
                continue  # inherited
            covers = place(
                lambda before: [link] if before == link.before else [],
                messages,
                partial(self._lines.digests, key, line),
                after=[(link.before, first)],
            )
            for cover in covers:
                self._write(key, line, version.made.kind.value, version.made.scope, cover)

    def inherit(self, key: StoryKey, from_line: int, to_line: int, fork: int) -> None:
        """A line that replaces or leaves another below that line's own fork takes along what only that line knew."""
        if fork > 0 and self._lines.owner_of(key, to_line, fork - 1) == from_line:
            return  # it is the parent: inherited anyhow
        values = {"from_line": from_line, "to_line": to_line, "fork": fork, "owner": key.owner}
        self._file.run("inherit_cover", values)

    def _write(self, key: StoryKey, line: int, kind: str, scope: str, cover: Covered) -> None:
        self._file.run("insert_cover", (key.owner, line, kind, scope, cover.span.first, cover.span.last, cover.version))
