"""Random clients for a short while; `make follow` is the long run."""

from __future__ import annotations

import pytest

from tests.contract.storage.verbs import SqliteVerbs
from tests.effort import cases
from tests.unit.recognition.following import JOINING, run

STEPS = cases(700, quick=250)


@pytest.mark.random
@pytest.mark.parametrize("mode", ["none", "prefixed", *JOINING])
async def test_after_every_request_the_path_is_what_the_client_has_shown(mode: str) -> None:
    follower = await run(STEPS, 12, seed=7, modes=(mode,))
    assert min(follower.done.values()) > STEPS // 140, "everything that clients do was done"
    assert follower.checked["all"] > STEPS // 7
    assert follower.checked["end"] > STEPS // 70


async def test_clients_of_all_kinds_beside_each_other_on_disk(tmp_path: object) -> None:
    store = SqliteVerbs(f"{tmp_path}/stories.db")
    try:
        follower = await run(250, 6, seed=11, modes=("none", "prefixed", *JOINING), store=store)
    finally:
        await store.close()
    assert sum(follower.checked.values()) > 100
