"""The list that goes upstream: a view, in the client's own words wherever the client has sent them.

Pure. What must stay true: the client's messages go on as they came, with all their fields; memory is added to a system
message of its own, recalled passages to what the user said; no other message or role is added, unless the client has no
system message at all. Where an interface wants the user to begin, the first message is one of the user's.
"""

from __future__ import annotations

from collections.abc import Sequence

from previously.core.messages import Message, Role, Text, ToolResult
from previously.core.pairing import units
from previously.folds.conversation.pins import find_newest_request
from previously.recognition.client_list import ClientList, ClientMessage
from previously.recognition.undo_postprocessing import split_single_text
from previously.runtime.follow_client import ClientPlace
from previously.view.furniture import Furniture
from previously.view.view import Section, View
from previously.view.volatile import without_recall
from previously.wire.interface import CHAT, Interface, Raw

ALWAYS_IN_FRONT = 2**30
"""As the depth of a note: more messages than any tail has."""


def furniture_of(
    place: ClientPlace, heard: ClientList, tools: str = "", kept: Sequence[ClientMessage] = ()
) -> Furniture:
    """What of the client's list is not the story; and `kept`: messages of the story that stand before its tail,
    whatever that begins with."""
    behind = [(0, piece.message) for piece in (*heard.behind, *place.prefill.pieces)]
    if heard.is_single:
        front = Message(Role.SYSTEM, (Text(split_single_text(heard.body[0].message.text)[0]),))
        return Furniture((front,), tuple(behind), tools)
    notes = [(depth, piece.message) for depth, piece in place.notes]
    notes += [(ALWAYS_IN_FRONT - at, piece.message) for at, piece in enumerate(kept)]
    return Furniture(tuple(piece.message for piece in heard.front), (*notes, *behind), tools)


def compose(
    view: View,
    place: ClientPlace,
    heard: ClientList,
    sent: Sequence[Raw],
    dialect: Interface = CHAT,
    kept: Sequence[ClientMessage] = (),
    *,
    recalled: bool = True,
) -> list[Raw]:
    """The messages of a view, each as the client sent it where it did. `kept` are those of the furniture; without
    `recalled` nothing is added to what the user said."""
    if heard.is_single:
        return [_single(view, place, heard, sent[heard.body[0].index])]
    notes = [piece for _, piece in place.notes]
    theirs = _by_identity((*heard.front, *heard.behind, *place.prefill.pieces, *notes, *kept))
    indices = dict(zip(place.positions, (piece.index for piece in place.pieces), strict=True))
    shown = iter([item.sources[0].first for item in view.items if item.section is Section.TAIL])
    leading = [piece for piece in heard.front if piece.message.role is Role.SYSTEM]
    messages = list(view.messages)
    composed: list[Raw] = []
    if messages and messages[0].role is Role.SYSTEM and id(messages[0]) not in theirs:
        composed += _front(messages.pop(0), leading, sent, dialect)
    else:
        composed += [sent[piece.index] for piece in leading]
    written: set[int] = set()
    said = {piece.index: piece.message for piece in place.pieces}
    for message in messages:
        index = theirs.get(id(message))
        if index is None:
            position = next(shown, None)
            index = indices.get(position) if position is not None else None
        if index is None:
            composed += dialect.write_raws(message)
        elif index not in written:
            written.add(index)
            if index in said and _outputs(message) != _outputs(said[index]):  # the view shows less of them
                composed += dialect.rewrite_raw(sent[index], message)
                continue
            composed.append(_with_recall(sent[index], message, dialect) if recalled else sent[index])
    return _begun_by_user(composed, dialect) if dialect.begins_with_user else composed


def _single(view: View, place: ClientPlace, heard: ClientList, raw: Raw) -> Raw:
    """A list that is one text, with memory behind the mark that the chat begins, and as much of the history as the view
    shows."""
    front, _ = split_single_text(heard.body[0].message.text)
    shown = [item.sources[0].first for item in view.items if item.section is Section.TAIL]
    memory = view.messages[0].text[len(front) :].strip("\n") if view.messages else ""
    if not memory and not view.volatile_tokens and list(place.positions) == shown:
        return raw
    names = heard.names
    told = [message for message in view.messages if message.role is not Role.SYSTEM]
    theirs = _by_identity((*heard.behind, *place.prefill.pieces))
    lines = []
    for message in told:
        name = message.speaker or (names.user if message.role is Role.USER else names.character)
        lines.append(message.text if id(message) in theirs or not name else f"{name}: {message.text}")
    return {**raw, "content": "\n\n".join(part for part in (front, memory, *lines) if part)}


