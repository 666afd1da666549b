"""One branch as plain values, for plans to look at: messages, versions and marks that a test has put there."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from previously.core.digests import ROOT_HASH, digest, node_hash, span_key
from previously.core.fold_rules import FoldRules, RecapRules
from previously.core.marks import STORY_SCOPE, Mark, MarkKind
from previously.core.messages import Attributes, Entry, Message, message
from previously.core.path import OnPath, Span
from previously.core.snapshot import ALL_MARKS
from previously.core.versions import IN_FORCE, Kind, LiveVersion, NewVersion, Status, Version
from previously.folds.boundary import Boundary
from previously.folds.recap import NotDue
from previously.memory.presence import Presences
from previously.memory.state import States
from previously.plan.due import Prepared, find_due
from previously.plan.step import Look

RULES = FoldRules(
    RecapRules(tail_messages=3, due_messages=5, due_words=10_000, due_tokens=100_000, target_words=100, chosen=True),
    tail_turns=0,
    tail_tokens=0,
    chapter_messages=0,
    chapter_words=70,
    backbone_words=100,
    review=False,
)
"""Five messages outside a tail of three make a recap due; chapters close by hand."""

MODEL = Look(RULES, amends=True, anew=False, pressed=False, failed=())
BUILTIN = Look(RULES, amends=False, anew=False, pressed=False, failed=(), quotes=True)


class Branch:
    """A `Snapshot` over lists. A version is valid where a test put it as long as it read what stands there."""

    branch = "main"

    def __init__(self, said: Sequence[str | Message]) -> None:
        self._path: list[OnPath] = []
        self._chains: dict[int, list[OnPath]] = {}
        """The path that ends in each node there ever was."""
        self._versions: list[Version] = []
        self._marks: list[Mark] = []
        for text in said:
            self.add(text if isinstance(text, Message) else message("user", text))

    def add(self, said: Message) -> None:
        self._put(Entry(len(self._chains) + 1, said, digest(said), Attributes()))

    def edit(self, position: int, text: str) -> None:
        old, self._path = self._path, self._path[:position]
        self.add(message("user", text))
        for item in old[position + 1 :]:
            self._put(item.entry)

    def _put(self, entry: Entry) -> None:
        above = self._path[-1].hash if self._path else ROOT_HASH
        node = len(self._chains) + 1
        self._path.append(OnPath(len(self._path), node, node_hash(above, entry.digest), entry))
        self._chains[node] = list(self._path)

    def keep(
        self, kind: Kind, first: int, last: int, *, scope: str = STORY_SCOPE, firm: bool = True, **made: Any
    ) -> Version:
        """Put a version there that read the messages from first to last."""
        run = self._path[first : last + 1]
        before = self.live(kind, scope, through=first - 1)
        made = {"text": f"{kind} of {first}-{last}", "carry": "", "status": Status.COMMITTED, "made_by": "model"} | made
        new = NewVersion(
            kind, scope, Span(first, last), span_key(item.entry.digest for item in run),
            before.version.id if before else None, reason=made.pop("reason", ""), at="", anchor=run[-1].node,
            reach=last + 1, first=run[0].entry.digest, **made,
        )  # fmt: skip
        self._versions.append(Version(len(self._versions) + 1, new, firm))
        return self._versions[-1]

    def mark(self, kind: MarkKind, position: int, text: str = "", *, of: int = 0) -> Mark:
        number = len(self._marks) + 1
        self._marks.append(Mark(number, number, kind, position, text, "person", "", of=of))
        return self._marks[-1]

    @property
    def head(self) -> int:
        return self._path[-1].node if self._path else 0

    @property
    def messages(self) -> int:
        return len(self._path)

    def path(self, first: int, last: int) -> list[OnPath]:
        return self._path[max(0, first) : last + 1]

    def position_of(self, node: int) -> int | None:
        entry = self._chains[node][-1].entry.id
        return next((item.position for item in reversed(self._path) if item.entry.id == entry), None)

    def leading_to(self, node: int, most: int) -> list[OnPath]:
        return self._chains[node][-most:]

    def marks(self, kinds: Collection[MarkKind] = ALL_MARKS, *, since: int = -1) -> list[Mark]:
        there = [mark for mark in self._marks if mark.kind in kinds and mark.position >= since]
        return sorted(there, key=lambda mark: mark.order)

    def newest_mark(self, kind: MarkKind, number: int) -> tuple[Mark | None, int]:
        there = self.marks({kind})
        return (there[-1 - number], len(there) - number) if number < len(there) else (None, 0)

    def _valid(self, kind: Kind | None, firm: bool) -> list[LiveVersion]:
        valid: dict[int | None, LiveVersion] = {}
        for version in self._versions:
            made = version.made
            key = span_key(item.entry.digest for item in self.path(made.span.first, made.span.last))
            if made.status in IN_FORCE and key == made.key and (made.before is None or made.before in valid):
                valid[version.id] = LiveVersion(version, made.span)
        return [
            live
            for live in valid.values()
            if live.version.made.kind is (kind or live.version.made.kind) and (live.version.firm or not firm)
        ]

    def live(self, kind: Kind, scope: str, *, firm: bool = False, through: int | None = None) -> LiveVersion | None:
        most = len(self._path) if through is None else through
        there = [
            live for live in self._valid(kind, firm) if live.version.made.scope == scope and live.span.last <= most
        ]
        return max(there, key=lambda live: (live.span.last, live.version.id), default=None)

    def live_each(self, kind: Kind, asked: Sequence[tuple[str, int]]) -> list[LiveVersion | None]:
        return [self.live(kind, scope, through=through) for scope, through in asked]

    def cover(self, kind: Kind | None = None, *, firm: bool = False) -> list[tuple[int, int, int]]:
        there = [(live.span.first, live.span.last, live.version.id) for live in self._valid(kind, firm)]
        return sorted(there, key=lambda one: one[1:])

    def spans(self, kind: Kind, *, firm: bool = False) -> set[tuple[str, int, int]]:
        return {(live.version.made.scope, live.span.first, live.span.last) for live in self._valid(kind, firm)}

    def version(self, version: int) -> Version | None:
        return self._versions[version - 1] if 0 < version <= len(self._versions) else None

    def versions(self) -> list[Version]:
        return list(self._versions)

    def newest_versions(self, kind: Kind, scope: str, status: Status, most: int, *, beyond: int = -1) -> list[Version]:
        there = [
            version
            for version in reversed(self._versions)
            if (version.made.kind, version.made.scope, version.made.status) == (kind, scope, status)
            and version.made.reach > beyond
        ]
        return there[:most]

    def notes(self, kind: Kind, scope: str, firsts: Sequence[bytes]) -> list[Version]:
        return [
            version
            for version in self._versions
            if (version.made.kind, version.made.scope) == (kind, scope)
            and version.made.status in IN_FORCE and version.made.first in firsts
        ]  # fmt: skip

    def all_witnessed(self) -> bool:
        return not any(item.entry.message.witnesses for item in self._path)

    def attached(self) -> list[str]:
        return []

    def __getattr__(self, name: str) -> Any:
        raise AssertionError(f"no plan needs {name}")


def look_for(branch: Branch, look: Look = BUILTIN) -> tuple[Prepared, ...] | Boundary | NotDue:
    """Return what is due."""
    snapshot: Any = branch  # it has what plans read, and nothing else
    return find_due(snapshot, look, States(), Presences())


def find_step(branch: Branch, look: Look = BUILTIN) -> Prepared:
    """Return the one step that is due."""
    due = look_for(branch, look)
    assert isinstance(due, tuple) and len(due) == 1, due
    return due[0]


def lines(count: int) -> list[str]:
    """Return so many messages, each with words of its own."""
    return [f"Line {number}: the ferry crosses for the {number}th time." for number in range(count)]
