"""What is applied to the summary, from where, up to where, and what is cut when it has grown too long."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from previously.core.quote_lines import PREFIX
from previously.core.scene import Analysis, Fragment
from previously.folds.summary import (
    BETWEEN,
    LEAST_CHARACTERS,
    MAX_CHARACTERS,
    TARGET_CHARACTERS,
    Gap,
    Summary,
    append_text,
    apply_updates,
    compact_summary,
    find_gaps,
    move_cuts,
    parse_cuts,
    render_cuts,
)


def path(*updates: str | bool | None, first: int = 0) -> list[Fragment]:
    """A path of fragments by their updates: None for no analysis, False for what is no fragment."""
    return [
        Fragment(position, update is not False, Analysis(update) if isinstance(update, str) else None)
        for position, update in enumerate(updates, first)
    ]


def test_the_newest_positions_are_not_applied() -> None:
    found = apply_updates(path("a", "b", "c", "d", "e", "f"))
    assert (found.applied, found.text, found.through, found.gap) == ((0, 1), f"a{BETWEEN}b", 1, None)
    assert apply_updates(path("a", "b", "c", "d")).applied == ()
    assert apply_updates(path("a", "b"), threshold=0).applied == (0, 1)
    assert apply_updates(path("a", "b"), threshold=-3).applied == (0, 1)
    assert apply_updates(path("a", "b"), threshold=9).through == -1


def test_a_run_that_does_not_start_at_the_front_is_applied_like_any_other() -> None:
    found = apply_updates(path("c", "d", "e", first=20), start=21, threshold=1)
    assert (found.applied, found.text, found.through) == ((21,), "d", 21)


def test_nothing_to_apply_leaves_the_anchor_where_it_is() -> None:
    assert apply_updates([], 0) == apply_updates(path("a"), 0, 4)
    assert apply_updates(path("a", "b"), 2, 0).through == 1


def test_every_gap_is_listed() -> None:
    fragments = path("a", None, "b", "  ", False, None, "c", "d")
    assert find_gaps(fragments, 2) == (
        Gap(1, "missing_analysis"),
        Gap(3, "empty_summary_update"),
        Gap(5, "missing_analysis"),
    )
    assert find_gaps(fragments, 7) == ()


@pytest.mark.parametrize(
    ("summary", "addition", "whole"),
    [("", "b", "b"), ("a", "", "a"), ("a", "b", "a\nb"), ("a\n", "b", "a\nb"), ("", "", ""), ("  ", "b", "b")],
)
def test_what_is_appended_leaves_what_stood_there(summary: str, addition: str, whole: str) -> None:
    assert append_text(summary, addition) == whole


updates = st.lists(st.one_of(st.none(), st.just(False), st.sampled_from(["a", "b", "cc", " ", ""])), max_size=25)


@given(updates, st.integers(0, 8))
def test_application_never_skips_a_gap(said: list[str | bool | None], threshold: int) -> None:
    fragments = path(*said)
    found = apply_updates(fragments, 0, threshold)
    listed = find_gaps(fragments, threshold)
    assert found.gap == (listed[0] if listed else None)
    before = len(fragments) - threshold if found.gap is None else found.gap.position
    assert found.through == max(0, before) - 1
    assert found.applied == tuple(one.position for one in fragments[: found.through + 1] if one.is_fragment)
    assert found.text == BETWEEN.join(str(said[position]).strip() for position in found.applied)


@given(updates, st.lists(st.integers(0, 8), max_size=5))
def test_applying_step_by_step_applies_each_once_and_gives_the_whole(
    said: list[str | bool | None], thresholds: list[int]
) -> None:
    """A summary that grows while the story does is the summary of the whole."""
    fragments = path(*said)
    summary, start = "", 0
    done: list[int] = []
    for threshold in sorted([*thresholds, 0], reverse=True):
        found = apply_updates(fragments, start, threshold)
        summary, start = append_text(summary, found.text), max(start, found.through + 1)
        done += found.applied
    assert summary == apply_updates(fragments, 0, 0).text
    assert len(done) == len(set(done))


def test_a_short_summary_is_kept_as_it_is() -> None:
    summary = "x" * MAX_CHARACTERS
    assert compact_summary(summary) is summary


def test_a_long_summary_keeps_its_newest_part_from_a_sentence_on() -> None:
    summary = " ".join(f"Maya came to the mill for the {number}th time." for number in range(400))
    short = compact_summary(summary)
    assert TARGET_CHARACTERS * 0.75 < len(short) <= TARGET_CHARACTERS
    assert short.startswith(f"{PREFIX}Maya came")
    assert summary.endswith(short.removeprefix(PREFIX))


def test_without_a_sentence_it_is_cut_at_a_word_and_without_a_word_anywhere() -> None:
    words = compact_summary("lantern " * 3_000)
    assert words.removeprefix(PREFIX).startswith("lantern ")
    assert len(compact_summary("x" * 20_000)) == TARGET_CHARACTERS


@given(st.text("ab. \n", max_size=600), st.integers(-50, 500), st.integers(-50, 700))
def test_compaction_is_bounded_and_keeps_the_end(summary: str, most: int, target: int) -> None:
    short = compact_summary(summary, most, target)
    ceiling = max(LEAST_CHARACTERS, most)
    if len(summary) <= ceiling:
        assert short == summary
    else:
        assert len(short) <= min(ceiling, max(LEAST_CHARACTERS, target))
        assert short.startswith(PREFIX)
        assert summary.endswith(short.removeprefix(PREFIX))


@given(st.lists(st.text("ab. ", min_size=1, max_size=80), max_size=60))
def test_a_summary_that_is_compacted_as_it_grows_stays_bounded(added: list[str]) -> None:
    summary = ""
    for update in added:
        summary = compact_summary(append_text(summary, update), 200, 150)
        assert len(summary) <= 200


@pytest.mark.parametrize(
    ("carry", "shift", "cuts"),
    [
        ("", 3, ()),
        ("updated", 0, ()),
        (Summary("", ((3, 1),), 0).carry, 0, ()),
        (Summary("", ((3, 1),), 3).carry, 0, ((0, 2),)),
        (f"closed {render_cuts([(0, 2), (9, 11)])}", 0, ((0, 2), (9, 11))),
        (f"closed {render_cuts([(0, 2), (9, 11)])}", 2, ((0, 4), (9, 13))),
        (f"closed {render_cuts([(0, 2), (9, 11)])}", -1, ((0, 2), (8, 11))),
    ],
)
def test_cuts_are_as_long_as_they_may_be(carry: str, shift: int, cuts: tuple[tuple[int, int], ...]) -> None:
    moved = move_cuts(carry, shift)
    assert parse_cuts(moved) == cuts
    assert moved.split("{")[0] == carry.split("{")[0], "what else it carries stays"
