"""`previously play` from a shell: in a pipe, without colour, with and without a model."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from previously.cli.play_terminal import TerminalGame
from previously.play.events import Said, Words
from previously.play.game_files import read_shipped_game
from tests.end_to_end.cli.running import Cli
from tests.end_to_end.play.game_doubles import write_game


def test_without_a_model_it_says_so_and_plays_the_first_scene(cli: Cli) -> None:
    ran = cli.bare("play")
    assert ran.code == 0
    assert "No model is named, so this is the first scene from recorded answers" in ran.err
    assert "Bram Tully: " in ran.out and "Mind nineteen." in ran.out and "[turn 3" in ran.err
    assert "could not be used" not in ran.err and "has no answer" not in ran.err


def test_a_game_of_ones_own_needs_a_model(cli: Cli, tmp_path: Path) -> None:
    assert "needs a model" in cli.fails(2, "play", write_game(tmp_path / "mill"))
    assert "needs a model" in cli.fails(2, "play", "--auto", 3)


def test_the_figures_of_automatic_play(cli: Cli) -> None:
    figures = cli("play", "--auto", 3, "--seed", 7, "--scripted", "--json").json
    assert (figures["turns"], figures["leaks"], figures["seed"]) == (3, 0, 7)
    assert {"largest_view_tokens", "chapters_closed", "calls", "repairs"} <= figures.keys()
    assert 0 < figures["largest_view_tokens"] <= 2_000
    told = cli.bare("play", "--auto", 1, "--scripted")
    assert told.out.startswith("1 turns of The Drowned Bell") or told.out.startswith("1 turn of The Drowned Bell")
    assert "from 1 to" in cli.fails(2, "play", "--auto", 0, "--scripted")


def test_a_new_game_is_made_checked_and_played(cli: Cli, tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    assert "game.yaml" in cli("play", "new", mine, "--json").json["files"]
    assert cli("play", "check", mine, "--json").json == {
        "game": "lighthouse",
        "characters": 1,
        "chapters": 2,
        "beats": 6,
    }
    assert cli("play", mine, "--auto", 2, "--scripted", "--json").json["turns"] == 2
    (mine / "world.yaml").write_text("tone: dry\n")
    assert cli.fails(2, "play", "check", mine) == "world.yaml, line 1, setting: it is missing."
    assert "needs a directory" in cli.fails(2, "play", "new")
    assert "too much" in cli.fails(2, "play", "check", mine, "more")


COMMANDS = b"""I ask Bram about the spire.
/beats
/memory bram
/who-knows coach
/recap
/chapters
/view
/view pip
/hit 3
/unhit 3
/branch other
I wait.
/branch
/undo 9
/save
/end
/help
/nonsense
/memory nobody
/quit
I am not read any more.
"""


def test_a_game_in_a_pipe_and_every_command(cli: Cli) -> None:
    ran = cli("play", "--scripted", stdin=COMMANDS)
    assert ran.code == 0 and "\x1b" not in ran.out
    for told in (
        "> I ask Bram about the spire.", "1. [ ] Ilse crosses", "3. [x] Odile meets Ilse", "main, other (here)",
        "2 turns taken back.", "No chapter is over yet.", "You narrate a text game.", "(546 of 800 tokens)"[-8:],
        "Every turn is kept", "The end of “The Ferry Causeway”", "/who-knows WORDS",
    ):  # fmt: skip
        assert told in ran.out, told
    assert "There is no command /nonsense" in ran.err and "Whose memory?" in ran.err
    assert "[turn 1 | The Ferry Causeway | 0 of 8 beats | view " in ran.err
    assert "not read any more" not in ran.out


def test_a_save_is_kept_from_one_time_to_the_next_and_goes_out_and_in(cli: Cli, tmp_path: Path) -> None:
    cli("play", "--scripted", "--slot", "evening", stdin=b"I wait.\n")
    again = cli("play", "--scripted", "--slot", "evening", stdin=b"I wait again.\n")
    assert "[turn 2" in again.err
    assert cli("play", "slots", "--json").json["slots"] == ["evening"]
    out = tmp_path / "out"
    assert "state.yaml" in cli("play", "export", out, "--slot", "evening", "--json").json["export"]
    assert yaml.safe_load((out / "state.yaml").read_text())["turn"] == 2
    assert cli("play", "import", out, "--slot", "evening", "--json").json["import"] == []
    copied = cli("play", "import", out, "--slot", "copy", "--json").json["import"]
    assert any(line.endswith("of 2 turns") for line in copied)
    assert "There is no save 'nope'" in cli.fails(2, "play", "export", tmp_path / "x", "--slot", "nope")


def test_bad_input_is_one_sentence(cli: Cli, tmp_path: Path) -> None:
    assert "There is no game at" in cli.fails(2, "play", tmp_path / "nowhere", "--scripted")
    assert "no name for a save" in cli.fails(2, "play", "--scripted", "--auto", 1, "--slot", "a/b")


def test_words_appear_as_they_come_and_once(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    shown = TerminalGame(read_shipped_game())
    for words in ("The", "The wheel", "The wheel", "The wheel creaked."):
        shown.show(Words("Narrator", words))
    shown.show(Said("Narrator", "The wheel creaked."))
    shown.show(Said("Bram Tully", '"Well," said Bram.'))
    out = capsys.readouterr().out
    assert out.count("wheel") == 1 and "\x1b[36mBram Tully" in out, "a colour, and the name in any case"
