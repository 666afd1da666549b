"""What a librarian and a scene are told beside their own messages: names, threads by number, the story before; and
where not everyone witnessed everything, only what all know who will know the note."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

import pytest

from previously import BlockingMemory, Draft, ScriptedModel, Settings, message
from previously.core.model_io import ModelRequest
from tests.end_to_end.runtime.echoing import kind_of, make_writer, part

NOVEL = Settings.of("novel", lore="off")
SCENES = Settings(tail_messages=0, scene_messages=0, cast="off", chapter_messages=0, fold_messages=100_000,
                  fold_words=1_000_000, fold_tokens=1_000_000)  # fmt: skip
NAMES = ["Leonora", "Gideon", "Ivo", "Judith"]


def analysed(request: ModelRequest) -> str:
    said = part(request, "fragment")
    number = int(re.findall(r"Day (\d+)", said)[-1])
    return json.dumps(
        {
            "summary_update": f"On day {number} {NAMES[number % 4]} counted the panes.",
            "mentions": [NAMES[number % 4]],
            "open_threads": [f"Gideon to Strake: {number} pounds"] if number == 2 else [],
            "state_changes": ["Gideon / place: Hexley"] if number == 1 else [],
        }
    )


def test_a_librarian_of_prose_is_told_names_threads_state_and_what_no_summary_tells_yet() -> None:
    model = ScriptedModel(analysed)
    with BlockingMemory(":memory:", settings=NOVEL, writer=make_writer(model)) as memory:
        story = memory.story("novel")
        for number in range(14):
            story.add("assistant", f"Day {number}. {NAMES[number % 4]} counted the panes for Strake at Hexley.")
        story.fold()
    asked = model.requests[13]
    assert kind_of(asked) == "analysis"
    assert set(part(asked, "known").removeprefix("Others in the story: ").split("; ")) == set(NAMES)
    assert part(asked, "open_threads") == "T1 Gideon to Strake: 2 pounds"
    assert part(asked, "as_things_stood") == "Gideon / place: Hexley"
    assert part(asked, "just_before") == "Narrator: Day 12. Leonora counted the panes for Strake at Hexley."
    told = re.findall(r"On day (\d+) ", part(asked, "story_so_far"))
    assert told == [str(number) for number in range(13)], (
        "each once, the newest too, though none of them is applied yet"
    )


def test_the_story_so_far_of_a_long_chapter_keeps_its_opening_and_no_word_is_cut() -> None:
    model = ScriptedModel(analysed)
    with BlockingMemory(":memory:", settings=NOVEL, writer=make_writer(model)) as memory:
        story = memory.story("novel")
        for number in range(110):
            story.add("assistant", f"Day {number}. {NAMES[number % 4]} counted the panes for Strake at Hexley.")
        story.fold()
    so_far = part(model.requests[109], "story_so_far")
    assert so_far.startswith("On day 0 Leonora counted the panes.\nOn day 1 ")
    assert so_far.endswith("On day 108 Leonora counted the panes.")
    assert "\n\n[…]\n\nOn day " in so_far


class Told:
    """A story in which not everyone is there, and what its scenes were told."""

    def __init__(self, memory: BlockingMemory, model: ScriptedModel) -> None:
        self.story, self.model = memory.story("tale"), model

    def scene(self, text: str, *witnesses: str, everybody: bool = False) -> str:
        """Tell a scene, and give back what its question says is known."""
        self.story.add_drafts([Draft(message("assistant", text, speaker="Maya", witnesses=witnesses or None))])
        if everybody:
            self.story.set_presence(-1, -1, None)
        self.story.end_scene()
        self.story.fold()
        asked = [one for one in self.model.requests if kind_of(one) == "scene"][-1]
        return f"{part(asked, 'known')}\n{part(asked, 'open_threads')}"


def _named(text: str) -> str:
    return ", ".join(name for name in ("Bram", "Maya", "Wren") if name in text) or "Somebody"


def noted(request: ModelRequest) -> str:
    if kind_of(request) != "scene":
        return "They spoke."
    said = part(request, "scene")
    things = re.findall(r"the (\w+) Stone", said)
    entry = {"type": "item", "keywords": ["rock", "boulder"], "content": "A heavy thing to carry up a hill."}
    return json.dumps(
        {
            "summary": "They spoke.",
            "lorebooks": [{**entry, "name": f"{one} Stone"} for one in things],
            "open_threads": [f"{_named(said)} asked who took the {one} Stone." for one in things],
        }
    )


@pytest.fixture
def told() -> Iterator[Told]:
    model = ScriptedModel(noted)
    with BlockingMemory(":memory:", settings=SCENES, writer=make_writer(model)) as memory:
        yield Told(memory, model)


def test_a_scene_is_told_what_all_know_who_were_there_and_nothing_else(told: Told) -> None:
    told.scene("Maya showed the Red Stone to Bram and Wren.", "Bram", "Wren")
    told.scene("Maya showed the Blue Stone to Wren.", "Wren")
    told.scene("Everybody spoke of the Grey Stone.", everybody=True)
    told.scene("Maya spoke of the Green Stone.")
    known = told.scene("They went up the hill, Maya, Bram and Wren.", "Bram", "Wren")
    assert "Red Stone" in known
    assert "T1 Bram, Maya, Wren asked who took the Red Stone." in known
    assert "T2" not in known, "the others name somebody else, or nobody"
    assert "Grey Stone (A heavy" in known
    assert "Blue" not in known, "Bram never heard of it"
    assert "Green" not in known, "nobody says who heard it, so Maya alone did"
    known = told.scene("They went on, Maya and Wren.", "Wren")
    assert "Blue Stone (A heavy" in known
    assert "T2 Maya, Wren asked who took the Blue Stone." in known
    known = told.scene("Then it rained on all of them.", everybody=True)
    assert "Grey Stone (A heavy" in known
    assert not re.search("Red|Blue|Green", known), "whoever comes later may know this scene too"
