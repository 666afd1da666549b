"""A game's narrator reads as much after 5,000 turns as after 50."""

from __future__ import annotations

from pathlib import Path
from statistics import fmean

import pytest

from previously import BlockingMemory, Draft, Settings, message
from previously.blocking import BlockingStory
from previously.view.view import Section

TURNS_OF_A_CHAPTER = 12
PLACES = ("quay", "mill", "lock", "chapel", "tollhouse", "brickworks", "ferry")
PEOPLE = ("Maya", "Joaquin", "Odalys", "Conrad", "Tess")


def drafts(turn: int) -> list[Draft]:
    """A turn of a game: what the player does, and what the narrator and a character make of it."""
    place, who = PLACES[turn % len(PLACES)], PEOPLE[turn % len(PEOPLE)]
    other = PEOPLE[(turn + 2) % len(PEOPLE)]
    action = f"I walk to the {place} and ask {who} about the {turn} crowns that {other} owes."
    told = (
        f"At the {place} the wind comes off the water. {who} counts the coins twice and does not look up. "
        f"Behind the door somebody moves a chair, and on the wall a lamp with the number {turn} goes out."
    )
    said = f'"Ask {other} yourself," {who} said. "I promised to keep door {turn} shut, and I will."'
    return [
        Draft(message("user", action, speaker="Player")),
        Draft(message("assistant", told, speaker="Narrator")),
        Draft(message("assistant", said, speaker=who)),
    ]


def play(story: BlockingStory, first: int, last: int, sizes: dict[int, int]) -> None:
    """Turns first to last. Sizes of views are noted where somebody looks: at each of the last ten turns."""
    for turn in range(first, last):
        close = last - turn <= 10
        story.add_drafts(drafts(turn))
        if turn % TURNS_OF_A_CHAPTER == TURNS_OF_A_CHAPTER - 1:
            story.close_chapter(f"Part {turn // TURNS_OF_A_CHAPTER}")
        if close or turn % TURNS_OF_A_CHAPTER == TURNS_OF_A_CHAPTER - 1:
            story.fold()
        if close:
            view = story.view(reader="narrator")
            assert view.tokens <= 1_400, "600 of 2,000 tokens are for the answer"
            sizes[turn] = view.tokens


@pytest.mark.slow(reason="plays 5,000 turns")
def test_a_game_of_5000_turns_costs_what_one_of_50_does(tmp_path: Path) -> None:
    means = {}
    with BlockingMemory(tmp_path / "game.db", settings=Settings.of("game", recall_percent=0, cast="off")) as memory:
        story = memory.story("game")
        story.add("system", "You are the narrator of a game. " + "Describe what the player sees and hears. " * 20)
        at = 0
        for turns in (50, 500, 5_000):
            sizes: dict[int, int] = {}
            play(story, at, turns, sizes)
            means[turns] = fmean(sizes.values())
            at = turns
        seen = story.view(reader="narrator")
        assert {Section.SYSTEM, Section.BACKBONE, Section.TAIL} <= seen.report.sections.keys()
        for reader, most in (("character:Tess", 1_000), ("memory:Tess", 600), ("state", 500)):
            assert 0 < story.view(reader=reader).tokens <= most
    assert max(means.values()) <= 1.1 * min(means.values()), means
