"""Exports of chats: `conversations.json` as ChatGPT and Claude write it, alone or in the ZIP file that they send.

A file holds many conversations; each becomes a story of its own, named by its title and the beginning of its id. The
messages of one form a tree: the path to the newest message is the story. Of what was asked or answered again, a message
that nothing follows is a swipe of the one beside it, and anything longer is a branch.
"""

from __future__ import annotations

import json
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, islice
from pathlib import Path
from typing import Any

from previously.core.errors import BadInput
from previously.core.json_values import parse_json
from previously.core.messages import Attributes, Draft, Message, Part, Role, Text, Thinking, ToolCall, ToolResult
from previously.formats.archives import ZIP, Archive
from previously.formats.files import Document, SideStory, SourceBranch, StorySource, StoryStream, read_value
from previously.formats.json_array import CHUNK, ITEMS, UnevenList, split_document
from previously.formats.log_lines import DraftCleaner, complete_source, make_name
from previously.wire.fields import parse_time

CHATGPT, CLAUDE = "chatgpt", "claude"

LONGEST_TITLE = 60
"""Characters of a title that stand in the name of a story."""

_ID = 8
"""Characters of an id that stand there: as many as tell thousands of conversations apart."""

_LOOKED_AT = 9
"""Conversations that a file is known by: those that lack their messages are few."""

_ROLES = {"user": Role.USER, "human": Role.USER, "assistant": Role.ASSISTANT, "system": Role.SYSTEM, "tool": Role.TOOL}

Item = dict[str, Any]


def is_export(value: object) -> bool:
    """Return whether a parsed file is an export of ChatGPT or of Claude."""
    first = _list(value)[:_LOOKED_AT]
    return any(isinstance(one, Mapping) and ("mapping" in one or "chat_messages" in one) for one in first)


def read(document: Document) -> StorySource:
    return read_value(document, parse_export)


def list_files(archive: Archive) -> list[str]:
    """Return the files of an archive that hold conversations: one, or in newer exports several."""
    names = [name for name in archive.names if name.rpartition("/")[2].startswith("conversations")]
    return sorted(name for name in names if name.endswith(".json"))


def read_archive(document: Document, archive: Archive) -> StorySource:
    """Read the conversations in the ZIP file of an export."""
    conversations: list[Any] = []
    try:
        for name in list_files(archive):
            conversations += _list(parse_json(archive.read_text(name), "file"))
        return parse_export(document, conversations)
    except (BadInput, RecursionError) as error:
        raise document.fault(error) from None


def parse_export(_: Document, value: object) -> StorySource:
    """Return the conversations of an export, each as a story; of a single one the story itself."""
    skipped: Counter[str] = Counter()
    stories = list(_read_stories(_list(value), skipped))
    if not stories:
        raise BadInput("there is no conversation with messages in the file.")
    if len(stories) == 1:
        source = stories[0].source
        return replace(source, skipped={**source.skipped, **skipped}, title=stories[0].name)
    return StorySource([], stories[0].source.format, {}, 0, dict(skipped), (), tuple(stories))


def _read_stories(conversations: Iterable[object], skipped: Counter[str]) -> Iterator[SideStory]:
    """Yield the conversations that have messages, no two of the same name; the others are counted."""
    names: Counter[str] = Counter()
    for conversation in conversations:
        if not isinstance(conversation, dict) or (source := _parse_conversation(conversation)) is None:
            skipped["no conversation"] += 1
            continue
        if not source.drafts:
            skipped["empty conversation"] += 1
            continue
        name = _name(conversation)
        names[name] += 1
        yield SideStory(name if names[name] == 1 else f"{name} {names[name]}", source)


def stream(document: Document, path: Path) -> StorySource | None:
    """Return an export of several conversations, in its ZIP file or not, each to be read as it is asked for; None if it
    is anything else. All of it has been parsed once by then; `skipped` is complete when all were read."""
    try:
        values = _split_export(document)
        first = list(islice(_read_stories(values, Counter()), 2))
        deque(values, maxlen=0)  # the rest has to be sound, no more
    except (UnevenList, RecursionError):
        return None
    except BadInput as error:  # of the archive
        raise document.fault(error) from None
    if len(first) < 2:
        return None
    skipped: dict[str, int] = {}

    def read_again(again: Document) -> Iterator[SideStory]:
        counted: Counter[str] = Counter()
        try:
            for story in _read_stories(_split_export(again), counted):
                yield SideStory(story.name, complete_source(story.source))
        except UnevenList:
            raise again.fault(BadInput("the file was changed while it was read.")) from None
        except (BadInput, RecursionError) as error:
            raise again.fault(error) from None
        skipped.clear()
        skipped.update(counted)

    return StorySource([], first[0].source.format, {}, 0, skipped, stories=StoryStream(path, read_again))


