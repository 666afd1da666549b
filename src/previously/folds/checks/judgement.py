"""The one place where a text is accepted or refused.

The checks run from the plainest fault to the subtlest; the first that finds something is the reason. No text makes them
raise, the same answer gets the same verdict, and what is accepted is the model's text and nothing else. System messages
and thinking are no part of the story; names and numbers count as heard where the earlier text, a message, its speaker
or a source has them. A recap may quote; a copy is told by how long its runs are and how much of the answer they fill.

A reason is one sentence, which is told to the model, and it holds no more than a few words of the answer or the story.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from itertools import chain
from math import floor

from previously.core.messages import Error, Image, Message, Role, Text, ToolCall, ToolResult
from previously.core.model_io import ModelReply
from previously.core.patterns import lazy_pattern
from previously.core.scripts import count_words
from previously.core.versions import Kind
from previously.folds.checks import shape
from previously.folds.checks.shape import find_structure
from previously.text.compare import GRAM, find_grams, measure_overlap, split_tokens
from previously.text.cuts import clip
from previously.text.language import find_language, find_wrong_language
from previously.text.names import NOBODY, HeardNames, find_names, find_unheard, split_name
from previously.text.numbers import COUNTS, LANGUAGES, find_numbers, find_values
from previously.text.sentences import QUOTED, is_cut
from previously.text.voice import find_first_person, find_order, find_talk, is_refusal
from previously.text.words import WORD

_TOOL_REASONS = frozenset({"tool_calls", "tool_use", "function_call", "tool_call"})
_FILTERED = frozenset({"content_filter", "safety", "refusal", "blocked", "prohibited_content", "recitation"})

CEILING = 2
"""An answer may be this many times its target where no ceiling is given: "about 400 words" is never met exactly."""

SLACK = 30
"""Words any answer may have, however little there was to read: names and a verb take room."""

COLLAPSED = 0.4
"""Under this share of the text it replaces an answer has lost it: honest rewriting keeps more than half."""

NEWS = 60
"""Words of new messages after which the earlier text cannot stand unchanged: a few short lines may change nothing."""

LEAST_PEOPLE = 3
"""Of two people one may well go by "she"."""

MOST_PEOPLE = 6
"""The number of those who speak most that are looked for: a crowd need not be named."""

OFTEN = 4
"""Times a name comes up in the delta that make it one the text should have."""

_MUCH_READ = 40
"""From this many words read on, three words are no text."""


def judge(asked: TextRequest, reply: ModelReply) -> Accepted | Refused:
    """Decide whether a model's answer may become memory."""
    finish = (reply.finish_reason or "").strip().lower()
    if reply.tool_calls or finish in _TOOL_REASONS:
        return Refused(RefusalKind.TOOL_CALL, "it is a tool call; answer with the text itself")
    if finish in _FILTERED:
        return Refused(RefusalKind.REFUSAL, f"the server withheld the answer ({finish})")
    if not _is_visible(reply.text) and _is_visible(reply.reasoning):
        return Refused(RefusalKind.REASONING, "it is reasoning without an answer")
    return _judge_text(asked, reply.text, finish, by_model=True)


def judge_text(asked: TextRequest, text: str) -> Accepted | Refused:
    """Decide the same for a text without a wire reply: it may be the earlier text, and need not end in a full stop."""
    return _judge_text(asked, text, "", by_model=False)


def _judge_text(asked: TextRequest, raw: str, finish: str, *, by_model: bool) -> Accepted | Refused:
    text = shape.tidy_answer(shape.strip_reasoning(raw))
    if not _is_visible(text):
        thought = Refused(RefusalKind.REASONING, "it has no text beside reasoning")
        return thought if _is_visible(raw) else Refused(RefusalKind.EMPTY, "it is empty")
    if shape.is_open_block(raw):
        return Refused(RefusalKind.REASONING, "it is reasoning that never comes to an end")
    if shape.is_tool_call(text):
        return Refused(RefusalKind.TOOL_CALL, "it is a tool call written out; answer with the text itself")
    if finish in shape.CUT:
        return Refused(RefusalKind.TRUNCATED, f"it was cut off before its end ({finish}); answer more briefly")
    material = gather_material(asked)
    if by_model and _is_unchanged(asked, material, text):
        return Refused(RefusalKind.UNCHANGED, "it is the earlier text, without what happened since")
    form = _check_form(asked, material, text, by_model=by_model)
    for refused in chain(form, _check_size(asked, material, text), _check_truth(asked, material, text)):
        return refused
    return Accepted(text, shed=_find_shed(asked, material, text))


