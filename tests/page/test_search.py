"""A person searches a story on the page: alone, and with the help of their model."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from previously import BlockingMemory, ScriptedAnswer
from previously.testing import ServedRequest
from tests.page.conftest import run_aside
from tests.page.serving import PATIENCE_S, Served, Upstream, serve

STORY = "The mill"
ADDRESS = "#/story/The%20mill/read"
QUESTION = "Was the roof ever mended?"
SLATE = "The last slate is on."


class Helper:
    """Answers the two questions of a search, the first when it is let."""

    def __init__(self) -> None:
        self.may_answer = threading.Event()
        self.is_broken = False
        self.calls = 0

    def __call__(self, request: ServedRequest) -> ScriptedAnswer:
        self.calls += 1
        self.may_answer.wait(PATIENCE_S)
        if self.is_broken:
            return ScriptedAnswer(status=400, body={"error": {"message": "The model is not loaded."}})
        picks = "[1]" in request.messages[-1]["content"]
        return ScriptedAnswer(text="2" if picks else SLATE)


@pytest.fixture
def helper() -> Helper:
    return Helper()


@pytest.fixture
def mill(helper: Helper, tmp_path: Path) -> Iterator[Served]:
    database = tmp_path / "stories.db"
    run_aside(_tell, database)
    upstream = Upstream(helper)
    with serve(database, upstream.url, "--memory-model", "scripted", settings={"PREVIOUSLY_FOLDING": "off"}) as served:
        yield served
    upstream.close()


def _tell(database: Path) -> None:
    with BlockingMemory(database) as memory:
        story = memory.story(STORY)
        for text in ("The roof leaks.", SLATE, "Good night, Wren."):
            story.add("user", text, name="Odalys")


def search(page: Page, served: Served, words: str, address: str = ADDRESS) -> Locator:
    page.goto(f"{served.url}{address}")
    page.get_by_label("Search this story").fill(words)
    page.keyboard.press("Enter")
    return page.get_by_role("dialog")


def test_a_model_helps_with_a_search_only_when_it_is_let(page: Page, mill: Served, helper: Helper) -> None:
    found = search(page, mill, QUESTION)
    expect(found.locator(".hit").first).to_contain_text("The roof leaks.")
    expect(found.get_by_text("picked")).to_have_count(0)
    switch = found.get_by_role("switch", name="Let my model help")
    expect(found).to_contain_text("It makes two calls: it says how the answer may be worded")
    assert helper.calls == 0
    switch.check()
    expect(found).to_contain_text("Your model looks for what helps …")
    helper.may_answer.set()
    expect(found.locator(".hit").first).to_contain_text(SLATE)
    expect(found.locator(".hit", has_text="picked")).to_have_count(1)
    expect(found).to_contain_text("Looked for too: “The last slate is on”. It picked 1 of 3 passages, shown first.")
    assert helper.calls == 2
    found.locator(".hit").first.click()
    expect(page.locator(".message.marked")).to_contain_text(SLATE)


def test_a_model_that_cannot_help_leaves_the_search_as_it_was(page: Page, mill: Served, helper: Helper) -> None:
    helper.is_broken = True
    helper.may_answer.set()
    found = search(page, mill, QUESTION)
    expect(found.locator(".hit").first).to_be_visible()  # until then the dialog grows, and what is in it moves
    found.get_by_role("switch", name="Let my model help").check()
    expect(found).to_contain_text("Your model could not help, so this is the search alone:")
    expect(found).to_contain_text("The model is not loaded.")
    expect(found.locator(".hit").first).to_contain_text("The roof leaks.")


def test_words_that_no_message_has_are_said_to_be_nowhere(page: Page, reader: Served) -> None:
    found = search(page, reader, "zzyzxq", "#/story/Dunmarrow%20Harbour/read")
    expect(found.get_by_role("heading", name="Not found: “zzyzxq”")).to_be_visible()
    expect(found.get_by_role("status")).to_have_text("No message has these words. Nearest in meaning:")
    expect(found.locator(".hit").first).to_be_visible()
    page.keyboard.press("Escape")
    found = search(page, reader, "barometer", "#/story/Dunmarrow%20Harbour/read")
    expect(found.get_by_role("heading", name="Found for “barometer”")).to_be_visible()


def test_no_help_is_offered_where_no_model_is_named(page: Page, tmp_path: Path) -> None:
    run_aside(_tell, tmp_path / "stories.db")
    with serve(tmp_path / "stories.db", "") as served:
        with page.expect_response("**/api/v1/model"):
            found = search(page, served, "roof")
        expect(found.locator(".hit").first).to_contain_text("The roof leaks.")
        expect(found.get_by_role("switch")).to_have_count(0)
