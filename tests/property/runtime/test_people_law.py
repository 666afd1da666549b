"""The law of what people write: no fold, edit or branch changes a byte of it."""

from __future__ import annotations

import random
from collections import Counter
from copy import deepcopy
from dataclasses import dataclass, field, replace

import pytest

from previously import BlockingMemory
from previously.blocking import BlockingStory
from previously.core.errors import BadInput
from previously.core.marks import MarkKind, find_chapters
from tests.effort import cases
from tests.end_to_end.runtime.test_people import NASTY, RULES, Script, marks, now, place, script, system

__all__ = ["place", "script"]

HAND = {MarkKind.RECAP, MarkKind.CHAPTER_RECAP, MarkKind.BACKBONE, MarkKind.PIN}


@dataclass
class Held:
    """A text that a person left on a branch."""

    kind: MarkKind
    text: str
    messages: set[int]
    """What it stands for, each message by a number that an edit does not change."""
    closed: bool = False
    """A recap whose chapter has closed since: it is in the making of the chapter's recap, and shown no more."""


@dataclass
class Mirror:
    """What the test knows of a branch: its messages by number, and what people left there."""

    path: list[int] = field(default_factory=list)
    held: list[Held] = field(default_factory=list)
    gone: list[Held] = field(default_factory=list)
    """What people have written over."""

    def close(self, position: int) -> None:
        """A chapter closed with that message: what reaches beyond it stands for the next chapter from now on."""
        ended = set(self.path[: position + 1])
        for one in self.held:
            left = one.messages & set(self.path[position + 1 :])
            if one.kind is MarkKind.RECAP and one.messages & ended:
                one.closed = one.closed or not left
            if one.kind in (MarkKind.RECAP, MarkKind.CHAPTER_RECAP) and left:
                one.messages = left


