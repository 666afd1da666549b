"""A good model's brief stands as it wrote it: two real runs, each folded twice, with briefs written by hand."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from previously import ScriptedModel, fold_conversation
from previously.core.messages import Draft
from previously.folds.conversation.sections import EARLIER_REQUEST, NAMES, TITLES, Brief, parse_brief, render_brief
from previously.formats.conversations import Conversation, Dialect, read_conversation
from previously.runtime.conversation import FoldedConversation

DATA = Path(os.environ.get("PREVIOUSLY_DATA") or Path(__file__).parents[3] / ".." / "shared" / "data")
RUNS = DATA / "agents" / "sweagent"
WRITTEN = {
    "marshmallow-1867-default.traj": (
        Brief(
            goal=("TimeDelta serialization gives 344 where 345 is right; mend the rounding.",),
            done=(
                "Installed the package: `pip install -e .[dev]`.",
                "Reproduced it: `python reproduce.py` prints 344.",
            ),
            in_progress=("Looking for fields.py, which the issue points to.",),
            decisions=("Reproduce first, then change the field.",),
            next_steps=("Open src/marshmallow/fields.py at line 1474.",),
            context=("The shell starts in /marshmallow-code__marshmallow.",),
            files=("reproduce.py: the example of the issue",),
        ),
        Brief(
            goal=("TimeDelta serialization gives 344 where 345 is right; mend the rounding.",),
            done=(
                "Reproduced it: `python reproduce.py` printed 344.",
                "Line 1475 of src/marshmallow/fields.py rounds now; `python reproduce.py` prints 345.",
                "Removed reproduce.py.",
            ),
            in_progress=("Nothing but `submit` is left.",),
            decisions=("Round the quotient to the nearest integer instead of dividing whole numbers.",),
            next_steps=("Run `submit`.",),
            files=("src/marshmallow/fields.py: TimeDelta, line 1475",),
        ),
    ),
    "pydicom-1458.traj": (
        Brief(
            goal=("Float pixel data must decode without PixelRepresentation.",),
            done=("Wrote reproduce_bug.py; it raises the AttributeError of the issue.",),
            in_progress=("Reading numpy_handler.py around line 293.",),
            decisions=("Ask for PixelRepresentation only where PixelData is there.",),
            next_steps=("Edit the list of required elements.",),
            files=("reproduce_bug.py: shows the fault",),
        ),
        Brief(
            goal=("Float pixel data must decode without PixelRepresentation.",),
            done=(
                "numpy_handler.py asks for PixelRepresentation only where PixelData is there.",
                "reproduce_bug.py ends with True.",
            ),
            next_steps=("Remove reproduce_bug.py and run `submit`.",),
            context=("Three edits were refused for an unmatched bracket; the fourth went in.",),
            files=("pydicom/pixel_data_handlers/numpy_handler.py: the list of required elements",),
        ),
    ),
}


@pytest.mark.skipif(not RUNS.is_dir(), reason="PREVIOUSLY_DATA names no folder with agents' runs")
@pytest.mark.parametrize("name", WRITTEN)
def test_the_brief_of_a_model_stays_as_it_was_written(name: str) -> None:
    run = read_conversation(RUNS / name)
    half = len(run.drafts) // 2
    first, second = WRITTEN[name]
    begun = Conversation(run.drafts[:half], Dialect.OPENAI, pins=run.pins)
    folded = _fold(begun, first, None)
    assert folded.result is not None
    drafts = (*map(Draft, folded.result.messages), *run.drafts[half:])
    pins = tuple(
        at for at, draft in enumerate(drafts) if draft.message in {run.drafts[pin].message for pin in run.pins}
    )
    _fold(Conversation(drafts, Dialect.OPENAI, pins=pins), second, folded.earlier)


def _fold(conversation: Conversation, written: Brief, earlier: Mapping[str, Any] | None) -> FoldedConversation:
    """Fold with a model that writes this, and look at every line that is kept."""
    model = ScriptedModel(lambda _: render_brief(written))
    done = fold_conversation(conversation, budget=5_000, model=model, model_window=64_000, earlier=earlier)
    assert (done.status, done.made_by, done.calls) == ("folded", "model", 1), done.reason
    assert done.brief is not None
    kept = parse_brief(done.brief)
    for section in TITLES:
        lines, own = getattr(kept, section), getattr(written, section)
        added = lines[: len(lines) - len(own)]
        assert lines[len(added) :] == own, section
        match section:
            case "context":
                assert all(line.startswith((NAMES, EARLIER_REQUEST)) for line in added)
            case "files":
                acts = {act for line in added for act in line.rpartition(": ")[2].split(", ")}
                assert acts <= {"read", "run", "edited", "created", "reverted", "deleted"}
            case _:
                assert not added, section
    return done
