"""Three stores find the same, whatever was written, forgotten and indexed by then, and by whom."""

from __future__ import annotations

from typing import Any

from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from hypothesis.stateful import invariant, rule

from previously.core.messages import Draft, message
from previously.core.path import Put
from previously.recall.outline import PathEntries
from previously.recall.search import StoryIndex, find
from tests.contract.storage.letters import Letters
from tests.effort import cases
from tests.property.storage.test_postgres_agrees import AgreeingOnPostgres
from tests.property.storage.test_stores_agree import NUMBERS

WORDS = "lantern harbour crowns promised Mara Tess brass key 鍵 🗝 yesterday letter hidden".split()
SPEAKERS = st.sampled_from(["Mara", "Tess", "mara", None])
SAID = st.lists(st.sampled_from(WORDS), min_size=1, max_size=6).map(" ".join)


class Finding(AgreeingOnPostgres):
    """Messages that say something, by several people, before some of them."""

    @rule(branch=NUMBERS, at=NUMBERS, text=SAID, speaker=SPEAKERS, witnesses=st.sampled_from([None, ("Tess",), ()]))
    def tell(self, branch: int, at: int, text: str, speaker: str | None, witnesses: tuple[str, ...] | None) -> None:
        name = self.name(branch)
        told = message("user", text, speaker=speaker, witnesses=witnesses)
        first = at % (self.length(name) + 1)
        self.splice(name, first, min(at % 3, self.length(name) - first), [Put(Draft(told))])

    @rule(branch=NUMBERS, at=NUMBERS)
    def forget(self, branch: int, at: int) -> None:
        items = self.both(lambda store: store.path(self.key, self.name(branch), 0, 99))
        if items:
            entry = items[at % len(items)].entry.id
            self.both(lambda store: store.forget_entries(self.key, {entry}))

    @rule(branch=NUMBERS, text=SAID, witness=st.sampled_from([None, "Tess", "Orsa"]), until=st.integers(0, 20))
    def search(self, branch: int, text: str, witness: str | None, until: int) -> None:
        def found(index: StoryIndex, path: PathEntries) -> list[Any]:
            answer = find(index, path, f"{text}?", Letters(), witness=witness, until=until or None, asker="Mara")
            return [answer.query, answer.hits, sorted(index.speakers())]

        self.both(lambda store: store.recall(self.key, self.name(branch), found))

    def commit(self, *_: Any) -> None:
        """No memory is made here: recall does not look at it."""

    @invariant()
    def every_branch_agrees(self) -> None:
        """That is tested elsewhere."""

    def teardown(self) -> None:
        try:
            if hasattr(self, "names"):
                for store in self.stores[1:]:
                    checked: Any = store
                    assert self.runner.run(checked.verify("me", before="")).faults == ()
        finally:
            super().teardown()


TestFinding = Finding.TestCase
TestFinding.settings = hypothesis_settings(
    max_examples=cases(12, soak=1_000), stateful_step_count=cases(40, quick=20, soak=60)
)
