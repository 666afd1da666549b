"""Check that the rows of every line, read through their forks, are the chain of nodes that ends in a head.

A row is checked against its node and the row before it. So if all rows are right, and a branch's head is the node of
the last of them, then the path of the branch is the chain of parents from its head: no chain is ever walked.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from previously.storage.findings import ROWS_AT_ONCE, Findings
from previously.storage.tables.paths import Segment
from previously.storage.tables.records import NO_NODE, StoryKey
from previously.storage.tables.session import LOWEST, Row, Session
from previously.storage.tables.stories import BranchRow


@dataclass(frozen=True, slots=True)
class LineRow:
    """A line as the table holds it."""

    id: int
    parent: int | None
    fork: int
    published: int
    begun_at: str | None


class LineMap:
    """Every line of a story."""

    def __init__(self, rows: Iterable[LineRow]) -> None:
        self.lines: dict[int, LineRow] = {row.id: row for row in rows}

    @classmethod
    def read(cls, session: Session, key: StoryKey) -> LineMap:
        """The story's lines."""
        rows = session.rows("check_lines", key.values)
        return cls(LineRow(*row) for row in rows)

    def leaned_on(self, lines: Iterable[int]) -> set[int]:
        """These lines and all those whose rows hold below their forks."""
        needed: set[int] = set()
        for line in lines:
            at: int | None = line
            while at is not None and at in self.lines and at not in needed:
                needed.add(at)
                at = self.lines[at].parent
        return needed

    def order(self, line: int) -> list[int]:
        """Sorts lines so that those with the most in common are neighbours."""
        return sorted(self.leaned_on([line]))

    def dead(self, shown: Iterable[int], before: str) -> list[LineRow]:
        """The lines that nothing needs, the newest first: no branch shows them, no line that is needed leans on them,
        and nobody is writing them. What was begun before that time and never published was given up."""
        needed = self.leaned_on(self._find_ends(shown, before))
        return sorted((row for row in self.lines.values() if row.id not in needed), key=lambda row: -abs(row.id))

    def leftovers(self, shown: Iterable[int], before: str) -> dict[int, int]:
        """The lines that others only lean on, each with the depth from which on nobody does."""
        ends = self._find_ends(shown, before)
        depths: dict[int, int] = {}
        for line in self.leaned_on(ends):
            row = self.lines[line]
            if row.parent is not None and row.parent not in ends:
                depths[row.parent] = max(row.fork, depths.get(row.parent, 0))
        return depths

    def _find_ends(self, shown: Iterable[int], before: str) -> set[int]:
        """The lines that branches show, and those that somebody writes."""
        return set(shown) | {
            row.id
            for row in self.lines.values()
            if not row.published and row.id > 0 and row.begun_at is not None and row.begun_at >= before
        }

    def segments(self, line: int, last: int) -> list[Segment] | None:
        """Depths 0 to `last` of the path that ends in a line, the oldest first; None if lines are missing for that."""
        segments: list[Segment] = []
        at: int | None = line
        while last >= 0:
            row = self.lines.get(at) if at is not None else None
            if row is None or (row.parent is not None and row.parent >= row.id):
                return None
            if last >= row.fork:
                segments.append(Segment(row.id, row.fork, last))
                last = row.fork - 1
            at = row.parent
        return segments[::-1]


def check_paths(
    session: Session, key: StoryKey, lines: LineMap, branches: Sequence[BranchRow], findings: Findings
) -> None:
    """Check the lines that branches need, their rows, and where each branch ends."""
    ends = {branch.line: branch.messages for branch in branches}
    needed = lines.leaned_on(ends)
    leaning: dict[int, int] = {}
    for line in sorted(needed):
        row = lines.lines[line]
        if row.parent is not None:
            leaning[row.parent] = max(row.fork, leaning.get(row.parent, 0))
    for line in sorted(needed):
        row = lines.lines[line]
        if _check_line(row, lines, findings):
            _Rows(session, key, lines, findings).check(row, ends.get(line), leaning.get(line, row.fork))
    findings.looked_at("lines", len(needed))
    for branch in branches:
        _check_branch(session, key, lines, branch, findings)
    _check_one_branch_each(branches, findings)
    findings.looked_at("branches", len(branches))


