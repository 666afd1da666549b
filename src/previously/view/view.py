"""The view: the exact messages a model will see, each item with its reason and cost, and what was left out and why.

Every position of the path is accounted for: it is shown, or covered by memory that is shown, or listed in `left_out`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from previously.core.errors import BadInput
from previously.core.messages import Message
from previously.core.spans import Span


class Section(StrEnum):
    """The parts a view is made of, in their order."""

    SYSTEM = "system"
    PINS = "pins"
    BACKBONE = "backbone"
    CHAPTERS = "chapters"
    RECAP = "recap"
    TAIL = "tail"


MEMORY_SECTIONS = frozenset({Section.PINS, Section.BACKBONE, Section.CHAPTERS, Section.RECAP})
"""Those that can be left out of a view."""


def memory_sections(names: Iterable[str]) -> frozenset[Section]:
    """The sections of these names; `BadInput` for one that is none."""
    found = set()
    for name in names:
        if name not in MEMORY_SECTIONS:
            known = ", ".join(section.value for section in Section if section in MEMORY_SECTIONS)
            raise BadInput(f"There is no section {name!r} of memory; there are {known}.")
        found.add(Section(name))
    return frozenset(found)


class Reason(StrEnum):
    """Why something is not in a view."""

    BUDGET = "budget"
    WAITING = "waits to be folded"
    HIDDEN = "hidden"
    EXCLUDED = "excluded"
    HALF_A_PAIR = "its tool call or result is not in the view"


@dataclass(frozen=True, slots=True)
class Item:
    """Something that is in the view, what it costs, why it is there and which messages it stands for."""

    section: Section
    tokens: int
    reason: str
    sources: tuple[Span, ...]


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Something that is not in the view."""

    what: str
    reason: Reason
    span: Span | None = None
    """The messages concerned; None where it is memory, not messages, that was cut."""


@dataclass(frozen=True, slots=True)
class View:
    """What the model will see."""

    budget_tokens: int
    tokens: int
    """What `messages` cost by the estimate; never more than the budget."""
    messages: tuple[Message, ...]
    items: tuple[Item, ...]
    left_out: tuple[LeftOut, ...]
    fold_due: bool
    """A message outside the tail had to be left out for want of room: folding would bring it back."""
