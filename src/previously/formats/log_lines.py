"""Lines of agents' logs: what may be damaged or of no use, and calls that were cut off.

A log is written while an agent works, by a program that may change its lines any day or die in the middle of one. So a
line that cannot be used is skipped and counted by what it is, never an error; only a log without any message is one.
Nothing that was said is left out: a result that no call asked for stays in the story, hidden, and a call that never got
its result gets one that says so (see `core.pairing`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from previously.core.errors import BadInput
from previously.core.json_values import clean_json, parse_json, shown
from previously.core.messages import Attributes, Draft, Role, ToolResult, clean_draft
from previously.core.pairing import mend
from previously.core.patterns import lazy_pattern
from previously.formats.files import Document, SideStory, SourceBranch, StorySource

COMPACTION = "compaction"
"""The key in `extra` of a message that a client wrote in place of earlier ones."""
INJECTED = "injected"
"""The key in `extra` of a user's message that the client wrote, not the person: rules, or what surrounds the agent."""


def read_objects(document: Document, skipped: Counter[str]) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the JSON objects of a log, with their line numbers; anything else is counted."""
    return parse_objects(document.log_lines(), skipped)


def parse_objects(
    lines: Iterable[tuple[int, str | None]], skipped: Counter[str]
) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the JSON objects among these lines of a log; anything else is counted."""
    for number, line in lines:
        try:
            value = None if line is None else parse_json(line.removeprefix("\ufeff"), "line")
        except BadInput:
            value = None
        if isinstance(value, dict):
            yield number, value
        else:
            skipped["broken line" if value is None else "no object"] += 1


def describe_line(item: Mapping[str, Any], *more: str) -> str:
    """Return what a line is, in the words of its own fields, for the count of those that were skipped."""
    words = [item.get(name) for name in ("type", *more)]
    return shown(" ".join(word for word in words if isinstance(word, str) and word) or "unknown", 60)


def make_name(given: object) -> str:
    """Return an id as it may stand in the name of a branch or a story."""
    return _NOT_IN_A_NAME.sub("_", str(given))[:80] or "_"


_NOT_IN_A_NAME = lazy_pattern(r"[^\w.-]")


class DraftCleaner:
    """Cleans drafts so that a store can keep them; counts those it cannot keep, and the characters it cannot."""

    def __init__(self, skipped: Counter[str]) -> None:
        self.replaced: int = 0
        self.skipped: Counter[str] = skipped

    def draft(self, draft: Draft) -> Draft | None:
        """Return the clean draft; None if no store can keep it."""
        try:
            clean, count = clean_draft(draft)
        except (BadInput, RecursionError):
            self.skipped["message that cannot be stored"] += 1
            return None
        self.replaced += count
        return clean

    def with_extra(self, draft: Draft, **extra: object) -> Draft:
        """Return the draft with more in its `extra`; without it, and counted, if that cannot be stored."""
        try:
            clean, count = clean_draft(add_marks(draft, **extra))
        except (BadInput, RecursionError):
            self.skipped["field that cannot be stored"] += 1
            return draft
        self.replaced += count
        return clean

    def header(self, header: Mapping[str, Any]) -> dict[str, Any]:
        """Return what a log says beside its messages, clean; nothing if it cannot be stored."""
        try:
            clean, count = clean_json(dict(header))
        except (BadInput, RecursionError):
            return {}
        self.replaced += count
        assert isinstance(clean, dict)
        return clean


def add_marks(draft: Draft, **marks: object) -> Draft:
    known = draft.attributes
    attributes = Attributes(known.at, known.source_id, {**known.extra, **marks}, known.hidden)
    return Draft(draft.message, attributes, draft.alternatives)


def find_branches(main: Sequence[Draft], paths: Sequence[tuple[str, Sequence[Draft]]]) -> tuple[SourceBranch, ...]:
    """Return the other paths as branches of the main one. A path that the main one holds is none."""
    branches: list[SourceBranch] = []
    for name, path in paths:
        at = 0
        while at < min(len(main), len(path)) and main[at] == path[at]:
            at += 1
        if at < len(path):
            branches.append(SourceBranch(name, at, list(path[at:])))
    return tuple(branches)


def complete_source(source: StorySource) -> StorySource:
    """Return the source with a result for every call, on all its paths."""
    main = complete_calls(source.drafts)
    paths = [(one.name, complete_calls([*source.drafts[: one.at], *one.drafts])) for one in source.branches]
    others = tuple(SideStory(one.name, complete_source(one.source)) for one in source.others)
    return replace(source, drafts=main, branches=find_branches(main, paths), others=others)


def complete_calls(drafts: Sequence[Draft]) -> list[Draft]:
    """Return the drafts with a result behind every call: moved up if it came late, made if it never came."""
    mended_calls = mend([draft.message for draft in drafts])
    whole: list[Draft] = []
    places: list[int] = []  # where each draft that is written stood, or that before it
    for message, origin in zip(mended_calls.messages, mended_calls.origin, strict=True):
        if origin is None:
            whole.append(Draft(message))
            places.append(places[-1])
        else:
            same = drafts[origin].message is message
            whole.append(drafts[origin] if same else replace(drafts[origin], message=message))
            places.append(origin)
    for orphan in reversed(mended_calls.orphans):
        _keep_orphan(drafts[orphan], orphan, whole, places)
    return whole


def _keep_orphan(draft: Draft, place: int, whole: list[Draft], places: list[int]) -> None:
    """Put back what mending left out: a whole message hidden in its place, a single result into `extra`."""
    if place in places:
        at = places.index(place)
        kept = {part for one, where in zip(whole, places, strict=True) if where == place for part in one.message.parts}
        lost = [part for part in draft.message.parts if isinstance(part, ToolResult) and part not in kept]
        results = [{"id": part.id, "text": part.text, "status": part.status} for part in lost]
        whole[at] = add_marks(whole[at], results_of_no_call=results)
        return
    at = next((at + 1 for at in reversed(range(len(places))) if places[at] < place), 0)
    while at < len(whole) and whole[at].message.role is Role.TOOL:
        at += 1
    whole.insert(at, replace(draft, attributes=replace(draft.attributes, hidden=True)))
    places.insert(at, place)
