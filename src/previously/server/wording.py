"""Errors in the words of each interface: as the body of an answer, and as an event of a stream that is under way.

Pure. What must stay true: an official client of the interface makes of it the error that it knows.
"""

from __future__ import annotations

import json
from typing import Protocol

ANTHROPIC_PATH = "/v1/messages"
RESPONSES_PATH = "/v1/responses"


class Wording(Protocol):
    """How an interface says what went wrong."""

    def error(self, message: str, kind: str, code: str) -> bytes:
        """The body of an answer."""
        ...

    def event(self, message: str) -> bytes:
        """What ends a stream that cannot go on, behind whatever was sent of it."""
        ...


def error_json(message: str, kind: str, code: str) -> bytes:
    """An error in OpenAI's shape."""
    return json.dumps({"error": {"message": message, "type": kind, "param": None, "code": code}}).encode()


class ChatWording:
    """OpenAI's chat completions."""

    def error(self, message: str, kind: str, code: str) -> bytes:
        """The body of an answer."""
        return error_json(message, kind, code)

    def event(self, message: str) -> bytes:
        """A bare object, as clients of this interface look for it."""
        return b"\n\ndata: " + error_json(message, "upstream_error", "bad_upstream") + b"\n\n"


class ResponsesWording(ChatWording):
    """OpenAI's Responses: bodies as elsewhere, events of its own."""

    def event(self, message: str) -> bytes:
        """The event `error`."""
        fields = {"type": "error", "code": "bad_upstream", "message": message, "param": None, "sequence_number": 0}
        return b"\n\nevent: error\ndata: " + json.dumps(fields).encode() + b"\n\n"


_ANTHROPIC_KINDS = {
    "server_error": "api_error",
    "upstream_error": "api_error",
    "not_found": "not_found_error",
}


class MessagesWording:
    """Anthropic's messages."""

    def error(self, message: str, kind: str, code: str) -> bytes:
        """The body of an answer. This interface knows kinds and no codes."""
        told = _ANTHROPIC_KINDS.get(code) or _ANTHROPIC_KINDS.get(kind, kind)
        return json.dumps({"type": "error", "error": {"type": told, "message": message}}).encode()

    def event(self, message: str) -> bytes:
        """The event `error`."""
        return b"\n\nevent: error\ndata: " + self.error(message, "upstream_error", "") + b"\n\n"


CHAT, MESSAGES, RESPONSES = ChatWording(), MessagesWording(), ResponsesWording()


def wording_at(path: str) -> Wording:
    """How whoever asks at a path is told."""
    for begins, wording in ((ANTHROPIC_PATH, MESSAGES), (RESPONSES_PATH, RESPONSES)):
        if path == begins or path.startswith(f"{begins}/"):
            return wording
    return CHAT
