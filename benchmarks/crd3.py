"""Reading CRD3 episodes: the spoken turns, and the human summary of the story in them.

The summary is a list of headed sections. Announcements, the pre-show, the break and the "previously on" speech
are left out: the first three are not story, and the last is read aloud in the episode nearly word for word, so
that keeping it would reward copying.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path

_NOT_STORY = re.compile(
    r"pre-?\s?(?:show|stream)|announcement|previously|break|featured|quotation|fan art|credits", re.I
)


@dataclass(frozen=True, slots=True)
class Turn:
    """Who spoke, and what; several speakers at once are joined."""

    speaker: str
    text: str


@dataclass(frozen=True, slots=True)
class Episode:
    """One episode: its turns, and the story a person told of it."""

    name: str
    turns: tuple[Turn, ...]
    story: str


def episodes(data: Path) -> list[Episode]:
    """All episodes under a CRD3 folder, by name."""
    return [_episode(path) for path in sorted((data / "cleaned").glob("*.json"))]


def _episode(path: Path) -> Episode:
    raw = json.loads(path.read_text(encoding="utf-8"))
    turns = tuple(
        Turn(" and ".join(turn["NAMES"]), " ".join(turn["UTTERANCES"])) for turn in raw["TURNS"] if turn["UTTERANCES"]
    )
    told = [
        part["content"].strip()
        for section in raw["METADATA"]["Synopsis"]
        if not _NOT_STORY.search(section["heading"])
        for part in section["content"]
    ]
    return Episode(path.stem, turns, "\n".join(part for part in told if part))
