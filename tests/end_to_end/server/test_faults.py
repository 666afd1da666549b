"""What can go wrong between a client, the proxy and its upstream: nothing is lost, doubled, left running or unreadable.

The numbers are those of the catalogue of faults. Nothing here waits for a clock: a scripted upstream is held where the
test wants it, and its log says when a side went away.
"""

from __future__ import annotations

import asyncio
import json
from itertools import pairwise
from typing import Any

import httpx
import pytest

from previously import ScriptedAnswer
from previously.core.messages import ToolCall
from previously.testing import redirect, refused, web_page
from tests.end_to_end.server.running import PARTIAL, Rig, Talk, stories_with, swipes_of
from tests.unit.wire.odd_streams import EMOJI, ODD_FORMS, SAID, chunk, stream
from tests.unit.wire.whole_reply import read_reply

pytestmark = pytest.mark.asyncio(loop_scope="module")

PROMPTLY_S = 1.0
"""How soon the upstream must be let go when the client went away."""


def readable_error(response: httpx.Response) -> dict[str, Any]:
    """The error of an answer that is none, as OpenAI's clients want it."""
    assert response.headers["content-type"].startswith("application/json")
    error: dict[str, Any] = response.json()["error"]
    assert error["message"].strip() and error["type"]
    return error


# C1: the client goes away


async def test_c1_before_the_upstream_said_anything(rig: Rig) -> None:
    rig.upstream.new_plan(ScriptedAnswer(never=True))
    talk = Talk(rig, "c1 silent")
    asking = asyncio.create_task(talk.ask("C1 silent: is anybody there?", stream=True))
    request = await rig.upstream.request(0)
    went = asyncio.get_running_loop().time()
    asking.cancel()
    assert await request.ended() == "gone"
    assert request.ended_at is not None and request.ended_at - went <= PROMPTLY_S
    await rig.keeps("C1 silent", ("user", "C1 silent: is anybody there?"))


async def test_c1_before_the_first_token(rig: Rig) -> None:
    rig.upstream.new_plan(ScriptedAnswer(hold={0: asyncio.Event()}))
    talk = Talk(rig, "c1 head")
    async with talk.hearing("C1 head: is anybody there?"):
        request = await rig.upstream.request(0)
        went = asyncio.get_running_loop().time()
    assert await request.ended() == "gone"
    assert request.ended_at is not None and request.ended_at - went <= PROMPTLY_S
    await rig.keeps("C1 head", ("user", "C1 head: is anybody there?"))


async def test_c1_mid_stream(rig: Rig) -> None:
    rig.upstream.new_plan(ScriptedAnswer(text=["One ", "two ", "three."], hold={2: asyncio.Event()}))
    talk = Talk(rig, "c1 stream")
    async with talk.hearing("C1 stream: count.") as hearing:
        await hearing.until("One two ")
        request = await rig.upstream.request(0)
        went = asyncio.get_running_loop().time()
    assert await request.ended() == "gone"
    assert request.ended_at is not None and request.ended_at - went <= PROMPTLY_S
    await rig.keeps("C1 stream", ("user", "C1 stream: count."), ("assistant", f"{PARTIAL}One two "))


async def test_c1_without_a_stream(rig: Rig) -> None:
    rig.upstream.new_plan(ScriptedAnswer(never=True))
    asking = asyncio.create_task(Talk(rig, "c1 whole").ask("C1 whole: is anybody there?"))
    request = await rig.upstream.request(0)
    asking.cancel()
    assert await request.ended() == "gone"
    await rig.keeps("C1 whole", ("user", "C1 whole: is anybody there?"))


