"""YAML as people keep it in git: texts in blocks, few quotes, one order. It is read as text, lists and mappings only.

`yes` is a word and `1` is text; anchors, aliases and tags are refused. What is written reads back the same, here and in
any other reader of YAML.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from previously.core.errors import BadInput
from previously.core.json_values import shown
from previously.core.patterns import lazy_pattern

FieldValue = str | tuple[str, ...]
"""The value of a field: a text, or a list of texts."""

DEEPEST = 4
"""Levels of nesting that are read: a list of mappings of lists has three."""

LONGEST_LINE = 80
"""Characters of a text that stands beside its field's name; a longer one stands in a block below it."""

_WORDS = frozenset("true false yes no on off null y n".split())
"""Plain words that some readers of YAML take for something else."""

_NUMBER = lazy_pattern(r"(?:0|[1-9][0-9]{0,8})(?:-[0-9]{1,9})?")
"""A number or a range, which every reader gives back with the same digits."""

_ESCAPED = lazy_pattern("[\x7f-\x9f\u00a0\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff]")
"""Characters that cannot stand in quotes as they are, beside those that JSON escapes."""


@dataclass(slots=True)
class YamlNode:
    """A value and the line it begins at."""

    line: int
    value: str | list[YamlNode] | dict[str, YamlNode] = field(default="")


def write_yaml(value: Mapping[str, FieldValue] | Sequence[Mapping[str, FieldValue]]) -> str:
    """Return fields, or a list of records with fields, as YAML."""
    if isinstance(value, Mapping):
        return "".join(f"{line}\n" for line in _list_lines(value))
    records = ("\n".join(_list_lines(record)).replace("\n", "\n  ") for record in value)
    return "".join(f"- {_strip_ends(record)}\n" for record in records) or "[]\n"


def _list_lines(fields: Mapping[str, FieldValue]) -> Iterator[str]:
    for name, value in fields.items():
        if isinstance(value, str):
            yield f"{name}: {_write_text(value)}"
        elif value:
            yield f"{name}:"
            yield from (f"  - {_write_text(item, '    ')}" for item in value)
        else:
            yield f"{name}: []"


def _strip_ends(text: str) -> str:
    """Return a text without the spaces of its empty lines: a block keeps them empty."""
    return "\n".join(line if line.strip(" ") else "" for line in text.split("\n"))


def _write_text(text: str, indent: str = "  ") -> str:
    if _is_plain(text):
        return text
    if (len(text) > LONGEST_LINE or "\n" in text) and _fits_block(text):
        return "|\n" + "\n".join(f"{indent}{line}" if line else "" for line in text.split("\n"))
    quoted = json.dumps(text, ensure_ascii=False)
    return _ESCAPED.sub(lambda match: f"\\u{ord(match[0]):04x}", quoted)


def _is_plain(text: str) -> bool:
    return bool(_NUMBER.fullmatch(text)) or (
        0 < len(text) <= LONGEST_LINE
        and text[0].isalpha()
        and text.isprintable()
        and text == text.strip()
        and not (": " in text or " #" in text or text.endswith(":") or text.casefold() in _WORDS)
    )


def _fits_block(text: str) -> bool:
    """Return whether a text may stand in a block, whose last line end does not count. Lines of spaces would be lost."""
    lines = [line for line in text.split("\n") if line]
    return text == text.strip() and all(line.replace("\t", "").isprintable() and line.strip(" ") for line in lines)


def read_yaml(text: str, name: str, *, before: int = 0) -> YamlNode | None:
    """Return what a YAML text holds; None where it holds nothing. `name` is the file, and `before` the number of lines
    that stand before the text in it."""
    import yaml

    loader = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
    reader = _Builder(name, before)
    try:
        for event in yaml.parse(text, Loader=loader):
            reader.take(event)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        at = text[: getattr(error, "position", 0)].count("\n") if mark is None else mark.line
        problem = getattr(error, "problem", "") or getattr(error, "reason", "") or "it cannot be read as YAML"
        raise BadInput(f"{name}, line {at + 1 + before}: {shown(problem)}.") from None
    return reader.root


class _Builder:
    """Makes one value of the events of a parser, and stops at the first that has no place here."""

    def __init__(self, name: str, before: int) -> None:
        self.root: YamlNode | None = None
        self._name, self._before = name, before
        self._open: list[YamlNode] = []
        self._key: list[YamlNode | None] = []

    def take(self, event: object) -> None:
        """Take the next event of the parser."""
        kind, mark = type(event).__name__, getattr(event, "start_mark", None)
        line = (mark.line if mark else 0) + 1 + self._before
        if kind == "DocumentStartEvent" and self.root is not None:
            raise self._refuse(line, "a second document begins here")
        if getattr(event, "anchor", None) is not None:
            raise self._refuse(line, "anchors and aliases are not taken")
        if kind in ("MappingEndEvent", "SequenceEndEvent"):
            self._open.pop()
            self._key.pop()
        elif kind in ("MappingStartEvent", "SequenceStartEvent", "ScalarEvent"):
            if getattr(event, "tag", None) not in (None, "!"):
                raise self._refuse(line, "tags are not taken")
            self._put(event, kind, line)

    def _put(self, event: object, kind: str, line: int) -> None:
        node = YamlNode(line)
        if kind == "ScalarEvent":
            text = str(getattr(event, "value", ""))
            is_empty = getattr(event, "style", None) in (None, "") and text in ("", "~", "null")
            node.value = "" if is_empty else text
        else:
            node.value = {} if kind == "MappingStartEvent" else []
        self._place(node)
        if kind != "ScalarEvent":
            self._open.append(node)
            self._key.append(None)
            if len(self._open) > DEEPEST:
                raise self._refuse(line, "it is nested too deeply")

    def _place(self, node: YamlNode) -> None:
        if not self._open:
            self.root = node
            return
        around, key = self._open[-1].value, self._key[-1]
        if isinstance(around, list):
            around.append(node)
        elif key is None:
            if not isinstance(node.value, str):
                raise self._refuse(node.line, "the name of a field must be text")
            self._key[-1] = node
        elif isinstance(around, dict):
            name = str(key.value)
            if name in around:
                raise self._refuse(key.line, f"the field {shown(name, 40)} is there twice")
            around[name] = YamlNode(key.line, node.value)
            self._key[-1] = None

    def _refuse(self, line: int, reason: str) -> BadInput:
        return BadInput(f"{self._name}, line {line}: {reason}.")
