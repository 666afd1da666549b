"""The interfaces that clients speak: chat completions, Anthropic's messages, OpenAI's Responses.

A client's list is read as *raws*: what it sent for each message, in order. What an interface keeps beside its list (its
instructions) is a raw of the role `system` before all others, and goes back to its place when the body is written. A
raw that nobody has changed is the very object that the client sent, wherever it goes, signatures of thinking included.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from previously.core.errors import BadInput
from previously.core.messages import NO_ATTRIBUTES, Draft, Message, Role, Text
from previously.wire import anthropic_reply, responses_reply
from previously.wire.anthropic import parse_anthropic_message, write_anthropic_message
from previously.wire.chat import ChatEvents, parse_chat_message, to_openai, write_chunks, write_completion
from previously.wire.errors import CHAT_ERRORS, MESSAGES_ERRORS, RESPONSES_ERRORS, ErrorFormat
from previously.wire.reply import EventParser
from previously.wire.responses import parse_item, write_item, write_items
from previously.wire.sse import ReplyReader

Raw = dict[str, Any]


class Interface:
    """Tells one interface from another; all else of a turn is the same for all. As it stands, chat completions."""

    name = "chat"
    path = "chat/completions"
    """Its path below the address of the upstream."""
    errors: ErrorFormat = CHAT_ERRORS
    events: type[EventParser] = ChatEvents
    begins_with_user = False
    """True when the first message must be the user's, and no result."""

    def is_partial(self, fields: Mapping[str, Any]) -> bool:  # noqa: ARG002 - bodies of chats hold all of their history
        """Return whether the history of a request, or a part of it, lies elsewhere: it is passed on without memory."""
        return False

    def read_raws(self, fields: Mapping[str, Any]) -> list[Raw]:
        """Return the messages of a body. `BadInput` if there are none."""
        messages = fields.get("messages")
        if not isinstance(messages, list) or not messages:
            raise BadInput('"messages" must be a list with at least one message.')
        return messages

    def parse_raw(self, raw: Raw) -> Draft:
        """Return a raw as a message."""
        return parse_chat_message(raw)

    def write_raws(self, message: Message) -> list[Raw]:
        """Write a message that the client did not send as it would have; none if nothing of it can be sent."""
        return to_openai(message)

    def rewrite_raw(self, raw: Raw, message: Message) -> list[Raw]:
        """Write a raw whose message is told with other words now; all else of it stays."""
        return [{**raw, **fields} for fields in to_openai(message)]

    def write_text_part(self, text: str) -> Raw:
        """Write words as one part of a message's content."""
        return {"type": "text", "text": text}

    def write_body(self, fields: Mapping[str, Any], raws: Sequence[Raw]) -> Raw:
        """Write the body with other messages."""
        return {**fields, "messages": list(raws)}

    def find_user(self, fields: Mapping[str, Any]) -> object:
        """Return whose conversation it is, where the client says so."""
        return fields.get("user")

    def open_reader(self) -> ReplyReader:
        """Return a reader for a reply that passes by."""
        return ReplyReader(self.events())

    def write_reply(self, text: str, model: str, *, created: int) -> Raw:
        """Write words of ours as a reply."""
        return write_completion(text, model, created=created)

    def stream_reply(self, text: str, model: str, *, created: int) -> Iterator[bytes]:
        """Write words of ours as the events of a reply."""
        return write_chunks(text, model, created=created)


class MessagesInterface(Interface):
    """Anthropic's messages. What stands in `system` is the list's first message here, and goes back there."""

    name = "messages"
    path = "messages"
    errors: ErrorFormat = MESSAGES_ERRORS
    events: type[EventParser] = anthropic_reply.AnthropicEvents
    begins_with_user = True

    def read_raws(self, fields: Mapping[str, Any]) -> list[Raw]:
        system = fields.get("system")
        return [*([{"role": "system", "content": system}] if system else []), *super().read_raws(fields)]

    def parse_raw(self, raw: Raw) -> Draft:
        return parse_anthropic_message(raw)

    def write_raws(self, message: Message) -> list[Raw]:
        raw = write_anthropic_message(message)
        return [raw] if raw["content"] else []  # thinking alone is not made up: no server takes it unsigned

    def rewrite_raw(self, raw: Raw, message: Message) -> list[Raw]:
        return [{**raw, **write_anthropic_message(message, parse_anthropic_message(raw).attributes)}]

    def write_body(self, fields: Mapping[str, Any], raws: Sequence[Raw]) -> Raw:
        if raws and raws[0].get("role") == "system":
            return {**fields, "system": raws[0]["content"], "messages": list(raws[1:])}
        return {**fields, "messages": list(raws)}

    def find_user(self, fields: Mapping[str, Any]) -> object:
        """Return `user_id` in `metadata`, by which agents tell their sessions apart."""
        metadata = fields.get("metadata")
        return metadata.get("user_id") if isinstance(metadata, dict) else None

    def write_reply(self, text: str, model: str, *, created: int) -> Raw:  # noqa: ARG002 - no times here
        return anthropic_reply.write_message("msg_previously", model, [anthropic_reply.write_text_block(text)])

    def stream_reply(self, text: str, model: str, *, created: int) -> Iterator[bytes]:  # noqa: ARG002 - no times here
        yield anthropic_reply.write_start("msg_previously", model)
        yield from anthropic_reply.write_block_events(0, anthropic_reply.write_text_block(text), [text])
        yield anthropic_reply.write_end()