async def test_c1_many_at_once(rig: Rig) -> None:
    rig.upstream.new_plan(ScriptedAnswer(text=["One ", "two "], hold={1: asyncio.Event()}))

    async def go_away(number: int) -> None:
        async with Talk(rig, f"c1 many {number}").hearing(f"C1 many {number:03}: count.") as hearing:
            await hearing.until("One ")

    await asyncio.gather(*(go_away(number) for number in range(20)))
    await rig.upstream.idle()
    assert [request.state for request in rig.upstream.requests] == ["gone"] * 20
    for number in range(20):
        words = f"C1 many {number:03}"
        await rig.keeps(words, ("user", f"{words}: count."), ("assistant", f"{PARTIAL}One "))


async def test_c1_the_turn_after_goes_on_from_what_the_client_kept(rig: Rig) -> None:
    rig.upstream.new_plan([ScriptedAnswer(text=["One ", "two "], hold={1: asyncio.Event()}), "Three."])
    talk = Talk(rig, "c1 after")
    async with talk.hearing("C1 after: count.") as hearing:
        await hearing.until("One ")
    await rig.upstream.idle()
    talk.messages.append({"role": "assistant", "content": "One"})  # clients trim what was broken off
    assert (await talk.ask("Go on.")).status_code == 200
    found = list((await stories_with(rig.proxy.db, "C1 after")).values())
    assert len(found) == 1
    assert found[0][0] == ("user", "C1 after: count.")
    assert [role for role, _ in found[0]][:3] == ["user", "assistant", "user"]
    assert found[0][1][1].removeprefix(PARTIAL).strip() == "One"


# C3, C4: what the upstream sends reaches the client as it is, and is remembered as the client reads it


@pytest.mark.parametrize("pieces", [None, 1, 2, 3, 7, 1000])
async def test_c3_bytes_are_passed_on_as_they_are(rig: Rig, pieces: int | None) -> None:
    rig.upstream.new_plan(ScriptedAnswer(body=EMOJI, content_type="text/event-stream", piece_bytes=pieces))
    words = f"C3 in pieces of {pieces}."
    talk = Talk(rig, words)
    async with talk.hearing(words) as hearing:
        await hearing.all()
    assert hearing.content == EMOJI
    await rig.keeps(words, ("user", words), ("assistant", hearing.text))


async def test_c3_chunks_are_passed_on_one_by_one(rig: Rig) -> None:
    holds = {at: asyncio.Event() for at in range(1, 4)}
    rig.upstream.new_plan(ScriptedAnswer(text=["a", "b", "c", "d"], hold=holds))
    async with Talk(rig, "c3 one by one").hearing("C3 one by one") as hearing:
        for at, said in enumerate(("a", "ab", "abc"), 1):
            await hearing.until(said)
            holds[at].set()
        await hearing.all()
    await rig.keeps("C3 one by one", ("user", "C3 one by one"), ("assistant", "abcd"))


@pytest.mark.parametrize("form", [form for form, body in ODD_FORMS.items() if len(body) < 100_000])
async def test_c4_odd_streams(rig: Rig, form: str) -> None:
    body = ODD_FORMS[form]
    rig.upstream.new_plan(ScriptedAnswer(body=body, content_type="text/event-stream", piece_bytes=11))
    words = f"C4 odd form: {form}!"
    async with Talk(rig, words).hearing(words) as hearing:
        await hearing.all()
    assert hearing.content == body
    path = list((await _eventually(rig, words, 2)).values())
    assert [[(role, text.removeprefix(PARTIAL)) for role, text in said] for said in path] == [
        [("user", words), ("assistant", SAID)]
    ]


async def _eventually(rig: Rig, words: str, count: int) -> dict[str, Any]:
    """The stories with these words, once there are so many messages."""
    for _ in range(200):
        found = await stories_with(rig.proxy.db, words)
        if sum(map(len, found.values())) >= count:
            break
        await asyncio.sleep(0.05)
    return found


async def test_c4_a_stream_without_done_is_whole_when_the_server_said_so(rig: Rig) -> None:
    body = stream(chunk("All of it.", finish="stop"), done=False)
    rig.upstream.new_plan(ScriptedAnswer(body=body, content_type="text/event-stream"))
    reply = await Talk(rig, "c4 no done").hear("C4 no done")
    assert reply.whole
    await rig.keeps("C4 no done", ("user", "C4 no done"), ("assistant", "All of it."))