class Life:
    """A random life of a story, checked after every step."""

    def __init__(self, story: BlockingStory, seed: int) -> None:
        self.story = story
        self.random = random.Random(seed)
        self.branches = {"main": Mirror()}
        self.active = "main"
        self.serial = 0

    @property
    def here(self) -> Mirror:
        return self.branches[self.active]

    def number(self) -> int:
        self.serial += 1
        return self.serial

    def step(self) -> None:
        pick, length = self.random, len(self.here.path)
        weights = {"add": 30, "insert": 8, "edit": 12, "delete": 18, "hide": 4, "branch": 2, "switch": 4, "fold": 10,
                   "close": 5, "view": 5, "write": 10, "lock": 4, "pin": 3}  # fmt: skip
        what = pick.choices(list(weights), list(weights.values()))[0] if length > 8 else "add"
        at, number = pick.randrange(max(length, 1)), self.number()
        words = f"Maya carried parcel {number} to the mill and promised to be back."
        match what:
            case "add":
                for more in range(pick.choice([1, 1, 4])):
                    self.story.add("user", f"{words} {more}", name="Maya")
                    self.here.path.append(self.number())
            case "insert":
                self.story.insert(at, "user", words, name="Maya")
                self.here.path.insert(at, number)
            case "edit":
                self.story.edit(at, words)
            case "delete":
                self.story.delete(at)
                del self.here.path[at]
            case "hide":
                self.story.hide(at)
            case "branch":
                self.branch(f"branch {number}", at)
            case "switch":
                self.active = pick.choice(list(self.branches))
                self.story.switch(self.active)
            case "fold":
                for one in self.story.fold(once=pick.random() < 0.3).closed:
                    self.here.close(one.position)
            case "close":
                self.story.close_chapter(f"Chapter of {number}", at)
                self.here.close(at)
            case "view":
                self.seen(system(self.story))
            case _:
                self.by_hand(what, f"{number}: {NASTY}")

    def branch(self, name: str, at: int) -> None:
        self.story.branch(name, at)
        before = {(mark.kind, mark.text) for mark in marks(self.story, self.active) if mark.position <= at}
        copied = {(mark.kind, mark.text) for mark in marks(self.story, name)}
        assert before <= copied
        # What was written over behind the fork is back before it.
        known = {(one.kind, one.text): one for one in (*self.here.gone, *self.here.held)}
        held = [deepcopy(one) for key, one in known.items() if key in copied]
        gone = [deepcopy(one) for key, one in known.items() if key not in copied]
        self.branches[name] = Mirror(self.here.path[: at + 1], held, gone)

    def by_hand(self, act: str, text: str) -> None:
        """A person writes, locks or pins; what cannot be done changes nothing."""
        pick, old = self.random, marks(self.story, self.active)
        *closed, current = find_chapters(old)
        chapters = {f"chapter:{one.number}": one for one in closed}
        what = pick.choice(["recap", "recap", "backbone", *chapters])
        try:
            if act == "pin":
                self.story.pin(text, at=pick.randrange(len(self.here.path)))
            elif act == "write":
                self.story.write(what, text)
            elif now(self.story, what) not in {mark.text for mark in old}:  # else it is a person's already
                self.story.lock(what)
            else:
                return
        except BadInput:
            assert marks(self.story, self.active) == old
            return
        mark = max(marks(self.story, self.active), key=lambda one: (one.text not in {was.text for was in old}, one.id))
        about = current if what == "recap" else chapters.get(what)
        if act != "pin":
            by_hand = about.by_hand if about else [one for one in old if one.kind is MarkKind.BACKBONE]
            gone = {(one.kind, one.text) for one in by_hand}
            self.here.gone += [one for one in self.here.held if (one.kind, one.text) in gone]
            self.here.held = [one for one in self.here.held if (one.kind, one.text) not in gone]
        first = about.first if about and act != "pin" else 0
        self.here.held.append(Held(mark.kind, mark.text, set(self.here.path[first : mark.position + 1])))

    def check(self) -> None:
        for name, mirror in self.branches.items():
            kept = Counter((mark.kind, mark.text) for mark in marks(self.story, name) if mark.kind in HAND)
            assert kept == Counter((one.kind, one.text) for one in mirror.held), name
        texts = {
            MarkKind.RECAP: now(self.story, "recap"),
            MarkKind.CHAPTER_RECAP: "\n".join(one.text for one in self.story.chapters()),
            MarkKind.BACKBONE: now(self.story, "backbone"),
            MarkKind.PIN: "\n".join(pin.text for pin in self.story.pins()),
        }
        for one in self.here.held:
            if one.kind is MarkKind.PIN or (one.messages & set(self.here.path) and not one.closed):
                assert one.text in texts[one.kind], one

    def seen(self, shown: str) -> None:
        for one in self.here.held:
            stands = one.kind is MarkKind.RECAP and one.messages & set(self.here.path) and not one.closed
            assert one.text in shown or not (stands or one.kind is MarkKind.PIN), one


@pytest.mark.random
@pytest.mark.parametrize("seed", range(cases(10)))
def test_what_a_person_wrote_is_byte_identical_whatever_happens(place: str, script: Script, seed: int) -> None:
    """After 1,000 random steps per store (ten lives of 100; half with a model): on every branch the marks hold exactly
    the words that people left there, or on the branch it was made from, before the fork; nothing but a person's next
    words for the same text takes them away. They are also what the recap, the chapters, the backbone and the pins say,
    as long as one message is left of those they stand for (and, of a recap, its chapter is open). When all of those are
    deleted there is nothing to speak for: the mark falls back to the message before, and keeps its words."""
    model = script.model if seed % 2 else None
    with BlockingMemory(place, settings=replace(RULES, chapter_messages=12), model=model) as memory:
        life = Life(memory.story("tale"), seed)
        for _ in range(100):
            life.step()
            life.check()
        assert sum(len(mirror.held) for mirror in life.branches.values()) > 3
