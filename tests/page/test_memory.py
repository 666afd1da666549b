"""Memory put right on the page: lore, people, threads, how things stand, presence, versions, and what waits."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import quote

from playwright.sync_api import Page, expect

from previously.blocking import BlockingMemory
from previously.settings import Settings
from tests.page.conftest import SAMPLE, run_aside
from tests.page.serving import Served, Upstream, serve

STORY = f"#/story/{quote(SAMPLE)}"
API = f"api/v1/stories/{quote(SAMPLE)}"


def show(page: Page, served: Served, tab: str) -> None:
    page.goto(f"{served.url}{STORY}/memory?tab={tab}")
    expect(page.get_by_role("tabpanel").first).to_be_visible()


def test_a_sentence_is_tested_against_the_lore(page: Page, served: Served) -> None:
    show(page, served, "lore")
    page.get_by_label("Test a sentence").fill("She asked the harbour-master about the Small Mercy.")
    page.get_by_role("button", name="Test", exact=True).click()
    expect(page.locator(".card.fired h3")).to_contain_text(["Bram Oskett", "The Small Mercy"])
    expect(page.locator(".card.fired .reason").first).to_contain_text("harbour-master")
    expect(page.locator(".card.quiet-card .reason").first).to_contain_text("–")


def test_an_entry_is_corrected_locked_merged_brought_back_and_removed(page: Page, served: Served) -> None:
    show(page, served, "lore")
    card = page.locator("[data-thing='lore:Wick']")

    def choose(item: str) -> None:
        card.locator("summary").click()
        card.get_by_role("button", name=item).click()

    choose("Edit")
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Kind").select_option("faction")
    dialog.get_by_label("Keys").fill("Wick, lad")
    dialog.get_by_label("What it is").fill("A boy who sells news by the penny.")
    dialog.get_by_role("button", name="Save").click()
    expect(card).to_contain_text("A boy who sells news by the penny.")
    expect(card).to_contain_text("faction")
    expect(card).to_contain_text("by hand")
    expect(card).to_contain_text("locked")
    choose("Unlock")
    expect(card).to_contain_text("Ludovic Hallam")
    choose("Lock: nothing but you changes it")
    expect(card).to_contain_text("locked")
    choose("Remove")
    page.get_by_role("dialog").get_by_role("button", name="Remove").click()
    expect(card).to_have_count(0)
    page.get_by_role("status").get_by_role("button", name="Undo").first.click()
    expect(card).to_have_count(1)
    card = page.locator("[data-thing='lore:The Combs']")
    choose("Merge")
    page.get_by_label("Name of the entry that stays").fill("Maiden's Sand")
    page.get_by_role("dialog").get_by_role("button", name="Merge").click()
    expect(card).to_have_count(0)


def test_who_knows_what_is_a_table_and_one_can_say_it(page: Page, served: Served) -> None:
    show(page, served, "people")
    table = page.get_by_role("region", name="Who knows what")
    expect(table.get_by_role("columnheader", name="Anneke Strood")).to_be_visible()
    expect(table.get_by_role("row", name="from Ines, that Bram altered the lights")).to_contain_text("was told")
    page.get_by_role("tab", name="One by one").click()
    person = page.locator("[data-thing='cast:Wick']")
    person.locator("summary").click()
    person.get_by_role("button", name="Edit what they know").click()
    page.get_by_label("Summary and facts").fill("Wick keeps quiet.\n\nAnneke is alive\nThe key fits locker 31")
    page.get_by_role("dialog").get_by_role("button", name="Save").click()
    expect(person).to_contain_text("Wick keeps quiet.")
    expect(person).to_contain_text("The key fits locker 31")


def test_a_gap_in_the_table_means_that_somebody_does_not_know(page: Page, served: Served) -> None:
    # Ines is the heroine: she is there at nearly every message, and knows far more than her ten key facts.
    show(page, served, "people")
    table = page.get_by_role("region", name="Who knows what")
    expect(table.get_by_role("row")).to_have_count(101)  # with the heading
    columns = table.get_by_role("columnheader").all_inner_texts()
    column = next(at for at, name in enumerate(columns) if " ".join(name.split()) == "Ines Quillan")
    row = table.get_by_role("row", name="Ines, place: Dunmarrow station")
    expect(row.locator("th, td").nth(column)).to_have_text("was there")
    page.get_by_role("button", name="Show all").click()
    wanted = {fact["text"] for one in served.ask(f"{API}/cast?all=true")["cast"] for fact in one["all_facts"]}
    expect(table.get_by_role("row")).to_have_count(len(wanted) + 1)


def test_the_log_shows_what_somebody_knows_in_words(page: Page, served: Served) -> None:
    served.ask(f"{API}/cast/Wick", {"summary": "Wick keeps quiet.", "facts": ["Anneke is alive"]}, "PUT")
    show(page, served, "log")
    row = page.get_by_role("row", name="What somebody knows").first
    row.get_by_role("button", name="Show").click()
    expect(page.get_by_role("dialog").locator(".story-text")).to_have_text("Wick keeps quiet.\n• Anneke is alive")
    expect(page.get_by_role("row", name="enough was new: 3,003 tokens").first).to_be_attached()


def test_a_thread_is_settled_opened_again_reworded_and_added(page: Page, served: Served) -> None:
    show(page, served, "threads")
    expect(page.locator(".thread", has_text="340 crowns")).to_have_count(1)
    thread = page.locator(".thread", has=page.locator("[data-thing='thread:24']"))
    thread.get_by_role("button", name="Settle").click()
    settled = page.locator("section", has=page.get_by_role("heading", name="Settled"))
    expect(settled).to_contain_text("340 crowns")
    thread.get_by_role("button", name="Open again").click()
    expect(thread.get_by_role("button", name="Settle")).to_be_visible()
    thread.get_by_role("button", name="Edit").click()
    thread.get_by_role("textbox").fill("Bram owes the bank 340 crowns by 25 March.")
    thread.get_by_role("button", name="Save").click()
    expect(page.locator(".thread", has_text="Bram owes the bank")).to_have_count(1)
    page.get_by_role("button", name="Add a thread").click()
    page.get_by_label("What is open?").fill("Who rang the bell?")
    page.get_by_role("button", name="Add", exact=True).click()
    expect(page.locator(".thread", has_text="Who rang the bell?")).to_have_count(1)


def test_how_things_stand_is_corrected_added_and_removed(page: Page, served: Served) -> None:
    show(page, served, "state")
    page.get_by_role("button", name="Edit: Second key of the Small Mercy").click()
    page.get_by_label("In your words").fill("Second key of the Small Mercy / place: inside the clock")
    page.get_by_role("button", name="Save").click()
    expect(page.locator(".state-list")).to_contain_text("inside the clock")
    expect(page.locator(".state-list")).not_to_contain_text("behind the barometer")
    page.get_by_role("button", name="Remove: Piece of slate").click()
    page.get_by_role("dialog").get_by_role("button", name="Remove").click()
    expect(page.locator(".state-list")).not_to_contain_text("Piece of slate")
    page.get_by_role("button", name="Pin something").click()
    page.get_by_label("Words that the model sees").fill("Nobody calls it Dunmarrow Harbour.")
    page.get_by_role("dialog").get_by_role("button", name="Add", exact=True).click()
    expect(page.locator(".line", has_text="Nobody calls it")).to_be_visible()
    assert any("Nobody calls it" in str(item) for item in served.ask(f"{API}/view?budget=4000")["messages"])


def test_presence_is_a_strip_that_can_be_corrected(page: Page, served: Served) -> None:
    show(page, served, "presence")
    expect(page.locator(".strip-row").first).to_be_visible()
    page.get_by_role("button", name="Correct messages 1 to 4").click()
    dialog = page.get_by_role("dialog", name="Who was there?")
    dialog.get_by_label("Somebody else").fill("Gage")
    dialog.get_by_role("button", name="Save").click()
    expect(page.locator(".lines li", has_text="Messages 1–4")).to_contain_text("Gage")
    assert any(
        "Gage" in (one["names"] or []) and one["span"][0] == 1 for one in served.ask(f"{API}/presence")["stretches"]
    )
    page.get_by_role("status").get_by_role("button", name="Undo").click()
    expect(page.locator(".lines li", has_text="Messages 1–4")).not_to_contain_text("Gage")


def test_versions_are_shown_word_by_word_and_brought_back(page: Page, served: Served) -> None:
    show(page, served, "so-far")
    recap = page.get_by_role("region", name="The chapter so far")
    recap.get_by_role("button", name="Edit").click()
    recap.get_by_role("textbox").fill("Everybody went home.")
    page.keyboard.press("Control+Enter")
    expect(recap).to_contain_text("Everybody went home.")
    recap.locator("summary").click()
    recap.get_by_role("button", name="History").click()
    dialog = page.get_by_role("dialog", name="History: The chapter so far")
    expect(dialog.locator("ins, del").first).to_be_visible()
    dialog.locator(".version").nth(1).click()
    dialog.get_by_role("button", name="Restore this version").click()
    expect(recap).not_to_contain_text("Everybody went home.")


def test_a_text_is_locked_and_pinned(page: Page, served: Served) -> None:
    show(page, served, "so-far")
    recap = page.get_by_role("region", name="The chapter so far")
    recap.locator("summary").click()
    recap.get_by_role("button", name="Lock").click()
    expect(page.get_by_role("status").first).to_contain_text("locked")
    page.get_by_role("button", name="Show all of 2. Slate").click()
    chapter = page.get_by_role("region", name="2. Slate")
    chapter.locator("summary").click()
    chapter.get_by_role("button", name="Rename").click()
    page.get_by_label("Title", exact=True).fill("Slate and copper")
    page.get_by_role("dialog").get_by_role("button", name="Save").click()
    expect(page.get_by_role("heading", name="2. Slate and copper")).to_be_visible()


def tell_reviewed(path: Path) -> None:
    with BlockingMemory(path, settings=Settings(tail_messages=2, fold_messages=4, review=True)) as memory:
        story = memory.story("reviewed")
        for at in range(12):
            story.add("user" if at % 2 == 0 else "assistant", f"Wren carried parcel {at} to the mill.", name="Wren")
        story.fold()


def test_what_waits_is_approved_or_rejected(page: Page, upstream: Upstream, tmp_path: Path) -> None:
    run_aside(tell_reviewed, tmp_path / "stories.db")
    with serve(tmp_path / "stories.db", upstream.url, settings={"PREVIOUSLY_FOLDING": "ask"}) as served:
        page.goto(served.url)
        page.get_by_role("link", name="for your approval").click()
        waiting = page.locator("article.suggestion")
        expect(waiting.first).to_contain_text("Wren")
        waiting.first.get_by_role("button", name="Approve").click()
        expect(page.get_by_role("heading", name="Nothing waits for you")).to_be_visible()
        page.get_by_role("tab", name="So far").click()
        expect(page.get_by_role("region", name="The chapter so far")).to_contain_text("parcel")