# C5: the upstream breaks off


@pytest.mark.parametrize("event", [False, True])
async def test_c5_an_error_inside_the_stream(rig: Rig, event: bool) -> None:
    error = {"message": "The card fell out.", "code": 500}
    rig.upstream.new_plan(ScriptedAnswer(text=["One ", "two "], error_after=1, error=error, error_event=event))
    words = f"C5 error {event}"
    reply = await Talk(rig, words).hear(words)
    assert (reply.choice().text, reply.error) == ("One ", error)
    await rig.keeps(words, ("user", words), ("assistant", f"{PARTIAL}One "))


async def test_c5_an_error_in_place_of_all_text(rig: Rig) -> None:
    rig.upstream.new_plan(ScriptedAnswer(error_after=0))
    reply = await Talk(rig, "c5 only").hear("C5 only an error")
    assert reply.error is not None
    await rig.keeps("C5 only an error", ("user", "C5 only an error"))


@pytest.mark.parametrize("reset", [False, True])
async def test_c5_a_connection_that_breaks_mid_stream(rig: Rig, reset: bool) -> None:
    hold = asyncio.Event()
    rig.upstream.new_plan(ScriptedAnswer(text=["One ", "two ", "three"], hold={2: hold}, cut_chunks=2, reset=reset))
    words = f"C5 cut {reset}"
    async with Talk(rig, words).hearing(words) as hearing:
        await hearing.until("One two ")
        hold.set()
        await hearing.all()
    reply = hearing.reader.finish()
    assert (reply.choice().text, reply.done) == ("One two ", False)
    assert isinstance(reply.error, dict) and reply.error["message"], hearing.content[-300:]
    assert not hearing.broken
    await rig.keeps(words, ("user", words), ("assistant", f"{PARTIAL}One two "))


async def test_c5_a_connection_that_breaks_inside_a_character(rig: Rig) -> None:
    whole = stream(chunk("One 🦊"), chunk("two"))
    at = whole.index("🦊".encode()) + 2
    rig.upstream.new_plan(ScriptedAnswer(body=whole, content_type="text/event-stream", cut_bytes=at))
    async with Talk(rig, "c5 inside").hearing("C5 inside") as hearing:
        await hearing.all()
    assert hearing.content.startswith(whole[:at])
    assert hearing.reader.finish().error is not None
    await rig.keeps("C5 inside", ("user", "C5 inside"))


@pytest.mark.parametrize("streamed", [False, True])
async def test_c5_a_connection_that_breaks_before_the_head(rig: Rig, streamed: bool) -> None:
    rig.upstream.new_plan(ScriptedAnswer(cut_chunks=-1))
    words = f"C5 no head {streamed}"
    response = await Talk(rig, words).ask(words, stream=streamed)
    assert response.status_code == 502
    readable_error(response)
    assert len(rig.upstream.requests) == 1
    await rig.keeps(words, ("user", words))


async def test_c5_half_an_object(rig: Rig) -> None:
    rig.upstream.new_plan(ScriptedAnswer(cut_bytes=60))
    response = await Talk(rig, "c5 half").ask("C5 half an object")
    assert response.status_code == 502
    readable_error(response)
    await rig.keeps("C5 half an object", ("user", "C5 half an object"))


# C6: the upstream refuses


STATUSES = [
    400, 401, 402, 403, 404, 405, 406, 408, 409, 410, 413, 415, 418, 421, 422, 423, 424, 425, 426, 428, 429, 431, 451,
    500, 501, 502, 503, 504, 507, 520, 529,
]  # fmt: skip


