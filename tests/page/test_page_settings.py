"""Settings of a story: where each comes from, what it would change, prompts of one's own, and the model."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.page.conftest import SAMPLE
from tests.page.serving import Served, Upstream, serve
from tests.page.test_screens import SCHEMES, list_findings

STORY = f"#/story/{quote(SAMPLE)}"


@pytest.fixture
def desk(folded: Path, upstream: Upstream, tmp_path: Path) -> Iterator[Served]:
    """A server with a folder for prompts."""
    database = tmp_path / "stories.db"
    shutil.copy(folded, database)
    settings = {"PREVIOUSLY_FOLDING": "ask", "PREVIOUSLY_PROMPTS": str(tmp_path / "prompts")}
    with serve(database, upstream.url, settings=settings) as running:
        yield running


def show(page: Page, served: Served, tab: str = "values") -> None:
    page.goto(f"{served.url}{STORY}/settings?tab={tab}")
    expect(page.get_by_role("tabpanel")).to_be_visible()


def find_row(page: Page, name: str) -> Locator:
    return page.get_by_role("row").filter(has=page.get_by_role("button", name=f"Change {name}", exact=True))


def test_a_setting_has_a_meaning_and_an_origin(page: Page, desk: Served) -> None:
    show(page, desk)
    expect(find_row(page, "folding")).to_contain_text("PREVIOUSLY_FOLDING")
    expect(find_row(page, "tail messages")).to_contain_text("The newest messages, verbatim and never folded.")
    expect(find_row(page, "tail messages")).to_contain_text("default")
    expect(find_row(page, "timeout s")).to_have_count(0)
    page.get_by_role("button", name="Show all").click()
    expect(find_row(page, "timeout s")).to_have_count(1)


def test_a_setting_shows_what_it_would_change_before_it_is_saved_and_is_taken_back(page: Page, desk: Served) -> None:
    show(page, desk)
    page.get_by_role("button", name="Change tail messages").click()
    dialog = page.get_by_role("dialog", name="tail messages")
    expect(dialog).to_contain_text("Now 12")
    dialog.get_by_label("New value").fill("40")
    dialog.get_by_role("button", name="What would change?").click()
    effect = dialog.get_by_role("table", name="What would change in this story")
    expect(effect.get_by_role("row").nth(1)).to_contain_text("token")
    cells = effect.get_by_role("row").nth(1).get_by_role("cell").all_inner_texts()
    assert cells[-1] != cells[-2], "nothing would change"
    assert desk.ask(f"api/v1/stories/{quote(SAMPLE)}/settings")["own"] == {}, "saved before it was said so"
    dialog.get_by_role("button", name="Save").click()
    expect(find_row(page, "tail messages")).to_contain_text("40")
    expect(find_row(page, "tail messages")).to_contain_text("this story")
    page.get_by_role("button", name="Change tail messages").click()
    page.get_by_role("button", name="Take it back").click()
    expect(find_row(page, "tail messages")).to_contain_text("12")
    assert desk.ask(f"api/v1/stories/{quote(SAMPLE)}/settings")["own"] == {}


def test_a_few_words_are_chosen_from_a_list(page: Page, desk: Served) -> None:
    show(page, desk)
    page.get_by_role("button", name="Change cast").click()
    dialog = page.get_by_role("dialog", name="cast")
    dialog.get_by_label("New value").select_option("off")
    dialog.get_by_role("button", name="Save").click()
    expect(find_row(page, "cast")).to_contain_text("off")


def test_a_bad_value_gets_a_sentence_and_nothing_is_saved(page: Page, desk: Served) -> None:
    show(page, desk)
    page.get_by_role("button", name="Change recap words").click()
    dialog = page.get_by_role("dialog", name="recap words")
    for button in ("What would change?", "Save"):
        dialog.get_by_label("New value").fill("a lot")
        dialog.get_by_role("button", name=button).click()
        expect(dialog.get_by_role("alert").first).to_contain_text("it must be a whole number")
        dialog.get_by_label("New value").fill("some")
        expect(dialog.locator(".error")).to_be_empty()
    assert desk.ask(f"api/v1/stories/{quote(SAMPLE)}/settings")["own"] == {}


def test_a_prompt_is_refused_changed_and_taken_back(page: Page, desk: Served, tmp_path: Path) -> None:
    show(page, desk, "prompts")
    page.get_by_role("button", name="Open the prompt ask").click()
    dialog = page.get_by_role("dialog", name="Prompt: ask")
    box = dialog.get_by_label("The prompt ask")
    ours = box.input_value()
    box.fill("Answer the question.\n=== user ===\nNothing is given.")
    dialog.get_by_role("button", name="Save").click()
    expect(dialog).to_contain_text("{{question}}")
    expect(dialog.get_by_role("alert").first).to_contain_text("ask")
    assert not (tmp_path / "prompts/ask.md").exists()
    box.fill(f"Be brief.\n{ours}")
    dialog.get_by_role("button", name="Save").click()
    expect(dialog).to_have_count(0)
    row = page.get_by_role("listitem").filter(has=page.get_by_role("button", name="Open the prompt ask"))
    expect(row).to_contain_text("yours")
    assert (tmp_path / "prompts/ask.md").read_text("utf-8").startswith("Be brief.")
    row.get_by_role("button").click()
    page.get_by_role("button", name="Take ours again").click()
    expect(row).not_to_contain_text("yours")
    assert not (tmp_path / "prompts/ask.md").exists()


def test_the_next_question_is_shown_word_for_word(page: Page, desk: Served) -> None:
    show(page, desk, "prompts")
    page.get_by_role("button", name="Show it").click()
    question = page.locator("pre.prompt")
    expect(question).to_have_count(2)
    asked = desk.ask(f"api/v1/stories/{quote(SAMPLE)}/next-question")
    assert question.nth(0).inner_text().strip() == asked["system"].strip()
    expect(page.get_by_role("tabpanel")).to_contain_text(asked["prompt"])


def test_the_model_is_tested(page: Page, desk: Served, upstream: Upstream) -> None:
    show(page, desk, "model")
    expect(page.get_by_role("tabpanel")).to_contain_text(upstream.url.split("//")[1].split("/")[0])
    page.get_by_role("button", name="Test it").click()
    expect(page.get_by_role("tabpanel")).to_contain_text("It answered “The lamp is lit.” in")


def test_a_model_is_named_tried_and_kept(page: Page, folded: Path, upstream: Upstream, tmp_path: Path) -> None:
    database, settings, secret = tmp_path / "stories.db", tmp_path / "previously.toml", "sk-never-shown"
    shutil.copy(folded, database)
    settings.write_text("# mine\ntail_messages = 9\n")
    answers: list[str] = []
    page.on("response", lambda answer: answers.append(answer.text()) if "/model" in answer.url else None)
    with serve(database, "", settings={"PREVIOUSLY_FOLDING": "ask", "PREVIOUSLY_CONFIG": str(settings)}) as served:
        show(page, served, "model")
        panel = page.get_by_role("tabpanel")
        expect(panel).to_contain_text("No model is named yet.")
        expect(panel.get_by_role("button", name="Save")).to_be_disabled()
        page.get_by_label("Address of its server").fill("http://127.0.0.1:9/v1")
        page.get_by_label("Name of the model").fill("scripted")
        page.get_by_label("Key, if the server asks for one").fill(secret)
        page.get_by_role("button", name="Test it").click()
        expect(panel).to_contain_text("It does not answer:")
        page.get_by_label("Address of its server").fill("no address")
        page.get_by_role("button", name="Test it").click()
        expect(panel.get_by_role("alert")).to_contain_text("it should look like http")
        page.get_by_label("Address of its server").fill(upstream.url)
        page.get_by_role("button", name="Test it").click()
        expect(panel).to_contain_text("It answered “The lamp is lit.” in")
        page.get_by_role("button", name="Save").click()
        expect(page.get_by_label("Key, if the server asks for one")).to_have_attribute(
            "placeholder", re.compile("kept")
        )
        expect(page.locator(".foot code")).to_have_text(f"{served.url}v1")
        kept = settings.read_text()
        assert "# mine\ntail_messages = 9" in kept and f'endpoint = "{upstream.url}"' in kept and secret not in kept
        assert upstream.server.requests[-1].headers["authorization"] == f"Bearer {secret}"
        chat = served.ask(f"api/v1/stories/{quote(SAMPLE)}/chat")
        assert chat["model"] == "scripted", "it writes on from now on"
        assert served.ask("api/v1/model")["has_key"] is True
        assert answers and secret not in "".join(answers)
        served.kill()
        served.start()
        assert served.ask("api/v1/model") == {
            "model": "scripted", "endpoint": served.ask("api/v1/model")["endpoint"], "has_key": False, "editable": True,
        }  # fmt: skip


def test_a_model_that_is_away_is_said_to_be(page: Page, folded: Path, tmp_path: Path) -> None:
    database = tmp_path / "stories.db"
    shutil.copy(folded, database)
    with serve(database, "http://127.0.0.1:9/v1", settings={"PREVIOUSLY_FOLDING": "ask"}) as served:
        show(page, served, "model")
        page.get_by_role("button", name="Test it").click()
        expect(page.get_by_role("tabpanel")).to_contain_text("It does not answer")


@pytest.mark.parametrize("tab", ["values", "prompts", "model"])
def test_settings_are_for_everybody(page: Page, reader: Served, tab: str) -> None:
    show(page, reader, tab)
    words = {"values": "Window tokens", "prompts": "Asks for what is new", "model": "Test it"}
    expect(page.get_by_role("tabpanel")).to_contain_text(words[tab])
    if tab == "values":
        page.get_by_role("button", name="Change tail messages").click()
        expect(page.get_by_role("dialog")).to_be_visible()
    for width in (1280, 360):
        page.set_viewport_size({"width": width, "height": 800})
        assert page.evaluate("document.documentElement.scrollWidth") <= width, "wider than the screen"
        for scheme in SCHEMES:
            page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
            assert list_findings(page) == [], f"{width} {scheme}"
