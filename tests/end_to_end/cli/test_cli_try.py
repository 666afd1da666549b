"""`try` shows somebody's own chat and keeps nothing of it."""

from __future__ import annotations

import builtins
import tempfile
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path

import pytest

from previously.cli import output, try_file
from tests.end_to_end.cli.running import Cli, sentence

HARBOUR = Path(str(files("previously.demo") / "harbour.jsonl"))


@pytest.fixture(autouse=True)
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "scratch"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


@pytest.fixture
def chat(jsonl: Callable[..., Path]) -> Path:
    """Sixty messages, in which Fennel Court is named at the beginning and near the end."""
    lines = [
        {"role": "user" if number % 2 else "assistant", "name": "Ada" if number % 2 else "Finn",
         "content": f"Day {number}. We walked for hours and spoke of the weather, as one does on such a road."}
        for number in range(60)
    ]  # fmt: skip
    lines[3]["content"] = "The lantern was left at Fennel Court, under the third stair."
    lines[41]["content"] = "And then we came to Fennel Court, and the stair was gone."
    return jsonl("my chat.jsonl", lines)


def test_figures(cli: Cli, chat: Path, scratch: Path) -> None:
    figures = cli.bare("try", chat, "--json").json
    assert figures["messages"] == 60
    assert figures["format"] == "jsonl"
    assert figures["view_tokens"] <= figures["budget_tokens"] < figures["tokens"]
    assert 0 < figures["verbatim_messages"] < 60
    assert figures["folds"] > 0
    assert figures["with_a_model"]["calls"] > 0
    assert [question["question"] for question in figures["questions"]] == ["Fennel Court"]
    assert {hit["position"] for hit in figures["questions"][0]["hits"]} == {3, 41}
    assert list(scratch.iterdir()) == []


def test_for_people(cli: Cli, chat: Path, scratch: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PREVIOUSLY_DB", str(cli.db))
    ran = cli.bare("try", chat)
    assert ran.code == 0
    assert ran.err == ""
    assert "\x1b" not in ran.out
    spoken = " ".join(ran.out.split())
    assert "60 messages by 2 speakers, read as jsonl." in spoken
    assert "3 Finn" not in spoken
    assert "3 Ada: The lantern was left at Fennel Court, under the third stair." in spoken
    assert "No model was asked" in spoken
    assert f"import '{chat}'" in spoken
    assert "fold 'my chat' --endpoint URL" in spoken
    assert list(scratch.iterdir()) == []
    assert not cli.db.exists()


def test_questions_of_ones_own(cli: Cli, chat: Path) -> None:
    answered = cli.bare(
        "try", chat, "--ask", "Where was the lantern left?", "--ask", "zzyzx", "--budget", 900, "--json"
    ).json
    assert [question["question"] for question in answered["questions"]] == ["Where was the lantern left?", "zzyzx"]
    assert answered["questions"][0]["hits"][0]["position"] == 3
    assert answered["questions"][1]["hits"] == []
    assert answered["budget_tokens"] == 900


def test_nothing_found_is_said(cli: Cli, chat: Path) -> None:
    assert "No message was found." in cli.bare("try", chat, "--ask", "zzyzx").out


def test_a_question_without_a_word(cli: Cli, chat: Path) -> None:
    ran = cli.bare("try", chat, "--ask", "???")
    assert ran.code == 2
    assert ran.out == ""
    assert "nothing to search for" in sentence(ran.err)


def test_a_person_at_a_terminal_may_ask(cli: Cli, chat: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = iter(["Where was the lantern left?", "???", ""])
    monkeypatch.setattr(builtins, "input", lambda _: next(asked))
    from previously.blocking import BlockingMemory
    from previously.formats import read_story

    with BlockingMemory(":memory:") as memory:
        story = memory.story("tale")
        story.follow(read_story(chat).drafts)
        try_file._converse(output.console(), story)
    assert list(asked) == []


def test_the_end_of_input_ends_the_conversation(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: str) -> str:
        raise EOFError

    monkeypatch.setattr(builtins, "input", refuse)
    try_file._converse(output.console(), None)  # type: ignore[arg-type]  # nothing is asked


def test_a_place_is_not_used(cli: Cli, chat: Path) -> None:
    ran = cli("try", chat, "--json")
    assert "keeps nothing" in ran.err
    assert not cli.db.exists()


def test_a_short_chat_fits(cli: Cli, jsonl: Callable[..., Path]) -> None:
    ran = cli.bare("try", jsonl("short.jsonl", [{"role": "user", "content": "Hello there"}]))
    assert "All of it fits" in ran.out
    assert "Hello there" in ran.out


def test_a_message_larger_than_any_window(cli: Cli, jsonl: Callable[..., Path]) -> None:
    path = jsonl("large.jsonl", [{"role": "user", "content": f"{'word ' * 20_000}"}])
    assert cli.bare("try", path, "--json").json["view_tokens"] > 20_000


def test_the_newest_of_a_huge_file(cli: Cli, chat: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(try_file, "MOST_MESSAGES", 20)
    ran = cli.bare("try", chat)
    assert "The file holds 60 messages; these are the newest." in " ".join(ran.out.split())
    assert "Day 59" in ran.out
    assert "lantern" not in ran.out


def test_plain_text_and_agents(cli: Cli, tmp_path: Path, jsonl: Callable[..., Path]) -> None:
    text = tmp_path / "tale.txt"
    text.write_text("It rained.\n\nIt stopped.\n", "utf-8")
    assert "read as text" in cli.bare("try", text).out
    call = {"id": "1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    lines = [
        {"role": "user", "content": "Find the fault."},
        {"role": "assistant", "content": "I look.", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "1", "content": "Nothing."},
    ]
    assert "A model writes a brief" in cli.bare("try", jsonl("work.jsonl", lines)).out


@pytest.mark.parametrize(
    ("content", "reason"),
    [(b"", "empty"), (b'{"role": "user", "con', "cut off"), (b"\xff\xfe\x00\xd8\x01", "UTF-"), (b"[]", "no messages")],
)
def test_a_file_that_cannot_be_read(cli: Cli, tmp_path: Path, scratch: Path, content: bytes, reason: str) -> None:
    path = tmp_path / "chat.json"
    path.write_bytes(content)
    ran = cli.bare("try", path)
    assert ran.code == 2
    assert ran.out == ""
    assert reason in sentence(ran.err)
    assert list(scratch.iterdir()) == []


def test_no_such_file(cli: Cli, tmp_path: Path) -> None:
    assert "no such file" in sentence(cli.bare("try", tmp_path / "nowhere.jsonl").err)


def test_a_story_cannot_steer_the_terminal(cli: Cli, jsonl: Callable[..., Path]) -> None:
    lines = [{"role": "user", "name": "E\x1b[31mve", "content": "\x1b]0;evil\x07 Low Street [bold]x[/bold]"}] * 3
    ran = cli.bare("try", jsonl("odd.jsonl", lines))
    assert ran.code == 0
    assert "\x1b" not in ran.out + ran.err
    assert "[bold]x[/bold]" in ran.out


def test_the_sample_story_asks_for_what_comes_back(cli: Cli) -> None:
    figures = cli.bare("try", HARBOUR, "--json").json
    asked = [question["question"] for question in figures["questions"]]
    text = HARBOUR.read_text("utf-8")
    assert len(asked) == 3
    for question, hits in ((one["question"], one["hits"]) for one in figures["questions"]):
        assert all(word in text for word in question.split())
        assert hits
