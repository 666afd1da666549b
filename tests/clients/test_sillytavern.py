"""The real SillyTavern in a real browser: whatever a person does to a chat, what is stored is the chat on the screen.

Each test runs twice: straight to the model, where it shows that the clicks do what they should, and through the proxy,
where after every action and the next request the stored path must equal the screen. SillyTavern sends nothing when a
message is edited, deleted, hidden or swiped back, nor when a chat is branched: only the next request tells.
"""

from __future__ import annotations

import pytest

from tests.clients.cast import CHAT_META, OTTOLINE, PELL
from tests.clients.conftest import Evening

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def test_turns_are_kept_as_they_come(evening: Evening) -> None:
    for text in ("I have the stub here.", "It says platform nine.\n\nIs there a platform nine?", "  Then we walk.  "):
        reply = await evening.page.send(text)
        assert reply == evening.storyteller.told[-1]
        await evening.agrees()
    assert len(await evening.page.chat()) == 7
    await evening.keeps(stories=1)


async def test_the_swipe_on_the_screen_counts(evening: Evening) -> None:
    page = evening.page
    first = await page.send("Whose initials are these?")
    second = await page.swipe_right()
    third = await page.swipe_right()
    assert len({first, second, third}) == 3
    assert await page.swipe_left() == second
    await page.send("And the lock?")
    assert second in await page.texts() and third not in await page.texts()
    await evening.agrees()

    newest = (await page.texts())[-1]
    await page.swipe_right()
    assert await page.swipe_left() == newest
    assert await page.swipe_right() != newest
    await page.send("Try the small key.")
    await evening.agrees()
    await evening.keeps(stories=1)


async def test_a_regenerated_reply_replaces_the_old_one(evening: Evening) -> None:
    page = evening.page
    await page.send("What does the clock say?")
    old = await page.send("Which of them is right?")
    new = await page.regenerate()
    assert old != new
    await evening.agrees()
    again = await page.regenerate()
    await page.send("Then it is late.")
    assert again in await page.texts() and new not in await page.texts()
    await evening.agrees()
    await evening.keeps(stories=1)


async def test_an_old_message_is_edited(evening: Evening) -> None:
    page = evening.page
    for number in range(4):
        await page.send(f"I put coin number {number} on the counter.")
    await page.edit(1, "I put a button on the counter.")
    await page.send("Did you see?")
    await evening.agrees()
    await page.edit(4, "Ottoline bit the coin and gave it back.")
    await page.edit(9, "Did you see that?")
    await page.send("Well?")
    texts = await page.texts()
    assert (texts[1], texts[4]) == ("I put a button on the counter.", "Ottoline bit the coin and gave it back.")
    await evening.agrees()
    await evening.keeps(stories=1)


async def test_messages_are_deleted(evening: Evening) -> None:
    page = evening.page
    for number in range(4):
        await page.send(f"Shelf {number}, left side.")
    gone = (await page.texts())[4]
    await page.delete(4)
    await page.send("That one was empty.")
    assert gone not in await page.texts()
    await evening.agrees()
    await page.delete_last(4)
    await page.send("Shelf nine, then.")
    assert len(await page.texts()) == 8
    await evening.agrees()
    await evening.keeps(stories=1)


async def test_messages_are_hidden_and_shown_again(evening: Evening) -> None:
    page = evening.page
    for number in range(3):
        await page.send(f"Door {number} is locked.")
    before = await page.texts()
    await page.hide(2)
    await page.send("I knock.")
    assert [line.is_system for line in await page.chat()].index(True) == 2
    await evening.agrees()
    await page.unhide(2)
    await page.send("I knock again.")
    assert (await page.texts())[: len(before)] == before
    await evening.agrees()
    await evening.keeps(stories=1)


async def test_a_reply_is_continued(evening: Evening) -> None:
    page = evening.page
    short = await page.send("Tell me about the harp.")
    long = await page.continue_()
    assert long.startswith(short) and len(long) > len(short)
    longer = await page.continue_()
    assert longer.startswith(long)
    await page.send("And nobody came for it?")
    assert longer in await page.texts()
    await evening.agrees()
    await evening.keeps(stories=1)


async def test_an_impersonation_is_said_only_when_it_is_sent(evening: Evening) -> None:
    page = evening.page
    await page.send("I lost my voice somewhere before Harrow.")
    before = await page.texts()
    written = await page.impersonate()
    assert written == evening.storyteller.told[-1] and await page.texts() == before
    await page.send(f"{written} Or so they say.")
    assert (await page.chat())[3].is_user
    await evening.agrees()
    await evening.keeps(stories=1)


