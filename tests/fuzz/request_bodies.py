"""Targets that come over a connection: requests of clients, head and body, and answers of models' servers."""

from __future__ import annotations

import asyncio
import json
from functools import cache, partial
from random import Random
from typing import Any, cast

import uvicorn
from uvicorn.server import ServerState

from previously.core.messages import ToolCall, message
from previously.core.model_io import ModelFailure, ModelRequest
from previously.models.server_facts import WINDOW_PATHS, find_listed_window, read_model_names, read_slots
from previously.recognition.commands import find_command_messages, parse_command
from previously.server.callers import find_key
from previously.server.chat_request import parse_chat_request, write_body
from previously.server.guard import Bounds, check_body, check_head
from previously.server.hosts import (
    check_host,
    check_origin,
    is_preflight,
    make_cors_headers,
    make_preflight_headers,
    parse_hosts,
    parse_origins,
)
from previously.server.process import BoundedProtocol
from previously.wire.anthropic import parse_arguments
from previously.wire.errors import (
    collect_error_words,
    find_counted_tokens,
    find_error_message,
    find_named_window,
    find_retry_after_s,
    judge_failure,
)
from previously.wire.interface import CHAT, MESSAGES, RESPONSES, Interface
from previously.wire.model_call import parse_body, read_answer
from previously.wire.reasoning import split_reasoning
from previously.wire.responses import to_responses
from tests.fuzz import samples
from tests.fuzz.mutations import ODD_TEXTS, Sample
from tests.fuzz.target import FuzzInput, Target, check

BESIDE = {
    "stream": True, "user": "ada", "max_tokens": 300, "story": "Mill", "metadata": {"session_id": "s1", "user_id": "u"},
    "litellm_session_id": "l", "chat_meta": {"type": "swipe", "char": "Finn", "user": "Ada", "group": "Finn, Tess",
    "uid": "7", "last_id": "12"}, "safety_identifier": "u",
}  # fmt: skip
"""Fields of a body that we read, beside its messages."""

HEADERS = (
    "x-previously-story", "x-openwebui-chat-id", "x-session-id", "x-previously-kind", "user-agent", "session_id",
)  # fmt: skip

CHAT_BODIES = [
    Sample.of({"model": "m", "messages": samples.CHAT, **BESIDE}),
    Sample.of({"model": "m", "messages": [{"role": "user", "content": "//recap"}], "max_completion_tokens": 5}),
    Sample.of(
        {"messages": [{"role": "user", "content": "Ada: <recalled>\nx\n</recalled> Go on."}, *samples.CHAT[2:]],
         "chat_meta": {"type": "continue"}}
    ),
]  # fmt: skip
MESSAGES_BODIES = [
    Sample.of({"model": "m", "system": "Be brief.", "messages": samples.BLOCKS, **BESIDE}),
    *samples.ANTHROPIC,
]
RESPONSES_BODIES = [
    Sample.of({"model": "m", "instructions": "x", "input": samples.ITEMS, **BESIDE}),
    Sample.of({"input": "Hi.", "previous_response_id": "r", "conversation": {"id": "c"}, "truncation": "auto"}),
]

HEAD = (
    "POST /v1/chat/completions HTTP/1.1\r\nHost: localhost:8080\r\nContent-Type: application/json\r\n"
    "Authorization: Bearer key-1\r\nOrigin: http://localhost:8080\r\nX-Previously-Story: M%C3%BChle\r\n"
)
WIRE = [
    Sample.of(f"{HEAD}Content-Length: 15\r\n\r\n" + '{"messages":[]}'),
    Sample.of(f"{HEAD}Transfer-Encoding: chunked\r\n\r\n5\r\n" + '{"a":\r\n3;x=y\r\n1}\n\r\n0\r\nTrailer: x\r\n\r\n'),
    Sample.of("GET /healthz HTTP/1.1\r\nHost: [::1]:80\r\n\r\nGET http://evil.example/ HTTP/1.1\r\nHost: a\r\n\r\n"),
    Sample.of("OPTIONS /v1/models HTTP/1.1\r\nHost: a\r\nAccess-Control-Request-Method: GET\r\nExpect: 100-continue\r\n"
              "\r\n"),
]  # fmt: skip

