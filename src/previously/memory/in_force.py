"""The texts in force on a branch: who wrote each, and which messages it stands for.

A person's text stands before any other. Only as many chapters and episodes are read as are asked for, so that a look
costs the same however many there are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from previously.core.marks import STORY_SCOPE, Chapter, Mark, MarkKind, find_chapters
from previously.core.path import Span
from previously.core.snapshot import Snapshot
from previously.core.versions import Kind, LiveVersion, NewVersion
from previously.folds.builtin.quotes import renumber_live, renumber_quotes
from previously.folds.chapter import parse_short
from previously.folds.summary import move_cuts, parse_cuts
from previously.memory.notes import find_stale, find_updates

TIMELINE = frozenset({MarkKind.CHAPTER, MarkKind.RECAP, MarkKind.CHAPTER_RECAP})
"""The marks that chapters are made of."""

FIRST_LOOK = 192
"""Messages in which the first episode is looked for: three of the longest spans that a fold takes in."""


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
        """Return why it is in a view, in words."""
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
        """Return its recap; empty as long as it has none."""
        return self.recap.text if self.recap else ""

    @property
    def name(self) -> str:
        return f"Chapter {self.number}, {self.title}" if self.title else f"Chapter {self.number}"


class InForce:
    """Reads the texts in force on one branch."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot

    def timeline(self, most: int | None = None) -> list[Chapter]:
        """Return the chapters, the open one last; with `most`, so many of the closed ones, the newest."""
        opening, before = None, 0
        if most is not None:
            opening, before = self._snapshot.newest_mark(MarkKind.CHAPTER, most)
        marks = self._snapshot.marks(TIMELINE, since=opening.position if opening else -1)
        while opening and marks[0].id != opening.id:
            marks = marks[1:]  # what stands at the same message and belongs to earlier chapters
        return find_chapters(marks, after=before)

    def chapters(self, closed: Sequence[Chapter]) -> list[ChapterText]:
        asked = [(chapter.last_stretch.scope, chapter.last) for chapter in closed if chapter.last is not None]
        fulls = self._snapshot.live_each(Kind.CHAPTER, asked) if asked else []
        shorts = self._snapshot.live_each(Kind.SHORT, asked) if asked else []
        return [
            self._with_short(self._with_recap(chapter, full), chapter, short)
            for chapter, full, short in zip(closed, fulls, shorts, strict=True)
        ]

    def _with_short(self, text: ChapterText, chapter: Chapter, live: LiveVersion | None) -> ChapterText:
        """Return a chapter with its short form and the title that came with it, unless a person wrote either. A stale
        one stands beside a full form that is stale too."""
        if chapter.hand_text or chapter.rest is None:
            return text
        if (live is None or live.span != chapter.rest) and text.recap and text.recap.stale:
            scope, rest = chapter.last_stretch.scope, chapter.rest
            live = find_stale(self._snapshot, Kind.SHORT, scope, start=rest.first, exact=None, through=rest.last)
        if live is None or live.span != chapter.rest:
            return text
        title, short = parse_short(live.version.made.text)
        return replace(text, title=text.title or title, short=short)

    def _with_recap(self, chapter: Chapter, live: LiveVersion | None) -> ChapterText:
        assert chapter.last is not None, "an open chapter has no recap for good"
        span = Span(chapter.first, chapter.last)
        if chapter.hand_text:
            by_hand = MemoryText(chapter.hand_text, span, chapter.by_hand[-1].made_by, None)
            return ChapterText(chapter.number, chapter.title, span, by_hand)
        rest, texts = chapter.rest, list[MemoryText]()
        if chapter.block_text:
            last = rest.first - 1 if rest else chapter.last
            before = Span(chapter.first, max(chapter.first, last))
            texts.append(MemoryText(chapter.block_text, before, "person", None))
        if rest:
            stale = live is None or live.span != rest
            if stale:
                scope = chapter.last_stretch.scope
                live = find_stale(self._snapshot, Kind.CHAPTER, scope, start=rest.first, exact=None, through=rest.last)
                live = live if live and live.span == rest else None
            text = _text_of(live, rest.first, stale=stale)
            if text is None:
                return ChapterText(chapter.number, chapter.title, span, None)
            texts.append(text)
        return ChapterText(chapter.number, chapter.title, span, join_texts(texts))

    def backbones(self, ends: Sequence[int], marks: Sequence[Mark] | None = None) -> list[MemoryText]:
        """Return the summaries of all up to each of these messages, in order: what a person wrote of it, and what was
        folded behind that, to the furthest with what is stale. `marks` are those that hold a person's words, if
        known."""
        if marks is None:
            marks = self._snapshot.marks({MarkKind.BACKBONE})
        mark = marks[-1] if marks else None
        by_hand = [MemoryText(mark.text, Span(0, mark.position), "person", None)] if mark and mark.position >= 0 else []
        scope, start = (mark.scope, mark.position + 1) if mark else (STORY_SCOPE, 0)
        *earlier, furthest = ends
        asked = [(scope, end) for end in earlier if end >= start]
        live = self._snapshot.live_each(Kind.BACKBONE, asked) if asked else []
        texts = {text.span.last: text for version in live if (text := _text_of(version, start, stale=False))}
        if last := self._furthest(Kind.BACKBONE, scope, start, furthest):
            texts[last.span.last] = last
        return [*by_hand, *(texts[end] for end in sorted(texts))]

    def backbone(self, through: int) -> list[MemoryText]:
        """Return the summary of all up to a message: what a person wrote of it, and what was folded behind that."""
        return self.backbones([through])

    def episodes(self, first: int, last: int) -> list[MemoryText]:
        """Return what happened in each span from one message to another that an update told, the oldest first; of spans
        told anew the newest."""
        path = self._snapshot.path(first, last) if first <= last else []
        _, tiles = find_updates(self._snapshot, path)
        noted = [(tile.span, tile.note) for tile in tiles if tile.note]
        return [
            MemoryText(renumber_quotes(note.made.text, note.made, span), span, note.made.made_by, note.id)
            for span, note in noted
        ]

    def newest_episodes(self, first: int, last: int) -> list[MemoryText]:
        """Return the same where there may be none: then only the newest messages are looked at."""
        begin = max(first, last - FIRST_LOOK + 1)
        newest = self.episodes(begin, last)
        return self.episodes(first, last) if newest and first < begin else newest

    def recap(self, current: Chapter, tail_messages: int) -> list[MemoryText]:
        """Return the summary of the open chapter: what a person wrote, and what was folded behind it. What is stale is
        not wanted where all but the tail is told exactly."""
        stretch = current.last_stretch
        by_hand = []
        if current.hand_text and stretch.first > current.first:
            by_hand = [MemoryText(current.hand_text, Span(current.first, stretch.first - 1), "person", None)]
        newest = self._snapshot.messages - 1
        folded = self._furthest(Kind.RECAP, stretch.scope, stretch.first, newest, newest - tail_messages)
        return [*by_hand, *([folded] if folded else [])]

    def standing_marks(self) -> tuple[list[Mark], list[Mark]]:
        """Return the pins, and the marks with a person's words for the backbone."""
        marks = self._snapshot.marks({MarkKind.PIN, MarkKind.BACKBONE})
        pins = [mark for mark in marks if mark.kind is MarkKind.PIN]
        return pins, [mark for mark in marks if mark.kind is MarkKind.BACKBONE]

    def _furthest(
        self, kind: Kind, scope: str, start: int, through: int, settled: int | None = None
    ) -> MemoryText | None:
        exact = self._snapshot.live(kind, scope, through=through)
        if exact and exact.span.last >= (through if settled is None else settled):
            return _text_of(exact, start, stale=False)
        stale = find_stale(self._snapshot, kind, scope, start=start, exact=exact, through=through)
        return _text_of(stale, start, stale=True) if stale else _text_of(exact, start, stale=False)


