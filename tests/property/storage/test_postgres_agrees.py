"""PostgreSQL answers as the in-memory store and SQLite do: the same random verbs on all three, all answers compared."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from hypothesis.stateful import initialize, invariant, rule

from previously.core.messages import Attributes, Draft, message
from previously.core.path import Put, Splice
from previously.storage.tables import path_writer
from tests.contract.storage.postgres_server import shared_server
from tests.contract.storage.verbs import PostgresVerbs, SqliteVerbs, VerbStore
from tests.effort import cases
from tests.oracle.in_memory import oracle
from tests.property.storage.test_stores_agree import MOST_MESSAGES, NUMBERS, WORDS, Agreeing

COMPARED_EVERY = 5


class AgreeingOnPostgres(Agreeing):
    """One story on three stores."""

    @initialize(rows=st.sampled_from([3, path_writer.ROWS_PER_STAGE]), words=WORDS)
    def open(self, rows: int, words: list[str]) -> None:
        self.patched = pytest.MonkeyPatch()
        self.patched.setattr(path_writer, "ROWS_PER_STAGE", rows)
        self.runner = asyncio.Runner()
        self.stores: list[VerbStore] = [
            oracle(),
            SqliteVerbs(self.file()),
            PostgresVerbs(shared_server().emptied(), connections=2),
        ]
        self.key = self.both(lambda store: store.create_story("me", "tale", at="now")).key
        self.names = ["main"]
        self.nodes = [0]
        self.versions = []
        self.add(0, [*words, *"abcabc"])

    def both(self, act: Callable[[VerbStore], Awaitable[Any]]) -> Any:
        """Do the same on all three stores; what they answer, or refuse, must be the same."""
        first, *others = (self.runner.run(self._tried(act(store))) for store in self.stores)
        for other in others:
            assert first == other
        return first

    @invariant()
    def every_branch_agrees(self) -> None:
        """All branches are compared every few steps only: each answer is asked of a server."""
        if hasattr(self, "names"):
            self.steps = getattr(self, "steps", 0) + 1
            if self.steps % COMPARED_EVERY == 0:
                self.versions = self.both(lambda store: store.at_one_moment("me", self.branches))[0]

    @rule(branch=NUMBERS, words=WORDS, receipt=st.sampled_from(["one", "two", None]))
    def swipe(self, branch: int, words: list[str], receipt: str | None) -> None:
        """A message with others in its place, at the end: there all stores give ids in the same order."""
        name = self.name(branch)
        length = self.length(name)
        draft = Draft(message("user", "a"), alternatives=tuple(Draft(message("user", word)) for word in words))
        script = [Splice(length, 0, (Put(draft),))]
        if length < MOST_MESSAGES:
            self.both(lambda store: store.apply(self.key, name, script, at="now", receipt=receipt))

    @rule(branch=NUMBERS, at=NUMBERS, words=WORDS, hidden=st.booleans())
    def look_around(self, branch: int, at: int, words: list[str], hidden: bool) -> None:
        """Siblings at a place, added and read; attributes; the whole path as alignment needs it; all moves."""
        name, key = self.name(branch), self.key
        length = self.length(name)
        if not length:
            return
        position, drafts = at % length, [Draft(message("user", word)) for word in words]
        (item,) = self.both(lambda store: store.path(key, name, position, position))
        new = Attributes("then", "7", {"ünï": [1, None]}, hidden)

        async def answers(store: VerbStore) -> list[Any]:
            await store.set_attributes(key, [(item.entry.id, new), (item.entry.id + 10_000, new)])
            return [
                await store.add_siblings(key, name, [(position, drafts)]),
                await store.siblings(key, name, position),
                await store.known(key, name),
                await store.moves(key),
                await store.switch(key, name),
                await store.story("me", "tale"),
            ]

        self.both(answers)


TestAgreeingOnPostgres = AgreeingOnPostgres.TestCase
TestAgreeingOnPostgres.settings = hypothesis_settings(
    max_examples=cases(20, soak=1_000), stateful_step_count=cases(30, quick=20, soak=60)
)
