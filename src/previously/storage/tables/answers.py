"""The tables of models' answers, so that no request is paid twice, and of facts about models.

An answer is kept by the hash of its whole request, and is its owner's: another story of the owner that asks the very
same is answered too. It belongs to the story it was kept for, and goes with it, or with any message of it that is
forgotten, since its text may hold the forgotten words. Answers are a cache: no copy or backup of a story holds any.
Called inside a transaction or snapshot.
"""

from __future__ import annotations

from previously.core.json_values import clean
from previously.storage.tables.records import StoryKey
from previously.storage.tables.session import Session
from previously.storage.tables.stories import expect_story


class AnswerTable:
    """Reads and writes answers of models that may be used again, and facts known of models."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def get(self, owner: str, request: bytes) -> str | None:
        """Return the text that answered a request."""
        row = self._session.one("answer", {"owner": owner, "request": request})
        return str(row[0]) if row else None

    def keep(
        self, key: StoryKey, request: bytes, text: str, model: str, at: str, *, node: int = 0, seen: bytes = b""
    ) -> None:
        """Keep an answer, unless what it answers was forgotten meanwhile; those that are too many go."""
        expect_story(self._session, key)
        of = key.values
        if node and self._session.one("node_hash", {"node": node, **of}) != (seen,):
            return
        if is_storable(text):
            self._session.run("keep_answer", {"request": request, "text": text, "model": model, "at": at, **of})
            self._session.run("drop_answers", {"owner": key.owner, "most": MOST_ANSWERS})

    def fact(self, owner: str, model: str) -> str:
        """Return what is known of a model."""
        row = self._session.one("model_fact", {"owner": owner, "model": model})
        return str(row[0]) if row else ""

    def set_fact(self, owner: str, model: str, fact: str, at: str) -> None:
        """Keep what is known of a model; those that are too many go."""
        self._session.run("set_model_fact", {"owner": owner, "model": model, "fact": fact, "at": at})
        self._session.run("drop_model_facts", {"owner": owner, "most": MOST_MODEL_FACTS})


MOST_ANSWERS = 2_000
"""Of one owner; the newest stay. An update reads about 40 messages and is answered with about 1,800 tokens, 7 kB: so
these are the answers for some 80,000 messages, in 15 MB."""

MOST_MODEL_FACTS = 500
"""Of one owner; those set last stay. More models than anybody asks: the bound is there for a client that makes up a
name for each request."""


def is_storable(text: str) -> bool:
    """Return whether every store gives this text back as it is."""
    return clean(text)[1] == 0
