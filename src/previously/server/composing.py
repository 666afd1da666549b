"""The list that goes upstream: a view, in the client's own words wherever the client has sent them.

Pure. What must stay true: the client's messages go on as they came, with all their fields; memory is added to a system
message of its own, recalled passages to what the user said; no other message or role is added, unless the client has no
system message at all.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from previously.core.messages import Message, Role, Text
from previously.formats.openai import to_openai
from previously.recognition.heard import Heard, Piece
from previously.recognition.unfolding import split_single
from previously.runtime.recognising import Place
from previously.view.furniture import Furniture
from previously.view.view import Section, View
from previously.view.volatile import without_recall

Raw = dict[str, Any]


def furniture_of(place: Place, heard: Heard, tools: str = "") -> Furniture:
    """What of the client's list is not the story."""
    behind = [(0, piece.message) for piece in (*heard.behind, *place.prefill.pieces)]
    if heard.is_single:
        front = Message(Role.SYSTEM, (Text(split_single(heard.body[0].message.text)[0]),))
        return Furniture((front,), tuple(behind), tools)
    notes = [(depth, piece.message) for depth, piece in place.notes]
    return Furniture(tuple(piece.message for piece in heard.front), (*notes, *behind), tools)


def compose(view: View, place: Place, heard: Heard, sent: Sequence[Raw]) -> list[Raw]:
    """The messages of a view, each as the client sent it where it did."""
    if heard.is_single:
        return [_single(view, place, heard, sent[heard.body[0].index])]
    theirs = _by_identity((*heard.front, *heard.behind, *place.prefill.pieces, *(piece for _, piece in place.notes)))
    indices = dict(zip(place.positions, (piece.index for piece in place.pieces), strict=True))
    shown = iter([item.sources[0].first for item in view.items if item.section is Section.TAIL])
    leading = [piece for piece in heard.front if piece.message.role is Role.SYSTEM]
    messages = list(view.messages)
    composed: list[Raw] = []
    if messages and messages[0].role is Role.SYSTEM and id(messages[0]) not in theirs:
        composed += _front(messages.pop(0), leading, sent)
    else:
        composed += [sent[piece.index] for piece in leading]
    written: set[int] = set()
    for message in messages:
        index = theirs.get(id(message))
        if index is None:
            position = next(shown, None)
            index = indices.get(position) if position is not None else None
        if index is None:
            composed += to_openai(message)
        elif index not in written:
            written.add(index)
            composed.append(_with_recall(sent[index], message))
    return composed


def _single(view: View, place: Place, heard: Heard, raw: Raw) -> Raw:
    """A list that is one text, with memory behind the mark that the chat begins, and as much of the history as the view
    shows."""
    front, _ = split_single(heard.body[0].message.text)
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


def _by_identity(pieces: Sequence[Piece]) -> dict[int, int]:
    return {id(piece.message): piece.index for piece in pieces}


def _front(system: Message, leading: Sequence[Piece], sent: Sequence[Raw]) -> list[Raw]:
    """The client's system messages, with memory at the end of the last that is not somebody's words."""
    texts = "\n\n".join(piece.message.text for piece in leading)
    memory = system.text[len(texts) :].lstrip("\n") if leading else system.text
    raws = [sent[piece.index] for piece in leading]
    if not memory:
        return raws
    at = next((at for at in range(len(raws) - 1, -1, -1) if "name" not in raws[at]), None)
    if at is None:
        return [*raws, {"role": "system", "content": memory}]
    raws[at] = _extended(raws[at], memory)
    return raws


def _extended(raw: Raw, memory: str) -> Raw:
    content = raw.get("content")
    if isinstance(content, list):
        return {**raw, "content": [*content, {"type": "text", "text": memory}]}
    return {**raw, "content": f"{content}\n\n{memory}" if content else memory}


def _with_recall(raw: Raw, message: Message) -> Raw:
    """What the client sent, with the passages that the view has put before it."""
    said = without_recall(message.text)
    block = message.text[: len(message.text) - len(said)]
    if not block:
        return raw
    content = raw.get("content")
    if isinstance(content, list):
        return {**raw, "content": [{"type": "text", "text": block.rstrip("\n")}, *content]}
    return {**raw, "content": block + str(content or "")}


def cut_to_fit(sent: Sequence[Raw], tokens: Sequence[int], budget_tokens: int) -> list[Raw]:
    """A client's list without memory, when there is none to be had: as many of its newest messages as there is room
    for behind its system messages. The newest stays in any case."""
    leading = next((at for at, raw in enumerate(sent) if raw.get("role") not in ("system", "developer")), len(sent))
    room = budget_tokens - sum(tokens[:leading])
    first = len(sent)
    while first > leading and (room >= tokens[first - 1] or first == len(sent)):
        first -= 1
        room -= tokens[first]
    while first < len(sent) - 1 and sent[first].get("role") == "tool":
        first += 1  # a result does not stand without its call
    return [*sent[:leading], *sent[first:]]
