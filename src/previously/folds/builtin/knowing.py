"""What a character knows, without a model: a few sentences and facts, chosen from what they witnessed.

Owns which lines become facts: what was promised, owed or kept secret before them, what is told of them by name, and
what others said to them that matters. What must stay true: every word comes from the messages given or from the memory
before; what was settled is let go; the bounds of a model's answer hold here too.
"""

from __future__ import annotations

from collections.abc import Sequence

from previously.core.cast import Fact, Knowledge, one_line, told_by
from previously.core.messages import Message, Role
from previously.core.signals import folded
from previously.core.words import count_words
from previously.folds.builtin import prose
from previously.folds.builtin.cues import DANGLING_OPENERS
from previously.folds.builtin.folder import rewrite
from previously.folds.builtin.ledger import take_ledger
from previously.folds.builtin.parsing import parsed
from previously.folds.builtin.reading import Line, Said, is_english, lines_of_recap
from previously.folds.builtin.salience import says_nothing
from previously.folds.builtin.traces import has_name, keys_of
from previously.folds.cast_answer import Wanted
from previously.folds.cast_diff import applied, likeness, resolved, tells_nothing_new
from previously.folds.cast_weight import BINDS, HAPPENED, weight_of
from previously.folds.commitments import commitments_after
from previously.folds.hearing import Heard, heard, is_self, source_of, source_of_line
from previously.text.sentences import whole_sentences

MOST_NEW = 4
"""New facts of one update: one turn does not push out all that was known."""

LONGEST_WORDS = 30
"""A longer line is no key fact."""

MOST_WEIGHED = 24
"""How many new facts are held against one another."""

FEW = 8
"""So many of the newest messages are read where none has to do with the character."""

READ_WORDS = 150
MOST_WORDS = 100
MOST_SENTENCES = 5
"""The summary is chosen from a recap of so many words: so many of its words and sentences."""


def known(name: str, before: Knowledge, delta: Sequence[Message], at: int) -> tuple[str, tuple[Fact, ...]]:
    """The summary and the facts of a character after these messages, which they witnessed."""
    lines, near = heard(delta), _near(name, delta)
    open_before = [fact.text for fact in before.facts if weight_of(fact.text) == BINDS]
    open_now = commitments_after(open_before, near)
    settled = [text for text in open_before if text not in open_now]
    told: dict[str, str] = {}
    for text in open_now:
        line = one_line(text)
        if text not in open_before and count_words(line) <= LONGEST_WORDS + 3:
            told[line] = _said_in(line, name) or source_of(line, name, lines)
    for line, source in _told(name, lines):
        told.setdefault(line, source)
    heaviest = sorted(told, key=lambda text: _worth(text, name), reverse=True)[:MOST_WEIGHED]
    fresh = _each_new([fact.text for fact in before.facts], heaviest)
    chosen = sorted(fresh, key=lambda text: _worth(text, name), reverse=True)[:MOST_NEW]
    wanted = Wanted(add=tuple(text for text in told if text in chosen), remove=tuple(settled))
    diff = resolved(before.facts, wanted, lambda text: Fact(text, at, told[text]))
    return _summary(name, before.summary, near), applied(before.facts, diff)


def _near(name: str, delta: Sequence[Message]) -> list[Message]:
    """The messages that are by a character or name them, each with the one before it; the newest where none is. What
    else they witnessed is looked through for facts alone: reading it all for everybody takes too long."""
    words = [word for word in folded(name).split() if len(word) > 2] or [folded(name)]
    chosen: set[int] = set()
    for at, one in enumerate(delta):
        if is_self(one.speaker or "", name) or any(word in folded(one.text) for word in words):
            chosen.update((max(0, at - 1), at))
    return [delta[at] for at in sorted(chosen)] or list(delta[-FEW:])


def _summary(name: str, before: str, delta: Sequence[Message]) -> str:
    """A few sentences of a recap of what was witnessed: those that name the character first, then the newest."""
    told = [one for one in delta if one.role in (Role.USER, Role.ASSISTANT) and one.text.strip()]
    if not told:
        return before
    said = [Said(one.speaker, one.text) for one in told]
    sentences = whole_sentences(take_ledger(rewrite(before, None, said, target_words=READ_WORDS).text)[0])
    named = [has_name(name, one, keys_of(one)) for one in sentences]
    order = sorted(range(len(sentences)), key=lambda at: (not named[at], -at))
    chosen: list[int] = []
    room = MOST_WORDS
    for at in order:
        words = count_words(sentences[at])
        if words <= room and len(chosen) < MOST_SENTENCES:
            chosen.append(at)
            room -= words
    return " ".join(sentences[at] for at in sorted(chosen))


def _told(name: str, lines: Sequence[Heard]) -> list[tuple[str, str]]:
    """The lines that may become facts, worded to stand alone, each with its source."""
    english = is_english(" ".join(line.text for line in lines[-60:]))
    found: list[tuple[str, str]] = []
    for line in lines:
        taken = parsed(Line(line.speaker or None, line.text, True))
        opener = taken.wording.words[0].lower if taken.wording.words else ""
        asks = line.text.rstrip("\"' ").endswith(("?", "？"))
        if asks or taken.size > LONGEST_WORDS or says_nothing(taken) or opener in DANGLING_OPENERS:
            continue
        if line.speaker:
            matters = not is_self(line.speaker, name) and weight_of(line.text) >= HAPPENED
        else:
            matters = has_name(name, line.text, keys_of(line.text)) and weight_of(line.text) >= HAPPENED
        if matters:
            worded = prose.write([Line(line.speaker or None, line.text, True)], english=english)
            source = told_by(line.speaker) if line.speaker else source_of_line(line, name)
            found.append((one_line(worded), source))
    return found


def _said_in(text: str, name: str) -> str:
    """Whose words a sentence of ours quotes, as a source; empty where it quotes nobody else."""
    speakers = {line.speaker for line in lines_of_recap(text)}
    teller = next(iter(speakers)) if len(speakers) == 1 else None
    return told_by(teller) if teller and not is_self(teller, name) else ""


def _each_new(held: Sequence[str], texts: Sequence[str]) -> list[str]:
    """Those of the texts that say something that neither what is held nor one before them says."""
    found: list[str] = []
    for text in texts:
        if not any(tells_nothing_new(text, other) or likeness(text, other) for other in (*held, *found)):
            found.append(text)
    return found


def _worth(text: str, name: str) -> tuple[int, bool]:
    """What matters comes first, and of that what concerns the character themselves."""
    return weight_of(text), has_name(name, text, keys_of(text))
