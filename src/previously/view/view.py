"""A view: what a model will see, what each part costs and why it is there, and what was left out.

A view keeps its parts as values: the client's furniture, stable memory, the tail and this turn's memory.
`previously.view.render` makes messages of them. Every position of the path is shown, or covered by memory that is
shown, or listed in `left_out`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from itertools import takewhile
from typing import Any

from previously.core.errors import BadInput
from previously.core.messages import Message, Role
from previously.core.path import OnPath, Span
from previously.core.tokens import Counter, message_tokens


class Section(StrEnum):
    """The parts a view is made of, in their order."""

    FURNITURE = "furniture"
    SYSTEM = "system"
    PINS = "pins"
    WISHES = "wishes"
    EARLIER = "earlier"
    BACKBONE = "backbone"
    CHAPTERS = "chapters"
    EPISODES = "episodes"
    RECAP = "recap"
    BRIEF = "brief"
    THREADS = "threads"
    STATE = "state"
    CAST = "cast"
    SHARED = "shared"
    LORE = "lore"
    TAIL = "tail"
    RECALL = "recall"


MEMORY_SECTIONS = frozenset(Section) - {Section.FURNITURE, Section.SYSTEM, Section.TAIL}
"""The sections that a view can do without."""


def parse_sections(names: Iterable[str]) -> frozenset[Section]:
    """Return the sections of these names; `BadInput` for a name that is none."""
    sections = set()
    for name in names:
        if name not in MEMORY_SECTIONS:
            known = ", ".join(section.value for section in Section if section in MEMORY_SECTIONS)
            raise BadInput(f"There is no section {name!r} of memory; there are {known}.")
        sections.add(Section(name))
    return frozenset(sections)


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
    """A part of the view with its cost, its reason and the messages it stands for."""

    section: Section
    tokens: int
    reason: str
    sources: tuple[Span, ...]
    score: float | None = None
    """The fit of a recalled passage; None for all else."""


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Something that is not in the view."""

    what: str
    reason: Reason
    span: Span | None = None
    """The messages concerned; None where memory was cut, not messages."""
    share_of: Section | None = None
    """The section whose share of the budget was used up; None where another reason holds."""

    @property
    def why(self) -> str:
        """The reason in words: of what has no room, whether that of its section or all of the view is used up."""
        if self.share_of:
            return f"the room for {_SHARED_BY[self.share_of]} is used up"
        return "the whole budget is used up" if self.reason is Reason.BUDGET else self.reason.value


_SHARED_BY = {
    Section.WISHES: "wishes",
    Section.EARLIER: "the story before this one",
    Section.BACKBONE: "the backbone",
    Section.CHAPTERS: "earlier chapters",
    Section.EPISODES: "earlier episodes",
    Section.RECAP: "the recap",
    Section.BRIEF: "the brief",
    Section.THREADS: "threads",
    Section.STATE: "how things stand",
    Section.CAST: "what the reader knows",
    Section.SHARED: "shared memory",
    Section.LORE: "lore",
}
"""The sections that have a share, in words."""


@dataclass(frozen=True, slots=True)
class Furniture:
    """The messages of a client that are not the story, and where they stand in a view.

    Its first system messages begin the one system message; the rest of its front follows that message; notes stand so
    many messages from the end. Furniture is never cut.
    """

    front: tuple[Message, ...] = ()
    """Before the story: system prompts, then examples."""
    notes: tuple[tuple[int, Message], ...] = ()
    """Each with its depth: how many messages of the story come after it."""
    tools: str = ""
    """The schemas of its tools as they are sent. They stand in no message, and cost what they cost."""

    @property
    def system_texts(self) -> list[str]:
        """The texts that the system message begins with."""
        return [message.text for message in takewhile(lambda message: message.role is Role.SYSTEM, self.front)]

    @property
    def examples(self) -> tuple[Message, ...]:
        """The messages between the system message and the story."""
        return self.front[len(self.system_texts) :]

    def tokens(self, counter: Counter) -> int:
        """Count all of it but for what the system message holds."""
        apart = [*self.examples, *(note for _, note in self.notes)]
        return sum(message_tokens(message, counter) for message in apart) + counter.tokens(self.tools)


NO_FURNITURE = Furniture()


