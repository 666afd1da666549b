"""One name for each thing, one grammar for lists, kind matching, corrections, old spellings, completion, pager."""

from __future__ import annotations

import os
import pty
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from previously import BlockingMemory
from previously.cli.headings import COMMANDS
from previously.cli.old_grammar import translate_old_spelling
from previously.cli.pager import PAGED
from previously.core.errors import BadInput
from previously.story.thing_name import Thing, ThingKind, find_thing, parse_thing
from tests.end_to_end.cli.running import Cli, tell

SMALL = ("tail_messages=3", "fold_messages=6", "recap_words=40", "chapter_messages=0")


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A story with one of everything that a person can write, in a file."""
    path = tmp_path_factory.mktemp("things") / "stories.db"
    tell(path, "tale", 30)
    with BlockingMemory(path) as memory:
        story = memory.story("tale")
        story.set(SMALL)
        story.close_chapter("The pass", at=9)
        story.fold()
        story.open_thread("Who took that blanket?")
        story.open_thread("Orla owes the miller forty crowns")
        story.hold("Maya / place: the mill")
        story.write_lore("Bell tower", "location", content="Cracked since the flood.")
        story.write_lore("Old tower", "location", content="It leans.")
        story.pin("Never forget the bell.")
    return path


@pytest.fixture
def told(cli: Cli, filled: Path) -> Cli:
    """Commands on a copy of that file."""
    shutil.copy(filled, cli.db)
    return cli


def test_names_of_things() -> None:
    assert parse_thing("recap") == Thing(ThingKind.RECAP)
    assert parse_thing("41") == parse_thing("message:41") == Thing(ThingKind.MESSAGE, "41")
    assert parse_thing("lore:Bell: the tower").which == "Bell: the tower"
    for words in ("", "recap:2", "chapter", "chapter:", "chapters:2", "a sentence: like this", "1.0"):
        assert find_thing(words) is None
        with pytest.raises(BadInput, match="names no thing"):
            parse_thing(words)


@pytest.mark.parametrize(
    ("thing", "said"),
    [
        ("recap", "Recap (messages 10-21, by builtin)"),
        ("backbone", "Backbone (messages 0-9, by builtin)"),
        ("chapter:1", "Chapter 1, The pass"),
        ("chapter:the pass", "Chapter 1, The pass"),
        ("thread:1", "Who took that blanket?"),
        ("thread:the blanket", "Who took that blanket?"),
        ("thread:BLANKTE", "Who took that blanket?"),
        ("state:1", "Maya / place: the mill"),
        ("state:a mill", "Maya / place: the mill"),
        ("lore:bell", "Cracked since the flood."),
        ("pin:the bell", "Never forget the bell."),
        ("cast:davin", "Davin"),
        ("message:-1", "Message 29, Orla"),
        ("2", "Message 2, Davin"),
        ("version:1", "Version 1, recap of messages 0-5"),
        ("branch:main", "30 messages"),
    ],
)
def test_every_thing_is_shown_by_its_name(told: Cli, thing: str, said: str) -> None:
    assert said in told("show", "tale", thing).out
    shown = told("show", "tale", thing, "--json").json["shown"]
    assert shown == (f"message:{thing}" if thing.isdecimal() else thing)


def test_the_blanket_finds_that_blanket_in_every_command(told: Cli) -> None:
    assert told("threads", "settle", "tale", "the blanket").out == "Settled: Who took that blanket?\n"
    assert told("restore", "tale", "thread:a blanket").out == "Open again: Who took that blanket?\n"
    assert told("edit", "tale", "thread:blankets", "--text", "Who burnt the blanket?").code == 0
    assert told("pin", "tale", "thread:blanket", "--json").json["text"] == "Who burnt the blanket?"
    assert told("remove", "tale", "thread:blanket").out == "Removed the thread: Who burnt the blanket?\n"


def test_what_could_mean_two_things_is_refused_with_both_named(told: Cli) -> None:
    said = told.fails(2, "show", "tale", "lore:the tower")
    assert said == "'the tower' could mean 2 things: 'Bell tower'; 'Old tower'."
    assert "could mean 2 entries: 'Bell tower', 'Old tower'" in told.fails(2, "lore", "accept", "tale", "tower")
    told("threads", "add", "tale", "Who sold the blanket?")
    said = told.fails(2, "threads", "settle", "tale", "blanket")
    assert said == "'blanket' could mean 2 things: 1 'Who took that blanket?'; 3 'Who sold the blanket?'."
    assert len(told("threads", "tale", "--json").json["threads"]) == 3


@pytest.mark.parametrize("noun", ["lore", "threads", "state", "wishes", "cast", "chapters", "scenes", "branches"])
def test_a_noun_lists_where_no_verb_is_given(told: Cli, noun: str) -> None:
    assert told(noun, "tale", "--json").json == told(noun, "list", "tale", "--json").json
    assert told(noun).out.startswith(f"Usage: previously {noun}")
    if noun != "cast":  # where two words are the old spelling of `cast show`
        assert f"{noun} has no verb 'dance'" in told.fails(2, noun, "dance", "tale")


def test_corrections_survive_later_folds_and_are_undone(told: Cli) -> None:
    told("threads", "edit", "tale", "crowns", "--owner", "Orla", "--due", "Sunday")
    told("threads", "merge", "tale", "blanket", "crowns")
    told("lore", "edit", "tale", "old tower", "--type", "item")
    told("lore", "merge", "tale", "old tower", "bell tower")
    told("cast", "merge", "tale", "Davin", "Orla")
    tell(told.db, "tale", 20)
    assert told("fold", "tale", "--json").json["folds"]
    (thread,) = told("threads", "tale", "--json").json["threads"]
    assert (thread["text"], thread["owner"], thread["due"]) == ("Orla owes the miller forty crowns", "Orla", "Sunday")
    assert thread["earlier"] == ["Who took that blanket?"]
    (entry,) = told("lore", "tale", "--json").json["entries"]
    assert (entry["name"], entry["earlier"]) == ("Bell tower", ["It leans."])
    assert {"Bell tower", "Old tower"} <= set(entry["keywords"])
    assert [one["name"] for one in told("cast", "tale", "--json").json["cast"]] == ["Orla"]
    assert "(Orla; Sunday)" in told("view", "tale", "--json").json["messages"][0]["content"]
    told("branch", "tale", "aside")
    told("switch", "tale", "aside")
    assert told("threads", "tale", "--json").json["threads"] == [thread], "what a person said follows the branch"
    told("undo", "tale")
    assert "Making the branch aside" in told.fails(2, "undo", "tale")
    for said in ("merging Davin into Orla", "merging Old tower into Bell tower", "your words on Old tower"):
        assert told("undo", "tale").out == f"Undone: {said}.\n"
    assert told("undo", "tale").out == "Undone: merging the thread “Who took that blanket?”.\n"
    assert len(told("threads", "tale", "--json").json["threads"]) == 2


def test_corrections_come_back_from_a_backup_and_stay_through_forgetting(told: Cli, tmp_path: Path) -> None:
    told("edit", "tale", 12, "--text", "Other words.")
    told("threads", "edit", "tale", "crowns", "--owner", "Orla")
    told("lore", "merge", "tale", "old tower", "bell tower")
    kept: dict[str, Any] = {}
    for noun in ("threads", "lore", "state"):
        kept[noun] = told(noun, "tale", "--json").json
    told("backup", tmp_path / "kept.db")
    told("restore", tmp_path / "kept.db", "--as", "again")
    for noun, listed in kept.items():
        assert told(noun, "again", "--json").json == {**listed, "story": "again"}
    assert told("undo", "again").out == "Undone: merging Old tower into Bell tower.\n"
    told("undo", "again")
    assert told("undo", "again").out == "Undone: the edit of message 12.\n", "hashes name heads, not ids"
    assert told.texts("again")[12] != "Other words." == told.texts("tale")[12]
    assert told("forget", "tale", 12, "--yes").code == 0
    assert told("verify").code == 0
    assert [one["owner"] for one in told("threads", "tale", "--json").json["threads"]] == ["Orla", None]
    for _ in range(2):
        told("undo", "tale")
    assert "edit of message 12" not in told("undo", "tale").out, "what was forgotten is not brought back"
    assert "Other words." not in told.texts("tale")


def test_rename_presets_and_branches(told: Cli) -> None:
    assert told("rename", "tale", "saga", "--json").json == {"story": "saga", "was": "tale"}
    assert told.stories() == ["saga"]
    assert "no story named 'tale'" in told.fails(2, "rename", "tale", "other")
    told.tell("tale")
    assert "There is a story named 'saga' already." in told.fails(2, "rename", "tale", "saga")
    told("branch", "saga", "aside", "--at", 4)
    assert told("branches", "edit", "saga", "aside", "--name", "main").code == 2
    assert told("branches", "edit", "saga", "aside", "--name", "what if").out == "aside is called what if now.\n"
    assert told("branches", "saga", "--json").json == {
        "story": "saga", "active": "main", "branches": [
            {"branch": "main", "messages": 30, "active": True}, {"branch": "what if", "messages": 5, "active": False},
        ],
    }  # fmt: skip
    listed = told("presets", "--json").json["presets"]
    assert [one["preset"] for one in listed] == ["roleplay", "novel", "game", "agent"]
    assert "timeline = librarian" in told("presets", "novel").out
    assert "no preset 'opera'" in told.fails(2, "presets", "opera")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("rewrite tale recap --text x", "edit tale recap --text x"),
        ("unpin tale 3", "remove tale pin:3"),
        ("chapter tale --at 3", "chapters add tale --at 3"),
        ("scene tale", "scenes add tale"),
        ("rebuild tale --yes", "fold tale --anew --yes"),
        ("blame tale --message -1", "blame tale message:-1"),
        ("blame tale 12", "blame tale version:12"),
        ("diff tale 11 12", "diff tale version:11 version:12"),
        ("restore tale 12", "restore tale version:12"),
        ("threads tale --open x --due y", "threads add tale x --due y"),
        ("threads tale --resolve x --all", "threads settle tale x --all"),
        ("threads tale --reword x --to y", "threads edit tale x --text y"),
        ("threads --open=x tale", "threads add tale x"),
        ("threads tale --reword=x --to=y", "threads edit tale x --text y"),
        ("state tale --set x", "state add tale x"),
        ("state tale --end x", "state remove tale x"),
        ("wishes tale --withdraw x", "wishes remove tale x"),
        ("cast tale Maya", "cast show tale Maya"),
        ("lore lock tale Bell", "lock tale lore:Bell"),
        ("lore import f.json", "books add f.json"),
        ("lore forget salt --yes", "books remove salt --yes"),
    ],
)
def test_old_spellings_work_with_a_hint(old: str, new: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert translate_old_spelling(["--db", "x.db", *old.split()]) == ["--db", "x.db", *new.split()]
    assert capsys.readouterr().err.startswith(f"Hint: this is now `previously {new}`")
    assert translate_old_spelling(new.split()) == new.split()
    assert capsys.readouterr().err == "", "what is written as it should be is left alone"


def test_an_old_spelling_does_what_it_did(told: Cli) -> None:
    ran = told("threads", "tale", "--open", "Who lit the lamp?", "--json")
    assert "Who lit the lamp?" in [one["text"] for one in ran.json["threads"]]
    assert "previously threads add tale 'Who lit the lamp?'" in ran.err
    assert told("rewrite", "tale", "recap", "--text", "Mine.").code == 0
    assert told("show", "tale", "--json").json["recap"] == "Mine."


def test_blame_names_the_messages_behind_a_sentence(told: Cli) -> None:
    said = told("show", "tale", "--json").json["recap"].splitlines()[-1]
    quoted = said.partition("“")[2].partition("”")[0]
    (recap,) = [one for one in told("blame", "tale", quoted, "--json").json["found"] if one["thing"] == "recap"]
    number = int(said.partition("#")[2].split()[0])
    assert recap["messages"][0]["position"] == number, "the message that it quotes"
    version = {one["id"]: one for one in told("log", "tale", "--json").json["versions"]}[recap["version"]]
    assert recap["span"] == version["span"] and version["span"][0] <= number <= version["span"][1]
    assert f"{number}  " in told("blame", "tale", quoted).out
    (mine,) = told("blame", "tale", "owes the miller forty crowns", "--json").json["found"]
    assert (mine["thing"], mine["by_hand"], mine["messages"]) == ("thread:2", True, []), "words of a person"
    assert told("blame", "tale", "nobody ever rode a zebra").out.startswith("No memory says that")
    assert "Give a sentence" in told.fails(2, "blame", "tale", " ")
    assert "No such option: --messages" in told.fails(2, "blame", "tale", "--messages")


def complete(db: Path, line: str) -> list[str]:
    """Ask what the Tab key offers, as bash does."""
    words = line.split(" ")
    asked = {"COMP_WORDS": line, "COMP_CWORD": str(len(words) - 1), "_PREVIOUSLY_COMPLETE": "complete_bash"}
    environment = {**os.environ, **asked, "PREVIOUSLY_DB": str(db)}
    run = subprocess.run([sys.executable, "-m", "previously"], env=environment, capture_output=True, check=False)
    return run.stdout.decode().split()


def test_the_tab_key_completes_commands_verbs_and_stories(told: Cli, tmp_path: Path) -> None:
    assert complete(told.db, "previously th") == ["threads"]
    assert complete(told.db, "previously threads s") == ["show", "settle"]
    assert complete(told.db, "previously show t") == ["tale"]
    assert complete(tmp_path / "none" / "x.db", "previously show t") == []
    assert "complete -o default" in told.bare("completion", "bash").out
    assert told.bare("completion", "tcsh").code == 2


def test_only_what_is_long_and_on_a_terminal_goes_through_a_pager(told: Cli, tmp_path: Path) -> None:
    assert set(COMMANDS) >= PAGED
    pager = tmp_path / "pager"
    pager.write_text("#!/bin/sh\necho PAGED\ncat\n")
    pager.chmod(0o755)

    def read(*arguments: str) -> str:
        environment = {**os.environ, "PREVIOUSLY_PAGER": str(pager), "TERM": "dumb"}
        command = [sys.executable, "-m", "previously", "--db", str(told.db), *arguments]
        ours, theirs = pty.openpty()
        with subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=subprocess.DEVNULL, env=environment) as run:
            os.close(theirs)
            chunks: list[bytes] = []
            while True:
                try:
                    chunk = os.read(ours, 65_536)
                except OSError:  # the other end is closed
                    break
                if not chunk:
                    break
                chunks.append(chunk)
            assert run.wait() == 0
        os.close(ours)
        return b"".join(chunks).decode()

    assert read("threads", "tale").startswith("PAGED")
    assert "blanket" in read("threads", "tale")
    assert "PAGED" not in read("pin", "tale", "--text", "More.")
    assert "PAGED" not in told("threads", "tale").out
