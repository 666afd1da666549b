"""The reason why something is left out says whose share of the budget was used up."""

from __future__ import annotations

from previously.core.path import Span
from previously.core.tokens import ESTIMATE
from previously.view.epoch import Epoch
from previously.view.memory import Remembered, fit_memories
from previously.view.reader import GAME_SHARES, SHARES
from previously.view.recipe import Recipe, parse_recipe, write_recipe
from previously.view.view import LeftOut, Reason, Section


def test_every_section_with_a_share_has_words() -> None:
    for section in (SHARES.keys() | GAME_SHARES.keys()) - {Section.TAIL}:
        assert LeftOut("", Reason.BUDGET, share_of=section).why.startswith("the room for ")


def test_lines_of_a_list_that_has_no_room_left() -> None:
    lines = [
        Remembered(Section.THREADS, f"- Who drew gate {number}?", None, "a thread", "a thread") for number in "123"
    ]
    kept, left_out = fit_memories(lines, {Section.THREADS: 20}, ESTIMATE, 0)
    assert (len(kept), [(out.what, out.why) for out in left_out]) == (
        1,
        [("2 lines of threads", "the room for threads is used up")],
    )


def test_another_reason_is_itself() -> None:
    assert LeftOut("message 3", Reason.HIDDEN).why == "hidden"


def test_the_whole_budget_is_not_the_share_of_a_section() -> None:
    assert LeftOut("messages 3-9", Reason.BUDGET).why == "the whole budget is used up"


def test_a_recipe_keeps_whose_share_was_used_up() -> None:
    cut = (
        LeftOut("a thread", Reason.BUDGET, share_of=Section.THREADS),
        LeftOut("message 3", Reason.BUDGET, Span(3, 3)),
    )
    epoch = Epoch(first=4, memories=(), cut=cut, told={}, by_hand="", counter="")
    kept = parse_recipe(*write_recipe(Recipe(epoch, 5, (Span(4, 5),), (), 2_000, ())))
    assert kept is not None and kept.epoch.cut == cut
