"""A story written on by a model over real HTTP: replies that stream, stop, break, come again and go on."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from itertools import pairwise
from pathlib import Path

import pytest

from previously import (
    BadInput,
    BlockingMemory,
    HeadMoved,
    Memory,
    OpenAICompatibleModel,
    ScriptedAnswer,
    ScriptedServer,
    Settings,
    Story,
    StoryReply,
)
from previously.runtime.follow_client import PARTIAL
from previously.story.replies import NO_MODEL, NOTHING_SAID
from previously.testing import Plan


@asynccontextmanager
async def open_story(plan: Plan, **server: object) -> AsyncIterator[tuple[Story, ScriptedServer]]:
    async with ScriptedServer(plan, strict=True, **server) as scripted:  # type: ignore[arg-type]
        model = OpenAICompatibleModel(scripted.base_url, "scripted")
        async with await Memory.open(":memory:", settings=Settings(), model=model) as memory:
            yield await memory.story("ferry"), scripted
        assert scripted.faults == []


async def texts(story: Story) -> list[str]:
    return [item.entry.message.text for item in await story.messages()]


def run(work: Callable[[], Awaitable[None]]) -> None:
    async def go() -> None:
        await asyncio.wait_for(work(), 30)

    asyncio.run(go())


def test_a_reply_streams_and_both_messages_are_kept() -> None:
    async def work() -> None:
        async with open_story("It is late, as ever.") as (story, server):
            await story.change_setup({"name": "Odalys", "user_name": "Wren", "top_p": 0.5, "max_tokens": 90})
            heard: list[str] = []
            reply = await story.reply("Is the ferry in?", direction="Be short.", told=heard.append)
            assert (reply.text, reply.finish, reply.position) == ("It is late, as ever.", "stop", 1)
            assert len(heard) > 2, "word by word"
            assert all(after.startswith(before) for before, after in pairwise(heard))
            said, answered = [item.entry for item in await story.messages()]
            assert (said.message.speaker, answered.message.speaker) == ("Wren", "Odalys")
            body = server.requests[0].json
            assert (body["stream"], body["top_p"], body["max_tokens"]) == (True, 0.5, 90)
            assert "Be short." in body["messages"][-1]["content"]
            assert "Be short." not in "".join(await texts(story)), "a direction is no message"
            await story.reply("And now?")
            assert "Be short." not in str(server.requests[1].json["messages"]), "it is told once"

    run(work)


def test_what_the_model_saw_is_known_afterwards() -> None:
    async def work() -> None:
        async with open_story("Late.") as (story, server):
            await story.reply("Is the ferry in?", direction="Be short.")
            view = await story.why(1)
            assert view.as_shown
            shown = "\n".join(message.text for message in view.messages)
            for message in server.requests[0].json["messages"]:
                for line in message["content"].splitlines():
                    assert line in shown

    run(work)


def test_a_stopped_reply_keeps_what_came() -> None:
    async def work() -> None:
        hold, stop = asyncio.Event(), asyncio.Event()
        pieces = ["It is ", "late ", "and ", "cold."]
        async with open_story(ScriptedAnswer(text=pieces, hold={2: hold})) as (story, server):

            def hear(words: str) -> None:
                if words.endswith("late"):
                    stop.set()

            reply = await story.reply("Is the ferry in?", told=hear, stop=stop)
            assert (reply.text, reply.finish) == ("It is late", "stopped")
            assert await texts(story) == ["Is the ferry in?", "It is late"]
            assert (await story.messages())[-1].entry.attributes.extra == PARTIAL
            assert server.requests[0].state in ("gone", "running")
            hold.set()

    run(work)


def test_a_process_that_is_told_to_end_keeps_what_came() -> None:
    async def work() -> None:
        hold, heard = asyncio.Event(), asyncio.Event()
        async with open_story(ScriptedAnswer(text=["It is ", "late."], hold={2: hold})) as (story, _):
            task = asyncio.create_task(story.reply("Is it in?", told=lambda _: heard.set()))
            await heard.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert (await texts(story))[0] == "Is it in?"
            assert (await texts(story))[1].startswith("It is")
            hold.set()

    run(work)


@pytest.mark.parametrize(
    ("answer", "failure", "kept"),
    [
        (ScriptedAnswer(status=500, body={"error": {"message": "no memory"}}), "no memory", []),
        (ScriptedAnswer(text=["It is ", "late."], cut_chunks=1), "broke off", ["It is"]),
        (ScriptedAnswer(text="   "), NOTHING_SAID, []),
    ],
)
def test_a_failure_keeps_what_the_user_said_and_can_be_tried_again(
    answer: ScriptedAnswer, failure: str, kept: list[str]
) -> None:
    async def work() -> None:
        async with open_story([answer, "Here it is."]) as (story, _):
            reply = await story.reply("Is the ferry in?")
            assert reply.finish == "failed"
            assert failure in reply.failure
            assert await texts(story) == ["Is the ferry in?", *kept]
            again = await story.reply_again()
            assert again.finish == "stop"
            assert await texts(story) == ["Is the ferry in?", "Here it is."]

    run(work)


def test_another_reply_stands_beside_and_the_old_one_comes_back_where_none_does() -> None:
    async def work() -> None:
        plan: Plan = ["First.", "Second.", ScriptedAnswer(status=503, body={"error": "down"})]
        async with open_story(plan) as (story, server):
            await story.reply("Well?")
            assert (await story.reply_again(direction="Otherwise.")).text == "Second."
            assert "First." not in str(server.requests[1].json["messages"])
            failed = await story.reply_again()
            assert (failed.finish, failed.text) == ("failed", "")
            assert await texts(story) == ["Well?", "Second."]
            assert [swipe.message.text for swipe in await story.swipes()] == ["First.", "Second."]
            await story.choose(0)
            assert await texts(story) == ["Well?", "First."]

    run(work)


def test_the_old_reply_stays_where_it_is_until_another_is_there() -> None:
    async def work() -> None:
        hold, heard = asyncio.Event(), asyncio.Event()
        async with open_story(["First.", ScriptedAnswer(text=["Sec", "ond."], hold={1: hold})]) as (story, server):
            await story.reply("Well?")
            task = asyncio.create_task(story.reply_again(told=lambda _: heard.set()))
            await server.request(1)
            assert await texts(story) == ["Well?", "First."], "whoever is killed now has lost nothing"
            assert "First." not in str(server.requests[1].json["messages"])
            hold.set()
            assert (await task).position == 1
            assert await texts(story) == ["Well?", "Second."]

    run(work)


def test_another_reply_stands_beside_where_the_story_has_gone_on_meanwhile() -> None:
    async def work() -> None:
        hold = asyncio.Event()
        async with open_story(["First.", ScriptedAnswer(text="Second.", hold={0: hold})]) as (story, server):
            await story.reply("Well?")
            task = asyncio.create_task(story.reply_again())
            await server.request(1)
            await story.add("user", "Well, then.")
            hold.set()
            await task
            assert await texts(story) == ["Well?", "First.", "Well, then."]
            assert [swipe.message.text for swipe in await story.swipes(1)] == ["First.", "Second."]

    run(work)


def test_more_of_a_reply_takes_its_place_and_the_shorter_stays_beside_it() -> None:
    async def work() -> None:
        plan = ["It was a long night.", "It was a long night. Nobody slept."]
        async with open_story(plan) as (story, server):
            await story.reply("Well?")
            heard: list[str] = []
            reply = await story.reply_longer(told=heard.append)
            assert reply.text == "It was a long night. Nobody slept.", "what it repeats is cut"
            assert await texts(story) == ["Well?", reply.text]
            assert heard[-1].strip() == "Nobody slept."
            assert server.requests[1].json["messages"][-2]["content"] == "It was a long night."
            assert [swipe.message.text for swipe in await story.swipes()] == ["It was a long night.", reply.text]
            await story.add("user", "Go on.")
            with pytest.raises(BadInput, match="newest message is none"):
                await story.reply_longer()

    run(work)


def test_prose_goes_on_by_a_direction_alone() -> None:
    async def work() -> None:
        async with open_story(["Rain fell.", "The wheel turned.", "The wheel stood."]) as (story, server):
            await story.set(["preset=novel"])
            await story.reply(direction="It rains at the mill.")
            await story.reply()
            await story.reply_again(direction="Otherwise.")
            assert await texts(story) == ["Rain fell.", "The wheel stood."]
            assert {item.entry.message.role.value for item in await story.messages()} == {"assistant"}
            roles = [[message["role"] for message in request.json["messages"]] for request in server.requests]
            assert roles == [["system", "user"]] * 3
            assert "Rain fell." in server.requests[1].json["messages"][1]["content"]
            await story.delete(1)
            await story.delete(0)
            with pytest.raises(BadInput, match="nothing to go on from"):
                await story.reply()

    run(work)


def test_the_same_key_says_nothing_twice_and_a_moved_head_is_told() -> None:
    async def work() -> None:
        async with open_story(["Late.", "No."]) as (story, server):
            first = await story.reply("In?", idempotency_key="a", expected_head=0)
            second = await story.reply("In?", idempotency_key="a", expected_head=0)
            assert (first.text, second.text, len(server.requests)) == ("Late.", "Late.", 1)
            with pytest.raises(HeadMoved):
                await story.reply("Again?", expected_head=0)
            assert await texts(story) == ["In?", "Late."]

    run(work)


def test_a_reply_that_another_was_faster_than_stands_beside() -> None:
    async def work() -> None:
        hold = asyncio.Event()
        async with open_story(ScriptedAnswer(text="Mine.", hold={0: hold})) as (story, server):
            task = asyncio.create_task(story.reply("Well?"))
            await server.request(0)
            await story.add("assistant", "Theirs.")
            hold.set()
            await task
            assert await texts(story) == ["Well?", "Theirs."]
            assert {swipe.message.text for swipe in await story.swipes()} == {"Mine.", "Theirs."}

    run(work)


def test_a_view_fits_the_window_that_the_server_tells_or_complains_of() -> None:
    async def work() -> None:
        async with open_story("Short.", kind="llama.cpp", window_tokens=1_500, on_overflow="refuse") as (story, server):
            for number in range(60):
                await story.add(
                    "user", f"Crossing {number}: " + "the river was high and the wind came from the west. " * 6
                )
            reply = await story.reply("And the last?")
            assert reply.finish == "stop", reply.failure
            assert len(server.requests) == 1
        async with open_story("Short.", window_tokens=1_500, on_overflow="refuse") as (story, server):
            for number in range(60):
                await story.add(
                    "user", f"Crossing {number}: " + "the river was high and the wind came from the west. " * 6
                )
            reply = await story.reply("And the last?")
            assert reply.finish == "stop", reply.failure
            assert len(server.requests) == 2, "the first was too long, the second as long as the server takes"

    run(work)


def test_the_setup_survives_an_import_and_travels_with_the_story(tmp_path: Path) -> None:
    file = tmp_path / "stories.db"
    with BlockingMemory(str(file)) as memory:
        story = memory.story("ferry")
        story.add("user", "Hello.")
        story.change_setup({"name": "Odalys", "note": "Slowly."})
        story.keep_header({"user_name": "Wren", "chat_metadata": {"note_prompt": "Theirs."}})
        assert (story.setup().name, story.setup().note, story.setup().user_name) == ("Odalys", "Slowly.", "Wren")
        assert "writing" not in story.header()
        story.change_setup({"note": None})
        assert story.setup().note == "Theirs."
        with pytest.raises(BadInput, match="temperature"):
            story.change_setup({"name": "Bram", "temperature": -1})
        assert story.setup().name == "Odalys", "all of it or nothing"
        memory.backup(str(tmp_path / "copy.db"))
    with BlockingMemory(str(tmp_path / "copy.db")) as memory:
        assert memory.story("ferry", create=False).setup().name == "Odalys"


def test_without_a_model_nothing_is_kept() -> None:
    with BlockingMemory(":memory:", settings=Settings()) as memory:
        story = memory.story("ferry")
        with pytest.raises(BadInput) as refused:
            story.reply("Hello?")
        assert str(refused.value) == NO_MODEL
        assert story.messages() == []


def test_a_reply_of_several_voices_is_the_one_that_was_asked_for() -> None:
    async def work() -> None:
        async with open_story("Bram: I saw it.") as (story, server):
            await story.add("assistant", "Late.", name="Odalys")
            await story.add("assistant", "Very.", name="Bram")
            reply: StoryReply = await story.reply("Who saw it?", speaker="Bram")
            assert reply.text == "I saw it."
            assert (await story.messages())[-1].entry.message.speaker == "Bram"
            assert "Write the next reply as Bram" in server.requests[0].json["messages"][-1]["content"]

    run(work)


def test_the_tree_shows_swipes_and_branches() -> None:
    with BlockingMemory(":memory:", settings=Settings()) as memory:
        story = memory.story("ferry")
        assert story.tree() == []
        story.add("user", "Is the ferry in?", name="Wren")
        story.add("assistant", "No.")
        story.regenerate("It is.")
        story.branch("what-if", at=0)
        story.add("user", "Good.")
        ways = story.tree()
        assert [(way.first, way.last, way.text, way.branches, way.on_path, way.swipe) for way in ways] == [
            (0, 0, "Is the ferry in?", ("what-if",), True, None),
            (1, 1, "No.", (), False, 0),
            (1, 2, "It is.", ("main",), True, 1),
        ]
        assert ways[0].speaker == "Wren"
        assert [way.under for way in ways] == [None, ways[0].id, ways[0].id]
        story.choose(0, 1)
        assert [way.text for way in story.tree() if way.on_path] == ["Is the ferry in?", "No."]
        story.switch("what-if")
        assert [way.on_path for way in story.tree()][:1] == [True]


def test_what_was_taken_out_is_no_swipe_of_what_followed_it() -> None:
    with BlockingMemory(":memory:") as memory:
        story = memory.story("ferry")
        for number in range(4):
            story.add(("user", "assistant")[number % 2], f"Line {number}.")
        story.delete(2)
        assert story.count_swipes(2, 2) == {2: (0, 1)}
        assert [swipe.message.text for swipe in story.swipes(2)] == ["Line 3."]
        with pytest.raises(BadInput, match="no swipe 1"):
            story.choose(1, 2)
        assert {way.swipe for way in story.tree()} == {None}, "there is nothing to choose between"
        story.regenerate("Line 3, again.")
        assert story.count_swipes(2, 2) == {2: (1, 2)}
        ways = {way.text: way.swipe for way in story.tree() if way.first == 2}
        assert ways == {"Line 2.": None, "Line 3.": 0, "Line 3, again.": 1}
        story.choose(0, 2)
        assert story.messages()[-1].entry.message.text == "Line 3."


def test_what_was_deleted_is_no_swipe_of_what_is_written_there_next() -> None:
    """In prose all passages have one role, so the role does not tell them apart."""
    with BlockingMemory(":memory:") as memory:
        story = memory.story("novel")
        for text in ("It rained.", "They left."):
            story.add("assistant", text)
        story.delete(1)
        story.add("assistant", "They stayed.")
        assert story.count_swipes(0, 1) == {0: (0, 1), 1: (0, 1)}
        assert [swipe.message.text for swipe in story.swipes()] == ["They stayed."]
        with pytest.raises(BadInput, match="no swipe 1"):
            story.choose(1)
        story.regenerate("They slept.")
        assert story.count_swipes(1, 1) == {1: (1, 2)}
        ways = {way.text: way.swipe for way in story.tree() if way.first == 1}
        assert ways == {"They left.": None, "They stayed.": 0, "They slept.": 1}
        story.choose(0)
        assert story.messages()[-1].entry.message.text == "They stayed."


def test_a_deletion_that_is_undone_leaves_a_message_among_its_swipes() -> None:
    with BlockingMemory(":memory:") as memory:
        story = memory.story("novel")
        story.add("assistant", "They left.")
        story.regenerate("They stayed.")
        story.delete(0)
        story.undo()
        assert [swipe.message.text for swipe in story.swipes()] == ["They left.", "They stayed."]
        assert [way.swipe for way in story.tree()] == [0, 1]