def _split_export(document: Document) -> Iterator[Any]:
    """Yield the conversations of an export; `UnevenList` if the file is none."""
    first: list[Any] = []
    for conversation in chain.from_iterable(map(_split_file, _open_files(document))):
        if len(first) < _LOOKED_AT:
            first.append(conversation)
            if len(first) == _LOOKED_AT and not is_export(first):
                break
        yield conversation
    if not is_export(first):
        raise UnevenList


def _open_files(document: Document) -> Iterator[Iterator[bytes]]:
    """Yield the bytes of each file that holds conversations: of those in a ZIP file, or of the file itself."""
    if not document.begins(ZIP):
        yield document.chunks(CHUNK)
    elif document.path is not None:
        archive = Archive(document.path)
        for name in list_files(archive):
            yield archive.chunks(name, CHUNK)


def _split_file(chunks: Iterator[bytes]) -> Iterator[Any]:
    for name, value in split_document(chunks, None):
        if value is ITEMS and name not in ("", "conversations"):
            raise UnevenList  # a document of another kind, most likely: its list is not to be held
        if name in ("", "conversations") and value is not ITEMS:
            yield value


def _list(value: object) -> list[Any]:
    if isinstance(value, Mapping) and isinstance(value.get("conversations"), list):
        value = value["conversations"]
    return value if isinstance(value, list) else [value] if isinstance(value, dict) else []


def _name(conversation: Item) -> str:
    title = next((conversation[key] for key in ("title", "name") if isinstance(conversation.get(key), str)), "")
    words = " ".join("".join(char if char.isprintable() else " " for char in title).split())
    ident = make_name(_read_id(conversation))[:_ID]
    return f"{words[:LONGEST_TITLE].strip()} {ident}".strip() if words else ident


def _read_id(conversation: Item) -> str:
    keys = ("conversation_id", "id", "uuid")
    return next(
        (conversation[key] for key in keys if isinstance(conversation.get(key), str) and conversation[key]), "_"
    )


@dataclass(slots=True, eq=False)
class ExportedNode:
    """A place in the tree of a conversation: what was said there (nothing in some), and what follows."""

    drafts: list[Draft]
    parent: str | None
    order: float = 0.0
    """Its time, by which the newest is found."""
    children: list[str] = field(default_factory=list)


def _parse_conversation(conversation: Item) -> StorySource | None:
    skipped: Counter[str] = Counter()
    cleaner = DraftCleaner(skipped)
    if isinstance(conversation.get("mapping"), dict):
        name, nodes = CHATGPT, _read_chatgpt(conversation["mapping"], cleaner, skipped)
        newest = conversation.get("current_node")
    elif isinstance(conversation.get("chat_messages"), list):
        name, nodes = CLAUDE, _read_claude(conversation["chat_messages"], cleaner, skipped)
        newest = conversation.get("current_leaf_message_uuid")
    else:
        return None
    _link(nodes)
    main = _find_main(nodes, newest)
    drafts, branches = _split(nodes, main)
    header = {key: value for key, value in conversation.items() if key not in ("mapping", "chat_messages")}
    return StorySource(drafts, name, cleaner.header({name: header}), cleaner.replaced, dict(skipped), tuple(branches))


def _link(nodes: dict[str, ExportedNode]) -> None:
    """Let every node know what follows it. One whose parent is gone, or that is its own ancestor, begins anew."""
    for node in nodes.values():
        if node.parent not in nodes:
            node.parent = None
    safe: set[str] = set()
    for ident in nodes:
        trail: dict[str, None] = {}
        at: str | None = ident
        while at is not None and at not in safe:
            if at in trail:
                nodes[at].parent = None  # a circle
                break
            trail[at] = None
            at = nodes[at].parent
        safe |= trail.keys()
    for ident, node in nodes.items():
        if node.parent is not None:
            nodes[node.parent].children.append(ident)


def _find_main(nodes: Mapping[str, ExportedNode], newest: object) -> list[str]:
    """Return the path that is the story: to the node that is named, or to the newest that nothing follows."""
    at = newest if isinstance(newest, str) and newest in nodes else None
    if at is None:
        places = {ident: place for place, ident in enumerate(nodes)}
        ends = [ident for ident, node in nodes.items() if not node.children]
        at = max(ends, key=lambda ident: (nodes[ident].order, places[ident]), default=None)
    path: list[str] = []
    while at is not None:
        path.append(at)
        at = nodes[at].parent
    path.reverse()
    while path and nodes[path[-1]].children:  # what is named may have been asked before it was answered
        path.append(nodes[path[-1]].children[-1])
    return path


