"""Stories as a list: found, renamed, deleted, dropped in, folded, their failures told, and the way in by a key."""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from previously.blocking import BlockingMemory
from previously.testing.answer import ScriptedAnswer, refused
from previously.testing.connection import ServedRequest
from tests.page.conftest import SAMPLE, run_aside, wait_until
from tests.page.keeper import LINES, STORY, UPDATE, write_chat
from tests.page.serving import Served, Upstream, serve

SMALL = {"PREVIOUSLY_TAIL_MESSAGES": "4", "PREVIOUSLY_FOLD_MESSAGES": "6", "PREVIOUSLY_FOLDING": "ask"}


def tell_keeper(path: Path) -> None:
    with BlockingMemory(path) as memory:
        story = memory.story(STORY)
        for name, text in LINES:
            story.add("user" if name == "Mira" else "assistant", text, name=name)


def test_search_goes_over_all_stories(page: Page, reader: Served) -> None:
    page.goto(reader.url)
    expect(page.get_by_role("link", name=SAMPLE)).to_be_visible()
    page.keyboard.press("/")
    page.keyboard.type("barometer")
    expect(page.locator("main")).to_contain_text("passage")
    hit = page.locator("main li.source").first
    expect(hit).to_contain_text(SAMPLE)
    expect(hit.locator("mark").first).to_contain_text("barometer")
    page.get_by_label("Search in all stories").fill("zzyzxq")
    expect(page.get_by_role("status").first).to_contain_text("No message has these words.")


def test_a_story_is_renamed_and_named_back(page: Page, served: Served) -> None:
    page.goto(served.url)
    page.locator(".story summary").click()
    page.get_by_role("button", name="Rename").click()
    page.get_by_label("New name").fill("The Petronel")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("link", name="The Petronel")).to_be_visible()
    page.get_by_role("status").get_by_role("button", name="Undo").click()
    expect(page.get_by_role("link", name=SAMPLE)).to_be_visible()


def test_a_story_is_deleted_only_by_its_name(page: Page, served: Served) -> None:
    page.goto(served.url)
    page.locator(".story summary").click()
    page.get_by_role("button", name="Delete").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("249 messages")
    button = dialog.get_by_role("button", name="Delete for good")
    expect(button).to_be_disabled()
    dialog.get_by_role("textbox").fill(SAMPLE)
    button.click()
    expect(page.get_by_role("heading", name="No stories yet")).to_be_visible()
    assert served.ask("api/v1/stories")["stories"] == []


def test_a_chat_is_dropped_anywhere_and_a_second_time_brought_up_to_date(page: Page, served: Served) -> None:
    page.goto(served.url)
    expect(page.get_by_role("link", name=SAMPLE)).to_be_visible()
    for exists in (False, True):
        page.goto(served.url)
        carried = page.evaluate_handle(
            "text => { const data = new DataTransfer(); data.items.add(new File([text], 'Odile.jsonl'));"
            " return data; }",
            write_chat(),
        )
        for event in ("dragenter", "dragover", "drop"):
            page.dispatch_event("main", event, {"dataTransfer": carried})
        dialog = page.get_by_role("dialog")
        expect(dialog).to_contain_text("10 messages")
        if exists:
            expect(dialog).to_contain_text("10 as they are")
        dialog.get_by_role("button", name="Import").click()
        expect(page.locator(".crumb")).to_have_text("Odile")


def test_a_story_that_an_import_would_change_is_named_before(page: Page, served: Served, tmp_path: Path) -> None:
    served.ask("api/v1/stories", {"story": "Mine"})
    served.ask("api/v1/stories/Mine/messages", {"role": "user", "text": "My own words."})
    (tmp_path / "Odile.jsonl").write_text(write_chat())
    page.goto(served.url)
    page.get_by_label("A file to import").set_input_files(tmp_path / "Odile.jsonl")
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Name of the story").fill("Mine")
    dialog.get_by_role("button", name="Import").click()
    expect(dialog.get_by_role("alert")).to_contain_text("This story is here already.")
    expect(dialog).to_contain_text("9 new, 1 changed")
    assert served.ask("api/v1/stories/Mine")["messages"] == 1
    dialog.get_by_role("button", name="Import").click()
    expect(page.locator(".crumb")).to_have_text("Mine")
    assert served.ask("api/v1/stories/Mine")["messages"] == 10