def _check_form(asked: TextRequest, material: CheckMaterial, text: str, *, by_model: bool) -> Iterator[Refused]:
    """Return what is no telling of the story at all."""
    if is_refusal(text):
        yield Refused(RefusalKind.REFUSAL, f"the model declines: {clip_words(text)}")
    if plays_on(material, text):
        yield Refused(RefusalKind.ECHO, "it plays on instead of telling what happened")
    if by_model and not asked.retells and copies_story(material, text):
        yield Refused(RefusalKind.ECHO, "it copies the messages")
    talk = find_talk(text, material.story)
    if talk:
        yield Refused(RefusalKind.TALK, f"it speaks of its task instead of the story: {clip_words(talk)}")
    order = find_order(text)
    if order:
        yield Refused(
            RefusalKind.TALK, f"it gives its reader an order instead of telling who gave it: {clip_words(order)}"
        )
    structure = find_structure(text, material.story)
    if structure:
        yield Refused(RefusalKind.NOT_PROSE, f"it is not prose but {structure}")
    if is_cut(text, lenient=not by_model):
        yield Refused(RefusalKind.TRUNCATED, f"it breaks off: …{clip_words(text[-40:])}")
    wrong = find_wrong_language(asked.question or "\n".join([asked.previous, *material.texts]), text)
    if wrong:
        of = "question" if asked.question else "story"
        yield Refused(RefusalKind.WRONG_LANGUAGE, f"it is in {wrong}; write in the language of the {of}")
    if _is_third_person(asked, material):
        said = find_first_person(text, material.language)
        if said:
            yield Refused(RefusalKind.FIRST_PERSON, f'it says "{said}" outside quotations; tell it in the third person')


def _is_third_person(asked: TextRequest, material: CheckMaterial) -> bool:
    if asked.third_person is not None:
        return asked.third_person
    if asked.previous.strip():
        return find_first_person(asked.previous, material.language) is None
    # Where nobody's name stands beside what they say, "I" may be the one who tells the story.
    named = any(message.speaker for message in material.told)
    return named or all(find_first_person(text, material.language) is None for text in material.texts)


def _check_size(asked: TextRequest, material: CheckMaterial, text: str) -> Iterator[Refused]:
    """Return what is far too long or far too short."""
    words, before = count_words(text), count_words(asked.previous)
    ceiling = max(asked.ceiling_words or CEILING * asked.target_words or material.words, SLACK)
    if words > ceiling:
        yield Refused(RefusalKind.TOO_LONG, f"it has {words} words; at most {ceiling} are allowed")
    if words <= 3 and material.words >= _MUCH_READ:
        yield Refused(RefusalKind.EMPTY, f"it says next to nothing: {clip_words(text)}")
    expected = min(before, asked.target_words) if asked.target_words else before
    if words < COLLAPSED * expected:
        yield Refused(
            RefusalKind.COLLAPSE, f"it has {words} words where the earlier text had {before}: too much is lost"
        )


def _check_truth(asked: TextRequest, material: CheckMaterial, text: str) -> Iterator[Refused]:
    """Return what the story does not say: people and numbers from nowhere, and people who are gone."""
    strangers = find_unheard(text, material.heard, material.language)
    if strangers:
        yield Refused(RefusalKind.UNKNOWN_PERSON, f"nobody has heard of {clip_words(', '.join(strangers))}")
    # Where words for numbers cannot be read, digits can only be compared with digits.
    numbers = find_numbers(text, material.language) if material.language in LANGUAGES or material.values else []
    wrong = [one.written for one in numbers if one.sure and not _is_heard(one.value, material)]
    if wrong:
        yield Refused(
            RefusalKind.UNKNOWN_NUMBER, f"a number that stands nowhere in the story: {clip_words(', '.join(wrong))}"
        )
    people = [] if asked.amends else _list_people(material)
    named = HeardNames([text])
    missing = [name for name in people if not named.has(name)]
    if len(people) >= LEAST_PEOPLE and 2 * len(missing) > len(people):
        yield Refused(
            RefusalKind.PEOPLE_MISSING, f"most people of the messages are not named: {clip_words(', '.join(missing))}"
        )


def _is_heard(value: float, material: CheckMaterial) -> bool:
    if value <= COUNTS or value in material.values or (value % 1 == 0.5 and floor(value) in material.values):
        return True
    return reckons(material, value)


