"""lore: entries by hand, suggestions, why they come up, books."""

from __future__ import annotations

import json
import shutil
import time
from pathlib import Path
from typing import Any

import pytest

from previously.blocking import BlockingMemory
from previously.core.messages import Draft, message
from previously.core.model_io import ModelRequest
from previously.testing.model import ScriptedModel
from tests.end_to_end.cli.running import Cli, tell
from tests.end_to_end.runtime.echoing import part

SMALL = (
    "timeline=scenes",
    "tail_messages=2",
    "scene_messages=8",
    "fold_messages=8",
    "recap_words=40",
    "chapter_messages=0",
    "cast=off",
)
ENTRY = {
    "name", "type", "keywords", "content", "status", "by", "book", "locked", "suggestions", "earlier",
}  # fmt: skip
NASTY = "  <b>Bell</b>\n\ntower 漢字 🧵 \\n \x1b[31m "
EVERY = [
    ("list", "{}"), ("add", "{}", "Bell", "--text", "x"), ("edit", "{}", "Bell", "--text", "x"),
    ("accept", "{}", "Bell"), ("remove", "{}", "Bell"), ("explain", "{}"),
]  # fmt: skip
WORLD_INFO = {
    "entries": {
        "0": {"uid": 0, "key": ["bell", "/tow[ae]r/i"], "content": "The bell is cracked.", "comment": "Bell", "x": 1},
        "7": {"uid": 7, "key": [], "content": "Never.", "comment": "Unkeyed"},
    }
}
CARD = {
    "spec": "chara_card_v2",
    "data": {
        "name": "Davin",
        "character_book": {
            "entries": [
                {"keys": ["bell"], "content": "It was cast in Lethen.", "name": "Lethen bell", "enabled": True},
            ]
        },
    },
}
NEVER = "It has no keys and is not constant, so it never fires."
PLAIN = [{"name": "Bell", "type": "item", "keywords": ["bell"], "content": "Bronze, cracked."}]


ORLA = {
    "name": "Orla Finch", "type": "character", "keywords": ["Orla Finch", "Orla"],
    "content": "Orla Finch had eleven sheep left when snow shut the pass.",
}  # fmt: skip


def noted(request: ModelRequest) -> str:
    """What a model notes of the story that `tell` tells."""
    if request.schema is None:
        told = "Snow shut the pass. Orla Finch had eleven sheep left"
        return f"{told}, and Davin said that she owed the miller forty crowns."
    told = "Orla promised Davin to bring the bell down, and owed the miller forty crowns."
    if "lorebooks" not in request.schema["properties"]:
        return json.dumps({"summary_update": part(request, "fragment")})
    return json.dumps({"summary": told, "lorebooks": [ORLA]})


