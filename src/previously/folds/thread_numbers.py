"""Threads by number: how a model is shown what is open, and which thread its answer means.

Numbers are for one question only; what is kept names a thread by its id.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from previously.core.note import Aspect, parse_state_line
from previously.core.scene import Settled, Signals, parse_items
from previously.core.scripts import casefold

OpenThreads = tuple[tuple[str, str], ...]
"""Open threads, each with its id and its words, in the order of their numbers."""

ASPECTS = ", ".join(list(Aspect)[:-1]) + f" or {list(Aspect)[-1]}"
"""What a line of the state may be about, in words."""

_NUMBERED = re.compile(r"\W*T\s?(\d{1,3})\b[\s.:;,)\]–—-]*(.*)", re.I | re.S)


def number_threads(threads: Sequence[tuple[str, str]]) -> str:
    """Return open threads as a model is shown them, one per line."""
    return "\n".join(f"T{number} {text}" for number, (_, text) in enumerate(threads, 1))


def name_threads(signals: Signals, threads: Sequence[tuple[str, str]]) -> tuple[Signals, tuple[Settled, ...]]:
    """Return signals without numbers, and the threads that they settle. A known thread that is said to be open is no
    new one."""
    texts: list[str] = []
    settled: dict[str, Settled] = {}
    for item in signals.resolved_threads:
        found, rest = _meant(item, threads)
        if found is None:
            texts.append(item)
            continue
        ident, words = found
        texts.append(rest or words)
        settled[ident] = Settled(ident, rest or words)
    fresh = [item for item in signals.open_threads if _meant(item, threads)[0] is None]
    changed = replace(signals, open_threads=parse_items(fresh), resolved_threads=parse_items(texts))
    return changed, tuple(settled.values())


def _meant(item: str, threads: Sequence[tuple[str, str]]) -> tuple[tuple[str, str] | None, str]:
    """Return the thread that an item means, by its number or its very words, and what else the item says."""
    found = _NUMBERED.fullmatch(item)
    if found and 0 < int(found[1]) <= len(threads):
        thread = threads[int(found[1]) - 1]
        rest = found[2].strip()
        return thread, "" if casefold(rest) == casefold(thread[1]) else rest
    return next((one for one in threads if casefold(one[1]) == casefold(item)), None), ""


def state_warnings(signals: Signals) -> tuple[str, ...]:
    """Return what is said of lines of the state that cannot be kept as such."""
    lost = [one for one in signals.state_changes if parse_state_line(one) is None]
    return (f"not kept as state, for want of an aspect: {lost[0][:80]}",) if lost else ()
