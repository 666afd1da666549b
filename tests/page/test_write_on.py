"""A person reads and writes on the page: replies that stream, stop, come again and go on; edits; branches; games."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, Route, expect

from previously import BlockingMemory, ScriptedAnswer
from previously.core.messages import Draft, message
from previously.testing import ServedRequest
from tests.page.serving import PATIENCE_S, Served, Upstream, serve

STORY = "The ferry"
LONG = "Ten thousand"
ADDRESS = "#/story/The%20ferry"
IN_SIGHT = """() => {
  const rows = [...document.querySelectorAll(".long-list > [data-position]")].map((row) => row.getBoundingClientRect());
  const middle = innerHeight / 2;
  return !document.querySelector(".message.waiting") && rows.some((row) => row.top <= middle && middle < row.bottom);
}"""
"""A row stands in the middle of the window, and nothing is loaded any more."""
SETTINGS = {"PREVIOUSLY_FOLDING": "off"}


class Teller:
    """Answers with the next of some texts; one that ends with … goes on only when it is let."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.prompts: list[list[dict[str, str]]] = []
        self.lock = threading.Lock()

    def __call__(self, request: ServedRequest) -> ScriptedAnswer:
        with self.lock:
            self.prompts.append(request.messages)
            text = self.texts.pop(0) if self.texts else "And so on."
        if text.endswith("…"):
            return ScriptedAnswer(
                text=[*(f"{word} " for word in text[:-1].split()), *(["and "] * 6_000)], chunk_wait_s=0.1
            )
        if text.startswith("!"):
            return ScriptedAnswer(status=500, body={"error": {"message": text[1:]}})
        return ScriptedAnswer(text=text)


@pytest.fixture
def teller() -> Teller:
    return Teller()


@pytest.fixture
def ferry(teller: Teller, tmp_path: Path) -> Iterator[Served]:
    database = tmp_path / "stories.db"
    with ThreadPoolExecutor(1) as thread:
        thread.submit(_tell, database).result()
    upstream = Upstream(teller)
    with serve(database, upstream.url, "--memory-model", "scripted", settings=SETTINGS) as served:
        yield served
    upstream.close()


def _tell(database: Path) -> None:
    with BlockingMemory(database) as memory:
        story = memory.story(STORY)
        story.add("assistant", "The ferry is late.", name="Odalys")
        story.add("user", "Is the ledger safe?", name="Wren")
        story.add("assistant", "Under the stair.", name="Odalys")
        story.change_setup({"name": "Odalys", "user_name": "Wren"})


def row(page: Page, position: int) -> Locator:
    return page.locator(f".message[data-position='{position}']")


def say(page: Page, text: str) -> None:
    page.get_by_label("Say something").fill(text)
    page.keyboard.press("Control+Enter")


def do(page: Page, position: int, what: str) -> None:
    row(page, position).get_by_label(f"More for message {position}").click()
    row(page, position).get_by_role("button", name=what, exact=True).click()


def read_texts(served: Served, story: str = STORY) -> list[str]:
    path = f"api/v1/stories/{story.replace(' ', '%20')}/messages"
    return [one["text"] for one in served.ask(path)["messages"]]


def test_a_reply_streams_is_stopped_asked_for_again_swiped_and_gone_on_with(
    page: Page, ferry: Served, teller: Teller
) -> None:
    teller.texts = ["It is dry …", "It is safe.", "Nobody saw it."]
    page.goto(f"{ferry.url}{ADDRESS}/read")
    expect(row(page, 2)).to_contain_text("Under the stair.")
    page.get_by_role("button", name="Direction").click()
    page.get_by_label("A direction for the next reply").fill("She is afraid.")
    say(page, "Show me.")
    live = page.get_by_label("The reply that is being written")
    expect(live).to_contain_text("It is dry")
    page.get_by_role("button", name="Stop").click()
    expect(live).to_have_count(0)
    expect(row(page, 4)).to_contain_text("It is dry")
    expect(page.get_by_label("Say something")).to_have_value("")
    assert "She is afraid." in teller.prompts[0][-1]["content"]
    assert "She is afraid." not in str(read_texts(ferry))

    row(page, 4).get_by_role("button", name="Regenerate").click()
    expect(row(page, 4)).to_contain_text("It is safe.")
    expect(row(page, 4).locator(".swipes")).to_contain_text("2 / 2")
    row(page, 4).get_by_label("The reply before").click()
    expect(row(page, 4)).to_contain_text("It is dry")
    row(page, 4).get_by_label("The next reply").click()
    expect(row(page, 4)).to_contain_text("It is safe.")
    row(page, 4).get_by_role("button", name="Continue").click()
    expect(row(page, 4)).to_contain_text("It is safe. Nobody saw it.")
    expect(page.locator("[aria-live=polite].visually-hidden")).to_contain_text("Nobody saw it.")


