"""An OpenAI-compatible server that answers from a script, over real HTTP: for tests and benchmarks of what asks one.

`async with ScriptedServer(plan) as server:` serves at `server.base_url` and logs every request. A plan says what is
answered, and how it goes wrong on the way: see `ScriptedAnswer`. Needs nothing but the standard library.
"""

from __future__ import annotations

from previously.models.scripted_server.answers import (
    ScriptedAnswer,
    gzip_bomb,
    long_line,
    redirect,
    refused,
    web_page,
)
from previously.models.scripted_server.connections import ServedRequest
from previously.models.scripted_server.server import Plan, ScriptedServer

__all__ = [
    "Plan",
    "ScriptedAnswer",
    "ScriptedServer",
    "ServedRequest",
    "gzip_bomb",
    "long_line",
    "redirect",
    "refused",
    "web_page",
]
