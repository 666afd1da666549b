"""Turns of a game, as one sees them from outside: who is asked what, who remembers what, and what failures do."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from previously.core.errors import BadInput
from previously.core.model_io import FailureKind, ModelFailure, ModelRequest
from previously.play.agents import CHARACTER_AGENT, NARRATOR_AGENT, STATE_AGENT
from previously.play.events import BeatHit, ChapterOver, Said, Trouble
from previously.play.game import Game
from previously.play.session import GameSession
from previously.play.turn import NoNarration
from tests.end_to_end.play.game_doubles import Table, open_session, read_small_game

DOWN = ModelFailure(FailureKind.BAD_REQUEST, "The model is not there.")
KEY, HORSE = "third stair of the mill", "eleven crowns in spring"


@pytest.fixture
def game(tmp_path: Path) -> Game:
    return read_small_game(tmp_path)


async def knows(session: GameSession, name: str) -> str:
    """What a character knows, as text."""
    known = {item.name: item.knowledge for item in await session.story.cast()}
    return json.dumps(known[name].as_json()) if name in known else ""


async def test_a_turn_asks_the_agents_in_their_order_and_puts_all_on_the_path(game: Game) -> None:
    table = Table()
    async with open_session(game, table) as session:
        await session.take_turn("I knock.")
        told = [(item.entry.message.speaker, item.entry.message.text) for item in await session.story.messages(1, -1)]
    assert told == [
        ("Tess", "I knock."),
        ("Narrator", "The wheel creaked once."),
        ("Maya", '"Who is there?" Maya asked.'),
    ]
    order = [who for who, _ in table.asked]
    assert order[:2] == ["narrator", "Maya"]
    assert sorted(order[2:]) == ["memory of Bram", "memory of Maya", "state"]
    assert session.state.mood == "tense" and session.state.turn == 1


async def test_calls_are_witnesses_and_two_and_one_for_each_who_answers(game: Game) -> None:
    table = Table()
    async with open_session(game, table) as session:
        await session.take_turn("I knock.")
        for number in range(3):
            before = session.model.meter.calls
            done = await session.take_turn(f"I wait {number} minutes.")
            assert (done.witnesses, done.responses) == (2, 1)
            assert session.model.meter.calls - before == done.witnesses + 2 + done.responses


async def test_memory_of_all_witnesses_and_the_state_are_asked_for_at_the_same_time(game: Game) -> None:
    table, under_way = Table(), asyncio.Event()
    waiting: set[str] = set()

    async def wait(request: ModelRequest) -> str:
        """Answer once all three are asked: whoever asked one after the other would wait for ever."""
        waiting.add(request.system)
        if len(waiting) == 3:
            under_way.set()
        await asyncio.wait_for(under_way.wait(), 20)
        return (
            "HIT: none\nCOMPLETE: no"
            if request.system.startswith("You keep the score")
            else '{"summary": "It was so."}'
        )

    table.answers |= {"memory of Maya": wait, "memory of Bram": wait, "state": wait}
    async with open_session(game, table) as session:
        await session.take_turn("I knock.")
        assert session.state.faults == () and session.model.meter.most_at_once == 3


async def test_each_agent_has_its_own_prompt_budget_and_temperature(game: Game) -> None:
    table = Table()
    async with open_session(game, table) as session:
        await session.take_turn("I knock.")
    asked = dict(table.asked)
    for who, agent in (("narrator", NARRATOR_AGENT), ("Maya", CHARACTER_AGENT), ("state", STATE_AGENT)):
        assert asked[who].temperature == agent.temperature
        assert asked[who].max_output_tokens == agent.answer_tokens
    assert asked["memory of Maya"].temperature == 0.2
    assert [agent.window_tokens for agent in (NARRATOR_AGENT, CHARACTER_AGENT)] == [2_000, 1_000]
    narrator, maya = table.prompts("narrator")[0], table.prompts("Maya")[0]
    for told in (KEY, HORSE, "Behind the door", "[ ] Tess knocks", "Nothing here is magic", "A mill by a river"):
        assert (told in narrator) is (told != "Behind the door"), told
    assert KEY in maya and "A mill by a river" in maya
    for hidden in (HORSE, "Tess knocks at the door", "wants to get in", "Nothing here is magic"):
        assert hidden not in maya
    assert "1. Tess knocks at the door (open)" in table.prompts("state")[0]
    assert "complete when: Maya has opened the door" in table.prompts("state")[0]


async def test_silent_witnesses_remember(game: Game) -> None:
    async with open_session(game, Table()) as session:
        await session.take_turn("I say that the tide comes at nine.")
        assert "tide comes at nine" in await knows(session, "Bram"), "Bram said nothing"


async def test_with_nobody_to_answer_all_remember(game: Game) -> None:
    table = Table()
    table.answers["narrator"] = "Nobody spoke.\nPRESENT: Maya, Bram\nRESPONDING: nobody\nMOOD: calm"
    async with open_session(game, table) as session:
        done = await session.take_turn("I say that the tide comes at nine.")
        assert done.responses == 0
        for name in ("Maya", "Bram"):
            assert "tide comes at nine" in await knows(session, name)


async def test_who_was_away_knows_nothing_until_told(game: Game) -> None:
    table = Table()
    table.answers["narrator"] = "They were alone.\nPRESENT: Maya\nRESPONDING: Maya\nMOOD: calm"
    table.answers["Maya"] = '"The ferry sinks tonight," Maya said.'
    async with open_session(game, table) as session:
        await session.take_turn("I whisper that the bridge is mined.")
        table.answers |= {
            "narrator": "Bram came in.\nPRESENT: Maya, Bram\nRESPONDING: Bram\nMOOD: calm",
            "Bram": 'Bram shrugged. "News?"',
        }
        await session.take_turn("I greet Bram.")
        for prompt in (*table.prompts("Bram"), *table.prompts("memory of Bram")):
            assert "bridge is mined" not in prompt and "ferry sinks" not in prompt
        assert "ferry sinks" not in await knows(session, "Bram")
        table.answers["Bram"] = 'Bram stared. "So that is it."'
        await session.take_turn("I tell Bram that the ferry sinks tonight.")
        assert "ferry sinks tonight" in table.prompts("memory of Bram")[-1]
        table.answers["memory of Bram"] = json.dumps({"summary": "He knows of it.", "add": ["The ferry sinks tonight"]})
        await session.take_turn("I wait.")
        assert "The ferry sinks tonight" in await knows(session, "Bram")


async def test_somebody_who_is_not_of_the_chapter_hears_nothing(game: Game) -> None:
    table = Table()
    table.answers["narrator"] = "The wheel creaked.\nPRESENT: Maya\nRESPONDING: nobody\nMOOD: calm"
    async with open_session(game, table) as session:
        await session.take_turn("I knock.")
        await session.take_turn("I knock again.")
    assert not table.prompts("memory of Odalys")


BROKEN: dict[str, object] = {
    "fails": DOWN,
    "is garbled": "I am so sorry!!",
    "is of somebody else": json.dumps({"character": "Maya", "summary": "Maya has it.", "add": ["Maya has the key"]}),
    "is empty": "{}",
}


@pytest.mark.parametrize("how", BROKEN)
async def test_a_memory_that_fails_changes_no_other_and_is_caught_up(how: str, game: Game) -> None:
    table = Table()
    async with open_session(game, table) as session:
        await session.take_turn("I say that the tide comes at nine.")
        before = await knows(session, "Bram")
        table.answers["memory of Bram"] = BROKEN[how]  # type: ignore[assignment]
        await session.take_turn("I say that the moon is new.")
        assert await knows(session, "Bram") == before
        assert "moon is new" in await knows(session, "Maya")
        assert any("the memory of bram" in fault for fault in session.state.faults)
        assert any(isinstance(event, Trouble) and "bram" in event.about for event in table.events)
        del table.answers["memory of Bram"]
        await session.take_turn("I wait.")
        assert "moon is new" in table.prompts("memory of Bram")[-1], "what was missed is read again"


async def test_a_slow_memory_holds_up_no_other(game: Game) -> None:
    table, others = Table(), asyncio.Event()

    async def late(request: ModelRequest) -> str:
        await asyncio.wait_for(others.wait(), 20)
        return json.dumps({"summary": "Bram was slow.", "add": []})

    def prompt(request: ModelRequest) -> str:
        others.set()
        return json.dumps({"summary": "Maya was quick.", "add": []})

    table.answers |= {"memory of Bram": late, "memory of Maya": prompt}
    async with open_session(game, table) as session:
        await session.take_turn("I knock.")
        assert "Maya was quick" in await knows(session, "Maya")
        assert "Bram was slow" in await knows(session, "Bram")


async def test_a_character_who_fails_keeps_silent_and_the_turn_goes_on(game: Game) -> None:
    table = Table()
    table.answers["Maya"] = DOWN
    async with open_session(game, table) as session:
        done = await session.take_turn("I knock.")
        assert (done.responses, session.state.turn) == (0, 1)
        assert session.state.faults == ("Maya: The model is not there.",)


async def test_a_state_agent_that_talks_hits_nothing_and_is_told_of(game: Game) -> None:
    table = Table()
    table.answers["state"] = "Great progress!"
    async with open_session(game, table) as session:
        await session.take_turn("I knock.")
        assert session.state.beats == () and len(table.prompts("state")) == 3, "asked three times"
        assert any("the game's state" in fault for fault in session.state.faults)
    temperatures = [request.temperature for who, request in table.asked if who == "state"]
    assert temperatures == pytest.approx([0.2, 0.3, 0.4])


async def test_without_a_narration_the_story_is_as_it_was(game: Game) -> None:
    table = Table()
    async with open_session(game, table) as session:
        await session.take_turn("I knock.")
        before = await session.story.messages(0, -1)
        table.answers["narrator"] = DOWN
        with pytest.raises(NoNarration, match="not there"):
            await session.take_turn("I knock harder.")
        assert await session.story.messages(0, -1) == before and session.state.turn == 1
        table.answers["narrator"] = "It opened.\nPRESENT: Maya\nRESPONDING: nobody\nMOOD: calm"
        assert (await session.take_turn("I knock harder.")).state.turn == 2


async def test_what_cannot_be_said_is_refused_in_a_sentence(game: Game) -> None:
    async with open_session(game, Table()) as session:
        for words in ("", "  ", "a" * 1_001):
            with pytest.raises(BadInput):
                await session.take_turn(words)
        assert session.state.turn == 0


async def test_beats_are_hit_and_a_chapter_closes_when_its_completion_holds(game: Game) -> None:
    table = Table()
    async with open_session(game, table) as session:
        table.answers["state"] = "HIT: 1\nCOMPLETE: yes\nWHY: She knocked."
        await session.take_turn("I knock.")
        assert session.state.chapter == "one" and BeatHit("Tess knocks at the door") in table.events
        assert "1. Tess knocks at the door (hit before)" not in table.prompts("state")[0]
        table.answers["state"] = "HIT: 2\nCOMPLETE: yes\nWHY: Maya opened it."
        await session.take_turn("I wait.")
        assert (session.state.chapter, session.state.closed, session.state.beats) == ("two", ("one",), ())
        assert ChapterOver("The Door", "Maya opened it.", "The Room") in table.events
        assert Said("Narrator", game.chapters["two"].opening) in table.events
        [chapter] = await session.story.chapters()
        assert chapter.title == "The Door" and chapter.text
        await session.take_turn("I go in.")
        narrator = table.prompts("narrator")[-1]
        assert "This chapter has just begun" in narrator and "[ ] Tess sees the room" in narrator
        assert "Tess and Maya were there" in narrator, "the chapter before is told"
        table.answers["state"] = "HIT: 1\nWHY: There it is."
        await session.take_turn("I look.")
        assert session.state.complete
        before = len(table.prompts("state"))
        await session.take_turn("I look again.")
        assert session.state.turn == 5 and len(table.prompts("state")) == before, "nothing is judged any more"


async def test_a_person_overrules(game: Game) -> None:
    table = Table()
    async with open_session(game, table) as session:
        await session.take_turn("I knock.")
        await session.overrule([1, 3])
        assert session.state.beats == ("Tess knocks at the door", "The key is named")
        await session.take_turn("I wait.")
        assert session.state.beats == ("Tess knocks at the door", "The key is named"), "it stays said"
        with pytest.raises(BadInput, match="beats 1 to 3"):
            await session.overrule([4])
        await session.end_chapter("I have had enough of doors.")
        assert (session.state.chapter, session.state.reason) == ("two", "I have had enough of doors.")
        assert [chapter.title for chapter in await session.story.chapters()] == ["The Door"]


async def test_answers_that_had_to_be_repaired_are_counted(game: Game) -> None:
    table = Table()
    table.answers["narrator"] = '{"narration": "It creaked.", "responding_characters": ["Maya"]}'
    async with open_session(game, table) as session:
        await session.take_turn("I knock.")
        assert session.state.repairs >= 2
        assert session.state.present == ("maya", "bram"), "not said: as before"


async def test_a_reasoning_model_that_used_up_its_room_has_more_the_next_time(game: Game) -> None:
    from previously.core.model_io import ModelReply, Usage

    table, rooms = Table(), []

    def think(request: ModelRequest) -> object:
        rooms.append(request.max_output_tokens)
        if len(rooms) == 1:
            return ModelReply("", "m", "length", Usage(1, 1, reported=True), "thinking …")
        return "It creaked.\nPRESENT: Maya\nRESPONDING: nobody\nMOOD: calm"

    table.answers["narrator"] = think  # type: ignore[assignment]
    async with open_session(game, table) as session:
        await session.take_turn("I knock.")
    assert rooms[1] == 4 * rooms[0]
