"""The conversations that are folded: generated ones, and real runs of agents.

A real run is cut where three quarters of it are done; what its agent writes afterwards says what it still needed.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from benchmarks.compaction.contenders import whole
from benchmarks.compaction.facts import EDITED, Case, Fact, needed_later
from benchmarks.compaction.sessions import generated, headless
from previously.core.messages import Message, Role, ToolCall
from previously.core.pairing import find_units
from previously.formats.conversations import read_conversation

LEAST_TOKENS = 5_000
"""Smaller conversations need no folding."""

CUT_AT = 0.75
FIXED = 8_000
SHARES = (0.25, 0.10)
LEAST_BUDGET = 2_500


def generated_cases(sessions: int, wording: str = "first") -> list[Case]:
    """Sessions with known facts, and one long run without a person."""
    several = [generated(seed, wording) for seed in range(1, sessions + 1)]
    return [with_budgets(case) for case in [*several, headless(100, wording=wording)]]


def real_cases(folder: Path) -> tuple[list[Case], list[str]]:
    """The runs in a folder that are large enough, and the names of those that are not."""
    found: list[Case] = []
    passed_over: list[str] = []
    for path in sorted(one for one in folder.rglob("*") if one.suffix in (".traj", ".jsonl", ".json")):
        case = _real(path)
        if case is None:
            passed_over.append(path.name)
        else:
            found.append(with_budgets(case))
    return found, passed_over


def with_budgets(case: Case) -> Case:
    """The case with the budgets that make sense for it: room for rules and newest request, and less than all."""
    size = whole(case.messages)
    least = max(LEAST_BUDGET, 2 * whole([case.messages[at] for at in {*case.rules, case.request, *case.pins}]))
    named = [(f"{share:.0%}", int(size * share)) for share in SHARES] + [(f"{FIXED:,}", FIXED)]
    named = [(name, budget) for name, budget in named if least <= budget < 0.8 * size]
    return replace(case, budgets=tuple(named) or (("half", max(least, size // 2)),))


def _real(path: Path) -> Case | None:
    conversation = read_conversation(path)
    messages = conversation.messages
    if whole(messages) < LEAST_TOKENS:
        return None
    begins = [piece[0] for piece in find_units(messages)]
    cut = next((at for at in begins if at >= CUT_AT * len(messages)), len(messages))
    past, later = messages[:cut], messages[cut:]
    rules = tuple(at for at, one in enumerate(past) if one.role is Role.SYSTEM)
    request = conversation.pins[0] if conversation.pins else _last_of_user(past)
    facts = [*needed_later(past, later), *_edited(past)]
    return Case(path.name, path.parent.name, past, rules, request, tuple(facts), conversation.pins)


def _last_of_user(messages: Sequence[Message]) -> int:
    return max(at for at, one in enumerate(messages) if one.role is Role.USER)


def _edited(messages: Sequence[Message]) -> list[Fact]:
    """The files that calls created or changed, where a call says so in so many words."""
    found: dict[str, Fact] = {}
    for part in (one for message in messages for one in message.parts if isinstance(one, ToolCall)):
        try:
            given = json.loads(part.arguments)
        except ValueError:
            continue
        path = given.get("path") or given.get("file_path") or given.get("filename") if isinstance(given, dict) else None
        if isinstance(path, str) and any(word in f"{part.name} {given.get('command', '')}" for word in _CHANGES):
            found[path] = Fact(EDITED, path, 2)
    return list(found.values())


_CHANGES = ("create", "edit", "replace", "insert", "write")
