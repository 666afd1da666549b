"""Each screen as a person finds it: what it shows, by mouse and by keyboard, on a phone and on a wide screen, in light
and dark, and without a serious finding of axe."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal
from urllib.parse import quote

import pytest
from playwright.sync_api import BrowserContext, Locator, Page, expect

from tests.page.conftest import SAMPLE
from tests.page.serving import Served, serve

AXE = Path(__file__).parents[2] / ".page-tools/node_modules/axe-core/axe.min.js"
STORY = f"#/story/{quote(SAMPLE)}"

SCHEMES: tuple[Literal["light"], Literal["dark"]] = ("light", "dark")

SCREENS = {
    "stories": ("", "Ines Quillan"),
    "so far": (f"{STORY}/memory", "The chapter so far"),
    "lore": (f"{STORY}/memory?tab=lore", "Bram Oskett"),
    "people": (f"{STORY}/memory?tab=people", "Anneke, place"),
    "threads": (f"{STORY}/memory?tab=threads", "340 crowns"),
    "state": (f"{STORY}/memory?tab=state", "How things stand"),
    "presence": (f"{STORY}/memory?tab=presence", "Stretch by stretch"),
    "review": (f"{STORY}/memory?tab=review", "Nothing waits for you"),
    "log": (f"{STORY}/memory?tab=log", "recap"),
    "saw": (f"{STORY}/saw", "Earlier chapters"),
    "read": (f"{STORY}/read", "Say something"),
    "tree": (f"{STORY}/tree", "you are here"),
    "model": ("#/model", "Test it"),
    "games": ("#/games", "The Drowned Bell"),
}

TABS = ("lore", "people", "threads", "state", "presence", "log")
EMPTY = ("read", "tree", "memory", *(f"memory?tab={tab}" for tab in TABS), "saw", "map", "settings")
"""The screens of a story without a message."""


def show(page: Page, served: Served, screen: str) -> None:
    address, words = SCREENS[screen]
    page.goto(served.url + address)
    expect(page.locator("main").get_by_text(words).or_(page.get_by_placeholder(words)).first).to_be_visible()


@pytest.mark.parametrize("screen", SCREENS)
def test_a_screen_shows_what_it_is_for_to_everybody(page: Page, reader: Served, screen: str) -> None:
    show(page, reader, screen)
    assert page.locator("header, main, footer").count() >= 3, "landmarks"
    assert page.evaluate("document.title").endswith("Previously")
    for width in (1920, 1280, 768, 360):
        page.set_viewport_size({"width": width, "height": 800})
        assert page.evaluate("document.documentElement.scrollWidth") <= width, "wider than the screen"
        if width in (1280, 360):
            for scheme in SCHEMES:
                page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
                assert list_findings(page) == [], f"{width} {scheme}"


def list_findings(page: Page) -> list[str]:
    """Return what axe finds on a page, of some weight: rule, element, and why."""
    # Through the debugger: the page's own headers forbid foreign scripts.
    if not page.evaluate("'axe' in window"):
        session = page.context.new_cdp_session(page)
        session.send("Runtime.evaluate", {"expression": AXE.read_text("utf-8")})
    found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
    return [
        f"{rule['impact']} {rule['id']}: {node['html'][:150]} {node['failureSummary'][:200]}"
        for rule in found["violations"]
        if rule["impact"] in ("serious", "critical")
        for node in rule["nodes"][:3]
    ]


def check_both_schemes(page: Page, what: str) -> None:
    for scheme in SCHEMES:
        page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
        assert list_findings(page) == [], f"{what} {scheme}"


def test_states_are_for_everybody_too(page: Page, served: Served) -> None:
    served.ask("api/v1/stories", {"story": "blank"})
    for screen in EMPTY:
        page.goto(f"{served.url}#/story/blank/{screen}")
        expect(page.locator("main").locator("h1, h2").first).to_be_attached()
        expect(page.locator("main [aria-busy=true]")).to_have_count(0)
        check_both_schemes(page, f"empty {screen}")
    page.goto(f"{served.url}{STORY}/memory")
    recap = page.get_by_role("region", name="The chapter so far")
    recap.locator(".sentence").first.click()
    expect(page.get_by_role("dialog").locator("article").first).to_be_visible()
    check_both_schemes(page, "dialog")
    page.keyboard.press("Escape")
    recap.get_by_role("button", name="Edit").click()
    served.kill()
    recap.get_by_role("button", name="Save").click()
    expect(page.locator(".banner")).to_be_visible()
    check_both_schemes(page, "offline")
    page.goto(f"{served.url}#/story/blank/map")
    expect(page.get_by_role("heading", name="The server is not there")).to_be_visible()
    check_both_schemes(page, "a screen that cannot be loaded")
    served.start()
    expect(page.get_by_role("heading", name="Nothing to draw yet")).to_be_visible()


def test_a_game_is_for_everybody(page: Page, reader: Served) -> None:
    page.goto(f"{reader.url}#/games")
    page.get_by_role("button", name="Play").click()
    expect(page.get_by_label("What you say and do")).to_be_visible()
    check_both_schemes(page, "game")


def test_the_keyboard_is_enough(page: Page, reader: Served) -> None:
    show(page, reader, "stories")
    page.keyboard.press("?")
    dialog = page.get_by_role("dialog", name="Keys")
    expect(dialog).to_contain_text("Go to: Stories")
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    page.keyboard.press("/")
    expect(page.get_by_role("searchbox")).to_be_focused()
    page.get_by_role("link", name=SAMPLE).focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("navigation", name="This story")).to_be_visible()
    page.keyboard.press("g")
    page.keyboard.press("m")
    tab = page.get_by_role("tab", name="So far")
    tab.focus()
    page.keyboard.press("ArrowRight")
    expect(page.get_by_role("tab", name="Lore")).to_be_focused()
    expect(page.get_by_role("tabpanel")).to_contain_text("Bram Oskett")
    page.keyboard.press("ArrowLeft")
    sentence = page.locator(".sentence").first
    sentence.focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    expect(page.get_by_role("dialog", name="Where does this come from?")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator(".sentence").nth(1)).to_be_focused()


def test_the_colours_can_be_chosen_and_stay(page: Page, reader: Served) -> None:
    show(page, reader, "stories")
    body = page.locator("body")
    light = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.keyboard.press("t")
    page.keyboard.press("t")
    expect(body).not_to_have_css("background-color", light)
    page.reload()
    expect(body).not_to_have_css("background-color", light)


def test_going_back_leaves_no_dialog_over_another_screen(page: Page, reader: Served) -> None:
    page.goto(reader.url)
    page.goto(f"{reader.url}#/model")
    expect(page.get_by_role("heading", name="Your model")).to_be_visible()
    page.get_by_role("button", name="Keys").click()
    expect(page.get_by_role("dialog", name="Keys")).to_be_visible()
    page.go_back()
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(page.get_by_role("heading", name="Stories")).to_be_visible()


def measure(element: Locator) -> Mapping[str, float]:
    box = element.bounding_box()
    assert box
    return {"x": box["x"], "y": box["y"], "height": box["height"]}


def test_tabs_of_memory_stay_in_their_place_and_fields_of_a_row_stand_in_line(page: Page, reader: Served) -> None:
    places: set[int] = set()
    for tab in ("so-far", "lore", "people", "log"):
        page.goto(f"{reader.url}#/story/{quote(SAMPLE)}/memory?tab={tab}")
        expect(page.get_by_role("tab", selected=True).first).to_have_attribute("id", f"tab-{tab}")
        expect(page.locator("main [aria-busy=true]")).to_have_count(0)
        expect(page.locator("main :is(.sentence, .card, .matrix td, td)").first).to_be_visible()
        places.add(round(measure(page.get_by_role("tablist", name="Memory"))["x"]))
    assert len(places) == 1
    page.goto(f"{reader.url}#/story/{quote(SAMPLE)}/memory?tab=lore")
    boxes = [measure(page.get_by_label(name)) for name in ("Find an entry", "Kind")]
    assert boxes[0]["y"] == boxes[1]["y"] and boxes[0]["height"] == boxes[1]["height"]


def test_settings_say_what_they_mean_on_a_phone_too(page: Page, reader: Served) -> None:
    page.set_viewport_size({"width": 390, "height": 800})
    page.goto(f"{reader.url}#/story/{quote(SAMPLE)}/settings")
    expect(page.get_by_text("The newest messages, verbatim and never folded.")).to_be_visible()
    change = page.get_by_role("button", name="Change preset")
    change.scroll_into_view_if_needed()
    expect(change).to_be_in_viewport(ratio=1)  # it is not cut off at a side
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_a_page_that_is_not_there_says_so(page: Page, reader: Served) -> None:
    page.goto(f"{reader.url}#/story/Nobody%20knows/memory")
    expect(page.get_by_role("alert")).to_contain_text("This is not here")
    page.goto(f"{reader.url}#/nothing/at/all")
    expect(page.get_by_role("alert")).to_contain_text("There is no such page here.")


def test_without_stories_the_page_says_how_to_begin(page: Page, upstream: Any, tmp_path: Path) -> None:
    with serve(tmp_path / "empty.db", upstream.url) as served:
        page.goto(served.url)
        expect(page.get_by_role("heading", name="No stories yet")).to_be_visible()
        expect(page.locator("footer")).to_contain_text(f"http://127.0.0.1:{served.port}/v1")
        assert list_findings(page) == []


def test_nothing_is_loaded_from_elsewhere_and_little_from_here(
    context: BrowserContext, page: Page, reader: Served
) -> None:
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    sizes: list[int] = []
    page.on("requestfinished", lambda request: sizes.append(request.sizes()["responseBodySize"]))
    show(page, reader, "stories")
    expect(page.locator(".foot code")).to_be_visible()
    assert {url.split("/")[2] for url in asked} == {f"127.0.0.1:{reader.port}"}
    assert sum(sizes) < 150_000
    again: list[int] = []
    page.on("response", lambda response: again.append(response.status) if "/page/" in response.url else None)
    page.reload()
    expect(page.locator("main")).to_contain_text("Ines Quillan")
    assert set(again) <= {200, 304}


def test_what_the_model_saw_has_parts_reasons_and_what_was_left_out(page: Page, reader: Served) -> None:
    show(page, reader, "saw")
    expect(page.get_by_role("img", name="How the budget is used")).to_be_visible()
    page.get_by_role("tab", name="Why each part").click()
    expect(page.get_by_role("region", name="Why each part is there").get_by_role("row").nth(1)).to_be_visible()
    page.get_by_role("tab", name="Left out").click()
    expect(page.locator("main")).to_contain_text("the room for threads is used up")
    page.get_by_label("Side by side with").select_option(index=2)
    expect(page.get_by_role("heading", name="What it saw here is not known")).to_be_visible()


def test_two_turns_are_seen_side_by_side(page: Page, served: Served) -> None:
    said = [("user", "Who has the lamp?")]
    for question in ("And the oil?", "And the wick?"):
        served.chat("A letter", *said)
        said += [("assistant", "The lamp is lit."), ("user", question)]
    served.chat("A letter", *said)
    page.goto(f"{served.url}#/story/A%20letter/saw?turn=3&with=1")
    turns = page.locator("section.turn")
    expect(turns).to_have_count(2)
    expect(turns.first).to_contain_text("And the oil?")
    expect(turns.nth(1)).not_to_contain_text("And the oil?")
    expect(turns.nth(1)).to_contain_text("Who has the lamp?")
    expect(page.get_by_role("heading", name="Instructions and memory, word by word")).to_be_visible()
    expect(page.get_by_label("At which turn").locator("option[value='5']")).to_have_count(1)
    page.keyboard.press("]")
    expect(turns.first).to_contain_text("For message 5")
    expect(turns.first).to_contain_text("And the wick?")


def test_a_sentence_leads_to_its_messages(page: Page, reader: Served) -> None:
    show(page, reader, "so far")
    page.get_by_text("Bram gave Ines the razored log page").click()
    dialog = page.get_by_role("dialog")
    expect(dialog.locator("article")).not_to_have_count(0)
    expect(dialog.locator("mark").first).to_be_visible()