@pytest.mark.parametrize("status", STATUSES)
async def test_c6_refusals_are_passed_on(rig: Rig, status: int) -> None:
    answer = refused(status, f"No, {status}.", code="hm", retry_after="7" if status in (429, 503, 529) else None)
    rig.upstream.new_plan(answer)
    words = f"C6 status {status}"
    talk = Talk(rig, words)
    response = await talk.ask(words, stream=bool(status % 2))
    assert response.status_code == status
    assert response.content == answer.body
    assert response.headers.get("retry-after") == answer.headers.get("Retry-After")
    assert len(rig.upstream.requests) == 1, "the proxy asked again by itself"
    await rig.keeps(words, ("user", words))


async def test_c6_a_refusal_that_is_no_json(rig: Rig) -> None:
    rig.upstream.new_plan(ScriptedAnswer(status=503, body="<html>Bad day</html>", content_type="text/html"))
    response = await Talk(rig, "c6 page").ask("C6 a page")
    assert response.status_code == 503
    readable_error(response)
    await rig.keeps("C6 a page", ("user", "C6 a page"))


async def test_c6_after_a_refusal_the_same_request_is_the_same_turn(rig: Rig) -> None:
    rig.upstream.new_plan([refused(500), refused(429, retry_after="0"), "At last."])
    talk = Talk(rig, "c6 again")
    assert (await talk.ask("C6 again")).status_code == 500
    assert (await talk.ask()).status_code == 429
    assert (await talk.ask()).status_code == 200
    await rig.keeps("C6 again", ("user", "C6 again"), ("assistant", "At last."))


# C7: what is no answer (the large ones have a proxy of their own)


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize(
    "answer",
    [
        web_page(),
        ScriptedAnswer(body=b"", content_type="text/event-stream"),
        ScriptedAnswer(body=b""),
        ScriptedAnswer(body=b"\xff\xfe\x00", content_type="application/octet-stream"),
        ScriptedAnswer(body="hello", content_type="text/plain"),
        ScriptedAnswer(body='{"choices":'),
        ScriptedAnswer(body="[1, 2]"),
        redirect("http://127.0.0.1:9/v1/chat/completions"),
        redirect("/elsewhere", 302),
    ],
    ids=["page", "empty stream", "empty", "bytes", "text", "half", "list", "redirect", "found"],
)
async def test_c7_what_is_no_answer(rig: Rig, answer: ScriptedAnswer, streamed: bool) -> None:
    rig.upstream.new_plan(answer)
    words = f"C7 {answer.status} {str(answer.body)[:9]} {streamed}"
    response = await Talk(rig, words).ask(words, stream=streamed)
    if response.status_code == 200 and response.headers["content-type"].startswith("text/event-stream"):
        assert streamed and answer.content_type == "text/event-stream"
        assert read_reply(response.content).error, "a stream that begins like one must at least end with an error"
    else:
        assert response.status_code == 502, response.text
        readable_error(response)
    assert len(rig.upstream.requests) == 1
    assert [other.path for other in rig.upstream.others if "elsewhere" in other.path] == []
    await rig.keeps(words, ("user", words))


async def test_c7_a_wrong_content_type_around_a_right_stream(rig: Rig) -> None:
    rig.upstream.new_plan(ScriptedAnswer(text="It rained.", content_type="text/plain"))
    reply = await Talk(rig, "c7 type").hear("C7 wrong type")
    assert reply.choice().text == "It rained."
    await rig.keeps("C7 wrong type", ("user", "C7 wrong type"), ("assistant", "It rained."))


async def test_c7_a_server_that_does_not_stream(rig: Rig) -> None:
    whole = {
        "choices": [{"index": 0, "message": {"role": "assistant", "content": "It rained."}, "finish_reason": "stop"}]
    }
    rig.upstream.new_plan(ScriptedAnswer(body=whole))
    reply = await Talk(rig, "c7 whole").hear("C7 no stream")
    assert reply.choice().text == "It rained."
    await rig.keeps("C7 no stream", ("user", "C7 no stream"), ("assistant", "It rained."))


