"""The real SillyTavern over a longer time: an imported chat, one evening of everything, and memory that follows."""

from __future__ import annotations

import asyncio

import pytest

from tests.clients import proxy as proxies
from tests.clients.cast import write_chat_file
from tests.clients.conftest import Evening

pytestmark = pytest.mark.asyncio(loop_scope="session")

LONG = 2_000
WINDOW_TOKENS = 8_192

FOLDS_SOON = {
    "PREVIOUSLY_TAIL_MESSAGES": "4",
    "PREVIOUSLY_FOLD_MESSAGES": "4",
    "PREVIOUSLY_RECAP_WORDS": "60",
}


async def test_a_long_chat_file_goes_on_as_the_same_story(evening: Evening) -> None:
    page = evening.page
    file = write_chat_file(evening.folder / "long.jsonl", LONG)
    if evening.proxy:
        await proxies.import_file(evening.proxy, file, "the trunk")
    await page.set_max_context(WINDOW_TOKENS)
    await page.import_chat(file)
    assert len(await page.chat()) == LONG
    for turn in range(1, 4):
        await page.send(f"We open the trunk for the {turn}. time.")
        assert len(evening.storyteller.streamed[-1]["messages"]) < LONG / 4
        story = await evening.agrees()
        assert not evening.proxy or story == "the trunk"
    await page.edit(LONG + 2, "Nobody had touched the trunk.")
    await page.swipe_right()
    await page.send("Now close it.")
    await evening.agrees()
    texts = await page.texts()
    assert len(texts) == len(set(texts)) == LONG + 8
    await evening.keeps(stories=1)


async def test_one_evening_of_everything(evening: Evening) -> None:
    page = evening.page
    for number in range(5):
        await page.send(f"I open drawer {number}.")
    story = await evening.agrees()

    await page.swipe_right()
    await page.swipe_right()
    await page.swipe_left()
    await page.send("That is a strange key.")
    await evening.agrees()
    await page.edit(3, "I open drawer one, gently.")
    await page.regenerate()
    await page.send("Stranger still.")
    await evening.agrees()
    await page.delete(6)
    await page.continue_()
    await page.send("Go on.")
    await evening.agrees()
    await page.hide(2)
    await page.send("Where was I?")
    await evening.agrees()

    main = await page.chat_id()
    await page.branch(7)
    await page.send("I close them all.")
    await evening.agrees()
    await page.new_chat()
    await page.send("Another night, another ticket.")
    other = await evening.agrees()
    await page.open_chat(main)
    await page.unhide(2)
    await page.delete_last(2)
    await page.send("It fits the last drawer.")
    assert await evening.agrees() == story != other
    await evening.keeps(stories=2)


@pytest.mark.parametrize("route", ["proxy"], indirect=True)
@pytest.mark.parametrize("settings", [FOLDS_SOON], ids=["folds soon"])
async def test_memory_is_that_of_the_path(evening: Evening, settings: dict[str, str]) -> None:
    page, proxy = evening.page, evening.proxy
    assert proxy
    evening.storyteller.folds_fail = True  # so that the built-in writer writes, in the words of the story
    await page.send("I promise to pay the porter ninety-five crowns by midsummer.")
    for number in range(8):
        await page.send(f"We walk past the {number}. lamp and talk about the weather.")
    story = await evening.agrees()
    await _until_recap(proxy, story, has="ninety-five")
    await page.edit(1, "I promise to pay the porter eleven crowns by midsummer.")
    for number in range(8, 12):
        await page.send(f"We walk past the {number}. lamp and talk about the weather.")
    assert await evening.agrees() == story
    await _until_recap(proxy, story, has="eleven", has_not="ninety-five")


async def _until_recap(proxy: proxies.Proxy, story: str, *, has: str, has_not: str = "\0") -> None:
    recap = ""
    for _ in range(100):
        recap = await proxy.recap(story)
        if has in recap and has_not not in recap:
            return
        await asyncio.sleep(0.2)
    raise AssertionError(f"The recap should say {has!r} and not {has_not!r}:\n{recap}")
