"""What the logs of agents have in common: lines that may be damaged or of no use, and calls that were cut off.

A log is written while an agent works, by a program that may change its lines any day or die in the middle of one. So a
line that cannot be used is skipped and counted by what it is, never an error; only a log without any message is one.

What must stay true: nothing that was said is left out. A result that no call asked for stays in the story, hidden, and
a call that never got its result gets one that says so (see `core.pairing`).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from previously.core.errors import BadInput
from previously.core.json_values import clean_json
from previously.core.messages import Draft, Role, ToolResult, clean_draft
from previously.core.pairing import mend
from previously.formats.reading import Document, SideStory, Source, SourceBranch, parse_json, shown

COMPACTION = "compaction"
"""The key in `extra` of a message that a client wrote in place of earlier ones."""
INJECTED = "injected"
"""The key in `extra` of a user's message that the client wrote, not the person: rules, or what surrounds the agent."""


def objects(document: Document, skipped: Counter[str]) -> Iterator[tuple[int, dict[str, Any]]]:
    """The JSON objects of a log, with their line numbers; anything else is counted."""
    for number, line in document.log_lines():
        try:
            value = None if line is None else parse_json(line.removeprefix("\ufeff"), "line")
        except BadInput:
            value = None
        if isinstance(value, dict):
            yield number, value
        else:
            skipped["broken line" if value is None else "no object"] += 1


def kind_of(item: Mapping[str, Any], *more: str) -> str:
    """What a line is, in the words of its own fields, for the count of those that were skipped."""
    words = [item.get(name) for name in ("type", *more)]
    return shown(" ".join(word for word in words if isinstance(word, str) and word) or "unknown", 60)


def as_name(given: object) -> str:
    """An id as it may stand in the name of a branch or a story."""
    return _NOT_IN_A_NAME.sub("_", str(given))[:80] or "_"


_NOT_IN_A_NAME = re.compile(r"[^\w.-]")


class Kept:
    """Drafts as a store can keep them: those it cannot keep are counted, and the characters it cannot."""

    def __init__(self, skipped: Counter[str]) -> None:
        self.replaced = 0
        self._skipped = skipped

    def draft(self, draft: Draft) -> Draft | None:
        """The draft, cleaned; None if no store can keep it."""
        try:
            clean, count = clean_draft(draft)
        except (BadInput, RecursionError):
            self._skipped["message that cannot be stored"] += 1
            return None
        self.replaced += count
        return clean

    def with_extra(self, draft: Draft, **extra: object) -> Draft:
        """The draft with more in its `extra`; without it, and counted, if that cannot be stored."""
        try:
            clean, count = clean_draft(marked(draft, **extra))
        except (BadInput, RecursionError):
            self._skipped["field that cannot be stored"] += 1
            return draft
        self.replaced += count
        return clean

    def header(self, header: Mapping[str, Any]) -> dict[str, Any]:
        """What a log says beside its messages, cleaned; nothing if it cannot be stored."""
        try:
            clean, count = clean_json(dict(header))
        except (BadInput, RecursionError):
            return {}
        self.replaced += count
        assert isinstance(clean, dict)
        return clean


def marked(draft: Draft, **marks: object) -> Draft:
    """The draft with marks added to its `extra`."""
    attributes = draft.attributes
    return replace(draft, attributes=replace(attributes, extra={**attributes.extra, **marks}))


def branches_of(main: Sequence[Draft], paths: Sequence[tuple[str, Sequence[Draft]]]) -> tuple[SourceBranch, ...]:
    """The other paths as branches of the main one. A path that the main one holds is none."""
    found: list[SourceBranch] = []
    for name, path in paths:
        at = 0
        while at < min(len(main), len(path)) and main[at] == path[at]:
            at += 1
        if at < len(path):
            found.append(SourceBranch(name, at, list(path[at:])))
    return tuple(found)


def completed(source: Source) -> Source:
    """The source with a result for every call, on all its paths."""
    main = answered(source.drafts)
    paths = [(one.name, answered([*source.drafts[: one.at], *one.drafts])) for one in source.branches]
    others = tuple(SideStory(one.name, completed(one.source)) for one in source.others)
    return replace(source, drafts=main, branches=branches_of(main, paths), others=others)


def answered(drafts: Sequence[Draft]) -> list[Draft]:
    """The drafts with a result behind every call: moved up if it came late, made if it never came."""
    found = mend([draft.message for draft in drafts])
    whole: list[Draft] = []
    places: list[int] = []  # where each draft that is written stood, or that before it
    for message, origin in zip(found.messages, found.origin, strict=True):
        if origin is None:
            whole.append(Draft(message))
            places.append(places[-1])
        else:
            same = drafts[origin].message is message
            whole.append(drafts[origin] if same else replace(drafts[origin], message=message))
            places.append(origin)
    for orphan in reversed(found.orphans):
        _keep_orphan(drafts[orphan], orphan, whole, places)
    return whole


def _keep_orphan(draft: Draft, place: int, whole: list[Draft], places: list[int]) -> None:
    """Put back what mending left out: a whole message hidden in its place, a single result into `extra`."""
    if place in places:
        at = places.index(place)
        kept = {part for one, where in zip(whole, places, strict=True) if where == place for part in one.message.parts}
        lost = [part for part in draft.message.parts if isinstance(part, ToolResult) and part not in kept]
        told = [{"id": part.id, "text": part.text, "status": part.status} for part in lost]
        whole[at] = marked(whole[at], results_of_no_call=told)
        return
    at = next((at + 1 for at in reversed(range(len(places))) if places[at] < place), 0)
    while at < len(whole) and whole[at].message.role is Role.TOOL:
        at += 1
    whole.insert(at, replace(draft, attributes=replace(draft.attributes, hidden=True)))
    places.insert(at, place)
