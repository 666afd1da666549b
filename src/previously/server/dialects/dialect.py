"""What tells one interface from another. All else of a turn is the same for all of them.

A client's list is read as *raws*: what it sent for each message, in order. What an interface keeps beside its list (its
instructions) is a raw of the role `system` before all others, and goes back to its place when the body is written.
What must stay true: a raw that nobody has changed is the very object that the client sent, wherever it goes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol

from previously.core.messages import Draft, Message
from previously.models.sse import ReplyReader
from previously.server.wording import Wording

Raw = dict[str, Any]


class Dialect(Protocol):
    """One interface."""

    @property
    def name(self) -> str:
        """What it is called."""
        ...

    @property
    def path(self) -> str:
        """Where it is, below the address of the upstream."""
        ...

    @property
    def wording(self) -> Wording:
        """How errors are told."""
        ...

    @property
    def begins_with_user(self) -> bool:
        """Whether the first message must be the user's, and no result."""
        ...

    def passes(self, fields: Mapping[str, Any]) -> bool:
        """Whether a request is passed on without memory, since its history does not lie in it."""
        ...

    def raws(self, fields: Mapping[str, Any]) -> list[Raw]:
        """The messages of a body. `BadInput` if there are none."""
        ...

    def draft_of(self, raw: Raw) -> Draft:
        """A raw as a message."""
        ...

    def raws_of(self, message: Message) -> list[Raw]:
        """A message that the client did not send, as it would have; none if nothing of it can be sent."""
        ...

    def rewritten(self, raw: Raw, message: Message) -> list[Raw]:
        """A raw whose message is told with other words now; all else of it stays."""
        ...

    def text_part(self, text: str) -> Raw:
        """Words as one part of a message's content."""
        ...

    def body(self, fields: Mapping[str, Any], raws: Sequence[Raw]) -> Raw:
        """The body with other messages."""
        ...

    def user(self, fields: Mapping[str, Any]) -> object:
        """Whose conversation it is, where the client says so."""
        ...

    def reader(self) -> ReplyReader:
        """What reads an answer as it passes by."""
        ...

    def words(self, text: str, model: str, *, created: int) -> Raw:
        """Words of ours as an answer."""
        ...

    def stream(self, text: str, model: str, *, created: int) -> Iterator[bytes]:
        """The same as a stream."""
        ...