def test_undo_takes_back_what_was_written_on(page: Page, ferry: Served, teller: Teller) -> None:
    teller.texts = ["It is dry.", "It is safe."]
    page.goto(f"{ferry.url}{ADDRESS}/read")
    expect(row(page, 2)).to_contain_text("Under the stair.")
    said = read_texts(ferry)
    say(page, "Show me.")
    expect(row(page, 4)).to_contain_text("It is dry.")
    row(page, 4).get_by_role("button", name="Regenerate").click()
    expect(row(page, 4)).to_contain_text("It is safe.")
    undo = page.locator("header.head").get_by_role("button", name="Undo")
    undo.click()
    expect(row(page, 4)).to_contain_text("It is dry.")
    undo.click()
    expect(page.get_by_text("Undone: message 3 and the reply to it.")).to_be_visible()
    expect(row(page, 3)).to_have_count(0)
    assert read_texts(ferry) == said
    page.goto(f"{ferry.url}{ADDRESS}/tree")
    expect(page.locator("main")).to_contain_text("Show me.")


def test_the_menu_of_a_reply_shows_what_the_model_saw_for_it(page: Page, ferry: Served, teller: Teller) -> None:
    teller.texts = ["It is dry.", "It is old."]
    page.goto(f"{ferry.url}{ADDRESS}/read")
    for at, text in enumerate(("Show me.", "How old?")):
        say(page, text)
        expect(row(page, 4 + 2 * at)).to_contain_text("It is")
    do(page, 4, "What the model saw")
    expect(page.get_by_label("At which turn")).to_have_value("4")
    expect(page.get_by_role("heading", name="Message 4")).to_be_visible()
    seen = page.get_by_role("tabpanel")
    expect(seen).to_contain_text("Show me.")
    expect(seen).not_to_contain_text("How old?")


def test_messages_are_edited_hidden_deleted_and_branched_from(page: Page, ferry: Served) -> None:
    page.goto(f"{ferry.url}{ADDRESS}/read")
    do(page, 0, "Edit")
    box = page.get_by_label("The words of message 0")
    box.fill("The ferry is very late.")
    page.keyboard.press("Control+Enter")
    expect(row(page, 0).locator(".story-text")).to_have_text("The ferry is very late.")
    do(page, 1, "Hide it from the model")
    expect(row(page, 1)).to_contain_text("hidden from the model")
    do(page, 2, "Delete")
    expect(row(page, 2)).to_have_count(0)
    page.get_by_role("button", name="Undo", exact=True).last.click()
    expect(row(page, 2)).to_contain_text("Under the stair.")
    do(page, 0, "Branch from here")
    page.get_by_label("Name of the branch").fill("what-if")
    page.keyboard.press("Enter")
    expect(row(page, 1)).to_have_count(0)
    page.get_by_label("Branch", exact=True).select_option("main")
    expect(row(page, 2)).to_contain_text("Under the stair.")
    page.goto(f"{ferry.url}{ADDRESS}/tree")
    expect(page.locator(".tree .on-path").first).to_contain_text("The ferry is very late.")
    page.get_by_role("button", name="Go on with what-if").click()
    expect(page.locator(".badge.now")).to_have_text("what-if (you are here)")
    assert ferry.ask("api/v1/stories/The%20ferry")["branch"] == "what-if"


