"""Head and tail: which of a conversation's units stay as they were said, and which are folded.

The tail is filled from the newest unit backwards, without a gap, until so many turns are in it or there is no more
room. A turn for which there is no room is split between units. A turn begins with a request of the user; rules that a
client injected, results and the earlier brief begin none. What must stay true: a unit is never parted; the newest
request, or the newest unit since then, stays however large it is; a tail that was chosen once is chosen again by the
same rules, so that folding twice does nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from previously.core.messages import Message
from previously.folds.briefs.pins import Pins, is_request


@dataclass(frozen=True, slots=True)
class Piece:
    """One unit of the conversation, as it counts for the choice."""

    messages: range
    tokens: int
    """What it takes; nothing where it stays in any case."""
    begins_turn: bool
    stays: bool
    """It is pinned, or holds a pin."""


def pieces_of(
    messages: Sequence[Message], units: Sequence[range], pins: Pins, tokens: Sequence[int], brief_at: int | None
) -> list[Piece]:
    """The units of a conversation without the earlier brief, which is neither head nor tail."""
    found: list[Piece] = []
    for unit in units:
        if brief_at is not None and brief_at in unit:
            continue
        stays = unit[0] in pins.held
        cost = 0 if stays else sum(tokens[at] for at in unit)
        found.append(Piece(unit, cost, is_request(messages[unit[0]]), stays))
    return found


def tail_start(pieces: Sequence[Piece], turns: int, room: int) -> int:
    """Which piece the tail begins with: so many turns at most, in so many tokens; all of them where that is enough."""
    if turns <= 0:
        return len(pieces)
    first_turn = next((at for at, piece in enumerate(pieces) if piece.begins_turn), len(pieces))
    start = len(pieces)
    begun = 0
    newest = True  # nothing that was done since the newest request is in the tail yet
    for at in reversed(range(len(pieces))):
        piece = pieces[at]
        room -= piece.tokens
        if room < 0 and not newest:
            return start
        start = at
        newest = newest and piece.stays and not piece.begins_turn
        begun += piece.begins_turn
        if begun == turns and at > first_turn:
            return start
    return start


def head_of(pieces: Sequence[Piece], start: int) -> tuple[int, ...]:
    """The messages before the tail that do not stay in any case."""
    return tuple(at for piece in pieces[:start] if not piece.stays for at in piece.messages)
