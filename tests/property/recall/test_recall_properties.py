"""For any messages and any question: an answer that keeps every promise of recall."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from hypothesis import given, settings
from hypothesis import strategies as st

from previously.recall.index import FACT, POSTING, Block, MessageFacts, index_entry, join_blocks
from previously.recall.outline import PathEntries
from previously.recall.query import understand
from previously.recall.search import Quoted, SearchResult, find, make_passages
from previously.text.words import find_places, read_terms
from tests.effort import cases
from tests.unit.recall.in_memory_index import InMemoryIndex

NAMES = ("Mara", "Old Bram", "Will", "田中")
WORDS = st.sampled_from(
    'lantern key mill promised Mara Will will boat yesterday May 8 2023 18,400 getName ? ! " AND'.split()
)
SCRIPTS = st.sampled_from(["灯台の鍵", "🔑", "등대의 열쇠", "ประภาคาร", "маяк"])
TEXTS = st.one_of(st.text(max_size=80), st.lists(WORDS | SCRIPTS, max_size=12).map(" ".join))
TIMES = st.one_of(st.none(), st.text(max_size=12), st.datetimes().map(lambda moment: moment.isoformat()))
FACTS = st.builds(
    MessageFacts,
    text=TEXTS,
    speaker=st.one_of(st.none(), st.sampled_from(NAMES)),
    at=TIMES,
    session=st.one_of(st.none(), st.sampled_from(["one", "two"])),
    witnesses=st.one_of(st.none(), st.lists(st.sampled_from(NAMES), max_size=2).map(tuple)),
)
STORIES = st.lists(FACTS, max_size=30)


class Shuffled:
    """A store that gives its blocks, and their records, backwards."""

    def __init__(self, index: InMemoryIndex) -> None:
        self._index = index

    def postings(self, terms: Collection[str]) -> Mapping[str, Sequence[Block]]:
        given = self._index.postings(sorted(terms, reverse=True))
        return {term: _backwards(given[term], POSTING.itemsize) for term in reversed(list(given))}

    def facts(self) -> Sequence[Block]:
        return _backwards(self._index.facts(), FACT.itemsize)

    def vectors(self, entries: Sequence[int]) -> Mapping[int, bytes]:
        return dict(reversed(list(self._index.vectors(entries).items())))

    def speakers(self) -> Sequence[str]:
        return sorted(self._index.speakers(), reverse=True)


def _backwards(blocks: Sequence[Block], size: int) -> list[Block]:
    return [
        (number, b"".join(data[at : at + size] for at in reversed(range(0, len(data), size))))
        for number, data in reversed(blocks)
    ]


def kept(story: Sequence[MessageFacts]) -> InMemoryIndex:
    index = InMemoryIndex()
    for entry, facts in enumerate(story):
        index.add(3 * entry, facts)
    return index


def path_of(story: Sequence[MessageFacts]) -> PathEntries:
    return PathEntries(3 * entry for entry in range(len(story)))


def answer(found: SearchResult) -> list[tuple[int, float, tuple[str, ...]]]:
    return [(hit.position, hit.score, hit.why.terms) for hit in found.hits]


@given(TEXTS | st.text())
def test_any_text_is_indexed_and_understood(text: str) -> None:
    indexed = index_entry(5, MessageFacts(text))
    assert {len(record) for record in indexed.postings.values()} == {POSTING.itemsize}
    assert len(indexed.facts) == FACT.itemsize
    assert set(read_terms(text).terms) <= set(indexed.postings)
    understand(text, speakers=NAMES, asker="Mara", asked="Will", today=738_000)
    for start, end in find_places(text, read_terms(text).terms):
        assert 0 <= start < end <= len(text)


@given(STORIES, TEXTS)
def test_the_same_answer_whatever_order_a_store_gives_things_in(story: list[MessageFacts], text: str) -> None:
    index, path = kept(story), path_of(story)
    once = answer(find(index, path, text, asker="Mara"))
    assert once == answer(find(index, path, text, asker="Mara"))
    assert once == answer(find(Shuffled(index), path, text, asker="Mara"))
    assert len({position for position, _, _ in once}) == len(once)
    assert [(-score, -position) for position, score, _ in once] == sorted((-s, -p) for p, s, _ in once)


@given(STORIES, TEXTS, st.sets(st.integers(0, 29)), st.sets(st.integers(0, 29)), st.integers(0, 30))
def test_nothing_excluded_not_allowed_or_later_is_found(
    story: list[MessageFacts], text: str, excluded: set[int], allowed: set[int], until: int
) -> None:
    found = find(kept(story), path_of(story), text, excluded=excluded, allowed=allowed, until=until)
    positions = {hit.position for hit in found.hits}
    assert positions <= allowed - excluded
    assert all(position < until for position in positions)


@settings(max_examples=cases(200))
@given(STORIES, TEXTS, st.sampled_from(NAMES))
def test_an_unwitnessed_message_changes_nothing(story: list[MessageFacts], text: str, who: str) -> None:
    there = [facts.witnesses is None or who in facts.witnesses or facts.speaker == who for facts in story]
    silent = [
        facts if known else MessageFacts("lantern canary", "Old Bram", witnesses=("Nobody",))
        for facts, known in zip(story, there, strict=True)
    ]
    found = answer(find(kept(story), path_of(story), text, witness=who))
    other = find(kept(silent), path_of(silent), text, witness=who)
    assert all(there[position] for position, _, _ in found)
    assert who == "Old Bram" or found == answer(other)


@given(STORIES, STORIES, TEXTS)
def test_a_dead_branch_changes_nothing(story: list[MessageFacts], dead: list[MessageFacts], text: str) -> None:
    index, path = kept(story), path_of(story)
    before = answer(find(index, path, text))
    for number, facts in enumerate(dead):
        index.add(3 * number + 1, facts)
    assert answer(find(index, path, text)) == before


@given(STORIES, st.sets(st.integers(0, 29)), TEXTS)
def test_a_forgotten_entry_is_as_if_it_had_never_been(story: list[MessageFacts], gone: set[int], text: str) -> None:
    index = kept(story)
    for entry in gone:
        index.remove(3 * entry)
    never = InMemoryIndex()
    for entry, facts in enumerate(story):
        if entry not in gone:
            never.add(3 * entry, facts)
    path = path_of(story)
    assert answer(find(index, path, text)) == answer(find(never, path, text))
    assert join_blocks(index.facts(), FACT)[0].tolist() == join_blocks(never.facts(), FACT)[0].tolist()


@given(STORIES, TEXTS, st.integers(-10, 400), st.sets(st.integers(0, 29)))
def test_passages_are_never_over_budget(story: list[MessageFacts], text: str, budget: int, excluded: set[int]) -> None:
    found = find(kept(story), path_of(story), text)
    told = {at: Quoted(facts.text, facts.speaker, facts.at) for at, facts in enumerate(story)}
    taken = make_passages(found.hits, told, budget, len, found.outline, excluded=excluded)
    assert len("".join(passage.line + "\n" for passage in taken)) <= max(0, budget)
    assert [passage.position for passage in taken] == sorted({passage.position for passage in taken} - excluded)
