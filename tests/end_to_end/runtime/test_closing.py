"""Closing a chapter: the recap is its full form, at most one call gives the rest, and what is missing comes later."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from previously import BlockingMemory, ScriptedModel, Settings
from previously.blocking import BlockingStory
from previously.core.model_io import FailureKind, ModelFailure, ModelRequest
from previously.core.path import Span
from previously.core.versions import Kind, Status
from previously.folds.chapter import CLOSING, FINAL_SCENE, parse_short
from previously.formats import read_story
from tests.effort import ON_DISK
from tests.end_to_end.runtime.echoing import echo
from tests.end_to_end.runtime.obedient import kind_of, obedient, part, said, tell
from tests.end_to_end.runtime.update_answers import asked_for, is_closing, is_update, messages, recap_in, under

pytestmark = pytest.mark.usefixtures("no_waiting")

RULES = Settings(scene_messages=0, cast="off",
    tail_messages=4, fold_messages=10, fold_words=400, fold_tokens=900, recap_words=60, chapter_messages=30
)  # fmt: skip
NOVEL = Path(__file__).parents[3] / "benchmarks" / "exam" / "stories" / "glasshouse-novel.md"


class Model(ScriptedModel):
    """The obedient model, which may spoil some parts of its answers or name scenes' ends."""

    def __init__(self) -> None:
        super().__init__(self._answer)
        self.spoils: set[str] = set()
        self.scenes = ""
        self._seen = 0

    def _answer(self, request: ModelRequest) -> str:
        text = obedient(request)
        if is_update(request) and self.scenes:
            text = text.replace("SCENES\nnone", f"SCENES\n- ends at {self.scenes}")
        for name in self.spoils & set(asked_for(request) if is_closing(request) or is_update(request) else ()):
            before, _, after = text.partition(f"{name}\n")
            text = f"{before}{name}\nnone\n\n{after.partition(chr(10) * 2)[2]}"
        return text

    def since(self) -> list[str]:
        """What was asked since the last time."""
        new = self.requests[self._seen :]
        self._seen = len(self.requests)
        return [kind_of(request) for request in new]


@pytest.fixture
def model() -> Model:
    return Model()


@pytest.fixture(params=["in_memory", ON_DISK])
def story(request: pytest.FixtureRequest, tmp_path: Path, model: Model) -> Iterator[BlockingStory]:
    place = ":memory:" if request.param == "in_memory" else tmp_path / "stories.db"
    with BlockingMemory(place, settings=RULES, model=model) as memory:
        yield memory.story("tale")


def kinds(story: BlockingStory) -> list[str]:
    return [one.made.kind.value for one in story.log() if one.made.kind in (Kind.CHAPTER, Kind.SHORT, Kind.BACKBONE)]


def test_a_chapter_that_a_recap_tells_to_its_end_costs_exactly_one_call(story: BlockingStory, model: Model) -> None:
    tell(story, 24)
    story.fold()
    assert model.since() == ["recap", "recap"]
    recap = story.recap()
    assert recap is not None
    story.close_chapter(at=19)
    report = story.fold()
    assert model.since() == ["short"]
    assert [(one.kind, one.beside, one.cost.calls) for one in report.folds] == [
        (Kind.CHAPTER, (), 0), (Kind.SHORT, ("backbone",), 1)
    ]  # fmt: skip
    (one,) = story.chapters()
    assert one.text == recap.text, "the recap is kept as it stood"
    assert (one.title, one.name) == ("The Mill", "Chapter 1, The Mill")
    assert one.short.startswith("Maya") and one.text.startswith("Maya")
    backbone = story.backbone()
    assert backbone is not None and backbone.span == Span(0, 19)
    assert story.fold().calls == 0


def test_the_update_that_ends_a_chapter_gives_all_that_is_kept_of_it(story: BlockingStory, model: Model) -> None:
    tell(story, 24)
    story.close_chapter("Parcels")
    report = story.fold()
    assert model.since() == ["recap", "recap", "recap"], "closing takes no call of its own"
    assert story.chapters()[0].title == "Parcels", "a person's title stands"
    assert [set(CLOSING) & set(asked_for(one)) for one in model.requests] == [set(), set(), {"SHORT", "BACKBONE"}]
    assert report.folds[2].beside == ("episode", "note", "short", "backbone")
    made = next(one for one in report.folds if one.kind is Kind.CHAPTER)
    assert (made.cost.calls, made.span) == (0, Span(0, 23))
    assert story.fold().folds == ()


def test_without_a_title_the_update_is_asked_for_one(story: BlockingStory, model: Model) -> None:
    tell(story, 24)
    story.close_chapter()
    story.fold()
    assert set(CLOSING) <= set(asked_for(model.requests[-1]))
    assert story.chapters()[0].title == "The Mill"


