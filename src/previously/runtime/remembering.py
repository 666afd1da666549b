"""What is remembered of a branch: the texts in force, by whom, and which messages each stands for.

A person's text stands before any other. What must stay true: of chapters and episodes only as many are read as a view
can use, so that looking costs the same however many there are. Which of them a view shows is not decided here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from previously.core.marks import STORY_SCOPE, Chapter, Mark, MarkKind, Stretch, find_chapters
from previously.core.path import Span
from previously.core.versions import Kind, LiveVersion, NewVersion
from previously.folds.builtin.quotes import renumber_live, renumber_quotes
from previously.folds.chapter import parse_short
from previously.folds.recap import FoldRules, Timeline
from previously.folds.summary import move_cuts, parse_cuts
from previously.runtime.derived import put_together
from previously.runtime.fold_store import MemoryStore
from previously.runtime.noted import updated
from previously.runtime.stale import stale_version
from previously.storage.store import BranchInfo, StoryKey
from previously.text.names import name_chapter
from previously.view.memory import Remembered
from previously.view.view import Section

TIMELINE = frozenset({MarkKind.CHAPTER, MarkKind.RECAP, MarkKind.CHAPTER_RECAP})
"""The marks that chapters are made of."""

MOST_CHAPTERS = 24
"""Closed chapters that are read at most: at 100 tokens for each short form as many as 16,000 tokens have use for."""

TOKENS_A_CHAPTER = 800
"""Tokens of a budget for one chapter more: 4 are read at 2,000 and 12 at 8,000, a few in full and the rest in short."""

MOST_EPISODE_MESSAGES = 768
"""How far back episodes are looked for: a dozen, if each tells of 60 messages."""

TOKENS_A_MESSAGE = 8
"""Tokens of a budget for one message more of which episodes are looked for: those of 250 messages at 2,000."""

FIRST_LOOK = 192
"""Messages in which the first episode is looked for: three of the longest spans that a fold takes in."""

BUILTIN = "builtin"


@dataclass(frozen=True, slots=True)
class MemoryText:
    """A text in force and what it stands for."""

    text: str
    span: Span
    made_by: str
    version: int | None
    """None for what a person wrote at a mark."""
    stale: bool = False
    cuts: tuple[Span, ...] = ()
    """The messages among them that it tells no more, because it or what it was made from had grown too long. A recap
    loses its beginning; a backbone has the cuts of its chapters."""

    @property
    def cut(self) -> Span | None:
        """Return the first of the runs that it tells no more."""
        return self.cuts[0] if self.cuts else None

    @property
    def told(self) -> Span:
        """Return what it stands for but for a beginning that it tells no more."""
        begins_cut = self.cut is not None and self.cut.first == self.span.first
        return Span(self.cut.last + 1, self.span.last) if self.cut and begins_cut else self.span

    @property
    def reason(self) -> str:
        """Why it is in a view, in words."""
        written = "by hand" if self.version is None else f"version {self.version}, by {self.made_by}"
        return f"{written}, stale: an earlier message was changed" if self.stale else written


@dataclass(frozen=True, slots=True)
class ChapterText:
    """A closed chapter and its recap, if it has one already."""

    number: int
    title: str
    span: Span
    recap: MemoryText | None
    """Its full form."""
    short: str = ""
    """Two or three sentences, for lists and very old chapters; empty where no model wrote them."""

    @property
    def text(self) -> str:
        """Its recap; empty as long as it has none."""
        return self.recap.text if self.recap else ""

    @property
    def name(self) -> str:
        """How it is called."""
        return name_chapter(self.number, self.title)


class Remembering:
    """Reads the memory of one branch."""

    def __init__(self, store: MemoryStore, key: StoryKey, branch: BranchInfo) -> None:
        self._store = store
        self._key = key
        self._branch = branch

    async def timeline(self, most: int | None = None) -> list[Chapter]:
        """The chapters, the open one last; with `most`, so many of the closed ones, the newest."""
        opening, before = None, 0
        if most is not None:
            opening, before = await self._store.newest_mark(self._key, self._branch.name, MarkKind.CHAPTER, most)
        since = opening.position if opening else -1
        marks = await self._store.marks(self._key, self._branch.name, TIMELINE, since=since)
        while opening and marks[0].id != opening.id:
            marks = marks[1:]  # what stands at the same message and belongs to earlier chapters
        return find_chapters(marks, after=before)

    async def chapters(self, closed: Sequence[Chapter]) -> list[ChapterText]:
        """Closed chapters with their recaps."""
        asked = [(one.last_stretch.scope, one.last) for one in closed if one.last is not None]
        live = await self._store.live_each(self._key, self._branch.name, Kind.CHAPTER, asked) if asked else []
        shorts = await self._store.live_each(self._key, self._branch.name, Kind.SHORT, asked) if asked else []
        found = [await self._chapter(one, full) for one, full in zip(closed, live, strict=True)]
        return [
            await self._with_short(text, one, short) for text, one, short in zip(found, closed, shorts, strict=True)
        ]

    async def _with_short(self, text: ChapterText, one: Chapter, live: LiveVersion | None) -> ChapterText:
        """A chapter with its short form and the title that came with it, unless a person wrote either. A stale one
        stands beside a full form that is stale too."""
        if one.hand_text or one.rest is None:
            return text
        if (live is None or live.span != one.rest) and text.recap and text.recap.stale:
            live = await self._stale(Kind.SHORT, one.last_stretch.scope, one.rest.first, None, one.rest.last)
        if live is None or live.span != one.rest:
            return text
        title, short = parse_short(live.version.made.text)
        return replace(text, title=text.title or title, short=short)

    async def _chapter(self, one: Chapter, live: LiveVersion | None) -> ChapterText:
        assert one.last is not None, "an open chapter has no recap for good"
        span = Span(one.first, one.last)
        if one.hand_text:
            return ChapterText(one.number, one.title, span, MemoryText(one.hand_text, span, "person", None))
        rest, found = one.rest, list[MemoryText]()
        if one.block_text:
            last = rest.first - 1 if rest else one.last
            found.append(MemoryText(one.block_text, Span(one.first, max(one.first, last)), "person", None))
        if rest:
            stale = live is None or live.span != rest
            if stale:
                live = await self._stale(Kind.CHAPTER, one.last_stretch.scope, rest.first, None, rest.last)
                live = live if live and live.span == rest else None
            text = _text(live, rest.first, stale=stale)
            if text is None:
                return ChapterText(one.number, one.title, span, None)
            found.append(text)
        return ChapterText(one.number, one.title, span, joined(found))

    async def backbones(self, ends: Sequence[int], marks: Sequence[Mark] | None = None) -> list[MemoryText]:
        """The summaries of all up to each of these messages, in order: what a person wrote of it, and what was folded
        behind that, to the furthest with what is stale. `marks` are those that hold a person's words, if known."""
        if marks is None:
            marks = await self._store.marks(self._key, self._branch.name, {MarkKind.BACKBONE})
        mark = marks[-1] if marks else None
        by_hand = [MemoryText(mark.text, Span(0, mark.position), "person", None)] if mark and mark.position >= 0 else []
        scope, start = (mark.scope, mark.position + 1) if mark else (STORY_SCOPE, 0)
        *earlier, furthest = ends
        asked = [(scope, end) for end in earlier if end >= start]
        live = await self._store.live_each(self._key, self._branch.name, Kind.BACKBONE, asked) if asked else []
        found = {text.span.last: text for one in live if (text := _text(one, start, stale=False))}
        if last := await self._furthest(Kind.BACKBONE, scope, start, furthest):
            found[last.span.last] = last
        return [*by_hand, *(found[end] for end in sorted(found))]

    async def backbone(self, through: int) -> list[MemoryText]:
        """The summary of all up to a message: what a person wrote of it, and what was folded behind that."""
        return await self.backbones([through])

    async def episodes(self, first: int, last: int) -> list[MemoryText]:
        """What happened in each span from one message to another that an update told, the oldest first; of spans told
        anew the newest."""
        path = await self._store.path(self._key, self._branch.name, first, last) if first <= last else []
        _, tiles = await updated(self._store, self._key, path)
        found = [(tile.span, tile.note) for tile in tiles if tile.note]
        return [
            MemoryText(renumber_quotes(note.made.text, note.made, span), span, note.made.made_by, note.id)
            for span, note in found
        ]

    async def newest_episodes(self, first: int, last: int) -> list[MemoryText]:
        """The same where there may be none: then only the newest messages are looked at."""
        begin = max(first, last - FIRST_LOOK + 1)
        found = await self.episodes(begin, last)
        return await self.episodes(first, last) if found and first < begin else found

    async def recap(self, current: Chapter, tail_messages: int) -> list[MemoryText]:
        """The same for the open chapter. What is stale is not wanted where all but the tail is told exactly."""
        stretch = current.last_stretch
        by_hand = []
        if current.hand_text and stretch.first > current.first:
            by_hand = [MemoryText(current.hand_text, Span(current.first, stretch.first - 1), "person", None)]
        newest = self._branch.messages - 1
        settled = newest - tail_messages
        folded = await self._furthest(Kind.RECAP, stretch.scope, stretch.first, newest, settled)
        return [*by_hand, *([folded] if folded else [])]

    async def standing(self) -> tuple[list[Mark], list[Mark]]:
        """The pins, and the marks with a person's words for the backbone."""
        marks = await self._store.marks(self._key, self._branch.name, {MarkKind.PIN, MarkKind.BACKBONE})
        pins = [mark for mark in marks if mark.kind is MarkKind.PIN]
        return pins, [mark for mark in marks if mark.kind is MarkKind.BACKBONE]

    async def _furthest(
        self, kind: Kind, scope: str, start: int, through: int, settled: int | None = None
    ) -> MemoryText | None:
        exact = await self._live(kind, scope, through)
        if exact and exact.span.last >= (through if settled is None else settled):
            return _text(exact, start, stale=False)
        stale = await self._stale(kind, scope, start, exact, through)
        return _text(stale, start, stale=True) if stale else _text(exact, start, stale=False)

    async def _live(self, kind: Kind, scope: str, through: int) -> LiveVersion | None:
        return await self._store.live(self._key, self._branch.name, kind, scope, through=through)

    async def _stale(
        self, kind: Kind, scope: str, start: int, exact: LiveVersion | None, through: int
    ) -> LiveVersion | None:
        return await stale_version(
            self._store, self._key, self._branch, kind, scope, start=start, exact=exact, through=through
        )


