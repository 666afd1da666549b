"""How much of a story a rolling recap keeps: the built-in writer against lead, tail, random, LexRank, TextRank
and LSA.

    python -m benchmarks.recap --data PATH-TO-CRD3 [--json] [--words 400] [--batch 40] [--systems ours,tail]

*Rolling*: an episode's turns arrive in batches of 40; at each batch a system rewrites (recap + batch) into a
recap of at most 400 words and never sees the earlier turns again. The last recap is scored against the story as
a person told it (`benchmarks.crd3` says what that leaves out).

Definitions, each per episode, then averaged over episodes with equal weight:

* **R1, R2**: ROUGE-1 and ROUGE-2 F1 of rouge-score with its Porter stemmer, stop words kept.
* **names**: the share of the reference's distinct proper names that occur in the recap. A name is one capitalised word
  (possessive taken off) that the reference writes with a capital inside a sentence at least once and in lower
  case less often, or that neither the reference nor the episode ever writes in lower case. Matching ignores
  case.
* **core**: the same for names the reference mentions three times or more.
* **numbers**: the share of the reference's distinct numbers, digits or number words from two on, "twenty" and "20"
  being one number, that occur in the recap.
* **survival**: names and numbers together, as one set: the share of the reference's concrete anchors still in the last
  recap. Anchors that the episode itself never says count as lost, so it is a strict measure.
* **early**: names of the reference which the episode says only in its first third (by turn). They have to live
  through two thirds of the rewrites.
* **CPU s**: process time of all rewrites of one episode; **ms**: the same per rewrite.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

from rich.console import Console
from rich.table import Table
from rouge_score.rouge_scorer import RougeScorer

from benchmarks import baselines
from benchmarks.crd3 import Episode, episodes
from previously.core.messages import message
from previously.core.scripts import count_words
from previously.folds.builtin.quotes import quote

METRICS = ("R1", "R2", "names", "core", "numbers", "survival", "early", "words", "cpu_s", "ms")
SYSTEMS = ("lead", "tail", "random", "LexRank", "TextRank", "LSA", "ours")
SEED = 7

_TOKEN = re.compile(r"[^\W\d_]+(?:[-'’][^\W\d_]+)*")
_NUMBER = re.compile(r"\d+(?:,\d{3})*|[a-z]+")
_NUMBER_WORDS = {
    word: str(value)
    for value, word in [
        *enumerate(
            "two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen".split(), 2
        ),
        *enumerate("seventeen eighteen nineteen twenty".split(), 17),
        *((10 * tens, word) for tens, word in enumerate("thirty forty fifty sixty seventy eighty ninety".split(), 3)),
        (100, "hundred"),
        (1000, "thousand"),
    ]
}


@dataclass(frozen=True, slots=True)
class Reference:
    """What an episode's recap is scored against."""

    text: str
    names: frozenset[str]
    core: frozenset[str]
    numbers: frozenset[str]
    early: frozenset[str]


def words_of(text: str) -> list[str]:
    """Words as written, possessives taken off."""
    return [re.sub(r"['’]s$|['’]$", "", word) for word in _TOKEN.findall(text)]


def numbers_of(text: str) -> frozenset[str]:
    """Distinct numbers, words turned into digits; "one" says too little to count."""
    found = set()
    for token in _NUMBER.findall(text.lower()):
        value = token.replace(",", "") if token[0].isdigit() else _NUMBER_WORDS.get(token)
        if value and value not in ("0", "1"):
            found.add(value)
    return frozenset(found)


def reference_of(episode: Episode) -> Reference:
    """The names and numbers of the human summary, and where the episode says them."""
    inside: Counter[str] = Counter()
    capital: Counter[str] = Counter()
    lower: Counter[str] = Counter()
    for sentence in re.split(r"(?<=[.!?:])[\"')]*\s+[\"'(]*|\n+|\"", episode.story):
        for position, word in enumerate(words_of(sentence)):
            if word[0].isupper():
                capital[word.lower()] += 1
                inside[word.lower()] += position > 0
            else:
                lower[word] += 1
    said = [words_of(turn.text) for turn in episode.turns]
    said_lower = {word for words in said for word in words if word[0].islower()}
    names = frozenset(
        word
        for word in capital
        if len(word) > 1
        and ((inside[word] and inside[word] > lower[word]) or (not lower[word] and word not in said_lower))
    )
    third = len(said) // 3
    first = {word.lower() for words in said[:third] for word in words}
    later = {word.lower() for words in said[third:] for word in words}
    return Reference(
        episode.story,
        names,
        frozenset(word for word in names if capital[word] >= 3),
        numbers_of(episode.story),
        frozenset(word for word in names if word in first and word not in later),
    )


