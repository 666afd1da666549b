"""Names as they are compared, and who may know of a message by the witnesses it was given with.

Who was present at the messages of a path is `core.presence`.
"""

from __future__ import annotations

import unicodedata
from functools import lru_cache

from previously.core.messages import Message


def knows_of(name: str, message: Message) -> bool:
    """Return whether a character may know of a message, by itself: they were there, or said it, or nothing was given.
    Nobody in particular may know of everything."""
    if not name or message.witnesses is None:
        return True
    own = folded_name(name)
    return bool(own) and (own in map(folded_name, message.witnesses) or own == folded_name(message.speaker or ""))


@lru_cache(maxsize=4_096)
def folded_name(name: str) -> str:
    """A name as it is compared: however it is spelt, `Bram`, `bram` and ` BRAM` are one."""
    return unicodedata.normalize("NFKC", name).casefold().strip()
