"""Calls and results in what is imported: each call is answered, nothing that was said is lost."""

from __future__ import annotations

import json
from io import BytesIO
from pathlib import Path

from hypothesis import given

from previously.core.messages import Draft, Message, Part, Role, Text, ToolCall, ToolResult
from previously.core.pairing import INTERRUPTED, find_unpaired
from previously.formats import read_story
from previously.formats.files import Document
from previously.formats.log_lines import complete_calls, find_branches
from tests.unit.formats.agent_messages import CONVERSATIONS, sound_conversations

CALL = ToolCall("a", "run", "{}")


def drafts(*messages: Message) -> list[Draft]:
    return [Draft(message) for message in messages]


def said(text: str) -> Message:
    return Message(Role.USER, (Text(text),))


@given(CONVERSATIONS)
def test_what_is_shown_is_paired_and_nothing_is_lost(messages: list[Message]) -> None:
    given_drafts = drafts(*messages)
    found = complete_calls(given_drafts)
    assert find_unpaired([draft.message for draft in found if not draft.attributes.hidden]) == []
    kept: list[Part] = [part for draft in found for part in draft.message.parts]
    told = [one for draft in found for one in draft.attributes.extra.get("results_of_no_call", ())]
    for message in messages:
        for part in message.parts:
            if isinstance(part, ToolResult):
                texts = [one.text for one in kept if isinstance(one, ToolResult)] + [one["text"] for one in told]
                assert part.text in texts
            else:
                assert part in kept


@given(sound_conversations())
def test_a_sound_conversation_stays_as_it_is(messages: list[Message]) -> None:
    given_drafts = drafts(*messages)
    assert complete_calls(given_drafts) == given_drafts


def test_a_result_of_no_call_beside_words_is_kept_with_them() -> None:
    (found,) = complete_calls(drafts(Message(Role.USER, (ToolResult("x", "lost"), Text("Hi.")))))
    assert found.message == said("Hi.")
    assert found.attributes.extra == {"results_of_no_call": [{"id": "x", "text": "lost", "status": ""}]}


def test_a_result_of_no_call_never_stands_between_a_call_and_its_result() -> None:
    call, lost = Message(Role.ASSISTANT, (CALL,)), Message(Role.TOOL, (ToolResult("x", "lost"),))
    found = complete_calls(drafts(call, lost, Message(Role.TOOL, (ToolResult("a", "ok"),)), said("Hi.")))
    assert [draft.attributes.hidden for draft in found] == [False, False, True, False]
    assert found[2].message == lost


def test_branches_share_what_is_the_same() -> None:
    main = drafts(said("1"), said("2"), said("3"))
    found = find_branches(main, [("x", drafts(said("1"), said("4"))), ("held", main[:2])])
    assert [(branch.name, branch.at, branch.drafts) for branch in found] == [("x", 1, drafts(said("4")))]


def test_message_arrays_get_their_results_too_and_stories_stay_as_they_are(tmp_path: Path) -> None:
    asked = {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "a", "function": {"name": "f", "arguments": ""}}],
    }
    path = tmp_path / "chat.json"
    path.write_text(json.dumps([asked]), "utf-8")
    assert read_story(path).drafts[-1].message.parts == (ToolResult("a", INTERRUPTED, "error"),)
    path.write_text(json.dumps(asked), "utf-8")
    assert len(read_story(path, "jsonl").drafts) == 1


def test_a_line_that_is_not_utf8_is_one_damaged_line() -> None:
    document = Document("file", BytesIO(b'{"a": 1}\n\xff\xfe\n\n{"b": 2}\n'))
    assert list(document.log_lines()) == [(1, '{"a": 1}\n'), (2, None), (4, '{"b": 2}\n')]
