"""chapters add, edit, lock, unlock, pin, remove, undo, restore, pending, approve, reject, fold --anew."""

from __future__ import annotations

import shutil
import time
from pathlib import Path
from typing import Any

import pytest

from previously import BlockingMemory, Draft
from tests.end_to_end.cli.running import Cli, tell

SMALL = ("tail_messages=3", "fold_messages=6", "recap_words=40", "chapter_messages=0")
NASTY = "  # Ines\n\n<recap> 漢字 🧵 \\n "
EVERY = [
    ("chapters", "add", "{}", "--title", "One"), ("edit", "{}", "recap", "--text", "x"), ("lock", "{}", "recap"),
    ("unlock", "{}", "recap"), ("pin", "{}", "--text", "x"), ("remove", "{}", "pin:1"), ("undo", "{}"),
    ("restore", "{}", "version:1"),
    ("pending", "{}"), ("approve", "{}", 1), ("reject", "{}", 1), ("fold", "{}", "--anew"),
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
    assert told("chapters", "add", "tale", "--title", "Two", "--at", -11, "--json").json == {
        "story": "tale", "chapter": 2, "title": "Two", "span": [10, 19],
    }  # fmt: skip
    ran = told("chapters", "add", "tale")
    assert (ran.code, ran.out) == (0, "Chapter 3 is closed (messages 20-29). The next fold writes its recap.\n")
    assert [(one["title"], one["span"]) for one in shown(told)["chapters"]] == [
        ("One", [0, 9]), ("Two", [10, 19]), ("", [20, 29]),
    ]  # fmt: skip
    assert "no message at position 30" in told.fails(2, "chapters", "add", "tale", "--at", 30)
    assert "'x' is not a position" in told.fails(2, "chapters", "add", "tale", "--at", "x")


@pytest.mark.parametrize("what", ["recap", "chapter:1", "backbone"])
def test_rewrite_lock_and_unlock(told: Cli, what: str) -> None:
    folded = now(told, what)
    assert told("edit", "tale", what, "--text", NASTY, "--json").json == {
        "story": "tale",
        "edited": what,
        "rewritten": what,
    }
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
    said = told("edit", "tale", "chapter:1", "--text", "Mine.").out
    assert said == "Your words stand for chapter:1 now; memory goes on behind them.\n"
    assert "Chapter 1, One (messages 0-9, by person)\nMine.\n" in told("show", "tale").out
    assert told("lock", "tale", "recap").out == "Recap is locked; memory goes on behind it.\n"
    assert told("unlock", "tale", "recap").out == "Recap is folded again from now on.\n"


def test_words_come_from_standard_input(told: Cli) -> None:
    assert told("edit", "tale", "recap", "--text", "-", stdin=f"{NASTY}\n".encode()).code == 0
    assert now(told, "recap") == NASTY
    assert told("pin", "tale", "--text", "-", "--json", stdin=b"Kept.\r\n").json["text"] == "Kept."
    assert "not UTF-8" in told.fails(2, "edit", "tale", "recap", "--text", "-", stdin=b"\xff")
    assert told.fails(2, "edit", "tale", "recap", "--text", "-") == "There are no words to keep."


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("edit", "tale", "recap"), "Missing option '--text'"),
        (("edit", "tale"), "Missing argument 'THING'"),
        (("edit", "tale", "recap", "--text", " "), "There are no words to keep."),
        (("edit", "tale", "summary", "--text", "x"), "'summary' names no thing"),
        (("edit", "tale", "chapter:2", "--text", "x"), "There is no chapter:2; there are 1."),
        (("lock", "tale", "chapter:"), "'chapter:' names no thing"),
        (("lock", "tale", "chapter:7"), "There is no chapter:7; there are 1."),
        (("unlock", "tale", "backbone"), "Nobody wrote or locked the backbone."),
        (("pin", "tale", "--text", ""), "There are no words to keep."),
        (("pin", "tale", "--at", "99"), "no message at position 99"),
        (("remove", "tale", "pin:99"), "No pin says '99'"),
        (("remove", "tale", "pin:first"), "No pin says 'first'"),
        (("remove", "tale"), "Missing argument 'THING'"),
        (("remove", "tale", "recap"), "recap cannot be removed"),
        (("lock", "tale", "thread:1"), "cannot be locked"),
        (("undo", "tale", "recap"), "undo takes no recap"),
        (("restore", "tale", "version:99"), "There is no version 99"),
        (("restore", "tale", "v1"), "'v1' names no thing"),
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
    assert told("remove", "tale", f"pin:{number}").out == f"Pin {number} is gone.\n"
    assert told("remove", "tale", f"pin:{own['pin']}", "--json").json == {
        "story": "tale", "removed": f"pin:{own['pin']}", "unpinned": own["pin"],
    }  # fmt: skip
    assert shown(told)["pins"] == []


def test_undo_says_what_it_took_back_and_when_nothing_is_left(told: Cli) -> None:
    told("pin", "tale")
    assert told("undo", "tale", "--json").json["undone"].startswith("the pin “I promised")
    before = shown(told)
    assert told("undo", "tale").out == "Undone: the end of the chapter at message 9.\n"
    assert "The change of tail_messages" in told.fails(2, "undo", "tale")
    assert "nothing to undo" in told.fails(2, "undo", "tale"), "what folds wrote is not a person's deed"
    assert [one["status"] for one in versions(told)] == ["committed"] * len(versions(told))
    told("chapters", "add", "tale", "--title", "One", "--at", 9)
    assert shown(told)["chapters"][0]["recap"] == before["chapters"][0]["recap"]


