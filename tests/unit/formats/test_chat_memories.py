"""Memories that extensions of SillyTavern leave with a chat."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from previously.formats import StorySource, read_story
from previously.formats.chat_memories import LONGEST_RUN, MOST_WORDS


def line(text: str, memory: str | None = None, **more: Any) -> dict[str, Any]:
    extra = {"qvink_memory": {"memory": memory, "include": "short"} | more} if memory is not None else {}
    return {"name": "Finn", "is_user": False, "mes": text, "extra": extra}


def read(path: Path, lines: list[dict[str, Any]], **metadata: Any) -> StorySource:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(map(json.dumps, [{"chat_metadata": metadata}, *lines])), "utf-8")
    return read_story(path)


def list_spans(source: StorySource) -> list[tuple[int, int, str]]:
    return [(memory.first, memory.last, memory.text) for memory in source.memories]


def test_sums_of_messages_that_follow_one_another_are_one_memory(tmp_path: Path) -> None:
    lines = [line("a", "Finn came."), line("b"), line("c", " He  ate. "), line("d", "No.", exclude=True), line("e", "")]
    assert list_spans(read(tmp_path / "a.jsonl", lines)) == [(0, 2, "Finn came.\nHe ate.")]


def test_a_long_stretch_without_a_sum_parts_two_memories(tmp_path: Path) -> None:
    lines = [line("a", "One."), *(line("x") for _ in range(11)), line("b", "Two.")]
    assert list_spans(read(tmp_path / "a.jsonl", lines)) == [(0, 0, "One."), (12, 12, "Two.")]


def test_a_memory_is_no_longer_than_a_chapter(tmp_path: Path) -> None:
    many = read(tmp_path / "a.jsonl", [line("a", "One.") for _ in range(2 * LONGEST_RUN)])
    assert [(one.first, one.last) for one in many.memories] == [
        (0, LONGEST_RUN - 1),
        (LONGEST_RUN, 2 * LONGEST_RUN - 1),
    ]
    long = read(tmp_path / "b.jsonl", [line("a", "word " * (MOST_WORDS // 2)) for _ in range(4)])
    assert [(one.first, one.last) for one in long.memories] == [(0, 1), (2, 3)]


def test_the_newest_summary_tells_of_all_messages_up_to_its_own(tmp_path: Path) -> None:
    lines = [line("a"), line("b"), line("c"), line("d")]
    lines[0]["extra"]["memory"], lines[2]["extra"]["memory"] = "Finn came.", " Finn came and ate. "
    assert list_spans(read(tmp_path / "a.jsonl", lines)) == [(0, 2, "Finn came and ate.")]
    lines[1]["extra"]["qvink_memory"] = {"memory": "He came in."}
    assert list_spans(read(tmp_path / "b.jsonl", lines)) == [(1, 1, "He came in.")]
    lines[1]["extra"], lines[2]["extra"]["memory"] = {"memory": 5}, "  "
    assert list_spans(read(tmp_path / "c.jsonl", lines)) == [(0, 0, "Finn came.")]


MEMORY = {"key": [], "content": "They met.", "stmemorybooks": True, "STMB_start": 0, "STMB_end": 1}


def test_the_book_of_a_chat_is_found_in_sillytaverns_folders(tmp_path: Path) -> None:
    worlds = tmp_path / "worlds"
    worlds.mkdir()
    (worlds / "Ours.json").write_text(json.dumps({"entries": {"0": MEMORY}}))
    (worlds / "Plain.json").write_text(json.dumps({"entries": {"0": {"key": ["a"], "content": "b"}}}))
    chat = tmp_path / "chats" / "Finn" / "chat.jsonl"
    source = read(chat, [line("a"), line("b")], world_info="Ours")
    assert list_spans(source) == [(0, 1, "They met.")]
    assert source.books[0].name == "Ours"
    for name in ("Plain", "Missing", "../worlds/Ours", "/etc/passwd", "", 5, ".."):
        assert not read(chat, [line("a"), line("b")], world_info=name).memories
