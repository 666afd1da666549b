"""A client's list with what is said beside it: by what its story is looked up, and which stories it cannot mean."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from previously.core.digests import match_key
from previously.core.messages import Role
from previously.recognition.client_list import Ask, ClientList
from previously.recognition.undo_postprocessing import PathKeys, list_edges, undo_postprocessing

USER, CHAT = "client_user", "client_chat"
"""Under which names a story's header says whose conversation it is, and by what id the client knows it."""

MOST_ASKED = 24
"""How many messages of a list are looked up in the store."""


@dataclass(frozen=True, slots=True)
class ClientRequest:
    """A client's list, and what is said beside it."""

    owner: str
    heard: ClientList
    streams: bool = False
    story: str | None = None
    """The name of the story, where it is given."""
    ask: Ask | None = None
    """What it is for, where that is given."""
    messages: int | None = None
    """How many messages the client's history has, where that is given."""
    user: str = ""
    """Whose conversation it is, where a client serves several people: their stories are never mixed."""
    creates: bool = True
    """Whether a story that is not there yet is made."""
    adopts: bool = False
    """Whether the name is an id of the client's: then a story that it has begun without the id may be meant."""

    @property
    def whose(self) -> str:
        """Whose lists are remembered apart from those of others."""
        return json.dumps([self.user, self.story]) if self.story else self.user

    def is_of(self, header: str) -> bool:
        """Whether a story is the same user's, by what is kept beside it."""
        return str(parse_header(header).get(USER, "")) == self.user

    def may_mean(self, header: str) -> bool:
        """Whether it can be meant, too: the client does not know it by another id."""
        return self.is_of(header) and (not self.story or parse_header(header).get(CHAT, self.story) == self.story)

    def kept_beside(self, header: str) -> str | None:
        """What is to be kept beside its story; None if it is."""
        whose = {USER: self.user} if self.user else {}
        if self.adopts and self.story:
            whose[CHAT] = self.story
        kept = parse_header(header)
        return None if whose.items() <= kept.items() else json.dumps({**kept, **whose})


def parse_header(header: str) -> dict[str, Any]:
    """What is kept beside a story."""
    kept = json.loads(header)
    return kept if isinstance(kept, dict) else {}


def choose_lookup_keys(heard: ClientList) -> tuple[list[bytes], list[bytes]]:
    """The match keys by which a list is looked up: that of a greeting, which alone recognises nothing, and those of its
    newest messages and some of its first."""
    body = [piece.message for piece in undo_postprocessing(heard, PathKeys(()))]
    said = [one for one in body if one.role is not Role.SYSTEM]
    greeting = said[:1] if said and said[0].role is Role.ASSISTANT else []
    said = said[len(greeting) :]
    newest = said[-(MOST_ASKED * 3 // 4) :]
    chosen = [*newest, *said[: MOST_ASKED - len(newest)]]
    if heard.is_merged:
        chosen += [part for one in chosen for part in list_edges(one)]
    return [match_key(one) for one in greeting], list(dict.fromkeys(match_key(one) for one in chosen))