def _split(nodes: Mapping[str, ExportedNode], main: Sequence[str]) -> tuple[list[Draft], list[SourceBranch]]:
    """Return the story with its swipes, and the branches beside it."""
    drafts: list[Draft] = []
    branches: list[SourceBranch] = []
    on_main = set(main)
    roots = [ident for ident, node in nodes.items() if node.parent is None]
    siblings = roots
    for ident in main:
        node = nodes[ident]
        own = list(node.drafts)
        for other in siblings:
            if other in on_main:
                continue
            for path in _list_paths(nodes, other):
                said = [draft for step in path for draft in nodes[step].drafts]
                if len(said) == 1 and len(own) == 1 and said[0].message.role is own[0].message.role:
                    own = [_add_swipe(own[0], said[0])]
                elif said:
                    branches.append(SourceBranch(f"branch {make_name(path[-1])[:_ID]}", len(drafts), said))
        drafts += own
        siblings = node.children
    names: Counter[str] = Counter()
    for place, branch in enumerate(branches):
        names[branch.name] += 1
        if names[branch.name] > 1:
            branches[place] = replace(branch, name=f"{branch.name} {names[branch.name]}")
    return drafts, branches


MOST_PATHS = 200
"""Paths that are followed from one place: who asks again more often than that is a program."""


def _list_paths(nodes: Mapping[str, ExportedNode], start: str) -> Iterator[list[str]]:
    """Yield the paths from a node to each end behind it."""
    waiting, count = [[start]], 0
    while waiting and count < MOST_PATHS:
        path = waiting.pop()
        while len(children := nodes[path[-1]].children) == 1:
            path.append(children[0])
        if children:
            waiting += [[*path, child] for child in reversed(children)][: MOST_PATHS + 1]
        else:
            count += 1
            yield path


def _add_swipe(draft: Draft, other: Draft) -> Draft:
    known = {draft.message.parts, *(one.message.parts for one in draft.alternatives)}
    return draft if other.message.parts in known else replace(draft, alternatives=(*draft.alternatives, other))


# ChatGPT


def _read_chatgpt(mapping: Item, cleaner: DraftCleaner, skipped: Counter[str]) -> dict[str, ExportedNode]:
    nodes: dict[str, ExportedNode] = {}
    for ident, given in mapping.items():
        if not isinstance(given, dict):
            skipped["no message"] += 1
            continue
        parent = given.get("parent")
        parent = parent if isinstance(parent, str) else None
        message = given.get("message")
        node = ExportedNode([], parent)
        if isinstance(message, dict):
            at = message.get("create_time")
            node.order = at if isinstance(at, int | float) and not isinstance(at, bool) else 0.0
            draft = _read_chatgpt_message(ident, parent, message)
            cleaned = cleaner.draft(draft) if draft else None
            if cleaned:
                node.drafts.append(cleaned)
            elif draft is None:
                skipped["message without words"] += 1
        nodes[ident] = node
    return nodes


def _read_chatgpt_message(ident: str, parent: str | None, message: Item) -> Draft | None:
    author = message.get("author")
    author = author if isinstance(author, dict) else {}
    role = _ROLES.get(str(author.get("role")))
    content = message.get("content")
    if role is None or not isinstance(content, dict):
        return None
    parts: list[Part] = []
    recipient = message.get("recipient")
    text = "\n\n".join(_list_chatgpt_texts(content))
    kind = str(content.get("content_type"))
    if kind == "thoughts":
        parts = [Thinking(text)] if text.strip() else []
    elif role is Role.ASSISTANT and isinstance(recipient, str) and recipient not in ("", "all"):
        parts = [ToolCall(ident, recipient, text)]
    elif role is Role.TOOL:
        parts = [ToolResult(parent or ident, text)]
    elif text.strip():
        parts = [Text(text)]
    if not parts:
        return None
    metadata = message.get("metadata")
    metadata = metadata if isinstance(metadata, dict) else {}
    hidden = bool(metadata.get("is_visually_hidden_from_conversation")) or kind in _ABOUT
    kept = {key: value for key, value in message.items() if key not in ("content", "id", "create_time") and value}
    if kind not in ("text", "thoughts", "code") or _has_objects(content):
        kept["content"] = content
    extra = {CHATGPT: kept} if kept else {}
    name = author.get("name") if role is Role.TOOL else None
    at = message.get("create_time")
    time = parse_time(at) if isinstance(at, int | float) and not isinstance(at, bool) else None
    speaker = name if isinstance(name, str) and name else None
    return Draft(Message(role, tuple(parts), speaker), Attributes(time, ident, extra, hidden))


_ABOUT = frozenset({"user_editable_context", "model_editable_context"})
"""Kinds of content that say how the chat was set up: kept, and shown to nobody."""


def _has_objects(content: Item) -> bool:
    parts = content.get("parts")
    return isinstance(parts, list) and any(not isinstance(part, str) for part in parts)


