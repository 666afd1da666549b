"""Head and tail: by turns and by tokens, and never through a unit."""

from __future__ import annotations

import pytest

from previously.folds.conversation.compaction import ConversationPiece, find_head, find_tail_start


def pieces(drawn: str) -> list[ConversationPiece]:
    """A conversation as a drawing: `U` a request, `P` the pinned newest one, `s` a system message, digits units of so
    many hundred tokens; `a` to `i` the same, nearly all of it outputs, `.` such a unit without them."""
    sizes = {"U": 100, "P": 0, "s": 0, ".": 20} | {sign: 100 * (1 + "abcdefghi".index(sign)) for sign in "abcdefghi"}
    sizes |= {str(digit): 100 * digit for digit in range(10)}
    return [
        ConversationPiece(
            range(at, at + 1), sizes[sign], 20 if sign in "abcdefghi" else sizes[sign], sign in "UP", sign in "sP"
        )
        for at, sign in enumerate(drawn)
    ]


def parted(drawn: str, turns: int = 2, room: int = 10_000) -> str:
    start, whole = find_tail_start(pieces(drawn), turns, room)
    return (
        f"{drawn[:start]}|{drawn[start:]}"
        if start == whole
        else f"{drawn[:start]}|{drawn[start:whole]}!{drawn[whole:]}"
    )


@pytest.mark.parametrize(
    ("drawn", "turns", "room", "expected"),
    [
        ("sU1U1P1", 2, 10_000, "sU1|U1P1"),
        ("sU1U1P1", 1, 10_000, "sU1U1|P1"),
        ("sU1U1P1", 0, 10_000, "sU1U1P1|"),
        ("sU1U1P1", -3, 10_000, "sU1U1P1|"),
        ("sU1U1P1", 3, 10_000, "|sU1U1P1"),
        ("1U1P1", 2, 10_000, "|1U1P1"),
        ("sU1U11P11", 2, 300, "sU1U1|1P11"),
        ("sU1U1P99", 2, 1_000, "sU1U1P9|9"),
        ("sU1U1P99", 2, 10, "sU1U1P9|9"),
        ("sP1234", 2, 900, "sP1|234"),
        ("sP1111111", 2, 350, "sP1111|111"),
        ("U9U9P", 2, 10, "U9U9|P"),
        ("sP99s", 2, 10, "sP9|9s"),
        ("1111", 2, 200, "11|11"),
        ("sPeeee", 2, 1_000, "sPee|ee"),
        ("sPeeee", 2, 1_020, "sPe|e!ee"),
        ("sPeeee", 2, 1_200, "|sPee!ee"),
        ("sPee1e", 2, 560, "sPee1|e"),
        ("UeUePe", 1, 510, "UeUe|Pe"),
        ("sPii", 2, 10, "sPi|i"),
        ("", 2, 200, "|"),
    ],
)
def test_where_the_tail_begins(drawn: str, turns: int, room: int, expected: str) -> None:
    assert parted(drawn, turns, room) == expected


def test_the_head_is_what_does_not_stay() -> None:
    assert find_head(pieces("sU1U1P1"), 6) == (1, 2, 3, 4)
    assert find_head(pieces("sU1U1P1"), 0) == ()


@pytest.mark.parametrize("drawn", ["sU1U11P11", "1U12P9", "sP1111111", "U9U9P", "s1s2s3", "U1U1U1", "sPe1e2eaae"])
def test_a_tail_that_was_chosen_is_chosen_again(drawn: str) -> None:
    for turns in range(4):
        for room in range(0, 1_500, 100):
            start, whole = find_tail_start(pieces(drawn), turns, room)
            pruned = "".join("." if sign in "abcdefghi" else sign for sign in drawn[start:whole])
            stays = "".join(sign for sign in drawn[:start] if sign in "sP") + pruned + drawn[whole:]
            again, whole_again = find_tail_start(pieces(stays), turns, room)
            assert find_head(pieces(stays), again) == ()
            assert not {*stays[again:whole_again]} & {*"abcdefghi"}, "nothing more is left out"
