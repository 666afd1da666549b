"""What a client has done to messages on their way, undone: names put before them, roles changed, neighbours joined.

Everything is held against the path that the list seems to belong to. What is found there stands for itself; what is
not found stays as it was sent. What must stay true: no word a user typed is dropped unless it is known for a note.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

from previously.core.align import KnownEntry
from previously.core.digests import match_key
from previously.core.messages import Draft, Message, Role, Text
from previously.recognition.heard import LONG_TEXT, Heard, Piece, with_text
from previously.recognition.wording import Names, holds_start, is_nudge, split_name, without_name

MOST_PARAGRAPHS = 64
"""The longest run of paragraphs that is tried as one message of a joined list."""

MOST_TRIED_CHARACTERS = 1_500_000
"""How much text is looked up for one joined message: what is longer stays as it is."""

MOST_TRIED = 4
"""How many paragraphs are tried as a message when a story is looked for."""

_WAS_SYSTEM = (Role.SYSTEM,)
"""What a user message of a joined list may have been: clients turn system messages into the user's."""

_NOTE = re.compile(r"\[[^\[\]]*\]\s*", re.DOTALL)


class Keys:
    """The match keys of a path, each as often as it stands there."""

    def __init__(self, known: Sequence[KnownEntry]) -> None:
        self._keys = Counter(one.match_key for one in known)
        self._followed = {(one.match_key, two.role) for one, two in pairwise(known)}
        self._last = next((one.match_key for one in reversed(known) if not one.attributes.hidden), b"")

    def __bool__(self) -> bool:
        return bool(self._keys)

    def without(self, messages: Iterable[Message]) -> Keys:
        """What is left when each of these messages has found its own."""
        left = Keys(())
        left._keys = self._keys - Counter(map(match_key, messages))
        left._followed, left._last = self._followed, self._last
        return left

    def is_followed(self, message: Message) -> bool:
        """Whether on the path a message of the same role stands behind it."""
        return (match_key(message), message.role) in self._followed

    def is_last(self, message: Message | None) -> bool:
        """Whether the path on screen ends with it."""
        return message is not None and match_key(message) == self._last

    def find(self, message: Message, roles: Sequence[Role] = ()) -> Message | None:
        """The form in which the path holds what a message says, in its own role or one of these; None if it does
        not."""
        if not self._keys:
            return None
        if match_key(message) in self._keys:
            return message
        name, rest = split_name(message.text)
        texts = [message.text, rest] if name else [message.text]
        for role in dict.fromkeys((message.role, *roles)):
            for text in texts:
                tried = replace(with_text(message, text), role=role)
                if match_key(tried) in self._keys:
                    return tried
        return None


def unfolded(heard: Heard, keys: Keys) -> list[Piece]:
    """The messages of the body as they stand on the path, as far as they do."""
    if heard.is_single:
        return _from_single(heard, keys)
    merged, pieces = heard.is_merged, list[Piece]()
    found = [keys.find(piece.message, _roles(piece.message) if merged else ()) for piece in heard.body]
    joined = [merged and hit is None and _may_be_joined(piece) for piece, hit in zip(heard.body, found, strict=True)]
    left = keys.without(hit for hit in found[:-1] if hit) if any(joined) else keys  # the last may be said anew
    for at, (piece, hit) in enumerate(zip(heard.body, found, strict=True)):
        if joined[at]:
            parts = _parted(piece, left, last=at == len(heard.body) - 1)
        else:
            parts = [_as(piece, hit)] if hit else [piece]
        pieces += [part if keys.find(part.message) else named(part, heard.names) for part in parts]
    return pieces


def named(piece: Piece, names: Names) -> Piece:
    """A new message, with its speaker taken from the name it begins with, or from what is known of the chat."""
    message = piece.message
    if message.speaker or message.role not in (Role.USER, Role.ASSISTANT) or not names.all:
        return piece
    name, rest = without_name(message.text, names.all)
    if name is None:
        name = names.user if message.role is Role.USER else names.character if not names.members else None
    if name is None:
        return piece
    return _as(piece, replace(with_text(message, rest), speaker=name))


def _as(piece: Piece, message: Message) -> Piece:
    return replace(piece, draft=replace(piece.draft, message=message))


def _may_be_joined(piece: Piece) -> bool:
    """Whether a message may be several: nothing but text, in paragraphs."""
    is_text = all(isinstance(part, Text) for part in piece.message.parts)
    return is_text and "\n\n" in piece.message.text and not piece.draft.attributes.extra


def first_and_last(message: Message) -> Iterator[Message]:
    """What a joined message may begin and end with: its first and last paragraphs."""
    paragraphs = message.text.split("\n\n")
    for count in range(1, min(len(paragraphs), MOST_TRIED + 1)):
        for run in (paragraphs[:count], paragraphs[-count:]):
            yield with_text(message, "\n\n".join(run))


