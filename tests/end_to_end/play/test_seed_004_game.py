"""What seed 004 says of a game's turns, agents and contexts, beside what `test_seed_004_engine` says of its memory: one
row per sentence, each naming the test that shows it, and the table of turn 30.
"""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from previously import Memory
from previously.core.model_io import ModelRequest
from previously.core.tokens import estimate_tokens
from previously.play.game_files import read_shipped_game
from previously.play.model_meter import MeteredModel, identify_agent
from previously.play.playtest import PromptLog, play_automatically
from previously.play.script_model import ScriptedGameModel
from previously.play.session import GameSession

HERE = Path(__file__).parent

ROWS = {
    "Each character has a memory file with a summary and key facts": (
        "test_a_save_goes_out_and_a_person_edits_what_maya_knows"
    ),
    "A dedicated memory agent updates each character's memory after every turn": (
        "test_a_turn_asks_the_agents_in_their_order_and_puts_all_on_the_path"
    ),
    "The agent sees the character's current memory plus the current turn's events": (
        "test_a_save_goes_out_and_a_person_edits_what_maya_knows"
    ),
    "Memories are never cross-contaminated": "test_a_memory_that_fails_changes_no_other_and_is_caught_up",
    "If Maya was not present, her memory agent never sees it": "test_who_was_away_knows_nothing_until_told",
    "Memory agents for all characters run in parallel": (
        "test_memory_of_all_witnesses_and_the_state_are_asked_for_at_the_same_time"
    ),
    "Each agent is independent: no shared state": "test_a_slow_memory_holds_up_no_other",
    "The narrator receives the summary at the top of its context": "test_a_save_comes_into_a_new_slot",
    "The game state agent determines that a chapter is complete": (
        "test_beats_are_hit_and_a_chapter_closes_when_its_completion_holds"
    ),
    "On subsequent turns the narrator receives completed chapters": (
        "test_beats_are_hit_and_a_chapter_closes_when_its_completion_holds"
    ),
    "The system prompt holds world, chapter and characters": (
        "test_each_agent_has_its_own_prompt_budget_and_temperature"
    ),
    "A 50-turn game uses roughly the same context as a 5-turn game": (
        "test_turn_500_is_as_large_as_turn_50_and_still_knows_chapter_one"
    ),
    "Narrator, characters, then memory and state, chapter, summary, save": (
        "test_a_turn_asks_the_agents_in_their_order_and_puts_all_on_the_path"
    ),
    "Two retries, each warmer": "test_a_state_agent_that_talks_hits_nothing_and_is_told_of",
    "YAML repair: unclosed fences, block texts without a line, trailing prose": "test_a_narration_in_every_form",
    "Beats reset with a chapter, and the final one completes the game": (
        "test_beats_are_hit_and_a_chapter_closes_when_its_completion_holds"
    ),
    "Undo rolls memory back too": "test_undo_restores_words_memory_and_state_of_every_turn",
    "Defect: a failed update hands another's memory over": "test_a_memory_that_fails_changes_no_other_and_is_caught_up",
    "Defect: only those who answer remember": "test_silent_witnesses_remember",
    "Defect: nobody answers, nobody remembers": "test_with_nobody_to_answer_all_remember",
    "Defect: characters read the shared log": "test_who_was_away_knows_nothing_until_told",
    "Defect: undo destroys": "test_memory_that_another_branch_stands_on_is_not_taken_back",
    "Limit: thinking eats the answer's tokens": "test_a_reasoning_model_that_used_up_its_room_has_more_the_next_time",
    "Limit: after 200 turns early detail is lost": "test_turn_500_is_as_large_as_turn_50_and_still_knows_chapter_one",
}


@pytest.mark.parametrize("sentence", ROWS)
def test_every_sentence_has_its_test(sentence: str) -> None:
    sources = [*HERE.glob("test_*.py"), *(HERE.parents[1] / "unit" / "play").glob("test_*.py")]
    names = {
        node.name
        for path in sources
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }
    assert ROWS[sentence] in names


@pytest.mark.slow(reason="plays 30 turns")
async def test_the_table_of_turn_30() -> None:
    """What each agent sees at turn 30: narrator about 1,400 tokens, character 1,000, memory 600, state 500."""
    sizes: dict[str, int] = {}
    log = PromptLog()

    def look(request: ModelRequest) -> None:
        log.look(request)
        who = identify_agent(request)
        kind = "memory" if who.startswith("memory of ") else who if who in ("narrator", "state", "") else "character"
        sizes[kind] = max(sizes.get(kind, 0), estimate_tokens(request.system) + estimate_tokens(request.user))

    model = MeteredModel(ScriptedGameModel(3), look)
    async with await Memory.open(":memory:", model=model) as memory:
        session = await GameSession.open(memory, read_shipped_game(), model)
        await play_automatically(session, log, 30, 3)
    assert sizes["narrator"] <= 1_550 and sizes["character"] <= 1_000
    assert sizes["memory"] <= 800 and sizes["state"] <= 600
