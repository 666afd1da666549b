"""What is still known at the end of the sample story: the open promises and debts, in a small view."""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path

from previously import BlockingMemory, read_story

FACTS = json.loads((Path(__file__).parents[3] / "examples" / "harbour-facts.json").read_text("utf-8"))


def test_a_view_of_4000_tokens_still_knows_what_is_open() -> None:
    with BlockingMemory(":memory:") as memory:
        story = memory.story("harbour")
        story.follow(read_story(Path(str(files("previously.demo") / "harbour.jsonl"))).drafts)
        story.fold()
        known = " ".join(message.text for message in story.view(4_000).messages).lower()
    kept = [fact for fact in FACTS if any(needle.lower() in known for needle in fact["needle"])]
    still_open = [fact for fact in FACTS if fact["open"]]
    assert len(kept) >= 24, "of 67 facts in 19,500 tokens"
    assert sum(fact in kept for fact in still_open) >= 7, f"of {len(still_open)} that are open at the end"
