"""Automatic play: views stay bounded, nothing leaks, chapters close, and what was once told can be asked for."""

from __future__ import annotations

import json
from pathlib import Path
from statistics import fmean

import pytest

from previously import Memory
from previously.play import agents
from previously.play.game import Game
from previously.play.game_files import read_shipped_game
from previously.play.leaks import LeakWatch
from previously.play.model_meter import MeteredModel
from previously.play.playtest import PlaytestReport, PromptLog, choose_words, play_automatically
from previously.play.script_model import ScriptedGameModel
from previously.play.session import GameSession
from tests.end_to_end.play.game_doubles import Table, digest_memory, open_session, read_small_game

LONG, SHORT = 500, 12


async def run(turns: int, *, repeats: bool = False, seed: int = 3) -> PlaytestReport:
    log = PromptLog()
    model = MeteredModel(ScriptedGameModel(seed, repeats=repeats), log.look)
    async with await Memory.open(":memory:", model=model) as memory:
        session = await GameSession.open(memory, read_shipped_game(), model)
        return await play_automatically(session, log, turns, seed)


def open_the_wall(monkeypatch: pytest.MonkeyPatch) -> None:
    """Show every character what the narrator sees."""
    monkeypatch.setattr(agents, "find_character_reader", lambda person: "narrator")


async def test_a_model_that_repeats_everything_leaks_nothing() -> None:
    report = await run(SHORT, repeats=True)
    assert (report.turns, report.leaks, report.shown_leaks) == (SHORT, 0, [])
    assert report.responses > 5 and report.witnesses > SHORT, "somebody could have leaked"


async def test_with_the_wall_open_the_same_look_finds_leaks(monkeypatch: pytest.MonkeyPatch) -> None:
    open_the_wall(monkeypatch)
    assert (await run(SHORT, repeats=True)).leaks > 3


@pytest.mark.slow(reason="plays 500 turns")
async def test_500_turns_of_a_model_that_repeats_everything_leak_nothing() -> None:
    report = await run(LONG, repeats=True)
    assert (report.turns, report.leaks, report.shown_leaks) == (LONG, 0, [])


@pytest.mark.slow(reason="plays 500 turns")
async def test_with_the_wall_open_500_turns_leak_at_least_50_times(monkeypatch: pytest.MonkeyPatch) -> None:
    open_the_wall(monkeypatch)
    assert (await run(LONG, repeats=True)).leaks >= 50


async def test_the_same_seed_gives_the_same_figures() -> None:
    first, second = await run(6, seed=11), await run(6, seed=11)
    assert first.as_json() == second.as_json()
    assert json.dumps(first.as_json()).startswith('{"turns": 6, "leaks": 0, "largest_view_tokens"')
    assert first.calls >= first.turns * 2 + first.witnesses + first.responses


FACTS = {
    "the ledger": "The harbour ledger was bound in green sealskin.",
    "the widow": "Widow Kestrel kept seven grey geese behind the smithy.",
    "the password": "The ferrymen's password was 'cold porridge'.",
    "the debt": "Old Tarrow owed the chandler forty-one crowns.",
    "the cellar": "Below the chandlery lay a cellar with a painted ceiling.",
    "the dog": "The lame dog of the toll keeper answered to Bishop.",
    "the clockmaker": "The clockmaker Iven had drowned on a Tuesday.",
    "the letter": "A letter with a broken violet seal lay under the pew.",
    "the bridge": "The footbridge at Saltern had lost its ninth plank.",
    "the bottle": "In the vestry stood a bottle of plum brandy marked poison.",
}
"""Told by the narrator in the first chapter, one in each of its first turns."""

QUESTIONS = {
    "the ledger": "I ask what the harbour ledger was bound in.",
    "the widow": "I ask what Widow Kestrel kept behind the smithy.",
    "the password": "I try to remember the password of the ferrymen.",
    "the debt": "I ask how much Old Tarrow owed the chandler.",
    "the cellar": "I ask what lay below the chandlery.",
    "the dog": "I call the lame dog of the toll keeper by its name.",
    "the clockmaker": "I ask about the clockmaker Iven, who drowned.",
    "the letter": "I ask about the letter with the violet seal.",
    "the bridge": "I ask about the plank of the footbridge at Saltern.",
    "the bottle": "I ask about the bottle in the vestry.",
}


