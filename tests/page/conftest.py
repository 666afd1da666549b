"""What every test of the page has: a browser, a server with the sample story folded, and a page of its own."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

from previously.blocking import BlockingMemory
from previously.demo.replay_model import RecordedModel
from previously.demo.sample_story import make_settings, read_sample
from tests.page.serving import Served, Upstream, serve

T = TypeVar("T")
SAMPLE = "Dunmarrow Harbour"
PATIENCE_MS = 60_000
"""Milliseconds that the page may take for what a person waits for: the machine may be busy with much else."""

KEEP_NOTICES = """
    const wait = window.setTimeout;
    window.setTimeout = (call, ms, ...rest) => wait(call, ms >= 8000 ? 30000 : ms, ...rest);
"""
"""A notice goes after eight seconds; on a busy machine a test needs longer to press its Undo."""

expect.set_options(timeout=PATIENCE_MS)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    path = shutil.which("chromium") or shutil.which("chromium-browser")
    assert path, "There is no chromium; `make test-page` installs it."
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=path)
        yield launched
        launched.close()


@pytest.fixture(scope="session")
def folded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database with the sample story, folded by the recorded model."""
    path = tmp_path_factory.mktemp("folded") / "stories.db"
    run_aside(_fold_sample, path)
    return path


def run_aside(do: Callable[[Path], T], path: Path) -> T:
    """Run something in another thread: in this one, playwright's event loop is running."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(do, path).result()


def _fold_sample(path: Path) -> None:
    with BlockingMemory(path, settings=make_settings(), model=RecordedModel()) as memory:
        story = memory.story(SAMPLE)
        story.follow(read_sample())
        story.view(3_000)
        story.fold()


@pytest.fixture(scope="session")
def upstream() -> Iterator[Upstream]:
    running = Upstream("The lamp is lit.")
    yield running
    running.close()


@pytest.fixture
def served(folded: Path, upstream: Upstream, tmp_path: Path) -> Iterator[Served]:
    """A server with a copy of the sample story. Nothing is folded by itself."""
    database = tmp_path / "stories.db"
    shutil.copy(folded, database)
    with serve(database, upstream.url, settings={"PREVIOUSLY_FOLDING": "ask"}) as running:
        yield running


@pytest.fixture(scope="session")
def reader(folded: Path, upstream: Upstream, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server for tests that only look."""
    database = tmp_path_factory.mktemp("reader") / "stories.db"
    shutil.copy(folded, database)
    with serve(database, upstream.url, settings={"PREVIOUSLY_FOLDING": "ask"}) as running:
        yield running


def open_tab(context: BrowserContext) -> Page:
    """Return a page that fails the test when a script of it fails or a header is broken."""
    page = context.new_page()
    page.set_default_timeout(PATIENCE_MS)
    page.add_init_script(KEEP_NOTICES)
    faults: list[str] = []
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.on("console", lambda line: faults.append(line.text) if "Content Security Policy" in line.text else None)
    context._faults = [*getattr(context, "_faults", []), faults]  # type: ignore[attr-defined, unused-ignore]
    return page


def wait_until(page: Page, holds: Callable[[], object]) -> None:
    """Wait for something that the page itself does not show."""
    until = time.monotonic() + PATIENCE_MS / 1000
    while not holds():
        assert time.monotonic() < until, "it does not come"
        page.wait_for_timeout(50)


@pytest.fixture
def context(browser: Browser) -> Iterator[BrowserContext]:
    made = browser.new_context(viewport={"width": 1280, "height": 900})
    yield made
    faults = [fault for each in getattr(made, "_faults", []) for fault in each]
    made.close()
    assert not faults, faults


@pytest.fixture
def page(context: BrowserContext) -> Page:
    return open_tab(context)
