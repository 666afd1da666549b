"""Views as the official clients take them."""

from __future__ import annotations

import asyncio
from itertools import pairwise

import anthropic
import openai
from anthropic.types import MessageParam
from openai.types.chat import ChatCompletionMessageParam
from pydantic import TypeAdapter

from previously import BlockingMemory, ScriptedServer, Settings, View
from previously.testing import find_anthropic_faults

SAID = (
    ("system", "You are a ferryman.", None),
    ("assistant", "The bell rang.", "Narrator"),
    ("assistant", "Nobody came.", "Narrator"),
    ("user", "Is the ferry in?", "Wren"),
    ("user", "Hello?", "Odalys"),
    ("assistant", "It is.", "Ferryman"),
    ("user", "Then cast off.", "Wren"),
)


def make_view(*, memory_shown: bool = False) -> View:
    with BlockingMemory(":memory:", settings=Settings()) as memory:
        story = memory.story("ferry")
        for role, text, name in SAID:
            story.add(role, text, name=name)
        if memory_shown:
            story.pin("Odalys cannot swim.")
        return story.view(2_000)


def test_openai_s_types_take_it() -> None:
    messages = make_view(memory_shown=True).to_openai()
    TypeAdapter(list[ChatCompletionMessageParam]).validate_python(messages, strict=True)
    assert [message["role"] for message in messages] == [role for role, _, _ in SAID]
    assert "Odalys cannot swim." in messages[0]["content"]


def test_anthropic_s_types_take_it() -> None:
    request = make_view(memory_shown=True).to_anthropic()
    TypeAdapter(list[MessageParam]).validate_python(request["messages"])
    roles = [message["role"] for message in request["messages"]]
    assert roles[0] == "user"
    assert all(role != other for role, other in pairwise(roles)), "they take turns"
    assert "You are a ferryman." in str(request["system"])
    assert "Odalys cannot swim." in str(request["system"])
    assert not find_anthropic_faults({"model": "m", "max_tokens": 9, **request})


def test_a_view_of_nothing() -> None:
    with BlockingMemory(":memory:") as memory:
        view = memory.story("empty").view(1_000)
    assert view.to_openai() == []
    assert view.to_anthropic() == {"messages": []}


async def test_the_official_clients_send_it() -> None:
    view = await asyncio.to_thread(make_view)
    async with (
        ScriptedServer(["Aye.", "Aye."]) as server,
        openai.AsyncOpenAI(base_url=server.base_url, api_key="k") as chat,
        anthropic.AsyncAnthropic(base_url=server.origin, api_key="k") as client,
    ):
        completion = await chat.chat.completions.create(model="m", messages=view.to_openai())
        message = await client.messages.create(model="m", max_tokens=9, **view.to_anthropic())
        assert (completion.choices[0].message.content, message.content[0].text) == ("Aye.", "Aye.")
        sent = [(await server.request(number)).json["messages"] for number in (0, 1)]
    assert [messages[-1]["content"] for messages in sent] == ["Then cast off."] * 2
