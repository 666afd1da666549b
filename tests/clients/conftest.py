"""What every client test has: SillyTavern and a browser for all of them, and for each its own page and database."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator, Generator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import BrowserContext, async_playwright

from tests.clients import proxy as proxies
from tests.clients.cast import OTTOLINE
from tests.clients.driving import Driver
from tests.clients.proxy import Proxy
from tests.clients.sillytavern import SillyTavern, serving
from tests.clients.storyteller import Storyteller

WIDTH, HEIGHT = 1280, 800

_FAILED = pytest.StashKey[bool]()
"""Whether a test failed since the page was opened: whatever is left open on it, the next test gets a new one."""


@dataclass
class Evening:
    """A person with a fresh chat before them, and what stands behind it: with a proxy, or straight to the model."""

    page: Driver
    storyteller: Storyteller
    proxy: Proxy | None
    folder: Path

    async def agrees(self) -> str:
        """The chat on the screen is the one that is stored: the same visible messages in the same order.

        Gives back the story's name. Without a proxy nothing is stored: then the model must have been told the chat,
        and the name is that of the chat, or of the one that a branch left.
        """
        texts = await self.page.texts()
        if self.proxy:
            return await self.proxy.story_of(texts)
        told = _told(self.storyteller.streamed[-1]["messages"], texts[:-1])
        assert told >= min(len(texts) - 1, 20), f"only {told} of {len(texts)} messages were sent"
        return await self.page.root_chat_id()

    async def keeps(self, stories: int) -> None:
        """So many stories are stored, if anything is."""
        if self.proxy:
            assert len(await self.proxy.stories()) == stories


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if report.failed:
        item.session.stash[_FAILED] = True
    return report


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def sillytavern(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[SillyTavern]:
    async with serving(tmp_path_factory.mktemp("sillytavern")) as running:
        yield running


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def browser() -> AsyncIterator[BrowserContext]:
    path = shutil.which("chromium") or shutil.which("chromium-browser")
    assert path, "There is no chromium; `make test-clients` installs it."
    async with async_playwright() as playwright:
        launched = await playwright.chromium.launch(executable_path=path)
        yield await launched.new_context(viewport={"width": WIDTH, "height": HEIGHT})
        await launched.close()


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def everyones_storyteller() -> AsyncIterator[Storyteller]:
    telling = Storyteller()
    async with telling:
        yield telling


@pytest.fixture
def storyteller(everyones_storyteller: Storyteller) -> Storyteller:
    everyones_storyteller.begin_anew()
    return everyones_storyteller


@pytest.fixture(params=["direct", "proxy"])
def route(request: pytest.FixtureRequest) -> str:
    """Straight to the model, which shows that the harness works, or through the proxy."""
    way: str = request.param
    return way


@pytest_asyncio.fixture(loop_scope="session")
async def evening(
    request: pytest.FixtureRequest,
    route: str,
    sillytavern: SillyTavern,
    browser: BrowserContext,
    storyteller: Storyteller,
    tmp_path: Path,
) -> AsyncIterator[Evening]:
    """A fresh chat with Ottoline. `@pytest.mark.parametrize("settings", …)` gives the proxy settings of its own."""
    given: dict[str, str] = request.node.callspec.params.get("settings", {})
    async with AsyncExitStack() as open_things:
        proxy: Proxy | None = None
        if route == "proxy":
            proxy = await open_things.enter_async_context(
                proxies.remembering(storyteller.url, tmp_path, settings=given)
            )
        driver = await _at_the_page(request, browser, sillytavern)
        await driver.connect(proxy.url if proxy else storyteller.url)
        await driver.select(OTTOLINE.name)
        await driver.new_chat()
        yield Evening(driver, storyteller, proxy, tmp_path)
        if request.session.stash.get(_FAILED, False):
            await driver.screenshot(tmp_path / "screen.png")


async def _at_the_page(request: pytest.FixtureRequest, browser: BrowserContext, sillytavern: SillyTavern) -> Driver:
    """The page as the last test left it, for opening it takes longer than most tests; after a failure, a new one."""
    failed = request.session.stash.setdefault(_FAILED, True)
    if browser.pages and not failed:
        return Driver(browser.pages[0])
    for page in browser.pages:
        await page.close()
    driver = Driver(await browser.new_page())
    await driver.open(sillytavern.url)
    request.session.stash[_FAILED] = False
    return driver


def _told(messages: list[dict[str, object]], texts: list[str]) -> int:
    """How many of these texts were sent in their order, the newest first, with or without a name before them.

    SillyTavern leaves out the oldest when its window is full, so a missing front is no fault.
    """
    contents = reversed([str(message["content"]) for message in messages])
    return sum(1 for _ in takewhile(lambda text: any(content.endswith(text) for content in contents), reversed(texts)))
