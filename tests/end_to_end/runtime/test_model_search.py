"""Searches with a model: other words for a question, what they cost, and what one character may know."""

from __future__ import annotations

import pytest

from previously import BadInput, BlockingMemory, ScriptedModel, Settings
from previously.blocking import BlockingStory
from previously.core.model_io import FailureKind, ModelFailure
from previously.story.ask import NOTHING_FOUND, Verdict
from previously.story.searches import KNOWN_TOKENS, NO_MODEL

ROOF = "Was the roof ever mended?"
SLATE = "The last slate is on, and the bucket stays dry."
LINES = (
    ("Narrator", "Rain fell on the mill all night.", None),
    ("Ines", "Bram, the roof leaks on my bed.", ["Ines", "Bram"]),
    ("Bram", "I shall see to the roof before Friday.", ["Ines", "Bram"]),
    ("Maya", "The geese are loose again.", None),
    ("Bram", SLATE, ["Ines", "Bram"]),
    ("Maya", "I found two geese behind the wheel.", None),
)


def tell(memory: BlockingMemory) -> BlockingStory:
    story = memory.story("mill")
    for name, text, witnesses in LINES:
        story.add("assistant", text, name=name, witnesses=witnesses)
    return story


def test_lines_of_a_model_find_what_shares_no_word_with_the_question() -> None:
    model = ScriptedModel("the last slate is on\nno drip in the bucket any more")
    with BlockingMemory(":memory:", settings=Settings(), model=model) as memory:
        story = tell(memory)
        assert 4 not in [hit.position for hit in story.search(ROOF, top=2)]
        assert model.requests == [], "an ordinary search asks nobody"
        found = story.search_with_model(ROOF, top=2)
        assert 4 in [hit.position for hit in found.hits]
        assert found.words.lines == ("the last slate is on", "no drip in the bucket any more")
        assert (found.words.reason, found.words.model, found.words.cost.calls) == ("", "scripted", 1)
        assert found.words.cost.input_tokens > 0
        again = story.search_with_model(ROOF, top=2)
        assert (again.hits, again.words.lines) == (found.hits, found.words.lines)
        assert (again.words.cost.calls, len(model.requests)) == (0, 1), "an identical prompt is never paid twice"
        with pytest.raises(BadInput):
            story.search_with_model("?")
        assert len(model.requests) == 1, "bad input is refused before anything is paid for"


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ("", "empty"),
        ("…", "no line"),
        (lambda _: ModelFailure(FailureKind.UNAUTHORIZED, "The server wants another key."), "another key"),
    ],
)
def test_an_answer_that_is_of_no_use_leaves_the_ordinary_hits(answer: object, reason: str) -> None:
    model = ScriptedModel(answer)  # type: ignore[arg-type]
    with BlockingMemory(":memory:", settings=Settings(), model=model) as memory:
        story = tell(memory)
        found = story.search_with_model(ROOF)
        assert list(found.hits) == story.search(ROOF)
        assert found.words.lines == ()
        assert reason in found.words.reason or "no line" in found.words.reason
        assert len(model.requests) == 1, "a search does not wait for a second try"


def test_without_a_model_the_search_is_the_ordinary_one() -> None:
    with BlockingMemory(":memory:", settings=Settings()) as memory:
        story = tell(memory)
        found = story.search_with_model(ROOF)
        assert list(found.hits) == story.search(ROOF)
        assert (found.words.reason, found.words.cost.calls) == (NO_MODEL, 0)


def test_a_character_searches_by_what_they_know_alone() -> None:
    model = ScriptedModel("the last slate is on")
    with BlockingMemory(":memory:", settings=Settings(), model=model) as memory:
        story = tell(memory)
        story.close_chapter("The mill", at=3)
        story.write("chapter:1", "Bram promised Ines a dry bed.")
        story.open_thread("Bram owes Ines a dry night")
        story.write_lore("Slate store", "location", keywords=["slates"], content="Behind the wheel.")
        for witness, knows in (("Maya", False), ("Bram", True)):
            found = story.search_with_model(ROOF, witness=witness)
            assert (4 in [hit.position for hit in found.hits]) is knows
            assert "dry" not in model.requests[-1].user, "neither heard all of the chapter"
            assert "Slate store" in model.requests[-1].user, "lore by hand is everybody's"
        story.search_with_model(ROOF)
        assert "dry bed" in model.requests[-1].user
        assert "dry night" in model.requests[-1].user


def test_what_a_model_reads_of_memory_is_bounded_and_begins_with_what_bears_on_the_question() -> None:
    model = ScriptedModel("the last slate is on")
    with BlockingMemory(":memory:", settings=Settings(), model=model) as memory:
        story = tell(memory)
        for number in range(200):
            story.open_thread(f"Maya promised goose number {number} a name of its own")
        story.open_thread("Bram promised Ines to mend the roof")
        story.search_with_model(ROOF)
        asked = model.requests[-1].user
        assert "mend the roof" in asked
        assert "goose number 0" in asked
        assert "goose number 199" not in asked
        assert len(asked) / 4 < 1.4 * KNOWN_TOKENS


def test_a_question_that_the_sources_do_not_answer_is_looked_at_twice() -> None:
    def answer(request: object) -> str:
        user = request.user  # type: ignore[attr-defined]
        if "<known>" in user:
            return "the last slate is on"
        return "Bram says that the last slate is on [1]." if SLATE in user else "The story does not say."

    with BlockingMemory(":memory:", settings=Settings(), model=ScriptedModel(answer)) as memory:
        story = tell(memory)
        found = story.ask("Did Ines get her wish?")
        assert found.verdict in (Verdict.ANSWERED, Verdict.SOURCES)
        assert any(source.text == SLATE for source in found.sources)
        assert found.calls >= 2


def test_nothing_is_asked_again_where_other_words_find_nothing_new() -> None:
    model = ScriptedModel("The story does not say.")
    with BlockingMemory(":memory:", settings=Settings(), model=model) as memory:
        story = tell(memory)
        found = story.ask("Who has the geese?")
        assert (found.verdict, found.calls, len(model.requests)) == (Verdict.NOT_SAID, 2, 2)
        assert story.ask("Regatta?").text == NOTHING_FOUND
