"""Lines become prose.

Owns the wording: who speaks is named, the verb fits what is said, neighbouring sentences of one speaker share a
quotation. What must stay true: `reading.lines_of_recap` reads every sentence written here back as the lines it
came from.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from previously.core.words import count_words
from previously.folds.builtin import cues
from previously.folds.builtin.reading import Line
from previously.folds.builtin.salience import THREAD_FLOOR, thread_of
from previously.folds.builtin.vocabulary import is_ordinary

_VOWS = re.compile(r"\b(?:i|we) (?:do |hereby |solemnly )?(?:promise|swear|vow|pledge)\b|\byou have my word\b")
_SWEAR = re.compile(r"\b(?:swear|vow|oath)\b")
_YOU = re.compile(r"\byou\b")
_WARN = re.compile(r"\b(?:warn|beware|careful|watch out|danger|don't trust|or else)\b")
_ADMIT = re.compile(r"\b(?:i (?:lied|confess|admit|killed|stole|betrayed)|it was me|i was the one|truth is)\b")
_CALLED_FIRST = re.compile(r"(?P<name>[A-Z][^\W\d_]{2,}), ")
_CALLED_LAST = re.compile(r", (?P<name>[A-Z][^\W\d_]{2,})[.!?]*$")
_TO_SOMEONE = {"said": "told", "swore": "swore to", "admitted": "admitted to"}
_OPEN_END = re.compile(r"[\w'’\"»)]")


def verb_for(text: str) -> str:
    """The verb that introduces what is said."""
    text = text.replace("’", "'").lower()
    if text.rstrip("' ").endswith(("?", "？")):
        return "asked"
    if _ADMIT.search(text):
        return "admitted"
    if _VOWS.search(text):
        return "swore" if _SWEAR.search(text) else "promised"
    if (
        cues.WILL.search(text)
        and thread_of(text, question=False, to_someone=bool(_YOU.search(text)), named=False) >= THREAD_FLOOR
    ):
        return "promised"
    return "warned" if _WARN.search(text) else "said"


def addressee(text: str) -> str | None:
    """Whom a sentence calls by name: "Joaquin, wait." or "I will, Joaquin."."""
    if ", " not in text:
        return None
    match = _CALLED_FIRST.match(text) or _CALLED_LAST.search(text)
    name = match.group("name") if match else None
    return None if name is None or is_ordinary(name.lower()) else name


def attribution(speaker: str, text: str, *, english: bool) -> str:
    """What stands before a quotation."""
    if not english:
        return f"{speaker}:"
    verb = verb_for(text)
    called = addressee(text)
    if called is None or called in speaker:
        return f"{speaker} {verb}:"
    return f"{speaker} {_TO_SOMEONE.get(verb, verb)} {called}:"


def cost_of(line: Line, words: int, *, english: bool) -> int:
    """The words a line of so many words takes in the recap, its attribution included."""
    if not line.speaker:
        return words
    # "admitted to Joaquin": at most three words besides the speaker.
    return words + count_words(line.speaker) + (english and (3 if addressee(line.text) else 1))


def write(lines: Sequence[Line], *, english: bool) -> str:
    """The lines in order as one paragraph of prose."""
    parts: list[str] = []
    index = 0
    while index < len(lines):
        line = lines[index]
        if line.speaker is None:
            parts.append(ended(line.text, capital=english))
            index += 1
            continue
        verb = verb_for(line.text)
        said = [ended(line.text, capital=english)]
        index += 1
        while index < len(lines) and lines[index].speaker == line.speaker and len(said) < 3:
            following = lines[index]
            if verb_for(following.text) not in (verb, "said"):
                break
            said.append(ended(following.text, capital=english))
            index += 1
        parts.append(f'{attribution(line.speaker, line.text, english=english)} "{" ".join(said)}"')
    return " ".join(parts)


def ended(text: str, *, capital: bool) -> str:
    """A sentence with an end mark, and with a capital where prose wants one."""
    text = text.strip().rstrip(",;:- ")
    if text.endswith(',"'):
        text = text[:-2] + '."'
    if capital and text[:1].islower():
        text = text[0].upper() + text[1:]
    return (
        text + "."
        if _OPEN_END.match(text[-1:]) and not text.endswith(('."', '!"', '?"', '…"', ".'", "!'", "?'"))
        else text
    )
