"""What updates left unnoted: gaps and episodes cover what recaps tell of, and nothing beyond it is wanted."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from previously.core.path import Span
from previously.core.versions import Cost, Kind, NewVersion, Status, Version
from previously.folds.tiles import Tile, find_missing
from previously.folds.update import Part


def tile(first: int, last: int, *, kind: Kind = Kind.NOTE, status: Status = Status.COMMITTED) -> Tile:
    made = NewVersion(
        kind=kind, scope="span", span=Span(first, last), key=b"", before=None, text="", carry="", status=status,
        made_by="model", reason="", at="", model="", prompt_hash="", cost=Cost(), replaces=None,
    )  # fmt: skip
    return Tile(Span(first, last), Version(first, made, status is Status.COMMITTED))


def spans(first: int, lengths: list[tuple[int, int]]) -> list[Span]:
    """Spans one behind the other, each so far behind the one before it and so long."""
    found: list[Span] = []
    for gap, length in lengths:
        first += gap
        found.append(Span(first, first + length - 1))
        first += length
    return found


def test_an_episode_without_a_note_wants_its_lists_and_a_note_without_an_episode_that() -> None:
    (wanted,) = find_missing([Span(0, 9)], [tile(0, 9)], [], 60, anew=False)
    assert (wanted.span, wanted.part, wanted.again) == (Span(0, 9), Part.LISTS, False)
    (wanted,) = find_missing([Span(0, 9)], [], [tile(0, 9)], 3, anew=False)
    assert (wanted.span, wanted.part) == (Span(0, 9), Part.EPISODE), "in one piece: the note would stay over the others"
    assert find_missing([Span(0, 9)], [tile(0, 9)], [tile(0, 9)], 60, anew=False) == []


def test_a_tile_that_reaches_over_two_recaps_is_wanted_too() -> None:
    (wanted,) = find_missing([Span(0, 4), Span(5, 9)], [tile(0, 9)], [], 60, anew=False)
    assert (wanted.span, wanted.part) == (Span(0, 9), Part.LISTS)


def test_a_run_without_an_episode_is_asked_for_in_pieces() -> None:
    found = find_missing([Span(0, 29)], [tile(0, 9)], [tile(0, 9)], 8, anew=False)
    assert [(one.span, one.part) for one in found] == [
        (Span(10, 19), Part.SPAN), (Span(20, 29), Part.SPAN),
    ]  # fmt: skip


def test_what_stands_in_for_better_is_wanted_again_when_all_is_made_anew() -> None:
    loose = tile(0, 9, status=Status.PROVISIONAL)
    assert find_missing([Span(0, 9)], [tile(0, 9)], [loose], 60, anew=False) == []
    (wanted,) = find_missing([Span(0, 9)], [tile(0, 9)], [loose], 60, anew=True)
    assert (wanted.part, wanted.stand_ins, wanted.again) == (Part.LISTS, (loose.note,), True)
    (both,) = find_missing([Span(0, 9)], [loose], [loose], 60, anew=True)
    assert (both.part, both.again) == (Part.SPAN, True)


def test_where_no_update_told_nothing_is_wanted() -> None:
    assert find_missing([], [tile(0, 9)], [], 60, anew=True) == []
    assert find_missing([Span(10, 19)], [tile(0, 9), tile(10, 19)], [tile(10, 19)], 60, anew=False) == []


RUNS = st.lists(st.tuples(st.integers(0, 4), st.integers(1, 9)), max_size=6)


@given(RUNS, RUNS, st.integers(1, 12), st.booleans(), st.booleans())
def test_gaps_and_episodes_cover_what_is_told(
    told: list[tuple[int, int]], noted: list[tuple[int, int]], longest: int, overlap: bool, anew: bool
) -> None:
    region = spans(0, told)
    if overlap and region:  # a chapter and the recap it closed with tell of the same messages
        region.append(Span(region[0].first, region[-1].last))
    episodes = [tile(span.first, span.last, kind=Kind.EPISODE) for span in spans(0, noted)]
    wanted = find_missing(region, episodes, [], longest, anew=anew)

    asked = [at for one in wanted if one.part is Part.SPAN for at in range(one.span.first, one.span.last + 1)]
    covered = {at for one in episodes for at in range(one.span.first, one.span.last + 1)}
    inside = {at for span in region for at in range(span.first, span.last + 1)}
    assert len(asked) == len(set(asked)), "nothing is asked for twice"
    assert set(asked) == inside - covered
    most = max(longest + 1, longest * 3 // 2)  # equal pieces: none much longer, and none of a message or two
    assert all(len(one.span) <= most for one in wanted if one.part is Part.SPAN)
    lists = {one.span for one in wanted if one.part is Part.LISTS}
    whole = {one.span for one in episodes if inside.issuperset(range(one.span.first, one.span.last + 1))}
    assert lists == whole, "an episode that stands wholly in the region wants its note"
    assert [one.span for one in wanted] == sorted(one.span for one in wanted)
