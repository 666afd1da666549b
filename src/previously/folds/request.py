"""What a folder is asked to write, as a question for a model, and whether its answer may be kept.

One shape serves every rolling text that is set right: an earlier text, what was removed, what is new, a length. What
must stay true: an answer is kept only after its checks; what does not fit a model's window is split so that every
word is read and none twice.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from previously.core.messages import Message, Text
from previously.core.model_io import ModelReply, ModelRequest
from previously.core.pairing import find_units
from previously.core.scripts import count_words
from previously.core.versions import Kind
from previously.folds.checks import (
    Accepted,
    Asked,
    Refusal,
    Refused,
    judge,
    judge_text,
    residue,
)
from previously.folds.noting import MOST_PARTS
from previously.folds.rendering import Template, as_data, fill, told, transcript
from previously.text.sentences import find_starts


@dataclass(frozen=True, slots=True)
class FoldRequest:
    """What the folder is given."""

    kind: Kind
    previous: str
    delta: tuple[Message, ...]
    target_words: int
    again: bool = False
    """It was asked before, and what stands there is provisional."""
    first: int = 0
    """The position of the first message of the delta, where it is a run of the story."""
    carry: str = ""
    """What the text before carried."""
    amends: Amends | None = None
    """The earlier text is to be set right rather than gone on from."""

    @property
    def most_parts(self) -> int:
        """In how many parts a model may be asked."""
        return MOST_PARTS

    @property
    def prompt(self) -> str:
        """The name of its prompt."""
        return "amend"


@dataclass(frozen=True, slots=True)
class Amends:
    """What changed under a text: words that were removed, and words near them that stayed. What is new is the delta."""

    removed: tuple[Message, ...]
    kept: tuple[str, ...]


def words_read(asked: FoldRequest) -> int:
    """How many words the folder is given to read."""
    removed = asked.amends.removed if asked.amends else ()
    return count_words(asked.previous) + sum(count_words(told(message)) for message in (*removed, *asked.delta))


PLACEHOLDERS = {
    "update": (
        "voices",
        "language",
        "known",
        "before",
        "recap",
        "threads",
        "state",
        "bridge",
        "messages",
        "form",
        "hint",
        "episode_words",
        "recap_words",
        "lore_entries",
        "backbone_words",
    ),
    "chapter": (
        "backbone",
        "earlier",
        "episodes",
        "title",
        "recap",
        "ending",
        "messages",
        "language",
        "form",
        "hint",
        "chapter_words",
        "backbone_words",
    ),
    "amend": ("previous", "removed", "events", "hint"),
    "scene": (
        "types",
        "aspects",
        "title",
        "story",
        "known",
        "open",
        "state",
        "noted",
        "events",
        "language",
        "hint",
    ),
    "combine": ("length", "summaries", "hint"),
    "cast": ("name", "summary", "facts", "events", "hint"),
    "brief": ("length", "previous", "conversation", "hint"),
    "analysis": (
        "aspects",
        "story",
        "known",
        "open",
        "state",
        "bridge",
        "noted",
        "fragment",
        "language",
        "hint",
    ),
}
"""Every prompt there is, and what it is filled with."""


def build(template: Template, asked: FoldRequest, hint: str = "") -> ModelRequest:
    """The question for a model. `hint` says why its last answer could not be kept."""
    system, user = fill(
        template,
        {
            "previous": as_data(asked.previous.strip()) or "(none yet)",
            "removed": transcript(asked.amends.removed if asked.amends else ()) or "(nothing)",
            "events": transcript(asked.delta) or "(nothing)",
            "hint": f" {hint}" if hint else "",
        },
    )
    return ModelRequest(system, user, max_output_tokens=output_room(asked))


def output_room(asked: FoldRequest) -> int:
    """How many tokens an answer may take: well over its target, so that cutting it off means that it ran away."""
    return 2 * (asked.target_words or words_read(asked)) + 100


def check(asked: FoldRequest, text: str, *, made_by: str) -> Accepted | Refused:
    """Whether a text may be kept. Where nothing was said, there may be nothing to tell.

    The built-in folder's text is made of what it read and bounded by its own rules; it can only be empty.
    """
    something = asked.previous.strip() or transcript(asked.delta)
    if not text.strip():
        return Refused(Refusal.EMPTY, "the text is empty") if something else Accepted("", (), ())
    return Accepted(text, (), ()) if made_by == "builtin" else judge_text(_asked(asked), text)


def check_reply(asked: FoldRequest, question: ModelRequest, reply: ModelReply) -> Accepted | Refused:
    """Whether a model's answer may be kept."""
    verdict = judge(_asked(asked, f"{question.system}\n{question.user}"), reply)
    if isinstance(verdict, Accepted) and asked.amends:
        removed = [told(message) for message in asked.amends.removed]
        kept = [*asked.amends.kept, *(told(message) for message in asked.delta)]
        left = residue(removed, kept, verdict.text)
        if left:
            return Refused(Refusal.RESIDUE, f"it still tells of what was removed: {', '.join(left[:5])}")
    return verdict


