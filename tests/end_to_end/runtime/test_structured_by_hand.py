"""The law of what people write of lore, threads and how things stand: no note changes a byte of it; what notes say
since is suggested; whatever was done can be undone; a branch begins with what stood before its fork.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import replace
from typing import Any

import pytest

from previously import BadInput, BlockingMemory, Draft, ScriptedModel, Settings, message
from previously.blocking import BlockingStory
from previously.core.model_io import ModelRequest
from previously.story.lore_edits import LoreListing
from tests.effort import cases
from tests.end_to_end.runtime.echoing import make_writer
from tests.end_to_end.runtime.update_answers import answer, is_update, messages, under

RULES = Settings(
    tail_messages=1,
    fold_messages=2,
    fold_words=1_000_000,
    fold_tokens=1_000_000,
    chapter_messages=0,
    cast="off",
)
NAMES = ("Grim", "Alice Thornwood", "Salt key", "The Drowned Bell", "灰原", "Sir  Bram")
NASTY = "Two  spaces,\ttabs,\n- a list\n\n# a heading, “quotes”, 灰原 and {{user}}. Never dead."
SAYINGS = (
    "Dead.", "Alive.", "Status: burnt", "No longer trusts anybody.", "Has red hair.", "Has black hair.",
    "Also known as the Grey.", "Owned by Scarface.", "Never was.",
)  # fmt: skip


TOLD = "They spoke again and again."
OF_WHOM = "grim, maya, bram, alice thornwood, scarface, the grey, the salt key and the drowned bell; and 灰原."
"""Whoever is noted must have been heard of."""


class Rewriter:
    """A model whose every note says something else of everything there is."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.notes = 0

    def answer(self, request: ModelRequest) -> str:
        if not is_update(request):
            return TOLD
        self.notes += 1
        chance = self.chance
        entries = {
            (name, kind): " | ".join(
                (
                    chance.choice((name, name.upper(), f"{name} the Grey")),
                    kind,
                    ", ".join([name, *chance.sample(("harbour", "smith", "Grey", "Scarface", "lantern"), 2)]),
                    " ".join([*chance.sample(SAYINGS, 3), f"Seen {self.notes} times."]),
                )
            )
            for name in chance.sample(NAMES, 3)
            for kind in chance.sample(("person", "thing"), 1)
        }
        states = [f"- #1 {name} / place: the mill, {self.notes}" for name in chance.sample(NAMES, 2)]
        threads = [f"- new #1 Who rings the bell for the {self.notes}th time?"] if chance.random() < 0.2 else []
        settled = [f"- {one.split()[0]} settled #1 Paid." for one in under(request, "Open").splitlines()]
        return answer(
            request,
            TOLD,
            lore="\n".join(f"- #1 {one}" for one in entries.values()),
            state="\n".join(states),
            threads="\n".join([*threads, *settled]),
        )


def tell(story: BlockingStory, spans: int, start: int = 0) -> None:
    numbers = range(2 * start, 2 * (start + spans))
    text = "They spoke for the {}th time, of " + OF_WHOM
    story.add_drafts([Draft(message("assistant", text.format(number))) for number in numbers])
    story.fold()


def item(story: BlockingStory, name: str) -> LoreListing | None:
    found = [one for one in story.lore(everything=True) if one.name == name]
    return found[0] if found else None


Held = dict[str, dict[str, Any]]
"""What a person wrote: by name the content, the keywords, or both."""


