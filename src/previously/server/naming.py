"""What a story is called that a client began."""

from __future__ import annotations

import secrets
from datetime import datetime

from previously.core.json_values import clean
from previously.server.asked import AskedChat

_LONGEST = 60


def new_name(asked: AskedChat) -> str:
    """A name for a new story: who is in it and when it began, and some letters, since no two may have the same name."""
    names = asked.heard.names
    who = ", ".join(names.members) or names.character or "Chat"
    who = " ".join(clean(who)[0].split())[:_LONGEST] or "Chat"
    return f"{who} {datetime.now():%Y-%m-%d %H:%M} {secrets.token_hex(4)}"
