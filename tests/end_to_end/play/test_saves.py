"""Saves: undo takes back words and memory, a killed turn leaves nothing, and files can be edited."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
import yaml

from previously import Memory
from previously.core.errors import BadInput
from previously.core.model_io import ModelRequest
from previously.play.game import Game
from previously.play.model_meter import MeteredModel
from previously.play.save_files import read_save, write_save
from previously.play.script_model import ScriptedGameModel
from previously.play.session import GameSession, list_slots, name_story
from previously.testing.model import ScriptedModel
from tests.end_to_end.play.game_doubles import Table, digest_memory, open_session, read_small_game


@pytest.fixture
def game(tmp_path: Path) -> Game:
    return read_small_game(tmp_path)


async def test_undo_restores_words_memory_and_state_of_every_turn(game: Game) -> None:
    """With chapters that close and recaps that are folded on the way."""
    model = MeteredModel(ScriptedGameModel(5))
    async with await Memory.open(":memory:", model=model) as memory:
        session = await GameSession.open(memory, game, model)
        await session.story.set(["fold_tokens=300", "tail_turns=1"])
        digests = [await digest_memory(session)]
        for number in range(14):
            await session.take_turn(f"I do the thing with the number {number}.")
            if number == 6:
                await session.end_chapter()
            digests.append(await digest_memory(session))
        assert await session.story.chapters() and len(await session.story.log()) > 20
        for back in range(14):
            assert await session.undo() == 1
            if back != 7:  # what a person did after a turn is taken back with the turn before it
                assert await digest_memory(session) == digests[13 - back], f"{back + 1} turns taken back"
        assert await session.undo() == 0
        assert (await memory.verify()).faults == ()


async def test_several_turns_are_taken_back_at_once_and_the_game_goes_on(game: Game) -> None:
    table = Table()
    async with open_session(game, table) as session:
        await session.take_turn("I knock.")
        digest = await digest_memory(session)
        for number in range(3):
            await session.take_turn(f"I say that it is {number} o'clock.")
        assert await session.undo(3) == 3
        assert await digest_memory(session) == digest
        await session.take_turn("I leave.")
        assert session.state.turn == 2
        assert not any("o'clock" in prompt for prompt in table.prompts("narrator")[-1:])


async def test_memory_that_another_branch_stands_on_is_not_taken_back(game: Game) -> None:
    model = MeteredModel(ScriptedGameModel(5))
    async with await Memory.open(":memory:", model=model) as memory:
        session = await GameSession.open(memory, game, model)
        await session.story.set(["fold_tokens=300", "tail_turns=1"])
        for number in range(8):
            await session.take_turn(f"I do the thing with the number {number}.")
        await session.branch("other")
        there = await digest_memory(session)
        await session.branch("main")
        await session.undo(6)
        await session.branch("other")
        assert await digest_memory(session) == there


async def test_branches_go_their_own_ways(game: Game) -> None:
    table = Table()
    async with open_session(game, table) as session:
        await session.take_turn("I knock.")
        await session.branch("what-if")
        table.answers["state"] = "HIT: 1\nCOMPLETE: no\nWHY: So."
        await session.take_turn("I burn the mill down.")
        assert session.state.beats
        await session.branch("main")
        assert (session.state.turn, session.state.beats) == (1, ())
        await session.overrule([2])
        await session.branch("what-if")
        assert session.state.beats == ("Tess knocks at the door",), "a person's word follows the branch"


async def test_slots_are_games_of_their_own(game: Game, tmp_path: Path) -> None:
    place = str(tmp_path / "saves.db")
    async with open_session(game, Table(), place, "one") as session:
        await session.take_turn("I knock.")
    async with open_session(game, Table(), place, "two") as session:
        assert session.state.turn == 0
    async with await Memory.open(place) as memory:
        assert await list_slots(memory, game) == ["one", "two"]
    async with open_session(game, Table(), place, "one") as session:
        assert session.state.turn == 1 and session.interrupted == ""
    with pytest.raises(BadInput, match="no name for a save"):
        name_story(game, "../x")


@pytest.mark.parametrize("where", ["narrator", "Maya", "memory of Bram", "state"])
async def test_a_killed_process_goes_on_at_the_last_finished_turn(where: str, game: Game, tmp_path: Path) -> None:
    """Killed while somebody is asked: the store is left as it is, as a process that is gone leaves it."""
    place, table = str(tmp_path / "saves.db"), Table()
    async with open_session(game, table, place) as session:
        await session.take_turn("I knock.")
        digest = await digest_memory(session)
    asked = asyncio.Event()

    async def hang(request: ModelRequest) -> str:
        asked.set()
        await asyncio.Event().wait()
        return ""

    table.answers[where] = hang
    model = MeteredModel(_scripted(table))
    memory = await Memory.open(place, model=model)
    session = await GameSession.open(memory, game, model)
    turn = asyncio.create_task(_play_and_leave(session, "I say the word."))
    await asyncio.wait_for(asked.wait(), 20)
    turn.cancel()
    with pytest.raises(asyncio.CancelledError):
        await turn
    await memory.close()
    async with open_session(game, Table(), place) as session:
        assert session.interrupted == "I say the word."
        assert session.state.turn == 1 and await digest_memory(session) == digest


def _scripted(table: Table) -> ScriptedModel:
    return ScriptedModel(table.answer)


async def _play_and_leave(session: GameSession, words: str) -> None:
    """Play a turn without taking back what a cancelled one leaves."""
    from previously.play.turn import TurnPlayer

    player = TurnPlayer(session.game, session.story, session.model, session._templates, session._tell)
    await player.play(session.state, words)


async def test_a_turn_that_is_interrupted_is_taken_back_at_once(game: Game) -> None:
    table, asked = Table(), asyncio.Event()
    async with open_session(game, table) as session:
        await session.take_turn("I knock.")
        digest = await digest_memory(session)

        async def hang(request: ModelRequest) -> str:
            asked.set()
            await asyncio.Event().wait()
            return ""

        table.answers["Maya"] = hang
        turn = asyncio.create_task(session.take_turn("I wait."))
        await asyncio.wait_for(asked.wait(), 20)
        turn.cancel()
        with pytest.raises(asyncio.CancelledError):
            await turn
        assert await digest_memory(session) == digest


async def test_a_save_goes_out_and_a_person_edits_what_maya_knows(game: Game, tmp_path: Path) -> None:
    table, place, out = Table(), str(tmp_path / "saves.db"), tmp_path / "out"
    async with open_session(game, table, place) as session:
        table.answers["state"] = "HIT: 1\nCOMPLETE: no\nWHY: So."
        await session.take_turn("I knock.")
        files = await write_save(session, out)
        assert files == ["conversation.yaml", "memory/bram.yaml", "memory/maya.yaml", "state.yaml", "summaries.yaml"]
        state = yaml.safe_load((out / "state.yaml").read_text())
        assert (state["current_chapter"], state["turn"], state["beats_hit"]) == ("one", 1, ["Tess knocks at the door"])
        conversation = yaml.safe_load((out / "conversation.yaml").read_text())
        assert [entry["role"] for entry in conversation] == ["narrator", "player", "narrator", "character"]
        assert conversation[3]["character"] == "Maya" and conversation[1]["turn"] == 1
        maya = yaml.safe_load((out / "memory/maya.yaml").read_text())
        assert set(maya) == {"character", "summary", "key_facts"} and maya["character"] == "Maya"
        assert await read_save(session, out) == [], "nothing was changed"
        maya |= {"summary": "Maya dreamt of a green lantern.", "key_facts": ["Tess owes her nine crowns"]}
        (out / "memory/maya.yaml").write_text(yaml.safe_dump(maya))
        state["beats_hit"] = ["Maya opens the door"]
        (out / "state.yaml").write_text(yaml.safe_dump(state))
        assert await read_save(session, out) == ["how the game stands", "what Maya knows"]
    async with open_session(game, table, place) as session:
        assert session.state.beats == ("Maya opens the door",)
        await session.take_turn("I wait.")
        assert "green lantern" in table.prompts("Maya")[-1] and "owes her nine crowns" in table.prompts("Maya")[-1]
        assert "green lantern" in table.prompts("memory of Maya")[-1]
        assert "green lantern" not in table.prompts("memory of Bram")[-1]
        with pytest.raises(BadInput, match="there already"):
            await write_save(session, out)


async def test_a_save_comes_into_a_new_slot(game: Game, tmp_path: Path) -> None:
    """One that another program of this kind wrote: no witnesses, and chapters that are over told in summaries."""
    out = tmp_path / "save"
    (out / "memory").mkdir(parents=True)
    told = [
        {
            "turn": turn,
            "role": role,
            "content": f"{role} {turn} says so.",
            **({"character": "bram"} if role == "character" else {}),
        }
        for turn in range(1, 9)
        for role in ("player", "narrator", "character")
    ]
    state = {"player_name": "Tess", "current_chapter": "two", "turn": 8, "beats_hit": [], "chapter_history": ["one"],
             "rolling_summary": "They talked.", "last_summarized_turn": 4, "game_complete": False}  # fmt: skip
    summaries = [{"chapter_id": "one", "title": "The Door", "summary": "The door was opened by a green ghost."}]
    memory = {"character": "Bram", "summary": "Bram is tired.", "key_facts": ["The ghost was green"]}
    for name, value in (("conversation", told), ("state", state), ("summaries", summaries), ("memory/bram", memory)):
        (out / f"{name}.yaml").write_text(yaml.safe_dump(value))
    table = Table()
    async with open_session(game, table, slot="old") as session:
        done = await read_save(session, out)
        assert done == ["24 messages of 8 turns", "what Bram knows"]
        assert (session.state.turn, session.state.chapter, session.state.closed) == (8, "two", ("one",))
        await session.take_turn("I go on.")
        assert "green ghost" in table.prompts("narrator")[-1] and session.state.turn == 9
        assert "Bram is tired." in table.prompts("memory of Bram")[-1]
        assert await session.undo(2) == 2
        with pytest.raises(BadInput, match="another conversation"):
            await read_save(session, out)


BAD = {
    "state.yaml": ("current_chapter: nine\n", "state.yaml, current_chapter: there is no chapter 'nine'"),
    "conversation.yaml": ("- {turn: 1, role: ghost, content: Boo}\n", "conversation.yaml, entry 1, role: 'ghost'"),
    "memory/conrad.yaml": ("summary: He is here.\n", "memory/conrad.yaml: 'conrad' is nobody of this game"),
    "memory/bram.yaml": (f"key_facts: {list(range(11))}\n", "a character keeps at most 10; these are 11"),
    "summaries.yaml": ("a: [\n", "summaries.yaml, line 2: it is no YAML"),
}


@pytest.mark.parametrize("file", BAD)
async def test_a_save_that_cannot_be_read_is_told_and_changes_nothing(file: str, game: Game, tmp_path: Path) -> None:
    out = tmp_path / "out"
    async with open_session(game, Table()) as session:
        await session.take_turn("I knock.")
        await write_save(session, out)
        digest = await digest_memory(session)
        (out / file).write_text(BAD[file][0])
        with pytest.raises(BadInput) as raised:
            await read_save(session, out)
        assert BAD[file][1] in str(raised.value)
        assert await digest_memory(session) == digest
