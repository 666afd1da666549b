"""Doubles for tests, benchmarks and trying things out: a model and a server that answer from a script.

`ScriptedModel` keeps the contract of `models.client` without a network. `async with ScriptedServer(plan) as server:`
serves real HTTP at `server.base_url`, in the interfaces of OpenAI and Anthropic, and logs every request. A plan says
what the server answers, and how it goes wrong on the way: see `ScriptedAnswer`. With `strict` the server refuses what
the official APIs refuse; `find_chat_faults`, `find_anthropic_faults` and `find_responses_faults` judge a list without
a server. `python -m previously.testing` runs the server by itself. It may import `wire` and `core`; nothing of ours
needs it to run.
"""

from __future__ import annotations

from previously.testing.answer import ScriptedAnswer, gzip_bomb, long_line, redirect, refused, web_page
from previously.testing.connection import ServedRequest
from previously.testing.model import NOTHING_LEFT, Scripted, ScriptedModel
from previously.testing.request_faults import find_anthropic_faults, find_chat_faults, find_responses_faults
from previously.testing.server import Plan, ScriptedServer

__all__ = [
    "NOTHING_LEFT",
    "Plan",
    "Scripted",
    "ScriptedAnswer",
    "ScriptedModel",
    "ScriptedServer",
    "ServedRequest",
    "find_anthropic_faults",
    "find_chat_faults",
    "find_responses_faults",
    "gzip_bomb",
    "long_line",
    "redirect",
    "refused",
    "web_page",
]
