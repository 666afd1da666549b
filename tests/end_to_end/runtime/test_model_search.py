"""Searches with a model: other words for a question, what it picks, what they cost, and what one character may know."""

from __future__ import annotations

import pytest

from previously import BadInput, BlockingMemory, ScriptedModel, Settings
from previously.blocking import BlockingStory
from previously.core.model_io import FailureKind, ModelFailure, ModelRequest
from previously.story.ask import NOTHING_FOUND, Verdict
from previously.story.searches import EXCERPT_CHARACTERS, KNOWN_TOKENS, NO_MODEL

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


def help_with(lines: str, pick: str) -> ScriptedModel:
    return ScriptedModel(lambda request: lines if "<known>" in request.user else pick)


def find_number(request: ModelRequest, text: str) -> str:
    """Return the number under which a message is offered."""
    return next(line.partition("]")[0][1:] for line in request.user.splitlines() if text in line)


def test_lines_of_a_model_find_what_shares_no_word_with_the_question() -> None:
    model = help_with("the last slate is on\nno drip in the bucket any more", "none")
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
        assert (again.cost.calls, len(model.requests)) == (0, 2), "an identical prompt is never paid twice"
        with pytest.raises(BadInput):
            story.search_with_model("?")
        assert len(model.requests) == 2, "bad input is refused before anything is paid for"


def test_what_a_model_picks_comes_first_in_its_order() -> None:
    def answer(request: ModelRequest) -> str:
        if "<known>" in request.user:
            return "geese behind the wheel"
        return f"{find_number(request, SLATE)}, {find_number(request, 'leaks on my bed')}, 99"

    with BlockingMemory(":memory:", settings=Settings(), model=ScriptedModel(answer)) as memory:
        story = tell(memory)
        found = story.search_with_model(ROOF)
        assert [(hit.position, hit.picked) for hit in found.hits[:2]] == [(4, True), (1, True)]
        others = [hit.position for hit in found.hits[2:]]
        assert not any(hit.picked for hit in found.hits[2:])
        assert others == [hit.position for hit in found.hits if hit.position not in (4, 1)]
        assert len({hit.position for hit in found.hits}) == len(found.hits)
        assert (found.pick.offered, found.pick.reason) == (6, "")
        assert found.pick.warnings == ("1 of its numbers stands for no message",)
        assert (found.words.cost.calls, found.pick.cost.calls, found.cost.calls) == (1, 1, 2)
        assert [hit.position for hit in story.search_with_model(ROOF, top=1).hits] == [4]
        assert [hit.position for hit in story.search_with_model(ROOF, top=2).hits] == [4, 1]
        small = story.search_with_model(ROOF, budget_tokens=found.hits[0].tokens)
        assert [hit.position for hit in small.hits] == [4]
        tight = story.search_with_model(ROOF, budget_tokens=found.hits[1].tokens)
        assert [hit.position for hit in tight.hits] == [1], "what does not fit is left out, and the next one taken"
        assert story.search_with_model(ROOF, top=3).cost.calls == 0, "how many are shown changes no prompt"


@pytest.mark.parametrize(
    ("pick", "reason"),
    [
        ("none", "none of them helps"),
        ("The slate.", "not a list of numbers"),
        ("77", "stands for a message"),
        ("", "not a list"),
    ],
)
def test_a_pick_of_no_use_leaves_the_order_as_it_was(pick: str, reason: str) -> None:
    lines = "the last slate is on"
    with BlockingMemory(":memory:", settings=Settings(), model=help_with(lines, "4")) as memory:
        ordered = tell(memory).search_with_model(ROOF).hits
    with BlockingMemory(":memory:", settings=Settings(), model=help_with(lines, pick)) as memory:
        found = tell(memory).search_with_model(ROOF)
    assert reason in found.pick.reason
    assert not any(hit.picked for hit in found.hits)
    picked, *others = (hit.position for hit in ordered)
    assert [hit.position for hit in found.hits if hit.position != picked] == others


def test_an_excerpt_is_the_part_that_was_searched_for() -> None:
    model = help_with("slates and a ladder", "none")
    with BlockingMemory(":memory:", settings=Settings(), model=model) as memory:
        story = tell(memory)
        long = "The miller talked of flour and of the price of flour. " * 20
        story.add("assistant", f"{long}At dusk the roof was whole again.\n{long}", name="Narrator")
        story.search_with_model(ROOF)
        excerpt = next(line for line in model.requests[-1].user.splitlines() if "message 6" in line)
    assert "the roof was whole again." in excerpt
    assert len(excerpt) < EXCERPT_CHARACTERS + 40
    assert model.requests[-1].user.index("message 1,") < model.requests[-1].user.index("message 4,")


