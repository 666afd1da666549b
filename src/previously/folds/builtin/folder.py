"""The built-in folder: an earlier recap and new messages in, the next recap out, without a model.

Owns the order of the steps: read, count, weigh, choose, write. What must stay true: pure and deterministic, total on any
text, never more than the word target, and its output is its own next input.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from previously.core.words import count_words
from previously.folds.builtin import carry as carried
from previously.folds.builtin import prose
from previously.folds.builtin.names import WORD, NameBook, key_of, shown
from previously.folds.builtin.narrators import habits, narrators_among
from previously.folds.builtin.reading import Line, Said, is_english, lines_of_message, lines_of_recap, speakers_of
from previously.folds.builtin.salience import NUMBER, weigh
from previously.folds.builtin.select import Candidate, choose
from previously.folds.builtin.vocabulary import FUNCTION_WORDS, RAREST, rarity, stem

NAME_BOOST = 4.0
NUMBER_WORTH = 20.0
LEDGER_SHARE = 0.1
_SPACELESS_RUN = re.compile("[\u0e01-\u0eff\u1000-\u109f\u1780-\u17ff\u3005\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af]{2,}")


@dataclass(frozen=True, slots=True)
class Rewrite:
    """The new recap and what to hand back with it next time."""

    text: str
    carry: str


def rewrite(previous: str, carry: str | None, delta: Sequence[Said], *, target_words: int) -> Rewrite:
    """Fold the delta into the previous recap, in at most `target_words` words (0 = no ceiling)."""
    counters = carried.decode(carry)
    body, listed = prose.take_ledger(previous)
    earlier = lines_of_recap(body)
    fresh = _fresh_lines(delta, counters)
    lines = _without_repeats([*earlier, *fresh])
    english = is_english(" ".join(line.text for line in lines[-60:])) if lines else True

    speakers = speakers_of(delta, earlier)
    book = NameBook((key_of(word) for name in [*counters.names, *listed] for word in WORD.findall(name)), speakers)
    for line in lines:
        book.read(line.text)
    if not counters.windows:
        counters.add([], listed)
        counters.add((term for line in earlier for term in _stems(_tokens(line), line.text)), _names(earlier, book))
    if fresh:
        counters.add((term for line in fresh for term in _stems(_tokens(line), line.text)), _names(fresh, book))

    name_counts = _by_word(counters)
    candidates: list[Candidate] = []
    worth: dict[str, float] = {}
    for line in lines:
        candidates.append(_candidate(line, book, counters, name_counts, worth, english=english))
    if target_words <= 0:
        kept = [line for line, candidate in zip(lines, candidates, strict=True) if candidate.weight > 0]
        return Rewrite(prose.write(kept, english=english), carried.encode(counters))

    room = target_words - int(target_words * LEDGER_SHARE)
    chosen = choose(candidates, worth, room)
    text = prose.write([lines[index] for index in chosen], english=english)
    ledger = _ledger(text, counters, book, target_words - count_words(text), english=english)
    return Rewrite(f"{text}\n{ledger}".strip(), carried.encode(counters))


def _fresh_lines(delta: Sequence[Said], counters: carried.Counters) -> list[Line]:
    """The delta's lines, each speaker read in their habit."""
    counters.habits = habits(delta, counters.habits)
    narrators = narrators_among(counters.habits)
    players = [name for name in counters.habits if name not in narrators]
    lines: list[Line] = []
    for message in delta:
        name = shown(message.speaker) if message.speaker else ""
        others = [player for player in players if player != name]
        listener = others[0] if len(others) == 1 else None
        lines += lines_of_message(message, narrates=not name or name in narrators, listener=listener)
    return lines


def _candidate(
    line: Line,
    book: NameBook,
    counters: carried.Counters,
    name_counts: dict[str, int],
    worth: dict[str, float],
    *,
    english: bool,
) -> Candidate:
    spelled = WORD.findall(line.text.replace("’", "'"))
    tokens = [word.lower() for word in spelled]
    names = book.names_among(spelled, line.text)
    words = count_words(line.text)
    weighed = weigh(line.text.replace("’", "'"), tokens, spoken=line.speaker is not None, names=len(set(names)), words=words)
    if line.speaker:
        names += [key_of(word) for word in WORD.findall(line.speaker)]
    terms: dict[str, None] = {}
    for name in names:
        term = f"@{name}"
        terms[term] = None
        worth.setdefault(term, NAME_BOOST * RAREST * math.log1p(name_counts.get(name, 1)) ** 2)
    known = {stem(name) for name in names}
    for stemmed in _stems(tokens, line.text):
        if stemmed in known or stemmed in terms:
            continue
        terms[stemmed] = None
        worth.setdefault(stemmed, rarity(stemmed) * math.log1p(counters.stems.get(stemmed, 1)) ** 2)
    if not weighed.table_talk:
        for number in NUMBER.findall(line.text):
            terms[f"#{number.lower()}"] = None
            worth.setdefault(f"#{number.lower()}", NUMBER_WORTH)
    return Candidate(prose.cost_of(line, english=english), tuple(terms), weighed.weight, weighed.thread)


def _tokens(line: Line) -> list[str]:
    return [word.lower() for word in WORD.findall(line.text.replace("’", "'"))]


def _stems(tokens: Iterable[str], text: str) -> list[str]:
    found = [stem(token) for token in tokens if 2 < len(token) <= 40 and token not in FUNCTION_WORDS]
    if not text.isascii():
        for run in _SPACELESS_RUN.findall(text):
            found += [run[index : index + 2] for index in range(len(run) - 1)]
    return found


def _names(lines: Iterable[Line], book: NameBook) -> list[str]:
    found: list[str] = []
    for line in lines:
        found += book.runs_in(line.text)
        if line.speaker:
            found.append(line.speaker)
    return found


def _by_word(counters: carried.Counters) -> dict[str, int]:
    """In how many windows each word of a name occurred, whole names counted together."""
    counts: Counter[str] = Counter()
    for name, windows in counters.names.items():
        for key in {key_of(word) for word in WORD.findall(name)} or {name}:
            counts[key] += windows
    return counts


def _ledger(text: str, counters: carried.Counters, book: NameBook, room: int, *, english: bool) -> str:
    """The best-known names that the prose does not hold, as many as fit."""
    held = {key_of(word) for word in WORD.findall(text)}
    names: list[str] = []
    for name, _ in sorted(counters.names.items(), key=lambda item: (-item[1], item[0])):
        keys = {key_of(word) for word in WORD.findall(name)}
        if keys <= held if keys else name in text:
            continue
        if any(not book.is_name(key) for key in keys if len(key) > 3) or "," in name or " and " in name:
            continue
        if count_words(prose.ledger([*names, name], english=english)) > room:
            break
        names.append(name)
        held |= keys
    return prose.ledger(names, english=english)


def _without_repeats(lines: Sequence[Line]) -> list[Line]:
    seen: set[str] = set()
    kept: list[Line] = []
    for line in lines:
        key = "".join(mark for mark in line.text.casefold() if mark.isalnum())
        if key not in seen:
            seen.add(key)
            kept.append(line)
    return kept
