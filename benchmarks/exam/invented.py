"""List the names and numbers in recorded answers that their requests do not hold.

    python -m benchmarks.exam.invented [SET …] [--json]

Each request is made anew from the story and the recorded answers before it. A name is a capitalised word that does not
begin a sentence; a number is written in digits or in words, and its value counts ("twelve" is 12). What is listed is to
be read by a person: a title that the answer gives a known man is listed as well as a man nobody has heard of.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.exam.__main__ import BUDGETS
from benchmarks.exam.exams import Exam, load_exams
from benchmarks.exam.recordings import ANSWERS, Exchange, RecordedModel, read_answers, recorded_sets
from benchmarks.exam.rolling import KIND, summarise
from benchmarks.exam.sittings import fold_story, open_memory, prompts

_WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")
_SENTENCE_START = re.compile(r"(?:^|[.!?…:]|[\"“”‘(])[\"“”‘’'()*\s]*$")
"""What stands before the first word of a sentence, a quotation or a remark in brackets. What an item of a list begins
with is no such word: it is most often a name."""

_DIGITS = re.compile(r"(?<![\w.])(?:\d{1,3}(?:,\d{3})+|\d+)(?=(?:st|nd|rd|th|s)?\b)")
_MESSAGE_NUMBER = re.compile(r"#\d+(?:\s*[-–]\s*#?\d+)?|\bT\d+\b")
"""Numbers of messages and threads, which stand in requests and answers because the form asks for them."""

_VALUES = {
    word: value
    for words, first, step in (
        ("zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen", 0, 1),
        ("seventeen eighteen nineteen twenty", 17, 1),
        ("thirty forty fifty sixty seventy eighty ninety hundred", 30, 10),
        ("first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth", 1, 1),
        ("fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth twentieth", 14, 1),
        ("thirtieth fortieth fiftieth sixtieth seventieth eightieth ninetieth hundredth", 30, 10),
        ("thousand thousandth", 1_000, 0),
    )
    for value, word in enumerate(words.split())
    for value in (first + step * value,)
}

LEAST_NUMBER = 2
"""One and none are said in too many ways to be worth listing."""


@dataclass(frozen=True, slots=True)
class Invented:
    """What one answer has that its request has not."""

    name: str
    names: tuple[str, ...]
    numbers: tuple[int, ...]


def find_invented(exchange: Exchange) -> Invented:
    """Return the names and numbers of an answer that its request does not hold."""
    asked = f"{exchange.request.system}\n{exchange.request.user}"
    known = {_plain(word) for word in _WORD.findall(asked)}
    known |= {part for word in known for part in re.split(r"['’-]", word)}
    names = dict.fromkeys(word for word in find_names(exchange.text) if not _is_known(word, known))
    numbers = find_numbers(exchange.text) - find_numbers(asked)
    return Invented(exchange.name, tuple(names), tuple(sorted(numbers)))


def find_names(text: str) -> Iterator[str]:
    """Yield the capitalised words that do not begin a sentence, without possessives."""
    for line in text.splitlines():
        for match in _WORD.finditer(line):
            if match[0][0].isupper() and not _SENTENCE_START.search(line, 0, match.start()):
                yield re.sub(r"['’]s?$", "", match[0])


def find_numbers(text: str) -> set[int]:
    """Return the values of the numbers in a text, written in digits or in words."""
    text = _MESSAGE_NUMBER.sub(" ", text)
    values = {int(digits.replace(",", "")) for digits in _DIGITS.findall(text)}
    for run in re.split(r"[^\w\s-]", text.casefold()):
        values |= set(_values_in(re.split(r"[\s-]+", run)))
    return {value for value in values if value >= LEAST_NUMBER}


def _values_in(words: Sequence[str]) -> Iterator[int]:
    """Yield the numbers that words next to each other make: "three hundred and fifty" is one, "two three" are two."""
    total = part = last = -1
    for place, word in enumerate([*words, ""]):
        value = _VALUES.get(word)
        if value is None:
            if word == "and" and last in (100, 1_000) and set(words[place + 1 : place + 2]) & set(_VALUES):
                continue
            if max(total, part) >= 0:
                yield max(total, 0) + max(part, 0)
            total = part = last = -1
        elif value == 1_000:
            total, part, last = max(total, 0) + value * (part if part > 0 else 1), -1, value
        elif value == 100:
            part, last = value * (part if part > 0 else 1), value
        else:
            joins = last in (100, 1_000) or (last in range(20, 100, 10) and value < 10)
            if last >= 0 and not joins:
                yield max(total, 0) + max(part, 0)
                total = part = -1
            part, last = max(part, 0) + value, value


def _plain(word: str) -> str:
    return re.sub(r"['’]s?$", "", word).casefold()


def _is_known(word: str, known: set[str]) -> bool:
    """Return whether a word, or each half of a hyphened one, stands in the request, its plural included."""
    plain, halves = word.casefold(), word.casefold().split("-")
    return (
        plain in known
        or plain.removesuffix("s") in known
        or (len(halves) > 1 and all(half in known for half in halves))
    )


async def exchanges_of(exam: Exam, folder: Path) -> list[Exchange]:
    """Return every recorded answer of a story with its request, made anew."""
    texts = [message.text for message in exam.messages]
    found: dict[str, Exchange] = {}
    summaries = [f".{KIND}" in name for name in read_answers(folder)]
    for budget in () if all(summaries) else BUDGETS:
        model = RecordedModel(folder, texts, prompts())
        async with await open_memory(exam, model) as memory:
            await fold_story(memory, exam, budget)
        found |= {exchange.name: exchange for exchange in model.exchanges}
    if any(summaries):
        model = RecordedModel(folder, texts, prompts())
        await summarise(exam, model)
        found |= {exchange.name: exchange for exchange in model.exchanges}
    return list(found.values())


async def run(sets: Sequence[str], answers: Path = ANSWERS) -> dict[str, dict[str, list[dict[str, object]]]]:
    """Return what was found by set and story."""
    result: dict[str, dict[str, list[dict[str, object]]]] = {}
    for name in sets:
        for exam in load_exams():
            folder = answers / name / exam.name
            if not read_answers(folder):
                continue
            found = [find_invented(exchange) for exchange in await exchanges_of(exam, folder)]
            result.setdefault(name, {})[exam.name] = [
                {"answer": one.name, "names": list(one.names), "numbers": list(one.numbers)} for one in found
            ]
    return result


def main(arguments: Sequence[str] | None = None) -> int:
    """Parse the command line, look, print."""
    parser = argparse.ArgumentParser(prog="benchmarks.exam.invented", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("sets", nargs="*", metavar="SET", help="all that are recorded if none is given")
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout")
    given = parser.parse_args(arguments)
    unknown = [name for name in given.sets if name not in recorded_sets()]
    if unknown:
        print(f"There is no recorded set {unknown[0]!r}.", file=sys.stderr)
        return 2
    result = asyncio.run(run(given.sets or recorded_sets()))
    if given.json:
        print(json.dumps({"sets": result}))
        return 0
    for name, stories in result.items():
        for story, found in stories.items():
            for one in found:
                print(f"{name} {story} {one['answer']}: names {one['names']}, numbers {one['numbers']}")
    if not result:
        print("Nothing is recorded yet.")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