def test_an_edit_stays_with_its_message_when_others_move(page: Page, ferry: Served) -> None:
    path = "api/v1/stories/The%20ferry"
    ferry.ask(f"{path}/messages", {"role": "user", "text": "Good."})
    page.goto(f"{ferry.url}{ADDRESS}/read")
    do(page, 2, "Edit")
    page.get_by_label("The words of message 2").fill("Under the bed.")
    ferry.ask(f"{path}/messages/0", method="DELETE")
    box = row(page, 1).get_by_label("The words of message 1")
    expect(box).to_have_value("Under the bed.")
    expect(row(page, 2)).to_contain_text("Good.")
    ferry.ask(f"{path}/branches", {"branch": "what-if", "at": 0})
    ferry.ask(f"{path}/branches/what-if/switch", {})
    ferry.ask(f"{path}/messages", {"role": "assistant", "text": "Nowhere."})
    expect(row(page, 1)).to_contain_text("Nowhere.")
    expect(page.locator("textarea:not([data-composer])")).to_have_count(0)
    ferry.ask(f"{path}/branches/main/switch", {})
    expect(box).to_have_value("Under the bed.")
    box.press("Control+Enter")
    expect(row(page, 1).locator(".story-text")).to_have_text("Under the bed.")
    assert read_texts(ferry) == ["Is the ledger safe?", "Under the bed.", "Good."]


def test_a_failure_is_one_sentence_and_is_tried_again(page: Page, ferry: Served, teller: Teller) -> None:
    teller.texts = ["!The card is on fire.", "Here I am."]
    page.goto(f"{ferry.url}{ADDRESS}/read")
    say(page, "Are you there?")
    expect(page.get_by_role("alert").filter(has_text="The card is on fire.")).to_be_visible()
    expect(row(page, 3)).to_contain_text("Are you there?")
    page.get_by_role("button", name="Try again").click()
    expect(row(page, 4)).to_contain_text("Here I am.")
    assert read_texts(ferry)[-2:] == ["Are you there?", "Here I am."]


def test_what_failed_is_what_is_tried_again_and_no_passage_is_replaced(
    page: Page, ferry: Served, teller: Teller
) -> None:
    teller.texts = ["!Too many.", "The rain stopped.", "!Too many.", "Then wind."]
    ferry.ask("api/v1/stories/The%20ferry/chat/setup", {"setup": {"form": "prose"}}, "PATCH")
    page.goto(f"{ferry.url}{ADDRESS}/read")
    box = page.get_by_label("What should happen in the next passage")
    box.fill("The weather turns.")
    page.keyboard.press("Control+Enter")
    expect(page.get_by_role("alert").filter(has_text="Too many.")).to_be_visible()
    expect(box).to_have_value("The weather turns.")
    page.get_by_role("button", name="Try again").click()
    expect(row(page, 3)).to_contain_text("The rain stopped.")
    expect(box).to_have_value("")
    assert "The weather turns." in teller.prompts[1][-1]["content"]
    assert read_texts(ferry)[2:] == ["Under the stair.", "The rain stopped."]

    box.fill("Unsent.")
    row(page, 3).get_by_role("button", name="Continue").click()
    expect(page.get_by_role("alert").filter(has_text="Too many.")).to_be_visible()
    page.get_by_role("button", name="Try again").click()
    expect(row(page, 3)).to_contain_text("The rain stopped. Then wind.")
    expect(box).to_have_value("Unsent.")


def test_a_failure_is_told_when_it_can_be_tried_again(page: Page, ferry: Served, teller: Teller) -> None:
    """A click on `Try again` did nothing while the page still looked for what had become of the story."""
    teller.texts = ["!Too many.", "Here I am."]
    page.goto(f"{ferry.url}{ADDRESS}/read")
    expect(row(page, 2)).to_be_visible()
    looks: list[Route] = []
    page.route("**/messages?limit=*", lambda route: looks.append(route))  # noqa: PLW0108
    say(page, "Are you there?")
    while not looks:
        page.wait_for_timeout(50)
    page.wait_for_timeout(200)
    expect(page.get_by_role("alert")).to_have_count(0)
    for look in looks:
        look.continue_()
    page.unroute("**/messages?limit=*")
    page.get_by_role("button", name="Try again").click()
    expect(row(page, 4)).to_contain_text("Here I am.")


def test_without_a_model_one_adds_messages_and_finds_the_way_to_name_one(page: Page, tmp_path: Path) -> None:
    with serve(tmp_path / "stories.db", "", settings=SETTINGS) as served:
        served.ask("api/v1/stories", {"story": STORY})
        page.goto(f"{served.url}{ADDRESS}/read")
        expect(page.locator("main")).to_contain_text("Add a message below")
        box, who = page.get_by_label("Say something"), page.get_by_label("Who says it")
        box.fill("Is the ferry in?")
        page.get_by_role("button", name="Add", exact=True).click()
        expect(page.locator(".message .story-text")).to_have_text(["Is the ferry in?"])
        expect(box).to_have_value("")
        who.fill("Odalys")
        box.fill("Not yet.")
        box.press("Control+Enter")
        expect(page.locator(".message .story-text")).to_have_text(["Is the ferry in?", "Not yet."])
        kept = served.ask("api/v1/stories/The%20ferry/messages")["messages"]
        assert [(one["role"], one["speaker"]) for one in kept] == [("user", None), ("assistant", "Odalys")]
        page.get_by_label("Write on").get_by_role("link", name="Settings → Model").click()
        expect(page.get_by_role("tab", name="Model")).to_have_attribute("aria-selected", "true")


