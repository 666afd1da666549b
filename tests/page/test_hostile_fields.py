"""Every field of the page, found by a walk through it: what is typed there never runs.

The walk opens each screen, presses each button and each item of a menu once, and types 300 hostile texts into every
field that it meets, in dialogs too. So a new field is met by itself, if a button leads there.
"""

from __future__ import annotations

import re
import time
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, Request, expect

from previously.blocking import BlockingMemory
from previously.settings import Settings
from tests.page.conftest import run_aside
from tests.page.serving import PATIENCE_S, Served, Upstream, serve
from tests.page.test_hostile_texts import PAYLOADS, SCREENS, check

FIELDS = "input:not([type=checkbox]):not([type=radio]):not([type=file]), textarea"
DOORS = "main button:visible, main summary:visible"
INSIDE = "details[open] button:visible"
SHUT = re.compile(
    r"Regenerate|Continue|Another reply|Send|Write on|Copy|Read it|Test it|Undo|Fold now|^Play$|Take back"
)
"""Buttons that ask a model, or nothing of a person."""

WANTED = (
    "Search in all stories", "Its name", "New name", "Type the name", "Find an entry", "Test a sentence", "Keys",
    "What it is", "Name of the branch", "Name of the speaker", "What is open", "Find a fact", "New value",
    "Search this story", "The words of message", "Summary and facts", "Name that stays", "Somebody else", "direction",
    "Name of the entry that stays", "From message", "to message", "Temperature", "Longest reply",
    "Stop before these words",
    "Name of the new story", "Words that the model sees", "For example",
)  # fmt: skip
"""Some fields that are known to be there, by their labels: the walk must meet them."""

TYPE = """async (field, texts) => {
    const set = Object.getOwnPropertyDescriptor(Object.getPrototypeOf(field), "value").set;
    for (const text of texts) {
        set.call(field, text);
        field.dispatchEvent(new Event("input", { bubbles: true }));
        await null;
    }
    await new Promise((wake) => requestAnimationFrame(() => setTimeout(wake)));
}"""

DRAWN = "new Promise((wake) => requestAnimationFrame(() => setTimeout(wake)))"
"""The page has drawn what it knows."""

NAME = """field => [field.labels?.[0]?.innerText, field.getAttribute("aria-label"), field.placeholder].join(" ")"""
LIST = """found => found.map((one) => [one.tagName, one.getAttribute("aria-label") || one.innerText])"""


def tell(path: Path) -> None:
    with BlockingMemory(path, settings=Settings(tail_messages=2, fold_messages=4)) as memory:
        story = memory.story("mill")
        for at in range(14):
            role, name = ("user", "Wren") if at % 2 == 0 else ("assistant", "Odalys")
            story.add(role, f"{name} carried parcel {at} to the mill.", name=name)
        story.fold()
        story.open_thread("Who has the key?")
        story.open_thread("Who rang the bell?")
        story.hold("Key / holder: Wren")
        story.pin("Wren cannot swim.")
        story.write_lore("Mill", "location", keywords=["mill"], content="It is old.")
        story.write_lore("Ferry", "item", keywords=["ferry"], content="It is late.")
        story.write_knowledge("Wren", "She knows the mill.", ["The mill is old."])
        story.write_knowledge("Odalys", "She knows the ferry.", ["The ferry is late."])
        story.close_chapter("The mill", 5)
        story.fold()


def name_doors(page: Page, doors: str) -> list[tuple[int, str, str]]:
    """Return what can be pressed, each sort once: its place, tag and sort."""
    seen, found = set[str](), []
    for place, (tag, name) in enumerate(page.locator(doors).evaluate_all(LIST)):
        sort = re.sub(r"\d+|for .*|Wren|Odalys|Mill|Ferry", "", name or "").strip()
        if sort not in seen and not SHUT.search(name or ""):
            seen.add(sort)
            found.append((place, tag, sort))
    return found


