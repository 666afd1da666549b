"""A chat request as it comes in: its body, its list of messages, and which story it says that it belongs to.

A body is changed in its messages and in what is ours, and nowhere else. Whatever a client sends is a `ChatRequest` or a
`BadInput` with one sentence.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import islice
from pathlib import PureWindowsPath
from typing import Any
from urllib.parse import unquote_to_bytes

from previously.core.errors import BadInput
from previously.core.exact_names import is_walled_name, make_story_key, make_user_key, make_walled_name
from previously.core.json_values import kind, parse_json
from previously.core.messages import Draft, Message, Role, ToolCall, ToolResult, clean_draft
from previously.core.recent_values import RecentValues
from previously.folds.conversation.pins import read_user_words
from previously.presets import CHOICES
from previously.recognition.choose_story import ClientRequest
from previously.recognition.client_list import Ask, ClientList, is_lone_task, parse_client_list
from previously.recognition.client_marks import ChatNames, find_project, is_nudge, is_side_task, shows_files
from previously.recognition.commands import Command, parse_command, parse_mistyped
from previously.text.cuts import clip
from previously.wire.interface import CHAT, Interface, Raw

STORY_HEADERS = (
    "x-previously-story", "x-openwebui-chat-id", "x-sm-conversation-id", "x-opencode-session", "x-session-id",
    "x-claude-code-session-id", "thread-id", "session-id", "x-litellm-trace-id", "conversation_id", "session_id",
)  # fmt: skip
"""Headers by which clients name a conversation; the first that is there counts."""

STORY_FIELDS = (
    "previously_story", "story", "session_id", "conversation_id", "chat_id", "thread_id", "thread", "trace_id",
)  # fmt: skip
"""The same in `metadata`."""

SHARED = frozenset({"x-claude-code-session-id"})
"""Those that an agent's helpers send too, each with a list of its own."""

NAMING = frozenset({"x-previously-story", "previously_story", "story"})
"""Those by which a person names a story; the others are ids that a client has made."""

_TYPES = {
    "normal": Ask.TURN,
    "swipe": Ask.TURN,
    "regenerate": Ask.TURN,
    "turn": Ask.TURN,
    "continue": Ask.CONTINUE,
    "impersonate": Ask.ASIDE,
    "quiet": Ask.ASIDE,
    "aside": Ask.ASIDE,
}
_LONGEST_CAST = 60
"""Characters of those who are named in the name of a new story: a time and some letters stand beside them."""

_LONGEST_WORDS, _LONGEST_FOLDER = 60, 30
"""Characters of the user's words and of the project's folder in the name of a new story: they fit a line of a list."""

_FEWEST_LETTERS = 12
"""Words that are shorter ("hi", "go on") are said in many stories: the time stands beside them."""

_FIRST = 8
"""Messages among which a client tells the folder it works in."""


DRAFT_BYTES = 500
"""Bytes of a draft besides its words: five small objects, and a place in a dictionary."""

_recent_drafts = RecentValues[tuple[str, str, str], Draft](64 * 1024 * 1024)
"""Messages that were sent lately, as they would be stored: those of some hundred chats of 200 messages."""


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """A request for the next message."""

    body: dict[str, Any]
    """As it was sent, but for what is meant for us."""
    interface: Interface
    """The interface it came by."""
    messages: list[Raw]
    """As the client sent them;"""
    drafts: list[Draft]
    """as they would be stored, in the same order;"""
    client_list: ClientList
    """and taken apart."""
    command: Command | None
    """The question to memory in the last message, if it is one."""
    model: str
    streams: bool
    answer_tokens: int | None
    user: str
    """Whose conversation it is, where the client serves several people."""
    story: str | None
    named: bool
    """True if somebody gave the story its name; else that is an id of the client's."""
    titled: bool
    """True if that id is no name for a new story."""
    shares_id: bool
    """True if other conversations may have the same id."""
    ask: Ask | None
    history: int | None
    """The length of the client's history, where it says so."""
    folding: str = ""
    """Who decides that something is folded, where the client says so in place of the story's setting."""

    def client_request(self, owner: str) -> ClientRequest:
        """Return what is needed to recognise its story."""
        story = self.story
        if self.user and story:
            story = make_walled_name(self.user, story)
        elif story and is_walled_name(story):
            raise BadInput("The story of that name is another user's.")
        adopts = story is not None and not self.named
        return ClientRequest(
            owner,
            self.client_list,
            self.streams,
            story,
            self.ask,
            self.history,
            self.user,
            adopts=adopts,
            shares_id=self.shares_id,
            is_titled=self.titled and not self.client_list.names.all,
        )

    def make_story_name(self) -> str:
        """Return a name for a new story: the project and the first words of the user; in a role-play, who is in it and
        when it began, and some letters, since no two may have the same name."""
        names = self.client_list.names
        who = ", ".join(names.members) or names.character or ""
        who = _make_plain(who)[:_LONGEST_CAST]
        if not who and (words := self._name_by_words()):
            return words
        return f"{who or 'Chat'} {datetime.now():%Y-%m-%d %H:%M} {secrets.token_hex(4)}"

    def _name_by_words(self) -> str:
        """Return the folder of the project, where the client tells it, and the first words of the user."""
        said = next((words for piece in self.client_list.body if (words := _read_first_line(piece.message))), "")
        words = _shorten(said, _LONGEST_WORDS)
        if words and len(words) < _FEWEST_LETTERS:
            words = f"{words} {datetime.now():%Y-%m-%d %H:%M}"
        texts = (draft.message.text for draft in self.drafts if draft.message.role is not Role.ASSISTANT)
        project = next((folder for text in islice(texts, _FIRST) if (folder := find_project(text))), "")
        folder = _shorten(PureWindowsPath(project).name, _LONGEST_FOLDER)
        return f"{folder}: {words}" if folder and words else words

    @property
    def is_work(self) -> bool:
        """True if the list shows that an agent works: a tool was called (whoever could call some may still only talk),
        or the client shows files with every request, to be changed by what is answered."""
        if self.client_list.has_files:
            return True
        parts = (part for piece in reversed(self.client_list.body) for part in piece.message.parts)
        return any(isinstance(part, ToolCall | ToolResult) for part in parts)


