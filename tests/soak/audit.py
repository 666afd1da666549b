"""The audit: what clients were told is kept is in the stories, once and in order."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from previously import Memory
from tests.soak.tellers import Tale

_NUMBER = re.compile(r"S(\d+)[TR]")
MOST_TOLD = 20
"""Losses that a report names; it counts all."""


@dataclass
class Audit:
    """What was found in the store."""

    messages: int = 0
    """Acknowledged messages that were looked for."""
    lost: list[str] = field(default_factory=list)
    """Acknowledged messages that are on no path."""
    doubled: list[str] = field(default_factory=list)
    """Messages that are on the path of their story more than once."""
    elsewhere: list[str] = field(default_factory=list)
    """Messages that are kept, but in another story than the rest of theirs."""
    disordered: list[str] = field(default_factory=list)
    """Stories that do not tell their messages in the order of the client."""
    split: list[str] = field(default_factory=list)
    """Stories of a client that became several."""

    @property
    def sound(self) -> bool:
        return not (self.lost or self.doubled or self.elsewhere or self.disordered or self.split)

    def describe(self) -> dict[str, Any]:
        kinds = ("lost", "doubled", "elsewhere", "disordered", "split")
        counts = {kind: len(getattr(self, kind)) for kind in kinds}
        told = {kind: getattr(self, kind)[:MOST_TOLD] for kind in kinds if getattr(self, kind)}
        return {"messages": self.messages, **counts, "examples": told}


async def audit(db: Path, tales: Sequence[Tale]) -> Audit:
    """Compare every story with what its client shows."""
    paths: dict[int, dict[str, list[tuple[str, str]]]] = {}
    async with await Memory.open(db) as memory:
        for info in await memory.stories():
            story = await memory.story(info.name, create=False)
            path = [(item.entry.message.role.value, item.entry.message.text) for item in await story.messages()]
            for number in {int(found[1]) for _, text in path if (found := _NUMBER.match(text))}:
                paths.setdefault(number, {})[info.name] = path
    result = Audit()
    for tale in tales:
        _compare(tale, paths.get(tale.number, {}), result)
    return result


def _compare(tale: Tale, stories: dict[str, list[tuple[str, str]]], result: Audit) -> None:
    kept = [one for one in tale.history if one[1] not in tale.unsaved]
    result.messages += len(kept)
    if not kept:
        return
    if len(stories) > 1:
        result.split.append(f"story {tale.number}: {', '.join(stories)}")
    texts = {name: Counter(path) for name, path in stories.items()}
    main = max(stories, key=lambda name: sum(one in texts[name] for one in kept), default="")
    places = {one: at for at, one in reversed(list(enumerate(stories.get(main, []))))}
    for at, one in enumerate(kept):
        last = " (its last turn)" if at >= len(kept) - 2 else ""
        words = f"{one[0]} {one[1][:24]!r}{last}"
        if main and texts[main][one] > 1:
            result.doubled.append(words)
        elif main and one in places:
            continue
        elif any(one in found for found in texts.values()):
            result.elsewhere.append(words)
        else:
            result.lost.append(words)
    order = [places[one] for one in kept if one in places]
    if order != sorted(order):
        result.disordered.append(f"story {tale.number}")
