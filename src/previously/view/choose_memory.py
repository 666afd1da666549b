"""The choice of memory for a view: in which form the past is told, and which lines of lists are worth their room.

A long story has three layers: episodes, chapters, backbone. A chapter is told in full, in short, or by the backbone;
the finest form that fits, the nearest first. No chapter is told more finely than one that is nearer. No message is told
by two texts, except that episodes stand beside the recap, and beside a chapter told in full, to keep what was lost when
those were written.

A small view tells of threads only what the recap does not, of persons only those the tail names and the recap does
not; of the state nothing whose thing the tail names, since the newest messages know better. A person's own lines are
never passed over.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from previously.core.budgets import Row, scale_row
from previously.core.patterns import lazy_pattern
from previously.core.tokens import Counter
from previously.text.compare import find_terms
from previously.text.sentences import find_starts
from previously.text.words import CONTENT_RUN
from previously.view.memory import Remembered, count_block_tokens, drop_told_twice
from previously.view.view import Section

WORTH_CUTTING = 0.6
"""The nearest chapter is told in full where this much of it fits: it then loses its middle. Less of it would tell less
than a short form that is whole."""

PAST = frozenset({Section.BACKBONE, Section.CHAPTERS})
"""The sections that tell of closed chapters."""


@dataclass(frozen=True, slots=True)
class PastRoom:
    """The room that the past may take."""

    tokens: int
    backbone_tokens: int
    """The least that the backbone needs, if it is that long: a longer one is cut before a chapter is left to it."""


def choose_layers(memories: Sequence[Remembered], room: PastRoom, counter: Counter) -> list[Remembered]:
    """Return the texts of a view out of all there are, in the order of the story: each chapter in one form, and what
    no other text tells. `memories` hold a backbone for each chapter at which it can end."""
    past = _choose_past([one for one in memories if one.section in PAST and one.span], room, counter)
    told = [one for one in memories if one.section not in PAST and one.span]
    in_order = sorted((*past, *told), key=_place)
    pins = [one for one in memories if one.section is Section.PINS]
    others = [one for one in memories if one.span is None and one.section is not Section.PINS]
    return [*pins, *drop_told_twice(in_order), *others]


def _place(memory: Remembered) -> tuple[int, int]:
    """Return where a text comes in the story: the backbone first, then chapters with the episodes that stand for one,
    then the recap."""
    if memory.section is Section.BACKBONE:
        return 0, 0
    return (1, _begin(memory)) if memory.section in (Section.CHAPTERS, Section.EPISODES) else (2, 0)


def drop_shorter_backbones(memories: Sequence[Remembered]) -> list[Remembered]:
    """Return the texts without the backbones that end before the furthest: what would be told if all had room."""
    folded = [one for one in memories if one.section is Section.BACKBONE and one.span and not one.by_hand]
    furthest = max(folded, key=_find_last, default=None)
    return [one for one in memories if one not in folded or one is furthest]


def _begin(memory: Remembered) -> int:
    assert memory.span is not None, "what stands for nothing has no place in the story"
    return memory.span.first


def _choose_past(memories: Sequence[Remembered], room: PastRoom, counter: Counter) -> list[Remembered]:
    """Return the backbone and the chapters after it, each in its form."""
    by_hand = [one for one in memories if one.section is Section.BACKBONE and one.by_hand]
    backbones = [one for one in memories if one.section is Section.BACKBONE and not one.by_hand]
    written = max((_find_last(one) for one in by_hand), default=-1)
    chapters = [one for one in memories if one.section is Section.CHAPTERS and _find_last(one) > written]
    reached = max((_find_last(one) for one in (*by_hand, *backbones)), default=-1)
    alone = [one for one in chapters if _find_last(one) > reached]
    furthest = max(backbones, key=_find_last, default=None)
    chosen = _Past(by_hand, furthest, ()).with_chapters([_shorten_chapter(one) for one in alone])
    for at in reversed(range(len(alone))):  # these are told by nothing else, so the question is only how finely
        finer = chosen.with_chapters([*chosen.chapters[:at], alone[at], *chosen.chapters[at + 1 :]])
        if not finer.fits(room, counter):
            return chosen.texts
        chosen = finer
    for chapter in reversed(chapters[: len(chapters) - len(alone)]):
        finest = next(
            (one for one in _tell_one_more(chosen, chapter, backbones, written) if one.fits(room, counter)), None
        )
        if finest is None:
            break
        chosen = finest
    return _refine(chosen, chapters, room, counter).texts


def _refine(chosen: _Past, chapters: Sequence[Remembered], room: PastRoom, counter: Counter) -> _Past:
    """Return the same with more chapters in full: where an older one is told in short, the backbone needs less, and
    gave up room that a nearer one can use."""
    whole = {one.span: one for one in chapters}
    for at in reversed(range(len(chosen.chapters))):
        full = whole[chosen.chapters[at].span]
        finer = chosen.with_chapters([*chosen.chapters[:at], full, *chosen.chapters[at + 1 :]])
        if not finer.fits(room, counter):
            break
        chosen = finer
    return chosen


@dataclass(frozen=True, slots=True)
class _Past:
    """A backbone and the chapters told after it."""

    by_hand: Sequence[Remembered]
    backbone: Remembered | None
    chapters: Sequence[Remembered]

    @property
    def texts(self) -> list[Remembered]:
        return [*self.by_hand, *([self.backbone] if self.backbone else []), *self.chapters]

    @property
    def is_full(self) -> bool:
        """Return whether every chapter is told in full: only then may an older one be."""
        return not any(one.short and one.text == one.short for one in self.chapters)

    def with_chapters(self, chapters: Sequence[Remembered]) -> _Past:
        return replace(self, chapters=chapters)

    def fits(self, room: PastRoom, counter: Counter) -> bool:
        """Return whether there is room for the chapters, or most of the only one, and for what the backbone needs."""
        backbone = count_block_tokens(Section.BACKBONE, self.texts, counter)
        chapters = count_block_tokens(Section.CHAPTERS, self.texts, counter)
        if len(self.chapters) == 1:
            chapters = int(chapters * WORTH_CUTTING)
        return chapters + min(backbone, room.backbone_tokens) <= room.tokens


def _tell_one_more(
    chosen: _Past, chapter: Remembered, backbones: Iterable[Remembered], written: int
) -> Iterator[_Past]:
    """Yield what is told if one chapter more is told by itself, the finest form first; nothing where no backbone ends
    before it, or where one behind it would then be told by nothing."""
    first = _begin(chapter)
    told_to = (
        _begin(chosen.chapters[0]) - 1 if chosen.chapters else _find_last(chosen.backbone) if chosen.backbone else -1
    )
    if _find_last(chapter) < told_to:
        return
    before = max((one for one in backbones if _find_last(one) < first), key=_find_last, default=None)
    reached = max(written, _find_last(before) if before else -1)
    if reached < first - 1 and first > 0:
        return
    if chosen.is_full:
        yield _Past(chosen.by_hand, before, [chapter, *chosen.chapters])
    if chapter.short:
        yield _Past(chosen.by_hand, before, [_shorten_chapter(chapter), *chosen.chapters])


def _shorten_chapter(chapter: Remembered) -> Remembered:
    return replace(chapter, text=chapter.short) if chapter.short else chapter


def _find_last(memory: Remembered) -> int:
    assert memory.span is not None, "what stands for nothing has no place in the story"
    return memory.span.last


def can_stand_beside(episode: Remembered, memories: Iterable[Remembered]) -> bool:
    """Return whether an episode may stand beside the texts of a view: within the recap or a chapter told in full."""
    return episode.beside is not None and any(
        one.span is not None
        and one.span.first <= episode.beside.first
        and episode.beside.last <= one.span.last
        and (one.section is Section.RECAP or (one.section is Section.CHAPTERS and one.text != one.short))
        for one in memories
    )


DATED = "dated"
"""The kind of a thread that names a day or an amount."""

PERSON = "person"
"""The kind of a line of lore about a person."""

SMALL = 3_000
"""Tokens up to which a budget is a small one: nearer to 2,000 than to 4,000."""

LARGE = 6_000
"""Tokens from which on a budget is a large one: nearer to 8,000 than to 4,000."""

LASTING = frozenset({"holder", "holds", "condition", "time", ""})
"""Aspects of the state that a view of middle size tells: places and offices are told by the recap or overtaken. Free
words have none."""

TOLD_SHARE = 2 / 3
"""A thread is told where one paragraph has two thirds of its telling words: names alone are fewer."""

PERSONS_TOKENS: Row = (0, 200, 400)
"""The most that lines about persons take: none at 2,000, where the recap says who people are, 16 of them at 8,000."""

_WORDS = lazy_pattern(r"[^\W_]+")


@dataclass(frozen=True)
class Beside:
    """The texts that stand in a view beside its lists."""

    budget_tokens: int
    recap: str
    """Empty if it is missing or only quotes: then every line is worth telling."""
    tail: str

    @cached_property
    def words(self) -> frozenset[str]:
        return frozenset(_WORDS.findall(self.tail))

    @cached_property
    def small_words(self) -> frozenset[str]:
        return frozenset(word.casefold() for word in self.words)

    @cached_property
    def in_recap(self) -> Beside:
        """Return the recap as something that names things."""
        return Beside(self.budget_tokens, "", self.recap)

    @cached_property
    def paragraphs(self) -> list[frozenset[str]]:
        """Return the telling words of each paragraph of the recap."""
        return [frozenset(find_terms(part)) for part in self.recap.split("\n\n")]


def choose_lines(memories: Sequence[Remembered], beside: Beside, counter: Counter) -> list[Remembered]:
    """Return the memories without lines that this view has no use for, and without persons beyond their share."""
    tests = {Section.THREADS: _tells_thread, Section.STATE: _tells_state, Section.LORE: _tells_person}
    chosen, persons = list[Remembered](), scale_row(beside.budget_tokens, PERSONS_TOKENS)
    for memory in memories:
        test = tests.get(memory.section)
        if test and not memory.by_hand and not test(memory, beside):
            continue
        persons -= counter.tokens(memory.text) if memory.kind == PERSON else 0
        if memory.kind != PERSON or persons >= 0:
            chosen.append(memory)
    return chosen


def find_first_sentence(text: str) -> str:
    return text[: [*find_starts(text), len(text)][1]].strip()


def _tells_thread(line: Remembered, beside: Beside) -> bool:
    if beside.budget_tokens >= LARGE or not beside.recap:
        return True
    words = set(find_terms(line.text))
    if any(len(words & told) >= TOLD_SHARE * len(words) for told in beside.paragraphs):
        return False
    return beside.budget_tokens >= SMALL or line.kind == DATED


def _tells_state(line: Remembered, beside: Beside) -> bool:
    if _is_named(line.about, beside):
        return False
    return beside.budget_tokens >= LARGE or not beside.recap or line.kind in LASTING


def _tells_person(line: Remembered, beside: Beside) -> bool:
    if line.kind != PERSON or beside.budget_tokens >= LARGE:
        return True
    if beside.budget_tokens < SMALL:
        return False
    return _is_named(line.about, beside) and not _is_named(line.about, beside.in_recap)


def _is_named(thing: str, beside: Beside) -> bool:
    """Return whether the tail names a thing: a name by any of its words, as it is written; anything else by its last
    word, which says what it is ("Bram's knife" is named by "the knife")."""
    words = _WORDS.findall(thing)
    if not words:
        return False
    if CONTENT_RUN.search(thing):
        return thing in beside.tail
    if len(words) > 1 and all(word[0].isupper() for word in words):
        return not beside.words.isdisjoint(words)
    return words[-1].casefold() in beside.small_words
