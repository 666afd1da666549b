"""Which pieces of evidence are missed, and how many could be found at all?

    python -m benchmarks.recall_pieces [--json] [--data FOLDER]

Of every piece of evidence (a message that a question needs) it is said what it shares with the question: a *rare* word
of the story, *common* words only, or *none*; and how many of each were found. *Reachable* is the share of evidence that
fits into the budget if nothing else is taken. LoCoMo, the role-play and the exam, questions as they are.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from pathlib import Path
from typing import Any

from benchmarks.recall_data import Conversation, DataSet, data_sets
from benchmarks.recall_methods import Ours
from previously.recall.query import understand
from previously.text.words import read_terms

RARE_SHARE = 0.05
"""A word is rare in a story if no more than this share of its messages hold it: some ten of two hundred."""


def measure_reach(conversation: Conversation, gold: list[int], budget: float) -> float:
    """The share of a question's evidence that fits into the budget, the cheapest first."""
    fits = 0
    for cost in sorted(conversation.turns[at].cost for at in gold):
        budget -= cost
        fits += budget >= 0
    return fits / len(gold)


def count_pieces(data: DataSet, conversation: Conversation) -> dict[str, Any]:
    """Pieces of one conversation by what they share with their question, and how many of each were found."""
    said = [frozenset(read_terms(turn.text).terms) for turn in conversation.turns]
    holding = Counter(term for terms in said for term in terms)
    names = tuple(sorted({turn.speaker for turn in conversation.turns}))
    answer = Ours()(data, conversation)
    pieces: Counter[str] = Counter()
    found: Counter[str] = Counter()
    reach: list[float] = []
    for question in (one for one in conversation.questions if one.category not in data.left_out):
        asked = frozenset(understand(question.text, speakers=names).terms)
        taken = frozenset(answer(question)[1])
        reach.append(measure_reach(conversation, sorted(question.gold), data.budget))
        for at in question.gold:
            shared = asked & said[at]
            rare = any(holding[term] <= RARE_SHARE * len(said) for term in shared)
            kind = "rare" if rare else "common" if shared else "none"
            pieces[kind] += 1
            found[kind] += at in taken
    return {
        "reachable": round(100 * sum(reach) / len(reach), 1),
        **{kind: {"pieces": pieces[kind], "found": found[kind]} for kind in ("rare", "common", "none")},
    }


def run(folder: Path | None) -> dict[str, Any]:
    """The figures of every set whose evidence is messages."""
    return {
        data.name: {talk.name: count_pieces(data, talk) for talk in data.conversations}
        for data in data_sets(folder)
        if data.found == "evidence"
    }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="Which pieces of evidence are missed?")
    parser.add_argument("--json", action="store_true", help="one JSON object")
    parser.add_argument("--data", type=Path, help="the folder that holds locomo/")
    given = parser.parse_args()
    result = run(given.data)
    if given.json:
        print(json.dumps({"benchmark": "recall_pieces", **result}))
        return
    for name, talks in result.items():
        for talk, figures in talks.items():
            print(f"{name}, {talk}: {figures}")


if __name__ == "__main__":
    main()
