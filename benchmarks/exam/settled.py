"""What is shown as open though the story has settled it, and as standing though it has ended.

Part of the report of every recorded row, at the story's end in a budget of 4,000 tokens. It is found by words and is
for a person to read: it lists too much rather than too little.

* **settled**: the matters of the exam's `closed` that end in the folded part, each with the open threads that may tell
  it: those opened before it ended that share a third of its telling words (of `text.words`), names not counted. Such a
  thread may well be right: what is left of a debt shares the words of what was paid.
* **open**: how many matters of `open_at_end` whose evidence begins in the folded part an open thread tells: one that
  shares two fifths of the telling words of the smaller of both, names counted. Those not found are listed.
* **state**: the standing lines about people and things of `state_at_end` that share no telling word with what the exam
  says of them. A thing that moved behind the folded part is left out; of people the exam does not say when they moved.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from benchmarks.exam.exams import Exam
from benchmarks.exam.presence import is_same_name
from benchmarks.exam.sittings import fold_story, folded_through, open_memory
from previously import Story
from previously.lore.current_state import StateValue
from previously.lore.threads import Thread
from previously.models.client import Model
from previously.text.compare import find_terms

BUDGET = 4_000
"""The budget of the line in question."""

MAY_TELL, TELLS = 1 / 3, 2 / 5
"""Shares of telling words, set by reading all open threads of both sets. What is told in quite other words is not
found: why Jory left, which set a opened twice and settled once; and the Lantern Factor, whom both sets ask for."""

_POSITIONS = re.compile(r"\((\d+)\)")
_ASPECTS = {"place": ("where", "place"), "holder": ("holder", "place"), "condition": ("condition",)}
"""Which field of the exam a line of the state is held against."""


async def measure(exam: Exam, model: Model) -> dict[str, Any] | None:
    """Return the figures and lists of one story, folded with recorded answers; None where the exam says nothing of how
    it ends."""
    if not exam.truth:
        return None
    async with await open_memory(exam, model) as memory:
        story, _ = await fold_story(memory, exam, BUDGET)
        return await score(story, exam.truth)


async def score(story: Story, truth: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a story's memory says at its end against what an exam says."""
    end = await folded_through(story)
    threads = [item.thread for item in await story.threads()]
    closed = [one for one in truth["closed"] if one["settled_at"] <= end]
    matters = [one for one in truth["open_at_end"] if min(one["evidence"]) <= end]
    names = {term for one in truth["state_at_end"]["people"] for term in find_terms(one["name"])}
    suspects = [
        {"matter": one["text"], "settled_at": one["settled_at"], "threads": may_tell(one, threads, names)}
        for one in closed
    ]
    missed = [one["text"] for one in matters if not any(share(one["text"], it.text) >= TELLS for it in threads)]
    return {
        "folded_through": end,
        "open_threads": len(threads),
        "settled": len(closed),
        "settled_shown_open": [one for one in suspects if one["threads"]],
        "open_at_end": len(matters),
        "open_found": len(matters) - len(missed),
        "open_missed": missed,
        "state_lines": len(await story.state()),
        "state_suspects": list(contradicted(await story.state(), truth["state_at_end"], end)),
    }


def may_tell(matter: Mapping[str, Any], threads: Sequence[Thread], names: set[str]) -> list[str]:
    """Return the open threads that may tell a settled matter."""
    terms = set(find_terms(matter["text"])) - names
    return [
        one.text
        for one in threads
        if one.opened <= matter["settled_at"]
        and len(terms & set(find_terms(one.text))) >= max(1, MAY_TELL * len(terms))
    ]


def share(one: str, other: str) -> float:
    """Return which share of the telling words of the smaller of two texts the other has."""
    terms, others = set(find_terms(one)), set(find_terms(other))
    return len(terms & others) / max(1, min(len(terms), len(others)))


def contradicted(standing: Sequence[StateValue], truth: Mapping[str, Any], end: int) -> Iterator[dict[str, str]]:
    """Yield the lines that share no telling word with what an exam says of the same thing."""
    named = [(one["name"], one) for one in truth["people"]] + [(one["object"], one) for one in truth["objects"]]
    for held in standing:
        thing, _, rest = held.text.partition(" / ")
        aspect, _, value = rest.partition(": ")
        for name, facts in named:
            moved = max(map(int, _POSITIONS.findall(facts.get("path") or "")), default=-1)
            if not is_same_name(thing, name) or moved > end or aspect not in _ASPECTS:
                continue
            said = " ".join(facts.get(field) or "" for field in _ASPECTS[aspect])
            if said.strip() and not set(find_terms(value)) & set(find_terms(said)):
                yield {"line": held.text, "exam": said.strip()}


def show_settled(found: Mapping[str, Mapping[str, Any] | None]) -> None:
    """Print the lists for a person to read."""
    for name, one in found.items():
        if one is None:
            continue
        print(
            f"\n{name}: folded through {one['folded_through']}, {one['open_threads']} open threads, "
            f"{one['open_found']} of {one['open_at_end']} open matters among them; "
            f"{one['settled']} matters settled, {len(one['settled_shown_open'])} with open threads that may tell them; "
            f"{len(one['state_suspects'])} of {one['state_lines']} states to be read"
        )
        for suspect in one["settled_shown_open"]:
            print(f"  settled at {suspect['settled_at']}: {suspect['matter']}")
            for thread in suspect["threads"]:
                print(f"      open: {thread}")
        for text in one["open_missed"]:
            print(f"  not among the open threads: {text}")
        for suspect in one["state_suspects"]:
            print(f"  stands: {suspect['line']}\n      at the end: {suspect['exam']}")
