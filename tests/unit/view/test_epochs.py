"""When the front of a view stays as it is, and when new memory is taken up."""

from __future__ import annotations

from dataclasses import replace

import pytest

from previously.core.digests import digest
from previously.core.errors import BudgetTooSmall
from previously.core.messages import Attributes, Entry, Message, Role, Text, ToolCall, ToolResult, message
from previously.core.path import OnPath, Span
from previously.core.tokens import ESTIMATE
from previously.view import epoch as epochs
from previously.view.build import Material, ViewRequest, build_view
from previously.view.epoch import Epoch
from previously.view.memory import Remembered
from previously.view.reader import parse_reader
from previously.view.render import ViewPart, place_messages, render_messages
from previously.view.turn import Recalled, add_turn_memory
from previously.view.view import Furniture, Reason, Section, View, ViewParts


def at(position: int, said: Message, *, hidden: bool = False) -> OnPath:
    return OnPath(position, position + 1, b"", Entry(position, said, digest(said), Attributes(hidden=hidden)))


def said(first: int, last: int, words: int = 10) -> list[OnPath]:
    """Messages of which every second is a user's."""
    roles = ("user", "assistant")
    text = "word " * words
    return [at(number, message(roles[number % 2], f"{number} {text}")) for number in range(first, last + 1)]


def recap(last: int, text: str = "Maya left the mill.", *, stale: bool = False, by_hand: bool = False) -> Remembered:
    return Remembered(Section.RECAP, text, Span(0, last), "recap", "the recap", stale, by_hand)


def pin(text: str) -> Remembered:
    return Remembered(Section.PINS, text, None, "pinned", "a pin")


def material(length: int, memories: list[Remembered], first: int = 0, words: int = 10, tail: int = 4) -> Material:
    return Material(length, (), memories, said(first, length - 1, words), tail)


def shown(view: View) -> list[int]:
    return [item.sources[0].first for item in view.items if item.section is Section.TAIL]


ASKED = ViewRequest(1_000)


def begun(memories: list[Remembered], length: int = 20, first: int = 0) -> Epoch:
    return build_view(material(length, memories, first), ASKED)[1]


def test_a_first_view_shows_what_is_remembered_and_what_is_not_folded() -> None:
    view, epoch = build_view(material(20, [recap(9)], 10), ASKED)
    assert view.epoch == epochs.FIRST_VIEW
    assert epoch.first == epoch.tail_first == 10
    assert shown(view) == list(range(10, 20))


def test_free_room_is_filled_with_older_messages() -> None:
    view, epoch = build_view(material(200, [recap(189)], words=20), ASKED)
    assert epoch.tail_first == 190
    assert epoch.first < 190, "older messages are shown beside the recap that tells of them"
    assert shown(view) == list(range(epoch.first, 200))
    unused = ASKED.budget_tokens - view.tokens
    assert unused < (ASKED.recall_tokens + ASKED.lore_tokens) // 2 + 60, "but for what recall and lore may take"
    assert not view.left_out


@pytest.mark.parametrize("size", [10, 3_000])
def test_a_result_whose_call_stands_before_the_tail_is_filled_in_with_it_or_not_at_all(size: int) -> None:
    newest = said(0, 19)
    newest[14] = at(14, Message(Role.ASSISTANT, (ToolCall("1", "look", "{}"),)))
    newest[15] = at(15, Message(Role.TOOL, (ToolResult("1", "word " * size),)))
    view, epoch = build_view(Material(20, (), [recap(14)], newest, 4), ASKED)
    assert view.tokens <= ASKED.budget_tokens
    fits = size == 10
    assert (epoch.first < 14, 14 in shown(view), 15 in shown(view)) == (fits, fits, fits)
    assert set(shown(view)) >= set(range(16, 20))


def test_an_epoch_that_goes_on_leaves_room_for_the_tail_to_grow() -> None:
    _, full = build_view(material(200, [recap(189)], words=20), ASKED)
    view, new = build_view(material(204, [recap(189)], words=30), ASKED, full)
    assert view.epoch == epochs.NO_ROOM
    assert new.first > full.first
    later, same = build_view(material(208, [recap(189)], words=30), ASKED, new)
    assert same is new and later.epoch == "", "the next turns fit"


