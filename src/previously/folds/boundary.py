"""The ends of chapters and scenes, judged by the structure of the text.

A chapter ends where its name in `extra.chapter` changes, at a heading of prose, at the first scene end once it is long
enough, or by size. A boundary is only looked for in messages that no recap has read and at the end of what one has
read, so that closing a chapter never makes a fold worthless.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from previously.core.count_nouns import count_nouns
from previously.core.messages import Message, Role
from previously.core.path import OnPath
from previously.core.patterns import lazy_pattern
from previously.core.tokens import message_tokens
from previously.folds.prompts.templates import render_message
from previously.text.numbers import LANGUAGES, find_numbers

LONGEST = 2
"""A chapter without a scene end closes at so many times the length from which on one is looked for."""

TOKENS_PER_MESSAGE = 100
"""The tokens in which a chapter's length is counted where messages are longer: 100 for each message it may have. Those
of a role-play have 80 to 100, so that the two agree there."""

FEWEST_LONG = 8
"""But a chapter has so many messages at least, however long they are: one pasted document is none."""

LAST_QUARTER = 0.75
"""A scene's end closes a chapter with the fold that named it if it lies in the last quarter of what was folded: then
few messages of the next scene are told in the wrong chapter."""

ANY_END = 1.5
"""From half as long again on, a scene's end anywhere in the newest fold is good enough: closing by size, which comes
next, knows nothing of scenes."""

OPENING_MESSAGES = 4
"""The number of a chapter's first messages that may be headings: the book's, the part's, the chapter's, and one to
spare."""

LONGEST_HEADING = 200
"""Characters: what is longer is a paragraph."""


@dataclass(frozen=True, slots=True)
class Boundary:
    """A chapter should close with the message at this position."""

    position: int
    title: str
    reason: str


@dataclass(frozen=True, slots=True)
class Heading:
    """The first line of a message that is a heading."""

    title: str
    level: int
    """The number of its Markdown marks; 0 for a plain line like "Chapter 3"."""
    alone: bool
    """True if the message holds nothing else."""


@dataclass(frozen=True, slots=True)
class Opening:
    """The beginning of a chapter."""

    name: str = ""
    """The name that its first message gives it."""
    heading: Heading | None = None

    @property
    def title(self) -> str:
        """Return what the chapter is called; empty where nothing says so."""
        return self.name or (self.heading.title if self.heading else "")

    def ends_at(self, heading: Heading) -> bool:
        """Return whether a later heading begins another chapter: one of a section within it has more marks, and the
        same heading again is that of the same chapter."""
        own = self.heading
        return own is None or (heading.title != own.title and (not own.level or heading.level <= own.level))


def find_opening(items: Sequence[OnPath], name: str = "") -> Opening:
    """Return how the chapter begins whose first messages these are; of several headings the last is its own."""
    last_heading: Heading | None = None
    for item in items[:OPENING_MESSAGES]:
        heading = find_heading(item.entry.message)
        if heading is None:
            break
        last_heading = heading
        if not heading.alone:
            break
    return Opening(name or (read_chapter_name(items[0]) if items else ""), last_heading)


@dataclass(frozen=True, slots=True)
class Grown:
    """The length of a chapter up to a message, as a share of that from which on a scene end closes it."""

    since: int
    """The position it is counted from."""
    chapter_messages: int
    tokens: int = 0

    def through(self, position: int, more_tokens: int = 0) -> float:
        """Return the share; 0 where chapters do not close by themselves."""
        if not self.chapter_messages:
            return 0.0
        messages = position - self.since + 1
        tokens = (self.tokens + more_tokens) / TOKENS_PER_MESSAGE if messages >= FEWEST_LONG else 0
        return max(messages, tokens) / self.chapter_messages


def is_one_teller(item: OnPath, following: OnPath) -> bool:
    """Return whether two messages are paragraphs of one unnamed teller: prose. In a chat a heading is decoration."""
    message, other = item.entry.message, following.entry.message
    return not message.speaker and not other.speaker and message.role is other.role and message.role is not Role.TOOL


def find_boundary(
    opening: Opening, grown: Grown, unread: Sequence[OnPath], headings: Callable[[OnPath, OnPath], bool] = is_one_teller
) -> Boundary | None:
    """Return where a chapter ends, judging by messages of which no recap has read any but the first. `headings` says of
    a message and the one before whether a heading there is one of a chapter.

    The last of the messages cannot be a boundary: what follows it is not known.
    """
    tokens = 0
    has_text = bool(unread) and unread[0].position > grown.since
    for item, following in pairwise(unread):
        tokens += message_tokens(item.entry.message)
        own, heading = find_heading(item.entry.message), find_heading(following.entry.message)
        has_text = has_text or own is None or not own.alone
        next_name = read_chapter_name(following)
        if next_name and next_name != opening.name:
            return Boundary(item.position, opening.title, f"a message begins the chapter {next_name!r}")
        if heading and has_text and headings(item, following) and opening.ends_at(heading):
            return Boundary(item.position, opening.title, f"the heading {heading.title!r} begins another")
        share = grown.through(item.position, tokens)
        messages = item.position - grown.since + 1
        if share >= 1 and is_scene_end(item.entry.message, following.entry.message):
            return Boundary(item.position, opening.title, f"a scene ended after {count_nouns(messages, 'message')}")
        if share >= LONGEST:
            return Boundary(item.position, opening.title, count_nouns(messages, "message"))
    return None


def closes_at_named_end(ends: Sequence[int], messages: int, share: float) -> bool:
    """Return whether a chapter of this length closes with a fold of so many messages whose note named these scene ends
    (offsets in the fold)."""
    needed = 0 if share >= ANY_END else LAST_QUARTER * messages
    return share >= 1 and any(end + 1 >= needed for end in ends)


def read_chapter_name(item: OnPath) -> str:
    """Return what a message says its chapter is called; only the first of a chapter needs to."""
    name = item.entry.attributes.extra.get("chapter")
    return name.strip() if isinstance(name, str) else ""


_RULE = r"(?:(?:\*\s*){3,}|(?:-\s*){3,}|(?:—\s*){2,}|(?:_\s*){3,}|(?:~\s*){3,}|(?:#\s*){1,3}|⁂|❖|§)"
_ENDS = lazy_pattern(rf"(?:^|\n)\s*{_RULE}\s*$")
_BEGINS = lazy_pattern(rf"\s*{_RULE}\s*(?:\n|$)")
_MARKDOWN = lazy_pattern(r"(?P<marks>#{1,3})\s+(?P<title>\S.*?)\s*#*")
_NUMBERED = lazy_pattern(
    r"(?:chapter|scene|act|part|kapitel|szene|chapitre|scène|capítulo|capitolo|глава)\s+"
    r"(?P<number>[^\s:.,—–-]+)(?:\s*[:.—–-].*)?"
    r"|第\s*[0-9０-９一二三四五六七八九十百]+\s*[章幕話话](?:[\s:：、].*)?",
    re.I,
)
_TITLE_LINE = lazy_pattern(r"[^\W_][^\n]{0,78}[^\s.!?…,;:\"”»。！？]")
"""One line of at most 80 characters, as wide as a page, that no mark ends: a sentence has one."""
_ROMAN = lazy_pattern(r"[ivxlc]+", re.I)


def find_heading(message: Message) -> Heading | None:
    """Return the heading that a message begins with."""
    first, _, rest = render_message(message).strip().partition("\n")
    if not first or len(first) > LONGEST_HEADING:
        return None
    marked = _MARKDOWN.fullmatch(first)
    title = (marked["title"] if marked else first).strip(" *_")
    if not title or not (marked or _is_numbered(title)):
        return None
    if not marked and _TITLE_LINE.fullmatch(rest.strip()):  # "Chapter I", and below it "The Cyclone"
        return Heading(rest.strip(), 0, alone=True)
    return Heading(title, len(marked["marks"]) if marked else 0, not rest.strip())


def _is_numbered(line: str) -> bool:
    """Return whether a line is a word for a chapter or scene with its number, in digits, Roman or in words."""
    match = _NUMBERED.fullmatch(line)
    if not match:
        return False
    number = match["number"]
    return number is None or number.isdigit() or bool(_ROMAN.fullmatch(number)) or _is_number_word(number)


def _is_number_word(word: str) -> bool:
    return any(find_numbers(word, language) for language in LANGUAGES)


def is_scene_end(message: Message, following: Message) -> bool:
    """Return whether a scene ends with a message by the structure of the text: a rule at its end, a rule or a heading
    at the beginning of the next. What the words say is for a model to judge, and how long people paused says nothing:
    that is the chat's clock, not the story's."""
    if _ENDS.search(render_message(message)[-200:]) or _BEGINS.match(render_message(following)[:200]):
        return True
    return find_heading(following) is not None
