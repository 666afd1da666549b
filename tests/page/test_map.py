"""The memory map: the questions it answers in three clicks, what is pointed at, and what shows at a glance."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from urllib.parse import quote

import pytest
from playwright.sync_api import Locator, Page, expect

from previously import ScriptedModel, Settings
from previously.blocking import BlockingMemory, BlockingStory
from previously.core.model_io import ModelRequest
from tests.page.conftest import SAMPLE, run_aside
from tests.page.serving import Served, Upstream, serve
from tests.page.test_screens import SCHEMES, list_findings

MOST_CLICKS = 3
RULES = Settings(cast="off", tail_messages=2, fold_messages=4, chapter_messages=0)


class Person:
    """Somebody who clicks, and counts."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.clicks = 0

    def click(self, on: Locator) -> None:
        on.click()
        self.clicks += 1
        assert self.clicks <= MOST_CLICKS


@pytest.fixture
def person(page: Page, reader: Served) -> Person:
    """Somebody who reads the sample story and goes to its map: the first click."""
    page.goto(f"{reader.url}#/story/{quote(SAMPLE)}/read")
    found = Person(page)
    found.click(page.get_by_role("link", name="Map", exact=True))
    expect(page.get_by_role("group", name="Memory map")).to_be_visible()
    return found


def details(page: Page) -> Locator:
    return page.get_by_role("region", name="What is pointed at")


def spot(page: Page, name: str) -> Locator:
    """Something in the picture."""
    return page.get_by_role("group", name="Memory map").get_by_role("button", name=name)


def test_what_is_not_folded_yet(person: Person) -> None:
    expect(person.page.locator("main")).to_contain_text("Not yet: messages 237 to 248.")
    person.click(spot(person.page, "Not in memory yet: messages 237 to 248"))
    expect(details(person.page)).to_contain_text("No recap or chapter tells messages 237 to 248.")
    expect(details(person.page).locator("li")).to_have_count(12)


def test_which_chapter_holds_the_promise(person: Person) -> None:
    page = person.page
    person.click(page.get_by_role("button", name="Threads", exact=True))
    person.click(page.get_by_role("list", name="Threads").get_by_role("button", name="takes her to the wreck"))
    expect(details(page)).to_contain_text("Opened at message 21, in Chapter 1, The Assessor.")
    expect(details(page)).to_contain_text("Settled at message 59, in Chapter 1, The Assessor")
    expect(details(page).locator("li").first).to_contain_text("boat")


def test_what_somebody_missed(person: Person) -> None:
    page = person.page
    person.click(spot(page, "Wick: what they were there for, and what they missed"))
    expect(details(page).get_by_role("heading", name="What Wick missed")).to_be_visible()
    missed = details(page).locator(".missed li")
    expect(missed.nth(1)).to_contain_text("messages 11 to 23")
    expect(missed.nth(1)).to_contain_text("Chapter 1, The Assessor")
    person.click(missed.nth(1).get_by_role("button"))
    expect(details(page).get_by_role("heading", name="Messages 11 to 23")).to_be_visible()


def test_where_a_sentence_came_from(person: Person) -> None:
    page = person.page
    person.click(spot(page, "Recap: messages 157 to 236"))
    person.click(details(page).get_by_text("Bram gave Ines the razored log page"))
    expect(details(page).get_by_role("status").filter(has_text="It comes from message ")).to_be_visible()


def write_by_hand(path: Path) -> None:
    with BlockingMemory(path) as memory:
        story = memory.story(SAMPLE)
        story.write("recap", "Everybody went home.")
        story.pin("Nobody calls it Dunmarrow Harbour.")


def test_what_is_by_hand(page: Page, folded: Path, upstream: Upstream, tmp_path: Path) -> None:
    database = tmp_path / "stories.db"
    shutil.copy(folded, database)
    run_aside(write_by_hand, database)
    with serve(database, upstream.url, settings={"PREVIOUSLY_FOLDING": "ask"}) as served:
        page.goto(f"{served.url}#/story/{quote(SAMPLE)}/read")
        person = Person(page)
        person.click(page.get_by_role("link", name="Map", exact=True))
        person.click(page.get_by_role("button", name="By hand", exact=True))
        mine = page.get_by_role("list", name="By hand")
        expect(mine).to_contain_text("Nobody calls it Dunmarrow Harbour.")
        expect(mine).to_contain_text("Recap")
        person.click(mine.get_by_role("button", name="Recap"))
        expect(details(page)).to_contain_text("Everybody went home.")


def test_the_keyboard_reaches_a_band_and_chooses_it(person: Person) -> None:
    page = person.page
    page.get_by_role("region", name="The story from left to right").focus()
    page.keyboard.press("Tab")
    first = spot(page, "Whole story: messages 0 to 156")
    expect(first).to_be_focused()
    expect(details(page)).to_contain_text("Ines Quillan, assessor of Merrow & Tull")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    chapter = spot(page, "Chapter 1, The Assessor: messages 0 to 80")
    expect(chapter).to_have_attribute("aria-pressed", "true")
    expect(details(page).get_by_role("heading", name="Messages 0 to 80")).to_be_visible()


