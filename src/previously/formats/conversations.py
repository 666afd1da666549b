"""A conversation as a client holds it: a list in one of three dialects, or what was read of a log, and back again.

One item of a list is one message of ours, at the same place. An item that was not changed is written as the very object
that came. What a request says besides its messages is kept, and known by its size. A system prompt that stands beside
the list goes into the list where another dialect has it there.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from itertools import islice
from pathlib import Path
from typing import Any

from previously.core.errors import BadInput
from previously.core.json_values import kind, parse_json, shown
from previously.core.messages import NO_ATTRIBUTES, Attributes, Draft, Message, Role, ToolResult, clean_draft
from previously.core.pairing import INTERRUPTED, add_call_ids
from previously.formats import claude_code, sweagent
from previously.formats.claude_code import MARK
from previously.formats.detect_format import read_story
from previously.formats.files import StorySource, open_document
from previously.formats.request_files import is_anthropic, is_responses
from previously.wire.anthropic import parse_anthropic_message, write_anthropic_message
from previously.wire.anthropic_request import to_anthropic
from previously.wire.chat import join_calls, parse_chat_message, to_chat, to_openai
from previously.wire.responses import OutputKinds, find_call_ids, parse_item, to_responses, write_item

_FIELDS = ("messages", "input")
"""Fields of a body that hold its list."""
_PROMPTS = ("system", "instructions")
"""Fields of a body that hold its system prompt."""

_MOST_NAMED = 8
"""Sessions that a sentence names: more would hide what it says."""


class Dialect(StrEnum):
    """The way an API writes a conversation."""

    OPENAI = "openai"
    ANTHROPIC = "anthropic"
    RESPONSES = "responses"


@dataclass(frozen=True, slots=True)
class Conversation:
    """A list of messages, and how it came."""

    drafts: tuple[Draft, ...]
    dialect: Dialect
    items: tuple[dict[str, Any], ...] = ()
    """The objects of the client's list, one for each draft; none where it was read from a log."""
    body: Mapping[str, Any] | None = None
    """The request that the list stood in, without it; None = it was a list."""
    pins: tuple[int, ...] = ()
    """Places of the task, where the log knows it though it does not look like one among the user's messages."""
    earlier: Mapping[str, Any] = field(default_factory=dict)
    """The mark that an earlier fold left in the file, by which its brief is known."""
    skipped: Mapping[str, int] = field(default_factory=dict)
    """Number of lines of the log that hold no message, by what they are."""
    interrupted: int = 0
    """Results that were made when the log was read, since its calls never got one."""
    led: int = 0
    """Number of messages at the front that stood beside the list (see `put_system_first`)."""

    @property
    def messages(self) -> tuple[Message, ...]:
        return tuple(draft.message for draft in self.drafts)

    @property
    def beside(self) -> str:
        """The text besides its messages that a model reads too: its system prompt and its tools."""
        given = [(self.body or {}).get(name) for name in (*_PROMPTS, "tools")]
        return "\n".join(one if isinstance(one, str) else json.dumps(one, ensure_ascii=False) for one in given if one)


def parse_conversation(given: Sequence[Mapping[str, Any]] | Mapping[str, Any]) -> Conversation:
    """Return the conversation in a list of messages or items, or in a request body."""
    body: dict[str, Any] | None = None
    listed: Any = given
    if isinstance(given, Mapping):
        field = next((name for name in _FIELDS if name in given), None)
        if field is None:
            raise BadInput('A conversation is a list of messages, or an object with "messages" or "input".')
        body = {name: value for name, value in given.items() if name != field}
        listed = given[field]
        if isinstance(listed, str):
            listed = [{"role": "user", "content": listed}]
    if isinstance(listed, str) or not isinstance(listed, Sequence):
        raise BadInput(f"A conversation is a list of messages, not {kind(listed)}.")
    dialect = _find_dialect(given, list(listed))
    read = {
        Dialect.OPENAI: parse_chat_message,
        Dialect.ANTHROPIC: parse_anthropic_message,
        Dialect.RESPONSES: parse_item,
    }[dialect]
    drafts: list[Draft] = []
    for number, item in enumerate(listed, 1):
        try:
            if not isinstance(item, Mapping):
                raise BadInput(f"it must be an object, not {kind(item)}.")
            drafts.append(clean_draft(read(dict(item)))[0])
        except (BadInput, RecursionError) as error:
            why = "it is nested too deeply." if isinstance(error, RecursionError) else str(error)
            raise BadInput(f"Message {number} of {len(listed)} cannot be read: {why}") from None
    for at, call_id in find_call_ids(listed).items() if dialect is Dialect.RESPONSES else ():
        drafts[at] = _answer_call(drafts[at], call_id)
    items = tuple(item if isinstance(item, dict) else dict(item) for item in listed)
    mark = (body or {}).get(MARK)
    return Conversation(tuple(drafts), dialect, items, body, earlier=mark if isinstance(mark, Mapping) else {})


