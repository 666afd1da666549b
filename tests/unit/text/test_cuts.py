"""What is left of a text that must fit: how it begins and how it ends, in whole sentences."""

from __future__ import annotations

import re
from typing import SupportsIndex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from previously.core.tokens import estimate_tokens
from previously.text.cuts import GAP, LEAD_SHARE, cut_window, find_fullest, shorten
from previously.text.sentences import split_sentences

STORY = (
    "Linnet Amory was a glazier's daughter of Vell. She came to the glasshouse in spring. Dr. Oake hired her. "
    + "It rained. " * 40
    + "She found the box under the vine. The key fitted. Ivo saw her."
)


def test_what_fits_stays_as_it_is() -> None:
    assert shorten(STORY, len(STORY)) is STORY
    assert shorten("", 0) == ""


def test_who_it_is_about_and_what_is_newest_stay_and_the_middle_goes() -> None:
    short = shorten(STORY, 300)
    assert len(short) <= 300
    assert short.startswith("Linnet Amory was a glazier's daughter of Vell. She came to the glasshouse in spring. ")
    assert short.endswith("She found the box under the vine. The key fitted. Ivo saw her.")
    assert short.count(GAP) == 1


def test_a_title_ends_no_sentence() -> None:
    assert "Dr. […]" not in shorten(STORY.replace("Dr. Oake", "Dr. " + "Oake " * 30), 350)


def test_paragraphs_stay_apart() -> None:
    text = "Ada came.\n\n" + "It rained. " * 30 + "\n\nFinn left.\n\nAda wept."
    assert shorten(text, 45) == "Ada came.\n\n[…]\n\nFinn left.\n\nAda wept."


def test_a_quotation_line_is_never_cut() -> None:
    lines = [f"#{n} Ketta: “I owe you {n}. Ask Jory.” … “Or do not.”" for n in range(40)]
    short = shorten("\n".join(lines), 400)
    assert [line for line in short.split("\n") if line and line != GAP and line not in lines] == []
    assert lines[0] in short
    assert lines[-1] in short


def test_a_long_newest_sentence_comes_before_the_opening() -> None:
    long = "And then she walked " + "on and " * 30 + "on."
    assert shorten(f"Ada came to Vell. It rained. {long}", len(long) + 6) == f"{GAP} {long}"
    assert shorten(f"Ada came to Vell. It rained. {long}", len(long)) == "", "not even that fits"


@pytest.mark.parametrize("count", [len, estimate_tokens])
@given(text=st.text("AbcDe .!?\n“”#1:é雨。", max_size=300), most=st.integers(0, 120))
def test_it_always_fits_and_says_nothing_of_its_own(text: str, most: int, count: object) -> None:
    assert callable(count)
    short = shorten(text, most, count)
    assert count(short) <= most or not short
    if short and short != text:
        opening, _, newest = short.partition(GAP)
        assert text.startswith(opening.rstrip())
        assert text.rstrip().endswith(newest.strip())
        assert newest.strip()


SENTENCES = ["Ada came. ", "Dr. Oake left! ", "“Why? Who?” asked Finn. ", "It rained. "]


@given(st.lists(st.sampled_from(SENTENCES), max_size=60), st.integers(0, 400))
def test_only_whole_sentences_are_left(sentences: list[str], most: int) -> None:
    text = "".join(sentences).strip()
    kept = [one for piece in shorten(text, most).split(GAP) for one in split_sentences(piece)]
    assert set(kept) <= set(split_sentences(text))


def find(text: str, *words: str) -> list[tuple[int, int]]:
    return [(text.index(word), text.index(word) + len(word)) for word in words]


def test_a_window_is_the_stretch_with_the_most_different_words() -> None:
    text = "key " + "rain " * 60 + "and then Bram put the key under\nthe third stair, " + "snow " * 60
    places = [*find(text, "key"), (text.rindex("key"), text.rindex("key") + 3), *find(text, "stair")]
    window = cut_window(text, places, 80)
    assert "Bram put the key under the third stair," in window
    assert window.startswith("… ")
    assert window.endswith(" …")
    assert cut_window(text, [], 40).startswith("key rain")
    assert cut_window("a\nb", [], 40) == "a b"


@given(st.text(max_size=300), st.lists(st.integers(0, 299), max_size=5), st.integers(8, 80))
def test_a_window_fits_and_keeps_the_words(text: str, starts: list[int], longest: int) -> None:
    places = [(start, min(start + 3, len(text))) for start in starts if start < len(text)]
    window = cut_window(text, places, longest)
    assert len(window) <= longest + len("…  …")
    assert "\n" not in window
    assert set(window) <= {*text, "…", " "}


@given(st.lists(st.sampled_from(["key", "stair", "Key", "rain", "x" * 30]), max_size=60), st.integers(12, 80))
def test_the_window_holds_as_many_different_words_as_any(words: list[str], longest: int) -> None:
    text = " ".join(words)
    places = [match.span() for match in re.finditer("key|stair|x+", text, re.IGNORECASE)]

    def count_held(begin: int) -> int:
        inside = [place for place in places if begin <= place[0] and place[1] <= begin + longest]
        return len({text[start:end].casefold() for start, end in inside})

    begins = [max(0, start - longest // LEAD_SHARE) for start, _ in places]
    assert count_held(find_fullest(text, places, longest)) == max(map(count_held, begins), default=0)


def test_a_log_with_thousands_of_places_is_cut_in_one_pass() -> None:
    class Counted(str):
        """Counts how often a part of it is looked at."""

        looks = 0

        def __getitem__(self, key: SupportsIndex | slice) -> str:
            Counted.looks += 1
            return super().__getitem__(key)

    text = Counted("error in line one " * 2_000)
    places = [match.span() for match in re.finditer("error|line", text)]
    find_fullest(text, places, 180)
    assert Counted.looks == len(places)
