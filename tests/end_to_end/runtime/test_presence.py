"""Who was present: as it is shown, as people correct it, and what follows from it."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import suppress

import pytest

from previously import BadInput, BlockingMemory, Settings
from previously.blocking import BlockingStory
from previously.core.cast import Fact
from previously.core.presence import PresenceSource
from previously.memory.attendance import find_attendance
from previously.story import presence
from tests.effort import cases
from tests.end_to_end.runtime.truthful import Truthful

PEOPLE = ("Maya", "Bram", "Odalys")
SETTINGS = Settings.of("roleplay", tail_messages=2, fold_messages=4, recap_words=60, lore="on")


class Told:
    """A story of twelve messages: all three are there, then Maya and Bram, then Bram and Odalys."""

    def __init__(self, story: BlockingStory, model: Truthful) -> None:
        self.story, self.model = story, model
        there = (PEOPLE, PEOPLE[:2], PEOPLE[1:])
        for number in range(12):
            scene = there[number // 4]
            word = f"Qu{'abcdefghijkl'[number]}badab"
            model.present[word] = frozenset(scene)
            text = f"I hid {word} by the Ferry."
            story.add("assistant", text if number % 4 != 3 else f"{text}\n\n***", name=scene[number % len(scene)])

    def who(self, position: int) -> tuple[set[str] | None, PresenceSource]:
        (one,) = [one for one in self.story.presence() if position in one.span]
        return None if one.names is None else set(one.names), one.source

    def finds(self, name: str) -> set[int]:
        return {hit.position for hit in self.story.search("Ferry", witness=name, top=50)}


@pytest.fixture
def told() -> Iterator[Told]:
    model = Truthful(random.Random(1), {})
    with BlockingMemory(":memory:", settings=SETTINGS, writer=model.writer()) as memory:
        yield Told(memory.story("tale"), model)


def test_who_is_there_now_was_there_at_the_newest_message(told: Told) -> None:
    story = told.story
    assert story.present() == ["Bram", "Odalys"] == sorted(story.presence()[-1].names or ())
    story.leave("Bram")
    assert story.present() == ["Odalys"], "Maya was not in this scene"
    story.add("assistant", "It is quiet.", name="Odalys")
    assert story.presence()[-1].names == ("Odalys",) and story.present() == ["Odalys"]
    assert 12 not in told.finds("Maya") | told.finds("Bram")
    story.enter("Bram")
    assert story.present() == ["Bram", "Odalys"]


def test_whoever_enters_is_there_until_the_scene_ends_though_they_say_nothing(told: Told) -> None:
    story = told.story
    story.leave("Bram")
    story.add("assistant", "I waited by the Ferry.", name="Odalys")
    story.enter("Maya")
    story.enter("Bram")
    for _ in range(3):
        story.add("assistant", "I waited by the Ferry.", name="Odalys")
    assert [told.who(at)[0] for at in (12, 13, 15)] == [{"Odalys"}, set(PEOPLE), set(PEOPLE)]
    story.add("assistant", "***\n\nI slept by the Ferry.", name="Odalys")
    assert told.who(16) == ({"Odalys"}, PresenceSource.INFERRED), "nobody is away: a new scene goes by who speaks"


def test_several_leave_in_turn_and_whoever_speaks_is_there_from_then_on(told: Told) -> None:
    story = told.story
    story.enter("Maya")
    story.leave("Bram")
    story.add("assistant", "One.", name="Odalys")
    story.leave("Odalys")
    story.add("assistant", "Two.", name="Corin")
    story.add("user", "Three.", name="Anna")
    story.leave("Maya")
    story.add("assistant", "Four.", name="Bram")
    story.add("assistant", "Five.")
    given = [set(item.entry.message.witnesses or ()) for item in story.messages()[12:]]
    here = {"Maya", "Corin", "Anna"}
    assert given == [{"Maya", "Odalys"}, here - {"Anna"}, here, here - {"Maya"}, here - {"Maya"}]
    assert story.absent() == ["Bram", "Odalys", "Maya"]
    known = {hit.position for word in ("Four", "Five") for hit in story.search(word, witness="Bram")}
    assert known & set(range(12, 17)) == {15}, "whoever speaks knows what they said, but nobody said that he is back"


def test_what_is_given_says_who_is_there_next_and_what_nobody_heard_does_not(told: Told) -> None:
    story = told.story
    story.leave("Bram")
    story.add("assistant", "One.", name="Odalys", witnesses=["Maya"])
    assert story.present() == ["Maya", "Odalys"]
    story.add("assistant", "An aside.", witnesses=[])
    assert story.present() == ["Maya", "Odalys"]


def test_in_a_duet_whoever_stays_hears_the_rest_alone() -> None:
    with BlockingMemory(":memory:", settings=SETTINGS) as memory:
        story = memory.story("tale")
        story.add("user", "Who is there?", name="Anna")
        story.add("assistant", "I am.", name="Maya Ash")
        story.leave("Maya")
        assert story.present() == ["Anna"] and story.absent() == ["Maya"]
        story.add("user", "She is gone.", name="Anna")
        story.enter("maya ash")
        story.add("user", "She is back.", name="Anna")
        assert [item.entry.message.witnesses for item in story.messages()] == [
            None, None, ("Anna",), ("Anna", "Maya Ash"),
        ]  # fmt: skip
        assert story.present() == ["Anna", "Maya Ash"]


@pytest.mark.parametrize("seed", range(cases(4)))
def test_what_is_said_next_is_said_before_those_who_are_there(told: Told, seed: int) -> None:
    story, chance = told.story, random.Random(seed)
    for number in range(60):
        who = chance.choice((*PEOPLE, "Corin", "Anna"))
        deed = chance.randrange(8)
        with suppress(BadInput):
            if deed < 2:
                (story.leave, story.enter)[deed](who)
        if deed == 2:
            story.end_scene()
        there = story.present()
        given = chance.choice((None, [], [who], list(PEOPLE))) if deed == 3 else None
        text = chance.choice((f"It is {number}.", f"It is {number}.\n\n***", f"***\n\nIt is {number}."))
        story.add("assistant", text, name=who if deed > 5 else None, witnesses=given)
        heard = story.messages()[-1].entry.message.witnesses
        if given is not None or not story.absent():
            continue
        spoke = {who} - set(story.absent()) if deed > 5 else set[str]()
        assert set(heard or ()) == {*there, *spoke}, f"at message {number + 12}"


def test_a_story_is_not_read_again_for_each_message_that_is_added(told: Told, monkeypatch: pytest.MonkeyPatch) -> None:
    story, read = told.story, list[int]()

    def count(*args: object) -> object:
        read.append(1)
        return find_attendance(*args)  # type: ignore[arg-type]

    monkeypatch.setattr(presence, "find_attendance", count)
    story.add("assistant", "Nobody has left.", name="Maya")
    assert not read
    story.leave("Bram")
    read.clear()
    for number in range(8):
        story.add("assistant", f"It is {number}.", name=PEOPLE[number % 3])
    story.add("assistant", "It is late.", name="Maya", witnesses=["Maya"])
    kept = story.present()
    story.add("assistant", "It is later.", name="Maya")
    assert len(read) == 2, "once for what is added, and once for who is there"
    assert kept == ["Maya"] and told.who(22)[0] == {"Maya"}


def test_presence_is_inferred_and_then_noted(told: Told) -> None:
    assert told.who(5) == ({"Maya", "Bram"}, PresenceSource.INFERRED)
    told.story.fold()
    assert told.who(5) == ({"Maya", "Bram"}, PresenceSource.NOTED)
    assert told.who(11) == ({"Bram", "Odalys"}, PresenceSource.INFERRED)
    assert told.finds("Maya") == set(range(8)) and told.finds("Odalys") == {0, 1, 2, 3, 8, 9, 10, 11}


def test_what_a_person_says_stands_before_what_is_noted_and_can_be_taken_back(told: Told) -> None:
    told.story.fold()
    told.story.set_presence(5, 6, ["Odalys"])
    assert told.who(5) == ({"Odalys"}, PresenceSource.BY_HAND)
    assert told.finds("Odalys") == {0, 1, 2, 3, 5, 6, 8, 9, 10, 11}
    assert told.finds("Maya") == set(range(8)) - {5, 6}, "one writer may speak for several people"
    told.story.set_presence(-7, -6, [])
    assert told.who(6) == (set(), PresenceSource.BY_HAND)
    told.story.set_presence(6, 6, None)
    assert told.who(6) == (None, PresenceSource.BY_HAND) and told.who(5) == (set(), PresenceSource.BY_HAND)
    assert str(told.story.unset_presence(6)) == "message 6"
    assert str(told.story.unset_presence(6)) == "messages 5-6"
    assert told.who(6) == ({"Odalys"}, PresenceSource.BY_HAND)
    assert "taken back" not in told.story.undo(), "taking back is undone first"
    assert told.who(6) == (set(), PresenceSource.BY_HAND)


def test_undo_takes_a_correction_back_at_once(told: Told) -> None:
    told.story.fold()
    told.story.set_presence(5, 6, ["Odalys"])
    assert told.story.undo() == "who was present at messages 5-6"
    assert told.who(5)[1] is told.who(6)[1] is PresenceSource.NOTED


def test_a_correction_moves_with_its_messages_and_follows_the_branch(told: Told) -> None:
    story = told.story
    story.set_presence(5, 7, ["Odalys"])
    story.branch("other", 6)
    story.edit(6, "I hid nothing by the Ferry.")
    story.delete(0)
    story.insert(5, "assistant", "A bell rang.")
    assert [told.who(at)[1] is PresenceSource.BY_HAND for at in range(3, 9)] == [False, True, True, True, True, False]
    story.delete(4)
    left = [told.who(at)[1] is PresenceSource.BY_HAND for at in range(3, 8)]
    assert left == [False, True, True, True, False], "its first message is gone"
    story.switch("other")
    story.add("assistant", "I hid more by the Ferry.", name="Maya")
    assert [told.who(at)[1] is PresenceSource.BY_HAND for at in range(4, 8)] == [False, True, True, False]


def test_bad_stretches_and_names_are_refused(told: Told) -> None:
    for first, last, names, why in (
        (7, 3, [], "comes after"),
        (0, 99, [], "no message at position 99"),
        (0, 1, [" "], "needs a name"),
        (0, 1, ["x" * 101], "needs a name"),
    ):
        with pytest.raises(BadInput, match=why):
            told.story.set_presence(first, last, names)
    with pytest.raises(BadInput, match="Nobody said by hand who was present at message 4"):
        told.story.unset_presence(4)


def test_a_correction_takes_back_what_rested_on_it(told: Told) -> None:
    story = told.story
    story.fold()
    view = str(story.view(4_000, reader="character:Maya"))
    assert "Qufbadab" in view and "Qujbadab" not in view
    assert any("Qufbadab" in fact.text for fact in _facts(story, "Maya"))
    assert [row.name for row in story.who_knows("Qufbadab")] == ["Bram", "Maya"]
    story.set_presence(4, 7, ["Odalys"])
    assert "Qufbadab" not in str(story.view(4_000, reader="character:Maya")), "Bram said it"
    assert [row.name for row in story.who_knows("Qufbadab")] == ["Odalys"]
    assert any("Qufbadab" in fact.text for fact in _facts(story, "Odalys"))
    story.undo()
    assert "Qufbadab" in str(story.view(4_000, reader="character:Maya"))


def test_who_knows_says_since_when_and_from_where(told: Told) -> None:
    told.story.fold()
    rows = {row.name: row for row in told.story.who_knows("Qufbadab")}
    fact = rows["Maya"].facts[0]
    assert (fact.since, fact.source) == (5, "witnessed")
    assert "Odalys" not in rows


def test_whoever_nobody_has_heard_of_reads_nothing(told: Told) -> None:
    with pytest.raises(BadInput, match="Nobody called 'Cleo' takes part in this story; there are Bram, Maya, Odalys"):
        told.story.view(reader="character:Cleo")
    with pytest.raises(BadInput, match="Nobody called 'Cleo'"):
        told.story.search("Ferry", witness="Cleo")
    with pytest.raises(BadInput, match="Nobody called 'Cleo'"):
        told.story.explain_lore("memory:Cleo")


def test_in_a_duet_everybody_knows_all_and_is_shown_the_recap() -> None:
    model = Truthful(random.Random(1), {})
    with BlockingMemory(":memory:", settings=SETTINGS, writer=model.writer()) as memory:
        story = memory.story("tale")
        for number in range(12):
            word = f"Qu{'abcdefghijkl'[number]}badab"
            model.present[word] = frozenset(PEOPLE[:2])
            story.add("assistant", f"I hid {word} by the Ferry.", name=PEOPLE[number % 2])
        assert {one.source for one in story.presence()} == {PresenceSource.EVERYBODY}
        story.fold()
        assert "# Previously in this story" in str(story.view(4_000, reader="character:Maya"))
        story.add("assistant", "Who is there?", name="Odalys")
        assert "# Previously in this story" not in str(story.view(4_000, reader="character:Odalys"))


def test_a_correction_that_names_somebody_leaves_them_the_recap() -> None:
    model = Truthful(random.Random(1), {})
    with BlockingMemory(":memory:", settings=SETTINGS, writer=model.writer()) as memory:
        story = memory.story("tale")
        for number in range(12):
            word = f"Qu{'abcdefghijkl'[number]}badab"
            model.present[word] = frozenset(PEOPLE[:2])
            story.add("assistant", f"I hid {word} by the Ferry.", name=PEOPLE[number % 2])
        story.fold()
        recap = "# Previously in this story"
        story.set_presence(2, 3, ["Maya", "Bram"])
        assert recap in str(story.view(4_000, reader="character:Maya"))
        story.set_presence(4, 5, None)
        assert recap in str(story.view(4_000, reader="character:Maya"))
        story.set_presence(6, 6, ["Bram"])
        assert recap not in str(story.view(4_000, reader="character:Maya"))
        assert recap in str(story.view(4_000, reader="character:Bram"))
        story.delete(6)
        assert recap not in str(story.view(4_000, reader="character:Maya")), "it may tell of what is gone"


def test_the_cast_is_people_alone(told: Told) -> None:
    told.model.present["Quabadab"] = frozenset((*PEOPLE, "Game Master", "the Wardens"))
    told.story.write_lore("the Wardens", "faction", content="They keep the ferry.")
    told.story.fold()
    assert [one.name for one in told.story.cast()] == sorted(PEOPLE)


def test_what_a_view_tells_of_the_world_is_not_told_twice(told: Told) -> None:
    told.story.write_lore("Lantern Rule", "rule", content="No lantern is lit after dusk.")
    told.story.fold()
    view = told.story.view(4_000, reader="character:Maya")
    assert "".join(message.text for message in view.messages).count("No lantern is lit after dusk.") == 1


def _facts(story: BlockingStory, name: str) -> tuple[Fact, ...]:
    (one,) = [one for one in story.cast() if one.name == name]
    return one.knowledge.facts
