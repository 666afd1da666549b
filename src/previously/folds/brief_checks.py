"""The bounds of a brief: the user's rules that a model left out, what fills free room, and what goes when it is full.

A model's brief stands as it is. What the user laid down is put back word for word; nothing is that rules make of how
things stand, since the model may know better. Free room goes to what cannot be false: files that calls touched, and
where exact names were met. Of what is too long, the goal, the user's constraints, what is blocked and what was tried
without success go only when nothing else is left; of each section the oldest go first, of the goal and the next steps
the last. From `count_least_tokens` on the result fits, whatever the brief.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from previously.core.tokens import estimate_tokens
from previously.folds.builtin.brief import ONLY_READ, split_file
from previously.folds.builtin.identifiers import NamePlace, find_identifiers, find_names
from previously.folds.builtin.statements import find_asked
from previously.folds.conversation.sections import (
    EARLIER_REQUEST,
    NAMES,
    REMARK,
    REPORTED,
    TITLES,
    Brief,
    extend_brief,
    is_failure,
    render_brief,
)
from previously.text.cuts import clip
from previously.text.sentences import join_lines, split_sentences
from previously.text.words import find_words

_LONG, _SHORT = 400, 160
"""Characters to which long items are cut before any is left out."""

_CUT_FIRST: Final = ("done", "in_progress", "decisions", "next_steps", "context", "files")
"""The sections in which long items are cut: not the user's words, nor those that tell what is wrong."""

_USER_WORDS: Final = (EARLIER_REQUEST, REPORTED)

FAILURES: Final = "failures"
TOLD: Final = "told"
REMARKS: Final = "remarks"
"""Items of the context that are not in the user's words, and those of them that are of no known sort."""

_ORDER: Final = (
    (REMARKS, 12),
    ("done", 6),
    ("read", 12),
    (REMARKS, 4),
    (TOLD, 6),
    ("done", 2),
    ("decisions", 6),
    ("next_steps", 6),
    (REMARKS, 0),
    ("read", 0),
    (TOLD, 2),
    ("context", 8),
    ("files", 12),
    ("in_progress", 3),
    ("done", 0),
    ("decisions", 2),
    ("next_steps", 2),
    (TOLD, 0),
    ("context", 4),
    ("files", 4),
    ("decisions", 0),
    ("next_steps", 0),
    ("in_progress", 0),
    ("context", 0),
    ("files", 0),
    (FAILURES, 2),
    ("blocked", 2),
    ("constraints", 4),
    (FAILURES, 0),
    ("blocked", 0),
    ("goal", 1),
    ("constraints", 0),
)
"""The items that go, in their order, and how many of each stay for the time being."""


@dataclass(frozen=True, slots=True)
class BoundedBrief:
    """A brief that fits, and what was left out of it."""

    brief: Brief
    shed: tuple[str, ...] = ()


def count_least_tokens() -> int:
    """Return what a brief takes that says nothing: no cap can be kept below."""
    return estimate_tokens(render_brief(Brief()))


def bound_brief(brief: Brief, most_tokens: int) -> BoundedBrief:
    """The brief in at most so many tokens, and what had to go."""
    if estimate_tokens(render_brief(brief)) <= most_tokens:
        return BoundedBrief(brief)
    for longest in (_LONG, _SHORT):
        brief = _clip_items(brief, longest, _CUT_FIRST)
        if estimate_tokens(render_brief(brief)) <= most_tokens:
            return BoundedBrief(brief)
    left = _Held(brief)
    for name, kept in _ORDER:
        if left.shed(name, kept, most_tokens):
            break
    return _to_the_word(left, most_tokens)


class _Held:
    """The items that are still there, with what each takes; together never less than what they take as one text."""

    def __init__(self, brief: Brief) -> None:
        self._items = {name: list(getattr(brief, name)) for name in TITLES}
        self._total = count_least_tokens() + sum(_count_item(one) for items in self._items.values() for one in items)
        self.gone: list[str] = []

    def shed(self, what: str, kept: int, most: int) -> bool:
        """Let the oldest of these go until all fits or only so many of them are left. Whether it fits."""
        name = {"read": "files", TOLD: "context", REMARKS: "context", FAILURES: "decisions"}.get(what, what)
        of_it = [one for one in self._items[name] if _is_of(one, what)]
        going = max(0, len(of_it) - kept)
        # Of the goal and of what is to be done next the last is needed least, of all else the oldest.
        for item in reversed(of_it[kept:]) if name in ("goal", "next_steps") else of_it[:going]:
            if self._total <= most:
                return True
            self._items[name].remove(item)
            self._total -= _count_item(item)
            self.gone.append(item)
        return self._total <= most

    def brief(self) -> Brief:
        """Return the brief with the items that are left."""
        return Brief(**{name: tuple(items) for name, items in self._items.items()})


def _count_item(item: str) -> int:
    return estimate_tokens(f"- {item}\n")


def _is_of(item: str, what: str) -> bool:
    match what:
        case "read":
            return item.endswith(": read")
        case "remarks":
            return item.startswith((NAMES, REMARK))
        case "told":
            return not item.startswith(_USER_WORDS)
        case "decisions":
            return not is_failure(item)
        case "failures":
            return is_failure(item)
        case _:
            return True


def _to_the_word(kept: _Held, most: int) -> BoundedBrief:
    """The last resort: what cannot go is cut, by half and half again."""
    brief, longest = kept.brief(), 8_000
    left = brief.items()
    while estimate_tokens(render_brief(brief)) > most and longest > 8:
        longest //= 2
        brief = _clip_items(brief, longest, tuple(TITLES))
    if estimate_tokens(render_brief(brief)) > most:
        return BoundedBrief(Brief(), (*kept.gone, *left))
    return BoundedBrief(brief, tuple(kept.gone))


