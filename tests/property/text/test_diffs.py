"""Differences between texts, word by word."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from previously.text.compare import ChangeKind, diff_words

TEXTS = st.lists(st.sampled_from(["Maya", "paid", "40", "crowns.", "\n", "雨"]), max_size=12).map(" ".join)


@given(TEXTS, TEXTS)
def test_the_runs_make_both_texts(old: str, new: str) -> None:
    changes = diff_words(old, new)
    assert "".join(change.text for change in changes if change.kind is not ChangeKind.REMOVED) == new
    kept = "".join(change.text for change in changes if change.kind is not ChangeKind.ADDED)
    assert "".join(kept.split()) == "".join(old.split())


@given(TEXTS)
def test_nothing_changes_between_equal_texts(text: str) -> None:
    assert all(change.kind is ChangeKind.SAME for change in diff_words(text, text))


def test_one_word_is_one_change() -> None:
    changes = diff_words("Maya owes 40 crowns.", "Maya owes 30 crowns.")
    assert [(change.kind.value, change.text.strip()) for change in changes] == [
        ("same", "Maya owes"),
        ("removed", "40"),
        ("added", "30"),
        ("same", "crowns."),
    ]
