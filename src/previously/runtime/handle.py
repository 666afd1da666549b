"""A handle on one story of a store: what its sides share."""

from __future__ import annotations

from collections.abc import Sequence

from previously.core.errors import BadInput
from previously.core.marks import Mark, MarkKind
from previously.core.versions import Version
from previously.folds.recap import FoldRules
from previously.runtime.knowing import knowing_of
from previously.runtime.remembering import Remembering
from previously.runtime.times import time_at
from previously.runtime.tuning import Tuning
from previously.storage.store import BranchInfo, Store, StoryKey

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
