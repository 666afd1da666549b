"""What is stored, answered and sent upstream is what it was, on every story; `make test` takes the quick ones."""

from __future__ import annotations

from typing import Any

import pytest

from previously.cli.command_table import make_parser
from tests.effort import mark_slow
from tests.goldens.commands import CHANGING, READING, name_of
from tests.goldens.compare import EXPECTED, GROUPS, Taken, find_differences, read_expected
from tests.goldens.corpora import Corpus, list_corpora
from tests.goldens.memory_texts import MARKER, RECALLED, Apart
from tests.goldens.take import known_names, take_at_upstream, take_on_disk

MOST_BYTES = 1_500_000


HOW = "`make goldens` lists all; `python -m tests.goldens --write --group …` takes what is meant to change"

CORPORA = list_corpora()
QUICK = [corpus for corpus in CORPORA if corpus.quick]
OTHERS = [corpus for corpus in CORPORA if not corpus.quick]
WHY_SLOW = "the same commands and clients on more stories"


@pytest.mark.parametrize("corpus", [*QUICK, *mark_slow(*OTHERS, reason=WHY_SLOW)], ids=lambda corpus: corpus.name)
def test_paths_and_commands_are_as_they_were(corpus: Corpus) -> None:
    assert _differences(take_on_disk(corpus)) == [], HOW


@pytest.mark.parametrize("corpora", [QUICK, *mark_slow(OTHERS, reason=WHY_SLOW)], ids=["quick", "others"])
def test_bodies_at_the_upstream_are_as_they_were(corpora: list[Corpus]) -> None:
    assert _differences(take_at_upstream(corpora)) == [], HOW


def test_nothing_is_expected_of_a_story_that_is_no_more() -> None:
    assert set().union(*(read_expected(group) for group in GROUPS)) <= known_names()


def test_every_command_is_among_them() -> None:
    run = {name_of(step) for step in (*READING, *CHANGING)}
    # `try` shows what `demo` does, with another file; `play`, `open` and those on several stories have their own tests.
    commands = {name for name in _commands(make_parser()) if not name.startswith("shared ")}
    assert commands - run - {"apply", "continue", "open"} == {
        "serve",
        "help",
        "completion",
        "try",
        "play",
        "write",
    }


def test_a_difference_is_told_in_a_line() -> None:
    taken = {"sample": {"1 imported": {"active": "other"}}}
    lines = find_differences("paths", taken)
    assert 'paths.json sample/1 imported/active: "main" → "other"' in lines
    assert any(line.endswith("→ nothing") for line in lines)


def test_memory_is_set_apart_from_what_people_said() -> None:
    apart = Apart()
    body = {
        "system": "Be brief.\n\n# Previously in this story\n\nInes left.",
        "said": "<recalled abcdefghij>\nX\n</recalled abcdefghij>\n\nAnd?",
    }
    assert apart.of_body("here", body) == {"system": f"Be brief.\n\n{MARKER}", "said": f"{RECALLED}And?"}
    assert set(apart.kept) == {"here/system", "here/said recalled"}
    answer = {"threads": [{"by": "builtin", "text": "a"}, {"by": "person", "text": "b"}]}
    assert apart.of_command("threads", "there", answer) == {"threads": [MARKER, {"by": "person", "text": "b"}]}
    assert apart.kept["there/threads"]["items"] == 1


def test_expected_files_stay_small() -> None:
    sizes = {path.name: path.stat().st_size for path in EXPECTED.glob("*.json")}
    assert set(sizes) == {f"{group}.json" for group in GROUPS}
    assert sum(sizes.values()) < MOST_BYTES, sizes


def _differences(taken: Taken) -> list[str]:
    return [line for group, by_name in taken.items() for line in find_differences(group, by_name)]


def _commands(group: Any, before: str = "") -> list[str]:
    found: list[str] = []
    for name, command in group.commands.items():
        inside = hasattr(command, "commands")
        found += _commands(command, f"{before}{name} ") if inside else [f"{before}{name}"]
    return found
