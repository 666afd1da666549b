"""What the folder remembers between two rewrites besides the recap itself.

Owns the carried counters: how often each stem was seen, how often each name was met, how each
speaker tells things, and how many windows there were. What must stay true: any string decodes (garbage counts
as nothing), and what is encoded fits `MOST_BYTES` however long the story is.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from previously.folds.builtin.vocabulary import rarity

MOST_BYTES = 16_000
MOST_STEMS = 700
MOST_NAMES = 240
MOST_SPEAKERS = 24
_LONGEST_KEY = 60
_LARGEST = 1_000_000
_VERSION = 1


@dataclass(slots=True)
class Counters:
    """Counts over the whole story so far, as far as they fit."""

    windows: int = 0
    stems: Counter[str] = field(default_factory=Counter)
    names: dict[str, int] = field(default_factory=dict)
    habits: dict[str, tuple[int, int]] = field(default_factory=dict)

    def add(self, stems: Iterable[str], names: Mapping[str, int]) -> None:
        """Count one more window: every stem of it, and its names."""
        self.windows += 1
        self.stems.update(stems)
        for name, count in names.items():
            self.names[name] = self.names.get(name, 0) + count


def decode(carry: str | None) -> Counters:
    """The counters in a carry; anything that is not one of ours gives fresh ones."""
    try:
        value = json.loads(carry) if carry and len(carry) <= 4 * MOST_BYTES else None
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict) or value.get("v") != _VERSION:
        return Counters()
    windows = value.get("w")
    return Counters(
        windows=windows if isinstance(windows, int) and _is_count(windows) else 0,
        stems=Counter(_counts(value.get("t"))),
        names=_counts(value.get("n")),
        habits=_pairs(value.get("s")),
    )


def encode(counters: Counters) -> str:
    """The counters as compact JSON, the least telling ones left out until it fits."""
    stems = sorted((-count * rarity(stemmed), stemmed, count) for stemmed, count in counters.stems.items())
    names = sorted(counters.names, key=lambda name: -counters.names[name])
    speakers = sorted(counters.habits.items(), key=lambda item: (-item[1][0], item[0]))[:MOST_SPEAKERS]
    keep_stems, keep_names = MOST_STEMS, MOST_NAMES
    while True:
        value = {
            "v": _VERSION,
            "w": counters.windows,
            "n": _in_order(counters.names, names[:keep_names]),
            "s": {name: list(pair) for name, pair in speakers if len(name) <= _LONGEST_KEY},
            "t": {stemmed: count for _, stemmed, count in stems[:keep_stems] if len(stemmed) <= _LONGEST_KEY},
        }
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
        if len(text.encode("utf-8", "replace")) <= MOST_BYTES:
            return text
        keep_stems, keep_names = keep_stems * 3 // 4, keep_names * 3 // 4


def _in_order(counts: Mapping[str, int], kept: Iterable[str]) -> dict[str, int]:
    """The kept names as they were first met: among equals the ledger lists the oldest."""
    keep = frozenset(kept)
    return {name: count for name, count in counts.items() if name in keep and len(name) <= _LONGEST_KEY}


def _counts(value: object) -> dict[str, int]:
    if not isinstance(value, dict):
        return {}
    # Written out for speed: a carry holds a thousand of them.
    return {
        key: count
        for key, count in value.items()
        if type(count) is int and 0 <= count <= _LARGEST and len(key) <= _LONGEST_KEY
    }


def _pairs(value: object) -> dict[str, tuple[int, int]]:
    if not isinstance(value, dict):
        return {}
    pairs: dict[str, tuple[int, int]] = {}
    for key, pair in value.items():
        if len(key) <= _LONGEST_KEY and isinstance(pair, list) and len(pair) == 2 and all(map(_is_count, pair)):
            pairs[key] = (pair[0], pair[1])
    return pairs


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _LARGEST
