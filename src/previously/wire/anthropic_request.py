"""Any messages as a request that Anthropic's API takes.

The API refuses what other APIs let pass. In everything that is written here, the first message is the user's and the
two take turns (but for one that stays alone, which the API takes as well); a call is answered at the beginning of the
very next message, and every id is used once; no block is empty; thinking stands with its signature and never last; a
picture is the user's or a tool's, in a form that can be fetched. System messages at the front are the `system` field,
later ones the user's words in tags.

With the attributes that `parse_anthropic_message` gave a message, its blocks are written as they came.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from previously.core.messages import NO_ATTRIBUTES, Attributes, Message, Role, ToolCall
from previously.core.pairing import mend
from previously.core.patterns import lazy_pattern
from previously.wire.anthropic import WRITTEN, Block, write_anthropic_message
from previously.wire.fields import drop_fields

BEGINNING = "(The conversation begins here.)"
"""Said by the user where a conversation would begin with the assistant: the API wants a message of the user first."""

_MEDIA = frozenset(["image/jpeg", "image/png", "image/gif", "image/webp"])
_NOT_IN_AN_ID = lazy_pattern(r"[^a-zA-Z0-9_-]")
_LONGEST_NAME = 128
"""The API takes no longer name of a tool."""


@dataclass(slots=True)
class AnthropicTurn:
    """One message of a request."""

    role: str
    blocks: list[Block]
    origin: int | None
    """The index of the message that it begins with; None for one that was made here."""
    alone: bool = False
    """True when it holds the message that is to stay one of its own."""


def to_anthropic(
    messages: Sequence[Message], attributes: Sequence[Attributes] | None = None, *, alone: int | None = None
) -> dict[str, Any]:
    """Write the `system` (left out if there is none) and the `messages` of a request.

    The message at `alone` is joined with no other, so that it is known again.
    """
    front = count_front(messages)
    contents = [
        write_anthropic_message(messages[at], _find_attributes(attributes, at))["content"] for at in range(front)
    ]
    system = _join_system(contents)
    rest = None if attributes is None else attributes[front:]
    written = [
        {"role": turn.role, "content": _write_turn(turn)}
        for turn in plan_turns(messages[front:], rest, None if alone is None else alone - front)
    ]
    return {"system": system, "messages": written} if system else {"messages": written}


def count_front(messages: Sequence[Message]) -> int:
    return next((at for at, message in enumerate(messages) if message.role is not Role.SYSTEM), len(messages))


def plan_turns(
    messages: Sequence[Message], attributes: Sequence[Attributes] | None = None, alone: int | None = None
) -> list[AnthropicTurn]:
    """Return the messages of a request in turns, the user's first; the one at `alone` is a turn of its own."""
    paired = mend(messages)
    ids = _Ids()
    written: list[AnthropicTurn] = []
    for message, origin in zip(paired.messages, paired.origin, strict=True):
        content = write_anthropic_message(
            message, NO_ATTRIBUTES if origin is None else _find_attributes(attributes, origin)
        )["content"]
        blocks = ids.order([{"type": "text", "text": content}] if isinstance(content, str) else content)
        calls = any(isinstance(part, ToolCall) for part in message.parts)
        for block in blocks:
            role = _find_speaker(block, Role.ASSISTANT if calls else message.role)
            valid = _check_block(block, role, message.role is Role.SYSTEM)
            if valid is None or not ids.name(valid):
                continue
            apart = alone is not None and origin == alone
            if not written or (written[-1].role, written[-1].alone) != (role, apart):
                written.append(AnthropicTurn(role, [], origin, apart))
            written[-1].blocks.append(valid)
    return _take_turns(written)


def _find_attributes(attributes: Sequence[Attributes] | None, at: int) -> Attributes:
    return NO_ATTRIBUTES if attributes is None else attributes[at]


def _find_speaker(block: Block, role: Role) -> str:
    """Return who says a block: thinking and calls are the assistant's, results the user's, in any message."""
    match block.get("type"):
        case "tool_use" | "thinking" | "redacted_thinking":
            return "assistant"
        case "tool_result":
            return "user"
    return "assistant" if role is Role.ASSISTANT else "user"


def _check_block(block: Block, role: str, is_system: bool) -> Block | None:
    """Return the block as the API takes it; None for one that it does not take."""
    match block:
        case {"type": "text", "text": str(text)}:
            if not text.strip():
                return None
            return block | {"text": f"<system>\n{text}\n</system>"} if is_system else block
        case {"type": "thinking"}:
            return block if block.get("signature") else None
        case {"type": "redacted_thinking"}:
            return block if block.get("data") else None
        case {"type": "image"}:
            return _check_picture(block, role)
        case {"type": "tool_result"} if "tool_use_id" in block:
            return _check_result(block)
        case {"type": "tool_use", "id": str(), "name": str(name), "input": dict()}:
            return block | {"name": _NOT_IN_AN_ID.sub("_", name)[:_LONGEST_NAME] or "tool"}
        case {"type": "document", "source": dict()}:
            return block
    return block if isinstance(block.get("type"), str) and block["type"] not in WRITTEN else None


