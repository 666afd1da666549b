"""One answer, several memories: how fold, show, log, diff and blame tell of episodes and notes; folding all anew."""

from __future__ import annotations

import io
import sys

import pytest

from previously.core.model_io import ModelRequest
from previously.testing.model import ScriptedModel
from tests.end_to_end.cli.running import Cli
from tests.end_to_end.cli.test_cli_lore import scripted
from tests.end_to_end.runtime.update_answers import answer, is_update, messages

SMALL = ("tail_messages=2", "fold_messages=8", "chapter_messages=0", "recap_words=60", "cast=off")
EPISODE = "Davin told Orla that she owed the miller forty crowns, and Orla chose to sell two sheep."
RECAP = (
    "Orla Finch had eleven sheep left when snow shut the pass. Davin told her that she owed the miller forty crowns."
)


def updated(request: ModelRequest) -> str:
    """An answer with a thread, a state and a wish."""
    assert is_update(request)
    day = messages(request).rpartition("Day ")[2].split(".")[0]
    return answer(
        request, f"{RECAP} By day {day} Orla had sold nothing.", episode=EPISODE,
        threads="- new #3 Orla to the miller: forty crowns, by Sunday", state="- #4 Key / place: under the third stone",
        wishes="- #2 no wolves, please",
    )  # fmt: skip


@pytest.fixture
def model(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> ScriptedModel:
    """A story of 20 messages, of which 16 are due, and a model that answers updates."""
    cli.tell("tale", 20)
    cli("set", "tale", *SMALL)
    return scripted(monkeypatch, updated)


def test_a_fold_says_what_its_answer_gave(cli: Cli, model: ScriptedModel) -> None:
    lines = cli("fold", "tale", "--once").out.splitlines()
    assert lines[0].startswith("Messages 0-7 folded into the recap with episode and note (8 messages")
    assert lines[1].startswith("1 fold made, 1 model call;")
    found = cli("fold", "tale", "--json").json
    assert [(one["kind"], one["span"], one["beside"], one["calls"]) for one in found["folds"]] == [
        ("recap", [8, 15], ["episode", "note"], 1)
    ]
    assert len(model.requests) == found["calls"] + 1 == 2


def test_without_a_model_nothing_is_beside_the_recap(cli: Cli) -> None:
    cli.tell("tale", 20)
    cli("set", "tale", *SMALL)
    found = cli("fold", "tale", "--json").json
    assert {tuple(one["beside"]) for one in found["folds"]} == {()}
    assert cli("show", "tale", "--json").json["episodes"] == []


def test_show_has_episodes_and_wishes(cli: Cli, model: ScriptedModel) -> None:
    cli("fold", "tale")
    found = cli("show", "tale", "--json").json
    assert [(one["span"], one["text"]) for one in found["episodes"]] == [([0, 7], EPISODE), ([8, 15], EPISODE)]
    kinds = {one["id"]: one["kind"] for one in cli("log", "tale", "--json").json["versions"]}
    assert {kinds[one["id"]] for one in found["episodes"]} == {"episode"}
    assert {one["text"] for one in found["wishes"]} == {"no wolves, please"}
    out = cli("show", "tale").out
    assert "2 episodes: `previously log tale`" in out
    assert "of the players' wishes: `previously wishes tale`" in out
    assert model.requests


def test_a_note_is_shown_readable(cli: Cli, model: ScriptedModel) -> None:
    cli("fold", "tale")
    versions = cli("log", "tale", "--json").json["versions"]
    notes = [one["id"] for one in versions if one["kind"] == "note"]
    episodes = [one["id"] for one in versions if one["kind"] == "episode"]
    assert [line.split()[1] for line in cli("log", "tale", "-v").out.splitlines()[2:]] == [
        "recap",
        "episode",
        "note",
    ] * 2
    shown = cli("blame", "tale", notes[1]).out
    assert "THREADS\n- new #10: Orla to the miller: forty crowns, by Sunday\n" in shown, "numbered as in the story"
    assert "STATE\n- #11 Key / place: under the third stone\n" in shown
    assert "WISHES\n- #9 no wolves, please\n" in shown
    assert "{" not in shown
    assert cli("blame", "tale", episodes[0]).out.endswith(f"\n\n{EPISODE}\n")
    changed = cli("diff", "tale", notes[0], notes[1]).out
    assert "[-#2:-]" in changed
    assert "{+#10:+}" in changed
    assert '"' not in changed
    assert cli("diff", "tale", episodes[0], episodes[1], "--json").json["changes"][0]["kind"] == "same"
    assert model.requests


def test_folding_anew_says_first_what_it_takes(cli: Cli, model: ScriptedModel) -> None:
    cli("fold", "tale")
    assert cli("fold", "tale", "--json").json["folds"] == []
    asked = len(model.requests)
    planned = cli("fold", "tale", "--anew", "--plan", "--json").json
    assert [(one["kind"], one["span"], one["status"]) for one in planned["folds"]] == [
        ("recap", [0, 7], "planned"), ("recap", [8, 15], "planned"),
    ]  # fmt: skip
    assert len(model.requests) == asked, "nothing is asked for a plan"
    ran = cli("fold", "tale", "--anew", "--json")
    assert ran.err.startswith("Folding tale anew: 2 folds, 2 model calls, about ")
    made = ran.json
    assert [(one["span"], one["beside"]) for one in made["folds"]] == [
        ([0, 7], ["episode", "note"]), ([8, 15], ["episode", "note"]),
    ]  # fmt: skip
    assert len(model.requests) == asked + 2, "no answer that was kept is taken again"
    assert len(cli("show", "tale", "--json").json["episodes"]) == 2
    assert cli("fold", "tale", "--json").json["folds"] == []
    assert "--once" in cli.fails(2, "fold", "tale", "--anew", "--once")


def test_on_a_terminal_folding_anew_is_asked_about(
    cli: Cli, model: ScriptedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    cli("fold", "tale")
    asked = len(model.requests)

    class Terminal(io.TextIOWrapper):
        def isatty(self) -> bool:
            return True

    monkeypatch.setattr(io, "TextIOWrapper", Terminal)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    ran = cli("fold", "tale", "--anew", stdin=b"n\n")
    assert "Fold it anew?" in ran.err
    assert "Nothing was folded: nobody wanted it." in ran.out
    assert len(model.requests) == asked
    assert "Fold it anew?" not in cli("fold", "tale", "--anew", "--yes").err
    assert len(model.requests) == asked + 2
