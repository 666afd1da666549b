"""What the tests of the proxy share: one proxy with a scripted upstream for all tests of a module."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from tests.end_to_end.server.running import Rig, running_rig


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared_rig(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Rig]:
    """Started once. When the module is done it is stopped, and all that tests expected must be in the store."""
    async with running_rig(tmp_path_factory.mktemp("proxy")) as rig:
        yield rig
        await rig.check_after_stopping()


@pytest_asyncio.fixture(loop_scope="module")
async def rig(shared_rig: Rig) -> AsyncIterator[Rig]:
    """The shared one, with an empty plan."""
    shared_rig.upstream.new_plan()
    yield shared_rig
    assert shared_rig.proxy.process.returncode is None, shared_rig.proxy.written()
