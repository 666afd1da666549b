"""A recorded client played again: its requests through a real proxy, with the same scripted model behind it.

The model gives the same answers as when the recording was made, so each recorded request goes on from them.
"""

from __future__ import annotations

from pathlib import Path

from tests.clients.agent_model import AgentModel
from tests.clients.agent_run import AgentRun, read_stories
from tests.clients.record import PROJECT, load
from tests.clients.tap import Sent
from tests.clients.workplace import Workplace
from tests.end_to_end.server.running import running_proxy


async def replay(client: str, folder: Path, *, window: int, first: int | None = None) -> AgentRun:
    """Send the first requests that a client sent directly, or all of them, through a proxy."""
    run = AgentRun(Workplace(Path(PROJECT), Path("/home/quay")), window)
    run.database = folder / "stories.db"
    async with (
        AgentModel(window, folder=PROJECT, on_seen=run.events.append) as model,
        running_proxy(model.base_url, db=run.database, window=window, memory="builtin") as proxy,
    ):
        for recorded in load(client, "direct")[:first]:
            if recorded.method != "POST":
                continue
            run.events.append(Sent("POST", recorded.path, list(recorded.headers.items()), recorded.body))
            answer = await proxy.client.post(
                f"{proxy.origin}{recorded.path}", json=recorded.body, headers=recorded.headers
            )
            run.heads.append("\r\n".join(f"{name}: {value}" for name, value in answer.headers.items()).encode())
        await proxy.stop()
        run.logs.append(proxy.written())
    run.stories = await read_stories(run.database)
    return run
