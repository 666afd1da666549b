"""Many streams open at once, and load that goes on: errors, and the memory a proxy holds."""

from __future__ import annotations

import time
from collections.abc import Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from statistics import linear_regression
from typing import Any

from benchmarks.proxy_load import Streamed, ask_all, keep_asking
from benchmarks.proxy_parties import Party
from benchmarks.proxy_stories import Client

MANY = 500
BEGUN_OVER_S = 5.0
FALLS_S = 20.0
"""How long a proxy has to give back the memory that so many streams took."""

NEW_CHAT = 20
"""Messages of a chat that no store has seen."""

FIRST_NEW = 100_000
STEADY = 10
"""Clients that tell their stories at the same time, each with a second for an answer."""

SAMPLE_S = 10.0


def measure_open(
    parties: Sequence[Party], workers: ProcessPoolExecutor, model: str, errors: list[str]
) -> dict[str, Any]:
    """Many new chats whose answers are all under way at the same time."""
    found: dict[str, Any] = {"streams": MANY}
    clients = [Client(FIRST_NEW + number, NEW_CHAT) for number in range(MANY)]
    for client in clients:
        client.says()
    for party in parties:
        before = party.rss_mb
        asked = workers.submit(ask_all, party.port, [one.request(party.port, model) for one in clients], BEGUN_OVER_S)
        during = [rss for _, rss in _sampled(asked, [party], 0.5)[party.name]]
        failed = [f"{party.name}: {one.error}" for one in asked.result() if one.error]
        errors += failed
        starts = [one.first_s * 1_000 for one in asked.result() if not one.error]
        at_end = party.rss_mb
        party.settle()
        time.sleep(FALLS_S)
        found[party.name] = {
            "errors": len(failed),
            "before_mb": before,
            "most_mb": max(during, default=before),
            "at_end_mb": at_end,
            "after_mb": party.rss_mb,
            "memory": _count_states(asked.result()),
            "first_p50_ms": sorted(starts)[len(starts) // 2] if starts else None,
        }
    return found


def measure_steady(
    parties: Sequence[Party],
    workers: ProcessPoolExecutor,
    model: str,
    minutes: float,
    errors: list[str],
) -> dict[str, Any]:
    """The same load on each of them, side by side, for so long."""
    numbers = list(range(STEADY))
    before = {party.name: (party.cpu_s, party.rss_mb) for party in parties}
    asked = {party.name: workers.submit(keep_asking, party.port, numbers, model, minutes * 60) for party in parties}
    sampled = _sampled(asked[parties[0].name], parties, min(SAMPLE_S, minutes * 6))
    found: dict[str, Any] = {"minutes": minutes, "clients": STEADY}
    for party in parties:
        kept = asked[party.name].result()
        errors += [f"{party.name}: {error}" for error in kept.errors]
        later = sampled[party.name][len(sampled[party.name]) // 3 :]
        found[party.name] = {
            "turns": kept.turns,
            "errors": len(kept.errors),
            "memory": kept.memory,
            "cpu_ms_per_turn": (party.cpu_s - before[party.name][0]) * 1_000 / max(1, kept.turns),
            "before_mb": before[party.name][1],
            "sampled_mb": [round(rss, 1) for _, rss in sampled[party.name]],
            "mb_per_minute": linear_regression(*zip(*later, strict=True)).slope * 60 if len(later) > 2 else None,
        }
    return found


def _count_states(came: Sequence[Streamed]) -> dict[str, int]:
    states = [streamed.memory for streamed in came]
    return {state: states.count(state) for state in sorted(set(states))}


def _sampled(work: Future[Any], parties: Sequence[Party], every_s: float) -> dict[str, list[tuple[float, float]]]:
    """Seconds and memory of each, as long as the work goes on."""
    began = time.monotonic()
    found: dict[str, list[tuple[float, float]]] = {party.name: [] for party in parties}
    while not work.done():
        for party in parties:
            found[party.name].append((time.monotonic() - began, party.rss_mb))
        time.sleep(every_s)
    return found
