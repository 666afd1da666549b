"""Runs of contenders over cases: one fold, the same again, and fold after fold as a session goes on."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean
from typing import Any

from benchmarks.compaction.contenders import Contender, whole
from benchmarks.compaction.facts import KINDS, Case, Fact, identical, share, told
from benchmarks.compaction.sessions import Session
from benchmarks.compaction.validity import faults
from previously.core.messages import Message
from previously.core.pairing import find_unpaired, mend

FOLDS = 5
GROWING_BUDGET = 10_000


async def fold_once(contender: Contender, case: Case, budget: int) -> dict[str, Any]:
    """The figures of one fold."""
    done = await contender.fold(case.messages, budget, None, case.pins)
    after = done.messages
    text = told(after)
    size = whole(after)
    mends = done
    if find_unpaired(case.messages):
        mends = await contender.fold(mend(case.messages).messages, budget, None, case.pins)
    again = await contender.fold(after, budget, done.memo, _still(case, after))
    found = faults(after)
    figures: dict[str, Any] = {
        "rules": 100 * fmean(identical(after, case.messages[at]) for at in case.rules),
        "request": 100.0 * identical(after, case.messages[case.request]),
        "all": share(case.facts, text),
        **{kind: share([one for one in case.facts if one.kind == kind], text) for kind in KINDS},
        "size": 100 * size / budget,
        "ratio": 100 * size / whole(case.messages),
        "fits": 100.0 * (size <= budget),
        "valid": 100.0 * (not found),
        "valid if mended": 100.0 * (not faults(mends.messages)),
        "again": 100.0 * (again.messages == after),
        "calls": done.calls,
        "asked": done.asked_tokens,
        "summary": done.summary_tokens,
    }
    return figures | {"faults": found[:3], "refused": done.reason}


def _still(case: Case, after: Sequence[Message]) -> tuple[int, ...]:
    """Where what the log pinned stands after the fold."""
    pinned = [case.messages[at] for at in case.pins]
    return tuple(at for at, one in enumerate(after) if one in pinned)


async def fold_on(contender: Contender, seed: int, folds: int = FOLDS, wording: str = "first") -> dict[str, Any]:
    """A session goes on, and is folded whenever a part was added, so many times."""
    session = Session(seed, wording)
    budget = GROWING_BUDGET
    session.opening()
    rules = [message for part in session.parts for message in part.messages]
    messages: tuple[Message, ...] = tuple(rules)
    memo: Any = None
    facts: list[Fact] = []
    calls = 0
    summaries: list[int] = []
    valid = fits = 0
    for number in range(folds):
        for _ in range(2):
            part = session.worked(gives_up=number % 2 == 0)
            messages = (*messages, *part.messages)
        under_way = session.under_way(1)
        messages = (*messages, *under_way.messages)
        done = await contender.fold(messages, budget, memo, ())
        messages, memo = done.messages, done.memo
        calls += done.calls
        summaries.append(done.summary_tokens)
        valid += not faults(messages)
        fits += whole(messages) <= budget
    facts = [fact for part in session.parts for fact in part.facts]
    first = [fact for part in session.parts[:3] for fact in part.facts]
    text = told(messages)
    return {
        "rules": 100 * fmean(identical(messages, one) for one in rules),
        "request": 100.0 * identical(messages, under_way.messages[0]),
        "all": share(facts, text),
        "first": share(first, text),
        **{kind: share([one for one in facts if one.kind == kind], text) for kind in KINDS},
        "valid": 100 * valid / folds,
        "fits": 100 * fits / folds,
        "calls": calls,
        "summary first": summaries[0],
        "summary last": summaries[-1],
        "tokens": whole(messages),
    }


def mean(found: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The mean of every figure over the runs that have it."""
    names = [name for name in found[0] if name not in ("faults", "refused")]
    values = {name: [one[name] for one in found if one[name] is not None] for name in names}
    return {name: round(fmean(given), 1) if given else None for name, given in values.items()}
