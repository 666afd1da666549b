"""The game on the page is written from the page alone, and runs to its end."""

from __future__ import annotations

import re
from pathlib import Path

from previously.core.model_io import ModelRequest
from previously.play.game_files import read_game
from tests.end_to_end.play.game_doubles import Table, open_session

PAGE = (Path(__file__).parents[3] / "docs" / "play.md").read_text("utf-8")


def write_from_the_page(folder: Path) -> list[str]:
    """Put each block of YAML into the file that is named last before it, as a reader would."""
    begins = PAGE[PAGE.index("## Write a game") :]
    written: list[str] = []
    for match in re.finditer(r"```yaml\n(.*?)```", begins, re.S):
        name = re.findall(r"`((?:characters/|chapters/)?\w+\.yaml)`", begins[: match.start()])[-1]
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(match[1], "utf-8")
        written.append(name)
    return written


async def test_the_game_on_the_page_runs_to_its_end(tmp_path: Path) -> None:
    written = write_from_the_page(tmp_path)
    assert sorted(written) == [
        "chapters/boarding.yaml", "chapters/crossing.yaml", "characters/ansel.yaml", "characters/vera.yaml",
        "game.yaml", "world.yaml",
    ]  # fmt: skip
    game = read_game(tmp_path)

    def judge(request: ModelRequest) -> str:
        still_open = re.findall(r"^(\d+)\. .*\(open\)$", request.system, re.M)
        return f"HIT: {still_open[0] if still_open else 'none'}\nCOMPLETE: yes\nWHY: So it went."

    table = Table()
    table.answers |= {
        "narrator": "The fog came in.\nPRESENT: Ansel Brook, Vera Lindt\nRESPONDING: Vera Lindt\nMOOD: eerie",
        "Vera Lindt": '"Is it late?" asked Vera Lindt.',
        "state": judge,
    }
    turns = 0
    async with open_session(game, table) as session:
        while not session.state.complete and turns < 9:
            await session.take_turn(f"I count the coats for the {turns + 1}. time.")
            turns += 1
        assert session.state.complete and session.state.closed == ("boarding", "crossing")
        assert [chapter.title for chapter in await session.story.chapters()] == ["Boarding", "The Crossing"]
    assert turns == 5
