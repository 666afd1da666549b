"""What a list changes on a path: nothing is lost, and the end of the path is what the client shows."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from previously.core.align import KnownEntry
from previously.core.digests import match_key
from previously.core.path import Put, Reuse
from previously.recognition.follow import DEEP_NOTE, PathChange, SeenNote, follow, is_put, is_same_story, sort_notes
from tests.unit.recognition.lists import LINES, after, hidden_twin, keys, lines_of, path, pieces, said

STORY = ["a Late.", "u I stamp the rain off.", "a Sit down.", "u I sit by the stove.", "a Tea?", "u Please."]


def shown(known: Sequence[KnownEntry], following: PathChange, lines: Sequence[str]) -> list[str]:
    return [line for line, hidden in after(known, following, lines) if not hidden]


def followed(
    lines: Sequence[str], sent: Sequence[str], *, hidden: Sequence[int] = (), unsettled: Sequence[int] = ()
) -> tuple[PathChange, list[tuple[str, bool]]]:
    known = path(*lines, hidden=hidden)
    found = follow(known, pieces(*sent), {100 + at for at in unsettled})
    return found, after(known, found, lines)


@pytest.mark.parametrize(
    ("sent", "path_then"),
    [
        (STORY, STORY),
        ([*STORY, "a Here.", "u Thanks."], [*STORY, "a Here.", "u Thanks."]),
        (STORY[3:], STORY),  # trimmed
        ([*STORY[3:], "a Here."], [*STORY, "a Here."]),
        ([*STORY[:2], "a Sit, then.", *STORY[3:]], [*STORY[:2], "a Sit, then.", *STORY[3:]]),
        (["a Late!", *STORY[1:]], ["a Late!", *STORY[1:]]),
        ([*STORY[:5], "u No, thanks."], [*STORY[:5], "u No, thanks."]),
        (STORY[:5], STORY[:5]),
        (STORY[:4], STORY[:4]),
        ([*STORY[:2], STORY[3], STORY[2], *STORY[4:]], [*STORY[:2], STORY[3], STORY[2], *STORY[4:]]),  # moved
        ([*STORY[:2], "s The bell rings.", *STORY[2:]], [*STORY[:2], "s The bell rings.", *STORY[2:]]),
    ],
)
def test_the_path_is_what_the_list_shows_behind_what_was_trimmed(sent: list[str], path_then: list[str]) -> None:
    _, then = followed(STORY, sent)
    assert then == [(line, False) for line in path_then]


def test_the_same_list_changes_nothing() -> None:
    found, _ = followed(STORY, STORY)
    assert found.changes_nothing
    assert (found.positions, found.matched, found.removed) == (tuple(range(6)), 6, 0)


def test_a_hole_is_hidden_and_comes_back_when_it_is_shown_again() -> None:
    _, then = followed(STORY, [*STORY[:2], *STORY[4:]])
    assert [line for line, hidden in then if hidden] == STORY[2:4]
    _, again = followed(STORY, STORY, hidden=(2, 3))
    assert again == [(line, False) for line in STORY]


def test_hidden_messages_do_not_have_to_be_sent() -> None:
    found, then = followed(STORY, [*STORY[:2], *STORY[4:], "a Here."], hidden=(2, 3))
    assert then == [(line, at in (2, 3)) for at, line in enumerate([*STORY, "a Here."])]
    assert found.positions == (0, 1, 4, 5, 6)


def test_what_was_in_one_list_only_leaves_the_path_instead_of_being_hidden() -> None:
    lines = [*STORY[:2], "u [The wind howls.]", *STORY[2:]]
    _, then = followed(lines, STORY, unsettled=[2])
    assert then == [(line, False) for line in STORY]
    _, settled = followed(lines, STORY)
    assert settled[2] == (lines[2], True)


@pytest.mark.parametrize(
    ("expected", "hides"),
    [(6, True), (5, True), (4, False), (3, True), (None, True)],
)
def test_how_long_the_history_is_tells_deleted_from_hidden(expected: int | None, hides: bool) -> None:
    known = path(*STORY)
    found = follow(known, pieces(*STORY[:2], *STORY[4:]), (), expected)
    then = after(known, found, STORY)
    assert [line for line, hidden in then if hidden] == (STORY[2:4] if hides else [])
    assert len(then) == (6 if hides else 4)


def test_of_hidden_messages_that_were_hidden_before_none_is_deleted() -> None:
    known = path(*STORY, hidden=(2, 3))
    found = follow(known, pieces(*STORY[:2], *STORY[4:]), (), 6)
    assert found.changes_nothing


@pytest.mark.parametrize(
    ("sent", "replied"),
    [
        (["a Late.", "u I stamp the rain off."], 102),
        (["a Late.", "u I stamp the rain off.", "a Sit!"], None),
        (["a Late.", "u I stamp the rain off.", "a Sit down."], None),
        (["a Late.", "u I stamp off the rain."], None),
        (["a Late."], None),
    ],
)
def test_the_reply_that_another_is_asked_for_in_place_of(sent: list[str], replied: int | None) -> None:
    found, _ = followed(STORY[:3], sent)
    assert found.replied == replied


@pytest.mark.parametrize(
    ("sent", "fork"),
    [
        (STORY[:5], False),  # the newest message taken back
        (STORY[:4], False),
        (STORY[:3], True),  # two user messages gone: another way
        ([*STORY[:3], "u I stand."], True),
        ([*STORY[:5], "u No."], False),
        ([*STORY[:3], "u I stand.", "a Tea?", "u No."], False),
        ([STORY[0], "u I knock.", STORY[2], "u I stand.", STORY[4], "u No."], True),
        (STORY[2:], False),
        ([*STORY[:1], *STORY[3:]], False),
    ],
)
def test_a_list_that_goes_back_beyond_the_newest_turn_is_another_branch(sent: list[str], fork: bool) -> None:
    assert followed(STORY, sent)[0].fork is fork


def test_a_message_that_moved_keeps_its_entry() -> None:
    found, _ = followed(STORY, [STORY[0], STORY[3], STORY[1], STORY[2], *STORY[4:]])
    put = [piece for splice in found.script for piece in splice.pieces]
    assert any(isinstance(piece, Reuse) for piece in put)
    assert not any(isinstance(piece, Put) for piece in put)


def test_a_message_that_moved_into_a_trimmed_list_is_not_there_twice() -> None:
    found, then = followed(STORY, [STORY[2], STORY[1], *STORY[3:]])
    assert then == [(line, False) for line in [STORY[0], STORY[2], STORY[1], *STORY[3:]]]
    assert found.positions == (1, 2, 3, 4, 5)


def test_what_is_said_again_at_the_end_has_not_moved() -> None:
    _, then = followed(STORY, [*STORY[2:], "a Here.", STORY[1]])
    assert then == [(line, False) for line in [*STORY, "a Here.", STORY[1]]]


LONG_STORY = [f"{'au'[at % 2]} Message {at} of a long story." for at in range(30)]


@pytest.mark.parametrize(
    ("at", "text", "hides"),
    [
        (5, "ok", False),  # what the list begins with was said long before, too
        (20, "ok", True),  # few were hidden
        (1, "ok", True),  # the story began with it
        (5, "I close the door behind me.", True),  # nobody says that twice by chance
    ],
)
def test_a_short_message_that_was_said_long_before_hides_nothing(at: int, text: str, hides: bool) -> None:
    story = [*LONG_STORY[:at], f"u {text}", *LONG_STORY[at + 1 :]]
    sent = [f"u {text}", *LONG_STORY[26:]]
    _, then = followed(story, sent)
    assert [line for line, hidden in then if not hidden][-len(sent) :] == sent
    assert any(hidden for _, hidden in then) is hides


def test_a_following_can_be_moved_along_a_longer_path() -> None:
    found, _ = followed(STORY, [*STORY[:2], "a Sit, then.", *STORY[3:]])
    moved = found.shifted(10)
    assert [splice.at for splice in moved.script] == [splice.at + 10 for splice in found.script]
    assert moved.positions == tuple(position + 10 for position in found.positions)


def test_is_put_knows_the_very_message() -> None:
    sent = pieces(*STORY, "u Thanks.")
    found = follow(path(*STORY), sent, ())
    assert [is_put(piece, found.script) for piece in sent] == [False] * 6 + [True]


@pytest.mark.parametrize(
    ("stored", "sent", "same"),
    [
        (STORY, STORY[:3], True),
        (STORY, ["a Late.", "u Something else altogether."], False),  # a shared greeting is a new story
        (STORY, ["a Late."], False),
        (["a Late.", "u Hi."], ["a Late."], True),  # a story that has hardly begun
        (STORY, ["a Late.", "u Please."], False),  # short words prove nothing
        (STORY, ["a Other.", "u I stamp the rain off."], True),  # longer ones do
        (STORY, ["u I stamp the rain off."], False),  # but not alone
        (STORY, ["a Tea?", "u Please."], True),  # nor two neighbours by chance
        (STORY, ["u Please.", "a Tea?"], False),
        (["u Hi", "a Ho", "a He"], ["a Ho", "a He"], False),  # nobody has said anything
        ([], ["a Late."], False),
        (STORY, [], False),
    ],
)
def test_what_makes_a_list_and_a_path_the_same_story(stored: list[str], sent: list[str], same: bool) -> None:
    assert is_same_story(path(*stored), pieces(*sent)) is same


def test_neighbours_are_those_on_screen_and_those_of_the_path() -> None:
    hidden = path("a Late.", "u Hm.", "a Sit.", "u Ok.", hidden=(1, 2))
    assert is_same_story(hidden, pieces("a Late.", "u Ok."))
    assert is_same_story(hidden, pieces("a Sit.", "u Ok."))


NOTE = "s [Style: short.]"


def seen(note: str, before: str, behind: str, depth: int) -> SeenNote:
    return SeenNote(match_key(said(note)), match_key(said(before)), match_key(said(behind)), depth)


def test_a_system_message_is_furniture_the_first_time() -> None:
    found = sort_notes(pieces(*STORY[:4], NOTE, *STORY[4:]), keys(*STORY), ())
    assert lines_of(found.story) == STORY
    assert [(depth, piece.message.text) for depth, piece in found.notes] == [(2, NOTE[2:])]
    assert found.seen == (seen(NOTE, STORY[3], STORY[4], 2),)


def test_one_that_keeps_its_neighbours_while_the_story_goes_on_is_part_of_it() -> None:
    before = sort_notes(pieces(*STORY[:2], NOTE, *STORY[2:4]), keys(*STORY), ())
    found = sort_notes(pieces(*STORY[:2], NOTE, *STORY[2:]), keys(*STORY), before.seen)
    assert lines_of(found.story) == [*STORY[:2], NOTE, *STORY[2:]]


def test_one_that_moves_with_the_end_stays_furniture() -> None:
    before = sort_notes(pieces(*STORY[:2], NOTE, *STORY[2:4]), keys(*STORY), ())
    found = sort_notes(pieces(*STORY[:4], NOTE, *STORY[4:]), keys(*STORY), before.seen)
    assert lines_of(found.story) == STORY


def test_the_same_list_once_more_makes_no_note_a_message() -> None:
    sent = pieces(*STORY[:2], NOTE, *STORY[2:])
    before = sort_notes(sent, keys(*STORY), ())
    assert lines_of(sort_notes(sent, keys(*STORY), before.seen).story) == STORY


def test_one_of_the_path_or_deep_in_the_list_is_part_of_the_story() -> None:
    assert lines_of(sort_notes(pieces(NOTE, *STORY), keys(NOTE), ()).story) == [NOTE, *STORY]
    long = [f"u {number}" for number in range(DEEP_NOTE + 1)]
    assert lines_of(sort_notes(pieces(NOTE, *long), set(), ()).story) == [NOTE, *long]
    assert lines_of(sort_notes(pieces(NOTE, *long[1:]), set(), ()).story) == long[1:]


def test_narrators_who_stand_together_are_both_recognised() -> None:
    bell, rain = (
        "s The bell rings.",
        "s Rain.",
    )
    first = [*STORY[:2], bell, rain, *STORY[2:4]]
    before = sort_notes(pieces(*first), keys(*STORY), ())
    found = sort_notes(pieces(*first, *STORY[4:]), keys(*STORY), before.seen)
    assert lines_of(found.story) == [*first, *STORY[4:]]


@given(st.lists(LINES, max_size=10), st.sets(st.sampled_from(("s ok", "s Hello!", "s [Style: short.]"))))
def test_every_piece_is_of_the_story_or_a_note(lines: list[str], known: set[str]) -> None:
    sent = pieces(*lines)
    found = sort_notes(sent, keys(*known), ())
    both = sorted([*found.story, *(piece for _, piece in found.notes)], key=lambda piece: piece.index)
    assert both == sent
    assert len(found.notes) == len(found.seen)


@given(
    st.lists(LINES, max_size=10),
    st.lists(LINES, max_size=10),
    st.sets(st.integers(0, 9)),
    st.sets(st.integers(0, 9)),
    st.one_of(st.none(), st.integers(0, 12)),
)
def test_the_end_of_the_path_on_screen_is_the_list(
    lines: list[str], sent: list[str], hidden: set[int], unsettled: set[int], expected: int | None
) -> None:
    known = path(*lines, hidden=hidden)
    found = follow(known, pieces(*sent), {100 + at for at in unsettled}, expected)
    then = after(known, found, lines)
    visible = [line for line, is_hidden in then if not is_hidden]
    assert visible[len(visible) - len(sent) :] == sent
    assert [then[at][0] for at in found.positions] == sent
    assert found.changes_nothing == (then == after(known, follow(known, pieces(), ()), lines))


@given(st.lists(LINES, max_size=10), st.lists(LINES, max_size=10), st.sets(st.integers(0, 9)))
def test_following_the_same_list_again_changes_nothing(lines: list[str], sent: list[str], hidden: set[int]) -> None:
    known = path(*lines, hidden=hidden)
    then = after(known, follow(known, pieces(*sent), ()), lines)
    again = [hidden_twin(one) if then[at][1] else one for at, one in enumerate(path(*(line for line, _ in then)))]
    assert follow(again, pieces(*sent), ()).changes_nothing
