"""The pictures in `docs/`: taken from the real thing, and only when `DOCS_IMAGES` is set.

SillyTavern has symbols that need an emoji font, such as Debian's `fonts-noto-color-emoji`.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from playwright.async_api import BrowserContext

from tests.clients.agent_model import AgentModel
from tests.clients.agent_work import TALK_1
from tests.clients.agents import AGENTS
from tests.clients.cast import OTTOLINE
from tests.clients.driving import Driver
from tests.clients.open_webui import OpenWebUI
from tests.clients.proxy import remembering
from tests.clients.replay import replay
from tests.clients.sillytavern import SillyTavern
from tests.clients.storyteller import Storyteller
from tests.clients.workplace import make_workplace
from tests.end_to_end.server.running import running_proxy

IMAGES = Path(__file__).parents[2] / "docs" / "images"
LARGEST_BYTES = 150_000
PORT = 8642

pytestmark = [
    pytest.mark.asyncio(loop_scope="session"),
    pytest.mark.skipif(not os.environ.get("DOCS_IMAGES"), reason="DOCS_IMAGES is not set"),
]


async def test_pictures_for_the_docs(
    sillytavern: SillyTavern, browser: BrowserContext, storyteller: Storyteller, tmp_path: Path
) -> None:
    storyteller.say_next(
        '*She turns the ledger round and taps a line with her pencil.* "Brass corners, no handle, smells of oranges. '
        'Shelf forty, behind the harp."',
        '*Ottoline slides the form back under the lamp.* "Ninety-five crowns, due at midsummer. You signed it in green '
        'ink, and you promised the porter his lantern back. I do not forget either."',
    )
    async with remembering(storyteller.url, tmp_path, port=PORT) as proxy:
        page = await browser.new_page()
        driver = Driver(page)
        await driver.open(sillytavern.url)
        await page.set_viewport_size({"width": 900, "height": 620})
        await page.evaluate("() => document.body.classList.remove('expandMessageActions')")
        await driver.connect(proxy.url)
        await page.click("#API-status-top")
        await page.evaluate("() => document.activeElement.blur()")
        await _taken(driver, "sillytavern-connection.png")
        await page.click("#API-status-top")
        await driver.select(OTTOLINE.name)
        await driver.new_chat()
        await driver.send("Then let us begin with the trunk. Do you still have it?")
        await driver.send("And what exactly do I owe?")
        await driver.script("/send //help | /trigger")
        await page.mouse.move(0, 0)
        await _taken(driver, "sillytavern-chat.png")
        await page.close()


async def test_pictures_of_open_webui(browser: BrowserContext, tmp_path: Path) -> None:
    place, agent = make_workplace(tmp_path), OpenWebUI()
    async with (
        AgentModel(agent.window, folder=str(place.project)) as model,
        remembering(model.base_url, tmp_path, port=PORT) as proxy,
    ):
        agent.furnish(place, proxy.origin)
        async with agent.serving(place, proxy.origin) as server:
            page = await browser.new_page()
            await page.set_viewport_size({"width": 1000, "height": 640})
            await page.goto(str(server.base_url))
            await page.locator("#chat-input").wait_for(timeout=120_000)
            await page.keyboard.press("Escape")
            for line in (TALK_1[0], "//why"):
                await page.locator("#chat-input").click()
                await page.keyboard.type(line)
                await page.keyboard.press("Enter")
                await page.wait_for_timeout(8_000)
            await page.screenshot(path=IMAGES / "open-webui-chat.png")
            await page.goto(f"{server.base_url}/admin/settings/connections")
            await page.wait_for_timeout(5_000)
            await page.screenshot(path=IMAGES / "open-webui-connections.png")
            await page.close()


async def test_picture_of_the_page(browser: BrowserContext, tmp_path: Path) -> None:
    """The story of an agent that has filled its window."""
    run = await replay("codex", tmp_path, window=AGENTS["codex"].window, first=40)
    assert run.database is not None
    async with running_proxy("http://127.0.0.1:9/v1", db=run.database, window=run.window) as proxy:
        page = await browser.new_page()
        await page.set_viewport_size({"width": 1000, "height": 760})
        await page.goto(proxy.origin)
        await page.locator("li.story h2 a").first.click()
        await page.get_by_role("link", name="What the model saw").click()
        await page.get_by_role("tabpanel").first.wait_for()
        await page.screenshot(path=IMAGES / "page-of-a-story.png")
        await page.close()


async def _taken(driver: Driver, name: str) -> None:
    await driver.screenshot(IMAGES / name)
    assert (IMAGES / name).stat().st_size <= LARGEST_BYTES