def test_a_whole_story_comes_in_under_its_own_name(page: Page, served: Served, tmp_path: Path) -> None:
    with urllib.request.urlopen(f"{served.url}api/v1/stories/Dunmarrow%20Harbour/export") as answer:
        (tmp_path / "x.jsonl").write_bytes(answer.read())
    served.ask("api/v1/stories/Dunmarrow%20Harbour", {"story": "Elsewhere"}, "PATCH")
    page.goto(served.url)
    page.get_by_label("A file to import").set_input_files(tmp_path / "x.jsonl")
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_label("Name of the story")).to_have_value(SAMPLE)
    dialog.get_by_role("button", name="Import").click()
    expect(page.locator(".crumb")).to_have_text(SAMPLE)
    expect(page.locator("article.message").last).to_be_visible()


def test_a_novel_is_read_as_prose_with_its_headings(page: Page, served: Served, tmp_path: Path) -> None:
    paragraphs = "The **salt** road ran west.\n\n***\n\nNobody *walked* it.\n\n"
    (tmp_path / "road.md").write_text(f"# The Salt Road\n\n## One\n\n{paragraphs}## Two\n\n{paragraphs}")
    page.goto(served.url)
    page.get_by_label("A file to import").set_input_files(tmp_path / "road.md")
    page.get_by_role("dialog").get_by_role("button", name="Import").click()
    reading = page.locator(".reading.prose")
    expect(reading.get_by_role("heading", name="Two", exact=True).first).to_be_visible()
    expect(reading.locator("strong").first).to_have_text("salt")
    expect(reading.locator(".long-list")).not_to_contain_text("*")
    expect(reading.locator(".long-list")).not_to_contain_text("#")


def test_a_name_that_is_taken_and_a_number_beyond_the_end_are_told(page: Page, served: Served) -> None:
    page.goto(served.url)
    page.get_by_role("button", name="New story").click()
    page.get_by_label("Its name").fill(SAMPLE)
    page.keyboard.press("Enter")
    expect(page.get_by_text(f"A story named {SAMPLE} is here already")).to_be_visible()
    page.get_by_label("Search this story, or go to a message").fill("#9999")
    page.keyboard.press("Enter")
    expect(page.get_by_text("There is no message 9999")).to_be_visible()


def test_a_file_that_is_no_chat_is_refused_in_a_sentence(page: Page, served: Served, tmp_path: Path) -> None:
    (tmp_path / "picture.png").write_bytes(b"\x89PNG\r\n\x1a\n\0\0\0\0")
    page.goto(served.url)
    page.get_by_label("A file to import").set_input_files(tmp_path / "picture.png")
    alert = page.get_by_role("dialog").get_by_role("alert")
    expect(alert).not_to_be_empty()
    expect(page.get_by_role("dialog").get_by_role("button", name="Import")).to_be_disabled()


def test_a_dropped_book_is_kept_as_a_book_and_attached_where_one_says(
    page: Page, served: Served, tmp_path: Path
) -> None:
    entry = {"key": ["Grim"], "content": "Grim is the dog of the harbour.", "comment": "Grim"}
    for name in ("Eldoria", "Lethen"):
        (tmp_path / f"{name}.json").write_text(json.dumps({"entries": {"0": entry}}))
    page.goto(served.url)
    page.get_by_label("A file to import").set_input_files(tmp_path / "Eldoria.json")
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("A book of lore, no chat: Eldoria, 1 entry.")
    expect(dialog.get_by_label("Attach it to a story")).to_have_value("")
    dialog.get_by_role("button", name="Import").click()
    expect(page.get_by_role("status").get_by_text("The book Eldoria: added, 1 entry.")).to_be_visible()
    assert [one["story"] for one in served.ask("api/v1/stories")["stories"]] == [SAMPLE], "no story is made of it"
    page.get_by_label("A file to import").set_input_files(tmp_path / "Lethen.json")
    dialog.get_by_label("Attach it to a story").select_option(SAMPLE)
    dialog.get_by_role("button", name="Import").click()
    books = page.get_by_role("region", name="Books")
    expect(books.get_by_role("listitem")).to_contain_text(["Lethen"])
    books.get_by_label("A book to attach").select_option("Eldoria")
    books.get_by_role("button", name="Attach").click()
    expect(books.get_by_role("listitem")).to_have_count(2)
    books.get_by_role("button", name="Detach Lethen").click()
    expect(books.get_by_role("listitem")).to_have_count(1)
    expect(books.get_by_role("listitem")).to_contain_text("Eldoria")
    assert served.ask("api/v1/stories/Dunmarrow%20Harbour/books")["books"] == ["Eldoria"]


