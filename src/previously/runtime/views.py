"""Making views: reading what a view is made of, and going on with the epoch before it.

All that a view is made of is of one moment, and is read once. What was recalled for a turn stays for the whole turn, as
long as it may be shown.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from previously.core.messages import Role
from previously.core.path import OPENING_MESSAGES, OnPath, find_opening, find_position, find_spans
from previously.core.snapshot import KeptRecipe, Snapshot, before, read_newest
from previously.core.tokens import Counter, message_tokens
from previously.lore.index import StoryLore
from previously.lore.placement import order_by_place
from previously.memory.known import KnownState, is_told_all
from previously.memory.notes import resolve_tail
from previously.runtime.search import compute_recall_ceiling, read_recalled, recall_for_turn
from previously.runtime.story_moment import StoryMoment
from previously.runtime.view_lore import LoreTurn, render_entry_line, scan_turn
from previously.runtime.view_memory import list_facts, list_known, list_shared, read_earlier_texts, read_texts
from previously.runtime.view_recipes import (
    EarlierView,
    MadeView,
    find_earlier_view,
    find_newest_recipe,
    is_same_view,
    render_terms,
)
from previously.view.agent import leave_out_outputs
from previously.view.build import Material, ViewRequest, build_view, fills_room
from previously.view.epoch import Epoch
from previously.view.memory import Remembered
from previously.view.recipe import Recipe, count_unchanged_tokens, digest_messages, write_recipe
from previously.view.turn import MARKS_TOKENS, LoreShown, Recalled, add_turn_memory, render_block
from previously.view.view import Section, View

MOST_LOOKED_AT = 1_024
"""Messages in which an agent's request is looked for where no view before tells its place: a long day's calls."""

KNOWN_SECTIONS = frozenset({Section.WISHES, Section.THREADS, Section.STATE, Section.LORE})
"""The sections that tell what is known."""


MOST_READ = 2_048
"""Messages that are read for somebody who may have witnessed nothing for a long time: some days of play."""


@dataclass(frozen=True, slots=True)
class _Read:
    """The material of a view, and the lore that its turn may bring up."""

    material: Material
    known: KnownState | None
    lore: StoryLore | None
    """None where the view has no room for lore."""

    @property
    def turn(self) -> OnPath | None:
        """The newest user message, as far as it was read."""
        return _find_newest_user([*self.material.requests, *self.material.newest])


@dataclass(frozen=True, slots=True)
class _Stable:
    """A view before anything is recalled for its turn, and what it was made of."""

    earlier: EarlierView
    read: _Read
    kept: Sequence[Recalled]
    """Passages that were recalled earlier in the same turn."""
    view: View
    epoch: Epoch
    counter: Counter

    @property
    def is_same_turn(self) -> bool:
        """Return whether the view before was of this turn too."""
        return _is_same_turn(self.earlier, self.read.turn)


def make_view(moment: StoryMoment, asked: ViewRequest, at: str) -> MadeView:
    """Return the view of the branch, and how it was made at that time."""
    stable = _build_stable(moment, asked)
    read = stable.read
    if not read.material.newest:
        return MadeView(stable.view)
    counted = replace(asked, counter=stable.counter)
    if stable.is_same_turn:
        recalled = [passage for passage in stable.kept if passage.span.first not in _list_shown(stable.view)]
        lore = _choose_lore(
            moment, read, stable.view, counted, stable.earlier.recipe.lore if stable.earlier.recipe else ()
        )
    else:
        lore = _choose_lore(moment, read, stable.view, counted)
        recalled = _recall(moment, read, stable.view, counted, lore)
    view = add_turn_memory(stable.view, recalled, read.turn, stable.counter, lore, mark=asked.mark)
    return _with_recipe(moment.snapshot, asked, stable, view, recalled, lore, at)


def is_pressed(moment: StoryMoment, asked: ViewRequest) -> bool:
    """Return whether that view has no room for a message outside the tail, or soon will not; nothing is recalled for
    it."""
    return _build_stable(moment, asked).view.fold_due


def make_view_before(moment: StoryMoment, asked: ViewRequest, position: int) -> View:
    """Return the view as it would have been before a message."""
    now = moment.snapshot.messages
    earlier = replace(
        moment, snapshot=before(moment.snapshot, now if position == now else find_position(now, position))
    )
    read = _read(earlier, asked, EarlierView())
    view, _ = build_view(read.material, asked)
    if read.turn:
        lore = _choose_lore(earlier, read, view, asked)
        recalled = _recall(earlier, read, view, asked, lore)
        view = add_turn_memory(view, recalled, read.turn, asked.counter, lore, mark=asked.mark)
    return replace(view, epoch="", fold_due=False)


def _build_stable(moment: StoryMoment, asked: ViewRequest) -> _Stable:
    """Return the view but for recall. While an epoch goes on, there must be room for what was recalled earlier in this
    turn; when a new one begins, messages come first, and another way of counting may."""
    earlier = find_earlier_view(moment.snapshot, asked)
    read = _read(moment, asked, earlier)
    kept: Sequence[Recalled] = ()
    lore: Sequence[LoreShown] = ()
    if earlier.recipe and _is_same_turn(earlier, read.turn):
        lore = earlier.recipe.lore
        if asked.recall_tokens:
            kept = read_recalled(moment.snapshot, earlier.recipe.recalled, asked.reader, dated=asked.dated)
    counter = earlier.counter or asked.counter
    held_tokens = counter.tokens(render_block(asked.mark, kept, lore)) if kept or lore else 0
    counted = replace(asked, counter=counter, held_tokens=held_tokens)
    view, epoch = build_view(read.material, counted, earlier.epoch, earlier.ended)
    if view.epoch and counter.name != asked.counter.name:
        counter = asked.counter
        view, epoch = build_view(read.material, asked, None, view.epoch)
    return _Stable(earlier, read, kept, view, epoch, counter)


def _with_recipe(
    snapshot: Snapshot,
    asked: ViewRequest,
    stable: _Stable,
    view: View,
    recalled: Sequence[Recalled],
    lore: Sequence[LoreShown],
    at: str,
) -> MadeView:
    """Return the view with its recipe, and with what both say of the view before. A view that was given before at this
    very place gets the same answer."""
    earlier, material, epoch = stable.earlier, stable.read.material, stable.epoch
    recipe = _make_recipe(view, epoch, asked, stable.read, recalled, lore)
    newest = material.newest[-1]
    last = find_newest_recipe(snapshot, str(asked.reader), newest)
    same = last
    if not is_same_view(last, recipe):
        is_here = earlier.position == newest.position and is_same_view(earlier.recipe, recipe)
        same = earlier.recipe if is_here else None
    if same:
        recipe = replace(recipe, began=same.began, unchanged_tokens=same.unchanged_tokens)
    elif earlier.recipe:
        opening = [item.entry.message.text for item in material.opening if asked.reader.witnessed(item)]
        unchanged = count_unchanged_tokens(view, recipe, earlier.recipe, opening, stable.counter)
        recipe = replace(recipe, unchanged_tokens=unchanged)
    view = replace(view, epoch=recipe.began, unchanged_tokens=recipe.unchanged_tokens)
    if same is not None and same is last:
        return MadeView(view)  # its recipe is the newest there is
    front = snapshot.path(epoch.first - 1, epoch.first - 1) if epoch.first else []
    body, text = write_recipe(recipe)
    node = front[0].node if front else 0
    kept = KeptRecipe(str(asked.reader), render_terms(asked), newest.node, newest.position, node, text, body, at)
    return MadeView(view, kept, newest.hash)


def _read(moment: StoryMoment, asked: ViewRequest, earlier: EarlierView) -> _Read:
    """Read what the view can be made of; from where the epoch before begins on all messages, and more if memory tells
    of less."""
    snapshot, reader, counter = moment.snapshot, asked.reader, asked.counter
    rules = resolve_tail(snapshot, moment.rules)
    tail = rules.recap.tail_messages
    wanted = Section.EPISODES in reader.sections - asked.without and fills_room(asked)
    memories = read_earlier_texts(moment.find_earlier(), asked)
    memories += read_texts(snapshot, rules, asked.budget_tokens, episodes=wanted)
    known, lore, lists = _read_known(moment, asked)
    memories += lists
    if Section.SHARED in reader.sections - asked.without:
        memories += list_shared(moment, reader)
    all_witnessed = reader.presence is None or is_told_all(snapshot, reader.name, reader.presence)
    shown = [memory.span.last for memory in memories if memory.span and memory.section in reader.sections]
    remembered = max(shown, default=-1) if all_witnessed else -1
    front = snapshot.path(0, OPENING_MESSAGES - 1)
    unfolded = max(0, min(remembered + 1, snapshot.messages - tail))

    begin = min(earlier.epoch.first, unfolded) if earlier.epoch else unfolded

    def count_tokens(item: OnPath) -> int:
        if not reader.witnessed(item) or item.entry.attributes.hidden:
            return 0
        # What no memory tells is shown to an agent with notes for its outputs, if need be.
        noted = asked.for_agent and item.position >= unfolded
        return message_tokens(leave_out_outputs(item.entry.message) if noted else item.entry.message, counter)

    if fills_room(asked):  # older messages may fill what is left of the budget; hidden ones would be read for nothing
        begin = max(0, min(begin, snapshot.messages - MOST_READ))
    most = MOST_READ if reader.name else snapshot.messages
    newest = read_newest(snapshot, begin, asked.budget_tokens, count_tokens, most)
    if asked.for_agent:
        newest = [item for item in newest if item.position >= asked.shown_from]
    requests = _read_requests(snapshot, newest, earlier) if asked.for_agent else ()
    has_lore = bool(lore and lore.index.entries)
    material = Material(
        snapshot.messages, find_opening(front), memories, newest, tail, all_witnessed, has_lore, requests
    )
    return _Read(material, known, lore)


def _read_known(
    moment: StoryMoment, asked: ViewRequest
) -> tuple[KnownState | None, StoryLore | None, list[Remembered]]:
    """Read what is known to the reader, once: for the lists of the view, and for the lore that a turn brings up."""
    reader = asked.reader
    tells_cast = bool(reader.name) and Section.CAST in reader.sections
    lists_known = bool(reader.sections & KNOWN_SECTIONS)
    if not tells_cast and not lists_known and not asked.lore_tokens:
        return None, None, []
    presence = reader.presence or (moment.read_presence() if reader.name else None)
    known = moment.read_known(reader.name, presence)
    items: list[Remembered] = []
    lists_lore = Section.LORE in reader.sections
    lore = moment.read_lore(known, reader.name) if lists_lore or asked.lore_tokens else None
    if lists_known:
        items += list_known(known, lore if lists_lore else None, moment.rules, moment.snapshot.messages)
    if tells_cast and presence:
        facts = moment.known_reader.read_facts(moment.snapshot, known, reader.name, presence)
        listed = () if Section.LORE in asked.without else items
        items = [*list_facts(facts, reader, listed), *items]
    return known, lore if asked.lore_tokens else None, items


def _find_newest_user(items: Sequence[OnPath]) -> OnPath | None:
    return next((item for item in reversed(items) if item.entry.message.role is Role.USER), None)


def _read_requests(snapshot: Snapshot, newest: Sequence[OnPath], earlier: EarlierView) -> list[OnPath]:
    """Return what users said before these newest messages that an agent is shown all the same: the newest request, and
    the one that an epoch holds."""
    first = newest[0].position if newest else snapshot.messages
    kept = earlier.epoch.held if earlier.epoch else None
    requests = snapshot.path(kept, kept) if kept is not None and kept < first else []
    if _find_newest_user(newest) is None:
        turn = earlier.recipe.turn_position if earlier.recipe else -1
        since = turn if 0 <= turn < first else max(0, first - MOST_LOOKED_AT)
        until = turn if 0 <= turn < first else first - 1
        last = _find_newest_user(snapshot.path(since, until)) if first else None
        requests += [last] if last and last.position != kept else []
    return requests


def _choose_lore(
    moment: StoryMoment, read: _Read, view: View, asked: ViewRequest, earlier: Sequence[LoreShown] | None = None
) -> Sequence[LoreShown]:
    """Return what a turn brings up for its own memory; nothing if the reader is not shown what the user said. What it
    brought up earlier stays, unless a person has changed it since."""
    shown, turn, lore, known = _list_shown(view), read.turn, read.lore, read.known
    if turn is None or turn.position not in shown or lore is None or known is None or not lore.index.entries:
        return ()
    free = view.budget_tokens - view.tokens
    # What is free is shared: with all of it for lore, which comes first, nothing was recalled in views of 4,000 tokens.
    room = min(asked.lore_tokens, free // 2 if asked.recall_tokens else free) - MARKS_TOKENS
    # What is always told is told elsewhere.
    room += sum(asked.counter.tokens(render_entry_line(entry)) for entry in lore.constants)
    seen = [item for item in read.material.newest if item.position in shown and item.position <= turn.position]
    given = LoreTurn(
        seen, turn.node, turn.position + 1, asked.lore_depth, max(0, room), asked.reader.name, asked.triggers
    )
    scan = scan_turn(moment, lore, given, asked.counter, str(asked.reader))
    fired = [
        match.entry
        for match in order_by_place(scan.fired)
        if not match.entry.stands_always and not match.entry.is_in(asked.outlets)
    ]
    entries = lore.index.entries
    if earlier is not None and any(line.uid in entries and entries[line.uid].is_in(asked.outlets) for line in earlier):
        earlier = None  # what stands in an outlet by now is not told twice
    if earlier is not None and any(line.uid in entries and entries[line.uid].triggers for line in earlier):
        earlier = None  # what was for one kind of answer need not be for this one
    if earlier is not None and asked.reader.name:  # what they knew at the turn's beginning they may not know any more
        still = all(line.uid in entries and entries[line.uid].content == line.text for line in earlier)
        earlier = earlier if still else None
    if earlier is not None and not lore.is_overtaken({line.uid: line.text for line in earlier}, fired, known.by_people):
        return earlier
    reasons = {match.entry.uid: match.reason for match in scan.fired}
    return [LoreShown(entry.uid, entry.name, entry.content, reasons[entry.uid]) for entry in fired]


def _recall(
    moment: StoryMoment, read: _Read, view: View, asked: ViewRequest, lore: Sequence[LoreShown]
) -> list[Recalled]:
    """Return what is found again for this turn; nothing if the reader is not shown what the user said."""
    shown, turn, length = _list_shown(view), read.turn, read.material.path_length
    if turn is None or turn.position not in shown or not asked.recall_tokens or len(shown) == length:
        return []
    marks, taken = (asked.counter.tokens(render_block(asked.mark, (), beside)) for beside in ((), lore))
    most = asked.recall_tokens if asked.for_agent else compute_recall_ceiling(asked.recall_tokens)
    room = min(most - marks, view.budget_tokens - view.tokens - taken)
    seen = [item for item in read.material.newest if item.position in shown]
    return recall_for_turn(moment, seen, turn, asked.reader, room, asked.counter, length, dated=asked.dated)


def _is_same_turn(earlier: EarlierView, turn: OnPath | None) -> bool:
    return earlier.recipe is not None and turn is not None and earlier.recipe.turn_position == turn.position


def _list_shown(view: View) -> set[int]:
    return set(view.tail_positions)


def _make_recipe(
    view: View, epoch: Epoch, asked: ViewRequest, read: _Read, recalled: Sequence[Recalled], lore: Sequence[LoreShown]
) -> Recipe:
    reasons = {item.reason for item in view.items if item.section is Section.LORE}
    put_in = {item.sources[0] for item in view.items if item.section is Section.RECALL}
    return Recipe(
        epoch,
        read.turn.position if read.turn else -1,
        tuple(find_spans(sorted(_list_shown(view)))),
        tuple(passage for passage in recalled if passage.span in put_in),
        asked.budget_tokens,
        digest_messages(view.messages),
        asked.furniture,
        began=view.epoch,
        tail_messages=read.material.tail_messages,
        dated=asked.dated,
        mark=asked.mark if view.parts.turn_memory else "",
        lore=tuple(line for line in lore if line.item_reason in reasons),
        in_outlets=asked.in_outlets,
    )
