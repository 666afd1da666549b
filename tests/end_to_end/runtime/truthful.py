"""A scripted model that notes truly who was present, and tells every canary in items of the message it stands in.

What is true is what the tale says of each canary. Somebody may be told of one in their absence; a thing that is
described again is described with all that was said of it before, as a model does that is shown the entry.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field

from previously.core.model_io import ModelRequest
from previously.runtime.model_writer import ModelWriter
from previously.testing.model import ScriptedModel
from tests.end_to_end.runtime.echoing import canaries_in, kind_of, make_writer, numbered
from tests.end_to_end.runtime.update_answers import answer, messages

THINGS = ("Old Mill", "Ferry", "Chapel Bell")
"""What is described again and again."""


@dataclass
class Truthful:
    """Notes what is so."""

    chance: random.Random
    present: dict[str, frozenset[str]]
    """Who was present where each canary was said."""
    told: dict[str, set[str]] = field(default_factory=dict)
    """Who was told of a canary later."""
    model: ScriptedModel = field(init=False)

    def __post_init__(self) -> None:
        self.model = ScriptedModel(self._answer)

    def writer(self) -> ModelWriter:
        """Who writes memory with it."""
        return make_writer(self.model)

    def _answer(self, request: ModelRequest) -> str:
        if kind_of(request) != "update":
            return "They spoke at the mill."
        said = [(number, name, sorted(canaries_in(text))) for number, name, text in numbered(messages(request))]
        lists: dict[str, list[str]] = {name: [] for name in ("threads", "state", "present", "learnt", "lore")}
        for number, name, words in said:
            for word in words:
                there = self.present[word]
                lists["present"].append(f"- #{number}: {', '.join(sorted(there)) or '-'}")
                lists["threads"].append(f"- new #{number} {name} to all: {word} brought home")
                lists["state"].append(f"- #{number} {word} / holder: {name}")
                lists["lore"].append(f"- #{number} {word} | thing | {word} | Opens the mill.")
                self._tell(lists["learnt"], number, word, there)
        self._describe(lists["lore"], said, request.user)
        told = " ".join(f"{name} spoke of {word} at the mill." for _, name, words in said for word in words)
        told = told or "They spoke at the mill."
        return answer(request, told, **{name: "\n".join(lines) for name, lines in lists.items()})

    def _tell(self, lines: list[str], number: int, word: str, there: frozenset[str]) -> None:
        absent = sorted(set().union(*self.present.values()) - there)
        if absent and there and self.chance.random() < 0.1 and len(lines) < 4:
            who = self.chance.choice(absent)
            lines.append(f"- #{number} {who}: {word} is hidden under the mill")
            self.told.setdefault(word, set()).add(who)

    def _describe(self, lines: list[str], said: list[tuple[int, str, list[str]]], shown: str) -> None:
        heard = [(number, word) for number, _, words in said for word in words]
        if not heard:
            return
        thing = self.chance.choice(THINGS)
        number, word = self.chance.choice(heard)
        known = [line for line in shown.splitlines() if line.startswith(f"{thing} |")]
        words = [*sorted(canaries_in("".join(known)))[-4:], word]
        lines.insert(0, f"- #{number} {thing} | place | {thing.lower()} | Where they spoke of {', '.join(words)}.")
