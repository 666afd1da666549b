"""A brief is read from whatever a model wrote, written in one way, and bounded by what is least needed."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from previously.core.tokens import ESTIMATE
from previously.folds.brief_checks import bound_brief, count_least_tokens
from previously.folds.conversation.sections import (
    FAILED,
    TITLES,
    Brief,
    extend_brief,
    is_failure,
    parse_brief,
    render_brief,
    render_failure,
)
from previously.text.cuts import clip
from tests.effort import cases

BRIEF = Brief(
    goal=("Make `parse` accept empty files.",),
    constraints=("Never touch the public API.",),
    done=("Reproduced the crash with `pytest -k empty`.",),
    in_progress=("Editing src/reader.py.",),
    decisions=(
        "Return an empty list, because callers iterate.",
        render_failure("catching EOFError: it hides real faults."),
    ),
    files=("src/reader.py: edited",),
)

ITEMS = st.lists(st.text(max_size=40) | st.sampled_from(["- x", "(none)", "## Goal", "Goal:", "**Done**", "1. a"]))
BRIEFS = st.builds(Brief, **{name: ITEMS.map(tuple) for name in TITLES})


def test_every_section_is_written_in_order_even_when_it_is_empty() -> None:
    text = render_brief(Brief())
    titles = [line.lstrip("# ") for line in text.splitlines() if line.startswith("#")]
    assert titles == [
        "Goal", "Constraints & Preferences", "Progress", "Done", "In Progress", "Blocked", "Key Decisions",
        "Next Steps", "Critical Context", "Relevant Files",
    ]  # fmt: skip
    assert text.count("- (none)") == 9


@given(BRIEFS)
@settings(max_examples=cases(150))
def test_what_was_written_is_read_back(brief: Brief) -> None:
    assert parse_brief(render_brief(brief)) == brief


@given(st.text(st.sampled_from("#*-_:\n `~<>GoalDone\t[]x1.") | st.characters(), max_size=300))
@settings(max_examples=cases(150))
def test_any_text_can_be_read(text: str) -> None:
    once = parse_brief(text)
    assert parse_brief(render_brief(once)) == once


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("# Goal\n- fix it", Brief(goal=("fix it",))),
        ("#### Goal\nfix it", Brief(goal=("fix it",))),
        ("**Goal**\n* fix it", Brief(goal=("fix it",))),
        ("**Goal:** fix it", Brief(goal=("fix it",))),
        ("__Goal__:\n+ fix it", Brief(goal=("fix it",))),
        ("Goal: fix it", Brief(goal=("fix it",))),
        ("## 1. Goal ##\n1. fix it", Brief(goal=("fix it",))),
        ("Sure! Here is the brief:\n\n## Goal\n- fix it", Brief(goal=("fix it",))),
        ("# Summary\nwhat went on\n## Goal\n- fix it", Brief(goal=("fix it",))),
        ("```markdown\n## Goal\n- fix it\n## Blocked\n- no net\n```", Brief(goal=("fix it",), blocked=("no net",))),
        ("<template>\n## Goal\n- fix it\n</template>", Brief(goal=("fix it",))),
        ("## Goal\n- a\n## Next Steps\n- b\n## Goal\n- c", Brief(goal=("a", "c"), next_steps=("b",))),
        ("## Goal\nFix it,\nand soon.\n\nThen rest.", Brief(goal=("Fix it, and soon.", "Then rest."))),
        ("## Goal\n- fix it\n  in one day", Brief(goal=("fix it in one day",))),
        ("## Done\n- changed:\n  - a.py\n  - b.py\n- rest", Brief(done=("changed: a.py; b.py", "rest"))),
        ("## Done\n- first\n  - second", Brief(done=("first", "second"))),
        ("## Progress\n- [x] a\n- [ ] b\n- [~] c\n- d", Brief(done=("a",), next_steps=("b",), in_progress=("c", "d"))),
        ("## Progress\n**Done:**\n- a\n**Blocked:**\n- b", Brief(done=("a",), blocked=("b",))),
        ("## Objective\n- a\n## Files\n- b", Brief(goal=("a",), files=("b",))),
        ("## Ziel\n- a\n## Nächste Schritte\n- b", Brief(goal=("a",), next_steps=("b",))),
        ("## Failed Approaches\n- a", Brief(decisions=(f"{FAILED}a",))),
        ("## Key Decisions\n- Tried but failed: a", Brief(decisions=(f"{FAILED}a",))),
        ("## Key Decisions\n- **Failed approach:** b", Brief(decisions=(f"{FAILED}b",))),
        ("## Gotchas\n- port 8080 is taken", Brief(context=("port 8080 is taken",))),
        ("## Done\nran\n```\n# not a heading\nmake\n```", Brief(done=("ran # not a heading make",))),
        ("## Goal\n- (none)\n## Done\nNone\n## Blocked\n- N/A", Brief()),
        ("## Goal\r\n- fix it\r\n", Brief(goal=("fix it",))),
        ("no heading at all", Brief()),
        ("", Brief()),
    ],
)  # fmt: skip
def test_reading_forgives(text: str, expected: Brief) -> None:
    assert parse_brief(text) == expected


def test_an_item_is_one_line_without_a_bullet_and_stands_once() -> None:
    brief = Brief(done=(" - ran\n  make ", "ran make", "(None)", ""))
    assert brief.done == ("ran make",)
    assert extend_brief(brief, done=["more"], goal=["all"]).items() == ("all", "ran make", "more")


def test_a_failed_approach_is_told_by_its_beginning() -> None:
    assert is_failure(BRIEF.decisions[1])
    assert not is_failure(BRIEF.decisions[0])


def test_what_fits_is_not_touched() -> None:
    assert bound_brief(BRIEF, 1_500).brief is BRIEF
    assert bound_brief(BRIEF, 1_500).shed == ()


@given(BRIEFS, st.integers(0, 400))
@settings(max_examples=cases(100))
def test_a_bounded_brief_fits_and_tells_what_is_gone(brief: Brief, room: int) -> None:
    most = count_least_tokens() + room
    found = bound_brief(brief, most)
    assert ESTIMATE.tokens(render_brief(found.brief)) <= most
    assert set(found.shed) <= set(brief.items()) | {
        clip(one, longest) for one in brief.items() for longest in (400, 160)
    }


def long_brief(count: int = 60) -> Brief:
    def many(name: str) -> tuple[str, ...]:
        return tuple(f"{name} number {index} of quite a few" for index in range(count))

    return Brief(
        goal=("the goal",),
        constraints=("never touch the API", "use tabs"),
        done=many("done"),
        blocked=("no network",),
        decisions=(*many("decision"), render_failure("the other way")),
        context=many("fact"),
        files=(*(f"src/read{index}.py: read" for index in range(count)), "src/made.py: edited"),
    )


def test_the_oldest_finished_work_goes_first_and_what_matters_last() -> None:
    full = long_brief()
    found = bound_brief(full, 1_000)
    kept = found.brief
    assert (kept.goal, kept.constraints, kept.blocked) == (full.goal, full.constraints, full.blocked)
    assert full.decisions[-1] in kept.decisions
    assert found.shed[0] == full.done[0]
    assert "src/made.py: edited" in kept.files
    assert list(kept.done) == list(full.done[len(full.done) - len(kept.done) :])


def test_a_tiny_cap_keeps_goal_and_constraints() -> None:
    kept = bound_brief(long_brief(), count_least_tokens() + 60).brief
    assert kept.goal == ("the goal",)
    assert kept.constraints
    assert kept.done == kept.next_steps == ()


def test_long_items_are_cut_before_any_goes() -> None:
    found = bound_brief(Brief(goal=("g",), done=("word " * 2_000, "x")), 500)
    assert found.shed == ()
    assert found.brief.done[0].endswith("…")
    assert found.brief.done[1] == "x"


def test_of_the_next_steps_the_last_go() -> None:
    steps = tuple(f"step {index} has to be taken" for index in range(50))
    kept = bound_brief(Brief(goal=("g",), next_steps=steps), 250).brief.next_steps
    assert 0 < len(kept) < 50
    assert kept == steps[: len(kept)]
