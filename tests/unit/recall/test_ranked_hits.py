"""What is found, in which order, and why."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from previously.models.word_vectors import load_word_table
from previously.recall.index import MessageFacts
from previously.recall.outline import PathEntries
from previously.recall.query import understand
from previously.recall.rank import WHOLE_PATH, choose_candidates, place_postings, sample_step, score_words
from previously.recall.search import find, read_outline
from previously.recall.vectors import DIMENSIONS, Floats, compare_vectors, pack_vector, read_rows, scale_to_unit
from tests.unit.recall.in_memory_index import InMemoryIndex

SMALL_TALK = [
    "The rain has not stopped all day.", "Soup again, and bread from the oven.", "Somebody should mend that fence.",
    "The cat sleeps on the ledger.", "It smells of tar down there.", "We ought to sweep the stairs.",
]  # fmt: skip


class Colours:
    """A table in which a word is as many letters as it has of the first ones of the alphabet."""

    name = "colours"
    dimensions = DIMENSIONS

    def summed(self, words: Sequence[str], weights: Sequence[float] | None = None) -> Floats:
        made = np.zeros(DIMENSIONS, np.float32)
        for word, weight in zip(words, weights or [1.0] * len(words), strict=True):
            for letter in word.lower():
                made[ord(letter) % DIMENSIONS] += weight
        return made


def told(*texts: str | MessageFacts, vectors: bool = False) -> tuple[InMemoryIndex, PathEntries]:
    index = InMemoryIndex()
    for entry, one in enumerate(texts):
        index.add(entry, MessageFacts(one) if isinstance(one, str) else one, Colours() if vectors else None)
    return index, PathEntries(range(len(texts)))


def positions(index: InMemoryIndex, path: PathEntries, text: str, **options: object) -> list[int]:
    return [hit.position for hit in find(index, path, text, **options).hits]  # type: ignore[arg-type]


def test_the_message_that_says_it_comes_first_and_says_why() -> None:
    index, path = told(*SMALL_TALK, "I hid the brass key under the third step.", *SMALL_TALK)
    best = find(index, path, "Where is the brass key hidden?").hits[0]
    assert best.position == 6
    assert set(best.why.terms) == {"brass", "kei", "hide"}
    assert best.why.by_words > 0 == best.why.by_meaning == best.why.by_speaker == best.why.by_day


def test_what_a_story_dwells_on_tells_as_much_as_what_stands_once() -> None:
    dwelt = ["The key is brass.", "Give me the key.", "No, the key stays here.", "Then hide the key."]
    index, path = told(*SMALL_TALK * 5, *dwelt, *SMALL_TALK * 5)
    assert find(index, path, "Is the key of iron?").hits[0].why.tells == 1.0
    spread = [said for one in dwelt for said in (one, *SMALL_TALK * 2)]
    index, path = told(*spread)
    assert find(index, path, "Is the key of iron?").hits[0].why.tells < 0.7


def test_the_one_thing_that_is_asked_for_tells_if_it_is_said_again_and_again() -> None:
    often = [
        said
        for at in range(6)
        for said in (f"The key, and {'bread soup rain salt tar oil'.split()[at]}.", *SMALL_TALK * 3)
    ]
    index, path = told(*often)
    assert find(index, path, "Where is the key now?").hits[0].why.tells == 1.0
    assert find(index, path, "Where is the iron key now?").hits[0].why.tells < 0.7


def test_a_reply_is_found_by_what_it_replies_to() -> None:
    index, path = told(*SMALL_TALK, "Where did you leave the lantern?", "Behind the mill.", *SMALL_TALK)
    assert positions(index, path, "Where is the lantern?")[:2] == [6, 7]


def test_neighbours_are_of_the_same_session() -> None:
    spoken = [MessageFacts(text, session="one") for text in (*SMALL_TALK, "I left the lantern there.")]
    index, path = told(*spoken, *(MessageFacts(text, session="two") for text in SMALL_TALK))
    assert set(positions(index, path, "lantern")) <= set(range(7))


def test_whose_words_are_meant() -> None:
    lines = [MessageFacts(f"I promise to bring the {what}.", who) for what, who in
             (("bread", "Mara"), ("lantern", "Bram"), ("letter", "Tess"), ("rope", "Mara"))]  # fmt: skip
    index, path = told(*lines)
    assert set(positions(index, path, "What did Mara promise?")[:2]) == {0, 3}
    assert positions(index, path, "What did I promise?", asker="Bram")[0] == 1
    best = find(index, path, "What did Tess promise?").hits[0]
    assert best.position == 2 and best.why.by_speaker > 0


def test_days_that_are_named() -> None:
    lines = [MessageFacts("We went to the market.", at=f"2023-{month:02}-10T10:00") for month in range(1, 13)]
    index, path = told(*lines)
    assert positions(index, path, "What did we do at the market in May 2023?")[0] == 4
    assert positions(index, path, "the market last month")[0] == 10


def test_ties_go_to_the_later_message() -> None:
    lines = [MessageFacts("the lantern", session=str(number)) for number in range(5)]
    index, path = told(*lines)
    assert positions(index, path, "lantern") == [4, 3, 2, 1, 0]


def test_nothing_is_found_by_nothing() -> None:
    index, path = told(*SMALL_TALK, "yesterday")
    assert positions(index, path, "zeppelin") == []
    assert positions(index, path, "") == []
    assert positions(*told(), "lantern") == []


def test_a_dead_branch_has_no_part() -> None:
    index, _ = told("the lantern is red", "the lantern is blue", "and the boat", "the lantern is green")
    live = PathEntries([0, 2])
    found = find(index, live, "the lantern and the boat")
    assert {hit.position for hit in found.hits} == {0, 1}
    alone, path = told("the lantern is red", "and the boat")
    assert [(hit.position, hit.score) for hit in find(alone, path, "the lantern and the boat").hits] == [
        (hit.position, hit.score) for hit in found.hits
    ]


def test_before_a_position_later_messages_have_no_part() -> None:
    index, path = told("the lantern", "a boat", "the lantern", "the lantern")
    assert set(positions(index, path, "lantern", until=2)) <= {0, 1}
    assert positions(index, path, "lantern", until=0) == []


def test_what_a_character_did_not_witness_has_no_part() -> None:
    secret = MessageFacts("The lantern is under the mill.", "Mara", witnesses=("Bram",))
    index, path = told("Who has the lantern?", secret, "Nobody knows of any lantern.")
    assert 1 not in positions(index, path, "lantern", witness="Tess")
    assert 1 in positions(index, path, "lantern", witness="Bram")
    assert 1 in positions(index, path, "lantern", witness="mara")
    open_index, open_path = told("Who has the lantern?", "", "Nobody knows of any lantern.")
    blank = find(open_index, open_path, "lantern", allowed=(0, 2))
    assert [hit.score for hit in find(index, path, "lantern", witness="Tess").hits] == [hit.score for hit in blank.hits]


def test_excluded_positions_are_no_hits_but_still_neighbours() -> None:
    index, path = told(*SMALL_TALK, "Where is the lantern?", "Behind the mill.")
    found = positions(index, path, "lantern", excluded={6})
    assert 6 not in found and found[0] == 7


def test_meaning_finds_other_words() -> None:
    index, path = told(*SMALL_TALK, "zzz zzzz zz zzzzz", vectors=True)
    best = find(index, path, "zzzzzz", Colours()).hits[0]
    assert best.position == 6 and best.why.by_meaning > 0 == best.why.by_words


def test_a_long_path_is_pruned_before_vectors_are_read() -> None:
    index, path = told(*(SMALL_TALK * 1_000), "I hid the brass key.", vectors=True)
    asked: list[int] = []

    class Counting(InMemoryIndex):
        def vectors(self, entries: Sequence[int]) -> dict[int, bytes]:
            asked.extend(entries)
            return dict(index.vectors(entries))

    counting = Counting()
    counting.__dict__ |= index.__dict__
    assert find(counting, path, "the brass key", Colours()).hits[0].position == 6_000
    assert len(asked) < WHOLE_PATH < len(path)


def test_days_bring_candidates_on_a_long_path() -> None:
    lines = [MessageFacts("hm", at=f"20{10 + number // 365:02}-01-01", session=str(number)) for number in range(3_000)]
    index, path = told(*lines)
    shape = read_outline(index, path)
    query = understand("in 2012?")
    words = score_words(query.terms, place_postings(index.postings(query.lookups), shape), shape)
    assert {730, 731} <= set(choose_candidates(query, shape, words).tolist())


@pytest.mark.parametrize("length", [0, 1, 256, 257, 10_000, 100_000])
def test_the_sample_stays_small(length: int) -> None:
    assert length // sample_step(length) <= 256


def test_vectors_are_packed_and_compared() -> None:
    assert pack_vector(None, ["word"]) == pack_vector(Colours(), []) == b""
    rows = read_rows([1, 2, 3], {1: pack_vector(Colours(), ["ab"]), 2: pack_vector(Colours(), ["zz"]), 3: b"short"})
    alike = compare_vectors(rows, np.zeros(0, np.intp)).measure_likeness(scale_to_unit(Colours().summed(["ab"])))
    assert alike[0] == pytest.approx(1, abs=1e-5) and abs(float(alike[1])) < 1e-6 and float(alike[2]) == 0


def test_the_table_of_word_vectors() -> None:
    table = load_word_table()
    if table is None:
        pytest.skip("the extra recall is not installed")
    boat, ship, soup = (scale_to_unit(table.summed([word])) for word in ("boat", "ship", "soup"))
    assert table.dimensions == DIMENSIONS
    assert float(boat @ ship) > 2 * abs(float(boat @ soup))
    assert not table.summed([]).any()
    assert table.summed(["x" * 10_000]).any()
    assert np.allclose(table.summed(["boat", "ship"], [2.0, 0.0]), 2 * table.summed(["boat"]))
