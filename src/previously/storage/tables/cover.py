"""Keeping the cover table equal to `core.cover.place`, without asking about the whole path each time.

Cover rows lie on the line of a branch. A line inherits from its parent those that end before its fork, of the scopes
that its branch has. Notes of a span have no cover: however many there are, no path that changes asks about them. Links
of chains that know no marks may be long, as long as a story; they are asked for by where they end, which is the same
on every path.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial

from previously.core.cover import Covered, Link, place
from previously.core.marks import find_starts, is_of_a_span
from previously.core.versions import IN_FORCE, Version
from previously.storage.tables.marks import MarkTable
from previously.storage.tables.paths import Lines
from previously.storage.tables.records import StoryKey
from previously.storage.tables.session import Row, Session


class CoverTable:
    """Writes cover rows. Always called inside the transaction that changes a path, or what is in force."""

    def __init__(self, session: Session, lines: Lines, marks: MarkTable) -> None:
        self._session = session
        self._lines = lines
        self._marks = marks

    def rows(self, key: StoryKey, query: str, line: int, last: int, **values: object) -> Iterator[Row]:
        """The rows of a cover query that end at `last` or before, from the newest line to the oldest."""
        for segment in self._lines.reaching(key, line, last):
            asked = {"line": segment.line, "first": 0, "last": segment.last, "owner": key.owner, **values}
            yield from self._session.rows(query, asked)

    def path_changed(self, key: StoryKey, branch: int, line: int, depth: int, length: int) -> None:
        """The path of `line` is new from `depth` on and now has this length: find what is valid there."""
        owner = {"owner": key.owner}
        self._session.run("delete_cover_from", {"line": line, "depth": depth, **owner})
        after = [*self._find_behind_marks(key, branch, line, depth), *self._find_own_chains(key, line, depth, length)]
        if not after:
            return
        kinds: dict[int, tuple[str, str, bool]] = {}

        def links_after(before: int | str) -> list[Link]:
            query, name = ("links_beginning", "scope") if isinstance(before, str) else ("links_after", "before")
            links: list[Link] = []
            for version, run, span_key, kind, scope, firm in self._session.rows(
                query, {"story": key.story, name: before, **owner}
            ):
                kinds[version] = (kind, scope, bool(firm))
                links.append(Link(version, before, run, span_key))
            return links

        covers = place(links_after, length, partial(self._lines.digests, key, line), after=after, reaching=depth)
        for cover in covers:
            self._write(key, line, *kinds[cover.version], cover)

    def _find_behind_marks(self, key: StoryKey, branch: int, line: int, depth: int) -> list[tuple[int | str, int]]:
        """Find the places from which links may reach `depth`, of the story's chains and those that begin behind
        marks."""
        longest = self._session.one("longest_version", key.values)
        if longest is None or longest[0] == 0:
            return []
        # A link that reaches `depth` begins, or goes on from one that ends, less than the longest run before it.
        nearest = max(0, depth - longest[0])
        marks = (mark for mark, _ in self._marks.every(key, branch, nearest - 1))
        after: list[tuple[int | str, int]] = list(find_starts(marks).items())
        asked = {"first": nearest, "depth": depth, "story": key.story}
        for version, last, scope in self.rows(key, "cover_going_on", line, depth - 1, **asked):
            if self._marks.start_of(key, branch, scope) is not None:
                after.append((version, last + 1))
        return after

    def _find_own_chains(self, key: StoryKey, line: int, depth: int, length: int) -> Iterator[tuple[int | str, int]]:
        """The same of chains that know no marks."""
        asked = {**key.values, "depth": depth, "length": length}
        links = self._session.rows("own_links", asked)
        forks = self._read_forks(key) if links else {}
        for before, first, scope in links:
            if not before:
                yield scope, first
            elif _find_inherited(self._find_ends(key, before), forks, line, first - 1) is not None:
                yield before, first

    def in_force(self, key: StoryKey, versions: Sequence[Version]) -> None:
        """These have come into force, each after those it is built on: find every branch on which they are valid."""
        chained = [one for one in versions if one.made.status in IN_FORCE and not is_of_a_span(one.made.scope)]
        if not chained:
            return
        forks = self._read_forks(key)
        branches = self._session.rows("branch_rows", key.values)
        for version in chained:
            self._place_version(key, version, branches, forks)

    def out_of_force(self, key: StoryKey, versions: Iterable[int]) -> None:
        """These, and all that is built on them among these, are valid nowhere any more."""
        self._session.many("delete_cover_of", ((version, key.owner) for version in versions))

    def loosen(self, key: StoryKey, versions: Iterable[int]) -> None:
        """Make versions provisional wherever they are valid: a better one may stand in their place."""
        self._session.many("loosen_cover", ((version, key.owner) for version in versions))

    def _place_version(
        self, key: StoryKey, version: Version, branches: Iterable[Row], forks: dict[int, tuple[int | None, int]]
    ) -> None:
        """Write the cover of a version that has none, the oldest branch first: others may inherit from it."""
        link = version.link
        ends_before = None if isinstance(link.before, str) else self._find_ends(key, link.before)
        ends: dict[int, int] = {}  # of the version, by line, as far as written
        for branch, _, _, messages, line in branches:
            start = self._marks.start_of(key, branch, version.made.scope)
            if start is None or _find_inherited(ends, forks, line, messages - 1) is not None:
                continue
            if ends_before is None:
                first = start
            else:
                end = _find_inherited(ends_before, forks, line, messages - 1)
                if end is None:
                    continue
                first = end + 1
            covers = place(
                lambda before: [link] if before == link.before else [],
                messages,
                partial(self._lines.digests, key, line),
                after=[(link.before, first)],
            )
            for cover in covers:
                self._write(key, line, version.made.kind.value, version.made.scope, version.firm, cover)
                ends[line] = cover.span.last

    def _find_ends(self, key: StoryKey, version: int) -> dict[int, int]:
        """Find the depths at which a version ends, by line."""
        return dict(self._session.rows("cover_of_version", {"version": version, "owner": key.owner}))

    def _read_forks(self, key: StoryKey) -> dict[int, tuple[int | None, int]]:
        """Parent and fork of every line of a story."""
        rows = self._session.rows("lines_of_story", key.values)
        return {line: (parent, fork) for line, parent, fork in rows}

    def inherit(self, key: StoryKey, from_line: int, to_line: int, parent: int | None, fork: int) -> None:
        """A new line that leaves a chain of lines further up takes along what only those it passes over knew."""
        for segment in self._lines.reaching(key, from_line, fork - 1):
            if segment.line == parent:
                return  # from here on it is inherited anyhow
            values = {"from_line": segment.line, "to_line": to_line, "last": segment.last, "owner": key.owner}
            self._session.run("inherit_cover", values)

    def _write(self, key: StoryKey, line: int, kind: str, scope: str, firm: bool, cover: Covered) -> None:
        self._session.run(
            "insert_cover", (key.owner, line, kind, scope, cover.span.first, cover.span.last, cover.version, int(firm))
        )


def _find_inherited(ends: dict[int, int], forks: dict[int, tuple[int | None, int]], line: int, last: int) -> int | None:
    """The end, `last` or before, that a line or one it inherits from says; None if none does."""
    if not ends:
        return None
    at: int | None = line
    while at is not None and last >= 0:
        if ends.get(at, last + 1) <= last:
            return ends[at]
        at, fork = forks[at]
        last = min(last, fork - 1)
    return None
