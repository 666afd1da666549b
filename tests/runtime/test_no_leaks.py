"""No character ever learns what they did not witness, whatever happens to the story and whatever a model writes.

Random short stories of a few people who come and go, with edits, deletes, swipes, branches, scenes, chapters, hands on
the lore, and folds by a model that tells all it reads or fails. Every message that not all witnessed holds a word of
its own. `LEAK_CASES` says how often somebody's knowledge is looked through (`make leaks` does so 10,000 times).
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import pytest

from previously import BadInput, BlockingMemory, BudgetTooSmall, Settings
from previously.blocking import BlockingStory
from previously.core.marks import OWN_SCOPE
from previously.core.messages import Message
from previously.core.versions import Kind
from previously.core.witnessing import folded_name, knows_of
from previously.lore.state import state_text
from previously.runtime import cast_steps, note_steps, noted
from tests.runtime.echoing import Fickle, about, canaries_in, canary

CASES = int(os.environ.get("LEAK_CASES", "2000"))
CASES_OF_A_STORY = 25
PEOPLE = ("Ines", "Bram", "Odalys", "Wren", "Tomas")
PLAYER = "Anna"
STRANGER = "Nobody At All"
PLACES = ("the mill", "the quay", "the chapel", "a cellar")


class Tale:
    """A story in the making, and which of its words are whose."""

    def __init__(self, story: BlockingStory, chance: random.Random, number: int) -> None:
        self.story, self.chance = story, chance
        self.people = PEOPLE[: chance.randint(3, 5)]
        self.words: dict[str, Message] = {}
        self.next_word = number * 500
        self.branches = 0
        self.asked = 0

    def word(self) -> str:
        self.next_word += 1
        return canary(self.next_word)

    def text(self) -> str:
        word, who = self.word(), self.chance.choice(self.people)
        place = self.chance.choice(PLACES)
        return self.chance.choice(
            (
                f"I hid {word} under {place}. I promise {who} to bring {word} home.",
                f'*{who} looks at {place}.* "{word} is the heir," he said. "Tell nobody of {word}."',
                f"{word} owes {who} 40 crowns. {who} is wounded and now holds {word} at {place}.",
                f"{word}!",
            )
        )

    def learn(self) -> None:
        """Note whose the words on the path are."""
        for item in self.story.messages():
            for word in canaries_in(item.entry.message.text):
                self.words[word] = item.entry.message

    def unknown_to(self, name: str) -> set[str]:
        return {word for word, said in self.words.items() if not knows_of(name, said)}

    def add(self) -> None:
        chance = self.chance
        kind = chance.random()
        speaker = chance.choice(self.people)
        if kind < 0.25:
            self.story.add("user", self.text() if chance.random() < 0.5 else "And then?", name=PLAYER)
        elif kind < 0.35:
            self.story.add("assistant", self.text())
        else:
            there = [who for who in self.people if who == speaker or chance.random() < 0.4]
            listed = there if chance.random() < 0.9 else [who for who in there if who != speaker]
            spelt = [chance.choice((who, who.lower(), f" {who}")) for who in listed]
            if chance.random() < 0.5:
                spelt.append(PLAYER)
            given = None if chance.random() < 0.25 else spelt
            self.story.add(
                chance.choice(("assistant", "assistant", "user")), self.text(), name=speaker, witnesses=given
            )

    def deed(self) -> None:
        """Something that happens to the story; what cannot be done changes nothing."""
        story, chance, length = self.story, self.chance, self.story.branch_info().messages
        if length < 4:
            self.add()
            return
        at = chance.randrange(length)
        deeds: dict[Callable[[], Any], int] = {
            self.add: 30,
            lambda: story.edit(at, self.text()): 6,
            lambda: story.delete(at): 4,
            lambda: story.insert(at, "assistant", "A bell rang."): 2,
            lambda: story.regenerate(self.text()): 3,
            lambda: story.choose(chance.randrange(3)): 2,
            lambda: self.branch(at): 2,
            self.switch: 3,
            lambda: story.hide(at): 1,
            lambda: story.fold(once=chance.random() < 0.3): 24,
            lambda: story.end_scene(at): 3,
            lambda: story.close_chapter("", at): 1,
            lambda: story.analyze(at, again=True): 1,
            story.rebuild: 1,
            lambda: story.leave(chance.choice(self.people)): 2,
            lambda: story.enter(chance.choice(self.people)): 2,
            story.undo: 1,
            lambda: story.pin(at=at): 1,
            self.by_hand: 8,
        }
        with suppress(BadInput):
            chance.choices(list(deeds), list(deeds.values()))[0]()

    def branch(self, at: int) -> None:
        self.branches += 1
        self.story.branch(f"branch {self.branches}", at)
        self.story.switch(f"branch {self.branches}")

    def switch(self) -> None:
        self.story.switch(self.chance.choice(self.story.branches()).name)

    def by_hand(self) -> None:
        """A person does something to an entry that scenes left behind, or to all else that can be said."""
        story, chance = self.story, self.chance
        entries = story.lore(everything=True)
        if not entries or chance.random() < 0.2:
            threads = story.threads()
            if threads and chance.random() < 0.5:
                story.resolve_thread(chance.choice(threads).thread.text)
            else:
                story.hold(f"{chance.choice(self.people)}: at {chance.choice(PLACES)}")
            return
        one = chance.choice(entries)
        acts: list[Callable[[], Any]] = [
            lambda: story.lock_lore(one.name, one.type),
            lambda: story.accept_lore(one.name, one.type),
            lambda: story.remove_lore(one.name, one.type),
            lambda: story.unlock_lore(one.name, one.type),
            lambda: story.write_lore(one.name, one.type, keywords=[*one.keywords, "mill"]),
            lambda: story.write_lore(one.name, one.type, content=f"{one.content} It is old."),
        ]
        chance.choice(acts)()


def told_to(tale: Tale, name: str) -> Iterator[tuple[str, str]]:
    """All that somebody is given to read, or that is kept as theirs, each with where it is."""
    story, chance, inner = tale.story, tale.chance, tale.story._story
    scope = OWN_SCOPE + folded_name(name)
    for version in story.log():
        if version.made.scope == scope:
            yield f"{version.made.kind} {version.id}", repr(version.made)
    for one in story.cast():
        if folded_name(one.name) == folded_name(name):
            yield "cast", repr(one)
    spelt = chance.choice((name, name, name.upper()))
    for reader in (f"character:{spelt}", f"memory:{spelt}"):
        before = chance.randrange(story.branch_info().messages + 1) if chance.random() < 0.2 else None
        exclude = chance.choice(((), (), (), ("recall",), ("lore", "recap")))
        try:
            view = story.view(chance.choice((None, 300, 900, 5_000)), reader=reader, before=before, exclude=exclude)
        except BudgetTooSmall as error:
            view = story.view(error.needed_tokens, reader=reader, before=before, exclude=exclude)
        yield f"view for {reader} before {before}", f"{view}"
        yield f"the last view of {reader}", f"{story.last_view(reader=reader)}"
        yield f"lore for {reader}", repr(story.explain_lore(reader))

    async def known() -> object:
        branch = await inner.branch_info()
        found = await inner._knowing.known(inner._store, inner._key, branch, inner._rules, spelt)
        lorebook = await inner._knowing.lorebook(inner._store, inner._key, found, spelt)
        return state_text(found.state), lorebook.index.entries, found.seen.snapshot

    yield "what is known", repr(story._run(known()))
    secrets = sorted(tale.unknown_to(name))
    query = " ".join(["mill crowns heir", *chance.sample(secrets, min(2, len(secrets)))])
    yield "search", repr([hit.text for hit in story.search(query, witness=spelt)])


def look_at_questions(tale: Tale, fickle: Fickle) -> None:
    """Look at what was asked about each character since the last time."""
    for request in fickle.model.requests[tale.asked :]:
        found = canaries_in(request.user + request.system) & tale.unknown_to(about(request))
        assert not found, f"{about(request)} is asked about {found}: {request.user}"
    tale.asked = len(fickle.model.requests)


def look(tale: Tale, name: str) -> None:
    """Look through all that is somebody's."""
    secrets = tale.unknown_to(name)
    for where, text in told_to(tale, name):
        found = canaries_in(text) & secrets
        assert not found, f"{name} is given {found} in {where}: {text[:3_000]}"


