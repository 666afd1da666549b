"""Plain text: a script with `Name: ` lines, or prose.

A line opens a message when it begins with a name, a colon and then a space or the line's end. A name

- has at most four words and 40 characters, begins with a letter of any script, and holds no commas, quotes, brackets
  or other marks that names do not have;
- has no lower-case word but particles as in "Guard of the Gate", unless it is one single word that opens at least
  two lines ("maya: hi") or stands for the user ("you: hi");
- does not begin with a word that heads notes, letters or chapters ("Note:", "Chapter 3:"), nor is an address or a
  clock time.

A text is a script when at least one in twenty of its filled lines opens a message. Otherwise a stray "Rule One: never
run" would swallow the chapters after it: then it is prose, and each paragraph is a message of its own.

Front matter (title, author and the like between two lines of `---` at the top) is about the file and no part of it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from previously.core.errors import BadInput
from previously.core.messages import Draft, Message, Role, Text, clean_draft
from previously.core.patterns import lazy_pattern
from previously.formats.files import Document, StorySource

NAME = "text"

_LETTER = r"[^\W\d_]"
_IN_WORD = r"""[^\s:："“”„«»!?…,;()[\]{}<>*/\\|=+#@&%$^~`—–]"""  # not \w, which knows no vowel signs
_OPENING = lazy_pattern(
    rf"[ \t]*({_LETTER}{_IN_WORD}{{0,39}}(?: {_IN_WORD}{{1,38}}){{0,3}})[ \t]*(?::(?=[ \t]|$)|：)[ \t]*(.*)"
)
_LINE_END = lazy_pattern(r"\r\n|\r|\n")
_PARTICLES = frozenset("a al and bin da de del den der di du e el für ibn la le of the und van von y zu".split())
_HEADINGS = frozenset(
    """http https ftp file mailto note notes ps p.s warning chapter part act scene book volume episode prologue
    epilogue title author date time subject from to cc re fwd summary edit tldr source url link tags""".split()
)
_USERS = frozenset("user you me human player".split())
_FRONT_LINE = lazy_pattern(r"\s*|\s*#.*|\s*- .*|\s+\S.*|[\w.-]+:(?:\s.*)?")
_FRONT_KEY = lazy_pattern(r"(?:title|subtitle|authors?|date|created|tags|lang|language|description)\s*:", re.I)
"""One of these stands in all front matter that is met; without one, the lines may be what somebody says."""
_MOST_FRONT = 100
"""Longer front matter is not looked for: what writing programs put there takes a few lines."""
_SCRIPT = 20
"""A script has at least one opening line among so many: a long speech takes fewer, a stray heading stands alone."""


def read(document: Document, user: str | None = None) -> StorySource:
    """Read a text file; `user` is the name whose lines are the user's."""
    drafts: list[Draft] = []
    replaced = 0
    for number, message in parse_messages(document.text(), user):
        try:
            draft, count = clean_draft(Draft(message))
        except BadInput as error:
            raise document.fault(error, number) from None
        drafts.append(draft)
        replaced += count
    return StorySource(drafts, NAME, {}, replaced)


def parse_messages(text: str, user: str | None = None) -> Iterator[tuple[int, Message]]:
    """Yield the messages of a text, each with the number of its first line."""
    lines = _LINE_END.split(text)
    front = _find_front_end(lines)
    lines[:front] = [""] * front  # lines are still counted from the file's first
    users = _USERS if user is None else _USERS | {user.strip().casefold()}
    openings = _find_openings(lines, users)
    filled = sum(1 for line in lines if line.strip())
    if not openings or len(openings) * _SCRIPT < filled:
        yield from _split_prose(lines)
        return
    starts = list(openings)
    if narration := _joined(lines[: starts[0]]):
        yield 1, Message(Role.ASSISTANT, (Text(narration),))
    for start, end in zip(starts, [*starts[1:], len(lines)], strict=True):
        name, rest = openings[start]
        yield start + 1, _make_message(name, _joined([rest, *lines[start + 1 : end]]), users)


def _find_front_end(lines: list[str]) -> int:
    """Return how many lines the front matter takes; 0 if there is none."""
    if lines[0].rstrip() != "---":
        return 0
    for number, line in enumerate(lines[1:_MOST_FRONT], 1):
        if line.rstrip() in ("---", "..."):
            return number + 1 if any(map(_FRONT_KEY.match, lines[1:number])) else 0
        if not _FRONT_LINE.fullmatch(line):
            return 0
    return 0


def _find_openings(lines: list[str], users: frozenset[str]) -> dict[int, tuple[str, str]]:
    """Return the lines that open a message: where they are, who speaks, and what stands after the name."""
    openings: dict[int, tuple[str, str]] = {}
    for number, line in enumerate(lines):
        start = line[:64]
        if (":" in start or "：" in start) and (match := _OPENING.fullmatch(line)):
            openings[number] = (match[1], match[2])
    counts = Counter(name for name, _ in openings.values())
    speakers = {name for name, count in counts.items() if _is_speaker(name, count, users)}
    return {number: opening for number, opening in openings.items() if opening[0] in speakers}


def _is_speaker(name: str, count: int, users: frozenset[str]) -> bool:
    words = name.split()
    if name.casefold() in users:
        return True
    if len(name) > 40 or words[0].casefold().rstrip(".") in _HEADINGS:
        return False
    if len(words) == 1 and count > 1:
        return True
    return not words[0][0].islower() and all(not word[0].islower() or word in _PARTICLES for word in words[1:])


def _make_message(name: str, text: str, users: frozenset[str]) -> Message:
    casefold = name.casefold()
    if casefold == "system" and casefold not in users:
        return Message(Role.SYSTEM, (Text(text),))
    return Message(Role.USER if casefold in users else Role.ASSISTANT, (Text(text),), name)


def _joined(lines: list[str]) -> str:
    return "\n".join(line.rstrip() for line in lines).strip("\n")


def _split_prose(lines: list[str]) -> Iterator[tuple[int, Message]]:
    start = 0
    for number, line in enumerate([*lines, ""]):
        if line.strip():
            continue
        if paragraph := _joined(lines[start:number]):
            yield start + 1, Message(Role.ASSISTANT, (Text(paragraph),))
        start = number + 1
