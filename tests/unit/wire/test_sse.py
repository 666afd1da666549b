"""The reader of streamed answers: the same text as the client got, whatever the server's manners and the network's."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from openai._streaming import SSEDecoder

from previously.core.messages import ToolCall
from previously.wire import sse
from previously.wire.reply import MAX_CHOICES, MAX_TOOL_CALLS, Reply, ReplyChoice
from previously.wire.sse import MAX_LINE_BYTES, ReplyReader
from tests.unit.wire.odd_streams import EMOJI, ODD_FORMS, PLAIN, SAID, chunk, dumped, stream
from tests.unit.wire.whole_reply import read_reply


def fed(*pieces: bytes, **bounds: int) -> Reply:
    reader = ReplyReader(**bounds)
    for piece in pieces:
        reader.feed(piece)
    return reader.finish()


def test_an_ordinary_stream() -> None:
    usage = {"prompt_tokens": 20, "completion_tokens": 6}
    last = {"model": "other", "choices": [], "usage": usage}
    got = fed(stream(chunk(role="assistant"), chunk("The ferry "), chunk("left."), chunk(finish="stop"), last))
    assert got == Reply(
        (ReplyChoice(0, "The ferry left.", finish_reason="stop"),), model="small-7b", usage=usage, done=True
    )
    assert got.whole


def test_what_the_client_got_by_now() -> None:
    reader = ReplyReader()
    reader.feed(stream(chunk("The ferry "), done=False) + b'data: {"choices":[{"delta":{"content":"left')
    assert reader.reply().choice().text == "The ferry "
    assert not reader.reply().whole
    assert reader.finish() == reader.finish()
    assert (reader.finish().choice().text, reader.finish().junk) == ("The ferry ", 1)


def test_every_split_of_a_stream_of_emoji() -> None:
    assert 2_000 < len(EMOJI) < 3_000
    whole = fed(EMOJI)
    assert whole.choice().text == "".join(f"🦊 čaj {n} 東京 👩‍👩‍👧 " for n in range(17)) + "終"
    for at in range(len(EMOJI) + 1):
        assert fed(EMOJI[:at], EMOJI[at:]) == whole
    windows = EMOJI.replace(b"\n", b"\r\n")
    for at in range(len(windows) + 1):
        assert fed(windows[:at], b"", windows[at:]) == whole
    for size in (1, 2, 3, 7):
        assert fed(*(windows[at : at + size] for at in range(0, len(windows), size))) == whole


ESCAPED = (
    b'data: {"choices":[{"delta":{"content":"\\ud83e"}}]}\n\ndata: {"choices":[{"delta":{"content":"\\udd8a!"}}]}\n\n'
)


@pytest.mark.parametrize("form", ODD_FORMS)
def test_odd_forms(form: str) -> None:
    body = ODD_FORMS[form]
    got = fed(body)
    assert [choice.text for choice in got.choices] == [SAID]
    assert got.error is None
    assert bool(got.junk) == any(word in form for word in ("junk", "words after", "too long"))
    assert got.streamed == (not body.lstrip(b"\xef\xbb\xbf\r\n").startswith(b"{") or "goes on" in form)
    if len(body) < 3_000:
        assert fed(*(body[at : at + 1] for at in range(len(body)))) == got
    assert read_reply(body) == got


def test_halves_of_a_character_are_one_again_as_in_a_browser() -> None:
    assert fed(ESCAPED).choice().text == "🦊!"
    assert fed(ESCAPED[: ESCAPED.index(b"\n\n") + 2]).choice().text == "\N{REPLACEMENT CHARACTER}"


def test_bytes_that_are_no_utf8() -> None:
    assert fed(PLAIN.replace(b"nine", b"\xff\xf0\x9f")).choice().text == "The ferry left at \ufffd\ufffd."


def test_several_choices_side_by_side() -> None:
    got = fed(stream(chunk("b", index=1), chunk("a"), chunk("B", index=1, finish="length"), chunk("A", finish="stop")))
    assert [(choice.index, choice.text, choice.finish_reason) for choice in got.choices] == [
        (0, "aA", "stop"), (1, "bB", "length"),
    ]  # fmt: skip
    assert got.choice(1).text == "bB"
    assert got.choice(2) == ReplyChoice(2)
    assert got.choice(2).empty and not got.choice(1).empty


@pytest.mark.parametrize("name", ["reasoning_content", "reasoning", "thinking"])
def test_reasoning_lies_beside_the_text(name: str) -> None:
    thoughts: list[dict[str, Any]] = [{name: "Hm, "}, {name: "nine."}]
    got = fed(stream(*(chunk(**thought) for thought in thoughts), chunk("Nine.", finish="stop"))).choice()
    assert (got.reasoning, got.text) == ("Hm, nine.", "Nine.")


def test_reasoning_that_is_told_twice_counts_once() -> None:
    assert fed(stream(chunk(reasoning="Hm.", reasoning_content="Hm."))).choice().reasoning == "Hm."


def test_reasoning_among_the_parts() -> None:
    thinking = {"type": "thinking", "thinking": [{"type": "text", "text": "Hm."}]}
    got = fed(stream(chunk([thinking, {"type": "text", "text": "Nine."}]))).choice()
    assert (got.reasoning, got.text) == ("Hm.", "Nine.")


def called(**piece: Any) -> dict[str, Any]:
    function = {name: piece.pop(name) for name in ("name", "arguments") if name in piece}
    return chunk(tool_calls=[piece | ({"function": function} if function else {})])


TOOL_FORMS = {
    "in pieces": (
        called(index=0, id="a", name="tide", arguments=""), called(index=0, arguments='{"port":'),
        called(index=0, arguments='"Ule"}'), called(index=1, id="b", name="clock", arguments="{}"),
    ),
    "interleaved": (
        called(index=0, id="a", name="tide"), called(index=1, id="b", name="clock"),
        called(index=0, arguments='{"port":'), called(index=1, arguments="{}"), called(index=0, arguments='"Ule"}'),
    ),
    "all of index 0": (
        called(index=0, id="a", name="tide", arguments='{"port":"Ule"}'),
        called(index=0, id="b", name="clock", arguments="{}"),
    ),
    "without an index": (
        called(id="a", name="tide", arguments='{"port":"Ule"}'), called(id="b", name="clock", arguments="{}"),
    ),
    "id and name with every piece": (
        called(index=0, id="a", name="tide", arguments='{"port":'),
        called(index=0, id="a", name="tide", arguments='"Ule"}'),
        called(index=1, id="b", name="clock", arguments="{}"),
    ),
    "name in pieces": (
        called(index=0, id="a", name="ti"), called(index=0, name="de", arguments='{"port":"Ule"}'),
        called(index=1, id="b", name="clock", arguments="{}"),
    ),
    "as one message": (
        {"choices": [{"message": {"content": None, "tool_calls": [
            {"id": "a", "function": {"name": "tide", "arguments": '{"port":"Ule"}'}},
            {"id": "b", "function": {"name": "clock", "arguments": {}}},
        ]}}]},
    ),
}  # fmt: skip


@pytest.mark.parametrize("form", TOOL_FORMS)
def test_tool_calls(form: str) -> None:
    got = fed(stream(*TOOL_FORMS[form], chunk(finish="tool_calls"))).choice()
    assert got.tool_calls == (ToolCall("a", "tide", '{"port":"Ule"}'), ToolCall("b", "clock", "{}"))
    assert (got.text, got.finish_reason, got.empty) == ("", "tool_calls", False)


def test_the_older_function_call() -> None:
    got = fed(stream(chunk(function_call={"name": "tide"}), chunk(function_call={"arguments": "{}"}))).choice()
    assert got.tool_calls == (ToolCall("", "tide", "{}"),)


def test_a_refusal() -> None:
    got = fed(stream(chunk(refusal="I will "), chunk(refusal="not."))).choice()
    assert (got.refusal, got.text, got.empty) == ("I will not.", "", False)


ERROR = {"message": "The card fell out.", "code": 500}
ERROR_FORMS = {
    "an object": stream(chunk("The "), {"error": ERROR}),
    "beside an empty choice": stream(chunk("The "), {"error": ERROR, **chunk(finish="error")}),
    "in the choice": stream(chunk("The "), {"choices": [{"delta": {}, "error": ERROR}]}),
    "an event": stream(chunk("The "), done=False) + b"event: error\ndata: " + dumped(ERROR).encode() + b"\n\n",
    "an event around it": stream(chunk("The "), done=False) + b"event:error\ndata:" + dumped({"error": ERROR}).encode(),
    "an event of several lines": stream(chunk("The "), done=False) + b"event: error\n"
    + b"".join(b"data: " + line + b"\n" for line in json.dumps(ERROR, indent=1).encode().split(b"\n")),
    "a bare line": stream(chunk("The "), done=False) + dumped({"error": ERROR}).encode(),
    "the first counts": stream(chunk("The "), {"error": ERROR}, {"error": "another"}),
}  # fmt: skip


@pytest.mark.parametrize("form", ERROR_FORMS)
def test_errors_in_the_stream(form: str) -> None:
    got = fed(ERROR_FORMS[form])
    assert (got.error, got.choice().text, got.whole) == (ERROR, "The ", False)


@pytest.mark.parametrize(
    ("body", "error"),
    [
        (b"event: error\ndata: out of memory\n\n", "out of memory"),
        (b'{"detail": "Not Found"}', "Not Found"),
        (b'{"object": "error", "message": "no"}', {"object": "error", "message": "no"}),
        (b'{"error": "no"}', "no"),
    ],
)
def test_errors_in_place_of_an_answer(body: bytes, error: object) -> None:
    got = read_reply(body)
    assert (got.error, got.choices, got.whole) == (error, (), False)


@pytest.mark.parametrize(
    ("body", "whole"),
    [
        (PLAIN, True),
        (stream(chunk("x"), done=False), False),
        (stream(chunk("x", finish="stop"), done=False), True),
        (stream(chunk("x", finish="stop"), chunk("y", index=1), done=False), False),
        (stream(chunk("x")), True),
        (b"data: [DONE]\n\n", False),
        (b'{"choices":[{"message":{"content":"x"}}]}', True),
        (b'{"choices":[{"message":{"content":"x"}', False),
        (b"<html>It works!</html>", False),
        (b"", False),
    ],
)
def test_whether_the_server_said_that_this_is_all(body: bytes, whole: bool) -> None:
    assert fed(body).whole is read_reply(body).whole is whole


def test_texts_are_bounded() -> None:
    got = fed(stream(chunk("ab🦊"), chunk("cd", index=1), chunk("e", finish="stop")), max_text_bytes=7)
    assert ([choice.text for choice in got.choices], got.truncated) == (["ab🦊", "c"], True)
    assert got.choice().finish_reason == "stop"
    assert not got.whole
    assert fed(stream(chunk("ab🦊")), max_text_bytes=5).choice().text == "ab"
    calls = fed(stream(called(index=0, id="a", name="tide", arguments="x" * 50)), max_text_bytes=20)
    assert (calls.choice().tool_calls[0].arguments, calls.truncated) == ("x" * 20, True)


def test_choices_and_calls_are_bounded() -> None:
    many = fed(stream(*(chunk("x", index=n) for n in range(MAX_CHOICES + 5))))
    assert (len(many.choices), many.truncated) == (MAX_CHOICES, True)
    calls = fed(stream(*(called(index=n, id=f"{n}", name="x") for n in range(MAX_TOOL_CALLS + 5))))
    assert (len(calls.choice().tool_calls), calls.truncated) == (MAX_TOOL_CALLS, True)


def test_lines_are_bounded() -> None:
    reader = ReplyReader()
    reader.feed(b"data: " + b"x" * 5 * MAX_LINE_BYTES)
    assert sum(map(len, reader._partial)) <= MAX_LINE_BYTES
    reader.feed(b"\n\n" + b"data: {\n" * (MAX_LINE_BYTES // 4))
    assert sum(map(len, reader._waiting)) <= MAX_LINE_BYTES
    reader.feed(b"\n" + PLAIN)
    assert reader.finish().choice().text == SAID
    assert reader.finish().truncated, "what stood in the long line is missing"


def test_bodies_are_bounded() -> None:
    body = dumped({"choices": [{"message": {"content": "x" * 500}}]}).encode()
    assert fed(body, max_body_bytes=1_000).whole
    assert fed(body, max_body_bytes=500) == Reply(streamed=False, truncated=True, junk=1)
    assert fed(body.replace(b":", b":\n"), max_body_bytes=500).truncated
    assert read_reply(body + b" " * 20_000_000).whole


@pytest.mark.parametrize(
    "odd", ["[" * 200_000, '{"a":' * 100_000, "9" * 10_000, '{"choices":%s}' % ("[" * 500 + "]" * 500)]
)
def test_json_that_breaks_readers(odd: str) -> None:
    assert fed(stream(odd, chunk("x"))).choice().text == "x"
    assert fed(stream(called(index=0, arguments=json.loads('{"a":' * 300 + "1" + "}" * 300)))).choice().tool_calls


def test_an_object_is_parsed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    parsed = 0
    read_object = sse._read_object

    def counting(text: str, start: int = 0) -> tuple[Any, int]:
        nonlocal parsed
        parsed += 1
        return read_object(text, start)

    monkeypatch.setattr(sse, "_read_object", counting)
    fed(*(EMOJI[at : at + 50] for at in range(0, len(EMOJI), 50)))
    assert parsed == 18
    fed(dumped({"choices": []}).encode())
    assert parsed == 19


# What a server may send, as a model of the text that a client puts together


texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
ends = st.sampled_from(["\n\n", "\r\n\r\n", "\r\r", "\n\n\n", "\n: hm\n\n", "\r\nid: 1\r\n\r\n"])


@st.composite
def streams(draw: st.DrawFn) -> tuple[bytes, str, list[int]]:
    """A stream, the text in it, and where it is split."""
    said = draw(st.lists(texts, max_size=8))
    body = bytearray()
    for text in said:
        value = dumped(chunk(text)) if draw(st.booleans()) else json.dumps(chunk(text))
        body += (draw(st.sampled_from(["data: ", "data:"])) + value + draw(ends)).encode()
    body += b"data: [DONE]\n\n" * draw(st.booleans())
    return bytes(body), "".join(said), draw(st.lists(st.integers(0, len(body)), max_size=12).map(sorted))


def pieces(body: bytes, splits: list[int]) -> Iterator[bytes]:
    for first, last in zip([0, *splits], [*splits, len(body)], strict=True):
        yield body[first:last]


@given(streams())
def test_any_stream_in_any_pieces(case: tuple[bytes, str, list[int]]) -> None:
    body, text, splits = case
    got = fed(*pieces(body, splits))
    assert (got.choice().text, got.junk, got.truncated) == (text, 0, False)


@given(streams())
def test_the_same_text_as_the_official_client(case: tuple[bytes, str, list[int]]) -> None:
    body, _, splits = case
    heard = []
    for event in SSEDecoder().iter_bytes(pieces(body, splits)):
        if event.data.startswith("[DONE]"):
            break
        if not event.data:
            continue  # it keeps the id of an event, and makes another of each further empty line
        heard.append(event.json()["choices"][0]["delta"]["content"])
    assert fed(body).choice().text == "".join(heard)


SCRAPS = [
    *stream(chunk("a🦊"), {"error": 1}, called(index=0, id="x", name="y", arguments="{")).splitlines(True),
    *b'data:|data: {|event: error\n|{"choices":[{"delta":{"content":|{"error":|"choices":|null|[DONE]'.split(b"|"),
    *(b"\r", b"\n", b"\r\n", b"{", b"[", b'"', b"}", b":", b",", b"\xef\xbb\xbf"),
]
scraps = st.lists(st.one_of(st.binary(max_size=12), st.sampled_from(SCRAPS)), max_size=20).map(b"".join)


@given(scraps, st.data())
def test_any_bytes_in_any_pieces_give_the_same(body: bytes, data: st.DataObject) -> None:
    splits = data.draw(st.lists(st.integers(0, len(body)), max_size=8).map(sorted))
    assert fed(*pieces(body, splits)) == fed(body) == read_reply(body)


json_values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-3, 3), st.floats(), st.text(max_size=3)),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(
        "choices delta message content text index finish_reason tool_calls function name arguments id function_call "
        "reasoning refusal usage model error detail object type thinking".split()), inner, max_size=5),
    max_leaves=20,
)  # fmt: skip


@given(st.lists(json_values, max_size=4))
def test_any_json_is_taken(values: list[object]) -> None:
    got = fed(stream(*(json.dumps(value) for value in values)))
    for choice in got.choices:
        choice.text.encode()
        choice.reasoning.encode()
