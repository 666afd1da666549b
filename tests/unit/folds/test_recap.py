"""When a recap is due, what it reads, and what may not be kept."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from previously.core.digests import digest
from previously.core.fold_rules import RecapRules
from previously.core.messages import Entry, message
from previously.core.path import OnPath
from previously.core.scripts import count_words
from previously.folds.prompts.templates import render_message
from previously.folds.recap import Due, NeedMore, NotDue, plan, plan_brief
from previously.settings import Settings

RULES = RecapRules(tail_messages=3, due_messages=5, due_words=100, due_tokens=10_000, target_words=50)


def on_path(texts: list[str], first: int = 0) -> list[OnPath]:
    items = []
    for position, text in enumerate(texts, first):
        said = message("user", text)
        items.append(OnPath(position, position + 1, b"", Entry(position + 1, said, digest(said))))
    return items


def decide(texts: list[str], **options: object) -> Due | NotDue | NeedMore:
    rules = options.pop("rules", RULES)
    recap_words = options.pop("recap_words", 0)
    return plan(recap_words, 0, len(texts), on_path(texts), rules, **options)  # type: ignore[arg-type]


def test_due_by_messages() -> None:
    assert isinstance(decide(["one"] * 7), NotDue)
    due = decide(["one"] * 8)
    assert isinstance(due, Due)
    assert (due.span.first, due.span.last, due.reason) == (0, 4, "5 messages")


def test_due_by_words() -> None:
    due = decide(["word " * 60] * 5)
    assert isinstance(due, Due)
    assert (due.span.last, due.reason) == (1, "120 words")


def test_due_by_tokens() -> None:
    due = decide(["x" * 24_000, "y" * 24_000, "a", "b", "c"])
    assert isinstance(due, Due)
    assert due.reason.endswith("tokens")
    assert due.span.last == 1


def test_words_are_counted_in_scripts_without_spaces() -> None:
    due = decide(["雨が降っている。" * 40] * 5)
    assert isinstance(due, Due)
    assert due.reason.endswith("words")


def test_a_delta_is_worth_twice_the_recap() -> None:
    waiting = decide(["three words here"] * 12, recap_words=20)
    assert isinstance(waiting, NotDue)
    assert "twice the recap" in waiting.reason
    due = decide(["three words here"] * 17, recap_words=20)
    assert isinstance(due, Due)
    assert len(due.delta) == 14


def test_pressure_overrides_every_threshold_but_not_the_tail() -> None:
    due = decide(["one"] * 5, recap_words=500, pressure=True)
    assert isinstance(due, Due)
    assert (due.span.first, due.span.last) == (0, 1)
    assert isinstance(decide(["one"] * 3, pressure=True), NotDue)


def test_it_asks_to_read_on_rather_than_guess() -> None:
    assert plan(0, 10, 500, on_path(["one"] * 2, 10), RULES) == NeedMore(12)
    assert plan(0, 0, 500, [], RULES) == NeedMore(0)


@given(
    st.lists(st.integers(0, 30), max_size=40),
    st.integers(0, 50),
    st.integers(0, 10),
    st.integers(1, 20),
    st.integers(1, 100),
    st.booleans(),
)
def test_whatever_is_due_lies_outside_the_tail(
    lengths: list[int], recap_words: int, tail: int, messages: int, words: int, pressure: bool
) -> None:
    rules = RecapRules(tail, messages, words, 10_000, 50)
    due = decide(["w " * length for length in lengths], rules=rules, recap_words=recap_words, pressure=pressure)
    assert not isinstance(due, NeedMore), "everything was there to read"
    if isinstance(due, Due):
        assert due.span.first == 0
        assert due.span.last < len(lengths) - tail
        if not pressure:
            delta = sum(count_words(item.entry.message.text) for item in due.delta)
            assert delta >= 2 * recap_words
            assert len(due.delta) >= messages or delta >= words


def test_a_brief_reads_over_the_opening_and_tells_system_messages_of_the_story() -> None:
    items = on_path(["Be brief.", "Maya came.", "A storm breaks."])
    for index in (0, 2):
        said = message("system", items[index].entry.message.text)
        items[index] = replace(items[index], entry=replace(items[index].entry, message=said))
    asked = plan_brief(None, Due(tuple(items), ""), Settings().fold_rules)
    assert [render_message(said) for said in asked.delta] == ["Maya came.", "A storm breaks."]
