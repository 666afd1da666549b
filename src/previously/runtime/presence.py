"""Who is there: set by hand, for all that is said from then on.

What must stay true: presence follows the branch, like everything a person says of a story.
"""

from __future__ import annotations

from collections.abc import Sequence

from previously.core.errors import BadInput
from previously.core.marks import Mark, MarkKind
from previously.core.text import clean
from previously.runtime.handle import StoryHandle

KINDS = frozenset({MarkKind.LEFT, MarkKind.ENTERED})


class Presence(StoryHandle):
    """What a person says of who is there."""

    async def leave(self, name: str) -> None:
        """From the next message on, somebody is not there."""
        await self._say(MarkKind.LEFT, name)

    async def enter(self, name: str) -> None:
        """From the next message on, somebody is there again."""
        await self._say(MarkKind.ENTERED, name)

    async def absent(self) -> list[str]:
        """Who has left and not come back, in the order they left."""
        branch = await self.branch_info()
        return absent_of(await self._store.marks(self._key, branch.name, KINDS))

    async def _say(self, kind: MarkKind, name: str) -> None:
        who = " ".join(name.split())
        if not who or clean(who)[1]:
            raise BadInput("Somebody who leaves or enters needs a name.")
        branch = await self.branch_info()
        gone = await self.absent()
        if kind is MarkKind.ENTERED and who not in gone:
            raise BadInput(f"{who} has not left.")
        if kind is MarkKind.LEFT and who in gone:
            raise BadInput(f"{who} has left already.")
        await self._add_mark(branch, kind, branch.messages - 1, who)


def absent_of(marks: Sequence[Mark]) -> list[str]:
    """Who is not there, by what was said of it, in order."""
    gone: dict[str, None] = {}
    for mark in marks:
        if mark.kind is MarkKind.LEFT:
            gone[mark.text] = None
        else:
            gone.pop(mark.text, None)
    return list(gone)
