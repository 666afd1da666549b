"""Keeping the cover table equal to `core.cover.place`, without asking about the whole path each time.

Cover rows lie on the line that holds the depth they end at, so a fork inherits those that end before it.
"""

from __future__ import annotations

from functools import partial

from previously.core.cover import Covered, Link, place
from previously.core.versions import Status, Version
from previously.storage.sqlite.file import SqliteFile
from previously.storage.sqlite.lines import Lines
from previously.storage.store import StoryKey


class CoverTable:
    """Writes cover rows. Always called inside the transaction that changes a path or adds a version."""

    def __init__(self, file: SqliteFile, lines: Lines) -> None:
        self._file = file
        self._lines = lines

    def path_changed(self, key: StoryKey, line: int, depth: int, length: int) -> None:
        """The path of `line` is new from `depth` on and now has this length: find what is valid there."""
        owner = {"owner": key.owner}
        self._file.run("delete_cover_from", {"line": line, "depth": depth, **owner})
        longest = self._file.one("longest_version", {"story": key.story, **owner})
        if longest is None or longest[0] == 0:
            return
        # A link that reaches `depth` goes on from one that ends less than the longest run before it.
        nearest = max(0, depth - longest[0])
        after: list[tuple[int | None, int]] = [(None, 0)]
        for segment in self._lines.segments(key, line, nearest, depth - 1):
            values = {"line": segment.line, "first": segment.first, "last": segment.last, **owner}
            after += [(version, last + 1) for version, last in self._file.rows("cover_ending_between", values)]
        kinds: dict[int, tuple[str, str]] = {}

        def links_after(before: int | None) -> list[Link]:
            found: list[Link] = []
            for version, run, span_key, kind, scope in self._file.rows(
                "links_after", {"story": key.story, "before": before or 0, **owner}
            ):
                kinds[version] = (kind, scope)
                found.append(Link(version, before, run, span_key))
            return found

        covers = place(
            links_after,
            length,
            partial(self._lines.digests, key, line),
            after=after,
            reaching=depth,
        )
        for cover in covers:
            self._write(key, line, *kinds[cover.version], cover)

    def version_added(self, key: StoryKey, version: Version) -> None:
        """Find every line of the story on which the new version is valid."""
        if version.made.status is Status.REFUSED:
            return
        lines = self._file.rows("lines_of_story", {"story": key.story, "owner": key.owner})
        children: dict[int, list[tuple[int, int]]] = {}
        ends: dict[int, tuple[int, int]] = {}
        for line, parent, fork, deepest in lines:
            ends[line] = (fork, -1 if deepest is None else deepest)
            if parent is not None:
                children.setdefault(parent, []).append((line, fork))
        if version.made.before is None:
            open_lines = [(line, 0) for line in ends]
        else:
            values = {"version": version.made.before, "owner": key.owner}
            open_lines = [(line, last + 1) for line, last in self._file.rows("cover_of_version", values)]
            for line, first in open_lines:  # grows while it runs: lines that inherit that cover
                open_lines += [(child, first) for child, fork in children.get(line, ()) if fork >= first]
        link = version.link
        for line, first in open_lines:
            fork, deepest = ends[line]
            last = first + link.length - 1
            if not fork <= last <= deepest:
                continue  # the depth it would end at is held by another line, or by none
            covers = place(
                lambda before: [link] if before == link.before else [],
                deepest + 1,
                partial(self._lines.digests, key, line),
                after=[(link.before, first)],
            )
            for cover in covers:
                self._write(key, line, version.made.kind.value, version.made.scope, cover)

    def _write(self, key: StoryKey, line: int, kind: str, scope: str, cover: Covered) -> None:
        self._file.run("insert_cover", (key.owner, line, kind, scope, cover.span.first, cover.span.last, cover.version))