# C8: the same request again


@pytest.mark.parametrize("named", [True, False])
async def test_c8_the_same_request_twice(rig: Rig, named: bool) -> None:
    rig.upstream.new_plan(["First.", "Second.", "Third."])
    words = f"C8 twice {named}: what now?"
    talk = Talk(rig, words if named else None)
    for _ in range(2):
        talk.messages.clear()
        assert (await talk.ask(words)).status_code == 200
    await rig.keeps(words, ("user", words), ("assistant", "Second."))
    assert sorted(await swipes_of(rig.proxy.db, words, 1)) == ["First.", "Second."]
    assert (await talk.ask("And then?")).status_code == 200
    await rig.keeps(words, ("user", words), ("assistant", "Second."), ("user", "And then?"), ("assistant", "Third."))


async def test_c8_the_same_words_on_purpose(rig: Rig) -> None:
    rig.upstream.new_plan("Gently.")
    talk = Talk(rig, "c8 purpose")
    for _ in range(3):
        assert (await talk.ask("C8: knock.")).status_code == 200
    await rig.keeps("C8: knock.", *[("user", "C8: knock."), ("assistant", "Gently.")] * 3)


async def test_c8_an_earlier_answer_chosen_again(rig: Rig) -> None:
    rig.upstream.new_plan(["First.", "Second.", "Third."])
    talk = Talk(rig, "c8 chosen")
    await talk.ask("C8 chosen: what now?")
    del talk.messages[1:]
    await talk.ask()
    talk.messages[1]["content"] = "First."
    await talk.ask("And then?")
    await rig.keeps(
        "C8 chosen",
        ("user", "C8 chosen: what now?"), ("assistant", "First."), ("user", "And then?"), ("assistant", "Third."),
    )  # fmt: skip


# C9: histories that are not as they were


async def test_c9_an_edited_history(rig: Rig) -> None:
    talk = Talk(rig, "c9 edit")
    for text in ("C9 edit: one.", "Two.", "Three."):
        await talk.ask(text)
    talk.messages[2]["content"] = "Two and a half."
    await talk.ask("Four.")
    said = [(message["role"], message["content"]) for message in talk.messages]
    await rig.keeps("C9 edit", *said)


async def test_c9_a_system_prompt_that_changes_is_no_other_story(rig: Rig) -> None:
    talk = Talk(rig)
    talk.messages.append({"role": "system", "content": "You are the harbour master of Ule, and brief."})
    await talk.ask("C9 prompt: one.")
    talk.messages[0]["content"] = "You are the harbour master of Ule, and it is night."
    await talk.ask("C9 prompt: two.")
    assert len(await stories_with(rig.proxy.db, "C9 prompt")) == 1


async def test_c9_two_chats_with_the_same_greeting_are_two_stories(rig: Rig) -> None:
    for words in ("C9 greeting: I wave.", "C9 greeting: I hide."):
        talk = Talk(rig)
        talk.messages.append({"role": "assistant", "content": "C9: welcome to Ule, stranger."})
        await talk.ask(words)
    for words in ("C9 greeting: I wave.", "C9 greeting: I hide."):
        found = await _eventually(rig, words, 3)
        assert len(found) == 1
        assert not any("I hide" in text for path in found.values() for _, text in path) or "hide" in words


# C10: two requests for one chat at once


async def test_c10_two_at_once(rig: Rig) -> None:
    hold = asyncio.Event()
    first = ScriptedAnswer(text=["One ", "one."], hold={1: hold})
    second = ScriptedAnswer(text=["Two ", "two."], hold={1: hold})
    rig.upstream.new_plan([first, second])
    talks = [Talk(rig, "c10") for _ in range(2)]
    asking = [asyncio.create_task(talk.hear("C10: both of you.")) for talk in talks]
    for number in range(2):
        await (await rig.upstream.request(number)).sent(1)
    hold.set()
    replies = [(await one).choice().text for one in asking]
    assert sorted(replies) == ["One one.", "Two two."]
    path = list((await _eventually(rig, "C10:", 2)).values())
    assert len(path) == 1
    assert path[0][0] == ("user", "C10: both of you.")
    assert len(path[0]) == 2 and path[0][1][1] in replies
    assert sorted(await swipes_of(rig.proxy.db, "C10:", 1)) == ["One one.", "Two two."]


