"""set: a story's own settings, what is in force for it, and the file."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from previously.settings import DEFAULTS
from tests.end_to_end.cli.running import Cli


@pytest.fixture(autouse=True)
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The settings file in force; empty at first."""
    path = tmp_path / "previously.toml"
    path.touch()
    monkeypatch.setenv("PREVIOUSLY_CONFIG", str(path))
    return path


def in_force(cli: Cli, story: str = "tale") -> dict[str, Any]:
    found = cli("set", story, "--json").json
    assert found["story"] == story
    settings: dict[str, Any] = found["settings"]
    return settings


def test_all_settings_are_listed_with_where_they_come_from(
    tale: Cli, config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config.write_text("fold_words = 900\nrecap_words = 100\n")
    monkeypatch.setenv("PREVIOUSLY_RECAP_WORDS", "200")
    assert tale("set", "tale", "tail_messages=3", "preset=game", "review=yes").code == 0
    found = in_force(tale)
    assert list(found) == list(DEFAULTS)
    assert found["fold_words"] == {"value": 900, "from": str(config)}
    assert found["recap_words"] == {"value": 200, "from": "PREVIOUSLY_RECAP_WORDS"}
    assert found["tail_messages"] == {"value": 3, "from": "story"}
    assert found["review"] == {"value": True, "from": "story"}
    assert found["tail_turns"] == {"value": 4, "from": "preset game"}
    assert found["timeout_s"] == {"value": 300, "from": "default"}
    listed = tale("set", "tale").out
    for words in ("tail_messages", "PREVIOUSLY_RECAP_WORDS", "story", "preset game", "default", "true"):
        assert words in listed


def test_setting_says_what_is_in_force_now(tale: Cli) -> None:
    assert (
        tale("set", "tale", "recap_words=1_200", "review=on").out
        == "recap_words = 1,200 (story)\nreview = true (story)\n"
    )
    assert tale("set", "tale", "recap_words=").out == "recap_words = 450 (default)\n"
    changed = tale("set", "tale", "recap_words=50", "--json").json
    assert changed["settings"]["recap_words"] == {"value": 50, "from": "story"}


def test_a_story_keeps_its_own_to_itself(tale: Cli) -> None:
    tale.tell("other")
    tale("set", "tale", "recap_words=50")
    assert in_force(tale)["recap_words"]["value"] == 50
    assert in_force(tale, "other")["recap_words"] == {"value": 450, "from": "default"}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("nowhere",), "no story named 'nowhere'"),
        (("nowhere", "recap_words=5"), "no story named 'nowhere'"),
        (("tale", "recap_words"), "write key=value"),
        (("tale", "recap_words=many"), "recap_words is 'many'; it must be a whole number."),
        (("tale", "tail_messages=5", "recap_words=-1"), "recap_words is -1; it must be at least 0."),
        (("tale", "recap_wrds=5"), "did you mean recap_words?"),
        (("tale", "preset=opera"), "one of roleplay, novel, game, agent."),
        (("tale", "calls_per_day=5"), "all stories together"),
        (("tale", "recap_words=5", "recap_words=6"), "given twice"),
    ],
)
def test_what_cannot_be_set_changes_nothing(tale: Cli, arguments: tuple[str, ...], said: str) -> None:
    before = in_force(tale)
    for flags in ((), ("--json",)):
        assert said in tale.fails(2, "set", *arguments, *flags)
    assert in_force(tale) == before
    assert tale.stories() == ["tale"]


def test_folds_and_views_go_by_the_story_s_own(cli: Cli) -> None:
    cli.tell("tale", 30)
    assert cli("fold", "tale", "--plan", "--json").json["folds"] == []
    cli("set", "tale", "fold_messages=10", "tail_messages=2", "recap_words=20")
    assert cli("fold", "tale", "--once", "--json").json["folds"][0]["span"] == [0, 9]
    cli("set", "tale", "window_tokens=600")
    assert cli("view", "tale", "--json").json["budget_tokens"] == 450, "a quarter is the answer's"
    cli("set", "tale", "window_tokens=default")
    assert cli("view", "tale", "--json").json["budget_tokens"] == 7_168


def test_the_file_names_the_place_of_the_stories(tale: Cli, config: Path) -> None:
    config.write_text(f'db = "{tale.db.name}"\n')
    assert [story["story"] for story in tale.bare("stories", "--json").json["stories"]] == ["tale"]
    assert tale.bare("doctor", "--json").json["db"] == str(tale.db)


def test_the_file_names_the_model(tale: Cli, config: Path) -> None:
    config.write_text('model = "nameless"\n')
    assert "both an endpoint and a name" in tale.fails(2, "fold", "tale")


def test_a_bad_file_is_one_sentence(tale: Cli, config: Path) -> None:
    for content, said in (("recap_words = ", "is not TOML"), ("recap_words = 'x'", f"recap_words in {config} is 'x'")):
        config.write_text(content)
        for command in ("set", "fold", "view"):
            assert said in tale.fails(2, command, "tale")
        ran = tale("doctor")
        assert ran.code == 1
        assert "FAULT Settings" in ran.out


@pytest.mark.skipif(os.name != "posix", reason="Windows has no modes")
def test_doctor_says_that_others_can_read_the_stories(tale: Cli) -> None:
    assert "chmod" not in tale("doctor").out
    tale.db.chmod(0o644)
    assert f"other users of this machine can open it, `chmod 600 {tale.db}` keeps them out" in tale("doctor").out


def test_doctor_says_where_settings_come_from(tale: Cli, config: Path) -> None:
    config.write_text('recap_words = 100\npreset = "novel"\n')
    found = tale("doctor", "--json").json["settings"]
    assert found["recap_words"] == {"value": 100, "from": str(config)}
    assert found["backbone_words"] == {"value": 800, "from": "preset novel"}
    assert "preset = novel" in tale("doctor").out