SETTINGS: tuple[dict[str, Any], ...] = (
    {"preset": "roleplay"},
    {"preset": "roleplay", "timeline": "scenes"},
    {"preset": "roleplay", "cast": "turn", "lore": "suggest"},
    {"preset": "novel", "cast": "group"},
    {"preset": "novel", "lore": "on", "cast": "turn"},
    {"preset": "game"},
    {"preset": "game", "scene_messages": 3, "lore": "on", "tail_turns": 1},
)


@pytest.mark.parametrize("seed", range(max(1, CASES // CASES_OF_A_STORY)))
def test_nobody_learns_what_they_did_not_witness(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    chance = random.Random(seed)
    chosen = chance.choice(SETTINGS)
    small = {
        "tail_messages": chance.randint(1, 2),
        "fold_messages": chance.randint(2, 4),
        "scene_messages": chance.randint(2, 4),
        "apply_after": chance.randint(0, 2),
        "recap_words": 60,
        "backbone_words": 60,
    }
    if chosen["preset"] == "game" and chance.random() < 0.5:
        del small["scene_messages"]
    if chance.random() < 0.6:  # so that short stories have snapshots too
        monkeypatch.setattr(note_steps, "SNAPSHOT_MESSAGES", chance.randint(2, 4))
        monkeypatch.setattr(noted, "MOST_WALKED", chance.randint(6, 12))
        monkeypatch.setattr(cast_steps, "MOST_READ", chance.randint(1, 4))
    fickle = Fickle(chance, failing=chance.choice((0.0, 0.1, 0.4)))
    settings = Settings.of(**{**small, **chosen})
    with BlockingMemory(":memory:", settings=settings, folder=fickle.folder()) as memory:
        tale = Tale(memory.story("tale"), chance, seed)
        looked = 0
        while looked < CASES_OF_A_STORY:
            for _ in range(chance.randint(3, 8)):
                tale.deed()
                tale.learn()
            for name in chance.sample((*tale.people, PLAYER, STRANGER), 3):
                look(tale, name)
                looked += 1
            look_at_questions(tale, fickle)
        kinds = {version.made.kind for version in tale.story.log()}
        assert kinds & {Kind.SCENE, Kind.ANALYSIS, Kind.CAST, Kind.NOTE}, "something was noted"
