"""Folding a conversation without a store: the plan is made, a brief is written where it needs one, and all is proved.

What must stay true: what comes back is either folded, with every proof, or what was given with interrupted calls
mended, and the reason; a folder is asked at most once; nothing is written anywhere.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from previously.core.errors import BadInput
from previously.core.messages import Message, Role
from previously.core.pairing import Mended, mend
from previously.core.tokens import Counter
from previously.core.versions import Cost
from previously.folds.brief import BriefFold
from previously.folds.brief_checks import bound_brief
from previously.folds.conversation.compaction import compose_conversation, plan_compaction, read_brief_text
from previously.folds.conversation.proofs import Disproved, count_whole, prove
from previously.folds.conversation.rules import MOST_BRIEF_TOKENS, CompactRules, NothingToFold
from previously.folds.conversation.sections import parse_brief, render_brief
from previously.formats.conversations import (
    Conversation,
    Dialect,
    find_body,
    find_system,
    parse_conversation,
    put_system_first,
    rewrite_messages,
)
from previously.models.client import Model
from previously.models.tokenizers import find_counter
from previously.runtime.folding_arguments import System, Tools, check_model, check_numbers, places, texts_beside
from previously.runtime.model_writer import ModelWriter
from previously.runtime.prompts import load_prompts
from previously.runtime.spend_limits import NOTHING
from previously.runtime.writer import BuiltinWriter, MemoryWriter

Status = Literal["folded", "nothing to fold"]
FOLDED: Status = "folded"
NOT_FOLDED: Status = "nothing to fold"

MODEL_WINDOW_TOKENS = 8_192
"""The window of the model that writes, where nobody says otherwise."""

WINDOWS_OF_A_BRIEF = 5
"""A model reads an earlier brief and writes a new one beside what it folds: each may take so much of its window."""


@dataclass(frozen=True, slots=True)
class Compacted:
    """A conversation after a fold, or as it was, and why."""

    status: Status
    reason: str
    messages: tuple[Message, ...]
    origin: tuple[int | None, ...]
    """Where each message stood in what was given; None = it was made here."""
    before_tokens: int
    tokens: int
    """All that a request with these messages takes."""
    brief: str | None = None
    """What was written; None = nothing was, though outputs may have been left out."""
    brief_at: int | None = None
    """Where a brief stands now, this one or an earlier one."""
    folded: int = 0
    """How many messages the brief tells of,"""
    pruned: int = 0
    """and how many tool outputs were left out of the others."""
    interrupted: int = 0
    made_by: str = ""
    note: str = ""
    """Why a model did not write it."""
    cost: Cost = NOTHING


async def compact(
    messages: Sequence[Message],
    rules: CompactRules,
    counter: Counter,
    folder: MemoryWriter,
    *,
    brief_at: int | None = None,
    pins: Iterable[int] = (),
) -> Compacted:
    """Fold a conversation, if there is anything to fold. `brief_at` is where an earlier brief stands, `pins` are
    messages that stay as they are."""
    whole = mend(messages)
    said = whole.messages
    earlier = None if brief_at is None else whole.now_at(brief_at)
    held = frozenset(at for pin in pins if (at := whole.now_at(pin)) is not None)
    size = count_whole(said, rules, counter)
    found = plan_compaction(said, rules, counter, brief_at=earlier, extra_pins=held)
    if isinstance(found, NothingToFold):
        return _as_it_was(whole, found.reason, size, earlier)
    brief: str | None = None
    reply = None
    if found.head:
        before = "" if earlier is None else read_brief_text(said[earlier])
        note = BriefFold(tuple(said[at] for at in found.head), before, most_tokens=found.brief_tokens)
        reply = await folder.write(note)
        brief = _within(reply.text, found.brief_tokens, counter)
    after = compose_conversation(said, found, brief)
    proved = prove(said, after, found, rules, counter, brief)
    if isinstance(proved, Disproved):
        return _as_it_was(whole, proved.reason, size, earlier)
    return Compacted(
        FOLDED,
        _told(len(found.head), sum(map(len, found.pruned.values())), proved.before_tokens, proved.after_tokens),
        after.messages,
        tuple(None if at is None else whole.origin[at] for at in after.origin),
        proved.before_tokens,
        proved.after_tokens,
        brief,
        after.brief_at,
        len(found.head),
        sum(map(len, found.pruned.values())),
        whole.interrupted,
        reply.made_by if reply else "",
        reply.reason if reply else "",
        sum((attempt.cost for attempt in reply.attempts), reply.cost) if reply else NOTHING,
    )


def _as_it_was(whole: Mended, reason: str, tokens: int, brief_at: int | None) -> Compacted:
    interrupted = whole.interrupted
    return Compacted(
        NOT_FOLDED, reason, whole.messages, whole.origin, tokens, tokens, brief_at=brief_at, interrupted=interrupted
    )


def _told(folded: int, pruned: int, before: int, after: int) -> str:
    deeds = [f"{folded} message{'s are' if folded > 1 else ' is'} a brief now"] if folded else []
    deeds += [f"{pruned} tool output{'s were' if pruned > 1 else ' was'} left out"] if pruned else []
    return f"{' and '.join(deeds)}: {before:,} tokens became {after:,}."


def _within(brief: str, most_tokens: int, counter: Counter) -> str:
    """The brief under its cap as this counter counts: what writes it can only estimate."""
    room = most_tokens
    while counter.tokens(brief) > most_tokens and room > 0:
        room = room * 9 // 10
        brief = render_brief(bound_brief(parse_brief(brief), room).brief)
    return brief


@dataclass(frozen=True, slots=True)
class FoldedConversation:
    """What `fold_conversation` gives back."""

    status: Status
    reason: str
    messages: list[dict[str, Any]]
    """The conversation, to be sent on; in the dialect that it came in, or the one asked for."""
    tokens: int
    before_tokens: int
    system: str | list[dict[str, Any]] | None = None
    """The system prompt, where that stands beside the list,"""
    body: Mapping[str, Any] = field(default_factory=dict)
    """and all that the request says beside it: in the dialect that it came in its other fields, as they were."""
    brief: str | None = None
    earlier: Mapping[str, Any] = field(default_factory=dict)
    """To be given to the next fold, which finds the brief by it."""
    folded: int = 0
    pruned: int = 0
    interrupted: int = 0
    made_by: str = ""
    note: str = ""
    calls: int = 0
    result: Compacted | None = field(default=None, repr=False)
    """The same as messages of ours."""


async def fold_conversation_async(
    messages: Sequence[Mapping[str, Any]] | Mapping[str, Any] | Conversation,
    *,
    budget: int | None = None,
    tail_turns: int = 2,
    tail_tokens: int | None = None,
    brief_tokens: int | None = None,
    system: System = "",
    tools: Tools = (),
    pins: Iterable[int] | None = (),
    earlier: Mapping[str, Any] | None = None,
    to: str | None = None,
    tokenizer: str = "estimate",
    model: Model | None = None,
    model_window: int = MODEL_WINDOW_TOKENS,
    folder: MemoryWriter | None = None,
) -> FoldedConversation:
    """Fold an agent's conversation so that it fits `budget` tokens, system prompt and tools included, and goes on.

    `messages` is a list as OpenAI's chat, Anthropic's or OpenAI's Responses API has it, or a request body. The newest
    turns stay as they are, as do system messages, rules and the newest request; `pins` are positions of more. Without
    a `model` the built-in folder writes. `earlier` is what the fold before gave back. Nothing is kept anywhere.
    """
    check_numbers(budget=budget, tail_tokens=tail_tokens, brief_tokens=brief_tokens)
    check_numbers(tail_turns=tail_turns, model_window=model_window)
    check_model(model)
    given = messages if isinstance(messages, Conversation) else parse_conversation(messages)
    counter = find_counter(tokenizer)
    dialect = _dialect(to)
    if dialect not in (None, given.dialect):
        given = put_system_first(given)
    beside = [given.beside, *texts_beside(system, tools)]
    rules = CompactRules(
        budget,
        sum(counter.tokens(one) for one in beside if one),
        tail_turns,
        tail_tokens,
        brief_tokens=_brief_cap(brief_tokens, None if model is None and folder is None else model_window),
    )
    held = [*given.pins, *(given.led + pin for pin in places(pins, len(given.drafts) - given.led))]
    brief_at = _earlier_brief(given.messages, earlier if earlier is not None else given.earlier)
    if folder is None:
        folder = ModelWriter(model, load_prompts(), window_tokens=model_window) if model else BuiltinWriter()
    done = await compact(given.messages, rules, counter, folder, brief_at=brief_at, pins=held)
    return FoldedConversation(
        done.status,
        done.reason,
        rewrite_messages(given, done.messages, done.origin, dialect, done.brief_at),
        done.tokens,
        done.before_tokens,
        find_system(given, done.messages, dialect),
        find_body(given, done.messages, dialect),
        done.brief,
        {} if done.brief_at is None else {"brief": _digest(done.messages[done.brief_at])},
        done.folded,
        done.pruned,
        given.interrupted + done.interrupted,
        done.made_by,
        done.note,
        done.cost.calls,
        replace(done, origin=tuple(None if at is None or at < given.led else at - given.led for at in done.origin)),
    )


def _brief_cap(given: int | None, window: int | None) -> int:
    """What a brief may take: what was asked for, as long as the model that is to read it again has room for it."""
    wanted = given or MOST_BRIEF_TOKENS
    return wanted if window is None else min(wanted, max(1, window // WINDOWS_OF_A_BRIEF))


def _dialect(name: str | None) -> Dialect | None:
    try:
        return None if name is None else Dialect(name)
    except ValueError:
        raise BadInput(f"There is no dialect named {name!r}; use one of {', '.join(Dialect)}.") from None


def _earlier_brief(messages: Sequence[Message], earlier: object) -> int | None:
    """Where the brief stands that an earlier fold wrote: it is known by what that fold said, never by its words."""
    digest = earlier.get("brief") if isinstance(earlier, Mapping) else None
    return next((at for at, one in enumerate(messages) if one.role is Role.USER and _digest(one) == digest), None)


def _digest(message: Message) -> str:
    return hashlib.sha256(message.text.encode()).hexdigest()
