"""The view: the exact messages a model will see, each item with its reason and cost, and what was left out and why.

Every position of the path is accounted for: it is shown, or covered by memory that is shown, or listed in `left_out`.

Furniture: what a client sends that is not the story, and where it stands in a view.

Its first system messages come before everything in the one system message; the rest of its front follows that message;
notes stand so many messages from the end. What must stay true: it is never cut, and no note comes between a tool call
and its results.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import takewhile

from previously.core.errors import BadInput
from previously.core.messages import Message, Role, ToolResult
from previously.core.path import Span
from previously.core.tokens import Counter, message_tokens


class Section(StrEnum):
    """The parts a view is made of, in their order."""

    FURNITURE = "furniture"
    SYSTEM = "system"
    PINS = "pins"
    WISHES = "wishes"
    BACKBONE = "backbone"
    CHAPTERS = "chapters"
    EPISODES = "episodes"
    RECAP = "recap"
    BRIEF = "brief"
    THREADS = "threads"
    STATE = "state"
    CAST = "cast"
    LORE = "lore"
    TAIL = "tail"
    RECALL = "recall"


MEMORY_SECTIONS = frozenset(Section) - {Section.FURNITURE, Section.SYSTEM, Section.TAIL}
"""Those that can be left out of a view."""


def parse_sections(names: Iterable[str]) -> frozenset[Section]:
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
    CUT = "cut from memory that had grown too long"
    HIDDEN = "hidden"
    EXCLUDED = "excluded"
    HALF_A_PAIR = "its tool call or result is not in the view"
    UNWITNESSED = "not witnessed by this reader"
    NOT_READ = "not what this reader is shown"


@dataclass(frozen=True, slots=True)
class Item:
    """Something that is in the view, what it costs, why it is there and which messages it stands for."""

    section: Section
    tokens: int
    reason: str
    sources: tuple[Span, ...]
    score: float | None = None
    """How well a recalled passage fits; None for all else."""


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Something that is not in the view."""

    what: str
    reason: Reason
    span: Span | None = None
    """The messages concerned; None where it is memory, not messages, that was cut."""


@dataclass(frozen=True, slots=True)
class Report:
    """A view in figures."""

    reader: str
    counter: str
    """What counted the tokens."""
    sections: dict[Section, int]
    """Tokens by section, in the order of the view; those that are not there are left out."""
    free_tokens: int
    epoch: str
    """Why a new epoch began with this view; empty if the one before went on."""
    unchanged_tokens: int | None
    """How many tokens at the front are byte for byte those of the turn before; None if there was none."""

    volatile_tokens: int = 0
    """What changes with every turn."""

    @property
    def unchanged_share(self) -> float | None:
        """The part of all tokens outside volatile memory that is as it was the turn before."""
        total = sum(self.sections.values()) - self.volatile_tokens
        return None if self.unchanged_tokens is None or not total else self.unchanged_tokens / total


@dataclass(frozen=True, slots=True)
class View:
    """What the model will see."""

    budget_tokens: int
    tokens: int
    """What `messages` and the client's tools cost; never more than the budget."""
    messages: tuple[Message, ...]
    items: tuple[Item, ...]
    left_out: tuple[LeftOut, ...]
    fold_due: bool
    """A message outside the tail had to be left out for want of room, or soon will have to: folding makes room."""
    reader: str = "chat"
    counter: str = ""
    epoch: str = ""
    unchanged_tokens: int | None = None
    volatile_tokens: int = 0
    """What of it stands in the newest user message besides what was said."""
    as_shown: bool = True
    """False for a view of an earlier turn that could not be made again byte for byte."""

    @property
    def report(self) -> Report:
        """The view in figures."""
        sections = {
            section: sum(item.tokens for item in self.items if item.section is section)
            for section in Section
            if any(item.section is section for item in self.items)
        }
        return Report(
            self.reader,
            self.counter,
            sections,
            self.budget_tokens - self.tokens,
            self.epoch,
            self.unchanged_tokens,
            self.volatile_tokens,
        )


@dataclass(frozen=True, slots=True)
class Furniture:
    """What belongs to the client."""

    front: tuple[Message, ...] = ()
    """Before the story: system prompts, then examples."""
    notes: tuple[tuple[int, Message], ...] = ()
    """Each with its depth: how many messages of the story come after it."""
    tools: str = ""
    """The schemas of its tools as they are sent. They stand in no message, and cost what they cost."""

    @property
    def system_texts(self) -> list[str]:
        """What the system message begins with."""
        return [message.text for message in self._leading()]

    @property
    def examples(self) -> tuple[Message, ...]:
        """What stands between the system message and the story."""
        return self.front[len(self._leading()) :]

    def tokens(self, counter: Counter) -> int:
        """What all of it costs but for what the system message holds."""
        apart = [*self.examples, *(note for _, note in self.notes)]
        return sum(message_tokens(message, counter) for message in apart) + counter.tokens(self.tools)

    def around(self, system: Message | None, tail: Sequence[Message]) -> tuple[Message, ...]:
        """The system message and the tail with all that stands between and behind them."""
        placed = list(tail)
        for depth, note in sorted(self.notes, key=lambda placed_note: placed_note[0]):
            at = max(0, len(placed) - depth)
            while 0 < at < len(placed) and _is_result(placed[at]):
                at -= 1
            placed.insert(at, note)
        return (*((system,) if system else ()), *self.examples, *placed)

    def _leading(self) -> list[Message]:
        return list(takewhile(lambda message: message.role is Role.SYSTEM, self.front))


NO_FURNITURE = Furniture()


def _is_result(message: Message) -> bool:
    return message.role is Role.TOOL or any(isinstance(part, ToolResult) for part in message.parts)
