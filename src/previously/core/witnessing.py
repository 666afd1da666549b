"""Names as they are compared, and who may know of a message by the witnesses it was given with.

Who was present at the messages of a path is `core.presence`.
"""

from __future__ import annotations

from previously.core.alphabets import casefold
from previously.core.messages import Message


def knows_of(name: str, message: Message) -> bool:
    """Return whether a character may know of a message, by itself: they were there, or said it, or nothing was given.
    Nobody in particular may know of everything."""
    if not name or message.witnesses is None:
        return True
    own = casefold(name)
    return bool(own) and (own in map(casefold, message.witnesses) or own == casefold(message.speaker or ""))
