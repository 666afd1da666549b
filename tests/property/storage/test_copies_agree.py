"""A copy answers as the original does, ids aside, and goes on like it: the same random verbs on both, all answers
compared, while the copy is copied again and again from one kind of store to another."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable
from typing import Any, cast

import pytest
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from hypothesis.stateful import initialize, invariant, rule

from previously.core.errors import BadInput
from previously.core.path import Splice
from previously.recall.outline import PathEntries
from previously.recall.search import StoryIndex, find
from previously.runtime.whole_stories import WholeStories
from previously.storage.spool import Spool
from previously.storage.tables import path_writer
from tests.contract.storage.ids_aside import Mirror, ids_of
from tests.contract.storage.letters import Letters
from tests.contract.storage.postgres_server import shared_server
from tests.contract.storage.verbs import PostgresVerbs, SqliteVerbs, VerbStore
from tests.effort import cases
from tests.property.storage.test_postgres_agrees import AgreeingOnPostgres
from tests.property.storage.test_stores_agree import NUMBERS, WORDS, _put

STORES = st.sampled_from(["sqlite", "postgres"])


def nothing(_: int) -> None:
    """A step that nobody watches."""


class Copying(AgreeingOnPostgres):
    """One story and its newest copy."""

    @initialize(rows=st.sampled_from([3, path_writer.ROWS_PER_STAGE]), words=WORDS)
    def open(self, rows: int, words: list[str]) -> None:
        self.patched = pytest.MonkeyPatch()
        self.patched.setattr(path_writer, "ROWS_PER_STAGE", rows)
        self.runner = asyncio.Runner()
        file = self.file()
        self.original = SqliteVerbs(file)
        self.others: dict[str, VerbStore] = {
            "sqlite": SqliteVerbs(f"{file}.copy"),
            "postgres": PostgresVerbs(shared_server().emptied(), connections=2),
        }
        self.stores: list[VerbStore] = [self.original, *self.others.values()]
        for number, store in enumerate(self.stores):  # no id here is the same there
            for neighbour in range(number):
                self.runner.run(self.told(store, f"neighbour {neighbour}"))
        self.story = self.runner.run(self.original.create_story("me", "tale", at="now"))
        self.key = self.story.key
        self.copies = 0
        self.copied: VerbStore = self.original
        self.copied_story = self.story
        self.names, self.nodes, self.versions = ["main"], [0], []
        self.copy("sqlite")
        self.add(0, [*words, *"abcabc"])

    async def told(self, store: VerbStore, name: str) -> None:
        """Another story, of nobody's interest, whose ids come between."""
        for owner in ("me", "you"):
            info = await store.create_story(owner, name, at="")
            await store.apply(info.key, "main", [Splice(0, 0, (_put("x"), _put("y")))], at="")

    @rule(where=STORES)
    def copy(self, where: str) -> None:
        """The newest copy is copied, and the copy of it is the newest."""
        self.copies += 1
        self.runner.run(self.copy_to(self.others[where], f"copy {self.copies}"))

    async def copy_to(self, target: VerbStore, name: str) -> None:
        source = WholeStories(self.copied.database, "me", "here")
        with Spool() as spool:
            whole = await source.hand_over(self.copied_story.name, spool, nothing)
            await WholeStories(target.database, "me", "there").take_in(name, spool, nothing)
        await self.told(target, f"beside {name}")
        found = await target.story("me", name)
        assert found is not None
        self.copied, self.copied_story = target, found
        assert (await WholeStories(target.database, "me", "").look(name, nothing)).digest == whole.digest

    @invariant()
    def digests_agree(self) -> None:
        if hasattr(self, "names"):
            ours = self.runner.run(WholeStories(self.original.database, "me", "").look("tale", nothing))
            copied = WholeStories(self.copied.database, "me", "")
            theirs = self.runner.run(copied.look(self.copied_story.name, nothing))
            assert (ours.messages, ours.digest) == (theirs.messages, theirs.digest)

    def both(self, act: Callable[[VerbStore], Awaitable[Any]]) -> Any:
        """Do the same on the original and on its copy; what they answer, ids aside, must be the same."""
        before = self.runner.run(ids_of(self.original, self.key))
        first = self.runner.run(self._tried(act(self.original)))
        after = self.runner.run(ids_of(self.original, self.key))
        mirror = Mirror(self.copied, self.copied_story, self.story, before, after)
        assert first == self.runner.run(self._tried(act(cast(VerbStore, mirror))))
        return first

    async def _tried(self, verb: Awaitable[Any]) -> Any:
        try:
            return await verb
        except BadInput as error:
            return re.sub(r"\d+", "#", str(error))

    @rule(most=st.integers(1, 12))
    def index(self, most: int) -> None:
        """Only the original: copies hold no index."""
        self.runner.run(self.original.index(self.key, None, most=most))

    @rule(number=st.integers(0, 5))
    def answer(self, number: int) -> None:
        """Only the original: copies hold no answers, and are the same all the same."""
        kept = self.original.keep_answer(self.key, bytes([number]) * 32, "text", model="m", at="now")
        self.runner.run(kept)

    @rule(branch=NUMBERS, text=st.sampled_from(["b", "b c", "who said c on 7 May 2024?"]))
    def recall(self, branch: int, text: str) -> None:
        """Once the copy has been indexed too, both find the same in the same places."""

        def found(index: StoryIndex, path: PathEntries) -> list[Any]:
            answer = find(index, path, text, Letters())
            return [answer.query, answer.outline.sessions.tolist(), answer.hits]

        async def caught_up(store: VerbStore) -> list[Any]:
            while await store.index(self.key, Letters()):
                pass
            return await store.recall(self.key, self.name(branch), found)

        self.both(caught_up)

    @rule(branch=NUMBERS, number=NUMBERS, remove=st.booleans())
    def change_a_mark(self, branch: int, number: int, remove: bool) -> None:
        """As elsewhere, but a recap is about a mark that there is, or was."""
        name = self.name(branch)
        marks = self.both(lambda store: store.marks(self.key, name))
        if not marks:
            return
        mark = marks[number % len(marks)]
        if remove:
            self.both(lambda store: store.take_back_mark(self.key, name, mark.id))
            return
        retired = [mark.id, *(one.id for one in marks if number % 3 == 0 and one.origin != mark.origin)]
        origin, of = mark.origin if number % 2 else 0, marks[number % 7 % len(marks)].origin if number % 3 else 0
        self.both(
            lambda store: store.add_mark(
                self.key, name, mark.kind, mark.position, str(number), made_by="person", at="now", of=of,
                origin=origin, retires=retired,
            )
        )  # fmt: skip


TestCopying = Copying.TestCase
TestCopying.settings = hypothesis_settings(
    max_examples=cases(15, soak=300), stateful_step_count=cases(30, quick=20, soak=60)
)
