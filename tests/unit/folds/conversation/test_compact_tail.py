"""Head and tail: by turns and by tokens, and never through a unit."""

from __future__ import annotations

import pytest

from previously.folds.conversation.compaction import ConversationPiece, find_head, find_tail_start


def pieces(drawn: str) -> list[ConversationPiece]:
    """A conversation as a drawing: `U` a request, `P` the pinned newest one, `s` a system message, digits units of so
    many hundred tokens."""
    return [
        ConversationPiece(
            range(at, at + 1),
            {"U": 100, "P": 0, "s": 0}.get(sign) if not sign.isdigit() else 100 * int(sign),  # type: ignore[arg-type]
            sign in "UP",
            sign in "sP",
        )
        for at, sign in enumerate(drawn)
    ]


def parted(drawn: str, turns: int = 2, room: int = 10_000) -> str:
    start = find_tail_start(pieces(drawn), turns, room)
    return f"{drawn[:start]}|{drawn[start:]}"


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
        ("", 2, 200, "|"),
    ],
)
def test_where_the_tail_begins(drawn: str, turns: int, room: int, expected: str) -> None:
    assert parted(drawn, turns, room) == expected


def test_the_head_is_what_does_not_stay() -> None:
    assert find_head(pieces("sU1U1P1"), 6) == (1, 2, 3, 4)
    assert find_head(pieces("sU1U1P1"), 0) == ()


@pytest.mark.parametrize("drawn", ["sU1U11P11", "1U12P9", "sP1111111", "U9U9P", "s1s2s3", "U1U1U1"])
def test_a_tail_that_was_chosen_is_chosen_again(drawn: str) -> None:
    for turns in range(4):
        for room in range(0, 1_500, 100):
            start = find_tail_start(pieces(drawn), turns, room)
            stays = "".join(sign for sign in drawn[:start] if sign in "sP") + drawn[start:]
            again = find_tail_start(pieces(stays), turns, room)
            assert find_head(pieces(stays), again) == ()
