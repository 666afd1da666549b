"""The generator of long stories."""

from __future__ import annotations

import re
from itertools import islice

import pytest

from previously.demo.long_story import PLAYER, generate_story


@pytest.fixture(scope="module")
def contents() -> list[str]:
    return [str(message["content"]) for message in generate_story(20_000)]


def test_same_seed_same_story() -> None:
    assert list(generate_story(300, seed=3)) == list(generate_story(300, seed=3))


def test_other_seed_other_story() -> None:
    assert list(generate_story(50, seed=3)) != list(generate_story(50, seed=4))


def test_a_longer_story_begins_with_the_shorter_one() -> None:
    assert list(generate_story(200))[:100] == list(generate_story(100))


@pytest.mark.parametrize("count", [0, 1, 2, 77])
def test_yields_as_many_messages_as_asked_for(count: int) -> None:
    assert len(list(generate_story(count))) == count


def test_is_a_stream() -> None:
    assert len(list(islice(generate_story(10**12), 5))) == 5


def test_roles_alternate_and_the_player_is_the_user() -> None:
    for index, message in enumerate(generate_story(1_000)):
        assert set(message) == {"role", "name", "content"}
        assert message["role"] == ("user" if index % 2 else "assistant")
        assert (message["name"] == PLAYER) == (message["role"] == "user")


def test_the_cast_changes_slowly() -> None:
    names = [str(message["name"]) for message in generate_story(20_000)]
    early, late = set(names[:500]), set(names[-500:])
    assert 5 <= len(early) <= 14
    assert len(set(names)) > 50
    assert not {PLAYER, "Narrator"} - (early & late)
    assert late - early


def test_word_counts(contents: list[str]) -> None:
    counts = [len(content.split()) for content in contents]
    assert min(counts) >= 4
    assert max(counts) <= 120
    assert 30 <= sum(counts) / len(counts) <= 40


def test_hardly_any_duplicates(contents: list[str]) -> None:
    assert len(set(contents)) > 0.99 * len(contents)


def test_text_is_whole(contents: list[str]) -> None:
    for content in contents:
        assert not re.search(r"[%|\n]|  |\(\w+\)s", content), content
        assert content.count('"') in (0, 2)
        assert content.count("*") in (0, 2, 4)


def test_promises_are_made_before_they_are_kept(contents: list[str]) -> None:
    promise = re.compile(r".*I will (.+?)(?: by day|, and it will be done by day|; hold me)")
    settled = re.compile(r".*(?:I promised to|that I would) (.+?)(?:, and now it is done|\. It took)")
    made: set[str] = set()
    kept: list[str] = []
    for content in contents:
        if match := promise.match(content):
            made.add(match[1])
        if match := settled.match(content):
            kept.append(match[1])
            assert match[1] in made
    assert len(kept) > 100
