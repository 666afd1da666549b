"""What goes upstream for a request: the view of its story, or as much of the client's own list as there is room for.

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
from previously.core.pairing import units
from previously.core.tokens import ESTIMATE, message_tokens
from previously.folds.conversation.pins import find_newest_request
from previously.recognition.client_list import ClientMessage
from previously.recognition.commands import find_command_messages
from previously.runtime.follow_client import ClientPlace
from previously.runtime.story import Story
from previously.server.asked import AskedChat
from previously.server.composing import begins_a_turn, compose, cut_to_fit, furniture_of
from previously.view.furniture import Furniture
from previously.view.view import Section, View
from previously.wire.interface import Raw

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
        self, story: Story, owner: str, asked: AskedChat, place: ClientPlace, budget: int, *, recalled: bool = True
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
        messages = compose(view, place, asked.heard, asked.messages, asked.dialect, kept, recalled=recalled)
        return Shown(view, messages, afterwards)

    async def beside(self, owner: str, asked: AskedChat, place: ClientPlace | None, budget: int) -> list[Raw]:
        """For a request beside a story: the story's view where it shows what is known, else as much of the client's
        list as there is room for."""
        if place:
            story = await self.story(owner, place.name)
            with suppress(BudgetTooSmall):
                view = await story.view(budget, furniture=_furniture(asked, place), aside=True)
                return compose(view, place, asked.heard, asked.messages, asked.dialect)
        return without_memory(asked, budget)


def budget_of(asked: AskedChat, window_tokens: int) -> int:
    """How much of a window there is for what goes upstream."""
    answer = min(asked.answer_tokens or ANSWER_TOKENS, window_tokens // 2)
    return window_tokens - answer - window_tokens // RESERVE


def without_memory(asked: AskedChat, budget: int) -> list[Raw]:
    """As much of the client's list as there is room for."""
    ours = find_command_messages([draft.message for draft in asked.drafts])
    theirs = [at for at in range(len(asked.messages)) if at not in ours]
    messages = [asked.drafts[at].message for at in theirs]
    tokens = [message_tokens(message, ESTIMATE) for message in messages]
    room = budget - ESTIMATE.tokens(tools_of(asked))
    kept = cut_to_fit(messages, tokens, room, begins_with_user=asked.dialect.begins_with_user)
    return [asked.messages[theirs[at]] for at in kept]


def sent_tokens(asked: AskedChat, raws: Sequence[Raw]) -> int:
    """What a list costs, by estimate, with the client's tools."""
    messages = (asked.dialect.parse_raw(raw).message for raw in raws)
    return ESTIMATE.tokens(tools_of(asked)) + sum(message_tokens(message, ESTIMATE) for message in messages)


def tools_of(asked: AskedChat) -> str:
    """The schemas of the client's tools as they are sent."""
    return json.dumps(asked.body["tools"], ensure_ascii=False) if asked.body.get("tools") else ""


def _furniture(asked: AskedChat, place: ClientPlace, kept: Sequence[ClientMessage] = ()) -> Furniture:
    return furniture_of(place, asked.heard, tools_of(asked), kept)


def _at_positions(place: ClientPlace) -> list[tuple[int, ClientMessage]]:
    return list(zip(place.positions, place.pieces, strict=True))


def _needed(view: View, place: ClientPlace, asked: AskedChat) -> list[ClientMessage]:
    """The messages of the story that a view must show and its tail does not: what was asked last, with the call whose
    results it came with, and, where the user must begin, the message that began the first turn in it."""
    if asked.heard.is_single:
        return []
    shown = {item.sources[0].first for item in view.items if item.section is Section.TAIL}
    pieces = [piece.message for piece in place.pieces]
    request = find_newest_request(pieces)
    together = next((unit for unit in units(pieces) if request in unit), range(0))
    needed = set() if request is None or place.positions[request] in shown else set(together)
    if asked.dialect.begins_with_user:
        seen = [at for at, position in enumerate(place.positions) if position in shown or at in needed]
        if seen and not begins_a_turn(pieces[seen[0]]):
            needed |= set([at for at in range(seen[0]) if begins_a_turn(pieces[at])][-1:])
    return [place.pieces[at] for at in sorted(needed)]


def _remember(known: OrderedDict[Key, Value], key: Key, value: Value) -> None:
    known[key] = value
    known.move_to_end(key)
    if len(known) > MOST_HANDLES:
        known.popitem(last=False)
