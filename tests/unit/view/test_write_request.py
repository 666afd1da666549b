"""The request with which a model writes on: prompt, card, note and direction at their places, and a list that strict
templates take."""

from __future__ import annotations

import pytest

from previously import BadInput, BlockingMemory, Settings
from previously.core.messages import Role
from previously.core.model_io import ModelRequest
from previously.view.setup import WritingSetup, change_setup, read_setup
from previously.view.write_request import (
    CHAT_BEGINS,
    MORE_OF_REPLY,
    NEXT_PASSAGE,
    PROSE_BEGINS,
    WantedPassage,
    build_furniture,
    build_write_request,
    clean_reply,
)

CHAT = (
    ("assistant", "Odalys", "The ferry is late."),
    ("user", "Wren", "Is the ledger safe?"),
    ("assistant", "Odalys", "Under the stair."),
    ("user", "Wren", "Good."),
)


def build(
    setup: WritingSetup,
    lines: tuple[tuple[str, str, str], ...] = CHAT,
    *,
    form: str = "chat",
    passage: WantedPassage = WantedPassage.NEXT,
    direction: str = "",
    speaker: str = "",
) -> ModelRequest:
    furniture = build_furniture(setup, form, passage, direction, speaker)
    with BlockingMemory(":memory:", settings=Settings()) as memory:
        story = memory.story("ferry")
        for role, name, text in lines:
            story.add(role, text, name=name)
        view = story.view(4_000, furniture=furniture)
    return build_write_request(view, setup, form, 300)


def test_card_and_persona_stand_in_the_system_message_with_their_names() -> None:
    setup = WritingSetup(
        name="Odalys",
        description="{{char}} runs a ferry for {{User}}.",
        personality="Dry.",
        scenario="A river at night.",
        examples="<START>\n{{char}}: Hm.",
        user_name="Wren",
        user_description="{{user}} is a clerk.",
    )
    request = build(setup)
    system = request.messages[0]
    assert system.role is Role.SYSTEM
    assert "You play Odalys" in system.text
    places = [
        system.text.index(words)
        for words in ("Odalys runs a ferry for Wren.", "Dry.", "A river at night.", "Wren is a clerk.", "Odalys: Hm.")
    ]
    assert places == sorted(places)
    assert "{{" not in system.text
    assert build(WritingSetup(system="Only this, {{user}}.")).messages[0].text == "Only this, the user."


def test_a_chat_begins_with_the_user_and_roles_alternate() -> None:
    request = build(WritingSetup(note="Keep it slow.", note_depth=2), direction="A knock at the door.")
    roles = [message.role.value for message in request.messages]
    assert roles == ["system", "user", "assistant", "user", "assistant", "user"]
    assert request.messages[1].text == CHAT_BEGINS
    assert request.messages[3].text == "Is the ledger safe?\n\n[Author's note: Keep it slow.]"
    assert request.messages[-1].text.startswith("Good.\n\n[A direction for your next reply")
    assert "A knock at the door." in request.messages[-1].text
    assert all(message.speaker is None for message in request.messages), "servers refuse names with blanks"


@pytest.mark.parametrize(("depth", "at"), [(0, -1), (1, -1), (3, 3), (4, 1), (99, 1)])
def test_the_note_stands_at_its_depth(depth: int, at: int) -> None:
    request = build(WritingSetup(note="Slowly.", note_depth=depth))
    with_note = [index for index, message in enumerate(request.messages) if "[Author's note: Slowly.]" in message.text]
    assert with_note == [at % len(request.messages)]


def test_several_characters_are_told_apart_by_their_names() -> None:
    lines = (*CHAT, ("assistant", "Bram", "I saw it."), ("user", "Wren", "When?"))
    texts = [message.text for message in build(WritingSetup(), lines, speaker="Bram").messages]
    assert "Odalys: Under the stair." in texts
    assert "Bram: I saw it." in texts
    assert texts[-1] == "Wren: When?\n\n[Write the next reply as Bram.]"


def test_prose_is_one_question_with_the_newest_passages() -> None:
    lines = (("assistant", "", "Rain fell."), ("assistant", "", "The mill stood still."))
    request = build(WritingSetup(note="Past tense."), lines, form="prose", direction="Bram comes home.")
    system, question = request.messages
    assert (system.role, question.role) == (Role.SYSTEM, Role.USER)
    parts = [
        PROSE_BEGINS,
        "Past tense.",
        "Rain fell.",
        "The mill stood still.",
        "---",
        NEXT_PASSAGE,
        "Bram comes home.",
    ]
    places = [question.text.index(part) for part in parts]
    assert places == sorted(places)


def test_going_on_is_asked_for_behind_the_reply() -> None:
    request = build(WritingSetup(), CHAT[:3], passage=WantedPassage.MORE)
    assert [message.text for message in request.messages[-2:]] == ["Under the stair.", MORE_OF_REPLY]


def test_options_have_the_names_that_servers_know() -> None:
    setup = WritingSetup(temperature=1.1, top_p=0.9, stop=("\nWren:",), seed=7)
    request = build(setup)
    assert (request.temperature, request.max_output_tokens) == (1.1, 300)
    assert request.sampling == {"top_p": 0.9, "seed": 7, "stop": ["\nWren:"]}


def test_a_reply_is_kept_without_its_name_and_without_repetitions() -> None:
    assert clean_reply(" Odalys: Yes. ", "Odalys", "") == "Yes."
    assert clean_reply("Odalysian: no name", "Odalys", "") == "Odalysian: no name"
    assert clean_reply("under the third stair. And dry.", "", "", "It is under the third stair.") == " And dry."
    assert clean_reply(" She smiled.", "", "", "It is late.") == " She smiled."
    assert clean_reply("is late", "", "", "It is late"), "two short words are no repetition"


def test_what_a_file_brought_holds_until_a_person_says_otherwise() -> None:
    header = {
        "card": {
            "spec": "chara_card_v2",
            "data": {"name": "Odalys", "description": "A ferrywoman.", "mes_example": "x"},
        },
        "user_name": "Wren",
        "chat_metadata": {"note_prompt": "Slowly.", "note_depth": 2},
    }
    setup = read_setup({"description": "", "temperature": 0.2}, header)
    assert (setup.name, setup.description, setup.examples, setup.user_name) == ("Odalys", "", "x", "Wren")
    assert (setup.note, setup.note_depth, setup.temperature) == ("Slowly.", 2, 0.2)
    broken = read_setup({"temperature": "hot", "gone": 1}, {"card": 7, "chat_metadata": {"note_prompt": 3}})
    assert broken == WritingSetup()


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"colour": "red"}, "colour is no part"),
        ({"temperature": "hot"}, "temperature must be a number from 0 to 5"),
        ({"max_tokens": 1.5}, "max_tokens must be a whole number"),
        ({"note_depth": True}, "note_depth must be a whole number"),
        ({"form": "verse"}, "form must be chat, prose or nothing"),
        ({"stop": ["", "x"]}, "stop must be a list"),
        ({"system": 7}, "system must be text"),
    ],
)
def test_a_value_that_cannot_hold_is_refused(changes: dict[str, object], fault: str) -> None:
    with pytest.raises(BadInput, match=fault):
        change_setup({"system": "x"}, {"name": "kept", **changes})
