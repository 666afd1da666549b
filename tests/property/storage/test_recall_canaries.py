"""After any number of edits and switches nothing is found that is not on the path. Each message has a word of its own.

Few steps in `make test`, 10,000 in `make machines`, or as many as `PREVIOUSLY_CANARY_STEPS` says.
"""

from __future__ import annotations

import os
from random import Random

import pytest

from previously.core.messages import Draft, message
from previously.core.path import Put, Splice
from previously.recall.outline import PathEntries
from previously.recall.search import StoryIndex, find
from previously.storage.store import StoryKey
from tests.contract.storage.letters import Letters
from tests.contract.storage.verbs import VerbStore
from tests.effort import cases

STEPS = int(os.environ.get("PREVIOUSLY_CANARY_STEPS", cases(250, quick=80)))
ASKED_EVERY = 10
LONGEST = 60


def canary(number: int) -> str:
    """A word that nothing else holds."""
    return "zq" + "".join(chr(ord("a") + int(digit)) for digit in str(number)) + "x"


@pytest.mark.random
async def test_nothing_of_a_dead_branch_is_ever_found(store: VerbStore) -> None:
    chance, made = Random(7), 0
    key = (await store.create_story("me", "tale", at="")).key
    branches = ["main"]
    for step in range(STEPS):
        branch = chance.choice(branches)
        length = (await store.branch(key, branch)).messages
        at = chance.randint(0, length)
        remove = chance.randint(0, min(3, length - at)) if length < LONGEST else length - at
        drafts = []
        for _ in range(chance.randint(0, 3)):
            other = Draft(message("user", f"A swipe tells of {canary(made + 1)}."))
            drafts.append(Draft(message("user", f"Somebody tells of {canary(made)}."), alternatives=(other,)))
            made += 2
        await store.apply(key, branch, [Splice(at, remove, tuple(map(Put, drafts)))], at="")
        if step % 17 == 0 and len(branches) < 8:
            branches.append(f"branch {step}")
            await store.fork(key, branch, branches[-1], length=chance.randint(0, at), at="")
        if step % 5 == 0:
            await store.switch(key, chance.choice(branches))
        if step % 3 == 0:
            await store.index(key, Letters() if step % 2 else None, most=chance.randint(1, 30))
        if step % ASKED_EVERY == 0:
            asked = {canary(chance.randrange(made + 1)) for _ in range(5)}
            await ask(store, key, chance.choice(branches), asked)
    while await store.index(key, Letters()):
        pass
    for branch in branches:
        path = await store.path(key, branch, 0, LONGEST * 2)
        alive = {item.entry.message.text.split()[-1].rstrip(".") for item in path}
        found = await ask(store, key, branch, alive | {canary(chance.randrange(made)) for _ in range(50)})
        assert found == alive


async def ask(store: VerbStore, key: StoryKey, branch: str, words: set[str]) -> set[str]:
    """Those of the words that were found; each must stand where it was found."""

    def work(index: StoryIndex, path: PathEntries) -> dict[str, list[int]]:
        hits = {word: find(index, path, word, Letters()).hits for word in words}
        return {word: [hit.position for hit in found if hit.why.terms] for word, found in hits.items()}

    answers = await store.recall(key, branch, work)
    texts = [item.entry.message.text for item in await store.path(key, branch, 0, LONGEST * 2)]
    for word, positions in answers.items():
        assert all(f" {word}." in texts[position] for position in positions), word
    return {word for word, positions in answers.items() if positions}
