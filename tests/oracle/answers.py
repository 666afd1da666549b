"""The store's verbs for answers of models and facts about them, in memory."""

from __future__ import annotations

from typing import TypeVar

from previously.storage.store import StoryKey
from previously.storage.tables import answers
from tests.oracle.story_tree import StoryTree

K = TypeVar("K")
V = TypeVar("V")


class InMemoryAnswers:
    """The part of `InMemoryStore` that keeps answers and facts."""

    _stories: dict[StoryKey, StoryTree]
    _answers: dict[tuple[str, bytes], tuple[StoryKey, str]]
    """By owner and request, those kept longest ago first."""
    _model_facts: dict[tuple[str, str], str]
    """By owner and model, those set longest ago first."""

    async def answer(self, owner: str, request: bytes) -> str | None:
        kept = self._answers.get((owner, request))
        return kept[1] if kept else None

    async def keep_answer(
        self, key: StoryKey, request: bytes, text: str, *, model: str, at: str, node: int = 0, seen: bytes = b""
    ) -> None:
        nodes = self._stories[key].nodes
        if (node and (node not in nodes or nodes[node].hash != seen)) or not answers.is_storable(text):
            return
        _put_last(self._answers, (key.owner, request), (key, text), answers.MOST_ANSWERS)

    async def model_fact(self, owner: str, model: str) -> str:
        return self._model_facts.get((owner, model), "")

    async def set_model_fact(self, owner: str, model: str, fact: str, at: str) -> None:
        _put_last(self._model_facts, (owner, model), fact, answers.MOST_MODEL_FACTS)

    def _forget_answers(self, key: StoryKey) -> None:
        for asked in [asked for asked, (of, _) in self._answers.items() if of == key]:
            del self._answers[asked]


def _put_last(kept: dict[tuple[str, K], V], place: tuple[str, K], value: V, most: int) -> None:
    """Put a value behind all others; the owner's first ones beyond so many go."""
    kept.pop(place, None)
    kept[place] = value
    for old in [one for one in kept if one[0] == place[0]][:-most]:
        del kept[old]
