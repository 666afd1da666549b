"""Texts that are being written are never lost and never saved twice: a server that dies, a reload, another browser."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from playwright.sync_api import Browser, Locator, Page, Route, expect

from tests.page.conftest import SAMPLE, open_tab
from tests.page.serving import Served

ADDRESS = f"#/story/{quote(SAMPLE)}/memory"
MINE = "Ines Quillan waited for the train, and Bram Oskett kept his word."


def open_recap(page: Page, served: Served) -> Locator:
    page.goto(served.url + ADDRESS)
    recap = page.get_by_role("region", name="The chapter so far")
    expect(recap).to_contain_text("Friday 20 March")
    return recap


def edit(recap: Locator, words: str) -> None:
    recap.get_by_role("button", name="Edit").click()
    recap.get_by_role("textbox").fill(words)


def list_writings(served: Served) -> list[dict[str, Any]]:
    """Return the versions of the recap that a person wrote."""
    versions = served.ask(f"api/v1/stories/{quote(SAMPLE)}/things/recap/versions")["versions"]
    return [version for version in versions if version["text"] == MINE]


def test_a_server_that_is_killed_in_the_middle_of_a_save_gets_it_once_when_it_is_back(
    page: Page, served: Served
) -> None:

    def take_and_die(route: Route) -> None:
        route.fetch()
        served.kill()
        route.abort()

    recap = open_recap(page, served)
    edit(recap, MINE)
    # The server takes the text, and dies before it has answered.
    page.route("**/things/recap", take_and_die)
    recap.get_by_role("button", name="Save").click()
    expect(recap.get_by_role("alert")).to_contain_text("Your text is kept here")
    expect(recap.get_by_role("textbox")).to_have_value(MINE)
    expect(page.get_by_role("alert").filter(has_text="cannot be reached")).not_to_have_count(0)
    page.unroute("**/things/recap")
    served.start()
    expect(recap.get_by_role("textbox")).to_have_count(0)
    expect(recap).to_contain_text(MINE)
    assert len(list_writings(served)) == 1
    assert served.ask(f"api/v1/stories/{quote(SAMPLE)}/recap")["text"] == MINE


def test_a_server_that_is_killed_before_a_save_gets_it_when_it_is_back(page: Page, served: Served) -> None:
    recap = open_recap(page, served)
    edit(recap, MINE)
    served.kill()
    recap.get_by_role("button", name="Save").click()
    expect(recap.get_by_role("alert")).to_contain_text("Your text is kept here")
    served.start()
    expect(recap.get_by_role("textbox")).to_have_count(0)
    assert served.ask(f"api/v1/stories/{quote(SAMPLE)}/recap")["text"] == MINE


def test_an_unsaved_text_is_there_again_after_a_reload(page: Page, served: Served) -> None:
    recap = open_recap(page, served)
    edit(recap, MINE)
    page.reload()
    expect(recap.get_by_role("textbox")).to_have_value(MINE)
    expect(recap).to_contain_text("Your unsaved text from before is here again.")
    recap.get_by_role("button", name="Throw my text away").click()
    expect(recap).to_contain_text("Friday 20 March")
    page.reload()
    expect(recap).to_contain_text("Friday 20 March")
    expect(recap.get_by_role("textbox")).to_have_count(0)


def test_two_browsers_edit_one_memory_and_the_second_sees_both_and_chooses(browser: Browser, served: Served) -> None:
    first, second = (open_tab(browser.new_context()) for _ in range(2))
    recaps = [open_recap(page, served) for page in (first, second)]
    for recap, words in zip(recaps, ("The first one wrote this.", MINE), strict=True):
        edit(recap, words)
    recaps[0].get_by_role("button", name="Save").click()
    expect(recaps[0].get_by_role("textbox")).to_have_count(0)
    recaps[1].get_by_role("button", name="Save").click()
    choice = second.get_by_role("region", name="Two texts")
    expect(choice).to_contain_text("The first one wrote this.")
    expect(choice).to_contain_text(MINE)
    assert served.ask(f"api/v1/stories/{quote(SAMPLE)}/recap")["text"] == "The first one wrote this."
    choice.get_by_role("button", name="Keep mine").click()
    expect(recaps[1]).to_contain_text(MINE)
    expect(choice).to_have_count(0)
    assert served.ask(f"api/v1/stories/{quote(SAMPLE)}/recap")["text"] == MINE
    first.context.close()
    second.context.close()


def test_the_text_of_the_other_can_stay(browser: Browser, served: Served) -> None:
    page = open_tab(browser.new_context())
    recap = open_recap(page, served)
    edit(recap, MINE)
    served.ask(f"api/v1/stories/{quote(SAMPLE)}/things/recap", {"text": "Somebody else wrote this."}, "PUT")
    recap.get_by_role("button", name="Save").click()
    page.get_by_role("button", name="Keep theirs").click()
    expect(recap).to_contain_text("Somebody else wrote this.")
    page.context.close()
