"""Messages of opencode as messages of ours, wherever they are kept.

An answer of opencode holds its calls together with their results, and one answer may take several steps. Each step is a
message of the assistant and, if it made calls, a message with their results. A call that is still pending or running
was cut off.

Text that opencode wrote by itself (`synthetic`) or does not send (`ignored`) is no part of what was said: like every
part that ours cannot tell, it is kept in `extra["opencode"]`. What was reverted is a branch.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Any

from previously.core.messages import (
    FAILED,
    Attributes,
    Draft,
    Error,
    Image,
    Message,
    Part,
    Role,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
)
from previously.formats.logs import COMPACTION, Kept, branches_of, kind_of
from previously.formats.reading import Source
from previously.wire.fields import parse_time

NAME = "opencode"
KEY = "opencode"

Item = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Spoken:
    """One message as opencode keeps it."""

    info: Item
    parts: Sequence[Item]


def source_of(session: Item, spoken: Sequence[Spoken], skipped: Counter[str]) -> Source:
    """One session: its messages in order, up to where it was reverted; the rest of them as a branch."""
    kept = Kept(skipped)
    revert = session.get("revert")
    cut = revert if isinstance(revert, dict) else {}
    whole: list[Draft] = []
    shown: list[Draft] = []
    is_cut = False
    for one in sorted(spoken, key=lambda one: (_created(one.info), str(one.info.get("id")))):
        drafts = _kept(_drafts(one, skipped), kept)
        whole += drafts
        if not is_cut and cut.get("messageID") and one.info.get("id") == cut["messageID"]:
            is_cut = True
            before = list(takewhile(lambda part: part.get("id") != cut.get("partID"), one.parts))
            if cut.get("partID") and before:
                shown += _kept(_drafts(Spoken(one.info, before), Counter()), Kept(Counter()))
        elif not is_cut:
            shown += drafts
    branches = branches_of(shown, [("reverted", whole)])
    if not shown:  # all was reverted: the conversation is what it was
        shown, branches = whole, ()
    return Source(shown, NAME, kept.header(session), kept.replaced, dict(skipped), branches)


def _kept(drafts: Sequence[Draft], kept: Kept) -> list[Draft]:
    return [clean for clean in map(kept.draft, drafts) if clean is not None]


def _created(info: Item) -> float:
    time = info.get("time")
    created = time.get("created") if isinstance(time, dict) else None
    return float(created) if isinstance(created, int | float) and 0 < created < 10**15 else 0.0


def _drafts(one: Spoken, skipped: Counter[str]) -> list[Draft]:
    """The messages that one of opencode's stands for."""
    role = {"user": Role.USER, "assistant": Role.ASSISTANT, "system": Role.SYSTEM}.get(str(one.info.get("role")))
    if role is None:
        skipped[f"message {kind_of(one.info, 'role')}"] += 1
        return []
    steps = [_Step()]
    for part in one.parts:
        if part.get("type") == "step-start" and steps[-1].said:
            steps.append(_Step())
        steps[-1].take(part)
    error = one.info.get("error")
    if isinstance(error, dict):
        steps[-1].said.append(Error(_error_text(error)))
    info = {name: value for name, value in one.info.items() if name not in ("id", "role", "sessionID")}
    mark = _compaction(one)
    drafts: list[Draft] = []
    message_id = str(one.info.get("id") or "") or None
    at = parse_time(_created(one.info)) if _created(one.info) else None
    for number, step in enumerate(steps):
        if not step.said and (step.rest or drafts):
            step.said.append(Text(""))
        if not step.said:
            continue
        place = f"{message_id}/{number}" if number else message_id
        extra: Item = {KEY: ({} if number else info) | ({"parts": step.rest} if step.rest else {})}
        if mark:
            extra[COMPACTION] = mark
        drafts.append(Draft(Message(role, tuple(step.said)), Attributes(at, place, extra)))
        if step.results:
            kept = {KEY: {"states": step.states}}
            drafts.append(Draft(Message(Role.TOOL, tuple(step.results)), Attributes(at, f"{place}/results", kept)))
    return drafts


class _Step:
    """What was said in one step, and what its calls gave back."""

    def __init__(self) -> None:
        self.said: list[Part] = []
        self.results: list[Part] = []
        self.states: list[Item] = []
        self.rest: list[Item] = []

    def take(self, part: Item) -> None:
        match part:
            case {"type": "text", "text": str(text)} if not part.get("synthetic") and not part.get("ignored"):
                self.said.append(Text(text))
            case {"type": "reasoning", "text": str(text)}:
                self.said.append(Thinking(text))
                if part.get("metadata"):
                    self.rest.append({name: value for name, value in part.items() if name != "text"})
            case {"type": "file", "mime": str(mime), "url": str(url)} if mime.startswith("image/"):
                self.said.append(Image(url, str(part.get("filename") or "")))
            case {"type": "tool", "tool": str(name), "state": dict(state)}:
                self._call(part, name, state)
            case _:
                self.rest.append(part)

    def _call(self, part: Item, name: str, state: Item) -> None:
        call_id = str(part.get("callID") or part.get("id") or "")
        given = state.get("input", {})
        raw = state.get("raw") if state.get("status") == "pending" and not given else None
        arguments = raw if isinstance(raw, str) else json.dumps(given, ensure_ascii=False)
        self.said.append(ToolCall(call_id, name, arguments))
        if state.get("status") == "completed":
            self.results.append(ToolResult(call_id, str(state.get("output") or "")))
        elif state.get("status") == "error":
            self.results.append(ToolResult(call_id, str(state.get("error") or ""), FAILED))
        else:
            return
        attached = state.get("attachments")
        for file in attached if isinstance(attached, list) else []:
            match file:
                case {"mime": str(mime), "url": str(url)} if mime.startswith("image/"):
                    self.results.append(Image(url, str(file.get("filename") or "")))
        told = ("input", "output", "error", "attachments")
        self.states.append({"id": call_id} | {key: value for key, value in state.items() if key not in told})


def _compaction(one: Spoken) -> str | None:
    if one.info.get("role") == "assistant" and one.info.get("summary") is True:
        return "summary"
    return "request" if any(part.get("type") == "compaction" for part in one.parts) else None


def _error_text(error: Item) -> str:
    data = error.get("data")
    words = data.get("message") if isinstance(data, dict) else None
    return ": ".join(str(word) for word in (error.get("name"), words) if word) or "error"
