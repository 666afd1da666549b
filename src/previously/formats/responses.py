"""Items as OpenAI's Responses API takes and gives them: a list of items, a request body or a response body.

One item is one message of ours, at the same place: a message, the model's reasoning, a call, or a call's output (see
`responses_items`). The `instructions` of a request are a message before all others, the rest of a body is the header.
"""

from __future__ import annotations

from typing import Any

from previously.core.errors import BadInput
from previously.core.json_values import clean_json
from previously.core.messages import Draft, clean_draft
from previously.formats.reading import Document, Source, kind, read_value
from previously.formats.responses_items import draft_of, item_of, to_responses
from previously.formats.responses_outputs import CALLS, OUTPUTS

__all__ = ["NAME", "draft_of", "is_ours", "item_of", "read", "source_of", "to_responses"]

NAME = "responses"
_OWN = frozenset(["reasoning", "item_reference", *CALLS, *OUTPUTS])


def is_ours(value: object) -> bool:
    """Whether a parsed file is in this format."""
    if isinstance(value, dict):
        return "messages" not in value and (
            isinstance(value.get("input"), list | str) or isinstance(value.get("output"), list)
        )
    items = [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []
    return any(str(item.get("type")) in _OWN or (item.get("type") == "message" and "role" in item) for item in items)


def read(document: Document) -> Source:
    """A file of one JSON value."""
    return read_value(document, source_of)


def source_of(document: Document, value: Any) -> Source:
    """The messages of a parsed file."""
    header: dict[str, Any] = {}
    items: list[Any] = []
    if isinstance(value, dict):
        header = {name: held for name, held in value.items() if name not in ("instructions", "input", "output")}
        if isinstance(value.get("instructions"), str) and value["instructions"]:
            items.append({"role": "system", "content": value["instructions"]})
        given = value.get("input", [])
        items += [{"role": "user", "content": given}] if isinstance(given, str) else _listed(given)
        items += _listed(value.get("output", []))
    else:
        items = _listed(value)
    drafts: list[Draft] = []
    replaced = 0
    for number, item in enumerate(items, 1):
        try:
            if not isinstance(item, dict):
                raise BadInput(f"an item must be an object, not {kind(item)}.")
            draft, count = clean_draft(draft_of(item))
        except BadInput as error:
            raise document.fault(error, f"item {number} of {len(items)}") from None
        drafts.append(draft)
        replaced += count
    new_header, count = clean_json(header)
    assert isinstance(new_header, dict)
    return Source(drafts, NAME, new_header, replaced + count)


def _listed(value: object) -> list[Any]:
    if not isinstance(value, list):
        raise BadInput(f"the file must hold a list of items, not {kind(value)}.")
    return value
