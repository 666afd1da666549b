"""Confirmations: nothing is destroyed that was not described first, just so."""

from __future__ import annotations

import hmac
import json
from dataclasses import dataclass, field
from hashlib import sha256
from secrets import token_bytes

from previously.server.api.problems import Problem


@dataclass(frozen=True, slots=True)
class Confirmations:
    """Makes and checks the words by which a person confirms what they were told. They hold as long as what they were
    told does, and this process."""

    _secret: bytes = field(default_factory=lambda: token_bytes(32), repr=False)

    def make(self, owner: str, *described: object) -> str:
        """Return the confirmation of what was described."""
        told = json.dumps([owner, *described], default=str).encode()
        return hmac.new(self._secret, told, sha256).hexdigest()[:32]

    def check(self, given: str, owner: str, *described: object) -> None:
        """Raise `Problem` 428 unless this was confirmed as it is now."""
        if not hmac.compare_digest(given.encode(), self.make(owner, *described).encode()):
            raise Problem(428, "confirm", "Nothing was forgotten: ask what would go, and send its `confirm` along.")
