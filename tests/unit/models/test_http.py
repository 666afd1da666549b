"""The client over real HTTP: whatever a server does comes back as a value, and the key goes nowhere else."""

from __future__ import annotations

import asyncio
import gzip
import json
import logging
import sys
import traceback
from typing import Any

import httpx
import pytest

from previously.core.errors import BadInput
from previously.core.model_io import FailureKind, ModelFailure, ModelReply, ModelRequest
from previously.models import http
from previously.models.client import Model
from previously.models.endpoint import parse_endpoint
from previously.models.http import OpenAICompatibleModel
from previously.models.retry import GiveUp, Wait, decide_retry
from tests.unit.models.http_server import Play, Received, ScriptedServer, answer, chat, hang, in_turn, raw

KEY = "hunter2-hunter2-hunter2"
PROMPT = "Odalys hid the ledger under the third stair."
REQUEST = ModelRequest(system="Recap in one sentence.", user=PROMPT, max_output_tokens=100)
SCHEMA = {"type": "object", "properties": {"recap": {"type": "string"}}, "required": ["recap"]}
WITH_SCHEMA = ModelRequest(system="", user=PROMPT, max_output_tokens=100, schema=SCHEMA)
KIND = FailureKind


async def asked(play: Play, request: ModelRequest = REQUEST, **options: Any) -> ModelReply | ModelFailure:
    """What one question brings when the server does this."""
    async with ScriptedServer(play) as server:
        model: Model = OpenAICompatibleModel(server.url, "small", KEY, **{"timeout_s": 30.0} | options)
        try:
            return await model.ask(request)
        finally:
            await model.close()


async def test_an_answer() -> None:
    async with ScriptedServer(answer(200, chat("<think>hm</think>It rained."))) as server:
        model = OpenAICompatibleModel(server.url + "/", "small", KEY)
        reply = await model.ask(REQUEST)
        await model.close()
    assert isinstance(reply, ModelReply)
    assert (reply.text, reply.reasoning, reply.usage.reported) == ("It rained.", "hm", True)
    [request] = server.requests
    assert (request.method, request.path) == ("POST", "/v1/chat/completions")
    assert request.headers["authorization"] == f"Bearer {KEY}"
    assert request.json["messages"][1]["content"] == PROMPT
    assert "tools" not in request.json


def stream(*deltas: str, end: str = 'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\n') -> bytes:
    lines = [json.dumps({"choices": [{"index": 0, "delta": {"content": delta}}]}) for delta in deltas]
    return "".join([*(f"data: {line}\n\n" for line in lines), end]).encode()


async def aloud(play: Play) -> tuple[ModelReply | ModelFailure, list[str], Any]:
    told: list[str] = []
    async with ScriptedServer(play) as server:
        model = OpenAICompatibleModel(server.url, "small", KEY, timeout_s=30.0)
        reply = await model.ask_aloud(REQUEST, told.append)
        await model.close()
    return reply, told, server.requests[0].json


async def test_words_are_told_as_they_come() -> None:
    reply, told, body = await aloud(chunked(stream("<think>hm</think>"), stream("It ", end=""), stream("rained.")))
    assert isinstance(reply, ModelReply)
    assert (reply.text, reply.reasoning, reply.finish_reason) == ("It rained.", "hm", "stop")
    assert told[-1].strip() == "It rained." and not any("hm" in words for words in told)
    assert body["stream"] is True


async def test_a_server_that_does_not_stream_is_read_all_the_same() -> None:
    reply, told, _ = await aloud(answer(200, chat("It rained.")))
    assert isinstance(reply, ModelReply) and reply.text == "It rained."
    assert told[-1:] == ["It rained."]


async def test_a_stream_that_breaks_off_is_a_failure() -> None:
    reply, _, _ = await aloud(chunked(stream("It ", end="")))
    assert isinstance(reply, ModelFailure) and reply.kind is KIND.CONNECTION


