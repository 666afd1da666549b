"""No character ever learns what they did not witness, whatever happens to the story.

Random short stories of a few people who come and go, with edits, deletes, swipes, branches, scenes, chapters and hands
on the lore. In half of them messages are given with witnesses, and folds are by a model that tells all it reads or
fails; in the others nothing is given, a model notes who was present, and people correct it. Every message holds a word
of its own. `LEAK_CASES` says how often somebody's knowledge is looked through (`make leaks` does so 10,000 times).
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import Any

import pytest

from previously import BadInput, BlockingMemory, BudgetTooSmall, Settings
from previously.blocking import BlockingStory
from previously.core.messages import Message
from previously.core.presence import Presence, PresenceSource, PresenceStretch, may_know
from previously.core.scripts import casefold
from previously.core.versions import Kind
from previously.lore.state import render_state
from previously.memory import notes as memory_notes
from previously.plan import cast
from previously.plan import notes as plan_notes
from previously.runtime.story_moment import StoryMoment
from tests.effort import cases
from tests.end_to_end.runtime.echoing import Fickle, about, canaries_in, canary
from tests.end_to_end.runtime.truthful import THINGS, Truthful

CASES = int(os.environ.get("LEAK_CASES", cases(2_000, quick=100)))
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
        self.here: dict[str, PresenceStretch] = {}
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
        there = [one for one in self.story.presence() for _ in range(len(one.span))]
        self.here = {}
        for item, one in zip(self.story.messages(), there, strict=True):
            for word in canaries_in(item.entry.message.text):
                self.words[word] = item.entry.message
                self.here[word] = one

    def unknown_to(self, name: str) -> set[str]:
        """The words that somebody is not to know: by who was present, or by the witnesses of what stands there no
        more."""
        if not name:
            return set()
        gone = {word for word, said in self.words.items() if word not in self.here and not may_know(name, said)}
        return gone | {
            word for word, one in self.here.items() if one.names is not None and not self.was_there(name, word)
        }

    def was_there(self, name: str, word: str) -> bool:
        names = [*(self.here[word].names or ()), self.words[word].speaker or ""]
        return casefold(name) in map(casefold, names)

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
            story.take_back: 1,
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
    story, chance = tale.story, tale.chance
    for one in story.cast():
        if casefold(one.name) == casefold(name):
            yield "cast", repr(one)
    spelt = chance.choice((name, name, name.upper()))
    people = {casefold(one) for one in presence_of(story).people}
    if casefold(name) not in people | {casefold(one.name) for one in story.cast()}:
        with pytest.raises(BadInput, match="takes part in this story"):
            story.view(reader=f"character:{spelt}")
        return
    for reader in (f"character:{spelt}", f"memory:{spelt}"):
        before = chance.randrange(story.branch_info().messages + 1) if chance.random() < 0.2 else None
        exclude = chance.choice(((), (), (), ("recall",), ("lore", "recap")))
        try:
            view = story.view(chance.choice((None, 300, 900, 5_000)), reader=reader, before=before, exclude=exclude)
        except BudgetTooSmall as error:
            view = story.view(error.needed_tokens, reader=reader, before=before, exclude=exclude)
        yield f"view for {reader} before {before}", f"{view}"
        if before is None:
            yield f"the last view of {reader}", f"{story.last_view(reader=reader)}"
        yield f"lore for {reader}", repr(story.explain_lore(reader))

    def read_known(moment: StoryMoment) -> object:
        known = moment.read_known(spelt)
        return render_state(known.state), moment.read_lore(known, spelt).index.entries

    yield "what is known", repr(story._run(story._inner._access.read(read_known)))
    secrets = sorted(tale.unknown_to(name))
    query = " ".join(["mill crowns heir", *chance.sample(secrets, min(2, len(secrets)))])
    yield "search", repr([hit.text for hit in story.search(query, witness=spelt)])
    yield "ask", repr(story.ask(query, witness=spelt, by_model=False).sources)
    for word in secrets[:3]:
        known_by = [row for row in story.who_knows(word) if casefold(row.name) == casefold(name)]
        yield f"who knows of {word}", repr([row for row in known_by if canaries_in(repr(row)) & {word}])


def presence_of(story: BlockingStory) -> Presence:
    return story._run(story._inner._access.read(lambda moment: moment.read_presence()))


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
        there = {word: tale.here.get(word) for word in found}
        assert not found, f"{name} is given {there} in {where}: {text[:3_000]}"


SETTINGS: tuple[dict[str, Any], ...] = (
    {"preset": "roleplay"},
    {"preset": "roleplay", "timeline": "scenes"},
    {"preset": "roleplay", "cast": "turn", "lore": "suggest"},
    {"preset": "novel", "cast": "group"},
    {"preset": "novel", "lore": "on", "cast": "turn"},
    {"preset": "game"},
    {"preset": "game", "scene_messages": 3, "lore": "on", "tail_turns": 1},
)


@pytest.mark.random
@pytest.mark.parametrize("seed", range(max(1, CASES // CASES_OF_A_STORY // 2)))
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
        monkeypatch.setattr(plan_notes, "SNAPSHOT_MESSAGES", chance.randint(2, 4))
        monkeypatch.setattr(memory_notes, "MOST_WALKED", chance.randint(6, 12))
        monkeypatch.setattr(cast, "MOST_READ", chance.randint(1, 4))
    fickle = Fickle(chance, failing=chance.choice((0.0, 0.1, 0.4)))
    settings = Settings.of(**{**small, **chosen})
    with BlockingMemory(":memory:", settings=settings, writer=fickle.writer()) as memory:
        tale = Tale(memory.story("tale"), chance, seed)
        looked = 0
        while looked < CASES_OF_A_STORY:
            for _ in range(chance.randint(3, 8)):
                tale.deed()
                tale.learn()
                look_at_questions(tale, fickle)
            for name in chance.sample((*tale.people, PLAYER, STRANGER), 3):
                look(tale, name)
                looked += 1
        kinds = {version.made.kind for version in tale.story.log()}
        assert kinds & {Kind.SCENE, Kind.ANALYSIS, Kind.CAST, Kind.NOTE}, "something was noted"


BREAK = "\n\n***"
"""How a message ends with which a scene ends: people come and go between scenes."""

LEAST_KNOWN = 0.9
"""The share of witnessed words that those who were there can find or are shown."""


class Scenes(Tale):
    """A story without given witnesses: who is present changes from scene to scene, and a model notes it."""

    def __init__(self, story: BlockingStory, chance: random.Random, number: int, present: dict[str, frozenset[str]]):
        super().__init__(story, chance, number)
        self.present = present
        """Who was present where each word was said, as the model notes it."""
        self.there: list[str] = list(self.people)
        self.begun = False

    def said(self, there: Iterable[str], *, ends: bool) -> str:
        word, thing = self.word(), self.chance.choice(THINGS)
        self.present[word] = frozenset(there)
        return f'"I hid {word} by the {thing}. I promise to bring {word} home."{BREAK if ends else ""}'

    def add(self) -> None:
        """Go on; whoever is there speaks in turn, and the first scene has everybody."""
        chance, length = self.chance, self.story.branch_info().messages
        last = self.story.messages()[-1].entry.message.text if length else ""
        if last.endswith(BREAK):
            self.there = [who for who in self.people if chance.random() < 0.6] or [chance.choice(self.people)]
        speaker = self.people[length % len(self.people)] if length < len(self.people) else chance.choice(self.there)
        ends = length >= len(self.people) - 1 and chance.random() < 0.25
        role = "user" if speaker == self.people[0] else "assistant"
        self.story.add(role, self.said(self.there, ends=ends), name=speaker)

    def change(self, at: int, how: Callable[[int, str], Any]) -> None:
        """Give a message other words, said where it was said; a scene that ends with it still does."""
        text = self.story.messages()[at].entry.message.text
        there = [self.present[word] for word in canaries_in(text)]
        if there:
            how(at, self.said(there[0], ends=text.endswith(BREAK)))

    def deed(self) -> None:
        story, chance, length = self.story, self.chance, self.story.branch_info().messages
        if length < 2 * len(self.people):
            self.add()
            return
        at = chance.randrange(length)
        ended = story.messages()[at].entry.message.text.endswith(BREAK)
        deeds: dict[Callable[[], Any], int] = {
            self.add: 30,
            lambda: self.change(at, story.edit): 4,
            lambda: None if ended else story.delete(at): 3,
            lambda: None if ended else story.insert(at + 1, "assistant", "A bell rang."): 2,
            lambda: self.branch(max(at, len(self.people))): 2,
            self.switch: 3,
            lambda: story.fold(once=chance.random() < 0.3): 20,
            lambda: story.hide(at): 1,
            lambda: story.close_chapter("", at) if ended else None: 1,
            self.undo: 2,
            story.take_back: 2,
            self.correct: 5,
            lambda: story.unset_presence(at): 2,
            self.by_hand: 4,
        }
        with suppress(BadInput):
            chance.choices(list(deeds), list(deeds.values()))[0]()

    def branch(self, at: int) -> None:
        super().branch(at)
        self.come_back()

    def switch(self) -> None:
        super().switch()
        self.come_back()

    def undo(self) -> None:
        """Take back what was done last: a switch too."""
        self.story.undo()
        self.come_back()

    def come_back(self) -> None:
        """Go on with those who are there now."""
        said = (canaries_in(item.entry.message.text) for item in reversed(self.story.messages()))
        self.there = sorted(self.present[min(next(words for words in said if words))])

    def correct(self) -> None:
        chance, length = self.chance, self.story.branch_info().messages
        first = chance.randrange(length)
        last = min(length - 1, first + chance.randrange(5))
        names = [who for who in self.people if chance.random() < 0.5]
        self.story.set_presence(first, last, None if chance.random() < 0.2 else names)

    def truth(self, word: str) -> set[str]:
        """Who was there where a word was said: what a person says, else what is so."""
        one = self.here[word]
        names = one.names if one.source is PresenceSource.BY_HAND else sorted(self.present[word])
        return {*(self.people if names is None else names), self.words[word].speaker or ""}

    def unknown_to(self, name: str) -> set[str]:
        return {word for word in self.here if name not in self.truth(word) | self.told(word)}

    def told(self, word: str) -> set[str]:
        return self.model.told.get(word, set())

    model: Truthful


def known_words(tale: Scenes) -> tuple[int, int]:
    """How many of the words that people witnessed they can find or are shown, and how many there are."""
    known = whole = 0
    for name in tale.people:
        witnessed = [word for word in tale.here if name in tale.truth(word)]
        shown = canaries_in(f"{tale.story.view(4_000, reader=f'character:{name}')}")
        for word in witnessed:
            hits = () if word in shown else tale.story.search(word, witness=name, top=3)
            known += word in shown or any(word in hit.text for hit in hits)
        whole += len(witnessed)
    return known, whole


@pytest.mark.random
@pytest.mark.parametrize("seed", range(max(1, CASES // CASES_OF_A_STORY // 2)))
def test_nobody_learns_what_they_did_not_witness_where_presence_is_noted(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    chance = random.Random(seed)
    if chance.random() < 0.6:
        monkeypatch.setattr(plan_notes, "SNAPSHOT_MESSAGES", chance.randint(2, 4))
        monkeypatch.setattr(memory_notes, "MOST_WALKED", chance.randint(6, 12))
    settings = Settings.of(
        "roleplay", tail_messages=chance.randint(1, 3), fold_messages=chance.randint(2, 5), recap_words=60, lore="on"
    )
    present: dict[str, frozenset[str]] = {}
    model = Truthful(chance, present)
    with BlockingMemory(":memory:", settings=settings, writer=model.writer()) as memory:
        tale = Scenes(memory.story("tale"), chance, seed, present)
        tale.model = model
        looked = 0
        sources: set[PresenceSource] = set()
        while looked < CASES_OF_A_STORY:
            for _ in range(chance.randint(3, 8)):
                tale.deed()
                tale.learn()
            sources |= {one.source for one in tale.here.values()}
            for name in chance.sample((*tale.people, STRANGER), 3):
                look(tale, name)
                looked += 1
    assert PresenceSource.NOTED in sources and PresenceSource.GIVEN not in sources


@pytest.mark.random
def test_those_who_were_there_know_of_it() -> None:
    known = whole = 0
    for seed in range(max(2, CASES // CASES_OF_A_STORY // 8)):
        chance, present = random.Random(seed), dict[str, frozenset[str]]()
        model = Truthful(chance, present)
        settings = Settings.of("roleplay", tail_messages=4, fold_messages=6, recap_words=60, lore="on")
        with BlockingMemory(":memory:", settings=settings, writer=model.writer()) as memory:
            tale = Scenes(memory.story("tale"), chance, seed, present)
            tale.model = model
            for number in range(60):
                tale.add()
                if number % 20 == 15:
                    tale.correct()
            tale.story.fold()
            tale.learn()
            found = known_words(tale)
            known, whole = known + found[0], whole + found[1]
    assert known >= LEAST_KNOWN * whole, f"{known} of {whole}"