async def test_a_reply_is_stopped_midway(evening: Evening) -> None:
    page = evening.page
    await page.send("Read me the label.")
    evening.storyteller.pause_s = 0.3
    await page.begin("The whole label, please.")
    part = await page.stop()
    evening.storyteller.pause_s = 0.0
    assert part and part != evening.storyteller.told[-1] and evening.storyteller.told[-1].startswith(part)
    await page.send("That will do.")
    assert part in await page.texts()
    await evening.agrees()
    await evening.keeps(stories=1)


async def test_a_branch_goes_its_own_way_and_the_chat_it_left_goes_on(evening: Evening) -> None:
    page = evening.page
    for number in range(4):
        await page.send(f"We pass lamp {number}.")
    story = await evening.agrees()
    main, common = await page.chat_id(), (await page.texts())[:5]
    branch = await page.branch(4)
    assert await page.texts() == common
    await page.send("Here we turn left.")
    await page.send("And left again.")
    assert await evening.agrees() == story
    await page.open_chat(main)
    await page.send("We keep straight on.")
    assert await evening.agrees() == story
    await page.open_chat(branch)
    await page.send("It is a dead end.")
    assert await evening.agrees() == story
    await evening.keeps(stories=1)


async def test_a_second_chat_with_the_same_character_is_another_story(evening: Evening) -> None:
    page = evening.page
    await page.send("I have come for the trunk.")
    await page.send("The one with the brass corners.")
    first, first_chat = await evening.agrees(), await page.chat_id()
    await page.new_chat()
    assert len(await page.chat()) == 1
    await page.send("Good evening. I have lost a glove.")
    await page.send("A left one.")
    second = await evening.agrees()
    assert first != second
    await page.open_chat(first_chat)
    await page.send("So, the trunk.")
    assert await evening.agrees() == first
    await evening.keeps(stories=2)


async def test_a_group_is_one_story_with_two_voices(evening: Evening) -> None:
    page = evening.page
    await page.make_group("The night shift", OTTOLINE.name, PELL.name)
    assert [line.name for line in await page.chat()] == [OTTOLINE.name, PELL.name]
    await page.send("Who was on duty on Friday?")
    assert [line.name for line in await page.chat()][-2:] == [OTTOLINE.name, PELL.name]
    await page.send("Both of you?")
    await page.swipe_right()
    await page.send("And who locked up?")
    story = await evening.agrees()
    await evening.keeps(stories=1)
    if evening.proxy:
        told = (await evening.proxy.stories())[story]
        lines = [line for line in await page.chat() if not line.is_user]
        assert [each.speaker for each in told if each.role == "assistant"] == [line.name for line in lines]


@pytest.mark.parametrize("route", ["proxy"], indirect=True)
async def test_commands_are_answered_and_are_no_part_of_the_story(evening: Evening) -> None:
    page, proxy = evening.page, evening.proxy
    assert proxy
    await page.send("I have come for the trunk.")
    asked = len(evening.storyteller.asked)
    # SillyTavern takes any line that begins with a slash for a command of its own.
    pinned = await page.send("!!pin The trunk smells of oranges.")
    helped = await page.send("!!help")
    assert "oranges" in pinned and "!!recap" in helped
    assert len(evening.storyteller.asked) == asked
    await page.send("Is it still here?")
    story = [text for text in await page.texts() if not text.startswith(("!!", "[Previously]"))]
    assert len(story) == 5
    await proxy.story_of(story)
    sent = str(evening.storyteller.streamed[-1]["messages"])
    assert "The trunk smells of oranges." in sent and "!!pin" not in sent and "!!help" not in sent
    await evening.keeps(stories=1)


async def test_with_chat_meta_even_chats_that_begin_alike_are_told_apart(evening: Evening) -> None:
    page, storyteller = evening.page, evening.storyteller
    await page.include_in_body(CHAT_META)
    try:
        names = []
        for number in range(2):
            await page.send("I have come for the trunk.")
            await page.swipe_right()
            names.append(await evening.agrees())
            if number == 0:
                await page.new_chat()
    finally:
        await page.include_in_body("")
    assert len(set(names)) == 2
    await evening.keeps(stories=2)
    if evening.proxy:
        assert not any("chat_meta" in body for body in storyteller.asked)
    else:
        kinds = [(body["chat_meta"]["type"], body["chat_meta"]["last_id"]) for body in storyteller.streamed]
        assert kinds == [("normal", "1"), ("swipe", "1")] * 2
        assert len({body["chat_meta"]["uid"] for body in storyteller.streamed}) == 2
