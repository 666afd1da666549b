"""Transcripts of Claude Code: the tree, the joins, compaction, sub-agents, damage."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from previously.core.errors import BadInput
from previously.core.messages import Error, Message, Role, Text, Thinking, ToolCall, ToolResult
from previously.core.pairing import INTERRUPTED
from previously.formats import StorySource, read_story
from previously.formats.claude_code import LinkedLine, find_paths
from previously.wire.anthropic import write_anthropic_message

Line = dict[str, Any]


def line(uuid: str, parent: str | None, type_: str, content: object, **more: object) -> Line:
    message: Line = {"role": type_, "content": content}
    if type_ == "assistant":
        message |= {"id": more.pop("message_id", f"m-{uuid}"), "model": "m", "usage": {"output_tokens": 1}}
    return {
        "parentUuid": parent, "isSidechain": False, "sessionId": "s1", "cwd": "/work", "type": type_,
        "message": message, "uuid": uuid, "timestamp": "2026-01-01T00:00:00Z", **more,
    }  # fmt: skip


def call(call_id: str) -> Line:
    return {"type": "tool_use", "id": call_id, "name": "Bash", "input": {"command": "ls"}}


def result(call_id: str, text: str = "ok") -> Line:
    return {"type": "tool_result", "tool_use_id": call_id, "content": text}


def read(folder: Path, lines: list[Any], name: str = "s1.jsonl") -> StorySource:
    path = folder / name
    path.write_text("".join(one if isinstance(one, str) else json.dumps(one) + "\n" for one in lines), "utf-8")
    return read_story(path)


def texts(source: StorySource) -> list[str]:
    return [draft.message.text for draft in source.drafts]


def test_a_simple_conversation(tmp_path: Path) -> None:
    source = read(
        tmp_path, [line("a", None, "user", "Hi."), line("b", "a", "assistant", [{"type": "text", "text": "Yes."}])]
    )
    assert source.format == "claude-code"
    assert [draft.message for draft in source.drafts] == [
        Message(Role.USER, (Text("Hi."),)),
        Message(Role.ASSISTANT, (Text("Yes."),)),
    ]
    assert [draft.attributes.source_id for draft in source.drafts] == ["a", "b"]
    assert source.drafts[0].attributes.at == "2026-01-01T00:00:00Z"
    assert source.drafts[1].attributes.extra["anthropic"]["usage"] == {"output_tokens": 1}
    assert source.header == {"sessionId": "s1", "cwd": "/work"}


def test_fields_are_kept_where_they_differ_from_the_header(tmp_path: Path) -> None:
    source = read(tmp_path, [line("a", None, "user", "Hi."), line("b", "a", "user", "Ho.", cwd="/else", isMeta=True)])
    assert "claude_code" not in source.drafts[0].attributes.extra
    assert source.drafts[1].attributes.extra["claude_code"] == {"cwd": "/else", "isMeta": True}


def test_one_api_message_over_several_lines_is_one_message(tmp_path: Path) -> None:
    source = read(
        tmp_path,
        [
            line("a", None, "user", "Hi."),
            line("b", "a", "assistant", [{"type": "thinking", "thinking": "Hm.", "signature": "sig"}], message_id="m"),
            line("c", "b", "assistant", [{"type": "text", "text": "I look."}], message_id="m"),
            line("d", "c", "assistant", [call("t1")], message_id="m"),
            line("e", "d", "user", [result("t1")]),
        ],
    )
    assert len(source.drafts) == 3
    joined = source.drafts[1]
    kinds = [type(part) for part in joined.message.parts]
    assert kinds == [Thinking, Text, ToolCall]
    assert joined.attributes.extra["claude_code"]["lines"] == ["c", "d"]
    blocks = write_anthropic_message(joined.message, joined.attributes)["content"]
    assert blocks[0] == {"type": "thinking", "thinking": "Hm.", "signature": "sig"}


def test_results_of_calls_made_together_are_no_branches(tmp_path: Path) -> None:
    source = read(
        tmp_path,
        [
            line("a", None, "user", "Hi."),
            line("b", "a", "assistant", [call("t1")], message_id="m"),
            line("c", "b", "assistant", [call("t2")], message_id="m"),
            line("d", "b", "user", [result("t1", "one")]),
            line("e", "c", "user", [result("t2", "two")]),
            line("f", "e", "assistant", [{"type": "text", "text": "Done."}]),
        ],
    )
    assert source.branches == ()
    assert [part for draft in source.drafts[2:4] for part in draft.message.parts] == [
        ToolResult("t1", "one"),
        ToolResult("t2", "two"),
    ]
    assert texts(source)[-1] == "Done."


def test_a_line_of_a_message_that_hangs_on_a_result_belongs_to_the_message(tmp_path: Path) -> None:
    source = read(
        tmp_path,
        [
            line("a", None, "user", "Hi."),
            line("b", "a", "assistant", [call("t1")], message_id="m"),
            line("c", "b", "user", [result("t1", "one")]),
            line("d", "c", "assistant", [call("t2")], message_id="m"),
            line("e", "d", "user", [result("t2", "two")]),
        ],
    )
    assert [len(draft.message.parts) for draft in source.drafts] == [1, 2, 1, 1]
    assert source.branches == ()


def test_a_rewind_is_a_branch(tmp_path: Path) -> None:
    lines = [
        line("a", None, "user", "One."),
        line("b", "a", "assistant", [{"type": "text", "text": "1"}]),
        line("c-was-first", "b", "user", "Two, badly."),
        line("d", "c-was-first", "assistant", [{"type": "text", "text": "2"}]),
        line("e", "b", "user", "Two, better."),
    ]
    source = read(tmp_path, lines)
    assert texts(source) == ["One.", "1", "Two, better."]
    (branch,) = source.branches
    assert (branch.name, branch.at) == ("rewind c-was-fi", 2)
    assert [draft.message.text for draft in branch.drafts] == ["Two, badly.", "2"]
    grown = read(tmp_path, [*lines, line("f", "e", "user", "More.")])
    assert grown.branches == source.branches


def test_a_rewind_to_the_beginning_shares_nothing(tmp_path: Path) -> None:
    source = read(tmp_path, [line("a", None, "user", "x"), line("b", "a", "user", "y"), line("c", None, "user", "z")])
    assert texts(source) == ["z"]
    assert [(branch.at, len(branch.drafts)) for branch in source.branches] == [(0, 2)]


def test_lines_without_a_message_are_counted_and_links_go_through_them(tmp_path: Path) -> None:
    source = read(
        tmp_path,
        [
            {"type": "summary", "summary": "x", "leafUuid": "b"},
            {"type": "file-history-snapshot", "messageId": "a", "snapshot": {}},
            line("a", None, "user", "Hi."),
            {"type": "progress", "uuid": "p1", "parentUuid": "a"},
            {"type": "progress", "uuid": "p2", "parentUuid": "p1"},
            {"type": "system", "subtype": "turn_duration", "uuid": "p3", "parentUuid": "p2"},
            line("b", "p3", "user", "Still here?"),
            line("b", "p3", "user", "Still here?"),
            "not JSON\n", '"text"\n', "{}\n",
            {"type": "user", "uuid": "z", "message": "error"},
            '{"type": "user", "uuid"',
        ],
    )  # fmt: skip
    assert texts(source) == ["Hi.", "Still here?"]
    assert source.branches == ()
    assert source.skipped == {
        "summary": 1, "file-history-snapshot": 1, "progress": 2, "system turn_duration": 1, "repeated line": 1,
        "broken line": 2, "no object": 1, "unknown": 1, "damaged user": 1,
    }  # fmt: skip


def test_a_lost_line_does_not_cut_the_conversation(tmp_path: Path) -> None:
    source = read(
        tmp_path,
        [line("a", None, "user", "1"), line("b", "a", "user", "2"), "{broken\n", line("d", "lost", "user", "4")],
    )
    assert texts(source) == ["1", "2", "4"]


def test_a_file_without_links_is_read_in_order(tmp_path: Path) -> None:
    assert texts(read(tmp_path, [line(one, None, "user", one) for one in "abc"])) == ["a", "b", "c"]


def test_a_compacted_conversation_goes_on_behind_its_summary(tmp_path: Path) -> None:
    boundary = {
        "type": "system", "subtype": "compact_boundary", "uuid": "x", "parentUuid": None, "logicalParentUuid": "b",
        "compactMetadata": {"trigger": "auto", "preTokens": 9},
    }  # fmt: skip
    words = "This session is being continued from a previous conversation that ran out of context."
    source = read(
        tmp_path,
        [
            line("a", None, "user", "Hi."),
            line("b", "a", "user", "Go on."),
            boundary,
            line("c", "x", "user", words, isCompactSummary=True),
            line("d", "c", "user", "And now?"),
        ],
    )
    assert texts(source) == ["Hi.", "Go on.", words, "And now?"]
    extra = source.drafts[2].attributes.extra
    assert extra["compaction"] == "summary"
    assert extra["claude_code"]["boundary"]["compactMetadata"]["preTokens"] == 9
    assert "compaction" not in source.drafts[3].attributes.extra


def test_sub_agents_are_conversations_of_their_own(tmp_path: Path) -> None:
    folder = tmp_path / "s1" / "subagents"
    folder.mkdir(parents=True)
    own = [line("q", None, "user", "Search.", isSidechain=True, agentId="k2")]
    (folder / "agent-k2.jsonl").write_text("".join(json.dumps(one) + "\n" for one in own), "utf-8")
    (folder / "agent-empty.jsonl").write_text("", "utf-8")
    source = read(
        tmp_path,
        [
            line("a", None, "user", "Hi."),
            line("side-one-x", None, "user", "Task one.", isSidechain=True),
            line("s2", "side-one-x", "assistant", [{"type": "text", "text": "Done."}], isSidechain=True),
            line("s3", None, "user", "Task two.", isSidechain=True, agentId="k1"),
            line("b", "a", "user", "Ho."),
        ],
    )
    assert texts(source) == ["Hi.", "Ho."]
    assert [(one.name, texts(one.source)) for one in source.others] == [
        ("agent-side-one", ["Task one.", "Done."]),
        ("agent-k1", ["Task two."]),
        ("agent-k2", ["Search."]),
    ]
    alone = read_story(folder / "agent-k2.jsonl")
    assert texts(alone) == ["Search."]
    assert alone.header["agentId"] == "k2"


def test_a_call_without_a_result_was_interrupted(tmp_path: Path) -> None:
    source = read(tmp_path, [line("a", None, "user", "Hi."), line("b", "a", "assistant", [call("t1")])])
    assert source.drafts[-1].message.parts == (ToolResult("t1", INTERRUPTED, "error"),)


def test_a_result_of_no_call_stays_hidden(tmp_path: Path) -> None:
    source = read(tmp_path, [line("a", None, "user", "Hi."), line("b", "a", "user", [result("t9", "lost")])])
    assert [draft.attributes.hidden for draft in source.drafts] == [False, True]
    assert source.drafts[1].message.parts == (ToolResult("t9", "lost"),)


def test_a_field_that_cannot_be_stored_costs_no_message(tmp_path: Path) -> None:
    deep: Any = "x"
    for _ in range(300):
        deep = [deep]
    odd = line("b\x00", "a", "user", "Ho.", toolUseResult="a\x00b")
    source = read(tmp_path, [line("a", None, "user", "Hi.", toolUseResult=deep), odd, line("c", "a", "user", "Hm.")])
    assert texts(source) == ["Hi.", "Hm."]
    assert source.skipped == {"field that cannot be stored": 1}
    (branch,) = source.branches
    assert branch.name == "rewind b_"
    assert branch.drafts[0].attributes.extra["claude_code"] == {"toolUseResult": "a\ufffdb"}
    assert source.replaced == 2


def test_an_error_of_the_api_is_an_error(tmp_path: Path) -> None:
    said = line("b", "a", "assistant", [{"type": "text", "text": "API Error: 529"}], isApiErrorMessage=True)
    source = read(tmp_path, [line("a", None, "user", "Hi."), said])
    assert source.drafts[1].message.parts == (Error("API Error: 529"),)


@pytest.mark.parametrize("lines", [[{"type": "summary", "leafUuid": "x"}], [line("a", None, "user", 3)]])
def test_nothing_usable_is_one_sentence(tmp_path: Path, lines: list[Line]) -> None:
    with pytest.raises(BadInput) as caught:
        read(tmp_path, lines)
    assert str(caught.value) == f"{tmp_path / 's1.jsonl'}: there is no message in the transcript."


IDS = st.sampled_from("abcdefgh")


@given(st.data())
def test_whatever_the_links_are_every_line_is_on_a_path(data: st.DataObject) -> None:
    ids = data.draw(st.lists(IDS, unique=True, min_size=1))
    lines = [
        LinkedLine(
            one,
            data.draw(st.sampled_from(["", "m1", "m2"])),
            frozenset(data.draw(st.lists(st.sampled_from("12"), max_size=1))),
            frozenset(data.draw(st.lists(st.sampled_from("12"), max_size=2))),
        )
        for one in ids
    ]
    linked = [*ids, *data.draw(st.lists(IDS))]
    links = {one: data.draw(st.none() | IDS) for one in linked if data.draw(st.integers(0, 5))}
    found = find_paths(lines, links)
    on_paths = [{one.id for step in path for one in (*step.lines, *step.results)} for path in found]
    assert set().union(*on_paths) == set(ids)
    for path in found:
        every = [one.id for step in path for one in (*step.lines, *step.results)]
        assert len(every) == len(set(every))


@pytest.mark.parametrize("links", [{"a": "b", "b": "a"}, {"a": "a"}, {"a": "c", "b": "a", "c": "b"}])
def test_a_circle_of_links_loses_nothing(links: dict[str, str | None]) -> None:
    found = find_paths([LinkedLine(one) for one in sorted(links)], links)
    assert {one.id for path in found for step in path for one in step.lines} == set(links)


def test_a_long_chain_is_read_in_good_time() -> None:
    lines = [LinkedLine(str(n)) for n in range(30_000)]
    links = {str(n): str(n - 1) if n else None for n in range(30_000)}
    (path,) = find_paths(lines, links)
    assert len(path) == 30_000
