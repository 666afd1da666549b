"""Anthropic's messages. What stands in `system` is the list's first message here, and goes back there.

What must stay true: messages that were not changed go on as they came, signatures of thinking included; a message of
nothing but thinking is not made up, since no server takes it without its signature.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from previously.core.messages import Draft, Message
from previously.formats.anthropic import draft_of, item_of
from previously.models import message_answers as answers
from previously.models.sse import ReplyReader
from previously.server import wording
from previously.server.dialects.chat_completions import listed
from previously.server.dialects.dialect import Raw
from previously.server.dialects.message_replies import MessageAssembly


class Messages:
    """`/v1/messages`."""

    name = "messages"
    path = "messages"
    wording = wording.MESSAGES
    begins_with_user = True

    def passes(self, fields: Mapping[str, Any]) -> bool:  # noqa: ARG002 - the same for every body
        """Never: a body holds all of its history."""
        return False

    def raws(self, fields: Mapping[str, Any]) -> list[Raw]:
        """What the system says, and the messages."""
        system = fields.get("system")
        return [*([{"role": "system", "content": system}] if system else []), *listed(fields, "messages")]

    def draft_of(self, raw: Raw) -> Draft:
        """A raw as a message."""
        return draft_of(raw)

    def raws_of(self, message: Message) -> list[Raw]:
        """One object; none where nothing but thinking was said."""
        raw = item_of(message)
        return [raw] if raw["content"] else []

    def rewritten(self, raw: Raw, message: Message) -> list[Raw]:
        """The same blocks with other words."""
        return [{**raw, **item_of(message, draft_of(raw).attributes)}]

    def text_part(self, text: str) -> Raw:
        """Words as a block."""
        return answers.text_block(text)

    def body(self, fields: Mapping[str, Any], raws: Sequence[Raw]) -> Raw:
        """The body with other messages."""
        if raws and raws[0].get("role") == "system":
            return {**fields, "system": raws[0]["content"], "messages": list(raws[1:])}
        return {**fields, "messages": list(raws)}

    def user(self, fields: Mapping[str, Any]) -> object:
        """`user_id` in `metadata`, by which agents tell their sessions apart."""
        metadata = fields.get("metadata")
        return metadata.get("user_id") if isinstance(metadata, dict) else None

    def reader(self) -> ReplyReader:
        """What reads an answer as it passes by."""
        return ReplyReader(MessageAssembly())

    def words(self, text: str, model: str, *, created: int) -> Raw:  # noqa: ARG002 - no times here
        """Words of ours as an answer."""
        return answers.message("msg_previously", model, [answers.text_block(text)])

    def stream(self, text: str, model: str, *, created: int) -> Iterator[bytes]:  # noqa: ARG002 - no times here
        """The same as a stream."""
        yield answers.begins("msg_previously", model)
        yield from answers.block_events(0, answers.text_block(text), [text])
        yield answers.ends()


MESSAGES = Messages()