def test_a_story_that_continues_another_shows_what_it_begins_with_and_leads_there(page: Page, served: Served) -> None:
    served.ask("api/v1/stories/Dunmarrow%20Harbour/continue", {"story": "Winter"})
    page.goto(f"{served.url}#/story/Winter/memory")
    before = page.get_by_role("region", name="Before this story")
    expect(before.locator(".story-text")).not_to_be_empty()
    expect(before.get_by_role("link", name=SAMPLE)).to_have_attribute("href", "#/story/Dunmarrow%20Harbour/memory")
    page.goto(f"{served.url}#/story/Winter/read")
    page.get_by_label("Search this story").fill("barometer")
    page.keyboard.press("Enter")
    hit = page.get_by_role("dialog").locator(".hit").first
    expect(hit).to_contain_text(SAMPLE)
    hit.click()
    expect(page.locator(".crumb")).to_have_text(SAMPLE)
    expect(page.locator(".message.marked")).to_contain_text("barometer")
    page.goto(served.url)
    page.get_by_label("Search in all stories").fill("barometer")
    hits = page.locator("main li.source p.small")
    expect(hits.first).to_contain_text(SAMPLE)
    names = hits.all_inner_texts()
    assert len(set(names)) == len(names)
    assert not [name for name in names if "Winter" in name]


def test_the_bar_of_the_reader_leaves_other_rows_of_buttons_alone(page: Page, reader: Served) -> None:
    page.set_viewport_size({"width": 390, "height": 800})
    page.goto(reader.url)
    buttons = page.locator(".title-row .tools")
    expect(buttons).to_be_visible()
    assert buttons.evaluate("one => [getComputedStyle(one).position, getComputedStyle(one).borderBottomWidth]") == [
        "static",
        "0px",
    ]


def test_an_import_is_taken_back_only_when_one_says_so(page: Page, served: Served, tmp_path: Path) -> None:
    (tmp_path / "Odile.jsonl").write_text(write_chat())
    page.goto(served.url)
    page.get_by_label("A file to import").set_input_files(tmp_path / "Odile.jsonl")
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("button", name="Import").click()
    expect(page.locator(".crumb")).to_have_text("Odile")
    for answer, left in (("Cancel", 10), ("Take them out", 0)):
        page.locator("header.head").get_by_role("button", name="Undo").click()
        expect(dialog).to_contain_text("Take out the 10 messages that this import added?")
        dialog.get_by_role("button", name=answer).click()
        expect(dialog).to_have_count(0)
        expect(page.locator(".message")).to_have_count(left)


def test_the_chapter_box_says_where_one_reads(page: Page, reader: Served) -> None:
    page.goto(f"{reader.url}#/story/Dunmarrow%20Harbour/read")
    chapter = page.get_by_label("Chapter", exact=True)
    expect(chapter).to_have_value("")
    expect(chapter.locator("option:checked")).to_have_text("3. The open chapter")
    chapter.select_option("2")
    expect(page.locator(".message.marked")).to_have_attribute("data-position", "81")
    expect(chapter).to_have_value("2")
    chapter.select_option("")
    expect(page.locator(".message.marked")).to_have_attribute("data-position", "157")


def test_an_empty_list_names_the_proxy_only_where_there_is_one(page: Page, upstream: Upstream, tmp_path: Path) -> None:
    for name, url, there in (("none", "", False), ("one", upstream.url, True)):
        with serve(tmp_path / f"{name}.db", url) as served:
            page.goto(served.url)
            expect(page.get_by_role("heading", name="No stories yet")).to_be_visible()
            expect(page.locator(".foot")).to_contain_text("Everything stays on this server")
            expect(page.locator("main").get_by_text("memory proxy address")).to_have_count(int(there))
            expect(page.locator(".foot code")).to_have_count(int(there))
            expect(page.locator(".foot").get_by_role("link", name="name one")).to_have_count(int(not there))


