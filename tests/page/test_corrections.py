"""Corrections as a person makes them: a speaker, two threads or people that are one, a text refused, a fold stopped."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest
from playwright.sync_api import Page, expect

from previously.testing.answer import ScriptedAnswer
from tests.page.conftest import SAMPLE, run_aside
from tests.page.keeper import STORY as KEPT
from tests.page.serving import Served, Upstream, serve
from tests.page.test_memory import tell_reviewed
from tests.page.test_stories import SMALL, tell_keeper

STORY = f"#/story/{quote(SAMPLE)}"
API = f"api/v1/stories/{quote(SAMPLE)}"


def test_the_speaker_of_a_message_is_corrected(page: Page, served: Served) -> None:
    page.goto(f"{served.url}{STORY}/read")
    said = page.locator("article.message").last
    position = int(said.get_attribute("data-position") or "")
    said.locator("summary").click()
    said.get_by_role("button", name="Change the speaker").click()
    page.get_by_label("Name of the speaker").fill("Old Bastian")
    page.get_by_role("dialog").get_by_role("button", name="Change").click()
    expect(page.locator(f"[data-position='{position}'] .who")).to_have_text("Old Bastian")
    assert served.ask(f"{API}/messages/{position}")["speaker"] == "Old Bastian"
    page.get_by_role("button", name="Undo").first.click()
    expect(page.locator(f"[data-position='{position}'] .who")).not_to_have_text("Old Bastian")


def test_two_threads_are_one(page: Page, served: Served) -> None:
    first, second = served.ask(f"{API}/threads")["threads"][:2]
    page.goto(f"{served.url}{STORY}/memory?tab=threads")
    row = page.locator(".thread").filter(has_text=first["text"])
    row.locator("summary").first.click()
    row.get_by_role("button", name="Merge with another thread").click()
    page.get_by_label("Its number").fill(str(second["number"]))
    page.get_by_role("dialog").get_by_role("button", name="Merge").click()
    expect(row).to_have_count(0)
    left = [one["text"] for one in served.ask(f"{API}/threads")["threads"]]
    assert first["text"] not in left and second["text"] in left


def test_two_names_are_one_person(page: Page, served: Served) -> None:
    first, second = (one["name"] for one in served.ask(f"{API}/cast")["cast"][:2])
    page.goto(f"{served.url}{STORY}/memory?tab=people")
    page.get_by_role("tab", name="One by one").click()
    card = page.locator(f"li[data-thing='cast:{first}']")
    card.locator("summary").first.click()
    card.get_by_role("button", name="The same as another").click()
    page.get_by_label("Name that stays").fill(second)
    page.get_by_role("dialog").get_by_role("button", name="Merge").click()
    expect(card).to_have_count(0)
    assert first not in [one["name"] for one in served.ask(f"{API}/cast")["cast"]]


def test_a_text_is_rejected_with_a_reason(page: Page, upstream: Upstream, tmp_path: Path) -> None:
    run_aside(tell_reviewed, tmp_path / "stories.db")
    with serve(tmp_path / "stories.db", upstream.url, settings={"PREVIOUSLY_FOLDING": "ask"}) as served:
        page.goto(f"{served.url}#/story/reviewed/memory?tab=review")
        waiting = page.locator("article.suggestion")
        before = len(served.ask("api/v1/stories/reviewed/pending")["versions"])
        expect(waiting).to_have_count(before)
        waiting.first.get_by_role("button", name="Reject").click()
        page.get_by_label("Why?").fill("Wren carried no parcels.")
        page.get_by_role("dialog").get_by_role("button", name="Reject").click()
        expect(waiting).to_have_count(before - 1)
        log = served.ask("api/v1/stories/reviewed/versions")["versions"]
        assert [one for one in log if one["reason"] and "no parcels" in one["reason"]]


@pytest.fixture
def slow() -> Iterator[Upstream]:
    """A model that thinks for longer than anybody waits."""
    running = Upstream(ScriptedAnswer(text="Done.", wait_s=3_600))
    yield running
    running.close()


def test_a_fold_is_stopped(page: Page, slow: Upstream, tmp_path: Path) -> None:
    run_aside(tell_keeper, tmp_path / "stories.db")
    with serve(tmp_path / "stories.db", slow.url, settings=SMALL) as served:
        page.goto(served.url)
        page.get_by_label(f"More for {KEPT}").click()
        page.get_by_role("button", name="Fold now").click()
        progress = page.locator(".fold-progress")
        expect(progress).to_be_visible()
        progress.get_by_role("button", name="Stop").click()
        expect(progress).to_have_count(0)
        assert served.ask(f"api/v1/stories/{quote(KEPT)}/fold")["state"] == "cancelled"
        assert served.ask(f"api/v1/stories/{quote(KEPT)}/recap")["text"] is None
