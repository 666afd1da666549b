"""Transcripts of Claude Code: one object per line, in a tree.

- Lines that are parts of one API message are one *step*, wherever they stand; so are the results of its calls, which
  hang on different lines when calls were made together.
- The conversation is the path to the newest step that nothing follows; what was taken back by a rewind becomes
  branches, with the same names each time. Every line is on some path; a broken link or a circle of links loses nothing.
- A conversation that was compacted goes on behind its summary, which stays a message and is marked in `extra`.
- Sub-agents, in the same file or in the directory beside it, are conversations of their own.
- Lines without a message (progress, titles, snapshots) are skipped and counted; a repeated line counts once. No line,
  whatever it holds, is an error.

`extra["claude_code"]` holds the fields of a line that the header does not say already, `extra["anthropic"]` those of
its API message.

Any messages can be written as a transcript that Claude Code goes on with: one line for each message of a request, in
one chain. The messages of the lines are what `to_anthropic` writes; the same messages give the same lines, ids
included. A system message at the front is a line of the user that Claude Code does not show (`isMeta`), since its
transcripts hold no system prompt. Such a line and that of a brief say so in the field `previously`, by which they are
known again (see `conversations`).
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from uuid import NAMESPACE_URL, uuid5

from previously.core.errors import BadInput
from previously.core.messages import NO_ATTRIBUTES, Attributes, Draft, Error, Message, Role, Text, ToolCall, ToolResult
from previously.formats.files import Document, SideStory, StorySource, open_document
from previously.formats.log_lines import (
    COMPACTION,
    DraftCleaner,
    add_marks,
    describe_line,
    find_branches,
    make_name,
    read_objects,
)
from previously.wire.anthropic import KEY as API
from previously.wire.anthropic import parse_anthropic_message
from previously.wire.anthropic_request import AnthropicTurn, count_front, plan_turns

NAME = "claude-code"

KEY = "claude_code"

MARK = "previously"
"""The field of a line, or of a body, that says what it is to us: a system message, or where the brief is."""

SUMMARY_BEGINS = "This session is being continued from a previous conversation"

_HEADER = ("sessionId", "cwd", "version", "gitBranch", "userType", "agentId")

_TOLD = frozenset(["type", "message", "uuid", "parentUuid", "timestamp", "isSidechain"])
"""Fields of a line that a draft tells by itself."""

Item = dict[str, Any]


@dataclass(frozen=True, slots=True)
class LinkedLine:
    """A line with a message."""

    id: str
    together: str = ""
    """Lines with the same word here are one API message."""
    calls: frozenset[str] = frozenset()
    results: frozenset[str] = frozenset()
    """Of a line that holds nothing but results: which calls they answer."""


@dataclass(slots=True, eq=False)
class LogStep:
    """One API message, over one line or several, and behind it the results of its calls."""

    lines: list[LinkedLine]
    results: list[LinkedLine] = field(default_factory=list)
    before: LogStep | None = None
    followed: bool = False

    @property
    def newest(self) -> str:
        """The id of its last line."""
        return [*self.lines, *self.results][-1].id


def find_paths(lines: Sequence[LinkedLine], links: Mapping[str, str | None]) -> list[list[LogStep]]:
    """Every path through the lines, the conversation first. `links` names for each line, also for lines that hold no
    message, the line before it."""
    steps, step_of = _steps(lines)
    number = {step.lines[0].id: at for at, step in enumerate(steps)}
    place = {line.id: at for at, line in enumerate(lines)}
    is_tree = any(links.get(line.id) in links for line in lines)
    looks_ahead = False
    for at, step in enumerate(steps):
        if not is_tree:
            step.before = steps[at - 1] if at else None
            continue
        before = _before(step, links, step_of)
        if before is None and _is_cut(step.lines[0], links) and at:
            before = steps[at - 1]  # the line it names is lost: it stood behind what stands before it
        # Without a link to what comes later there is no circle, and looking for one in a long log would take long.
        looks_ahead = looks_ahead or (before is not None and number[before.lines[0].id] > at)
        step.before = None if looks_ahead and _leads_to(before, step) else before
    for step in steps:
        if step.before:
            step.before.followed = True
    ends = sorted((step for step in steps if not step.followed), key=lambda step: place[step.newest])
    return [_path(end) for end in [*ends[-1:], *ends[:-1]]]


def _steps(lines: Iterable[LinkedLine]) -> tuple[list[LogStep], dict[str, LogStep]]:
    steps: list[LogStep] = []
    together: dict[str, LogStep] = {}
    waiting: dict[str, LogStep] = {}  # by call, the step that has no result for it yet
    step_of: dict[str, LogStep] = {}
    for line in lines:
        asked = {waiting.get(call) for call in line.results} if line.results else {None}
        step = asked.pop() if len(asked) == 1 else None
        if step is not None:
            step.results.append(line)
        elif line.together and line.together in together:
            step = together[line.together]
            step.lines.append(line)
        else:
            step = LogStep([line])
            steps.append(step)
            if line.together:
                together[line.together] = step
        for call in line.results:
            waiting.pop(call, None)
        waiting.update(dict.fromkeys(line.calls, step))
        step_of[line.id] = step
    return steps, step_of


def _before(step: LogStep, links: Mapping[str, str | None], step_of: Mapping[str, LogStep]) -> LogStep | None:
    """The step before: through lines that hold no message, past the lines of the step itself."""
    seen: set[str] = set()
    line = links.get(step.lines[0].id)
    while line is not None and line not in seen:
        seen.add(line)
        other = step_of.get(line)
        if other is not None and other is not step:
            return other
        line = links.get(line)
    return None


def _is_cut(line: LinkedLine, links: Mapping[str, str | None]) -> bool:
    """Return whether the line says that something stands before it, and that is not there."""
    seen: set[str] = set()
    at: str | None = line.id
    while at is not None and at not in seen:
        if at not in links:
            return True
        seen.add(at)
        at = links[at]
    return False


def _leads_to(step: LogStep | None, other: LogStep) -> bool:
    while step is not None:
        if step is other:
            return True
        step = step.before
    return False


def _path(end: LogStep) -> list[LogStep]:
    path: list[LogStep] = []
    step: LogStep | None = end
    while step is not None:
        path.append(step)
        step = step.before
    return path[::-1]


def is_transcript_line(item: Item) -> bool:
    """Return whether the first object of a file is a line of such a transcript."""
    return isinstance(item.get("type"), str) and bool(
        {"parentUuid", "leafUuid", "sessionId"} & item.keys() or item["type"] == "file-history-snapshot"
    )


def read(document: Document) -> StorySource:
    """A transcript, with what sub-agents left beside it."""
    log = TranscriptLog()
    for number, item in read_objects(document, log.skipped):
        log.take(number, item)
    if not log.lines:
        raise document.fault(BadInput("there is no message in the transcript."))
    main = [line for line in log.lines if not log.items[line.id].get("isSidechain")]
    aside = [line for line in log.lines if log.items[line.id].get("isSidechain")]
    groups = _group_side_lines(aside, log) if main else {}
    source = log.conversation(main or log.lines)
    others = [SideStory(name, log.conversation(lines)) for name, lines in groups.items()]
    others += read_subagents(document.path, {one.name for one in others}) if document.path else []
    return replace(source, skipped=dict(log.skipped), replaced=log.kept.replaced, others=tuple(others))


class TranscriptLog:
    """The usable lines of a file, by id."""

    def __init__(self) -> None:
        self.skipped: Counter[str] = Counter()
        self.kept: DraftCleaner = DraftCleaner(self.skipped)
        self.items: dict[str, Item] = {}
        self.drafts: dict[str, Draft] = {}
        self.links: dict[str, str | None] = {}
        self.boundaries: dict[str, Item] = {}
        self.lines: list[LinkedLine] = []

    def take(self, number: int, item: Item) -> None:
        """Take the next object of the file."""
        uuid = item.get("uuid")
        line_id = uuid if isinstance(uuid, str) and uuid else f"line {number}"
        before = item.get("parentUuid") or item.get("logicalParentUuid")
        draft = parse_draft(item)
        if draft is None:
            damaged = "damaged " if item.get("type") in ("user", "assistant") else ""
            self.skipped[damaged + describe_line(item, "subtype")] += 1
            if item.get("subtype") == "compact_boundary":
                self.boundaries.setdefault(line_id, item)
        elif line_id in self.drafts:
            self.skipped["repeated line"] += 1
            return
        else:
            clean = self.kept.draft(draft)
            if clean is not None:
                self.items[line_id], self.drafts[line_id] = item, clean
                self.lines.append(link_line(line_id, item, clean.message))
        if uuid == line_id and (draft is not None or line_id not in self.links):
            self.links[line_id] = before if isinstance(before, str) else None

    def conversation(self, lines: Sequence[LinkedLine]) -> StorySource:
        """The source of one conversation in the file."""
        first = self.items[lines[0].id]
        header = select_header(first)
        drafts: dict[str, list[Draft]] = {}

        def told(path: list[LogStep]) -> list[Draft]:
            for step in path:
                if step.lines[0].id not in drafts:
                    drafts[step.lines[0].id] = self.tell(step, header)
            return [draft for step in path for draft in drafts[step.lines[0].id]]

        all_paths = [(path, told(path)) for path in find_paths(lines, self.links)]
        main = all_paths[0][1]
        on_main = {step.lines[0].id for step in all_paths[0][0]}
        beside = all_paths[1:]
        own = [next(step.lines[0].id for step in path if step.lines[0].id not in on_main) for path, _ in beside]
        names = name_rewinds((first, path[-1].lines[0].id) for first, (path, _) in zip(own, beside, strict=True))
        named = [(name, its_drafts) for name, (_, its_drafts) in zip(names, beside, strict=True)]
        return StorySource(main, NAME, self.kept.header(header), 0, branches=find_branches(main, named))

    def tell(self, step: LogStep, header: Item) -> list[Draft]:
        """Return the messages of a step; `header` is what the first line says of all of them."""
        items = [self.items[line.id] for line in step.lines]
        first, more = items[0], len(items) > 1
        draft = self.drafts[step.lines[0].id]
        if more:
            joined = parse_draft(first | {"message": _join_lines(items)})
            draft = (self.kept.draft(joined) if joined else None) or draft
        fields = _select_fields(first, header)
        if more:
            fields["lines"] = [line.id for line in step.lines[1:]]
        if boundary := self.boundaries.get(str(first.get("parentUuid"))):
            fields["boundary"] = boundary
        marked = self._with(draft, fields)
        if first.get("isCompactSummary") or draft.message.text.startswith(SUMMARY_BEGINS):
            marked = add_marks(marked, **{COMPACTION: "summary"})
        results = [
            self._with(self.drafts[line.id], _select_fields(self.items[line.id], header)) for line in step.results
        ]
        return [marked, *results]

    def drop(self, step: LogStep) -> None:
        """Let go of a step, whose lines nobody asks for again."""
        for line in (*step.lines, *step.results):
            del self.items[line.id], self.drafts[line.id]
        self.links.clear()

    def _with(self, draft: Draft, fields: Item) -> Draft:
        return self.kept.with_extra(draft, **{KEY: fields}) if fields else draft


def name_rewinds(ids: Iterable[tuple[str, str]]) -> list[str]:
    """Return the names of branches, each by its first step that the conversation has not, or else by its last."""
    seen: set[str] = set()
    names: list[str] = []
    for first, last in ids:
        short, long = f"rewind {make_name(first[:8])}", f"rewind {make_name(last)}"
        names.append(long if first in seen or short in names else short)
        seen.add(first)
    return names


def select_header(first: Item) -> Item:
    """Return what the first line says of the session."""
    return {name: first[name] for name in _HEADER if name in first}


def _select_fields(item: Item, header: Item) -> Item:
    """Return what a line says beside its message, and the header does not."""
    return {name: value for name, value in item.items() if name not in _TOLD and header.get(name) != value}


def parse_draft(item: Item) -> Draft | None:
    """Return the message of a line; None if it holds none."""
    if item.get("type") not in ("user", "assistant") or not isinstance(item.get("message"), dict):
        return None
    said = item["message"]
    try:
        draft = parse_anthropic_message(said if "role" in said else {"role": item["type"]} | said)
    except (BadInput, RecursionError):
        return None
    if item.get("isApiErrorMessage"):
        draft = Draft(Message(Role.ASSISTANT, (Error(draft.message.text),)), draft.attributes)
    at, line_id = item.get("timestamp"), item.get("uuid")
    attributes = Attributes(
        at if isinstance(at, str) and at else None,
        line_id if isinstance(line_id, str) and line_id else None,
        draft.attributes.extra,
    )
    return Draft(draft.message, attributes)


def link_line(line_id: str, item: Item, message: Message) -> LinkedLine:
    """Return how a line with a message belongs to others."""
    parts = message.parts
    named = (item["message"].get("id") or item.get("requestId")) if item["type"] == "assistant" else None
    together = named if isinstance(named, str) else ""
    if len(parts) == 1 and type(parts[0]) is Text:
        return LinkedLine(line_id, together)
    calls = frozenset(part.id for part in parts if isinstance(part, ToolCall))
    results = frozenset(part.id for part in parts if isinstance(part, ToolResult) and message.role is Role.TOOL)
    return LinkedLine(line_id, together, calls, results)


def _join_lines(items: Sequence[Item]) -> Item:
    """One API message from its lines: their blocks in order, a call once, the newest word on all else."""
    blocks: list[Any] = []
    calls: set[Any] = set()
    for item in items:
        content = item["message"]["content"]
        for block in [{"type": "text", "text": content}] if isinstance(content, str) else content:
            if isinstance(block, dict) and block.get("type") == "tool_use" and isinstance(block.get("id"), str):
                if block["id"] in calls:
                    continue
                calls.add(block["id"])
            blocks.append(block)
    return {**items[-1]["message"], "content": blocks}


def _group_side_lines(lines: Sequence[LinkedLine], log: TranscriptLog) -> dict[str, list[LinkedLine]]:
    """The lines of each sub-agent in the file: by its id, or else by the line that it began with."""
    groups: dict[str, list[LinkedLine]] = {}
    ids = {line.id for line in lines}
    for line in lines:
        agent = log.items[line.id].get("agentId")
        if not isinstance(agent, str) or not agent:
            root, seen = line.id, {line.id}
            while (before := log.links.get(root)) and before in ids and before not in seen:
                root = before
                seen.add(root)
            agent = root[:8]
        groups.setdefault(f"agent-{make_name(agent)}", []).append(line)
    return groups


def read_subagents(path: Path, known: set[str]) -> list[SideStory]:
    """Return the transcripts of sub-agents in the directory that is named like the file."""
    directory = path.with_suffix("") / "subagents"
    others: list[SideStory] = []
    for file in sorted(directory.glob("agent-*.jsonl")) if directory.is_dir() else []:
        try:
            with open_document(file) as document:
                source = read(document)
        except BadInput:  # an agent that was cut off before it said anything
            continue
        if make_name(file.stem) not in known:
            others.append(SideStory(make_name(file.stem), source))
    return others


_AGAIN = ("cwd", "version", "gitBranch", "userType", "toolUseResult", "isMeta", "requestId")
"""Fields of a line that are written as they were read."""
_OF_A_SESSION = {"userType": "external", "cwd": "", "version": "", "gitBranch": ""}
_NO_USAGE = {"input_tokens": 0, "output_tokens": 0}


def to_claude_code(
    messages: Sequence[Message],
    attributes: Sequence[Attributes] | None = None,
    *,
    session_id: str,
    at: str,
    header: dict[str, Any] | None = None,
    brief_at: int | None = None,
    earlier: Mapping[str, Any] | None = None,
) -> list[str]:
    """Return the lines of a transcript. `at` is the time of messages that have none, `header` what the session says of
    itself (`cwd`, `version`, `gitBranch`). The brief at `brief_at` gets a line of its own, marked with `earlier`."""
    about = _OF_A_SESSION | {name: value for name, value in (header or {}).items() if name in _OF_A_SESSION}
    lines: list[str] = []
    parent: str | None = None
    front = count_front(messages)
    rest = None if attributes is None else attributes[front:]
    meta = [
        AnthropicTurn("user", [{"type": "text", "text": one.text}], None)
        for one in messages[:front]
        if one.text.strip()
    ]
    turns = plan_turns(messages[front:], rest, None if brief_at is None else brief_at - front)
    for number, turn in enumerate([*meta, *turns]):
        line_id = str(uuid5(NAMESPACE_URL, f"{session_id}/{number}"))
        known = NO_ATTRIBUTES if turn.origin is None or rest is None else rest[turn.origin]
        line = {
            "parentUuid": parent,
            "isSidechain": False,
            **about,
            "sessionId": session_id,
            "type": turn.role,
            "message": _write_message(turn, known, f"msg_{line_id.replace('-', '')}"),
            **_select_read_fields(known),
            "uuid": line_id,
            "timestamp": known.at or at,
        }
        if number < len(meta):
            line |= {"isMeta": True, MARK: {"system": True}}
        elif turn.alone and earlier:
            line |= {MARK: dict(earlier)}
        lines.append(json.dumps(line, ensure_ascii=False))
        parent = line_id
    return lines


def _select_read_fields(known: Attributes) -> dict[str, Any]:
    kept = known.extra.get(KEY)
    fields = {name: kept[name] for name in _AGAIN if name in kept} if isinstance(kept, dict) else {}
    if known.extra.get(COMPACTION) == "summary":
        fields["isCompactSummary"] = True
    return fields


def _write_message(turn: AnthropicTurn, known: Attributes, message_id: str) -> dict[str, Any]:
    blocks = turn.blocks
    if turn.role == "user":
        is_text = len(blocks) == 1 and blocks[0].keys() == {"type", "text"}
        return {"role": "user", "content": blocks[0]["text"] if is_text else blocks}
    kept = known.extra.get(API)
    api = kept if isinstance(kept, dict) else {}
    calls = any(block.get("type") == "tool_use" for block in blocks)
    return {
        "id": message_id,
        "type": "message",
        "role": "assistant",
        "model": api.get("model") or "unknown",
        "content": blocks,
        "stop_reason": api.get("stop_reason") or ("tool_use" if calls else "end_turn"),
        "stop_sequence": api.get("stop_sequence"),
        "usage": api.get("usage") or _NO_USAGE,
    }
