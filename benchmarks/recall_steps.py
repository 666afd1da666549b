"""The steps of recall: the pipeline built up one after the other, and settings of it drawn at random."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace

from benchmarks.recall_methods import Ours
from previously.recall.rank import WEIGHTS
from previously.recall.search import PRICES, Prices

DRAWS = 12
SEED = 7

RANGES: dict[str, Sequence[float]] = {
    "words": (0.4, 0.6, 0.8, 1.0),
    "sharpness": (1.0, 1.4, 1.8),
    "full_terms": (4.0, 6.0, 10.0, 20.0),
    "meaning": (1.0, 1.4, 1.8, 2.4),
    "few_words": (1.0, 2.0, 4.0),
    "beside": (0.15, 0.25, 0.35),
    "two_away": (0.1, 0.2, 0.3),
    "answer": (0.0, 0.1, 0.2, 0.3),
    "reach_tokens": (40.0, 60.0, 100.0),
    "speaker": (0.3, 0.5, 0.7),
    "day": (0.5, 0.8, 1.1),
    "page": (0.2, 0.3, 0.4, 0.5),
    "says_when": (0.0, 0.1, 0.2),
    "alike_to_best": (0.0, 0.2, 0.3, 0.4),
}
PRICE_RANGES: dict[str, Sequence[float]] = {
    "dearer": (0.15, 0.3, 0.45),
    "from_tokens": (30.0, 60.0, 90.0),
    "free_share": (0.1, 0.15, 0.2),
    "session": (1.0, 2.0, 3.0),
}
"""From where leave-one-out draws its settings."""

_GREEDY = Prices(dearer=0.0, free_share=1.0, session=0.0)
_BARE = replace(
    WEIGHTS, sharpness=1.0, full_terms=1e9, meaning=0.0, few_words=0.0, common=False, beside=0.0, two_away=0.0,
    answer=0.0, reach_tokens=1e9, speaker=0.0, day=0.0, page=0.0, says_when=0.0, alike_to_best=0.0,
)  # fmt: skip


def ladder() -> dict[str, Ours]:
    """The pipeline from words alone to all of it, one step after the other."""
    rungs: dict[str, Ours] = {"words alone": Ours(_BARE, _GREEDY, vectors=False, speakers=False)}
    weights = _BARE
    for name, changes in {
        "+ vectors": {"meaning": WEIGHTS.meaning},
        "+ common taken out": {"common": True},
        "+ caution with short messages": {"few_words": WEIGHTS.few_words},
        "+ sharpening of words": {"sharpness": WEIGHTS.sharpness},
        "+ long texts by meaning": {"full_terms": WEIGHTS.full_terms},
        "+ speakers": {"speaker": WEIGHTS.speaker},
        "+ neighbours": {"beside": WEIGHTS.beside, "two_away": WEIGHTS.two_away},
        "+ fading": {"reach_tokens": WEIGHTS.reach_tokens},
        "+ answers": {"answer": WEIGHTS.answer},
        "+ pages": {"page": WEIGHTS.page},
        "+ days": {"day": WEIGHTS.day},
        "+ saying when": {"says_when": WEIGHTS.says_when},
        "+ a second look": {"alike_to_best": WEIGHTS.alike_to_best},
    }.items():
        weights = replace(weights, **changes)  # type: ignore[arg-type]
        rungs[name] = Ours(weights, _GREEDY, speakers=weights.speaker > 0)
    return rungs | {"+ cheaper first": Ours(weights, replace(_GREEDY, dearer=PRICES.dearer)), "+ session price": Ours()}


def drawn() -> list[Ours]:
    """Settings drawn at random, always the same ones."""
    generator = random.Random(SEED)
    found: list[Ours] = []
    for _ in range(DRAWS):
        weights = replace(WEIGHTS, **{name: generator.choice(values) for name, values in RANGES.items()})  # type: ignore[arg-type]
        prices = Prices(**{name: generator.choice(values) for name, values in PRICE_RANGES.items()})
        found.append(Ours(weights, prices))
    return found
