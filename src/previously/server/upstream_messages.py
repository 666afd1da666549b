"""The list that goes upstream: a view, in the client's own words wherever the client has sent them.

Pure. What must stay true: the client's messages go on as they came, with all their fields; memory is added to a system
message of its own, recalled passages to what the user said; no other message or role is added, unless the client has no
system message at all. Where an interface wants the user to begin, the first message is one of the user's.

What goes upstream for a request: the view of its story, or as much of the client's own list as there is room for.

What must stay true: what the user asked last is shown, however long an agent has worked since; a call is never shown
without its results; where an interface wants the user to begin, the message that began the first turn shown is shown
too. A view that cannot be made is no view: the client's list is cut, and the turn goes on.
"""

from __future__ import annotations

import json
import logging
import time
from collections import OrderedDict
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, TypeVar

from previously.app import Memory
from previously.core.errors import BudgetTooSmall
from previously.core.messages import Message, Role, Text, ToolResult
from previously.core.pairing import find_units
from previously.core.tokens import ESTIMATE, message_tokens
from previously.folds.conversation.pins import find_newest_request
from previously.recognition.client_list import ClientList, ClientMessage
from previously.recognition.commands import find_command_messages
from previously.recognition.undo_postprocessing import split_single_text
from previously.runtime.follow_client import ClientPlace
from previously.server.chat_request import ChatRequest
from previously.story.story import Story
from previously.view.turn import remove_turn_memory
from previously.view.view import Furniture, Section, View
from previously.wire.interface import CHAT, Interface, Raw

ALWAYS_IN_FRONT = 2**30
"""As the depth of a note: more messages than any tail has."""


