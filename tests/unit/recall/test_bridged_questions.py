"""A question in another language than its story."""

from __future__ import annotations

import pytest

from previously.recall.bridge import bridge_query
from previously.recall.index import MessageFacts
from previously.recall.outline import PathEntries
from previously.recall.query import understand
from previously.recall.search import find
from tests.unit.recall.in_memory_index import InMemoryIndex

STORY = (
    "Mara hung the key behind the stove.",
    "The ferry was late again.",
    "Bram carved a spoon.",
    "The chapel door has a lock.",
)


class Book:
    """A dictionary of a few words."""

    def __init__(self, **words: tuple[str, ...]) -> None:
        self._words = words

    def has(self, word: str) -> bool:
        return word.lower() in self._words

    def translate(self, word: str) -> tuple[str, ...]:
        return self._words.get(word.lower(), ())


GERMAN = Book(wo=("where",), hängt=("hangs",), der=("the",), schlüssel=("code", "key", "wrench"), tür=("door",))
FRENCH = Book(clef=("key",), hat=("hat",))


def _find(text: str, *books: Book) -> list[int]:
    index = InMemoryIndex()
    for at, said in enumerate(STORY):
        index.add(at, MessageFacts(said))
    result = find(index, PathEntries(range(len(STORY))), text, books=books)
    return [hit.position for hit in result.hits]


def test_a_word_is_found_by_what_it_means() -> None:
    assert _find("Wo hängt der Schlüssel?") == []
    assert _find("Wo hängt der Schlüssel?", GERMAN)[0] == 0


def test_the_dictionary_of_the_question_is_asked() -> None:
    assert _find("Wo hängt der Schlüssel?", FRENCH) == []
    assert _find("Wo hängt der Schlüssel?", FRENCH, GERMAN)[0] == 0


def test_meanings_that_the_story_lacks_are_left_out() -> None:
    query = understand("Wo hängt der Schlüssel?")
    bridged = bridge_query("Wo hängt der Schlüssel?", query, lambda terms: {"kei", "hang"} & set(terms), (GERMAN,))
    assert bridged.terms == ("hang", "kei")


def test_one_chance_meaning_is_no_bridge() -> None:
    query = understand("Wo hängt der Schlüssel?")
    assert bridge_query("Wo hängt der Schlüssel?", query, lambda terms: {"kei"} & set(terms), (GERMAN,)) is query


def test_a_meaning_of_one_word_comes_before_those_of_several() -> None:
    book = Book(wer=("who",), klopfte=("split key", "knocked"), fähre=("car ferry", "ferry boat"))
    heard = {"kei", "split", "knock", "ferri"}
    query = understand("Wer klopfte? Fähre")
    bridged = bridge_query("Wer klopfte? Fähre", query, lambda terms: heard & set(terms), (book,))
    assert bridged.terms == ("knock", "ferri")


def _tell(text: str, book: Book) -> float:
    index = InMemoryIndex()
    for at, said in enumerate((*STORY, "The flat key of the lock.")):
        index.add(at, MessageFacts(said))
    hits = find(index, PathEntries(range(len(STORY) + 1)), text, books=(book,)).hits
    return max(hit.why.tells for hit in hits)


def test_a_small_word_is_looked_for_and_tells_nothing() -> None:
    assert _tell("Spielt es?", Book(spielt=("plays",), es=("it", "flat"))) == 0
    assert _tell("Spielt es?", Book(spielt=("plays",), es=("E", "flat"))) > 0


def test_two_meanings_of_one_word_tell_no_more_than_one() -> None:
    both = _tell("Schloss Klinke", Book(schloss=("lock", "key"), klinke=("latch",)))
    assert 0 < both == _tell("Schloss Klinke", Book(schloss=("lock", "castle"), klinke=("latch",)))


@pytest.mark.parametrize("text", ["Where is the key?", "Who carved the spoon, Mara?", ""])
def test_a_question_in_the_words_of_the_story_stays_as_it_is(text: str) -> None:
    query = understand(text)
    heard = {"kei", "carv", "spoon"}
    english = Book(where=("wo",), the=("der",), key=("stove",), who=("wer",), carved=("stove",), spoon=("stove",))
    assert bridge_query(text, query, lambda terms: heard & set(terms), (english,)) is query


def test_only_what_a_reader_heard_decides_what_a_word_means() -> None:
    index = InMemoryIndex()
    for at, said in enumerate(STORY):
        index.add(at, MessageFacts(said, witnesses=("Bram",) if at == 0 else None))
    path = PathEntries(range(len(STORY)))
    assert find(index, path, "Wo hängt der Schlüssel?", witness="Mara", books=(GERMAN,)).query.terms == (
        understand("Wo hängt der Schlüssel?").terms
    )
    assert find(index, path, "Wo hängt der Schlüssel?", witness="Bram", books=(GERMAN,)).query.terms == (
        "hang",
        "kei",
    )
