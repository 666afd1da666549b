"""The versions that become of a step and the reply to it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from previously.core.marks import SPAN_SCOPE
from previously.core.versions import Cost, Kind, NewVersion, Status, Version
from previously.plan.step import Step, Written
from previously.runtime.writer import Attempt, MemoryReply

MOST_WARNINGS = 2
"""Warnings of a note that are told beside it: its reason is one line."""

KEPT = "what was there is kept"
LOST = "another fold of the same messages was first"


@dataclass(frozen=True, slots=True)
class FoldOutcome:
    """All that a store is to keep of one reply."""

    attempts: tuple[NewVersion, ...]
    """Answers that could not be kept, with what they cost."""
    versions: tuple[NewVersion, ...]
    """All that the reply gave, the step's own text first; none if it was refused."""
    lost: NewVersion | None
    """The version that is kept if another fold of the same messages was first: its cost is still spent."""
    own: NewVersion
    """The version that the step's own text became."""


def make_outcome(step: Step, reply: MemoryReply, status: Status, at: str) -> FoldOutcome:
    """Return what is kept of a reply to a step."""
    version = _make_version(step, reply, status, at)
    attempts = tuple(_make_refused(version, attempt) for attempt in reply.attempts)
    if status is Status.REFUSED:
        return FoldOutcome(attempts, (), None, version)
    own, *beside = _make_versions(step, reply, version)
    lost = None
    if own.cost.calls:
        lost = _make_refused(own, Attempt(LOST, "", reply.cost, reply.model, reply.prompt_hash))
    return FoldOutcome(attempts, (own, *beside), lost, own)


def reply_with_written(written: Written) -> MemoryReply:
    """Return what code has put together as a reply."""
    status = Status.COMMITTED if written.firm else Status.PROVISIONAL
    return MemoryReply(
        written.text, written.carry, Cost(), made_by=written.made_by, checked=True, status=status, model=written.model,
        prompt_hash=written.prompt_hash, unverified=written.unverified,
    )  # fmt: skip


def choose_good(loose: Mapping[Kind, Version]) -> dict[Kind, Version]:
    """Return those that are to be made anew though they were good: committed once, and firm no more."""
    return {kind: version for kind, version in loose.items() if version.made.status is Status.COMMITTED}


def keep_texts(reply: MemoryReply, kind: Kind, loose: Mapping[Kind, Version]) -> MemoryReply:
    """Return a reply with the texts that were there, where a model was asked for them anew and had nothing to say that
    could be kept. They are good once more: else they would be asked for for ever."""
    made = loose[kind].made if kind in loose else None
    texts = tuple((other, loose[other].made.text if other in loose else text) for other, text in reply.beside)
    kept = replace(reply, beside=texts, reason=f"{KEPT}: {reply.reason}")
    return replace(
        kept, text=made.text, carry=made.carry, made_by=made.made_by, model=made.model, prompt_hash=made.prompt_hash,
        shed=made.shed, unverified=made.unverified,
    ) if made else kept  # fmt: skip


def _make_version(step: Step, reply: MemoryReply, status: Status, at: str) -> NewVersion:
    """Return the version that a step's own text becomes."""
    reach = len(step.span) + (step.before.made.reach if step.before else 0)
    return NewVersion(
        kind=step.kind,
        scope=step.scope,
        span=step.span,
        key=step.key,
        before=step.before.id if step.before else None,
        text=reply.text,
        carry=reply.carry or step.rests_on,
        status=status,
        made_by=reply.made_by,
        reason="; ".join(filter(None, (step.reason, reply.reason, *_list_warnings(reply)))),
        at=at,
        model=reply.model,
        prompt_hash=reply.prompt_hash,
        cost=reply.cost,
        replaces=step.replaces,
        shed=reply.shed,
        unverified=reply.unverified,
        anchor=step.run[-1].node,
        reach=reach,
        first=step.first if step.scope.startswith(SPAN_SCOPE) else b"",
    )


def _make_versions(step: Step, reply: MemoryReply, own: NewVersion) -> list[NewVersion]:
    """Return all that one answer gave, the step's own text first. The first of them bears the cost."""
    texts = [(kind, text) for kind, text in reply.beside if kind is not step.kind and kind not in step.others]
    own = replace(own, text=next((text for kind, text in reply.beside if kind is step.kind), own.text))
    beside = [
        replace(
            own, kind=kind, scope=SPAN_SCOPE, text=text, before=None, first=step.first, reach=len(step.span),
            replaces=step.beside.get(kind), carry="", shed=(), cost=Cost(),
        )
        for kind, text in texts
    ]  # fmt: skip
    return [own, *beside, *_make_others(step, reply, own)]


def _make_others(step: Step, reply: MemoryReply, own: NewVersion) -> list[NewVersion]:
    """Return what one answer gave beside its own text that has a place of its own."""
    texts = dict(reply.beside)
    others: list[NewVersion] = []
    for kind, other in step.others.items():
        text = other.asked.text if isinstance(other.asked, Written) else texts.get(kind, "")
        if text:
            given = replace(reply, text=text, cost=Cost(), shed=(), warnings=(), carry="")
            others.append(_make_version(other, given, own.status, own.at))
    return others


def _make_refused(version: NewVersion, attempt: Attempt) -> NewVersion:
    return replace(
        version,
        text=attempt.text,
        carry="",
        status=Status.REFUSED,
        made_by="model",
        reason=attempt.reason,
        model=attempt.model,
        prompt_hash=attempt.prompt_hash,
        cost=attempt.cost,
        shed=(),
        unverified=(),
    )


def _list_warnings(reply: MemoryReply) -> tuple[str, ...]:
    """Return the first lines that were dropped of an answer, and how many there are beside them."""
    more = len(reply.warnings) - MOST_WARNINGS
    return (*reply.warnings[:MOST_WARNINGS], *([f"and {more} more lines dropped"] if more > 0 else []))
