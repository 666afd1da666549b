"""The memory in a view: its texts, how they stand under their headings, and what gives way when there is no room.

Of each section so much is shown as it is given: episodes give way whole, the oldest first; items of lists the least
important first; pins never. Chapters, the backbone and the recap become shorter by whole sentences: they keep their
opening, which says who and where, and their newest sentences, and a mark stands for the middle. A text of quotation
lines loses its oldest lines, since each line names its message itself; one that says what matters most first (a brief)
its last lines. No quotation is ever cut in two, and whatever gives way is listed.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from previously.core.path import Span
from previously.core.tokens import Counter
from previously.text.cuts import cut_lines, cut_sentences
from previously.view.view import LeftOut, Reason, Section

HEADINGS = {
    Section.PINS: "# To keep in mind",
    Section.WISHES: "# The players and what they asked for",
    Section.EARLIER: "# Before this story",
    Section.BACKBONE: "# The story so far",
    Section.CHAPTERS: "# Earlier chapters",
    Section.EPISODES: "# Earlier episodes",
    Section.RECAP: "# Previously in this story",
    Section.BRIEF: "# Earlier in this conversation",
    Section.THREADS: "# Still open before the messages below",
    Section.STATE: "# As things stood before the messages below",
    Section.CAST: "# What you know",
    Section.SHARED: "# Known from elsewhere",
    Section.LORE: "# About this world",
}
STALE = "(Written before an earlier message was changed.)"

LISTS = frozenset({Section.WISHES, Section.THREADS, Section.STATE, Section.CAST, Section.SHARED, Section.LORE})
"""The sections that are lists, the most important item first. They stand for no messages."""


@dataclass(frozen=True, slots=True)
class Remembered:
    """A text of memory and the messages it stands for; none for a pin, for an item of a list, and for an episode of
    which another text tells too."""

    section: Section
    text: str
    span: Span | None
    reason: str
    what: str
    """Its name in a list of what was left out."""
    stale: bool = False
    by_hand: bool = False
    lost: tuple[Span, ...] = ()
    """The messages of its span that it tells no more, because it or what it was made from had grown too long; in
    order."""
    short: str = ""
    """A chapter's short form; empty if it has none."""
    beside: Span | None = None
    """Of an episode: the messages it tells beside another text."""
    weak: bool = False
    """True if a recap is quoted, not written: lists are then worth more."""
    about: str = ""
    """Of an item of a list: the thing or person it is about."""
    kind: str = ""
    """Of an item of a list: what sort it is of, by `previously.view.choose_memory`."""
    origin: str = ""
    """The other story or the shared memory it comes from; empty for what the story knows by itself."""

    def stands_for(self, opening: int) -> Span | None:
        """Return its span but for the opening of so many messages, which is always shown itself."""
        if self.span is None or self.span.last < opening:
            return None
        return Span(max(self.span.first, opening), self.span.last)

    @property
    def told(self) -> list[Span]:
        """Its span without what it tells no more."""
        if self.span is None:
            return []
        firsts = [self.span.first, *(gap.last + 1 for gap in self.lost)]
        lasts = [*(gap.first - 1 for gap in self.lost), self.span.last]
        return [Span(first, last) for first, last in zip(firsts, lasts, strict=True) if first <= last]

    @property
    def shown(self) -> str:
        return f"{STALE} {self.text}" if self.stale and self.text else self.text


def render_sections(memories: Sequence[Remembered]) -> list[str]:
    """Return the text of each section that has any, under its heading, in the order of the view."""
    return [text for section in HEADINGS if (text := _render_section(section, memories))]


def _render_section(section: Section, memories: Sequence[Remembered]) -> str:
    texts = [memory.shown for memory in memories if memory.section is section and memory.text]
    return ("\n" if section in LISTS else "\n\n").join([HEADINGS[section], *texts]) if texts else ""


def count_section_tokens(memories: Sequence[Remembered], counter: Counter) -> dict[Section, int]:
    """Return what each section but the pins takes of the system message, its heading included."""
    costs = {
        section: count_block_tokens(section, memories, counter) for section in HEADINGS if section is not Section.PINS
    }
    return {section: cost for section, cost in costs.items() if cost}


