"""Real clients through the proxy: sixty calls of tools, files of 20 KB, a window of 32,000, two tasks, and a restart of
client and proxy between them."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
import pytest_asyncio

from tests.clients.agent_run import AgentRun, run_agent
from tests.clients.agent_work import DONE, TALK_1, TALK_2
from tests.clients.agents import AGENTS
from tests.clients.promises import PROMISES
from tests.clients.terminal_picture import save_terminal

CALLS = 60
IMAGES = Path(__file__).parents[2] / "docs" / "images"


@pytest_asyncio.fixture(scope="module", loop_scope="session", params=list(AGENTS))
async def run(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[AgentRun]:
    """One run of each agent for all tests. It may take five minutes on a busy machine; see `agents.PATIENCE_S`."""
    agent = AGENTS[request.param]
    yield await run_agent(agent, tmp_path_factory.mktemp(agent.name), through_proxy=True)


def test_the_client_finishes_both_tasks(run: AgentRun, request: pytest.FixtureRequest) -> None:
    assert [spoken.code for spoken in run.spoken] == [0, 0], run.spoken[-1].output[-2_000:]
    talks = request.node.callspec.params["run"] in ("aider", "open_webui")
    assert talks or DONE[1] in run.spoken[-1].output
    assert len(run.work) >= (len(TALK_1 + TALK_2) if talks else CALLS + 2)


@pytest.mark.skipif(not os.environ.get("DOCS_IMAGES"), reason="DOCS_IMAGES is not set")
def test_picture_for_the_docs(run: AgentRun, request: pytest.FixtureRequest) -> None:
    name = request.node.callspec.params["run"].replace("_", "-")
    if name != "open-webui":  # which has a page
        save_terminal(IMAGES / f"{name}.svg", run.spoken[-1].output, {str(run.place.project): "~/quay"})


@pytest.mark.parametrize("promise", PROMISES, ids=lambda promise: promise.__name__)
def test_the_proxy_keeps_its_promise(run: AgentRun, promise: Callable[[AgentRun], list[str]]) -> None:
    breaches = promise(run)
    assert not breaches, f"{len(breaches)}: {breaches[:5]}"
