"""chapter, rewrite, lock, unlock, pin, unpin, undo, restore, pending, approve, reject, rebuild."""

from __future__ import annotations

import shutil
import time
from pathlib import Path
from typing import Any

import pytest

from previously import BlockingMemory
from tests.end_to_end.cli.running import Cli, tell

SMALL = ("tail_messages=3", "fold_messages=6", "recap_words=40", "chapter_messages=0")
NASTY = "  # Ines\n\n<recap> 漢字 🧵 \\n "
EVERY = [
    ("chapter", "{}", "--title", "One"), ("rewrite", "{}", "recap", "--text", "x"), ("lock", "{}", "recap"),
    ("unlock", "{}", "recap"), ("pin", "{}", "--text", "x"), ("unpin", "{}", 1), ("undo", "{}"), ("restore", "{}", 1),
    ("pending", "{}"), ("approve", "{}", 1), ("reject", "{}", 1), ("rebuild", "{}"),
]  # fmt: skip


@pytest.fixture(scope="module")
def folded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A story of 30 messages with a closed chapter, its backbone and the recap of the open chapter, in a file."""
    path = tmp_path_factory.mktemp("edits") / "stories.db"
    tell(path, "tale", 30)
    with BlockingMemory(path) as memory:
        story = memory.story("tale")
        story.set(SMALL)
        story.close_chapter("One", at=9)
        story.fold()
    time.sleep(0.002)  # what is done next has a time of its own
    return path


@pytest.fixture
def told(cli: Cli, folded: Path) -> Cli:
    """Commands on a copy of that file."""
    shutil.copy(folded, cli.db)
    return cli


@pytest.fixture
def waiting(cli: Cli) -> Cli:
    """A story whose first fold waits for approval."""
    cli.tell("tale", 12)
    cli("set", "tale", *SMALL, "review=true")
    assert [fold["status"] for fold in cli("fold", "tale", "--json").json["folds"]] == ["pending"]
    return cli


def shown(cli: Cli) -> dict[str, Any]:
    found: dict[str, Any] = cli("show", "tale", "--json").json
    return found


def now(cli: Cli, what: str) -> str | None:
    found = shown(cli)
    text: str | None = found["chapters"][0]["recap"] if what == "chapter:1" else found[what]
    return text


def versions(cli: Cli) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = cli("log", "tale", "--json").json["versions"]
    return found


@pytest.mark.parametrize("command", EVERY, ids=lambda command: str(command[0]))
def test_an_unknown_story_is_one_sentence_and_is_not_begun(cli: Cli, command: tuple[object, ...]) -> None:
    arguments = [argument if argument != "{}" else "nowhere" for argument in command]
    for form in ((), ("--json",)):
        assert "no story named 'nowhere'" in cli.fails(2, *arguments, *form)
    assert cli.stories() == []


def test_chapter_closes_where_it_is_told_to(told: Cli) -> None:
    assert told("chapter", "tale", "--title", "Two", "--at", -11, "--json").json == {
        "story": "tale", "chapter": 2, "title": "Two", "span": [10, 19],
    }  # fmt: skip
    ran = told("chapter", "tale")
    assert (ran.code, ran.out) == (0, "Chapter 3 is closed (messages 20-29). The next fold writes its recap.\n")
    assert [(one["title"], one["span"]) for one in shown(told)["chapters"]] == [
        ("One", [0, 9]), ("Two", [10, 19]), ("", [20, 29]),
    ]  # fmt: skip
    assert "no message at position 30" in told.fails(2, "chapter", "tale", "--at", 30)
    assert "'x' is not a position" in told.fails(2, "chapter", "tale", "--at", "x")


@pytest.mark.parametrize("what", ["recap", "chapter:1", "backbone"])
def test_rewrite_lock_and_unlock(told: Cli, what: str) -> None:
    folded = now(told, what)
    assert told("rewrite", "tale", what, "--text", NASTY, "--json").json == {"story": "tale", "rewritten": what}
    assert now(told, what) == NASTY
    newest = versions(told)[-1]
    assert (newest["kind"], newest["made_by"], newest["status"]) == (what.partition(":")[0], "person", "by hand")
    assert NASTY in told("view", "tale", "--json").json["messages"][0]["content"]
    assert told("unlock", "tale", what, "--json").json == {"story": "tale", "unlocked": what}
    assert now(told, what) == folded
    assert told("lock", "tale", what, "--json").json == {"story": "tale", "locked": what}
    assert now(told, what) == folded
    assert versions(told)[-1]["made_by"] == "person"


def test_rewrite_lock_and_unlock_for_people(told: Cli) -> None:
    said = told("rewrite", "tale", "chapter:1", "--text", "Mine.").out
    assert said == "Your words stand for chapter:1 now; memory goes on behind them.\n"
    assert "Chapter 1, One (messages 0-9, by person)\nMine.\n" in told("show", "tale").out
    assert told("lock", "tale", "recap").out == "Recap is locked; memory goes on behind it.\n"
    assert told("unlock", "tale", "recap").out == "Recap is folded again from now on.\n"


def test_words_come_from_standard_input(told: Cli) -> None:
    assert told("rewrite", "tale", "recap", "--text", "-", stdin=f"{NASTY}\n".encode()).code == 0
    assert now(told, "recap") == NASTY
    assert told("pin", "tale", "--text", "-", "--json", stdin=b"Kept.\r\n").json["text"] == "Kept."
    assert "not UTF-8" in told.fails(2, "rewrite", "tale", "recap", "--text", "-", stdin=b"\xff")
    assert told.fails(2, "rewrite", "tale", "recap", "--text", "-") == "There are no words to keep."


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("rewrite", "tale", "recap"), "Missing option '--text'"),
        (("rewrite", "tale"), "Missing argument 'WHAT'"),
        (("rewrite", "tale", "recap", "--text", " "), "There are no words to keep."),
        (("rewrite", "tale", "summary", "--text", "x"), "no text called 'summary'"),
        (("rewrite", "tale", "chapter:2", "--text", "x"), "no closed chapter 2; there are 1."),
        (("lock", "tale", "chapter:"), "no text called 'chapter:'"),
        (("lock", "tale", "chapter:7"), "no closed chapter 7; there are 1."),
        (("unlock", "tale", "backbone"), "Nobody wrote or locked the backbone."),
        (("pin", "tale", "--text", ""), "There are no words to keep."),
        (("pin", "tale", "--at", "99"), "no message at position 99"),
        (("unpin", "tale", "99"), "There is no pin 99 on branch 'main'"),
        (("unpin", "tale", "first"), "'first' is not a number."),
        (("unpin", "tale"), "Missing argument 'PIN'"),
        (("restore", "tale", "99"), "There is no version 99"),
        (("restore", "tale", "v1"), "'v1' is not a version"),
        (("approve", "tale", "1"), "Version 1 does not wait for approval: it is committed."),
        (("approve", "tale", "99"), "There is no version 99"),
        (("reject", "tale", "1"), "Version 1 does not wait for approval"),
        (("reject", "tale", "-1"), "-1"),
    ],
)
def test_bad_input_is_one_sentence_and_changes_nothing(told: Cli, arguments: tuple[str, ...], said: str) -> None:
    before = shown(told), versions(told)
    for form in ((), ("--json",)):
        assert said in told.fails(2, *arguments, *form)
    assert (shown(told), versions(told)) == before


def test_pins(told: Cli) -> None:
    own = told("pin", "tale", "--text", NASTY, "--json").json
    assert own == {"story": "tale", "pin": own["pin"], "position": 29, "text": NASTY}
    said = told("pin", "tale", "--at", -30).out
    number = said.partition(":")[0].removeprefix("Pin ")
    assert said == f"Pin {number}: {told.texts('tale')[0]}\n"
    assert [(pin["position"], pin["text"]) for pin in shown(told)["pins"]] == [(0, told.texts("tale")[0]), (29, NASTY)]
    view = told("view", "tale", "--json").json
    assert [item["section"] for item in view["items"]][:2] == ["pins", "pins"]
    assert NASTY in view["messages"][0]["content"]
    assert f"  {number}: Snow shut the pass" in told("show", "tale").out
    assert told("unpin", "tale", number).out == f"Pin {number} is gone.\n"
    assert told("unpin", "tale", own["pin"], "--json").json == {"story": "tale", "unpinned": own["pin"]}
    assert shown(told)["pins"] == []


def test_undo_says_what_it_took_back_and_when_nothing_is_left(told: Cli) -> None:
    told("pin", "tale")
    assert told("undo", "tale", "--json").json == {"story": "tale", "undone": "the pin at message 29"}
    recap = versions(told)[-1]
    assert (recap["kind"], recap["span"]) == ("recap", [16, 21])
    said = f"Taken back: version {recap['id']}, recap of messages 16-21.\n"
    assert told("undo", "tale").out == said
    assert versions(told)[-1]["status"] == "undone"
    left = [one for one in versions(told) if one["status"] == "committed"]
    for _ in [*left, "the end of the chapter"]:
        assert told("undo", "tale").code == 0
    assert "nothing to undo" in told.fails(2, "undo", "tale")
    assert "Nothing is folded yet." in told("show", "tale").out
    assert len(told.texts("tale")) == 30, "messages are never touched"


def test_restore(told: Cli) -> None:
    first = next(one for one in versions(told) if one["kind"] == "recap" and one["span"][0] == 10)
    text = told("blame", "tale", first["id"], "--json").json["text"]
    restored = told("restore", "tale", first["id"], "--json").json["restored"]
    assert (shown(told)["recap"], first["id"]) == (text, restored)
    assert told("restore", "tale", first["id"]).out == f"Version {first['id']} is in force again.\n"
    told("edit", "tale", 12, "--text", "Other words.")
    assert "not on branch 'main' as they were" in told.fails(2, "restore", "tale", first["id"])


def test_what_waits_is_listed_and_decided(waiting: Cli) -> None:
    listed = waiting("pending", "tale", "--json").json
    (one,) = listed["versions"]
    assert (listed["story"], one["kind"], one["status"], one["span"]) == ("tale", "recap", "pending", [0, 5])
    assert {key: one[key] for key in one if key != "text"} == versions(waiting)[0]
    assert f"Version {one['id']}, recap of messages 0-5:\n{one['text']}\n" in waiting("pending", "tale").out
    assert shown(waiting)["recap"] is None
    assert waiting("fold", "tale", "--json").json["stopped"] == f"version {one['id']} waits to be approved or rejected"
    assert waiting("reject", "tale", one["id"], "--reason", "dull").out == f"Version {one['id']} is refused.\n"
    assert "dull" in versions(waiting)[0]["reason"]
    assert waiting("pending", "tale").out == "Nothing waits for approval.\n"
    waiting("fold", "tale")
    (another,) = waiting("pending", "tale", "--json").json["versions"]
    assert waiting("approve", "tale", another["id"], "--json").json == {"story": "tale", "committed": another["id"]}
    assert shown(waiting)["recap"] == another["text"]
    assert "it is committed." in waiting.fails(2, "reject", "tale", another["id"])
    waiting("add", "tale", "--role", "user", "--text", "More.")


def test_reject_and_approve_in_their_other_forms(waiting: Cli) -> None:
    assert waiting("reject", "tale", 1, "--json").json == {"story": "tale", "refused": 1}
    waiting("fold", "tale")
    assert waiting("approve", "tale", 2).out == "Version 2 is committed.\n"


def test_rebuild_folds_anew_and_leaves_what_people_wrote(told: Cli) -> None:
    told("rewrite", "tale", "chapter:1", "--text", NASTY)
    before = shown(told)
    ran = told("rebuild", "tale", "--json").json
    assert ran["story"] == "tale"
    assert {fold["kind"] for fold in ran["folds"]} >= {"recap", "backbone"}
    assert {fold["status"] for fold in ran["folds"]} == {"committed"}
    assert now(told, "chapter:1") == NASTY
    assert shown(told)["recap"] == before["recap"], "the same folder writes the same words"
    assert " made, 0 model calls" in told("rebuild", "tale").out