class TellsFacts(ScriptedGameModel):
    """Tells one of the facts in each of the first ten turns."""

    def answer(self, request):  # type: ignore[no-untyped-def]
        text = super().answer(request)
        if request.system.startswith("You narrate") and "fact number" in request.user.rpartition("---")[0][-200:]:
            number = int(request.user.rpartition("fact number ")[2].split(".")[0])
            return f"{list(FACTS.values())[number]} {text}"
        return text


@pytest.mark.slow(reason="plays 500 turns")
async def test_turn_500_is_as_large_as_turn_50_and_still_knows_chapter_one(tmp_path: Path) -> None:
    prompts: list[str] = []
    model = MeteredModel(TellsFacts(3), lambda request: prompts.append(request.system + "\n" + request.user))
    async with await Memory.open(tmp_path / "game.db", model=model) as memory:
        session = await GameSession.open(memory, read_shipped_game(), model)
        sizes, digests = [], []
        chance = __import__("random").Random(4)
        for turn in range(LONG):
            words = (
                f"I listen for fact number {turn}."
                if turn < len(FACTS)
                else choose_words(session.game, session.state, chance)
            )
            done = await session.take_turn(words)
            sizes.append(done.view_tokens)
            if turn == LONG - 51:
                digests.append(await digest_memory(session))
        assert session.state.complete and len(session.state.closed) == 3, "chapters close when their completion holds"
        assert max(sizes) <= 1_550, "450 of 2,000 tokens are for the answer"
        early, late = fmean(sizes[45:55]), fmean(sizes[-10:])
        assert abs(late - early) <= 0.1 * early, (early, late)
        known = 0
        for what, question in QUESTIONS.items():
            prompts.clear()
            await session.take_turn(question)
            known += FACTS[what][:-1] in prompts[0].replace("’", "'")
            await session.undo()
        assert known >= 8, f"{known} of {len(FACTS)} facts"
        assert await session.undo(50) == 50
        assert await digest_memory(session) == digests[0], "memory is restored exactly"
        assert (await memory.verify()).faults == ()


async def test_leaks_are_found_whichever_way_they_come(tmp_path: Path) -> None:
    game: Game = read_small_game(tmp_path)
    watch = LeakWatch(game)
    assert watch.find_leaks("Bram", f"Maya thinks: {game.characters['maya'].secret}")
    assert not watch.find_leaks("Maya", game.characters["maya"].secret)
    assert watch.find_leaks("Maya", game.chapters["one"].summary), "what the narrator alone is told"
    watch.hear("The bridge is mined with seven barrels of powder.", ["Maya"])
    assert watch.find_leaks("Bram", "He knew that the bridge is mined with seven barrels of powder.")
    watch.hear("Somebody said: the bridge is mined with seven barrels of powder.", ["Bram"])
    assert not watch.find_leaks("Bram", "It was so: the bridge is mined with seven barrels of powder."), "told is known"
    assert watch.find_leaks("Maya", "1. Tess knocks at the door (open)") or watch.find_leaks(
        "Maya", "Tess knocks at the door"
    )


async def test_a_character_prompt_holds_no_secret_but_its_own() -> None:
    game, table = read_shipped_game(), Table()
    names = ", ".join(person.name for person in game.characters.values())
    for person in game.characters.values():
        table.answers[person.name] = f'"So," said {person.name}.'
    table.answers["narrator"] = f"They stood about.\nPRESENT: {names}\nRESPONDING: Bram Tully, Pip\nMOOD: calm"
    async with open_session(game, table) as session:
        await session.take_turn("I look at all of them.")
        await session.take_turn("I look again.")
    for person in game.characters.values():
        for prompt in (*table.prompts(person.name), *table.prompts(f"memory of {person.name}")):
            assert not [
                other.name for other in game.characters.values() if other is not person and other.secret in prompt
            ]