def _clip_items(brief: Brief, longest: int, names: tuple[str, ...]) -> Brief:
    def cut(item: str) -> str:
        # The user's own words and what did not work are cut only when everything is.
        spared = names == _CUT_FIRST and (item.startswith(_USER_WORDS) or is_failure(item))
        return item if spared else clip(item, longest)

    return Brief(**{name: tuple(cut(one) if name in names else one for one in getattr(brief, name)) for name in TITLES})


_COVERED = 0.75
"""The share of a rule's words that one item must have to say the same."""


def restore_constraints(brief: Brief, rules: Iterable[str]) -> tuple[Brief, tuple[str, ...]]:
    """Return the brief with each rule of the user that no constraint or goal of it says, word for word; and which these
    are."""
    text = render_brief(brief).casefold()
    said = [_words(item) for item in (*brief.constraints, *brief.goal)]
    missing = tuple(rule for rule in dict.fromkeys(rules) if rule.strip() and not _is_said(rule, text, said))
    return extend_brief(brief, constraints=missing), missing


def _is_said(rule: str, text: str, items: list[frozenset[str]]) -> bool:
    if rule.strip().casefold().rstrip(".!") in text:
        return True
    words = _words(rule)
    return (
        bool(words)
        and all(identifier.casefold() in text for identifier in find_identifiers(rule))
        and any(len(words & item) >= _COVERED * len(words) for item in items)
    )


def _words(text: str) -> frozenset[str]:
    return frozenset(word for word in find_words(text.casefold()) if len(word) > 1)


FILLED_SHARE = 0.9
"""The share of the cap up to which free room is filled: a tokenizer may count a tenth more than the estimate does, and
what fills the room must not push out a line of the model."""

MOST_REQUESTS = 12
MOST_READ_FILES = 20
MOST_OTHER_NAMES = 24
"""The newest requests; and files that were only read, and names, that the newest messages do not use: more of them are
noise."""

_LEAST_WRITTEN = 2
"""Messages in which somebody must have written such a name: what was used again will be."""


@dataclass(frozen=True, slots=True)
class CertainFacts:
    """Facts that cannot be false, since they are quoted or read off calls and results: the newest last."""

    requests: tuple[str, ...]
    """The user's requests, word for word."""
    files: tuple[str, ...]
    """Files that calls touched, each with what was done to it."""
    names: Mapping[str, NamePlace]
    """Exact names, and where they were met."""


def fill_room(brief: Brief, facts: CertainFacts, used: frozenset[str], most_tokens: int) -> Brief:
    """Return the brief with what is certain and missing, as far as there is room under the cap; no line of it goes.
    First come files that the newest messages use or that were changed, then the user's own words, then the names that
    the newest messages use."""
    text = render_brief(brief)
    room = int(most_tokens * FILLED_SHARE) - estimate_tokens(text)
    requests: list[str] = []
    files: list[str] = []
    names: dict[str, list[str]] = {}
    for item, place in _list_missing(facts, brief, text, used):
        line = f", `{item}`" if place else item
        cost = _count_item(line) + (_count_item(f"{NAMES}{place}: ") if place and place not in names else 0)
        if cost > room:
            break
        room -= cost
        if place:
            names.setdefault(place, []).append(item)
        else:
            (requests if item.startswith(EARLIER_REQUEST) else files).append(item)
    told = [f"{NAMES}{place}: {', '.join(f'`{name}`' for name in each)}" for place, each in names.items()]
    # They stand before the brief's own lines: where a tokenizer counts more than was estimated, they go first.
    return replace(
        brief, context=(*reversed(requests), *reversed(told), *brief.context), files=(*reversed(files), *brief.files)
    )


def _list_unsaid(requests: Sequence[str], brief: Brief, text: str) -> Iterator[str]:
    """The requests of which a brief does not say every sentence, the newest first."""
    lower = text.casefold()
    items = [_words(item) for item in brief.items()]
    for request in reversed(requests[-MOST_REQUESTS:]):
        if not all(_is_said(sentence, lower, items) for sentence in split_sentences(join_lines(request))):
            yield f"{EARLIER_REQUEST}{find_asked(request)}"


def _list_missing(facts: CertainFacts, brief: Brief, text: str, used: frozenset[str]) -> Iterator[tuple[str, str]]:
    """Files, requests, and names with their places, that a brief does not have: the most needed first."""
    endings = {name.rsplit("/", 1)[-1] for name in used}
    known = set(find_names(text))
    files = [line for line in reversed(facts.files) if split_file(line)[0] not in text]
    first = [line for line in files if split_file(line)[0].rsplit("/", 1)[-1] in endings]
    changed = [line for line in files if line not in first and not line.endswith(ONLY_READ)]
    read = [line for line in files if line not in first and line.endswith(ONLY_READ)]
    paths = "\n".join(f"/{split_file(line)[0]}\n" for line in facts.files)
    missing = [name for name in reversed(list(facts.names)) if name not in known and f"/{name}\n" not in paths]
    others = [name for name in missing if name not in used and facts.names[name].written >= _LEAST_WRITTEN]
    for line in (*first, *changed, *_list_unsaid(facts.requests, brief, text)):
        yield line, ""
    for name in missing:
        if name in used:
            yield name, facts.names[name].place
    for line in read[:MOST_READ_FILES]:
        yield line, ""
    for name in others[:MOST_OTHER_NAMES]:
        yield name, facts.names[name].place