def _text(live: LiveVersion | None, start: int, *, stale: bool) -> MemoryText | None:
    if live is None:
        return None
    made = live.version.made
    span = Span(start, live.span.last)
    return MemoryText(
        renumber_live(live), span, made.made_by, live.version.id, stale, _cuts(span, made.carry, made.reach)
    )


def cuts_from(made: NewVersion) -> tuple[Span, ...]:
    """Return the messages that a version tells no more, by their places when it was made."""
    return _cuts(Span(max(0, made.span.last - made.reach + 1), made.span.last), made.carry, made.reach)


def _cuts(span: Span, carry: str, reach: int) -> tuple[Span, ...]:
    """Return what a version that told so many messages tells no more of those it stands for now; the last of them it
    always tells. Of a stale one it is not known where messages were put in or taken out."""
    found: list[Span] = []
    for first, last in parse_cuts(move_cuts(carry, len(span) - reach)):
        begin = max(span.first + first, found[-1].last + 1 if found else span.first)
        end = min(span.first + last, span.last - 1)
        found += [Span(begin, end)] if begin <= end else []
    return tuple(found)


async def memories_of(
    store: MemoryStore, key: StoryKey, branch: BranchInfo, rules: FoldRules, budget_tokens: int, *, episodes: bool
) -> list[Remembered]:
    """All texts that a view of that budget could show, in the order of the story; episodes only if they are wanted."""
    reading = Remembering(store, key, branch)
    # Without a backbone nothing else stands for the older chapters.
    most = min(MOST_CHAPTERS, 2 + budget_tokens // TOKENS_A_CHAPTER) if rules.backbone_words else None
    *closed, current = await reading.timeline(most)
    chapters = await reading.chapters(closed)
    pins, by_hand = await reading.standing()
    recap = await reading.recap(current, rules.recap.tail_messages)
    if recap and rules.timeline is Timeline.LIBRARIAN:
        recap[-1] = await _renewed(store, key, branch, rules, current.last_stretch, recap[-1])
    found = [Remembered(Section.PINS, mark.text, None, "pinned", "a pin") for mark in pins]
    if chapters:
        ends = [*(one.span.first - 1 for one in chapters), chapters[-1].span.last]
        backbones = await reading.backbones(ends, by_hand)
        found += [_remembered(Section.BACKBONE, "the backbone", text) for text in backbones]
    found += [_chapter(one, one.recap) for one in chapters if one.recap]
    section = Section.BRIEF if rules.timeline is Timeline.BRIEF else Section.RECAP
    found += [_remembered(section, f"the {section.value}", text) for text in recap]
    last = recap[-1].span.last if recap else current.first - 1
    if episodes and last >= 0:
        messages = min(MOST_EPISODE_MESSAGES, budget_tokens // TOKENS_A_MESSAGE)
        told = await reading.newest_episodes(max(chapters[0].span.first if chapters else 0, last - messages + 1), last)
        found += _episodes(told, chapters)
    return found


def _episodes(told: Sequence[MemoryText], chapters: Sequence[ChapterText]) -> list[Remembered]:
    """The episodes. Those of a chapter that has no text of its own yet stand for their messages."""
    untold = [one.span for one in chapters if not one.recap]
    found = []
    for text in told:
        one = _remembered(Section.EPISODES, "an episode", text)
        if not any(span.first <= text.span.first and text.span.last <= span.last for span in untold):
            one = replace(one, reason=f"{one.reason}, of {text.span}", span=None, beside=text.span)
        found.append(one)
    return found


def _chapter(one: ChapterText, text: MemoryText) -> Remembered:
    label = f"{one.name}: "
    told = _remembered(Section.CHAPTERS, f"the recap of {one.name}", text, label)
    return replace(told, short=f"{label}{one.short}" if one.short else "")


async def _renewed(
    store: MemoryStore, key: StoryKey, branch: BranchInfo, rules: FoldRules, stretch: Stretch, recap: MemoryText
) -> MemoryText:
    """A librarian's recap; if it waits to be put together anew, as it will be."""
    if recap.version is None:
        return recap
    firm = await store.live(key, branch.name, Kind.RECAP, stretch.scope, firm=True, through=recap.span.last)
    if firm and firm.version.id == recap.version:
        return recap
    found = await put_together(store, key, branch, rules, stretch, firm, recap.span.last)
    if found is None or not found.text:
        return recap
    return replace(recap, text=found.text, stale=False, cuts=_cuts(recap.span, found.carry, len(recap.span)))


def _remembered(section: Section, what: str, text: MemoryText, label: str = "") -> Remembered:
    reason = f"{section.value.removesuffix('s')}, {text.reason}"
    words = f"{label}{text.text}" if text.text else ""
    weak = section is Section.RECAP and text.made_by == BUILTIN
    by_hand = text.version is None
    return Remembered(section, words, text.span, reason, what, text.stale, by_hand=by_hand, lost=text.cuts, weak=weak)


def joined(texts: Sequence[MemoryText]) -> MemoryText | None:
    """Texts that follow one another as one; None for none."""
    if not texts:
        return None
    last = texts[-1]
    return MemoryText(
        "\n\n".join(one.text for one in texts if one.text),
        Span(texts[0].span.first, last.span.last),
        last.made_by,
        last.version,
        any(one.stale for one in texts),
        tuple(cut for one in texts for cut in one.cuts),
    )