HEADS = [
    Sample.of(
        {
            "host": "localhost:8080", "origin": "http://localhost:3000", "content-length": "15", "content-type":
            "application/json; charset=utf-8", "authorization": "Bearer key-1", "sec-fetch-site": "cross-site",
            "access-control-request-method": "POST", "access-control-request-headers": "content-type, x-a",
        }
    ),
    Sample.of(
        {"host": "[::1]:443", "transfer-encoding": "chunked", "content-type": "application/json", "x-api-key": "key-1",
         "content-encoding": "identity", "sec-fetch-site": "none", "access-control-request-private-network": "true"}
    ),
    Sample.of({"host": "127.0.0.1", "authorization": "Basic YTprZXktMQ==", "sec-fetch-mode": "navigate"}),
]  # fmt: skip


def _event(value: object, name: str = "") -> str:
    return f"event: {name}\ndata: {json.dumps(value)}\n\n" if name else f"data: {json.dumps(value)}\n\n"


def _typed(*events: dict[str, Any]) -> Sample:
    return Sample.of("".join(_event(event, event["type"]) for event in events))


def _chunk(finish: str | None = None, **delta: Any) -> dict[str, Any]:
    return {"model": "m", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}


_CALL = {"index": 0, "id": "c1", "function": {"name": "look", "arguments": '{"a"'}}
CHAT_STREAMS = [
    Sample.of(
        ": hello\n\n"
        + _event(_chunk(role="assistant", content="The "))
        + _event(_chunk(reasoning_content="Hm.", content="mühle 雨"))
        + _event(_chunk(tool_calls=[_CALL]))
        + _event(_chunk(tool_calls=[{"index": 0, "function": {"arguments": ": 1}"}}]))
        + _event(_chunk("stop"))
        + _event({"choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 2}})
        + "data: [DONE]\n\n"
    ),
    Sample.of({"choices": [{"message": {"content": "Rain.", "tool_calls": [_CALL]}, "finish_reason": "stop"}]}),
    Sample.of(_event(_chunk(content="Ra")) + "event: error\ndata: {\"error\": {\"message\": \"busy\"}}\n\n"),
    Sample.of({"choices": [{"text": "old"}], "usage": {"prompt_tokens": 1}}),
]  # fmt: skip
MESSAGES_STREAMS = [
    _typed(
        {"type": "message_start", "message": {"id": "m", "model": "m", "content": [], "usage": {"input_tokens": 3}}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "thinking", "thinking": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": "Hm."}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "signature_delta", "signature": "s"}},
        {"type": "content_block_stop", "index": 0},
        {"type": "content_block_start", "index": 1, "content_block": {"type": "tool_use", "id": "t", "name": "sh"}},
        {"type": "content_block_delta", "index": 1, "delta": {"type": "input_json_delta", "partial_json": '{"a": 1}'}},
        {"type": "content_block_start", "index": 2, "content_block": {"type": "text", "text": "Ra"}},
        {"type": "content_block_delta", "index": 2, "delta": {"type": "text_delta", "text": "in 雨."}},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 4}},
        {"type": "message_stop"},
    ),
    Sample.of({"type": "message", "content": samples.BLOCKS[1]["content"], "stop_reason": "end_turn"}),
    _typed({"type": "error", "error": {"type": "overloaded_error", "message": "busy"}}),
]  # fmt: skip
RESPONSES_STREAMS = [
    _typed(
        {"type": "response.created", "response": {"id": "r", "model": "m", "status": "in_progress"}},
        {"type": "response.output_item.added", "output_index": 0, "item": {"type": "message", "id": "i"}},
        {"type": "response.output_text.delta", "item_id": "i", "output_index": 0, "content_index": 0, "delta": "Rain "},
        {"type": "response.reasoning_summary_text.delta", "item_id": "q", "delta": "Hm."},
        {"type": "response.function_call_arguments.delta", "item_id": "f", "output_index": 1, "delta": '{"a": 1}'},
        {"type": "response.output_item.done", "output_index": 1, "item": samples.ITEMS[2]},
        {"type": "response.completed", "response": {"id": "r", "output": samples.ITEMS[1:3], "status": "completed",
                                                    "usage": {"input_tokens": 2, "output_tokens": 3}}},
    ),
    Sample.of({"id": "r", "object": "response", "status": "incomplete", "output": samples.ITEMS[1:3], "error": None,
               "incomplete_details": {"reason": "max_output_tokens"}}),
    _typed({"type": "response.failed", "response": {"error": {"code": "server_error", "message": "no"}}}),
]  # fmt: skip

ERRORS = [
    Sample.of({"error": {"message": "This model's maximum context length is 8192 tokens, you requested 9,001 tokens.",
                         "type": "invalid_request_error", "code": "context_length_exceeded", "param": "messages"}}),
    Sample.of({"detail": [{"loc": ["body", "messages"], "msg": "field required", "type": "missing", "input": {}}]}),
    Sample.of({"error": "rate limit", "code": 429, "metadata": {"raw": '{"error": "x"}'}}),
    Sample.of("<html><body>502 Bad Gateway</body></html>"),
]  # fmt: skip
FACTS = [
    Sample.of({"data": [{"id": "m", "max_model_len": 8192, "meta": {"n_ctx": 1}, "loaded_context_length": 3}]}),
    Sample.of({"models": [{"name": "m", "context_length": 9, "loaded_instances": [{"config": {"context_length": 1}}]}],
               "default_generation_settings": {"n_ctx": 1}, "total_slots": 4, "parameters": "num_ctx 9\n", "value": 1}),
]  # fmt: skip
TALK = [
    Sample.of("<think>Hm. <b>x</b></think>\nRain falls."),
    Sample.of("<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>final<|message|>Rain."),
    Sample.of("[THINK]a[/THINK] b </think> c\n```json\n{}\n```"),
]
COMMANDS = [
    Sample.of("//recap"), Sample.of("Ada: !!threads the debt\nis paid"), Sample.of("[Previously] Still open:\n- x"),
    Sample.of("// knows  Finn\n"),
]  # fmt: skip
ARGUMENTS = [Sample.of({"where": "mill", "deep": [{"a": None}], "n": 1.5}), Sample.of('"text"'), Sample.of("[1]")]


def list_requests() -> list[Target]:
    """Return a target for each thing that clients and servers send."""
    return [
        Target("request: chat completions", partial(_read_request, CHAT), CHAT_BODIES),
        Target("request: messages", partial(_read_request, MESSAGES), MESSAGES_BODIES),
        Target("request: responses", partial(_read_request, RESPONSES), RESPONSES_BODIES),
        Target("request: head", _read_head, HEADS),
        Target("request: bytes on the wire", _read_wire, WIRE),
        Target("request: command in a chat", _read_command, COMMANDS),
        Target("request: tool arguments", _read_arguments, ARGUMENTS),
        Target("reply: chat completions", partial(_read_stream, CHAT), CHAT_STREAMS),
        Target("reply: messages", partial(_read_stream, MESSAGES), MESSAGES_STREAMS),
        Target("reply: responses", partial(_read_stream, RESPONSES), RESPONSES_STREAMS),
        Target("reply: answer to a fold", _read_answer, [*CHAT_STREAMS[1::2] * 4, *CHAT_STREAMS, *ERRORS]),
        Target("reply: error", _read_error, ERRORS),
        Target("reply: facts of a server", _read_facts, FACTS),
        Target("reply: reasoning", _read_reasoning, TALK),
    ]


def _read_request(interface: Interface, given: FuzzInput) -> None:
    """Read a request; what was read can be looked up, named, stored and sent on."""
    headers = {name: _pick_header(given.chance) for name in HEADERS if given.chance.random() < 0.1}
    request = parse_chat_request(given.content, headers, interface)
    check(len(request.drafts) == len(request.messages), "a message became none or two")
    asked = request.client_request("ann")
    for name in (asked.story or "", asked.user or ""):  # as they were given, whether they can be seen or not
        name.encode()
        check("\0" not in name and len(name) < 500, f"a name that cannot be kept: {name[:100]!r}")
    made = request.make_story_name()
    check(made.isprintable() and len(made) < 500, f"a name that cannot be shown: {made[:100]!r}")
    for draft in request.drafts:
        json.dumps(draft.attributes.extra, allow_nan=False, ensure_ascii=False).encode()
        draft.message.text.encode()
        json.dumps(interface.write_raws(draft.message), ensure_ascii=False).encode()
    for raw, draft in zip(request.messages, request.drafts, strict=True):
        interface.rewrite_raw(raw, draft.message)
    json.loads(write_body(request, request.messages))


def _pick_header(chance: Random) -> str:
    """Return the value of a header as a server sees it: bytes, taken for Latin-1."""
    return chance.choice(ODD_TEXTS)[:50].encode("utf-8", "surrogatepass").decode("latin-1")


def _read_head(given: FuzzInput) -> None:
    """Judge the head of a request as the guard does."""
    try:
        fields = json.loads(given.content)
    except (ValueError, RecursionError):
        fields = {"host": given.text}
    pairs = fields.items() if isinstance(fields, dict) else [("host", str(fields))]
    headers = [
        (name.lower().encode("latin-1", "replace"), str(value)[:10_000].encode("latin-1", "replace"))
        for name, value in pairs
    ]
    if given.chance.random() < 0.1 and headers:
        headers.append(given.chance.choice(headers))
    method = given.chance.choice(("GET", "POST", "OPTIONS", "HEAD", "PUT"))
    path = given.chance.choice(("/v1/messages", "/", "/v1/" + "x" * 9_000)).encode()
    check_head(path, headers, Bounds())
    find_key(headers)
    host = check_host(headers, _hosts())
    origin = check_origin(method, host, headers, parse_origins(["http://localhost:3000"]))
    if origin is not None:
        make_cors_headers(origin)
    if is_preflight(method, headers):
        for _, value in make_preflight_headers(headers):
            check(b"\n" not in value and b"\r" not in value, "a header of ours is two")
    check_body(method, headers, Bounds())


@cache
def _hosts() -> frozenset[str]:
    return parse_hosts("0.0.0.0", ["stories.example"])


class _Transport(asyncio.Transport):
    """A connection without a peer: what is written is kept."""

    def __init__(self) -> None:
        super().__init__({"peername": ("127.0.0.1", 5), "sockname": ("127.0.0.1", 8080)})
        self.written = b""
        self.closed = False

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.written += bytes(data)

    def is_closing(self) -> bool:
        return self.closed

    def close(self) -> None:
        self.closed = True

    abort = close

    def pause_reading(self) -> None:
        pass

    resume_reading = pause_reading


async def _answer(scope: Any, receive: Any, send: Any) -> None:
    """Read all of a request, and say how long it was."""
    length = 0
    while True:
        event = await receive()
        length += len(event.get("body", b""))
        if event["type"] == "http.disconnect" or not event.get("more_body"):
            break
    body = str(length).encode()
    head = [(b"content-type", b"text/plain"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": 200, "headers": head})
    await send({"type": "http.response.body", "body": body})


@cache
def _loop() -> tuple[asyncio.AbstractEventLoop, uvicorn.Config]:
    config = uvicorn.Config(_answer, log_config=None, access_log=False, lifespan="off")
    config.load()
    return asyncio.new_event_loop(), config


def _read_wire(given: FuzzInput) -> str | None:
    """Take bytes as they come over a connection, in any pieces, until nothing more is said."""
    loop, config = _loop()
    transport = _Transport()

    async def talk() -> None:
        protocol = BoundedProtocol(config, ServerState(), {}, asyncio.get_running_loop())
        protocol.connection_made(transport)
        for piece in _split(given, 4):
            if not transport.closed:
                protocol.data_received(piece)
                await asyncio.sleep(0)
        for _ in range(12):  # each request takes a few steps of the loop
            await asyncio.sleep(0)
        protocol.connection_lost(None)
        await asyncio.sleep(0)

    loop.run_until_complete(talk())
    check(not transport.written or transport.written.startswith(b"HTTP/1.1 "), "an answer that is none")
    refused = transport.written.startswith((b"HTTP/1.1 4", b"HTTP/1.1 5"))
    if refused and b"\r\n\r\n{" in transport.written:
        sentence = json.loads(transport.written.partition(b"\r\n\r\n")[2].partition(b"HTTP/1.1")[0])
        return cast("str", sentence["error"]["message"])
    check(not refused, f"a refusal without a sentence: {transport.written[:200]!r}")
    return None


def _split(given: FuzzInput, most: int) -> list[bytes]:
    """Cut an input into pieces, anywhere."""
    cuts = sorted(given.chance.randrange(len(given.content) + 1) for _ in range(given.chance.randrange(most + 1)))
    return [given.content[start:end] for start, end in zip([0, *cuts], [*cuts, len(given.content)], strict=True)]


def _read_stream(interface: Interface, given: FuzzInput) -> str | None:
    """Read a reply in random pieces, and byte by byte where it is short: however it comes it says the same."""
    whole = interface.open_reader()
    whole.feed(given.content)
    reply = whole.finish()
    ways = [_split(given, 6)]
    if len(given.content) < 3_000 and given.chance.random() < 0.1:
        ways.append([given.content[at : at + 1] for at in range(len(given.content))])
    for pieces in ways:
        reader = interface.open_reader()
        for piece in pieces:
            reader.feed(piece)
            reader.reply()
        check(reader.finish() == reply, "a reply differs with how it is split")
    for choice in reply.choices:
        choice.text.encode()
        for call in choice.tool_calls:
            call.arguments.encode()
    return None


REQUEST = ModelRequest(system="Be brief.", user="What happened at the mill?", max_output_tokens=100)


def _read_answer(given: FuzzInput) -> str | None:
    status = given.chance.choice((200, 200, 200, 200, 200, 200, 400, 401, 404, 413, 429, 500, 503))
    headers = {"retry-after": given.chance.choice(ODD_TEXTS)} if given.chance.random() < 0.2 else {}
    answer = read_answer(status, headers, given.content, request=REQUEST, model="m", now=0.0, key="sk-secret")
    if isinstance(answer, ModelFailure):
        check("sk-secret" not in answer.reason, "a key was told")
        return answer.reason
    answer.text.encode()
    return None


def _read_error(given: FuzzInput) -> None:
    payload = parse_body(given.content)
    words = collect_error_words(payload)
    find_error_message(payload)
    judge_failure(given.chance.choice((400, 413, 429, 500)), words)
    for number in (find_named_window(words), find_counted_tokens(words)):
        check(number is None or number > 0, "a number that is none")
    waits = find_retry_after_s({"retry-after": given.text[:100]}, 0.0)
    check(waits is None or 0 <= waits < float("inf"), "a time that is none")


def _read_facts(given: FuzzInput) -> None:
    payload = parse_body(given.content)
    check(all(isinstance(name, str) for name in read_model_names(payload)), "a name that is none")
    for size in (
        find_listed_window(payload, "m"),
        read_slots(payload),
        *(one.read(payload, "m") for one in WINDOW_PATHS),
    ):
        check(size is None or size > 0, "a size that is none")


def _read_reasoning(given: FuzzInput) -> None:
    thought, answer = split_reasoning(given.said)
    check(len(thought) + len(answer) <= len(given.said), "more came out than went in")


def _read_command(given: FuzzInput) -> str | None:
    command = parse_command(given.said)
    find_command_messages([message("user", given.said), message("assistant", given.said)])
    return None if command is not None else "This is no command."


def _read_arguments(given: FuzzInput) -> None:
    """Arguments of a call are whatever a model wrote; each interface must be able to show them."""
    call = ToolCall("c1", "look", given.said)
    json.dumps(parse_arguments(call))
    json.dumps(to_responses([message("assistant", "x")]))
    for interface in (CHAT, MESSAGES, RESPONSES):
        said = message("assistant", "x")
        whole = type(said)(said.role, (*said.parts, call), said.speaker, said.witnesses)
        json.dumps(interface.write_raws(whole))
