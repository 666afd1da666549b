"""In which turns does a view recall anything? In questions it should, in small talk it should not.

    python -m benchmarks.recall_turns [--json] [--data FOLDER]

Small talk is said in the stories of the exams and in the bundled role-play: `small_talk.json` was written for this, and
set the thresholds; LoCoMo's turns of at most eight words, which are greetings and thanks from other people's chats,
were not looked at before. Questions are those of the exams in all four ways, of the role-play, and LoCoMo's. A turn
recalls if at least one passage is worth showing, whatever room there is for it.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.recall_data import Conversation, exam, harbour, locomo
from benchmarks.recall_methods import indexed
from previously.models.dictionaries import load_word_books
from previously.models.word_vectors import load_word_table
from previously.recall.outline import PathEntries
from previously.recall.query import asks
from previously.recall.search import find
from previously.runtime.search import MOST_FOR_A_VIEW, WORTH_SHOWING, choose_worth, tells_enough

LONGEST_TALK = 8
"""Words of a turn of LoCoMo that counts as small talk: longer ones tell something."""

EVERY = 7
"""Of LoCoMo's small talk and questions one in so many is said: some hundred of each are enough."""


def recalls(talk: Conversation, text: str, asked: str | None = None) -> bool:
    """Whether a view of the story shows anything for this turn."""
    path = PathEntries(range(len(talk.turns)))
    table = load_word_table()
    result = find(
        indexed(talk, True), path, text, table, asker=talk.asker, asked=asked or talk.asked, most=MOST_FOR_A_VIEW,
        books=load_word_books(),
    )  # fmt: skip
    hits = choose_worth(result, WORTH_SHOWING)
    return bool(hits) and tells_enough(result.query, hits, asked=asks(text))


def run(folder: Path | None) -> dict[str, Any]:
    """The shares of turns with recall, in per cent."""
    exams, role_play = exam().conversations, harbour().conversations
    stories = [*exams, *role_play]
    written = json.loads(Path(__file__).with_name("small_talk.json").read_text("utf-8"))
    ways: dict[str, list[bool]] = {}
    for talk in exams:
        for question in talk.questions:
            ways.setdefault(question.category, []).append(recalls(talk, question.text, question.asked))
    result: dict[str, Any] = {
        "small talk, written": _share(recalls(talk, text) for talk in stories for text in written),
        "questions, role-play": _share(recalls(talk, one.text) for talk in role_play for one in talk.questions),
        "questions, exam": {way: _share(found) for way, found in ways.items()},
    }
    if folder is not None:
        chats = locomo(folder / "locomo")[0].conversations
        short = [turn.text for chat in chats for turn in chat.turns if len(turn.text.split()) <= LONGEST_TALK]
        result["small talk, LoCoMo"] = _share(recalls(talk, text) for talk in stories for text in short[::EVERY])
        ask = [partial(recalls, chat, one.text) for chat in chats for one in chat.questions[::EVERY]]
        result["questions, LoCoMo"] = _share(one() for one in ask)
    return result


def _share(found: Iterable[bool]) -> dict[str, float]:
    turns = list(found)
    return {"turns": len(turns), "recalled": round(100 * sum(turns) / max(1, len(turns)), 1)}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="In which turns does a view recall anything?")
    parser.add_argument("--json", action="store_true", help="one JSON object")
    parser.add_argument("--data", type=Path, help="the folder that holds locomo/")
    given = parser.parse_args()
    found = run(given.data)
    if given.json:
        print(json.dumps({"benchmark": "recall_turns", **found}))
    else:
        for name, figures in found.items():
            print(f"{name}: {figures}")


if __name__ == "__main__":
    main()