def _check_line(row: LineRow, lines: LineMap, findings: Findings) -> bool:
    """Check a line's fork and parent; return whether its rows can be checked."""
    what = f"line {row.id}"
    if row.parent is None:
        if row.fork != 0:
            findings.fault(what, f"it forks at {row.fork} from no line")
        return row.fork == 0
    parent = lines.lines.get(row.parent)
    if parent is None:
        findings.fault(what, f"its parent, line {row.parent}, is not there")
    elif parent.id >= row.id:
        findings.fault(what, f"its parent, line {parent.id}, is younger than it")
    elif row.fork <= parent.fork:
        findings.fault(what, f"it forks at {row.fork}, where its parent, line {parent.id}, holds no row")
    else:
        return True
    return False


def _check_branch(session: Session, key: StoryKey, lines: LineMap, branch: BranchRow, findings: Findings) -> None:
    what = f"branch {branch.name!r}"
    line = lines.lines.get(branch.line)
    if line is None:
        findings.fault(what, f"its line {branch.line} is not there")
        return
    if not line.published:
        findings.fault(what, f"its line {line.id} is not published")
    if branch.messages < line.fork:
        findings.fault(what, f"it has {branch.messages} messages, and its line forks at {line.fork}")
        return
    head = _find_node(session, key, lines, line.id, branch.messages - 1)
    if head is not None and head != branch.head:
        findings.fault(what, f"its head is node {branch.head}, and its path of {branch.messages} ends in node {head}")


def _check_one_branch_each(branches: Sequence[BranchRow], findings: Findings) -> None:
    names: dict[int, str] = {}
    for branch in branches:
        if branch.line in names:
            findings.fault(f"branch {branch.name!r}", f"its line {branch.line} is that of {names[branch.line]!r} too")
        names[branch.line] = branch.name


def _find_node(session: Session, key: StoryKey, lines: LineMap, line: int, depth: int) -> int | None:
    """The node at a depth of a line's path; None if the row is missing, which is told of where rows are checked."""
    if depth < 0:
        return NO_NODE
    segments = lines.segments(line, depth)
    if not segments:
        return None
    asked = {"line": segments[-1].line, "first": depth, "most": 1, "owner": key.owner}
    rows = session.rows("check_path", asked)
    return rows[0][1] if rows and rows[0][0] == depth else None


class _Rows:
    """The rows of one line."""

    def __init__(self, session: Session, key: StoryKey, lines: LineMap, findings: Findings) -> None:
        self._session = session
        self._key = key
        self._lines = lines
        self._findings = findings

    def check(self, line: LineRow, length: int | None, least: int) -> None:
        """Rows from the fork on: up to the length of the branch that shows it, or if none does, at least to where the
        last line forks from it."""
        before = _find_node(self._session, self._key, self._lines, line.id, line.fork - 1)
        expected, first = line.fork, LOWEST
        asked = {"line": line.id, "owner": self._key.owner, "most": ROWS_AT_ONCE}
        while rows := self._session.rows("check_path", {**asked, "first": first}):
            for row in rows:
                if row[0] != expected:
                    self._report_gap(line, row[0], expected)
                    before = None
                before, expected = self._check_row(line, row, before, length), row[0] + 1
            first = rows[-1][0] + 1
            self._findings.looked_at("path rows", len(rows))
        if expected < (least if length is None else max(length, least)):
            end = least if length is None else max(length, least)
            self._findings.fault(f"line {line.id}", f"its rows end before depth {expected}, its path at {end}")

    def _report_gap(self, line: LineRow, depth: int, expected: int) -> None:
        if depth < expected:
            self._findings.fault(f"line {line.id}", f"it has a row at depth {depth}, before its fork")
        else:
            self._findings.fault(f"line {line.id}", f"its row at depth {expected} is not there")

    def _check_row(self, line: LineRow, row: Row, before: int | None, length: int | None) -> int:
        """Check a row against its node and the node before; its node."""
        depth, node, entry, parent, node_depth, node_entry, node_story = row
        what = f"line {line.id}, depth {depth}"
        if length is not None and depth >= length:
            self._findings.fault(what, f"its path has only {length} messages")
        if node_story != self._key.story:
            self._findings.fault(what, f"its node {node} is not there, or of another story")
            return int(node)
        if node_depth != depth:
            self._findings.fault(what, f"its node {node} has depth {node_depth}")
        elif before is not None and parent != before:
            self._findings.fault(what, f"the parent of its node {node} is node {parent}, the row before has {before}")
        if node_entry != entry:
            self._findings.fault(what, f"it has entry {entry}, its node {node} entry {node_entry}")
        return int(node)
