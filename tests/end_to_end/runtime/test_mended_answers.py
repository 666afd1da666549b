"""An answer that can be kept and could be better: one more ask names its faults, and then the better one is kept."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence

import pytest

from previously import ScriptedModel
from previously.core.messages import message
from previously.core.model_io import FailureKind, ModelFailure
from previously.folds.analysis import AnalysisFold, parse_analysis
from previously.folds.fold import Fold
from previously.folds.scene import SceneFold, parse_scene
from previously.models.retry import MAX_CALLS
from previously.runtime.writer import MemoryReply
from previously.testing.model import Scripted
from tests.end_to_end.runtime.echoing import make_writer

SAID = (message("assistant", "Grim, a gruff dwarf, sets down two mugs for Wren.", speaker="Narrator"),)
SCENE, FRAGMENT = SceneFold(SAID), AnalysisFold(SAID)
GRIM = {"name": "Grim", "type": "character", "keywords": ["Grim", "barkeep"], "content": "Gruff dwarf."}
GOOD = json.dumps({"summary": "Grim served Wren two mugs.", "lorebooks": [GRIM]})
DESCRIBES = json.dumps({"summary": "Grim, a gruff dwarf with a red beard, served Wren.", "lorebooks": [GRIM]})
WORSE = json.dumps(
    {
        "summary": "Grim, a gruff dwarf with a red beard, served Wren.",
        "lorebooks": [{**GRIM, "keywords": ["Grim", "man"]}],
    }
)
DOWN = ModelFailure(FailureKind.SERVER, "The server said 500.")


def write(note: Fold, *answers: Scripted) -> tuple[MemoryReply, ScriptedModel]:
    """What is kept of these answers, given in turn, and what was asked."""
    left = list(answers)
    model = ScriptedModel(lambda request: left.pop(0))
    return asyncio.run(make_writer(model).write(note)), model


def test_one_more_ask_names_the_faults_and_the_better_answer_is_kept() -> None:
    reply, model = write(SCENE, DESCRIBES, GOOD)
    assert (reply.made_by, reply.status.value) == ("model", "committed")
    assert parse_scene(reply.text).summary == "Grim served Wren two mugs."
    assert not any("describes" in one for one in reply.warnings)
    assert model.requests[1].user.endswith(
        "Your last answer can be kept, but it has faults: summary describes instead of telling what happened: "
        "with a red beard. Write the whole answer again without them."
    )
    assert [one.reason.partition(": ")[0] for one in reply.attempts] == ["asked for once more"]


@pytest.mark.parametrize(
    ("answers", "calls"),
    [
        ((DESCRIBES, DESCRIBES), 2),
        ((DESCRIBES, "Sorry, here is no object."), 2),
        ((DESCRIBES, WORSE), 2),
        ((DESCRIBES, DOWN), 2),
        (("No object.", DESCRIBES, DESCRIBES), 3),
        ((DOWN, DOWN, DESCRIBES), 3),
        (("No object.", DOWN, DESCRIBES), 3),
    ],
)
def test_whatever_comes_of_it_an_answer_is_kept_with_its_warnings(answers: Sequence[Scripted], calls: int) -> None:
    reply, model = write(SCENE, *answers)
    assert len(model.requests) == calls <= MAX_CALLS
    assert (reply.made_by, reply.status.value) == ("model", "committed")
    assert parse_scene(reply.text).summary.startswith("Grim, a gruff dwarf")
    assert [one for one in reply.warnings if "generic" in one] == [], "of two the one with fewer faults"
    assert any(one.startswith("summary describes") for one in reply.warnings)
    assert len(reply.attempts) == calls - 1, "what every other call took is accounted for"


def test_a_good_answer_is_asked_for_once() -> None:
    reply, model = write(SCENE, GOOD)
    assert len(model.requests) == 1
    assert reply.attempts == ()


def test_an_empty_update_beside_signals_is_asked_for_once_and_then_derived() -> None:
    signals = json.dumps({"summary_update": "", "events": ["Grim served Wren"]})
    reply, model = write(FRAGMENT, signals, signals)
    assert len(model.requests) == 2
    assert "summary_update is empty" in model.requests[1].user
    assert parse_analysis(reply.text).summary_update == "Grim served Wren."
    assert "the summary update was derived from the signals" in reply.warnings


def test_a_name_nobody_has_heard_of_is_asked_about_once() -> None:
    stranger = json.dumps({"summary_update": "Grim served Quintus."})
    known = json.dumps({"summary_update": "Grim served Wren."})
    reply, model = write(FRAGMENT, stranger, known)
    assert "the name Quintus stands neither in the fragment nor in what you were given" in model.requests[1].user
    assert parse_analysis(reply.text).summary_update == "Grim served Wren."