def _list_chatgpt_texts(content: Item) -> Iterator[str]:
    """Yield what a content of any kind says."""
    parts = content.get("parts")
    for part in parts if isinstance(parts, list) else ():
        if isinstance(part, str):
            if part.strip():
                yield part
        elif isinstance(part, dict):
            said = part.get("text")
            kind = part.get("content_type")
            yield said if isinstance(said, str) and said.strip() else f"[{kind if isinstance(kind, str) else 'file'}]"
    thoughts = content.get("thoughts")
    for thought in thoughts if isinstance(thoughts, list) else ():
        if isinstance(thought, dict) and isinstance(thought.get("content"), str):
            yield thought["content"]
    for key in ("text", "result", "content", "user_profile", "user_instructions", "model_set_context"):
        if isinstance(content.get(key), str) and content[key].strip():
            yield content[key]


# Claude


def _read_claude(messages: list[Any], cleaner: DraftCleaner, skipped: Counter[str]) -> dict[str, ExportedNode]:
    nodes: dict[str, ExportedNode] = {}
    linked = any(isinstance(one, dict) and "parent_message_uuid" in one for one in messages)
    before: str | None = None
    for place, given in enumerate(messages):
        if not isinstance(given, dict) or str(given.get("sender")) not in ("human", "assistant"):
            skipped["no message"] += 1
            continue
        ident = given.get("uuid")
        ident = ident if isinstance(ident, str) and ident and ident not in nodes else f"message-{place}"
        parent = given.get("parent_message_uuid") if linked else before
        drafts = [clean for draft in _read_claude_message(ident, given) if (clean := cleaner.draft(draft))]
        if not drafts:
            skipped["message without words"] += 1
        nodes[ident] = ExportedNode(drafts, parent if isinstance(parent, str) else None, float(place))
        before = ident
    return nodes


def _read_claude_message(ident: str, given: Item) -> Iterator[Draft]:
    """Yield a message. An answer that called tools is one message up to each result, and the result."""
    role = _ROLES[str(given["sender"])]
    known = ("uuid", "sender", "text", "content", "created_at", "parent_message_uuid")
    kept = {key: value for key, value in given.items() if key not in known and value}
    at = given.get("created_at")
    time = parse_time(at) if isinstance(at, str) else None
    parts: list[Part] = []
    made: list[tuple[Role, list[Part]]] = []
    call = ident
    blocks = given.get("content")
    for number, block in enumerate(blocks if isinstance(blocks, list) else ()):
        if not isinstance(block, dict):
            continue
        match block.get("type"):
            case "text" if isinstance(block.get("text"), str) and block["text"].strip():
                parts.append(Text(block["text"]))
            case "thinking" if isinstance(block.get("thinking"), str) and block["thinking"].strip():
                parts.append(Thinking(block["thinking"]))
            case "tool_use" if role is Role.ASSISTANT:
                given_id, tool = block.get("id"), block.get("name")
                call = given_id if isinstance(given_id, str) and given_id else f"{ident}-{number}"
                arguments = json.dumps(block.get("input"), ensure_ascii=False)
                parts.append(ToolCall(call, tool if isinstance(tool, str) and tool else "tool", arguments))
            case "tool_result" if role is Role.ASSISTANT:
                asked = block.get("tool_use_id")
                answered = asked if isinstance(asked, str) and asked else call
                made += [(role, parts)] if parts else []
                made.append((Role.TOOL, [ToolResult(answered, "\n\n".join(_list_claude_texts(block.get("content"))))]))
                parts = []
            case _:
                pass
    text = given.get("text")
    if not parts and not made and isinstance(text, str) and text.strip():
        parts = [Text(text)]
    parts += [Text(attached) for attached in _list_attached(given)]
    made += [(role, parts)] if parts else []
    for number, (its_role, its_parts) in enumerate(made):
        source_id = ident if not number else f"{ident}-{number}"
        extra = {CLAUDE: kept} if kept and not number else {}
        yield Draft(Message(its_role, tuple(its_parts)), Attributes(time, source_id, extra))


def _list_claude_texts(content: object) -> Iterator[str]:
    if isinstance(content, str):
        yield content
    for block in content if isinstance(content, list) else ():
        if isinstance(block, dict) and isinstance(block.get("text"), str):
            yield block["text"]


def _list_attached(given: Item) -> Iterator[str]:
    """Yield the text of the files that a message came with."""
    attachments = given.get("attachments")
    for one in attachments if isinstance(attachments, list) else ():
        if isinstance(one, dict) and isinstance(one.get("extracted_content"), str) and one["extracted_content"].strip():
            name = one.get("file_name")
            yield f"{name}:\n{one['extracted_content']}" if isinstance(name, str) and name else one["extracted_content"]