def test_a_closing_is_told_the_story_before_and_the_last_chapter_in_full(story: BlockingStory, model: Model) -> None:
    tell(story, 28)
    story.fold()
    for last in (9, 19):
        story.close_chapter(at=last)
    story.fold()
    first, second = [one for one in model.requests if is_closing(one)]
    assert under(first, "The whole story") == ""
    assert under(second, "The whole story") != ""
    assert story.chapters()[0].text in under(second, "Earlier chapters")


def test_the_next_recap_is_told_the_backbone_and_the_last_chapter_in_full(story: BlockingStory, model: Model) -> None:
    for chapter, name in enumerate(("Zephyrine", "Perpetua")):
        tell(story, 12, 12 * chapter)
        story.edit(12 * chapter + 1, said(12 * chapter + 1, name))
        story.close_chapter()
    tell(story, 16, 24)
    story.fold()
    (update,) = [one for one in model.requests if is_update(one) and said(25) in messages(one)]
    assert recap_in(update) == "", "the recap restarts"
    before = under(update, "The story before")
    assert story.chapters()[1].text in before, "the last chapter, in full"
    assert "Zephyrine" in before, "the backbone tells the chapter before it"


@pytest.mark.parametrize(
    ("spoilt", "asked"), [("SHORT", ["SHORT"]), ("BACKBONE", ["BACKBONE"]), ("SHORT BACKBONE", ["SHORT", "BACKBONE"])]
)
def test_a_part_that_is_missing_is_asked_for_by_itself(
    story: BlockingStory, model: Model, spoilt: str, asked: list[str]
) -> None:
    tell(story, 24)
    story.close_chapter("Parcels")
    model.spoils = set(spoilt.split())
    for _ in range(4):  # three updates, and the recap taken over
        story.fold(once=True)
    assert model.since() == ["recap", "recap", "recap"]
    assert kinds(story) == [one for one in ("short", "backbone", "chapter") if one.upper() not in model.spoils]
    model.spoils = set()
    seen = len(model.requests)
    story.fold()
    assert [asked_for(request) for request in model.requests[seen:]] == [asked]
    assert sorted(kinds(story)) == ["backbone", "chapter", "short"]
    assert story.fold().calls == 0


@pytest.mark.parametrize("told", [False, True], ids=["with the update", "after it"])
def test_a_short_form_that_a_model_never_gives_is_given_up(story: BlockingStory, model: Model, told: bool) -> None:
    tell(story, 24)
    if told:
        story.fold()
    story.close_chapter("Parcels", at=19)
    model.spoils = {"SHORT"}
    for _ in range(5):
        story.fold()
    asked = len(model.requests)
    assert story.fold().folds == ()
    assert len(model.requests) == asked
    assert story.chapters()[0].short == "" and story.chapters()[0].text
    assert story.backbone() is not None, "it holds up nothing else"


def test_a_short_form_that_is_refused_holds_up_nothing(story: BlockingStory, model: Model) -> None:
    tell(story, 24)
    story.fold()
    story.close_chapter("Parcels", at=9)
    tell(story, 20, 24)
    model.spoils = {"SHORT"}
    model.since()
    report = story.fold()
    asked = model.since()
    assert asked.count("short") <= 3 and asked.count("backbone") == 1, "once in a call to fold"
    assert [one.kind for one in report.folds if one.status != "refused"][-1] is Kind.RECAP, "the open chapter goes on"
    backbone = story.backbone()
    assert backbone is not None and backbone.made_by == "model"


def test_a_model_that_is_not_to_be_had_for_long_gives_its_short_form_when_it_returns(tmp_path: Path) -> None:
    place, down = tmp_path / "s.db", ModelFailure(FailureKind.CONNECTION, "Nobody listens there.")
    with BlockingMemory(place, settings=RULES, model=Model()) as memory:
        story = memory.story("tale")
        tell(story, 24)
        story.fold()
        story.close_chapter("Parcels", at=19)
    for _ in range(4):
        with BlockingMemory(place, settings=RULES, model=ScriptedModel(lambda _: down)) as memory:
            story = memory.story("tale")
            story.fold()
            (one,) = story.chapters()
            assert one.recap is not None and one.recap.made_by == "model", "the full form takes no model"
            assert one.short == "" and story.backbone() is not None
    model = Model()
    with BlockingMemory(place, settings=RULES, model=model) as memory:
        story = memory.story("tale")
        story.fold()
        assert model.since() == ["short"], "with the backbone, for which quotations stood in"
        backbone = story.backbone()
        assert story.chapters()[0].short and backbone is not None and backbone.made_by == "model"
        assert story.fold().calls == 0


