"""How fast lore is found: 10,000 entries with 30,000 keys on 16,000 characters of story, against the usual ways.

    python -m benchmarks.lore [--json] [--entries 10000] [--characters 16000] [--times 5]

The keys are invented names of one and two words, three to an entry. The text is made of common words, with a name of
the lore now and then, and some that only look like one (a key with letters behind it). Keys are whole words and
match whatever their case. All times are CPU time of the process, medians of several rounds in one run.

Definitions:

* **scan**: all that a turn needs: which entries fire, in which order, each with its reason. Recursion is off, since the
  others have none. **keys**: only the search for keys.
* **key by key, re**: one compiled pattern per key with Python's `re`, the text searched once for each until a key of
  the entry is found. That it mentions the same entries as ours is checked.
* **re, tuned**: the same with keys and text in lower case beforehand and the edges checked behind the key, so that `re`
  can skip to its first letters.
* **key by key, in**: `key in text`, both in lower case: no edges of words, so it finds more than is there (**wrong**).
* **ahocorasick**: the automaton alone, all overlapping matches, no edges of words, no entries.
* **build**: an index of all entries; **add**: the index with one entry more, over 200 entries one after the other;
  **worst add**: the dearest of them, which builds some segments anew.
* **hostile**: 200 patterns made to take exponential time elsewhere, on the same text: how much longer a scan takes with
  them. **on their own text**: the same where the newest message is 16,000 times the letter they hope for.
* **explain all**: the reason of every entry, once asked for.
* **one entry**: a single entry with 10,000 keys and one with 100,000, none of which is in the text: building its index,
  and a scan. Linear is a ratio of 10 for building; the scan reads the text once, whatever the number of keys.
* **list**: `previously lore list` of a story with a book of so many entries, and of one without any: CPU seconds of the
  whole process, the quickest of `--times` runs, its output thrown away.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

from ahocorasick_rs import AhoCorasick
from rich.console import Console
from rich.table import Table

from previously import BlockingMemory
from previously.lore.decisions import ScanInput, ScanMessage
from previously.lore.entry import KeyedEntry
from previously.lore.index import LoreIndex, build_index
from previously.lore.matches import KeyMatches
from previously.lore.scan import scan

SEED = 7
KEYS_PER_ENTRY = 3
MESSAGES = 4
ADDED = 200
CONTENT = "It is known in the realm, and there is a sentence of text about it."

SYLLABLES = "ka ri to mel dra gon sil ver ash thorn el wyn bar ok fen lor is un da mo ze brin tor vel mar sha".split()
COMMON = (
    "the of and to in he she was it his her that with had for said on at as but not they were from out up down by "
    "would there could been all into when what then over back them him who like only one"
).split()

HOSTILE = (
    "(a+)+$", "(x*)*y", "(a|aa)+$", "(a|a?)+b", "([a-zA-Z]+)*$", "(.*a){12}", r"(\w+\s?)+$", "((a*)*)*b", "(x+x+)+y",
    "^(([a-z])+.)+[A-Z]([a-z])+$", "(a|b)*a(a|b){12}", ".*.*.*.*=.*", r"(?:\w+ ){0,50}q", "[a-z]{0,200}q",
)  # fmt: skip
"""Written out two hundred times, each with a word of its own, so that none is the same as another."""


def lore_of(entries: int, chance: random.Random) -> list[KeyedEntry]:
    """Entries with invented names for keys, a third of them of two words."""
    names: dict[str, None] = {}
    while len(names) < KEYS_PER_ENTRY * entries:
        name = "".join(chance.choice(SYLLABLES) for _ in range(chance.randint(2, 4))).title()
        second = "".join(chance.choice(SYLLABLES) for _ in range(chance.randint(2, 3))).title()
        names[f"{name} {second}" if chance.random() < 1 / 3 else name] = None
    keys = list(names)
    return [
        KeyedEntry(
            f"realm/{at}", keys[3 * at], f"{keys[3 * at]} is known in the realm.", tuple(keys[3 * at : 3 * at + 3])
        )
        for at in range(entries)
    ]


def text_of(lore: Sequence[KeyedEntry], characters: int, chance: random.Random) -> str:
    """A text of common words in which a name comes up now and then, and sometimes only a part of a longer word."""
    pieces: list[str] = []
    length = 0
    while length < characters:
        word = chance.choice(COMMON)
        if chance.random() < 0.04:
            word = chance.choice(chance.choice(lore).keys)
            if chance.random() < 0.3:
                word += chance.choice(("ish", "s", "_"))
        pieces.append(word + chance.choice((" ", " ", " ", ", ", ". ")))
        length += len(pieces[-1])
    return "".join(pieces)[:characters]


def turn_of(text: str) -> ScanInput:
    """A turn whose newest messages are this text."""
    size = -(-len(text) // MESSAGES)
    return ScanInput(tuple(ScanMessage(text[at : at + size]) for at in range(0, len(text), size)), recursion=False)


def milliseconds(work: Callable[[], object], times: int) -> float:
    """CPU milliseconds of a piece of work, the median."""
    found = []
    for _ in range(times):
        started = time.process_time()
        work()
        found.append(1_000 * (time.process_time() - started))
    return median(found)


def key_by_key(patterns: Sequence[Sequence[re.Pattern[str]]], turn: ScanInput) -> set[int]:
    """The entries one of whose keys is in one of the messages."""
    texts = [one.text for one in turn.messages]
    return {
        at for at, keys in enumerate(patterns) if any(key.search(text) is not None for key in keys for text in texts)
    }


def methods(index: LoreIndex, lore: Sequence[KeyedEntry], turn: ScanInput, times: int) -> dict[str, Any]:
    """Ours and the usual ways on one text."""
    text = "\n".join(one.text for one in turn.messages).lower()
    lowered = [[key.lower() for key in one.keys] for one in lore]
    automaton = AhoCorasick([key for keys in lowered for key in keys], store_patterns=False)
    many = 20 * times
    found = {
        "scan": milliseconds(lambda: scan(index, turn), many),
        "keys": milliseconds(lambda: KeyMatches(index, turn.depth).read_messages(turn.lines()), many),
        "ahocorasick": milliseconds(lambda: automaton.find_matches_as_indexes(text, overlapping=True), many),
        "in": milliseconds(lambda: [any(key in text for key in keys) for keys in lowered], times),
    }
    fired = {int(one.entry.uid.removeprefix("realm/")) for one in scan(index, turn).fired}
    contained = {at for at, keys in enumerate(lowered) if any(key in text for key in keys)}
    lower_turn = replace(turn, messages=tuple(ScanMessage(one.text.lower()) for one in turn.messages))
    for name, flags, spelled, said in (
        ("re", re.IGNORECASE, r"(?<!\w){0}(?!\w)", turn),
        ("re, tuned", 0, r"{0}(?<!\w{0})(?!\w)", lower_turn),
    ):
        patterns = [[re.compile(spelled.format(re.escape(key)), flags) for key in keys] for keys in lowered]
        if key_by_key(patterns, said) != fired:
            raise AssertionError(f"the scan differs from key by key with {name}")
        found[name] = milliseconds(partial(key_by_key, patterns, said), times)
    return {
        "ms": {name: round(value, 3) for name, value in found.items()},
        "times_as_fast": {name: round(value / found["scan"], 1) for name, value in found.items()},
        "fired": len(fired),
        "wrong_by_in": len(contained - fired),
        "explain_all_ms": round(milliseconds(lambda: scan(index, turn).explain_all(), times), 2),
    }


def building(lore: Sequence[KeyedEntry], times: int) -> dict[str, float]:
    """What an index costs at first, and with one entry more."""
    whole = milliseconds(lambda: build_index(lore), times)
    index = build_index(lore)
    added = []
    for at in range(ADDED):
        entry = KeyedEntry(f"new/{at}", f"Newcomer {at}", "It is new.", (f"newcomer {at}", f"stranger{at}"))
        started = time.process_time()
        index = index.with_entries([entry])
        added.append(1_000 * (time.process_time() - started))
    turn = ScanInput((ScanMessage("the stranger7 came"),))
    assert [one.entry.uid for one in scan(index, turn).fired] == ["new/7"]
    return {
        "build_ms": round(whole, 1),
        "add_ms": round(median(added), 3),
        "worst_add_ms": round(max(added), 3),
        "add_per_build": round(median(added) / whole, 5),
        "segments": len(index.segments),
    }


def hostile(lore: Sequence[KeyedEntry], index: LoreIndex, text: str, times: int) -> dict[str, float]:
    """What two hundred hostile patterns add to a scan."""
    patterns = [f"/(?:{HOSTILE[at % len(HOSTILE)]})|zz{at}/" for at in range(200)]
    together = build_index(
        [*lore, *(KeyedEntry(f"bad/{at}", "Bad", "Bad.", (one,)) for at, one in enumerate(patterns))]
    )
    found: dict[str, float] = {}
    for name, turn in (("extra_ms", turn_of(text)), ("extra_on_their_own_text_ms", turn_of("a" * len(text)))):
        started = time.process_time()
        scan(together, turn)
        first = 1_000 * (time.process_time() - started)
        without = milliseconds(partial(scan, index, turn), 4 * times)
        with_them = milliseconds(partial(scan, together, turn), 4 * times)
        found[name] = round(with_them - without, 2)
        found[f"first_{name}"] = round(first - without, 2)
    return found


def by_size(index: LoreIndex, lore: Sequence[KeyedEntry], turn: ScanInput, times: int) -> dict[str, float]:
    """A scan of the same text that fires the same entries, among a tenth of the others and among all of them."""
    named = [one.entry for one in scan(index, turn).fired]
    fewer = build_index([*named, *lore[: len(lore) // 10]])
    return {
        str(len(some.entries)): round(milliseconds(partial(scan, some, turn), 20 * times), 3) for some in (fewer, index)
    }


def one_entry(text: str, times: int) -> dict[str, float]:
    """What an entry with very many keys costs, and ten times as many."""
    found: dict[str, float] = {}
    turn = turn_of(text)
    for keys in (10_000, 100_000):
        lore = [KeyedEntry("one", "One", "It has many names.", tuple(f"zq{at}x" for at in range(keys)))]
        index = build_index(lore)
        found[f"build_{keys}_ms"] = round(milliseconds(partial(build_index, lore), times), 1)
        found[f"scan_{keys}_ms"] = round(milliseconds(partial(scan, index, turn), 4 * times), 3)
    found["build_ratio"] = round(found["build_100000_ms"] / found["build_10000_ms"], 1)
    found["scan_ratio"] = round(found["scan_100000_ms"] / found["scan_10000_ms"], 1)
    return found


def list_book(entries: int, times: int) -> dict[str, float]:
    """CPU seconds of `previously lore list` with a book of so many entries, and without any."""
    found: dict[str, float] = {}
    with TemporaryDirectory() as folder:
        place = str(Path(folder, "stories.db"))
        with BlockingMemory(place) as memory:
            book = [
                {"name": f"Entry {at}", "type": "lore", "keywords": [f"name{at}", f"other{at}"], "content": CONTENT}
                for at in range(entries)
            ]
            memory.keep_book("realm", book)
            for name in ("empty", "full"):
                memory.story(name).add("user", "Hello.")
            memory.story("full").attach_book("realm")
        for name in ("empty", "full"):
            command = [sys.executable, "-m", "previously", "--db", place, "lore", "list", name]
            seconds = [_spend(command) for _ in range(times + 1)][1:]  # the first compiles
            found[f"{name}_seconds"] = round(min(seconds), 2)
    found["listing_seconds"] = round(found["full_seconds"] - found["empty_seconds"], 2)
    return found


def _spend(command: Sequence[str]) -> float:
    """Run a command; the CPU seconds it took."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def run(entries: int, characters: int, times: int) -> dict[str, Any]:
    """The whole benchmark as one JSON-ready value."""
    chance = random.Random(SEED)
    lore = lore_of(entries, chance)
    text = text_of(lore, characters, chance)
    index = build_index(lore)
    return {
        "benchmark": "lore",
        "entries": entries,
        "keys": KEYS_PER_ENTRY * entries,
        "characters": len(text),
        "methods": methods(index, lore, turn_of(text), times),
        "scan_ms_by_entries": by_size(index, lore, turn_of(text), times),
        "building": building(lore, times),
        "hostile": hostile(lore, index, text, times),
        "one_entry": one_entry(text, times),
        "list": list_book(entries, times),
    }