@pytest.fixture
def moody() -> Iterator[Upstream]:
    """A model that fails, unless it is asked for by the name of the good one."""

    def answer(request: ServedRequest) -> ScriptedAnswer | str:
        return UPDATE if request.json["model"] == "good" else refused(400, "The prompt has too many words for me.")

    running = Upstream(answer)
    yield running
    running.close()


def test_a_fold_that_failed_says_why_and_another_model_mends_it(page: Page, moody: Upstream, tmp_path: Path) -> None:
    run_aside(tell_keeper, tmp_path / "stories.db")
    with serve(tmp_path / "stories.db", moody.url, settings=SMALL) as served:
        page.goto(served.url)
        page.locator(".story summary").click()
        page.get_by_role("button", name="Fold now").click()
        failure = page.get_by_role("group", name="A fold that failed")
        expect(failure.first).to_contain_text("The prompt has too many words for me.")
        failure.first.get_by_role("button", name="Another model").click()
        page.get_by_label("Name of a model").fill("good")
        page.get_by_role("dialog").get_by_role("button", name="Fold").click()
        recap = f"api/v1/stories/{STORY.replace(' ', '%20')}/recap"
        wait_until(page, lambda: served.ask(recap)["made_by"] == "model")
        expect(failure).to_have_count(0)
        assert moody.requests[-1].json["model"] == "good"


def test_folds_that_failed_for_one_reason_are_told_once(page: Page, served: Served) -> None:
    cause = "there is more that was witnessed; wrong shape: it holds no JSON object"
    shared = {"kind": "cast", "status": "provisional", "cause": cause, "model": "", "span": [0, 236]}
    failures = [{**shared, "version": number} for number in range(12)]
    told = {"failures": failures, "waiting": 0, "cause": None, "notices": [], "folding": "none"}
    page.route("**/health", lambda route: route.fulfill(json=told))
    page.goto(served.url)
    failure = page.get_by_role("group", name="A fold that failed")
    expect(failure).to_have_count(1)
    words = "What a character knows of messages 0–236 (12 texts) is quoted, not written: wrong shape: it holds no JSON"
    expect(failure.locator("p").first).to_have_text(f"{words} object")
    expect(page.get_by_role("button", name="Try again")).to_have_count(1)


def test_a_long_preview_leaves_the_import_button_in_sight(page: Page, served: Served, tmp_path: Path) -> None:
    chat = tmp_path / "chat.jsonl"
    said = [{"name": "Wren", "is_user": False, "mes": "The *ledger* is under the stair. " * 12} for _ in range(9)]
    chat.write_text("\n".join(map(json.dumps, [{"user_name": "Wren", "character_name": "Odalys"}, *said])))
    page.set_viewport_size({"width": 390, "height": 700})
    page.goto(served.url)
    page.get_by_label("A file to import").set_input_files(chat)
    dialog = page.get_by_role("dialog")
    expect(dialog.locator("em").first).to_have_text("ledger")
    expect(dialog.get_by_role("button", name="Import", exact=True)).to_be_in_viewport(ratio=1)


def test_a_server_with_keys_asks_for_one_and_lets_go_of_it(page: Page, upstream: Upstream, tmp_path: Path) -> None:
    keys: list[str] = []

    def make_key(path: Path) -> None:
        with BlockingMemory(path) as memory:
            keys.append(memory.add_key("ann", owner="ann")[0])
        with BlockingMemory(path, owner="ann") as memory:
            memory.story("A tale of Ann").add("user", "Once.")

    run_aside(make_key, tmp_path / "stories.db")
    with serve(tmp_path / "stories.db", upstream.url) as served:
        page.goto(served.url)
        page.get_by_label("Key", exact=True).fill("pk-wrong")
        page.get_by_role("main").get_by_role("button", name="Sign in").click()
        expect(page.get_by_role("main").get_by_role("alert")).not_to_be_empty()
        page.get_by_label("Key", exact=True).fill(keys[0])
        page.keyboard.press("Enter")
        expect(page.get_by_role("link", name="A tale of Ann")).to_be_visible()
        assert "pk-" not in page.evaluate("JSON.stringify([document.cookie, {...localStorage}, {...sessionStorage}])")
        page.get_by_label("Signed in as ann").click()
        page.get_by_role("button", name="Sign out").click()
        expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
        page.reload()
        expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
