"""Real clients as they were recorded, played again through the proxy. `make test-clients` has the real ones."""

from __future__ import annotations

import gzip
import re
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
import pytest_asyncio

from tests.clients import promises
from tests.clients.agent_model import texts_of
from tests.clients.agent_run import AgentRun
from tests.clients.agents import AGENTS
from tests.clients.promises import PROMISES
from tests.clients.record import FOLDER, load
from tests.clients.replay import replay
from tests.effort import mark_slow

LARGEST_BYTES = 300_000
"""Of a recording: ten of them are still a small part of the tree."""

FIRST = {"opencode": 8, "codex": 12, "claude_code": 6}
"""So many requests of each client fill the window."""

EARLY = (
    promises.keep_the_window,
    promises.use_the_window,
    promises.leave_alone_what_fits,
    promises.keep_pairs_whole,
    promises.keep_to_the_interface,
    promises.keep_the_newest_request,
    promises.say_nothing_in_the_users_name,
    promises.degrade_nothing,
    promises.keep_one_story,
    promises.name_the_story,
    promises.choose_the_preset,
)
"""What shows as soon as the window is full."""

Promise = Callable[[AgentRun], list[str]]


@pytest.mark.parametrize("client", AGENTS)
def test_a_recording_holds_nothing_of_this_machine_and_little_of_others(client: str) -> None:
    packed = (FOLDER / f"{client}.jsonl.gz").read_bytes()
    assert len(packed) < LARGEST_BYTES
    whole = gzip.decompress(packed).decode()
    assert not re.findall(r"\bsk-\w|/root/|/tmp/(?!\w+`)|/work/|Bearer (?!KEY)", whole)
    assert not re.findall(r"https?://(?!json-schema\.org)[a-z]+\.[a-z]+", whole)
    assert all(f'{{"way": "{way}"' in whole for way in ("direct", "to_proxy", "upstream"))


@pytest.mark.parametrize(
    ("client", "mark"),
    [
        ("opencode", "Instructions from: /quay/AGENTS.md"),
        ("codex", "# AGENTS.md instructions for /quay"),
        ("claude_code", "<system-reminder>\nCodebase and user instructions are shown below."),
        ("aider", "Here are some READ ONLY files, provided for your reference."),
        ("open_webui", "### Task:"),
    ],
)
def test_a_recording_keeps_what_a_client_is_recognised_by(client: str, mark: str) -> None:
    bodies = [request.body for request in load(client, "direct")[:6]]
    assert any(mark in text for body in bodies for item in body.values() for text in texts_of(item))


@pytest_asyncio.fixture(scope="module", loop_scope="module", params=list(FIRST))
async def begun(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[AgentRun]:
    client = request.param
    yield await replay(client, tmp_path_factory.mktemp(client), window=AGENTS[client].window, first=FIRST[client])


@pytest.mark.parametrize("promise", EARLY, ids=lambda promise: promise.__name__)
def test_promises_of_the_first_requests(begun: AgentRun, promise: Promise) -> None:
    breaches = promise(begun)
    assert not breaches, f"{len(breaches)}: {breaches[:5]}"


SHORT = ("aider", "open_webui")
"""Clients that talk: each has 27 requests in all."""

LONG = mark_slow(*(name for name in AGENTS if name not in SHORT), reason="sixty requests of each client")


@pytest_asyncio.fixture(scope="module", loop_scope="module", params=[*SHORT, *LONG])
async def whole(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[AgentRun]:
    client = request.param
    yield await replay(client, tmp_path_factory.mktemp(client), window=AGENTS[client].window)


@pytest.mark.parametrize("promise", PROMISES, ids=lambda promise: promise.__name__)
def test_promises_of_both_tasks(whole: AgentRun, promise: Promise) -> None:
    breaches = promise(whole)
    assert not breaches, f"{len(breaches)}: {breaches[:5]}"


COMPACTED = {"codex": 14, "opencode": 10, "claude_code": 47}
"""So many requests of each client reach beyond its own compaction."""


LATE = mark_slow("claude_code", reason="its compaction comes after forty requests")


@pytest_asyncio.fixture(scope="module", loop_scope="module", params=["codex", "opencode", *LATE])
async def compacted(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[AgentRun]:
    client = request.param
    folder, first = tmp_path_factory.mktemp(client), COMPACTED[client]
    yield await replay(client, folder, window=AGENTS[client].window, first=first, way="compaction")


@pytest.mark.parametrize(
    "promise",
    [
        promises.know_the_decisions_in_summaries,
        promises.send_what_was_asked,
        promises.keep_one_story,
        promises.leave_alone_what_fits,
        promises.keep_the_window,
    ],
    ids=lambda promise: promise.__name__,
)
def test_promises_of_a_clients_own_compaction(compacted: AgentRun, promise: Promise) -> None:
    breaches = promise(compacted)
    assert not breaches, f"{len(breaches)}: {breaches[:5]}"


@pytest.mark.parametrize("client", ["opencode", "codex", "aider"])
async def test_two_projects_are_two_stories(client: str, tmp_path: Path) -> None:
    """The same words in two folders and two sessions: what was decided here does not hold there."""
    run = await replay(client, tmp_path, window=AGENTS[client].window, first=3, project="mill")
    assert len({story for head in run.heads for story in re.findall(rb"x-previously-story: ([^\r\n]*)", head)}) == 2
