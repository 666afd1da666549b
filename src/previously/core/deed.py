"""A deed: what a person did to a story that is no mark by itself, as its mark holds it.

It holds no id, since ids differ from copy to copy: heads are named by their hashes, branches and versions by their
place in the list of all.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from enum import StrEnum

from previously.core.json_values import make_plain, read_plain
from previously.core.marks import Mark, MarkKind, MarkPlace
from previously.core.versions import Status

PERSON = "person"


class DeedKind(StrEnum):
    """A deed that is no mark by itself."""

    ADDED = "added"
    IMPORTED = "imported"
    INSERTED = "inserted"
    EDITED = "edited"
    DELETED = "deleted"
    CHOSE = "chose"
    REPLIED = "replied"
    WROTE = "wrote"
    HID = "hid"
    UNHID = "unhid"
    SWITCHED = "switched"
    RESTORED = "restored"
    TOOK_BACK = "took back"
    APPROVED = "approved"
    REJECTED = "rejected"
    ATTACHED = "attached"
    DETACHED = "detached"
    BRANCHED = "branched"
    CONTINUED = "continued"
    FORGOT = "forgot"
    RENAMED = "renamed"
    SET = "set"


@dataclass(frozen=True, slots=True)
class Deed:
    """A deed as its mark holds it."""

    did: DeedKind
    was: int = 0
    """The branch that was active before a switch, by its place in the list of all: it may be renamed."""
    statuses: tuple[tuple[int, Status, str], ...] = ()
    """The versions whose status it changed, by their place in the list of all, with the status and reason before."""
    marks: tuple[MarkPlace, ...] = ()
    """The marks that stood in the part of the path that it changed, by their place in the list of the branch's."""
    what: str = ""
    """The name of what it was done to, where that is no message: a book, a branch, a story, settings."""

    def make_mark(self, position: int, at: str, *, seen: bytes = b"") -> Mark:
        """Return the mark that holds it."""
        return Mark(0, 0, MarkKind.DEED, position, json.dumps(make_plain(self)), PERSON, at, seen)


def parse_deed(text: str) -> Deed | None:
    """Return the deed that a mark holds; None for a text that is none."""
    try:
        return read_plain(Deed, json.loads(text))
    except (ValueError, TypeError, AttributeError, RecursionError):
        return None
