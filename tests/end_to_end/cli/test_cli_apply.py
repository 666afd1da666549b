"""export --to directory, and apply."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.end_to_end.cli.running import Cli

IMPORTANT = "story.md recap.md threads.yaml state.yaml messages.jsonl .previously/exported.json".split()


@pytest.fixture
def folder(tale: Cli, tmp_path: Path) -> Path:
    """A directory of a story with an entry and a thread."""
    tale("lore", "add", "tale", "Orla Finch", "--type", "character", "--text", "She has eleven sheep.")
    tale("threads", "add", "tale", "Bring the bell down")
    tale("state", "add", "tale", "Orla / place: the pass")
    place = tmp_path / "tale"
    assert tale("export", "tale", "--to", "directory", "--out", place).code == 0
    return place


def read_all(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def replace_in(path: Path, old: str, new: str) -> None:
    text = path.read_text("utf-8")
    assert old in text
    path.write_text(text.replace(old, new), "utf-8")


def test_a_directory_is_written_and_kept_up_to_date(tale: Cli, folder: Path) -> None:
    before = read_all(folder)
    assert {*IMPORTANT, "lore/orla-finch.yaml", ".previously/.gitignore"} == set(before)
    times = {path: (folder / path).stat().st_mtime_ns for path in before}
    ran = tale("export", "tale", "--to", "folder", "--out", folder, "--json")
    assert ran.json == {"story": "tale", "format": "directory", "path": str(folder), "branches": [], "files": 8}
    assert read_all(folder) == before
    assert {path: (folder / path).stat().st_mtime_ns for path in before} == times, "what is the same is not written"
    (folder / "README.md").write_text("Mine.")
    tale("lore", "remove", "tale", "Orla Finch")
    tale("lore", "add", "tale", "The Bell", "--text", "It is cracked.")
    tale("export", "tale", "--to", "directory", "--out", folder)
    assert sorted(path.name for path in (folder / "lore").iterdir()) == ["the-bell.yaml"]
    assert (folder / "README.md").read_text() == "Mine."


def test_edits_come_back_once_and_can_be_undone(tale: Cli, folder: Path) -> None:
    replace_in(folder / "lore/orla-finch.yaml", "eleven sheep", "nine sheep")
    replace_in(folder / "threads.yaml", "open", "settled")
    replace_in(folder / "state.yaml", "the pass", "the mill")
    lines = (folder / "messages.jsonl").read_text("utf-8").splitlines()
    last = json.loads(lines[-1])
    lines[-1] = json.dumps({**last, "content": "I sell three sheep."})
    lines.append('{"role": "assistant", "name": "Davin", "content": "Good."}')
    (folder / "messages.jsonl").write_text("\n".join(lines), "utf-8")
    before = tale.texts("tale")
    plan = tale("apply", folder, "--preview", "--json").json
    assert plan["preview"] and not plan["conflicts"] and not plan["refused"]
    assert tale.texts("tale") == before
    shown = tale("apply", folder, "--dry-run")
    assert "She has [-eleven-] {+nine+} sheep." in shown.out
    assert shown.out.endswith("5 edits would be in tale.\n")
    done = tale("apply", folder, "--json").json
    assert sorted(edit["item"] for edit in done["applied"]) == sorted(edit["item"] for edit in plan["applied"])
    assert tale.texts("tale") == [*before[:-1], "I sell three sheep.", "Good."]
    assert tale("lore", "show", "tale", "Orla Finch", "--json").json["content"] == "She has nine sheep."
    assert tale("apply", folder).out == "There is nothing to apply: the files hold no edit that tale lacks.\n"
    for _ in done["applied"]:
        assert tale("undo", "tale").code == 0
    assert tale.texts("tale") == before
    assert tale("lore", "show", "tale", "Orla Finch", "--json").json["content"] == "She has eleven sheep."


def test_a_conflict_is_shown_and_decided_by_name(tale: Cli, folder: Path) -> None:
    replace_in(folder / "lore/orla-finch.yaml", "eleven sheep", "nine sheep")
    replace_in(folder / "state.yaml", "the pass", "the mill")
    tale("lore", "edit", "tale", "Orla Finch", "--text", "She has no sheep.")
    ran = tale("apply", folder)
    assert ran.code == 1
    assert "the story: She has no sheep." in ran.out and "the files: She has nine sheep." in ran.out
    assert "1 edit is in tale; 1 conflict" in ran.out
    assert "nine sheep" in (folder / "lore/orla-finch.yaml").read_text(), "it stays in the file"
    again = tale("apply", folder, "--json")
    report = json.loads(again.out)
    assert (again.code, report["applied"], len(report["conflicts"])) == (1, [], 1)
    assert "no conflict in 'recap'" in tale.fails(2, "apply", folder, "--keep-files", "recap")
    kept = tale("apply", folder, "--keep-files", "lore:orla finch/content", "--json").json
    assert [edit["item"] for edit in kept["applied"]] == ["lore:orla finch/content"]
    assert tale("apply", folder, "--json").json["applied"] == []


def test_a_conflict_of_a_message_is_shown_with_its_position_and_first_words(tale: Cli, folder: Path) -> None:
    lines = (folder / "messages.jsonl").read_text("utf-8").splitlines()
    lines[1] = json.dumps({**json.loads(lines[1]), "content": "The files say this."})
    (folder / "messages.jsonl").write_text("\n".join(lines), "utf-8")
    tale("edit", "tale", 1, "--text", "The story says something that is a good deal longer than that.")
    ran = tale("apply", folder)
    said = "message:1/content “The story says something that is a good…” is left: both have changed it\n"
    assert (ran.code, ran.out.startswith(said)) == (1, True), ran.out
    assert tale("apply", folder, "--keep-files", "message:1").code == 0
    assert tale.texts("tale")[1] == "The files say this."


def test_what_the_story_says_can_be_kept(tale: Cli, folder: Path) -> None:
    replace_in(folder / "lore/orla-finch.yaml", "eleven sheep", "nine sheep")
    tale("lore", "edit", "tale", "Orla Finch", "--text", "She has no sheep.")
    assert tale("apply", folder, "--keep-story", "all").code == 0
    assert "no sheep" in (folder / "lore/orla-finch.yaml").read_text()


def test_an_export_over_edits_is_refused(tale: Cli, folder: Path, tmp_path: Path) -> None:
    replace_in(folder / "state.yaml", "the pass", "the mill")
    before = read_all(folder)
    assert "has 1 edit that the story does not have" in tale.fails(
        2, "export", "tale", "--to", "directory", "--out", folder
    )
    assert read_all(folder) == before
    other = tmp_path / "other"
    other.mkdir()
    (other / "recap.md").write_text("Mine.")
    assert "is there already" in tale.fails(2, "export", "tale", "--to", "directory", "--out", other)
    assert [path.name for path in other.iterdir()] == ["recap.md"]
    assert "name with --out" in tale.fails(2, "export", "tale", "--to", "directory")


@pytest.mark.parametrize(
    ("path", "text", "fault"),
    [
        ("lore/orla-finch.yaml", "name: [", "lore/orla-finch.yaml, line 2: did not find"),
        ("lore/new.yaml", "content: x\n", "lore/new.yaml, line 1: it has no name."),
        ("lore/new.yaml", "name: X\nage: 7\n", "lore/new.yaml, line 2: there is no field age; there are id, name"),
        ("lore/new.yaml", "id: orla finch\nname: Orla Finch\n", "is in lore/new.yaml, line 1 already"),
        ("recap.md", "No fields.\n", "recap.md, line 1: it must begin with its fields"),
        ("state.yaml", "- thing: Orla\n  aspect: mood\n  value: sad\n", "there is no aspect 'mood'"),
        ("threads.yaml", "- text: A\n  status: done\n", "threads.yaml, line 1: a thread is open or settled, not done."),
        (
            "messages.jsonl",
            '{"role": "user", "content": "a"}\n{"role": ',
            "messages.jsonl, line 2: the line is cut off",
        ),
        ("messages.jsonl", '{"role": "poet", "content": "a"}\n', "messages.jsonl, line 1: 'poet' is not a role"),
        (".previously/exported.json", "{}", ".previously/exported.json: it is damaged"),
    ],
)
def test_a_fault_is_named_and_nothing_is_applied(tale: Cli, folder: Path, path: str, text: str, fault: str) -> None:
    replace_in(folder / "state.yaml", "the pass", "the mill")
    (folder / path).write_text(text, "utf-8")
    assert fault in tale.fails(2, "apply", folder)
    assert "the pass" in tale("state", "list", "tale").out


def test_links_and_strange_places_are_refused(tale: Cli, folder: Path, tmp_path: Path) -> None:
    secret = tmp_path / "secret.yaml"
    secret.write_text("name: Secret\ncontent: Mine.\n")
    (folder / "lore/secret.yaml").symlink_to(secret)
    assert "lore/secret.yaml: this is no file of its own" in tale.fails(2, "apply", folder)
    (folder / "lore/secret.yaml").unlink()
    (folder / "lore").rename(tmp_path / "elsewhere")
    (folder / "lore").symlink_to(tmp_path / "elsewhere")
    assert "/lore: this is a link" in tale.fails(2, "apply", folder)
    (folder / "lore").unlink()
    (tmp_path / "elsewhere").rename(folder / "lore")
    record = json.loads((folder / ".previously/exported.json").read_text())
    record["things"]["lore:orla finch"]["path"] = "../secret.yaml"
    (folder / ".previously/exported.json").write_text(json.dumps(record))
    assert "names a file that is none of a directory" in tale.fails(2, "apply", folder)
    assert secret.exists()
    (folder / ".previously/exported.json").unlink()
    assert "nobody knows what was exported" in tale.fails(2, "apply", folder)
    assert "there is no such directory" in tale.fails(2, "apply", tmp_path / "none")


def test_another_story_or_branch_is_refused(tale: Cli, folder: Path) -> None:
    tale("branch", "tale", "what if", "--at", 1)
    tale("switch", "tale", "what if")
    assert "branch 'main'; here is 'tale', branch 'what if'" in tale.fails(2, "apply", folder)
    tale("rename", "tale", "story")
    assert "There is no story named 'tale'" in tale.fails(2, "apply", folder)


def test_a_story_that_was_renamed_is_named(tale: Cli, folder: Path) -> None:
    tale("rename", "tale", "story")
    replace_in(folder / "state.yaml", "the pass", "the mill")
    assert "name it with --story NAME" in tale.fails(2, "apply", folder)
    assert "1 edit is in story" in tale("apply", folder, "--story", "story").out
    assert "There is nothing to apply" in tale("apply", folder).out
    assert tale("export", "story", "--to", "directory", "--out", folder).code == 0


def test_a_missing_file_of_messages_is_named_and_written_again(tale: Cli, folder: Path) -> None:
    before = read_all(folder)
    (folder / "messages.jsonl").unlink()
    ran = tale("apply", folder)
    assert ran.code == 1 and "messages.jsonl is left: no missing file takes it away" in ran.out
    assert ran.out.endswith("1 missing file takes nothing away.\n")
    assert read_all(folder) == before


def test_a_preview_says_what_would_be_refused_and_it_can_be_given_up(tale: Cli, folder: Path) -> None:
    before = read_all(folder)
    (folder / "recap.md").write_text("---\nchapter: 1\n---\n\nOrla has sheep.\n")
    replace_in(folder / "lore/orla-finch.yaml", "eleven", "nine")
    previewed, applied = tale("apply", folder, "--preview", "--json"), tale("apply", folder, "--json")
    for ran in (previewed, applied):
        assert ran.code == 1
        told = json.loads(ran.out)
        assert [edit["item"] for edit in told["applied"]] == ["lore:orla finch/content"]
        assert [edit["item"] for edit in told["refused"]] == ["recap/text"]
    assert tale("apply", folder).out.endswith(
        "1 edit refused: change the file, or give the edit up with --keep-story ITEM.\n"
    )
    assert tale("apply", folder, "--keep-story", "recap/text").code == 0
    assert (folder / "recap.md").read_bytes() == before["recap.md"]
    assert tale("apply", folder, "--keep-story", "recap").err == "previously: There is no edit of 'recap'.\n"


def test_an_edit_is_given_up_by_name_and_the_others_stay(tale: Cli, folder: Path) -> None:
    before = read_all(folder)
    replace_in(folder / "lore/orla-finch.yaml", "eleven", "nine")
    replace_in(folder / "threads.yaml", "the bell", "the old bell")
    ran = tale("apply", folder, "--keep-story", "lore:orla finch", "--json")
    assert [edit["item"].partition(":")[0] for edit in ran.json["applied"]] == ["thread"]
    assert (folder / "lore/orla-finch.yaml").read_bytes() == before["lore/orla-finch.yaml"]


def test_the_preview_of_a_settled_thread_is_what_happens(tale: Cli, folder: Path) -> None:
    assert tale("threads", "settle", "tale", "Bring the bell down").code == 0
    replace_in(folder / "threads.yaml", "the bell", "the old bell")
    previewed, applied = (json.loads(tale("apply", folder, *more, "--json").out) for more in (["--preview"], []))
    assert previewed["refused"] == applied["refused"] != []
    assert previewed["applied"] == applied["applied"] == []
