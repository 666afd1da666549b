"""The built-in writer of stories: it quotes. No model, no rewriting, nothing that the story does not say.

It chooses whole sentences of messages (`core.quote_lines` is the form they stand in) within a word target: those with
rare words, numbers and names, spread over all that is read, so that no stretch is empty. What it wrote before is what
it reads next; prose of another writer (a model's recap that it has to go on from) loses whole sentences where there is
no room, and no word within one.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from previously.core.messages import Message
from previously.core.path import Span
from previously.core.patterns import lazy_pattern
from previously.core.quote_lines import PROMISES, parse_line, render_quote, render_speaker, renumber
from previously.core.scripts import SPACELESS, count_words
from previously.core.versions import LiveVersion, NewVersion
from previously.folds.prompts.templates import name_speaker, render_message
from previously.text.sentences import cut_sentence, join_full_lines, join_lines, split_sentences

STRETCH_WORDS = 20
"""A stretch gets about so many words, a sentence of usual length: with twice as many the oldest were lost first."""

LINE_WORDS = 4
"""Added to a sentence's length when it is weighed: number, speaker and marks cost that much, and without it two rare
words alone would beat every sentence."""

NUMBER_WEIGHT = 1.0
"""A number counts as much again as the rarest word: amounts and dates cannot be guessed from the rest."""

NAME_WEIGHT = 2.0
"""A name counts twice as much again: of 0.5, 1, 2 and 3 it kept most names and numbers of six episodes of play together
(`benchmarks.recap`)."""

PROSE_WEIGHT = 2.0
"""A sentence of prose stands for many messages, a quotation for one."""

NEWEST_SHARE = 2
"""Of what is new the best sentence that takes at most half of a text is quoted first: else one long old sentence would
keep all that is new out of a short text."""

QUOTED_SHARE = 3
"""At most a third of the new words is quoted, whatever the target: a recap as long as the story saves nothing."""

UNBOUNDED = 1_000_000
"""Words of a text without a target: more than any has."""

LEAST_WORDS = 60
"""So much may be quoted of any delta: of a few short messages all."""

EXCERPT_CHARACTERS = 60
"""Of a message without a sentence that could be quoted, so much of its beginning stands for it."""

_WORD = lazy_pattern(rf"[{SPACELESS}]+|[^\W_{SPACELESS}]+")
_IS_SPACELESS = lazy_pattern(f"[{SPACELESS}]")


@dataclass(frozen=True, slots=True)
class _Sentence:
    """A sentence of a message, or of prose where it has no number."""

    number: int | None
    speaker: str
    text: str
    place: int
    """Its order in the message or line; neighbours that differ by one have nothing left out between them."""
    joint: str
    """The text between it and the neighbour before it: a space, or nothing where a script has none."""


_Unit = tuple[_Sentence, ...]
"""A unit that is kept or dropped as a whole: a sentence, or a line."""

QUOTERS = frozenset({"builtin", "librarian", "scenes"})
"""The makers of versions whose lines carry numbers: this module, and what is put together from its notes."""


def renumber_live(live: LiveVersion) -> str:
    """Return the text of a version with the numbers that its messages have now."""
    return renumber_quotes(live.version.made.text, live.version.made, live.span)


def renumber_quotes(text: str, made: NewVersion, span: Span) -> str:
    """Return a text of a version that now stands for `span`, with the numbers that its messages have there."""
    return renumber(text, span.last - made.span.last) if made.made_by in QUOTERS else text


def quote(previous: str, delta: Sequence[Message], first: int, target_words: int) -> str:
    """Return the next rolling text: the best of the text before and of new messages, the first of them at `first`.

    With `target_words` 0 nothing of the text before is dropped.
    """
    units = [unit for line in _once(_lines_in(previous)) for unit in _apart(line)]
    quoted = {unit[0].text for unit in units}
    fresh: list[_Unit] = []
    for unit in _fresh(delta, first):  # what is said again in the same words says nothing new
        if unit[0].text not in quoted:
            quoted.add(unit[0].text)
            fresh.append(unit)
    return _written(units, fresh, _room(previous, delta, target_words)) or _excerpt(delta, first)


def quote_whole(texts: Iterable[str], target_words: int, delta: Sequence[Message] = (), first: int = 0) -> str:
    """Return the best lines of several texts and of messages that none of them quotes; each line stays as it is."""
    texts = list(texts)
    lines = _once(line for text in texts for line in _lines_in(text))
    quoted = {line[0].number for line in lines}
    fresh = [unit for unit in _fresh(delta, first) if unit[0].number not in quoted]
    units = [unit for line in lines for unit in ([line] if line[0].number is not None else _apart(line))]
    return _written(units, fresh, _room("\n".join(texts), delta, target_words)) or _excerpt(delta, first)


def _once(lines: Iterable[_Unit]) -> list[_Unit]:
    """Return lines without further ones of the same message: where those stood in it is not known."""
    first_lines: dict[object, _Unit] = {}
    for line in lines:
        number = line[0].number
        first_lines.setdefault(line if number is None else number, line)
    return list(first_lines.values())


def _room(previous: str, delta: Sequence[Message], target_words: int) -> int:
    """Return how many words the next text may have."""
    said = sum(count_words(_said(one)) for one in delta)
    return min(target_words or UNBOUNDED, count_words(previous) + max(LEAST_WORDS, said // QUOTED_SHARE))


def _apart(line: _Unit) -> list[_Unit]:
    return [(sentence,) for sentence in line]


def _fresh(delta: Sequence[Message], first: int) -> list[_Unit]:
    return [(one,) for number, message in enumerate(delta, first) for one in _quotable(message, number)]


def _quotable(message: Message, number: int) -> list[_Sentence]:
    """Return the sentences of a message that can be quoted; where all are too long, clauses of them."""
    text = _said(message)
    cut = [(one, cut_sentence(one)) for one in _split(text)]
    texts = [one for one, pieces in cut if pieces == [one]] or [piece for _, pieces in cut for piece in pieces]
    return _placed(" ".join(text.split()), texts, number, render_speaker(name_speaker(message)))


def _said(message: Message) -> str:
    """Return the words of a message; of one without text what is told of it, a picture or a tool's answer."""
    return message.text if message.text.strip() else render_message(message)


