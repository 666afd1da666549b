"""A lease that is renewed beside a fold: neither its errors nor its end touch what the fold raises."""

from __future__ import annotations

import asyncio
from typing import cast

import pytest

from previously.core.errors import StoreProblem
from previously.runtime import fold_ledger
from previously.runtime.fold_ledger import FoldLedger, renew_lease


class FailingLedger:
    """A ledger whose store is away, or does not let go of a renewal."""

    def __init__(self, *, hangs: bool = False) -> None:
        self.asked = asyncio.Event()
        self._hangs = hangs

    async def take_lease(self) -> bool:
        self.asked.set()
        if self._hangs:
            try:
                await asyncio.sleep(60)
            finally:
                await asyncio.sleep(0.2)  # what a store is at, it ends first
        raise StoreProblem("The store is away.")


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fold_ledger, "LEASE_S", 0.003)


async def test_a_renewal_that_fails_does_not_end_the_fold() -> None:
    ledger = FailingLedger()
    async with renew_lease(cast(FoldLedger, ledger)):
        for _ in range(2):
            ledger.asked.clear()
            await asyncio.wait_for(ledger.asked.wait(), 30)  # it is tried again


async def test_the_error_of_the_fold_is_the_one_that_is_raised() -> None:
    ledger = FailingLedger()
    with pytest.raises(ZeroDivisionError):
        async with renew_lease(cast(FoldLedger, ledger)):
            await ledger.asked.wait()
            raise ZeroDivisionError


async def test_a_cancellation_at_the_very_end_is_not_swallowed() -> None:
    ledger = FailingLedger(hangs=True)

    async def fold() -> str:
        async with renew_lease(cast(FoldLedger, ledger)):
            await ledger.asked.wait()
        return "went on"

    folding = asyncio.create_task(fold())
    await ledger.asked.wait()
    await asyncio.sleep(0.05)  # now it waits for the renewal to end
    folding.cancel()
    with pytest.raises(asyncio.CancelledError):
        await folding
