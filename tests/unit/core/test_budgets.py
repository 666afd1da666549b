"""How a budget is shared."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from previously.core.budgets import BUDGETS, Row, Share, allot, make_row, scale_row

ROWS = st.tuples(*(st.integers(0, budget) for budget in BUDGETS))
SHARES = st.builds(Share, priority=st.integers(0, 3), due=ROWS, floor=ROWS, ceiling=ROWS)


@given(
    room=st.integers(0, 10_000),
    budget=st.integers(1, 20_000),
    sections=st.dictionaries(st.sampled_from("abcdef"), st.tuples(st.integers(0, 5_000), SHARES), min_size=1),
    reserve=st.integers(0, 500),
)
def test_never_more_than_there_is_nor_than_is_wanted(
    room: int, budget: int, sections: dict[str, tuple[int, Share]], reserve: int
) -> None:
    wants = {name: want for name, (want, _) in sections.items()}
    shares = {name: share for name, (_, share) in sections.items()}
    given_out = allot(room, budget, wants, shares, reserve)
    assert sum(given_out.values()) <= room
    for name, tokens in given_out.items():
        assert 0 <= tokens <= min(wants[name], shares[name].most(budget))
    unmet = [name for name in wants if given_out[name] < min(wants[name], shares[name].most(budget))]
    assert not unmet or sum(given_out.values()) >= room - reserve, "nothing is held back from whoever may have it"
    assert allot(room, budget, wants, shares, reserve) == given_out


def test_floors_come_first_then_dues_then_wants() -> None:
    shares = {
        "loud": Share(0, (1_000, 2_000, 4_000)),
        "small": Share(2, (200, 400, 800), floor=(600, 600, 600)),
        "late": Share(1, (400, 800, 1_600), ceiling=(800, 1_600, 3_200)),
    }
    wants = {"loud": 20_000, "small": 20_000, "late": 20_000}
    assert allot(400, 2_000, wants, shares) == {"loud": 0, "late": 0, "small": 400}
    assert allot(1_600, 2_000, wants, shares) == {"loud": 1_000, "late": 0, "small": 600}
    assert allot(2_000, 2_000, wants, shares) == {"loud": 1_000, "late": 400, "small": 600}
    assert allot(9_000, 2_000, wants, shares) == {"loud": 2_000, "late": 800, "small": 2_000}
    assert allot(9_000, 2_000, wants, shares, reserve=6_500) == {"loud": 1_500, "late": 400, "small": 600}
    assert allot(500, 2_000, dict.fromkeys(wants, 5), shares) == dict.fromkeys(wants, 5)


@pytest.mark.parametrize(
    ("budget", "tokens"),
    [(1_000, 350), (2_000, 700), (3_000, 1_200), (4_000, 1_700), (6_000, 2_600), (8_000, 3_500), (16_000, 7_000)],
)
def test_the_three_budgets_are_points_of_one_rule(budget: int, tokens: int) -> None:
    row: Row = (700, 1_700, 3_500)
    assert scale_row(budget, row) == tokens
    assert scale_row(budget, make_row(15)) == budget * 15 // 100