def test_pointing_shows_the_text_and_a_click_its_messages(person: Person) -> None:
    page = person.page
    band = spot(page, "Episode 4: messages 81 to 116")
    band.hover()
    expect(details(page)).to_contain_text("Maret Ashdell came secretly to room six")
    expect(details(page).get_by_role("list")).to_have_count(0)
    person.click(band)
    expect(details(page).locator("li").first).to_contain_text("81")
    details(page).get_by_role("link", name="Read them in the story").click()
    expect(page).to_have_url(re.compile(r"read\?at=81$"))


def test_one_can_look_closer(person: Person) -> None:
    page = person.page
    before = spot(page, "Episode 3: messages 74 to 80").bounding_box()
    page.get_by_role("button", name="Look closer").click()
    page.get_by_role("button", name="Look closer").click()
    expect(page.locator(".zoom-4")).to_be_visible()
    after = spot(page, "Episode 3: messages 74 to 80").bounding_box()
    assert before and after
    assert after["width"] > 3 * before["width"]


def tell(path: Path, name: str, rules: Settings, say: Callable[[ModelRequest], str] | None) -> None:
    with BlockingMemory(path, settings=rules, model=ScriptedModel(say) if say else None) as memory:
        story = memory.story(name)
        for at in range(12):
            story.add("user" if at % 2 == 0 else "assistant", f"Wren carried parcel {at} to the mill.", name="Wren")
        story.fold()
        if name in CHANGES:
            CHANGES[name](story)


CHANGES: dict[str, Callable[[BlockingStory], object]] = {
    "stale": lambda story: story.edit(3, "Wren lost parcel 3."),
    "by hand": lambda story: story.write("recap", "Wren kept one parcel."),
}


def tell_all(path: Path) -> None:
    tell(path, "stale", RULES, None)
    tell(path, "by hand", RULES, None)
    tell(path, "pending", replace(RULES, review=True), None)
    tell(path, "provisional", RULES, lambda _: "")


@pytest.fixture(scope="module")
def mixed(upstream: Upstream, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    database = tmp_path_factory.mktemp("mixed") / "stories.db"
    run_aside(tell_all, database)
    with serve(database, upstream.url, settings={"PREVIOUSLY_FOLDING": "ask"}) as running:
        yield running


@pytest.mark.parametrize(
    ("story", "says", "choice"),
    [
        ("stale", "out of date: an earlier message was changed", "Out of date"),
        ("by hand", "by hand", "By hand"),
        ("pending", "waits for your approval", "Waiting for you"),
        ("provisional", "written without your model; it is made anew", "Without your model"),
    ],
)
def test_the_standing_of_a_memory_is_told(page: Page, mixed: Served, story: str, says: str, choice: str) -> None:
    page.goto(f"{mixed.url}#/story/{quote(story)}/map")
    band = page.locator(f".band.is-{story.replace(' ', '-')}")
    if story == "stale":
        expect(page.locator(".over")).not_to_have_count(0)
    expect(band.first).to_be_visible()
    expect(spot(page, says).first).to_be_visible()
    page.get_by_role("button", name=choice, exact=True).click()
    page.get_by_role("list", name=choice).get_by_role("button").first.click()
    expect(details(page)).to_contain_text("parcel")
    expect(details(page)).to_contain_text(says)


def test_an_empty_story_says_what_a_map_is(page: Page, served: Served) -> None:
    served.ask("api/v1/stories", {"story": "blank"})
    page.goto(f"{served.url}#/story/blank/map")
    expect(page.get_by_role("heading", name="Nothing to draw yet")).to_be_visible()


def test_the_names_of_the_rows_stay_when_the_picture_is_scrolled(person: Person) -> None:
    page = person.page
    page.set_viewport_size({"width": 360, "height": 800})
    frame = page.locator(".map-frame")
    frame.evaluate("frame => { frame.scrollLeft = 300; }")
    name = page.locator(".row-name", has_text="Recap").first
    expect(page.locator(".row-names")).to_have_attribute("transform", re.compile(r"translate\(([5-9]\d|\d{3,})"))
    box, around = name.bounding_box(), frame.bounding_box()
    assert box and around and around["x"] <= box["x"] < around["x"] + 60


def test_the_map_is_for_everybody(person: Person) -> None:
    page = person.page
    person.click(spot(page, "Recap: messages 157 to 236"))
    expect(details(page).locator("li").first).to_be_visible()
    for width in (1280, 360):
        page.set_viewport_size({"width": width, "height": 800})
        assert page.evaluate("document.documentElement.scrollWidth") <= width, "wider than the screen"
        for scheme in SCHEMES:
            page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
            assert list_findings(page) == [], f"{width} {scheme}"


def test_labels_can_be_read_on_a_phone_however_close_one_looks(page: Page, reader: Served) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(f"{reader.url}#/story/{quote(SAMPLE)}/map")
    label = page.locator(".map .row-name").first
    closer = page.get_by_role("button", name="Look closer")
    expect(label).to_be_visible()
    while True:
        pixels = label.evaluate("(label) => label.getScreenCTM().a * parseFloat(getComputedStyle(label).fontSize)")
        assert pixels >= 12
        if closer.is_disabled():
            break
        closer.click()
