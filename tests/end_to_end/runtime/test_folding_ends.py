"""Folding comes to rest: whatever a model cannot give is asked for once more, and then left as it is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count

import pytest

from previously import BlockingMemory, Draft, ScriptedModel, Settings, message
from previously.blocking import BlockingStory
from previously.core.model_io import FailureKind, ModelFailure, ModelReply, ModelRequest, Usage
from previously.core.versions import Kind, Status
from previously.runtime import model_writer
from previously.testing.model import Scripted
from tests.end_to_end.runtime.update_answers import answer, is_update

RULES = Settings(tail_messages=3, fold_messages=6, fold_words=10_000, fold_tokens=10_000, recap_words=60,
                 chapter_messages=0, cast="off", scene_messages=0)  # fmt: skip

TOLD = "Maya and Joaquin carried parcels to the mill."


def whole(request: ModelRequest) -> Scripted:
    return answer(request, TOLD, threads="- new #1 Maya to Joaquin: a parcel") if is_update(request) else TOLD


def cut(request: ModelRequest) -> Scripted:
    return ModelReply(str(whole(request))[:30], "m", "length", Usage(1, 1, True))


def down(request: ModelRequest) -> Scripted:
    return ModelFailure(FailureKind.CONNECTION, f"Nobody reads {len(request.user)} letters.")


class Model:
    """A model whose manners change."""

    def __init__(self) -> None:
        self.manner: Callable[[ModelRequest], Scripted] = whole
        self.calls = 0

    def reply(self, request: ModelRequest) -> Scripted:
        self.calls += 1
        return self.manner(request)


@pytest.fixture(autouse=True)
def _no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    """Waiting takes no time, and the breaker never lasts: it would hide what is asked for for ever."""

    async def at_once(seconds: float) -> None:
        """Wait no time at all."""

    ticks = count(0, 7_200)
    defaults = model_writer.ModelWriter.__init__.__kwdefaults__
    assert defaults is not None
    monkeypatch.setitem(defaults, "sleep", at_once)
    monkeypatch.setitem(defaults, "clock", lambda: float(next(ticks)))


@pytest.fixture
def model() -> Model:
    return Model()


@pytest.fixture
def story(model: Model) -> Iterator[BlockingStory]:
    with BlockingMemory(":memory:", settings=RULES, model=ScriptedModel(model.reply)) as memory:
        found = memory.story("tale")
        names = ("Maya", "Joaquin")
        texts = [f"Parcel {at} goes to the mill." for at in range(24)]
        found.add_drafts([Draft(message("user", text, speaker=names[at % 2])) for at, text in enumerate(texts)])
        yield found


def rests(story: BlockingStory, most: int = 4) -> bool:
    return any(story.fold().folds == () for _ in range(most))


def in_force(story: BlockingStory, kind: Kind) -> list[tuple[int, int]]:
    found = [one for one in story.log() if one.made.kind is kind and one.made.status is Status.COMMITTED and one.firm]
    return [(one.made.span.first, one.made.span.last) for one in found]


def test_an_episode_taken_out_of_a_long_span_is_asked_for_once(story: BlockingStory, model: Model) -> None:
    """The note of the whole span stands: pieces of it would never be seen under it, and be asked for for ever."""
    story.set(["fold_messages=21"])
    story.fold()
    assert in_force(story, Kind.NOTE) == [(0, 20)]
    story.set(["fold_messages=6"])
    inner = story._inner
    (episode,) = [one for one in story.log() if one.made.kind is Kind.EPISODE]
    story._run(
        inner._access.change(
            lambda change: change.tables.versions.set_status(
                change.key, episode.id, Status.UNDONE, "it told of words that are gone"
            )
        )
    )
    model.calls = 0
    assert rests(story)
    assert model.calls == 1
    assert [one.span.last for one in story.episodes()] == [20]


def test_what_a_model_cannot_say_anew_stays_and_is_asked_for_no_more(story: BlockingStory, model: Model) -> None:
    story.fold()
    before = story.recap(), story.episodes(), story.threads()
    assert before[0] is not None
    assert before[0].made_by == "model"
    model.manner = cut
    story.set(["recap_words=70"])  # no answer that was kept is to this question
    story.rebuild()
    assert rests(story), "it is asked for anew with every fold"
    after = story.recap(), story.episodes(), story.threads()
    assert after[0] is not None
    assert (after[0].text, after[0].made_by) == (before[0].text, "model"), (
        "quotations are no better than what was there"
    )
    assert [one.text for one in after[1]] == [one.text for one in before[1]]
    assert after[2] == before[2]


def test_a_rebuild_without_a_model_to_be_had_makes_nothing_and_says_so(story: BlockingStory, model: Model) -> None:
    story.fold()
    told = story.recap()
    model.manner = down
    report = story.rebuild()
    assert report.made == ()
    assert [fold.status for fold in report.folds] == ["refused"]
    assert story.recap() == told
    model.manner = whole
    assert story.fold().made, "it is made anew as soon as the model is there"
    assert rests(story)


def test_a_provisional_recap_in_a_closed_chapter_is_given_up_in_the_end(story: BlockingStory, model: Model) -> None:
    model.manner = cut
    story.close_chapter("One", 9)
    assert rests(story)
    asked = model.calls
    story.fold()
    assert model.calls == asked


def test_quotations_that_were_kept_for_good_are_asked_for_once_more_by_a_rebuild(
    story: BlockingStory, model: Model
) -> None:
    """The model never gives a scene in its form: what was quoted of it is asked for anew once, not with every fold."""
    story.end_scene(5)
    assert rests(story)
    (scene,) = story.scenes()
    assert scene.made_by == "builtin"
    story.rebuild()
    assert rests(story)
    asked = model.calls
    assert story.fold().folds == ()
    assert model.calls == asked
    assert [one.summary for one in story.scenes()] == [scene.summary]


@pytest.mark.parametrize("position", [2, 8])
def test_a_plan_after_an_edit_counts_the_call_for_the_note(story: BlockingStory, position: int) -> None:
    story.fold()
    story.edit(position, "Parcel 99 goes to the ferry.")
    planned, done = story.plan(), story.fold()
    assert [(fold.kind, fold.span) for fold in planned.folds] == [(fold.kind, fold.span) for fold in done.folds]
    assert planned.calls == done.calls
    assert any(fold.kind is Kind.EPISODE for fold in planned.folds)


def test_what_was_made_anew_of_shorter_spans_is_in_force(story: BlockingStory) -> None:
    """Newer, shorter episodes take the place of an older, longer one, once they tell as much as it did."""
    story.set(["fold_messages=21"])
    story.fold()
    story.set(["fold_messages=7"])
    story.rebuild()
    assert [one.span.last for one in story.episodes()] == [6, 13, 20]
    log = {one.id: one.made.span.last for one in story.log()}
    assert sorted(log[ident] for ident in story.notes_in_force()) == [6, 6, 13, 13, 20, 20]
    assert rests(story)