def test_prose_goes_on_by_a_direction(page: Page, ferry: Served, teller: Teller) -> None:
    teller.texts = ["The rain stopped."]
    page.goto(f"{ferry.url}{ADDRESS}/read")
    page.get_by_role("button", name="Setup").click()
    page.get_by_label("Form").select_option("prose")
    page.get_by_label("Author’s note").fill("Past tense.")
    page.get_by_role("button", name="Save").click()
    expect(page.locator(".reading.prose")).to_be_visible()
    page.get_by_label("What should happen in the next passage").fill("The weather turns.")
    page.keyboard.press("Control+Enter")
    expect(row(page, 3)).to_contain_text("The rain stopped.")
    asked = teller.prompts[0]
    assert [one["role"] for one in asked] == ["system", "user"]
    assert "The weather turns." in asked[1]["content"]
    assert "Past tense." in asked[1]["content"]
    page.keyboard.press("Escape")
    page.keyboard.press("p")
    expect(page.locator(".reading.chat")).to_be_visible()


def test_words_survive_a_reload_and_a_killed_server_and_are_said_once(
    page: Page, ferry: Served, teller: Teller
) -> None:
    teller.texts = ["Slowly …", "It came."]
    page.goto(f"{ferry.url}{ADDRESS}/read")
    page.get_by_label("Say something").fill("When does it come?")
    page.reload()
    expect(page.get_by_label("Say something")).to_have_value("When does it come?")
    page.get_by_label("Say something").focus()
    page.keyboard.press("Control+Enter")
    expect(page.get_by_label("The reply that is being written")).to_contain_text("Slowly")
    ferry.kill()
    expect(page.get_by_role("alert").filter(has_text="Your words are kept")).to_be_visible()
    expect(page.get_by_label("Say something")).to_have_value("When does it come?")
    ferry.start()
    expect(page.locator(".banner")).to_have_count(0)
    page.get_by_label("Say something").focus()
    page.keyboard.press("Control+Enter")
    expect(row(page, 4)).to_contain_text("It came.")
    assert read_texts(ferry).count("When does it come?") == 1


def test_a_reply_goes_on_through_a_reload_and_another_tab_is_told(page: Page, ferry: Served, teller: Teller) -> None:
    teller.texts = ["It was a long crossing …"]
    page.goto(f"{ferry.url}{ADDRESS}/read")
    say(page, "Tell me.")
    expect(page.get_by_label("The reply that is being written")).to_contain_text("long")
    expect(row(page, 3)).to_contain_text("Tell me.")
    expect(page.get_by_text("Tell me.", exact=True)).to_have_count(1)
    page.reload()
    expect(page.get_by_label("The reply that is being written")).to_contain_text("It was a long crossing")
    other = page.context.new_page()
    other.goto(f"{ferry.url}{ADDRESS}/read")
    expect(other.get_by_label("The reply that is being written")).to_contain_text("It was a long")
    page.get_by_role("button", name="Stop").click()
    expect(row(page, 4)).to_contain_text("It was a long crossing")
    expect(row(other, 4)).to_contain_text("It was a long crossing")
    expect(page.get_by_label("Say something")).to_have_value("")


