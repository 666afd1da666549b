"""The real SillyTavern takes our files, shows them, and gives the same back: a book, a chat, a card."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from previously import Memory, read_story
from previously.formats.png_texts import read_picture_text
from previously.lore.book_changes import compare_books
from tests.clients.cast import OTTOLINE
from tests.clients.conftest import Evening
from tests.clients.sillytavern import SillyTavern
from tests.end_to_end.files.test_export import CHAT
from tests.unit.lore.test_parse_books import BARE, GRIM, WORLD

pytestmark = [
    pytest.mark.asyncio(loop_scope="session"),
    pytest.mark.parametrize("route", ["direct"], indirect=True),
]


BOOK = {**WORLD, "entries": {"12": GRIM, "0": {**BARE, "uid": 0}}}
"""SillyTavern shows only entries that say their number."""


def write(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path


def read(path: str | Path) -> str:
    return Path(path).read_text("utf-8")


def find_lost(ours: Any, theirs: Any, path: str = "") -> dict[str, tuple[Any, Any]]:
    """What we wrote and they have otherwise, by its path; what they added is theirs."""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        pairs = [(f"{path}/{key}", value, theirs.get(key, "missing")) for key, value in ours.items()]
        return {place: lost for at, mine, its in pairs for place, lost in find_lost(mine, its, at).items()}
    return {} if json.dumps(ours) == json.dumps(theirs) else {path: (ours, theirs)}


async def test_a_book_goes_there_is_renamed_and_comes_back(evening: Evening) -> None:
    async with await Memory.open(":memory:") as memory:
        await memory.keep_book("harbour", BOOK)
        ours = await memory.export_book("harbour", "world-info")
        path = write(evening.folder / "harbour.json", ours)
        page = evening.page.page
        await page.click("#WIDrawerIcon")
        async with page.expect_response("**/api/worldinfo/import"):
            await page.set_input_files("#world_import_file", path)
        title = page.locator('.world_entry textarea[name="comment"]')
        await title.first.wait_for()
        titles = [await title.nth(at).input_value() for at in range(await title.count())]
        assert "The ferryman" in titles

        async with page.expect_download() as first:
            await page.click("#world_popup_export")
        back = json.loads(read(await (await first.value).path()))
        assert find_lost(BOOK, back) == {}
        assert (await memory.keep_book("harbour", back)).changes == ()

        await title.nth(titles.index("The ferryman")).fill("Grim the Elder")
        await page.wait_for_timeout(2_000)  # it is saved a moment after the last key
        async with page.expect_download() as second:
            await page.click("#world_popup_export")
        renamed = json.loads(read(await (await second.value).path()))
        await page.click("#WIDrawerIcon")
        (change,) = (await memory.keep_book("harbour", renamed)).changes
        assert (change.uid, change.field, change.after) == ("harbour/12", "name", "Grim the Elder")


async def test_a_chat_goes_there_is_shown_and_comes_back(evening: Evening) -> None:
    path = write(evening.folder / "before.jsonl", CHAT)
    async with await Memory.open(":memory:") as memory:
        source, story = read_story(path), await memory.story("tale")
        await story.follow(source.drafts)
        await story.keep_header(source.header)
        await story.regenerate("Nobody says so.")
        ours = (await story.export("sillytavern-chat"))[0].content
    await evening.page.import_chat(write(evening.folder / "ours.jsonl", ours))
    lines = [json.loads(line) for line in ours.decode().split("\n")][1:]
    told = await evening.page.chat()
    assert [(line.name, line.text, line.is_user, line.is_system) for line in told] == [
        (line["name"], line["mes"], line["is_user"], line["is_system"]) for line in lines
    ]
    assert (await evening.page.shown())[-1].startswith("Nobody says so.")
    name = await evening.page.chat_id()
    option = await evening.page._option("select_chat")
    await option.click()
    page = evening.page.page
    block = page.locator(f'.select_chat_block_wrapper:has(.select_chat_block[file_name="{name}"])')
    async with page.expect_download() as downloading:
        await block.locator(".exportRawChatButton").click()
    back = read(await (await downloading.value).path())
    await page.click("#select_chat_cross")
    assert find_lost(dict(enumerate(lines)), dict(enumerate(map(json.loads, back.split("\n")[1:])))) == {}


async def test_a_card_with_our_book_goes_there_and_comes_back(evening: Evening, sillytavern: SillyTavern) -> None:
    portrait = (sillytavern.user_folder / "characters" / f"{OTTOLINE.name}.png").read_bytes()
    async with await Memory.open(":memory:") as memory:
        await memory.keep_book("harbour", WORLD)
        card = await memory.export_book("harbour", "character-book", card=portrait)
        path = write(evening.folder / "Marisol.png", card)
        page = evening.page.page
        await evening.page._show_characters()
        async with page.expect_response("**/api/characters/import") as importing:
            await page.set_input_files("#character_import_file", path)
        made = (await (await importing.value).json())["file_name"]
        stored = (sillytavern.user_folder / "characters" / f"{made}.png").read_bytes()
        ours, theirs = (json.loads(read_picture_text(one))["data"]["character_book"] for one in (card, stored))
        assert find_lost({"entries": ours["entries"]}, {"entries": theirs["entries"]}) == {}
        await memory.keep_book("back", {"spec": "lorebook_v3", "data": theirs})
        back = json.loads(await memory.export_book("back", "world-info"))
        assert compare_books(WORLD, back, "harbour") == []
        assert json.dumps(back["entries"]) == json.dumps(WORLD["entries"])
