"""What seed 004 says of memory in a game, where it takes the engine: one row per sentence, and one test per defect that
was noted of its project.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from previously import BlockingMemory, ScriptedModel, Settings
from previously.blocking import BlockingStory
from previously.core.cast import MOST_FACTS, Knowledge
from previously.core.model_io import FailureKind, ModelFailure, ModelRequest
from previously.core.tokens import estimate_tokens
from previously.core.versions import Kind
from previously.testing.model import Scripted
from previously.view.view import Section, View
from tests.end_to_end.runtime.echoing import about, kind_of, make_writer, part
from tests.end_to_end.runtime.update_answers import answer, closing_answer, is_closing, is_update, messages

GAME = Settings.of("game", recall_percent=0)
TOLD = (
    "Maya and Joaquin searched the wreck for water. Joaquin found a rusted key and kept it from Maya. Maya promised "
    "to mend the raft before the storm. They argued about the light on the ridge until turn {}."
)


class Game:
    """A game of turns, and the model that keeps its memory."""

    def __init__(self, story: BlockingStory, model: ScriptedModel) -> None:
        self.story, self.model = story, model
        self.turn = 0
        self.failing: dict[str, Scripted] = {}
        """By character, what is answered instead."""
        model._reply = self.answer

    def answer(self, request: ModelRequest) -> Scripted:
        name = about(request)
        if not name:
            told = TOLD.format(max(map(int, re.findall(r"turn (\d+)", request.user)), default=0))
            if is_closing(request):
                return closing_answer(request, told)
            return answer(request, told) if is_update(request) else told
        turns = re.findall(r"turn (\d+)", part(request, "new_events"))
        facts = [f"Door number {turn} of the {turn}th corridor is locked" for turn in turns[-1:]]
        summary = f"{name} is on the island. {name} heard of the doors. {name} wants to leave."
        return self.failing.get(name) or json.dumps({"summary": summary, "add": facts})

    def play(self, turns: int = 1, witnesses: list[str] | None = None, fold: bool = True, words: int = 0) -> None:
        """A turn: what the player does, what the narrator tells, and what two characters say."""
        for _ in range(turns):
            self.turn += 1
            said = f"turn {self.turn}" + " and the sea is loud" * words
            self.story.add("user", f"I look around, {said}.", name="Anna", witnesses=witnesses)
            self.story.add("assistant", f"The wind turns, {said}.", name="Narrator", witnesses=witnesses)
            self.story.add("assistant", f"I saw it, {said}.", name="Maya", witnesses=witnesses)
            self.story.add("assistant", f"So did I, {said}.", name="Joaquin", witnesses=witnesses)
            if fold:
                self.story.fold()

    def knows(self, name: str) -> Knowledge:
        return next(one.knowledge for one in self.story.cast() if one.name == name)

    @property
    def asked(self) -> list[ModelRequest]:
        """The questions about characters."""
        return [one for one in self.model.requests if kind_of(one) == "cast"]

    def recaps(self) -> list[ModelRequest]:
        return [one for one in self.model.requests if kind_of(one) == "update"]

    def seen(self, reader: str) -> View:
        return self.story.view(reader=reader)

    def turns_in(self, reader: str) -> list[int]:
        """The turns that a reader is shown verbatim."""
        shown = "\n".join(one.text for one in self.seen(reader).messages if one.role != "system")
        return sorted({int(number) for number in re.findall(r"turn (\d+)", shown)})


def opened(settings: Settings = GAME) -> Iterator[Game]:
    model = ScriptedModel("")
    with BlockingMemory(":memory:", settings=settings, writer=make_writer(model)) as memory:
        yield Game(memory.story("island"), model)


@pytest.fixture
def game() -> Iterator[Game]:
    yield from opened()


@pytest.fixture(scope="module")
def few_words() -> Iterator[Game]:
    """Thirty turns of few words. Tests only look at it."""
    for game in opened():
        game.play(30)
        yield game


@pytest.fixture(scope="module")
def many_words() -> Iterator[Game]:
    """Forty turns of so many words that the rolling summary is due again and again. Tests only look at it."""
    for game in opened():
        game.play(40, words=20)
        yield game


def each_turn(game: Game) -> bool:
    game.play(3)
    scopes = [one.made.scope for one in game.story.log() if one.made.kind is Kind.CAST]
    return scopes == ["@joaquin", "@maya"] * 3 or sorted(scopes) == ["@joaquin"] * 3 + ["@maya"] * 3


def memory_and_turn(game: Game) -> bool:
    game.play(3)
    last = game.asked[-1]
    return (
        "Door number 2 of" in part(last, "memory")
        and "turn 3" in part(last, "new_events")
        and "turn 2" not in part(last, "new_events")
    )


def summary_and_facts(game: Game) -> bool:
    game.play(2)
    known = game.knows("Maya")
    return known.summary.startswith("Maya is on the island.") and len(known.facts) == 2


def ten_facts(game: Game) -> bool:
    facts = game.knows("Maya").facts
    return len(facts) == MOST_FACTS and f"Door number {game.turn} " in facts[-1].text


def not_the_absent(game: Game) -> bool:
    game.play(1, ["Anna", "Maya", "Joaquin"])
    game.play(1, ["Anna", "Joaquin"])
    game.story.fold()
    maya = [one for one in game.asked if about(one) == "Maya"]
    told = "\n".join(one.user for one in maya)
    return "The wind turns, turn 1" in told and "The wind turns, turn 2" not in told


def who_left_hears_nothing(game: Game) -> bool:
    game.play()
    game.story.leave("Maya")
    game.story.add("user", "I whisper to Joaquin that the raft is mended.", name="Anna")
    game.story.add("assistant", "Joaquin nods.", name="Joaquin")
    game.story.fold()
    told = "\n".join(one.user for one in game.asked if about(one) == "Maya")
    return "raft is mended" not in told and "raft is mended" in game.asked[-1].user


def rolling_at_1500(game: Game) -> bool:
    game.play(5, words=2)
    early = len(game.recaps())
    game.play(12, words=20)
    return early == 0 and len(game.recaps()) >= 1


def keeps_four_turns(game: Game) -> bool:
    folded = max(int(number) for one in game.recaps() for number in re.findall(r"turn (\d+)", messages(one)))
    return folded <= game.turn - 4


def under_five_sentences(game: Game) -> bool:
    recap = game.story.recap()
    return recap is not None and recap.text.count(".") <= 5 and GAME.recap_words <= 100


def incremental(game: Game) -> bool:
    sizes = [estimate_tokens(messages(one)) for one in game.recaps()]
    return len(sizes) >= 3 and max(sizes) <= 2 * min(sizes) and TOLD.split(".")[0] in game.recaps()[-1].user


def story_so_far(game: Game) -> bool:
    system = game.seen("narrator").messages[0]
    return "Maya and Joaquin searched the wreck" in system.text


def chapters_for_good(game: Game) -> bool:
    game.play(4)
    game.story.close_chapter("The wreck")
    game.story.fold()
    first = game.story.chapters()[0].text
    game.play(6)
    game.story.close_chapter("The ridge")
    game.story.fold()
    chapters = game.story.chapters()
    return [one.title for one in chapters] == ["The wreck", "The ridge"] and chapters[0].text == first != ""


def chapters_are_told(game: Game) -> bool:
    game.play(6, words=12)
    game.story.close_chapter("The wreck")
    game.play(6, words=12)
    return "The wreck" in game.seen("narrator").messages[0].text


def narrator_budget(game: Game) -> bool:
    game.story.add("system", "You are the narrator. " * 40)
    game.play(30, words=12)
    view = game.seen("narrator")
    return view.tokens <= 1_400 and {Section.TAIL, Section.RECAP} <= {item.section for item in view.items}


def narrator_newest_first(game: Game) -> bool:
    turns = game.turns_in("narrator")
    return turns == list(range(turns[0], game.turn + 1))


def character_sees(game: Game) -> bool:
    game.play(12)
    game.story.add("user", "What now, turn 13?", name="Anna")
    view = game.seen("character:Maya")
    shown = "\n".join(one.text for one in view.messages)
    return view.tokens <= 1_000 and game.turns_in("character:Maya") == [11, 12, 13] and "Door number 12" in shown


def memory_sees(game: Game) -> bool:
    view = game.seen("memory:Maya")
    shown = "\n".join(one.text for one in view.messages)
    return view.tokens <= 600 and game.turns_in("memory:Maya") == [30] and "Maya is on the island." in shown


def state_sees(game: Game) -> bool:
    return game.seen("state").tokens <= 500 and game.turns_in("state") == [30]


def same_at_fifty(game: Game) -> bool:
    sizes: dict[int, list[int]] = {}
    for turn in range(1, 51):
        game.play(words=4)
        if turn in (12, 50):
            sizes[turn] = [game.seen(one).tokens for one in ("narrator", "character:Maya", "memory:Maya", "state")]
    return all(now <= 1.2 * then + 40 for then, now in zip(sizes[12], sizes[50], strict=True))


def calls_per_turn(game: Game) -> bool:
    return len(game.model.requests) <= game.turn * 3


def one_character_reads_their_own(game: Game) -> bool:
    game.failing = {"Joaquin": json.dumps({"summary": "Joaquin hides a map. He fears Maya. He waits.", "add": []})}
    game.play(2)
    shown = "\n".join(one.text for one in game.seen("character:Maya").messages)
    return "hides a map" not in shown and "Maya is on the island." in shown


BEHAVIOUR: dict[str, Callable[[Game], bool]] = {
    "each character's memory is updated after every turn": each_turn,
    "the agent sees the current memory plus the turn's events": memory_and_turn,
    "a memory is a summary and key facts": summary_and_facts,
    "each memory agent sees only what that character witnessed": not_the_absent,
    "who was not present for a conversation never sees it": who_left_hears_nothing,
    "no cross-character reads": one_character_reads_their_own,
    "the rolling summary triggers at about 1500 tokens": rolling_at_1500,
    "chapter summaries are permanent": chapters_for_good,
    "the narrator receives all chapter summaries": chapters_are_told,
    "the narrator's context stays within 2000 tokens, 600 for the answer": narrator_budget,
    "a character: own memory, two turns and the current one, about 1000 tokens": character_sees,
    "a 50-turn game uses roughly the same context": same_at_fifty,
}


IN_A_PLAYED_GAME: dict[str, tuple[str, Callable[[Game], bool]]] = {
    "key facts: max 10": ("few_words", ten_facts),
    "all except the last 4 turns": ("many_words", keeps_four_turns),
    "an updated summary of under 5 sentences": ("many_words", under_five_sentences),
    "incremental merge, each call bounded": ("many_words", incremental),
    "the narrator receives the summary at the top of its context": ("many_words", story_so_far),
    "over budget, history is trimmed from the oldest": ("many_words", narrator_newest_first),
    "a memory agent: current memory and current turn, about 600 tokens": ("few_words", memory_sees),
    "the game state agent: the current turn, about 500 tokens": ("few_words", state_sees),
    "calls per turn: one per witness and at most one more": ("few_words", calls_per_turn),
}
"""By sentence, the game it shows in."""


@pytest.mark.parametrize("sentence", BEHAVIOUR)
def test_behaviour(sentence: str, game: Game) -> None:
    assert BEHAVIOUR[sentence](game)


@pytest.mark.parametrize("sentence", IN_A_PLAYED_GAME)
def test_behaviour_in_a_played_game(sentence: str, request: pytest.FixtureRequest) -> None:
    game, holds = IN_A_PLAYED_GAME[sentence]
    assert holds(request.getfixturevalue(game))


def test_defect_1_what_is_asked_does_not_grow_with_the_game(game: Game) -> None:
    game.play(60, words=6)
    maya = [len(one.user) for one in game.asked if about(one) == "Maya"]
    assert max(maya[-10:]) <= 1.2 * max(maya[10:20])
    recaps = [len(one.user) for one in game.recaps()]
    assert max(recaps) <= 2 * recaps[0]


def test_defect_2_a_game_of_four_turns_is_not_summarised(game: Game) -> None:
    game.play(4, words=20)
    assert game.recaps() == []
    assert game.story.recap() is None


@pytest.mark.parametrize(
    "fault", [ModelFailure(FailureKind.CONNECTION, "No connection."), ModelFailure(FailureKind.SERVER, "500."), "{"]
)
def test_defect_3_a_failure_hands_nobody_somebody_elses_memory(game: Game, fault: Scripted) -> None:
    game.play(2)
    game.failing = {"Joaquin": fault}
    game.play(2)
    assert "Joaquin" not in game.knows("Maya").summary
    assert "Maya is on the island" not in game.knows("Joaquin").summary
    assert game.knows("Joaquin").facts[0].text == game.knows("Maya").facts[0].text, "what was known stays known"
    game.failing = {}
    game.play(1)
    assert game.knows("Joaquin").summary.startswith("Joaquin is on the island.")


def test_defect_4_silent_witnesses_remember_and_the_absent_read_no_shared_log(game: Game) -> None:
    game.play(1, ["Anna", "Maya", "Joaquin", "Odalys"])
    game.play(1, ["Anna", "Joaquin", "Odalys"])
    assert any("turn 2" in one.user for one in game.asked if about(one) == "Odalys"), "she never spoke"
    shown = "\n".join(one.text for one in game.seen("character:Maya").messages)
    assert "The wind turns, turn 1" in shown
    assert "The wind turns, turn 2" not in shown


def test_defect_5_the_newest_fact_stays_and_none_is_there_twice(game: Game) -> None:
    game.play(13)
    game.turn = 12  # what turn 13 told is told once more
    game.play(1)
    facts = [fact.text for fact in game.knows("Maya").facts]
    assert len(facts) == len(set(facts)) == MOST_FACTS
    assert "Door number 13 " in facts[-1]


def test_defect_7_a_chapter_is_told_from_its_first_turn_on(game: Game) -> None:
    game.story.set(["fold_tokens=100000"])
    game.play(14)
    game.story.close_chapter("The wreck")
    game.story.fold()
    read = "\n".join(map(messages, game.recaps()))
    assert {int(number) for number in re.findall(r"turn (\d+)", read)} == set(range(1, 15))
    (chapter,) = game.story.chapters()
    assert chapter.text == TOLD.format(14), "what was told of all of it is kept of the chapter"


def test_named_limit_nobody_answers_and_all_remember(game: Game) -> None:
    """A turn in which the narrator alone speaks still reaches every character."""
    game.play(1)
    before: dict[str, Any] = {name: game.knows(name) for name in ("Maya", "Joaquin")}
    game.story.add("user", "I wait, turn 2.", name="Anna")
    game.story.add("assistant", "Night falls, turn 2.", name="Narrator")
    game.story.fold()
    for name, known in before.items():
        assert len(game.knows(name).facts) == len(known.facts) + 1
