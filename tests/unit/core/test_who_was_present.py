"""Who was present at each message of a path, and where that is known from."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from previously.core.path import Span
from previously.core.presence import Correction, HeardMessage, NameBook, Presence, PresenceSource, find_runs

THREE = [HeardMessage("Maya"), HeardMessage("Bram"), HeardMessage("Odalys", ends=True)]
"""A scene of three, so that not everybody knows everything."""


def presence(*heard: HeardMessage, corrections: tuple[Correction, ...] = (), breaks: tuple[int, ...] = ()) -> Presence:
    return Presence(find_runs(heard), corrections, breaks)


def test_what_is_given_stands_before_what_is_noted_and_a_person_before_both() -> None:
    given_too = HeardMessage("Bram", witnesses=("Bram",), noted=("Bram", "Maya"))
    found = presence(*THREE, given_too, HeardMessage("Bram", noted=("Bram", "Odalys")), HeardMessage("Bram", noted=()))
    assert [(one.names, one.source) for one in found.stretches()[1:]] == [
        (("Bram",), PresenceSource.GIVEN), (("Bram", "Odalys"), PresenceSource.NOTED), ((), PresenceSource.NOTED),
    ]  # fmt: skip
    said = (Correction(Span(3, 4), ("Maya",)), Correction(Span(4, 4), None))
    found = presence(*THREE, given_too, HeardMessage("Bram", noted=("Bram", "Odalys")), corrections=said)
    assert [(one.names, one.source) for one in found.stretches()[1:]] == [
        (("Maya",), PresenceSource.BY_HAND), (None, PresenceSource.BY_HAND),
    ]  # fmt: skip
    assert found.knows("Maya", 3) and not found.knows("Bram", 3), "one writer may speak for several people"
    assert not found.knows("Odalys", 3) and found.knows("Odalys", 4)


def test_of_what_nobody_said_all_who_speak_in_the_scene_are_witnesses() -> None:
    found = presence(
        HeardMessage("Maya"),
        HeardMessage(""),
        HeardMessage("Bram", ends=True),
        HeardMessage("Odalys"),
        HeardMessage("Bram"),
    )
    assert [(one.names, one.source) for one in found.stretches()] == [
        (("Maya", "Bram"), PresenceSource.INFERRED), (("Odalys", "Bram"), PresenceSource.INFERRED),
    ]  # fmt: skip
    assert found.positions("Maya") == [0, 1, 2]
    assert presence(*[HeardMessage(who) for who in ("Maya", "Bram", "Odalys")], breaks=(0,)).positions("Maya") == [0]


def test_everybody_knows_all_only_where_no_more_than_two_were_ever_present() -> None:
    duet = [HeardMessage("Maya", ends=True), HeardMessage("Bram"), HeardMessage("Narrator and all")]
    assert presence(*duet[:2]).knows_all("Maya") and presence(*duet[:2]).at(0).source is PresenceSource.EVERYBODY
    assert not presence(*duet).knows_all("Maya"), "a third speaks"
    assert not presence(*duet[:2], HeardMessage("Bram", noted=("Odalys",))).knows("Maya", 1), "a third was noted"
    assert not presence(*duet[:2], corrections=(Correction(Span(1, 1), ("Odalys",)),)).knows("Maya", 1)
    alone = presence(HeardMessage("Maya"), HeardMessage("Bram", noted=("Bram",)))
    assert alone.positions("Maya") == [0], "what is noted counts among two as well"


def test_talk_at_the_table_is_known_to_no_character() -> None:
    found = Presence(
        find_runs([*THREE, HeardMessage("Noor", noted=()), HeardMessage("Noor", noted=("Crumb",))]),
        voices={"Noor": "Crumb"},
    )
    assert found.positions("Crumb") == [4], "not what her player says among players"
    duet = presence(HeardMessage("Maya"), HeardMessage("Maya", noted=()), HeardMessage("Bram"))
    assert not duet.knows("Maya", 1) and duet.knows_all("Maya"), "and nobody misses it"


def test_the_opening_is_kept_from_nobody() -> None:
    assert presence(HeardMessage(shared=True), *THREE).at(0).names is None
    assert presence(HeardMessage(shared=True, witnesses=("Bram",)), *THREE).positions("Maya") == [1, 2, 3]


def test_who_spoke_before_and_was_still_there_is_there_in_the_tail() -> None:
    noted = [HeardMessage("Maya", noted=("Maya", "Bram", "Odalys")), HeardMessage("Bram", noted=("Maya", "Bram"))]
    spoken = [HeardMessage("Odalys", noted=("Maya", "Bram", "Odalys")), *noted, HeardMessage("Bram")]
    assert presence(*spoken).at(3).names == ("Maya", "Bram"), "Odalys had left when it was last noted"
    silent = [HeardMessage("Maya", noted=("Maya", "Bram", "Odalys")), HeardMessage("Maya")]
    assert presence(*silent).at(1).names == ("Maya",), "who did not speak may have gone"
    again = [*silent, HeardMessage("Bram", noted=("Maya", "Bram", "Odalys"))]
    assert set(presence(*again).at(1).names or ()) == {"Maya", "Bram", "Odalys"}, "who was there before and after"


def test_whoever_is_about_to_speak_is_in_the_last_scene() -> None:
    runs = find_runs([*THREE, HeardMessage("Maya")])
    assert Presence(runs).positions("Bram") == [0, 1, 2]
    assert Presence(runs, next_speaker="bram").positions("Bram") == [0, 1, 2, 3]


def test_a_short_name_is_the_longer_one_where_there_is_only_one() -> None:
    names = NameBook(["Corin", "Corin Hale", "Ilse Marrow", "Wick", "Old Wick"])
    assert names.same_person("corin", "Corin Hale") and names.same_person("Old Wick", " WICK")
    assert names.same_person("Ilse", "Ilse Marrow") and names.same_person("Ilse Anna Marrow", "Ilse Marrow")
    assert not names.same_person("Ilse", "Corin") and not names.same_person("", "")
    assert names.shown(names.key("Corin")) == "Corin Hale"
    two = NameBook(["Corin", "Corin Hale", "Corin Vane"])
    assert not two.same_person("Corin", "Corin Hale") and not two.same_person("Corin Vane", "Corin Hale")
    assert two.same_person("CORIN", "Corin")
    assert Presence(find_runs([HeardMessage("Corin Hale", noted=("Corin",)), *THREE])).people == [
        "Bram", "Corin Hale", "Maya", "Odalys",
    ]  # fmt: skip


def test_a_player_is_the_character_they_play() -> None:
    names = NameBook(["Bea", "Orsolo", "Maya"], {"Bea": "Orsolo"})
    assert names.same_person("Bea", "Orsolo") and len(names.keys) == 2
    found = Presence(find_runs([*THREE, HeardMessage("Bea", noted=("Orsolo",))]), voices={"Bea": "Orsolo"})
    assert found.positions("Orsolo") == found.positions("Bea") == [3]


NAMES = st.sampled_from(["Maya", "Bram", "Odalys", "maya "])
HEARD = st.builds(
    HeardMessage,
    st.just("") | NAMES,
    st.none() | st.lists(NAMES, max_size=3).map(tuple),
    st.none() | st.lists(NAMES, max_size=3).map(tuple),
    shared=st.just(False),
    ends=st.booleans(),
)


@given(st.lists(HEARD, max_size=12), st.lists(st.tuples(st.integers(0, 11), st.integers(0, 11), NAMES), max_size=3))
def test_stretches_tile_the_path_and_say_what_each_knows(
    heard: list[HeardMessage], said: list[tuple[int, int, str]]
) -> None:
    spans = [(min(one[:2]), min(max(one[:2]), len(heard) - 1), one[2]) for one in said]
    corrections = [Correction(Span(first, last), (name,)) for first, last, name in spans if first <= last]
    found = Presence(find_runs(heard), corrections)
    covered = [at for one in found.stretches() for at in range(one.span.first, one.span.last + 1)]
    assert covered == list(range(len(heard)))
    for name in ("Maya", "Bram", "Odalys"):
        for at, one in enumerate(heard):
            names = found.at(at).names
            listed = names is None or any(found.names.same_person(name, other) for other in names)
            told = found.at(at).source in (PresenceSource.NOTED, PresenceSource.BY_HAND)
            spoke = found.names.same_person(name, one.speaker) and not told
            assert found.knows(name, at) is (listed or spoke)
            by_hand = [name for first, last, name in spans if first <= at <= last]
            if by_hand:
                assert names == (by_hand[-1],) and found.at(at).source is PresenceSource.BY_HAND
    assert found.digest("Maya", 3) == found.digest("maya", 3)