def parse_chat_request(body: bytes, headers: Mapping[str, str], interface: Interface = CHAT) -> ChatRequest:
    """Return the request in a body. `headers` have lower-case names."""
    return read_fields(parse_fields(body), headers, interface)


def read_fields(fields: dict[str, Any], headers: Mapping[str, str], interface: Interface = CHAT) -> ChatRequest:
    """Return the request in a parsed body, whose fields from now on are the request's."""
    messages = interface.read_raws(fields)
    given = fields.pop("chat_meta", None)
    meta = given if isinstance(given, dict) else {}
    drafts = _tell_apart([_read_draft(number, item, interface) for number, item in enumerate(messages, 1)])
    streams = fields.get("stream") is True
    ask = _TYPES.get(str(headers.get("x-previously-kind") or meta.get("type") or "").lower())
    client_list = parse_client_list(drafts, _find_names(meta), is_turn=ask is Ask.TURN)
    if ask is not None and not client_list.body:
        ask = Ask.ASIDE
    elif ask is Ask.CONTINUE and not client_list.ends_in_a_reply:
        ask = Ask.TURN  # there is no reply to go on with
    story, source = _find_story(fields, headers, meta)
    named = source in NAMING
    if ask is None and client_list.compacts:
        ask = Ask.COMPACTION
    if (ask is None and _is_sillytavern(headers) and is_lone_task(client_list, streams=streams)) or (
        ask is None and not named and _is_beside(fields, client_list, known=story is not None)
    ):
        ask = Ask.ASIDE
    last = next((draft.message for draft in reversed(drafts) if _is_said(draft)), drafts[-1].message)
    return ChatRequest(
        fields,
        interface,
        messages,
        drafts,
        client_list,
        (parse_command(last.text) or parse_mistyped(last.text)) if last.role is Role.USER else None,
        str(fields.get("model") or ""),
        streams,
        _find_answer_tokens(fields),
        make_user_key(interface.find_user(fields)),
        story,
        named,
        bool(source) and not named,
        source in SHARED,
        ask,
        _count_history(meta),
        _find_folding(headers),
    )


def _read_draft(number: int, item: object, interface: Interface) -> Draft:
    """Return a message as it would be stored. Clients send hundreds with every request, nearly all of them known."""
    if not isinstance(item, dict):
        raise BadInput(f"Message {number} must be an object, not {kind(item)}.")
    key: tuple[str, str, str] | None = None
    size = 0
    if len(item) == 2 and type(role := item.get("role")) is type(content := item.get("content")) is str:
        key, size = (interface.name, role, content), DRAFT_BYTES + 2 * len(content)
        if known := _recent_drafts.get(key, size):
            return known
    try:
        draft, _ = clean_draft(interface.parse_raw(item))
    except (BadInput, RecursionError) as error:
        sentence = "it is nested too deeply." if isinstance(error, RecursionError) else str(error)
        raise BadInput(f"Message {number}: {sentence}") from None
    if key:
        _recent_drafts.keep(key, draft, size)
    return draft


def _tell_apart(drafts: list[Draft]) -> list[Draft]:
    """Return the drafts of a list, none of which is the same object as another: the same words are often said again,
    and each time is a message of its own."""
    if len(set(map(id, drafts))) == len(drafts):
        return drafts
    seen: set[int] = set()
    apart = []
    for draft in drafts:
        apart.append(replace(draft, message=replace(draft.message)) if id(draft) in seen else draft)
        seen.add(id(draft))
    return apart


def parse_fields(body: bytes) -> dict[str, Any]:
    try:
        text = body.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise BadInput("The body is not UTF-8.") from None
    fields = parse_json(text, "body")
    if not isinstance(fields, dict):
        raise BadInput(f"The body must be an object, not {kind(fields)}.")
    return fields


