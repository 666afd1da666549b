"""OpenAI's Responses. `instructions` are the list's first message here, and go back to their place.

All that the model says in one answer comes as several items: its reasoning, its words, its calls. They are one message
here, so that none of them is ever sent without the others. What must stay true: items that were not changed go on as
they came. A request that names an earlier response, or items by their ids, holds only a part of its history; it is
passed on as it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from previously.core.errors import BadInput
from previously.core.messages import NO_ATTRIBUTES, Draft, Image, Message, Role, Text, ToolCall, ToolResult
from previously.formats.responses_items import draft_of, item_of
from previously.models import response_answers as answers
from previously.models.sse import ReplyReader
from previously.server import wording
from previously.server.dialects.dialect import Raw
from previously.server.dialects.response_replies import ResponseAssembly

_TOGETHER = "items"
"""The one field of a raw that stands for several items of the client's."""

_END = object()
_ELSEWHERE = ("previous_response_id", "conversation", "prompt")


class Responses:
    """`/v1/responses`."""

    name = "responses"
    path = "responses"
    wording = wording.RESPONSES
    begins_with_user = False

    def passes(self, fields: Mapping[str, Any]) -> bool:
        """Whether the history, or a part of it, lies with the provider."""
        if any(fields.get(name) for name in _ELSEWHERE):
            return True
        given = fields.get("input")
        items = given if isinstance(given, list) else []
        return any(isinstance(item, dict) and item.get("type") == "item_reference" for item in items)

    def raws(self, fields: Mapping[str, Any]) -> list[Raw]:
        """The instructions, and the items, those of one answer together."""
        given = fields.get("input")
        if isinstance(given, str) and given:
            items: list[Any] = [{"role": "user", "content": given}]
        elif isinstance(given, list) and given:
            items = given
        else:
            raise BadInput('"input" must be text or a list with at least one item.')
        told = fields.get("instructions")
        first: list[Any] = [{"role": "system", "content": told}] if isinstance(told, str) and told else []
        return [*first, *_together(items)]

    def draft_of(self, raw: Raw) -> Draft:
        """A raw as a message."""
        if _TOGETHER not in raw:
            return draft_of(raw)
        drafts = [draft_of(item) for item in raw[_TOGETHER]]
        parts = [part for draft in drafts for part in draft.message.parts if part != Text("")]
        return Draft(Message(Role.ASSISTANT, tuple(parts) or (Text(""),)), NO_ATTRIBUTES)

    def raws_of(self, message: Message) -> list[Raw]:
        """The items of a message, without reasoning: the server would not know it again."""
        of_tool = message.role is Role.TOOL
        beside = tuple(part for part in message.parts if of_tool and isinstance(part, Image))
        said = tuple(part for part in message.parts if isinstance(part, Text | Image) and part not in beside)
        results = [part for part in message.parts if isinstance(part, ToolResult)]
        items = [item_of(Message(Role.TOOL, (one, *(beside if one is results[-1] else ())))) for one in results]
        if any(isinstance(part, Image) or part.text.strip() for part in said):
            items.append(item_of(Message(Role.USER if of_tool else message.role, said)))
        calls = [part for part in message.parts if isinstance(part, ToolCall)]
        return items + [item_of(Message(Role.ASSISTANT, (call,))) for call in calls]

    def rewritten(self, raw: Raw, message: Message) -> list[Raw]:
        """The same item with other words; those of an answer stay as they are."""
        return [raw if _TOGETHER in raw else {**raw, **item_of(message, draft_of(raw).attributes)}]

    def text_part(self, text: str) -> Raw:
        """Words as a part of what is said to the model."""
        return {"type": "input_text", "text": text}

    def body(self, fields: Mapping[str, Any], raws: Sequence[Raw]) -> Raw:
        """The body with other items."""
        changed = dict(fields)
        rest = list(raws)
        given = fields.get("input")
        if rest and rest[0].get("role") == "system" and (fields.get("instructions") or not _begins_with_system(given)):
            changed["instructions"] = rest.pop(0)["content"]
        if isinstance(given, str) and len(rest) == 1 and isinstance(rest[0].get("content"), str):
            return {**changed, "input": rest[0]["content"]}
        return {**changed, "input": [item for raw in rest for item in raw.get(_TOGETHER, [raw])]}

    def user(self, fields: Mapping[str, Any]) -> object:
        """The field of that name."""
        return fields.get("user")

    def reader(self) -> ReplyReader:
        """What reads an answer as it passes by."""
        return ReplyReader(ResponseAssembly())

    def words(self, text: str, model: str, *, created: int) -> Raw:
        """Words of ours as an answer."""
        item = answers.words_item("msg_previously", text)
        usage = {"input_tokens": 0, "output_tokens": 0, "total_tokens": 0}
        return answers.response("resp_previously", model, [item], created=created, usage=usage)

    def stream(self, text: str, model: str, *, created: int) -> Iterator[bytes]:
        """The same as a stream."""
        whole, events = self.words(text, model, created=created), answers.Events()
        yield events.begins(whole)
        yield from events.item(0, whole["output"][0], [text])
        yield events.ends(whole)


def _together(items: Sequence[Any]) -> list[Any]:
    """The items, those that the model gave one after the other as one raw."""
    found: list[Any] = []
    run: list[Any] = []
    for item in [*items, _END]:
        if isinstance(item, dict) and _is_models(item):
            run.append(item)
            continue
        if run:
            found.append(run[0] if len(run) == 1 else {_TOGETHER: run})
            run = []
        if item is not _END:
            found.append(item)
    return found


def _is_models(item: Raw) -> bool:
    """Whether an item is the model's own."""
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


RESPONSES = Responses()
