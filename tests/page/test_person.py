"""A person at the page, from a chat on disk to a corrected memory that the model is shown."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest
from playwright.sync_api import FileChooser, Locator, Page, expect

from tests.page.conftest import wait_until
from tests.page.keeper import FALSE, LINES, RECAP, STORY, TRUE, answer, is_fold, read_prompt, write_chat
from tests.page.serving import Served, Upstream, serve

SMALL = {"PREVIOUSLY_TAIL_MESSAGES": "4", "PREVIOUSLY_FOLD_MESSAGES": "6", "PREVIOUSLY_FOLDING": "ask"}
"""Ten messages are enough for a fold."""

MOST_TABS = 60
"""More than there are things to reach on a screen of this story."""


@pytest.fixture
def keeper() -> Iterator[Upstream]:
    running = Upstream(answer)
    yield running
    running.close()


@pytest.fixture
def skerry(keeper: Upstream, tmp_path: Path) -> Iterator[Served]:
    with serve(tmp_path / "stories.db", keeper.url, "--memory-model", "scripted", settings=SMALL) as served:
        yield served


def import_chat(page: Page, served: Served, folder: Path) -> None:
    """Bring the chat in by the button, under a name of one's own."""
    chat = folder / "Odile.jsonl"
    chat.write_text(write_chat())
    page.goto(served.url)
    page.get_by_label("A file to import").set_input_files(chat)
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text(f"{len(LINES)} messages")
    expect(dialog).to_contain_text(LINES[0][1])
    dialog.get_by_label("Name of the story").fill(STORY)
    dialog.get_by_role("button", name="Import").click()
    expect(page.locator(".crumb")).to_have_text(STORY)


def fold(page: Page, served: Served) -> None:
    page.goto(served.url)
    page.locator("summary", has_text="⋯").first.click()
    page.get_by_role("button", name="Fold now").click()
    expect(page.locator(".toasts")).to_contain_text("done")


def test_a_false_sentence_is_found_traced_corrected_and_gone_from_the_next_turn(
    page: Page, skerry: Served, keeper: Upstream, tmp_path: Path
) -> None:
    import_chat(page, skerry, tmp_path)
    fold(page, skerry)
    page.get_by_role("link", name=STORY).click()
    page.get_by_role("link", name="Memory").click()

    # The false sentence, and the message it should have come from.
    recap = page.get_by_role("region", name="The chapter so far")
    recap.get_by_text(FALSE).click()
    dialog = page.get_by_role("dialog", name="Where does this come from?")
    expect(dialog).to_contain_text("gave it to Odile")
    dialog.get_by_role("button", name="Correct this text").click()
    box = recap.get_by_role("textbox")
    box.fill(box.input_value().replace(FALSE, TRUE))
    recap.get_by_role("button", name="Save").click()
    expect(recap.get_by_text(TRUE)).to_be_visible()
    expect(recap).not_to_contain_text(FALSE)
    expect(recap).to_contain_text("by hand")

    # The same falsehood stands in how things stand.
    page.get_by_role("tab", name="State").click()
    page.get_by_role("button", name="Edit: Brass key").click()
    page.get_by_label("In your words").fill("Brass key / holder: Odile")
    page.get_by_role("button", name="Save").click()
    expect(page.locator(".state-list")).to_contain_text("Odile")
    expect(page.locator(".state-list")).not_to_contain_text("Tobias")
    page.get_by_role("tab", name="So far").click()
    page.get_by_role("button", name="Episodes").click()
    episode = page.get_by_role("region", name="Messages 0–5")
    episode.locator("summary").click()
    episode.get_by_role("button", name="Take it back").click()
    expect(episode).to_have_count(0)

    before = len(keeper.requests)
    skerry.chat(
        STORY,
        *(("user" if name == "Mira" else "assistant", text) for name, text in LINES),
        ("user", "Who has the key?"),
    )
    turn = next(request for request in keeper.requests[before:] if not is_fold(request))
    shown = read_prompt(turn)
    assert TRUE in shown
    assert FALSE not in shown
    assert "Tobias" not in shown.replace("Tobias slept below", "")


def reach(page: Page, goal: Locator) -> None:
    """Press Tab until the goal is reached, as somebody does who has no mouse."""
    expect(goal).to_be_visible()
    for _ in range(MOST_TABS):
        if goal.evaluate("one => one === document.activeElement"):
            return
        page.keyboard.press("Tab")
    raise AssertionError(f"{MOST_TABS} times Tab, and not there: {goal}")


def test_the_same_way_is_gone_with_the_keyboard_alone(page: Page, skerry: Served, tmp_path: Path) -> None:
    (tmp_path / "Odile.jsonl").write_text(write_chat())
    choosers: list[FileChooser] = []
    page.on("filechooser", lambda chooser: choosers.append(chooser))  # noqa: PLW0108 - a bare method cannot listen
    page.goto(skerry.url)
    reach(page, page.get_by_role("button", name="Import a chat"))
    page.keyboard.press("Enter")
    wait_until(page, lambda: choosers)
    choosers[0].set_files(tmp_path / "Odile.jsonl")
    dialog = page.get_by_role("dialog")
    reach(page, dialog.get_by_label("Name of the story"))
    page.keyboard.press("Control+A")
    page.keyboard.type(STORY)
    reach(page, dialog.get_by_role("button", name="Import"))
    page.keyboard.press("Enter")
    expect(page.locator(".crumb")).to_have_text(STORY)

    page.keyboard.type("gh")
    reach(page, page.get_by_label(f"More for {STORY}"))
    page.keyboard.press("Enter")
    reach(page, page.get_by_role("button", name="Fold now"))
    page.keyboard.press("Enter")
    expect(page.locator(".toasts")).to_contain_text("done")
    reach(page, page.get_by_role("link", name=STORY))
    page.keyboard.press("Enter")
    expect(page.locator(".message").first).to_be_visible()
    page.keyboard.type("gm")

    recap = page.get_by_role("region", name="The chapter so far")
    reach(page, recap.locator(".sentence").first)
    while FALSE not in page.evaluate("document.activeElement.textContent"):
        page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    expect(dialog).to_contain_text("gave it to Odile")
    reach(page, dialog.get_by_role("button", name="Correct this text"))
    page.keyboard.press("Enter")
    expect(recap.get_by_role("textbox")).to_be_focused()
    page.keyboard.type(TRUE)  # in place of the false sentence, which is marked
    page.keyboard.press("Control+Enter")
    expect(recap.locator(".sentence").get_by_text(TRUE)).to_be_visible()
    expect(recap).not_to_contain_text(FALSE)
    assert skerry.ask(f"api/v1/stories/{quote(STORY)}/recap")["text"] == RECAP.replace(FALSE, TRUE)
    page.keyboard.press("z")
    expect(recap).to_contain_text(FALSE)


def test_a_change_can_be_undone_from_its_notice_and_from_the_top(page: Page, skerry: Served, tmp_path: Path) -> None:
    import_chat(page, skerry, tmp_path)
    fold(page, skerry)
    page.goto(f"{skerry.url}#/story/The%20lamp%20at%20Skerry/memory")
    recap = page.get_by_role("region", name="The chapter so far")
    for undo in (
        page.get_by_role("status").get_by_role("button", name="Undo"),
        page.get_by_role("banner").get_by_role("button", name="Undo"),
    ):
        recap.get_by_role("button", name="Edit").click()
        recap.get_by_role("textbox").fill("The lamp burned.")
        page.keyboard.press("Control+Enter")
        expect(recap).to_contain_text("The lamp burned.")
        undo.click()
        expect(recap).to_contain_text(FALSE)
