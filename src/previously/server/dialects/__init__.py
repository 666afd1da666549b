"""The interfaces that clients speak: chat completions, Anthropic's messages, OpenAI's Responses."""

from __future__ import annotations

from previously.server.dialects.chat_completions import CHAT
from previously.server.dialects.dialect import Dialect, Raw
from previously.server.dialects.messages import MESSAGES
from previously.server.dialects.responses import RESPONSES

__all__ = ["CHAT", "DIALECTS", "MESSAGES", "RESPONSES", "Dialect", "Raw"]

DIALECTS: dict[str, Dialect] = {dialect.name: dialect for dialect in (CHAT, MESSAGES, RESPONSES)}
"""Each by its name."""
