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
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain, islice
from pathlib import Path

from previously.core.errors import BadInput
from previously.core.messages import Draft, Message, Role, Text, clean_draft
from previously.core.patterns import lazy_pattern
from previously.formats.files import Document, DraftStream, StorySource, open_document

NAME = "text"

LineReader = Callable[[], Iterator[str]]
"""Begins to read the lines of a text."""

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


def read(document: Document) -> StorySource:
    """Read a text file; `document.user` is the name whose lines are the user's."""
    return read_text(document, document.text(), NAME)


def read_text(document: Document, text: str, name: str) -> StorySource:
    """Return the messages of a file's text, under the name of its format."""
    lines = split_lines(text)
    pairs = list(_clean_messages(document, parse_lines(lambda: iter(lines), document.user)))
    return StorySource([draft for draft, _ in pairs], name, {}, sum(count for _, count in pairs))


def stream(document: Document, path: Path) -> StorySource:
    """Return a text file, to be read as its messages are asked for."""
    users = _list_users(document.user)

    def read_lines() -> Iterator[str]:
        with open_document(path) as file:
            for _, whole in file.all_lines():
                line = whole.removesuffix("\n").removesuffix("\r")
                if "\r" in line:
                    yield from split_lines(line)
                else:
                    yield line

    find_layout = cache(lambda: _find_layout(read_lines, users))

    def read_messages(again: Document) -> Iterator[tuple[Draft, int]]:
        return _clean_messages(again, _split_lines(read_lines, find_layout(), users))

    return StorySource([], NAME, {}, 0, stream=DraftStream(path, read_messages))


def _clean_messages(document: Document, messages: Iterable[tuple[int, Message]]) -> Iterator[tuple[Draft, int]]:
    """Yield messages as drafts, each with how many of its characters had to be replaced."""
    for number, message in messages:
        try:
            yield clean_draft(Draft(message))
        except BadInput as error:
            raise document.fault(error, number) from None


def parse_messages(text: str, user: str | None = None) -> Iterator[tuple[int, Message]]:
    """Yield the messages of a text, each with the number of its first line."""
    lines = split_lines(text)
    return parse_lines(lambda: iter(lines), user)


def parse_lines(read_lines: LineReader, user: str | None = None) -> Iterator[tuple[int, Message]]:
    """Yield the messages of lines, which are read twice: to find out who speaks, and to take them apart."""
    users = _list_users(user)
    return _split_lines(read_lines, _find_layout(read_lines, users), users)


@dataclass(frozen=True, slots=True)
class _Layout:
    """The layout of a text: where it begins, and who speaks in it."""

    front: int
    """The number of lines that the front matter takes."""
    speakers: frozenset[str]
    """The names that open messages; none in prose."""


def _find_layout(read_lines: LineReader, users: frozenset[str]) -> _Layout:
    front = find_front_end(list(islice(read_lines(), _MOST_FRONT)))
    return _Layout(front, _find_speakers(islice(read_lines(), front, None), users))


def _split_lines(read_lines: LineReader, layout: _Layout, users: frozenset[str]) -> Iterator[tuple[int, Message]]:
    """Yield the messages behind the front matter; lines are counted from the first of the file."""
    lines = islice(enumerate(read_lines(), 1), layout.front, None)
    return _split_script(lines, layout.speakers, users) if layout.speakers else _split_prose(lines)


def is_script(text: str, user: str | None = None) -> bool:
    """Return whether a text has speakers; else it is prose."""
    return bool(_find_speakers(split_lines(text), _list_users(user)))


def _list_users(user: str | None) -> frozenset[str]:
    return _USERS if user is None else _USERS | {user.strip().casefold()}


def split_lines(text: str) -> list[str]:
    """Return the lines of a text, whatever ends them."""
    return _LINE_END.split(text)


def find_front_end(lines: Sequence[str]) -> int:
    """Return how many lines the front matter takes; 0 if there is none."""
    if lines[0].rstrip() != "---":
        return 0
    for number, line in enumerate(lines[1:_MOST_FRONT], 1):
        if line.rstrip() in ("---", "..."):
            return number + 1 if any(map(_FRONT_KEY.match, lines[1:number])) else 0
        if not _FRONT_LINE.fullmatch(line):
            return 0
    return 0


def _find_opening(line: str) -> re.Match[str] | None:
    """Return who speaks in a line that may open a message, and the words behind the name."""
    start = line[:64]
    return _OPENING.fullmatch(line) if ":" in start or "：" in start else None


def _find_speakers(lines: Iterable[str], users: frozenset[str]) -> frozenset[str]:
    """Return the names that open messages; none if the text is prose."""
    counts: Counter[str] = Counter()
    filled = 0
    for line in lines:
        filled += bool(line.strip())
        if opening := _find_opening(line):
            counts[opening[1]] += 1
    speakers = frozenset(name for name, count in counts.items() if _is_speaker(name, count, users))
    return speakers if sum(counts[name] for name in speakers) * _SCRIPT >= filled else frozenset()


def _split_script(
    lines: Iterable[tuple[int, str]], speakers: frozenset[str], users: frozenset[str]
) -> Iterator[tuple[int, Message]]:
    """Yield what each of the speakers says, from their name on; and what stands before the first of them."""
    number, speaker, said = 1, "", list[str]()
    for at, line in lines:
        opening = _find_opening(line)
        if opening is None or opening[1] not in speakers:
            said.append(line)
            continue
        if speaker:
            yield number, _make_message(speaker, _joined(said), users)
        elif narration := _joined(said):
            yield 1, Message(Role.ASSISTANT, (Text(narration),))
        number, speaker, said = at, opening[1], [opening[2]]
    yield number, _make_message(speaker, _joined(said), users)


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


def _joined(lines: Sequence[str]) -> str:
    return "\n".join(line.rstrip() for line in lines).strip("\n")


def _split_prose(lines: Iterable[tuple[int, str]]) -> Iterator[tuple[int, Message]]:
    """Yield the paragraphs."""
    said: list[str] = []
    at = 0
    for number, line in chain(lines, ((0, ""),)):
        if line.strip():
            at = at if said else number
            said.append(line)
        elif said:
            yield at, Message(Role.ASSISTANT, (Text(_joined(said)),))
            said = []
