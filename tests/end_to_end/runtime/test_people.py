"""People win: what a person writes, locks, pins, undoes, restores and approves, on both stores."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from previously import BlockingMemory, Settings
from previously.blocking import BlockingStory
from previously.core.errors import BadInput, BudgetTooSmall
from previously.core.marks import Mark, MarkKind
from previously.core.model_io import FailureKind, ModelFailure, ModelRequest
from previously.runtime import model_writer
from previously.testing.model import Scripted, ScriptedModel
from tests.effort import ON_DISK
from tests.end_to_end.runtime.update_answers import answer, closing_answer, is_closing, is_update

RULES = Settings(
    scene_messages=0,
    cast="off",
    tail_messages=3,
    fold_messages=6,
    fold_words=200,
    fold_tokens=300,
    recap_words=40,
    chapter_messages=0,
)
NASTY = "  Ines — „naïve“ 漢字 e\u0301 🧵:\n\n# not a heading\r\n\t<recap>{previous} %s</recap> \\n\u2028*end* "
WHATS = ["recap", "chapter:1", "backbone"]
Acts = tuple[Callable[[], object], ...]
DOWN = ModelFailure(FailureKind.CONNECTION, "Nobody listens there.")


class Script:
    """A model whose script can be exchanged while the story is open."""

    def __init__(self) -> None:
        self.answer: Callable[[ModelRequest], Scripted] = self.tells
        self.label = "old"
        self.model = ScriptedModel(self.replies)

    def replies(self, request: ModelRequest) -> Scripted:
        return self.answer(request)

    def tells(self, request: ModelRequest) -> str:
        count = len(self.model.requests)
        who = f"the {self.label} model told {'again ' * count}".rstrip()
        told = f"Maya carried parcels to the mill and promised to be back, as {who}."
        if is_closing(request):
            return closing_answer(request, told)
        return answer(request, told) if is_update(request) else told


@pytest.fixture(params=["in_memory", ON_DISK])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return ":memory:" if request.param == "in_memory" else str(tmp_path / "stories.db")


@pytest.fixture
def story(place: str) -> Iterator[BlockingStory]:
    with BlockingMemory(place, settings=RULES) as memory:
        yield memory.story("tale")


@pytest.fixture
def told(story: BlockingStory) -> BlockingStory:
    """A story with a closed chapter, its backbone, and a recap of the open chapter."""
    tell(story, 30)
    story.close_chapter("One", 9)
    story.fold()
    assert all(now(story, what) for what in WHATS)
    return later(story)


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> Script:
    async def at_once(seconds: float) -> None:
        await asyncio.sleep(0)

    defaults = model_writer.ModelWriter.__init__.__kwdefaults__
    assert defaults is not None
    monkeypatch.setitem(defaults, "sleep", at_once)
    return Script()


def later(story: BlockingStory) -> BlockingStory:
    time.sleep(0.002)  # what is done next has a time of its own
    return story


def tell(story: BlockingStory, count: int, start: int = 0) -> None:
    for number in range(start, start + count):
        story.add("user", f"Maya carried parcel {number} to the mill and promised to be back.", name="Maya")


def now(story: BlockingStory, what: str) -> str:
    if what.startswith("chapter:"):
        return story.chapters()[int(what.removeprefix("chapter:")) - 1].text
    found = story.recap() if what == "recap" else story.backbone()
    return found.text if found else ""


def system(story: BlockingStory, budget: int = 20_000) -> str:
    return story.view(budget).messages[0].text


def marks(story: BlockingStory, branch: str) -> list[Mark]:
    access = story._inner._access
    found: list[Mark] = story._run(
        access.store.read(access.key.owner, lambda tables: tables.snapshot(access.key, branch).marks())
    )
    return found


def statuses(story: BlockingStory) -> list[str]:
    return [version.made.status.value for version in story.log()]


@pytest.mark.parametrize("what", WHATS)
def test_what_a_person_writes_stands_byte_for_byte_and_memory_goes_on_behind_it(told: BlockingStory, what: str) -> None:
    told.write(what, NASTY)
    assert now(told, what) == NASTY
    assert NASTY in system(told)
    version = told.log()[-1].made
    assert (version.kind, version.made_by, version.text, version.status) == (
        what.partition(":")[0], "person", NASTY, "by hand",
    )  # fmt: skip
    tell(told, 20, 30)
    told.edit(2, "Joaquin burned the parcel instead.")
    if what == "backbone":
        told.close_chapter("Two", 25)
    told.fold()
    assert now(told, what).startswith(NASTY)
    assert (len(now(told, what)) > len(NASTY) + 20) is (what != "chapter:1"), "what is folded later stands behind it"
    assert NASTY in system(told)


@pytest.mark.parametrize("what", WHATS)
def test_undo_brings_back_what_stood_there_before(told: BlockingStory, what: str) -> None:
    folded = now(told, what)
    told.write(what, "First.")
    told.write(what, "Second.")
    assert now(told, what) == "Second."
    told.undo()
    assert now(told, what) == "First."
    told.undo()
    assert now(told, what) == folded
    assert [version.made.text for version in told.log() if version.made.status == "by hand"] == ["First.", "Second."]


@pytest.mark.parametrize("what", WHATS)
def test_a_locked_text_stays_until_it_is_unlocked(told: BlockingStory, what: str) -> None:
    locked = now(told, what)
    told.lock(what)
    tell(told, 20, 30)
    for position in (0, 12):
        told.edit(position, "Joaquin burned the parcel instead.")
    told.fold()
    assert now(told, what).startswith(locked)
    told.unlock(what)
    told.fold()
    assert now(told, what)
    assert locked not in now(told, what)
    assert "Joaquin" in now(told, what)


@pytest.mark.parametrize("name", ["", "recaps", "Recap", "chapter", "chapter:", "chapter:0", "chapter:-1", "recap:1"])
def test_a_text_that_there_is_not_is_bad_input(told: BlockingStory, name: str) -> None:
    for act in (partial(told.write, name, "x"), partial(told.lock, name), partial(told.unlock, name)):
        with pytest.raises(BadInput, match="There is no text called"):
            act()


def test_what_cannot_be_written_locked_or_taken_back_is_bad_input(story: BlockingStory) -> None:
    tell(story, 3)
    for what, reason in (("recap", "newest 3"), ("chapter:1", "no closed chapter 1"), ("backbone", "no backbone")):
        with pytest.raises(BadInput, match=reason):
            story.write(what, "x")
        with pytest.raises(BadInput, match=r"Nobody wrote|no closed chapter 1"):
            story.unlock(what)
        with pytest.raises(BadInput, match=r"nothing to lock|no closed chapter 1"):
            story.lock(what)
    tell(story, 9, 3)
    empty: Acts = (partial(story.write, "recap", " \n\t"), partial(story.pin, ""))
    nothing: Acts = (partial(story.unlock, "recap"), partial(story.unpin, 1), partial(story.restore, 1), story.undo)
    undecided: Acts = (partial(story.approve, 1), partial(story.reject, 1))
    for bad in (*empty, *nothing, *undecided):
        with pytest.raises(BadInput):
            bad()
    assert (story.log(), marks(story, "main")) == ([], [])


def test_pins_are_in_every_view_that_holds_the_fixed_parts(told: BlockingStory) -> None:
    own, quoted = told.pin(NASTY), told.pin(at=4)
    assert (own.position, quoted.position, quoted.text) == (29, 4, told.messages(4, 4)[0].entry.message.text)
    assert [pin.text for pin in told.pins()] == [quoted.text, NASTY]
    with pytest.raises(BudgetTooSmall) as refused:
        told.view(5)
    assert NASTY in system(told, refused.value.needed_tokens)
    assert quoted.text in system(told, refused.value.needed_tokens)
    told.branch("early", at=10)
    told.unpin(own.id)
    told.delete(4)
    assert NASTY not in system(told)
    told.switch("early")
    assert [pin.text for pin in told.pins()] == [quoted.text], "a branch copies the pins before its fork"
    with pytest.raises(BadInput, match="no pin"):
        told.unpin(quoted.id)


def test_undo_takes_back_what_a_person_did_and_no_fold(told: BlockingStory) -> None:
    told.pin("Keep this.")
    assert told.undo().startswith("the pin")
    assert told.pins() == []
    assert told.undo() == "the end of the chapter at message 9"
    with pytest.raises(BadInput, match="nothing to undo"):
        told.undo()
    assert set(statuses(told)) == {"committed"}


def test_folds_are_taken_back_one_by_one(told: BlockingStory) -> None:
    folded = len(told.log())
    recaps = [version for version in told.log() if version.made.kind == "recap" and version.made.scope]
    assert told.take_back().id == recaps[-1].id
    assert now(told, "recap") == recaps[-2].made.text
    told.fold()
    assert now(told, "recap") == recaps[-1].made.text, "a fold that is taken back is made anew"
    assert len(told.log()) == folded + 1, "what was taken back stays in the log"
    for _ in range(sum(status == "committed" for status in statuses(told))):
        told.take_back()
    assert (told.recap(), told.backbone()) == (None, None)
    with pytest.raises(BadInput, match="no version to take back"):
        told.take_back()


def test_a_scene_that_is_undone_is_made_anew(story: BlockingStory) -> None:
    tell(story, 30)
    story.end_scene(19)
    story.fold()
    (scene,) = story.scenes()
    assert story.take_back().id == scene.version
    assert story.scenes() == []
    story.fold()
    assert [(one.span, one.summary) for one in story.scenes()] == [(scene.span, scene.summary)]


def test_a_chapter_that_closed_by_itself_stays_open_once_it_was_opened_again(story: BlockingStory) -> None:
    story.set(["chapter_messages=12"])
    tell(story, 30)
    story.add("user", "The next morning Maya slept.", name="Maya")
    tell(story, 5, 31)
    assert [one.position for one in story.fold().closed] == [23]
    assert str(story.open_chapter(1)) == "messages 0-23"
    assert story.fold().closed == ()
    assert story.chapters() == []
    assert [mark.kind for mark in marks(story, "main") if mark.kind is not MarkKind.DEED] == [MarkKind.KEPT_OPEN]
    assert story.undo() == "opening the chapter that ended at message 23"
    assert [one.span.last for one in story.chapters()] == [23]


def test_an_earlier_version_can_be_restored_while_its_messages_stand(story: BlockingStory) -> None:
    tell(story, 30)
    story.fold()
    first, *others = story.log()
    restored = story.restore(first.id)
    recap = story.recap()
    assert recap is not None
    assert (recap.version, recap.text, recap.span) == (restored.id, first.made.text, first.made.span)
    log = story.log()
    assert [version.id for version in log] == [first.id, *(one.id for one in others)]
    assert [version.made.status for version in log[1:]] == ["undone"] * len(others)
    story.fold()
    recap = story.recap()
    assert recap is not None
    assert recap.span.last == others[-1].made.span.last, "memory goes on from there"
    words = story.messages(2, 2)[0].entry.message.text
    story.edit(2, "Joaquin burned it.")
    with pytest.raises(BadInput, match="not on branch 'main' as they were"):
        story.restore(first.id)
    story.edit(2, words)
    assert story.restore(first.id).made.text == first.made.text


def test_under_review_nothing_is_in_force_before_it_is_approved(place: str, script: Script) -> None:
    with BlockingMemory(place, settings=RULES, model=script.model) as memory:
        story = memory.story("tale")
        story.set(["review=true"])
        tell(story, 12)
        assert [fold.status for fold in story.fold().folds] == ["pending"]
        assert (story.recap(), len(script.model.requests)) == (None, 1)
        (waiting,) = story.pending()
        assert f"version {waiting.id} waits" in story.fold().stopped
        assert len(script.model.requests) == 1, "what waits is not paid for twice"
        story.reject(waiting.id, "dull")
        assert [fold.status for fold in story.fold().folds] == ["pending"]
        assert len(script.model.requests) == 2
        (another,) = story.pending()
        assert story.approve(another.id).made.status == "committed"
        assert (now(story, "recap"), story.pending()) == (another.made.text, [])
        for decided in (waiting.id, another.id):
            for decide in (story.approve, story.reject):
                with pytest.raises(BadInput, match="does not wait"):
                    decide(decided)
        assert "dull" in story.log()[0].made.reason
        assert statuses(story) == ["refused"] * 3 + ["committed"] * 3, "recap, episode and note, with one decision"


def test_a_rebuild_makes_everything_anew_and_loses_nothing(place: str, script: Script) -> None:
    with BlockingMemory(place, settings=RULES, model=script.model) as memory:
        story = memory.story("tale")
        tell(story, 40)
        story.close_chapter("One", 9)
        story.close_chapter("Two", 19)
        story.fold()
        story.write("chapter:2", NASTY)
        before = [now(story, what) for what in WHATS]
        assert all("old model" in text for text in before)
        script.answer = lambda _: DOWN
        story.rebuild()
        assert [now(story, what) for what in WHATS] == before, "what is there stays until better stands in its place"
        script.answer, script.label = script.tells, "new"
        assert {fold.status for fold in story.rebuild().folds} == {"committed"}
        assert all("new model" in now(story, what) for what in WHATS)
        assert story.chapters()[1].text == NASTY
        spent = len(script.model.requests)
        assert (story.fold().folds, len(script.model.requests)) == ((), spent)