def test_a_scene_end_that_an_update_names_closes_the_chapter_with_its_fold(story: BlockingStory, model: Model) -> None:
    tell(story, 24)
    story.fold()
    model.scenes = "#9"
    tell(story, 30, 24)
    report = story.fold()
    assert [(end.position, end.reason) for end in report.closed] == [
        (29, "a scene ended, 30 messages after the chapter began")
    ]
    assert model.since().count("short") == 1
    assert "chapter" not in [kind_of(one) for one in model.requests if is_closing(one)]


def test_a_scene_end_early_in_a_fold_closes_nothing_until_the_chapter_is_long(
    story: BlockingStory, model: Model
) -> None:
    model.scenes = "#2"
    tell(story, 60)
    report = story.fold()
    assert [end.position for end in report.closed] == [49], "at half as long again any end of a scene will do"


def test_an_edit_in_a_closed_chapter_costs_three_calls_and_keeps_its_short_form(
    story: BlockingStory, model: Model
) -> None:
    for chapter in range(3):
        tell(story, 12, 12 * chapter)
        story.close_chapter()
    tell(story, 8, 36)
    story.fold()
    before = story.chapters()
    model.since()
    story.edit(3, said(3, "Zephyrine"))
    assert story.chapters()[0].short == before[0].short, "stale as the full form is"
    story.fold()
    assert len(model.since()) <= 3
    after = story.chapters()
    assert "Zephyrine" in after[0].text
    assert after[0].short == before[0].short and after[0].title == before[0].title
    assert after[1:] == before[1:]
    assert story.fold().calls == 0


def test_a_short_form_that_tells_of_removed_words_goes_with_them(story: BlockingStory, model: Model) -> None:
    for chapter in range(3):
        tell(story, 12, 12 * chapter)
        if not chapter:
            story.edit(3, said(3, "Zephyrine"))
        story.close_chapter()
    tell(story, 8, 36)
    story.fold()
    assert "Zephyrine" in story.chapters()[0].short
    model.since()
    story.edit(3, said(3))
    story.fold()
    assert len(model.since()) <= 3
    assert story.chapters()[0].short == ""
    assert all("Zephyrine" not in f"{one.text} {one.short}" for one in story.chapters())
    assert story.fold().calls == 0
    story.rebuild()
    assert story.chapters()[0].short


def test_an_undone_short_form_is_made_again(story: BlockingStory, model: Model) -> None:
    tell(story, 24)
    story.fold()
    story.close_chapter("Parcels", at=19)
    story.fold()
    assert story.take_back().made.kind == "backbone"
    assert story.take_back().made.kind == "short"
    assert story.chapters()[0].short == ""
    model.since()
    story.fold()
    assert model.since() == ["short"]
    assert story.chapters()[0].short and story.backbone() is not None


def test_whoever_takes_a_full_form_back_gets_another_one(story: BlockingStory, model: Model) -> None:
    tell(story, 24)
    story.close_chapter("Parcels", at=19)
    story.fold()
    assert story.take_back().made.kind == "chapter"
    model.since()
    story.fold()
    (asked,) = [one for one in model.requests if is_closing(one)]
    assert model.since() == ["chapter"] and asked_for(asked) == ["CHAPTER"], "the recap would be what was taken back"
    events = part(asked, "new_events")
    assert all(said(number) in events for number in range(20 - FINAL_SCENE, 20)), "its final scene"
    assert said(20) not in events
    assert story.chapters()[0].text and story.fold().calls == 0


def test_a_recap_that_is_taken_over_says_who_wrote_it(story: BlockingStory) -> None:
    tell(story, 24)
    story.close_chapter("Parcels", at=19)
    story.fold()
    full, recap = [
        next(one.made for one in reversed(story.log()) if one.made.kind is kind and one.made.span.last == 19)
        for kind in (Kind.CHAPTER, Kind.RECAP)
    ]
    assert full.text == recap.text
    assert (full.made_by, full.model, full.prompt_hash) == (recap.made_by, recap.model, recap.prompt_hash)
    assert full.model and full.cost.calls == 0


def test_one_approval_is_enough_for_a_chapter(tmp_path: Path, model: Model) -> None:
    with BlockingMemory(tmp_path / "s.db", settings=RULES, model=model) as memory:
        story = memory.story("tale")
        tell(story, 24)
        story.fold()
        story.set(["review=true"])
        story.close_chapter("Parcels", at=19)
        story.fold()
        (waiting,) = story.pending()
        assert waiting.made.kind is Kind.SHORT
        story.approve(waiting.id)
        assert story.pending() == []
        assert story.chapters()[0].short and story.backbone() is not None