def rolled(system: str, episode: Episode, *, target: int, batch: int) -> tuple[str, float, int]:
    """The last recap of a system, the CPU seconds and the number of rewrites it took."""
    batches = [episode.turns[start : start + batch] for start in range(0, len(episode.turns), batch)]
    if system == "ours":
        text, first = "", 0
        started = time.process_time()
        for turns in batches:
            text = quote(text, [message("user", turn.text, speaker=turn.speaker) for turn in turns], first, target)
            first += len(turns)
        return text, time.process_time() - started, len(batches)
    named = {"lead": baselines.lead, "tail": baselines.tail, "random": baselines.seeded_random(SEED)}
    step = named.get(system) or baselines.sumy_system(system)
    pools = [[sentence for turn in turns for sentence in baselines.sentences(turn.text)] for turns in batches]
    recap: list[str] = []
    started = time.process_time()
    for pool in pools:
        recap = step(recap, pool, target)
    return " ".join(recap), time.process_time() - started, len(batches)


def scored(recap: str, reference: Reference, scorer: RougeScorer) -> dict[str, float]:
    """Every metric of one recap, shares in per cent."""
    rouge = scorer.score(reference.text, recap)
    words = {word.lower() for word in words_of(recap)}
    numbers = numbers_of(recap)
    kept = len(reference.names & words) + len(reference.numbers & numbers)
    return {
        "R1": 100 * rouge["rouge1"].fmeasure,
        "R2": 100 * rouge["rouge2"].fmeasure,
        "names": _share(reference.names, words),
        "core": _share(reference.core, words),
        "numbers": _share(reference.numbers, numbers),
        "survival": 100 * kept / max(1, len(reference.names) + len(reference.numbers)),
        "early": _share(reference.early, words),
        "words": float(count_words(recap)),
    }


def _share(wanted: frozenset[str], held: set[str] | frozenset[str]) -> float:
    return 100 * len(wanted & held) / max(1, len(wanted))


def run(data: Path, *, target: int, batch: int, systems: Sequence[str]) -> dict[str, object]:
    """The whole benchmark as one JSON-ready value."""
    scorer = RougeScorer(["rouge1", "rouge2"], use_stemmer=True)
    per_episode: dict[str, dict[str, dict[str, float]]] = {system: {} for system in systems}
    for episode in episodes(data):
        reference = reference_of(episode)
        for system in systems:
            recap, seconds, rewrites = rolled(system, episode, target=target, batch=batch)
            scores = scored(recap, reference, scorer)
            scores |= {"cpu_s": seconds, "ms": 1000 * seconds / max(1, rewrites)}
            per_episode[system][episode.name] = {key: round(value, 2) for key, value in scores.items()}
    mean = {
        system: {metric: round(fmean(scores[metric] for scores in found.values()), 2) for metric in METRICS}
        for system, found in per_episode.items()
        if found
    }
    return {
        "benchmark": "recap",
        "target_words": target,
        "batch": batch,
        "rouge": "rouge-score, Porter stemmer, stop words kept",
        "mean": mean,
        "episodes": per_episode,
    }


def show(result: dict[str, object], console: Console) -> None:
    """The result as tables: the means, then each episode."""
    episodes_by_system: dict[str, dict[str, dict[str, float]]] = result["episodes"]  # type: ignore[assignment]
    mean: dict[str, dict[str, float]] = result["mean"]  # type: ignore[assignment]
    console.print(_table(f"Mean, {result['target_words']} words, batches of {result['batch']}", mean))
    for name in sorted({name for found in episodes_by_system.values() for name in found}):
        console.print(_table(name, {system: found[name] for system, found in episodes_by_system.items()}))


def _table(title: str, rows: dict[str, dict[str, float]]) -> Table:
    table = Table(title=title)
    table.add_column("system")
    for metric in METRICS:
        table.add_column(metric, justify="right")
    for system, scores in rows.items():
        style = "bold" if system == "ours" else None
        table.add_row(
            system, *(f"{scores[metric]:.{2 if metric == 'cpu_s' else 1}f}" for metric in METRICS), style=style
        )
    return table


def main(arguments: Sequence[str] | None = None) -> int:
    """Parse the command line, run, print."""
    parser = argparse.ArgumentParser(prog="benchmarks.recap", description="Rolling recaps on CRD3 episodes.")
    parser.add_argument("--data", type=Path, required=True, help="the folder that holds cleaned/*.json")
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout")
    parser.add_argument("--words", type=int, default=400)
    parser.add_argument("--batch", type=int, default=40)
    parser.add_argument("--systems", default=",".join(SYSTEMS), help="comma-separated")
    given = parser.parse_args(arguments)
    systems = [system for system in given.systems.split(",") if system]
    unknown = [system for system in systems if system not in SYSTEMS]
    if unknown or not (given.data / "cleaned").is_dir():
        print(
            f"Unknown system {unknown[0]!r}." if unknown else f"{given.data} holds no folder 'cleaned'.",
            file=sys.stderr,
        )
        return 2
    result = run(given.data, target=given.words, batch=given.batch, systems=systems)
    if given.json:
        print(json.dumps(result))
    else:
        show(result, Console())
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
