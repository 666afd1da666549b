"""How a text of memory becomes shorter."""

from __future__ import annotations

import pytest

from previously.core.quote_lines import render_quote
from previously.text.cuts import GAP, cut_lines, cut_sentences
from previously.text.sentences import find_starts, split_sentences

DOSSIER = (
    "On 3 March Bram stood in the tower. He had come to find the ledger.\n\n"
    "Ilse set the clock back. She told nobody. Hale paid her.\n\n"
    "Wick overheard it all. He wanted a share. Bram gave him a knife."
)


def test_the_opening_and_the_newest_sentences_stay() -> None:
    cut = cut_sentences(DOSSIER)
    assert cut.units == 8
    shorter = cut.without(3)
    assert shorter == (
        f"On 3 March Bram stood in the tower. {GAP} Hale paid her.\n\n"
        "Wick overheard it all. He wanted a share. Bram gave him a knife."
    )
    assert cut.what(3) == "3 of 8 sentences"
    assert cut.without(6) == f"On 3 March Bram stood in the tower. {GAP} Bram gave him a knife."
    assert cut.without(7) == "Bram gave him a knife."


def test_the_more_goes_the_less_is_left() -> None:
    cut = cut_sentences(DOSSIER)
    lengths = [len(cut.without(gone)) for gone in range(1, cut.units)]
    assert lengths == sorted(lengths, reverse=True)


def test_quoted_lines_lose_the_oldest_whole() -> None:
    lines = [render_quote(number, "Ketta", [f"I owe {number}. I pay."]) for number in range(5)]
    cut = cut_sentences("\n".join(lines))
    assert [cut.without(gone) for gone in range(1, cut.units)] == ["\n".join(lines[at:]) for at in range(1, 5)]


@pytest.mark.parametrize(
    "text",
    [
        'Maya said: "I will pay. I will pay on Friday. Wait for me." Then she left. Rain fell. Bram slept.',
        "She wrote: “First line.\n\nSecond line. Third line.” Then she slept. He woke. They left.",
        "„Ich zahle. Am Freitag.“ Sie ging. Es regnete. Er schlief.",
    ],
)
def test_no_quotation_is_ever_cut_in_two(text: str) -> None:
    cut = cut_sentences(text)
    for gone in range(1, cut.units):
        shorter = cut.without(gone)
        assert sum(shorter.count(mark) for mark in '"“”„') % 2 == 0


def test_a_brief_loses_its_last_lines() -> None:
    cut = cut_lines("## Goal\n- one\n- two")
    assert [cut.without(gone) for gone in (1, 2)] == ["## Goal\n- one", "## Goal"]
    assert cut.what(2) == "the last 2 of 3 lines"


@pytest.mark.parametrize(
    "title", ["Dr.", "Mrs.", "Mme.", "Prof.", "Capt.", "Cmdr.", "Maj.", "Gov.", "Rev.", "St.", "Insp."]
)
def test_a_title_ends_no_sentence(title: str) -> None:
    text = f"They asked {title} Zorn. She knew. Nobody else did."
    starts = find_starts(text)
    assert [text[start:].split(".")[0] for start in starts][1:] == ["She knew", "Nobody else did"]
    assert [text[a:b].strip() for a, b in zip(starts, [*starts[1:], len(text)], strict=True)] == split_sentences(text)
