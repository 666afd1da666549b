"""Lists of messages and paths, written short: one line a message, its role the first letter."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any

from hypothesis import strategies as st

from previously.core.align import KnownEntry
from previously.core.digests import digest, match_key
from previously.core.messages import Attributes, Draft, Message, Role, Text, ToolCall, ToolResult
from previously.core.path import Put, check_splices
from previously.recognition.client_list import ClientList, ClientMessage, parse_client_list
from previously.recognition.client_marks import ChatNames
from previously.recognition.follow import PathChange

MAIN = "s Write Odalys's next reply in a fictional chat between Odalys and Wren."
START = "s [Start a new Chat]"
CONTINUE = "s [Continue your last message without repeating its original content.]"
IMPERSONATE = "s [Write your next reply from the point of view of Wren, using the chat history so far.]"
AS_BRAM = "s [Write the next reply only as Bram.]"

_ROLES = {"s": Role.SYSTEM, "u": Role.USER, "a": Role.ASSISTANT, "t": Role.TOOL}


def said(line: str) -> Message:
    """`u Hello` is what the user says, `a` the model, `s` the system; `t 1 done` is the result of call 1, `c 1 look`
    that call."""
    letter, _, text = line.partition(" ")
    if letter == "c":
        return Message(Role.ASSISTANT, (ToolCall(text.split()[0], text.split()[1], "{}"),))
    if letter == "t":
        number, _, result = text.partition(" ")
        return Message(Role.TOOL, (ToolResult(number, result),))
    return Message(_ROLES[letter], (Text(text),))


def drafts(*lines: str) -> list[Draft]:
    """Those messages on their way in."""
    return [Draft(said(line)) for line in lines]


def heard(*lines: str, names: ChatNames | None = None) -> ClientList:
    """Those messages as a client's list."""
    return parse_client_list(drafts(*lines), names)


def pieces(*lines: str) -> list[ClientMessage]:
    """Those messages as the story's in a list."""
    return [ClientMessage(index, draft) for index, draft in enumerate(drafts(*lines))]


def raw(*lines: str) -> list[dict[str, Any]]:
    """Those messages as they come over the wire."""
    return [{"role": said(line).role.value, "content": said(line).text} for line in lines]


def line_of(message: Message) -> str:
    """A message of text as a line."""
    return f"{message.role.value[0]} {message.text}"


def lines_of(found: Sequence[ClientMessage]) -> list[str]:
    """Pieces as lines."""
    return [line_of(piece.message) for piece in found]


def path(*lines: str, hidden: Collection[int] = ()) -> list[KnownEntry]:
    """A path of these messages, whose entries are 100, 101 and so on."""
    known = []
    for at, line in enumerate(lines):
        message = said(line)
        attributes = Attributes(hidden=at in hidden)
        known.append(KnownEntry(100 + at, digest(message), match_key(message), attributes, message.role))
    return known


def keys(*lines: str) -> set[bytes]:
    """The match keys of these messages."""
    return {match_key(said(line)) for line in lines}


def after(known: Sequence[KnownEntry], following: PathChange, lines: Sequence[str]) -> list[tuple[str, bool]]:
    """The path once it was followed: what stands there, and whether it is hidden. `lines` are what is on it before."""
    check_splices(following.script, len(known))
    texts = {one.entry: line for one, line in zip(known, lines, strict=True)}
    new = dict(following.attributes)
    items = [(texts[one.entry], new.get(one.entry, one.attributes).hidden) for one in known]
    for splice in reversed(following.script):
        put = [
            (line_of(piece.draft.message), False) if isinstance(piece, Put) else (texts[piece.entry], False)
            for piece in splice.pieces
        ]
        items[splice.at : splice.at + splice.remove] = put
    return items


def hidden_twin(known: KnownEntry) -> KnownEntry:
    """The same message, hidden."""
    return replace(known, attributes=replace(known.attributes, hidden=True))


WORDS = ("ok", "Hello!", "I close the door.", "The lamp is out again, and the stair is dark.", "[Style: short.]")
LINES = st.builds(lambda role, text: f"{role} {text}", st.sampled_from("suua"), st.sampled_from(WORDS))
"""Few different messages, so that lists and paths have much in common."""

ANY_LINES = st.builds(lambda role, text: f"{role} {text}", st.sampled_from("sua"), st.text(max_size=12))
