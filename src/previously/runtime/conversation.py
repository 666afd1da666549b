"""Fold a conversation without a store: the plan is made, a brief is written where it needs one, and all is proved.

What comes back is either folded, with every proof, or what was given with interrupted calls mended, and the reason. A
writer is asked at most once, and nothing is written anywhere. Whatever a caller gives is either used or refused in one
sentence that names it.
"""

from __future__ import annotations

import hashlib
import json
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
from previously.folds.builtin.identifiers import find_used_names
from previously.folds.conversation.compaction import (
    Disproved,
    Proved,
    compose_conversation,
    count_whole,
    plan_compaction,
    prove,
    read_brief_text,
)
from previously.folds.conversation.rules import MOST_BRIEF_TOKENS, OUTPUT_CHARACTERS, CompactRules, NothingToFold
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
from previously.runtime.model_writer import ModelWriter
from previously.runtime.prompts import load_prompts
from previously.runtime.spend_limits import NOTHING
from previously.runtime.writer import BuiltinWriter, MemoryWriter

System = str | Sequence[Mapping[str, Any]] | None
Tools = Sequence[Mapping[str, Any]] | None

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
    """The place of each message in what was given; None = it was made here."""
    before_tokens: int
    tokens: int
    """All that a request with these messages takes."""
    brief: str | None = None
    """The brief that was written; None = none was, though outputs may have been left out."""
    brief_at: int | None = None
    """The place of a brief now, this one or an earlier one."""
    folded: int = 0
    """The number of messages the brief tells of,"""
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
    writer: MemoryWriter,
    *,
    brief_at: int | None = None,
    pins: Iterable[int] = (),
) -> Compacted:
    """Fold a conversation, if there is anything to fold. `brief_at` is where an earlier brief stands, `pins` are
    messages that stay as they are."""
    whole = mend(messages)
    said = whole.messages
    earlier = None if brief_at is None else whole.now_at(brief_at)
    pinned = frozenset(at for pin in pins if (at := whole.now_at(pin)) is not None)
    size = count_whole(said, rules, counter)
    plan = plan_compaction(said, rules, counter, brief_at=earlier, extra_pins=pinned)
    if isinstance(plan, NothingToFold):
        return _as_it_was(whole, plan.reason, size, earlier)
    brief: str | None = None
    reply = None
    if plan.head:
        before = "" if earlier is None else read_brief_text(said[earlier])
        note = BriefFold(
            tuple(said[at] for at in plan.head),
            before,
            most_tokens=plan.brief_tokens,
            used=find_used_names([said[at] for at in plan.kept]),
            output_characters=rules.output_characters,
        )
        reply = await writer.write(note)
        brief = _cut_to_cap(reply.text, plan.brief_tokens, counter)
    after = compose_conversation(said, plan, brief)
    proved = prove(said, after, plan, rules, counter, brief)
    if isinstance(proved, Disproved):
        return _as_it_was(whole, proved.reason, size, earlier)
    return Compacted(
        FOLDED,
        _describe_fold(len(plan.head), sum(map(len, plan.pruned.values())), proved, rules.budget_tokens),
        after.messages,
        tuple(None if at is None else whole.origin[at] for at in after.origin),
        proved.before_tokens,
        proved.after_tokens,
        brief,
        after.brief_at,
        len(plan.head),
        sum(map(len, plan.pruned.values())),
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


def _describe_fold(folded: int, pruned: int, proved: Proved, budget: int | None) -> str:
    deeds = [f"{folded} message{'s are' if folded > 1 else ' is'} a brief now"] if folded else []
    deeds += [f"{pruned} tool output{'s were' if pruned > 1 else ' was'} left out"] if pruned else []
    done = f"{' and '.join(deeds)}: {proved.before_tokens:,} tokens became {proved.after_tokens:,}."
    if budget is None or proved.after_tokens <= budget:
        return done
    return (
        f"{done} That is as small as it can be, and more than the budget of {budget:,}: rules, tools and the newest "
        f"request alone take {proved.stays_tokens:,}."
    )


def _cut_to_cap(brief: str, most_tokens: int, counter: Counter) -> str:
    """Return the brief under its cap as this counter counts: what writes it can only estimate."""
    room = most_tokens
    while counter.tokens(brief) > most_tokens and room > 0:
        room = room * 9 // 10
        brief = render_brief(bound_brief(parse_brief(brief), room).brief)
    return brief


@dataclass(frozen=True, slots=True)
class FoldedConversation:
    """The result of `fold_conversation`."""

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
    output_characters: int = OUTPUT_CHARACTERS,
    system: System = "",
    tools: Tools = (),
    pins: Iterable[int] | None = (),
    earlier: Mapping[str, Any] | None = None,
    to: str | None = None,
    tokenizer: str = "estimate",
    model: Model | None = None,
    model_window: int = MODEL_WINDOW_TOKENS,
    writer: MemoryWriter | None = None,
) -> FoldedConversation:
    """Fold an agent's conversation so that it fits `budget` tokens, system prompt and tools included, and goes on.

    `messages` is a list as OpenAI's chat, Anthropic's or OpenAI's Responses API has it, or a request body. The newest
    turns stay as they are, as do system messages, rules and the newest request; `pins` are positions of more. Without
    a `model` the built-in writer writes; a model is shown `output_characters` of each tool output, beginning and end.
    `earlier` is what the fold before gave back. Nothing is kept anywhere.
    """
    check_numbers(budget=budget, tail_tokens=tail_tokens, brief_tokens=brief_tokens)
    check_numbers(tail_turns=tail_turns, model_window=model_window, output_characters=output_characters)
    check_model(model)
    given = messages if isinstance(messages, Conversation) else parse_conversation(messages)
    counter = find_counter(tokenizer)
    dialect = _parse_dialect(to)
    if dialect not in (None, given.dialect):
        given = put_system_first(given)
    beside = [given.beside, *render_beside(system, tools)]
    rules = CompactRules(
        budget,
        sum(counter.tokens(text) for text in beside if text),
        tail_turns,
        tail_tokens,
        brief_tokens=_compute_brief_cap(brief_tokens, None if model is None and writer is None else model_window),
        output_characters=output_characters,
    )
    pinned = [*given.pins, *(given.led + pin for pin in read_pins(pins, len(given.drafts) - given.led))]
    brief_at = _find_earlier_brief(given.messages, earlier if earlier is not None else given.earlier)
    if writer is None:
        writer = ModelWriter(model, load_prompts(), window_tokens=model_window) if model else BuiltinWriter()
    done = await compact(given.messages, rules, counter, writer, brief_at=brief_at, pins=pinned)
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


