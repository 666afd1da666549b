"""fold, view, show, log."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.end_to_end.cli.running import Cli

VERSION = {"kind", "scope", "status", "made_by", "reason", "span", "calls", "input_tokens", "output_tokens"}
FOLD = VERSION | {"beside"}
SHOWN = {
    "story", "branch", "messages", "recap", "chapters", "backbone", "layers", "episodes", "scenes", "lore", "cast",
    "threads", "state", "wishes", "brief",
}  # fmt: skip


@pytest.fixture
def long(cli: Cli) -> Cli:
    """A story in which two folds are due."""
    cli.tell("tale", 140)
    return cli


def test_fold_says_what_it_made(long: Cli) -> None:
    ran = long("fold", "tale", "--json").json
    assert {"folds", "calls"} <= set(ran)
    assert ran["calls"] == 0
    assert [(fold["kind"], fold["scope"], fold["span"]) for fold in ran["folds"]] == [
        ("recap", "", [0, 59]), ("recap", "", [60, 119]),
    ]  # fmt: skip
    for fold in ran["folds"]:
        assert set(fold) == FOLD
        assert (fold["status"], fold["made_by"]) == ("committed", "builtin")
        assert fold["input_tokens"] > fold["output_tokens"] > 0
    again = long("fold", "tale", "--json").json
    assert (again["folds"], again["calls"]) == ([], 0)
    assert again["stopped"].startswith("8 messages with ")
    assert again["stopped"].endswith("the next fold, which comes at 60 messages, 3,000 words or 2,048 tokens")


def test_fold_plan_changes_nothing(long: Cli) -> None:
    ran = long("fold", "tale", "--plan", "--json").json
    assert ran["folds"][0]["span"] == [0, 59]
    assert {fold["status"] for fold in ran["folds"]} == {"planned"}
    assert all(set(fold) == FOLD for fold in ran["folds"])
    assert long("log", "tale", "--json").json == {"versions": []}
    assert len(long("fold", "tale", "--plan", "--once", "--json").json["folds"]) == 1


def test_fold_once(long: Cli) -> None:
    assert [fold["span"] for fold in long("fold", "tale", "--once", "--json").json["folds"]] == [[0, 59]]


def test_fold_for_people(long: Cli) -> None:
    assert long("fold", "tale", "--plan").out.startswith("Messages 0-119 would be folded: 2 recaps; 3,000 tokens read")
    plan = long("fold", "tale", "--plan", "-v").out.splitlines()
    assert plan[0].startswith("Messages 0-59 would be folded into the recap (60 messages)")
    ran = long("fold", "tale", "-v")
    assert ran.err == ""
    assert ran.out.splitlines()[0].startswith("Messages 0-59 folded into the recap (60 messages)")
    assert "2 folds made, 0 model calls" in ran.out
    assert long("fold", "tale").out.startswith("Nothing was folded: 8 messages with ")


def test_a_manuscript_for_people(cli: Cli, tmp_path: Path) -> None:
    book = tmp_path / "book.md"
    told = (
        "Ines came to Lethen with one trunk.",
        "Thorne wrote her down as a teacher.",
        "She told him so.",
        "It rained.",
    )
    chapters = (f"## {name}\n\n" + "\n\n".join(told) for name in ("The Ferry", "The Ledger"))
    book.write_text("---\ntitle: Salt\n---\n\n# Salt\n\n" + "\n\n".join(chapters), encoding="utf-8")
    assert cli("import", book, "--story", "salt").out.startswith("salt: 11 added")
    cli("set", "salt", "preset=novel")
    cli("fold", "salt")
    shown = cli("show", "salt").out
    assert "Chapter 1, The Ferry" in shown and "title: Salt" not in shown
    assert "by librarian)\nNothing is told there." in shown, (
        "the open chapter has a heading and what is not applied yet"
    )
    assert cli("search", "salt", "one trunk", "--top", 1).out.startswith("message 2  (score ")


def test_view_keeps_its_shape_and_its_budget(long: Cli) -> None:
    long("fold", "tale")
    ran = long("view", "tale", "--budget", 2000, "--json").json
    assert {"budget_tokens", "tokens", "messages", "items", "left_out", "fold_due"} <= set(ran)
    assert ran["report"]["sections"].keys() >= {"recap", "tail"}
    assert 0 < ran["tokens"] <= ran["budget_tokens"] == 2000
    assert ran["messages"][0]["role"] == "system"
    assert all({"role", "content"} <= set(message) for message in ran["messages"])
    assert ran["messages"][-1]["content"].endswith("Day 139.")
    for item in ran["items"]:
        assert set(item) == {"section", "tokens", "reason", "sources", "score"}
    assert list(dict.fromkeys(item["section"] for item in ran["items"]))[:2] == ["recap", "tail"]
    assert ran["items"][0]["sources"] == [[0, 119]]
    assert sum(item["tokens"] for item in ran["items"]) == ran["tokens"]
    assert all(one["what"].endswith("sentences of the recap") for one in ran["left_out"])
    assert ran["fold_due"] is False


def test_view_lists_what_it_leaves_out(long: Cli) -> None:
    ran = long("view", "tale", "--budget", 300, "--json").json
    assert [(item["reason"], item["span"][0]) for item in ran["left_out"]] == [("the whole budget is used up", 0)]
    assert ran["fold_due"] is True
    people = long("view", "tale", "--budget", 300).out
    assert "Left out\n  messages 0-" in people
    assert "A fold is due" in people


def test_view_takes_the_window_without_a_budget(tale: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    assert tale("view", "tale", "--json").json["budget_tokens"] == 8192 - 1024
    monkeypatch.setenv("PREVIOUSLY_WINDOW_TOKENS", "3000")
    assert tale("view", "tale", "--reader", "chat", "--json").json["budget_tokens"] == 3000 - 750


def test_view_for_people(long: Cli) -> None:
    long("fold", "tale")
    ran = long("view", "tale", "--budget", 2000, "--explain")
    assert "\x1b" not in ran.out
    assert "of 2,000 tokens" in ran.out
    assert "# Previously in this story" in ran.out
    assert "139  Orla: " in ran.out
    assert "Then I sell two sheep." in ran.out
    assert "█ recap" in ran.out
    assert "one of the newest 12" in ran.out
    # The recap, the newest messages and what recall found are more than 2,000 tokens together; the recap gave way.
    assert "Left out\n  the first 3 of 103 sentences of the recap: the room for the recap is used up\n" in ran.out
    assert "Nothing is left out." in long("view", "tale", "--budget", 2200, "--explain").out
    assert "one of the newest 12" not in long("view", "tale", "--budget", 2000).out


def test_view_of_an_empty_story(tale: Cli) -> None:
    for _ in range(4):
        tale("delete", "tale", 0)
    assert tale("view", "tale", "--json").json["messages"] == []
    assert "0 of 7,168 tokens" in tale("view", "tale").out
    assert tale("show", "tale", "--json").json["messages"] == 0
    assert "0 messages" in tale("show", "tale").out
    assert tale("fold", "tale", "--json").json["folds"] == []


def test_show(long: Cli) -> None:
    before = long("show", "tale", "--json").json
    assert set(before) >= SHOWN
    assert (before["story"], before["branch"], before["messages"], before["recap"]) == ("tale", "main", 140, None)
    for key in ("chapters", "layers", "scenes", "lore", "cast", "threads"):
        assert before[key] == []
    assert before["backbone"] is None
    assert before["brief"] is None
    assert "Nothing is folded yet." in long("show", "tale").out
    long("fold", "tale")
    long("branch", "tale", "other")
    after = long("show", "tale", "--json").json["recap"]
    assert isinstance(after, str)
    assert "Orla" in after
    people = long("show", "tale").out
    assert "Recap (messages 0-119, by builtin)" in people
    assert "Other branches: other (140)" in people
    assert "139  Orla:" in people


def test_a_command_that_is_named_can_be_typed_as_it_stands(cli: Cli) -> None:
    cli.tell("Ottoline 2026-11-17 05:19")
    for command in ("show", "log", "threads"):
        assert "'Ottoline 2026-11-17 05:19'" in " ".join(cli(command, "Ottoline 2026-11-17 05:19").out.split())


def test_a_message_without_a_name_is_found_without_one(cli: Cli) -> None:
    cli("add", "tale", "--role", "assistant", "--text", "Done: src/quay.py.")
    assert cli("search", "tale", "quay").out.startswith("message 0  (score")


def test_log(long: Cli) -> None:
    assert "Nothing is folded yet" in long("log", "tale").out
    long("fold", "tale")
    versions = long("log", "tale", "--json").json["versions"]
    assert [(one["kind"], one["span"]) for one in versions] == [
        ("recap", [0, 59]), ("recap", [60, 119]),
    ]  # fmt: skip
    for version in versions:
        assert set(version) == VERSION | {"id", "at", "model", "prompt_hash"}
        assert isinstance(version["id"], int)
        assert version["at"].startswith("20")
    summary = long("log", "tale").out.splitlines()
    assert summary[0].split() == ["kind", "versions", "by", "messages", "newest", "(UTC)", "out", "of", "force"]
    assert summary[2].split()[:4] == ["recap", "2", "builtin", "0-119"]
    people = long("log", "tale", "-v").out.splitlines()
    assert len(people) == 4
    assert "committed" in people[-1]
    assert "60-119" in people[-1]


def test_what_a_story_says_cannot_steer_the_terminal(cli: Cli) -> None:
    cli(
        "add",
        "tale",
        "--role",
        "user",
        "--name",
        "\x1b[31mRed",
        "--text",
        "\x1b]0;title\x07 [bold]plain[/bold] :smile:",
    )
    for command in (("view", "tale"), ("show", "tale")):
        out = cli(*command).out
        assert "\x1b" not in out
        assert "\x07" not in out
        assert "[bold]plain[/bold] :smile:" in out
    message = cli("view", "tale", "--json").json["messages"][0]
    assert message["content"].startswith("\x1b]0;title")


def test_calls_and_pictures_are_named(cli: Cli) -> None:
    from previously.blocking import BlockingMemory
    from previously.core.messages import Draft, Error, Image, Message, Role, Text, Thinking, ToolCall, ToolResult

    parts = (Thinking("hm"), ToolCall("1", "search", '{"q": 1}'), Image("http://x"), Image("http://y", "a bell"))
    messages = [
        Message(Role.USER, (Text("Find it."),)),
        Message(Role.ASSISTANT, parts),
        Message(Role.TOOL, (ToolResult("1", "found"), Error("slow"))),
    ]
    with BlockingMemory(cli.db) as memory:
        memory.story("tale").add_drafts([Draft(message) for message in messages])
    out = cli("view", "tale").out
    for words in ('[calls search {"q": 1}]', "[image]", "[image: a bell]", "[result] found", "[error] slow"):
        assert words in out
    assert "hm" not in out.split()


def test_chapters_are_listed_in_short_or_in_full(cli: Cli) -> None:
    cli.tell("tale", 30)
    out = cli("chapters", "tale").out
    assert "No chapter of this story is closed yet" in out and "`previously chapters add tale --title TITLE`" in out
    cli("chapters", "add", "tale", "--title", "The Mill", "--at", "19")
    assert "Its recap waits to be folded." in cli("chapters", "tale").out
    cli("fold", "tale")
    listed = cli("chapters", "tale", "--json").json
    (one,) = listed["chapters"]
    assert (one["chapter"], one["title"], one["span"], one["short"]) == (1, "The Mill", [0, 19], None)
    assert one == cli("show", "tale", "--json").json["chapters"][0]
    assert one["recap"].splitlines()[0][:40] in cli("chapters", "tale").out, "in full where there is no short form"


def test_a_short_form_stands_in_lists_and_the_full_one_is_an_option(capsys: pytest.CaptureFixture[str]) -> None:
    from previously.cli.chapters import print_chapter
    from previously.core.path import Span
    from previously.memory.in_force import ChapterText, MemoryText
    from previously.story.json_shapes import chapter_json

    full = MemoryText("Wren came to Marrow Bay, and much more.", Span(0, 9), "model", 3)
    one = ChapterText(2, "The Lamp", Span(0, 9), full, "Wren came.")
    print_chapter(one, full=False)
    assert "Wren came.\n" in (short := capsys.readouterr().out) and "much more" not in short
    print_chapter(one, full=True)
    assert "much more" in capsys.readouterr().out
    assert (chapter_json(one)["short"], chapter_json(one)["recap"]) == ("Wren came.", full.text)