def _text_of(live: LiveVersion | None, start: int, *, stale: bool) -> MemoryText | None:
    if live is None:
        return None
    made = live.version.made
    span = Span(start, live.span.last)
    return MemoryText(
        renumber_live(live), span, made.made_by, live.version.id, stale, find_cuts(span, made.carry, made.reach)
    )


def cuts_from(made: NewVersion) -> tuple[Span, ...]:
    """Return the messages that a version tells no more, by their places when it was made."""
    return find_cuts(Span(max(0, made.span.last - made.reach + 1), made.span.last), made.carry, made.reach)


def find_cuts(span: Span, carry: str, reach: int) -> tuple[Span, ...]:
    """Return what a version that told so many messages tells no more of those it stands for now; the last of them it
    always tells. Of a stale one it is not known where messages were put in or taken out."""
    cuts: list[Span] = []
    for first, last in parse_cuts(move_cuts(carry, len(span) - reach)):
        begin = max(span.first + first, cuts[-1].last + 1 if cuts else span.first)
        end = min(span.first + last, span.last - 1)
        cuts += [Span(begin, end)] if begin <= end else []
    return tuple(cuts)


def join_texts(texts: Sequence[MemoryText]) -> MemoryText | None:
    """Return texts that follow one another as one; None for none."""
    if not texts:
        return None
    last = texts[-1]
    return MemoryText(
        "\n\n".join(text.text for text in texts if text.text),
        Span(texts[0].span.first, last.span.last),
        last.made_by,
        last.version,
        any(text.stale for text in texts),
        tuple(cut for text in texts for cut in text.cuts),
    )
