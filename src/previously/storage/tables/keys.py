"""The table of access keys, by which a server knows on whose behalf a client asks. Called in the name of `NOBODY`.

A key itself is never kept: only its hash, by which it is looked up, and its ending, by which a person knows it again.
The hash has no salt and takes no time on purpose: a key is 256 random bits, which nobody can try out, and looking up a
hash takes the same time whatever part of a guess is right. Keys belong to the place, not to an owner: no work about
stories sees them, they see no story, and no copy of a story holds any.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b

from previously.core.errors import BadInput
from previously.storage.tables.session import Session


class KeyTable:
    """Reads and writes the keys by which callers are let in."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def add(self, key: AccessKey) -> None:
        """Keep a key, unless there is one of that name: `BadInput`."""
        values = {"name": key.name, "owner": key.owner, "hash": key.hash, "ending": key.ending, "at": key.at}
        if self._find_named(key.name) is None:
            self._session.run("insert_access_key", values)
            if self._find_named(key.name) == key:  # of several that add one name at once the first is kept
                return
        raise BadInput(f"There is a key named {key.name!r} already.")

    def all(self) -> list[AccessKey]:
        """Every key, by name."""
        return [AccessKey(*row) for row in self._session.rows("access_keys", {})]

    def remove(self, name: str) -> AccessKey:
        """Take a key away; `BadInput` if there is none of that name."""
        key = self._find_named(name)
        if key is None:
            raise BadInput(f"There is no key named {name!r}; `previously keys` lists those that exist.")
        self._session.run("delete_access_key", {"name": name, "owner": key.owner})
        return key

    def owner_of(self, key_hash: bytes) -> str | None:
        """Return the owner of the key that has this hash; None if there is none."""
        row = self._session.one("owner_of_access_key", {"hash": key_hash})
        return str(row[0]) if row else None

    def _find_named(self, name: str) -> AccessKey | None:
        row = self._session.one("access_key_named", {"name": name})
        return AccessKey(*row) if row else None


KEY_PREFIX = "pk-"
"""The beginning of our keys, so that one that lies about is recognised."""

NOBODY = "*"
"""In whose name a database is asked about keys; nobody's stories are of that owner."""

HASH_BYTES = 32
"""As many as a key has random bytes: a shorter hash would be easier to hit than the key."""

ENDING = 4
"""Characters of a key that are kept as they are: enough to tell one's own keys apart, and no help to guess 256 bits."""


@dataclass(frozen=True, slots=True)
class AccessKey:
    """An access key as it is kept."""

    name: str
    """The name that people gave it; no two have the same."""
    owner: str
    """Whose stories it opens."""
    hash: bytes
    ending: str
    at: str
    """The time at which it was made."""


def hash_key(key: str) -> bytes:
    """By what a key is looked up."""
    return blake2b(key.encode("utf-8", "surrogatepass"), digest_size=HASH_BYTES, person=b"prev.key.1").digest()
