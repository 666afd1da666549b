"""A long text that asks nothing, and the stretch of a story that it tells of."""

from __future__ import annotations

import numpy as np

from previously.recall.index import MessageFacts
from previously.recall.outline import PathEntries
from previously.recall.rank import place_postings
from previously.recall.scenes import score_scenes, spread_places
from previously.recall.search import find, read_outline
from tests.unit.recall.in_memory_index import InMemoryIndex

RETOLD = (
    "Ada climbs the ladder, breaks the lamp with her elbow, hides the splinters in a bucket of sand, and tells the "
    "warden that the storm tore the shutter open."
)
SCENE = (
    "She climbs the ladder.",
    "The lamp breaks.",
    "A bucket of sand.",
    "The splinters go in.",
    "The shutter, warden!",
)


def _tell(length: int, **said: str) -> tuple[InMemoryIndex, PathEntries]:
    index = InMemoryIndex()
    for at in range(length):
        index.add(at, MessageFacts(said.get(f"at_{at}", f"Nothing of note, {at}.")))
    return index, PathEntries(range(length))


def _scatter(start: int, step: int) -> dict[str, str]:
    return {f"at_{start + step * number}": line for number, line in enumerate(SCENE)}


def test_many_words_around_one_place_are_a_scene() -> None:
    words = ("ladder", "lamp", "bucket")
    index, path = _tell(600, at_90="ladder", at_400="lamp", at_300="ladder", at_304="lamp", at_310="bucket")
    outline = read_outline(index, path)
    said = {term: one.positions for term, one in place_postings(index.postings(words), outline).items()}
    scores = score_scenes(said, dict.fromkeys(words, 1.0), outline)
    assert scores[304] == 1.0 > scores[400] > 0.0 == scores[550]


def test_a_short_story_is_a_page() -> None:
    index, path = _tell(60, at_30="ladder")
    outline = read_outline(index, path)
    said = {term: one.positions for term, one in place_postings(index.postings(("ladder",)), outline).items()}
    assert not score_scenes(said, {"ladder": 1.0}, outline).any()


def test_a_retold_scene_is_found_where_its_words_stand_together() -> None:
    apart = {f"at_{20 + 90 * number}": line for number, line in enumerate(SCENE)}
    index, path = _tell(600, **apart, **_scatter(500, 4))
    best = [hit.position for hit in find(index, path, RETOLD).hits]
    # Each line of the scene before the same line elsewhere.
    assert all(best.index(500 + 4 * number) < best.index(20 + 90 * number) for number in range(len(SCENE)))


def test_what_stands_beside_a_better_hit_comes_later() -> None:
    index, path = _tell(200)
    outline = read_outline(index, path)
    positions = np.asarray([10, 11, 50], np.int64)
    scores = np.asarray([1.0, 0.9, 0.8])
    rows, spread = spread_places(np.arange(3), scores, positions, outline)
    assert rows.tolist() == [0, 2, 1]
    assert np.allclose(spread, [1.0, 0.8, 0.6])


def test_a_long_question_is_not_spread() -> None:
    index, path = _tell(600, **_scatter(500, 1))
    found = [hit.position for hit in find(index, path, RETOLD.removesuffix(".") + "?").hits[:5]]
    assert sorted(found) == [500, 501, 502, 503, 504]


def test_a_text_of_many_terms_scores_less() -> None:
    index, path = _tell(50, at_20="The lamp breaks.")
    few = find(index, path, "Who broke the lamp?").hits[0].score
    many = " ".join(f"word{number}" for number in range(30))
    assert find(index, path, f"Who broke the lamp, {many}?").hits[0].score < few / 2