def _asked(asked: FoldRequest, prompt: str = "") -> Asked:
    shown = asked.amends.kept if asked.amends else ()
    return Asked(
        asked.previous,
        asked.delta,
        prompt,
        asked.target_words,
        amends=asked.amends is not None,
        sources=tuple(one for one in shown if one),
        third_person=True,
    )


_Fits = Callable[[tuple[Message, ...]], bool]


def parts(delta: Sequence[Message], fits: _Fits, most: int | None = None) -> list[tuple[Message, ...]]:
    """Messages in runs that each fit, in order. A call stays with its results. What does not fit by itself is cut
    between its messages, and a message at a paragraph, a sentence or, failing that, anywhere: every word of it is read,
    none twice. After `most` runs the rest is one more, whether it fits or not: to count on would be of no use."""
    waiting = [tuple(delta[at] for at in unit) for unit in find_units(delta)]
    if not waiting or fits(tuple(delta)):
        return [tuple(delta)]
    found: list[tuple[Message, ...]] = []
    guess = 1
    while waiting and (most is None or len(found) < most):
        many = _fitting(waiting, fits, guess)
        first = waiting[0]
        if not many and len(first) > 1:
            waiting = [*((message,) for message in first), *waiting[1:]]
            continue
        if not many and len(told(first[0])) > SMALLEST_PIECE:
            halves = _halves(told(first[0]))
            waiting = [*((replace(first[0], parts=(Text(half),)),) for half in halves), *waiting[1:]]
            continue
        guess = many = many or 1  # no room even for this: the model's own limit will say so
        found.append(_together(waiting[:many]))
        waiting = waiting[many:]
    return [*found, _together(waiting)] if waiting else found


def _together(groups: Iterable[tuple[Message, ...]]) -> tuple[Message, ...]:
    return tuple(message for group in groups for message in group)


def _fitting(groups: Sequence[tuple[Message, ...]], fits: _Fits, guess: int) -> int:
    """How many of the first groups fit together. To ask is dear, the more the more is asked about: so it is asked
    seldom, and about little more than what fits. `guess` is how many did before."""
    least, most = 0, min(guess, len(groups))
    while fits(_together(groups[:most])):
        if most == len(groups):
            return most
        least, most = most, min(2 * most, len(groups))
    while most - least > 1:
        middle = (least + most) // 2
        least, most = (middle, most) if fits(_together(groups[:middle])) else (least, middle)
    return least


SMALLEST_PIECE = 200
"""Characters below which a message is not cut any further."""

_PARAGRAPH, _SPACE = re.compile(r"\n\s*\n"), re.compile(r"\s+")

_REACH = 2_000
"""How far from the middle a better place is looked for."""


def _halves(text: str) -> tuple[str, str]:
    middle = len(text) // 2
    first, end = middle - min(_REACH, middle - 1), middle + min(_REACH, middle - 1)
    places = [match.end() for match in _PARAGRAPH.finditer(text, first, end)]
    places = places or [first + start for start in find_starts(text[first:end])[1:]]
    places = places or [match.end() for match in _SPACE.finditer(text, first, end)]
    at = min(places, key=lambda place: abs(place - middle), default=middle)
    return text[:at], text[at:]