class Walk:
    """A walk through the page."""

    def __init__(self, page: Page, served: Served) -> None:
        self.page, self.served = page, served
        self.alerts: list[str] = []
        self.met: set[str] = set()
        self.asked: set[Request] = set()
        page.on("request", self.note)
        page.on("requestfinished", self.forget)
        page.on("requestfailed", self.forget)
        page.on("dialog", lambda dialog: self.alerts.append(dialog.message))

    def note(self, request: Request) -> None:
        if "/events" not in request.url:
            self.asked.add(request)

    def forget(self, request: Request) -> None:
        self.asked.discard(request)

    def settle(self) -> None:
        """Wait until the page has drawn all that it asked for."""
        until = time.monotonic() + PATIENCE_S
        self.page.evaluate(DRAWN)
        while self.asked:
            assert time.monotonic() < until, [request.url for request in self.asked]
            self.page.wait_for_timeout(10)
            self.page.evaluate(DRAWN)

    def open(self, screen: str) -> None:
        self.page.keyboard.press("Escape")
        self.page.goto(f"{self.served.url}#/nowhere")
        self.page.goto(f"{self.served.url}{screen}")
        self.settle()

    def attack(self) -> None:
        """Type into every field that is seen, and into those that a box to tick brings up."""
        self.settle()
        self.type()
        boxes = self.page.locator("input[type=checkbox]:visible")
        if boxes.count():
            boxes.first.click()
            self.type()
        check(self.page, self.alerts)

    def type(self) -> None:
        for place in range(self.page.locator(FIELDS).count()):
            field = self.page.locator(FIELDS).nth(place)
            if field.count() and field.is_visible():
                name = field.evaluate(NAME)
                if name not in self.met:
                    self.met.add(name)
                    field.evaluate(TYPE, PAYLOADS)

    def press(self, door: Locator) -> bool:
        if not door.count() or door.is_disabled():
            return False
        door.evaluate("one => one.click()")  # at once, also where a notice covers it
        self.page.evaluate(DRAWN)
        return True

    def walk(self, screen: str) -> None:
        """Go through a screen, and once more where what was pressed has left other things to press."""
        self.open(screen)
        self.attack()
        pressed = set[str]()
        while True:
            self.open(screen)
            fresh = [door for door in name_doors(self.page, DOORS) if door[2] not in pressed]
            if not fresh:
                return
            for place, tag, sort in fresh:
                pressed.add(sort)
                self.enter(screen, place, tag)

    def enter(self, screen: str, place: int, tag: str) -> None:
        self.open(screen)
        if not self.press(self.page.locator(DOORS).nth(place)):
            return
        if tag != "SUMMARY":
            self.attack()
            return
        for number, _, _ in name_doors(self.page, INSIDE):
            self.open(screen)
            if self.press(self.page.locator(DOORS).nth(place)) and self.press(self.page.locator(INSIDE).nth(number)):
                self.attack()

    def expect_met(self, *labels: str) -> None:
        missed = [label for label in labels if not any(label.lower() in met.lower() for met in self.met)]
        assert not missed, (missed, sorted(self.met))


@pytest.fixture
def told(tmp_path: Path) -> Path:
    run_aside(tell, tmp_path / "stories.db")
    return tmp_path / "stories.db"


def test_no_field_runs_what_is_typed_into_it(page: Page, upstream: Upstream, told: Path) -> None:
    with serve(told, upstream.url, settings={"PREVIOUSLY_FOLDING": "ask"}) as served:
        walk = Walk(page, served)
        walk.open("#/story/mill/memory")
        page.get_by_role("button", name="Show all of 1. The mill").click()
        chapter = page.get_by_role("region", name="1. The mill")
        chapter.locator("summary").click()
        chapter.get_by_role("button", name="Rename").click()
        walk.attack()
        for screen in ("#/", *(f"#/story/mill/{screen}" for screen in (*SCREENS, "tree"))):
            walk.walk(screen)
        walk.expect_met(*WANTED, "Title")


def test_nor_those_of_the_model_of_prompts_and_of_who_speaks(page: Page, told: Path, tmp_path: Path) -> None:
    settings = {"PREVIOUSLY_FOLDING": "ask", "PREVIOUSLY_PROMPTS": str(tmp_path / "prompts")}
    with serve(told, "", settings=settings) as served:
        walk = Walk(page, served)
        for screen in ("#/model", "#/story/mill/settings?tab=model", "#/story/mill/settings?tab=prompts"):
            walk.walk(screen)
        walk.open("#/story/mill/read")
        walk.attack()
        walk.expect_met(
            "Address of its server", "Name of the model", "Key, if the server", "The prompt update", "Who says it"
        )
        walk.open("#/model")
        for hostile in PAYLOADS[:62]:  # each shape once: what the server says of them is shown
            page.get_by_label("Address of its server").fill(hostile)
            page.get_by_label("Name of the model").fill(hostile)
            walk.press(page.get_by_role("button", name="Test it"))
            expect(page.get_by_role("alert").filter(has_text="That did not work")).to_be_visible()
            check(page, walk.alerts)


def test_nor_those_of_a_game(page: Page, upstream: Upstream, told: Path) -> None:
    with serve(told, upstream.url, "--memory-model", "scripted", settings={"PREVIOUSLY_FOLDING": "off"}) as served:
        walk = Walk(page, served)
        walk.walk("#/games")
        game = served.ask("api/v1/games")["games"][0]["game"]
        served.ask(f"api/v1/games/{game}/main", {})
        walk.walk("#/games")
        walk.walk(f"#/games/{game}/main")
        walk.expect_met("What you say and do", "Its name")


def test_nor_the_one_to_sign_in(page: Page, upstream: Upstream, told: Path) -> None:
    def make_key(path: Path) -> None:
        with BlockingMemory(path) as memory:
            memory.add_key("ann", owner="ann")

    run_aside(make_key, told)
    with serve(told, upstream.url) as served:
        walk = Walk(page, served)
        page.goto(served.url)
        expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
        walk.attack()
        walk.expect_met("Key")
        for hostile in PAYLOADS[:8]:  # a server lets nobody try many keys
            page.get_by_label("Key", exact=True).fill(hostile)
            page.keyboard.press("Enter")
            expect(page.get_by_role("main").get_by_role("alert")).not_to_be_empty()
            check(page, walk.alerts)
