"""What a server asks of a store besides stories: the keys by which it knows on whose behalf a client asks.

A key itself is never kept: only its hash, by which it is looked up, and its ending, by which a person knows it again.
The hash has no salt and takes no time on purpose: a key is 256 random bits, which nobody can try out, and looking up a
hash takes the same time whatever part of a guess is right. Keys belong to the place, not to an owner: no verb about
stories sees them, they see no story, and no copy of a story holds any.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b

KEY_PREFIX = "pk-"
"""How our keys begin, so that one that lies about is recognised."""

NOBODY = "*"
"""In whose name a database is asked about keys; nobody's stories are of that owner."""

HASH_BYTES = 32
ENDING = 4
"""Characters of a key that are kept as they are."""


@dataclass(frozen=True, slots=True)
class AccessKey:
    """What is kept of a key."""

    name: str
    """What people call it; no two have the same."""
    owner: str
    """Whose stories it opens."""
    hash: bytes
    ending: str
    at: str
    """When it was made."""


def key_hash(key: str) -> bytes:
    """By what a key is looked up."""
    return blake2b(key.encode("utf-8", "surrogatepass"), digest_size=HASH_BYTES, person=b"prev.key.1").digest()
