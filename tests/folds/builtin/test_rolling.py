"""What a reader counts on over many rewrites: threads kept, order kept, nothing mangled."""

from __future__ import annotations

import pytest

from previously.folds.builtin import Rewrite, Said, count_words, rewrite

FILLER = [
    "The wind moved over the grey roofs of the town and the gulls walked along the wall.",
    "A cart rolled down the long street to the market, and two boys ran after it with a stick.",
    "Rain came in from the sea in the afternoon, and the windows of the inn ran with water.",
    "Someone in the kitchen dropped a plate, and the cook laughed about it for a while.",
    "The dog slept in front of the fire with its head on its feet and did not wake.",
]


def rolled(delta: list[Said], *, rolls: int, target: int = 150) -> Rewrite:
    """One delta, then so many windows of filler."""
    made = rewrite("", None, delta, target_words=target)
    for roll in range(rolls):
        filler = [
            Said(None, f"{FILLER[(roll + index) % 5]} It was quiet on the quay of {chr(97 + roll)}.")
            for index in range(12)
        ]
        made = rewrite(made.text, made.carry, filler, target_words=target)
        assert count_words(made.text) <= target
    return made


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        (Said("Maya", "I will pay back the forty crowns by midsummer, Joaquin."), "forty crowns by midsummer"),
        (Said("Bram", "I owe Corvin Ashdell ninety-five crowns."), "ninety-five crowns"),
        (Said(None, "Nobody must know that Anneke Strood is alive."), "Anneke Strood is alive"),
        (Said("Ines", "My report is due in Lethen by noon, and we must not be late."), "Lethen"),
        (Said("Kess", "I swear to bring the child back to Odalys."), "bring the child back"),
    ],
)
def test_what_is_owed_promised_secret_or_due_outlives_twenty_windows_of_filler(said: Said, kept: str) -> None:
    delta = [Said(None, line) for line in FILLER] + [said] + [Said(None, line.upper().lower()) for line in FILLER]
    assert kept in rolled(delta, rolls=20).text


def test_names_numbers_and_places_outlive_filler() -> None:
    delta = [
        Said(None, "Seven sailors went out on the Petronel and three came back to Dunmarrow."),
        Said(None, "Agnes Vasey lives at number 22 in Tallow Street, below the tower of St. Orla."),
    ]
    text = rolled(delta, rolls=20).text
    for kept in ("Seven", "three", "Petronel", "Dunmarrow", "Agnes Vasey", "22", "Tallow Street"):
        assert kept in text


def test_folding_nothing_changes_nothing_however_often() -> None:
    delta = [
        Said("Odalys", '*Odalys shuts the ledger.* "You are late. You owe me forty crowns."'),
        Said("Wren", "I promise to pay them by midsummer, Odalys. Where is the old piano of the Harbour Hall?"),
        Said("Dr. Senn", '"The Board sits on the second of April," said Dr. Senn, and closed the door behind him.'),
        Said(None, 'The keeper said, "Nobody leaves before dawn," and sat down on the step of the tower.'),
    ]
    first = rewrite("", None, delta, target_words=120)
    made = first
    for _ in range(10):
        made = rewrite(made.text, made.carry, [], target_words=120)
    assert made.text == first.text


def test_the_order_of_events_is_kept_over_rewrites() -> None:
    text, carry = "", None
    places = ["Corvane", "Dunmarrow", "Lethen", "Zadash", "Alfield"]
    for place in places:
        made = rewrite(
            text,
            carry,
            [Said(None, f"On the next day Maya arrived in {place} and met the captain there.")],
            target_words=200,
        )
        text, carry = made.text, made.carry
    positions = [text.index(place) for place in places]
    assert positions == sorted(positions)


def test_a_recap_written_by_someone_else_is_taken_up() -> None:
    foreign = (
        "# Summary\n\n- **Maya** owes Joaquin forty crowns.\n- They reached Corvane.\n\n"
        'Maya looked at Bram and said: "Never again." The tower of Corvane burned.'
    )
    made = rewrite(foreign, "garbage", [Said("Bo", "I promise I will wait in Corvane until dawn.")], target_words=100)
    for kept in (
        "owes Joaquin forty crowns",
        "The tower of Corvane burned",
        'Maya looked at Bram and said: "Never again."',
        "Bo promised:",
    ):
        assert kept in made.text
    assert "#" not in made.text
    assert "**" not in made.text


def test_older_text_gives_way_when_the_target_shrinks() -> None:
    long = rolled(
        [Said(None, f"Maya found the {word} key in Corvane.") for word in ("red", "old", "iron", "glass")],
        rolls=2,
        target=200,
    )
    short = rewrite(long.text, long.carry, [], target_words=40)
    assert 0 < count_words(short.text) <= 40


def test_names_without_room_are_listed_once_and_the_list_is_not_retold() -> None:
    people = ["Brannoc", "Tessaly", "Odrin", "Quillane", "Marisk", "Verrin", "Solenne", "Ashdell", "Corbray"]
    text, carry = "", None
    for _ in range(4):
        delta = [
            Said(None, f"In the great hall of the house they met {name} and talked with {name} for a long while.")
            for name in people
        ]
        made = rewrite(text, carry, delta, target_words=60)
        text, carry = made.text, made.carry
    assert text.count("Also named so far:") == 1
    body, _, ledger = text.partition("Also named so far:")
    assert ledger.strip().endswith(".")
    assert not any(name in body and name in ledger for name in people)


def test_no_target_keeps_every_line_of_the_story() -> None:
    delta = [
        Said(None, f"Maya found the {word} key in the tower of Corvane.") for word in ("red", "old", "iron", "glass")
    ]
    text = rewrite("", None, delta, target_words=0).text
    assert all(word in text for word in ("red", "old", "iron", "glass"))
