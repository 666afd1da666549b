"""The bundled sample story, and the facts that other tests ask a memory for."""

from __future__ import annotations

import json
import unicodedata
from datetime import datetime, timedelta
from importlib.resources import files
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

FACTS = Path(__file__).parents[3] / "examples" / "harbour-facts.json"
KINDS = {"promise", "debt", "secret", "number", "place", "name", "injury", "object"}
PLAYER = "Ines Quillan"


@pytest.fixture(scope="module")
def story() -> list[dict[str, Any]]:
    text = files("previously.demo").joinpath("harbour.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


@pytest.fixture(scope="module")
def facts() -> list[dict[str, Any]]:
    loaded: list[dict[str, Any]] = json.loads(FACTS.read_text(encoding="utf-8"))
    return loaded


def test_is_long_enough(story: list[dict[str, Any]]) -> None:
    words = sum(len(message["content"].split()) for message in story)
    assert len(story) >= 220
    assert 10_000 <= words <= 14_000


def test_roles_and_names(story: list[dict[str, Any]]) -> None:
    for message in story:
        assert set(message) <= {"role", "name", "content", "at", "witnesses", "extra"}
        assert message["role"] == ("user" if message["name"] == PLAYER else "assistant")
    assert len({message["name"] for message in story} - {"Narrator"}) in range(6, 10)


def test_content_is_clean(story: list[dict[str, Any]]) -> None:
    for index, message in enumerate(story):
        content = message["content"]
        assert content.strip() == content != "", index
        assert not [char for char in content if unicodedata.category(char) in ("Cc", "Cf", "Co", "Cn")], index
        assert content.count("*") % 2 == 0, index
        assert content.count('"') % 2 == 0, index


def test_no_message_is_repeated(story: list[dict[str, Any]]) -> None:
    assert len({message["content"] for message in story}) == len(story)


def test_three_chapters_begun_by_the_narrator(story: list[dict[str, Any]]) -> None:
    starts = [index for index, message in enumerate(story) if "chapter" in message.get("extra", {})]
    titles = [story[index]["extra"]["chapter"] for index in starts]
    assert titles == ["The Assessor", "Slate", "Three Lights"]
    assert {story[index]["name"] for index in starts} == {"Narrator"}
    assert starts[0] == 0
    assert all(later - earlier >= 50 for earlier, later in pairwise([*starts, len(story)]))


def test_witnesses_are_of_the_cast_and_hear_what_they_say(story: list[dict[str, Any]]) -> None:
    cast = {message["name"] for message in story} - {"Narrator"}
    secret = [message for message in story if "witnesses" in message]
    assert len({tuple(sorted(message["witnesses"])) for message in secret}) >= 5
    for message in secret:
        witnesses = message["witnesses"]
        assert 2 <= len(witnesses) == len(set(witnesses)) < len(cast)
        assert set(witnesses) <= cast
        assert message["name"] in {*witnesses, "Narrator"}


def test_times_go_forward_over_several_weeks(story: list[dict[str, Any]]) -> None:
    times = [datetime.fromisoformat(message["at"]) for message in story]
    assert all(time.utcoffset() == timedelta(0) for time in times)
    assert all(earlier < later for earlier, later in pairwise(times))
    assert times[-1] - times[0] > timedelta(weeks=3)


def test_table_talk_is_rare(story: list[dict[str, Any]]) -> None:
    assert 1 <= sum("(OOC" in message["content"] for message in story) <= 6


def test_facts_have_the_agreed_shape(facts: list[dict[str, Any]]) -> None:
    assert len(facts) >= 60
    assert {fact["kind"] for fact in facts} == KINDS
    for fact in facts:
        assert set(fact) == {"fact", "kind", "needle", "message", "open"}
        assert fact["fact"].endswith(".")
        assert fact["needle"] and all(len(needle) >= 4 for needle in fact["needle"])
    still_open = [fact["kind"] for fact in facts if fact["open"]]
    assert still_open.count("promise") >= 3
    assert still_open.count("debt") >= 3
    assert set(still_open) <= {"promise", "debt"}


def test_each_fact_is_in_its_message(story: list[dict[str, Any]], facts: list[dict[str, Any]]) -> None:
    for fact in facts:
        content = story[fact["message"]]["content"].casefold()
        assert any(needle.casefold() in content for needle in fact["needle"]), fact["fact"]


def test_facts_are_in_the_order_of_the_story(facts: list[dict[str, Any]]) -> None:
    indexes = [fact["message"] for fact in facts]
    assert indexes == sorted(indexes)
