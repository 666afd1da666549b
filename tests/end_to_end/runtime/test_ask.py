"""Questions about a story: sources, answers, refusals, and what one character may know."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from previously import BadInput, BlockingMemory, ScriptedModel, Settings
from previously.blocking import BlockingStory
from previously.core.model_io import FailureKind, ModelFailure, ModelRequest
from previously.folds.ask import NOT_SAID
from previously.story.ask import NOTHING_FOUND, NOTHING_TOLD, Answer, Verdict

LINES = (
    ("assistant", "Narrator", "Rain fell on the mill all night.", None),
    ("user", "Ines", "Bram, where is the brass key?", ["Ines", "Bram"]),
    ("assistant", "Bram", "I hid the brass key under the third stair, Ines.", ["Ines", "Bram"]),
    ("assistant", "Maya", "I promise to mend the mill wheel before Friday.", None),
    ("user", "Ines", "Maya, you owe the miller forty crowns.", None),
)
KEY = "Where is the brass key?"


def tell(memory: BlockingMemory) -> BlockingStory:
    story = memory.story("mill")
    for role, name, text, witnesses in LINES:
        story.add(role, text, name=name, witnesses=witnesses)
    return story


@pytest.fixture
def story() -> Iterator[BlockingStory]:
    with BlockingMemory(":memory:", settings=Settings()) as memory:
        yield tell(memory)


def ask_model(reply: object, question: str = KEY, **given: object) -> tuple[Answer, ScriptedModel]:
    model = ScriptedModel(reply)  # type: ignore[arg-type]
    with BlockingMemory(":memory:", settings=Settings(), model=model) as memory:
        return tell(memory).ask(question, **given), model  # type: ignore[arg-type]


def test_without_a_model_the_sources_speak(story: BlockingStory) -> None:
    story.hold("Brass key / place: under the third stair")
    story.open_thread("Maya promised to mend the wheel", due="by Friday")
    story.write_lore("Brass key", "item", keywords=["key"], content="Small and old. It opens the sluice.")
    answer = story.ask(KEY)
    assert (answer.verdict, answer.text, answer.reason, answer.calls) == (Verdict.SOURCES, "", "", 0)
    addresses = [source.address for source in answer.sources]
    assert addresses[0] in ("state:1", "lore:Brass key")
    assert {"state:1", "lore:Brass key", "message:1", "message:2"} <= set(addresses)
    assert "thread:1" not in addresses, "it has nothing to do with the key"
    assert [source.number for source in answer.sources] == list(range(1, len(addresses) + 1))
    told = next(source for source in answer.sources if source.address == "message:2")
    assert (told.text, told.speaker, told.label) == (LINES[2][2], "Bram", "message 2, Bram")
    assert [(span.first, span.last) for span in told.spans] == [(2, 2)]
    wheel = story.ask("Who mends the mill wheel?").sources
    assert ("thread:1", "open") in [(source.address, source.note) for source in wheel]


def test_texts_are_sources_by_the_sentences_that_bear_on_the_question(story: BlockingStory) -> None:
    story.close_chapter("The mill", at=3)
    story.write("chapter:1", "It rained at the mill. Bram hid the brass key under a stair. Maya made a promise.")
    source = next(one for one in story.ask(KEY).sources if one.address == "chapter:1")
    assert source.text == "Bram hid the brass key under a stair."
    assert source.label == "chapter 1, messages 0 to 3"


def test_memory_that_only_quotes_messages_is_no_source_beside_them() -> None:
    rules = Settings(tail_messages=2, fold_messages=6)
    with BlockingMemory(":memory:", settings=rules) as memory:
        story = memory.story("mill")
        for turn in range(12):
            key = "The brass key lies under the third stair." if turn == 2 else "The wheel turned and the water ran on."
            story.add("user" if turn % 2 else "assistant", key, name="Bram")
        story.fold()
        recap = story.recap()
        assert recap and "brass key" in recap.text
        addresses = {source.address for source in story.ask(KEY).sources}
        assert "message:2" in addresses
        assert "recap" not in addresses


def test_a_novel_without_a_model_is_answered_by_its_pages() -> None:
    """Its recap is joined from notes, which are quotations there, and not written by the built-in writer at once."""
    with BlockingMemory(":memory:", settings=Settings.of("novel")) as memory:
        story = memory.story("ferry")
        for number in range(30):
            story.add("assistant", f"Wren crossed for the {number}. time. Odalys kept the ledger: {number} crowns.")
        story.fold()
        assert (story.recap() or pytest.fail("there is a recap")).text.startswith("#")
        addresses = [source.address for source in story.ask("Who kept the ledger?").sources]
    assert addresses and all(address.startswith("message:") for address in addresses)


def test_an_answer_names_its_sources() -> None:
    answer, model = ask_model("Bram hid the brass key under the third stair [1].")
    assert (answer.verdict, answer.text) == (Verdict.ANSWERED, "Bram hid the brass key under the third stair [1].")
    assert [source.address for source in answer.cited] == [answer.sources[0].address]
    assert (answer.calls, answer.model, len(model.requests)) == (1, "scripted", 1)
    for source in answer.sources:
        assert f"[{source.number}] {source.label}: {source.text}" in model.requests[0].user


def test_the_story_does_not_say() -> None:
    answer, _ = ask_model("The story does not say.")
    assert (answer.verdict, answer.text, answer.cited) == (Verdict.NOT_SAID, NOT_SAID, ())
    assert answer.sources, "the reader may look for themselves"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("Bram hid it under the stair.", "names no source"),
        ("Bram hid it [99].", "[99]"),
        ("Bram gave the key to Marisol [1].", "Marisol"),
        ("Bram sold it for 900 crowns [1].", "900"),
    ],
)
def test_what_is_refused_twice_leaves_the_sources_and_the_reason(text: str, reason: str) -> None:
    answer, model = ask_model(text)
    assert (answer.verdict, answer.text) == (Verdict.SOURCES, "")
    assert reason in answer.reason
    assert answer.sources
    assert answer.calls == len(model.requests) == 2, "it is told why, once"
    assert "could not be used" in model.requests[1].user


def test_a_second_answer_may_be_better() -> None:
    answer, _ = ask_model(["Bram hid it.", "Bram hid it [1]."])
    assert (answer.verdict, answer.text, answer.calls) == (Verdict.ANSWERED, "Bram hid it [1].", 2)


def test_a_model_that_fails_leaves_the_sources() -> None:
    answer, _ = ask_model(lambda _: ModelFailure(FailureKind.UNAUTHORIZED, "The server wants another key."))
    assert (answer.verdict, answer.reason) == (Verdict.SOURCES, "The server wants another key.")
    assert answer.sources


def test_the_same_question_is_paid_once_and_another_head_asks_anew() -> None:
    model = ScriptedModel("Bram hid it [1].")
    with BlockingMemory(":memory:", settings=Settings(), model=model) as memory:
        story = tell(memory)
        assert story.ask(KEY).calls == 1
        again = story.ask(KEY)
        assert (again.verdict, again.calls) == (Verdict.ANSWERED, 0)
        story.edit(2, "I threw the brass key into the river, Ines.")
        assert story.ask(KEY).calls == 1


def test_by_model_false_asks_nobody() -> None:
    answer, model = ask_model("Bram hid it [1].", by_model=False)
    assert (answer.verdict, model.requests) == (Verdict.SOURCES, [])


def test_nothing_unwitnessed_is_shown_or_sent() -> None:
    requests: list[ModelRequest] = []

    def reply(request: ModelRequest) -> str:
        requests.append(request)
        return NOT_SAID

    with BlockingMemory(":memory:", settings=Settings(), model=ScriptedModel(reply)) as memory:
        story = tell(memory)
        story.close_chapter("The mill", at=3)
        story.write("chapter:1", "Bram hid the brass key under the third stair.")
        for words in (KEY, "brass key third stair mill wheel crowns"):
            assert "stair" not in repr(story.ask(words, witness="Maya").sources).replace(words, "")
            assert "stair" in repr(story.ask(words, witness="Bram").sources)
        asked = [one for one in requests if "mill wheel crowns" in one.user]
    assert [("under the third stair" in one.user) for one in asked if "<sources>" in one.user] == [False, True]
    sought = [one.user.replace("brass key third stair", "") for one in asked if "<known>" in one.user]
    assert ["stair" in user for user in sought] == [False, False], "neither of them heard all of the chapter"


def test_somebody_nobody_has_heard_of(story: BlockingStory) -> None:
    with pytest.raises(BadInput, match="takes part in this story"):
        story.ask(KEY, witness="Rook")


@pytest.mark.parametrize("question", ["", "  \n", "\x00"])
def test_an_empty_question(story: BlockingStory, question: str) -> None:
    with pytest.raises(BadInput, match=r"question is empty|nothing to search for"):
        story.ask(question)


def test_bad_bounds(story: BlockingStory) -> None:
    with pytest.raises(BadInput, match="budget"):
        story.ask(KEY, budget_tokens=0)
    with pytest.raises(BadInput, match="at most 2,000 characters"):
        story.ask("why " * 600)


def test_an_empty_story_and_no_hit(story: BlockingStory) -> None:
    nothing = story.ask("Who won the regatta at Ellery?")
    assert (nothing.verdict, nothing.text, nothing.sources) == (Verdict.NOTHING, NOTHING_FOUND, ())
    with BlockingMemory(":memory:") as memory:
        empty = memory.story("empty").ask(KEY)
    assert (empty.verdict, empty.text) == (Verdict.NOTHING, NOTHING_TOLD)


@pytest.mark.parametrize("budget", [1, 30, 60, 120, 400, 2_000])
def test_the_budget_holds(budget: int) -> None:
    with BlockingMemory(":memory:") as memory:
        story = tell(memory)
        story.add("assistant", "The brass key turned. " * 400, name="Narrator")
        sources = story.ask(KEY, budget_tokens=budget).sources
    assert sum(source.tokens for source in sources) <= budget
    assert bool(sources) is (budget >= 60)


def test_a_question_that_fits_no_window_is_answered_by_the_sources() -> None:
    model = ScriptedModel("Bram hid it [1].")
    settings = Settings(memory_window_tokens=2_800)
    with BlockingMemory(":memory:", settings=settings, model=model) as memory:
        story = memory.story("long")
        for number in range(40):
            story.add("assistant", f"The brass key, {number}: {'it lay there and nobody saw it. ' * 60}", name="Bram")
        answer = story.ask(KEY, budget_tokens=8_000)
        assert answer.verdict is Verdict.SOURCES
        assert "memory_window_tokens" in answer.reason
        assert not model.requests
        assert story.ask(KEY).verdict is Verdict.ANSWERED, "what nobody asked for is no more than fits"


def test_questions_and_searches_count_into_the_limits_and_the_costs_of_a_story() -> None:
    model = ScriptedModel(lambda request: "It is under the stair [1]." if "[1]" in request.user else "under a stair")
    with BlockingMemory(":memory:", settings=Settings(calls_per_day=2), model=model) as memory:
        story = tell(memory)
        before = memory.stories()
        assert story.ask(KEY).calls == 1
        assert story.search_with_model("Was the roof mended?").words.cost.calls == 1
        assert memory.stories() == before, "a question changes nothing of a story"
        (row,) = memory.glance()
        assert (row.memories, row.cost.calls) == (0, 2) and row.cost.input_tokens > 0
        third = story.ask("Who owes the miller forty crowns?")
        assert (third.calls, third.verdict) == (0, Verdict.SOURCES) and "limit of 2 calls per day" in third.reason
        assert "limit of 2 calls" in story.search_with_model("Who mends the wheel?").words.reason
        assert len(model.requests) == 2
        kept = story.log()
        assert [(one.made.kind.value, one.made.status.value, one.made.cost.calls) for one in kept] == [
            ("question", "asked", 1), ("question", "asked", 1),
        ]  # fmt: skip
        assert [one.made.reason for one in kept] == ["a question about the story", "other words for a search"]
        assert not any("key" in f"{one.made.text}{one.made.reason}" for one in kept), "no words of a question are kept"
        assert story.failures() == [] and not memory.verify().faults
