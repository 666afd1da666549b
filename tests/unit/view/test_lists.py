"""Which lines of lists a view has use for."""

from __future__ import annotations

import pytest

from previously.core.digests import digest
from previously.core.messages import Attributes, Entry, message
from previously.core.path import OnPath, Span
from previously.core.tokens import ESTIMATE
from previously.view.build import Material, ViewRequest, build_view
from previously.view.choose_memory import DATED, PERSON, Beside, choose_lines, find_first_sentence
from previously.view.memory import Remembered
from previously.view.view import Section

RECAP = "Bram owed the widow Pell nine shillings of rent, and she kept his chest.\n\nIlse set the clock back by night."
TAIL = "Ilse turned the knife over. “Ask Wick,” she said."


def line(section: Section, text: str, *, about: str = "", kind: str = "", by_hand: bool = False) -> Remembered:
    return Remembered(section, f"- {text}", None, "a line", "a line", by_hand=by_hand, about=about, kind=kind)


def kept(lines: list[Remembered], budget: int, recap: str = RECAP) -> list[str]:
    return [one.text.removeprefix("- ") for one in choose_lines(lines, Beside(budget, recap, TAIL), ESTIMATE)]


TOLD = line(Section.THREADS, "Bram to the widow Pell: nine shillings of rent")
OPEN = line(Section.THREADS, "Who drew the gate?")
DUE = line(Section.THREADS, "Bram to Ilse: silence until Sunday the 9th", kind=DATED)
MINE = line(Section.THREADS, "Bram owes Pell rent", by_hand=True)


@pytest.mark.parametrize(
    ("budget", "told"),
    [(2_000, [DUE, MINE]), (4_000, [OPEN, DUE, MINE]), (8_000, [TOLD, OPEN, DUE, MINE])],
)
def test_threads_are_those_that_the_recap_does_not_tell(budget: int, told: list[Remembered]) -> None:
    assert kept([TOLD, OPEN, DUE, MINE], budget) == [one.text.removeprefix("- ") for one in told]


def test_without_a_recap_every_thread_counts() -> None:
    assert len(kept([TOLD, OPEN, DUE, MINE], 2_000, recap="")) == 4


@pytest.mark.parametrize(
    ("thing", "named"),
    [
        ("Bram's knife", True),
        ("Ilse Marrow", True),
        ("Old Wick", True),
        ("The chest", False),
        ("Provost Hale", False),
        ("Knife", True),
        ("Bram", False),
    ],
)
def test_a_state_whose_thing_the_tail_names_is_left_out(thing: str, named: bool) -> None:
    stands = line(Section.STATE, f"{thing} / holder: Bram", about=thing, kind="holder")
    assert (kept([stands], 8_000) == []) is named
    assert kept([line(Section.STATE, f"{thing} / holder: Bram", about=thing, by_hand=True)], 8_000)


def test_places_are_told_where_there_is_much_room() -> None:
    place = line(Section.STATE, "Hale / place: the court", about="Hale", kind="place")
    assert (kept([place], 4_000), len(kept([place], 8_000))) == ([], 1)


def test_persons_are_those_the_tail_names_and_the_recap_does_not() -> None:
    persons = [
        line(Section.LORE, f"{name}: Somebody.", about=name, kind=PERSON)
        for name in ("Ilse Marrow", "Old Wick", "Hale")
    ]
    assert kept(persons, 2_000) == []
    assert kept(persons, 4_000) == ["Old Wick: Somebody."]
    assert len(kept(persons, 8_000)) == 3
    many = [line(Section.LORE, "Hale: Provost of Ansel, a man of fifty. " * 3, about="Hale", kind=PERSON)] * 40
    assert sum(ESTIMATE.tokens(text) for text in kept(many, 8_000)) <= 400
    assert find_first_sentence("Physician to Dr. Zorn. Reads Greek.") == "Physician to Dr. Zorn."


def at(position: int, words: str) -> OnPath:
    said = message("user", words)
    return OnPath(position, position + 1, b"", Entry(position, said, digest(said), Attributes()))


@pytest.mark.parametrize("weak", [True, False])
def test_beside_a_weak_recap_threads_have_the_share_of_a_large_view(weak: bool) -> None:
    recap = Remembered(Section.RECAP, "It rained. " * 200, Span(0, 9), "recap", "the recap", weak=weak)
    threads = [line(Section.THREADS, f"Somebody to nobody: a debt of {at} crowns", kind=DATED) for at in range(90)]
    material = Material(12, (), [recap, *threads], [at(10, "Go on."), at(11, "Yes.")], 2)
    view = build_view(material, ViewRequest(2_000))[0]
    taken = view.report.sections[Section.THREADS]
    assert (300 < taken <= 480) if weak else taken <= 130, "the last line bears the headings too"
