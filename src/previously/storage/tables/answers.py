"""The tables of answers that models gave, and of what is known of models. Called inside a transaction or snapshot."""

from __future__ import annotations

from previously.storage import answer_store
from previously.storage.tables.records import StoryKey
from previously.storage.tables.session import Session
from previously.storage.tables.stories import expect_story


class AnswerTable:
    """Keeps answers and facts."""

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
        of = {"story": key.story, "owner": key.owner}
        if node and self._session.one("node_hash", {"node": node, **of}) != (seen,):
            return
        if answer_store.is_storable(text):
            self._session.run("keep_answer", {"request": request, "text": text, "model": model, "at": at, **of})
            self._session.run("drop_answers", {"owner": key.owner, "most": answer_store.MOST_ANSWERS})

    def fact(self, owner: str, model: str) -> str:
        """Return what is known of a model."""
        row = self._session.one("model_fact", {"owner": owner, "model": model})
        return str(row[0]) if row else ""

    def set_fact(self, owner: str, model: str, fact: str, at: str) -> None:
        """Keep what is known of a model; those that are too many go."""
        self._session.run("set_model_fact", {"owner": owner, "model": model, "fact": fact, "at": at})
        self._session.run("drop_model_facts", {"owner": owner, "most": answer_store.MOST_MODEL_FACTS})
