"""Chapters: where one ends by itself, and the recap that is kept of it for good.

A chapter ends where its name in `extra.chapter` changes, at the first scene end once it is long enough, or by size.
What must stay true: a boundary is only looked for in messages that no recap has read, so that closing a chapter never
makes a fold worthless; a chapter's recap is made from all that is known of it, not from its end alone.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from previously.core.paths import OnPath
from previously.core.versions import Kind
from previously.folds.recap import first_position, story_messages
from previously.folds.rendering import told
from previously.folds.request import FoldRequest

FINAL_SCENE = 6
"""How many of its last messages a chapter's recap is made from in any case."""

LONGEST = 2
"""A chapter without a scene end closes at so many times the length from which on one is looked for."""


@dataclass(frozen=True, slots=True)
class Boundary:
    """A chapter should close with the message at this position."""

    position: int
    title: str
    reason: str


def boundary(first: int, name: str, unread: Sequence[OnPath], chapter_messages: int) -> Boundary | None:
    """Where the chapter of that name that begins at `first` ends, judging by messages that no recap has read.

    The last of them cannot be a boundary: what follows it is not known. With `chapter_messages` 0 only names count.
    """
    for item, following in pairwise(unread):
        length = item.position - first + 1
        next_name = chapter_name(following)
        if next_name and next_name != name:
            return Boundary(item.position, name, f"a message begins the chapter {next_name!r}")
        if not chapter_messages or length < chapter_messages:
            continue
        if scene_ends(item, following):
            return Boundary(item.position, name, f"a scene ended after {length} messages")
        if length >= LONGEST * chapter_messages:
            return Boundary(item.position, name, f"{length} messages")
    return None


def chapter_name(item: OnPath) -> str:
    """What a message says its chapter is called; only the first of a chapter needs to."""
    name = item.entry.attributes.extra.get("chapter")
    return name.strip() if isinstance(name, str) else ""


_RULE = r"(?:(?:\*\s*){3,}|(?:-\s*){3,}|(?:—\s*){2,}|(?:_\s*){3,}|(?:~\s*){3,}|(?:#\s*){1,3}|⁂|❖|§)"
_ENDS = re.compile(
    rf"(?:^|\n)\s*{_RULE}\s*$|\b(?:the end|to be continued|fade to black|end of (?:scene|chapter))\W*$", re.I
)
_HEADINGS = (
    r"#{1,3} \S",
    r"\W*(?:chapter|scene|act|part|kapitel|chapitre|capítulo|capitolo|глава) (?:\d+|[ivxlc]+\b)",
    r"第\s*[0-9一二三四五六七八九十百]+\s*[章幕話话]",
)
_JUMPS = (
    r"the (?:next|following) (?:day|morning|evening|night|week|afternoon)",
    r"(?:\w+ ){1,3}(?:days?|weeks?|months?|years?|hours?) (?:later|passed|had passed)",
    r"later that (?:day|night|evening|morning)",
    r"(?:at|by) (?:dawn|dusk|nightfall|sunrise|first light)",
    r"meanwhile,|elsewhere,",
    r"am nächsten (?:tag|morgen|abend)|(?:\w+ ){1,2}(?:tage|wochen|stunden|jahre) später",
    r"le lendemain|(?:\w+ ){1,2}(?:jours|heures|semaines|ans) plus tard",
    r"al día siguiente|(?:\w+ ){1,2}(?:días|horas|semanas|años) después",
    r"на следующ(?:ий день|ее утро)|翌日|翌朝|次の日|第二天|次日",
)
_BEGINS = re.compile(rf"\s*(?:{_RULE}\s*(?:\n|$)|{'|'.join(_HEADINGS)}|\W*(?:{'|'.join(_JUMPS)}))", re.I)


def scene_ends(item: OnPath, following: OnPath) -> bool:
    """Whether a scene ends with a message, by what it says or by how the next one begins. How long people paused says
    nothing: that is the chat's clock, not the story's."""
    ends = _ENDS.search(told(item.entry.message)[-200:])
    return bool(ends or _BEGINS.match(told(following.entry.message)[:200]))


def request(title: str, known: Sequence[str], ending: Sequence[OnPath], target_words: int) -> FoldRequest:
    """What to ask for a chapter: `known` are texts on all but its end, in order; `ending` are the messages they do not
    cover, and the final scene."""
    return FoldRequest(
        kind=Kind.CHAPTER,
        previous="\n\n".join(text for text in known if text.strip()),
        delta=story_messages(ending),
        target_words=target_words,
        title=title,
        first=first_position(ending),
    )