def test_readers_of_so_many_turns_see_no_more() -> None:
    narrator = replace(ASKED, reader=parse_reader("narrator", "game"))
    view, epoch = build_view(material(200, [recap(189)]), narrator)
    assert epoch.first == 190
    assert shown(view) == list(range(190, 200))


def test_what_is_shown_word_for_word_is_not_quoted_too() -> None:
    lines = "\n".join(f"#{number} User: “{number} word word.”" for number in range(0, 190, 10))
    view, epoch = build_view(material(200, [recap(189, lines)], words=20), ASKED)
    told = view.messages[0].text
    for number in range(0, 190, 10):
        assert (f"#{number} User" in told) == (number < epoch.first)


def test_a_recap_all_of_whose_quotations_are_shown_says_so() -> None:
    lines = "\n".join(f"#{number} User: “{number} word word.”" for number in range(10))
    view, _ = build_view(material(20, [recap(9, lines)]), ASKED)
    (item,) = (item for item in view.items if item.section is Section.RECAP)
    assert (item.tokens, item.reason) == (0, "all that it quotes is shown word for word")
    silent, _ = build_view(material(20, [recap(9, "")]), ASKED)
    (item,) = (item for item in silent.items if item.section is Section.RECAP)
    assert item.reason == "nothing was told there"


def test_each_message_of_a_view_says_which_part_it_is_from() -> None:
    prompt, example, note = message("system", "Be brief."), message("user", "An example."), message("system", "A note.")
    furniture = Furniture((prompt, example), ((1, note),))
    view, _ = build_view(material(4, [recap(1)]), replace(ASKED, furniture=furniture))
    view = add_turn_memory(view, [Recalled(Span(0, 0), "[message 0] hello", 1.0, "why")], said(2, 2)[0], ESTIMATE)
    placed = place_messages(view.parts)
    assert tuple(one.message for one in placed) == view.messages
    assert [(one.part, one.index) for one in placed][:2] == [(ViewPart.SYSTEM, 0), (ViewPart.FRONT, 1)]
    assert [one.position for one in placed if one.part is ViewPart.TAIL] == view.tail_positions == [0, 1, 2, 3]
    assert [one.index for one in placed if one.part is ViewPart.NOTE] == [0] and placed[-2].message == note
    (bearer,) = (one.position for one in placed if "<recalled" in one.message.text)
    assert bearer == 2 and view.parts.turn_memory is not None and view.parts.turn_memory.position == 2


def test_newer_memory_waits_as_long_as_there_is_room() -> None:
    before, epoch = build_view(material(20, [recap(9)], 10), ASKED)
    after, same = build_view(material(24, [recap(15, "Maya came home.")], 10), ASKED, epoch)
    assert same is epoch and after.epoch == ""
    assert after.messages[: len(before.messages)] == before.messages, "the front is byte for byte what it was"
    assert shown(after) == list(range(10, 24))


def test_a_tail_over_its_ceiling_waits_for_memory_to_catch_up() -> None:
    epoch = begun([recap(9)], 20, 10)
    long = material(50, [recap(9)], 10, words=15)
    view, same = build_view(long, ASKED, epoch)
    assert same is epoch and view.fold_due, "folding is asked for before anything has to be left out"
    view, new = build_view(replace(long, memories=[recap(44)]), ASKED, epoch)
    assert view.epoch == epochs.OUTGROWN and new.tail_first == 45
    assert not view.fold_due


def test_without_room_and_without_new_memory_whole_turns_are_cut_a_quarter_at_a_time() -> None:
    epoch = begun([recap(9)], 20)
    view, new = build_view(material(80, [recap(9)], 10, words=15), ASKED, epoch)
    assert view.epoch == epochs.NO_ROOM and view.fold_due
    first = shown(view)[0]
    assert first % 2 == 0, "a turn begins with a user's message"
    assert view.tokens <= ASKED.budget_tokens * 3 // 4 + 60, "so that it can grow again"
    assert [(one.span, one.reason) for one in view.left_out] == [(Span(10, first - 1), Reason.BUDGET)]
    again, same = build_view(material(84, [recap(9)], 10, words=15), ASKED, new)
    assert same is new and shown(again)[0] == first