async def test_a_refused_stream_is_a_failure_like_any_other() -> None:
    reply, told, _ = await aloud(answer(401, {"error": {"message": "no"}}))
    assert isinstance(reply, ModelFailure) and reply.kind is KIND.UNAUTHORIZED and told == []


async def test_no_key_no_header() -> None:
    async with ScriptedServer(answer(200, chat())) as server:
        model = OpenAICompatibleModel(server.url, "small")
        await model.ask(REQUEST)
        await model.close()
    assert "authorization" not in server.requests[0].headers


def chunked(*chunks: bytes, end: bytes = b"0\r\n\r\n") -> Play:
    body = b"".join(f"{len(chunk):x}\r\n".encode() + chunk + b"\r\n" for chunk in chunks)
    return raw(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + body + end)


BODY = b'{"choices": [{"message": {"content": "Rain."}, "finish_reason": "stop"}]}'
HEAD = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n"

READABLE = {
    "chunked": chunked(BODY[:10], BODY[10:]),
    "no length": raw(b"HTTP/1.1 200 OK\r\n\r\n" + BODY),
    "HTTP/1.0": raw(b"HTTP/1.0 200 OK\r\n\r\n" + BODY),
    "no content type": raw(HEAD % len(BODY) + BODY),
    "content type of a page": answer(200, BODY, content_type="text/html"),
    "content type of a stream": answer(200, BODY, content_type="text/event-stream"),
    "length too small by nothing": raw(HEAD % len(BODY) + BODY + b"more"),
    "byte order mark": answer(200, b"\xef\xbb\xbf" + BODY),
    "packed though not asked": answer(200, gzip.compress(BODY), content_encoding="gzip"),
    "status 201": answer(201, BODY),
}

