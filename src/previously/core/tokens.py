"""How many tokens a text takes, estimated without a tokenizer.

The estimate leans high: a view that is a little smaller than it could be is better than one the model's server cuts.
`COUNTER` names the rule, so that what was counted by it can be told from what another rule counted.
"""

from __future__ import annotations

import re
from functools import lru_cache

from previously.core.messages import Image, Message, Text, Thinking, ToolCall, ToolResult

COUNTER = "estimate-1"

MESSAGE_OVERHEAD_TOKENS = 4
"""What chat templates put around each message."""

IMAGE_TOKENS = 1_000
"""Between what the usual providers charge for a small and a large picture."""

LONGEST_KNOWN = 20_000
"""Characters of a text whose count is kept for a while."""

_WIDE = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\ud7ff\uf900-\ufaff\uff00-\uffef\U00020000-\U0003ffff]"
)
_NOT_ASCII = re.compile("[^\x00-\x7f]+")
_EMOJI = re.compile("[\U0001f000-\U0001faff]")


def estimate_tokens(text: str) -> int:
    """Four ASCII characters a token, two of other alphabets, one of scripts without spaces; an emoji is three."""
    if text.isascii():
        return -(-len(text) // 4)
    return _known(text) if len(text) <= LONGEST_KNOWN else _counted(text)


def _counted(text: str) -> int:
    other = "".join(_NOT_ASCII.findall(text))
    wide = len(_WIDE.findall(other))
    emoji = len(_EMOJI.findall(other))
    return -(-(len(text) - len(other)) // 4) + wide + 3 * emoji + -(-(len(other) - wide - emoji) // 2)


_known = lru_cache(maxsize=256)(_counted)
"""A view counts the same texts of memory again and again, turn after turn."""


def message_tokens(message: Message) -> int:
    """What the message costs in a view. Thinking is never shown, so it costs nothing."""
    total = MESSAGE_OVERHEAD_TOKENS
    if message.speaker:
        total += estimate_tokens(message.speaker) + 1
    for part in message.parts:
        match part:
            case Text(text) | ToolResult(_, text):
                total += estimate_tokens(text)
            case Thinking():
                pass
            case ToolCall(call_id, name, arguments):
                total += 8 + estimate_tokens(call_id) + estimate_tokens(name) + estimate_tokens(arguments)
            case Image():
                total += IMAGE_TOKENS
            case _:
                total += estimate_tokens(part.text)
    return total
