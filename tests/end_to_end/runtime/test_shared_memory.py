"""Shared memory: facts of a character, a world or a project, in every story that attaches them."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from previously import BadInput, BlockingMemory, Settings
from previously.blocking import BlockingStory
from previously.view.view import Section

SMALL = Settings(tail_messages=2, fold_messages=3)


@pytest.fixture
def memory() -> Iterator[BlockingMemory]:
    with BlockingMemory(":memory:", settings=SMALL) as opened:
        opened.share("maya", "character", "Maya")
        opened.add_shared("maya", "Her brother drowned at Lethen.")
        yield opened


def tell(memory: BlockingMemory, name: str = "ferry") -> BlockingStory:
    story = memory.story(name)
    story.add("user", "Good morning, Maya.", name="Wren")
    story.add("assistant", "Good morning.", name="Maya")
    story.add("assistant", "Who is that?", name="Corin")
    return story


def shared_lines(story: BlockingStory, reader: str = "chat") -> list[str]:
    text = story.view(2_000, reader=reader).messages[0].text
    return [line for line in text.partition("# Known from elsewhere\n")[2].split("\n\n")[0].split("\n") if line]


def test_a_characters_memory_is_theirs_alone(memory: BlockingMemory) -> None:
    story = tell(memory)
    assert not shared_lines(story)
    story.attach_book("maya")
    assert shared_lines(story) == ["- Maya knows: Her brother drowned at Lethen."]
    assert shared_lines(story, "character:maya") == ["- Her brother drowned at Lethen."]
    assert not shared_lines(story, "character:Corin") and not shared_lines(story, "character:Wren")
    items = [item for item in story.view(2_000).items if item.section is Section.SHARED]
    assert [item.reason for item in items] == ["from the shared memory 'maya'"]
    story.detach_book("maya")
    assert not shared_lines(story)


def test_a_world_is_known_to_all_and_a_project_to_nobody_in_the_story(memory: BlockingMemory) -> None:
    story = tell(memory)
    for name, kind in (("lethen", "world"), ("parser", "project")):
        memory.share(name, kind)
        memory.add_shared(name, f"A fact of {name}.")
        story.attach_book(name)
    assert shared_lines(story, "agent") == ["- A fact of lethen.", "- A fact of parser."]
    assert shared_lines(story, "character:Corin") == ["- A fact of lethen."]


def test_facts_are_changed_and_changes_taken_back(memory: BlockingMemory) -> None:
    memory.add_shared("maya", "She cannot swim.")
    memory.add_shared("maya", "she cannot SWIM.")
    memory.edit_shared("maya", 2, "She swims well.")
    assert [fact.text for fact in memory.remove_shared("maya", 1).facts] == ["She swims well."]
    assert len(memory.undo_shared("maya").facts) == 2
    assert memory.undo_shared("maya").facts[1].text == "She cannot swim."
    for _ in range(2):
        memory.undo_shared("maya")
    with pytest.raises(BadInput, match="nothing to undo"):
        memory.undo_shared("maya")


def test_what_a_character_learns_stays_there_unless_a_rule_says_otherwise(memory: BlockingMemory) -> None:
    first, second = tell(memory), tell(memory, "winter")
    for story in (first, second):
        story.attach_book("maya")
    first.hold("Maya / place: the mill")
    assert len(shared_lines(second)) == 1
    memory.rule_shared("maya", learns=True)
    assert any("the mill" in line for line in shared_lines(second, "character:Maya"))
    assert not any("the mill" in line for line in shared_lines(second, "character:Corin"))
    assert "known in the story 'ferry'" in str(second.view(2_000).items)
    first.detach_book("maya")
    assert len(shared_lines(second)) == 1


def test_what_a_person_keeps_goes_with_the_story_it_was_kept_from(memory: BlockingMemory) -> None:
    first, second = tell(memory), tell(memory, "winter")
    first.hold("Maya / place: the mill")
    second.attach_book("maya")
    kept = memory.keep_shared("maya", "ferry")
    assert [fact.story for fact in kept.facts] == ["", "ferry"]
    assert any("the mill" in line for line in shared_lines(second))
    memory.forget("ferry", 0)
    assert [fact.text for fact in memory.shared_memory("maya").facts] == ["Her brother drowned at Lethen."]
    assert second.last_view() is None and "the mill" not in str(second.view(2_000))
    assert "the mill" not in str(memory.undo_shared("maya"))


def test_it_is_listed_with_its_stories_and_destroyed(memory: BlockingMemory) -> None:
    story = tell(memory)
    story.attach_book("maya")
    assert memory.sharing_stories("maya") == ["ferry"]
    assert shared_lines(story)
    memory.forget_book("maya")
    assert memory.shared() == [] and story.last_view() is None and not shared_lines(story)
    assert memory.verify().clean


def test_a_book_is_not_kept_over_a_shared_memory(memory: BlockingMemory) -> None:
    with pytest.raises(BadInput, match=r"'maya' is a shared memory.*previously shared remove maya"):
        memory.keep_book("maya", [{"name": "Maya", "keywords": ["Maya"], "content": "A ferrywoman."}])
    assert [fact.text for fact in memory.shared_memory("maya").facts] == ["Her brother drowned at Lethen."]


def test_what_cannot_be_is_refused(memory: BlockingMemory) -> None:
    for name, kind, of in (("x", "ship", ""), ("x", "character", ""), ("x", "world", "Maya"), ("maya", "world", "")):
        with pytest.raises(BadInput):
            memory.share(name, kind, of)
    memory.share("lethen", "world")
    refused: list[Callable[[], object]] = [
        lambda: memory.add_shared("maya", " "),
        lambda: memory.remove_shared("maya", 2),
        lambda: memory.add_shared("nobody", "A fact."),
        lambda: memory.rule_shared("lethen", learns=True),
        lambda: memory.keep_shared("lethen", "ferry"),
    ]
    for deed in refused:
        with pytest.raises(BadInput):
            deed()
