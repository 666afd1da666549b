"""A story that begins with the memory of another."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from previously import BadInput, BlockingMemory, Memory, ScriptedModel, Settings
from previously.blocking import BlockingStory
from previously.story.ask import NOTHING_FOUND
from previously.view.view import Section, View

SMALL = Settings(tail_messages=4, fold_messages=4)


@pytest.fixture
def memory() -> Iterator[BlockingMemory]:
    with BlockingMemory(":memory:", settings=SMALL) as opened:
        yield opened


def tell(memory: BlockingMemory, name: str = "ferry", messages: int = 12) -> BlockingStory:
    story = memory.story(name)
    for number in range(messages):
        story.add("user", f"Odalys hid ledger {number} under the stair of mill {number}.", name="Wren")
    return story


def told_before(view: View) -> str:
    return view.messages[0].text.partition("# Before this story")[2]


def test_all_of_the_old_story_is_remembered(memory: BlockingMemory) -> None:
    old = tell(memory)
    old.write_lore("Odalys", "character", content="She has one blue eye.", keywords=["Odalys"])
    old.open_thread("Wren promised Odalys the brass key")
    old.hold("Wren / place: the quay")
    continued = memory.continue_story("ferry", "winter")
    assert (continued.story, continued.earlier, continued.messages) == ("winter", "ferry", 12)
    new = memory.story("winter")
    new.add("user", "Odalys, do you remember?", name="Wren")
    view = new.view(4_000)
    assert "ledger 0 " in told_before(view) and "ledger 11" in told_before(view), "the newest messages too"
    earlier = [item for item in view.items if item.section is Section.EARLIER]
    assert "from messages 0-11 of the story 'ferry'" in earlier[0].reason and earlier[0].tokens > 0
    assert [one.thread.text for one in new.threads()] == ["Wren promised Odalys the brass key"]
    assert [one.text for one in new.state()] == ["Wren / place: the quay"]
    assert [one.name for one in new.lore()] == ["Odalys"]
    assert not view.left_out
    assert [item.section for item in view.items if item.reason.endswith("since before this story")] == [
        Section.THREADS,
        Section.STATE,
    ]


def test_nothing_is_copied(memory: BlockingMemory) -> None:
    tell(memory)
    memory.continue_story("ferry", "winter")
    new = memory.story("winter")
    assert (new.branch_info().messages, new.log(), new.recap()) == (0, [], None)


def test_what_happens_to_the_old_story_later_is_not_part_of_it(memory: BlockingMemory) -> None:
    old = tell(memory)
    memory.continue_story("ferry", "winter")
    old.edit(0, "Nobody hid anything.")
    old.add("user", "Wren burnt the mill.", name="Wren")
    old.open_thread("Who saw the fire?")
    new = memory.story("winter")
    assert "ledger 0 " in told_before(new.view(4_000)) and "burnt" not in str(new.view(4_000))
    assert not new.threads()


def test_a_text_of_another_branch_does_not_stand_in(memory: BlockingMemory) -> None:
    old = tell(memory)
    memory.continue_story("ferry", "winter", fold=False)
    old.edit(1, "Wren burnt the mill.")
    old.close_chapter("")
    old.fold()
    new = memory.story("winter")
    assert "burnt" not in str(new.view(4_000))
    new.fold()
    assert "ledger 0 " in told_before(new.view(4_000)) and "burnt" not in str(new.view(4_000))


def test_a_story_is_continued_from_a_place_and_a_branch(memory: BlockingMemory) -> None:
    old = tell(memory)
    old.branch("what-if", 5)
    memory.continue_story("ferry", "early", at=2)
    memory.continue_story("ferry", "other", branch="what-if")
    assert memory.story("early").continues() == memory.story("early").continues()
    assert [memory.story(name).continues().messages for name in ("early", "other")] == [3, 6]  # type: ignore[union-attr]
    assert "ledger 3" not in told_before(memory.story("early").view(4_000))


def test_what_the_new_story_says_itself_stands_in_place(memory: BlockingMemory) -> None:
    old = tell(memory)
    old.write_lore("Odalys", "character", content="She has one blue eye.", keywords=["Odalys"])
    old.hold("Wren / place: the quay")
    old.open_thread("Wren promised Odalys the brass key")
    memory.continue_story("ferry", "winter")
    new = memory.story("winter")
    new.add("user", "I am home.", name="Wren")
    new.hold("Wren / place: home")
    new.write_lore("Odalys", "character", content="She is blind.")
    new.resolve_thread("Wren promised Odalys the brass key")
    assert [one.text for one in new.state()] == ["Wren / place: home"]
    assert [one.content for one in new.lore()] == ["She is blind."]
    assert new.threads() == [] and len(old.threads()) == 1
    new.undo()
    assert len(new.threads()) == 1


def test_undo_takes_the_link_back(memory: BlockingMemory) -> None:
    tell(memory)
    memory.continue_story("ferry", "winter")
    new = memory.story("winter")
    assert new.undo() == "that this story continues another"
    assert new.continues() is None and not new.view(1_000).items


def test_a_branch_of_the_new_story_continues_it_too(memory: BlockingMemory) -> None:
    tell(memory)
    memory.continue_story("ferry", "winter")
    new = memory.story("winter")
    new.add("user", "Snow.", name="Wren")
    new.branch("what-if", 0)
    new.switch("what-if")
    assert told_before(new.view(4_000))


def test_stories_are_continued_again_and_again(memory: BlockingMemory) -> None:
    tell(memory)
    memory.continue_story("ferry", "winter")
    second = memory.story("winter")
    for number in range(8):
        second.add("user", f"Snow fell on roof {number}.", name="Wren")
    memory.continue_story("winter", "spring")
    view = memory.story("spring").view(8_000)
    assert "ledger 0 " in told_before(view) and "roof 0" in told_before(view)
    assert {hit.story for hit in memory.story("spring").search("ledger roof")} == {"ferry", "winter"}


def test_messages_of_the_old_story_are_found_and_blamed(memory: BlockingMemory) -> None:
    tell(memory)
    memory.continue_story("ferry", "winter", at=3)
    new = memory.story("winter")
    new.add("user", "The ledger is wet.", name="Wren")
    hits = new.search("ledger mill 2")
    assert (hits[0].story, hits[0].position) == ("ferry", 2)
    assert {hit.story for hit in hits} == {"ferry", ""}
    assert len(new.search("ledger", top=2)) == 2
    assert sum(hit.tokens for hit in new.search("ledger", budget_tokens=60)) <= 60
    assert new.blame("hid ledger 2 under the stair")[0].story == "ferry"


def test_questions_are_answered_from_the_old_story(memory: BlockingMemory) -> None:
    old = tell(memory)
    old.open_thread("Wren promised Odalys the brass key")
    old.hold("Wren / place: the quay")
    old.close_chapter("The ferry")
    old.write("chapter:1", "Wren crossed the river at night.")
    memory.continue_story("ferry", "winter")
    new = memory.story("winter")

    def find(question: str) -> dict[str, str]:
        return {source.label: source.text for source in new.ask(question).sources}

    for said in ("", "Snow fell on the roof."):
        if said:
            new.add("user", said, name="Wren")
        assert find("Where is ledger 3?")["message 3 of ferry, Wren"].startswith("Odalys hid ledger 3")
        assert any(label.startswith(("chapter 1 of ferry", "backbone of ferry")) for label in find("Where is Wren?"))
        assert find("Who has the brass key?") == {
            "thread 1, open, since before this story": "Wren promised Odalys the brass key"
        }
        assert new.ask("Who won the regatta at Ellery?").text == NOTHING_FOUND
    new.hold("Wren / place: home")
    assert find("At what place is Wren?")["state 1, message 0"] == "Wren / place: home"
    assert "the quay" not in str(find("At what place is Wren?").values()), "things stand otherwise now"


def test_only_who_was_there_gets_answers(memory: BlockingMemory) -> None:
    old = memory.story("ferry")
    old.add("user", "Odalys is the heir.", name="Wren", witnesses=["Wren"])
    old.add("assistant", "I heard nothing.", name="Bram", witnesses=["Bram", "Wren"])
    memory.continue_story("ferry", "winter")
    new = memory.story("winter")
    new.add("user", "Good morning.", name="Wren")
    new.add("assistant", "Morning.", name="Bram")
    new.add("assistant", "Who are you?", name="Corin")
    for who, knows in (("Wren", True), ("Bram", False), ("Corin", False)):
        assert ("is the heir" in repr(new.ask("Who is the heir?", witness=who).sources)) is knows
        assert ("heard nothing" in repr(new.ask("Who heard nothing?", witness=who).sources)) is (who != "Corin")


def test_a_kept_answer_goes_with_what_it_was_made_of() -> None:
    model = ScriptedModel("She hid it there [1].")
    with BlockingMemory(":memory:", settings=SMALL, model=model) as memory:
        tell(memory, messages=2)
        memory.continue_story("ferry", "winter", fold=False)
        new = memory.story("winter")
        assert [new.ask("Where is ledger 1?").calls for _ in range(2)] == [1, 0]
        memory.forget("ferry", 0)
        assert new.ask("Where is ledger 1?").calls == 1


def test_only_who_was_there_is_told(memory: BlockingMemory) -> None:
    old = memory.story("ferry")
    old.add("user", "Odalys is the heir.", name="Wren", witnesses=["Wren"])
    old.add("assistant", "I heard nothing.", name="Bram", witnesses=["Bram", "Wren"])
    memory.continue_story("ferry", "winter")
    new = memory.story("winter")
    new.add("user", "Good morning.", name="Wren")
    new.add("assistant", "Morning.", name="Bram")
    new.add("assistant", "Who are you?", name="Corin")
    for who, knows in (("Wren", True), ("Bram", False), ("Corin", False)):
        seen = f"{new.view(4_000, reader=f'character:{who}')}"
        hits = [hit.text for hit in new.search("Who is the heir?", witness=who)]
        assert ("Odalys is the heir." in hits) is knows
        assert knows or "heir" not in seen
        with_bram = [hit.text for hit in new.search("heard nothing", witness=who)]
        assert ("I heard nothing." in with_bram) is (who != "Corin")


def test_the_past_does_not_eat_the_view(memory: BlockingMemory) -> None:
    tell(memory, messages=60)
    memory.continue_story("ferry", "winter")
    new = memory.story("winter")
    for number in range(40):
        new.add("user", f"Snow fell on roof number {number} of the long street by the quay.", name="Wren")
    for budget in (600, 2_000, 8_000):
        view = new.view(budget)
        spent = sum(item.tokens for item in view.items if item.section is Section.EARLIER)
        assert view.tokens <= budget and spent <= budget * 0.3 + 20


def test_forgetting_the_old_story_takes_what_came_from_it(memory: BlockingMemory) -> None:
    old = tell(memory)
    old.open_thread("Wren promised Odalys the brass key")
    memory.continue_story("ferry", "winter")
    new = memory.story("winter")
    new.add("user", "Snow.", name="Wren")
    assert "ledger 0 " in str(new.view(4_000))
    assert memory.to_forget("ferry", 0).continued_by == ("winter",)
    memory.forget("ferry", 0)
    assert new.last_view() is None and "ledger 0 " not in str(new.view(4_000)), "nor in what was shown before"
    new.fold()
    assert "ledger 1 " in told_before(new.view(4_000)) and "ledger 0 " not in str(new.view(4_000))
    memory.forget("ferry")
    assert not new.threads() and "ledger" not in str(new.view(4_000)) and new.last_view() is not None
    link = new.continues()
    assert link is not None and link.story == ""
    assert memory.verify().clean


def test_names_may_change(memory: BlockingMemory) -> None:
    old = tell(memory)
    memory.continue_story("ferry", "winter")
    memory.rename("ferry", "boat")
    old.rename_branch("continued by winter", "the end")
    link = memory.story("winter").continues()
    assert link is not None and link.story == "boat"
    assert told_before(memory.story("winter").view(4_000))


def test_the_link_comes_along_in_a_backup(tmp_path: Path) -> None:
    with BlockingMemory(str(tmp_path / "stories.db"), settings=SMALL) as memory:
        tell(memory)
        memory.continue_story("ferry", "winter")
        view = memory.story("winter").view(4_000)
        memory.backup(tmp_path / "backup.db")
    with BlockingMemory(str(tmp_path / "other.db"), settings=SMALL) as memory:
        memory.restore(tmp_path / "backup.db")
        assert memory.story("winter").view(4_000).messages == view.messages
        assert memory.verify().clean


def test_what_cannot_be_continued_is_refused(memory: BlockingMemory) -> None:
    tell(memory)
    memory.story("empty")
    memory.story("taken").add("user", "Hello.")
    for story, new, sentence in (
        ("ferry", "ferry", "cannot continue itself"),
        ("ferry", "taken", "There is a story named 'taken' already"),
        ("empty", "winter", "has no messages yet"),
        ("none", "winter", "none"),
    ):
        with pytest.raises(BadInput, match=sentence):
            memory.continue_story(story, new)
    with pytest.raises(BadInput):
        memory.continue_story("ferry", "winter", at=99)
    assert [info.name for info in memory.stories()] == ["empty", "ferry", "taken"]


async def test_of_several_at_once_one_begins_the_new_story(tmp_path: Path) -> None:
    async with await Memory.open(tmp_path / "stories.db", settings=SMALL) as memory:
        story = await memory.story("ferry")
        await story.add("user", "Odalys hid the ledger.")
        done = await asyncio.gather(
            *(memory.continue_story("ferry", "winter") for _ in range(3)), return_exceptions=True
        )
        assert sorted(isinstance(one, BadInput) for one in done) == [False, True, True]
        assert [branch.name for branch in await story.branches()] == ["main", "continued by winter"]


def test_a_story_that_has_begun_may_continue_one_and_no_second(memory: BlockingMemory) -> None:
    tell(memory)
    memory.story("winter").add("user", "Snow.")
    memory.continue_story("ferry", "winter", begun=True)
    with pytest.raises(BadInput, match="continues a story already"):
        memory.continue_story("ferry", "winter", begun=True)
    with pytest.raises(BadInput, match="'winter' continues 'ferry' itself"):
        memory.continue_story("winter", "ferry", begun=True)


def test_an_agents_work_goes_on() -> None:
    with BlockingMemory(":memory:", settings=Settings.of("agent")) as memory:
        story = memory.story("build")
        story.add("user", "Make the parser in src/parse.py read tabs. Never touch the lexer.")
        story.add("assistant", "I changed src/parse.py; the tests pass.")
        memory.continue_story("build", "next")
        again = memory.story("next")
        again.add("user", "Now spaces.")
        assert "Never touch the lexer" in told_before(again.view(4_000))


def test_settings_and_books_are_those_of_the_old_story(memory: BlockingMemory) -> None:
    old = tell(memory)
    memory.keep_book("lethen", [{"name": "Grim", "keywords": ["Grim"], "content": "A barkeeper."}])
    old.attach_book("lethen")
    old.set(["recap_words=99"])
    memory.continue_story("ferry", "winter")
    new = memory.story("winter")
    assert (new.attached_books(), new.settings()) == (["lethen"], {"recap_words": 99})