def test_a_story_that_continues_another_is_picked_from_in_its_order() -> None:
    def answer(request: ModelRequest) -> str:
        return "the last slate is on" if "<known>" in request.user else find_number(request, SLATE)

    with BlockingMemory(":memory:", settings=Settings(), model=ScriptedModel(answer)) as memory:
        tell(memory)
        memory.continue_story("mill", "later")
        later = memory.story("later")
        later.add("assistant", "The roof of the mill, again.", name="Ines")
        later.add("assistant", "Nobody mends a roof in winter.", name="Bram")
        found = later.search_with_model(ROOF)
        assert (found.hits[0].story, found.hits[0].position, found.hits[0].picked) == ("mill", 4, True)
        assert [(hit.story, hit.position) for hit in found.hits].count(("mill", 4)) == 1


@pytest.mark.parametrize(
    ("answer", "reason", "requests"),
    [
        ("", "empty", 1),
        ("…", "no line", 2),
        (lambda _: ModelFailure(FailureKind.UNAUTHORIZED, "The server wants another key."), "another key", 1),
    ],
)
def test_an_answer_that_is_of_no_use_leaves_the_ordinary_hits(answer: object, reason: str, requests: int) -> None:
    model = ScriptedModel(answer)  # type: ignore[arg-type]
    with BlockingMemory(":memory:", settings=Settings(), model=model) as memory:
        story = tell(memory)
        found = story.search_with_model(ROOF)
        assert list(found.hits) == story.search(ROOF)
        assert found.words.lines == ()
        assert reason in found.words.reason or "no line" in found.words.reason
        assert found.pick.reason, "nothing was picked either"
        assert len(model.requests) == requests, "a search does not wait for a second try"


def test_without_a_model_the_search_is_the_ordinary_one() -> None:
    with BlockingMemory(":memory:", settings=Settings()) as memory:
        story = tell(memory)
        found = story.search_with_model(ROOF)
        assert list(found.hits) == story.search(ROOF)
        assert (found.words.reason, found.pick.reason, found.cost.calls) == (NO_MODEL, NO_MODEL, 0)


def test_a_character_searches_by_what_they_know_alone() -> None:
    model = help_with("the last slate is on\nthe geese behind the wheel\nrain fell on the mill", "1, 3, 2, 6, 4, 5")
    with BlockingMemory(":memory:", settings=Settings(), model=model) as memory:
        story = tell(memory)
        story.close_chapter("The mill", at=3)
        story.write("chapter:1", "Bram promised Ines a dry bed.")
        story.open_thread("Bram owes Ines a dry night")
        story.write_lore("Slate store", "location", keywords=["slates"], content="Behind the wheel.")
        for witness, knows in (("Maya", False), ("Bram", True)):
            found = story.search_with_model(ROOF, witness=witness)
            assert (4 in [hit.position for hit in found.hits]) is knows
            words, pick = model.requests[0], model.requests[-1]  # both know the same, so the words are paid for once
            assert "dry" not in words.user, "neither heard all of the chapter"
            assert "Slate store" in words.user, "lore by hand is everybody's"
            assert (SLATE in pick.user) is knows
            assert f"{witness} asks" in pick.user
            assert "geese are loose" in pick.user
        story.search_with_model(ROOF)
        assert "dry bed" in model.requests[-2].user
        assert "dry night" in model.requests[-2].user
        assert " asks" not in model.requests[-1].user


def test_what_a_model_reads_of_memory_is_bounded_and_begins_with_what_bears_on_the_question() -> None:
    model = ScriptedModel("the last slate is on")
    with BlockingMemory(":memory:", settings=Settings(), model=model) as memory:
        story = tell(memory)
        for number in range(200):
            story.open_thread(f"Maya promised goose number {number} a name of its own")
        story.open_thread("Bram promised Ines to mend the roof")
        story.search_with_model(ROOF)
        asked = model.requests[0].user
        assert "mend the roof" in asked
        assert "goose number 0" in asked
        assert "goose number 199" not in asked
        assert len(asked) / 4 < 1.4 * KNOWN_TOKENS


def test_a_question_that_the_sources_do_not_answer_is_looked_at_twice() -> None:
    def answer(request: object) -> str:
        user = request.user  # type: ignore[attr-defined]
        if "<known>" in user:
            return "the last slate is on"
        if "<excerpts>" in user:
            return find_number(request, SLATE)  # type: ignore[arg-type]
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
        assert (found.verdict, found.calls, len(model.requests)) == (Verdict.NOT_SAID, 3, 3)
        assert story.ask("Regatta?").text == NOTHING_FOUND