def _list_people(material: CheckMaterial) -> list[str]:
    """Return whom a text of these messages should name: who is spoken of again and again, and where these are few, who
    speaks. Whoever only speaks may be a player, who is told of by another name."""
    story = "\n".join(material.texts)
    times = Counter(WORD.findall(story))
    named = dict.fromkeys(words[-1] for name in find_names(story, material.language) if (words := split_name(name)))
    often = sorted((name for name in named if times[name] >= OFTEN), key=lambda name: -times[name])[:MOST_PEOPLE]
    if len(often) >= LEAST_PEOPLE:
        return often
    said = Counter(name for one in material.told if (name := (one.speaker or "").strip()))
    people = [name for name, _ in said.most_common(MOST_PEOPLE) if split_name(name) and name.lower() not in NOBODY]
    return [*people, *(name for name in often if not any(name in one for one in people))]


def _is_unchanged(asked: TextRequest, material: CheckMaterial, text: str) -> bool:
    if asked.amends or asked.may_stand or not asked.previous.strip():
        return False
    news = sum(count_words(told) for told in material.texts if not told.lstrip().startswith("("))
    return news >= NEWS and split_tokens(text) == split_tokens(asked.previous)


def _find_shed(asked: TextRequest, material: CheckMaterial, text: str) -> tuple[str, ...]:
    """The loss audit: names and numbers of the earlier text that are gone, each once, in order."""
    named, values = HeardNames([text]), find_values(text, material.language)
    names = [name for name in find_names(asked.previous, material.language) if not named.has(name)]
    numbers = [one for one in find_numbers(asked.previous, material.language) if one.sure and one.value not in values]
    return (*names, *dict.fromkeys(one.written for one in numbers if one.value > 1))


def _is_visible(text: str) -> bool:
    return any(mark.isalnum() for mark in text)


COPIED = 0.8
"""The share that stands in the messages word for word, in runs of `LONG_RUN` words: a recap quotes less."""

LONG_RUN = 40
SPOKEN = 0.6
"""The share of speech that the story does not have from which on an answer plays on instead of telling."""

_LABEL = lazy_pattern(
    r"[ \t>*_\[\"]{0,4}(?P<name>[^\s:：*_\[\]\"“「][^:：\n\"“「]{0,40}?)[\]*_\"]{0,3}[ \t]*[:：](?![\d/])"
)
_GESTURE = lazy_pattern(r"(?<!\*)\*(?=\S)[^*\n]{12,400}\*(?!\*)")


def copies_story(material: CheckMaterial, text: str) -> bool:
    """Return whether the answer is the transcript again: nearly all of it copied, in runs as long as messages."""
    words = len(split_tokens(text))
    overlap = measure_overlap(text, " ".join(material.texts))
    return words > 4 * GRAM and overlap.share >= COPIED and overlap.longest >= min(LONG_RUN, 0.6 * words)


def plays_on(material: CheckMaterial, text: str) -> bool:
    """Return whether the answer goes on with the story: lines with speakers, or talk and gestures that nobody made."""
    lines = [line for line in text.split("\n") if line.strip()]
    known = {word for message in material.told for word in (message.speaker or "").lower().split()} | NOBODY
    labels = [match.group("name").lower().split() for line in lines if (match := _LABEL.match(line[:200]))]
    named = [name for name in labels if len(name) <= 5 and not known.isdisjoint(name)]
    if len(named) >= 2 and len(named) >= 0.4 * len(lines):
        return True
    source = set(find_grams(material.story))
    played = [match.group() for match in (*QUOTED.finditer(text), *_GESTURE.finditer(text))]
    new = [len(split_tokens(one)) for one in played if source.isdisjoint(find_grams(one))]
    return len(new) >= 2 and sum(new) >= SPOKEN * max(len(split_tokens(text)), 1)


_KEPT = 2
"""One fold asks up to three times of the same material: it is read once."""


@dataclass(frozen=True, slots=True)
class CheckMaterial:
    """The earlier text, the messages told since, and what both are made of."""

    told: tuple[Message, ...]
    texts: tuple[str, ...]
    """One per told message."""
    story: str
    """All that was shown in one text, speakers included."""
    language: str
    heard: HeardNames
    values: frozenset[float]
    words: int
    """The number of words there were to read."""