async def test_c10_many_stories_at_once(rig: Rig) -> None:
    rig.upstream.new_plan(lambda request: f"To {request.messages[-1]['content']}")

    async def tell(number: int) -> None:
        talk = Talk(rig)
        for turn in range(3):
            await talk.hear(f"C10 story {number:02} turn {turn}")

    await asyncio.gather(*(tell(number) for number in range(12)))
    for number in range(12):
        words = f"C10 story {number:02}"
        said = [(f"{words} turn {turn}", f"To {words} turn {turn}") for turn in range(3)]
        await rig.keeps(words, *[line for user, reply in said for line in (("user", user), ("assistant", reply))])


# C13: what is not the proxy's business passes through


TOOLS = [{"type": "function", "function": {"name": "tide", "parameters": {"type": "object", "properties": {"ü": {}}}}}]
FIELDS: dict[str, dict[str, Any]] = {
    "numbers": {"temperature": 0.7, "top_p": 1, "seed": 2**53 + 1, "presence_penalty": -0.0, "min_p": 1e-07},
    "tools": {"tools": TOOLS, "tool_choice": {"type": "function", "function": {"name": "tide"}}},
    "schema": {"response_format": {"type": "json_schema", "json_schema": {"name": "a", "schema": {}, "strict": True}}},
    "logprobs": {"logprobs": True, "top_logprobs": 3, "logit_bias": {"50256": -100}},
    "several": {"n": 3},
    "unknown": {"grammar": "root ::= \"a\"", "dry_multiplier": 0.8, "x": [None, {"deep": [[]]}], "ключ": "🦊\u0000"},
    "options": {"stream_options": {"include_usage": True}},
    "stops": {"stop": ["\nUser:", "###"], "max_tokens": 300},
    "person": {"user": "wren", "metadata": {"a": "b"}, "store": False, "service_tier": "auto"},
}  # fmt: skip


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("which", FIELDS)
async def test_c13_fields_and_answers_pass_through(rig: Rig, which: str, streamed: bool) -> None:
    words = f"C13 {which} {streamed}"
    if which == "options" and not streamed:
        return
    answer = ScriptedAnswer(text="It rained.", tool_calls=[ToolCall("1", "tide", "{}")] if which == "tools" else ())
    rig.upstream.new_plan(answer)
    talk = Talk(rig, words)
    body = talk.body(words, stream=streamed, **FIELDS[which])
    address = f"{rig.proxy.base_url}/chat/completions"
    through = await rig.client.post(address, json=body, headers=talk.headers)
    seen = rig.upstream.requests[0].json
    assert list(seen) == list(body)
    assert {name: seen[name] for name in seen if name != "messages"} == {
        name: body[name] for name in body if name != "messages"
    }
    assert seen["messages"] == body["messages"]
    rig.upstream.new_plan(answer)
    direct = await rig.client.post(f"{rig.upstream.base_url}/chat/completions", json=body)
    assert through.content == direct.content
    assert through.headers["content-type"] == direct.headers["content-type"]