def _compute_brief_cap(given: int | None, window: int | None) -> int:
    """Return the tokens of a brief: what was asked for, as long as the model that is to read it again has room for
    it."""
    wanted = given or MOST_BRIEF_TOKENS
    return wanted if window is None else min(wanted, max(1, window // WINDOWS_OF_A_BRIEF))


def _parse_dialect(name: str | None) -> Dialect | None:
    try:
        return None if name is None else Dialect(name)
    except ValueError:
        raise BadInput(f"There is no dialect named {name!r}; use one of {', '.join(Dialect)}.") from None


def _find_earlier_brief(messages: Sequence[Message], earlier: object) -> int | None:
    """Return the place of the brief that an earlier fold wrote: it is known by what that fold said, never by its
    words."""
    digest = earlier.get("brief") if isinstance(earlier, Mapping) else None
    return next(
        (at for at, message in enumerate(messages) if message.role is Role.USER and _digest(message) == digest), None
    )


def _digest(message: Message) -> str:
    return hashlib.sha256(message.text.encode()).hexdigest()


def check_numbers(**numbers: object) -> None:
    """Refuse what is no whole number; None is one that was not given."""
    for name, given in numbers.items():
        if given is not None and not _is_number(given):
            raise BadInput(f"`{name}` is a whole number, not {_shorten_given(given)}.")


def check_model(model: object) -> None:
    """Raise `BadInput` if this is no object that can be asked."""
    if model is not None and not (callable(getattr(model, "ask", None)) and not isinstance(model, type)):
        raise BadInput(
            f"`model` is an object that can be asked, such as an OpenAICompatibleModel, not {_shorten_given(model)}."
        )


def render_beside(system: object, tools: object) -> list[str]:
    """Return the system prompt and the tools as texts to be counted."""
    if isinstance(system, str) or system is None:
        texts = [system or ""]
    elif isinstance(system, Sequence) and all(isinstance(block, Mapping) for block in system):
        texts = [_read_block_text(block) for block in system]
    else:
        raise BadInput(f"`system` is text or a list of text blocks, not {_shorten_given(system)}.")
    if tools is None:
        return texts
    if (
        isinstance(tools, str)
        or not isinstance(tools, Sequence)
        or not all(isinstance(tool, Mapping) for tool in tools)
    ):
        raise BadInput(f"`tools` is a list of objects, not {_shorten_given(tools)}.")
    return [*texts, *(str(tool) for tool in tools)]


def read_pins(pins: object, length: int) -> list[int]:
    """Return the positions of pins, from the front."""
    pins = () if pins is None else pins
    if isinstance(pins, str) or not isinstance(pins, Iterable):
        raise BadInput(f"`pins` are positions of messages, as [0, 3], not {_shorten_given(pins)}.")
    places = list(pins)
    for pin in places:
        if not _is_number(pin):
            raise BadInput(f"A pin is the position of a message, not {_shorten_given(pin)}.")
        if not -length <= pin < length:
            raise BadInput(f"There is no message {pin}; the conversation has {length}.")
    return [pin % length for pin in places]


def _is_number(given: object) -> bool:
    return isinstance(given, int) and not isinstance(given, bool)


def _read_block_text(block: Mapping[str, Any]) -> str:
    text = block.get("text")
    return text if isinstance(text, str) else json.dumps(dict(block), ensure_ascii=False, default=str)


def _shorten_given(given: object) -> str:
    text = ascii(given)
    return text if len(text) <= 60 else f"{text[:60]}..."
