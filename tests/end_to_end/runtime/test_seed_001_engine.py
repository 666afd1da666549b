"""What seed 001 says of a librarian, where it takes the engine: one row per sentence, and one test per defect that was
noted of its project.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import count

import pytest

from previously import BadInput, BlockingMemory, ScriptedModel, Settings
from previously.blocking import BlockingStory
from previously.core.digests import span_key
from previously.core.marks import SPAN_SCOPE
from previously.core.model_io import FailureKind, ModelFailure, ModelRequest
from previously.core.path import Span
from previously.core.scene import Analysis
from previously.core.versions import Kind, NewVersion, Status
from previously.folds.analysis import render_analysis
from previously.folds.summary import Gap
from previously.runtime.fold_report import FoldReport
from previously.settings import DEFAULTS
from tests.end_to_end.runtime.echoing import kind_of, make_writer, part

NOVEL = Settings.of("novel", lore="off")


class Librarian:
    """A model that analyses fragments, and what it was asked."""

    def __init__(self) -> None:
        self.told = "Then {} happened at the mill."
        self.more: dict[str, list[str]] = {}
        self.model = ScriptedModel(self.answer)

    def answer(self, request: ModelRequest) -> str:
        if kind_of(request) != "analysis":
            return "Maya did all that is told here at the mill, and more than that, and came home."
        word = re.findall(r"event\d+\w*", part(request, "fragment"))
        return json.dumps({"summary_update": self.told.format(word[0] if word else "nothing"), **self.more})

    @property
    def asked(self) -> list[ModelRequest]:
        return [one for one in self.model.requests if kind_of(one) == "analysis"]


class Desk:
    """A novel with its librarian."""

    def __init__(self, story: BlockingStory, librarian: Librarian) -> None:
        self.story, self.librarian = story, librarian
        self.model = librarian.model

    def write(self, count: int, start: int = 0) -> FoldReport:
        """Save fragments, each followed by what is due."""
        report = self.story.fold()
        for number in range(start, start + count):
            self.story.add("assistant", f"And so it came to event{number} for Maya and Bram.")
            report = self.story.fold()
        return report

    def summary(self) -> str:
        recap = self.story.recap()
        return recap.text if recap else ""

    def events(self) -> list[int]:
        """The events that the summary tells, in order."""
        return [int(number) for number in re.findall(r"event(\d+)", self.summary())]

    def shown(self, **asked: object) -> str:
        return "\n".join(one.text for one in self.story.view(6_000, **asked).messages)  # type: ignore[arg-type]


@pytest.fixture
def desk() -> Iterator[Desk]:
    yield from opened(NOVEL)


def opened(settings: Settings) -> Iterator[Desk]:
    librarian = Librarian()
    ticks = count(0, 7_200)
    writer = make_writer(librarian.model, lambda: float(next(ticks)))
    with BlockingMemory(":memory:", settings=settings, writer=writer) as memory:
        yield Desk(memory.story("novel"), librarian)


def analysed_after_each(desk: Desk) -> bool:
    desk.write(1)
    once = len(desk.librarian.asked)
    desk.write(2, 1)
    return once == 1 and len(desk.librarian.asked) == 3 and [at for at, _ in desk.story.analyses()] == [0, 1, 2]


def gives_update_and_signals(desk: Desk) -> bool:
    desk.librarian.more = {"events": ["Maya came"], "state_changes": ["Maya: at the mill"], "open_threads": ["Why?"]}
    desk.write(1)
    ((_, found),) = desk.story.analyses()
    return found.summary_update == "Then event0 happened at the mill." and found.signals.open_threads == ("Why?",)


def signals_are_in_the_view(desk: Desk) -> bool:
    state = ["The lantern / condition: broken", "Maya / place: the mill"]
    desk.librarian.more = {"state_changes": state, "open_threads": ["Maya owes Bram 40 crowns."]}
    desk.write(1)
    shown = desk.shown()
    overtaken = state[1] not in shown  # the newest messages name her, and know better
    return "Maya owes Bram 40 crowns." in shown and state[0] in shown and overtaken


def threads_close(desk: Desk) -> bool:
    desk.librarian.more = {"open_threads": ["Maya owes Bram 40 crowns."]}
    desk.write(1)
    desk.librarian.more = {"resolved_threads": ["T1: She paid all forty."]}
    desk.write(1, 1)
    (settled,) = desk.story.threads(everything=True)
    told = part(desk.librarian.asked[-1], "open_threads") == "T1 Maya owes Bram 40 crowns."
    return told and settled.thread.outcome == "She paid all forty." and desk.story.threads() == []


def deferred(desk: Desk) -> bool:
    desk.write(4)
    nothing_yet = desk.summary() == ""
    desk.write(3, 4)
    return nothing_yet and desk.events() == [0, 1, 2]


def newest_not_folded(desk: Desk) -> bool:
    desk.write(12)
    return desk.events() == list(range(8))


def threshold_is_a_setting(desk: Desk) -> bool:
    desk.story.set(["apply_after=1"])
    desk.write(6)
    return desk.events() == [0, 1, 2, 3, 4]


def short_story(desk: Desk) -> bool:
    return desk.write(3).stopped == "the newest 4 fragments wait until others follow them"


def newest_analysis_counts(desk: Desk) -> bool:
    desk.write(8)
    desk.librarian.told = "Rather, {} was a dream."
    desk.story.analyze(1, again=True)
    desk.story.fold()
    return "Rather, event1 was a dream." in desk.summary() and "Then event1 " not in desk.summary()


def several_analyses_are_kept(desk: Desk) -> bool:
    desk.write(1)
    desk.story.analyze(0, again=True)
    made = [one for one in desk.story.log() if one.made.kind is Kind.ANALYSIS]
    return len(made) == 2 and made[1].made.replaces == made[0].id and len(desk.story.analyses()) == 1


def no_change_no_call(desk: Desk) -> bool:
    desk.write(6)
    before = len(desk.librarian.asked)
    desk.story.edit(2, desk.story.messages(2, 2)[0].entry.message.text)
    desk.story.hide(3)
    desk.story.unhide(3)
    desk.story.fold()
    return len(desk.librarian.asked) == before


def change_one_call(desk: Desk) -> bool:
    desk.write(8)
    before = len(desk.librarian.asked)
    desk.story.edit(2, "And so it came to event99 for Maya and Bram.")
    desk.story.fold()
    return len(desk.librarian.asked) == before + 1 and desk.events() == [0, 1, 99, 3]


def bounded(desk: Desk) -> bool:
    desk.story.set(["summary_characters=400", "summary_target_characters=200", "apply_after=0"])
    sizes = []
    for number in range(40):
        desk.write(1, number)
        sizes.append(len(desk.summary()))
    uncut = not desk.summary().startswith("... ") and bool(desk.story.chapters())  # a chapter closes before that
    return max(sizes) <= 400 and uncut and desk.events()[-1] == 39


def older_goes_first(desk: Desk) -> bool:
    desk.story.set(["summary_characters=300", "summary_target_characters=200", "apply_after=0"])
    desk.write(20)
    return desk.events() == list(range(desk.events()[0], 20)) and desk.events()[0] > 10


def as_it_is_below_the_maximum(desk: Desk) -> bool:
    desk.story.set(["apply_after=0"])
    desk.write(20)
    return desk.events() == list(range(20))


def guarded(desk: Desk) -> bool:
    for key in ("summary_characters", "summary_target_characters"):
        with pytest.raises(BadInput, match="at least 100"):
            desk.story.set([f"{key}=99"])
    return True


def target_at_most_the_maximum(desk: Desk) -> bool:
    desk.story.set(["summary_characters=200", "summary_target_characters=5000", "apply_after=0"])
    desk.write(12)
    return len(desk.summary()) <= 200


def in_the_context(desk: Desk) -> bool:
    desk.write(16)
    return "# Previously in this story\n\nThen event0 happened" in desk.shown()


def can_be_left_out(desk: Desk) -> bool:
    desk.write(16)
    return "Then event0 happened" not in desk.shown(exclude=["recap"])


def before_a_fragment(desk: Desk) -> bool:
    desk.story.set(["tail_messages=2"])
    desk.write(30)
    desk.librarian.told = "Rather, {} was a dream."
    desk.story.analyze(3, again=True)
    desk.story.fold()
    shown = desk.shown(before=20)
    told = [int(number) for number in re.findall(r"event(\d+) (?:happened|was a dream)", shown)]
    verbatim = [int(number) for number in re.findall(r"came to event(\d+)", shown)]
    return sorted({*told, *verbatim}) == list(range(20)) and "Rather, event3" in shown


def derived_from_signals(desk: Desk) -> bool:
    desk.librarian.told, desk.librarian.more = "", {"events": ["Maya lost the lamp"]}
    desk.story.set(["apply_after=0"])
    desk.write(1)
    return desk.summary() == "Maya lost the lamp." and desk.story.gaps() == []


def contradictions(desk: Desk) -> bool:
    desk.librarian.more = {"contradictions": ["Maya cannot be at the mill: it burned down"]}
    desk.write(1)
    ((_, found),) = desk.story.analyses()
    return found.contradictions == ("Maya cannot be at the mill: it burned down",)


def named_and_why(desk: Desk) -> bool:
    desk.story.set(["review=true", "apply_after=0"])
    report = desk.write(3)
    return (
        desk.story.gaps() == [Gap(at, "missing_analysis") for at in range(3)]
        and report.stopped == "message 0 stops the librarian's summary: missing_analysis"
    )


def contiguous(desk: Desk) -> bool:
    """All but the second are approved: nothing behind it is applied. Then it is, and the rest follows."""
    desk.story.set(["review=true", "apply_after=0"])
    for number in range(4):
        desk.story.add("assistant", f"And so it came to event{number} for Maya and Bram.")
    held: dict[int, int] = {}
    for _ in range(8):
        desk.story.fold()
        for one in desk.story.pending():
            if one.made.kind is Kind.ANALYSIS and one.made.span.first != 1:
                desk.story.approve(one.id)
            elif one.made.kind is Kind.ANALYSIS:
                held[one.made.span.first] = one.id
    stops = desk.events() in ([], [0]) and desk.story.gaps() == [Gap(1, "missing_analysis")]
    desk.story.approve(held[1])
    desk.story.fold()
    return stops and desk.events() == [0, 1, 2, 3]


def empty_stops(desk: Desk) -> bool:
    desk.story.set(["apply_after=0"])
    desk.write(2)
    desk.story.add("assistant", "And so it came to event2 for Maya and Bram.")
    _commit_empty(desk.story, 2)
    report = desk.write(1, 3)
    return (
        desk.story.gaps() == [Gap(2, "empty_summary_update")]
        and report.stopped == "message 2 stops the librarian's summary: empty_summary_update"
        and desk.events() == [0, 1]
    )


def _commit_empty(story: BlockingStory, at: int) -> None:
    """An analysis without a word for the summary, as another program may leave one."""
    inner, (item,) = story._inner, story.messages(at, at)
    version = NewVersion(
        kind=Kind.ANALYSIS,
        scope=SPAN_SCOPE,
        span=Span(at, at),
        key=span_key([item.entry.digest]),
        before=None,
        text=render_analysis(Analysis("")),
        carry="",
        status=Status.COMMITTED,
        made_by="model",
        reason="",
        at="2026-01-01",
        anchor=item.node,
        reach=1,
        first=item.entry.digest,
    )
    story._run(inner._access.change(lambda change: change.tables.versions.commit(change.key, version)))


def watermark_is_no_number(desk: Desk) -> bool:
    desk.write(10)
    recap = desk.story.recap()
    return recap is not None and recap.span == Span(0, 5) and recap.made_by == "librarian"


def applying_asks_nobody(desk: Desk) -> bool:
    desk.write(12)
    return len(desk.model.requests) == 12


def follows_the_branch(desk: Desk) -> bool:
    desk.write(10)
    desk.story.branch("other", 6)
    desk.story.switch("other")
    before = len(desk.model.requests)
    desk.story.fold()
    return desk.events() == [0, 1, 2, 3, 4, 5] and len(desk.model.requests) == before


BEHAVIOUR: dict[str, Callable[[Desk], bool]] = {
    "a saved fragment is analysed": analysed_after_each,
    "an analysis gives a summary update and structured signals": gives_update_and_signals,
    "signals are told in the context": signals_are_in_the_view,
    "open threads are told by number, and settled by it": threads_close,
    "eligible updates are appended to the summary, deferred": deferred,
    "the newest positions are not folded yet": newest_not_folded,
    "the threshold can be set": threshold_is_a_setting,
    "below the threshold nothing is applied, and it is said": short_story,
    "a re-analysis is one record more": several_analyses_are_kept,
    "deferred application uses the latest analysis of each fragment": newest_analysis_counts,
    "a fragment whose words did not change is not analysed again": no_change_no_call,
    "a fragment whose words changed is analysed again, and no other": change_one_call,
    "application is contiguous and does not skip gaps": contiguous,
    "a missing analysis stops it, with fragment and reason": named_and_why,
    "an empty update stops it, with fragment and reason": empty_stops,
    "the watermark is the last applied fragment": watermark_is_no_number,
    "application itself asks no model": applying_asks_nobody,
    "the summary stays below its maximum": bounded,
    "it is kept as it is below it": as_it_is_below_the_maximum,
    "older detail is discarded first": older_goes_first,
    "both bounds are at least 100": guarded,
    "the target is at most the maximum": target_at_most_the_maximum,
    "the defaults are 12,000 and 9,000": lambda desk: (
        (DEFAULTS["summary_characters"], DEFAULTS["summary_target_characters"]) == (12_000, 9_000)
    ),
    "the summary stands in the context": in_the_context,
    "it can be excluded": can_be_left_out,
    "the summary before a fragment uses the latest analyses": before_a_fragment,
    "an update is derived from the signals": derived_from_signals,
    "contradictions are reported": contradictions,
    "memory forks with the story": follows_the_branch,
}


@pytest.mark.parametrize("sentence", BEHAVIOUR)
def test_behaviour(sentence: str, desk: Desk) -> None:
    assert BEHAVIOUR[sentence](desk)


def test_defect_1_the_summary_of_a_long_story_stays_bounded(desk: Desk) -> None:
    desk.story.set(["summary_characters=600", "summary_target_characters=400", "apply_after=0"])
    for number in range(120):
        desk.story.add("assistant", f"And so it came to event{number} for Maya and Bram.")
    desk.story.fold()
    assert len(desk.summary()) <= 600
    assert desk.events()[-1] == 119


def test_defect_2_a_view_before_a_fragment_has_all_that_was_told_before_it(desk: Desk) -> None:
    desk.story.set(["tail_messages=1", "apply_after=0"])
    desk.write(40)
    desk.story.close_chapter("One", 19)
    desk.story.fold()
    shown = desk.shown(before=35)
    assert "Chapter 1" in shown or "story so far" in shown, "closed chapters are told"
    assert {int(number) for number in re.findall(r"event(\d+)", shown)} >= set(range(20, 35))
    assert "event35" not in shown


def test_defect_3_contradictions_are_looked_for_against_what_is_known(desk: Desk) -> None:
    desk.write(10)
    so_far = part(desk.librarian.asked[-1], "story_so_far")
    assert "Then event4 happened" in so_far
    desk.story.close_chapter("One")
    desk.story.fold()
    desk.write(8, 10)
    so_far = part(desk.librarian.asked[-1], "story_so_far")
    assert "Then event12 happened" in so_far, "the summary of this chapter"
    assert "Then event4 happened" in so_far, "and of the one before, in full"


def test_defect_3_a_persons_summary_stays_and_is_gone_on_from(desk: Desk) -> None:
    desk.write(10)
    desk.story.write("recap", "My own summary.\n\nIt stays.")
    desk.write(6, 10)
    assert desk.summary().startswith("My own summary.\n\nIt stays.")
    assert desk.events() == [6, 7, 8, 9, 10, 11]
    assert "My own summary." in part(desk.librarian.asked[-1], "story_so_far")


def test_defect_4_nothing_is_applied_twice_when_the_last_applied_is_deleted(desk: Desk) -> None:
    desk.write(12)
    assert desk.events() == list(range(8))
    desk.story.delete(7)
    desk.story.fold()
    assert desk.events() == list(range(7))
    desk.write(2, 12)
    assert desk.events() == [*range(7), 8, 9]


def test_defect_5_a_reanalysis_behind_the_anchor_changes_the_summary(desk: Desk) -> None:
    desk.write(20)
    desk.librarian.told = "Rather, {} was a dream."
    desk.story.analyze(2, again=True)
    desk.story.fold()
    assert "Rather, event2 was a dream." in desk.summary()
    assert desk.events() == list(range(16))


def test_defect_6_markers_alone_advance_the_summary() -> None:
    for desk in opened(replace(NOVEL, apply_after=0)):
        desk.write(2)
        desk.story.add("assistant", "***")
        desk.story.add("assistant", "* * *")
        desk.story.fold()
        recap = desk.story.recap()
        assert recap is not None
        assert recap.span == Span(0, 3)
        assert desk.events() == [0, 1]
        assert len(desk.librarian.asked) == 2


def test_a_failed_reanalysis_takes_nothing_away(desk: Desk) -> None:
    desk.write(10)
    before = desk.summary(), desk.story.analyses()
    desk.model._reply = ""
    report = desk.story.analyze(1, again=True)
    assert [done.status for done in report.folds] == ["refused"]
    desk.story.fold()
    assert (desk.summary(), desk.story.analyses()) == before


def down(request: ModelRequest) -> ModelFailure:
    return ModelFailure(FailureKind.SERVER, "The server said 500.")


def test_what_stood_in_for_the_librarian_leaves_the_summary_when_it_is_back(desk: Desk) -> None:
    answer, desk.model._reply = desk.model._reply, down
    desk.write(8)
    assert "happened" not in desk.summary()
    assert {one.made.status for one in desk.story.log() if one.made.kind is Kind.ANALYSIS} >= {Status.PROVISIONAL}
    desk.model._reply = answer
    for _ in range(4):
        desk.story.fold()
    assert desk.events() == [0, 1, 2, 3]
    assert desk.summary().count("happened") == 4
