"""What a view shows, cuts and lists."""

from __future__ import annotations

import pytest

from previously.core.digests import digest
from previously.core.errors import BudgetTooSmall
from previously.core.messages import Attributes, Entry, Message, Role, Text, ToolCall, ToolResult, message
from previously.core.path import OnPath, Span, find_opening
from previously.core.tokens import message_tokens
from previously.view.build import Material, ViewRequest, build_view
from previously.view.memory import HEADINGS, Remembered
from previously.view.view import Reason, Section, View

RECAP = "Maya left the mill. She owes Joaquin 40 crowns. The key is under the stair."


def at(position: int, said: Message, *, hidden: bool = False) -> OnPath:
    return OnPath(position, position + 1, b"", Entry(position, said, digest(said), Attributes(hidden=hidden)))


def recap(last: int, text: str = RECAP) -> Remembered:
    return Remembered(Section.RECAP, text, Span(0, last), "recap, version 7, by builtin", "the recap")


def view(
    items: list[OnPath],
    budget: int = 1_000,
    *,
    live: Remembered | None = None,
    length: int | None = None,
    tail: int = 2,
) -> View:
    length = length if length is not None else (items[-1].position + 1 if items else 0)
    opening = find_opening(items if not live and items and items[0].position == 0 else [])
    newest = [item for item in items if live is None or (live.span and item.position > live.span.last)]
    return build_view(
        Material(length, opening, [live] if live else [], newest, tail), ViewRequest(budget, recall_percent=0)
    )[0]


def texts(built: View) -> list[str]:
    return [shown.text for shown in built.messages]


def said(first: int, *words: str) -> list[OnPath]:
    return [at(position, message("user", word)) for position, word in enumerate(words, first)]


def test_an_empty_story_has_an_empty_view() -> None:
    built = view([])
    assert (built.messages, built.tokens, built.left_out, built.fold_due) == ((), 0, (), False)


def test_a_story_that_fits_is_shown_whole_and_as_it_is() -> None:
    built = view(said(0, "one", "two", "three"))
    assert texts(built) == ["one", "two", "three"]
    assert [item.reason for item in built.items] == ["not folded yet", "one of the newest 2", "one of the newest 2"]


def test_the_recap_goes_into_the_system_message() -> None:
    system = message("system", "You are the narrator.")
    live = recap(3)
    material = Material(6, [at(0, system)], [live], said(4, "four", "five"), 2)
    built = build_view(material, ViewRequest(1_000))[0]
    assert texts(built)[0] == f"You are the narrator.\n\n{HEADINGS[Section.RECAP]}\n\n{RECAP}"
    assert [shown.role for shown in built.messages] == [Role.SYSTEM, Role.USER, Role.USER]
    assert [item.section for item in built.items] == [Section.SYSTEM, Section.RECAP, Section.TAIL, Section.TAIL]
    assert (built.items[0].sources, built.items[1].sources) == ((Span(0, 0),), (Span(1, 3),))
    assert (
        built.tokens
        == sum(item.tokens for item in built.items)
        == sum(message_tokens(shown) for shown in built.messages)
    )


def test_without_a_system_message_the_recap_brings_one() -> None:
    built = view(said(4, "four"), live=recap(3))
    assert built.messages[0].role is Role.SYSTEM
    assert texts(built)[0].startswith(HEADINGS[Section.RECAP])


def test_the_opening_is_shown_once_and_never_cut() -> None:
    items = [
        at(0, message("system", "Rule one.")),
        at(1, message("system", "Rule two.")),
        *said(2, "hi", "x" * 400, "end"),
    ]
    built = view(items, 40)
    assert texts(built) == ["Rule one.\n\nRule two.", "end"]
    assert [(out.what, out.reason) for out in built.left_out] == [("messages 2-3", Reason.BUDGET)]


def test_the_oldest_go_first_and_without_a_gap() -> None:
    items = said(0, "a", "b" * 200, "c", "d", "e")
    built = view(items, 40)
    assert texts(built) == ["c", "d", "e"]
    assert [(out.span, out.reason) for out in built.left_out] == [(Span(0, 1), Reason.BUDGET)]
    assert built.fold_due


def test_what_is_cut_inside_the_tail_makes_no_fold_due() -> None:
    built = view(said(0, "a" * 200, "b"), 30)
    assert texts(built) == ["b"]
    assert not built.fold_due


def test_messages_that_were_not_even_read_are_listed_with_those_cut() -> None:
    built = view(said(90, *["x" * 100] * 10), 100, live=recap(39), length=100)
    assert built.left_out[-1].span is not None
    assert built.left_out[-1].span.first == 40
    assert built.left_out[-1].reason is Reason.BUDGET


def test_hidden_messages_are_listed_and_not_shown() -> None:
    items = [*said(0, "a"), at(1, message("user", "hidden"), hidden=True), *said(2, "c")]
    built = view(items)
    assert texts(built) == ["a", "c"]
    assert [(out.span, out.reason) for out in built.left_out] == [(Span(1, 1), Reason.HIDDEN)]


