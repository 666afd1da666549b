"""A handle on one story of a store: what its sides share."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from previously.core.errors import BadInput
from previously.core.marks import Mark, MarkKind
from previously.core.presence import Presence
from previously.core.versions import Version
from previously.folds.recap import FoldRules
from previously.runtime.knowing import knowing_of
from previously.runtime.remembering import Remembering
from previously.runtime.times import time_at
from previously.runtime.tuning import Tuning
from previously.storage.store import BranchInfo, Store, StoryKey
from previously.view.reader import Reader

PERSON = "person"


class StoryHandle:
    """Knows where a story is and by which settings it is kept."""

    def __init__(self, store: Store, key: StoryKey, tuning: Tuning) -> None:
        self._store = store
        self._key = key
        self._tuning = tuning
        self._knowing = knowing_of(store)

    @property
    def _rules(self) -> FoldRules:
        return self._tuning.in_force.fold_rules

    async def branch_info(self) -> BranchInfo:
        """The active branch."""
        return await self._store.branch(self._key)

    async def _presence(self, store: Store, *, next_speaker: str = "") -> Presence:
        """Return who was present at each message of the active branch."""
        branch = await store.branch(self._key)
        return await self._knowing.presence(store, self._key, branch, self._rules, next_speaker=next_speaker)

    async def _reader(self, store: Store, reader: Reader, *, answers: bool = False) -> Reader:
        """Return a reader with what they may know of; `BadInput` for somebody whom nobody has heard of, unless they are
        about to answer."""
        if not reader.name:
            return reader
        presence = await self._presence(store, next_speaker=reader.name if answers else "")
        if not answers and not presence.has(reader.name):
            branch = await store.branch(self._key)
            known = await self._knowing.known(store, self._key, branch, self._rules)
            told = [one.name for one in known.state.learnt.values()]
            if not any(presence.names.same_person(reader.name, one) for one in told):
                raise BadInput(_unheard_of(reader.name, {*presence.people, *told}))
        return replace(reader, presence=presence)

    async def _reading(self) -> tuple[BranchInfo, Remembering]:
        branch = await self.branch_info()
        return branch, Remembering(self._store, self._key, branch)

    async def _version(self, version: int) -> Version:
        found = await self._store.version(self._key, version)
        if found is None:
            raise BadInput(f"There is no version {version} in this story; `log` lists them.")
        return found

    async def _add_mark(
        self,
        branch: BranchInfo,
        kind: MarkKind,
        position: int,
        text: str = "",
        *,
        seen: bytes = b"",
        of: int = 0,
        instead_of: Sequence[Mark] = (),
    ) -> Mark:
        """A person's mark, in place of others. What begins behind one of them at the same place goes on."""
        same = [mark.origin for mark in instead_of if mark.kind is kind and mark.position == position]
        return await self._store.add_mark(
            self._key,
            branch.name,
            kind,
            position,
            text,
            made_by=PERSON,
            at=time_at(),
            seen=seen,
            of=of,
            origin=same[-1] if same else 0,
            retires=[mark.id for mark in instead_of],
        )


def _unheard_of(name: str, people: Collection[str]) -> str:
    there = f"there are {', '.join(sorted(people))}" if people else "there is nobody yet"
    return f"Nobody called {name!r} takes part in this story; {there}."
