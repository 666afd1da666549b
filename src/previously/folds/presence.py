"""Who is there, read from the story's prose: a guess, for games, and a suggestion everywhere else.

Owns the step from a sentence to somebody leaving or coming in. What must stay true: what is only said, asked, denied,
imagined, planned or long past moves nobody; of one who leaves and comes back in one message nothing is said; only those
of the cast are moved, each in their own spelling.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from previously.core.messages import Message, Role
from previously.core.witnessing import folded_name
from previously.folds.builtin.cues import TITLES
from previously.folds.builtin.names import shown
from previously.folds.builtin.narrators import has_title
from previously.folds.builtin.person import i_to_third
from previously.folds.builtin.reading import Said, lines_of_message
from previously.folds.builtin.vocabulary import is_ordinary
from previously.folds.checks import brief
from previously.folds.presence_reading import Move, is_subject, is_unreal, move_in, speaks_here
from previously.text.sentences import QUOTED, whole_sentences

LONGEST_NAME = 60
MOST_NAMED = 12
"""How many names of one sentence are looked at."""

_TOGETHER = re.compile(r",? (?:and |und |et |y |и )?")


@dataclass(frozen=True, slots=True)
class Change:
    """Who left and who came in with a message, and the words that say so. It holds from the next message on."""

    left: tuple[str, ...] = ()
    entered: tuple[str, ...] = ()
    why: str = ""

    @property
    def is_nothing(self) -> bool:
        """Whether nobody moved."""
        return not self.left and not self.entered


def presence_after(present: frozenset[str] | None, cast: Sequence[str], message: Message) -> Change:
    """What a message changes in who is there. `present` is who is there before it, None for everyone of the cast."""
    names = {folded_name(name): name for name in reversed(cast) if 0 < len(name.strip()) <= LONGEST_NAME}
    before = set(names) if present is None else {folded_name(name) for name in present} & set(names)
    after, why = set(before), dict[str, str]()
    speaker = folded_name(message.speaker or "")
    if speaker in names and speaker not in after:
        after.add(speaker)
        why[speaker] = "they speak"
    for who, move, sentence in _moves(list(names.values()), message):
        key = folded_name(who)
        if (move is Move.LEAVES) == (key in after):
            why[key] = f"“{brief(sentence, 100)}”"
            after.symmetric_difference_update({key})
    left = tuple(name for key, name in sorted(names.items()) if key in before - after)
    entered = tuple(name for key, name in sorted(names.items()) if key in after - before)
    said = [f"{name} left: {why[folded_name(name)]}" for name in left]
    said += [f"{name} is there: {why[folded_name(name)]}" for name in entered]
    return Change(left, entered, "; ".join(said))


def _moves(names: Sequence[str], message: Message) -> Iterable[tuple[str, Move, str]]:
    """Everybody who moves in a message, in the order of its sentences."""
    if message.role not in (Role.USER, Role.ASSISTANT) or not message.text.strip():
        return
    people = _People(names)
    if not people.pattern:
        return
    own = people.of(message.speaker or "")
    last = own
    for sentence in _narrated(message, own):
        outside = " ".join(QUOTED.sub(" ", sentence).split())
        named = people.named_in(outside)
        if not is_unreal(sentence, outside):
            for who, move in _in_sentence(people, outside, sentence, last):
                yield who, move, sentence
        if len(named) == 1:
            last = named[0]
        elif named:
            last = None


def _narrated(message: Message, own: str | None) -> list[str]:
    """The sentences that tell what happens, first and second person turned into names where that can be done."""
    narrates = not message.speaker or has_title(shown(message.speaker))
    said = Said(message.speaker, message.text)
    lines = lines_of_message(said, narrates=narrates, at_table=False, listener=None)
    marked = QUOTED.search(message.text) or "*" in message.text
    found: list[str] = []
    for line in lines:
        if line.speaker is None:
            found.append(line.text)
        elif own and message.role is Role.USER and not marked and line.text.startswith("I "):
            # Players write what they do as plainly as what they say: "I leave the inn."
            told = i_to_third(line.text, own)
            found += whole_sentences(told) if told else []
    return found


def _in_sentence(people: _People, outside: str, whole: str, last: str | None) -> Iterable[tuple[str, Move]]:
    """Who moves in one sentence of narration without its quotations."""
    found = list(people.pattern.finditer(outside))[:MOST_NAMED] if people.pattern else []
    spans = [(match.start(), match.end(), people.of(match.group())) for match in found]
    opener = re.match(r"(?:He|She|They)(?= )", outside)
    if opener and last and not any(who != last for _, _, who in spans):
        spans.insert(0, (0, opener.end(), last))
    for place, (start, end, who) in enumerate(spans):
        if who is None:
            continue
        until = _next_subject(outside, [span for span in spans[place + 1 :] if span[2] != who])
        move = move_in(outside[:start], outside[end:], until - end)
        if move is None and QUOTED.search(whole) and speaks_here(outside[:start], outside[end:]):
            move = Move.COMES
        if move:
            for one in (*_joined(outside, spans[: place + 1]), who):
                yield one, move


def _next_subject(text: str, spans: Sequence[tuple[int, int, str | None]]) -> int:
    """Where somebody else takes over."""
    return next((start for start, _, _ in spans if is_subject(text[:start])), len(text))


def _joined(text: str, spans: Sequence[tuple[int, int, str | None]]) -> list[str]:
    """Those who share a verb with the last of these: "Maya and Bram leave", "Maya, Bram and Odalys"."""
    joined: list[str] = []
    for (_, end, who), (start, _, _) in zip(reversed(spans[:-1]), reversed(spans), strict=False):
        if not _TOGETHER.fullmatch(text[end:start]):
            break
        joined += [who] if who else []
    return joined


class _People:
    """The cast, and how each of them may be written."""

    def __init__(self, names: Sequence[str]) -> None:
        spelled: dict[str, str | None] = {}
        for name in names:
            for form in dict.fromkeys((name.strip(), shown(name.strip()))):
                spelled[form] = name
        for name in names:
            words = name.split()
            for part in dict.fromkeys((words[0], words[-1])) if len(words) > 1 else ():
                key = part.rstrip(".").lower()
                if part[:1].isupper() and len(key) > 2 and key not in TITLES and not is_ordinary(key):
                    spelled[part] = name if spelled.get(part, name) == name else None  # two Mayas are nobody
        self._spelled = spelled
        forms = sorted(spelled, key=len, reverse=True)
        spaced = "|".join(re.escape(form) for form in forms if form)
        self.pattern = re.compile(rf"(?<![^\W_])(?:{spaced})(?!['’]?[^\W_])|(?:{_dense(forms)})") if spaced else None

    def of(self, written: str) -> str | None:
        """Who is written so; None for nobody, or any of several."""
        return self._spelled.get(written) or self._spelled.get(shown(written.strip()))

    def named_in(self, text: str) -> list[str]:
        """Everybody named in a text, each once."""
        found = self.pattern.findall(text) if self.pattern else []
        return list(dict.fromkeys(who for one in found if (who := self.of(one))))


def _dense(forms: Sequence[str]) -> str:
    """Names in scripts without spaces, which have letters on both sides."""
    spaceless = [re.escape(form) for form in forms if re.match("[\u3040-\u30ff\u3400-\u9fff]", form)]
    return "|".join(spaceless) or r"(?!)"
