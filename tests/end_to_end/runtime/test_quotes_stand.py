"""Without a model every sentence of memory stands word for word in its message: in the stories at hand, and after
edits, deletions, branches and swipes of any kind."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from previously import BlockingMemory, Draft, Settings, message, read_story
from previously.demo.long_story import generate_story
from tests.effort import cases
from tests.quotations import check_story, faults

ROOT = Path(__file__).parents[3]
SAMPLE = ROOT / "src/previously/demo/harbour.jsonl"
EXAM = [
    found
    for folder in (ROOT / "benchmarks/exam/stories", ROOT.parent / "shared/data/exam")
    for found in sorted(folder.glob("*.jsonl")) + sorted(folder.glob("*.md"))
    if found.name != "README.md"
]


@pytest.mark.parametrize("preset", ["roleplay", "novel", "game"])
@pytest.mark.parametrize("path", [SAMPLE, *EXAM], ids=lambda path: path.stem)
def test_the_memory_of_a_story_quotes_it(path: Path, preset: str) -> None:
    with BlockingMemory(":memory:") as memory:
        story = memory.story("tale")
        story.set([f"preset={preset}"])
        story.add_drafts(read_story(path).drafts)
        story.fold()
        assert check_story(story) >= 3


def test_the_memory_of_a_generated_story_quotes_it() -> None:
    lines = [
        Draft(message(str(line["role"]), str(line["content"]), speaker=str(line["name"])))
        for line in generate_story(400)
    ]
    with BlockingMemory(":memory:") as memory:
        story = memory.story("tale")
        story.add_drafts(lines)
        story.fold()
        assert story.chapters()
        assert check_story(story) > 20


def test_a_text_is_read_with_the_numbers_of_now() -> None:
    rules = Settings(tail_messages=2, fold_messages=4, recap_words=60, chapter_messages=0)
    with BlockingMemory(":memory:", settings=rules) as memory:
        story = memory.story("tale")
        for at in range(6):
            story.add("user", f"Boat {at} came in from Lethen with salt.", name="Ketta")
        story.close_chapter("Salt", at=5)
        for at in range(9):
            story.add("user", f"Cart {at} left for Ostrey with oil.", name="Jory")
        story.fold()
        before, texts = story.log()[-1].id, story.recap()
        assert texts
        assert "#6 Jory: “Cart 0" in texts.text
        story.delete(1)
        moved = story.recap()
        assert moved
        assert not moved.stale
        assert moved.version == texts.version
        assert "#5 Jory: “Cart 0" in moved.text
        check_story(story)
        story.fold()
        check_story(story)
        story.add("user", "I promise Harl the last cart.", name="Jory")
        for at in range(6):
            story.add("user", f"Mule {at} stood by the well.", name="Jory")
        story.fold()
        assert story.log()[-1].id > before
        assert check_story(story) > 3
        assert faults(story.recap().text, {}), "the check sees what is not there"  # type: ignore[union-attr]


WORDS = st.sampled_from(
    [
        "Ketta counts 41 sacks.", "Hm.", '"I promise," she says. "Tonight."', "*nods*", "Er schuldet Jory 12 Mark.",
        "Дождь шёл над гаванью.", "雨が港に降っている。", "「約束する」と彼は言った。", "!!!",
        "“No” … “maybe”.", "Dr. Weiss left",
    ]
)  # fmt: skip
TEXTS = st.lists(WORDS, min_size=1, max_size=5).map(" ".join)
ADD = st.tuples(
    st.just("add"), st.lists(st.tuples(st.sampled_from(["Ketta", "Jory", None]), TEXTS), min_size=1, max_size=9)
)
CHANGE = st.tuples(st.sampled_from(["edit", "delete", "branch", "switch", "close"]), st.integers(0, 10_000), TEXTS)
RULES = {
    "recap": Settings(
        tail_messages=2, fold_messages=4, recap_words=50, chapter_messages=9, chapter_words=20, backbone_words=40
    ),
    "librarian": Settings(preset="novel", apply_after=1, summary_characters=400, summary_target_characters=300),
    "scenes": Settings(timeline="scenes", scene_messages=4, tail_messages=2, recap_words=50, chapter_messages=9),
}


@pytest.mark.parametrize("timeline", RULES)
@hypothesis_settings(max_examples=cases(40))
@given(steps=st.lists(ADD | CHANGE, min_size=2, max_size=10))
def test_whatever_happens_to_a_story_its_memory_quotes_it(timeline: str, steps: list[tuple[Any, ...]]) -> None:
    with BlockingMemory(":memory:", settings=RULES[timeline]) as memory:
        story = memory.story("tale")
        for number, (verb, *rest) in enumerate(steps):
            messages = story.branch_info().messages
            if verb == "add":
                story.add_drafts([Draft(message("user", text, speaker=name)) for name, text in rest[0]])
            elif verb == "switch":
                names = [one.name for one in story.branches()]
                story.switch(names[int(rest[0]) % len(names)])
            elif messages:
                at = int(rest[0]) % messages
                if verb == "edit":
                    story.edit(at, rest[1])
                elif verb == "delete":
                    story.delete(at)
                elif verb == "branch":
                    story.branch(f"b{number}", at=at)
                elif at not in {one.span.last for one in story.chapters()}:
                    story.close_chapter("A chapter", at=at)
            story.fold()
            check_story(story)
