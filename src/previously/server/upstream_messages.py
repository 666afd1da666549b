"""The messages that go upstream: a story's view, in the client's own words wherever the client has sent them.

The client's messages go on as they came, with all their fields. Stable memory is added to a system message of the
client's, this turn's memory to what the user said; no other message or role is added, unless the client has no system
message at all. The newest request is always shown, however long an agent has worked since; a call is never shown
without its results; where an interface wants the user to begin, the first message is one of the user's. Where no view
can be made, the client's list is cut, and the turn goes on.
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
from previously.core.patterns import lazy_pattern
from previously.core.tokens import ESTIMATE, message_tokens
from previously.folds.conversation.pins import find_newest_request, find_rules
from previously.recognition.client_list import ClientMessage
from previously.recognition.client_marks import find_project
from previously.recognition.commands import find_command_messages
from previously.recognition.undo_postprocessing import split_single_text
from previously.runtime.find_story import ClientPlace
from previously.server.chat_request import ChatRequest
from previously.story.story import Story
from previously.view.render import PlacedMessage, ViewPart, place_messages
from previously.view.view import Furniture, View
from previously.wire.interface import Interface, Raw

log: logging.Logger = logging.getLogger("previously.server")

Key = TypeVar("Key")
Value = TypeVar("Value")

_PIN_FORM = lazy_pattern(r"\s*[#<]")
"""The beginning of a heading or of a block."""

ALWAYS_IN_FRONT = 2**30
"""As the depth of a note: more messages than any tail has."""

HANDLE_S, MOST_HANDLES = 5.0, 512
"""Seconds for which a story's settings are used again without being read: a person who changes them waits no longer
than that. And for how many stories, since each handle holds its settings and its token counts."""

ANSWER_TOKENS = 1_024
"""The part of the window that is left for an answer where the client does not say: a long reply of a chat."""

MOST_ANSWER, MOST_WORK = 2, 8
"""One part in so many of a window is the most that is left for an answer: of a chat; of an agent, which asks for as
much as its model can ever write and mostly writes a call or a few lines. An eighth of 32,000 tokens is a file of
12 KB."""

RESERVE = 32
"""One part in so many of a window is left free: what is estimated may be a little too low."""

NEWEST = 8
"""Messages among which the newest request nearly always is; only then are all of a long list looked at."""

MOST_TRIES = 3
"""The most often that a view is made because a message that it must show was not shown. What is held takes room, so the
tail may lose another one; more than twice was never seen."""


@dataclass(frozen=True, slots=True)
class UpstreamView:
    """A view, and the list that goes upstream for it."""

    view: View
    messages: list[Raw]
    afterwards: Callable[[], Coroutine[Any, Any, None]]
    """To be run once the list is on its way."""


class UpstreamViews:
    """Makes the views of stories as they go upstream."""

    def __init__(self, memory_of: Callable[[str], Memory]) -> None:
        self._memory_of = memory_of
        self._stories: OrderedDict[tuple[str, str], tuple[Story, int | None, float]] = OrderedDict()
        self._agents: OrderedDict[tuple[str, str], None] = OrderedDict()
        """Stories whose preset was looked at, since their clients call tools."""
        self._kept: OrderedDict[tuple[str, str], frozenset[int]] = OrderedDict()
        """For each story the positions of the messages that had to be kept before the tail of the last view."""

    async def open_story(self, owner: str, name: str, window: int | None = None) -> Story:
        """Return a story by its name, to be read by a model with such a window."""
        now = time.monotonic()
        kept = self._stories.get((owner, name))
        if kept and kept[1] == window and now - kept[2] < HANDLE_S:
            return kept[0]
        story = await self._memory_of(owner).story(name, create=False, window_tokens=window)
        _remember(self._stories, (owner, name), (story, window, now))
        return story

    def forget_settings(self, owner: str, name: str) -> None:
        """Read the settings of a story anew with its next turn, since they were changed."""
        self._stories.pop((owner, name), None)

    async def set_agent_preset(self, owner: str, name: str) -> None:
        """Give a story whose client calls tools the preset of agents, unless one was chosen."""
        if (owner, name) in self._agents:
            return
        memory = self._memory_of(owner)
        story = await memory.story(name, create=False)
        if not memory.has_set("preset") and "preset" not in await story.settings():
            await story.set(["preset=agent"])
            self.forget_settings(owner, name)
        _remember(self._agents, (owner, name), None)

    async def make_view(
        self, story: Story, owner: str, request: ChatRequest, place: ClientPlace, budget: int, *, recalled: bool = True
    ) -> UpstreamView:
        """Return the view of a story; `BudgetTooSmall` if there is no room for one. Without `recalled`, what the user
        said stays as it is."""
        names = request.client_list.names
        speaker = names.character or "" if len(names.members) > 1 else ""
        known = self._kept.get((owner, place.name), frozenset())
        needed = [number for number, position in enumerate(place.positions) if position in known]
        for _ in range(MOST_TRIES):
            kept, furniture = needed, make_furniture(request, place, needed)
            view, afterwards = await story.view_at_once(
                budget,
                furniture=furniture,
                speaker=speaker,
                shown_from=min(place.positions, default=0),
                triggers=place.triggers,
            )
            needed = _find_needed(view, place, request)
            if needed == kept:
                break
        _remember(self._kept, (owner, place.name), frozenset(place.positions[number] for number in kept))
        return UpstreamView(view, compose_messages(view, request, place, kept, recalled=recalled), afterwards)

    async def make_view_beside(
        self, owner: str, request: ChatRequest, place: ClientPlace | None, window: int | None, budget: int
    ) -> list[Raw]:
        """Return the messages for a request beside a story: the story's view where the list shows what is known, else
        as much of the client's list as there is room for in a window that is known."""
        if place:
            story = await self.open_story(owner, place.name)
            if story.folding == "off" and not request.folding:
                return list_client_messages(request)
            with suppress(BudgetTooSmall):
                view = await story.view(budget, furniture=make_furniture(request, place), aside=True)
                return compose_messages(view, request, place)
        return fit_client_list(request, window, budget)