_TOGETHER = "items"
"""The one field of a raw that stands for several items of the client's."""

_ELSEWHERE = ("previous_response_id", "conversation", "prompt")
"""Fields of a request that name a history which lies with the provider."""


class ResponsesInterface(Interface):
    """OpenAI's Responses. `instructions` are the list's first message here, and go back to their place.

    All that the model says in one answer comes as several items: its reasoning, its words, its calls. They are one
    message here, so that none of them is ever sent without the others.
    """

    name = "responses"
    path = "responses"
    errors: ErrorFormat = RESPONSES_ERRORS
    events: type[EventParser] = responses_reply.ResponsesEvents

    def is_partial(self, fields: Mapping[str, Any]) -> bool:
        if any(fields.get(name) for name in _ELSEWHERE):
            return True
        given = fields.get("input")
        items = given if isinstance(given, list) else []
        return any(isinstance(item, dict) and item.get("type") == "item_reference" for item in items)

    def read_raws(self, fields: Mapping[str, Any]) -> list[Raw]:
        given = fields.get("input")
        if isinstance(given, str) and given:
            items: list[Any] = [{"role": "user", "content": given}]
        elif isinstance(given, list) and given:
            items = given
        else:
            raise BadInput('"input" must be text or a list with at least one item.')
        instructions = fields.get("instructions")
        has_instructions = isinstance(instructions, str) and bool(instructions)
        first: list[Any] = [{"role": "system", "content": instructions}] if has_instructions else []
        return [*first, *_join_answers(items)]

    def parse_raw(self, raw: Raw) -> Draft:
        if _TOGETHER not in raw:
            return parse_item(raw)
        drafts = [parse_item(item) for item in raw[_TOGETHER]]
        parts = [part for draft in drafts for part in draft.message.parts if part != Text("")]
        return Draft(Message(Role.ASSISTANT, tuple(parts) or (Text(""),)), NO_ATTRIBUTES)

    def write_raws(self, message: Message) -> list[Raw]:
        return write_items(message)

    def rewrite_raw(self, raw: Raw, message: Message) -> list[Raw]:
        """Write the same item with other words; those of an answer stay as they are."""
        return [raw if _TOGETHER in raw else {**raw, **write_item(message, parse_item(raw).attributes)}]

    def write_text_part(self, text: str) -> Raw:
        return {"type": "input_text", "text": text}

    def write_body(self, fields: Mapping[str, Any], raws: Sequence[Raw]) -> Raw:
        changed = dict(fields)
        rest = list(raws)
        given = fields.get("input")
        if rest and rest[0].get("role") == "system" and (fields.get("instructions") or not _begins_with_system(given)):
            changed["instructions"] = rest.pop(0)["content"]
        if isinstance(given, str) and len(rest) == 1 and isinstance(rest[0].get("content"), str):
            return {**changed, "input": rest[0]["content"]}
        return {**changed, "input": [item for raw in rest for item in raw.get(_TOGETHER, [raw])]}

    def write_reply(self, text: str, model: str, *, created: int) -> Raw:
        item = responses_reply.write_text_item("msg_previously", text)
        usage = {"input_tokens": 0, "output_tokens": 0, "total_tokens": 0}
        return responses_reply.write_response("resp_previously", model, [item], created=created, usage=usage)

    def stream_reply(self, text: str, model: str, *, created: int) -> Iterator[bytes]:
        whole, events = self.write_reply(text, model, created=created), responses_reply.ResponsesEventWriter()
        yield events.write_start(whole)
        yield from events.write_item_events(0, whole["output"][0], [text])
        yield events.write_end(whole)


def _join_answers(items: Sequence[Any]) -> list[Any]:
    """Return the items, those that the model gave one after the other as one raw."""
    raws: list[Any] = []
    run: list[Any] = []
    for item in [*items, None]:
        if isinstance(item, dict) and _is_models(item):
            run.append(item)
            continue
        if run:
            raws.append(run[0] if len(run) == 1 else {_TOGETHER: run})
            run = []
        raws.append(item)
    return raws[:-1]


def _is_models(item: Raw) -> bool:
    """Return whether an item is the model's own."""
    kind = item.get("type")
    if kind in (None, "message"):
        return item.get("role") == "assistant"
    return not str(kind).endswith("_output")


def _begins_with_system(given: object) -> bool:
    match given:
        case [{"role": "system" | "developer"}, *_]:
            return True
        case _:
            return False


CHAT, MESSAGES, RESPONSES = Interface(), MessagesInterface(), ResponsesInterface()

INTERFACES: dict[str, Interface] = {interface.name: interface for interface in (CHAT, MESSAGES, RESPONSES)}
"""Each by its name."""
