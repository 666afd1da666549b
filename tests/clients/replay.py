"""A recorded client played again: its requests through a real proxy, with the same scripted model behind it.

The model gives the same answers as when the recording was made, so each recorded request goes on from them.
"""

from __future__ import annotations

import asyncio
import json
import re
from dataclasses import replace
from pathlib import Path

from tests.clients.agent_model import AgentModel
from tests.clients.agent_run import AgentRun, read_stories
from tests.clients.record import HOME, PROJECT, Recorded, load
from tests.clients.tap import Sent
from tests.clients.workplace import Workplace
from tests.end_to_end.server.running import Proxy, running_proxy

MOST_LOOKS = 3_000
"""How often it is asked whether all is folded: a minute."""


async def replay(
    client: str, folder: Path, *, window: int, first: int | None = None, way: str = "direct", project: str = ""
) -> AgentRun:
    """Send the first requests of a recording, or all of them, through a proxy; and then, if `project` is given, the
    same in a session and a project of that name."""
    run = AgentRun(Workplace(Path(PROJECT), Path(HOME)), window)
    run.database = folder / "stories.db"
    async with (
        AgentModel(window, folder=PROJECT, on_seen=run.events.append) as model,
        running_proxy(model.base_url, db=run.database, window=window, memory="builtin", idle_s=0) as proxy,
    ):
        requests = load(client, way)[:first]
        for recorded in [*requests, *(_move(request, project) for request in requests if project)]:
            if recorded.method != "POST":
                continue
            run.events.append(Sent("POST", recorded.path, list(recorded.headers.items()), recorded.body))
            answer = await proxy.client.post(
                f"{proxy.origin}{recorded.path}", json=recorded.body, headers=recorded.headers
            )
            await _until_folded(proxy)
            run.heads.append("\r\n".join(f"{name}: {value}" for name, value in answer.headers.items()).encode())
        await proxy.stop()
        run.logs.append(proxy.written())
    run.stories = await read_stories(run.database)
    return run


async def _until_folded(proxy: Proxy) -> None:
    """Wait for what is due: a recorded client asks faster than any model answers, and no memory could keep up."""
    for _ in range(MOST_LOOKS):
        figures = (await proxy.client.get(f"{proxy.origin}/metrics")).text
        if "\npreviously_stories_to_fold 0\n" in figures:
            return
        await asyncio.sleep(0.02)
    raise AssertionError("The proxy folds for ever.")


def _move(recorded: Recorded, project: str) -> Recorded:
    """The same request from another project: its files have other names, and its session has another id."""
    whole = json.dumps([recorded.headers, recorded.body])
    whole = whole.replace(PROJECT, f"/{project}").replace("src/part_", f"src/{project}_")
    if not any("session" in name for name in recorded.headers):  # nothing but its words tells it apart
        whole = whole.replace("metres", "feet")
    whole = re.sub(r"\bses_\w{4}|\b[0-9a-f]{8}(?=-[0-9a-f]{4}-[0-9a-f]{4}-)", _mirror, whole)
    headers, body = json.loads(whole)
    return replace(recorded, headers=headers, body=body)


def _mirror(match: re.Match[str]) -> str:
    return match[0] if match[0] == match[0][::-1] else f"{match[0][:4]}{match[0][4:][::-1]}"
