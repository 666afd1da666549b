"""The model that a person names on the page: tried with one word, put to use at once, kept in their settings file.

The key is kept in this process alone: a file is no place for it. It is never told, and sent to no other server than the
one it was given for.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from previously.app import model_at
from previously.core.errors import BadInput
from previously.core.model_io import ModelFailure, ModelRequest
from previously.models.endpoint import parse_endpoint
from previously.settings_file import keep_named

TRY_S = 60.0
"""Seconds that a model may take for one word: a local one may have to be loaded first."""

WORD = ModelRequest("You answer with one word.", "Say the word: ready", max_output_tokens=200, temperature=0.0)
"""The question; there is room for a model that thinks before it speaks."""

LONGEST_ANSWER = 200
"""Characters of the answer that are shown: a sentence or two of a model that does not do as it is told."""


@dataclass(frozen=True, slots=True)
class ChosenModel:
    """A model at an address."""

    endpoint: str
    name: str
    key: str = field(default="", repr=False)


class ModelChoice:
    """The choice of the model that writes on and folds."""

    def __init__(
        self, find: Callable[[], ChosenModel | None], use: Callable[[ChosenModel], Awaitable[None]], *, editable: bool
    ) -> None:
        self._find, self._use, self._editable = find, use, editable

    def describe(self) -> dict[str, Any]:
        """Return the model in use, without its key."""
        chosen = self._find()
        return {
            "model": chosen.name if chosen else None,
            "endpoint": parse_endpoint(chosen.endpoint).shown if chosen else None,
            "has_key": bool(chosen and chosen.key),
            "editable": self._editable,
        }

    async def choose(self, endpoint: str, name: str, key: str | None) -> dict[str, Any]:
        """Put a model to use from now on, and keep its address and name for the next start."""
        chosen = self._read(endpoint, name, key)
        named = {"endpoint": chosen.endpoint, "model": chosen.name}
        kept = await asyncio.to_thread(keep_named, named, os.environ)
        await self._use(chosen)
        overruled = [name for name in ("PREVIOUSLY_ENDPOINT", "PREVIOUSLY_MODEL") if os.environ.get(name)]
        return {**self.describe(), "kept_in": str(kept) if kept else None, "overruled_by": overruled}

    async def try_out(self, endpoint: str, name: str, key: str | None) -> dict[str, Any]:
        """Ask a model for one word; without an address and a name, the one in use."""
        chosen = self._read(endpoint, name, key) if endpoint or name else self._find()
        if chosen is None:
            raise BadInput("There is no model to test: give its address and its name.")
        model, began = model_at(chosen.endpoint, chosen.name, chosen.key, TRY_S), time.monotonic()
        try:
            answer = await model.ask(WORD)
        finally:
            await model.close()
        seconds = round(time.monotonic() - began, 2)
        if isinstance(answer, ModelFailure):
            return {"ok": False, "answer": None, "seconds": seconds, "reason": answer.reason}
        text = " ".join(answer.text.split())[:LONGEST_ANSWER]
        reason = None if text else "It answered with no words."
        return {"ok": bool(text), "answer": text or None, "seconds": seconds, "reason": reason}

    def _read(self, endpoint: str, name: str, key: str | None) -> ChosenModel:
        if not self._editable:
            raise BadInput("Whoever started this server has named its model: `previously open` lets you choose one.")
        endpoint, name, known = endpoint.strip(), name.strip(), self._find()
        if not endpoint or not name:
            raise BadInput("A model needs both: the address of its server, and its name there.")
        parse_endpoint(endpoint)
        same = known is not None and known.endpoint.rstrip("/") == endpoint.rstrip("/")
        return ChosenModel(endpoint, name, (known.key if known and same else "") if key is None else key.strip())