def _split(text: str) -> list[str]:
    return [" ".join(one.split()) for one in split_sentences(join_lines(join_full_lines(text)))]


def _placed(whole: str, texts: Sequence[str], number: int | None, speaker: str, place: int = 0) -> list[_Sentence]:
    """Return sentences with their places in the text they stand in; what does not stand there is left out."""
    placed: list[_Sentence] = []
    end = 0
    for text in texts:
        at = whole.find(text, end)
        if at < 0:
            continue
        between = whole[end:at]
        place += 2 if between.strip() else 1
        placed.append(_Sentence(number, speaker, text, place, between))
        end = at + len(text)
    return placed


def _lines_in(text: str) -> list[_Unit]:
    """Return the lines of a text as sentences, prose a paragraph at a time."""
    lines: list[_Unit] = []
    for line in text.split("\n"):
        if line == PROMISES:
            continue
        number, speaker, runs = parse_line(line) or (None, "", [" ".join(line.split())])
        sentences: list[_Sentence] = []
        for run in runs:
            place = sentences[-1].place + 1 if sentences else 0
            sentences += _placed(run, _split(run), number, speaker, place)
        if sentences:
            lines.append(tuple(sentences))
    return lines


def _written(units: Sequence[_Unit], fresh: Sequence[_Unit], room: int) -> str:
    """Return the units that are worth most, in the order of the story."""
    every = [*units, *fresh]
    chosen = _chosen(every, len(units), room) or ([_least(every, room)] if every else [])
    return _rendered(chosen)


