"""Who may know of a message.

What must stay true: one rule for every reader and every memory; a name is the same name however it is spelt; who speaks
knows what they said, whether they are listed or not.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from functools import lru_cache

from previously.core.messages import Message


def knows_of(name: str, message: Message) -> bool:
    """Whether a character may know of a message: they were there, or said it themselves. Nobody in particular may know
    of everything."""
    if not name or message.witnesses is None:
        return True
    own = folded_name(name)
    return bool(own) and (own in map(folded_name, message.witnesses) or own == folded_name(message.speaker or ""))


def witnessed_by(name: str, messages: Iterable[Message]) -> tuple[Message, ...]:
    """Those of the messages that a character may know of, in order."""
    return tuple(message for message in messages if knows_of(name, message))


@lru_cache(maxsize=4_096)
def folded_name(name: str) -> str:
    """A name as it is compared: however it is spelt, `Bram`, `bram` and ` BRAM` are one."""
    return unicodedata.normalize("NFKC", name).casefold().strip()