@dataclass(frozen=True, slots=True)
class TurnMemory:
    """Memory for this turn alone: lore it brings up and recalled passages, as they stand before the user's words."""

    position: int
    """Of the user's message that bears it."""
    text: str


@dataclass(frozen=True, slots=True)
class ViewParts:
    """The values that a view is rendered from."""

    furniture: Furniture = NO_FURNITURE
    opening: tuple[str, ...] = ()
    """The system messages that the story itself begins with."""
    memory: tuple[str, ...] = ()
    """Stable memory: the text of each section under its heading."""
    tail: tuple[OnPath, ...] = ()
    """The newest messages, each with its position on the path."""
    turn_memory: TurnMemory | None = None


@dataclass(frozen=True, slots=True)
class Report:
    """Figures of one view."""

    reader: str
    counter: str
    """The name of what counted the tokens."""
    sections: dict[Section, int]
    """Tokens by section, in the order of the view, without those that are not there."""
    free_tokens: int
    epoch: str
    """Why a new epoch began with this view; empty if the one before went on."""
    unchanged_tokens: int | None
    """The number of tokens at the front that are byte for byte those of the turn before; None if there was none."""

    volatile_tokens: int = 0
    """The tokens that change with every turn."""

    @property
    def unchanged_share(self) -> float | None:
        """The part of all tokens outside this turn's memory that is as it was the turn before."""
        total = sum(self.sections.values()) - self.volatile_tokens
        return None if self.unchanged_tokens is None or not total else self.unchanged_tokens / total


@dataclass(frozen=True, slots=True)
class View:
    """All that the model will see.

    >>> from previously import BlockingMemory
    >>> with BlockingMemory(":memory:") as memory:
    ...     story = memory.story("ferry")
    ...     _ = story.add("user", "Is the ferry in?")
    ...     _ = story.pin("Odalys cannot swim.")
    ...     view = story.view(1_000)
    >>> [(item.section.value, item.reason) for item in view.items]
    [('pins', 'pinned'), ('tail', 'one of the newest 12')]
    >>> view.left_out
    ()
    """

    budget_tokens: int
    tokens: int
    """The cost of `messages` and the client's tools; never more than the budget."""
    messages: tuple[Message, ...]
    """`parts`, rendered."""
    items: tuple[Item, ...]
    left_out: tuple[LeftOut, ...]
    fold_due: bool
    """A message outside the tail had to be left out for want of room, or soon will have to: folding makes room."""
    reader: str = "chat"
    counter: str = ""
    epoch: str = ""
    unchanged_tokens: int | None = None
    volatile_tokens: int = 0
    """The cost of this turn's memory."""
    as_shown: bool = True
    """False for a view of an earlier turn that could not be made again byte for byte."""
    parts: ViewParts = ViewParts()

    @property
    def tail_positions(self) -> list[int]:
        """The positions of the messages of the tail on the path, in the order of the view."""
        return [item.position for item in self.parts.tail]

    def to_openai(self) -> list[Any]:
        """Return the messages as OpenAI's chat API takes them, and every server that is compatible with it.

        >>> from previously import BlockingMemory
        >>> with BlockingMemory(":memory:") as memory:
        ...     story = memory.story("ferry")
        ...     _ = story.add("user", "Is the ferry in?")
        ...     story.view(1_000).to_openai()
        [{'role': 'user', 'content': 'Is the ferry in?'}]
        """
        from previously.wire.chat import to_chat

        return to_chat(self.messages)

    def to_anthropic(self) -> dict[str, Any]:
        """Return `messages`, and `system` where there is one, as Anthropic's API takes them: the system prompt apart,
        the user first, and the two in turn. Give them to the client as they are: `create(**view.to_anthropic(), …)`.

        >>> from previously import BlockingMemory
        >>> with BlockingMemory(":memory:") as memory:
        ...     story = memory.story("ferry")
        ...     _ = story.add("system", "You are a ferryman.")
        ...     _ = story.add("user", "Is the ferry in?")
        ...     story.view(1_000).to_anthropic()
        {'system': 'You are a ferryman.', 'messages': [{'role': 'user', 'content': 'Is the ferry in?'}]}
        """
        from previously.wire.anthropic_request import to_anthropic

        return to_anthropic(self.messages)

    @property
    def report(self) -> Report:
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