def test_undo_takes_a_version_back_that_is_named(told: Cli) -> None:
    recap = versions(told)[-1]
    assert (recap["kind"], recap["span"]) == ("recap", [16, 21])
    said = f"Undone: version {recap['id']}, recap of messages 16-21.\n"
    assert told("undo", "tale", f"version:{recap['id']}").out == said
    assert versions(told)[-1]["status"] == "undone"
    assert "is not in force" in told.fails(2, "undo", "tale", f"version:{recap['id']}")
    assert told("undo", "tale").out == "Undone: taking a version back.\n"
    assert versions(told)[-1]["status"] == "committed"


def test_undo_goes_back_through_all_that_a_person_did(told: Cli) -> None:
    before, words = shown(told), told.texts("tale")
    did: list[tuple[tuple[object, ...], str]] = [
        (("edit", "tale", 3, "--text", "Other words."), "the edit of message 3"),
        (("delete", "tale", 5), "the deletion of message 5"),
        (("hide", "tale", 7), "hiding message 7"),
        (("add", "tale", "--role", "user", "--text", "More."), "adding message 29"),
        (("edit", "tale", "recap", "--text", "Mine."), "your words for the recap"),
        (("threads", "add", "tale", "Who lit the lamp?"), "opening the thread “Who lit the lamp?”"),
        (("threads", "edit", "tale", "the lamp", "--owner", "Orla"), "the edit of the thread “Who lit the lamp?”"),
        (("state", "add", "tale", "It rains."), "how things stand: “It rains.”"),
        (("lore", "add", "tale", "Bell", "--text", "Cracked."), "your words on Bell"),
        (("remove", "tale", "lore:bell"), "removing Bell"),
        (("branch", "tale", "aside"), ""),
        (("switch", "tale", "aside"), "the switch; main is active again"),
    ]
    for command, _ in did:
        assert told(*command).code == 0, command
    for _, said in reversed(did):
        if said:
            assert told("undo", "tale").out == f"Undone: {said}.\n"
        else:
            assert "`undo` again takes back removing Bell" in told.fails(2, "undo", "tale")
    assert told.texts("tale") == words
    assert {**shown(told), "branches": 0} == {**before, "branches": 0}
    assert told("verify").code == 0


def test_undo_of_an_edit_leaves_what_came_after_it(told: Cli) -> None:
    words = told.texts("tale")
    told("edit", "tale", 3, "--text", "Other words.")
    with BlockingMemory(told.db) as memory:
        memory.story("tale").add("assistant", "The chat went on.")
    assert told("undo", "tale").out == "Undone: the edit of message 3.\n"
    assert told.texts("tale") == [*words, "The chat went on."]


def test_what_was_changed_again_is_named_and_left(told: Cli) -> None:
    told("pin", "tale", "--text", "Kept.")
    told("edit", "tale", 3, "--text", "Other words.")
    with BlockingMemory(told.db) as memory:
        story = memory.story("tale")
        story.follow([Draft(one.entry.message) for one in story.messages() if one.position != 3])  # as a client does
    assert "The edit of a message cannot be taken back" in told.fails(2, "undo", "tale")
    assert told("undo", "tale").out == "Undone: the pin “Kept.”.\n"


def test_undo_of_an_import_and_of_a_restored_version(told: Cli, tmp_path: Path) -> None:
    path = tmp_path / "tale.jsonl"
    path.write_text('{"role": "user", "content": "Nothing else."}\n', "utf-8")
    words = told.texts("tale")
    told("import", path)
    assert told.texts("tale") == ["Nothing else."]
    assert told("undo", "tale").out == "Undone: what the import changed.\n"
    assert told.texts("tale") == words
    more = tmp_path / "more.jsonl"
    more.write_text('{"role": "user", "content": "One."}\n{"role": "user", "content": "Two."}\n', "utf-8")
    told("import", more)
    emptied = "2 messages taken out, all there were: the story is empty now; importing the file again brings them back"
    assert told("undo", "more").out == f"Undone: what the import changed: {emptied}.\n"
    assert "an import" in told("undo", "--help").out
    recap = now(told, "recap")
    told("edit", "tale", "recap", "--text", "Mine.")
    first = next(one for one in versions(told) if one["kind"] == "recap" and one["span"][0] == 10)
    told("restore", "tale", f"version:{first['id']}")
    assert now(told, "recap") not in ("Mine.", recap)
    assert told("undo", "tale").out == "Undone: putting an earlier version in force.\n"
    assert now(told, "recap") == "Mine."
    told("undo", "tale")
    assert now(told, "recap") == recap


def test_restore(told: Cli) -> None:
    first = next(one for one in versions(told) if one["kind"] == "recap" and one["span"][0] == 10)
    text = told("blame", "tale", f"version:{first['id']}", "--json").json["text"]
    restored = told("restore", "tale", f"version:{first['id']}", "--json").json["restored"]
    assert (shown(told)["recap"], first["id"]) == (text, restored)
    assert told("restore", "tale", f"version:{first['id']}").out == f"Version {first['id']} is in force again.\n"
    told("edit", "tale", 12, "--text", "Other words.")
    assert "not on branch 'main' as they were" in told.fails(2, "restore", "tale", f"version:{first['id']}")


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
    told("edit", "tale", "chapter:1", "--text", NASTY)
    before = shown(told)
    ran = told("fold", "tale", "--anew", "--json").json
    assert ran["story"] == "tale"
    assert {fold["kind"] for fold in ran["folds"]} >= {"recap", "backbone"}
    assert {fold["status"] for fold in ran["folds"]} == {"committed"}
    assert now(told, "chapter:1") == NASTY
    assert shown(told)["recap"] == before["recap"], "the same folder writes the same words"
    assert " made, 0 model calls" in told("fold", "tale", "--anew").out