UNREADABLE: dict[str, tuple[Play, FailureKind]] = {
    "a page": (answer(200, "<html>Welcome to nginx</html>", content_type="text/html"), KIND.UNREADABLE),
    "nothing": (answer(200), KIND.UNREADABLE),
    "no content": (raw(b"HTTP/1.1 204 No Content\r\n\r\n"), KIND.UNREADABLE),
    "half a body": (answer(200, BODY[:20]), KIND.UNREADABLE),
    "length too small": (raw(HEAD % (len(BODY) - 5) + BODY), KIND.UNREADABLE),
    "length too large": (raw(HEAD % (len(BODY) + 50) + BODY), KIND.CONNECTION),
    "chunks cut off": (chunked(BODY[:10], end=b"40\r\n{"), KIND.CONNECTION),
    "chunks without end": (chunked(BODY, end=b""), KIND.CONNECTION),
    "chunks of nonsense": (chunked(BODY, end=b"zz\r\n"), KIND.CONNECTION),
    "badly packed": (answer(200, BODY, content_encoding="gzip"), KIND.UNREADABLE),
    "a stream": (answer(200, b'data: {"choices": []}\n\n'), KIND.UNREADABLE),
    "no choices": (answer(200, {"choices": []}), KIND.UNREADABLE),
    "closed at once": (raw(b""), KIND.CONNECTION),
    "half a header": (raw(b"HTTP/1.1 200 OK\r\nContent-"), KIND.CONNECTION),
    "not HTTP": (raw(b"SSH-2.0-OpenSSH_9.6\r\n"), KIND.CONNECTION),
    "binary": (raw(bytes(range(256)) * 4), KIND.CONNECTION),
    "two lengths": (raw(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 9\r\n\r\n{}"), KIND.CONNECTION),
    "a length that is none": (raw(b"HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n{}"), KIND.CONNECTION),
    "an endless header": (raw(b"HTTP/1.1 200 OK\r\nX: " + b"x" * 300_000), KIND.CONNECTION),
    "strange status": (raw(b"HTTP/1.1 999 What\r\nContent-Length: 0\r\n\r\n"), KIND.SERVER),
}

REFUSALS: dict[str, tuple[Play, FailureKind, float | None]] = {
    "429": (answer(429, {"error": {"message": "slow"}}, retry_after="7"), KIND.RATE_LIMITED, 7.0),
    "429, date": (answer(429, retry_after="Thu, 01 Jan 1970 00:01:40 GMT"), KIND.RATE_LIMITED, 90.0),
    "429, bare": (answer(429), KIND.RATE_LIMITED, None),
    "500": (answer(500, "oops"), KIND.SERVER, None),
    "502": (answer(502, "<html>Bad Gateway</html>", content_type="text/html"), KIND.SERVER, None),
    "503": (answer(503, {"error": {"message": "Loading model"}}, retry_after="3"), KIND.SERVER, 3.0),
    "401": (answer(401, {"error": {"message": f"Incorrect key {KEY}"}}), KIND.UNAUTHORIZED, None),
    "403": (answer(403, {"error": KEY}), KIND.UNAUTHORIZED, None),
    "400": (answer(400, {"error": {"message": f"cannot parse '{PROMPT}' with {KEY}"}}), KIND.BAD_REQUEST, None),
    "422": (answer(422, {"detail": [{"loc": ["body"], "msg": "bad", "input": PROMPT}]}), KIND.BAD_REQUEST, None),
    "413": (answer(413, f"{PROMPT} is too long"), KIND.OVERFLOW, None),
    "overflow": (answer(400, {"error": {"type": "exceed_context_size_error", "n_ctx": 2048}}), KIND.OVERFLOW, None),
    "filter": (answer(400, {"error": {"code": "content_filter", "message": PROMPT}}), KIND.FILTERED, None),
    "200 with error": (answer(200, {"error": {"code": 429, "message": KEY}}), KIND.RATE_LIMITED, None),
}


@pytest.mark.parametrize("form", READABLE)
async def test_answers_in_every_wrapping(form: str) -> None:
    reply = await asked(READABLE[form])
    assert isinstance(reply, ModelReply), reply
    assert reply.text == "Rain."


@pytest.mark.parametrize("form", UNREADABLE)
async def test_answers_that_cannot_be_read(form: str) -> None:
    play, kind = UNREADABLE[form]
    failure = await asked(play)
    assert isinstance(failure, ModelFailure)
    assert failure.kind is kind, failure


@pytest.mark.parametrize("form", REFUSALS)
async def test_refusals_hold_neither_key_nor_prompt(form: str) -> None:
    play, kind, wait_s = REFUSALS[form]
    failure = await asked(play, clock=lambda: 10.0)
    assert isinstance(failure, ModelFailure)
    assert (failure.kind, failure.retry_after_s) == (kind, wait_s)
    assert KEY not in repr(failure)
    assert "ledger" not in repr(failure)


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_redirects_are_refused(status: int) -> None:
    async with ScriptedServer(answer(200, chat())) as elsewhere:
        failure = await asked(answer(status, location=f"{elsewhere.url}/chat/completions"))
    assert isinstance(failure, ModelFailure)
    assert failure.kind is KIND.BAD_REQUEST
    assert "redirects are not followed" in failure.reason
    assert elsewhere.requests == []


async def test_a_server_that_never_answers() -> None:
    failure = await asked(hang, timeout_s=0.05)
    assert isinstance(failure, ModelFailure)
    assert failure.kind is KIND.TIMEOUT
    assert "0.05 seconds" in failure.reason


async def test_a_server_that_never_ends() -> None:
    async def drip(_: Received, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        while True:
            writer.write(b"1\r\n \r\n")
            await writer.drain()
            await asyncio.sleep(0.01)

    failure = await asked(drip, timeout_s=0.15)
    assert isinstance(failure, ModelFailure)
    assert failure.kind is KIND.TIMEOUT


async def test_an_answer_that_is_too_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http, "MAX_ANSWER_BYTES", 2**20)

    async def flood(_: Received, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
        while True:
            writer.write(b" " * 65_536)
            await writer.drain()

    failure = await asked(flood)
    assert isinstance(failure, ModelFailure)
    assert (failure.kind, failure.reason) == (KIND.UNREADABLE, "The server's answer is larger than 1 MB.")


async def test_nobody_listens() -> None:
    async with ScriptedServer(hang) as server:
        url = server.url
    model = OpenAICompatibleModel(url, "small", KEY)
    failure = await model.ask(REQUEST)
    await model.close()
    assert isinstance(failure, ModelFailure)
    assert failure.kind is KIND.CONNECTION
    assert url in failure.reason


async def test_a_name_that_does_not_exist() -> None:
    model = OpenAICompatibleModel("http://nowhere.invalid/v1", "small", KEY, timeout_s=20.0)
    failure = await model.ask(REQUEST)
    await model.close()
    assert isinstance(failure, ModelFailure)
    assert failure.kind in (KIND.CONNECTION, KIND.TIMEOUT, KIND.SERVER, KIND.BAD_REQUEST, KIND.UNAUTHORIZED)


async def test_fifty_at_once() -> None:
    together = asyncio.Barrier(50)

    async def play(request: Received, writer: asyncio.StreamWriter) -> None:
        await together.wait()
        await answer(200, chat(request.json["messages"][-1]["content"]))(request, writer)

    async with ScriptedServer(play) as server:
        model = OpenAICompatibleModel(server.url, "small")
        requests = [ModelRequest("", f"Message {number}.", 10) for number in range(50)]
        replies = await asyncio.gather(*(model.ask(request) for request in requests))
        await model.close()
    assert [getattr(reply, "text", reply) for reply in replies] == [request.user for request in requests]
    assert len(server.requests) == 50


async def test_cancelling_closes_the_connection() -> None:
    async with ScriptedServer(hang) as server:
        model = OpenAICompatibleModel(server.url, "small")
        asking = asyncio.create_task(model.ask(REQUEST))
        await server.arrived.wait()
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        await asyncio.wait_for(server.disconnected.wait(), 30)
        await model.close()


async def test_running_out_of_time_closes_the_connection() -> None:
    async with ScriptedServer(hang) as server:
        for timeout_s in (0.05, 0.5, 5.0):  # on a busy machine the time may be up before the request is out
            model = OpenAICompatibleModel(server.url, "small", timeout_s=timeout_s)
            await model.ask(REQUEST)
            await model.close()
            if server.arrived.is_set():
                break
        await asyncio.wait_for(server.disconnected.wait(), 30)


async def test_the_key_leaks_nowhere(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    async with ScriptedServer(in_turn(answer(401, f"no {KEY}"), raw(b"nonsense"), answer(200, chat()))) as server:
        model = OpenAICompatibleModel(server.url, "small", KEY)
        said = [repr(await model.ask(REQUEST)) for _ in range(3)]
        await model.close()
    assert KEY not in "".join([*said, repr(model), str(model), model.name, caplog.text])
    with pytest.raises(BadInput) as caught:
        OpenAICompatibleModel(server.url, "small", f"{KEY}\n")
    assert KEY not in "".join(traceback.format_exception(caught.value))


@pytest.mark.parametrize(
    ("options"),
    [
        {"base_url": "127.0.0.1:8080"},
        {"model": " "},
        {"api_key": "clé"},
        {"api_key": "two\nlines"},
        {"timeout_s": 0.0},
        {"connect_timeout_s": -1.0},
    ],
)
def test_what_cannot_be_used_is_refused_at_once(options: dict[str, Any]) -> None:
    with pytest.raises(BadInput):
        OpenAICompatibleModel(**{"base_url": "http://127.0.0.1/v1", "model": "small"} | options)


@pytest.mark.parametrize(
    "play", [answer(404, "404 page not found"), answer(200, {"error": "Unexpected endpoint or method."})]
)
async def test_an_address_without_its_version_is_told(play: Play) -> None:
    async with ScriptedServer(play) as server:
        model = OpenAICompatibleModel(server.origin, "small")
        failure = await model.ask(REQUEST)
        await model.close()
    assert isinstance(failure, ModelFailure)
    assert failure.kind is KIND.BAD_REQUEST
    assert "/v1" in failure.reason


async def test_a_model_that_is_not_there_is_told() -> None:
    failure = await asked(answer(404, {"error": {"message": 'model "small" not found'}}))
    assert isinstance(failure, ModelFailure)
    assert 'model "small" not found' in failure.reason


REFUSED_SCHEMA = answer(400, {"error": {"message": "'response_format' is not supported"}})


async def test_a_schema_that_is_turned_down_is_not_sent_again() -> None:
    async with ScriptedServer(in_turn(REFUSED_SCHEMA, answer(200, chat()), answer(200, chat()))) as server:
        model = OpenAICompatibleModel(server.url, "small")
        failure = await model.ask(WITH_SCHEMA)
        assert isinstance(failure, ModelFailure)
        assert len(server.requests) == 1, "one ask is one call"
        assert decide_retry(failure, 1, jitter=0.5) == Wait(0.0)
        assert isinstance(await model.ask(WITH_SCHEMA), ModelReply)
        assert isinstance(await model.ask(WITH_SCHEMA), ModelReply)
        await model.close()
    assert ["response_format" in request.json for request in server.requests] == [True, False, False]


@pytest.mark.parametrize(("json_schema", "sent"), [(True, True), (False, False)])
async def test_schemas_may_be_always_or_never_sent(json_schema: bool, sent: bool) -> None:
    async with ScriptedServer(in_turn(REFUSED_SCHEMA, REFUSED_SCHEMA)) as server:
        model = OpenAICompatibleModel(server.url, "small", json_schema=json_schema)
        for _ in range(2):
            failure = await model.ask(WITH_SCHEMA)
            assert isinstance(failure, ModelFailure)
            assert isinstance(decide_retry(failure, 1, jitter=0.5), GiveUp)
        await model.close()
    assert ["response_format" in request.json for request in server.requests] == [sent, sent]


async def test_newer_names_are_learnt_and_kept_apart_from_the_schema() -> None:
    async with ScriptedServer(
        in_turn(
            answer(400, {"error": {"message": "Use 'max_completion_tokens' instead."}}),
            answer(400, {"error": {"message": "Unsupported value", "param": "temperature"}}),
            answer(200, chat()),
        )
    ) as server:
        model = OpenAICompatibleModel(server.url, "small", json_schema=True)
        calls = 0
        while isinstance(reply := await model.ask(WITH_SCHEMA), ModelFailure):
            calls += 1
            assert decide_retry(reply, calls, jitter=0.0) == Wait(0.0)
        await model.close()
    last = server.requests[-1].json
    assert last["max_completion_tokens"] == 100
    assert "response_format" in last
    assert not {"max_tokens", "temperature"} & set(last)


async def test_many_at_once_all_learn_that_schemas_are_turned_down() -> None:
    async def play(request: Received, writer: asyncio.StreamWriter) -> None:
        await (REFUSED_SCHEMA if "response_format" in request.json else answer(200, chat()))(request, writer)

    async with ScriptedServer(play) as server:
        model = OpenAICompatibleModel(server.url, "small")
        first = await asyncio.gather(*(model.ask(WITH_SCHEMA) for _ in range(10)))
        again = await asyncio.gather(*(model.ask(WITH_SCHEMA) for _ in range(10)))
        await model.close()
    assert all(isinstance(reply, ModelReply) or reply.retry_after_s == 0.0 for reply in first)
    assert all(isinstance(reply, ModelReply) for reply in again)


async def test_a_client_that_is_given_is_used_and_left_open() -> None:
    async with httpx.AsyncClient(follow_redirects=True) as client:
        failure = await asked(answer(302, location="/elsewhere"), client=client)
        assert isinstance(failure, ModelFailure)
        assert not client.is_closed


async def test_a_closed_model_may_be_closed_and_asked_again() -> None:
    async with ScriptedServer(answer(200, chat())) as server:
        model = OpenAICompatibleModel(server.url, "small")
        for _ in range(2):
            assert isinstance(await model.ask(REQUEST), ModelReply)
            await model.close()
            await model.close()


def test_another_event_loop_gets_its_own_connections() -> None:
    async def once(model: OpenAICompatibleModel | None) -> OpenAICompatibleModel:
        async with ScriptedServer(answer(200, chat())) as server:
            model = model or OpenAICompatibleModel(server.url, "small", timeout_s=30.0)
            model._endpoint = parse_endpoint(server.url)
            assert isinstance(await model.ask(REQUEST), ModelReply)
            return model

    model = asyncio.run(once(None))
    asyncio.run(once(model))
    asyncio.run(model.close())


def test_without_httpx_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "httpx", None)
    with pytest.raises(BadInput, match=r"previously\[models\]"):
        OpenAICompatibleModel("http://127.0.0.1/v1", "small")


def site(**pages: object) -> Play:
    """A server with these paths: `_` stands for a slash."""

    async def play(request: Received, writer: asyncio.StreamWriter) -> None:
        page = pages.get(request.path.strip("/").replace("/", "_"))
        await (answer(404, {"error": "not found"}) if page is None else answer(200, page))(request, writer)

    return play


async def described(play: Play, **options: Any) -> dict[str, Any]:
    async with ScriptedServer(play) as server:
        model = OpenAICompatibleModel(server.url, "small", KEY, **options)
        known = await model.describe()
        await model.close()
    assert KEY not in repr(known)
    return known


async def test_describing_a_server_that_tells_all() -> None:
    known = await described(
        site(
            v1_models={"data": [{"id": "small", "max_model_len": 4_096}]},
            v1_chat_completions=chat('{"verdict": "yes"}'),
        )
    )
    assert known["reachable"]
    assert (known["models"], known["model_listed"]) == (["small"], True)
    assert (known["window_tokens"], known["window_from"]) == (4_096, "/models")
    assert known["json_schema"] is True


@pytest.mark.parametrize(
    ("pages", "window", "source"),
    [
        ({"props": {"default_generation_settings": {"n_ctx": 2_048}}}, 2_048, "/props"),
        ({"api_v0_models": {"data": [{"id": "small", "loaded_context_length": 512}]}}, 512, "/api/v0/models"),
        ({"api_show": {"parameters": "num_ctx 8192"}}, 8_192, "/api/show"),
        ({"api_extra_true_max_context_length": {"value": 6_144}}, 6_144, "/api/extra/true_max_context_length"),
        ({}, None, None),
    ],
)
async def test_windows_told_elsewhere(pages: dict[str, object], window: int | None, source: str | None) -> None:
    known = await described(site(v1_models={"data": [{"id": "other"}]}, **pages))
    assert (known["window_tokens"], known["window_from"]) == (window, source)
    assert known["model_listed"] is False


@pytest.mark.parametrize(
    ("play", "kept"),
    [
        (answer(200, chat("Yes, it is.")), False),
        (answer(200, chat('{"verdict": "no"}')), True),
        (answer(200, chat('{"ver', finish_reason="length")), None),
        (REFUSED_SCHEMA, False),
        (answer(503), None),
    ],
)
async def test_whether_schemas_are_kept_to(play: Play, kept: bool | None) -> None:
    async def serve(request: Received, writer: asyncio.StreamWriter) -> None:
        await (play if request.method == "POST" and "chat" in request.path else answer(404))(request, writer)

    known = await described(serve)
    assert known["json_schema"] is kept


async def test_describing_a_server_that_is_not_there() -> None:
    async with ScriptedServer(hang) as server:
        url = server.url
    model = OpenAICompatibleModel(url, "small", KEY, json_schema=False)
    known = await model.describe()
    await model.close()
    assert not known["reachable"]
    assert "is the server running" in known["reason"]


async def test_describing_without_schemas() -> None:
    known = await described(site(v1_models={"data": []}), json_schema=False)
    assert known["json_schema"] is False