@lru_cache(maxsize=_KEPT)
def gather_material(asked: TextRequest) -> CheckMaterial:
    """Gather what an answer may be made of."""
    messages = tuple(
        message for message in asked.delta if message.role is not Role.SYSTEM and read_text(message).strip()
    )
    texts = tuple(read_text(message) for message in messages)
    speakers = "\n".join(dict.fromkeys(message.speaker for message in messages if message.speaker))
    story = "\n".join([asked.previous, speakers, *texts, *asked.sources, asked.question])
    language = find_language(asked.question or "\n".join([asked.previous, *texts])) or "English"
    words = count_words(asked.previous) + sum(map(count_words, texts))
    # "One thousand, one hundred" is one number, "a hundred and two, three of them" two: both readings were heard.
    values = find_values(story, language) | find_values(story.replace(",", " "), language)
    if asked.question:  # it may be asked in another language than the story is told in
        values |= find_values(story, find_language("\n".join(asked.sources)) or "English")
    return CheckMaterial(messages, texts, story, language, HeardNames([story]), values, words)


def reckons(material: CheckMaterial, value: float) -> bool:
    """Return whether a value is the sum or the difference of two that stand in one message, or in two that follow one
    another: sixty paid of a hundred and sixty leave a hundred, and the story need not say so."""
    before: set[float] = set()
    for text in material.texts:
        here = find_values(text, material.language)
        near = before | here
        if any(not near.isdisjoint((value - one, one - value, value + one)) for one in here):
            return True
        before = set(here)
    return False


def read_text(message: Message) -> str:
    """All of a message that a text may tell of: what was said, what tools were given and gave back."""
    said = [part.text for part in message.parts if isinstance(part, Text | ToolResult | Error)]
    said += [f"{part.name} {part.arguments}" for part in message.parts if isinstance(part, ToolCall)]
    said += [part.caption for part in message.parts if isinstance(part, Image)]
    return "\n".join(piece for piece in said if piece)


@dataclass(frozen=True, slots=True)
class TextRequest:
    """The sources and bounds that a text was asked with."""

    previous: str
    """The earlier text (recap, backbone, …), "" if there is none."""
    delta: tuple[Message, ...]
    """The messages newly read."""
    target_words: int = 0
    """0 = no target."""
    retells: bool = False
    """True if the delta is itself such a text, not messages: it may be told in the same words."""
    amends: bool = False
    """The earlier text was to be set right: it may stand as it is, and need not speak of everybody in the delta."""
    may_stand: bool = False
    """The earlier text may stand as it is: it may have told all already."""
    ceiling_words: int = 0
    """The most words; 0 = derived from the target."""
    sources: tuple[str, ...] = ()
    """All texts that were shown beside the earlier text and the delta: what they name counts as heard."""
    question: str = ""
    """A question that the text answers, in whose language it is to be; empty = it is a text of the story."""
    third_person: bool | None = None
    """True if the story is told in the third person; None = as the earlier text is, or the messages are."""


class RefusalKind(StrEnum):
    """The reasons why an answer may not become memory."""

    EMPTY = "empty"
    REFUSAL = "refusal"
    REASONING = "reasoning"
    TALK = "assistant's talk"
    TRUNCATED = "truncated"
    TOOL_CALL = "tool call"
    NOT_PROSE = "not prose"
    ECHO = "echo"
    UNCHANGED = "unchanged"
    WRONG_LANGUAGE = "wrong language"
    FIRST_PERSON = "first person"
    TOO_LONG = "too long"
    COLLAPSE = "collapse"
    UNKNOWN_PERSON = "unknown person"
    UNKNOWN_NUMBER = "unknown number"
    PEOPLE_MISSING = "people missing"
    RESIDUE = "residue"
    SHAPE = "wrong shape"


@dataclass(frozen=True, slots=True)
class Accepted:
    """The text may be kept."""

    text: str
    """The answer after harmless tidying."""
    carry: str = ""
    """A mark or numbers that the version keeps beside its text; never shown."""
    beside: tuple[tuple[Kind, str], ...] = ()
    """Texts of other kinds that the same answer gave."""
    warnings: tuple[str, ...] = ()
    """Faults of a text that can be kept all the same."""
    shed: tuple[str, ...] = ()
    """Names and numbers of the earlier text that are gone: a recap must shed, and the log says what."""
    unverified: tuple[str, ...] = ()
    """Sentences without support in what was read; no check of ours finds any."""
    mendable: tuple[str, ...] = ()
    """Those of the warnings for which the model is asked once more."""


@dataclass(frozen=True, slots=True)
class Refused:
    """The text may not be kept, and why in one sentence."""

    kind: RefusalKind
    reason: str


def clip_words(text: str, longest: int = 60) -> str:
    """A few words of a text for a reason, on one line that can be shown."""
    return clip(" ".join("".join(letter if letter.isprintable() else " " for letter in text).split()), longest)
