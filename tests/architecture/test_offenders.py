"""Nothing breaks the rules of the house, and the rules see what they should."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.architecture.offenders import (
    RULES,
    find_docstrings,
    find_offenders,
    find_tools,
    is_gerund,
    strip_ending,
)
from tests.architecture.sources import Module, find_cycle_edges
from tests.architecture.tree_map import first_sentence


@pytest.mark.parametrize("rule", RULES)
def test_nothing_offends(rule: str) -> None:
    assert find_offenders(rule) == []


def test_edges_on_a_cycle_are_found_and_others_are_not() -> None:
    graph = {"a": {"b"}, "b": {"c"}, "c": {"a", "d"}, "d": set[str]()}
    assert find_cycle_edges(graph) == ["a -> b", "b -> c", "c -> a"]


@pytest.mark.parametrize("word", ["reading", "noted", "told", "held", "what"])
def test_gerunds_participles_and_pronouns_are_seen(word: str) -> None:
    assert is_gerund(word)


@pytest.mark.parametrize("word", ["settings", "pairing", "string", "seed", "view", "read"])
def test_nouns_and_verbs_are_not_gerunds(word: str) -> None:
    assert not is_gerund(word)


def test_endings_do_not_tell_names_apart() -> None:
    assert {strip_ending(name) for name in ("note", "notes", "noted", "noting")} == {"not"}
    assert strip_ending("query") != strip_ending("queue")


@pytest.mark.parametrize(
    ("source", "tool"),
    [
        ("def stem(word): ...", "stemmer"),
        ("def _split_sentences(text): ...", "sentence splitter"),
        ("import re\nENDS = re.compile(r'(?<=[.!?]) ')", "sentence splitter"),
        ("WORDS = {'three': 3, 'four': 4, 'five': 5, 'six': 6, 'seven': 7}", "number words"),
        ("WORDS = 'one two three four five six seven'.split()", "number words"),
        ("PATTERN = 'three|four|five|six|seven'", "number words"),
    ],
)
def test_a_second_tool_is_seen(source: str, tool: str) -> None:
    assert find_tools(ast.parse(source)) == {tool}


def test_ordinary_code_is_no_tool() -> None:
    assert find_tools(ast.parse("NAMES = ['one', 'two', 'three']\ndef system(text): ...")) == set()


def test_docstrings_of_every_kind_are_read(tmp_path: Path) -> None:
    path = tmp_path / "module.py"
    path.write_text('"""A module."""\nX = 1\n"""A value."""\nclass C:\n    """A class."""\n')
    assert sorted(find_docstrings(Module(path))) == ["A class.", "A module.", "A value."]


def test_the_first_sentence_of_a_docstring() -> None:
    assert first_sentence("Read v1.2 files\nof any kind. And more.") == "Read v1.2 files of any kind."
    assert first_sentence("No end\n\nMore.") == "No end"
