"""Notes follow the path: an edit asks for what it touches and for nothing else, and what follows is what would have
been had the story been told so from the start.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import count

import pytest

from previously import BadInput, BlockingMemory, Draft, ScriptedModel, Settings, message
from previously.blocking import BlockingStory
from previously.core.model_io import ModelRequest
from previously.lore.state import EMPTY_STATE, render_state
from previously.memory import notes as memory_notes
from previously.memory.known import is_told_all
from previously.memory.notes import resolve_tail
from previously.memory.presence import Presences
from previously.memory.state import States, Witness
from previously.plan import notes as plan_notes
from previously.storage.tables import Tables
from previously.testing.model import Scripted
from tests.effort import cases
from tests.end_to_end.runtime.echoing import make_writer
from tests.end_to_end.runtime.faithful import PEOPLE, Asked, faithful, said, state

LONG = cases(2_000, quick=400)


def tell(story: BlockingStory, texts: list[str]) -> None:
    story.add_drafts(
        [
            Draft(message("user" if number % 2 else "assistant", text, speaker=PEOPLE[number % 3]))
            for number, text in enumerate(texts)
        ]
    )


def texts(length: int, stranger_at: int = -1) -> list[str]:
    return [said(number, "Quentin" if number == stranger_at else "") for number in range(length)]


@pytest.mark.random
def test_an_edit_in_a_long_story_asks_for_one_span() -> None:
    settings = Settings(chapter_messages=0, cast="off")
    asked, other = Asked(), Asked()
    with BlockingMemory(":memory:", settings=settings, writer=asked.writer) as memory:
        story = memory.story("tale")
        tell(story, texts(LONG))
        story.fold()
        assert asked.since() == {"update": (LONG - settings.tail_messages) // settings.fold_messages}
        before = state(story)
        story.edit(5, said(5, "Quentin"))
        story.fold()
        assert asked.since() == {"amend": 1, "update": 1}
        edited = state(story)
        story.edit(5, said(5))
        story.fold()
        assert asked.since() == {}, "what was there before is found again"
        assert state(story) == before
    with BlockingMemory(":memory:", settings=settings, writer=other.writer) as memory:
        story = memory.story("tale")
        tell(story, texts(LONG, 5))
        story.fold()
        assert state(story) == edited
        assert edited != before


@pytest.mark.random
def test_an_edit_in_a_long_story_asks_for_one_scene() -> None:
    settings = Settings(chapter_messages=0, timeline="scenes", cast="off", scene_messages=40)
    asked, other = Asked(), Asked()
    with BlockingMemory(":memory:", settings=settings, writer=asked.writer) as memory:
        story = memory.story("tale")
        tell(story, texts(LONG))
        story.fold()
        assert asked.since()["scene"] == (LONG - settings.tail_messages) // 40
        before = state(story)
        story.edit(5, said(5, "Quentin"))
        story.fold()
        assert asked.since()["scene"] == 1
        edited = state(story)
        story.edit(5, said(5))
        story.fold()
        assert asked.since()["scene"] == 0, "what was there before is found again"
        assert state(story) == before
    with BlockingMemory(":memory:", settings=settings, writer=other.writer) as memory:
        story = memory.story("tale")
        tell(story, texts(LONG, 5))
        story.fold()
        assert state(story) == edited
        assert edited != before


@pytest.mark.random
def test_an_edit_in_a_long_story_asks_for_one_analysis() -> None:
    settings = Settings.of("novel", lore="off", backbone_words=0)
    asked, other = Asked(), Asked()
    length = cases(150, quick=40)
    with BlockingMemory(":memory:", settings=settings, writer=asked.writer) as memory:
        story = memory.story("tale")
        tell(story, texts(length))
        story.fold()
        assert asked.since() == {"analysis": length}
        before, recap = state(story), told(story)
        story.edit(5, said(5, "Quentin"))
        story.fold()
        assert asked.since() == {"analysis": 1}
        edited, edited_recap = state(story), told(story)
        story.edit(5, said(5))
        assert asked.since() == {}
        story.fold()
        assert (state(story), told(story)) == (before, recap)
    with BlockingMemory(":memory:", settings=settings, writer=other.writer) as memory:
        story = memory.story("tale")
        tell(story, texts(length, 5))
        story.fold()
        assert (state(story), told(story)) == (edited, edited_recap)
        assert edited_recap != recap


def told(story: BlockingStory) -> str:
    recap = story.recap()
    assert recap is not None
    return recap.text


SMALL = Settings(
    tail_messages=2, fold_messages=6, scene_messages=6, chapter_messages=0, recap_words=60, cast="group"
)  # fmt: skip


@pytest.fixture
def asked() -> Asked:
    return Asked()


@pytest.fixture
def story(asked: Asked) -> Iterator[BlockingStory]:
    with BlockingMemory(":memory:", settings=SMALL, writer=asked.writer) as memory:
        yield memory.story("tale")


def notes_asked(asked: Asked) -> int:
    """How many spans were asked for since the last time."""
    return asked.since()["update"]


def test_switching_back_costs_no_call(story: BlockingStory, asked: Asked) -> None:
    tell(story, texts(40))
    story.fold()
    main = state(story)
    story.branch("other", 20)
    story.switch("other")
    tell(story, [said(number) for number in range(100, 130)])
    story.fold()
    other = state(story)
    asked.since()
    for _ in range(3):
        story.switch("main")
        assert story.fold().folds == ()
        assert state(story) == main
        story.switch("other")
        assert story.fold().folds == ()
        assert state(story) == other
    assert asked.since() == {}


@pytest.mark.parametrize("at", [0, 7, 20, 33])
def test_an_insert_asks_for_what_it_touches(story: BlockingStory, asked: Asked, at: int) -> None:
    tell(story, texts(40))
    story.fold()
    before = notes_asked(asked)
    assert before == 6
    story.insert(at, "user", said(500), name="Maya")
    story.fold()
    assert notes_asked(asked) <= 2
    story.delete(at)
    story.fold()
    assert notes_asked(asked) == 0


@pytest.mark.parametrize("at", [0, 7, 20, 33])
def test_a_deletion_asks_for_what_it_touches(story: BlockingStory, asked: Asked, at: int) -> None:
    tell(story, texts(40))
    story.fold()
    asked.since()
    story.delete(at)
    story.fold()
    assert notes_asked(asked) == 1


def test_a_deletion_in_the_tail_asks_for_nothing(story: BlockingStory, asked: Asked) -> None:
    tell(story, texts(40))
    story.fold()
    before = story.state(), story.lore(), story.threads()
    asked.since()
    story.delete(-1)
    assert story.fold().folds == ()
    assert (story.state(), story.lore(), story.threads()) == before
    assert asked.since() == {}


def test_a_look_remembers_nothing_of_where_notes_stood_before(story: BlockingStory) -> None:
    """The same notes, all moved by one: what follows says where they stand now, whoever looked before."""
    tell(story, texts(40))
    story.fold()
    held_before = [one.position for one in story.state()]
    assert held_before
    story.insert(0, "assistant", "A bell rang.")
    assert seen_now(story, "") == state(story)
    assert [one.position for one in story.state()] == [one + 1 for one in held_before]


class Life:
    """A random life of a story whose notes are made by a model that sometimes fails."""

    def __init__(self, story: BlockingStory, chance: random.Random) -> None:
        self.story, self.chance, self.number = story, chance, 0

    def text(self) -> str:
        self.number += 1
        return said(self.number, f"Stranger{self.number}" if self.chance.random() < 0.3 else "")

    def add(self) -> None:
        there = self.chance.sample(PEOPLE, 2) if self.chance.random() < 0.3 else None
        for _ in range(self.chance.randint(1, 4)):
            role, name = self.chance.choice(("user", "assistant", "assistant")), self.chance.choice(PEOPLE)
            self.story.add(role, self.text(), name=None if role == "user" else name, witnesses=there)

    def deed(self) -> None:
        story, chance, length = self.story, self.chance, self.story.branch_info().messages
        at = chance.randrange(max(1, length))
        deeds: dict[Callable[[], object], int] = {
            self.add: 10,
            lambda: story.edit(at, self.text()): 4,
            lambda: story.delete(at): 3,
            lambda: story.insert(at, "user", self.text()): 2,
            lambda: story.regenerate(self.text()): 2,
            lambda: story.choose(chance.randrange(2)): 2,
            lambda: story.branch(f"branch {self.number}", at): 2,
            lambda: story.switch(chance.choice(story.branches()).name): 3,
            lambda: story.end_scene(at): 2,
            lambda: story.fold(once=chance.random() < 0.4): 8,
            lambda: story.analyze(at, again=True): 1,
            story.rebuild: 1,
        }
        with suppress(BadInput):
            (chance.choices(list(deeds), list(deeds.values()))[0] if length > 3 else self.add)()


def from_scratch(story: BlockingStory, reader: str) -> str | None:
    """The state as it follows from all notes on the path, whatever was kept on the way; None where a note that was made
    on another branch reaches over the end of a snapshot, or a scene that a person ended begins before one: both cuts
    are true."""
    inner = story._inner

    def read(tables: Tables) -> str | None:
        snapshot = tables.snapshot(inner._access.key)
        rules = resolve_tail(snapshot, inner._access.rules)
        seen = memory_notes.walk_behind(snapshot, rules, None)
        kept = memory_notes.walk(snapshot, rules).base
        tiles = (*seen.scenes, *seen.updates)
        links = memory_notes.trace_states(snapshot, kept, lambda _: False)
        ends = [link.span.last for link in links]
        if any(tile.span.first <= end < tile.span.last for tile in tiles for end in ends):
            return None
        if not all(tile.note for tile in seen.scenes):
            return None
        presence = Presences().read(snapshot, rules, seen)
        witness = None if is_told_all(snapshot, reader, presence) else Witness(reader, presence)
        return render_state(States().reduce(seen, rules, witness=witness, begun=EMPTY_STATE if witness else None))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(memory_notes, "MOST_WALKED", 1_000_000)
        text: str | None = story._run(inner._access.store.read(inner._access.key.owner, read))
    return text


@pytest.mark.random
@pytest.mark.parametrize("seed", range(cases(60, quick=4)))
def test_what_is_kept_on_the_way_changes_nothing(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """When all is folded, what is known with snapshots, and by whoever looked before, is what follows from the notes
    that stand on the path; and all of them are the model's."""
    chance = random.Random(seed)
    monkeypatch.setattr(plan_notes, "SNAPSHOT_MESSAGES", chance.randint(2, 5))
    monkeypatch.setattr(memory_notes, "MOST_WALKED", chance.randint(8, 16))
    values = {"tail_messages": 1, "scene_messages": chance.randint(2, 4), "fold_messages": 3, "chapter_messages": 0}
    preset = chance.choice(("roleplay", "novel"))
    settings = Settings.of(preset, **values, apply_after=1, lore=chance.choice(("on", "off")))
    fails = False

    def answer(request: ModelRequest) -> Scripted:
        return "" if fails and chance.random() < 0.5 else faithful(request)

    ticks = count(0, 7_200)
    writer = make_writer(ScriptedModel(answer), lambda: float(next(ticks)))
    with BlockingMemory(":memory:", settings=settings, writer=writer) as memory:
        story = memory.story("tale")
        life = Life(story, chance)
        for _ in range(8):
            fails = chance.random() < 0.5
            for _ in range(chance.randint(2, 8)):
                life.deed()
            fails = False
            story.fold()
            again = story.fold()
            assert again.folds == (), "folding twice in a row does nothing"
            for reader in ("", *PEOPLE):
                assert from_scratch(story, reader) in (None, state(story, reader))
                assert seen_now(story, reader) == state(story, reader)


def seen_now(story: BlockingStory, reader: str) -> str:
    """The same, by the one who has looked before."""
    return story._run(story._inner._access.read(lambda moment: render_state(moment.read_known(reader).state)))
