"""The index joined to a path: only what stands there counts."""

from __future__ import annotations

import numpy as np

from previously.recall.index import MessageFacts
from previously.recall.outline import PAGE_MESSAGES, PathEntries, make_mask
from previously.recall.search import read_outline
from previously.text.times import parse_day
from tests.unit.recall.in_memory_index import InMemoryIndex


def made(*facts: MessageFacts) -> InMemoryIndex:
    index = InMemoryIndex()
    for entry, one in enumerate(facts):
        index.add(entry, one)
    return index


def test_positions_of_entries_near_and_far_apart() -> None:
    for ids in ([5, 3, 9], [5, 10**15, 3]):
        path = PathEntries(ids)
        asked = np.asarray([3, 4, 5, 10**15, 9, -1, 10**17], np.int64)
        assert path.positions_of(asked).tolist() == [ids.index(one) if one in ids else -1 for one in asked.tolist()]
    assert PathEntries([]).positions_of(np.asarray([1, 2])).tolist() == [-1, -1]


def test_an_entry_that_stands_twice_is_found_at_its_last_place() -> None:
    for far in (2, 10**12):
        assert PathEntries([1, far, 1]).positions_of(np.asarray([1, far])).tolist() == [2, 1]


def test_sessions_begin_where_the_source_says_so() -> None:
    index = made(*(MessageFacts("x y", session=name) for name in ("a", "a", "b", "b", "b", "a")))
    assert read_outline(index, PathEntries(range(6))).sessions.tolist() == [0, 2, 5]


def test_sessions_begin_after_a_pause() -> None:
    times = ("2023-05-08T10:00", "2023-05-08T12:00", None, "2023-05-08T20:00", "2023-05-08T20:05", "2023-05-10")
    index = made(*(MessageFacts("x y", at=at) for at in times))
    shape = read_outline(index, PathEntries(range(6)))
    assert shape.sessions.tolist() == [0, 3, 5]
    assert shape.newest_day == parse_day("2023-05-10")
    assert shape.session_at(4) == 1


def test_what_is_not_known_begins_no_session() -> None:
    index = made(*(MessageFacts("x y", session="a") for _ in range(6)))
    assert read_outline(index, PathEntries(range(6)), allowed=(0, 2, 3, 5)).sessions.tolist() == [0]


def test_long_sessions_are_cut_into_scenes() -> None:
    index = made(*(MessageFacts("x y") for _ in range(2 * PAGE_MESSAGES + 1)))
    shape = read_outline(index, PathEntries(range(len(index))))
    assert shape.pages.tolist() == [0, PAGE_MESSAGES, 2 * PAGE_MESSAGES]


def test_only_those_who_speak_on_the_path() -> None:
    index = made(MessageFacts("one", "Mara"), MessageFacts("two", "Bram"), MessageFacts("three", "Tess"))
    shape = read_outline(index, PathEntries([0, 2]), until=1)
    assert shape.speaking(index.speakers()) == ("Mara",)


def test_counts_are_of_what_is_known() -> None:
    index = made(MessageFacts("one boat"), MessageFacts("two red boats sailing"), MessageFacts("three"))
    shape = read_outline(index, PathEntries([0, 1, 7]), allowed=(1, 2))
    assert (shape.messages, len(shape)) == (1, 3)
    assert shape.mean_terms == 4.0


def test_a_mask_leaves_out_what_is_not_on_the_path() -> None:
    assert make_mask((-1, 0, 2, 9), 3).tolist() == [True, False, True]


def test_an_empty_path() -> None:
    shape = read_outline(InMemoryIndex(), PathEntries([]))
    assert (len(shape), shape.messages, shape.newest_day, shape.speaking(["A"])) == (0, 0, None, ())
