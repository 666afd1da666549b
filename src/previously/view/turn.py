"""Memory for one turn: lore that it brings up and passages recalled for it, inside the newest user message.

It stands between two marks, as data, before what the user said: no message and no role is added, and all before that
message stays as it was. The marks hold letters that are drawn once for each story, so no text can end the block early
or look like one: what is shown in it is what was said, to the last character, and what a user writes is never taken for
it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from previously.core.messages import Text
from previously.core.path import OnPath, Span
from previously.core.tokens import Counter, message_tokens
from previously.view.render import put_before, render_messages
from previously.view.view import Item, Section, TurnMemory, View

INTRODUCTION = "From earlier in this story, for reference:"
BLOCK_BEGIN = "<recalled "
"""The beginning of every block, whatever its mark."""

MARK_LETTERS = 10
"""Letters of a story's mark: 47 bits. All the messages that a request can hold would guess it once in ten million
times."""

MARKS_TOKENS = 40
"""The most that the marks around passages cost, by any counter."""


@dataclass(frozen=True, slots=True)
class Recalled:
    """A passage that was found again, in words that say who said it, when and where in the story."""

    span: Span
    text: str
    score: float
    reason: str


@dataclass(frozen=True, slots=True)
class LoreShown:
    """An entry of lore that a turn brings up."""

    uid: str
    name: str
    text: str
    reason: str

    @property
    def item_reason(self) -> str:
        """Why it is in the view, with its name."""
        return f"{self.name}: {self.reason}"


def render_block(mark: str, passages: Sequence[Recalled], lore: Sequence[LoreShown] = ()) -> str:
    """Return entries, then passages in the order of the story, between the marks."""
    opening, closing = _write_marks(mark)
    said = [passage.text for passage in sorted(passages, key=lambda passage: passage.span)]
    texts = map(render_text, (*map(render_lore, lore), *said))
    return "\n".join([opening, INTRODUCTION, *texts, closing]) + "\n\n"


def render_text(text: str) -> str:
    """Return an entry or a passage as it stands between the marks: only its first line stands at the front."""
    return "  ".join(text.splitlines(keepends=True))


def render_lore(lore: LoreShown) -> str:
    """Return an entry as it stands in a view."""
    return f"About {' '.join(lore.name.split())}: {lore.text.strip()}"


def remove_echoes(text: str, mark: str) -> str:
    """Return a text without the blocks with that mark, which a model or a client repeats, wherever they stand in it.
    One that does not end reaches to the end. Whatever looks like a block and has another mark is somebody's words."""
    opening, closing = _write_marks(mark)
    if not mark or opening not in text:
        return text
    return re.sub(rf"{re.escape(opening)}\r?\n.*?(?:{re.escape(closing)}\s*|\Z)", "", text, flags=re.DOTALL)


def _write_marks(mark: str) -> tuple[str, str]:
    """Return what stands before a block and behind it. Stories that were shown before there were marks have none."""
    name = f"recalled {mark}" if mark else "recalled"
    return f"<{name}>", f"</{name}>"


def add_turn_memory(
    view: View,
    passages: Sequence[Recalled],
    turn: OnPath | None,
    counter: Counter,
    lore: Sequence[LoreShown] = (),
    *,
    mark: str = "",
) -> View:
    """Return the view with this lore and as many of these passages, the best first, as it has room for, in what the
    user said. Where there is not even room for the lore, its first entries give way. A message of which the view shows
    only a part bears none."""
    shown = next((item for item in view.parts.tail if turn and item.position == turn.position), None)
    if turn is None or shown is None or shown.entry.message != turn.entry.message:
        return view
    said = turn.entry.message
    if not any(isinstance(part, Text) for part in said.parts):
        return view
    kept, entries = list(passages), list(lore)
    while kept or entries:
        memory = TurnMemory(turn.position, render_block(mark, kept, entries))
        cost = message_tokens(put_before(said, memory.text), counter) - message_tokens(said, counter)
        if view.tokens + cost <= view.budget_tokens:
            parts = replace(view.parts, turn_memory=memory)
            return replace(
                view,
                tokens=view.tokens + cost,
                volatile_tokens=cost,
                messages=render_messages(parts),
                items=(*view.items, *_list_items(kept, entries, cost, counter)),
                parts=parts,
            )
        if kept:
            kept.pop()
        else:
            entries.pop(0)
    return view


def _list_items(passages: Sequence[Recalled], lore: Sequence[LoreShown], cost: int, counter: Counter) -> list[Item]:
    """Return each entry and passage with what it costs; the last also bears the marks around them all."""
    items = [Item(Section.LORE, counter.tokens(render_lore(entry)), entry.item_reason, ()) for entry in lore]
    items += [
        Item(Section.RECALL, counter.tokens(passage.text), passage.reason, (passage.span,), passage.score)
        for passage in passages
    ]
    for number, item in enumerate(items, 1):
        tokens = min(cost, item.tokens) if number < len(items) else cost
        items[number - 1] = replace(item, tokens=tokens)
        cost -= tokens
    return items
