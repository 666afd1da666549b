"""A server that answers from a script, over real HTTP, in the interfaces of OpenAI and Anthropic: for tests and
benchmarks of what asks one.

`async with ScriptedServer(plan) as server:` serves at `server.base_url` and logs every request. A plan says what is
answered, and how it goes wrong on the way: see `ScriptedAnswer`. With `strict` it refuses what the official APIs
refuse; `faults_of_chat`, `faults_of_anthropic` and `faults_of_responses` say the same of a list without a server.
Needs nothing but the standard library.
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
from previously.models.scripted_server.strict_chat import faults_of_chat
from previously.models.scripted_server.strict_messages import faults_of_anthropic
from previously.models.scripted_server.strict_responses import faults_of_responses

__all__ = [
    "Plan",
    "ScriptedAnswer",
    "ScriptedServer",
    "ServedRequest",
    "faults_of_anthropic",
    "faults_of_chat",
    "faults_of_responses",
    "gzip_bomb",
    "long_line",
    "redirect",
    "refused",
    "web_page",
]
