"""Undo what a client has done to messages on their way: names put before them, roles changed, neighbours joined, the
beginning of a reply put behind them.

Everything is held against the path that the list seems to belong to. What is found there stands for itself; what is
not found stays as it was sent. No word a user typed is dropped unless it is known for a note.

A prefill, the beginning of a reply that is to be gone on with, looks like a reply that is there already. It is one if
the user's message before it is new, or if the reply that is stored begins with it. Set in brackets, it is a note that
stands last and no beginning.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from previously.core.align import KnownEntry
from previously.core.digests import match_key
from previously.core.messages import Draft, Message, Role, Text, ToolCall
from previously.core.patterns import lazy_pattern
from previously.recognition.client_list import LONG_TEXT, ClientList, ClientMessage, replace_text
from previously.recognition.client_marks import ChatNames, has_start, is_nudge, split_name, strip_name

MOST_PARAGRAPHS = 64
"""Paragraphs of the longest run that is tried as one message of a joined list: replies have up to two dozen."""

MOST_TRIED_CHARACTERS = 1_500_000
"""Characters that are looked up for one joined message, about a second's work: what is longer stays as it is."""

MOST_TRIED = 4
"""Paragraphs that are tried as a message when a story is looked for: each costs two keys in a query."""

_WAS_SYSTEM = (Role.SYSTEM,)
"""Other roles that a user message of a joined list may have had: clients turn system messages into the user's."""

_NOTE = lazy_pattern(r"\[[^\[\]]*\]\s*", re.DOTALL)


class PathKeys:
    """The match keys of a path, each as often as it stands there."""

    def __init__(self, known: Sequence[KnownEntry]) -> None:
        self._keys = Counter(one.match_key for one in known)
        self._followed = {(one.match_key, two.role) for one, two in pairwise(known)}
        self._last = next((one.match_key for one in reversed(known) if not one.attributes.hidden), b"")

    def __bool__(self) -> bool:
        return bool(self._keys)

    def without(self, messages: Iterable[Message]) -> PathKeys:
        """Return what is left when each of these messages has found its own."""
        left = PathKeys(())
        left._keys = self._keys - Counter(map(match_key, messages))
        left._followed, left._last = self._followed, self._last
        return left

    def is_followed(self, message: Message) -> bool:
        """Return whether on the path a message of the same role stands behind it."""
        return (match_key(message), message.role) in self._followed

    def is_last(self, message: Message | None) -> bool:
        return message is not None and match_key(message) == self._last

    def find(self, message: Message, roles: Sequence[Role] = ()) -> Message | None:
        """Return the form in which the path holds what a message says, in its own role or one of these; None if it does
        not."""
        if not self._keys:
            return None
        if match_key(message) in self._keys:
            return message
        name, rest = split_name(message.text)
        texts = [message.text, rest] if name else [message.text]
        for role in dict.fromkeys((message.role, *roles)):
            for text in texts:
                tried = replace(replace_text(message, text), role=role)
                if match_key(tried) in self._keys:
                    return tried
        return None


def undo_postprocessing(heard: ClientList, keys: PathKeys) -> list[ClientMessage]:
    """Return the messages of the body as they stand on the path, as far as they do."""
    if heard.is_single:
        return _split_single_list(heard, keys)
    merged, pieces = heard.is_merged, list[ClientMessage]()
    matches = [keys.find(piece.message, _list_roles(piece.message) if merged else ()) for piece in heard.body]
    joined = [merged and hit is None and _may_be_joined(piece) for piece, hit in zip(heard.body, matches, strict=True)]
    left = keys.without(hit for hit in matches[:-1] if hit) if any(joined) else keys  # the last may be said anew
    for at, (piece, hit) in enumerate(zip(heard.body, matches, strict=True)):
        if joined[at]:
            parts = _split_joined(piece, left, last=at == len(heard.body) - 1)
        else:
            parts = [_with_message(piece, hit)] if hit else [piece]
        pieces += [part if keys.find(part.message) else name_speaker(part, heard.names) for part in parts]
    return pieces