@pytest.mark.parametrize("approved", [True, False])
def test_one_decision_is_enough_for_an_update_that_ends_a_chapter(tmp_path: Path, model: Model, approved: bool) -> None:
    with BlockingMemory(tmp_path / "s.db", settings=RULES, model=model) as memory:
        story = memory.story("tale")
        tell(story, 14)
        story.fold()
        story.set(["review=true"])
        story.close_chapter("Parcels")
        story.fold()
        (waiting,) = story.pending()
        assert waiting.made.kind is Kind.RECAP
        story.approve(waiting.id) if approved else story.reject(waiting.id)
        assert story.pending() == []
        if not approved:
            assert kinds(story) == ["short", "backbone"]
            assert {one.made.status for one in story.log() if one.made.kind is Kind.SHORT} == {Status.REFUSED}
            return
        model.since()
        story.fold()
        assert model.since() == [], "what was approved is taken over, and nothing else waits"
        (one,) = story.chapters()
        assert one.text == waiting.made.text and one.short and story.backbone() is not None


def test_a_failing_model_leaves_quotations_and_all_of_it_is_made_when_it_returns(tmp_path: Path) -> None:
    place = tmp_path / "s.db"
    with BlockingMemory(place, settings=RULES, model=ScriptedModel(lambda _: "")) as memory:
        story = memory.story("tale")
        tell(story, 24)
        story.close_chapter("Parcels")
        story.fold()
        (one,) = story.chapters()
        assert one.recap is not None and one.recap.made_by == "builtin" and one.short == ""
        assert story.backbone() is not None
    with BlockingMemory(place, settings=RULES, model=ScriptedModel(obedient)) as memory:
        story = memory.story("tale")
        story.fold()
        (one,) = story.chapters()
        assert one.recap is not None and one.recap.made_by == "model" and one.short
        firm = [made for made in story.log() if made.made.kind is Kind.BACKBONE and made.firm]
        assert len(firm) == 1 and firm[0].made.status is Status.COMMITTED


def test_without_a_model_there_is_neither_title_nor_short_form(tmp_path: Path) -> None:
    with BlockingMemory(tmp_path / "s.db", settings=RULES) as memory:
        story = memory.story("tale")
        tell(story, 24)
        story.close_chapter()
        story.fold()
        (one,) = story.chapters()
        assert (one.title, one.short) == ("", "") and one.text
        assert kinds(story) == ["chapter", "backbone"]


@pytest.mark.parametrize("timeline", ["librarian", "recap"])
@pytest.mark.parametrize("with_model", [True, False])
def test_a_novel_of_six_chapters_closes_at_its_headings(tmp_path: Path, timeline: str, with_model: bool) -> None:
    model = ScriptedModel(echo) if with_model else None
    settings = Settings.of("novel", timeline=timeline, lore="off")
    with BlockingMemory(tmp_path / "s.db", settings=settings, model=model) as memory:
        story = memory.story("novel")
        story.add_drafts(read_story(NOVEL).drafts)
        story.fold()
        found = story.chapters()
        assert [one.title.partition(":")[0] for one in found] == [
            f"Chapter {n}" for n in "One Two Three Four Five".split()
        ]
        assert all(one.text for one in found)
        following = story.messages(found[-1].span.last + 1, found[-1].span.last + 1)[0].entry.message
        assert following.text.startswith("# Chapter Six")


@pytest.mark.parametrize("with_model", [True, False])
def test_a_librarians_chapter_closes_before_anything_is_cut(tmp_path: Path, with_model: bool) -> None:
    model = ScriptedModel(_note_fragment) if with_model else None
    settings = Settings.of("novel", lore="off", summary_characters=1_500, summary_target_characters=1_200)
    with BlockingMemory(tmp_path / "s.db", settings=settings, model=model) as memory:
        story = memory.story("novel")
        for number in range(80):
            story.add(
                "assistant", f"On day {number} the long grey barge of the mill carried parcel {number} down to Hob."
            )
        report = story.fold()
        assert len(story.chapters()) >= 2
        assert {end.reason for end in report.closed} == {"the librarian's summary is full"}
        recaps = [made.made.text for made in story.log() if made.made.kind is Kind.RECAP]
        assert recaps and not any(text.startswith("... ") for text in recaps), "nothing was cut"


def _note_fragment(request: ModelRequest) -> str:
    if "<fragment>" in request.user:
        text = " ".join(part(request, "fragment").split())
        return f'{{"summary_update": "{text.partition(": ")[2] or text}", "mentions": []}}'
    return echo(request)


def test_a_title_and_a_short_form_are_one_version(story: BlockingStory) -> None:
    tell(story, 24)
    story.close_chapter(at=19)
    story.fold()
    (made,) = [one for one in story.log() if one.made.kind is Kind.SHORT]
    assert parse_short(made.made.text) == ("The Mill", story.chapters()[0].short)


def test_a_chapter_closed_by_command_takes_its_heading_as_title(story: BlockingStory) -> None:
    story.add("assistant", "## The Weighing\n\nParcel 0 went to the mill with Maya.")
    tell(story, 9, 1)
    assert story.close_chapter().title == "The Weighing"
