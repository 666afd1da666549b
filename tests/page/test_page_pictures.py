"""The pictures of the page in `docs/`: taken from the real thing, and only when `DOCS_IMAGES` is set."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

import pytest
from playwright.sync_api import Page, expect

from tests.page.conftest import SAMPLE
from tests.page.serving import Served

IMAGES = Path(__file__).parents[2] / "docs" / "images"
STORY = f"#/story/{quote(SAMPLE)}"

pytestmark = pytest.mark.skipif(not os.environ.get("DOCS_IMAGES"), reason="DOCS_IMAGES is not set")


def show_source(page: Page) -> None:
    page.locator(".sentence", has_text="razored log page").first.click()
    expect(page.get_by_role("dialog")).to_contain_text("message")


def try_sentence(page: Page) -> None:
    page.get_by_label("Test a sentence").fill("Wick ran to the High Candle with the key.")
    page.get_by_role("button", name="Test", exact=True).click()
    expect(page.locator(".reason").first).to_be_visible()


def choose_chapter(page: Page) -> None:
    page.get_by_role("button", name="Chapter 2").first.click()
    page.mouse.move(0, 0)


def change_setting(page: Page) -> None:
    page.get_by_role("button", name="Change tail messages").click()
    page.get_by_label("New value").fill("40")
    page.get_by_role("button", name="What would change?").click()
    expect(page.get_by_role("table", name="What would change in this story")).to_be_visible()


def look(_: Page) -> None:
    pass


@pytest.mark.parametrize(
    ("name", "address", "size", "scheme", "do"),
    [
        ("stories", "", (900, 520), "light", look), ("memory", f"{STORY}/memory", (1000, 640), "light", show_source),
        ("lore", f"{STORY}/memory?tab=lore", (1000, 640), "light", try_sentence),
        ("people", f"{STORY}/memory?tab=people", (1280, 760), "light", look),
        ("saw", f"{STORY}/saw", (1000, 640), "light", look),
        ("read", f"{STORY}/read?at=81", (1000, 640), "light", look),
        ("map", f"{STORY}/map", (1240, 820), "light", choose_chapter),
        ("settings", f"{STORY}/settings", (1000, 640), "light", change_setting),
        ("phone", f"{STORY}/memory", (390, 700), "dark", look),
    ],
)  # fmt: skip
def test_picture(
    page: Page, served: Served, name: str, address: str, size: tuple[int, int], scheme: str, do: Callable[[Page], None]
) -> None:
    page.emulate_media(color_scheme=scheme, reduced_motion="reduce")  # type: ignore[arg-type, unused-ignore]
    page.set_viewport_size({"width": size[0], "height": size[1]})
    page.goto(f"{served.url}{address}")
    expect(page.locator("main :is(h2, h3, svg.map, td, .message)").first).to_be_visible()
    expect(page.locator(".foot code")).to_be_attached()
    expect(page.locator("main [aria-busy=true], main .waiting")).to_have_count(0)
    do(page)
    expect(page.locator("[aria-busy=true]")).to_have_count(0)
    page.screenshot(path=IMAGES / f"page-{name}.png")