def name_speaker(piece: ClientMessage, names: ChatNames) -> ClientMessage:
    """Return a new message, with its speaker taken from the name it begins with, or from what is known of the chat."""
    message = piece.message
    if message.speaker or message.role not in (Role.USER, Role.ASSISTANT) or not names.all:
        return piece
    name, rest = strip_name(message.text, names.all)
    if name is None:
        name = names.user if message.role is Role.USER else names.character if not names.members else None
    if name is None:
        return piece
    return _with_message(piece, replace(replace_text(message, rest), speaker=name))


def _with_message(piece: ClientMessage, message: Message) -> ClientMessage:
    return replace(piece, draft=replace(piece.draft, message=message))


def _may_be_joined(piece: ClientMessage) -> bool:
    """Return whether a message may be several: nothing but text, in paragraphs."""
    is_text = all(isinstance(part, Text) for part in piece.message.parts)
    return is_text and "\n\n" in piece.message.text and not piece.draft.attributes.extra


def list_edges(message: Message) -> Iterator[Message]:
    """Return what a joined message may begin and end with: its first and last paragraphs."""
    paragraphs = message.text.split("\n\n")
    for count in range(1, min(len(paragraphs), MOST_TRIED + 1)):
        for run in (paragraphs[:count], paragraphs[-count:]):
            yield replace_text(message, "\n\n".join(run))


def _split_joined(piece: ClientMessage, keys: PathKeys, *, last: bool) -> list[ClientMessage]:
    """Return a joined message as those of the path it is made of. What is not on the path is a note if it is set in
    brackets; behind all others in the newest message it is new; where the path has one more of the role it is an edit
    of that; elsewhere it was added to its neighbour."""
    role, messages = piece.message.role, list[Message]()
    runs = [
        (run, hit)
        for run, hit in _split_runs(piece.message, keys)
        if hit or not (_NOTE.fullmatch(run) or is_nudge(run))
    ]
    if not _is_proven(runs, keys, last=last):
        return [piece]
    ends = max(at for at, (_, hit) in enumerate(runs) if hit)
    for at, (run, hit) in enumerate(runs):
        if hit:
            messages.append(hit)
        elif (at > ends and last) or not messages or (runs[at - 1][1] and keys.is_followed(messages[-1])):
            messages.append(Message(role, (Text(run),)))
        else:
            messages[-1] = replace_text(messages[-1], f"{messages[-1].text}\n\n{run}")
    return [replace(piece, draft=Draft(message)) for message in messages]


def _is_proven(runs: Sequence[tuple[str, Message | None]], keys: PathKeys, *, last: bool) -> bool:
    """Return whether a text is several messages and not one that begins or ends with what was said before: all of it is
    on the path, or something that is not said twice by chance, or it begins with what the path ends with."""
    hits = [hit for _, hit in runs if hit]
    if not hits or len(hits) == len(runs):
        return bool(hits)
    return any(len(hit.text) >= LONG_TEXT for hit in hits) or (last and keys.is_last(runs[0][1]))


def _list_roles(message: Message) -> Sequence[Role]:
    return _WAS_SYSTEM if message.role is Role.USER else ()


def _find_role(text: str, role: Role, names: ChatNames | None) -> Role:
    """Return who says a text that begins with a name; without names, or without one of them, the role it came with."""
    name = strip_name(text, names.all)[0] if names else None
    if names is None or name is None:
        return role
    return Role.USER if name == names.user else Role.ASSISTANT


def _split_runs(
    message: Message, keys: PathKeys, names: ChatNames | None = None
) -> Iterator[tuple[str, Message | None]]:
    """Yield the text in runs of paragraphs, each with what it is on the path; what lies between is one run. `names`:
    each message begins with its speaker's."""
    paragraphs = message.text.split("\n\n")
    ends = _ends(paragraphs, names)
    at = begun = tried_characters = 0
    while at < len(paragraphs):
        for end in range(ends[at] if keys and tried_characters < MOST_TRIED_CHARACTERS else at, at, -1):
            run = "\n\n".join(paragraphs[at:end])
            tried_characters += len(run) + 200
            tried = Message(_find_role(run, message.role, names), (Text(run),))
            hit = keys.find(tried, _list_roles(tried)) if run.strip() else None
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


