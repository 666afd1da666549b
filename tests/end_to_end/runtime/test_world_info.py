"""World Info in a view: where entries of a book stand, for whom, in whose name; and the explanation agrees."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from previously import BlockingMemory, Settings, read_story
from previously.blocking import BlockingStory
from previously.testing import ScriptedModel


def book_of(*entries: dict[str, Any]) -> dict[str, Any]:
    """A World Info file with these entries, named by their comments."""
    return {"entries": {str(uid): {"uid": uid, "key": [], **one} for uid, one in enumerate(entries)}}


ENTRIES = (
    {"comment": "Tide law", "content": "Nobody sails at night.", "constant": True},
    {"comment": "Style", "content": "Short sentences.", "constant": True, "position": 4, "depth": 0},
    {"comment": "Boat", "key": ["{{char}}'s boat"], "content": "{{char}} never lends it to {{user}}.", "position": 1},
    {"comment": "Calm", "key": ["boat"], "content": "The sea is calm.", "group": "sea", "groupOverride": True},
    {"comment": "Storm", "key": ["boat"], "content": "The sea is rough.", "group": "sea"},
    {"comment": "Hook", "key": ["boat"], "content": "A hook for a hand.", "characterFilter": {"names": ["Hook"]}},
    {"comment": "Swiped", "key": ["boat"], "content": "Tell it another way.", "triggers": ["swipe"]},
)


@pytest.fixture
def story() -> Any:
    with BlockingMemory(":memory:") as memory:
        memory.keep_book("harbour", book_of(*ENTRIES))
        story = memory.story("tale")
        story.add("assistant", "The harbour lies quiet.", name="Tess")
        story.add("user", "I look at Tess's boat.", name="Wren")
        story.attach_book("harbour")
        yield story


def reasons(story: BlockingStory, reader: str = "chat") -> dict[str, tuple[str, str]]:
    return {one.name: (one.place, one.reason) for one in story.explain_lore(reader)}


def test_each_entry_stands_in_its_place(story: BlockingStory) -> None:
    view = story.view(2_000)
    front, newest = view.messages[0].text, view.messages[-1].text
    assert "Nobody sails at night." in front
    assert "Nobody sails at night." not in newest
    shown = ["The sea is calm.", "Tess never lends it to Wren.", "Short sentences.", "I look at Tess's boat."]
    places = [newest.index(text) for text in shown]
    assert places == sorted(places)
    assert not any(text in newest for text in ("rough", "hook", "another way"))


def test_the_explanation_names_what_decided(story: BlockingStory) -> None:
    assert reasons(story) == {
        "Tide law": ("stable memory", "constant"),
        "Style": ("newest message, as at depth 0", "constant"),
        "Boat": ("newest message, as after the character", 'key "Tess\'s boat" in message 1 by Wren'),
        "Calm": ("newest message", 'key "boat" in message 1 by Wren'),
        "Storm": ("", 'lost in the inclusion group "sea": "Calm" has priority (key "boat" in message 1 by Wren)'),
        "Hook": ("", "character filter: only for Hook, and Tess answers"),
        "Swiped": ("", "trigger: only for swipe, and this is a normal answer"),
    }


def test_a_character_s_own_view_is_in_their_name(story: BlockingStory) -> None:
    story.add("assistant", "I am here as well.", name="Hook")
    story.add("user", "Whose is this boat?", name="Wren")
    assert reasons(story, "character:Hook")["Hook"][0] == "newest message"
    assert reasons(story, "character:Tess")["Hook"][1] == "character filter: only for Hook, and Tess answers"


def test_settings_decide(story: BlockingStory) -> None:
    story.add("assistant", "Yes?", name="Tess")
    for _ in range(3):
        story.add("user", "Nothing.", name="Wren")
        story.add("assistant", "Well then.", name="Tess")
    story.add("user", "Nothing at all.", name="Wren")
    assert reasons(story)["Calm"][0] == ""
    story.set(["lore_least=3"])
    assert reasons(story)["Calm"] == ("newest message", 'key "boat" in message 1 by Wren')
    story.set(["lore_deepest=5"])
    assert reasons(story)["Calm"][1] == "no key found in the newest 5 messages"
    story.set(["lore_deepest=", "lore_tokens=1"])
    assert reasons(story)["Calm"][1].startswith("no room: needs ")


CARD = {
    "spec": "chara_card_v2",
    "data": {
        "name": "Tess", "description": "{{char}} fears krakens.", "personality": "Salty.", "scenario": "A lighthouse.",
        "first_mes": "Ahoy.", "creator_notes": "Mind the gulls.",
        "extensions": {"depth_prompt": {"prompt": "Speak of mermaids.", "depth": 4}},
        "character_book": {"entries": [
            {"id": at, "keys": [key], "content": f"About {key}.", "enabled": True, "insertion_order": at,
             "comment": key, "extensions": {f"match_{field}": True} if field else {}}
            for at, (key, field) in enumerate((
                ("krakens", "character_description"), ("salty", "character_personality"), ("lighthouse", "scenario"),
                ("gulls", "creator_notes"), ("mermaids", "character_depth_prompt"), ("orphan", "persona_description"),
                ("lighthouses", "scenario"), ("Tess", ""), ("scenarios", "character_description"),
            ))
        ]},
    },
}  # fmt: skip


def test_the_texts_of_a_card_and_a_persona_bring_up_entries(tmp_path: Path) -> None:
    file = tmp_path / "Tess.json"
    file.write_text(json.dumps(CARD), "utf-8")
    with BlockingMemory(":memory:") as memory:
        story = memory.story("tale")
        story.take_in(read_story(file))
        story.add("user", "Hello.", name="Wren")
        story.change_setup({"user_description": "Wren is an orphan."})
        told = reasons(story)
        assert {name: reason for name, (_, reason) in told.items() if reason.startswith("key ")} == {
            "krakens": 'key "krakens" in the character\'s description',
            "salty": 'key "salty" in the character\'s personality',
            "lighthouse": 'key "lighthouse" in the scenario',
            "gulls": 'key "gulls" in the creator\'s notes',
            "mermaids": 'key "mermaids" in the character\'s note',
            "orphan": 'key "orphan" in the user\'s description',
            "Tess": 'key "Tess" in message 0 by Tess',
        }
        newest = story.view(2_000).messages[-1].text
        assert "About krakens." in newest and "About lighthouses." not in newest
        story.change_setup({"scenario": "Two lighthouses."})
        assert reasons(story)["lighthouses"][1] == 'key "lighthouses" in the scenario'


OUTLET = {"position": 7, "outletName": "weather", "content": "It rains.", "comment": "Rain"}


def test_an_outlet_is_filled_where_a_prompt_names_it() -> None:
    model = ScriptedModel(["Aye.", "Aye aye.", "No."])
    with BlockingMemory(":memory:", model=model) as memory:
        memory.keep_book(
            "sky", book_of(OUTLET | {"constant": True}, OUTLET | {"key": ["sun"], "content": "It shines."})
        )
        story = memory.story("tale")
        story.attach_book("sky")
        story.change_setup({"system": "You are Tess.\nWeather: {{outlet::weather}}|{{outlet::none}}|"})
        story.reply("Is there a sun?")
        (asked,) = model.requests
        assert "Weather: It rains.\nIt shines.||" in asked.messages[0].text
        assert "It rains." not in "".join(message.text for message in asked.messages[1:])
        assert [one.place for one in story.explain_lore()] == ['outlet "weather" of the prompt'] * 2
        story.change_setup({"system": "You are Tess."})
        story.reply("And now?")
        assert "It rains." in model.requests[-1].messages[-1].text, "no prompt names it: as any other entry"


STORM = {"key": ["storm"], "comment": "Storm"}


@pytest.mark.parametrize(
    ("timed", "said", "told"),
    [
        ({"cooldown": 5}, ["A storm?"] * 4, [True, False, False, True]),
        ({"sticky": 3}, ["A storm?", "Oh.", "Well."], [True, True, False]),
    ],
)
def test_an_entry_in_an_outlet_stays_and_rests_as_any_other(
    timed: dict[str, int], said: list[str], told: list[bool]
) -> None:
    model = ScriptedModel(["Aye."] * (len(said) + 1))
    with BlockingMemory(":memory:", model=model) as memory:
        entry = STORM | timed | {"scanDepth": 1}
        memory.keep_book("sky", book_of(OUTLET | entry, entry | {"content": "It thunders."}))
        story = memory.story("tale")
        story.attach_book("sky")
        story.change_setup({"system": "Weather: {{outlet::weather}}|"})
        for text in said:
            story.reply(text)
        fronts = [request.messages[0].text for request in model.requests]
        rest = ["".join(message.text for message in request.messages[1:]) for request in model.requests]
        assert ["It rains." in text for text in fronts] == told
        assert ["It thunders." in text for text in rest] == told
        assert not any("It rains." in text for text in rest)
        story.reply_again()
        assert ("It rains." in model.requests[-1].messages[0].text) is told[-1], "the same turn again"


def test_an_entry_that_an_outlet_tells_rests_even_where_the_view_has_no_room_for_lore() -> None:
    model = ScriptedModel(["Aye."] * 4)
    settings = Settings(window_tokens=2_048, answer_tokens=512)
    with BlockingMemory(":memory:", settings=settings, model=model) as memory:
        entry = STORM | {"cooldown": 5, "scanDepth": 1}
        long = "It rains. " + "The gutters run over, and the quay is under water. " * 8
        memory.keep_book("sky", book_of(OUTLET | entry | {"content": long}, entry | {"content": long[10:]}))
        story = memory.story("tale")
        story.attach_book("sky")
        story.change_setup({"system": "Mind the tide. " * 295 + "Weather: {{outlet::weather}}|"})
        for _ in range(4):
            story.reply("A storm?")
        fronts = [request.messages[0].text for request in model.requests]
        rest = ["".join(message.text for message in request.messages[1:]) for request in model.requests]
        assert not any("gutters" in text for text in rest), "there is no room for it"
        assert ["It rains." in text for text in fronts] == [True, False, False, True]


def test_what_stands_in_an_outlet_by_now_is_not_told_twice() -> None:
    model = ScriptedModel(["Aye.", "Aye aye."])
    with BlockingMemory(":memory:", model=model) as memory:
        memory.keep_book("sky", book_of(OUTLET | STORM, STORM | {"content": "It thunders."}))
        story = memory.story("tale")
        story.attach_book("sky")
        story.reply("A storm?")
        assert "It rains." in model.requests[0].messages[-1].text
        story.change_setup({"system": "Weather: {{outlet::weather}}|"})
        story.reply_again()
        front, *others = (message.text for message in model.requests[1].messages)
        assert "Weather: It rains.|" in front
        assert "It rains." not in "".join(others)
        assert "It thunders." in "".join(others)


def test_a_reply_is_of_its_kind() -> None:
    model = ScriptedModel(["Aye.", "Once more.", "And on."])
    kinds = ("normal", "swipe", "regenerate", "continue", "quiet")
    with BlockingMemory(":memory:", model=model) as memory:
        memory.keep_book("kinds", book_of(*(
            {"comment": kind, "key": ["sea"], "content": f"Kind {kind}.", "triggers": [kind]} for kind in kinds
        )))  # fmt: skip
        story = memory.story("tale")
        story.attach_book("kinds")
        story.reply("The sea?")
        story.reply_again()
        story.reply_longer()
        sent = ["".join(message.text for message in request.messages) for request in model.requests]
        shown = [[kind for kind in kinds if f"Kind {kind}." in text] for text in sent]
        assert shown == [["normal"], ["swipe", "regenerate"], ["continue"]]