def _outputs(message: Message) -> list[str]:
    return [part.text for part in message.parts if isinstance(part, ToolResult)]


def _by_identity(pieces: Sequence[ClientMessage]) -> dict[int, int]:
    return {id(piece.message): piece.index for piece in pieces}


def _begun_by_user(raws: list[Raw], dialect: Interface) -> list[Raw]:
    """The list without what stands before the first words of the user, where that can be."""
    first = next((at for at, raw in enumerate(raws) if raw.get("role") != "system"), len(raws))
    begins = next((at for at in range(first, len(raws)) if begins_a_turn(dialect.parse_raw(raws[at]).message)), first)
    return [*raws[:first], *raws[begins:]]


def begins_a_turn(message: Message) -> bool:
    """Whether a message is the user's and answers no call."""
    return message.role is Role.USER and not any(isinstance(part, ToolResult) for part in message.parts)


def _front(system: Message, leading: Sequence[ClientMessage], sent: Sequence[Raw], dialect: Interface) -> list[Raw]:
    """The client's system messages, with memory at the end of the last that is not somebody's words."""
    texts = "\n\n".join(piece.message.text for piece in leading)
    memory = system.text[len(texts) :].lstrip("\n") if leading else system.text
    raws = [sent[piece.index] for piece in leading]
    if not memory:
        return raws
    at = next((at for at in range(len(raws) - 1, -1, -1) if "name" not in raws[at]), None)
    if at is None:
        return [*raws, {"role": "system", "content": memory}]
    raws[at] = _extended(raws[at], memory, dialect)
    return raws


def _extended(raw: Raw, memory: str, dialect: Interface) -> Raw:
    content = raw.get("content")
    if isinstance(content, list):
        return {**raw, "content": [*content, dialect.write_text_part(memory)]}
    return {**raw, "content": f"{content}\n\n{memory}" if content else memory}


def _with_recall(raw: Raw, message: Message, dialect: Interface) -> Raw:
    """What the client sent, with the passages that the view has put before it; results of calls stay in front."""
    said = without_recall(message.text)
    block = message.text[: len(message.text) - len(said)]
    if not block:
        return raw
    content = raw.get("content")
    if isinstance(content, list):
        at = next((at for at, part in enumerate(content) if not _is_result(part)), len(content))
        return {**raw, "content": [*content[:at], dialect.write_text_part(block.rstrip("\n")), *content[at:]]}
    return {**raw, "content": block + str(content or "")}


def _is_result(part: object) -> bool:
    return isinstance(part, dict) and part.get("type") == "tool_result"


def cut_to_fit(
    messages: Sequence[Message], tokens: Sequence[int], budget_tokens: int, *, begins_with_user: bool = False
) -> list[int]:
    """Which messages of a client's list are sent when there is no memory to be had: its first system messages, what was
    asked last, and behind that as many of the newest as there is room for; no call without its results, and no result
    without its call. The newest stay in any case."""
    leading = next((at for at, one in enumerate(messages) if one.role is not Role.SYSTEM), len(messages))
    rest = [set(range(unit.start + leading, unit.stop + leading)) for unit in units(messages[leading:])]
    asked = find_newest_request(messages)
    kept: set[int] = set().union(*rest[-1:], *(unit for unit in rest if asked in unit))
    if begins_with_user:
        kept |= _begin_of(messages, min(kept, default=leading), leading)
        rest = [unit | _begin_of(messages, min(unit), leading) for unit in rest]
    room = budget_tokens - sum(tokens[:leading]) - sum(tokens[at] for at in kept)
    for unit in reversed(rest):
        room -= sum(tokens[at] for at in unit - kept)
        if room < 0:
            break
        kept |= unit
    return [*range(leading), *sorted(kept)]


def _begin_of(messages: Sequence[Message], at: int, leading: int) -> set[int]:
    """Where the user began the turn of a message."""
    found = range(min(at, len(messages) - 1), leading - 1, -1)
    return set(next(([one] for one in found if begins_a_turn(messages[one])), []))