def test_a_long_recap_is_cut_at_sentences_the_oldest_first() -> None:
    long_recap = " ".join(f"Sentence number {number} tells of the mill." for number in range(60))
    built = view(said(4, "four", *["x" * 200] * 10), 400, live=recap(3, long_recap))
    memory = texts(built)[0].removeprefix(HEADINGS[Section.RECAP]).strip()
    assert memory.startswith("Sentence number ")
    assert memory.endswith("Sentence number 59 tells of the mill.")
    assert built.tokens <= 400
    assert "of 60 sentences of the recap" in built.left_out[0].what


def test_a_recap_without_room_is_listed_with_what_it_covers() -> None:
    built = view(said(4, "four"), 20, live=recap(3, "word " * 200))
    assert [(out.span, out.reason) for out in built.left_out] == [(Span(0, 3), Reason.BUDGET)]
    assert not built.fold_due, "folding again would not help"


def test_what_is_shown_word_for_word_is_not_left_out_with_the_memory_of_it() -> None:
    """A chapter may end inside the tail: where its text has no room, those of its messages that are shown are there."""
    chapter = recap(4, "word " * 200)
    items = said(0, "zero", "one", "two", "three", "four", "five")
    items[4] = at(4, message("user", "four"), hidden=True)
    built, epoch = build_view(Material(6, [], [chapter], items[2:], 4), ViewRequest(40, recall_percent=0))
    assert texts(built) == ["two", "three", "five"]
    left = [(out.what, out.span, out.reason) for out in built.left_out]
    assert left == [
        ("the recap of messages 0-4", Span(0, 1), Reason.BUDGET),
        ("message 4", Span(4, 4), Reason.HIDDEN),
    ]
    again, same = build_view(Material(6, [], [chapter], items[2:], 4), ViewRequest(40, recall_percent=0), epoch)
    assert (again.left_out, same) == (built.left_out, epoch)


def test_memory_without_room_of_messages_that_are_all_shown_leaves_no_message_out() -> None:
    items = said(0, "zero", "one")
    built, _ = build_view(Material(2, [], [recap(0, "word " * 200)], items, 2), ViewRequest(40, recall_percent=0))
    assert texts(built) == ["zero", "one"]
    assert [(out.what, out.span) for out in built.left_out] == [("the recap of message 0", None)]


def test_a_request_that_an_agent_is_shown_before_the_tail_is_not_left_out() -> None:
    work = [at(position, message("assistant", "word " * 20)) for position in range(2, 8)]
    items = [*said(0, "hello", "Mend the mill."), *work]
    built, _ = build_view(Material(8, [], [], items, 2), ViewRequest(100, recall_percent=0, for_agent=True))
    assert texts(built)[0] == "Mend the mill."
    shown = {position for item in built.items for span in item.sources for position in range(span.first, span.last + 1)}
    left = [out.span for out in built.left_out if out.span]
    assert left == [Span(0, 0), Span(2, min(shown - {1}) - 1)]


def test_a_budget_that_cannot_hold_the_fixed_parts_says_what_could() -> None:
    items = [at(0, message("system", "s" * 400)), *said(1, "m" * 400)]
    with pytest.raises(BudgetTooSmall) as caught:
        view(items, 100)
    assert view(items, caught.value.needed_tokens).tokens == caught.value.needed_tokens
    with pytest.raises(BudgetTooSmall):
        view(items, caught.value.needed_tokens - 1)


def test_a_result_is_never_shown_without_its_call() -> None:
    call = Message(Role.ASSISTANT, (ToolCall("c1", "read", "x" * 400),))
    result = Message(Role.TOOL, (ToolResult("c1", "contents"),))
    items = [at(0, call), at(1, result), *said(2, "thanks")]
    assert len(view(items, 1_000).messages) == 3
    built = view(items, 60)
    assert texts(built) == ["thanks"]
    assert [(out.span, out.reason) for out in built.left_out] == [(Span(0, 1), Reason.BUDGET)]


def test_a_call_is_never_shown_without_its_result_unless_it_is_the_newest() -> None:
    call = Message(Role.ASSISTANT, (ToolCall("c1", "read", "{}"),))
    hidden = at(1, Message(Role.TOOL, (ToolResult("c1", "contents"),)), hidden=True)
    built = view([at(0, call), hidden, *said(2, "thanks")])
    assert texts(built) == ["thanks"]
    assert [(out.span, out.reason) for out in built.left_out] == [
        (Span(0, 0), Reason.HALF_A_PAIR),
        (Span(1, 1), Reason.HIDDEN),
    ]
    assert len(view([*said(0, "look"), at(1, call)]).messages) == 2


def test_a_recap_with_nothing_to_tell_still_accounts_for_its_messages() -> None:
    built = view(said(4, "four"), live=recap(3, ""))
    assert texts(built) == ["four"]
    first = built.items[0]
    assert (first.section, first.tokens, first.sources) == (Section.RECAP, 0, (Span(0, 3),))


def test_a_recap_is_not_cut_inside_a_quotation() -> None:
    quoted = 'Maya promised: "I will pay. I will pay on Friday. Wait for me." ' * 8
    built = view(said(4, "four", *["x" * 200] * 10), 300, live=recap(3, quoted))
    memory = texts(built)[0].removeprefix(HEADINGS[Section.RECAP]).strip()
    assert memory.startswith("Maya promised")


def test_parts_that_are_not_text_survive() -> None:
    shown = Message(Role.ASSISTANT, (Text("Look."), ToolCall("c1", "read", "{}")))
    assert view([at(0, shown)]).messages == (shown,)
