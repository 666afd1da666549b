"""How far token counts are off: the plain estimate, and the estimate after five replies told what they took.

    python -m benchmarks.tokens [--data FOLDER] [--tokenizer tokenizer.json …] [--json]

Each language of `benchmarks.token_texts` is a small story. Five requests of its first half are "sent" to a server that
counts with a real tokenizer, puts a chat template's tokens around each message and reports the sum; the estimate is
calibrated on those five reports and then judged by requests of the second half, which is about something else. The
same, in requests of about 3,000 tokens, for the demo's story, some modules of Python's library, and with `--data` for
each novel, conversation and episode in the folder and for its agents' runs.

Definitions:

* **plain**: (estimate / reported) - 1, in per cent, over the requests of the second half; above zero is too high.
* **calibrated**: the same after five reports, without sign, on average; **worst**: the worst single request.
* **usual ways**: (their count / reported) - 1 of three rules of thumb on the same requests, with a template's tokens
  per message counted exactly: a quarter of the characters, a quarter of the bytes, four thirds of the words.
* **odd reports**: as calibrated, over all tokenizers, with the servers of `benchmarks.token_reports`.
* **ns per 1,000 characters**: process time to count an English text for the first time, and again.

Tokenizers: OpenAI's `cl100k` and `o200k`, `llama2` where the package wordllama (which has its file) is installed, and
each file named with `--tokenizer`.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import sys
import sysconfig
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.crd3 import episodes
from benchmarks.token_reports import (
    ANSWER_TOKENS,
    SERVERS,
    TEMPLATE_TOKENS,
    Request,
    Server,
    counted,
    learned,
    miss_after_odd_reports,
)
from benchmarks.token_texts import LANGUAGES, demo_story, halves
from previously.core.calibration import FEWEST_SAMPLES
from previously.core.errors import BadInput
from previously.core.messages import Message, message
from previously.core.tokens import ESTIMATE, LONGEST_KNOWN, Counter
from previously.models.tokenizers import find_counter

REQUEST_CHARACTERS = 12_000
JUDGED_REQUESTS = 10
MODULES = "argparse ast difflib doctest inspect ipaddress optparse tarfile typing zipfile".split()

HONEST = Server()


def reported(request: Request, tokenizer: Counter) -> int:
    """The prompt tokens a server with that tokenizer would report."""
    return HONEST.takes(request, tokenizer)


def miss(request: Request, counter: Counter, tokenizer: Counter) -> float:
    """By how much a counter is off on a request, as a share of what the server reports."""
    return counted(request, counter) / reported(request, tokenizer) - 1


USUAL: Mapping[str, Callable[[str], float]] = {
    "characters / 4": lambda text: len(text) / 4,
    "bytes / 4": lambda text: len(text.encode()) / 4,
    "words * 4/3": lambda text: len(text.split()) * 4 / 3,
}
"""How tokens are estimated elsewhere."""


def usual_misses(request: Request, tokenizer: Counter) -> dict[str, float]:
    """By how much each of the usual ways is off, in per cent."""
    template, true = TEMPLATE_TOKENS * len(request) + ANSWER_TOKENS, reported(request, tokenizer)
    return {
        name: 100 * ((template + sum(count(one.text) for one in request)) / true - 1) for name, count in USUAL.items()
    }


def judged(told: Sequence[Request], asked: Sequence[Request], tokenizer: Counter) -> dict[str, float]:
    """Plain and calibrated errors on `asked`, in per cent, after the reports on `told`."""
    calibrated = learned(told, tokenizer, HONEST)
    after = [abs(miss(request, calibrated, tokenizer)) for request in asked]
    return {
        "plain": 100 * fmean(miss(request, ESTIMATE, tokenizer) for request in asked),
        "calibrated": 100 * fmean(after),
        "worst": 100 * max(after),
        **{name: fmean(usual_misses(request, tokenizer)[name] for request in asked) for name in USUAL},
    }


def language_requests(language: str) -> tuple[list[Request], list[Request]]:
    """Five requests of the first half, each without another paragraph, and the second half as one."""
    first, second = ([message("user", text) for text in half] for half in halves(language))
    few = len(first) <= 3
    told = [first if few else first[: n % len(first)] + first[n % len(first) + 1 :] for n in range(FEWEST_SAMPLES)]
    return list(told), [second]


def story_requests(story: Sequence[str]) -> tuple[list[Request], list[Request]]:
    """Requests from all over the first half of a story, and others from all over the second."""
    middle = len(story) // 2
    return _spread(story[:middle], FEWEST_SAMPLES), _spread(story[middle:], JUDGED_REQUESTS)


def _spread(texts: Sequence[str], requests: int) -> list[Request]:
    found: list[Request] = []
    for number in range(requests):
        start, room = number * len(texts) // requests, REQUEST_CHARACTERS
        request: list[Message] = []
        for text in texts[start:]:
            if room <= 0:
                break
            request.append(message("user", text))
            room -= len(text)
        found.append(request)
    return found


def stories(folder: Path | None) -> Iterator[tuple[str, list[list[str]]]]:
    """Data sets, each story as the texts of its messages. Those of a folder that is not there are empty."""
    yield "demo story", [demo_story()]
    library = Path(sysconfig.get_path("stdlib"))
    yield "python's library", [_blocks(library / f"{module}.py") for module in MODULES]
    if folder is None:
        return
    yield "novels", [_blocks(path) for path in sorted((folder / "novels").glob("*.txt"))]
    talks = [talk for path in (folder / "locomo").glob("*.json") for talk in json.loads(path.read_text("utf-8"))]
    yield "locomo", [_turns(talk["conversation"]) for talk in talks]
    yield "crd3", [[f"{turn.speaker}: {turn.text}" for turn in one.turns] for one in episodes(folder / "crd3")]
    runs = [json.loads(path.read_text("utf-8")) for path in sorted((folder / "agents").rglob("*.traj"))]
    yield "agents", [[str(one["content"]) for run in runs for one in run["history"]]] if runs else []


def _blocks(path: Path) -> list[str]:
    return [block for block in path.read_text("utf-8").split("\n\n") if block.strip()]


def _turns(talk: Mapping[str, Any]) -> list[str]:
    sessions = [talk[f"session_{number}"] for number in range(1, len(talk)) if f"session_{number}" in talk]
    return [f"{turn['speaker']}: {turn['text']}" for session in sessions for turn in session]


def tokenizers(files: Sequence[str]) -> dict[str, Counter]:
    """The tokenizers to hold the estimate against, by name."""
    found = {name: find_counter(name) for name in ("cl100k", "o200k")}
    wordllama = importlib.util.find_spec("wordllama")
    for folder in (wordllama.submodule_search_locations if wordllama else None) or ():
        for path in (Path(folder) / "tokenizers").glob("l2_*.json"):
            found["llama2"] = find_counter(str(path))
    return found | {Path(file).parent.name or file: find_counter(file) for file in files}


def speeds(counters: Mapping[str, Counter]) -> dict[str, dict[str, float]]:
    """Nanoseconds per 1,000 characters of English, for the first time and again."""
    text = "\n\n".join(halves("english")[0])
    # Counts of very long texts are not kept, so each of them is a first time.
    long = text * (LONGEST_KNOWN // len(text) + 1)
    return {
        name: {"first": _nanoseconds(counter, long, 20), "again": _nanoseconds(counter, text[:1_000], 5_000)}
        for name, counter in {"estimate": ESTIMATE, **counters}.items()
    }


def _nanoseconds(counter: Counter, text: str, times: int) -> float:
    best = float("inf")
    for _ in range(5):
        started = time.process_time_ns()
        for _ in range(times):
            counter.tokens(text)
        best = min(best, (time.process_time_ns() - started) / times)
    return 1_000 * best / len(text)


def run(folder: Path | None, counters: Mapping[str, Counter]) -> dict[str, Any]:
    """The whole benchmark as one JSON-ready value."""
    told = {language: [language_requests(language)] for language in LANGUAGES}
    data = {name: [story_requests(story) for story in found] for name, found in stories(folder)}
    return {
        "benchmark": "tokens",
        "languages": _rows(told, counters),
        "data": _rows(data, counters),
        "odd_reports": {
            name: {
                text: miss_after_odd_reports(requests, counters.values(), server)
                for text, requests in data.items()
                if requests
            }
            for name, server in SERVERS.items()
        },
        "ns_per_1000_characters": speeds(counters),
    }


def _rows(
    told: Mapping[str, Sequence[tuple[list[Request], list[Request]]]], counters: Mapping[str, Counter]
) -> dict[str, dict[str, dict[str, float]]]:
    """Per text and tokenizer: the errors, averaged over the stories; the worst of all."""
    rows: dict[str, dict[str, dict[str, float]]] = {}
    for text, requests in told.items():
        for name, counter in counters.items() if requests else ():
            found = [judged(first, asked, counter) for first, asked in requests]
            rows.setdefault(text, {})[name] = {
                "plain": round(fmean(one["plain"] for one in found), 2),
                "calibrated": round(fmean(one["calibrated"] for one in found), 2),
                "worst": round(max(one["worst"] for one in found), 2),
                **{usual: round(fmean(one[usual] for one in found), 2) for usual in USUAL},
            }
    return rows


def show(result: Mapping[str, Any], console: Console) -> None:
    """The result as tables."""
    for part, title in (("languages", "own texts"), ("data", "data sets")):
        names = list(next(iter(result[part].values()), {}))
        table = Table("", *names, title=f"Off by, in %: plain → calibrated (worst); {title}")
        for text, row in result[part].items():
            table.add_row(
                text,
                *(f"{one['plain']:+.1f} → {one['calibrated']:.1f} ({one['worst']:.1f})" for one in row.values()),
            )
        if names:
            console.print(table)
    table = Table("", *USUAL, title="Off by, in %, from one tokenizer to the other: the usual ways")
    for text, row in (result["languages"] | result["data"]).items():
        spans = [sorted(one[usual] for one in row.values()) for usual in USUAL]
        table.add_row(text, *(f"{span[0]:+.0f} … {span[-1]:+.0f}" for span in spans))
    console.print(table)
    table = Table("", *result["data"], title="Off by, in %, after five reports of which some are odd")
    for name, found in result["odd_reports"].items():
        table.add_row(name, *(f"{one:.1f}" for one in found.values()))
    console.print(table)
    table = Table("", "first time", "again", title="ns per 1,000 characters")
    for name, one in result["ns_per_1000_characters"].items():
        table.add_row(name, f"{one['first']:,.0f}", f"{one['again']:,.0f}")
    console.print(table)


def main(arguments: Sequence[str] | None = None) -> int:
    """Parse the command line, run, print."""
    parser = argparse.ArgumentParser(prog="benchmarks.tokens", description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, help="a folder with novels/, locomo/, crd3/ and agents/")
    parser.add_argument("--tokenizer", action="append", default=[], metavar="FILE", help="a further tokenizer.json")
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout")
    given = parser.parse_args(arguments)
    if given.data is not None and not given.data.is_dir():
        print(f"{given.data} is not a folder.", file=sys.stderr)
        return 2
    try:
        counters = tokenizers(given.tokenizer)
    except BadInput as error:
        print(error, file=sys.stderr)
        return 2
    result = run(given.data, counters)
    if given.json:
        print(json.dumps(result))
    else:
        show(result, Console())
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