def _answer_call(draft: Draft, call_id: str) -> Draft:
    parts = (replace(part, id=call_id) if isinstance(part, ToolResult) else part for part in draft.message.parts)
    return replace(draft, message=replace(draft.message, parts=tuple(parts)))


def read_conversation(path: Path, format: str | None = None) -> Conversation:
    """Return the conversation in a file, whatever wrote it."""
    source = _choose_session(path, read_story(path, format))
    if source.format in list(Dialect):
        with open_document(path) as document:
            return parse_conversation(parse_json(document.text(), "file"))
    pins = _find_task(source.drafts) if source.format == sweagent.NAME else ()
    drafts = tuple(_restore_role(draft) for draft in source.drafts)
    marks = [mark for draft in drafts if "brief" in (mark := _find_mark(draft))]
    return Conversation(
        drafts,
        Dialect.OPENAI,
        pins=pins,
        earlier=marks[-1] if marks else {},
        skipped=source.skipped,
        interrupted=sum(map(_is_made, drafts)),
    )


def _choose_session(path: Path, source: StorySource) -> StorySource:
    """Return the conversation of a source; of a store of sessions its only one, besides those of sub-agents."""
    if source.drafts:
        return source
    main = [one for one in source.others if not {"parentID", "parent_id"} & one.source.header.keys()]
    sessions = main or list(source.others)
    if len(sessions) == 1:
        return sessions[0].source
    names = ", ".join([*(one.name for one in sessions[:_MOST_NAMED]), *(["…"] if sessions[_MOST_NAMED:] else [])])
    raise BadInput(
        f"{shown(str(path))}: there are {len(sessions)} sessions ({names}); give the file of one, from the folder "
        "`session` or as `opencode export` writes it."
    )


def _is_made(draft: Draft) -> bool:
    """Return whether the reader put it in, for a call that never got its result."""
    made = any(isinstance(part, ToolResult) and part.text == INTERRUPTED for part in draft.message.parts)
    return made and draft.attributes == NO_ATTRIBUTES


def _find_mark(draft: Draft) -> Mapping[str, Any]:
    """Return what a line of a transcript says that it is to us; nothing for most."""
    fields = draft.attributes.extra.get(claude_code.KEY)
    mark = fields.get(MARK) if isinstance(fields, Mapping) else None
    return mark if isinstance(mark, Mapping) else {}


def _restore_role(draft: Draft) -> Draft:
    """Return the draft as what it was before it became a line of the user."""
    if _find_mark(draft).get("system") is not True or draft.message.role is not Role.USER:
        return draft
    return replace(draft, message=replace(draft.message, role=Role.SYSTEM))


def put_system_first(conversation: Conversation) -> Conversation:
    """Return the conversation with the system prompt that stands beside its list as its first message, to be written
    anew."""
    body = conversation.body or {}
    prompts = [body[name] for name in _PROMPTS if body.get(name) and isinstance(body[name], str | list)]
    if not prompts:
        return conversation
    led = [clean_draft(parse_anthropic_message({"role": "system", "content": prompt}))[0] for prompt in prompts]
    return replace(
        conversation,
        drafts=(*led, *conversation.drafts),
        items=(),
        body={name: value for name, value in body.items() if name not in _PROMPTS},
        pins=tuple(pin + len(led) for pin in conversation.pins),
        led=len(led),
    )


