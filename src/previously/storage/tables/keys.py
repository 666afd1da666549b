"""The table of keys. Called inside a transaction or snapshot in the name of `NOBODY`."""

from __future__ import annotations

from previously.core.errors import BadInput
from previously.storage.key_store import AccessKey
from previously.storage.tables.session import Session


class KeyTable:
    """Keeps who may ask."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def add(self, key: AccessKey) -> None:
        """Keep a key, unless there is one of that name: `BadInput`."""
        values = {"name": key.name, "owner": key.owner, "hash": key.hash, "ending": key.ending, "at": key.at}
        if self._named(key.name) is None:
            self._session.run("insert_access_key", values)
            if self._named(key.name) == key:  # of several that add one name at once the first is kept
                return
        raise BadInput(f"There is a key named {key.name!r} already.")

    def all(self) -> list[AccessKey]:
        """Every key, by name."""
        return [AccessKey(*row) for row in self._session.rows("access_keys", {})]

    def remove(self, name: str) -> AccessKey:
        """Take a key away; `BadInput` if there is none of that name."""
        found = self._named(name)
        if found is None:
            raise BadInput(f"There is no key named {name!r}; `previously keys` lists those that exist.")
        self._session.run("delete_access_key", {"name": name, "owner": found.owner})
        return found

    def owner_of(self, key_hash: bytes) -> str | None:
        """Whose key has that hash."""
        row = self._session.one("owner_of_access_key", {"hash": key_hash})
        return str(row[0]) if row else None

    def _named(self, name: str) -> AccessKey | None:
        row = self._session.one("access_key_named", {"name": name})
        return AccessKey(*row) if row else None
