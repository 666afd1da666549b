"""Open WebUI as a client: its real server in a process of its own, asked as its page asks it.

A chat begins with a message that has no parent; each further one names the reply before it. The server answers at once
and works in the background: the reply, then a title, tags and suggestions for what to ask next. Its heavy parts (torch,
CUDA) are for documents and speech, which nobody needs here: they are not installed.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx

from tests.clients.agent import LARGE_WINDOW, Agent, Spoken
from tests.clients.agent_model import MODEL
from tests.clients.agent_work import TALKS
from tests.clients.sillytavern import CLIENTS
from tests.clients.workplace import KEY, Workplace
from tests.ports import find_port

STARTING_S = 240.0
"""Its first start makes a database in many steps: a minute on a busy machine."""

ANSWERING_S = 120.0


class OpenWebUI(Agent):
    """Each task is a talk in one chat; the second goes on with it after a restart of the server."""

    name = "open_webui"
    window = 16_000
    """Its talk has no files: it fills a smaller one."""

    def furnish(self, place: Workplace, origin: str, window: int = LARGE_WINDOW) -> None:
        (place.home / "data").mkdir(parents=True)

    def variables(self, origin: str) -> dict[str, str]:
        return {
            "OPENAI_API_BASE_URL": f"{origin}/v1",
            "OPENAI_API_KEY": KEY,
            "ENABLE_OLLAMA_API": "False",
            "WEBUI_AUTH": "False",
            "WEBUI_SECRET_KEY": "quay",
            "OFFLINE_MODE": "True",
            "HF_HUB_OFFLINE": "1",
            "RAG_EMBEDDING_ENGINE": "openai",  # else it would load a model
            "ENABLE_VERSION_UPDATE_CHECK": "False",
            "ANONYMIZED_TELEMETRY": "False",
        }

    async def run(self, place: Workplace, origin: str, task: str, *, goes_on: bool) -> Spoken:
        async with self.serving(place, origin) as client:
            chat = _Chat(client, place.home / "chat.json")
            await chat.sign_in()
            for line in TALKS.get(task, (task,)):
                await chat.say(line)
        return Spoken(0, chat.newest)

    @asynccontextmanager
    async def serving(self, place: Workplace, origin: str) -> AsyncIterator[httpx.AsyncClient]:
        """Its server, ready, as a client asks it."""
        port, log = find_port(), place.home / "said.log"
        variables = place.environment(DATA_DIR=str(place.home / "data"), **self.variables(origin))
        with log.open("ab") as written:
            process = await asyncio.create_subprocess_exec(
                str(CLIENTS / "openwebui/bin/open-webui"), "serve", "--host", "127.0.0.1", "--port", str(port),
                cwd=place.home, stdin=asyncio.subprocess.DEVNULL, stdout=written, stderr=written, env=variables,
                start_new_session=True,
            )  # fmt: skip
        try:
            async with httpx.AsyncClient(
                base_url=f"http://127.0.0.1:{port}", trust_env=False, timeout=ANSWERING_S
            ) as client:
                await _until_ready(client, process)
                yield client
        finally:
            os.killpg(process.pid, signal.SIGKILL)
            await process.wait()


class _Chat:
    """One chat of the page, kept in a file from one run to the next."""

    def __init__(self, client: httpx.AsyncClient, file: Path) -> None:
        self._client = client
        self._file = file
        self._kept: dict[str, Any] = json.loads(file.read_text("utf-8")) if file.exists() else {"messages": []}

    @property
    def newest(self) -> str:
        return str(self._kept["messages"][-1]["content"])

    async def sign_in(self) -> None:
        """Without accounts the page signs in as the one user there is, and asks which models there are."""
        answer = await self._client.post("/api/v1/auths/signin", json={"email": "", "password": ""})
        self._client.headers["Authorization"] = f"Bearer {answer.raise_for_status().json()['token']}"
        (await self._client.get("/api/models")).raise_for_status()

    async def say(self, text: str) -> None:
        """Send a message, and wait until the reply and all that follows it are there."""
        said, reply = str(uuid.uuid4()), str(uuid.uuid4())
        parent = self._kept.get("parent")
        self._kept["messages"].append({"role": "user", "content": text})
        asked: dict[str, Any] = {
            "stream": True,
            "model": MODEL,
            "messages": self._kept["messages"],
            "session_id": "page",
            "id": reply,
            "parent_id": parent,
            "user_message": {
                "id": said, "parentId": parent, "childrenIds": [reply], "role": "user", "content": text,
                "timestamp": 1_767_322_000, "models": [MODEL],
            },
            "background_tasks": {
                "follow_up_generation": True,
                **({} if parent else {"title_generation": True, "tags_generation": True}),
            },
            "features": {}, "params": {}, "variables": {},
        }  # fmt: skip
        if chat_id := self._kept.get("chat"):
            asked["chat_id"] = chat_id
        answer = await self._client.post("/api/chat/completions", json=asked)
        self._kept["chat"] = chat_id = answer.raise_for_status().json()["chat_id"]
        self._kept["messages"].append({"role": "assistant", "content": await self._await_reply(chat_id, reply)})
        self._kept["parent"] = reply
        self._file.write_text(json.dumps(self._kept), "utf-8")

    async def _await_reply(self, chat_id: str, reply: str) -> str:
        for _ in range(int(ANSWERING_S / 0.2)):
            await asyncio.sleep(0.2)
            if (await self._client.get(f"/api/tasks/chat/{chat_id}")).raise_for_status().json()["task_ids"]:
                continue
            chat = (await self._client.get(f"/api/v1/chats/{chat_id}")).raise_for_status().json()["chat"]
            message = chat["history"]["messages"].get(reply, {})
            if message.get("error"):
                raise AssertionError(f"Open WebUI shows an error: {message['error']}")
            if message.get("content"):
                return str(message["content"])
        raise AssertionError("Open WebUI gives no reply.")


async def _until_ready(client: httpx.AsyncClient, process: asyncio.subprocess.Process) -> None:
    for _ in range(int(STARTING_S / 0.5)):
        assert process.returncode is None, "Open WebUI ended at once."
        try:
            if (await client.get("/health")).status_code == 200:
                return
        except httpx.TransportError:
            pass
        await asyncio.sleep(0.5)
    raise AssertionError("Open WebUI does not answer.")
