"""Folders of Errata: prose with variations and timelines, chapters, analyses, and what is known."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from previously.blocking import BlockingMemory
from previously.core.errors import BadInput
from previously.formats import read_story


def write(path: Path, value: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value), "utf-8")


def make_fragment(root: Path, ident: str, kind: str, content: str, **more: Any) -> None:
    fragment = {"id": ident, "type": kind, "name": ident, "description": "", "content": content, "meta": {}}
    write(root / "fragments" / f"{ident}.json", fragment | {"createdAt": "2026-01-01T00:00:00Z"} | more)


def make_timeline(root: Path, *active: str) -> None:
    for number in range(1, 5):
        make_fragment(root, f"pr-000{number}", "prose", f"Prose {number}.")
    make_fragment(root, "pr-000x", "prose", "Prose 1, otherwise.")
    make_fragment(root, "mk-0001", "marker", "They met.", name="Dawn")
    make_fragment(root, "mk-0002", "marker", "", name="Noon")
    make_fragment(root, "ch-0001", "character", "A miller.", name="Finn", sticky=True)
    make_fragment(root, "kn-0001", "knowledge", "Turns by night.", name="The mill", archived=True)
    make_fragment(root, "im-0001", "image", "data:image/png;base64,x")
    covered = {"coverageStart": "pr-0003", "coverageEnd": "pr-0003"}
    make_fragment(root, "sm-0001", "summary", "They ate.", meta=covered, name="Lunch")
    entries = [{"proseFragments": [one], "active": one} for one in active]
    entries[1]["proseFragments"] = ["pr-000x", "pr-0001"]
    write(root / "prose-chain.json", {"entries": entries})


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    story = tmp_path / "stories" / "mill"
    write(story / "meta.json", {"id": "mill", "name": "The mill", "description": "", "summary": ""})
    branches = [{"id": "main", "name": "Main"}, {"id": "br-1", "name": "What if"}, {"id": "../../x", "name": "no"}]
    write(story / "branches.json", {"branches": branches, "activeBranchId": "main"})
    main = story / "branches" / "main"
    make_timeline(main, "mk-0001", "pr-0001", "pr-0002", "mk-0002", "pr-0003", "pr-0004")
    make_timeline(story / "branches" / "br-1", "mk-0001", "pr-0001", "pr-0004")
    analyses = main / "librarian" / "analyses"
    for ident, at, update in (("la-1", "2026-01-01", "Old."), ("la-2", "2026-01-02", "Finn opened the door.")):
        write(
            analyses / f"{ident}.json",
            {
                "id": ident,
                "createdAt": at,
                "fragmentId": "pr-0002",
                "summaryUpdate": update,
                "structuredSummary": {"events": ["The door opens"], "openThreads": ["Who knocked?"]},
                "mentions": [{"characterId": "ch-0001", "text": "he"}],
                "contradictions": [{"description": "It was locked.", "fragmentIds": []}],
            },
        )
    return story


def test_prose_variations_and_timelines(folder: Path) -> None:
    source = read_story(folder)
    assert source.format == "errata"
    assert [draft.message.text for draft in source.drafts] == ["Prose 1.", "Prose 2.", "Prose 3.", "Prose 4."]
    assert [one.message.text for one in source.drafts[0].alternatives] == ["Prose 1, otherwise."]
    assert [draft.attributes.extra.get("chapter") for draft in source.drafts] == ["Dawn", None, "Noon", None]
    (branch,) = source.branches
    assert (branch.name, branch.at, [draft.message.text for draft in branch.drafts]) == ("What_if", 1, ["Prose 4."])


def test_chapters_summaries_and_the_newest_analyses_are_memory(folder: Path) -> None:
    memories = read_story(folder).memories
    told = [(one.first, one.last, one.title, one.text) for one in memories if one.text]
    assert told == [(0, 1, "Dawn", "They met."), (2, 2, "Lunch", "They ate.")]
    ((place, analysis),) = [(one.first, one.analysis) for one in memories if one.analysis]
    assert (place, analysis.summary_update, analysis.mentions) == (1, "Finn opened the door.", ("Finn",))
    assert analysis.signals.open_threads == ("Who knocked?",)
    assert analysis.contradictions == ("It was locked.",)


def test_it_comes_into_a_story_and_twice_changes_nothing(folder: Path) -> None:
    with BlockingMemory(":memory:") as memory:
        story = memory.story("mill")
        first = story.take_in(read_story(folder))
        assert (first.changes.added, first.memories.added, first.memories.left) == (5, 3, ())
        assert [(one.title, one.text) for one in story.chapters()] == [("Dawn", "They met."), ("Lunch", "They ate.")]
        assert [at for at, _ in story.analyses()] == [1]
        entries = {entry.name: entry.type for entry in story.lore(everything=True)}
        assert entries["Finn"] == "character"
        again = story.take_in(read_story(folder))
        assert (again.changes.added, again.changes.updated, again.changes.removed) == (0, 0, 0)
        assert (again.memories.unchanged, [book.status for book in again.books]) == (3, ["unchanged"])


def test_an_older_story_lies_in_the_folder_itself_with_one_summary(tmp_path: Path) -> None:
    write(tmp_path / "meta.json", {"id": "m", "name": "m", "summary": "They met."})
    make_timeline(tmp_path, "mk-0001", "pr-0001", "pr-0002")
    (tmp_path / "fragments" / "mk-0001.json").unlink()
    (tmp_path / "fragments" / "sm-0001.json").unlink()
    write(tmp_path / "librarian" / "state.json", {"summarizedUpTo": "pr-0001"})
    source = read_story(tmp_path)
    assert [(one.first, one.last, one.text) for one in source.memories] == [(0, 0, "They met.")]
    assert source.skipped == {"section without its fragment": 1}


def test_a_damaged_fragment_is_named(folder: Path) -> None:
    (folder / "branches" / "main" / "fragments" / "pr-0002.json").write_text('{"id": ')
    with pytest.raises(BadInput, match=r"pr-0002.json: the line is cut off"):
        read_story(folder)