def _find_task(drafts: Sequence[Draft]) -> tuple[int, ...]:
    """Return the place of a trajectory's task: what a user says later is what commands gave."""
    said = (
        at
        for at, draft in enumerate(drafts)
        if draft.message.role is Role.USER and not draft.attributes.extra.get("is_demo")
    )
    return tuple(islice(said, 1))


def rewrite_messages(
    conversation: Conversation,
    messages: Sequence[Message],
    origin: Sequence[int | None],
    to: Dialect | None = None,
    brief_at: int | None = None,
) -> list[dict[str, Any]]:
    """Return these messages as a list in that dialect, or in its own. `origin` says which of the conversation's each
    was; the brief at `brief_at` stays a message of its own, so that the next fold finds it."""
    to = to or conversation.dialect
    if to is not Dialect.ANTHROPIC:
        messages = add_call_ids(messages, once=to is Dialect.RESPONSES)
    attributes = [_attributes(conversation, at) for at in origin]
    if to is not conversation.dialect or not conversation.items:
        return _write_anew(messages, attributes, to, brief_at)
    items: list[dict[str, Any]] = []
    kinds = OutputKinds()
    for message, at, known in zip(messages, origin, attributes, strict=True):
        if at is not None and conversation.drafts[at].message == message:
            items.append(conversation.items[at])
            kinds.note(items[-1])
        elif to is Dialect.OPENAI:
            items += [{**conversation.items[at], **one} if at is not None else one for one in to_openai(message)]
        elif to is Dialect.ANTHROPIC:
            items.append(write_anthropic_message(message, known))
        else:
            items.append(kinds.fit(write_item(message, known)))
    return join_calls(items) if to is Dialect.OPENAI else items


def find_system(
    conversation: Conversation, messages: Sequence[Message], to: Dialect | None = None
) -> str | list[dict[str, Any]] | None:
    """Return the system prompt that stands beside the list in that dialect; None if it stands in the list or there is
    none."""
    if to is Dialect.ANTHROPIC and (conversation.dialect is not to or not conversation.items):
        system: str | list[dict[str, Any]] | None = to_anthropic(messages).get("system")
        return system
    given = (conversation.body or {}).get("system")
    return given if isinstance(given, str | list) else None


def find_body(conversation: Conversation, messages: Sequence[Message], to: Dialect | None = None) -> dict[str, Any]:
    """Return what a request in that dialect says besides its list: all that it said where the dialect is its own, else
    the system prompt, where that stands beside the list."""
    if to in (None, conversation.dialect) and conversation.body is not None:
        return {name: value for name, value in conversation.body.items() if name != MARK}
    system = find_system(conversation, messages, to)
    return {"system": system} if system else {}


def find_list_field(dialect: Dialect) -> str:
    """Return what the list is called in a request of that dialect."""
    return "input" if dialect is Dialect.RESPONSES else "messages"


def _write_anew(
    messages: Sequence[Message], attributes: Sequence[Attributes], to: Dialect, brief_at: int | None
) -> list[dict[str, Any]]:
    if to is Dialect.ANTHROPIC:
        listed: list[dict[str, Any]] = to_anthropic(messages, attributes, alone=brief_at)["messages"]
        return listed
    if to is Dialect.RESPONSES:
        return to_responses(messages, attributes)
    return to_chat(messages)


def _attributes(conversation: Conversation, at: int | None) -> Attributes:
    return NO_ATTRIBUTES if at is None else conversation.drafts[at].attributes


def _find_dialect(given: object, listed: list[Any]) -> Dialect:
    known = is_responses(given if isinstance(given, dict) else listed) or _has_parts_of_responses(listed)
    if known and not _is_chat(listed):
        return Dialect.RESPONSES
    return Dialect.ANTHROPIC if is_anthropic(given if isinstance(given, dict) else listed) else Dialect.OPENAI


def _has_parts_of_responses(listed: list[Any]) -> bool:
    contents = [item.get("content") for item in listed if isinstance(item, Mapping)]
    parts = [part for content in contents if isinstance(content, list) for part in content if isinstance(part, dict)]
    return any(part.get("type") in ("input_text", "output_text", "input_image") for part in parts)


def _is_chat(listed: list[Any]) -> bool:
    return any(isinstance(item, Mapping) and ("tool_calls" in item or item.get("role") == "tool") for item in listed)
