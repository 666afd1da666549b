"""threads, state, cast, who-knows, presence, scene, scenes, analyze; and what show, fold and log say of them."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from previously.blocking import BlockingMemory
from previously.core.cast import MOST_FACTS
from previously.core.digests import span_key
from previously.core.marks import SPAN_SCOPE
from previously.core.messages import Draft, message
from previously.core.model_io import ModelRequest
from previously.core.note import Aspect, Note, StateItem, WishItem, render_note
from previously.core.path import Span
from previously.core.versions import Kind, NewVersion, Status
from previously.testing.model import ScriptedModel
from tests.end_to_end.cli.running import Cli
from tests.end_to_end.cli.test_cli_lore import scripted
from tests.end_to_end.runtime.echoing import part

LINES = (
    ("assistant", "Narrator", "Rain fell on the mill all night.", None),
    ("user", "Ines", "Bram, where is the brass key?", ["Ines", "Bram"]),
    ("assistant", "Bram", "I hid the brass key under the third stair, Ines.", ["Ines", "Bram"]),
    ("assistant", "Maya", "I promise to mend the mill wheel before Friday.", None),
    ("user", "Ines", "Maya, you owe the miller forty crowns.", None),
    ("assistant", "Bram", "Bram went to the harbour.", None),
    ("assistant", "Maya", "The wheel turned again at noon.", None),
    ("user", "Ines", "Then we wait for Bram.", None),
    ("assistant", "Maya", "The rain has stopped.", None),
    ("user", "Ines", "Good night, Maya.", None),
)
SMALL = (
    "timeline=scenes", "tail_messages=2", "scene_messages=8", "fold_messages=8", "recap_words=40", "chapter_messages=0",
)  # fmt: skip
THREAD = {
    "id", "number", "text", "status", "due", "owner", "opened", "touched", "resolved", "outcome", "by", "earlier",
    "suggestions",
}  # fmt: skip
EVERY = [
    ("threads", "{}"), ("threads", "add", "{}", "x"), ("threads", "settle", "{}", "x"), ("state", "{}"),
    ("state", "add", "{}", "x"), ("cast", "{}"), ("cast", "show", "{}", "Maya"), ("who-knows", "{}", "key"),
    ("presence", "{}"), ("presence", "{}", "--leave", "Maya"), ("scenes", "add", "{}"), ("scenes", "{}"),
    ("analyze", "{}"),
    ("analyze", "{}", "0"), ("show", "{}", "--gaps"),
]  # fmt: skip


def noted(request: ModelRequest) -> str:
    """What a model notes of these lines: of each character only what its question holds."""
    if request.schema is None:
        told = "Maya promised to mend the mill wheel before Friday and owed the miller forty crowns."
        return f"Bram hid the brass key. {told}"
    fields = request.schema["properties"]
    if "lorebooks" in fields:
        told = "Maya promised to mend the mill wheel before Friday."
        return json.dumps({"summary": told, "lorebooks": [], "open_threads": [told]})
    if "add" in fields:
        seen = "Bram hid the brass key under the third stair." if "brass key" in request.user else "The wheel turned."
        return json.dumps({"summary": f"{seen} It rained. They wait.", "add": [seen], "remove": [], "update": []})
    return json.dumps({"summary_update": part(request, "fragment")})


@pytest.fixture(scope="module")
def folded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A story of three people in which not all were there for everything, folded by a model."""
    path = tmp_path_factory.mktemp("standing") / "stories.db"
    with BlockingMemory(path, model=ScriptedModel(noted)) as memory:
        story = memory.story("tale")
        story.add_drafts([Draft(message(role, text, speaker=who, witnesses=seen)) for role, who, text, seen in LINES])
        story.set(SMALL)
        story.fold()
    return path


@pytest.fixture
def told(cli: Cli, folded: Path) -> Cli:
    """Commands on a copy of that story."""
    shutil.copy(folded, cli.db)
    return cli


