"""Records of entries, and the blocks a store keeps them in."""

from __future__ import annotations

import numpy as np
import pytest

from previously.core.messages import Error, Image, Message, Role, Text, Thinking, ToolCall, ToolResult
from previously.recall.index import (
    BLOCK,
    EVERYONE,
    FACT,
    POSTING,
    MessageFacts,
    find_block,
    index_entry,
    join_blocks,
    make_fact,
    make_posting,
    make_speaker_key,
    make_witness_term,
    read_facts,
    remove_records,
)
from previously.recall.query import understand
from tests.effort import cases
from tests.unit.recall.in_memory_index import InMemoryIndex


def test_records_have_the_layout_that_is_read() -> None:
    record = make_posting(2 * BLOCK + 7, 3, 20)
    entries, records = join_blocks([(2, record)], POSTING)
    assert entries.tolist() == [2 * BLOCK + 7]
    assert records[["count", "length"]].tolist() == [(3, 20)]
    record = make_fact(7, length=20, size=30, minute=99, session=5, speaker=6, asks=True, time_words=2)
    entries, records = join_blocks([(0, record)], FACT)
    assert entries.tolist() == [7]
    assert records.tolist() == [(7, 20, 30, 99, 5, 6, 1, 2)]


def test_numbers_too_large_are_kept_as_the_largest() -> None:
    assert join_blocks([(0, make_posting(0, 10**9, 10**9))], POSTING)[1].tolist() == [(0, 255, 65_535)]
    record = make_fact(0, length=10**9, size=10**9, minute=10**12, session=0, speaker=0, asks=False, time_words=999)
    assert join_blocks([(0, record)], FACT)[1].tolist() == [(0, 65_535, 65_535, 2**32 - 1, 0, 0, 0, 255)]


def test_records_are_cut_out() -> None:
    data = b"".join(make_posting(entry, 1, 9) for entry in (4, 5, 6))
    left = remove_records(data, (5,), POSTING)
    assert np.frombuffer(left, POSTING)["place"].tolist() == [4, 6]
    assert remove_records(left, (4, 6), POSTING) == b""
    assert join_blocks([], POSTING)[0].tolist() == []


def test_an_index_is_a_function_of_its_entry() -> None:
    facts = MessageFacts("I promised to bring the lantern tomorrow. Shall I?", "Mara", "2023-05-08", "one")
    indexed = index_entry(BLOCK, facts)
    assert indexed == index_entry(BLOCK, facts)
    assert indexed.block == find_block(BLOCK) == 1
    assert {"promis", "lantern", EVERYONE} <= set(indexed.postings)
    (fact,) = join_blocks([(indexed.block, indexed.facts)], FACT)[1]
    assert (fact["asks"], fact["time_words"], fact["speaker"]) == (1, 1, make_speaker_key("MARA "))
    assert indexed.vector == b""


def test_what_of_a_message_is_indexed() -> None:
    message = Message(
        Role.ASSISTANT,
        (
            Text("said"),
            Thinking("thought"),
            Image("data:", "a red boat"),
            ToolCall("1", "look_up", '{"what": "tide"}'),
            ToolResult("1", "high " + "x" * 5_000),
            Error("broken"),
        ),
        "Mara",
    )
    text = read_facts(message, "2023-05-08", "s").text
    assert all(piece in text for piece in ("said", "a red boat", "look_up", "tide", "high", "broken"))
    assert "thought" not in text
    assert len(text) < 2_200


def test_witnesses_are_terms() -> None:
    indexed = index_entry(1, MessageFacts("psst", "Mara", witnesses=("Bram",)))
    assert {make_witness_term("bram"), make_witness_term("Mara")} <= set(indexed.postings)
    assert EVERYONE not in indexed.postings


@pytest.mark.parametrize("name", ["", "   ", None])
def test_nobody_has_no_key(name: str | None) -> None:
    assert make_speaker_key(name) == 0


def test_after_remove_nothing_is_left() -> None:
    index = InMemoryIndex()
    for entry, text in enumerate(("the brass lantern", "the brass key")):
        index.add(entry, MessageFacts(text, f"Speaker {entry}"))
        index.add(entry, MessageFacts("said again", "Somebody else"))
    index.remove(1)
    index.remove(1)
    index.remove(99)
    assert len(index) == 1
    assert list(index.speakers()) == ["Speaker 0"]
    assert set(index.postings(("brass", "key", "lantern"))) == {"brass", "lantern"}
    assert join_blocks(index.postings(("brass",))["brass"], POSTING)[0].tolist() == [0]
    assert join_blocks(index.facts(), FACT)[0].tolist() == [0]
    index.remove(0)
    assert not index.postings(("brass", EVERYONE))


@pytest.mark.random
@pytest.mark.parametrize(
    "piece",
    ["'", "a'", "1,", "1:", "灯", "a灯", "🔑", "may ", "1 of may ", " ", "e\u0301", "-", "A", "_", "é", "aB", "x'y "],
)
def test_a_megabyte_of_anything_is_read_once(piece: str) -> None:
    """A text that is looked at again from each of its characters would take hours, not a second."""
    text = piece * (cases(1_000_000) // len(piece))
    indexed = index_entry(1, MessageFacts(text, at=text))
    assert len(indexed.postings) < 10
    understand(text + "?", speakers=("Mara", "田中"), asker="Mara", asked="Bram", today=738_000)
