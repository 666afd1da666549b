"""Transcripts of Claude Code: one object per line, in a tree.

- The conversation is the path to the newest line; what was taken back by a rewind becomes branches (see `threads`).
- One API message over several lines is one message.
- A conversation that was compacted goes on behind its summary, which stays a message and is marked in `extra`.
- Sub-agents, in the same file or in the folder beside it, are conversations of their own.
- Lines without a message (progress, titles, snapshots) are skipped and counted; a repeated line counts once.

`extra["claude_code"]` holds the fields of a line that the header does not say already, `extra["anthropic"]` those of
its API message.

What must stay true: no line, whatever it holds, is an error; the same file gives the same names of branches.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from previously.core.errors import BadInput
from previously.core.messages import Attributes, Draft, Error, Message, Role, ToolCall, ToolResult
from previously.formats.logs import COMPACTION, Kept, as_name, branches_of, kind_of, marked, objects
from previously.formats.reading import Document, SideStory, Source, opened
from previously.formats.threads import Linked, Step, paths
from previously.wire.anthropic import parse_anthropic_message

NAME = "claude-code"
KEY = "claude_code"
MARK = "previously"
"""The field of a line, or of a body, that says what it is to us: a system message, or where the brief is."""
SUMMARY_BEGINS = "This session is being continued from a previous conversation"

_HEADER = ("sessionId", "cwd", "version", "gitBranch", "userType", "agentId")
_TOLD = frozenset(["type", "message", "uuid", "parentUuid", "timestamp", "isSidechain"])
"""Fields of a line that a draft tells by itself."""

Item = dict[str, Any]


def is_ours(item: Item) -> bool:
    """Whether the first object of a file is a line of such a transcript."""
    return isinstance(item.get("type"), str) and bool(
        {"parentUuid", "leafUuid", "sessionId"} & item.keys() or item["type"] == "file-history-snapshot"
    )


def read(document: Document) -> Source:
    """A transcript, with what sub-agents left beside it."""
    log = _Log(document)
    if not log.lines:
        raise document.fault(BadInput("there is no message in the transcript."))
    main = [line for line in log.lines if not log.items[line.id].get("isSidechain")]
    aside = [line for line in log.lines if log.items[line.id].get("isSidechain")]
    groups = _side_groups(aside, log) if main else {}
    source = log.conversation(main or log.lines)
    others = [SideStory(name, log.conversation(lines)) for name, lines in groups.items()]
    others += _beside(document.path, {one.name for one in others}) if document.path else []
    return replace(source, skipped=dict(log.skipped), replaced=log.kept.replaced, others=tuple(others))


class _Log:
    """The usable lines of a file, by id."""

    def __init__(self, document: Document) -> None:
        self.skipped: Counter[str] = Counter()
        self.kept = Kept(self.skipped)
        self.items: dict[str, Item] = {}
        self.drafts: dict[str, Draft] = {}
        self.links: dict[str, str | None] = {}
        self.boundaries: dict[str, Item] = {}
        self.lines: list[Linked] = []
        for number, item in objects(document, self.skipped):
            self._take(number, item)

    def _take(self, number: int, item: Item) -> None:
        given = item.get("uuid")
        line_id = given if isinstance(given, str) and given else f"line {number}"
        before = item.get("parentUuid") or item.get("logicalParentUuid")
        draft = _draft(item)
        if draft is None:
            damaged = "damaged " if item.get("type") in ("user", "assistant") else ""
            self.skipped[damaged + kind_of(item, "subtype")] += 1
            if item.get("subtype") == "compact_boundary":
                self.boundaries.setdefault(line_id, item)
        elif line_id in self.drafts:
            self.skipped["repeated line"] += 1
            return
        else:
            clean = self.kept.draft(draft)
            if clean is not None:
                self.items[line_id], self.drafts[line_id] = item, clean
                self.lines.append(_linked(line_id, item, clean.message))
        if given == line_id and (draft is not None or line_id not in self.links):
            self.links[line_id] = before if isinstance(before, str) else None

    def conversation(self, lines: Sequence[Linked]) -> Source:
        """The source of one conversation in the file."""
        first = self.items[lines[0].id]
        header = {name: first[name] for name in _HEADER if name in first}
        drafts: dict[str, list[Draft]] = {}

        def told(path: list[Step]) -> list[Draft]:
            for step in path:
                if step.lines[0].id not in drafts:
                    drafts[step.lines[0].id] = self._told(step, header)
            return [draft for step in path for draft in drafts[step.lines[0].id]]

        found = [(path, told(path)) for path in paths(lines, self.links)]
        main = found[0][1]
        on_main = {step.lines[0].id for step in found[0][0]}
        names: Counter[str] = Counter()
        named: list[tuple[str, list[Draft]]] = []
        for path, its_drafts in found[1:]:
            own = next(step.lines[0].id for step in path if step.lines[0].id not in on_main)
            names[own] += 1
            short, long = f"rewind {as_name(own[:8])}", f"rewind {as_name(path[-1].lines[0].id)}"
            named.append((short if names[own] == 1 and short not in dict(named) else long, its_drafts))
        return Source(main, NAME, self.kept.header(header), 0, branches=branches_of(main, named))

    def _told(self, step: Step, header: Item) -> list[Draft]:
        first, *more = (self.items[line.id] for line in step.lines)
        draft = self.drafts[step.lines[0].id]
        if more:
            joined = _draft(first | {"message": _joined([first, *more])})
            draft = (self.kept.draft(joined) if joined else None) or draft
        fields = _fields(first, header)
        if more:
            fields["lines"] = [line.id for line in step.lines[1:]]
        if boundary := self.boundaries.get(str(first.get("parentUuid"))):
            fields["boundary"] = boundary
        told = self._with(draft, fields)
        if first.get("isCompactSummary") or draft.message.text.startswith(SUMMARY_BEGINS):
            told = marked(told, **{COMPACTION: "summary"})
        results = [self._with(self.drafts[line.id], _fields(self.items[line.id], header)) for line in step.results]
        return [told, *results]

    def _with(self, draft: Draft, fields: Item) -> Draft:
        return self.kept.with_extra(draft, **{KEY: fields}) if fields else draft


def _fields(item: Item, header: Item) -> Item:
    """What a line says beside its message, and the header does not."""
    return {name: value for name, value in item.items() if name not in _TOLD and header.get(name) != value}


def _draft(item: Item) -> Draft | None:
    """The message of a line; None if it holds none."""
    if item.get("type") not in ("user", "assistant") or not isinstance(item.get("message"), dict):
        return None
    said = {"role": item["type"]} | item["message"]
    try:
        draft = parse_anthropic_message(said)
    except (BadInput, RecursionError):
        return None
    if item.get("isApiErrorMessage"):
        draft = replace(draft, message=Message(Role.ASSISTANT, (Error(draft.message.text),)))
    at, line_id = item.get("timestamp"), item.get("uuid")
    attributes = Attributes(
        at if isinstance(at, str) and at else None,
        line_id if isinstance(line_id, str) and line_id else None,
        draft.attributes.extra,
    )
    return replace(draft, attributes=attributes)


def _linked(line_id: str, item: Item, message: Message) -> Linked:
    parts = message.parts
    results = frozenset(part.id for part in parts if isinstance(part, ToolResult))
    calls = frozenset(part.id for part in parts if isinstance(part, ToolCall))
    named = (item["message"].get("id") or item.get("requestId")) if item["type"] == "assistant" else None
    together = named if isinstance(named, str) else ""
    return Linked(line_id, together, calls, frozenset() if message.role is not Role.TOOL else results)


def _joined(items: Sequence[Item]) -> Item:
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


def _side_groups(lines: Sequence[Linked], log: _Log) -> dict[str, list[Linked]]:
    """The lines of each sub-agent in the file: by its id, or else by the line that it began with."""
    groups: dict[str, list[Linked]] = {}
    ids = {line.id for line in lines}
    for line in lines:
        agent = log.items[line.id].get("agentId")
        if not isinstance(agent, str) or not agent:
            root, seen = line.id, {line.id}
            while (before := log.links.get(root)) and before in ids and before not in seen:
                root = before
                seen.add(root)
            agent = root[:8]
        groups.setdefault(f"agent-{as_name(agent)}", []).append(line)
    return groups


def _beside(path: Path, known: set[str]) -> list[SideStory]:
    """The transcripts of sub-agents in the folder that is named like the file."""
    folder = path.with_suffix("") / "subagents"
    others: list[SideStory] = []
    for file in sorted(folder.glob("agent-*.jsonl")) if folder.is_dir() else []:
        try:
            with opened(file) as document:
                source = read(document)
        except BadInput:  # an agent that was cut off before it said anything
            continue
        if as_name(file.stem) not in known:
            others.append(SideStory(as_name(file.stem), source))
    return others