def find_budget(request: ChatRequest, window_tokens: int) -> int:
    """Return how much of a window there is for what goes upstream."""
    answer = min(request.answer_tokens or ANSWER_TOKENS, window_tokens // find_answer_share(request))
    return window_tokens - answer - window_tokens // RESERVE


def find_answer_share(request: ChatRequest) -> int:
    """Return the part of a window, one in so many, that an answer is left at most."""
    return MOST_WORK if request.body.get("tools") else MOST_ANSWER


def fit_client_list(request: ChatRequest, window_tokens: int | None, budget: int) -> list[Raw]:
    """Return the client's list as it came, or cut where the window is known and too small for it."""
    as_it_came = list_client_messages(request)
    if window_tokens is None:
        return as_it_came
    fits = count_sent_tokens(request, as_it_came) <= window_tokens - window_tokens // RESERVE
    return as_it_came if fits else cut_client_list(request, budget)


def list_client_messages(request: ChatRequest) -> list[Raw]:
    """Return the client's list as it came, without commands to memory and their answers."""
    return [request.messages[at] for at in _list_theirs(request)]


def cut_client_list(request: ChatRequest, budget: int) -> list[Raw]:
    """Return as much of the client's list as there is room for."""
    theirs = _list_theirs(request)
    messages = [request.drafts[at].message for at in theirs]
    room = budget - ESTIMATE.tokens(write_tools(request))

    def count(at: int) -> int:
        return message_tokens(messages[at], ESTIMATE)

    kept = choose_messages(messages, count, room, begins_with_user=request.interface.begins_with_user)
    return [request.messages[theirs[at]] for at in kept]


def _list_theirs(request: ChatRequest) -> list[int]:
    """Return the places of all messages but commands to memory and their answers."""
    ours = find_command_messages([draft.message for draft in request.drafts])
    return [at for at in range(len(request.messages)) if at not in ours]


def count_sent_tokens(request: ChatRequest, raws: Sequence[Raw]) -> int:
    """Return what a list costs, by estimate, with the client's tools."""
    messages = (request.interface.parse_raw(raw).message for raw in raws)
    return ESTIMATE.tokens(write_tools(request)) + sum(message_tokens(message, ESTIMATE) for message in messages)


def write_tools(request: ChatRequest) -> str:
    """Return the schemas of the client's tools as they are sent."""
    return json.dumps(request.body["tools"], ensure_ascii=False) if request.body.get("tools") else ""


def make_furniture(request: ChatRequest, place: ClientPlace, kept: Sequence[int] = ()) -> Furniture:
    """Return what of the client's list is not the story; and `kept`, the numbers of messages of the story that stand
    before its tail, whatever that begins with."""
    client_list, tools = request.client_list, write_tools(request)
    notes = tuple((depth, piece.message) for depth, piece in _list_notes(request, place, kept))
    if client_list.is_single:
        front = Message(Role.SYSTEM, (Text(split_single_text(client_list.body[0].message.text)[0]),))
        return Furniture((front,), notes, tools)
    return Furniture(tuple(piece.message for piece in client_list.front), notes, tools)


def _list_notes(request: ChatRequest, place: ClientPlace, kept: Sequence[int]) -> list[tuple[int, ClientMessage]]:
    """Return the notes of the furniture, each with its depth: those between the messages of the story, the messages
    that are kept before the tail, and what stands behind the story."""
    behind = [(0, piece) for piece in (*request.client_list.behind, *place.prefill.pieces)]
    if request.client_list.is_single:
        return behind
    before = [(ALWAYS_IN_FRONT - at, place.pieces[number]) for at, number in enumerate(kept)]
    return [*place.notes, *before, *behind]


def compose_messages(
    view: View, request: ChatRequest, place: ClientPlace, kept: Sequence[int] = (), *, recalled: bool = True
) -> list[Raw]:
    """Return the messages of a view, each as the client sent it where it did. `kept` are those that its furniture was
    made with; without `recalled` nothing is added to what the user said."""
    client_list, sent, interface = request.client_list, request.messages, request.interface
    if client_list.is_single:
        return [_compose_single(view, request, place)]
    notes = _list_notes(request, place, kept)
    pieces = dict(zip(place.positions, place.pieces, strict=True))
    turn = view.parts.turn_memory if recalled else None
    composed = _compose_front(view, request)
    written: set[int] = set()
    for placed in place_messages(view.parts):
        piece: ClientMessage | None
        match placed.part:
            case ViewPart.SYSTEM:
                continue
            case ViewPart.FRONT:
                piece = client_list.front[placed.index]
            case ViewPart.NOTE:
                piece = notes[placed.index][1]
            case ViewPart.TAIL:
                piece = pieces.get(placed.index)
        if piece is None:
            composed += interface.write_raws(placed.message)
        elif piece.index not in written:
            written.add(piece.index)
            raw = sent[piece.index]
            if placed.part is ViewPart.TAIL and _shows_less(placed, piece):
                composed += interface.rewrite_raw(raw, placed.message)
            elif turn and placed.position == turn.position:
                composed.append(_put_before(raw, turn.text, interface))
            else:
                composed.append(raw)
    return _begin_with_user(composed, interface) if interface.begins_with_user else composed


def _compose_single(view: View, request: ChatRequest, place: ClientPlace) -> Raw:
    """Return a list that is one text, with memory behind the mark that the chat begins, and as much of the history as
    the view shows."""
    client_list = request.client_list
    raw = request.messages[client_list.body[0].index]
    memory = "\n\n".join([*view.parts.opening, *view.parts.memory]).strip("\n")
    if not memory and view.parts.turn_memory is None and list(place.positions) == view.tail_positions:
        return raw
    lines = []
    for placed in place_messages(view.parts):
        message = placed.message
        name = message.speaker or (client_list.names.user if message.role is Role.USER else client_list.names.character)
        if message.role is not Role.SYSTEM:
            lines.append(f"{name}: {message.text}" if name and placed.part is ViewPart.TAIL else message.text)
    front = view.parts.furniture.system_texts
    return {**raw, "content": "\n\n".join(part for part in (*front, memory, *lines) if part)}


def _compose_front(view: View, request: ChatRequest) -> list[Raw]:
    """Return the client's system messages, with memory at the end of the last that is not somebody's words."""
    leading = [piece for piece in request.client_list.front if piece.message.role is Role.SYSTEM]
    raws = [request.messages[piece.index] for piece in leading]
    memory = "\n\n".join([*view.parts.opening, *view.parts.memory])
    if leading:
        memory = memory.lstrip("\n")
    if not memory:
        return raws
    at = next((at for at in range(len(raws) - 1, -1, -1) if "name" not in raws[at]), None)
    if at is None:
        return [*raws, {"role": "system", "content": memory}]
    content = raws[at].get("content")
    if isinstance(content, list):
        raws[at] = {**raws[at], "content": [*content, request.interface.write_text_part(memory)]}
    else:
        raws[at] = {**raws[at], "content": f"{content}\n\n{memory}" if content else memory}
    return raws


def _shows_less(placed: PlacedMessage, piece: ClientMessage) -> bool:
    """Return whether the view shows less of the outputs of tools than the client sent."""
    shown, sent = (
        [part.text for part in message.parts if isinstance(part, ToolResult)]
        for message in (placed.message, piece.message)
    )
    return shown != sent


def _put_before(raw: Raw, block: str, interface: Interface) -> Raw:
    """Return what the client sent with this turn's memory before it; results of calls stay in front."""
    content = raw.get("content")
    if isinstance(content, list):
        at = next((at for at, part in enumerate(content) if not _is_result(part)), len(content))
        return {**raw, "content": [*content[:at], interface.write_text_part(block.rstrip("\n")), *content[at:]]}
    return {**raw, "content": block + str(content or "")}


def _is_result(part: object) -> bool:
    return isinstance(part, dict) and part.get("type") == "tool_result"


def _begin_with_user(raws: list[Raw], interface: Interface) -> list[Raw]:
    """Return the list without what stands before the first words of the user, where that can be."""
    first = next((at for at, raw in enumerate(raws) if raw.get("role") != "system"), len(raws))
    begins = next((at for at in range(first, len(raws)) if is_turn_start(interface.parse_raw(raws[at]).message)), first)
    return [*raws[:first], *raws[begins:]]


def is_turn_start(message: Message) -> bool:
    """Return whether a message is the user's and answers no call."""
    return message.role is Role.USER and not any(isinstance(part, ToolResult) for part in message.parts)


def _find_needed(view: View, place: ClientPlace, request: ChatRequest) -> list[int]:
    """Return the numbers of the messages of the story that a view must show and its tail does not: rules, the newest
    request, with the call whose results it came with, and, where the user must begin, the message that began the first
    turn in it."""
    if request.client_list.is_single:
        return []
    shown = set(view.tail_positions)
    messages = [piece.message for piece in place.pieces]
    needed = {number for number in _find_pinned(messages) if place.positions[number] not in shown}
    newest = messages[-NEWEST:]
    at = None if request.interface.begins_with_user else find_newest_request(newest)
    if at is not None and place.positions[at - len(newest)] in shown:
        return sorted(needed)
    asked = find_newest_request(messages)
    if asked is not None and place.positions[asked] not in shown:
        needed |= set(next((unit for unit in find_units(messages) if asked in unit), ()))
    if request.interface.begins_with_user:
        seen = [number for number, position in enumerate(place.positions) if position in shown or number in needed]
        if seen and not is_turn_start(messages[seen[0]]):
            needed |= set([number for number in range(seen[0]) if is_turn_start(messages[number])][-1:])
    return sorted(needed)


def _find_pinned(messages: Sequence[Message]) -> list[int]:
    """Return the numbers of the messages that are shown as long as the client sends them: the newest rules of each
    kind, and the system message in which it tells the folder it works in."""
    marked = [number for number, message in enumerate(messages) if _may_be_pinned(message)]
    rules = find_rules([messages[number] for number in marked])
    told = [number for number in marked if messages[number].role is Role.SYSTEM]
    return sorted({*(marked[at] for at in rules), *told[-1:]})


def _may_be_pinned(message: Message) -> bool:
    """Return whether a message begins as blocks and headings do, or tells a folder."""
    if message.role is Role.SYSTEM:
        return find_project(message.text) is not None
    if message.role is not Role.USER:
        return False
    return any(isinstance(part, Text) and _PIN_FORM.match(part.text) for part in message.parts)


def choose_messages(
    messages: Sequence[Message], count: Callable[[int], int], budget_tokens: int, *, begins_with_user: bool = False
) -> list[int]:
    """Return which messages of a client's list are sent when there is no memory to be had: its first system messages,
    its rules, the newest request, and behind that as many of the newest as there is room for; no call without its
    results, and no result without its call. The newest stay in any case. `count` tells what the message at a place
    takes."""
    leading = next((at for at, message in enumerate(messages) if message.role is not Role.SYSTEM), len(messages))
    rest = [set(range(unit.start + leading, unit.stop + leading)) for unit in find_units(messages[leading:])]
    asked = find_newest_request(messages)
    kept: set[int] = set().union(*rest[-1:], *(unit for unit in rest if asked in unit), _find_pinned(messages))
    kept -= set(range(leading))
    if begins_with_user:
        kept |= _find_turn_start(messages, min(kept, default=leading), leading)
        rest = [unit | _find_turn_start(messages, min(unit), leading) for unit in rest]
    room = budget_tokens - sum(map(count, range(leading))) - sum(map(count, kept))
    for unit in reversed(rest):
        room -= sum(map(count, unit - kept))
        if room < 0:
            break
        kept |= unit
    return [*range(leading), *sorted(kept)]


def _find_turn_start(messages: Sequence[Message], at: int, leading: int) -> set[int]:
    """Return where the user began the turn of a message."""
    before = range(min(at, len(messages) - 1), leading - 1, -1)
    return set(next(([index] for index in before if is_turn_start(messages[index])), []))


def _remember(known: OrderedDict[Key, Value], key: Key, value: Value) -> None:
    known[key] = value
    known.move_to_end(key)
    if len(known) > MOST_HANDLES:
        known.popitem(last=False)
