"""YAML as the directory has it: what is written reads back the same, and what has no place is refused with its line."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from previously import BadInput
from previously.formats.yaml_text import FieldValue, YamlNode, read_yaml, write_yaml
from tests.effort import cases

TEXTS = st.text(st.sampled_from("ab 0:#-\n\t'\"\\|>[]{},&*!%@`~?\u2028\x85é漢\U0001f600\x7f\x01\r\ufeff"), max_size=100)


def make_plain(node: YamlNode | None) -> Any:
    match node.value if node else None:
        case list(items):
            return [make_plain(item) for item in items]
        case dict(fields):
            return {name: make_plain(item) for name, item in fields.items()}
        case value:
            return value.strip() if isinstance(value, str) else value


def strip_texts(value: Any) -> Any:
    if isinstance(value, list):
        return [strip_texts(item) for item in value]
    return value.strip() if isinstance(value, str) else {name: strip_texts(item) for name, item in value.items()}


@given(st.lists(TEXTS.map(str.strip), min_size=1, max_size=3), TEXTS.map(str.strip))
@settings(max_examples=cases(500))
def test_what_is_written_reads_back_the_same(items: list[str], text: str) -> None:
    expected = {"a": text, "list": items, "z": text}
    for value, wanted in (
        ({"a": text, "list": tuple(items), "z": text}, expected),
        ([{"a": text, "list": tuple(items), "z": text}] * 2, [expected] * 2),
    ):
        written = write_yaml(value)  # type: ignore[arg-type]
        assert make_plain(read_yaml(written, "x.yaml")) == wanted
        assert strip_texts(yaml.load(written, Loader=yaml.BaseLoader)) == wanted  # the reader in Python, not that in C


def test_it_is_pleasant_to_read() -> None:
    fields: dict[str, FieldValue] = {
        "id": "grim",
        "name": "Grim",
        "keywords": ("barkeeper", "no", "the: bar"),
        "content": "One.\n\n  Two.",
        "n": "12",
    }
    assert write_yaml(fields) == (
        'id: grim\nname: Grim\nkeywords:\n  - barkeeper\n  - "no"\n  - "the: bar"\n'
        "content: |\n  One.\n\n    Two.\nn: 12\n"
    )
    assert write_yaml([]) == "[]\n"
    assert write_yaml([{"text": "x" * 90, "due": ""}]) == f'- text: |\n    {"x" * 90}\n  due: ""\n'


def test_words_are_text_and_nothing_is_nothing() -> None:
    read = make_plain(read_yaml("a: yes\nb: 1.0\nc:\nd: ~\ne: 'null'\nf: [x, 'y']\n", "x.yaml"))
    assert read == {"a": "yes", "b": "1.0", "c": "", "d": "", "e": "null", "f": ["x", "y"]}
    assert read_yaml("# only a comment\n", "x.yaml") is None


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("a: b\nc: [", 3, "expected node content"),
        ("a: b\nc: *x\n", 2, "anchors and aliases"),
        ("a: &x b\n", 1, "anchors and aliases"),
        ("a: 1\nb: 2\na: 3\n", 3, "the field a is there twice"),
        ("a: !!int 3\n", 1, "tags are not taken"),
        ("a: b: c\n", 1, "mapping values are not allowed"),
        ("a: \x01\n", 1, "not allowed"),
        ("a: b\n---\nc: d\n", 2, "a second document"),
        ("[" * 100_000, 1, "nested too deeply"),
        ("? [a]\n: b\n", 1, "must be text"),
    ],
)
def test_what_has_no_place_is_refused_with_its_line(text: str, line: int, words: str) -> None:
    with pytest.raises(BadInput) as refusal:
        read_yaml(text, "lore/x.yaml", before=10)
    assert str(refusal.value).startswith(f"lore/x.yaml, line {line + 10}: ")
    assert words in str(refusal.value)
