"""A client's list, taken apart before it is held against any story.

A list has a *front* (leading system messages: prompts, cards, examples), a *body* in which the story lies, and often
something behind it: nudges. Nothing here is certain; what is in the body may still be a note. Every message of the list
is in exactly one of the three, and its place in the list is known.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from itertools import pairwise

from previously.core.messages import Draft, Message, Role, Text
from previously.recognition.client_marks import (
    ChatNames,
    ends_examples,
    find_asked_speaker,
    find_glued_rules,
    find_names,
    has_start,
    is_acknowledgement,
    is_aside,
    is_compaction,
    is_continue,
    is_nudge,
    is_start,
    shows_files,
)
from previously.recognition.commands import find_command_messages

LONG_TEXT = 20
"""Characters of a text that is not said twice by chance: "Yes, let's go." has fewer, a sentence with content has
more."""


LEAST_COMPACTED = 4
"""Messages of a list that a client wants to have summarised: two turns."""


class Ask(StrEnum):
    """The purpose of a request."""

    TURN = "turn"
    """The next message of the story."""
    CONTINUE = "continue"
    """More of the last message."""
    ASIDE = "aside"
    """Something that is no part of the story."""
    COMPACTION = "compaction"
    """A summary of the list, which the client goes on from: the list is the story's, the answer is not."""


@dataclass(frozen=True, slots=True)
class ClientMessage:
    """A message of the story as the client sent it; several may come from one place in its list."""

    index: int
    draft: Draft

    @property
    def message(self) -> Message:
        return self.draft.message


@dataclass(frozen=True, slots=True)
class ClientList:
    """A client's list, taken apart."""

    front: tuple[ClientMessage, ...]
    body: tuple[ClientMessage, ...]
    behind: tuple[ClientMessage, ...] = ()
    """Nudges at the end."""
    names: ChatNames = field(default_factory=ChatNames)
    speaker: str | None = None
    """The character who is asked to reply, where a nudge says so."""
    attached: frozenset[int] = frozenset()
    """The places in the list of messages in the body with which the client shows files, and of the replies that it lets
    the model give to them."""
    compacts: bool = False
    """True if the client asks for a summary of the list, to go on from that."""
    hashes: list[int] = field(default_factory=list, init=False, compare=False, repr=False)
    """The place where whoever follows the list keeps what the messages of its body are known by."""

    @property
    def is_merged(self) -> bool:
        """True if a client may have joined neighbours of one role: it shows none, not even in its front."""
        roles = (piece.message.role for piece in (*self.front, *self.body))
        return all(one is not two for one, two in pairwise(roles))

    @property
    def has_files(self) -> bool:
        """True if the client shows files with every request."""
        front = (piece.message for piece in self.front if piece.message.role is Role.USER)
        return bool(self.attached) or any(shows_files(message.text) for message in front)

    @property
    def ends_in_a_reply(self) -> bool:
        """True if there may be a reply to go on with."""
        return bool(self.body) and (self.body[-1].message.role is Role.ASSISTANT or self.is_single)

    @property
    def is_single(self) -> bool:
        """True if the whole list is one user message that holds a history."""
        if self.front or len(self.body) != 1:
            return False
        text = self.body[0].message.text
        return self.body[0].message.role is Role.USER and "\n\n" in text and has_start(text)


def parse_client_list(drafts: Sequence[Draft], names: ChatNames | None = None, *, is_turn: bool = False) -> ClientList:
    """Take a client's list apart. `names` are those it gives beside it; `is_turn`: it says that the user's last message
    is one of the story. Commands and their answers are left out."""
    ours = find_command_messages([draft.message for draft in drafts])
    pieces = [ClientMessage(index, draft) for index, draft in enumerate(drafts) if index not in ours]
    start = next((at for at, piece in enumerate(pieces) if piece.message.role is not Role.SYSTEM), len(pieces))
    if start < len(pieces) and is_start(pieces[start].message.text):
        start += 1  # a placeholder for servers that want a user to begin
    attached = _find_attached(pieces[start:])
    start = _find_end_of_examples(pieces, start, attached)
    end = len(pieces)
    while end > start and _is_behind(pieces[end - 1].message, is_turn):
        end -= 1
    front, body, behind = pieces[:start], pieces[start:end], pieces[end:]
    front_names = find_names("\n".join(piece.message.text for piece in front) or (body[0].message.text if body else ""))
    given = names or ChatNames()
    asked = next((name for piece in reversed(behind) if (name := find_asked_speaker(piece.message.text))), None)
    merged = ChatNames(
        given.character or front_names.character, given.user or front_names.user, given.members or front_names.members
    )
    attached -= {piece.index for piece in front}
    heard = ClientList(tuple(front), tuple(body), tuple(behind), merged, asked, attached)
    heard = _without_glued_rules(_without_compaction(heard))
    return _without_glued_nudge(heard) if not asked else heard


def _find_attached(pieces: Sequence[ClientMessage]) -> frozenset[int]:
    """Return the places in the list of messages that show files, and of the replies to them."""
    pairs = (
        (shown.index, reply.index)
        for shown, reply in pairwise(pieces)
        if shown.message.role is Role.USER and reply.message.role is Role.ASSISTANT
        if shows_files(shown.message.text) and is_acknowledgement(reply.message.text)
    )
    return frozenset(place for pair in pairs for place in pair)