@pytest.mark.parametrize(
    ("then", "now", "why"),
    [
        ([recap(9)], [recap(9), pin("Left-handed.")], epochs.BY_HAND),
        ([pin("Left-handed."), recap(9)], [recap(9)], epochs.BY_HAND),
        ([recap(9)], [recap(9, "In my words.", by_hand=True)], epochs.BY_HAND),
        ([recap(9, stale=True)], [recap(9)], epochs.RENEWED),
        ([recap(9)], [recap(9, "Maya left the lock.")], epochs.RENEWED),
        ([recap(9, stale=True)], [recap(12)], epochs.RENEWED),
        ([recap(9, stale=True)], [recap(12, stale=True)], ""),
        ([recap(9)], [recap(5)], epochs.TAKEN_BACK),
        ([recap(9)], [], epochs.TAKEN_BACK),
        ([recap(9)], [recap(9)], ""),
        ([recap(9)], [recap(12, "More.")], ""),
    ],
)
def test_what_ends_an_epoch_at_once(then: list[Remembered], now: list[Remembered], why: str) -> None:
    epoch = begun(then)
    view, new = build_view(material(20, now), ASKED, epoch)
    assert view.epoch == why
    assert (new is epoch) is (why == "")


def test_memory_of_what_had_to_be_left_out_is_taken_up_at_once() -> None:
    small = ViewRequest(150)
    view, epoch = build_view(material(30, []), small)
    assert view.left_out and view.fold_due
    view, new = build_view(material(30, [recap(25)]), small, epoch)
    assert view.epoch == epochs.TOLD_NOW and new.tail_first == 26
    assert not view.left_out


def test_furniture_stands_in_its_places_and_counts() -> None:
    furniture = Furniture(
        (message("system", "House rules."), message("user", "An example.")),
        ((1, message("system", "A note.")),),
        tools='{"name": "look"}',
    )
    plain, _ = build_view(material(6, [recap(1)]), ASKED)
    view, _ = build_view(material(6, [recap(1)]), replace(ASKED, furniture=furniture))
    texts = [one.text for one in view.messages]
    assert texts[0].startswith("House rules.\n\n# Previously")
    assert texts[1] == "An example."
    assert texts[-2] == "A note." and texts[-1].startswith("5 ")
    assert view.tokens > plain.tokens
    assert view.tokens == sum(item.tokens for item in view.items)
    with pytest.raises(BudgetTooSmall) as caught:
        build_view(material(6, []), ViewRequest(40, furniture=furniture))
    build_view(material(6, []), ViewRequest(caught.value.needed_tokens, furniture=furniture))


def test_a_note_never_parts_a_call_from_its_result() -> None:
    from previously.core.messages import ToolCall, ToolResult

    call = Message(Role.ASSISTANT, (ToolCall("c", "look", "{}"),))
    result = Message(Role.TOOL, (ToolResult("c", "a mill"),))
    note = message("system", "A note.")
    tail = tuple(at(number, said) for number, said in enumerate([message("user", "look"), call, result]))
    parts = ViewParts(Furniture(notes=((1, note),)), tail=tail)
    assert render_messages(parts) == (message("user", "look"), note, call, result)


def test_a_character_is_shown_what_they_witnessed_and_no_more() -> None:
    told = said(0, 5)
    secret = at(6, Message(Role.USER, (Text("secret"),), "Ines", ("Bram", "Ines")))
    asked = replace(ASKED, reader=parse_reader("character:Odalys"))
    for witnessed in (True, False):
        given = Material(8, (), [recap(3)], [*told, secret, *said(7, 7)], 4, all_witnessed=witnessed)
        view, _ = build_view(given, asked)
        assert "secret" not in " ".join(one.text for one in view.messages)
        assert Reason.UNWITNESSED in {one.reason for one in view.left_out}
        assert (Section.RECAP in {item.section for item in view.items}) is witnessed
    bram, _ = build_view(given, replace(asked, reader=parse_reader("character:Bram")))
    assert "secret" in " ".join(one.text for one in bram.messages)


def test_agents_of_a_game_are_shown_the_current_turn() -> None:
    for name in ("state", "memory:Bram"):
        view, _ = build_view(material(20, [recap(9)]), replace(ASKED, reader=parse_reader(name, "game")))
        assert shown(view) == [18, 19]
        assert {one.reason for one in view.left_out} == {Reason.NOT_READ}
