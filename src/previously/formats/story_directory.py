"""A story as a directory of files that people read, edit and keep in git; and such files as values again.

Everything in it is a *thing* with an address (`recap`, `chapter:2`, `lore:grim`, `thread:1f0c…`) and fields, or a
message. Values are in one form, whoever wrote them, so that what nobody changed compares as equal: line ends and the
space around a text do not count. What was exported is kept beside the files as hashes (`ExportRecord`).
"""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any

from previously.core.cast import LONGEST_FACT
from previously.core.errors import BadInput
from previously.core.json_values import clean, make_plain, parse_object, read_plain, shown
from previously.core.messages import parse_role
from previously.core.note import Aspect, parse_state_line, render_state_line
from previously.core.patterns import lazy_pattern
from previously.core.scripts import casefold
from previously.formats.yaml_text import FieldValue, YamlNode, read_yaml, write_yaml
from previously.lore.keys import normalize_name

STORY, RECAP, THREADS, STATE, MESSAGES = "story.md", "recap.md", "threads.yaml", "state.yaml", "messages.jsonl"
RECORD = ".previously/exported.json"
"""The record of what was exported, by which edits are told from what the story itself has changed since."""
IGNORE = ".previously/.gitignore"
"""The record is of this place alone: git leaves it out, so that a checkout of older files is an edit of them."""

PATHS = lazy_pattern(
    r"story\.md|recap\.md|threads\.yaml|state\.yaml|messages\.jsonl|chapters/[^/\\.][^/\\\x00]*\.md"
    r"|(?:lore|cast)/[^/\\.][^/\\\x00]*\.ya?ml"
)
"""The files of a directory. No other is read, written or taken away."""

MOST_BYTES = 1_000_000
"""Of a file that is not the messages: the longest entry has 20,000 characters, and the longest list 300 lines."""

LONGEST_SLUG = 60
"""Characters of a name in that of its file: 180 bytes in Chinese, of the 255 that the whole name may have."""

_EMPTY = {
    THREADS: "# Nothing is open. An item looks so:\n# - text: Wren owes forty crowns\n#   due: by Friday\n",
    STATE: "# Nothing is said. An item looks so:\n# - thing: Wren\n#   aspect: place\n#   value: the ferry\n",
}
"""Lists without an item, as files to which one can be added."""

_RESERVED = frozenset("con prn aux nul".split())
"""Names that Windows gives no file."""

OPEN, SETTLED = "open", "settled"

Fields = Mapping[str, FieldValue]


@dataclass(frozen=True, slots=True)
class MessageLine:
    """A message as a line of the directory has it."""

    text: str
    role: str
    name: str = ""
    witnesses: tuple[str, ...] | None = None
    at: str = ""
    hidden: bool = False
    id: str = ""
    """Made of its digest; empty for a new line."""
    entry: int = 0
    """Its entry in the story, and the one that it is an edit of; 0 where nobody knows."""
    replaces: int = 0
    line: int = 0
    """Its line in the file."""

    @property
    def fixed(self) -> str:
        """Return all that a file cannot change of it."""
        return make_hash([self.role, self.name, self.witnesses, self.at])

    @property
    def said(self) -> tuple[str, str, str]:
        """Return who said what: by this, a line that is new in the files is known in the story."""
        return self.role, self.name, self.text


@dataclass(frozen=True, slots=True)
class DirectoryContent:
    """All that a directory holds of a story."""

    things: Mapping[str, Fields]
    messages: tuple[MessageLine, ...] = ()
    paths: Mapping[str, str] = field(default_factory=dict)
    """The file of each thing, where it has one already."""
    new: frozenset[str] = frozenset()
    """The things that are new in the files: they have no id there."""


@dataclass(frozen=True, slots=True)
class ExportedThing:
    """A thing as it was exported: its file, and the hash of each field."""

    path: str
    fields: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class ExportedMessage:
    """A message as it was exported."""

    id: str
    text: str
    """The hash of its words, and of all else,"""
    fixed: str
    hidden: bool = False
    entry: int = 0


