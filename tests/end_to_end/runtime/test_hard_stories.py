"""Stories that are hard on memory: nothing to retell, tools, instructions in the middle, others writing meanwhile."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from previously import Attributes, BadInput, BlockingMemory, Draft, Message, Settings, StoreProblem, message
from previously.blocking import BlockingStory
from previously.core.json_values import MAX_MESSAGE_BYTES
from previously.core.messages import Image, Role, Text, ToolCall, ToolResult
from previously.core.path import OnPath
from previously.storage.store import StoryKey
from previously.storage.tables.paths import PathReader
from previously.storage.tables.stories import BranchRow

SMALL = Settings(tail_messages=2, fold_messages=6, fold_words=400, fold_tokens=600, recap_words=60)


def story_of(memory: BlockingMemory, *messages: Message) -> BlockingStory:
    story = memory.story("tale")
    story.add_drafts([Draft(one) for one in messages])
    return story


@pytest.mark.parametrize(
    "text",
    ["", " ", "...", "?", "(OOC: brb)", "🌧️", "QUJD" * 7_000, "https://example.org/a", "<div></div>", "```\nx = 1\n```"],
)
def test_messages_with_nothing_to_retell_never_stop_memory(text: str) -> None:
    with BlockingMemory(":memory:", settings=SMALL) as memory:
        story = story_of(memory, *[message("user", text, speaker="A")] * 20)
        for number in range(30):
            story.add("user", f"Maya took parcel {number} to the mill.", name="Maya")
        report = story.fold()
        assert {fold.status for fold in report.folds} == {"committed"}
        assert not story.view(2_000).fold_due
        live = story.recap()
        assert live is not None
        assert "Maya" in live.text


def test_a_story_of_pictures_is_folded_and_accounted_for() -> None:
    with BlockingMemory(":memory:", settings=SMALL) as memory:
        story = story_of(memory, *[Message(Role.USER, (Image("data:,x"),))] * 30)
        story.fold()
        view = story.view(3_000)
        positions = [p for item in view.items for span in item.sources for p in range(span.first, span.last + 1)]
        positions += [p for out in view.left_out if out.span for p in range(out.span.first, out.span.last + 1)]
        assert sorted(positions) == list(range(30))


def test_what_tools_say_and_instructions_in_the_middle_are_remembered() -> None:
    with BlockingMemory(":memory:", settings=SMALL) as memory:
        story = story_of(
            memory,
            message("system", "Answer in verse."),
            message("user", "Find the piano."),
            Message(Role.ASSISTANT, (Text("I look."), ToolCall("1", "search", "{}"))),
            Message(Role.TOOL, (ToolResult("1", "The piano stands in the loft of Saint Orla in Dunmarrow."),)),
            message("system", "King Aldous declared war on the harbour of Lethen at dawn."),
            *[message("user", f"Wren wrote line {number} of the letter.", speaker="Wren") for number in range(6)],
        )
        assert story.fold().folds
        live = story.recap()
        assert live is not None
        assert "Dunmarrow" in live.text
        assert "Aldous" in live.text
        assert "verse" not in live.text
        assert story.view(2_000).messages[0].text.startswith("Answer in verse.")


def test_choosing_a_swipe_in_the_file_again_makes_no_new_one() -> None:
    texts = ["Hi.", "Hello.", "Hey."]

    def chat(shown: int) -> list[Draft]:
        others = tuple(Draft(message("assistant", text)) for index, text in enumerate(texts) if index != shown)
        return [Draft(message("user", "Knock.")), Draft(message("assistant", texts[shown]), alternatives=others)]

    with BlockingMemory(":memory:", settings=SMALL) as memory:
        story = memory.story("tale")
        for shown in (1, 2, 1, 0, 2):
            story.follow(chat(shown))
            assert story.messages()[-1].entry.message.text == texts[shown]
        assert sorted(entry.message.text for entry in story.swipes()) == sorted(texts)


def test_a_story_that_has_lost_messages_is_not_folded(monkeypatch: pytest.MonkeyPatch) -> None:
    span = PathReader.span

    def damaged(self: PathReader, key: StoryKey, branch: BranchRow, first: int, last: int) -> list[OnPath]:
        return [] if last > first else span(self, key, branch, first, last)

    with BlockingMemory(":memory:", settings=SMALL) as memory:
        story = memory.story("tale")
        for number in range(20):
            story.add("user", f"Line {number}.")
        monkeypatch.setattr(PathReader, "span", damaged)
        with pytest.raises(StoreProblem, match="lost part of its path"):
            story.fold()


def test_many_hands_on_one_story_never_see_an_error(tmp_path: Path) -> None:
    place = tmp_path / "stories.db"
    with BlockingMemory(place, settings=SMALL) as memory:
        story = memory.story("tale")
        for number in range(30):
            story.add("user", f"Maya carried parcel {number} to the mill.", name="Maya")
    errors: list[BaseException] = []

    def work(which: int) -> None:
        try:
            with BlockingMemory(place, settings=SMALL) as memory:
                story = memory.story("tale")
                for number in range(25):
                    try:
                        match (which + number) % 5:
                            case 0 | 1:
                                story.add("user", f"Hand {which} wrote line {number}.", name="Maya")
                            case 2:
                                story.delete(-1)
                            case 3:
                                story.edit(-1, f"Hand {which} changed it.")
                            case _:
                                story.fold()
                        story.view(1_000)
                    except BadInput as error:
                        assert "no message" in str(error)
        except BaseException as error:  # whatever it is, the test shows it
            errors.append(error)

    hands = [threading.Thread(target=work, args=(which,)) for which in range(4)]
    for hand in hands:
        hand.start()
    for hand in hands:
        hand.join()
    assert errors == []


@pytest.mark.parametrize(
    "draft",
    [
        Draft(message("user", "x", speaker="n" * (MAX_MESSAGE_BYTES + 1))),
        Draft(message("user", "x"), Attributes(extra={"k": "v" * (MAX_MESSAGE_BYTES + 1)})),
        Draft(message("user", "x"), Attributes(source_id="i" * (MAX_MESSAGE_BYTES + 1))),
        Draft(message("user", "x", witnesses=["w" * (MAX_MESSAGE_BYTES + 1)])),
        Draft(message("user", "x"), Attributes(extra={"k": float("nan")})),
    ],
    ids=["speaker", "extra", "id", "witnesses", "not a number"],
)
def test_what_cannot_be_stored_is_refused_and_nothing_lost(draft: Draft) -> None:
    with BlockingMemory(":memory:") as memory:
        story = memory.story("tale")
        story.add("user", "Hello.")
        with pytest.raises(BadInput):
            story.add_drafts([draft])
        assert len(story.messages()) == 1


def test_names_and_words_that_cannot_be_stored_are_bad_input() -> None:
    with BlockingMemory(":memory:") as memory:
        for name in ("", " ", "\ud800", "a\x00b"):
            with pytest.raises(BadInput):
                memory.story(name)
        story = memory.story("tale")
        with pytest.raises(BadInput):
            story.branch("\ud800")
        with pytest.raises(BadInput):
            story.add("user", 5)  # type: ignore[arg-type]
