"""Splitting what does not fit a model's window: every word is read, and none twice.

A fold is asked in runs of its messages, one after the other, and what the runs gave is joined.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import fields, replace

from previously.core.messages import Message, Text
from previously.core.note import Note, parse_note, render_note
from previously.core.pairing import find_units
from previously.core.patterns import lazy_pattern
from previously.core.versions import Kind
from previously.folds.fold import Fold
from previously.folds.prompts.templates import render_message
from previously.text.sentences import find_starts


def split_fold(fold: Fold, fits: Callable[[Fold], bool], most: int | None = None) -> list[tuple[Message, ...]]:
    """Return the messages of a fold in runs that each fit a model's window together with the text so far. After `most`
    of them the rest is one more, whether it fits or not. A text that is set right is asked for at once."""
    if fold.amends:
        return [fold.delta]
    return split_messages(fold.delta, lambda delta: fits(fold.take_run([delta], fold.so_far)), most)


_Fits = Callable[[tuple[Message, ...]], bool]


def split_messages(delta: Sequence[Message], fits: _Fits, most: int | None = None) -> list[tuple[Message, ...]]:
    """Messages in runs that each fit, in order. A call stays with its results. What does not fit by itself is cut
    between its messages, and a message at a paragraph, a sentence or, failing that, anywhere: every word of it is read,
    none twice. After `most` runs the rest is one more, whether it fits or not: to count on would be of no use."""
    waiting = [tuple(delta[at] for at in unit) for unit in find_units(delta)]
    if not waiting or fits(tuple(delta)):
        return [tuple(delta)]
    runs: list[tuple[Message, ...]] = []
    guess = 1
    while waiting and (most is None or len(runs) < most):
        many = _count_fitting(waiting, fits, guess)
        first = waiting[0]
        if not many and len(first) > 1:
            waiting = [*((message,) for message in first), *waiting[1:]]
            continue
        if not many and len(render_message(first[0])) > SMALLEST_PIECE:
            halves = _halve(render_message(first[0]))
            waiting = [*((replace(first[0], parts=(Text(half),)),) for half in halves), *waiting[1:]]
            continue
        guess = many = many or 1  # no room even for this: the model's own limit will say so
        runs.append(_join_groups(waiting[:many]))
        waiting = waiting[many:]
    return [*runs, _join_groups(waiting)] if waiting else runs


def _join_groups(groups: Iterable[tuple[Message, ...]]) -> tuple[Message, ...]:
    return tuple(message for group in groups for message in group)


def _count_fitting(groups: Sequence[tuple[Message, ...]], fits: _Fits, guess: int) -> int:
    """Return how many of the first groups fit together. To ask is dear, the more the more is asked about: so it is
    asked seldom, and about little more than what fits. `guess` is how many did before."""
    least, most = 0, min(guess, len(groups))
    while fits(_join_groups(groups[:most])):
        if most == len(groups):
            return most
        least, most = most, min(2 * most, len(groups))
    while most - least > 1:
        middle = (least + most) // 2
        least, most = (middle, most) if fits(_join_groups(groups[:middle])) else (least, middle)
    return least


SMALLEST_PIECE = 200
"""Characters below which a message is not cut any further."""

_PARAGRAPH, _SPACE = lazy_pattern(r"\n\s*\n"), lazy_pattern(r"\s+")

_REACH = 2_000
"""The distance from the middle within which a better place is looked for: a page, so that halves stay halves."""


def _halve(text: str) -> tuple[str, str]:
    middle = len(text) // 2
    first, end = middle - min(_REACH, middle - 1), middle + min(_REACH, middle - 1)
    places = [match.end() for match in _PARAGRAPH.finditer(text, first, end)]
    places = places or [first + start for start in find_starts(text[first:end])[1:]]
    places = places or [match.end() for match in _SPACE.finditer(text, first, end)]
    at = min(places, key=lambda place: abs(place - middle), default=middle)
    return text[:at], text[at:]


def join_beside(before: Sequence[tuple[Kind, str]], after: Sequence[tuple[Kind, str]]) -> list[tuple[Kind, str]]:
    """Return what two parts of one fold gave beside the recap. Where one of them has no note, there is none. What comes
    with the end of a chapter only the last part can give."""
    if not before:
        return list(after)
    first, second = dict(before), dict(after)
    joined: list[tuple[Kind, str]] = [one for one in after if one[0] not in (Kind.EPISODE, Kind.NOTE)]
    if Kind.EPISODE in first and Kind.EPISODE in second:
        joined.append((Kind.EPISODE, f"{first[Kind.EPISODE]}\n\n{second[Kind.EPISODE]}"))
    if Kind.NOTE in first and Kind.NOTE in second:
        notes = parse_note(first[Kind.NOTE]), parse_note(second[Kind.NOTE])
        lists = {one.name: (*getattr(notes[0], one.name), *getattr(notes[1], one.name)) for one in fields(Note)}
        joined.append((Kind.NOTE, render_note(Note(**lists))))
    return joined