def count_block_tokens(section: Section, memories: Sequence[Remembered], counter: Counter) -> int:
    """Return what a section takes of the system message, its heading included."""
    text = _render_section(section, memories)
    return counter.tokens(f"\n\n{text}") if text else 0


def drop_told_twice(memories: Sequence[Remembered]) -> Iterator[Remembered]:
    """Yield the texts in order, each standing for what none before it stands for. A person's backbone may reach into a
    chapter that was opened again; their words are shown in any case, folded ones only if they tell of more."""
    at = 0
    for memory in memories:
        assert memory.span is not None, "only pins stand for nothing"
        if memory.span.last >= at:
            lost = tuple(Span(max(at, gap.first), gap.last) for gap in memory.lost if gap.last >= at)
            yield replace(memory, span=Span(max(at, memory.span.first), memory.span.last), lost=lost)
            at = memory.span.last + 1
        elif memory.by_hand:
            yield replace(memory, span=None, lost=())


Fits = Callable[[Sequence[Remembered]], bool]


def fit_memories(
    memories: Sequence[Remembered], limits: Mapping[Section, int], counter: Counter, opening: int
) -> tuple[list[Remembered], list[LeftOut]]:
    """Return the memories that keep within the limits of their sections, in order, and what gave way. `opening` is how
    many messages are shown in any case."""
    kept, left_out = list(memories), list[LeftOut]()
    for section, limit in limits.items():

        def fits(texts: Sequence[Remembered], section: Section = section, limit: int = limit) -> bool:
            return count_block_tokens(section, texts, counter) <= limit

        if section in LISTS:
            kept, fewer = _drop_last_lines(kept, section, fits)
            left_out += fewer
            continue
        while not fits(kept) and (index := _find_first_to_go(kept, section)) is not None:
            whole = kept.pop(index)
            shorter, cut = _shorten(kept[:index], whole, kept[index:], fits)
            if shorter:
                kept.insert(index, shorter)
                left_out.append(LeftOut(f"{cut} of {whole.what}", Reason.BUDGET, share_of=section))
            elif whole.beside is None:
                covers = whole.stands_for(opening)
                what = f"{whole.what} of {covers}" if covers else whole.what
                left_out.append(LeftOut(what, Reason.BUDGET, covers, section))
    return kept, left_out


def _drop_last_lines(
    memories: list[Remembered], section: Section, fits: Fits
) -> tuple[list[Remembered], list[LeftOut]]:
    """Return a list without as few of its last lines as must go, and how many those are."""
    places = [index for index, memory in enumerate(memories) if memory.section is section and memory.text]

    def without(number: int) -> list[Remembered]:
        gone = set(places[len(places) - number :])
        return [memory for index, memory in enumerate(memories) if index not in gone]

    fewest = bisect_left(range(len(places)), True, key=lambda number: fits(without(number)))
    if not fewest:
        return memories, []
    what = memories[places[-1]].what if fewest == 1 else f"{fewest} lines of {section.value}"
    return without(fewest), [LeftOut(what, Reason.BUDGET, share_of=section)]


def _shorten(
    before: Sequence[Remembered], whole: Remembered, after: Sequence[Remembered], fits: Fits
) -> tuple[Remembered | None, str]:
    """Return the text without as little as must go, and what goes; None if nothing of it may stay, as of an episode."""
    if whole.section is Section.EPISODES:
        return None, ""
    cut = (cut_lines if whole.section is Section.BRIEF else cut_sentences)(whole.text)
    gone = range(1, cut.units)
    # The more goes, the less is left, so the fewest are found by halving.
    fewest = bisect_left(gone, True, key=lambda count: fits([*before, replace(whole, text=cut.without(count)), *after]))
    if fewest == len(gone):
        return None, ""
    return replace(whole, text=cut.without(gone[fewest])), cut.what(gone[fewest])


def _find_first_to_go(memories: Sequence[Remembered], section: Section) -> int | None:
    """Return which text of a section gives way first: the oldest, and of episodes one that another text stands for."""
    places = [index for index, memory in enumerate(memories) if memory.section is section and memory.text]
    return min(places, key=lambda index: (memories[index].beside is None, index), default=None)
