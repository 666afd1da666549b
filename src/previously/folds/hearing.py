"""How a character came to know something: by being there, or because someone told them.

Owns the step from a fact to the line of the story that holds it, and from that line to its source. What must stay true:
only messages that were given are looked at; somebody is named as a source only where the words are theirs, or where the
story says that they told them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from previously.core.cast import WITNESSED, told_by
from previously.core.messages import Message, Role
from previously.core.witnessing import folded_name
from previously.folds.builtin.names import shown
from previously.folds.builtin.narrators import habits, has_title, narrators_among
from previously.folds.builtin.reading import Said, lines_of_message
from previously.text.names import words_of
from previously.text.sentences import QUOTED
from previously.text.terms import content_of, key_of

LEAST_SHARED = 2
"""Telling words a line has to share with a fact to be where it comes from."""

_NAME = r"(?P<{0}>[^\W\d_a-z][\w'’-]*(?: [^\W\d_a-z][\w'’-]*)?)"
_VERBS = (
    r"(?:told|tells|informed|informs|warned|warns|whispered|whispers|confided|confides|confessed|confesses|admitted|"
    r"admits|explained|explains|revealed|reveals|assured|assures|reported|reports|said|says|replied|replies|answered|"
    r"answers|added|adds|murmured|murmurs|muttered|mutters|called|calls|shouted|shouts|cried|cries|asked|asks|wrote|"
    r"writes|erzählte|erzählt|sagte|sagt|dit|raconte|dijo|dice|contó|сказал|сказала|рассказал|рассказала)"
)
_TELLS = re.compile(rf"(?<![\w'’-]){_NAME.format('before')}(?: \w+ly| then| quietly)? {_VERBS}\b")
_SAYS_AFTER = re.compile(rf"\b{_VERBS} {_NAME.format('after')}")


@dataclass(frozen=True, slots=True)
class Heard:
    """One sentence as a character hears it. `speaker` is set where it is said; `by` is whose message it stands in,
    empty for a narrator's."""

    speaker: str
    text: str
    by: str


def heard(messages: Sequence[Message]) -> list[Heard]:
    """Every sentence of these messages, speech told from narration, in order."""
    told = [one for one in messages if one.role in (Role.USER, Role.ASSISTANT) and one.text.strip()]
    said = [Said(one.speaker, one.text) for one in told]
    counted = habits(said, {})
    narrators = narrators_among(counted)
    at_table = any(not has_title(name) for name in narrators)
    players = [name for name in counted if name not in narrators]
    lines: list[Heard] = []
    for message in said:
        name = shown(message.speaker) if message.speaker else ""
        others = [player for player in players if player != name]
        listener = others[0] if len(others) == 1 and not at_table else None
        narrates = not name or name in narrators
        for line in lines_of_message(message, narrates=narrates, at_table=at_table, listener=listener):
            lines.append(Heard(line.speaker or "", line.text, "" if narrates else name))
    return lines


def source_of(fact: str, name: str, lines: Sequence[Heard]) -> str:
    """How a character knows a fact: `told by` whoever said it to them, else `witnessed`. What was seen counts before
    what was said as well of it."""
    terms = set(content_of(fact))
    best, most = None, LEAST_SHARED - 1
    for line in lines:
        spoken = bool(line.speaker) and not is_self(line.speaker, name)
        shared = len(terms & {*content_of(line.text), *content_of(line.speaker)})
        if shared > most or (shared == most and best is not None and best.speaker and not spoken):
            best, most = line, shared
    return source_of_line(best, name, terms) if best else WITNESSED


def source_of_line(line: Heard, name: str, terms: set[str] | None = None) -> str:
    """How a character knows what a line says; `terms` are the telling words that matter of it."""
    teller = line.speaker or _teller_in(line, terms or set(content_of(line.text)))
    return WITNESSED if not teller or is_self(teller, name) or has_title(teller) else told_by(teller)


def is_self(name: str, other: str) -> bool:
    """Whether two names are one person's: the same, or the first or last part of it."""
    if folded_name(name) == folded_name(other):
        return True
    one, two = ({key_of(word) for word in words_of(each)} for each in (name, other))
    return bool(one) and bool(two) and (one <= two or two <= one)


def _teller_in(line: Heard, terms: set[str]) -> str:
    """Who tells it in a sentence of narration: "Bram told her that …", or a quotation with its speaker."""
    quoted = " ".join(match.group()[1:-1] for match in QUOTED.finditer(line.text))
    outside = QUOTED.sub(" ", line.text)
    if quoted and len(terms & set(content_of(quoted))) * 2 >= len(terms & set(content_of(line.text))):
        found = _TELLS.search(outside) or _SAYS_AFTER.search(outside)
        if found:
            return shown(found.groupdict().get("before") or found.groupdict().get("after") or "")
        return line.by
    tells = _TELLS.search(outside)
    if tells and len(terms & set(content_of(outside[tells.end() :]))) >= LEAST_SHARED:
        return shown(tells["before"])
    return ""