@pytest.mark.slow(reason="writes ten thousand messages")
def test_ten_thousand_messages_scroll(page: Page, tmp_path: Path, teller: Teller) -> None:
    database = tmp_path / "long.db"

    def tell() -> None:
        with BlockingMemory(database) as memory:
            lines = (f"Line {n} of it. " + "The river ran on. " * (1 + n * 7 % 9) for n in range(10_000))
            drafts = [Draft(message("user" if n % 2 else "assistant", line)) for n, line in enumerate(lines)]
            memory.story(LONG).add_drafts(drafts)

    with ThreadPoolExecutor(1) as thread:
        thread.submit(tell).result()
    upstream = Upstream(teller)
    with serve(database, upstream.url, settings=SETTINGS) as served:
        page.goto(f"{served.url}#/story/Ten%20thousand/read")
        expect(row(page, 9_999)).to_contain_text("Line 9999 of it.")
        page.get_by_label("Search this story, or go to a message").fill("5000")
        page.keyboard.press("Enter")
        expect(row(page, 5_000)).to_contain_text("Line 5000 of it.")
        expect(row(page, 5_000)).to_be_in_viewport()
        for share in (0.25, 0.5, 0.75):
            page.evaluate(f"scrollTo(0, document.documentElement.scrollHeight * {share})")
            _wait_for_rows(page)
            shown = _list_in_sight(page)
            assert abs(shown[0][0] - 10_000 * share) < 500, shown
            assert all(text.startswith(f"Line {position} of it.") for position, text in shown), shown
            assert page.locator("[data-position]").count() <= 130
        for _ in range(20):
            page.mouse.wheel(0, -900)
            _wait_for_rows(page)
        before = _list_in_sight(page)
        assert [position for position, _ in before] == list(range(before[0][0], before[0][0] + len(before)))
        assert page.evaluate("document.querySelectorAll('*').length") < 3_000
    upstream.close()


def _wait_for_rows(page: Page) -> None:
    """Wait until rows are there. (Playwright's own way to wait needs what the page's headers forbid.)"""
    until = time.monotonic() + PATIENCE_S
    while not page.evaluate(IN_SIGHT):
        assert time.monotonic() < until, "nothing is in sight"
        page.wait_for_timeout(100)


def _list_in_sight(page: Page) -> list[tuple[int, str]]:
    rows = page.evaluate(
        "[...document.querySelectorAll('.message[data-position]')].filter((one) => { const at = "
        "one.getBoundingClientRect(); return at.bottom > 110 && at.top < innerHeight - 150; }).map((one) => "
        "[Number(one.dataset.position), one.querySelector('.story-text')?.textContent ?? ''])"
    )
    return [(position, text) for position, text in rows]


def test_two_turns_of_a_game_are_played_with_the_cast_beside_it(page: Page, tmp_path: Path) -> None:
    upstream = Upstream(_play)
    with serve(tmp_path / "stories.db", upstream.url, "--memory-model", "scripted", settings=SETTINGS) as served:
        page.goto(f"{served.url}#/games")
        page.get_by_role("button", name="Play").click()
        expect(page.get_by_role("heading", name="The Drowned Bell")).to_be_visible()
        for turn, words in enumerate(("I look at the clock.", "I ask Bram who rings the bell."), 1):
            page.get_by_label("What you say and do").fill(words)
            page.keyboard.press("Enter")
            expect(page.get_by_text(f"turn {turn}")).to_be_visible()
            expect(page.locator(".said.player").last).to_contain_text(words)
        side = page.get_by_label("The cast, and what each knows")
        expect(side).to_contain_text("Bram Tully")
        expect(side).to_contain_text("The bell rang.")
        page.get_by_role("button", name="Take back").click()
        page.get_by_role("button", name="Take it back").click()
        expect(page.get_by_text("turn 1")).to_be_visible()
        expect(page.locator(".said.player")).to_have_count(1)
    upstream.close()


def _play(request: ServedRequest) -> str:
    """Answer as each agent of the game must."""
    system = request.messages[0]["content"]
    if system.startswith("You narrate"):
        return "The water stands still, and the bell rings once.\nPRESENT: Bram Tully\nANSWERS: nobody\nMOOD: calm"
    if system.startswith("You keep the score"):
        return "HIT: none\nCOMPLETE: no"
    if system.startswith("You keep the memory"):
        return '{"summary": "The bell rang.", "facts": ["The bell rang once."]}'
    return "I heard nothing."


def test_only_what_a_person_can_reach_by_keys_is_there(page: Page, ferry: Served, teller: Teller) -> None:
    teller.texts = ["By key."]
    page.goto(f"{ferry.url}{ADDRESS}/read")
    expect(row(page, 2)).to_be_visible()
    page.keyboard.press("k")
    expect(page.locator(".message:focus")).to_have_count(1)
    page.keyboard.press("r")
    expect(row(page, 2)).to_contain_text("By key.")
    page.keyboard.press("[")
    expect(row(page, 2)).to_contain_text("Under the stair.")
    page.keyboard.press("n")
    expect(page.get_by_label("Say something")).to_be_focused()
