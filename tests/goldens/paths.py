"""Stored paths: what each branch of a story holds after an import and after each kind of change."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from previously import BlockingMemory
from previously.blocking import BlockingStory
from tests.goldens.corpora import Corpus
from tests.goldens.normal_form import hash_of
from tests.goldens.run_cli import run_cli

BLOCK = 50
"""Messages for each hash: small enough to say where a long path differs."""

WHOLE = 12
"""A path no longer than this is listed message by message, with one hash for each."""


def take_paths(corpus: Corpus, directory: Path) -> dict[str, Any]:
    """Return the paths of every branch after each change; positions count from the story's own length."""
    db = directory / f"{corpus.name}-paths.db"
    run_cli(db, "import", str(corpus.write_into(directory)), "--story", "story", "--json")
    taken: dict[str, Any] = {}
    with BlockingMemory(db) as memory:
        story = memory.story("story", create=False)
        middle = story.branch_info().messages // 2

        def take(step: str) -> None:
            taken[step] = _branches(story)

        take("1 imported")
        story.edit(middle, "These words were changed afterwards.")
        take("2 edited")
        story.delete(middle + 1)
        take("3 deleted")
        story.add("assistant", "A first answer.")
        story.regenerate("Another answer.")
        take("4 swiped")
        story.choose(0)
        take("5 first swipe chosen")
        story.branch("aside", middle)
        story.switch("aside")
        story.add("user", "On another way.")
        take("6 branched")
        story.switch("main")
        take("7 switched back")
        story.hide(0)
        take("8 hidden")
        taken["swipes of the newest"] = [swipe.message.text for swipe in story.swipes(-1)]
    return taken


def _branches(story: BlockingStory) -> dict[str, Any]:
    active = story.branch_info().name
    found: dict[str, Any] = {"active": active}
    for branch in story.branches():
        if branch.name != active:
            found[branch.name] = {"messages": branch.messages}
    found[active] = _path(story)
    return found


def _path(story: BlockingStory) -> dict[str, Any]:
    rows = [
        [
            item.position,
            item.entry.message.role.value,
            item.entry.message.speaker,
            item.entry.digest.hex()[:12],
            *(["hidden"] if item.entry.attributes.hidden else []),
        ]
        for item in story.messages()
    ]
    roles = [str(row[1]) for row in rows]
    speakers = {str(row[2]) for row in rows}
    blocks = {
        f"{at}-{min(at + BLOCK, len(rows)) - 1}": hash_of(rows[at : at + BLOCK]) for at in range(0, len(rows), BLOCK)
    }
    return {
        "messages": len(rows),
        "roles": {role: roles.count(role) for role in sorted(set(roles))},
        "speakers": sorted(speakers),
        "blocks": blocks,
        "last": rows[-WHOLE:],
    }