@pytest.fixture(scope="module")
def folded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A story of 20 messages whose scenes are noted by a model, in a file."""
    path = tmp_path_factory.mktemp("lore") / "stories.db"
    tell(path, "tale", 20)
    with BlockingMemory(path, model=ScriptedModel(noted)) as memory:
        story = memory.story("tale")
        story.set(SMALL)
        story.fold()
    return path


@pytest.fixture
def told(cli: Cli, folded: Path) -> Cli:
    """Commands on a copy of that file."""
    shutil.copy(folded, cli.db)
    return cli


def entries(cli: Cli, *options: str) -> dict[str, dict[str, Any]]:
    found = cli("lore", "list", "tale", *options, "--json").json["entries"]
    return {one["name"]: one for one in found}


def shown_lore(cli: Cli, *options: str) -> str:
    """What a view says of lore, wherever it stands in it."""
    view = cli("view", "tale", *options, "--json").json
    assert all(item["tokens"] > 0 for item in view["items"])
    return "\n".join(str(one["content"]) for one in view["messages"])


def book(tmp_path: Path, name: str, value: object) -> Path:
    path = tmp_path / name
    path.write_text(json.dumps(value), encoding="utf-8")
    return path


def scripted(monkeypatch: pytest.MonkeyPatch, reply: Any) -> ScriptedModel:
    """Let a script write memory, as if an endpoint had been named."""
    model = ScriptedModel(reply)
    monkeypatch.setattr("previously.app.model_from", lambda environment, timeout_s: model)
    return model


@pytest.mark.parametrize("command", EVERY, ids=lambda command: str(command[0]))
def test_an_unknown_story_is_one_sentence_and_is_not_begun(cli: Cli, command: tuple[str, ...]) -> None:
    arguments = ["nowhere" if argument == "{}" else argument for argument in command]
    for form in ((), ("--json",)):
        assert "no story named 'nowhere'" in cli.fails(2, "lore", *arguments, *form)
    assert cli.stories() == []


def test_without_a_command_it_says_what_there_is(cli: Cli) -> None:
    ran = cli("lore")
    assert ran.code == 0
    assert {"list", "add", "explain", "combine", "merge"} <= set(ran.out.split())


def test_empty_states_are_sentences(tale: Cli) -> None:
    assert tale("lore", "list", "tale").out.startswith(
        "There is no lore yet: that comes from a model (`previously fold tale "
    )
    assert tale("lore", "list", "tale", "--json").json == {
        "story": "tale", "entries": [], "counts": {"live": 0, "retired": 0, "suggested": 0, "removed": 0}, "books": [],
    }  # fmt: skip
    assert tale("lore", "explain", "tale").out == "There are no entries that could come up.\n"
    assert tale("lore", "explain", "tale", "--json").json == {"story": "tale", "reader": "chat", "entries": []}
    assert tale("books", "list").out == "There are no books yet; `previously books add FILE` brings one in.\n"
    assert tale("books", "list", "--json").json == {"books": []}


def test_what_scenes_left_behind_is_listed(told: Cli) -> None:
    listed = told("lore", "list", "tale", "--json").json
    (orla,) = [one for one in listed["entries"] if one["name"] == "Orla Finch"]
    assert set(orla) == ENTRY
    assert (orla["type"], orla["status"], orla["by"], orla["locked"]) == ("character", "live", "model", [])
    assert "eleven sheep" in orla["content"]
    assert "Orla" in orla["keywords"]
    assert listed["counts"]["live"] == len(listed["entries"])
    people = told("lore", "list", "tale").out
    assert "Orla Finch" in people
    assert f"{len(listed['entries'])} live." in people
    shown = told("show", "tale", "--json").json
    assert [one["name"] for one in shown["lore"]] == [one["name"] for one in listed["entries"]]


def test_what_a_person_writes_stands_whatever_is_folded(told: Cli) -> None:
    made = told("lore", "edit", "tale", "orla finch", "--text", NASTY, "--json").json
    assert (made["story"], made["edited"]) == ("tale", "Orla Finch")
    assert made["entry"]["content"] == NASTY.strip()
    assert made["entry"]["locked"] == ["content", "name", "type"]
    assert "\x1b" not in told("lore", "list", "tale").out
    told.tell("tale", 20)
    assert told("fold", "tale", "--json").json["folds"]
    now = entries(told)["Orla Finch"]
    assert (now["content"], now["by"]) == (NASTY.strip(), "person")
    assert now["earlier"], "what scenes said before is kept"


def test_an_entry_of_ones_own(told: Cli) -> None:
    made = told(
        "lore", "add", "tale", "Bell tower", "--type", "location", "--keyword", "tower", "--keyword", "belfry",
        "--text", "-", "--json", stdin=b"Cracked since the flood.\n",
    ).json["entry"]  # fmt: skip
    assert (made["type"], made["content"], made["by"]) == ("location", "Cracked since the flood.", "person")
    assert made["keywords"] == ["Bell tower", "tower", "belfry"]
    assert "'Bell tower' already" in told.fails(2, "lore", "add", "tale", "bell tower", "--text", "x")
    event = ("lore", "add", "tale", "Bell tower", "--type", "event", "--text", "It fell.")
    assert "'Bell tower' already" in told.fails(2, *event), "one thing has one entry, whatever its type"
    assert told("lore", "edit", "tale", "Bell tower", "--type", "event").code == 0
    assert "no entry 'Bell tower'" in told.fails(2, "lore", "remove", "tale", "Bell tower", "--type", "location")
    assert told("lore", "remove", "tale", "Bell tower", "--type", "event").out == "Bell tower is shown no more.\n"
    assert told("lore", "edit", "tale", "Bell tower", "--type", "location", "--keyword", "spire").code == 0
    now = entries(told)["Bell tower"]
    assert (now["type"], now["keywords"]) == ("location", ["Bell tower", "spire"])
    assert now["content"] == "Cracked since the flood."


def test_lock_unlock_remove_and_bring_back(told: Cli) -> None:
    before = entries(told)["Orla Finch"]
    assert told("lock", "tale", "lore:Orla Finch").out == "Orla Finch stays as it is.\n"
    locked = entries(told)["Orla Finch"]
    assert (locked["content"], locked["by"]) == (before["content"], "person")
    assert told("unlock", "tale", "lore:Orla Finch", "--json").json == {
        "story": "tale", "unlocked": "Orla Finch", "gone": False,
    }  # fmt: skip
    assert entries(told)["Orla Finch"] == before
    assert "Nobody wrote or locked" in told.fails(2, "unlock", "tale", "lore:Orla Finch")
    assert told("lore", "remove", "tale", "Orla Finch", "--json").json["entry"]["status"] == "removed"
    assert "Orla Finch" not in entries(told)
    assert entries(told, "--all")["Orla Finch"]["status"] == "removed"
    assert "(removed)" in told("lore", "list", "tale", "--all").out
    assert "Orla Finch" not in [one["name"] for one in told("lore", "explain", "tale", "--json").json["entries"]]
    assert told("lore", "accept", "tale", "Orla Finch").out == "Orla Finch is part of the lore now.\n"
    assert entries(told)["Orla Finch"]["status"] == "live"


def test_undo_takes_back_one_thing_after_the_other(told: Cli) -> None:
    before = entries(told, "--all")
    told("lore", "edit", "tale", "Orla Finch", "--text", "Mine.")
    told("lore", "remove", "tale", "Orla Finch")
    assert "removing Orla Finch" in told("undo", "tale").out
    assert entries(told)["Orla Finch"]["content"] == "Mine."
    told("undo", "tale")
    assert entries(told, "--all") == before


def test_what_a_person_wrote_follows_the_branch(told: Cli) -> None:
    told("branch", "tale", "other")
    told("lore", "add", "tale", "Bell", "--text", "Bronze.")
    assert told("switch", "tale", "other").code == 0
    assert "Bell" not in entries(told)
    told("switch", "tale", "main")
    assert entries(told)["Bell"]["content"] == "Bronze."


def test_in_a_novel_entries_are_suggested_first(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    scripted(monkeypatch, noted)
    cli.tell("tale", 20)
    cli("set", "tale", "preset=novel", "tail_messages=2", "scene_messages=8")
    cli("fold", "tale")
    listed = cli("lore", "list", "tale", "--json").json
    assert listed["entries"] == []
    assert listed["counts"]["suggested"] > 0
    people = cli("lore", "list", "tale").out
    assert "suggested" in people
    assert "`previously lore accept` takes one over" in people
    assert cli("lore", "explain", "tale", "--json").json["entries"] == []
    assert {one["status"] for one in cli("show", "tale", "--json").json["lore"]} == {"suggested"}
    assert cli("lore", "accept", "tale", "Orla Finch", "--json").json["accepted"] == "Orla Finch"
    assert entries(cli)["Orla Finch"]["status"] == "live"
    assert [one["name"] for one in cli("lore", "explain", "tale", "--json").json["entries"]] == ["Orla Finch"]


def test_with_lore_off_only_what_people_wrote_comes_up(told: Cli) -> None:
    told("set", "tale", "lore=off")
    told("lore", "add", "tale", "Bell", "--text", "Bronze.")
    assert list(entries(told)) == ["Bell"]
    assert str(ORLA["content"]) not in shown_lore(told)
    assert [one["name"] for one in told("lore", "explain", "tale", "--json").json["entries"]] == ["Bell"]


def test_what_a_model_notes_of_a_persons_entry_is_a_suggestion(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    def reply(request: ModelRequest) -> str:
        if request.schema is None:
            return "Orla Finch kept her sheep and owed the miller forty crowns."
        described = {"name": "Bell tower", "type": "location", "keywords": ["bell tower"], "content": "Burned down."}
        return json.dumps({"summary": "The bell tower burned in the night.", "lorebooks": [described]})

    cli.tell("tale", 8)
    cli("set", "tale", *SMALL)
    cli("lore", "add", "tale", "Bell tower", "--type", "location", "--text", "Cracked.")
    cli.tell("tale", 12)
    scripted(monkeypatch, reply)
    assert {one["made_by"] for one in cli("fold", "tale", "--json").json["folds"] if one["kind"] == "scene"} == {
        "model"
    }
    now = entries(cli)["Bell tower"]
    assert (now["content"], now["by"]) == ("Cracked.", "person")
    assert "Burned down." in now["suggestions"]


def test_explain_says_what_the_view_does(told: Cli) -> None:
    told("lore", "add", "tale", "Lighthouse", "--keyword", "lighthouse", "--text", "Never spoken of.")
    told("lore", "add", "tale", "Law", "--type", "rule", "--text", "Nobody sells the bell.")
    found = told("lore", "explain", "tale", "--json").json["entries"]
    fired = {one["name"]: one["reason"] for one in found if one["fired"]}
    assert [one["fired"] for one in found] == sorted((one["fired"] for one in found), reverse=True), "fired first"
    assert set(fired) >= {"Orla Finch", "Law"}
    assert fired["Orla Finch"].startswith('key "Orla')
    (not_fired,) = [one for one in found if one["name"] == "Lighthouse"]
    assert not_fired["reason"] == "no key found in the newest 4 messages"
    view = shown_lore(told)
    assert "Orla Finch had eleven sheep left" in view
    assert "Law: Nobody sells the bell." in view
    assert "Never spoken of" not in view
    people = told("lore", "explain", "tale").out.splitlines()
    assert people[0].split() == ["entry", "book", "comes", "up", "in", "because"]
    assert "no reader 'nobody'" in told.fails(2, "lore", "explain", "tale", "--reader", "nobody")


def test_what_a_person_changes_shows_at_once(tale: Cli, tmp_path: Path) -> None:
    tale("lore", "add", "tale", "Bell tower", "--text", "Made of oak.")
    assert "Made of oak." in shown_lore(tale)
    tale("lore", "edit", "tale", "Bell tower", "--text", "Made of stone.")
    assert "Made of stone." in shown_lore(tale)
    assert "Made of oak." not in shown_lore(tale)
    tale("books", "add", book(tmp_path, "salt.json", PLAIN))
    assert tale("books", "list", "tale").out.startswith("tale has no books; `previously books attach tale BOOK`")
    tale("books", "add", book(tmp_path, "other.json", PLAIN))
    tale("books", "attach", "tale", "salt")
    assert [one["book"] for one in tale("books", "list", "tale", "--json").json["books"]] == ["salt"]
    assert len(tale("books", "list", "--json").json["books"]) == 2
    assert tale("books", "list", "nowhere").code == 2
    assert "Bronze, cracked." in shown_lore(tale)
    tale("books", "detach", "tale", "salt")
    tale("lore", "remove", "tale", "Bell tower")
    assert "<recalled" not in shown_lore(tale)


def test_explain_reads_only_what_a_character_witnessed(cli: Cli) -> None:
    with BlockingMemory(cli.db) as memory:
        memory.story("tale").add_drafts(
            [
                Draft(message("user", "The lighthouse burns.", speaker="Ines", witnesses=["Ines", "Bram"])),
                Draft(message("user", "Good morning.", speaker="Ines", witnesses=["Ines", "Maya"])),
            ]
        )
    cli("lore", "add", "tale", "Lighthouse", "--text", "Tall.")
    for reader, fires in (("chat", True), ("character:Bram", True), ("character:Maya", False)):
        (one,) = cli("lore", "explain", "tale", "--reader", reader, "--json").json["entries"]
        assert one["fired"] is fires, reader


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("add", "tale", "Bell"), "Missing option '--text'"),
        (("add", "tale", "Bell", "--text", " "), "A new entry needs content"),
        (("add", "tale", "  ", "--text", "x"), "A name must not be empty."),
        (("add", "tale", "...", "--text", "x"), "needs a name"),
        (("add", "tale", "Bell", "--type", "bell", "--text", "x"), "no type 'bell' of lore; there are character"),
        (("edit", "tale", "Nobody", "--text", "x"), "no entry 'Nobody' in this story"),
        (("edit", "tale", "Orla Finch"), "There is nothing to change: give --text, --keyword or --type."),
        (("edit", "tale", "Orla Finch", "--text", ""), "The content of an entry has 1 to 20,000 characters."),
        (("edit", "tale", "Orla Finch", "--text", "x" * 20_001), "1 to 20,000 characters"),
        (("accept", "tale", "Nobody"), "no entry 'Nobody'"),
        (("remove", "tale", "Nobody"), "no entry 'Nobody'"),
        (("remove", "tale", "Orla Finch", "--type", "item"), "no entry 'Orla Finch'"),
        (("explain", "tale", "--reader", "character:"), "There is no reader"),
        (("list",), "Missing argument 'STORY'"),
        (("dance", "tale"), "lore has no verb 'dance': it has list, add"),
        (("merge", "tale", "Orla", "Orla Finch"), "These are one entry already"),
    ],
)
def test_bad_input_is_one_sentence_and_changes_nothing(told: Cli, arguments: tuple[str, ...], said: str) -> None:
    before = entries(told, "--all")
    for form in ((), ("--json",)):
        assert said in told.fails(2, "lore", *arguments, *form)
    assert entries(told, "--all") == before


@pytest.mark.parametrize(
    ("given", "name", "content"),
    [
        (WORLD_INFO, "Bell", "The bell is cracked."),
        (CARD, "Lethen bell", "It was cast in Lethen."),
        (CARD["data"]["character_book"], "Lethen bell", "It was cast in Lethen."),  # type: ignore[index]
        (PLAIN, "Bell", "Bronze, cracked."),
    ],
    ids=["world info", "card", "character book", "plain list"],
)
def test_a_book_comes_up_where_it_is_attached(told: Cli, tmp_path: Path, given: Any, name: str, content: str) -> None:
    path = book(tmp_path, "salt.json", given)
    made = told("books", "add", path, "--json").json
    assert (made["book"], made["replaced"]) == ("salt", False)
    assert content not in shown_lore(told)
    assert told("books", "attach", "tale", "salt", "--json").json == {
        "story": "tale", "attached": "salt", "books": ["salt"],
    }  # fmt: skip
    assert (entries(told)[name]["by"], entries(told)[name]["book"]) == ("book", "salt")
    (explained,) = [one for one in told("lore", "explain", "tale", "--json").json["entries"] if one["name"] == name]
    assert (explained["fired"], explained["book"]) == (True, "salt")
    told("add", "tale", "--role", "user", "--name", "Orla", "--text", "And the bell?")
    assert content in shown_lore(told)
    shown = told("show", "tale", "--json").json
    assert shown["books"] == ["salt"]
    assert name not in [one["name"] for one in shown["lore"]], "books are not what the story taught"
    assert f"{name!r} is an entry of the book 'salt'" in told.fails(2, "lore", "edit", "tale", name, "--text", "x")
    assert told("books", "detach", "tale", "salt").out == "salt is not attached to tale any more.\n"
    assert name not in entries(told)


def test_importing_says_which_entries_have_problems_and_what_was_there(cli: Cli, tmp_path: Path) -> None:
    path = book(tmp_path, "any.json", WORLD_INFO)
    ran = cli("books", "add", path, "--book", "salt")
    assert ran.out.splitlines() == [
        "salt: 2 entries. `previously books attach STORY salt` lets them come up in a story.",
        f"  Unkeyed: {NEVER}",
    ]
    again = cli("books", "add", path, "--book", "salt", "--json").json
    assert again == {
        "book": "salt", "entries": 2, "replaced": True,
        "problems": [{"entry": "Unkeyed", "uid": "salt/7", "problems": [NEVER]}], "changes": [],
    }  # fmt: skip
    (listed,) = cli("books", "list", "--json").json["books"]
    assert (listed["book"], listed["entries"], listed["with_problems"]) == ("salt", 2, 1)
    assert listed["size_bytes"] > 0
    assert cli("books", "list").out.splitlines()[-1].split()[:3] == ["salt", "2", "1"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "is cut off (not valid JSON)"),
        ("", "the file is empty"),
        ("7", "must be an object or a list of entries, not a number"),
        ('{"data": {}}', "has no book"),
        ('{"lorebookVersion": 5, "entries": []}', "a NovelAI lorebook"),
        ('[{"name": "", "content": "x"}]', '"name" is empty'),
        ('{"entries": {"0": 7}}', "The entry salt/0 cannot be read"),
    ],
)
def test_a_file_that_is_no_book_is_one_sentence_and_keeps_nothing(
    cli: Cli, tmp_path: Path, text: str, said: str
) -> None:
    path = tmp_path / "salt.json"
    path.write_text(text, encoding="utf-8")
    for form in ((), ("--json",)):
        sentence = cli.fails(2, "books", "add", path, *form)
        assert said in sentence
        assert "salt.json" in sentence
    assert "no such file" in cli.fails(2, "books", "add", tmp_path / "none.json")
    assert cli("books", "list", "--json").json == {"books": []}


def test_forgetting_a_book_asks_and_detaches_it(told: Cli, tmp_path: Path) -> None:
    told("books", "add", book(tmp_path, "salt.json", PLAIN))
    told("books", "attach", "tale", "salt")
    ran = told("books", "remove", "salt")
    assert ran.code == 2
    assert "The book salt goes, 1 entry, from every story it is attached to." in ran.err
    assert "add --yes" in ran.err
    assert told("books", "list", "--json").json["books"]
    assert told("books", "remove", "salt", "--yes", "--json").json == {"forgotten": "salt", "entries": 1}
    listed = told("lore", "list", "tale", "--json").json
    assert listed["books"] == []
    assert "Bell" not in [one["name"] for one in listed["entries"]]


def test_a_key_that_cannot_be_used_is_told_of_when_it_is_written_and_when_it_is_explained(tale: Cli) -> None:
    broken = tale("lore", "add", "tale", "Crypt", "--text", "It is old.", "--keyword", "/(((/")
    assert (broken.code, broken.out) == (0, "Crypt (concept) is written.\n")
    assert broken.err.startswith("The key /(((/ cannot be used: ")
    told = tale("lore", "edit", "tale", "Crypt", "--keyword", "/)/", "--keyword", "vault", "--json")
    assert [one[:28] for one in told.json["problems"]] == ["The key /)/ cannot be used: "]
    assert "The key /)/ cannot be used" in told.err
    (why,) = tale("lore", "explain", "tale", "--json").json["entries"]
    assert why["reason"].startswith('no key found in the newest 4 messages; the key "/)/" cannot be used: ')
    sound = tale("lore", "edit", "tale", "Crypt", "--keyword", "/vaults?/i", "--json")
    assert (sound.json["problems"], sound.err) == ([], "")


def test_what_is_done_to_an_entry_of_a_book_names_the_book(tale: Cli, tmp_path: Path) -> None:
    path = tmp_path / "salt.json"
    path.write_text(json.dumps(PLAIN), encoding="utf-8")
    tale("books", "add", path)
    tale("books", "attach", "tale", "salt")
    for deed in ("edit", "remove", "accept"):
        more = ("--text", "x") if deed == "edit" else ()
        said = tale.fails(2, "lore", deed, "tale", "Bell", *more)
        assert "'Bell' is an entry of the book 'salt'; change the book's file and import it again." in said
    for deed in ("lock", "unlock", "remove"):
        assert "is an entry of the book 'salt'" in tale.fails(2, deed, "tale", "lore:Bell")


def test_unlocking_what_only_a_person_wrote_says_that_it_is_gone(tale: Cli) -> None:
    tale("lore", "add", "tale", "Crypt", "--text", "It is old.")
    assert tale("unlock", "tale", "lore:Crypt").out == (
        "Crypt is gone, since no scene says anything of it. `previously undo` brings it back.\n"
    )
    assert tale("lore", "list", "tale", "--all", "--json").json["entries"] == []
    tale("undo", "tale")
    assert [one["name"] for one in tale("lore", "list", "tale", "--json").json["entries"]] == ["Crypt"]


def test_an_entry_is_renamed_and_found_by_both_names(cli: Cli) -> None:
    cli("add", "tale", "--role", "user", "--text", "Who is Grim?")
    cli("lore", "add", "tale", "Grim", "--type", "character", "--text", "A barkeeper.")
    assert cli("lore", "rename", "tale", "grim", "Grimald", "--json").json["renamed"] == "Grimald"
    assert cli("lore", "show", "tale", "Grim", "--json").json["name"] == "Grimald"
    assert "Nobody" in cli("lore", "rename", "tale", "Nobody", "X").err
    cli("lore", "add", "tale", "Orla", "--text", "A shepherd.")
    assert "already" in cli("lore", "rename", "tale", "Orla", "Grimald").err
    assert [entry["name"] for entry in cli("lore", "list", "tale", "--json").json["entries"]] == ["Grimald", "Orla"]


@pytest.mark.slow(reason="takes seconds, to be worth measuring")
def test_five_times_the_entries_are_listed_in_about_five_times_the_time(cli: Cli, tmp_path: Path) -> None:
    spent = []
    for count in (2_000, 10_000):
        book, story = tmp_path / f"book{count}.json", f"tale{count}"
        entries = {
            str(number): {"uid": number, "key": [f"key{number}"], "comment": f"Entry {number}", "content": "Told."}
            for number in range(count)
        }
        book.write_text(json.dumps({"entries": entries}))
        cli("add", story, "--role", "user", "--text", "Hi.")
        cli("import", book, "--story", story)
        begun = time.process_time()
        assert cli("lore", "list", story).out.endswith(f"{count:,} entries: {count:,} live.\n")
        spent.append(time.process_time() - begun)
    assert spent[1] < 15 * spent[0], spent  # 25 times, were it quadratic
