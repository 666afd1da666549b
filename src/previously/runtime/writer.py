"""The writers of memory: each is asked with a fold and answers with text.

`BuiltinWriter` needs no model; `runtime.model_writer.ModelWriter` asks one; `RehearsalWriter` only estimates. Anything
that keeps the protocol can take their place. A writer never raises because a model failed, and what it gives back has
been checked, or is checked by the loop before it is kept.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from previously.core.tokens import estimate_tokens
from previously.core.versions import Cost, Kind, Status

if TYPE_CHECKING:
    from previously.folds.fold import Fold
    from previously.runtime.answer_cache import AnswerSource


@dataclass(frozen=True, slots=True)
class Attempt:
    """An answer that could not be kept, or a call that failed."""

    reason: str
    text: str
    cost: Cost
    model: str = ""
    prompt_hash: str = ""


@dataclass(frozen=True, slots=True)
class MemoryReply:
    """The text of a writer, what it wants back next time, what it cost and what was tried on the way."""

    text: str
    carry: str
    cost: Cost
    made_by: str = "builtin"
    checked: bool = False
    """True if the writer has judged the text itself, part by part."""
    status: Status = Status.COMMITTED
    reason: str = ""
    """The reason why it is provisional; empty where it is not."""
    model: str = ""
    prompt_hash: str = ""
    attempts: tuple[Attempt, ...] = ()
    shed: tuple[str, ...] = ()
    """Names and numbers of the earlier text that are gone."""
    unverified: tuple[str, ...] = ()
    """Sentences without support in what was read."""
    warnings: tuple[str, ...] = ()
    """Faults of a note that was kept all the same."""
    beside: tuple[tuple[Kind, str], ...] = ()
    """Texts of other kinds that the same answer gave."""

    @property
    def total_cost(self) -> Cost:
        """Return what it cost with all that was tried on the way."""
        return sum((attempt.cost for attempt in self.attempts), self.cost)


class MemoryWriter(Protocol):
    """Writes memory. Yours can take the place of the built-in one:

    >>> from previously import BlockingMemory, Cost, Fold, MemoryReply
    >>> class Counter:
    ...     made_by = "counter"
    ...     amends = False
    ...     async def ready(self) -> bool:
    ...         return True
    ...     async def write(self, asked: Fold, *, source: object = None, anew: bool = False) -> MemoryReply:
    ...         return MemoryReply(f"There were {len(asked.delta)} messages.", "", Cost(), made_by=self.made_by)
    >>> BlockingMemory(":memory:", writer=Counter()).close()
    """

    @property
    def made_by(self) -> str:
        """Return who writes when all goes well: `builtin` makes no calls."""

    @property
    def amends(self) -> bool:
        """Return whether it can set a text right after earlier words were changed. If not, the text is folded again,
        and `write` is never asked to amend."""

    async def ready(self) -> bool:
        """Return whether what it would write now is as good as it can: with a model behind it, that it would be
        asked."""

    async def write(self, asked: Fold, *, source: AnswerSource | None = None, anew: bool = False) -> MemoryReply:
        """Return the text that a fold asks for. A reply with status `refused` says that there is none; only a fold that
        nothing stands in for may end so. `source` is what an answer would be about; with `anew` no answer that was kept
        is taken again."""


class BuiltinWriter:
    """The writer that quotes, and calls no model."""

    made_by = "builtin"
    amends = False

    async def ready(self) -> bool:
        return True

    async def write(
        self,
        asked: Fold,
        *,
        source: AnswerSource | None = None,  # noqa: ARG002
        anew: bool = False,  # noqa: ARG002
    ) -> MemoryReply:
        """Write in this process, in a few milliseconds."""
        from previously.folds.fold import estimate_read

        given = asked.builtin()
        written = sum(estimate_tokens(text) for text in (given.text, *(text for _, text in given.beside)))
        cost = Cost(0, estimate_read(asked), written)
        return MemoryReply(given.text, given.carry, cost, checked=True, warnings=given.warnings, beside=given.beside)


class RehearsalWriter:
    """The writer that says what another would read and write."""

    def __init__(self, writer: MemoryWriter, hear: Callable[[Fold], None] | None = None) -> None:
        self.made_by: str = writer.made_by
        self.amends: bool = writer.amends
        self._writer = writer
        self._hear = hear

    async def ready(self) -> bool:
        return await self._writer.ready()

    async def write(
        self,
        asked: Fold,
        *,
        source: AnswerSource | None = None,  # noqa: ARG002
        anew: bool = False,  # noqa: ARG002
    ) -> MemoryReply:
        """Return texts of the length that is asked for."""
        if self._hear:
            self._hear(asked)
        planned = asked.rehearse(by_model=self.made_by != "builtin")
        given = planned.accepted
        return MemoryReply(
            given.text, given.carry, planned.cost, made_by=self.made_by, checked=True, beside=given.beside
        )
