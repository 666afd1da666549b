"""What changed between two runs of messages."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from previously.core.digests import digest
from previously.core.messages import Entry, message
from previously.core.path import OnPath, Span
from previously.core.versions import Kind, NewVersion, Status
from previously.folds.amend import MOST_WORDS, find_change, plan_amend

RUNS = st.lists(st.sampled_from("abcdef"), max_size=12)


def run(words: list[str]) -> list[OnPath]:
    said = [message("user", word, speaker="Maya") for word in words]
    return [OnPath(at, at + 1, b"", Entry(at, one, digest(one))) for at, one in enumerate(said)]


def told(items: tuple[OnPath, ...]) -> Counter[str]:
    return Counter(item.entry.message.text for item in items)


@given(RUNS, RUNS)
def test_what_was_removed_added_and_kept_makes_up_both_runs(old: list[str], new: list[str]) -> None:
    found = find_change(run(old), run(new))
    assert told(found.removed) + told(found.kept) == Counter(old)
    assert told(found.added) + told(found.kept) == Counter(new)
    if old == new:
        assert not found.removed
        assert not found.added


def test_one_edit_is_one_message_out_and_one_in() -> None:
    found = find_change(run(list("abcde")), run(list("abxde")))
    assert (told(found.removed), told(found.added), len(found.kept)) == (Counter("c"), Counter("x"), 4)


def stale(text: str, *commitments: str) -> NewVersion:
    return NewVersion(
        Kind.RECAP, "", Span(0, 4), b"", None, text, "", Status.COMMITTED, "model", "", "", commitments=commitments
    )  # fmt: skip


def test_too_much_is_not_amended() -> None:
    found = find_change(run(["a"]), run(["word " * (MOST_WORDS + 1)]))
    assert plan_amend(stale("Maya came."), found, 60) is None
