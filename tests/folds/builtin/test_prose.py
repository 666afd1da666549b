"""How single messages are told: who speaks, what is narration, what is left out."""

from __future__ import annotations

import pytest

from previously.folds.builtin import Said, rewrite


def told(*messages: Said, target: int = 200) -> str:
    """The recap of a few messages."""
    return rewrite("", None, messages, target_words=target).text


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        (Said('Maya', 'I will pay back the forty crowns by midsummer.'), 'Maya promised: "…"'),
        (Said('Maya', 'Where did you hide the letters of Corvane?'), 'Maya asked: "…"'),
        (Said('Maya', 'I swear on my life to come back.'), 'Maya swore: "…"'),
        (Said('Maya', 'I lied about the fire in the mill.'), 'Maya admitted: "…"'),
        (Said('Maya', 'Joaquin, your brother left the town with us.'), 'Maya told Joaquin: "…"'),
        (Said('LAURA', 'We went back to the old inn.'), 'Laura said: "…"'),
        (Said(None, "The ferry left Marrow Bay at dawn."), "The ferry left Marrow Bay at dawn."),
        (Said(None, "You step through the gate of Marrow."), "They step through the gate of Marrow."),
        (Said("Odalys", "*I shut my ledger and look up.*"), "Odalys shuts their ledger and looks up."),
        (Said("Odalys", '*Odalys shuts the ledger.* "You are late, tuner of pianos."'),
         'Odalys shuts the ledger. Odalys said: "You are late, tuner of pianos."'),
        (Said("Odalys", '"Come in," she said, and opened the door to the archive.'),
         '"Come in," she said, and opened the door to the archive.'),
    ],
)  # fmt: skip
def test_speech_is_attributed_and_narration_is_told(message: Said, expected: str) -> None:
    assert told(message) == expected.replace("…", message.text)


def test_you_is_the_only_other_player() -> None:
    text = told(
        Said("Wren", "I am here for the piano, as agreed."),
        Said("Odalys", "*Odalys hands you the key of the archive.*"),
    )
    assert "Odalys hands Wren the key of the archive." in text


def test_a_game_master_is_known_by_habit_and_told_in_the_third_person() -> None:
    master = [
        "As you walk into the hall, you see a long table.",
        "You hear a bell from the tower of Corvane.",
        "Nott, you notice a draft from the cellar door.",
        "You arrive at the bridge when the sun goes down.",
        "When you open the chest, you find nine silver coins.",
    ]
    text = told(
        *(
            message
            for line in master
            for message in (Said("Matt", line), Said("Sam", "I follow the others to the door."))
        )
    )
    assert "Nott notices a draft from the cellar door." in text
    assert "As they walk into the hall, they see a long table." in text
    assert 'Matt said: "You' not in text


@pytest.mark.parametrize(
    "chatter",
    [
        "Roll initiative, please, and add your dexterity modifier.",
        "haha ok lol",
        "Hello everyone!",
        "((brb, getting pizza))",
        "OOC: can we stop at ten tonight?",
        "Use promo code SWORD on our sponsor's website for a discount.",
        "That is a 17 plus five, so 22 damage.",
    ],
)
def test_table_talk_greetings_and_sponsors_are_left_out(chatter: str) -> None:
    text = told(Said("Bo", chatter), Said(None, "The mill of Corvane burned down in the night."))
    assert text == "The mill of Corvane burned down in the night."


def test_nothing_but_small_talk_still_gives_a_recap() -> None:
    assert told(Said("Bo", "haha ok lol"))


def test_two_sentences_of_one_speaker_share_a_quotation() -> None:
    text = told(Said("Maya", "I owe Joaquin forty crowns. I owe Bram nine more."))
    assert text == 'Maya said: "I owe Joaquin forty crowns. I owe Bram nine more."'


def test_scripts_without_spaces_or_capitals() -> None:
    text = told(
        Said("マヤ", "私は夏至までに四十枚の金貨を返すと約束する。"),
        Said(None, "港には古い塔があり、夜になると青い灯がともる。"),
    )
    assert text.startswith('マヤ: "私は夏至までに四十枚の金貨を返すと約束する。"')
    assert "青い灯がともる。" in text


def test_capitalised_nouns_are_not_all_names() -> None:
    line = "Der Hauptmann ging durch das Tor der Stadt und sah die Soldaten auf der Mauer, während der Regen fiel."
    delta = [Said(None, line.replace("Regen", word)) for word in ("Regen", "Schnee", "Hagel", "Nebel", "Staub")]
    text = rewrite("", None, delta, target_words=30).text
    assert "(…" not in text
    assert "Hauptmann" in text


def test_lower_case_chats_keep_their_promises() -> None:
    text = told(Said("kess", "i promise i wont be late, ill bring the 300 gold i owe you"), Said("bo", "lol sure"))
    assert "300 gold" in text
    assert text.startswith("Kess promised:")