@dataclass(frozen=True, slots=True)
class ExportRecord:
    """All that was exported."""

    story: str
    branch: str
    things: Mapping[str, ExportedThing]
    messages: tuple[ExportedMessage, ...] = ()


def make_hash(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass")
    return blake2b(text, digest_size=12, person=b"prev.direct.1").hexdigest()


def tidy_text(text: str) -> str:
    """Return a text in the form in which it is compared: as it can be stored, with plain line ends, nothing around."""
    return clean(text)[0].replace("\r\n", "\n").replace("\r", "\n").strip()


def tidy_line(text: str) -> str:
    return " ".join(clean(text)[0].split())


def tidy_list(items: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(word for item in items if (word := clean(item)[0].strip())))


def name_state(thing: str, aspect: str | None, value: str) -> str:
    """Return the address of a value of the state: by what it is of; free words by themselves."""
    return f"state:{normalize_name(thing)} / {aspect}" if aspect else f"state:{casefold(value)}"


def number_ids(digests: Iterable[bytes]) -> Iterator[str]:
    """Yield an id for each message, by what it says; the second that says the same is told from the first."""
    seen: dict[str, int] = {}
    for digest in digests:
        ident = digest.hex()[:12]  # 48 bits: two of a story that meet by chance are told apart like any others
        seen[ident] = seen.get(ident, 0) + 1
        yield ident if seen[ident] == 1 else f"{ident}-{seen[ident]}"


# Writing


def write_files(content: DirectoryContent) -> dict[str, bytes]:
    """Return the files of a directory, by their paths."""
    files: dict[str, str] = {}
    paths = place_things(content)
    lists: dict[str, list[Fields]] = {THREADS: [], STATE: []}
    for address, fields in content.things.items():
        path, ident = paths[address], address.partition(":")[2]
        match address.partition(":")[0]:
            case "thread":
                lists[THREADS].append({**({} if address in content.new else {"id": ident}), **_drop_empty(fields)})
            case "state":
                lists[STATE].append(_split_state(str(fields["line"])))
            case "lore" | "cast":
                files[path] = write_yaml({**({} if address in content.new else {"id": ident}), **fields})
            case kind:
                front = {"chapter": ident, **fields} if kind == "chapter" else dict(fields)
                text = front.pop("text")
                front = {name: value for name, value in front.items() if value or name == "title"}
                files[path] = f"---\n{write_yaml(front)}---\n" + (f"\n{text}\n" if text else "")
    files |= {path: write_yaml(records) if records else _EMPTY[path] for path, records in lists.items()}
    files[MESSAGES] = "".join(map(_write_message, content.messages))
    return {path: text.encode() for path, text in files.items()}


def write_new_files(content: DirectoryContent, story: str, branch: str) -> dict[str, bytes]:
    """Return the files of a new directory, with what is remembered of it."""
    return {**write_files(content), **write_record(describe_record(content, story, branch))}


def write_record(record: ExportRecord) -> dict[str, bytes]:
    """Return the files that keep what was exported."""
    plain = {"previously_directory": 1, **make_plain(record)}
    return {RECORD: (json.dumps(plain, ensure_ascii=False, indent=0) + "\n").encode(), IGNORE: b"*\n"}


def place_things(content: DirectoryContent) -> dict[str, str]:
    """Return the file of each thing: the one it has, or a new one that is named after it."""
    lists = {"story": STORY, "recap": RECAP, "thread": THREADS, "state": STATE}
    paths = {address: content.paths[address] for address in content.things if address in content.paths}
    taken = {unicodedata.normalize("NFC", path).casefold() for path in paths.values()}
    for address, fields in content.things.items():
        kind, _, ident = address.partition(":")
        if address in paths:
            continue
        if kind in lists:
            paths[address] = lists[kind]
        elif kind == "chapter":
            paths[address] = f"chapters/{int(ident):03d}.md"
        else:
            slug = _make_slug(str(fields["name"]))
            numbered = (slug if number == 1 else f"{slug}-{number}" for number in range(1, len(content.things) + 2))
            paths[address] = next(path for one in numbered if (path := f"{kind}/{one}.yaml").casefold() not in taken)
            taken.add(paths[address].casefold())
    return paths


def _make_slug(name: str) -> str:
    words = "".join(char if char.isalnum() else " " for char in unicodedata.normalize("NFC", casefold(name))).split()
    slug = "-".join(words)[:LONGEST_SLUG].strip("-") or "unnamed"
    return f"{slug}-" if slug in _RESERVED or slug[:-1] in ("com", "lpt") else slug


def _drop_empty(fields: Fields) -> dict[str, FieldValue]:
    return {name: value for name, value in fields.items() if value}


def _split_state(line: str) -> Fields:
    item = parse_state_line(line)
    if item is None or render_state_line(item.thing, item.aspect, item.value) != line:
        return {"value": line}
    return {"thing": item.thing, "aspect": item.aspect.value, "value": item.value}


def _write_message(message: MessageLine) -> str:
    fields: dict[str, Any] = {
        "id": message.id or None,
        "role": message.role,
        "name": message.name or None,
        "content": message.text,
        "witnesses": message.witnesses,
        "at": message.at or None,
        "hidden": message.hidden or None,
    }
    return json.dumps({key: value for key, value in fields.items() if value is not None}, ensure_ascii=False) + "\n"


# Reading


def read_record(files: Mapping[str, bytes]) -> ExportRecord:
    """Return what was exported; `BadInput` where that is not known."""
    if RECORD not in files:
        raise BadInput(
            f"There is no {RECORD} here, so nobody knows what was exported; "
            "export the story to a new directory and make the edits there."
        )
    try:
        plain = parse_object(files[RECORD].decode())
        if plain.pop("previously_directory", None) != 1:
            raise ValueError("it is of another version")
        record = read_plain(ExportRecord, plain)
        if not all(PATHS.fullmatch(thing.path) for thing in record.things.values()):
            raise ValueError("it names a file that is none of a directory")
    except (ValueError, BadInput, RecursionError) as error:
        raise BadInput(f"{RECORD}: it is damaged ({shown(str(error)).rstrip('.')}).") from None
    return record


def read_files(files: Mapping[str, bytes]) -> DirectoryContent:
    """Return what the files say; `BadInput` with file and line at the first fault."""
    reading = _Reading()
    for path in sorted(files):
        if not PATHS.fullmatch(path):
            continue
        text = _decode(path, files[path])
        if path == MESSAGES:
            reading.messages = tuple(_read_messages(path, text))
        elif path.endswith(".md"):
            reading.read_markdown(path, text)
        elif path in (THREADS, STATE):
            reading.read_list(path, text)
        else:
            reading.read_thing(path, text)
    return DirectoryContent(reading.things, reading.messages, reading.paths, frozenset(reading.new))


def _decode(path: str, data: bytes) -> str:
    if path != MESSAGES and len(data) > MOST_BYTES:
        raise BadInput(f"{path}: it has {len(data):,} bytes; {MOST_BYTES:,} are the most.")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise BadInput(f"{path}, line {line}: it is not UTF-8.") from None
    return text if path == MESSAGES else clean(text)[0].replace("\r\n", "\n").replace("\r", "\n")


_FIELDS = {
    "story": ("story", "branch", "messages", "chapters"),
    "recap": ("chapter", "messages"),
    "chapter": ("chapter", "title", "messages"),
    "lore": ("id", "name", "type", "keywords", "content"),
    "cast": ("id", "name", "summary", "facts"),
    "thread": ("id", "text", "status", "due", "owner"),
    "state": ("thing", "aspect", "value"),
}
_LISTS = frozenset({"keywords", "facts"})


class _Reading:
    """All that has been read so far."""

    def __init__(self) -> None:
        self.things: dict[str, Fields] = {}
        self.paths: dict[str, str] = {}
        self.new: set[str] = set()
        self.messages: tuple[MessageLine, ...] = ()
        self._lines: dict[str, int] = {}

    def read_markdown(self, path: str, text: str) -> None:
        kind = "chapter" if path.startswith("chapters/") else path.removesuffix(".md")
        front, body = _split_front(path, text)
        fields, line = self._read_fields(path, kind, read_yaml(front, path, before=1))
        address = kind
        if kind == "chapter":
            number = str(fields.pop("chapter", ""))
            if not number.isascii() or not number.isdecimal() or len(number) > 9:
                raise BadInput(f"{path}, line {line}: it must say which chapter it is, by its number.")
            address = f"chapter:{int(number)}"
        self._add(address, path, line, {**fields, "text": tidy_text(body)})

    def read_thing(self, path: str, text: str) -> None:
        kind = path.partition("/")[0]
        fields, line = self._read_fields(path, kind, read_yaml(text, path))
        ident, name = str(fields.pop("id", "")), str(fields.get("name", ""))
        if not normalize_name(name):
            raise BadInput(f"{path}, line {line}: it has no name.")
        if ident:
            empty: dict[str, FieldValue] = {name: () if name in _LISTS else "" for name in _FIELDS[kind][1:]}
            fields = empty | fields
        self._add(f"{kind}:{ident or normalize_name(name)}", path, line, fields, is_new=not ident)

    def read_list(self, path: str, text: str) -> None:
        kind = "thread" if path == THREADS else "state"
        node = read_yaml(text, path)
        if node is None or node.value == "":
            return
        if not isinstance(node.value, list):
            raise BadInput(f"{path}, line {node.line}: it must be a list; each item begins with a dash.")
        for item in node.value:
            if kind == "state":
                self._read_state(path, item)
                continue
            fields, line = self._read_fields(path, kind, item)
            ident, words = str(fields.pop("id", "")), str(fields.get("text", ""))
            if not words:
                raise BadInput(f"{path}, line {line}: a thread needs text.")
            defaults: dict[str, FieldValue] = {"text": words, "status": OPEN, "due": "", "owner": ""}
            fields = defaults | fields
            if fields["status"] not in (OPEN, SETTLED):
                raise BadInput(
                    f"{path}, line {line}: a thread is {OPEN} or {SETTLED}, not {shown(str(fields['status']), 40)}."
                )
            self._add(f"thread:{ident or f'new {words}'}", path, line, fields, is_new=not ident)

    def _read_state(self, path: str, item: YamlNode) -> None:
        if isinstance(item.value, str):
            item = YamlNode(item.line, {"value": item})
        fields, line = self._read_fields(path, "state", item)
        thing, aspect, value = (str(fields.get(name, "")) for name in _FIELDS["state"])
        if not value or bool(thing) != bool(aspect):
            raise BadInput(f"{path}, line {line}: a value needs thing, aspect and value, or a value in free words.")
        if aspect and aspect not in list(Aspect):
            raise BadInput(
                f"{path}, line {line}: there is no aspect {shown(aspect, 40)!r}; there are {', '.join(Aspect)}."
            )
        text = f"{thing} / {aspect}: {value}" if thing else value
        item_of = parse_state_line(text)
        if thing and (item_of is None or (item_of.thing, item_of.aspect, item_of.value) != (thing, aspect, value)):
            raise BadInput(f"{path}, line {line}: this cannot be kept as a value; take the line away to end it.")
        address = name_state(item_of.thing, item_of.aspect, item_of.value) if item_of else name_state("", None, value)
        self._add(address, path, line, {"line": text})

    def _read_fields(self, path: str, kind: str, node: YamlNode | None) -> tuple[dict[str, FieldValue], int]:
        if node is None or not isinstance(node.value, dict):
            raise BadInput(
                f"{path}, line {node.line if node else 1}: it must be fields, each a name, a colon and a value."
            )
        fields: dict[str, FieldValue] = {}
        for name, value in node.value.items():
            if name not in _FIELDS[kind]:
                known = ", ".join(_FIELDS[kind])
                raise BadInput(f"{path}, line {value.line}: there is no field {shown(name, 40)}; there are {known}.")
            fields[name] = _read_value(path, kind, name, value)
        return fields, node.line

    def _add(self, address: str, path: str, line: int, fields: Fields, *, is_new: bool = False) -> None:
        if address in self.things:
            where = f"{self.paths[address]}, line {self._lines[address]}"
            hint = "; what is new has no id" if not is_new and not address.startswith("state") else ""
            raise BadInput(f"{path}, line {line}: this is in {where} already{hint}.")
        self.things[address], self.paths[address], self._lines[address] = fields, path, line
        if is_new:
            self.new.add(address)


def _split_front(path: str, text: str) -> tuple[str, str]:
    """Return the front matter of a text, and the rest."""
    lines = text.split("\n")
    end = next((at for at, line in enumerate(lines[1:], 1) if line.rstrip() == "---"), 0)
    if lines[0].rstrip() != "---" or not end:
        raise BadInput(f"{path}, line 1: it must begin with its fields between two lines of ---.")
    return "\n".join(lines[1:end]) + "\n", "\n".join(lines[end + 1 :])


def _read_value(path: str, kind: str, name: str, node: YamlNode) -> FieldValue:
    if name not in _LISTS:
        if not isinstance(node.value, str):
            raise BadInput(f"{path}, line {node.line}: {name} must be text.")
        is_text = (kind, name) == ("lore", "content")
        return tidy_text(node.value) if is_text else tidy_line(node.value)
    items = [YamlNode(node.line, node.value)] if isinstance(node.value, str) else node.value
    if not isinstance(items, list) or not all(isinstance(item.value, str) for item in items):
        raise BadInput(f"{path}, line {node.line}: {name} must be a list of texts.")
    if name == "keywords":
        return tidy_list(str(item.value) for item in items)
    facts = {casefold(line): line for item in items if (line := tidy_line(str(item.value)))}
    if any(len(fact) > LONGEST_FACT for fact in facts.values()):
        raise BadInput(f"{path}, line {node.line}: a fact has at most {LONGEST_FACT} characters.")
    return tuple(facts.values())


def _read_messages(path: str, text: str) -> Iterator[MessageLine]:
    seen: set[str] = set()
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            message = _read_message(parse_object(line), number)
        except (BadInput, RecursionError) as error:
            raise BadInput(f"{path}, line {number}: {str(error) or 'it is nested too deeply.'}") from None
        if message.id in seen:
            raise BadInput(
                f"{path}, line {number}: the id {shown(message.id, 40)} is there twice; a new message has no id."
            )
        seen |= {message.id} if message.id else set()
        yield message


_MESSAGE_FIELDS = "id", "role", "name", "content", "witnesses", "at", "hidden"


def _read_message(line: Mapping[str, Any], number: int) -> MessageLine:
    unknown = next((name for name in line if name not in _MESSAGE_FIELDS), None)
    if unknown is not None:
        raise BadInput(f"there is no field {shown(unknown, 40)}; there are {', '.join(_MESSAGE_FIELDS)}.")
    texts = {}
    for name in ("id", "role", "name", "content", "at"):
        value = line.get(name)
        if value is not None and not isinstance(value, str):
            raise BadInput(f"{name} must be text.")
        texts[name] = clean(value or "")[0]
    if not isinstance(line.get("content"), str):
        raise BadInput("a message needs content.")
    witnesses, hidden = line.get("witnesses"), line.get("hidden", False)
    if witnesses is not None and not (isinstance(witnesses, list) and all(isinstance(one, str) for one in witnesses)):
        raise BadInput("witnesses must be a list of names.")
    if not isinstance(hidden, bool):
        raise BadInput("hidden must be true or false.")
    names = None if witnesses is None else tuple(sorted({clean(name)[0] for name in witnesses}))
    role = parse_role(shown(texts["role"], 40)).value
    return MessageLine(
        texts["content"], role, texts["name"], names, texts["at"], hidden, texts["id"], line=number
    )  # fmt: skip


def describe_record(content: DirectoryContent, story: str, branch: str) -> ExportRecord:
    """Return what is exported, as it is remembered."""
    paths = place_things(content)
    things = {
        address: ExportedThing(paths[address], hash_fields(fields))
        for address, fields in content.things.items()
        if address not in content.new
    }
    messages = [
        ExportedMessage(line.id, make_hash(line.text), line.fixed, line.hidden, line.entry)
        for line in content.messages
        if line.id
    ]
    return ExportRecord(story, branch, things, tuple(messages))


def hash_fields(fields: Fields) -> dict[str, str]:
    return {name: make_hash(value) for name, value in fields.items()}
