"""Build a view: furniture, the opening and memory in one system message, then the newest messages as they were said.

The fixed parts are the furniture, the opening, the pins and the newest message that is not hidden; a budget that cannot
hold them is refused. What remains is shared among the sections when an epoch begins, and what is free then goes to
episodes and older messages; as long as it goes on, only the tail grows. The same material, question and epoch give the
same view.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from previously.core.budgets import allot, scale_row
from previously.core.errors import BudgetTooSmall
from previously.core.messages import Role, ToolResult
from previously.core.path import OnPath
from previously.core.quote_lines import keep_lines_before
from previously.core.tokens import ESTIMATE, Counter
from previously.view import account, tail
from previously.view.account import SystemCost, ViewPath
from previously.view.agent import (
    GROWTH_PERCENT,
    WHOLE,
    Trim,
    fill_with_outputs,
    find_repeated_outputs,
    list_costs,
    plan_trim,
    trim_outputs,
)
from previously.view.choose_memory import (
    Beside,
    PastRoom,
    can_stand_beside,
    choose_layers,
    choose_lines,
    drop_shorter_backbones,
)
from previously.view.epoch import (
    FIRST_VIEW,
    NO_ROOM,
    OUTGROWN,
    Epoch,
    digest_hand_written,
    digest_memories,
    find_end_reason,
)
from previously.view.memory import Remembered, count_block_tokens, count_section_tokens, fit_memories, render_sections
from previously.view.reader import (
    CHAT,
    LISTED,
    SHARES,
    TIMELINE,
    VERBATIM_TOKENS,
    Reader,
    find_lore_ceiling,
    plan_shares,
    reserve_turn_tokens,
)
from previously.view.render import count_system_tokens, render_messages
from previously.view.view import NO_FURNITURE, Furniture, LeftOut, Reason, Section, View, ViewParts

FILLINGS = 3
"""Rounds in which room that quotations gave up is filled again: after the third a line or two is left."""

GROWTH_SHARE = 5
"""A fifth of the budget stays free where an epoch follows another, for the tail to grow before the front has to change:
about nine turns at 8,000 tokens. With less the front changes too often, with more the room stays empty
(`docs/decisions/0024`)."""


@dataclass(frozen=True, slots=True)
class Material:
    """All that a view can be made of. `newest` ends with the path and goes back at least as far as the budget
    reaches."""

    path_length: int
    opening: Sequence[OnPath]
    memories: Sequence[Remembered]
    """All that could be told: each chapter, a backbone for each at which it can end, episodes, the recap, lists."""
    newest: Sequence[OnPath]
    """The newest messages, as far back as the budget reaches; in path order."""
    tail_messages: int
    all_witnessed: bool = True
    """True if the reader may know of every message of the path."""
    has_lore: bool = True
    """True if the turn may bring up any lore."""
    requests: Sequence[OnPath] = ()
    """For an agent: what users said before `newest` that may be shown all the same."""


@dataclass(frozen=True, slots=True)
class ViewRequest:
    """The view that is wanted."""

    budget_tokens: int
    reader: Reader = CHAT
    without: frozenset[Section] = frozenset()
    furniture: Furniture = NO_FURNITURE
    counter: Counter = ESTIMATE
    tail_percent: int = 60
    """The tail's ceiling: beyond it, new memory is taken up."""
    recall_percent: int = 15
    """The share of recalled passages."""
    lore_percent: int = 0
    """The share of lore that the turn brings up."""
    lore_depth: int = 4
    """In how many of the newest messages keys are looked for."""
    triggers: frozenset[str] = frozenset({"normal"})
    """The kinds of answers that it is for, by the names that entries of lore have for them."""
    outlets: frozenset[str] = frozenset()
    """The outlets that its furniture fills: what lore has for them stands there, and nowhere else."""
    in_outlets: tuple[str, ...] = ()
    """The entries that stand there, by uid: they are told, however little room the view has for lore of its own."""
    for_agent: bool = False
    """True if an agent at work reads it: old tool outputs give way first, and the newest request is always shown."""
    dated: bool = False
    """True if passages say when they were written: by the chat's clock."""
    mark: str = ""
    """Letters of the story that its memory of a turn is marked with, so that no text can pass for it."""
    shown_from: int = 0
    """For an agent: messages before this position, which its client has left out, are told by memory alone."""
    held_tokens: int = 0
    """The cost of passages that were recalled earlier in this turn: while the epoch goes on there must be room for them
    too."""

    @property
    def recall_tokens(self) -> int:
        """The most that recalled passages may take, if the reader is shown any."""
        shown = Section.RECALL in self.reader.sections - self.without
        return self.budget_tokens * self.recall_percent // 100 if shown else 0

    @property
    def lore_tokens(self) -> int:
        """The most that lore may take, if the reader is shown any."""
        shown = Section.LORE in self.reader.sections - self.without
        return min(self.budget_tokens * self.lore_percent // 100, find_lore_ceiling(self.budget_tokens)) if shown else 0

    @property
    def ceiling_tokens(self) -> int:
        return self.budget_tokens * self.tail_percent // 100


def fills_room(request: ViewRequest) -> bool:
    """Return whether free room is filled with older messages: not for those who see so many turns and no more."""
    return not request.reader.turns and request.reader.shares == SHARES


def build_view(
    material: Material, asked: ViewRequest, epoch: Epoch | None = None, ended: str = FIRST_VIEW
) -> tuple[View, Epoch]:
    """Return the view, and the epoch it belongs to: the one given if it can go on, else a new one. `ended` says why
    there is none to go on with. `BudgetTooSmall` says how much would do."""
    builder = _Builder(material, asked)
    if epoch is not None:
        view = builder.show(epoch)
        left_out = view.left_out if view else ()
        ended = find_end_reason(epoch, builder.memories, left_out, guarded=builder.guarded) or builder.outgrown(
            epoch, view
        )
        if view and not ended:
            return view, epoch
        ended = ended or NO_ROOM
    new = builder.begin(ended)
    view = builder.show(new, begins=True)
    assert view is not None, "an epoch begins with what there is room for"
    return replace(view, epoch=ended), new


def rebuild_view(material: Material, asked: ViewRequest, epoch: Epoch) -> View | None:
    """Return the view of this material in an epoch, whatever has come since; None if there is no room for it."""
    return _Builder(material, asked).show(epoch)


class _Builder:
    """Builds one view: what all its steps share."""

    def __init__(self, material: Material, asked: ViewRequest) -> None:
        self.asked, self.reader, self.counter = asked, asked.reader, asked.counter
        self.length, self.tail_messages = material.path_length, material.tail_messages
        self.has_lore = material.has_lore
        self.opening = [item for item in material.opening if self.knows(item)]
        allowed = self.reader.sections
        self.guarded = bool(self.reader.name) and not material.all_witnessed
        if self.guarded:
            allowed = allowed & LISTED  # of which only what they witnessed is given
        self.told_of = bool(allowed & TIMELINE)
        self.memories = [one for one in material.memories if one.section in allowed - asked.without]
        self.withheld = [
            (one.span, Reason.EXCLUDED if one.section in asked.without else Reason.NOT_READ)
            for one in drop_shorter_backbones(material.memories)
            if one.section not in allowed - asked.without and one.span
        ]
        begins = {item.position for item in self.opening}
        self.newest = [item for item in material.newest if item.position not in begins]
        self._units: dict[tuple[int, Trim], list[list[OnPath]]] = {}
        self.trim = plan_trim(asked.budget_tokens) if asked.for_agent else WHOLE
        said = [*material.requests, *self.newest] if asked.for_agent else []
        self.requests = {item.position: item for item in said if self._is_request(item)}
        self.fresh_first = max((memory.span.last + 1 for memory in self.memories if memory.span), default=0)
        self.texts = [*asked.furniture.system_texts, *(item.entry.message.text for item in self.opening)]
        self.furniture_tokens = asked.furniture.tokens(self.counter) + self.counter.request_overhead_tokens
        self.request = self.requests[max(self.requests)] if self.requests else None
        self.fixed = self._fixed_tokens(self.trim)
        if self.fixed > asked.budget_tokens:
            raise BudgetTooSmall(asked.budget_tokens, self._needed_tokens(self.fixed))
        newest = self.units_from(0, self.trim)[-1:]
        if self.request and newest and self.request.position >= newest[0][0].position:
            self.request = None  # it is shown in any case
        self.request_tokens = tail.count_tokens([self.request], self.counter) if self.request else 0
        self.scale = max(1, asked.budget_tokens - self.furniture_tokens - self.count_system_tokens(()))
        lore = asked.lore_tokens if self.has_lore else 0
        # It stands in what a user said: in prose that nobody asks about its room would stay empty.
        asks = any(item.entry.message.role is Role.USER for item in material.newest)
        self.volatile = reserve_turn_tokens(self.scale, asked.recall_tokens, lore) if asks else 0

    def knows(self, item: OnPath) -> bool:
        """Return whether the reader may know of a message. Everything here that asks for it asks here."""
        return self.reader.witnessed(item)

    def _fixed_tokens(self, trim: Trim) -> int:
        """Count pins, furniture, the newest unit and an agent's request."""
        pins = [memory for memory in self.memories if memory.section is Section.PINS]
        shown = [item for unit in self.units_from(0, trim)[-1:] for item in unit]
        if self.request and (not shown or self.request.position < shown[0].position):
            shown.insert(0, self.request)
        return self.count_system_tokens(pins) + self.furniture_tokens + tail.count_tokens(shown, self.counter)

    def _needed_tokens(self, needed: int) -> int:
        """Return the budget that would do: in a larger one, more of an output is shown."""
        while self.asked.for_agent and (more := self._fixed_tokens(plan_trim(needed))) > needed:
            needed = more
        return needed

    def count_system_tokens(self, memories: Sequence[Remembered]) -> int:
        return count_system_tokens([*self.texts, *render_sections(memories)], self.counter)

    def _is_request(self, item: OnPath) -> bool:
        said = item.entry.message
        shown = self.knows(item) and not item.entry.attributes.hidden
        answers = any(isinstance(part, ToolResult) for part in said.parts)  # and would need its call beside it
        return shown and said.role is Role.USER and bool(said.text) and not answers

    def units_from(self, first: int, trim: Trim) -> list[list[OnPath]]:
        """Return the units of the newest messages that can be shown to this reader, from a position on."""
        known = self._units.get((first, trim))
        if known is None:
            items = trim_outputs([item for item in self.newest if item.position >= first], trim, self.counter)
            if self.reader.turns:
                items = list(tail.take_newest_turns(items, self.reader.turns))
            shown = (item for item in items if not item.entry.attributes.hidden and self.knows(item))
            known = self._units[first, trim] = tail.group_units(shown)
        return known

    def shown_from(self, first: int, trim: Trim) -> list[OnPath]:
        return [item for unit in self.units_from(first, trim) for item in unit]

    def begin(self, ended: str) -> Epoch:
        """Return a new epoch of the memory there is now, its sections sharing the budget. `ended` says why the one
        before could not go on: where it had no room, a tail that leaves next to none to grow is cut by more than it
        must."""
        asked, counter = self.asked, self.counter
        least = min(self.fresh_first, max(0, self.length - self.tail_messages))
        if asked.for_agent and fills_room(asked):
            return self._begin_work(least)
        trim = self.trim
        units = self.units_from(least, trim)
        shown = [item for unit in units for item in unit]
        needed = tail.count_tokens(shown, counter)
        growth = 0
        if ended != FIRST_VIEW:  # whoever goes on needs room for the tail to grow
            growth = asked.budget_tokens // GROWTH_SHARE
        floor = self._floor(least, trim, needed) if ended == FIRST_VIEW and fills_room(asked) else needed
        chosen, memories, cut = self._shared(self._lines(shown), units, floor, growth)
        room = self._room(memories)
        kept = shown
        stepwise = ended == NO_ROOM
        # A tail that leaves less than an eighth of the room would be cut again within a turn or two.
        if needed > room or (stepwise and needed > room * 7 // 8):
            cut_to = tail.cut_whole_turns if stepwise else tail.fill_tail
            kept = cut_to(units, room - self.volatile, counter)
        first = kept[0].position if kept and len(kept) < len(shown) else self.first_of(shown)
        digest, written = digest_memories(self.memories), digest_hand_written(self.memories)
        pinned = self.request.position if self.request and self.request.position < first else None
        begins = Epoch(first, tuple(memories), tuple(cut), digest, written, counter.name, trim, pinned)
        if len(kept) < len(shown) or not fills_room(asked):
            return begins
        free = max(self.volatile, growth)  # what is recalled now and then may take room that the tail has not reached
        return self._filled(begins, chosen, room - needed - free, floor - needed)

    def _begin_work(self, least: int) -> Epoch:
        """Return a new epoch for an agent: its tail has all the room that memory leaves, but for some to grow."""
        asked, counter = self.asked, self.counter
        newest = self.units_from(0, self.trim)[-1:]
        once = replace(self.trim, repeated=find_repeated_outputs(self.newest))
        trim = replace(once, whole_from=newest[0][0].position if newest else 0)
        units = self.units_from(least, trim)
        shown = [item for unit in units for item in unit]
        needed = tail.count_tokens(shown, counter)
        growth = asked.budget_tokens * GROWTH_PERCENT // 100
        _, memories, cut = self._shared(self._lines(shown), units, needed, growth)
        free = max(growth, self.volatile)
        room = min(self._room(memories), asked.ceiling_tokens + free)
        begins = first = self.first_of(shown)
        fitting = next((all_of for all_of in (WHOLE, self.trim) if self._fits(all_of, room - self.volatile)), None)
        if fitting is not None:
            trim, first = fitting, min(begins, self.newest[0].position)
        elif needed > room - free:
            kept = tail.fill_tail(units, room - free, counter)
            begins = first = kept[0].position if kept else begins
        else:
            whole = self.units_from(0, once)
            costs = [list_costs(some, whole, counter) for some in (units, self.units_before(begins, trim))]
            trim, filled = fill_with_outputs(once, costs[0], costs[1], room - free)
            first = min(begins, filled)
        digest, written = digest_memories(self.memories), digest_hand_written(self.memories)
        pinned = self.request.position if self.request and self.request.position < first else None
        older = begins if first < begins else None
        return Epoch(first, tuple(memories), tuple(cut), digest, written, counter.name, trim, pinned, older)

    def _fits(self, trim: Trim, room: int) -> bool:
        """Return whether there is room for every message with as much of the outputs."""
        return tail.count_tokens(self.shown_from(0, trim), self.counter) <= room and bool(self.newest)

    def _floor(self, first: int, trim: Trim, needed: int) -> int:
        """Count what the tail wants where older messages, which memory tells too, bring it to its floor."""
        older = tail.count_tokens((item for unit in self.units_before(first, trim) for item in unit), self.counter)
        return max(needed, min(needed + older, scale_row(self.scale, VERBATIM_TOKENS)))

    def _room(self, memories: Sequence[Remembered]) -> int:
        """Count what is left for messages."""
        fixed = self.furniture_tokens + self.request_tokens
        return self.asked.budget_tokens - self.count_system_tokens(memories) - fixed

    def _lines(self, shown: Sequence[OnPath]) -> list[Remembered]:
        """Return the memories but for lines of lists for which a view of this tail has no use."""
        recaps = [one for one in self.memories if one.section is Section.RECAP and not one.weak]
        said = "\n".join(item.entry.message.text for item in shown)
        beside = Beside(self.scale, "\n\n".join(one.text for one in recaps), said)
        return choose_lines(self.memories, beside, self.counter)

    def _shared(
        self, memories: Sequence[Remembered], units: Sequence[Sequence[OnPath]], needed: int, growth: int
    ) -> tuple[list[Remembered], list[Remembered], list[LeftOut]]:
        """Return which of these memories would be told beside a tail that needs so much, those there is room for, and
        what gave way."""
        counter, newest = self.counter, tail.count_tokens(units[-1], self.counter) if units else 0
        strong = any(one.section in (Section.RECAP, Section.BRIEF) and not one.weak for one in memories)
        wants = {**count_section_tokens(drop_shorter_backbones(memories), counter), Section.TAIL: needed}
        shares = plan_shares(self.reader.shares, wants, weak=not strong)
        spare = max(newest, self.asked.budget_tokens - self.fixed + newest - self.volatile)
        while True:
            limits = allot(spare, self.scale, wants, shares, growth)
            del limits[Section.TAIL]
            room = limits.get(Section.CHAPTERS, 0) + limits.get(Section.BACKBONE, 0)
            least = min(room, scale_row(self.scale, shares[Section.BACKBONE].due))
            chosen = choose_layers(memories, PastRoom(room, least), counter)
            chosen = [one for one in chosen if one.beside is None or can_stand_beside(one, chosen)]
            backbone = min(least, count_block_tokens(Section.BACKBONE, chosen, counter))
            limits[Section.CHAPTERS] = min(room - backbone, count_block_tokens(Section.CHAPTERS, chosen, counter))
            limits[Section.BACKBONE] = room - limits[Section.CHAPTERS]
            kept, cut = fit_memories(chosen, limits, counter, len(self.opening))
            over = newest - self._room(kept)
            if over <= 0:
                return chosen, kept, cut
            # The newest may be longer than the tail's share, and texts cost more together than each alone.
            spare = max(0, spare - over)

    def _filled(self, begins: Epoch, chosen: Sequence[Remembered], free: int, least: int) -> Epoch:
        """Return an epoch with as much more as there is free room for: so many tokens of older messages, then episodes,
        then more older messages. What is shown word for word need not be told by an episode or quoted too, which makes
        room for more."""
        units = self.units_before(begins.first, begins.trim)
        older = tail.take_newest_units(units, min(free, least), self.counter)
        first = older[0].position if older else begins.first
        with_episodes = self._with_episodes(
            begins.memories, chosen, first, free - tail.count_tokens(older, self.counter)
        )
        free -= self.count_system_tokens(with_episodes) - self.count_system_tokens(begins.memories)
        filled = replace(begins, memories=tuple(with_episodes))
        for _ in range(FILLINGS):
            spared = self.count_system_tokens(with_episodes) - self.count_system_tokens(filled.memories)
            older = tail.take_newest_units(units, free + spared, self.counter)
            first = older[0].position if older else begins.first
            memories = tuple(_drop_shown_lines(one, first) for one in with_episodes if not _is_shown(one, first))
            filled = replace(begins, first=first, tail=begins.first if older else None, memories=memories)
        return filled

    def _with_episodes(
        self, memories: Sequence[Remembered], chosen: Sequence[Remembered], first: int, free: int
    ) -> list[Remembered]:
        """Return the memories with as many more of the episodes chosen as there is free room for, the newest first."""
        most = self.count_system_tokens(memories) + free
        kept = {one for one in memories if one.beside}
        shown = list(memories)
        for episode in reversed([one for one in chosen if one.beside and not _is_shown(one, first)]):
            if episode in kept:
                continue
            more = [one for one in chosen if one in kept or one is episode]
            told_more = [*(one for one in memories if not one.beside), *more]
            if self.count_system_tokens(told_more) > most:
                break
            kept.add(episode)
            shown = told_more
        return shown

    def units_before(self, end: int, trim: Trim) -> list[list[OnPath]]:
        """Return the units that begin before a position. One that reaches beyond it is shown as soon as an older one
        is, so it has to fit as well: results whose call stands before the tail."""
        return [unit for unit in self.units_from(0, trim) if unit[0].position < end]

    def first_of(self, shown: Sequence[OnPath]) -> int:
        """Return where a tail begins in which all that can be shown is shown; what cannot is part of it."""
        if self.reader.turns:
            return shown[0].position if shown else self.length
        least = min(self.fresh_first, max(0, self.length - self.tail_messages))
        return max(least, self.newest[0].position) if self.newest else self.length

    def show(self, epoch: Epoch, *, begins: bool = False) -> View | None:
        """Return the view in this epoch; None if there is no room for it, and for what is held if it goes on."""
        asked, counter = self.asked, self.counter
        path = ViewPath(
            self.length,
            self.opening,
            [item for item in self.newest if item.position >= epoch.first],
            self.tail_messages,
        )
        kept = self.shown_from(epoch.first, epoch.trim)
        if epoch.held is not None and epoch.held in self.requests and epoch.held < epoch.first:
            kept.insert(0, self.requests[epoch.held])
        remembered = self.count_system_tokens(epoch.memories)
        tokens = remembered + self.furniture_tokens + tail.count_tokens(kept, counter)
        if tokens + (0 if begins else asked.held_tokens) > asked.budget_tokens:
            return None
        missing = account.list_left_out(path, self.reader, epoch.memories, epoch.cut, kept, self.withheld, self.knows)
        fronts = [count_system_tokens(texts, counter) for texts in (asked.furniture.system_texts, self.texts)]
        costs = SystemCost(self.furniture_tokens + fronts[0], fronts[1] - fronts[0], remembered - fronts[1])
        items = account.list_items(path, epoch.memories, costs, kept, counter)
        opening = tuple(item.entry.message.text for item in self.opening)
        parts = ViewParts(asked.furniture, opening, tuple(render_sections(epoch.memories)), tuple(kept))
        return View(
            budget_tokens=asked.budget_tokens,
            tokens=tokens,
            messages=render_messages(parts),
            items=tuple(items),
            left_out=(*account.list_cut(path, epoch.cut, kept), *missing),
            fold_due=self._fold_due(path, missing, tail.count_tokens(_take_since(kept, epoch.tail_first), counter)),
            reader=str(self.reader),
            counter=counter.name,
            parts=parts,
        )

    def outgrown(self, epoch: Epoch, view: View | None) -> str:
        """Return why the tail of an epoch has become too long: over its ceiling, and memory has caught up; or there is
        no room."""
        if view is None:
            return NO_ROOM
        ceiling = self.asked.ceiling_tokens
        kept = tail.count_tokens(self.shown_from(epoch.tail_first, epoch.trim), self.counter)
        if kept <= ceiling:
            return ""
        fresh_first = min(self.fresh_first, self.length - self.tail_messages)
        if self.asked.for_agent and fills_room(self.asked):
            new = self._begin_work(max(0, fresh_first))
            left = tail.count_tokens(self.shown_from(new.tail_first, new.trim), self.counter)
            return OUTGROWN if left <= kept - self.asked.budget_tokens * GROWTH_PERCENT // 100 else ""
        fresh = self.shown_from(max(epoch.tail_first, fresh_first), epoch.trim)
        return OUTGROWN if tail.count_tokens(fresh, self.counter) <= ceiling // 2 else ""

    def _fold_due(self, path: ViewPath, missing: Sequence[LeftOut], tail_tokens: int) -> bool:
        if not self.told_of:
            return False  # no fold would show this reader any more
        lost = (one.span for one in missing if one.reason in (Reason.BUDGET, Reason.WAITING))
        if any(span is not None and span.first < path.outside_tail for span in lost):
            return True
        return tail_tokens > self.asked.ceiling_tokens and self.fresh_first < path.outside_tail


def _is_shown(memory: Remembered, first: int) -> bool:
    """Return whether all that an episode tells is shown word for word."""
    return memory.beside is not None and memory.beside.first >= first


def _drop_shown_lines(memory: Remembered, first: int) -> Remembered:
    """Return a memory without the lines that quote messages from a position on, which are shown themselves."""
    if memory.origin:
        return memory  # its lines quote messages of another story
    text = keep_lines_before(memory.text, first)
    return replace(memory, text=text, reason=memory.reason if text or not memory.text else account.SHOWN_IN_TAIL)


def _take_since(items: Sequence[OnPath], first: int) -> list[OnPath]:
    return [item for item in items if item.position >= first]