def make_furniture(
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


def compose_messages(
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
    begins = next((at for at in range(first, len(raws)) if is_turn_start(dialect.parse_raw(raws[at]).message)), first)
    return [*raws[:first], *raws[begins:]]


def is_turn_start(message: Message) -> bool:
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
    said = remove_turn_memory(message.text)
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


def choose_messages(
    messages: Sequence[Message], tokens: Sequence[int], budget_tokens: int, *, begins_with_user: bool = False
) -> list[int]:
    """Which messages of a client's list are sent when there is no memory to be had: its first system messages, what was
    asked last, and behind that as many of the newest as there is room for; no call without its results, and no result
    without its call. The newest stay in any case."""
    leading = next((at for at, one in enumerate(messages) if one.role is not Role.SYSTEM), len(messages))
    rest = [set(range(unit.start + leading, unit.stop + leading)) for unit in find_units(messages[leading:])]
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
    return set(next(([one] for one in found if is_turn_start(messages[one])), []))


log = logging.getLogger("previously.server")

Key = TypeVar("Key")
Value = TypeVar("Value")

HANDLE_S, MOST_HANDLES = 5.0, 512
"""How long and for how many stories what was read of their settings is used again."""

ANSWER_TOKENS = 1_024
"""How much of the window is left for an answer where the client does not say."""

RESERVE = 32
"""One part in so many of a window is left free: what is estimated may be a little too low."""

MOST_TRIES = 3
"""How often a view is made again because what it must show was not shown."""


@dataclass(frozen=True, slots=True)
class Shown:
    """A view, and the list that goes upstream for it."""

    view: View
    messages: list[Raw]
    afterwards: Callable[[], Coroutine[Any, Any, None]]
    """What is to be done once it is on its way."""


class Showing:
    """Makes what goes upstream."""

    def __init__(self, memory_of: Callable[[str], Memory]) -> None:
        self._memory_of = memory_of
        self._stories: OrderedDict[tuple[str, str], tuple[Story, int | None, float]] = OrderedDict()
        self._kept: OrderedDict[tuple[str, str], frozenset[int]] = OrderedDict()
        """For each story the positions of what had to be kept before the tail of the last view."""

    async def story(self, owner: str, name: str, window: int | None = None) -> Story:
        """A story by its name, to be read by a model with such a window. A handle is used for a while: what was set
        meanwhile by others counts a little later."""
        now = time.monotonic()
        kept = self._stories.get((owner, name))
        if kept and kept[1] == window and now - kept[2] < HANDLE_S:
            return kept[0]
        story = await self._memory_of(owner).story(name, create=False, window_tokens=window)
        _remember(self._stories, (owner, name), (story, window, now))
        return story

    async def is_agents(self, owner: str, name: str) -> None:
        """A new story is an agent's, since its client sends tools: it has the preset, unless one was chosen."""
        memory = self._memory_of(owner)
        if not memory.has_set("preset"):
            await (await memory.story(name, create=False)).set(["preset=agent"])

    async def of_story(
        self, story: Story, owner: str, asked: ChatRequest, place: ClientPlace, budget: int, *, recalled: bool = True
    ) -> Shown | None:
        """The view of a story; None if there is no room for one. Without `recalled`, what the user said stays as it
        is."""
        names = asked.heard.names
        speaker = names.character or "" if len(names.members) > 1 else ""
        known = self._kept.get((owner, place.name), frozenset())
        needed = [piece for at, piece in _at_positions(place) if at in known]
        try:
            for _ in range(MOST_TRIES):
                kept, furniture = needed, _furniture(asked, place, needed)
                view, afterwards = await story.view_at_once(budget, furniture=furniture, speaker=speaker)
                needed = _needed(view, place, asked)
                if [piece.index for piece in needed] == [piece.index for piece in kept]:
                    break
        except BudgetTooSmall as error:
            log.warning("A turn goes on without memory: %s", error)
            return None
        positions = frozenset(at for at, piece in _at_positions(place) if piece in kept)
        _remember(self._kept, (owner, place.name), positions)
        messages = compose_messages(view, place, asked.heard, asked.messages, asked.dialect, kept, recalled=recalled)
        return Shown(view, messages, afterwards)

    async def beside(self, owner: str, asked: ChatRequest, place: ClientPlace | None, budget: int) -> list[Raw]:
        """For a request beside a story: the story's view where it shows what is known, else as much of the client's
        list as there is room for."""
        if place:
            story = await self.story(owner, place.name)
            with suppress(BudgetTooSmall):
                view = await story.view(budget, furniture=_furniture(asked, place), aside=True)
                return compose_messages(view, place, asked.heard, asked.messages, asked.dialect)
        return cut_client_list(asked, budget)


def find_budget(asked: ChatRequest, window_tokens: int) -> int:
    """How much of a window there is for what goes upstream."""
    answer = min(asked.answer_tokens or ANSWER_TOKENS, window_tokens // 2)
    return window_tokens - answer - window_tokens // RESERVE


def cut_client_list(asked: ChatRequest, budget: int) -> list[Raw]:
    """As much of the client's list as there is room for."""
    ours = find_command_messages([draft.message for draft in asked.drafts])
    theirs = [at for at in range(len(asked.messages)) if at not in ours]
    messages = [asked.drafts[at].message for at in theirs]
    tokens = [message_tokens(message, ESTIMATE) for message in messages]
    room = budget - ESTIMATE.tokens(write_tools(asked))
    kept = choose_messages(messages, tokens, room, begins_with_user=asked.dialect.begins_with_user)
    return [asked.messages[theirs[at]] for at in kept]


def count_sent_tokens(asked: ChatRequest, raws: Sequence[Raw]) -> int:
    """What a list costs, by estimate, with the client's tools."""
    messages = (asked.dialect.parse_raw(raw).message for raw in raws)
    return ESTIMATE.tokens(write_tools(asked)) + sum(message_tokens(message, ESTIMATE) for message in messages)


def write_tools(asked: ChatRequest) -> str:
    """The schemas of the client's tools as they are sent."""
    return json.dumps(asked.body["tools"], ensure_ascii=False) if asked.body.get("tools") else ""


def _furniture(asked: ChatRequest, place: ClientPlace, kept: Sequence[ClientMessage] = ()) -> Furniture:
    return make_furniture(place, asked.heard, write_tools(asked), kept)


def _at_positions(place: ClientPlace) -> list[tuple[int, ClientMessage]]:
    return list(zip(place.positions, place.pieces, strict=True))


def _needed(view: View, place: ClientPlace, asked: ChatRequest) -> list[ClientMessage]:
    """The messages of the story that a view must show and its tail does not: what was asked last, with the call whose
    results it came with, and, where the user must begin, the message that began the first turn in it."""
    if asked.heard.is_single:
        return []
    shown = {item.sources[0].first for item in view.items if item.section is Section.TAIL}
    pieces = [piece.message for piece in place.pieces]
    request = find_newest_request(pieces)
    together = next((unit for unit in find_units(pieces) if request in unit), range(0))
    needed = set() if request is None or place.positions[request] in shown else set(together)
    if asked.dialect.begins_with_user:
        seen = [at for at, position in enumerate(place.positions) if position in shown or at in needed]
        if seen and not is_turn_start(pieces[seen[0]]):
            needed |= set([at for at in range(seen[0]) if is_turn_start(pieces[at])][-1:])
    return [place.pieces[at] for at in sorted(needed)]


def _remember(known: OrderedDict[Key, Value], key: Key, value: Value) -> None:
    known[key] = value
    known.move_to_end(key)
    if len(known) > MOST_HANDLES:
        known.popitem(last=False)