def _check_picture(block: Block, role: str) -> Block:
    match block.get("source"):
        case {"type": "url", "url": str()} | {"type": "file", "file_id": str()} if role == "user":
            return block
        case {"type": "base64", "media_type": str(media), "data": str()} if role == "user" and media in _MEDIA:
            return block
    return {"type": "text", "text": "[image]"}


def _check_result(block: Block) -> Block:
    content = block.get("content")
    inside: Any = content
    if isinstance(content, list):
        parts = (part for part in content if isinstance(part, dict))
        inside = [checked for part in parts if (checked := _check_block(part, "user", False))]
    rest = drop_fields(block, "content")
    return rest | {"content": inside} if inside else rest


class _Ids:
    """Ids as the API wants them: of its own letters, and none used for two calls."""

    def __init__(self) -> None:
        self._used: set[str] = set()
        self._now: dict[str, list[str]] = {}  # by the id that was given, those of the calls that wait
        self._answered = True  # whether a result has come since the last call

    def order(self, blocks: list[Block]) -> list[Block]:
        """Put results of earlier calls first, those of the message's own calls last.

        Calls that follow calls before any result has come are made together with them, and answered together.
        """
        asks = [block.get("type") for block in blocks if block.get("type") in ("tool_use", "tool_result")]
        together = not self._answered and asks[:1] == ["tool_use"]
        earlier = Counter({} if together else {call: len(waiting) for call, waiting in self._now.items()})
        first: list[Block] = []
        last: list[Block] = []
        for block in blocks:
            if block.get("type") == "tool_result":
                call = str(block.get("tool_use_id"))
                (first if earlier[call] > 0 else last).append(block)
                earlier[call] -= 1
        return [*first, *(block for block in blocks if block.get("type") != "tool_result"), *last]

    def name(self, block: Block) -> bool:
        """Give a call an id that is not in use, and a result the id of its call; False for a result of none."""
        if block.get("type") == "tool_use":
            wanted = _NOT_IN_AN_ID.sub("_", str(block["id"])) or "call"
            given, number = wanted, 1
            while given in self._used:
                number += 1
                given = f"{wanted}_{number}"
            self._used.add(given)
            self._now.setdefault(str(block["id"]), []).append(given)
            self._answered = False
            block["id"] = given
        elif block.get("type") == "tool_result":
            call_id = str(block["tool_use_id"])
            waiting = self._now.get(call_id)
            if not waiting:
                return False
            block["tool_use_id"] = waiting.pop(0)
            self._answered = True
            if not waiting:
                del self._now[call_id]
        return True


def _take_turns(written: list[AnthropicTurn]) -> list[AnthropicTurn]:
    """Put results before other words, drop what ends in thinking, begin with the user."""
    kept: list[AnthropicTurn] = []
    for turn in written:
        if turn.role == "user":
            turn.blocks.sort(key=lambda block: block.get("type") != "tool_result")
        while turn.blocks and turn.role == "assistant" and str(turn.blocks[-1].get("type")).endswith("thinking"):
            turn.blocks.pop()
        if not turn.blocks:
            continue
        if kept and kept[-1].role == turn.role and not kept[-1].alone and not turn.alone:
            kept[-1].blocks += turn.blocks
        else:
            kept.append(turn)
    if kept and kept[0].role == "assistant":
        kept.insert(0, AnthropicTurn("user", [{"type": "text", "text": BEGINNING}], None))
    return kept


def _write_turn(turn: AnthropicTurn) -> str | list[Block]:
    """Write one plain text of the user as text, anything else as blocks."""
    if turn.role == "user" and len(turn.blocks) == 1 and turn.blocks[0].keys() == {"type", "text"}:
        return str(turn.blocks[0]["text"])
    return turn.blocks


def _join_system(contents: Sequence[str | list[Block]]) -> str | list[Block]:
    if all(isinstance(content, str) for content in contents):
        return "\n\n".join(content for content in contents if isinstance(content, str) and content.strip())
    blocks: list[Block] = []
    for content in contents:
        blocks += [{"type": "text", "text": content}] if isinstance(content, str) else content
    return [block for block in blocks if block.get("type") == "text" and str(block.get("text", "")).strip()]