def threads(cli: Cli, *options: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = cli("threads", "tale", *options, "--json").json["threads"]
    return found


def shown(cli: Cli) -> dict[str, Any]:
    found: dict[str, Any] = cli("show", "tale", "--json").json
    return found


@pytest.mark.parametrize("command", EVERY, ids=" ".join)
def test_an_unknown_story_is_one_sentence_and_is_not_begun(cli: Cli, command: tuple[str, ...]) -> None:
    arguments = ["nowhere" if argument == "{}" else argument for argument in command]
    for form in ((), ("--json",)):
        assert "no story named 'nowhere'" in cli.fails(2, *arguments, *form)
    assert cli.stories() == []


@pytest.mark.parametrize(
    ("command", "said", "empty"),
    [
        (("threads", "tale"), "Nothing is known to be open", {"threads": []}),
        (("threads", "tale", "--all"), "No thread is known", {"threads": []}),
        (("state", "tale"), "Nothing is known of how things stand yet: that comes from a model", {"state": []}),
        (("wishes", "tale"), "No wish is noted", {"wishes": []}),
        (("who-knows", "tale", "the", "moon"), "Nobody is known to know of that", {"query": "the moon", "knows": []}),
        (("scenes", "tale"), "No scene is noted yet", {"scenes": []}),
        (("show", "tale", "--gaps"), "There are no gaps", {"gaps": []}),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else None,
)
def test_empty_states(tale: Cli, command: tuple[str, ...], said: str, empty: dict[str, Any]) -> None:
    ran = tale(*command)
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.startswith(said)
    assert tale(*command, "--json").json == {"story": "tale", **empty}


def test_a_story_without_names_has_neither_cast_nor_presence(cli: Cli) -> None:
    cli("add", "tale", "--role", "user", "--text", "Hello.")
    assert cli("cast", "tale").out.startswith("Nothing is noted of what anybody knows yet: that comes from a model")
    assert cli("cast", "tale", "--json").json == {"story": "tale", "cast": []}
    assert cli("presence", "tale").out == (
        "Nobody in this story has a name yet: names come with messages "
        "(`previously add tale --role user --name NAME --text TEXT`).\n"
    )
    assert "no character 'Maya' in this story; there is none." in cli.fails(2, "cast", "show", "tale", "Maya")
    assert cli("presence", "tale", "--enter", "Maya").out.startswith("There: Maya.\n")


def test_what_is_open_is_listed(told: Cli) -> None:
    found = threads(told)
    assert all(set(one) == THREAD for one in found)
    promise = next(one for one in found if "mend the mill wheel" in one["text"])
    assert (promise["status"], promise["resolved"], promise["outcome"]) == ("open", None, None)
    people = told("threads", "tale").out
    assert people.splitlines()[0].split() == ["status", "thread", "whose", "due", "since", "by"]
    assert "mend the mill" in " ".join(people.split())
    assert shown(told)["threads"] == found
    assert "# Still open" in told("view", "tale", "--json").json["messages"][0]["content"]


def test_threads_by_hand_stand_whatever_is_folded_and_can_be_undone(told: Cli) -> None:
    before = threads(told, "--all")
    ran = told("threads", "add", "tale", "Who lit  the lamp?", "--due", "within 3 days", "--json")
    mine = ran.json["threads"][0]
    assert (mine["text"], mine["due"], mine["by"], mine["opened"]) == (
        "Who lit the lamp?",
        "within 3 days",
        "person",
        9,
    )
    assert ran.json["added"] == "Who lit  the lamp?"
    for _ in range(2):
        for role, who, text, seen in LINES:
            told(
                "add",
                "tale",
                "--role",
                role,
                "--name",
                who,
                "--text",
                text,
                *(f"--witness={one}" for one in seen or ()),
            )
    assert told("fold", "tale", "--json").json["folds"]
    assert threads(told)[0]["text"] == "Who lit the lamp?"
    settled = told("threads", "settle", "tale", "the LAMP")
    assert settled.out == "Settled: Who lit the lamp? (within 3 days)\n"
    assert "Who lit the lamp?" not in [one["text"] for one in threads(told)]
    (resolved,) = [one for one in threads(told, "--all") if one["text"] == "Who lit the lamp?"]
    assert resolved["status"] == "resolved"
    assert "Who lit the lamp?" not in [one["text"] for one in shown(told)["threads"]], "what is settled is not shown"
    assert "settling the thread" in told("undo", "tale").out
    assert "Who lit the lamp?" in [one["text"] for one in threads(told)]
    assert len(threads(told, "--all")) >= len(before)


def test_how_things_stand(told: Cli) -> None:
    found = told("state", "add", "tale", "Maya / place: the mill", "--json").json["state"]
    value = {"thing": "Maya", "aspect": "place", "value": "the mill"}
    assert found == [{**value, "text": "Maya / place: the mill", "since": 9, "by": "person"}]
    told("state", "add", "tale", "Maya / place: the tower")
    assert [one["text"] for one in shown(told)["state"]] == ["Maya / place: the tower"], "somebody is at one place"
    told("state", "add", "tale", "It rains.")
    system = told("view", "tale", "--json").json["messages"][0]["content"]
    assert "# As things stood before the messages below\n- It rains.\n- Maya / place: the tower" in system
    assert "the tower" in told("state", "tale").out
    told("undo", "tale")
    told("undo", "tale")
    assert [one["text"] for one in shown(told)["state"]] == ["Maya / place: the mill"]
    ended = told("state", "remove", "tale", "the MILL", "--json")
    assert (ended.json["removed"], ended.json["state"]) == ("Maya / place: the mill", [])


def test_threads_are_reworded_and_opened_again(told: Cli) -> None:
    told("threads", "add", "tale", "Who lit the lamp?")
    ran = told("threads", "edit", "tale", "the lamp", "--text", "Who lit the lamp, and why?", "--json")
    assert ran.json["edited"] == "Who lit the lamp, and why?"
    mine = ran.json["threads"][0]
    assert (mine["text"], mine["earlier"]) == ("Who lit the lamp, and why?", ["Who lit the lamp?"])
    told("threads", "settle", "tale", mine["id"])
    assert "Who lit the lamp, and why?" not in [one["text"] for one in threads(told)]
    assert told("threads", "reopen", "tale", "and why").out == "Open again: Who lit the lamp, and why?\n"
    assert threads(told)[0]["id"] == mine["id"]
    assert "nothing to change" in told.fails(2, "threads", "edit", "tale", "lamp")
    assert "No settled thread says 'the moon'" in told.fails(2, "threads", "reopen", "tale", "the moon")


def test_wishes_are_listed_reworded_and_withdrawn(told: Cli) -> None:
    note = Note(wishes=(WishItem("Keep the fights short.", 0), WishItem("Not said by a player.", 1)))
    told("set", "tale", "timeline=recap")
    keep_note(told, 4, 5, note)
    (wish,) = told("wishes", "tale", "--json").json["wishes"]
    assert wish == {"id": wish["id"], "text": "Keep the fights short.", "position": 4}
    assert "# The players and what they asked for\n- Keep the fights short." in system_of(told)
    ran = told("wishes", "edit", "tale", "fights", "--text", "No fights.", "--json")
    assert (ran.json["edited"], [one["text"] for one in ran.json["wishes"]]) == ("No fights.", ["No fights."])
    assert told("wishes", "remove", "tale", wish["id"]).out == "Withdrawn: No fights.\n"
    assert shown(told)["wishes"] == []
    assert "the wish" in told("undo", "tale").out
    assert [one["text"] for one in shown(told)["wishes"]] == ["No fights."]
    assert "No wish says 'the moon'" in told.fails(2, "wishes", "remove", "tale", "the moon")
    told("undo", "tale")
    told("edit", "tale", 4, "--text", "Something else.")
    assert shown(told)["wishes"] == [], "what was noted goes with its message"


def system_of(cli: Cli) -> str:
    return str(cli("view", "tale", "--json").json["messages"][0]["content"])


def keep_note(cli: Cli, first: int, last: int, note: Note) -> None:
    """Keep a note of an update, as a fold does."""
    with BlockingMemory(cli.db) as memory:
        story = memory.story("tale")
        run = story.messages(first, last)
        digests = [item.entry.digest for item in run]
        version = NewVersion(
            Kind.NOTE, SPAN_SCOPE, Span(first, last), span_key(digests), None, render_note(note), "", Status.COMMITTED,
            "model", "", "2026-01-01", anchor=run[-1].node, reach=len(run), first=digests[0],
        )  # fmt: skip
        inner = story._inner
        story._run(inner._access.change(lambda change: change.tables.versions.commit(change.key, version)))


def test_what_each_character_knows(told: Cli) -> None:
    found = {one["name"]: one for one in told("cast", "tale", "--json").json["cast"]}
    assert set(found) == {"Bram", "Maya"}, "players and narrators keep no memory of their own"
    assert all(set(one) == {"name", "summary", "facts", "stale"} for one in found.values())
    assert all(set(fact) == {"text", "since", "source"} for one in found.values() for fact in one["facts"])
    assert "brass key" in json.dumps(found["Bram"])
    assert "brass key" not in json.dumps(found["Maya"]), "Maya was not there"
    assert told("cast", "show", "tale", "bram", "--json").json == {"story": "tale", **found["Bram"]}
    assert "no character 'Ines' in this story; there are Bram, Maya." in told.fails(2, "cast", "show", "tale", "Ines")
    assert [line for line in told("cast", "tale").out.splitlines() if line.startswith(("Bram (", "Maya ("))]
    people = told("cast", "show", "tale", "Bram").out
    assert people.startswith("Bram\n")
    assert "witnessed  message 7" in people
    assert [one["name"] for one in shown(told)["cast"]] == ["Bram", "Maya"]


def test_show_tells_all_facts_and_not_only_the_key_facts(cli: Cli) -> None:
    many = 2 * MOST_FACTS
    with BlockingMemory(cli.db) as memory:
        story = memory.story("tale")
        for number in range(many):
            story.add("assistant", f"Crate {number} is in the mill.", name=("Bram", "Maya")[number % 2])
    state = tuple(StateItem(f"Crate {number}", Aspect.PLACE, "the mill", number) for number in range(many))
    keep_note(cli, 0, many - 1, Note(state=state))
    listed = {one["name"]: one for one in cli("cast", "list", "tale", "--json").json["cast"]}
    assert len(listed["Bram"]["facts"]) == MOST_FACTS, "a list has the key facts"
    assert f"Bram ({many} facts)" in cli("cast", "list", "tale").out
    facts = [fact["text"] for fact in cli("cast", "show", "tale", "Bram", "--json").json["facts"]]
    assert sorted(facts) == sorted(f"Crate {number} / place: the mill" for number in range(many))
    people = cli("cast", "show", "tale", "Bram").out
    assert [fact for fact in facts if fact not in people] == []


def test_who_knows(told: Cli) -> None:
    found = told("who-knows", "tale", "brass", "KEY", "--json").json
    assert found["query"] == "brass KEY"
    assert [one["name"] for one in found["knows"]] == ["Bram"]
    assert all(set(one) == {"name", "facts", "sentences"} for one in found["knows"])
    people = told("who-knows", "tale", "brass", "key").out.splitlines()
    assert people[0].split() == ["who", "knows", "source", "since"]
    assert all(line.startswith(("Bram", " ")) for line in people[2:])
    assert "Missing argument" in told.fails(2, "who-knows", "tale")
    assert told.fails(2, "who-knows", "tale", " ") == "Say what somebody may know of."


def test_presence_holds_from_the_next_message_on(told: Cli) -> None:
    assert told("presence", "tale", "--json").json["present"] == ["Bram", "Ines", "Maya"]
    gone = told("presence", "tale", "--leave", "maya", "--json").json
    assert (gone["absent"], gone["present"]) == (["maya"], ["Bram", "Ines"])
    assert "maya has left already." in told.fails(2, "presence", "tale", "--leave", " maya ")
    told("add", "tale", "--role", "assistant", "--name", "Bram", "--text", "The ledger is in the loft.")
    assert "ledger" not in json.dumps(told("view", "tale", "--reader", "character:Maya", "--json").json["messages"])
    assert "ledger" in json.dumps(told("view", "tale", "--reader", "character:Bram", "--json").json["messages"])
    people = told("presence", "tale", "--enter", "Maya")
    assert people.out.splitlines()[:2] == ["There: Bram, Ines, Maya.", "Not there: nobody."]
    assert "Bram is there already." in told.fails(2, "presence", "tale", "--enter", "Bram")
    assert "needs a name" in told.fails(2, "presence", "tale", "--leave", " ")
    assert "that Maya came back" in told("undo", "tale").out
    assert told("presence", "tale", "--json").json["absent"] == ["maya"]


def test_presence_is_shown_by_stretch_and_corrected(told: Cli) -> None:
    stretches = told("presence", "tale", "--json").json["stretches"]
    assert stretches[0]["span"][0] == 0 and {one["source"] for one in stretches} <= {"given", "inferred", "everybody"}
    done = told("presence", "tale", "--set", "1-2", "Bram", "Cleo", "--json")
    assert {"span": [1, 2], "names": ["Bram", "Cleo"], "source": "by hand"} in done.json["stretches"]
    assert "Set for messages 1-2. Not heard of before: Cleo." in done.err
    assert "by hand" in told("presence", "tale").out
    assert told("presence", "tale", "--set", "2", "--json").json["stretches"][2]["names"] == []
    everybody = told("presence", "tale", "--set", "-1", "--everybody", "--json").json["stretches"][-1]
    assert (everybody["names"], everybody["source"]) == (None, "by hand")
    assert "Taken back for message 2." in told("presence", "tale", "--unset", "2").err
    assert told("undo", "tale").out
    assert "is no stretch" in told.fails(2, "presence", "tale", "--set", "first")
    assert "ends before it begins" in told.fails(2, "presence", "tale", "--set", "3-1")
    assert "no message at position 999" in told.fails(2, "presence", "tale", "--set", "0-999", "Bram")
    assert "give those with --set" in told.fails(2, "presence", "tale", "Bram")
    assert "Either everybody" in told.fails(2, "presence", "tale", "--set", "1", "Bram", "--everybody")
    assert "Nobody called 'Zoe' takes part" in told.fails(2, "view", "tale", "--reader", "character:Zoe")
    assert "Nobody called 'Zoe' takes part" in told.fails(2, "search", "tale", "rain", "--as", "Zoe")


def test_scenes_are_listed_and_ended_by_hand(told: Cli) -> None:
    (first,) = told("scenes", "tale", "--json").json["scenes"]
    assert set(first) == {"scene", "span", "summary", "lorebooks", "made_by", "version"}
    assert (first["scene"], first["span"], first["made_by"]) == (1, [0, 7], "model")
    assert shown(told)["scenes"] == [first]
    assert told("scenes", "tale").out.startswith("Scene 1 (messages 0-7, by model)\n")
    assert told("scenes", "add", "tale", "--json").json == {"story": "tale", "position": 9}
    assert "A scene ends with message 9 already." in told.fails(2, "scenes", "add", "tale")
    assert "no message at position 99" in told.fails(2, "scenes", "add", "tale", "--at", 99)
    folds = told("fold", "tale", "--json").json["folds"]
    assert [8, 9] in [one["span"] for one in folds if one["kind"] == "scene"]
    assert [one["span"] for one in shown(told)["scenes"]] == [[0, 7], [8, 9]]
    assert told("scenes", "add", "tale", "--at", -6).out == "The scene ends with message 4. The next fold notes it.\n"
    told("fold", "tale")
    assert [one["span"] for one in shown(told)["scenes"]] == [[0, 4], [5, 7], [8, 9]]


def test_folds_of_every_kind_are_told_in_words(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    scripted(monkeypatch, noted)
    cli.tell("other", 1)
    with BlockingMemory(cli.db) as memory:
        story = memory.story("tale")
        story.add_drafts([Draft(message(role, text, speaker=who, witnesses=seen)) for role, who, text, seen in LINES])
        story.set(["timeline=librarian", *SMALL[1:]])
    plan = cli("fold", "tale", "--plan", "-v").out
    assert "Message 0 would be analysed (a new fragment)" in plan
    ran = cli("fold", "tale", "-v").out
    for words in (
        "Message 0 analysed (a new fragment)", "Messages 0-7 noted as a scene (a scene is over",
        "noted as what bram knows", "noted as what maya knows", "folded into the recap",
    ):  # fmt: skip
        assert words in ran
    assert "@" not in ran
    log = cli("log", "tale").out
    assert "cast of bram" in log
    assert "@" not in log


def test_analyses(cli: Cli) -> None:
    cli.tell("tale", 6)
    cli("set", "tale", "preset=novel", "apply_after=2")
    gaps = cli("show", "tale", "--gaps", "--json").json["gaps"]
    assert gaps == [{"position": at, "reason": "missing_analysis"} for at in range(4)]
    assert cli("show", "tale", "--gaps").out.startswith("Message 0: it has no analysis yet (missing_analysis).\n")
    one = cli("analyze", "tale", "-5", "--json").json
    assert [(fold["kind"], fold["span"]) for fold in one["folds"]] == [("analysis", [1, 1])]
    (analysis,) = one["analyses"]
    assert (analysis["position"], analysis["mentions"]) == (1, [])
    assert analysis["summary_update"].startswith("#1 Orla: “")
    assert {"summary_update", "events", "state_changes", "open_threads", "resolved_threads", "contradictions"} < set(
        analysis
    )
    assert len(cli("analyze", "tale", "--json").json["analyses"]) == 5
    assert cli("show", "tale", "--gaps", "--json").json["gaps"] == []
    assert cli("analyze", "tale").out == "Nothing was left to analyse; --again makes analyses anew.\n"
    people = cli("analyze", "tale", "2").out
    assert people.startswith("Message 2\n")
    assert "no message at position 9" in cli.fails(2, "analyze", "tale", "9")
    assert "'x' is not a position" in cli.fails(2, "analyze", "tale", "x")


def test_an_analysis_can_be_asked_for_again(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    words = iter(("first", "second"))

    def reply(_: ModelRequest) -> str:
        return json.dumps({"summary_update": f"Orla sold two sheep, said the {next(words)} time."})

    cli.tell("tale", 4)
    model = scripted(monkeypatch, reply)
    made = cli("analyze", "tale", "3", "--json").json
    assert (made["calls"], made["analyses"][0]["summary_update"]) == (1, "Orla sold two sheep, said the first time.")
    assert cli("analyze", "tale", "3", "--json").json["calls"] == 0, "nothing changed"
    again = cli("analyze", "tale", "3", "--again", "--json").json
    assert again["analyses"][0]["summary_update"] == "Orla sold two sheep, said the second time."
    assert len(model.requests) == 2


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("threads", "add", "tale", " "), "Say it in 1 to 500 characters."),
        (("threads", "add", "tale", "x" * 501), "Say it in 1 to 500 characters."),
        (("threads", "tale", "--due", "Friday"), "has no verb 'tale'"),
        (("threads", "settle", "tale", "the moon"), "No open thread says 'the moon'"),
        (("threads", "settle", "tale", ""), "Say it in 1 to 500 characters."),
        (("state", "add", "tale", ""), "Say it in 1 to 500 characters."),
        (("scenes", "add", "tale", "--at", "x"), "'x' is not a position"),
        (("analyze", "tale", "99"), "no message at position 99"),
        (("cast", "show", "tale", " "), "A name must not be empty."),
    ],
    ids=lambda value: " ".join(value)[:40] if isinstance(value, tuple) else None,
)
def test_bad_input_is_one_sentence_and_changes_nothing(told: Cli, arguments: tuple[str, ...], said: str) -> None:
    before = shown(told)
    for form in ((), ("--json",)):
        assert said in told.fails(2, *arguments, *form)
    assert shown(told) == before


def test_show_tells_people_what_else_is_kept(told: Cli) -> None:
    ran = told("show", "tale").out
    assert "Also kept\n  1 scene: `previously scenes tale`\n" in ran
    assert "2 characters whose knowledge is kept: `previously cast tale`" in ran
    for key in ("scenes", "lore", "cast", "threads", "state", "books"):
        assert isinstance(shown(told)[key], list)


def test_notes_wait_for_approval_where_a_person_reviews(cli: Cli) -> None:
    cli.tell("tale", 12)
    assert cli("set", "tale", *SMALL, "review=true").code == 0
    assert [one["status"] for one in cli("fold", "tale", "--json").json["folds"] if one["kind"] == "scene"] == [
        "pending"
    ]
    (waiting,) = [one for one in cli("pending", "tale", "--json").json["versions"] if one["kind"] == "scene"]
    assert shown(cli)["scenes"] == []
    assert '\n  "summary": "' in cli("pending", "tale").out, "a note is laid out"
    assert cli("approve", "tale", waiting["id"]).code == 0
    assert [one["version"] for one in shown(cli)["scenes"]] == [waiting["id"]]


def test_an_undone_note_can_be_restored(told: Cli) -> None:
    (scene,) = shown(told)["scenes"]
    assert told("undo", "tale", f"version:{scene['version']}").code == 0
    assert (shown(told)["scenes"], shown(told)["threads"]) == ([], [])
    assert told("restore", "tale", f"version:{scene['version']}", "--json").json["restored"] == scene["version"]
    assert shown(told)["scenes"] == [scene]
    assert shown(told)["threads"]
    told("edit", "tale", 0, "--text", "Snow.")
    assert "not on branch 'main' as they were" in told.fails(2, "restore", "tale", f"version:{scene['version']}")


def test_an_analysis_that_failed_is_not_said_to_be_made(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    cli.tell("tale", 4)
    cli("analyze", "tale", "3")
    before = cli("analyze", "tale", "3", "--json").json["analyses"]
    scripted(monkeypatch, lambda _: "no JSON at all")
    failed = cli("analyze", "tale", "3", "--again", "--json")
    told = json.loads(failed.out)
    assert (failed.code, [fold["status"] for fold in told["folds"]]) == (1, ["refused"])
    assert told["stopped"] == "what was asked for could not be made, and what was there stays"
    assert told["analyses"] == before
    people = cli("analyze", "tale", "3", "--again")
    assert (people.code, "Message 3 could not be analysed (asked for again" in people.out) == (1, True)
    assert "amended" not in people.out and "\n0 folds made, " in people.out
    many = json.loads(cli("analyze", "tale", "--again", "--json").out)
    assert many["stopped"].startswith("1 of 4 that were asked for could not be made")


def test_a_story_that_notes_no_threads_says_so(tale: Cli) -> None:
    tale("set", "tale", "preset=game")
    assert "this story notes none by itself: `previously set tale scene_messages=24`" in tale("threads", "tale").out
    tale("set", "tale", "scene_messages=24")
    assert "that comes from a model (`previously fold tale --endpoint" in tale("threads", "tale").out


def test_one_of_something_is_told_in_the_singular(cli: Cli) -> None:
    cli.tell("tale", 1)
    assert cli("fold", "tale", "--json").json["stopped"] == "1 message; the newest 12 are never folded"
    cli.tell("tale", 2)
    cli("set", "tale", "preset=novel", "apply_after=1", "tail_messages=1")
    reasons = [one["reason"] for one in cli("fold", "tale", "--json").json["folds"] if one["kind"] == "recap"]
    assert reasons and all(one.startswith(("1 fragment applied", "2 fragments applied")) for one in reasons)
