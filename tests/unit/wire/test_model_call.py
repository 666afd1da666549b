"""Requests as they go out, and answers as they come back: every body gives a reply or a failure."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from previously.core.model_io import FailureKind, ModelFailure, ModelReply, ModelRequest
from previously.core.tokens import estimate_tokens
from previously.wire.model_call import (
    RequestOptions,
    build_reply,
    build_request,
    find_refused_option,
    parse_body,
    read_answer,
)
from tests.unit.models.http_server import chat

REQUEST = ModelRequest(system="Be brief.", user="Recap: the ferry left at nine.", max_output_tokens=200)
SCHEMA = {"title": "scene memory!", "type": "object", "properties": {}}
WITH_SCHEMA = ModelRequest(system="", user="Recap.", max_output_tokens=50, schema=SCHEMA, temperature=0.0)


def read(body: object, status: int = 200, **headers: str) -> ModelReply | ModelFailure:
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    return read_answer(status, headers, content, request=REQUEST, model="asked-for", now=0.0)


def reply(body: object) -> ModelReply:
    answer = read(body)
    assert isinstance(answer, ModelReply), answer
    return answer


def failure(body: object, status: int = 200) -> ModelFailure:
    answer = read(body, status)
    assert isinstance(answer, ModelFailure), answer
    return answer


def test_a_request() -> None:
    assert build_request(REQUEST, "small", RequestOptions()) == {
        "model": "small",
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "Recap: the ferry left at nine."},
        ],
        "stream": False,
        "max_tokens": 200,
        "temperature": 0.3,
    }


def test_a_request_with_a_schema_and_no_system_message() -> None:
    body = build_request(WITH_SCHEMA, "small", RequestOptions())
    assert [message["role"] for message in body["messages"]] == ["user"]
    assert body["response_format"] == {
        "type": "json_schema",
        "json_schema": {"name": "scene_memory", "strict": True, "schema": SCHEMA},
    }


def test_a_request_leaves_out_what_the_server_does_not_take() -> None:
    body = build_request(WITH_SCHEMA, "small", RequestOptions(json_schema=False, temperature=False, max_tokens=False))
    assert set(body) == {"model", "messages", "stream", "max_completion_tokens"}


def test_unstorable_characters_do_not_go_out() -> None:
    body = build_request(ModelRequest("a\x00", "b\ud83d", 1), "small", RequestOptions())
    assert [message["content"] for message in body["messages"]] == ["a\ufffd", "b\ufffd"]


def test_an_ordinary_answer() -> None:
    answer = reply(chat("It rained."))
    assert (answer.text, answer.model, answer.finish_reason) == ("It rained.", "small-7b", "stop")
    assert (answer.usage.input_tokens, answer.usage.output_tokens, answer.usage.reported) == (20, 6, True)
    assert (answer.reasoning, answer.tool_calls) == ("", False)


@pytest.mark.parametrize(
    ("content", "text", "reasoning"),
    [
        (None, "", ""),
        ("", "", ""),
        ([], "", ""),
        ([{"type": "text", "text": "It "}, {"type": "text", "text": "rained."}], "It rained.", ""),
        (["It ", "rained."], "It rained.", ""),
        ([{"type": "output_text", "text": "Rain."}, {"type": "image_url"}, 7, None], "Rain.", ""),
        ([{"type": "thinking", "thinking": [{"text": "hm"}]}, {"type": "text", "text": "Rain."}], "Rain.", "hm"),
        ([{"type": "reasoning", "text": "hm"}, {"type": "text", "text": "Rain."}], "Rain.", "hm"),
        ("<think>hm</think>Rain.", "Rain.", "hm"),
        ("<think>hm", "", "hm"),
        ("Rain\x00 \ud83d.", "Rain\ufffd \ufffd.", ""),
    ],
)  # fmt: skip
def test_contents(content: Any, text: str, reasoning: str) -> None:
    answer = reply(chat(content))
    assert (answer.text, answer.reasoning) == (text, reasoning)


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning", "thinking"])
def test_thinking_beside_the_answer(field: str) -> None:
    answer = reply(chat("Rain.", message={field: "hm"}))
    assert (answer.text, answer.reasoning) == ("Rain.", "hm")
    only = reply(chat(None, message={field: "hm"}))
    assert (only.text, only.reasoning) == ("", "hm")


def test_thinking_told_twice_is_kept_once() -> None:
    assert reply(chat("Rain.", message={"reasoning": "hm", "reasoning_content": "hm"})).reasoning == "hm"


@pytest.mark.parametrize(
    ("told", "kept"),
    [
        ("stop", "stop"),
        ("length", "length"),
        ("STOP", "stop"),
        ("MAX_TOKENS", "length"),
        ("eos_token", "stop"),
        ("end_turn", "stop"),
        ("model_length", "length"),
        ("content_filter", "content_filter"),
        ("something_new", "something_new"),
        (None, None),
        ("", None),
        (3, None),
    ],
)
def test_why_it_ended_is_kept(told: object, kept: str | None) -> None:
    assert reply(chat("Rain.", finish_reason=told)).finish_reason == kept


@pytest.mark.parametrize(
    "body",
    [
        chat(None, message={"tool_calls": [{"id": "1", "function": {"name": "f", "arguments": "{}"}}]}),
        chat(None, message={"function_call": {"name": "f"}}),
        chat("Let me look.", finish_reason="tool_calls"),
        chat("Let me look.", finish_reason="function_call"),
    ],
)
def test_tool_calls_are_seen(body: object) -> None:
    assert reply(body).tool_calls


def test_no_tool_calls_in_an_empty_list() -> None:
    assert not reply(chat("Rain.", message={"tool_calls": [], "function_call": None})).tool_calls


@pytest.mark.parametrize(
    "usage",
    [
        None, {}, [], "many", {"prompt_tokens": 20}, {"prompt_tokens": "20", "completion_tokens": "6"},
        {"prompt_tokens": True, "completion_tokens": True}, {"prompt_tokens": -1, "completion_tokens": 6},
        {"prompt_tokens": 0, "completion_tokens": 0}, {"prompt_tokens": 20, "completion_tokens": 0},
        {"prompt_tokens": 1e9, "completion_tokens": 6}, {"prompt_tokens": 10**40, "completion_tokens": 6},
    ],
)  # fmt: skip
def test_tokens_that_were_not_counted_are_estimated(usage: object) -> None:
    counted = reply(chat("It rained all day.", usage=usage)).usage
    assert not counted.reported
    assert counted.input_tokens > 8
    assert counted.output_tokens == estimate_tokens("It rained all day.")


def test_tokens_of_an_empty_answer_may_be_nothing() -> None:
    assert reply(chat("", usage={"prompt_tokens": 20, "completion_tokens": 0})).usage.reported


def test_the_old_shape_of_completions() -> None:
    assert reply({"choices": [{"text": "Rain.", "finish_reason": "stop"}]}).text == "Rain."


def test_the_model_that_was_asked_for_where_none_is_named() -> None:
    assert reply(chat("Rain.", model=None)).model == "asked-for"


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"", "empty"),
        (b"  \n ", "empty"),
        (b"<html><body>Welcome</body></html>", "/v1"),
        (b"<!DOCTYPE html>", "/v1"),
        (b'{"choices": [{"mess', "cut off"),
        (b"ok", "not JSON"),
        (b'data: {"choices": []}\n\n', "stream"),
        (b"\xff\xfe\x00", "not JSON"),
        (b"[" * 100_000, "not JSON"),
        (b'{"a":' * 100_000, "not JSON"),
        (b"9" * 10_000, "not JSON"),
        (b'"choices"', "not JSON"),
        (b"null", "no message"),
        (b"[]", "no message"),
        (b"7", "no message"),
        (b"NaN", "no message"),
        (b"{}", "no message"),
        (b'{"choices": []}', "no message"),
        (b'{"choices": null}', "no message"),
        (b'{"choices": [null]}', "no message"),
        (b'{"choices": [{}]}', "no message"),
        (b'{"choices": [{"message": null}]}', "no message"),
        (b'{"choices": {"message": {}}}', "no message"),
        (b'{"choices": [{"message": {"content": 7}}]}', "neither"),
        (b'{"choices": [{"message": {"content": {"a": 1}}}]}', "neither"),
    ],
)
def test_what_cannot_be_read(body: bytes, words: str) -> None:
    found = failure(body)
    assert found.kind is FailureKind.UNREADABLE
    assert words in found.reason


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ({"error": {"code": 429, "message": "slow"}}, FailureKind.RATE_LIMITED),
        ({"error": {"code": "429", "message": "slow"}}, FailureKind.RATE_LIMITED),
        ({"error": {"status": 503}}, FailureKind.SERVER),
        ({"error": {"code": 502, "message": "Provider returned error"}, "user_id": "x"}, FailureKind.SERVER),
        ({"error": {"code": "context_length_exceeded"}}, FailureKind.OVERFLOW),
        ({"error": "boom"}, FailureKind.SERVER),
        ({"error": {"code": 401}}, FailureKind.UNAUTHORIZED),
        ({"object": "error", "message": "no such model", "code": 404}, FailureKind.BAD_REQUEST),
        ({"detail": "Not Found"}, FailureKind.SERVER),
        ({"choices": [{"error": {"code": 502}, "message": {"content": "It ra"}}]}, FailureKind.SERVER),
        (chat(None, finish_reason="content_filter"), FailureKind.FILTERED),
        (chat(None, message={"refusal": "I cannot."}), FailureKind.FILTERED),
    ],
)  # fmt: skip
def test_an_error_beside_status_200(body: object, kind: FailureKind) -> None:
    found = failure(body)
    assert found.kind is kind
    assert "200" not in found.reason


def test_no_error_is_no_error() -> None:
    assert reply(chat("Rain.", error=None)).text == "Rain."


def test_a_page_beside_an_error_is_not_quoted() -> None:
    assert failure(b"<html>nginx maximum context length</html>", 502) == ModelFailure(
        FailureKind.SERVER, "The server failed (status 502)."
    )


COMPLAINTS: list[tuple[Any, RequestOptions | None]] = [
    ({"error": {"message": "'response_format' of type 'json_schema' is not supported"}}, RequestOptions(False)),
    ({"error": {"message": "JSON schema error at #: unrecognized type blah"}}, RequestOptions(False)),
    ({"error": "'response_format.type' must be 'json_object' or 'text'"}, RequestOptions(False)),
    ({"detail": [{"type": "extra_forbidden", "loc": ["body", "response_format"], "msg": "no"}]}, RequestOptions(False)),
    ({"error": {"message": "failed to parse grammar"}}, RequestOptions(False)),
    ({"error": {"message": "Use 'max_completion_tokens' instead."}}, RequestOptions(max_tokens=False)),
    ({"error": {"message": "no", "param": "temperature"}}, RequestOptions(temperature=False)),
    ({"error": {"message": "Unknown field"}}, None),
    ({"detail": [{"loc": ["body", "n"], "msg": "bad", "input": {"response_format": {}}}]}, None),
    ("", None),
]  # fmt: skip


@pytest.mark.parametrize(("payload", "learnt"), COMPLAINTS)
def test_what_a_server_does_not_take(payload: Any, learnt: RequestOptions | None) -> None:
    bad = ModelFailure(FailureKind.BAD_REQUEST, "No.")
    assert find_refused_option(bad, payload, WITH_SCHEMA, RequestOptions()) == learnt


def test_only_what_was_sent_can_be_turned_down() -> None:
    bad = ModelFailure(FailureKind.BAD_REQUEST, "No.")
    complaint = {"error": {"message": "response_format, temperature, max_completion_tokens"}}
    assert find_refused_option(bad, complaint, WITH_SCHEMA, RequestOptions(False, False, False)) is None
    assert find_refused_option(bad, {"error": "response_format"}, REQUEST, RequestOptions()) is None
    overflow = ModelFailure(FailureKind.OVERFLOW, "No.")
    assert find_refused_option(overflow, complaint, WITH_SCHEMA, RequestOptions()) is None
    assert RequestOptions(json_schema=False).intersect(RequestOptions(max_tokens=False)) == RequestOptions(
        False, True, False
    )


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(
        st.sampled_from(
            ["choices", "message", "content", "error", "code", "usage", "text", "type", "thinking", "finish_reason",
             "detail", "model", "tool_calls", "refusal", "reasoning", "prompt_tokens", "completion_tokens", "loc"]
        ),
        inner,
        max_size=5,
    ),
    max_leaves=20,
)  # fmt: skip


@given(json_values, st.sampled_from([200, 201, 301, 400, 403, 404, 413, 422, 429, 500, 503]))
def test_any_json_gives_a_value(body: object, status: int) -> None:
    answer = read(body, status)
    assert isinstance(answer, ModelReply | ModelFailure)
    if isinstance(answer, ModelReply):
        answer.text.encode()
        answer.reasoning.encode()


@given(json_values)
def test_any_message_gives_a_value(message: object) -> None:
    read({"choices": [{"message": message, "finish_reason": message}], "usage": message, "model": message})
    read({"choices": [{"message": {"content": message, "tool_calls": message, "reasoning": message}}]})
    read({"error": message}, 400)


@given(st.binary(max_size=300), st.integers(100, 599), st.text(max_size=20))
def test_any_bytes_give_a_value(body: bytes, status: int, header: str) -> None:
    parse_body(body)
    assert isinstance(read(body, status, **{"retry-after": header}), ModelReply | ModelFailure)


def test_deep_parts_do_no_harm() -> None:
    parts: Any = "hm"
    for _ in range(300):
        parts = [{"type": "thinking", "thinking": parts}]
    assert reply(chat(parts)).text == ""


def test_a_raw_text_as_a_reply() -> None:
    answer = build_reply("<think>hm</think>Rain.", request=REQUEST, model="m")
    assert (answer.text, answer.reasoning, answer.finish_reason, answer.usage.reported) == (
        "Rain.",
        "hm",
        "stop",
        False,
    )
