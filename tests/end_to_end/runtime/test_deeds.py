"""The law of `undo`: it goes back through what a person did, step by step, on every store, and through no fold."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from previously import BadInput, BlockingMemory, Memory, Settings
from previously.blocking import BlockingStory
from previously.core.errors import HeadMoved
from previously.core.messages import Draft, message
from previously.core.model_io import FailureKind, ModelFailure, ModelRequest
from previously.formats.files import SourceBook, StorySource
from previously.storage.store import Store, StoryKey
from previously.testing import ScriptedModel
from tests.contract.storage.postgres_server import shared_server

RULES = Settings(tail_messages=2, fold_messages=5, recap_words=60, chapter_messages=0, cast="off")


@pytest.fixture(params=["sqlite", "postgres"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return str(tmp_path / "stories.db") if request.param == "sqlite" else shared_server().emptied()


@pytest.fixture
def memory(place: str) -> Iterator[BlockingMemory]:
    with BlockingMemory(place, settings=RULES) as opened:
        yield opened


@pytest.fixture
def story(memory: BlockingMemory) -> BlockingStory:
    story = memory.story("tale")
    for number in range(14):
        story.add("user" if number % 2 else "assistant", f"Maya paid {number} crowns for the bell.", name="Maya")
    story.close_chapter("One", 5)
    story.fold()
    return story


def look(story: BlockingStory) -> tuple[object, ...]:
    """All that a person sees of a story, but for the log."""
    path = [(one.entry.message.text, one.entry.attributes.hidden) for one in story.messages()]
    texts = [one and one.text for one in (story.recap(), story.backbone(), *(one.recap for one in story.chapters()))]
    marks = [(one.title, one.span) for one in story.chapters()], [one.text for one in story.pins()]
    lists = story.threads(everything=True), story.state(), story.lore(everything=True)
    return story.branch_info().name, path, texts, marks, lists


def do_something(story: BlockingStory, chance: random.Random) -> bool:
    """Do one thing as a person does; return whether it can be undone."""
    length = story.branch_info().messages
    at = chance.randrange(length)
    match chance.randrange(12):
        case 0:
            story.edit(at, f"Edited {chance.random()}.")
        case 1 if length > 6:
            story.delete(at)
        case 2:
            story.insert(at, "user", f"Put in {chance.random()}.")
        case 3:
            before = story.messages(at, at)[0].entry.attributes.hidden
            story.hide(at)
            return not before
        case 4:
            story.pin(f"Pinned {chance.random()}.", at=at)
        case 5 if story.pins():
            story.unpin(story.pins()[0].id)
        case 6:
            story.write_lore(chance.choice(("Bell", "Crown")), content=f"Said {chance.random()}.")
        case 7:
            story.open_thread(f"Who paid {chance.random()}?", owner="Maya")
        case 8 if story.threads():
            story.remove_thread(story.threads()[0].thread.id)
        case 9:
            story.hold(f"Maya / place: mill {chance.random()}")
        case 10 if story.chapters():
            story.open_chapter(1)
        case 11:
            other = next((one.name for one in story.branches() if one.name != story.branch_info().name), None)
            if other is None:
                story.branch(other := "aside", at)
            story.switch(other)
        case _:
            return False
    return True


@pytest.mark.parametrize("seed", range(4))
def test_undo_goes_back_step_by_step(story: BlockingStory, memory: BlockingMemory, seed: int) -> None:
    chance = random.Random(seed)
    story.branch("aside", 9)
    seen = [look(story)]
    for _ in range(14):
        if do_something(story, chance):
            seen.append(look(story))
    for before in reversed(seen[:-1]):
        assert story.undo()
        assert look(story) == before
    assert memory.verify().faults == ()


def test_what_a_fold_did_meanwhile_stays(story: BlockingStory) -> None:
    story.pin("Kept.")
    for number in range(12):
        story.add("user", f"Wren told Maya of ship {number}.", name="Wren")
    made = [fold.kind for fold in story.fold().folds]
    assert made
    assert story.undo() == "the pin “Kept.”"
    assert {version.made.status for version in story.log()} == {"committed"}


def test_a_decision_is_undone(story: BlockingStory) -> None:
    story.set(["review=true"])
    for number in range(12):
        story.add("user", f"Wren told Maya of ship {number}.", name="Wren")
    story.fold()
    (waiting,) = story.pending()
    story.approve(waiting.id)
    assert story.undo() == "the approval"
    assert [one.id for one in story.pending()] == [waiting.id]
    story.reject(waiting.id, "dull")
    assert story.undo() == "the rejection"
    assert [one.id for one in story.pending()] == [waiting.id]


def test_names_of_stories_and_branches(memory: BlockingMemory, story: BlockingStory) -> None:
    memory.rename("tale", "saga")
    assert [one.name for one in memory.stories()] == ["saga"]
    memory.story("tale")
    with pytest.raises(BadInput, match="There is a story named 'saga' already"):
        memory.rename("tale", "saga")
    story.branch("aside", 3)
    assert story.rename_branch("aside", "what if").messages == 4
    with pytest.raises(BadInput, match="There is a branch named 'main' already"):
        story.rename_branch("what if", "main")
    assert [one.name for one in story.branches()] == ["main", "what if"]
    assert memory.verify().faults == ()


def test_two_things_that_are_one(story: BlockingStory) -> None:
    story.write_lore("Nott", "character", content="A goblin girl with a flask.")
    story.write_lore("Veth", "character", content="A halfling mother.")
    story.hold("Nott / place: the inn")
    story.merge_lore("nott", "veth")
    (entry,) = story.lore()
    assert (entry.name, entry.content, entry.earlier) == (
        "Veth",
        "A halfling mother.",
        ("A goblin girl with a flask.",),
    )
    assert [one.text for one in story.state()] == ["Veth / place: the inn"]
    assert story.undo() == "merging Nott into Veth"
    assert [one.text for one in story.state()] == ["Nott / place: the inn"]
    story.add("assistant", "I am Veth.", name="Veth")
    assert story.merge_cast("Veth", "Maya") == "Maya"
    assert "Veth" not in [one.name for one in story.cast()]
    story.undo()
    assert {"Veth", "Maya"} <= {one.name for one in story.cast()} | {"Maya"}


def test_the_same_edit_on_two_branches_is_undone_on_each(story: BlockingStory) -> None:
    words = story.messages()[3].entry.message.text
    story.branch("aside")
    story.edit(3, "The same.")
    story.switch("aside")
    story.edit(3, "The same.")
    assert story.undo() == "the edit of message 3"
    assert story.undo() == "the switch; main is active again"
    assert story.undo() == "the edit of message 3"
    assert story.messages()[3].entry.message.text == words


def test_the_only_message_comes_back_before_what_a_client_added(memory: BlockingMemory) -> None:
    story = memory.story("short")
    story.add("user", "Once.")
    story.delete(0)
    story.add("user", "Later.")
    assert story.undo() == "the deletion of message 0"
    assert [one.entry.message.text for one in story.messages()] == ["Once.", "Later."]


def test_a_renamed_branch_is_found_again(story: BlockingStory) -> None:
    story.pin("Kept.")
    story.branch("aside")
    story.switch("aside")
    story.switch("main")
    story.rename_branch("aside", "what if")
    with pytest.raises(BadInput, match="Renaming the branch aside cannot be taken back"):
        story.undo()
    assert story.undo() == "the switch; what if is active again"
    assert story.branch_info().name == "what if"


def test_a_decision_that_a_fold_went_past_is_not_said_to_be_undone(story: BlockingStory) -> None:
    story.pin("Kept.")
    story.set(["review=true"])
    for number in range(12):
        story.add("user", f"Wren told Maya of ship {number}.", name="Wren")
    story.fold()
    story.set(["review=false"])
    story.reject(story.pending()[0].id, "dull")
    story.fold()
    before = [version.made.status for version in story.log()]
    with pytest.raises(BadInput, match="The rejection cannot be taken back here: a fold has written another"):
        story.undo()
    assert [version.made.status for version in story.log()] == before
    assert [pin.text for pin in story.pins()] == ["Kept."]


def import_tale(memory: BlockingMemory) -> BlockingStory:
    story = memory.story("saga")
    drafts = [Draft(message("user", f"Maya counted ship {number}.", speaker="Maya")) for number in range(3)]
    story.take_in(StorySource(drafts, "text", {}, 0))
    return story


def test_a_book_is_detached_by_undo_and_attached_again(memory: BlockingMemory) -> None:
    memory.keep_book("lethen", [{"name": "Grim", "keywords": ["Grim"], "content": "A barkeeper."}])
    story = import_tale(memory)
    story.attach_book("lethen")
    story.attach_book("lethen")  # it is: nothing was done
    assert story.undo() == "attaching the book lethen"
    assert story.attached_books() == []
    story.attach_book("lethen")
    story.detach_book("lethen")
    assert story.undo() == "detaching the book lethen"
    assert story.attached_books() == ["lethen"]
    assert len(story.messages()) == 3


def test_a_book_that_came_by_itself_is_detached_by_undo(memory: BlockingMemory) -> None:
    story = import_tale(memory)
    book = {"entries": {"0": {"uid": 0, "key": ["Grim"], "content": "A barkeeper.", "comment": "Grim"}}}
    story.take_in(StorySource([], "text", {}, 0, books=(SourceBook("lethen", book),)))
    assert story.attached_books() == ["lethen"]
    assert story.undo() == "attaching the book lethen"
    assert (story.attached_books(), len(story.messages())) == ([], 3)


def continue_it(memory: BlockingMemory) -> None:
    memory.continue_story("saga", "winter")


def forget_some(memory: BlockingMemory) -> None:
    memory.forget("saga", 1, 2)


def forget_the_book(memory: BlockingMemory) -> None:
    memory.keep_book("lethen", [{"name": "Grim", "keywords": ["Grim"], "content": "A barkeeper."}])
    memory.story("saga").attach_book("lethen")
    memory.forget_book("lethen")


def change_over_an_edit(memory: BlockingMemory) -> None:
    story = memory.story("saga")
    story.edit(2, "Maya lost count.")
    story.regenerate("Maya slept.")  # as a client does


@pytest.mark.parametrize(
    ("do", "said"),
    [
        (continue_it, "Continuing this story as winter cannot be taken back here: `previously undo winter` takes"),
        (forget_some, "Forgetting messages 1 to 2 cannot be taken back here: what is forgotten is gone"),
        (forget_the_book, "Attaching the book lethen cannot be taken back here: the book is not attached any more"),
        (change_over_an_edit, "The edit of a message cannot be taken back here: its messages were changed again"),
        (lambda memory: memory.story("saga").branch("aside", 1), "Making the branch aside cannot be taken back"),
        (lambda memory: memory.story("saga").set(["review=true"]), "The change of review cannot be taken back"),
    ],
    ids=["continue", "forget", "forget book", "changed again", "branch", "set"],
)
def test_a_deed_without_a_way_back_is_named_and_no_older_one_is_taken_back(
    memory: BlockingMemory, do: Callable[[BlockingMemory], object], said: str
) -> None:
    story = import_tale(memory)
    do(memory)
    before = look(story)
    assert story.to_undo()[1] == 0
    with pytest.raises(BadInput, match=re.escape(said)) as refused:
        story.undo()
    assert "Nothing was changed; `undo` again takes back what the import changed." in str(refused.value)
    assert look(story) == before
    assert memory.verify().faults == ()


def test_the_old_name_of_a_story_is_told(memory: BlockingMemory) -> None:
    import_tale(memory)
    memory.rename("saga", "chronicle")
    with pytest.raises(BadInput, match="Renaming the story saga cannot be taken back"):
        memory.story("chronicle").undo()


def test_an_import_that_is_taken_back_says_that_the_story_is_empty(memory: BlockingMemory) -> None:
    story = import_tale(memory)
    story.branch("aside")
    with pytest.raises(BadInput):
        story.undo()
    assert story.undo() == (
        "what the import changed: 3 messages taken out, all there were: the story is empty now; "
        "importing the file again brings them back"
    )


def test_a_message_is_taken_back_though_a_client_spoke_at_the_same_moment(
    story: BlockingStory, monkeypatch: pytest.MonkeyPatch
) -> None:
    append = Store.append

    async def append_late(store: Store, key: StoryKey, branch: str | None, drafts: Any, **named: Any) -> Any:
        await append(store, key, branch, [Draft(message("user", "A client was first."))], at=named["at"])
        return await append(store, key, branch, drafts, **named)

    with monkeypatch.context() as patched:
        patched.setattr(Store, "append", append_late)
        story.add_drafts([Draft(message("user", "By hand."))], undoable=True)
    assert story.undo() == "adding message 15"
    assert story.messages()[-1].entry.message.text == "A client was first."


def list_texts(story: BlockingStory) -> list[str]:
    return [one.entry.message.text for one in story.messages()]


def test_what_was_written_with_a_model_is_undone_step_by_step(place: str) -> None:
    answers = ["It is late.", "It is in.", " At last.", "It rains.", "Night falls."]
    with BlockingMemory(place, settings=RULES, model=ScriptedModel(answers)) as memory:
        story = memory.story("ferry")
        story.follow([Draft(message("assistant", "A quay."))], undoable=True)
        seen = [list_texts(story)]
        for write in (
            lambda: story.reply("Is the ferry in?"),  # what was said and the reply to it are one step
            story.reply_again,
            story.reply_longer,
            lambda: story.pin("The ferry.", at=2),
            lambda: story.reply("And the weather?"),
            story.reply,
        ):
            write()
            seen.append(list_texts(story))
        for before in reversed(seen[:-1]):
            story.undo()
            assert list_texts(story) == before
        assert list_texts(story) == ["A quay."]
        assert story.to_undo() == ("what the import changed", 1)
        assert memory.verify().faults == ()


def test_what_a_model_did_not_answer_is_undone_by_itself(place: str) -> None:
    model = ScriptedModel([ModelFailure(FailureKind.FILTERED, "It refused."), "It is late."])
    with BlockingMemory(place, settings=RULES, model=model) as memory:
        story = memory.story("ferry")
        story.add("assistant", "A quay.")
        assert not story.reply("Is the ferry in?").text
        assert story.to_undo() == ("adding message 1", 1)
        story.reply_again()
        assert story.undo() == "the reply at message 2"
        assert story.undo() == "adding message 1"
        assert list_texts(story) == ["A quay."]


def test_a_reply_that_came_too_late_is_nothing_to_undo(place: str) -> None:
    with BlockingMemory(place, settings=RULES) as memory:
        story = memory.story("ferry")
        story.add("user", "Is the ferry in?")

        async def answer(_: ModelRequest) -> str:
            async with await Memory.open(place, settings=RULES) as elsewhere:
                await (await elsewhere.story("ferry")).add("assistant", "Somebody else was faster.")
            return "It is late."

        story.reply(model=ScriptedModel(answer))
        assert list_texts(story) == ["Is the ferry in?", "Somebody else was faster."]
        with pytest.raises(BadInput, match="nothing to undo"):
            story.undo()


def test_a_message_that_is_put_in_again_with_its_key_and_the_old_head_is_there_once(story: BlockingStory) -> None:
    head = story.branch_info().head
    first = story.insert(3, "user", "Who rang?", expected_head=head, idempotency_key="once")
    assert story.insert(3, "user", "Who rang?", expected_head=head, idempotency_key="once") == first
    assert [item.entry.message.text for item in story.messages()].count("Who rang?") == 1
    with pytest.raises(HeadMoved):
        story.insert(3, "user", "Who rang?", expected_head=head, idempotency_key="another")
    assert "putting" in story.undo() and story.branch_info().messages == first.messages - 1