def _chosen(units: Sequence[_Unit], since: int, room: int) -> list[_Unit]:
    """Return the units that are worth most within so many words: of each stretch the best, then the second best. From
    `since` on they are new."""
    worth = _worth(units)
    stretch = _stretches(units, max(1, room // STRETCH_WORDS))
    ranked = sorted(range(len(units)), key=lambda index: (-worth[index], index))
    taken: Counter[int] = Counter()
    order: list[tuple[int, int, int]] = []
    for rank, index in enumerate(ranked):
        order.append((taken[stretch[index]], rank, index))
        taken[stretch[index]] += 1
    kept: list[int] = []
    begun: set[int] = set()
    short = [index for index in ranked if index >= since and _cost(units[index]) <= room // NEWEST_SHARE]
    newest = short[0] if since and short else None
    for *_, index in sorted(order, key=lambda place: (place[2] != newest, place)):
        number = units[index][0].number
        cost = _cost(units[index]) - (_line_cost(units[index]) - 1 if number in begun else 0)
        if cost <= room:
            room -= cost
            kept.append(index)
            if number is not None:
                begun.add(number)
    return [units[index] for index in sorted(kept)]


def _stretches(units: Sequence[_Unit], many: int) -> list[int]:
    """Return the stretch that each unit belongs to: runs of equally many messages, and of prose of equally many
    words."""
    numbers = [unit[0].number for unit in units if unit[0].number is not None]
    first, many_messages = (min(numbers), max(numbers) - min(numbers) + 1) if numbers else (0, 1)
    stretches: list[int] = []
    words = 0
    for unit in units:
        number = unit[0].number
        if number is None:
            words += _cost(unit)
            stretches.append(-1 - words // STRETCH_WORDS)
        else:
            stretches.append((number - first) * many // many_messages)
    return stretches


def _worth(units: Sequence[_Unit]) -> list[float]:
    """Return what a word of each unit is worth on average: rare words, numbers, names.

    Rare is what few of the sentences at hand say, in whatever language: what all say tells nothing apart.
    """
    words = [[_words(sentence.text) for sentence in unit] for unit in units]
    in_sentences = Counter(word for unit in words for sentence in unit for word in sentence)
    many = sum(len(unit) for unit in words)
    rarity = {word: math.log((many + 1) / count) / math.log(many + 1) for word, count in in_sentences.items()}
    return [_weight(unit, sentences, rarity) for unit, sentences in zip(units, words, strict=True)]


def _weight(unit: _Unit, sentences: Sequence[Mapping[str, bool]], rarity: Mapping[str, float]) -> float:
    total = 0.0
    for sentence in sentences:
        for word, is_name in sentence.items():
            total += rarity[word] + NAME_WEIGHT * is_name + NUMBER_WEIGHT * word.isdigit()
    weight = total / (sum(map(len, sentences)) + LINE_WORDS)
    return weight if unit[0].number is not None else PROSE_WEIGHT * weight


def _words(text: str) -> dict[str, bool]:
    """Return the words of a sentence, each once, and whether it is written like a name: with a capital, not first. In
    scripts without spaces every two letters are a word."""
    words: dict[str, bool] = {}
    for index, match in enumerate(_WORD.finditer(text)):
        word = match.group()
        if _IS_SPACELESS.match(word):
            words.update(dict.fromkeys((word[at : at + 2] for at in range(max(1, len(word) - 1))), False))
        else:
            key = word.casefold()
            words[key] = words.get(key, False) or (index > 0 and word[0].isupper())
    return words


def _cost(unit: _Unit) -> int:
    """Return how many words a unit takes at most, the marks of what is left out between its sentences included."""
    return sum(count_words(sentence.text) for sentence in unit) + len(unit) - 1 + _line_cost(unit)


def _line_cost(unit: _Unit) -> int:
    return 1 + count_words(unit[0].speaker) if unit[0].number is not None else 0


def _least(units: Sequence[_Unit], room: int) -> _Unit:
    """Return the shortest sentence, cut to its first words: for a target in which not even one sentence fits."""
    sentence = min((one for unit in units for one in unit), key=lambda one: count_words(one.text))
    words = sentence.text.split()
    left = room - _line_cost((sentence,))
    while len(words) > 1 and count_words(" ".join(words)) > left:
        words.pop()
    return (replace(sentence, text=" ".join(words)),)


def _rendered(units: Iterable[_Unit]) -> str:
    """Return units as text: prose as it stood, then a line per message in the order of the story."""
    prose: list[str] = []
    lines: dict[int, list[_Sentence]] = {}
    before = 0
    for piece in (sentence for unit in units for sentence in unit):
        if piece.number is not None:
            lines.setdefault(piece.number, []).append(piece)
            continue
        if prose:
            prose.append("\n\n" if piece.place <= before else piece.joint if piece.place == before + 1 else " ")
        prose.append(piece.text)
        before = piece.place
    quoted = [
        render_quote(
            number,
            sentences[0].speaker,
            _quotations(sorted(sentences, key=lambda piece: piece.place)),
        )
        for number, sentences in sorted(lines.items())
    ]
    return "\n".join(filter(None, ["".join(prose), *quoted]))


def _quotations(sentences: Sequence[_Sentence]) -> list[str]:
    """Return the quotations of one message: neighbours stand together."""
    quotations: list[str] = []
    for index, sentence in enumerate(sentences):
        if index and sentence.place == sentences[index - 1].place + 1:
            quotations[-1] += sentence.joint + sentence.text
        else:
            quotations.append(sentence.text)
    return quotations


def _excerpt(delta: Sequence[Message], first: int) -> str:
    """Return how the longest message begins, where none has a sentence that could be quoted."""
    texts = [" ".join(_said(message).split()) for message in delta]
    index = max(range(len(texts)), key=lambda at: len(texts[at]), default=None)
    begin = texts[index][:EXCERPT_CHARACTERS].strip() if index is not None else ""
    if index is None or not begin:
        return ""
    return render_quote(first + index, render_speaker(name_speaker(delta[index])), [begin])
