"""OpenAI's chat completions, as nearly every server speaks them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from previously.core.errors import BadInput
from previously.core.messages import Draft, Message
from previously.formats.openai import draft_of, to_openai
from previously.models.sse import ReplyReader
from previously.server import wording
from previously.server.dialects.dialect import Raw


class ChatCompletions:
    """`/v1/chat/completions`."""

    name = "chat"
    path = "chat/completions"
    wording = wording.CHAT
    begins_with_user = False

    def passes(self, fields: Mapping[str, Any]) -> bool:  # noqa: ARG002 - the same for every body
        """Never: a body holds all of its history."""
        return False

    def raws(self, fields: Mapping[str, Any]) -> list[Raw]:
        """The messages."""
        return listed(fields, "messages")

    def draft_of(self, raw: Raw) -> Draft:
        """A raw as a message."""
        return draft_of(raw)

    def raws_of(self, message: Message) -> list[Raw]:
        """One object, or one for each result."""
        return to_openai(message)

    def rewritten(self, raw: Raw, message: Message) -> list[Raw]:
        """The same fields with other words."""
        return [{**raw, **one} for one in to_openai(message)]

    def text_part(self, text: str) -> Raw:
        """Words as one part of a message's content."""
        return {"type": "text", "text": text}

    def body(self, fields: Mapping[str, Any], raws: Sequence[Raw]) -> Raw:
        """The body with other messages."""
        return {**fields, "messages": list(raws)}

    def user(self, fields: Mapping[str, Any]) -> object:
        """The field of that name."""
        return fields.get("user")

    def reader(self) -> ReplyReader:
        """What reads an answer as it passes by."""
        return ReplyReader()

    def words(self, text: str, model: str, *, created: int) -> Raw:
        """Words of ours as an answer."""
        return {
            "id": "previously",
            "object": "chat.completion",
            "created": created,
            "model": model,
            "choices": [{"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0},
        }

    def stream(self, text: str, model: str, *, created: int) -> Iterator[bytes]:
        """The same as a stream."""
        head = {"id": "previously", "object": "chat.completion.chunk", "created": created, "model": model}
        for delta, finish in (({"role": "assistant", "content": text}, None), ({}, "stop")):
            chunk = {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}
            yield f"data: {json.dumps(chunk, ensure_ascii=False)}\n\n".encode()
        yield b"data: [DONE]\n\n"


def listed(fields: Mapping[str, Any], name: str) -> list[Raw]:
    """The list of that name in a body; `BadInput` if it is none, or empty."""
    found = fields.get(name)
    if not isinstance(found, list) or not found:
        raise BadInput(f'"{name}" must be a list with at least one message.')
    return found


CHAT = ChatCompletions()
