"""The built-in folder: an earlier recap and new messages in, the next recap out, without a model.

Owns the order of the steps: read, count, weigh, choose, write. What must stay true: pure and deterministic,
total on any text, never more than the word target, and its output is its own next input.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from previously.core.words import count_words
from previously.folds.builtin import carry as carried
from previously.folds.builtin import prose
from previously.folds.builtin.ledger import ledger_sentence, take_ledger
from previously.folds.builtin.names import NameBook, shown
from previously.folds.builtin.narrators import habits, has_title, narrators_among
from previously.folds.builtin.parsing import Parsed, parsed
from previously.folds.builtin.reading import Line, Said, is_english, lines_of_message, lines_of_recap, speakers_of
from previously.folds.builtin.salience import says_nothing, weigh
from previously.folds.builtin.select import NOTHING, Candidate, choose
from previously.folds.builtin.terms import numbers_in
from previously.folds.builtin.vocabulary import RAREST, rarity, stem
from previously.folds.builtin.words import keys_in

NAME_BOOST = 3.0
NUMBER_WORTH = 20.0
LEDGER_SHARE = 0.08
_TOLD_MENTIONS = 2
"""A name in narration counts for more than one in talk, which is as often about nothing."""

_MOST_MENTIONS = 4
"""How often one name counts in one window: who is talked about for a page is not thereby the hero."""


@dataclass(frozen=True, slots=True)
class Rewrite:
    """The new recap and what to hand back with it next time."""

    text: str
    carry: str


def rewrite(previous: str, carry: str | None, delta: Sequence[Said], *, target_words: int) -> Rewrite:
    """Fold the delta into the previous recap, in at most `target_words` words (0 = no ceiling)."""
    counters = carried.decode(carry)
    body, listed = take_ledger(previous)
    earlier = lines_of_recap(body)
    counters.habits = habits(delta, counters.habits)
    narrators = narrators_among(counters.habits)
    at_table = any(not has_title(name) for name in narrators)
    fresh = _fresh_lines(delta, list(counters.habits), narrators, at_table=at_table)
    lines = [parsed(line) for line in _without_repeats([*earlier, *fresh])]
    english = is_english(" ".join(line.text for line in lines[-60:])) if lines else True

    known = (key for name in [*counters.names, *listed] for key in keys_in(name))
    book = NameBook(known, speakers_of(delta, earlier))
    for line in lines:
        book.read(line.wording)
    _count(lines, listed, book, counters)

    name_counts = _by_word(counters)
    worth: dict[str, float] = {}
    candidates = [
        _candidate(line, book, counters, name_counts, worth, english=english, at_table=at_table) for line in lines
    ]
    if target_words > 0:
        chosen = choose(candidates, worth, target_words - int(target_words * LEDGER_SHARE))
    else:
        chosen = [index for index, candidate in enumerate(candidates) if candidate.weight > 0]
    if not chosen and lines:
        chosen = [
            max(
                range(len(lines)), key=lambda index: (candidates[index].weight, len(lines[index].wording.words), -index)
            )
        ]
    text = _cut(prose.write([lines[index].line for index in chosen], english=english), target_words)
    if target_words > 0:
        ledger = ledger_sentence(text, counters.names, book, target_words - count_words(text), english=english)
        text = f"{text}\n{ledger}".strip()
    return Rewrite(text, carried.encode(counters))


def _cut(text: str, target_words: int) -> str:
    """The text as it is, or its first words when not even one sentence fits the target."""
    if target_words <= 0 or count_words(text) <= target_words:
        return text
    words = text.split()
    while len(words) > 1 and count_words(" ".join(words)) > target_words:
        words = words[: min(len(words) - 1, target_words)]
    kept = " ".join(words) if count_words(" ".join(words)) <= target_words else words[0][: 2 * target_words]
    return kept.replace('"', "").rstrip(",;: ") + "…"


def _fresh_lines(
    delta: Sequence[Said], speakers: Sequence[str], narrators: frozenset[str], *, at_table: bool
) -> list[Line]:
    """The delta's lines, each speaker read in their habit."""
    players = [name for name in speakers if name not in narrators]
    lines: list[Line] = []
    for message in delta:
        name = shown(message.speaker) if message.speaker else ""
        others = [player for player in players if player != name]
        # Around a table the speakers are the players, and "you" are their characters.
        listener = others[0] if len(others) == 1 and not at_table else None
        narrates = not name or name in narrators
        lines += lines_of_message(message, narrates=narrates, at_table=at_table, listener=listener)
    return lines


