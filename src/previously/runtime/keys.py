"""Making, listing and removing the keys by which a server knows on whose behalf a client asks.

Only whoever made a key knows it. It is given back once, when it is made; what is kept of it, and what any error says,
cannot be turned back into it.
"""

from __future__ import annotations

from secrets import token_urlsafe

from previously.core.errors import BadInput
from previously.core.exact_names import check_new_name
from previously.runtime.clock import time_at
from previously.storage.store import Store, StoryKey
from previously.storage.tables.keys import ENDING, KEY_PREFIX, NOBODY, AccessKey, hash_key

LOCAL_OWNER = "local"
"""The owner of the stories on a person's own machine."""

KEY_BYTES = 32

NO_STORY = StoryKey(NOBODY, 0)
"""Keys are nobody's, and in no story."""


class Keys:
    """The keys of the place that a memory is at, whoever they are of."""

    _store: Store

    async def add_key(self, name: str, *, owner: str = LOCAL_OWNER) -> tuple[str, AccessKey]:
        """A new key that opens the owner's stories, and what is kept of it. It is said here and never again. `BadInput`
        if there is one of that name."""
        check_new_name("A key", name)
        check_owner(owner)
        key = KEY_PREFIX + token_urlsafe(KEY_BYTES)
        kept = AccessKey(name, owner, hash_key(key), key[-ENDING:], time_at())
        await self._store.write(NO_STORY, lambda tables: tables.keys.add(kept))
        return key, kept

    async def keys(self) -> list[AccessKey]:
        """Every key by name, as far as it is kept."""
        return await self._store.read(NOBODY, lambda tables: tables.keys.all())

    async def remove_key(self, name: str) -> AccessKey:
        """Take a key away. `BadInput` if there is none of that name."""
        return await self._store.write(NO_STORY, lambda tables: tables.keys.remove(name))

    async def owner_of_key(self, hashed: bytes) -> str | None:
        """Return whose stories the key of that hash (see `hash_key`) opens; None if it is none of ours."""
        return await self._store.read(NOBODY, lambda tables: tables.keys.owner_of(hashed))


def check_owner(owner: str) -> None:
    """Refuse what cannot be an owner."""
    check_new_name("An owner", owner)
    if owner == NOBODY:
        raise BadInput(f"{NOBODY!r} is nobody; choose another owner.")
