"""Importing what agents leave behind: branches, sub-agents, and files that grow."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from previously.blocking import BlockingMemory
from tests.end_to_end.cli.running import Cli

Line = dict[str, Any]


def line(uuid: str, parent: str | None, text: str, **more: object) -> Line:
    return {
        "type": "user", "uuid": uuid, "parentUuid": parent, "sessionId": "s", "isSidechain": False,
        "timestamp": "2026-01-01T00:00:00Z", "message": {"role": "user", "content": text}, **more,
    }  # fmt: skip


@pytest.fixture
def transcript(tmp_path: Path) -> Path:
    return tmp_path / "work.jsonl"


def write(path: Path, lines: list[Line]) -> Path:
    path.write_text("".join(json.dumps(one) + "\n" for one in lines), "utf-8")
    return path


FIRST = [line("a", None, "one"), line("b", "a", "two"), line("c", "b", "three")]
REWOUND = [*FIRST, line("d", "b", "three, better")]
COUNTS = ("added", "updated", "removed", "unchanged")


def counts(result: dict[str, Any]) -> tuple[int, ...]:
    return tuple(result[what] for what in COUNTS)


def branch_texts(cli: Cli, story: str) -> dict[str, list[str]]:
    with BlockingMemory(cli.db) as memory:
        found = memory.story(story)
        active = found.branch_info().name
        texts = {}
        for branch in found.branches():
            found.switch(branch.name)
            texts[branch.name] = [item.entry.message.text for item in found.messages()]
        found.switch(active)
    return texts


def test_a_rewind_becomes_a_branch_and_again_changes_nothing(cli: Cli, transcript: Path) -> None:
    first = cli("import", write(transcript, REWOUND), "--json").json
    assert counts(first) == (4, 0, 0, 0)
    assert first["branches"] == ["rewind c"]
    assert branch_texts(cli, "work") == {"main": ["one", "two", "three, better"], "rewind c": ["one", "two", "three"]}
    again = cli("import", transcript, "--json").json
    assert counts(again) == (0, 0, 0, 4)


def test_a_file_that_grows_adds_only_what_is_new(cli: Cli, transcript: Path) -> None:
    cli("import", write(transcript, FIRST))
    grown = cli("import", write(transcript, [*FIRST, line("x", "c", "four")]), "--json").json
    assert counts(grown) == (1, 0, 0, 3)


def test_a_rewind_after_an_import_keeps_what_was_taken_back(cli: Cli, transcript: Path) -> None:
    cli("import", write(transcript, FIRST))
    cli("import", write(transcript, REWOUND))
    assert branch_texts(cli, "work") == {"main": ["one", "two", "three, better"], "rewind c": ["one", "two", "three"]}
    assert counts(cli("import", transcript, "--json").json) == (0, 0, 0, 4)


def test_with_the_rewound_branch_active_each_branch_follows_its_own_path(cli: Cli, transcript: Path) -> None:
    cli("import", write(transcript, REWOUND))
    cli("switch", "work", "rewind c")
    again = cli("import", write(transcript, [*REWOUND, line("e", "d", "four")]), "--json").json
    assert counts(again) == (1, 0, 0, 4)
    texts = branch_texts(cli, "work")
    assert texts["main"] == ["one", "two", "three, better", "four"]
    assert texts["rewind c"] == ["one", "two", "three"]


def test_a_rewind_to_the_beginning(cli: Cli, transcript: Path) -> None:
    cli("import", write(transcript, [*FIRST, line("z", None, "anew")]))
    assert branch_texts(cli, "work") == {"main": ["anew"], "rewind a": ["one", "two", "three"]}


def test_sub_agents_become_stories_of_their_own(cli: Cli, transcript: Path) -> None:
    lines = [*FIRST, line("s", None, "search", isSidechain=True, agentId="k1")]
    ran = cli("import", write(transcript, lines), "--json").json
    assert [(story["story"], story["added"]) for story in ran["stories"]] == [("work", 3), ("work agent-k1", 1)]
    assert cli.stories() == ["work", "work agent-k1"]
    assert [counts(story) for story in cli("import", transcript, "--json").json["stories"]] == [
        (0, 0, 0, 3),
        (0, 0, 0, 1),
    ]


def test_skipped_lines_are_counted_and_told(cli: Cli, transcript: Path) -> None:
    lines = [*FIRST, {"type": "progress", "uuid": "p", "parentUuid": "c"}, {"type": "summary", "leafUuid": "c"}]
    write(transcript, lines)
    transcript.write_text(transcript.read_text("utf-8") + '{"type": "us', "utf-8")
    ran = cli("import", transcript, "--json")
    assert ran.json["skipped"] == {"progress": 1, "summary": 1, "broken line": 1}
    assert ran.err == "work: skipped 3 lines without a message (1 progress, 1 summary, 1 broken line).\n"


def test_for_people(cli: Cli, transcript: Path) -> None:
    ran = cli("import", write(transcript, REWOUND))
    assert ran.out == "work: 4 added, 0 updated, 0 removed, 0 unchanged (claude-code, 1 branch).\n"


def test_a_call_that_was_running_gets_its_result_when_it_comes(cli: Cli, transcript: Path) -> None:
    asked = {"role": "assistant", "id": "m", "content": [{"type": "tool_use", "id": "t", "name": "f", "input": {}}]}
    lines = [line("a", None, "one"), line("b", "a", "", type="assistant", message=asked)]
    assert counts(cli("import", write(transcript, lines), "--json").json) == (3, 0, 0, 0)
    told = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": "ok"}]}
    lines.append(line("c", "b", "", message=told))
    assert counts(cli("import", write(transcript, lines), "--json").json) == (0, 1, 0, 2)
    assert counts(cli("import", transcript, "--json").json) == (0, 0, 0, 3)