def _parted(piece: Piece, keys: Keys, *, last: bool) -> list[Piece]:
    """A joined message as those of the path it is made of. What is not on the path is a note if it is set in brackets;
    behind all others in the newest message it is new; where the path has one more of the role it is an edit of that;
    elsewhere it was added to its neighbour."""
    role, found = piece.message.role, list[Message]()
    runs = [(run, hit) for run, hit in _runs(piece.message, keys) if hit or not (_NOTE.fullmatch(run) or is_nudge(run))]
    if not _is_proven(runs, keys, last=last):
        return [piece]
    ends = max(at for at, (_, hit) in enumerate(runs) if hit)
    for at, (run, hit) in enumerate(runs):
        if hit:
            found.append(hit)
        elif (at > ends and last) or not found or (runs[at - 1][1] and keys.is_followed(found[-1])):
            found.append(Message(role, (Text(run),)))
        else:
            found[-1] = with_text(found[-1], f"{found[-1].text}\n\n{run}")
    return [replace(piece, draft=Draft(message)) for message in found]


def _is_proven(runs: Sequence[tuple[str, Message | None]], keys: Keys, *, last: bool) -> bool:
    """Whether a text is several messages and not one that begins or ends with what was said before: all of it is on the
    path, or something that is not said twice by chance, or it begins with what the path ends with."""
    hits = [hit for _, hit in runs if hit]
    if not hits or len(hits) == len(runs):
        return bool(hits)
    return any(len(hit.text) >= LONG_TEXT for hit in hits) or (last and keys.is_last(runs[0][1]))


def _roles(message: Message) -> Sequence[Role]:
    return _WAS_SYSTEM if message.role is Role.USER else ()


def _role_of(text: str, role: Role, names: Names | None) -> Role:
    """Who says a text that begins with a name; without names, or without one of them, the role it came with."""
    name = without_name(text, names.all)[0] if names else None
    if names is None or name is None:
        return role
    return Role.USER if name == names.user else Role.ASSISTANT


def _runs(message: Message, keys: Keys, names: Names | None = None) -> Iterator[tuple[str, Message | None]]:
    """The text in runs of paragraphs, each with what it is on the path; what lies between is one run. `names`: each
    message begins with its speaker's."""
    paragraphs = message.text.split("\n\n")
    ends = _ends(paragraphs, names)
    at = begun = tried_characters = 0
    while at < len(paragraphs):
        for end in range(ends[at] if keys and tried_characters < MOST_TRIED_CHARACTERS else at, at, -1):
            run = "\n\n".join(paragraphs[at:end])
            tried_characters += len(run) + 200
            tried = Message(_role_of(run, message.role, names), (Text(run),))
            hit = keys.find(tried, _roles(tried)) if run.strip() else None
            if hit:
                if begun < at:
                    yield "\n\n".join(paragraphs[begun:at]), None
                yield run, hit
                begun = at = end
                break
        else:
            at += 1
    if begun < len(paragraphs):
        yield "\n\n".join(paragraphs[begun:]), None


def _ends(paragraphs: Sequence[str], names: Names | None) -> list[int]:
    """For each paragraph, where a message that begins with it must have ended: where another name begins."""
    ends = [min(len(paragraphs), at + MOST_PARAGRAPHS) for at in range(len(paragraphs))]
    if names is None or not names.all:
        return ends
    end = len(paragraphs)
    for at in range(len(paragraphs) - 1, -1, -1):
        ends[at] = min(ends[at], end)
        if without_name(paragraphs[at], names.all)[0]:
            end = at
    return ends


def split_single(text: str) -> tuple[str, str]:
    """What stands before the history in a list that is one text, the mark that the chat begins included; and the
    history."""
    paragraphs = text.split("\n\n")
    start = max(at for at, paragraph in enumerate(paragraphs) if holds_start(paragraph)) + 1
    return "\n\n".join(paragraphs[:start]), "\n\n".join(paragraphs[start:])


def _from_single(heard: Heard, keys: Keys) -> list[Piece]:
    """The messages in a list that is one text: what follows the mark that a chat begins, by the names before it."""
    piece = heard.body[0]
    history = replace(piece.message, parts=(Text(split_single(piece.message.text)[1]),))
    found: list[Message] = []
    for run, hit in _runs(history, keys, heard.names):
        if hit:
            found.append(hit)
        else:
            found += _by_names(run, heard.names)
    return [replace(piece, draft=Draft(message)) for message in found]


def _by_names(text: str, names: Names) -> Iterator[Message]:
    """New messages of a text in which each begins with its speaker's name."""
    speaker: str | None = None
    said: list[str] = []

    def message() -> Message:
        role = Role.ASSISTANT if speaker is not None and speaker != names.user else Role.USER
        return Message(role, (Text("\n\n".join(said)),), speaker)

    for paragraph in text.split("\n\n"):
        name, rest = split_name(paragraph) if not names.all else without_name(paragraph, names.all)
        if is_nudge(paragraph) or (_NOTE.fullmatch(paragraph) and not name):
            continue
        if name is None:
            said.append(paragraph)
            continue
        if said:
            yield message()
        speaker, said = name, [rest]
    if said:
        yield message()
