"""A run of a real agent: two tasks, between them a restart of the client and of the proxy, and all that was sent.

`events` holds, in the order of arrival, what the client sent (`Sent`, tapped off the line) and what the upstream got
(`Seen`). Directly the two are the same; through the proxy their difference is the proxy's work.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path

from previously import Memory
from tests.clients.agent import LARGE_WINDOW, Agent, Spoken
from tests.clients.agent_model import AgentModel, Seen
from tests.clients.agent_work import TASKS
from tests.clients.tap import Sent, tapped
from tests.clients.workplace import Workplace, make_workplace
from tests.end_to_end.server.running import running_proxy


@dataclass
class AgentRun:
    """What a run left behind."""

    place: Workplace
    window: int | None = None
    """That of the model."""
    events: list[Sent | Seen] = field(default_factory=list)
    spoken: list[Spoken] = field(default_factory=list)
    logs: list[str] = field(default_factory=list)
    """What each proxy wrote."""
    heads: list[bytes] = field(default_factory=list)
    """The heads of the answers that the client got."""
    database: Path | None = None
    stories: dict[str, str] = field(default_factory=dict)
    """The stories in the store at the end, each with its preset."""

    @property
    def sent(self) -> list[Sent]:
        return [event for event in self.events if isinstance(event, Sent)]

    @property
    def seen(self) -> list[Seen]:
        return [event for event in self.events if isinstance(event, Seen)]

    @property
    def work(self) -> list[Seen]:
        """Bodies of the agent's own work that were answered."""
        return [seen for seen in self.seen if seen.kind == "work" and seen.status == 200]

    def pairs(self) -> Iterator[tuple[Sent, Seen]]:
        """Each body of the work, with the client's request that it was made of: the newest before it of its path."""
        newest: dict[str, Sent] = {}
        for event in self.events:
            if isinstance(event, Sent):
                newest[event.path] = event
            elif event.kind == "work" and event.status == 200 and event.path in newest:
                yield newest[event.path], event


async def run_agent(
    agent: Agent,
    folder: Path,
    *,
    through_proxy: bool,
    tasks: tuple[str, ...] = TASKS,
    client_window: int = LARGE_WINDOW,
) -> AgentRun:
    """Let an agent do the tasks in `folder`. Directly the model reads all that it is sent."""
    window = agent.window if through_proxy else None
    run = AgentRun(make_workplace(folder), window)
    run.database = folder / "stories.db" if through_proxy else None
    async with AsyncExitStack() as open_things:
        model = AgentModel(window, folder=str(run.place.project), on_seen=run.events.append)
        await open_things.enter_async_context(model)
        port = model.port

        tap = await open_things.enter_async_context(tapped(lambda: port, run.events.append))
        agent.furnish(run.place, tap.origin, client_window)
        for number, task in enumerate(tasks):
            async with AsyncExitStack() as one_task:
                if run.database is not None:
                    proxy = await one_task.enter_async_context(
                        running_proxy(model.base_url, db=run.database, window=window, memory="builtin")
                    )
                    port = proxy.port
                run.spoken.append(await agent.run(run.place, tap.origin, task, goes_on=number > 0))
                if run.database is not None:
                    await proxy.stop()
                    run.logs.append(proxy.written())
        run.heads = tap.answers
    run.stories = await read_stories(run.database)
    return run


async def read_stories(database: Path | None) -> dict[str, str]:
    """Return the names of all stories, each with its preset."""
    if database is None:
        return {}
    async with await Memory.open(database) as memory:
        stories = [await memory.story(info.name, create=False) for info in await memory.stories()]
        return {story.name: str((await story.settings()).get("preset", "")) for story in stories}