def _ends(paragraphs: Sequence[str], names: ChatNames | None) -> list[int]:
    """Return for each paragraph where a message that begins with it must have ended: where another name begins."""
    ends = [min(len(paragraphs), at + MOST_PARAGRAPHS) for at in range(len(paragraphs))]
    if names is None or not names.all:
        return ends
    end = len(paragraphs)
    for at in range(len(paragraphs) - 1, -1, -1):
        ends[at] = min(ends[at], end)
        if strip_name(paragraphs[at], names.all)[0]:
            end = at
    return ends


def split_single_text(text: str) -> tuple[str, str]:
    """Return what stands before the history in a list that is one text, the mark that the chat begins included; and the
    history."""
    paragraphs = text.split("\n\n")
    start = max(at for at, paragraph in enumerate(paragraphs) if has_start(paragraph)) + 1
    return "\n\n".join(paragraphs[:start]), "\n\n".join(paragraphs[start:])


def _split_single_list(heard: ClientList, keys: PathKeys) -> list[ClientMessage]:
    """Return the messages in a list that is one text: what follows the mark that a chat begins, by the names before
    it."""
    piece = heard.body[0]
    history = replace(piece.message, parts=(Text(split_single_text(piece.message.text)[1]),))
    messages: list[Message] = []
    for run, hit in _split_runs(history, keys, heard.names):
        if hit:
            messages.append(hit)
        else:
            messages += _split_by_names(run, heard.names)
    return [replace(piece, draft=Draft(message)) for message in messages]


def _split_by_names(text: str, names: ChatNames) -> Iterator[Message]:
    """Yield new messages of a text in which each begins with its speaker's name."""
    speaker: str | None = None
    said: list[str] = []

    def message() -> Message:
        role = Role.ASSISTANT if speaker is not None and speaker != names.user else Role.USER
        return Message(role, (Text("\n\n".join(said)),), speaker)

    for paragraph in text.split("\n\n"):
        name, rest = split_name(paragraph) if not names.all else strip_name(paragraph, names.all)
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


@dataclass(frozen=True, slots=True)
class Prefill:
    """The text that stands behind the history in the assistant's name."""

    pieces: tuple[ClientMessage, ...] = ()

    @property
    def begins(self) -> str:
        """The text that the reply begins with in the client's history."""
        text = "\n\n".join(piece.message.text for piece in self.pieces)
        return "" if text.startswith("[") and text.rstrip().endswith("]") else text


NO_PREFILL = Prefill()


def find_last_exchange(pieces: Sequence[ClientMessage], known: Collection[bytes]) -> bytes | None:
    """Return the match key of the user's message before an unknown reply at the end, if that is known: whether the
    reply is a prefill depends on what is stored behind it."""
    if len(pieces) < 2 or not _is_unknown_reply(pieces, known) or pieces[-2].message.role is not Role.USER:
        return None
    key = match_key(pieces[-2].message)
    return key if key in known else None


def split_prefill(
    pieces: Sequence[ClientMessage], known: Collection[bytes], stored: Message | None, *, continues: bool
) -> tuple[tuple[ClientMessage, ...], Prefill]:
    """Return the pieces of the story, and the prefill behind them. `stored` is what is stored behind the last user
    message; `continues`: the client says that the last message is one of the story."""
    everything = tuple(pieces)
    if continues or len(pieces) < 2 or not _is_unknown_reply(pieces, known):
        return everything, NO_PREFILL
    before = pieces[-2].message
    if before.role is not Role.USER:
        return everything, NO_PREFILL
    if match_key(before) in known:
        text = pieces[-1].message.text
        is_prefill = stored is None or (stored.text.startswith(text) and stored.text != text)
    else:
        is_prefill = bool(known) or len(pieces) == 2  # a list never seen before may end with a reply
    return (everything[:-1], Prefill(everything[-1:])) if is_prefill else (everything, NO_PREFILL)


def _is_unknown_reply(pieces: Sequence[ClientMessage], known: Collection[bytes]) -> bool:
    last = pieces[-1].message
    has_calls = any(isinstance(part, ToolCall) for part in last.parts)
    return last.role is Role.ASSISTANT and not has_calls and match_key(last) not in known
