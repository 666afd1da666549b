"""The demo runs, measures, and leaves nothing behind."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path

import pytest

from tests.end_to_end.cli.running import Cli


@pytest.fixture(autouse=True)
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "scratch"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


def test_figures(cli: Cli, scratch: Path) -> None:
    ran = cli.bare("demo", "--messages", 500, "--json")
    figures = ran.json
    assert ran.err == ""
    assert set(figures) == {"harbour", "generated", "db", "seconds"}
    harbour = figures["harbour"]
    assert harbour["messages"] > 200
    assert harbour["view_tokens"] <= harbour["budget_tokens"] < harbour["tokens"]
    assert harbour["calls"] == 0
    assert harbour["words_read"] > harbour["words"] // 2
    points = figures["generated"]["points"]
    assert [point["messages"] for point in points] == [5, 50, 500]
    assert points[2]["story_tokens"] > 5 * points[1]["story_tokens"]
    assert points[2]["view_tokens"] < 3 * points[1]["view_tokens"]
    assert figures["db"] is None
    assert list(scratch.iterdir()) == []


def test_for_people(cli: Cli, scratch: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PREVIOUSLY_DB", str(cli.db))  # only --db names the demo's place
    ran = cli.bare("demo", "--messages", 200)
    assert ran.code == 0
    assert ran.err == ""
    assert "\x1b" not in ran.out
    assert "# Previously in this story" in ran.out
    assert re.search(r"#\d+ [A-Z][^:]*: “", ran.out)
    assert max(map(len, ran.out.splitlines())) <= 80
    assert list(scratch.iterdir()) == []
    assert not cli.db.exists()


def test_a_given_database_is_kept_and_its_stories_untouched(cli: Cli) -> None:
    cli.tell("demo-harbour")
    assert cli("demo", "--messages", 100, "--json").json["db"] == str(cli.db)
    assert cli.stories() == ["demo-generated", "demo-harbour", "demo-harbour-2"]
    assert len(cli.texts("demo-harbour")) == 4
    assert len(cli.texts("demo-generated")) == 100