def _without_repeats(lines: Sequence[Line]) -> list[Line]:
    """Each sentence once, where it first came."""
    seen: set[str] = set()
    kept: list[Line] = []
    for line in lines:
        key = line.text.casefold().rstrip(".!?… ")
        if key not in seen:
            seen.add(key)
            kept.append(line)
    return kept


def _count(lines: Sequence[Parsed], listed: Sequence[str], book: NameBook, counters: carried.Counters) -> None:
    """Count the new window, and the recap itself when nothing was carried. Table talk teaches nothing."""
    fresh = [line for line in lines if line.line.fresh and not line.table_talk]
    if not counters.windows:
        earlier = [line for line in lines if not line.line.fresh]
        counters.add([], dict.fromkeys(listed, 2))
        counters.add(_stems(earlier), _mentions(earlier, book))
    counters.add(_stems(fresh), _mentions(fresh, book))
    for line in fresh:
        if line.line.speaker:
            counters.names.setdefault(line.line.speaker, 1)


def _stems(lines: Iterable[Parsed]) -> list[str]:
    return [stemmed for line in lines for stemmed in line.stems]


def _mentions(lines: Sequence[Parsed], book: NameBook) -> dict[str, int]:
    counts: Counter[str] = Counter()
    for line in lines:
        told = 1 if line.line.speaker else _TOLD_MENTIONS
        for name in book.runs_in(line.wording):
            counts[name] += told
    return {name: min(_MOST_MENTIONS, count) for name, count in counts.items()}


def _by_word(counters: carried.Counters) -> dict[str, int]:
    """How often each word of a name was counted, whole names taken together."""
    counts: Counter[str] = Counter()
    for name, count in counters.names.items():
        for key in keys_in(name) or (name,):
            counts[key] += count
    return counts


def _candidate(
    parsed: Parsed,
    book: NameBook,
    counters: carried.Counters,
    name_counts: Mapping[str, int],
    worth: dict[str, float],
    *,
    english: bool,
    at_table: bool,
) -> Candidate:
    """A line as the choice sees it; `worth` learns the terms it meets."""
    line = parsed.line
    if says_nothing(parsed):
        return NOTHING
    names = book.names_among(parsed.wording)
    weighed = weigh(parsed, names=len(set(names)), at_table=at_table)
    if not weighed.weight and not weighed.thread:
        return NOTHING
    if line.speaker:
        names += keys_in(line.speaker)
    names = list(dict.fromkeys(names))
    named = {stem(name) for name in names}
    stems = [stemmed for stemmed in dict.fromkeys(parsed.stems) if stemmed not in named]
    numbers = numbers_in(parsed.text, in_words=parsed.kinds["numbers"] > 0)
    for name in names:
        if f"@{name}" not in worth:
            worth[f"@{name}"] = NAME_BOOST * RAREST * math.log1p(name_counts.get(name, 1)) ** 2
    for stemmed in stems:
        if stemmed not in worth:
            worth[stemmed] = rarity(stemmed) * math.log1p(counters.stems.get(stemmed, 1)) ** 2
    worth.update(dict.fromkeys(numbers, NUMBER_WORTH))
    terms = (*(f"@{name}" for name in names), *stems, *dict.fromkeys(numbers))
    cost = prose.cost_of(line, parsed.size, english=english)
    return Candidate(cost, terms, weighed.weight, weighed.thread, parsed.likeness if numbers else ())
