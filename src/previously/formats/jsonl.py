"""Our own lines: one message object per line, read one by one.

`{"role", "name"?, "content", "witnesses"?, "at"?, "id"?, "hidden"?, "extra"?}`; without `witnesses` everyone was
there. A line may be anything that `openai.draft_of` reads. Blank lines are skipped.
"""

from __future__ import annotations

from previously.core.errors import BadInput
from previously.core.json_values import parse_object
from previously.core.messages import Draft, clean_draft
from previously.formats.files import Document, StorySource
from previously.wire.chat import parse_chat_message

JSONL = "jsonl"


def read_jsonl(document: Document) -> StorySource:
    """Read a file of message lines."""
    drafts: list[Draft] = []
    replaced = 0
    for number, line in document.lines():
        try:
            draft, count = clean_draft(parse_chat_message(parse_object(line)))
        except (BadInput, RecursionError) as error:
            raise document.fault(error, number) from None
        drafts.append(draft)
        replaced += count
    return StorySource(drafts, JSONL, {}, replaced)