class Life:
    """A random life of a story, and what people left there, branch by branch."""

    def __init__(self, story: BlockingStory, seed: int) -> None:
        self.story, self.chance = story, random.Random(seed)
        self.held: dict[str, Held] = {"main": {}}
        self.written: dict[str, list[tuple[int, Held]]] = {"main": []}
        self.active, self.number = "main", 0
        self.suggested: set[str] = set()

    @property
    def here(self) -> Held:
        return self.held[self.active]

    def note(self) -> None:
        """Remember what stands now, for a branch that begins here."""
        self.written[self.active].append((self.story.branch_info().messages, deepcopy(self.here)))

    def deed(self) -> None:
        self.number += 1
        deeds = {self.write: 6, self.lock: 3, self.unlock: 2, self.remove: 2, self.undo: 2, self.branch: 1,
                 self.switch: 2, self.delete: 1}  # fmt: skip
        self.chance.choices(list(deeds), list(deeds.values()))[0]()
        self.note()

    def write(self) -> None:
        name, kind = self.chance.choice(NAMES), self.chance.choice(("character", "item"))
        given: dict[str, Any] = {}
        if self.chance.random() < 0.7 or name not in self.here:
            given["content"] = f"{self.number}: {NASTY}"
        if self.chance.random() < 0.5:
            given["keywords"] = [f"key {self.number}", "Lantern"]
        if given:
            entry = self.story.write_lore(name, kind, **given)
            assert entry.type == kind, "the type is a person's too"
            self.here[entry.name] = {**self.here.get(entry.name, {}), **given, "removed": False}

    def lock(self) -> None:
        entry = self.one_of(lambda one: one.status == "live")
        if entry:
            locked = self.story.lock_lore(entry.name, entry.type)
            assert locked.content == entry.content
            self.here[entry.name] = {"content": entry.content, "removed": False}

    def unlock(self) -> None:
        entry = self.one_of(lambda one: one.name in self.here)
        if entry:
            self.story.unlock_lore(entry.name, entry.type)
            del self.here[entry.name]

    def remove(self) -> None:
        entry = self.one_of(lambda one: one.name in self.here and one.status == "live")
        if entry:
            assert self.story.remove_lore(entry.name, entry.type).status == "removed"
            self.here[entry.name]["removed"] = True

    def undo(self) -> None:
        """Write something and take it back: all is as it was."""
        before = self.story.lore(everything=True)
        act = self.chance.choice((self.write, self.lock, self.unlock, self.remove))
        held = deepcopy(self.here)
        act()
        if self.here != held:
            self.story.undo()
            self.held[self.active] = held
            assert self.story.lore(everything=True) == before

    def branch(self) -> None:
        name, length = f"branch {self.number}", self.story.branch_info().messages
        at = self.chance.randrange(length)
        self.story.branch(name, at)
        before = [held for messages, held in self.written[self.active] if messages <= at + 1]
        self.held[name] = deepcopy(before[-1]) if before else {}
        self.written[name] = [one for one in deepcopy(self.written[self.active]) if one[0] <= at + 1]
        self.active = name
        self.story.switch(name)
        self.story.fold()

    def switch(self) -> None:
        self.active = self.chance.choice(list(self.held))
        self.story.switch(self.active)
        self.story.fold()

    def delete(self) -> None:
        """Deleting messages never takes away what a person wrote."""
        length = self.story.branch_info().messages
        if length > 20:
            gone = self.chance.randrange(1, length - 10)
            self.story.delete(gone)
            before = self.written[self.active]
            self.written[self.active] = [(messages - (messages > gone), held) for messages, held in before]
            self.story.fold()

    def one_of(self, wanted: Callable[[LoreListing], bool]) -> LoreListing | None:
        found = [one for one in self.story.lore(everything=True) if wanted(one)]
        return self.chance.choice(found) if found else None

    def check(self) -> None:
        now = {one.name: one for one in self.story.lore(everything=True)}
        for key, given in self.here.items():
            entry = now[key]
            if "content" in given:
                assert entry.content == given["content"].strip()
            if "keywords" in given:
                assert entry.keywords == tuple(dict.fromkeys([key, *given["keywords"]]))
            assert entry.by == "person"
            assert (entry.status == "removed") is given["removed"]
        self.suggested |= {text for key in self.here for text in now[key].suggestions}
        by_hand = {key for key, one in now.items() if one.by == "person"}
        assert by_hand == set(self.here), "nothing else is a person's"


@pytest.mark.random
@pytest.mark.parametrize("seed", range(cases(20)))
def test_what_a_person_wrote_is_byte_identical_after_every_note(seed: int) -> None:
    """A thousand notes in twenty stories, each of which tries to rewrite what there is."""
    rewriter = Rewriter(seed)
    with BlockingMemory(":memory:", settings=RULES, writer=make_writer(ScriptedModel(rewriter.answer))) as memory:
        life = Life(memory.story("tale"), seed)
        life.write()
        life.note()
        while rewriter.notes < cases(50, quick=15):
            tell(life.story, 5, rewriter.notes)
            life.check()
            for _ in range(3):
                life.deed()
                life.check()
        assert life.suggested, "what notes say of it is suggested"


