"""The store's verbs for keys, in memory."""

from __future__ import annotations

from previously.core.errors import BadInput
from previously.storage.tables.keys import AccessKey


class InMemoryKeys:
    """The part of `InMemoryStore` that keeps keys."""

    _keys: dict[str, AccessKey]

    async def add_key(self, key: AccessKey) -> None:
        if key.name in self._keys:
            raise BadInput(f"There is a key named {key.name!r} already.")
        self._keys[key.name] = key

    async def keys(self) -> list[AccessKey]:
        return sorted(self._keys.values(), key=lambda key: key.name)

    async def remove_key(self, name: str) -> AccessKey:
        if name not in self._keys:
            raise BadInput(f"There is no key named {name!r}; `previously keys` lists those that exist.")
        return self._keys.pop(name)

    async def owner_of(self, key_hash: bytes) -> str | None:
        return next((key.owner for key in self._keys.values() if key.hash == key_hash), None)
