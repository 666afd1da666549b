"""The made-up repository of a generated session: names, paths, ids and what its tools print.

What must stay true: everything comes from the seed; a name that is handed out as a fact is handed out once, so that
finding it means that the fact survived.
"""

from __future__ import annotations

import random
from collections.abc import Callable

from benchmarks.compaction.phrases import AREAS, NOUNS, PEOPLE, VERBS


class World:
    """Draws names that were not drawn before."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.package = self.random.choice(NOUNS) + "hub"
        self._drawn: set[str] = set()

    def new(self, make: Callable[[], str]) -> str:
        """A string that nobody has drawn yet."""
        while (found := make()) in self._drawn:
            pass
        self._drawn.add(found)
        return found

    def noun(self) -> str:
        """A plain word; it may come again."""
        return self.random.choice(NOUNS)

    def number(self) -> str:
        """A number of four or five digits."""
        return self.new(lambda: str(self.random.randrange(1_000, 99_999)))

    def hash(self) -> str:
        """The beginning of a commit."""
        return self.new(lambda: f"{self.random.randrange(16**9):09x}{self.random.choice('abcdef')}")

    def ticket(self) -> str:
        """The id of a ticket."""
        return self.new(
            lambda: f"{self.random.choice(('PAY', 'OPS', 'CORE', 'GEO'))}-{self.random.randrange(100, 9999)}"
        )

    def function(self) -> str:
        """A name in code."""
        return self.new(lambda: f"{self.random.choice(VERBS)}_{self.noun()}_{self.random.choice(NOUNS)}")

    def file(self, folder: str = "") -> str:
        """A path in the repository."""
        area = self.random.choice(AREAS)
        return self.new(
            lambda: f"{folder or f'src/{self.package}'}/{area}/{self.noun()}_{self.random.choice(VERBS)}.py"
        )

    def test(self) -> str:
        """A test file and one of its tests."""
        return self.new(lambda: f"tests/{self.noun()}/test_{self.noun()}_{self.random.choice(VERBS)}.py")

    def filled(self, template: str, **given: str) -> str:
        """A template with names drawn for what is not given."""
        draws: dict[str, Callable[[], str]] = {
            "noun": self.noun, "number": self.number, "number2": self.number, "hash": self.hash, "ticket": self.ticket,
            "function": self.function, "file": self.file, "package": lambda: self.package,
            "person": lambda: self.random.choice(PEOPLE), "minor": lambda: f"3.{self.random.randrange(8, 14)}",
        }  # fmt: skip
        for name, draw in draws.items():
            if f"{{{name}}}" in template:
                template = template.replace(f"{{{name}}}", given.get(name) or draw())
        return template

    def listing(self, lines: int) -> str:
        """Source code, numbered as tools show it."""
        return "\n".join(f"{number:>5}\t{self._line()}" for number in range(1, lines + 1))

    def _line(self) -> str:
        pick = self.random
        name, other, noun = pick.choice(VERBS), pick.choice(NOUNS), pick.choice(NOUNS)
        return pick.choice((
            f"    {other} = self.{name}({noun}, limit={pick.randrange(10, 900)})",
            f"def {name}_{other}(self, {noun}: str, *, strict: bool = True) -> None:",
            f"    if {other}.{noun} is None and not {noun}.{name}ed:",
            f"        raise ValueError(f\"{noun} without {other}\")",
            f"    return [{noun} for {noun} in {other}s if {noun}.area == \"{pick.choice(AREAS)}\"]",
            f"    # {name} the {other} before the {noun} is written, see the note in {pick.choice(AREAS)}",
            "",
            f"    with self.session.begin() as {other}_session:",
            f"        {other}_session.add({noun.title()}({other}={other}, count={pick.randrange(2, 99)}))",
        ))  # fmt: skip

    def matches(self, count: int) -> str:
        """What a search prints."""
        pick = self.random
        folders = [f"src/{self.package}/{pick.choice(AREAS)}" for _ in range(count)]
        return "\n".join(f"{one}/{self.noun()}.py:{pick.randrange(5, 800)}:{self._line().strip()}" for one in folders)

    def log(self, lines: int) -> str:
        """What a build or a server prints."""
        return "\n".join(self._logged() for _ in range(lines))

    def _logged(self) -> str:
        pick = self.random
        day, hour, minute, second = (pick.randrange(low, high) for low, high in ((1, 29), (0, 24), (0, 60), (0, 60)))
        level, who = pick.choice(("INFO", "DEBUG")), f"{pick.choice(AREAS)}.{pick.choice(NOUNS)}"
        when = f"2031-03-{day:02}T{hour:02}:{minute:02}:{second:02}Z"
        return f"{when} {level} {who} {pick.choice(VERBS)} done in {pick.randrange(1, 900)} ms"
