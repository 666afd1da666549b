"""The API in this process: asked through its guard, over a store in memory."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest_asyncio

from previously import Memory
from previously.models.endpoint import parse_endpoint
from previously.server.app import ServerOptions, make_app

LINES = [
    "Is the ferry in?",
    "Odalys hid the brass key under the stair.",
    "Wren saw her and said nothing.",
    "The ferry left at noon.",
]


@dataclass
class Api:
    """The API and the stories behind it."""

    memory: Memory
    client: httpx.AsyncClient

    async def get(self, path: str, **query: Any) -> Any:
        """Return the answer to a question that must be answered."""
        response = await self.client.get(path, params=query)
        assert response.status_code == 200, response.text
        return response.json()

    async def send(
        self, method: str, path: str, body: Any = None, status: int = 200, headers: dict[str, str] | None = None
    ) -> Any:
        """Return the answer to a request of that status."""
        response = await self.client.request(
            method, path, json=None if method == "DELETE" else ({} if body is None else body), headers=headers
        )
        assert response.status_code == status, response.text
        return response.json() if response.content else None

    async def tell(self, name: str = "ferry", lines: list[str] = LINES) -> None:
        """Begin a story of a few messages."""
        story = await self.memory.story(name)
        for index, line in enumerate(lines):
            role, speaker = ("assistant", "Odalys") if index % 2 else ("user", "Wren")
            await story.add(role, line, name=speaker)


@asynccontextmanager
async def open_api(where: str | Path = ":memory:") -> AsyncIterator[Api]:
    """The API over the stories at that place."""
    memory = await Memory.open(where)
    options = ServerOptions(parse_endpoint("http://127.0.0.1:9/v1"), memory="builtin")
    transport = httpx.ASGITransport(make_app(memory, options), raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1/api/v1", trust_env=False) as client:
        yield Api(memory, client)
    await memory.close()


@pytest_asyncio.fixture
async def api() -> AsyncIterator[Api]:
    async with open_api() as opened:
        yield opened
