"""`diff` and `blame`."""

from __future__ import annotations

import json

import pytest

from previously import BlockingMemory, Settings
from previously.demo.long_story import generate_story
from tests.end_to_end.cli.running import Cli

RULES = Settings(tail_messages=2, fold_messages=5, recap_words=120)


@pytest.fixture
def db(cli: Cli) -> Cli:
    with BlockingMemory(cli.db, settings=RULES) as memory:
        story = memory.story("tale")
        for line in generate_story(14):
            story.add(str(line["role"]), str(line["content"]), name=str(line["name"]))
        assert [fold.span.first for fold in story.fold().folds] == [0, 5]
    return cli


def run(cli: Cli, *arguments: str) -> tuple[int, str]:
    ran = cli(*arguments)
    return ran.code, ran.out


def test_diff_compares_the_newest_with_the_one_before(db: Cli) -> None:
    code, out = run(db, "diff", "tale", "--json")
    shown = json.loads(out)
    assert (code, shown["old"], shown["new"]) == (0, 1, 2)
    new = "".join(change["text"] for change in shown["changes"] if change["kind"] != "removed")
    blamed = json.loads(run(db, "blame", "tale", "--json")[1])
    assert new == blamed["text"]
    assert any(change["kind"] != "same" for change in shown["changes"])


def test_diff_of_a_version_with_itself_is_empty(db: Cli) -> None:
    shown = json.loads(run(db, "diff", "tale", "version:1", "version:1", "--json")[1])
    assert {change["kind"] for change in shown["changes"]} == {"same"}


def test_blame_says_where_the_recap_came_from(db: Cli) -> None:
    code, out = run(db, "blame", "tale", "--json")
    blamed = json.loads(out)
    assert code == 0
    assert (blamed["id"], blamed["before"], blamed["in_force"], blamed["made_by"]) == (2, 1, True, "builtin")
    assert blamed["span"][0] == 5
    code, out = run(db, "blame", "tale", "version:1")
    assert code == 0
    assert "messages 0-4" in out


def test_blame_says_that_a_note_is_in_force(db: Cli) -> None:
    assert run(db, "scenes", "add", "tale", "--at", "3")[0] == 0
    assert run(db, "fold", "tale")[0] == 0
    noted = [one["id"] for one in json.loads(run(db, "log", "tale", "--json")[1])["versions"] if one["kind"] == "scene"]
    assert noted
    for ident in noted:
        assert json.loads(run(db, "blame", "tale", f"version:{ident}", "--json")[1])["in_force"] is True
        assert "in force" in run(db, "blame", "tale", f"version:{ident}")[1]


def test_for_people(db: Cli) -> None:
    code, out = run(db, "diff", "tale")
    assert code == 0
    assert "{+" in out
    assert run(db, "diff", "tale", "version:1", "version:1")[1].startswith(
        "Version 1: there is none to compare it with."
    )


@pytest.mark.parametrize(
    "command", [("diff", "tale", "version:99"), ("blame", "tale", "version:99"), ("blame", "tale", "chapter:9")]
)
def test_an_unknown_version_is_bad_input(db: Cli, command: tuple[str, ...]) -> None:
    assert db.fails(2, *command)


def test_before_anything_is_folded(cli: Cli) -> None:
    with BlockingMemory(cli.db) as memory:
        memory.story("tale").add("user", "Hello.")
    for command in ("diff", "blame"):
        assert cli(command, "tale").code != 0


def test_blame_tells_what_a_summary_tells_no_more(cli: Cli) -> None:
    settings = Settings.of("novel", lore="off", summary_characters=600, summary_target_characters=400)
    with BlockingMemory(cli.db, settings=settings) as memory:
        story = memory.story("tale")
        for number in range(40):
            story.add("assistant", f"Maya came to house number {number} and asked for the lantern of Joaquin there.")
        story.fold()
        recap = story.recap()
    assert recap is not None
    blamed = json.loads(run(cli, "blame", "tale", "--json")[1])
    assert blamed["cuts"] == [[27, 29]]
    assert "messages 27-29: told no more" in run(cli, "blame", "tale")[1]
    told = json.loads(run(cli, "blame", "tale", "message:28", "--json")[1])["told_by"]
    assert [(one["kind"], one["cut"]) for one in told] == [("analysis", None), ("recap", [27, 29])]
    words = run(cli, "blame", "tale", "message:28")[1]
    assert f"The recap of messages 27-35 (version {recap.version}) told it, and does so no more" in words
    assert "(version" in run(cli, "blame", "tale", "message:-6")[1]
    shown = json.loads(run(cli, "show", "tale", "--json")[1])
    assert (shown["recap_span"], shown["recap_cut"]) == ([30, 35], [27, 29])


def test_blame_tells_what_a_chapter_and_the_backbone_were_not_given(cli: Cli) -> None:
    settings = Settings.of("novel", lore="off", summary_characters=600, summary_target_characters=400)
    with BlockingMemory(cli.db, settings=settings) as memory:
        story = memory.story("tale")
        for number in range(40):
            story.add("assistant", f"Maya came to house number {number} and asked for the lantern of Joaquin there.")
        story.fold()
        backbone = story.backbone()
    assert backbone is not None
    blamed = json.loads(run(cli, "blame", "tale", f"version:{backbone.version}", "--json")[1])
    assert blamed["cuts"] == [[0, 2], [9, 11], [18, 20]]
    assert "messages 0-2, messages 9-11, messages 18-20: told no more" in run(
        cli, "blame", "tale", f"version:{backbone.version}"
    )[1].replace("\n", " ")
    told = json.loads(run(cli, "blame", "tale", "message:10", "--json")[1])["told_by"]
    assert {one["kind"]: one["cut"] for one in told} == {"analysis": None, "chapter": [9, 11], "backbone": [9, 11]}
    assert "Chapter 2 (messages 12-17, by builtin; messages 9-11 told no more)" in run(cli, "show", "tale")[1]