GRIM = "Grim | person | Grim, bartender | Gruff dwarf. Sells ale."
LATER = "Grim | person | Grim, forge | Forges swords at night."


def answers(request: ModelRequest) -> str:
    """A note that speaks of Grim: first as the bartender, later as a smith."""
    number = int(messages(request).split("for the ")[1].split("th time")[0])
    return answer(
        request,
        TOLD,
        lore=f"- #1 {GRIM if number < 4 else LATER}",
        threads="- new #1 Maya owes Bram 40 crowns." if number < 2 else "",
        state=f"- #1 Maya / place: the {'mill' if number < 4 else 'quay'}",
    )


@pytest.fixture(params=["on", "suggest"])
def lore(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def story(lore: str) -> Iterator[BlockingStory]:
    settings = replace(RULES, lore=lore)
    with BlockingMemory(":memory:", settings=settings, writer=make_writer(ScriptedModel(answers))) as memory:
        yield memory.story("tale")


def grim(story: BlockingStory) -> LoreListing:
    found = item(story, "Grim")
    assert found is not None
    return found


def test_what_notes_say_of_what_a_person_wrote_is_suggested(story: BlockingStory) -> None:
    tell(story, 2)
    story.write_lore("Grim", content="My own words.", keywords=["Grim", "ale"])
    tell(story, 2, 2)
    found = grim(story)
    assert (found.content, found.keywords) == ("My own words.", ("Grim", "ale"))
    assert found.locked
    assert "Forges swords at night." in found.suggestions
    assert found.status == "live", "what a person wrote waits for nobody"


def test_locking_keeps_what_stands_and_unlocking_gives_it_back_to_the_notes(story: BlockingStory) -> None:
    tell(story, 2)
    before = grim(story)
    assert story.lock_lore("Grim").content == before.content == "Gruff dwarf. Sells ale."
    tell(story, 2, 2)
    assert grim(story).content == before.content
    story.unlock_lore("Grim")
    assert "Forges swords" in grim(story).content
    assert grim(story).by == "model"
    with pytest.raises(BadInput, match="Nobody wrote"):
        story.unlock_lore("Grim")


def test_an_entry_that_is_only_suggested_comes_up_once_it_is_accepted(story: BlockingStory, lore: str) -> None:
    tell(story, 3)
    story.add("user", "Where is Grim?")
    assert grim(story).status == ("live" if lore == "on" else "suggested")
    assert ("Gruff dwarf" in shown(story)) is (lore == "on")
    story.accept_lore("Grim")
    assert grim(story).status == "live"
    assert "Gruff dwarf" in shown(story)
    assert story.undo() == "accepting Grim"
    assert grim(story).status == ("live" if lore == "on" else "suggested")


def test_a_removed_entry_stays_away_until_a_person_writes_of_it(story: BlockingStory) -> None:
    tell(story, 2)
    story.accept_lore("Grim")
    story.remove_lore("Grim")
    tell(story, 2, 2)
    story.add("user", "Where is Grim?")
    assert grim(story).status == "removed"
    assert [one.name for one in story.lore()] == []
    assert "Gruff dwarf" not in shown(story)
    story.write_lore("Grim", content="Back again.")
    assert grim(story).status == "live"
    assert "Back again." in shown(story)
    story.undo()
    assert grim(story).status == "removed"


def test_a_branch_begins_with_what_stood_before_its_fork(story: BlockingStory) -> None:
    tell(story, 3)
    story.write_lore("Grim", content="First words.")
    tell(story, 1, 3)
    story.write_lore("Grim", content="Second words.")
    story.branch("early", 3)
    story.branch("between", 6)
    for name, content in (("between", "First words."), ("main", "Second words.")):
        story.switch(name)
        assert grim(story).content == content
    story.switch("early")
    assert grim(story).by == "model"
    story.switch("between")
    story.write_lore("Grim", content="Other words.")
    story.switch("main")
    assert grim(story).content == "Second words.", "what is written on one branch stays there"


def test_what_a_person_says_of_threads_and_state_no_note_takes_back(story: BlockingStory) -> None:
    tell(story, 2)
    assert [one.thread.text for one in story.threads()] == ["Maya owes Bram 40 crowns."]
    story.resolve_thread("40 crowns")
    story.open_thread("Who rang the bell?", due="before winter")
    story.hold("Maya / place: the chapel")
    tell(story, 2, 2)
    assert [one.thread.text for one in story.threads()] == ["Who rang the bell?"]
    assert [one.text for one in story.state()] == ["Maya / place: the chapel"]


def test_what_a_person_said_of_threads_and_state_can_be_undone(story: BlockingStory) -> None:
    tell(story, 2)
    before = story.threads(), story.state()
    story.open_thread("Who rang the bell?")
    story.resolve_thread("40 crowns")
    story.hold("Maya / place: the chapel")
    assert (story.threads(), story.state()) != before
    for deed in ("how things stand", "settling the thread", "opening the thread"):
        assert deed in story.undo()
    assert (story.threads(), story.state()) == before


def shown(story: BlockingStory) -> str:
    return "\n".join(one.text for one in story.view(4_000).messages)


def test_words_count_after_the_message_at_which_others_were_said_is_gone() -> None:
    with BlockingMemory(":memory:", settings=RULES) as memory:
        story = memory.story("tale")
        for text in ("One.", "Two."):
            story.add("user", text)
        story.write_lore("Grim", "character", content="A barkeeper.")
        story.open_thread("Grim owes forty crowns")
        story.delete(-1)
        story.write_lore("Grim", content="A smith.")
        story.resolve_thread("forty crowns")
        assert story.lore()[0].content == "A smith."
        assert story.threads() == []


def test_a_thread_in_the_words_of_one_that_was_reworded_is_another() -> None:
    with BlockingMemory(":memory:", settings=RULES) as memory:
        story = memory.story("tale")
        story.add("user", "One.")
        story.open_thread("A debt")
        story.reword_thread("A debt", "A large debt")
        story.open_thread("A debt")
        assert sorted(listing.thread.text for listing in story.threads()) == ["A debt", "A large debt"]


def test_a_renamed_entry_is_found_by_both_names_and_undone() -> None:
    with BlockingMemory(":memory:", settings=RULES) as memory:
        story = memory.story("tale")
        story.add("user", "One.")
        story.write_lore("Grim", "character", content="A barkeeper.")
        story.write_lore("Alice", "character", content="A miller.")
        story.hold("Grim / place: the inn")
        assert story.rename_lore("Grim", "Grimald").name == "Grimald"
        assert [value.text for value in story.state()] == ["Grimald / place: the inn"]
        story.write_lore("Grim", content="A smith.")
        assert [(entry.name, entry.content) for entry in story.lore()] == [
            ("Grimald", "A smith."),
            ("Alice", "A miller."),
        ]
        with pytest.raises(BadInput, match="There is an entry 'Alice' already"):
            story.rename_lore("Grimald", "alice")
        story.undo()
        assert story.undo() == "renaming Grim to Grimald"
        assert story.lore()[0].name == "Grim"


def test_who_knows_an_entry_knows_what_is_written_of_it_under_its_new_name() -> None:
    with BlockingMemory(":memory:", settings=RULES) as memory:
        story = memory.story("tale")
        story.write_lore("Grim", "rule", content="No lantern after dusk.")
        for name, others in (("Maya", ["Bram"]), ("Bram", ["Maya"]), ("Odalys", [])):
            story.add("assistant", "Here I am.", name=name, witnesses=[name, *others])
        story.rename_lore("Grim", "Lantern Rule")
        story.write_lore("Lantern Rule", content="No lantern at all.")
        for name in ("Maya", "Odalys"):
            shown = str(story.view(4_000, reader=f"character:{name}"))
            assert "No lantern at all." in shown and "after dusk" not in shown, name
