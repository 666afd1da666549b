"""The beginning of a reply that a client puts behind the history, to be gone on with.

It looks like a reply that is there already. It is none if the user's message before it is new, or if the reply that is
stored begins with it. Set in brackets, it is a note that stands last and no beginning.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from previously.core.digests import match_key
from previously.core.messages import Message, Role, ToolCall
from previously.recognition.heard import Piece


@dataclass(frozen=True, slots=True)
class Prefill:
    """What stands behind the history in the assistant's name."""

    pieces: tuple[Piece, ...] = ()

    @property
    def begins(self) -> str:
        """What the reply begins with in the client's history."""
        text = "\n\n".join(piece.message.text for piece in self.pieces)
        return "" if text.startswith("[") and text.rstrip().endswith("]") else text


NO_PREFILL = Prefill()


def last_exchange(pieces: Sequence[Piece], known: Collection[bytes]) -> bytes | None:
    """The match key of the user's message before an unknown reply at the end, if that is known: whether the reply is a
    prefill depends on what is stored behind it."""
    if len(pieces) < 2 or not _is_unknown_reply(pieces, known) or pieces[-2].message.role is not Role.USER:
        return None
    key = match_key(pieces[-2].message)
    return key if key in known else None


def without_prefill(
    pieces: Sequence[Piece], known: Collection[bytes], stored: Message | None, *, continues: bool
) -> tuple[tuple[Piece, ...], Prefill]:
    """The pieces of the story, and the prefill behind them. `stored` is what is stored behind the last user message;
    `continues`: the client says that the last message is one of the story."""
    everything = tuple(pieces)
    if continues or len(pieces) < 2 or not _is_unknown_reply(pieces, known):
        return everything, NO_PREFILL
    before = pieces[-2].message
    if before.role is not Role.USER:
        return everything, NO_PREFILL
    if match_key(before) in known:
        text = pieces[-1].message.text
        is_prefill = stored is None or (stored.text.startswith(text) and stored.text != text)
    else:
        is_prefill = bool(known) or len(pieces) == 2  # a list never seen before may end with a reply
    return (everything[:-1], Prefill(everything[-1:])) if is_prefill else (everything, NO_PREFILL)


def _is_unknown_reply(pieces: Sequence[Piece], known: Collection[bytes]) -> bool:
    last = pieces[-1].message
    has_calls = any(isinstance(part, ToolCall) for part in last.parts)
    return last.role is Role.ASSISTANT and not has_calls and match_key(last) not in known