def _find_names(meta: Mapping[str, Any]) -> ChatNames:
    character, user, group = (str(meta.get(name) or "").strip() for name in ("char", "user", "group"))
    members = tuple(name.strip() for name in group.split(",") if name.strip()) if "," in group else ()
    return ChatNames(character or None, user or None, members)


def _find_story(
    fields: Mapping[str, Any], headers: Mapping[str, str], meta: Mapping[str, Any]
) -> tuple[str | None, str]:
    """Return the name of a story, or the client's id for it; and which header or field of metadata it stands in."""
    metadata = fields.get("metadata")
    beside = metadata if isinstance(metadata, dict) else {}
    given: list[tuple[str, Any]] = [(name, _decode_header(headers.get(name, ""))) for name in STORY_HEADERS]
    given += [(name, beside.get(name)) for name in STORY_FIELDS]
    given.append(("", fields.get("litellm_session_id")))
    given.append(("", _find_chat_id(meta)))
    for name, value in given:
        if value and isinstance(value, str):
            return make_story_key(value), name
    return None, ""


def _find_chat_id(meta: Mapping[str, Any]) -> str | None:
    """Return the id of a chat in `chat_meta`, behind the names of its group: `char` differs among the members."""
    group, uid = meta.get("group") or "", meta.get("uid") or ""
    if not uid:
        return None
    if isinstance(group, str) and isinstance(uid, str) and group != "chat" and not any(map(str.isspace, uid)):
        return f"{group or 'chat'} {uid}"
    return f"{json.dumps([group, uid])} "  # two of these could be written alike; no id above ends in a space


def _decode_header(value: str) -> str:
    """Return a name in a header: percent-encoded as we send it, or in UTF-8, which comes in as if it were Latin-1."""
    given = value.encode("latin-1")
    decoded = unquote_to_bytes(given)
    try:
        return decoded.decode()
    except UnicodeDecodeError:  # Latin-1 if it was sent so; what was percent-encoded stays what no other name is
        return value if decoded == given else decoded.decode(errors="surrogateescape")


def _read_first_line(message: Message) -> str:
    """Return the first line that the user says in a message."""
    if message.role is not Role.USER or shows_files(message.text):
        return ""
    return next((line.strip(' \t"') for line in read_user_words(message).splitlines() if line.strip(' \t"')), "")


def _shorten(text: str, most: int) -> str:
    return clip(_make_plain(text), most)


def _make_plain(text: str) -> str:
    """Return a text as a name can have it: in one line, with nothing that cannot be seen."""
    return " ".join("".join(letter if letter.isprintable() else " " for letter in text).split())


def _is_said(draft: Draft) -> bool:
    """Return whether a message is somebody's, and not there to steer the answer."""
    return draft.message.role is not Role.SYSTEM and not is_nudge(draft.message.text)


def _count_history(meta: Mapping[str, Any]) -> int | None:
    last = str(meta.get("last_id") or "")
    return int(last) + 1 if last.isascii() and last.isdigit() and len(last) < 10 else None


def _find_folding(headers: Mapping[str, str]) -> str:
    given = headers.get("x-previously-folding", "").strip().lower()
    if given and given not in CHOICES["folding"]:
        raise BadInput("X-Previously-Folding must be automatic, ask or off.")
    return given


def _find_answer_tokens(fields: Mapping[str, Any]) -> int | None:
    for name in ("max_completion_tokens", "max_output_tokens", "max_tokens"):
        value = fields.get(name)
        if type(value) is int and 0 < value < 2**40:
            return value
    return None


def _is_beside(fields: Mapping[str, Any], client_list: ClientList, *, known: bool) -> bool:
    """Return whether a request without history is no part of a conversation, or not yet: a title, a summary of the
    whole as data, a check whether the model answers at all; or a single question with an instruction, unless the client
    has told the id of a conversation (`known`). Where it goes on, the next list shows it."""
    if any(piece.message.role is Role.ASSISTANT for piece in client_list.body):
        return False
    if _find_answer_tokens(fields) == 1:
        return True
    if fields.get("tools"):
        return False
    if asks_for_json(fields) or any(is_side_task(piece.message.text) for piece in client_list.front):
        return True
    streams = fields.get("stream") is True
    return not known and bool(client_list.front) and is_lone_task(client_list, streams=streams)


def asks_for_json(fields: Mapping[str, Any]) -> bool:
    """Return whether an answer is wanted in a form that a program reads."""
    text, config = fields.get("text"), fields.get("output_config")
    formats = (
        fields.get("response_format"),
        text.get("format") if isinstance(text, dict) else None,
        config.get("format") if isinstance(config, dict) else None,
    )
    return any(isinstance(form, dict) and str(form.get("type", "")).startswith("json") for form in formats)


def _is_sillytavern(headers: Mapping[str, str]) -> bool:
    return headers.get("user-agent", "").startswith("node-fetch")


def write_body(request: ChatRequest, messages: list[Raw]) -> bytes:
    body = request.interface.write_body(request.body, messages)
    try:
        return json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()
    except UnicodeEncodeError:  # half a character, as some clients cut them: it goes on as it came
        return json.dumps(body, separators=(",", ":")).encode()