async def test_c13_images_tools_and_names_in_messages_pass_through(rig: Rig) -> None:
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo=", "detail": "low"}}
    call = {"id": "c1", "type": "function", "function": {"name": "tide", "arguments": '{"port": "Ule"}'}}
    messages = [
        {"role": "system", "content": "C13 messages: you see pictures.", "name": "keeper"},
        {"role": "user", "content": [{"type": "text", "text": "C13 messages: what is this?"}, picture], "name": "Wren"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": "low"},
    ]
    rig.upstream.new_plan("The tide is low.")
    address = f"{rig.proxy.base_url}/chat/completions"
    response = await rig.client.post(address, json={"model": "small", "messages": messages, "tools": TOOLS})
    assert response.status_code == 200
    assert rig.upstream.requests[0].messages == messages


async def test_c13_keys_and_models(rig: Rig) -> None:
    rig.upstream.new_plan()
    headers = {"Authorization": "Bearer sk-of-the-client", "X-Request-Id": "7"}
    address = f"{rig.proxy.base_url}/chat/completions"
    body = Talk(rig).body("C13 key")
    assert (await rig.client.post(address, json=body, headers=headers)).status_code == 200
    seen = rig.upstream.requests[0].headers
    assert seen["authorization"] == "Bearer sk-of-the-client"
    assert "cookie" not in seen and "x-previously-story" not in seen
    models = await rig.client.get(f"{rig.proxy.base_url}/models", headers=headers)
    assert models.json() == (await rig.client.get(f"{rig.upstream.base_url}/models")).json()
    vectors = await rig.client.post(
        f"{rig.proxy.base_url}/embeddings", json={"input": "a", "model": "e"}, headers=headers
    )
    assert len(vectors.json()["data"][0]["embedding"]) == 8
    old = await rig.client.post(
        f"{rig.proxy.base_url}/completions", json={"prompt": "a", "model": "e"}, headers=headers
    )
    assert read_reply(old.content).choice().text
    assert "sk-of-the-client" not in rig.proxy.written()


# C14: what goes upstream keeps its roles and its beginning


async def test_c14_the_prefix_stays_as_it_was_and_no_role_is_added(rig: Rig) -> None:
    rig.upstream.new_plan()
    talk = Talk(rig, "c14")
    talk.messages.append({"role": "system", "content": "C14: you are brief."})
    for turn in range(6):
        assert (await talk.ask(f"C14 turn {turn}.")).status_code == 200
    sent = [request.messages for request in rig.upstream.requests]
    assert len(sent) == 6
    for before, after in pairwise(sent):
        assert json.dumps(after[: len(before) - 1]) == json.dumps(before[:-1])
        assert [message["role"] for message in after] == [
            "system",
            *["user", "assistant"] * (len(after) // 2 - 1),
            "user",
        ]


# Before anything is asked, the user's words are safe


async def test_the_users_message_is_durable_before_the_upstream_is_asked(rig: Rig) -> None:
    hold = asyncio.Event()
    rig.upstream.new_plan(ScriptedAnswer(text="Yes.", hold={-1: hold}))
    talk = Talk(rig, "durable")
    asking = asyncio.create_task(talk.ask("Durable: are you there?"))
    await rig.upstream.request(0)
    assert list((await stories_with(rig.proxy.db, "Durable:")).values()) == [[("user", "Durable: are you there?")]]
    hold.set()
    assert (await asking).status_code == 200
    await rig.keeps("Durable:", ("user", "Durable: are you there?"), ("assistant", "Yes."))


@pytest.mark.parametrize(
    "body",
    [b"", b"{", b"[]", b"null", b'{"messages": []}', b'{"messages": "x"}', b'{"messages": [1]}', b"\xff",
     b'{"model": "x"}', b'{"messages": [{"role": "user"}], "messages": 3}', b"[" * 100_000],
    ids=["empty", "open", "list", "null", "none", "text", "number", "bytes", "missing", "twice", "deep"],
)  # fmt: skip
async def test_requests_that_cannot_be_read_are_refused_and_reach_nobody(rig: Rig, body: bytes) -> None:
    address = f"{rig.proxy.base_url}/chat/completions"
    response = await rig.client.post(address, content=body, headers={"Content-Type": "application/json"})
    assert response.status_code == 400, response.text
    readable_error(response)
    assert rig.upstream.requests == []
