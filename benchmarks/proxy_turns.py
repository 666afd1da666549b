"""The CPU time of one turn through the proxy, beside that of another tree of this project.

One client tells a story of a few hundred messages to each proxy; the proxies take turns, block by block, so that
whatever else the machine does weighs on both alike. The CPU time is that of the whole process: what a proxy does after
an answer, folding included, is part of what a turn costs.
"""

from __future__ import annotations

import socket
from collections.abc import Sequence
from typing import Any

from benchmarks.proxy_load import END, LONGEST_S
from benchmarks.proxy_parties import Party
from benchmarks.proxy_stories import Client
from benchmarks.proxy_upstream import model_name

TOLD = 300
"""Messages of the story before the turns that are measured: enough for folds, chapters and recall."""

BLOCK = 10
"""Turns of one proxy before the next one's: long against the 10 ms in which the system counts CPU time."""

MODEL = model_name(0, 20, kind="counted")
"""Twenty chunks without a pause, and the usage that most servers report."""


def measure_turns(parties: Sequence[Party], turns: int, errors: list[str]) -> dict[str, Any]:
    """Return the CPU time per turn of each proxy, and the first one's share of each other's."""
    clients = {party.name: Client(0, TOLD) for party in parties}
    for party in parties:
        _tell(party, clients[party.name], 1, errors)
        party.settle()
    taken = dict.fromkeys(clients, 0.0)
    for block in range(turns // BLOCK):
        first = block % len(parties)
        for party in [*parties[first:], *parties[:first]]:
            before = party.cpu_s
            _tell(party, clients[party.name], BLOCK, errors)
            party.settle()
            taken[party.name] += party.cpu_s - before
    per_turn = {name: seconds * 1_000 / (turns // BLOCK * BLOCK) for name, seconds in taken.items()}
    own = per_turn[parties[0].name]
    return {name: {"cpu_ms": cost, "ratio": own / cost} for name, cost in per_turn.items()}


def _tell(party: Party, client: Client, turns: int, errors: list[str]) -> None:
    for _ in range(turns):
        client.says()
        answer = _ask(party.port, client.request(party.port, MODEL, None))
        if b"data: [DONE]" in answer:
            client.is_answered(answer)
        else:
            errors.append(f"{party.name}: {answer[:200].decode('latin-1')}")
            client.unsaid()


def _ask(port: int, request: bytes) -> bytes:
    with socket.create_connection(("127.0.0.1", port), timeout=LONGEST_S) as connection:
        connection.sendall(request)
        answer = b""
        while not answer.endswith(END) and (data := connection.recv(65_536)):
            answer += data
    return answer