def _find_end_of_examples(pieces: Sequence[ClientMessage], start: int, attached: frozenset[int]) -> int:
    """Return where the front ends that begins with a client's examples, or with files it shows."""
    if not attached:
        return start
    first = next(at for at in range(start, len(pieces)) if pieces[at].index in attached)
    if first > start and not ends_examples(pieces[first].message.text):
        return start
    return next((at for at in range(first, len(pieces)) if pieces[at].index not in attached), len(pieces))


def _is_behind(message: Message, is_turn: bool) -> bool:
    """Return whether a last message is a nudge: any system message, and what is known for one though it comes as the
    user's. People ask for summaries in their own words, so there it must be set in brackets, or hold the chat as
    data."""
    if message.role is not Role.USER or is_turn:
        return message.role is Role.SYSTEM
    text = message.text.strip()
    return is_nudge(text) and (not is_aside(text) or text.startswith("[") or "<chat_history>" in text)


def _without_compaction(heard: ClientList) -> ClientList:
    """Return the list, in which a request for a summary of it is taken off the last message: it may stand behind the
    results of calls. Many messages stand before it, since nobody shortens a short list."""
    last = heard.body[-1] if heard.body else None
    if last is None or last.message.role is not Role.USER or len(heard.body) < LEAST_COMPACTED:
        return heard
    *parts, request = last.message.parts or (None,)
    if not isinstance(request, Text) or not is_compaction(request.text):
        return heard
    behind = ClientMessage(last.index, Draft(Message(Role.USER, (request,))))
    left = (
        [replace(last, draft=replace(last.draft, message=replace(last.message, parts=tuple(parts))))] if parts else []
    )
    return replace(heard, body=(*heard.body[:-1], *left), behind=(behind, *heard.behind), compacts=True)


def _without_glued_rules(heard: ClientList) -> ClientList:
    """Return the list, in which rules that the client has put behind the user's newest words are taken off them."""
    last = heard.body[-1] if heard.body else None
    at = find_glued_rules(last.message.text) if last and last.message.role is Role.USER else None
    return _take_off(heard, at, at) if at is not None else heard


def _take_off(heard: ClientList, end: int, start: int) -> ClientList:
    """Return the list, in which the last message of the body ends there, and what is from `start` on stands behind."""
    last = heard.body[-1]
    text = last.message.text
    behind = ClientMessage(last.index, Draft(Message(Role.USER, (Text(text[start:].lstrip("\n")),))))
    clean = replace(last, draft=replace(last.draft, message=replace_text(last.message, text[:end])))
    return replace(heard, body=(*heard.body[:-1], clean), behind=(behind, *heard.behind))


def _without_glued_nudge(heard: ClientList) -> ClientList:
    """Return the list, in which a nudge for a speaker that was joined to what the user said is taken off it."""
    if not heard.body or heard.body[-1].message.role is not Role.USER:
        return heard
    last = heard.body[-1]
    words, separator, nudge = last.message.text.rpartition("\n\n")
    asked = find_asked_speaker(nudge)
    if not separator or not (asked or is_continue(nudge) or is_aside(nudge)):
        return heard
    end = len(words)
    return replace(_take_off(heard, end, end + len(separator)), speaker=asked)


def replace_text(message: Message, text: str) -> Message:
    """Return a message with other words; what it holds besides text stays."""
    others = tuple(part for part in message.parts if not isinstance(part, Text))
    return replace(message, parts=(Text(text), *others))


def change_replies(client_list: ClientList, start: int, change: Callable[[str], str]) -> ClientList:
    """Return the list with other words in the replies of its body, from a place on. What a user says stays as it is."""
    body = [*client_list.body[:start], *(_change_reply(piece, change) for piece in client_list.body[start:])]
    return replace(client_list, body=tuple(body))


def _change_reply(piece: ClientMessage, change: Callable[[str], str]) -> ClientMessage:
    if piece.message.role is not Role.ASSISTANT:
        return piece
    parts = tuple(Text(change(part.text)) if isinstance(part, Text) else part for part in piece.message.parts)
    return replace(piece, draft=replace(piece.draft, message=replace(piece.message, parts=parts)))


def infer_ask(heard: ClientList, *, streams: bool, usual: frozenset[str] = frozenset(), known_last: bool = True) -> Ask:
    """Return what a request is for, as far as its list tells.

    `usual`: nudges that stood behind turns before, as users may let some text stand behind every history.
    `known_last`: whether the last message of the body is known from before; a new one is there to be answered.
    """
    texts = [piece.message.text for piece in heard.behind]
    if not heard.body:
        return Ask.ASIDE
    if any(map(is_continue, texts)):
        return Ask.CONTINUE if heard.ends_in_a_reply else Ask.TURN
    if any(map(is_aside, texts)):
        return Ask.ASIDE
    new = [text for text in texts if text not in usual and not find_asked_speaker(text)]
    if heard.speaker:  # in a group the next reply may follow another; a task beside it does not stream
        return Ask.ASIDE if new and known_last and not streams else Ask.TURN
    after_reply = heard.body[-1].message.role is Role.ASSISTANT
    return Ask.ASIDE if new and after_reply and (known_last or not streams) else Ask.TURN


def is_lone_task(heard: ClientList, *, streams: bool) -> bool:
    """Return whether a request without history is a task rather than the start of a chat, from a client that has chats
    with fronts: nothing but an instruction, and nobody waits for the words to come in."""
    if streams or len(heard.front) > 1 or len(heard.body) != 1 or heard.behind:
        return False
    texts = [piece.message.text for piece in (*heard.front, *heard.body)]
    return not any(map(has_start, texts))
