"""How other agents choose what to fold, written anew from their descriptions, for comparison only.

*opencode*: the newest turns in a quarter of the budget (2,000 to 15,000 tokens), the first that does not fit split;
what came before is told as a transcript with capped outputs and becomes a summary under fixed headings; an earlier
summary goes in apart. *OpenHands*: the first four events stay, so many of the newest that half the budget is kept, and
what lies between becomes a summary, an earlier one among it. *Two turns and a template*: the newest two turns stay
whatever their size, the rest becomes a summary under fixed headings.

What must stay true: prompts are our own words, since the model that is asked here reads only headings and material.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from benchmarks.compaction.contenders import FOLD_AT, Folded, newest_that_fit, read_by, rules_of, whole
from benchmarks.compaction.weak_model import weak_model
from previously.core.messages import Message, Role, Text, ToolCall, ToolResult
from previously.core.model_io import ModelReply, ModelRequest
from previously.core.pairing import find_units
from previously.core.tokens import message_tokens

OUTPUT_CHARACTERS = 2_000
_OPENCODE = (
    "Summarize the work under these headings:\n## Objective\n## Important Details\n## Work State\n### Completed\n"
    "### Active\n### Blocked\n## Next Move\n## Relevant Files"
)
_SEED = (
    "Summarize the work under these headings:\n## Goal\n## Constraints & Preferences\n## Progress\n### Done\n"
    "### In Progress\n### Blocked\n## Key Decisions\n## Next Steps\n## Critical Context\n## Relevant Files"
)
_OPENHANDS = (
    "Keep track of the state of the work:\nUSER_CONTEXT:\nTASK_TRACKING:\nCOMPLETED:\nPENDING:\nCURRENT_STATE:\n"
    "CODE_STATE:\nTESTS:\nCHANGES:\nDEPS:\nVERSION_CONTROL_STATUS:"
)


async def summarized(instructions: str, material: str, writes: int) -> tuple[str, int, int]:
    """What the model makes of it, how often it was asked, and how much it read."""
    model = weak_model(writes)
    reply = await model.ask(ModelRequest(instructions, material, writes))
    assert isinstance(reply, ModelReply)
    return reply.text, len(model.requests), read_by(model)


def transcript(messages: Sequence[Message], most: int | None = OUTPUT_CHARACTERS) -> str:
    """Messages under labels, outputs cut at so many characters."""
    lines: list[str] = []
    for message in messages:
        for part in message.parts:
            match part:
                case Text(text):
                    lines.append(f"[{message.role.value.title()}]: {text}")
                case ToolCall(_, name, arguments):
                    lines.append(f"[Assistant tool call]: {name}({arguments})")
                case ToolResult(_, text):
                    cut = text if most is None or len(text) <= most else f"{text[:most]} [truncated]"
                    lines.append(f"[Tool result]: {cut}")
                case _:
                    pass
    return "\n\n".join(lines)


def _at(messages: Sequence[Message], memo: Message | None) -> int | None:
    """Where the earlier summary stands."""
    return next((at for at, one in enumerate(messages) if one is memo), None) if memo else None


def _turns(messages: Sequence[Message], start: int) -> list[range]:
    """Turns from there on, each from a message of the user to the next; the first may be the rest of one."""
    begins = [at for at in range(start, len(messages)) if at == start or messages[at].role is Role.USER]
    return [range(one, two) for one, two in pairwise([*begins, len(messages)])]


@dataclass(frozen=True, slots=True)
class OpenCode:
    """The newest turns in a quarter of the budget, and a summary before them."""

    name: str
    writes: int

    async def fold(self, messages: Sequence[Message], budget: int, memo: Any, pins: Sequence[int]) -> Folded:
        """Question, summary, tail."""
        del pins
        if whole(messages) <= FOLD_AT * budget:
            return Folded(tuple(messages), memo, reason="it fits")
        rules = rules_of(messages)
        earlier = _at(messages, memo)
        first = rules if earlier is None else earlier + 1
        start = self._tail(messages, first, min(15_000, max(2_000, budget // 4)))
        head = messages[first:start] if start > first else messages[first:]
        tail = messages[start:] if start > first else ()
        before = f"<prior-summary>\n{memo.text}\n</prior-summary>\n" if earlier is not None else ""
        text, calls, read = await summarized(
            _OPENCODE, f"{before}<conversation>\n{transcript(head)}\n</conversation>", self.writes
        )
        summary = Message(Role.ASSISTANT, (Text(text),))
        question = Message(Role.USER, (Text("What has been done so far?"),))
        return Folded((*messages[:rules], question, summary, *tail), summary, calls, read, message_tokens(summary))

    def _tail(self, messages: Sequence[Message], first: int, room: int) -> int:
        start = len(messages)
        for turn in reversed(_turns(messages, first)):
            taken = whole([messages[at] for at in turn])
            if taken > room:
                within = [piece for piece in find_units(messages) if piece[0] in turn]
                return min(start, newest_that_fit(messages[:start], within, room))
            room -= taken
            start = turn[0]
        return start


@dataclass(frozen=True, slots=True)
class OpenHands:
    """The first events and the newest, and a summary between them."""

    name: str
    writes: int
    keep_first: int = 4

    async def fold(self, messages: Sequence[Message], budget: int, memo: Any, pins: Sequence[int]) -> Folded:
        """What lies between is forgotten; an earlier summary lies there too."""
        del pins
        if whole(messages) <= FOLD_AT * budget:
            return Folded(tuple(messages), memo, reason="it fits")
        pieces = find_units(messages)
        first = next((one[0] for one in pieces if one[0] >= self.keep_first), len(messages))
        start = newest_that_fit(messages, pieces, budget // 2 - whole(messages[:first]), first)
        events = [
            f"<summary>\n{one.text}\n</summary>" if one is memo else transcript([one], None)
            for one in messages[first:start]
        ]
        if not events:
            return Folded(tuple(messages), memo, reason="there is nothing between the first events and the newest")
        text, calls, read = await summarized(
            _OPENHANDS, "\n".join(f"<EVENT>\n{one}\n</EVENT>" for one in events), self.writes
        )
        summary = Message(Role.USER, (Text(text),))
        return Folded((*messages[:first], summary, *messages[start:]), summary, calls, read, message_tokens(summary))


@dataclass(frozen=True, slots=True)
class Seed:
    """The newest two turns, and a summary before them."""

    name: str
    writes: int

    async def fold(self, messages: Sequence[Message], budget: int, memo: Any, pins: Sequence[int]) -> Folded:
        """A marked summary as the first message of the user, then the turns."""
        del pins
        if whole(messages) <= FOLD_AT * budget:
            return Folded(tuple(messages), memo, reason="it fits")
        rules = rules_of(messages)
        turns = _turns(messages, rules)
        if len(turns) <= 2:
            return Folded(tuple(messages), memo, reason="there are only two turns")
        start = turns[-2][0]
        head = [one for one in messages[rules:start] if one is not memo]
        before = f"<previous-summary>\n{memo.text}\n</previous-summary>\n" if memo else ""
        text, calls, read = await summarized(_SEED, f"{transcript(head)}\n{before}", self.writes)
        summary = Message(Role.USER, (Text(f"[CONVERSATION SUMMARY]\n{text}"),))
        return Folded((*messages[:rules], summary, *messages[start:]), summary, calls, read, message_tokens(summary))
