"""How a budget is shared."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from previously.core.budgets import Share, allot

SHARES = st.builds(
    Share,
    percent=st.integers(0, 100),
    priority=st.integers(0, 3),
    floor=st.integers(0, 300),
    ceiling=st.integers(0, 100),
)


@given(
    room=st.integers(0, 10_000),
    budget=st.integers(1, 10_000),
    sections=st.dictionaries(st.sampled_from("abcdef"), st.tuples(st.integers(0, 5_000), SHARES), min_size=1),
)
def test_never_more_than_there_is_nor_than_is_wanted(
    room: int, budget: int, sections: dict[str, tuple[int, Share]]
) -> None:
    wants = {name: want for name, (want, _) in sections.items()}
    shares = {name: share for name, (_, share) in sections.items()}
    given_out = allot(room, budget, wants, shares)
    assert sum(given_out.values()) <= room
    for name, tokens in given_out.items():
        assert 0 <= tokens <= min(wants[name], shares[name].most(budget))
    unmet = [name for name in wants if given_out[name] < min(wants[name], shares[name].most(budget))]
    assert not unmet or sum(given_out.values()) == room, "nothing is held back from whoever may have it"
    assert allot(room, budget, wants, shares) == given_out


def test_floors_come_first_then_dues_then_wishes() -> None:
    shares = {
        "loud": Share(50, priority=0),
        "small": Share(10, priority=2, floor=30),
        "late": Share(20, priority=1, ceiling=40),
    }
    wants = {"loud": 1_000, "small": 1_000, "late": 1_000}
    assert allot(20, 100, wants, shares) == {"loud": 0, "late": 0, "small": 20}
    assert allot(80, 100, wants, shares) == {"loud": 50, "late": 0, "small": 30}
    assert allot(100, 100, wants, shares) == {"loud": 50, "late": 20, "small": 30}
    assert allot(500, 100, wants, shares) == {"loud": 100, "late": 40, "small": 100}
    assert allot(500, 100, {"loud": 5, "late": 5, "small": 5}, shares) == {"loud": 5, "late": 5, "small": 5}
