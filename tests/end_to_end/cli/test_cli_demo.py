"""The demo runs the real engine, says nothing that the story does not, and leaves nothing behind."""

from __future__ import annotations

import io
import json
import re
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from typing import Any

import pytest

from previously.cli.command_table import main
from previously.demo import replay_model, sample_story
from tests.end_to_end.cli.running import Cli, Ran

TEXTS = [draft.message.text for draft in sample_story.read_sample()]


@pytest.fixture(autouse=True)
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "scratch"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


@contextmanager
def _plain_environment() -> Iterator[pytest.MonkeyPatch]:
    with pytest.MonkeyPatch.context() as patch:
        for name in ("FORCE_COLOR", "NO_COLOR", "COLUMNS", "TTY_COMPATIBLE", "PREVIOUSLY_DB"):
            patch.delenv(name, raising=False)
        yield patch


@pytest.fixture(scope="module")
def figures(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    out, scratch = io.StringIO(), tmp_path_factory.mktemp("demo")
    with _plain_environment() as patch, redirect_stdout(out):
        patch.setattr(tempfile, "tempdir", str(scratch))
        assert main(["demo", "--json"]) == 0
    assert list(scratch.iterdir()) == []
    loaded: dict[str, Any] = json.loads(out.getvalue())
    return loaded


def test_the_view_is_a_small_part_of_the_story(figures: dict[str, Any]) -> None:
    assert set(figures) == {"harbour", "questions", "edit", "secret", "db", "seconds"}
    harbour = figures["harbour"]
    assert harbour["messages"] == len(TEXTS)
    assert harbour["view_tokens"] <= harbour["budget_tokens"] < harbour["tokens"] // 5
    assert harbour["calls"] == 9
    assert harbour["missing_answers"] == 0
    assert figures["db"] is None


def test_questions_are_answered_from_all_over_the_story(figures: dict[str, Any]) -> None:
    positions = [answer["hits"][0]["position"] for answer in figures["questions"]]
    assert positions == [17, 76, 158]
    assert all(TEXTS[hit["position"]] == hit["text"] for answer in figures["questions"] for hit in answer["hits"])


def test_an_edit_changes_what_was_made_of_it_and_nothing_else(figures: dict[str, Any]) -> None:
    edit = figures["edit"]
    assert TEXTS[edit["position"]] == edit["old"]
    assert edit["new"] == edit["old"].replace("behind the barometer", "inside the clock")
    assert edit["calls"] == len(edit["no_longer_hold"]) == len(edit["changed"]) == 3 < edit["texts"]
    for change in edit["changed"]:
        assert change["new"] == change["old"].replace("behind the barometer", "inside the clock") != change["old"]
    assert edit["hits"][0]["text"] == edit["new"]


def test_a_secret_is_found_only_by_those_who_heard_it(figures: dict[str, Any]) -> None:
    answers = figures["secret"]["answers"]
    assert "dead so Gage" in answers["Wick"]["hits"][0]["text"]
    assert answers["Wick"]["named_in_view"] > 0
    assert not any(
        word in hit["text"] for word in ("alive", "dead so Gage") for hit in answers["Corvin Ashdell"]["hits"]
    )
    assert answers["Corvin Ashdell"]["named_in_view"] == 0


@pytest.mark.slow(reason="runs the demo once more")
def test_for_people(cli: Cli) -> None:
    cli.tell("demo-harbour")
    ran = cli("demo")
    _assert_fit_for_people(ran)
    spoken = " ".join(ran.out.split())
    assert "answers are recorded, from a strong model" in spoken
    assert "the built-in writer" not in spoken
    assert "behind the barometer. → inside the clock." in spoken
    assert f"The story of this demo is in {cli.db}." in spoken.replace(" /", "/").replace("in/", "in /")
    _assert_word_for_word(ran.out)
    assert cli.stories() == ["demo-harbour", "demo-harbour-2"]
    assert len(cli.texts("demo-harbour")) == 4


def _assert_fit_for_people(ran: Ran) -> None:
    assert ran.code == 0
    assert ran.err == ""
    assert "\x1b" not in ran.out
    assert max(map(len, ran.out.splitlines())) <= 80
    assert "# Previously in this story" in ran.out


def _assert_word_for_word(out: str) -> None:
    """What stands beside a position is a piece of that message; only the edit's is new."""
    told = [" ".join(text.replace("behind the barometer", "inside the clock").split()) for text in TEXTS]
    shown = re.findall(r"^ {2,5}(\d+) {2}(.*(?:\n {8}\S.*)*)", out, re.MULTILINE)
    assert len(shown) == 6
    for position, lines in shown:
        _, _, passage = " ".join(lines.split("\n        A view")[0].split()).partition(": ")
        assert passage.removeprefix("… ").removesuffix(" …") in told[int(position)]


@pytest.mark.slow(reason="runs the demo three times more")
@pytest.mark.parametrize(("encoding", "columns"), [("ascii", "80"), ("cp1252", "40"), ("utf-8", "12")])
def test_any_terminal(encoding: str, columns: str) -> None:
    raw = io.BytesIO()
    raw.close = lambda: None  # type: ignore[method-assign]  # so that it can still be read
    with _plain_environment() as patch:
        patch.setenv("COLUMNS", columns)
        patch.setattr(sys, "stdout", io.TextIOWrapper(raw, encoding=encoding))
        assert main(["demo"]) == 0
    assert b"Your turn" in b" ".join(raw.getvalue().split())


def test_without_its_answers_the_built_in_writer_steps_in(
    cli: Cli, scratch: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(replay_model, "ANSWERS", "nowhere")
    monkeypatch.setenv("PREVIOUSLY_DB", str(cli.db))  # only --db names the demo's place
    ran = cli.bare("demo")
    _assert_fit_for_people(ran)
    assert "a recorded answer is missing, and the built-in writer" in " ".join(ran.out.split())
    assert re.search(r"#\d+ [A-Z][^:]*: “", ran.out)
    assert list(scratch.iterdir()) == []
    assert not cli.db.exists()