def show(result: dict[str, Any], console: Console) -> None:
    """The result as tables."""
    table = Table("", "CPU ms", "times a scan", title=f"{result['keys']:,} keys, {result['characters']:,} characters")
    found = result["methods"]
    for name, value in found["ms"].items():
        table.add_row(name, f"{value:,.3f}", f"{found['times_as_fast'][name]:,.1f}")
    console.print(table)
    for part in ("building", "hostile", "one_entry", "list"):
        table = Table("", "", title=part)
        for name, value in result[part].items():
            table.add_row(name, f"{value:g}")
        console.print(table)
    console.print(
        f"{found['fired']} entries fired; {found['wrong_by_in']} more are found by `in`, wrongly. "
        f"explain all: {found['explain_all_ms']} ms. Scan by number of entries: {result['scan_ms_by_entries']}"
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Parse the command line, run, print."""
    parser = argparse.ArgumentParser(prog="benchmarks.lore", description="How fast lore is found.")
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout")
    parser.add_argument("--entries", type=int, default=10_000)
    parser.add_argument("--characters", type=int, default=16_000)
    parser.add_argument("--times", type=int, default=5, help="rounds of the slow ones; the fast ones take more")
    parser.add_argument("--data", help="not needed; accepted like elsewhere")
    given = parser.parse_args(arguments)
    if given.entries < 100 or given.characters < 100 or given.times < 1:
        print("There must be at least 100 entries, 100 characters and one round.", file=sys.stderr)
        return 2
    result = run(given.entries, given.characters, given.times)
    if given.json:
        print(json.dumps(result))
    else:
        show(result, Console())
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
