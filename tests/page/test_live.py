"""Changes by others come by themselves: by the command line, another browser, a chat; and after a restart."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from urllib.parse import quote

from playwright.sync_api import Browser, Locator, Page, expect

from tests.page.conftest import SAMPLE, open_tab
from tests.page.serving import PATIENCE_S, Served

MEMORY = f"#/story/{quote(SAMPLE)}/memory"


def type_command(database: Path, *words: str) -> None:
    """Do something by the command line, in a process of its own."""
    subprocess.run(
        [sys.executable, "-m", "previously", "--db", str(database), *words], check=True, capture_output=True,
        timeout=PATIENCE_S, env={**os.environ, "PREVIOUSLY_CONFIG": ""},
    )  # fmt: skip


def show_recap(page: Page, served: Served) -> Locator:
    """Go to the recap, and mark this load of the page: a reload would lose the mark."""
    page.goto(f"{served.url}{MEMORY}")
    recap = page.get_by_role("region", name="The chapter so far")
    expect(recap).to_contain_text("razored log page")
    page.evaluate("window.same = true")
    return recap


def expect_no_reload(page: Page) -> None:
    assert page.evaluate("window.same") is True, "the page was loaded anew"


def test_a_change_by_the_command_line_appears(page: Page, served: Served) -> None:
    recap = show_recap(page, served)
    type_command(served.database, "edit", SAMPLE, "recap", "--text", "Everybody went home.")
    expect(recap).to_contain_text("Everybody went home.")
    expect_no_reload(page)


def test_a_change_by_another_browser_appears_on_the_map(page: Page, served: Served, browser: Browser) -> None:
    page.goto(f"{served.url}#/story/{quote(SAMPLE)}/map")
    expect(page.get_by_role("button", name="Recap: messages 157 to 236", exact=True)).to_be_visible()
    page.evaluate("window.same = true")
    other = browser.new_context()
    recap = show_recap(tab := open_tab(other), served)
    recap.get_by_role("button", name="Edit").click()
    recap.get_by_role("textbox").fill("Everybody went home.")
    tab.keyboard.press("Control+Enter")
    expect(page.get_by_role("button", name="Recap: messages 157 to 236, by hand")).to_be_visible()
    expect_no_reload(page)
    other.close()


def test_a_turn_through_the_proxy_appears_among_the_stories(page: Page, served: Served) -> None:
    page.goto(served.url)
    expect(page.get_by_role("link", name=SAMPLE)).to_be_visible()
    served.chat("A letter", ("user", "Who wrote the letter?"))
    expect(page.get_by_role("link", name="A letter")).to_be_visible()


def test_a_restarted_server_is_found_again(page: Page, served: Served) -> None:
    recap = show_recap(page, served)
    served.kill()
    banner = page.get_by_role("alert").filter(has_text="The server cannot be reached")
    expect(banner).to_be_visible()
    type_command(served.database, "edit", SAMPLE, "recap", "--text", "Written while the server was away.")
    served.start()
    expect(banner).to_have_count(0)
    expect(recap).to_contain_text("Written while the server was away.")
    type_command(served.database, "edit", SAMPLE, "recap", "--text", "Everybody went home.")
    expect(recap).to_contain_text("Everybody went home.")
    expect_no_reload(page)


SET_VISIBILITY = """(state) => {
    Object.defineProperty(document, "visibilityState", { value: state, configurable: true });
    document.dispatchEvent(new Event("visibilitychange"));
}"""


def test_a_tab_that_comes_to_the_front_again_shows_what_it_missed(page: Page, served: Served) -> None:
    recap = show_recap(page, served)
    page.evaluate(SET_VISIBILITY, "hidden")
    type_command(served.database, "edit", SAMPLE, "recap", "--text", "Everybody went home.")
    expect(recap).to_contain_text("razored log page")
    page.evaluate(SET_VISIBILITY, "visible")
    expect(recap).to_contain_text("Everybody went home.")
    expect_no_reload(page)
