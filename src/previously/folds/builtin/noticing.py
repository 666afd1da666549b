"""Noticing without a model: what a fragment changed, by rules.

Owns the built-in analysis. The summary is the fragment's most telling sentences, threads come from the commitments,
mentions from the book of names; the state needs a model or a person. What must stay true: every item stands in the
fragment in these words, or nearly; a fragment that has words has a summary; the same fragment gives the same analysis.
"""

from __future__ import annotations

from collections.abc import Sequence

from previously.core.analyses import LONGEST_UPDATE, MOST_MENTIONS, Analysis
from previously.core.messages import Message, Role
from previously.core.signals import MOST_ITEMS, Signals, folded, items_of
from previously.folds.builtin import prose
from previously.folds.builtin.folder import rewrite
from previously.folds.builtin.names import NameBook, shown
from previously.folds.builtin.narrators import habits, has_title, narrators_among
from previously.folds.builtin.parsing import parsed
from previously.folds.builtin.reading import Line, Said, is_english, lines_of_message
from previously.folds.builtin.salience import weigh
from previously.folds.builtin.words import keys_in
from previously.folds.commitments import commitments_after
from previously.folds.rendering import told

SUMMARY_WORDS = 45
"""How long a built-in summary update is: two sentences or three."""

MOST_EVENTS = 4
_LEAST_WEIGHT = 0.5
_FALLBACK_CHARACTERS = 200


def noticed(messages: Sequence[Message], known: Sequence[str] = (), open_threads: Sequence[str] = ()) -> Analysis:
    """The analysis of a fragment. `known` are names of the story, `open_threads` what was open before it."""
    lines = _lines(messages)
    book = NameBook((key for name in known for key in keys_in(name)), _speakers(messages))
    for line in lines:
        book.read(line.text)
    events = _happenings(lines, book)
    still_open = commitments_after(open_threads, messages)
    before = set(open_threads)
    return Analysis(
        summary_update=_summary(messages),
        signals=Signals(
            events=items_of(events),
            open_threads=items_of([one for one in still_open if one not in before][-MOST_ITEMS:]),
            resolved_threads=items_of(settled(open_threads, still_open)),
        ),
        mentions=_mentions(messages, lines, book),
    )


def _lines(messages: Sequence[Message]) -> list[Line]:
    """Every sentence, read as the built-in folder reads them."""
    said = [Said(one.speaker, one.text) for one in messages if one.role in (Role.USER, Role.ASSISTANT) and one.text]
    counted = habits(said, {})
    narrators = narrators_among(counted)
    at_table = any(not has_title(name) for name in narrators)
    players = [name for name in counted if name not in narrators]
    lines: list[Line] = []
    for message in said:
        name = shown(message.speaker or "")
        others = [player for player in players if player != name]
        listener = others[0] if len(others) == 1 and not at_table else None
        narrates = not name or name in narrators
        lines += lines_of_message(message, narrates=narrates, at_table=at_table, listener=listener)
    return lines


def _speakers(messages: Sequence[Message]) -> list[str]:
    return list(dict.fromkeys(name for one in messages if one.speaker and (name := shown(one.speaker))))


def _happenings(lines: Sequence[Line], book: NameBook) -> list[str]:
    """The weightiest sentences, in order."""
    events: list[tuple[float, int, str]] = []
    for number, line in enumerate(lines):
        if line.speaker is not None:
            continue
        sentence = prose.ended(line.text, capital=True)
        taken = parsed(line)
        names = set(book.names_among(taken.wording))
        weight = weigh(taken, names=len(names), at_table=False).weight
        if taken.kinds["plot"] and names and weight >= _LEAST_WEIGHT:
            events.append((-weight, number, sentence))
    best = sorted(events)[:MOST_EVENTS]
    return [text for _, _, text in sorted(best, key=lambda one: one[1])]


def settled(before: Sequence[str], after: Sequence[str]) -> list[str]:
    """What was open before and is not any more. One that was worded more fully is still open."""
    left = {folded(one) for one in after}
    return [one for one in before if folded(one) not in left and not any(folded(one)[:40] in each for each in left)]


def _mentions(messages: Sequence[Message], lines: Sequence[Line], book: NameBook) -> tuple[str, ...]:
    """Who speaks and who is named, in this order."""
    found: dict[str, str] = {folded(name): name for name in _speakers(messages)}
    for line in lines:
        for name in book.runs_in(line.text):
            found.setdefault(folded(name), name)
    return tuple(found.values())[:MOST_MENTIONS]


def _summary(messages: Sequence[Message]) -> str:
    text = rewrite("", None, [Said(one.speaker, one.text) for one in messages], target_words=SUMMARY_WORDS).text
    text = " ".join(text.split())
    if not text:
        # Remarks and pictures tell the folder nothing; without a word of theirs the summary would stop here.
        words = " ".join(" ".join(told(one) for one in messages).split())
        text = words if len(words) <= _FALLBACK_CHARACTERS else words[: _FALLBACK_CHARACTERS - 1].rstrip() + "…"
    english = is_english(text)
    return prose.ended(text[:LONGEST_UPDATE], capital=english) if english and text else text[:LONGEST_UPDATE]
