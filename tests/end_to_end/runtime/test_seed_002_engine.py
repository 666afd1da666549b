"""What seed 002 says of scenes and lore, where it takes the engine: one row per sentence, and one test per defect that
was noted of its project.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest

from previously import BadInput, BlockingMemory, ScriptedModel, Settings
from previously.blocking import BlockingStory
from previously.core.model_io import ModelRequest
from previously.core.tokens import estimate_tokens
from previously.core.versions import Kind
from previously.folds.scene_checks import MOST_SUMMARY_TOKENS
from previously.lore.entry import MOST_CONTENT_TOKENS
from previously.models.retry import MAX_CALLS
from previously.settings import DEFAULTS
from previously.story.lore_edits import LoreListing
from previously.testing.model import Scripted
from previously.view.view import Section
from tests.end_to_end.runtime.echoing import kind_of, make_writer, part

RULES = Settings(
    tail_messages=2,
    scene_messages=6,
    fold_messages=100_000,
    fold_words=1_000_000,
    fold_tokens=1_000_000,
    chapter_messages=0,
    recap_words=150,
    cast="off",
)
GRIM = {
    "name": "Grim",
    "type": "character",
    "keywords": ["Grim", "bartender"],
    "content": "Gruff dwarf behind the bar. Collects rumours of the trade roads.",
}
MAP = {
    "name": "Darkwood map",
    "type": "item",
    "keywords": ["Darkwood map", "map"],
    "content": "Ink on hide. Shows the camp behind the falls.",
}


DRINKING = "Every guest of the Alices, Bobs, Carols, Grims, Scarfaces and Easterners of Ruinous drinks, {}."
"""What nearly every message says: whoever a scene may name has been heard of, and no key of an entry is said."""


def memory_of(summary: str, *entries: dict[str, Any], **more: object) -> str:
    return json.dumps({"summary": summary, "lorebooks": list(entries), **more})


class Tavern:
    """A story told in scenes, and a model that notes them."""

    def __init__(self, story: BlockingStory, model: ScriptedModel) -> None:
        self.story, self.model = story, model
        self.answers: list[Scripted] = []
        """What is answered of scenes, in turn; of the last of them on always the same."""
        self.said = 0
        model._reply = self.answer

    def answer(self, request: ModelRequest) -> Scripted:
        if kind_of(request) == "combine":
            return "Alice and Bob came to the tavern, spoke with Grim of bandits, and set out on the eastern road."
        if kind_of(request) != "scene":
            return "They sat in the tavern."
        number = len(self.asked) - 1
        if not self.answers:
            return memory_of(f"Scene {number}: they drank.")
        return self.answers[min(number, len(self.answers) - 1)]

    @property
    def asked(self) -> list[ModelRequest]:
        """The questions about scenes."""
        return [one for one in self.model.requests if kind_of(one) == "scene"]

    def tell(self, count: int, text: str = DRINKING) -> None:
        for _ in range(count):
            self.story.add("assistant", text.format(self.said), name="Narrator")
            self.said += 1

    def scene(self, *answers: Scripted) -> None:
        """A scene of three messages, ended by command and noted."""
        self.answers += answers
        self.tell(3)
        self.story.end_scene()
        self.story.fold()

    def ask(self, text: str = "What now?") -> str:
        """What a view shows when the user says that."""
        self.story.add("user", text, name="Alice")
        return self.shown()

    def shown(self) -> str:
        return "\n".join(one.text for one in self.story.view(6_000).messages)

    def grim(self) -> LoreListing:
        return next(one for one in self.story.lore(everything=True) if one.name == "Grim")


def opened(settings: Settings = RULES) -> Iterator[Tavern]:
    model = ScriptedModel("")
    with BlockingMemory(":memory:", settings=settings, writer=make_writer(model)) as memory:
        yield Tavern(memory.story("tavern"), model)


@pytest.fixture
def tavern() -> Iterator[Tavern]:
    yield from opened()


def by_command(tavern: Tavern) -> bool:
    tavern.tell(3)
    before = tavern.story.fold().folds
    tavern.story.end_scene()
    tavern.story.fold()
    return before == () and [str(one.span) for one in tavern.story.scenes()] == ["messages 0-2"]


def by_count(tavern: Tavern) -> bool:
    tavern.story.set(["timeline=scenes"])
    tavern.tell(14)
    tavern.story.fold()
    return [(one.span.first, one.span.last) for one in tavern.story.scenes()] == [(0, 5), (6, 11)]


def by_its_end(tavern: Tavern) -> bool:
    tavern.story.set(["timeline=scenes"])
    tavern.tell(4)
    tavern.tell(1, "* * *\nThe next morning they rode out, {}.")
    tavern.tell(5)
    tavern.story.fold()
    return tavern.story.scenes()[0].span.last == 3


def never_in_the_tail(tavern: Tavern) -> bool:
    tavern.story.set(["timeline=scenes"])
    tavern.tell(7)
    tavern.story.fold()
    return tavern.story.scenes() == []


def only_by_command(tavern: Tavern) -> bool:
    tavern.story.set(["scene_messages=0"])
    tavern.tell(30)
    tavern.story.fold()
    return tavern.story.scenes() == []


def two_fields(tavern: Tavern) -> bool:
    tavern.scene(memory_of("Alice and Bob entered a tavern.", GRIM))
    (scene,) = tavern.story.scenes()
    return (scene.summary, scene.entries) == ("Alice and Bob entered a tavern.", ("Grim",))


def both_counted(tavern: Tavern) -> bool:
    tavern.scene(memory_of("One.", GRIM, {**GRIM, "name": "Scarface", "keywords": ["Scarface", "bandits"]}))
    tavern.scene(memory_of("Two."))
    return [len(one.entries) for one in tavern.story.scenes()] == [2, 0]


def triggered(tavern: Tavern) -> bool:
    tavern.scene(memory_of("They met.", GRIM))
    return str(GRIM["content"]) in tavern.ask("Where is the bartender?")


def not_triggered(tavern: Tavern) -> bool:
    tavern.scene(memory_of("They met.", MAP))
    nothing = "Ink on hide" not in tavern.ask("Where is the door?")
    return nothing and str(MAP["content"]) in tavern.ask("Where is the map?")


def a_person_is_one_line(tavern: Tavern) -> bool:
    tavern.scene(memory_of("They met.", GRIM))
    shown = tavern.ask("Where is the door?")
    small = "\n".join(one.text for one in tavern.story.view(1_500).messages)
    return "- Grim: Gruff dwarf behind the bar.\n" in f"{shown}\n" and "Collects" not in shown and "dwarf" not in small


def triggered_nearby_only(tavern: Tavern) -> bool:
    tavern.scene(memory_of("They met.", GRIM, MAP))
    asked = tavern.ask("Ask the bartender for the map.")
    near = str(GRIM["content"]) in asked and str(MAP["content"]) in asked
    tavern.tell(5)
    later = tavern.ask("And then?")
    return near and "Collects rumours" not in later and "Ink on hide" not in later


def why(tavern: Tavern) -> bool:
    tavern.scene(memory_of("They met.", GRIM, {**GRIM, "name": "Scarface", "keywords": ["Scarface", "bandits"]}))
    tavern.ask("Ask Grim.")
    found = {one.name: one for one in tavern.story.explain_lore()}
    return found["Grim"].fired and not found["Scarface"].fired and "Grim" in found["Grim"].reason


def within_its_share(tavern: Tavern) -> bool:
    many = [{**GRIM, "name": f"Guest {number}", "keywords": [f"Guest {number}", "tavern"],
             "content": "Sits in the corner and says little. " * 8} for number in range(40)]  # fmt: skip
    tavern.scene(memory_of("They met.", *many))
    tavern.story.add("user", "Who is in the tavern?", name="Alice")
    view = tavern.story.view(2_000)
    lore = sum(item.tokens for item in view.items if item.section is Section.LORE)
    return 0 < lore <= 2_000 * RULES.lore_percent // 100


def recent_summaries(tavern: Tavern) -> bool:
    tavern.story.set(["timeline=scenes"])
    tavern.scene(memory_of("Alice met Bob at the tavern."), memory_of("They left for the Eastern Ruins."))
    tavern.scene()
    tavern.tell(3)
    tavern.story.fold()
    shown = tavern.shown()
    return shown.index("Alice met Bob at the tavern.") < shown.index("They left for the Eastern Ruins.")


def no_second_timeline(tavern: Tavern) -> bool:
    tavern.story.set(["timeline=scenes"])
    tavern.scene(memory_of("Alice met Bob at the tavern.", GRIM), memory_of("They left."))
    tavern.scene()
    kinds = {kind_of(one) for one in tavern.model.requests}
    return kinds == {"scene"} and tavern.shown().count("Alice met Bob at the tavern.") == 1


def _combined(tavern: Tavern) -> ModelRequest:
    tavern.story.set(["timeline=scenes", "recap_words=40"])
    tavern.answers = [
        memory_of(f"In scene {number} Alice and Bob spoke with Grim of the bandits on the eastern road.", GRIM)
        for number in range(6)
    ]
    for _ in range(6):
        tavern.scene()
    tavern.tell(3)
    tavern.story.fold()
    return [one for one in tavern.model.requests if kind_of(one) == "combine"][-1]


def summaries_only(tavern: Tavern) -> bool:
    request = _combined(tavern)
    return "spoke with Grim of the bandits" in request.user and "Gruff dwarf" not in request.user + request.system


def a_string_comes_back(tavern: Tavern) -> bool:
    _combined(tavern)
    recap = tavern.story.recap()
    return recap is not None and recap.text.startswith("Alice and Bob came to the tavern") and "{" not in recap.text


def entries_outlive_combining(tavern: Tavern) -> bool:
    _combined(tavern)
    return [one.name for one in tavern.story.lore()] == ["Grim"] and "Gruff dwarf" in tavern.ask("Ask Grim.")


def merged_by_name(tavern: Tavern) -> bool:
    later = {**GRIM, "name": "GRIM", "keywords": ["Grim", "innkeeper"], "content": "Gruff dwarf with a crossbow."}
    tavern.scene(memory_of("One.", GRIM), memory_of("Two.", later))
    tavern.scene()
    found = tavern.grim()
    return (
        len(tavern.story.lore()) == 1
        and found.content == "Gruff dwarf with a crossbow."
        and found.earlier == (GRIM["content"],)
        and {"bartender", "innkeeper"} <= set(found.keywords)
    )


def the_type_is_corrected(tavern: Tavern) -> bool:
    tavern.scene(memory_of("One.", GRIM), memory_of("Two.", {**GRIM, "type": "location", "content": "A ruined keep."}))
    tavern.scene()
    (found,) = tavern.story.lore()
    return (found.type, found.content) == ("location", "A ruined keep.")


def known_entries_are_shown_whole(tavern: Tavern) -> bool:
    tavern.scene(memory_of("One.", GRIM), memory_of("Two."))
    tavern.tell(2)
    tavern.story.add("assistant", "Grim pours ale.")
    tavern.story.end_scene()
    tavern.story.fold()
    return f"Grim | character | Grim, bartender | {GRIM['content']}" in part(tavern.asked[-1], "known")


def known_names_are_told(tavern: Tavern) -> bool:
    tavern.scene(memory_of("One.", GRIM), memory_of("Two."))
    tavern.scene()
    tavern.tell(3, "They sleep, {}.")
    tavern.story.end_scene()
    tavern.story.fold()
    return part(tavern.asked[-1], "known") == "Others in the story: Grim (Gruff dwarf behind the…)"


def status_changes_are_current(tavern: Tavern) -> bool:
    tavern.scene(memory_of("They rode.", state_changes=["Alice / condition: wounded in the shoulder"]))
    return "- Alice / condition: wounded in the shoulder" in tavern.ask()


def repaired(tavern: Tavern) -> bool:
    tavern.scene(memory_of(""), memory_of("They met.", GRIM))
    return len(tavern.asked) == 2 and "could not be used" in tavern.asked[1].user and tavern.grim().by == "model"


def _refused(tavern: Tavern, answer: str) -> bool:
    """A structural fault is named, asked about once, and never kept."""
    tavern.scene(answer)
    tavern.answers = [answer]
    (scene,) = tavern.story.scenes()
    return scene.made_by == "builtin" and 2 <= len(tavern.asked) <= MAX_CALLS and tavern.story.lore() == []


def warned(tavern: Tavern) -> bool:
    tavern.scene(memory_of("Alice, a tall woman with red hair and green eyes, has a confident manner.", GRIM))
    made = [one.made for one in tavern.story.log() if one.made.kind is Kind.SCENE]
    first, kept = made
    once_more = first.reason.startswith("asked for once more: summary describes") and len(tavern.asked) == 2
    return once_more and kept.made_by == "model" and "summary describes" in kept.reason


def exported(tavern: Tavern) -> bool:
    tavern.scene(memory_of("One.", GRIM))
    (entry,) = tavern.story.lore()
    told = {"name": entry.name, "type": entry.type, "keywords": list(entry.keywords), "content": entry.content}
    return told == GRIM


def fewer_tokens(tavern: Tavern) -> bool:
    tavern.story.set(["timeline=scenes"])
    for _ in range(6):
        tavern.tell(6, "They talk of bandits, of the weather and of the road to the ruins for a long while, {}.")
        tavern.story.fold()
    raw = sum(estimate_tokens(item.entry.message.text) for item in tavern.story.messages())
    return tavern.story.view(raw // 2).left_out == ()


def a_scene_without_entries(tavern: Tavern) -> bool:
    tavern.scene('{"summary": "They drank."}')
    (scene,) = tavern.story.scenes()
    return (scene.summary, scene.entries, scene.made_by) == ("They drank.", (), "model")


def pruned_without_the_timeline(tavern: Tavern) -> bool:
    tavern.story.set(["timeline=scenes"])
    tavern.scene(memory_of("Alice met Grim.", GRIM))
    tavern.tell(3)
    tavern.story.fold()
    tavern.story.remove_lore("Grim")
    return "Alice met Grim." in tavern.shown() and "Gruff dwarf" not in tavern.ask("Ask Grim.")


BEHAVIOUR: dict[str, Callable[[Tavern], bool]] = {
    "a scene ends by command": by_command,
    "a scene ends after so many messages": by_count,
    "a scene ends where the text says so": by_its_end,
    "the newest messages are no scene yet": never_in_the_tail,
    "a scene may end by command only": only_by_command,
    "a memory has a summary and lorebooks": two_fields,
    "both are counted": both_counted,
    "lorebooks are optional": a_scene_without_entries,
    "a keyword brings an entry up": triggered,
    "without it the entry takes no room": not_triggered,
    "but of a person one line says who they are, in a large view": a_person_is_one_line,
    "only recent messages trigger": triggered_nearby_only,
    "why an entry fired, or did not": why,
    "entries keep within their share": within_its_share,
    "recent summaries are the timeline, in order": recent_summaries,
    "nothing is told twice": no_second_timeline,
    "combining sends the summaries only": summaries_only,
    "combining gives back a timeline, not JSON": a_string_comes_back,
    "entries outlive combining": entries_outlive_combining,
    "one thing has one entry, and an update replaces it": merged_by_name,
    "another type corrects the entry": the_type_is_corrected,
    "a known entry that the scene names is shown whole": known_entries_are_shown_whole,
    "known entries are told to the next scene": known_names_are_told,
    "a status change is told as how things stand": status_changes_are_current,
    "a structural fault is named and mended": repaired,
    "a summary that is no string is refused": lambda tavern: _refused(tavern, '{"summary": {"text": "a"}}'),
    "a summary over 500 tokens is refused": lambda tavern: _refused(tavern, memory_of("They drank ale. " * 400)),
    "an entry without content is refused": lambda tavern: _refused(
        tavern, memory_of("One.", {"name": "Grim", "type": "character", "keywords": ["Grim"]})
    ),
    "the same name and type twice is refused": lambda tavern: _refused(tavern, memory_of("One.", GRIM, GRIM)),
    "a description in the summary is asked about once, and then warned of": warned,
    "entries can be exported with their keywords": exported,
    "a long timeline takes few tokens": fewer_tokens,
    "an entry can be pruned without losing the timeline": pruned_without_the_timeline,
}


@pytest.mark.parametrize("sentence", BEHAVIOUR)
def test_behaviour(sentence: str, tavern: Tavern) -> None:
    assert BEHAVIOUR[sentence](tavern)


def test_a_scene_ends_only_once_at_a_message(tavern: Tavern) -> None:
    tavern.scene()
    with pytest.raises(BadInput, match="already"):
        tavern.story.end_scene(2)


def test_defect_1_a_scene_in_which_nothing_is_new_is_kept_and_not_asked_again(tavern: Tavern) -> None:
    nothing = memory_of("They drank.", open_threads=[], resolved_threads=[], state_changes=[])
    tavern.scene(nothing)
    assert len(tavern.asked) == 1
    assert tavern.story.fold().folds == ()
    assert len(tavern.asked) == 1


@pytest.mark.parametrize("broken", ["", "{", "[[[[", '{"summary": 3}', '{"summary": "a", "lorebooks": "b"}', "no"])
def test_defect_2_what_cannot_be_judged_is_never_kept(tavern: Tavern, broken: str) -> None:
    tavern.scene(broken)
    (scene,) = tavern.story.scenes()
    assert scene.made_by == "builtin"
    refused = [one.made for one in tavern.story.log() if one.made.status == "refused"]
    assert refused
    assert all(one.reason for one in refused)


def test_defect_3_making_all_anew_reads_no_scene_twice(tavern: Tavern) -> None:
    tavern.story.set(["timeline=scenes"])
    for number in range(3):
        tavern.scene(memory_of(f"Event {number} happened at the tavern."))
    tavern.tell(3)
    tavern.story.fold()
    before = tavern.shown()
    tavern.answers = [memory_of(f"Event {number} happened at the tavern.") for number in (0, 1, 2, 0, 1, 2)]
    tavern.story.rebuild()
    assert len(tavern.asked) == 6
    for request in tavern.asked[3:]:
        assert len(re.findall(r"Ruinous drinks, \d+\.", request.user)) == 3, "a scene reads its own messages"
        assert "Event" not in part(request, "noted")
    recap = tavern.story.recap()
    assert recap is not None
    assert [recap.text.count(f"Event {number} ") for number in range(3)] == [1, 1, 1]
    assert tavern.shown() == before


def test_defect_4_sizes_hold(tavern: Tavern) -> None:
    tavern.story.set(["timeline=scenes"])
    wordy = " ".join(f"Owns boat {number} of the northern fleet." for number in range(60))
    for number in range(8):
        tavern.scene(memory_of(f"They drank for the {number}th time.", {**GRIM, "content": wordy}))
    assert estimate_tokens(tavern.grim().content) <= MOST_CONTENT_TOKENS
    for scene in tavern.story.scenes():
        assert estimate_tokens(scene.summary) <= MOST_SUMMARY_TOKENS


def test_defect_5_a_setting_has_one_default() -> None:
    assert Settings().scene_messages == DEFAULTS["scene_messages"] == Settings.of("roleplay").scene_messages


def test_summaries_and_entries_follow_an_edit() -> None:
    for tavern in opened(replace(RULES, timeline="scenes")):
        tavern.scene(memory_of("Alice met Bob.", GRIM), memory_of("Two."), memory_of("Alice met Carol."))
        tavern.scene()
        tavern.tell(3)
        tavern.story.fold()
        assert "Gruff dwarf" in tavern.ask("Ask Grim.")
        tavern.story.edit(1, "They do not drink.")
        tavern.story.fold()
        shown = tavern.ask("And Grim?")
        assert "Alice met Carol." in shown
        assert "Alice met Bob." not in shown
        assert "Gruff dwarf" not in shown, "what only the old words left behind is gone with them"
