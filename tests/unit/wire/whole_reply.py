"""Read a reply that came in one piece, as tests have it."""

from __future__ import annotations

from previously.wire.reply import MAX_TEXT_BYTES, Reply
from previously.wire.sse import ReplyReader


def read_reply(body: bytes, *, max_text_bytes: int = MAX_TEXT_BYTES) -> Reply:
    """Read a whole body. A stream that nobody asked for is read as one."""
    # A line that waits costs up to nine times its characters.
    reader = ReplyReader(max_text_bytes=max_text_bytes, max_body_bytes=(len(body) + 1) * 9)
    reader.feed(body)
    return reader.finish()
