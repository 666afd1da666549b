"""The edits of people to memory: where chapters end, texts in place of folded ones, locks and pins.

People win: what a person writes is kept at a mark of the branch and no fold touches it; memory goes on behind it. Each
text by hand is also a version, so that the log, `diff` and `undo` know it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b

from previously.core.cast import MOST_FACTS, Fact, Knowledge, cut_line, parse_knowledge
from previously.core.digests import span_key
from previously.core.errors import BadInput
from previously.core.fold_rules import FoldRules
from previously.core.marks import STORY_SCOPE, Chapter, Mark, MarkKind
from previously.core.messages import Draft, Message, Role, Text, clean_draft
from previously.core.path import OnPath, Span, find_position
from previously.core.snapshot import Snapshot
from previously.core.versions import Kind, NewVersion, Status
from previously.folds.boundary import OPENING_MESSAGES, find_opening
from previously.folds.prompts.templates import render_message
from previously.memory.in_force import ChapterText, InForce, MemoryText, join_texts
from previously.memory.known import KnownReader, cast_scope
from previously.memory.notes import resolve_tail
from previously.runtime.clock import time_at
from previously.story.access import PERSON, StoryAccess, StoryChange

LONGEST_TITLE = 200
"""Characters: a title stands in views and prompts."""

FOLDED_ANEW = 3
"""The backbone takes in a chapter's new words if so few folds are enough; otherwise a person may `rebuild`."""

_MARK_KINDS = {Kind.RECAP: MarkKind.RECAP, Kind.CHAPTER: MarkKind.CHAPTER_RECAP, Kind.BACKBONE: MarkKind.BACKBONE}


@dataclass(frozen=True, slots=True)
class TextName:
    """A text that a person means: the recap, the backbone, or the recap of a chapter."""

    kind: Kind
    chapter: int = 0
    """The number of the chapter; 0 where it is none."""

    def __str__(self) -> str:
        return f"the recap of chapter {self.chapter}" if self.chapter else f"the {self.kind.value}"


def parse_text_name(name: str) -> TextName:
    """Return the text that `recap`, `backbone` or `chapter:N` means; `BadInput` for anything else."""
    if name in (Kind.RECAP, Kind.BACKBONE):
        return TextName(Kind(name))
    if match := re.fullmatch(r"chapter:0*([1-9][0-9]{0,8})", name):
        return TextName(Kind.CHAPTER, int(match[1]))
    raise BadInput(f"There is no text called {name!r}: say recap, backbone, or chapter:N with the chapter's number.")


@dataclass(frozen=True, slots=True)
class _Place:
    """The place of a text by hand: what it speaks for, and the marks that hold earlier words of the same."""

    scope: str
    first: int
    last: int
    marks: Sequence[Mark]
    of: int = 0
    """The origin of the mark that closes the chapter it is about."""


class MemoryEdits:
    """The hands of people on the memory of one story."""

    def __init__(self, access: StoryAccess) -> None:
        self._access = access

    async def close_chapter(self, title: str = "", at: int = -1) -> ChapterText:
        """Close the chapter with the message at `at`. A chapter that ends there already gets the title.

        >>> from previously import BlockingMemory
        >>> with BlockingMemory(":memory:") as memory:
        ...     story = memory.story("ferry")
        ...     _ = story.add("user", "The ferry sank.")
        ...     story.close_chapter("The last crossing").number
        1
        """

        def change(change: StoryChange) -> ChapterText:
            snapshot, in_force = change.snapshot, InForce(change.snapshot)
            position = find_position(snapshot.messages, at)
            words = _check_words(title.strip()) if title.strip() else ""
            if len(words) > LONGEST_TITLE:
                raise BadInput(f"A title has at most {LONGEST_TITLE} characters; this one has {len(words)}.")
            marks = snapshot.marks({MarkKind.CHAPTER}, since=position)
            there = [mark for mark in marks if mark.position == position]
            if there and not words:
                raise BadInput(f"A chapter ends with message {position} already; give a title to name it.")
            change.add_mark(
                MarkKind.CHAPTER, position, words or _find_heading(snapshot, position), instead_of=there[:1]
            )
            closed = [chapter for chapter in in_force.timeline() if chapter.last == position]
            return in_force.chapters(closed[-1:])[0]

        return await self._access.change(change)

    async def write(self, what: str, text: str) -> None:
        """Put a person's words in place of the recap, the backbone or `chapter:N`. No fold ever changes them.

        >>> from previously import BlockingMemory
        >>> with BlockingMemory(":memory:") as memory:
        ...     story = memory.story("ferry")
        ...     _ = story.add("user", "The ferry sank.")
        ...     _ = story.close_chapter("The last crossing")
        ...     story.write("chapter:1", "The ferry sank, and nobody drowned.")
        ...     story.chapters()[0].text
        'The ferry sank, and nobody drowned.'
        """
        await self._access.change(lambda change: write_text(change, what, text))

    async def write_knowledge(self, name: str, summary: str, facts: Sequence[str]) -> None:
        """Put a person's words in place of what a character knows. The next update of theirs goes on from them."""
        await self._access.change(lambda change: _write_knowledge(change, name, summary, facts))

    async def lock(self, what: str) -> None:
        """Keep a text as it stands, as if a person had written it."""

        def change(change: StoryChange) -> None:
            name = parse_text_name(what)
            text = read_text(change.snapshot, change.rules, name)
            if text is None or not text.text:
                raise BadInput(f"There is nothing to lock: {name} has no text yet.")
            write_text(change, what, text.text, flagged=text.stale)

        await self._access.change(change)

    async def unlock(self, what: str) -> None:
        """Give up what a person wrote or locked: the text is folded again."""
        await self._access.change(lambda change: unlock_text(change, what))

    async def flagged(self) -> list[str]:
        """Return the texts by hand under which messages have changed since: `recap`, `backbone`, `chapter:N`."""
        return await self._access.read(lambda moment: _list_flagged(moment.snapshot))

    async def pin(self, text: str | None = None, *, at: int = -1) -> Mark:
        """Show words in every view: these, or those of the message at `at`.

        >>> from previously import BlockingMemory
        >>> with BlockingMemory(":memory:") as memory:
        ...     story = memory.story("ferry")
        ...     _ = story.add("user", "Hello.")
        ...     story.pin("Odalys cannot swim.").text
        'Odalys cannot swim.'
        """

        def change(change: StoryChange) -> Mark:
            messages, words = change.snapshot.messages, text
            position = find_position(messages, at) if words is None or messages else -1
            if words is None:
                path = change.snapshot.path(position, position)
                words = render_message(path[0].entry.message) if path else ""
            return change.add_mark(MarkKind.PIN, position, _check_words(words))

        return await self._access.change(change)

    async def pins(self) -> list[Mark]:
        """Return what is pinned, in path order.

        >>> from previously import BlockingMemory
        >>> with BlockingMemory(":memory:") as memory:
        ...     story = memory.story("ferry")
        ...     _ = story.add("user", "Hello.")
        ...     _ = story.pin("Odalys cannot swim.")
        ...     [pin.text for pin in story.pins()]
        ['Odalys cannot swim.']
        """
        return await self._access.read(lambda moment: moment.snapshot.marks({MarkKind.PIN}))

    async def unpin(self, pin: int) -> None:
        """Show a pin no more.

        >>> from previously import BlockingMemory
        >>> with BlockingMemory(":memory:") as memory:
        ...     story = memory.story("ferry")
        ...     _ = story.add("user", "Hello.")
        ...     story.unpin(story.pin("Odalys cannot swim.").id)
        ...     story.pins()
        []
        """

        def change(change: StoryChange) -> None:
            mark = _find_pin(change.snapshot, pin)
            change.add_mark(MarkKind.UNLOCKED, mark.position, "the unpinning", instead_of=[mark])

        await self._access.change(change)

    async def reword_pin(self, pin: int, text: str) -> Mark:
        """Give a pin other words."""

        def change(change: StoryChange) -> Mark:
            mark = _find_pin(change.snapshot, pin)
            return change.add_mark(MarkKind.PIN, mark.position, _check_words(text), instead_of=[mark])

        return await self._access.change(change)

    async def dismiss(self, position: int, contradiction: str) -> None:
        """Say that a contradiction which the librarian saw at a message is none."""

        def change(change: StoryChange) -> None:
            place, words = find_position(change.snapshot.messages, position), hash_words(contradiction)
            if (place, words) not in _list_dismissed(change.snapshot):
                change.add_mark(MarkKind.DISMISSED, place, words)

        await self._access.change(change)

    async def dismissed(self) -> set[tuple[int, str]]:
        """Return the contradictions that are none: the message of each, and the hash of its words."""
        return await self._access.read(lambda moment: _list_dismissed(moment.snapshot))

    async def open_chapter(self, number: int) -> Span:
        """Let a chapter end no more where it ended: what follows is part of it. Return its messages."""

        def change(change: StoryChange) -> Span:
            *closed, _ = InForce(change.snapshot).timeline()
            chapter = _find_chapter(closed, number)
            assert chapter.last is not None and chapter.mark is not None, "it is closed"
            change.add_mark(MarkKind.KEPT_OPEN, chapter.last, instead_of=[chapter.mark])  # else it closes again
            return Span(chapter.first, chapter.last)

        return await self._access.change(change)

    async def name_chapter(self, number: int, title: str) -> ChapterText:
        """Give a closed chapter another title."""
        chapter = _find_chapter((await self._access.read(lambda it: InForce(it.snapshot).timeline()))[:-1], number)
        assert chapter.last is not None, "it is closed"
        return await self.close_chapter(title, chapter.last)


def hash_words(text: str) -> str:
    """Return what a text is known by where its words are not kept."""
    return blake2b(text.strip().encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()


def _list_dismissed(snapshot: Snapshot) -> set[tuple[int, str]]:
    return {(mark.position, mark.text) for mark in snapshot.marks({MarkKind.DISMISSED})}


def _find_pin(snapshot: Snapshot, pin: int) -> Mark:
    for mark in snapshot.marks({MarkKind.PIN}):
        if mark.id == pin:
            return mark
    raise BadInput(f"There is no pin {pin} on branch {snapshot.branch!r}; `show` lists them.")


def write_text(change: StoryChange, what: str, text: str, *, flagged: bool = False, made_by: str = PERSON) -> None:
    """Put a person's words in place of a text. They are flagged at once if they stand on what was changed since."""
    words, name = _check_words(text), parse_text_name(what)
    place = _find_place(change.snapshot, change.rules, name)
    run = change.snapshot.path(place.first, place.last)
    seen = b"" if flagged else span_key(item.entry.digest for item in run)
    kind = _MARK_KINDS[name.kind]
    change.add_mark(kind, place.last, words, seen=seen, of=place.of, instead_of=place.marks, made_by=made_by)
    versions = change.tables.versions
    versions.commit(change.key, _make_version(name.kind, place, run, words, made_by))
    if name.kind is Kind.CHAPTER:
        later = [version for _, last, version in change.snapshot.cover(Kind.BACKBONE) if last >= place.last]
        if len(later) <= FOLDED_ANEW:
            versions.loosen(change.key, later)


def check_text(snapshot: Snapshot, rules: FoldRules, what: str, text: str) -> None:
    """Raise `BadInput` where `write_text` would."""
    _check_words(text)
    _find_place(snapshot, rules, parse_text_name(what))


def unlock_text(change: StoryChange, what: str) -> None:
    """Give up what a person wrote of a text."""
    name = parse_text_name(what)
    marks = list_hand_marks(change.snapshot, name)
    if not marks:
        raise BadInput(f"Nobody wrote or locked {name}.")
    change.add_mark(MarkKind.UNLOCKED, marks[-1].position, instead_of=marks)


def list_hand_marks(snapshot: Snapshot, name: TextName) -> Sequence[Mark]:
    """Return the marks that hold a person's words for a text."""
    return _list_hand_marks(snapshot, InForce(snapshot).timeline(), name)


def read_text(snapshot: Snapshot, rules: FoldRules, name: TextName) -> MemoryText | None:
    """Return a text as it stands, what a person wrote of it included."""
    in_force = InForce(snapshot)
    *closed, current = in_force.timeline()
    if name.kind is Kind.RECAP:
        return join_texts(in_force.recap(current, resolve_tail(snapshot, rules).recap.tail_messages))
    if name.kind is Kind.BACKBONE:
        last = closed[-1].last if closed else None
        return join_texts(in_force.backbone(-1 if last is None else last))
    return in_force.chapters([_find_chapter(closed, name.chapter)])[0].recap


def _find_heading(snapshot: Snapshot, position: int) -> str:
    """Return the title that the first messages of the chapter around a message give it; empty if they give none."""
    first = max(chapter.first for chapter in InForce(snapshot).timeline() if chapter.first <= position)
    last = min(first + OPENING_MESSAGES - 1, position)
    return find_opening(snapshot.path(first, last)).title[:LONGEST_TITLE]


def _list_flagged(snapshot: Snapshot) -> list[str]:
    *closed, current = InForce(snapshot).timeline()
    by_hand = [(f"chapter:{chapter.number}", chapter.first, mark) for chapter in closed for mark in chapter.by_hand]
    by_hand += [("recap", current.first, mark) for mark in current.by_hand]
    by_hand += [("backbone", 0, mark) for mark in snapshot.marks({MarkKind.BACKBONE})]
    flagged = []
    for what, first, mark in by_hand:
        run = snapshot.path(first, mark.position)
        if mark.seen != span_key(item.entry.digest for item in run):
            flagged.append(what)
    return list(dict.fromkeys(flagged))


def _list_hand_marks(snapshot: Snapshot, chapters: Sequence[Chapter], name: TextName) -> Sequence[Mark]:
    if name.kind is Kind.BACKBONE:
        return snapshot.marks({MarkKind.BACKBONE})
    return (chapters[-1] if name.kind is Kind.RECAP else _find_chapter(chapters[:-1], name.chapter)).by_hand


def _find_place(snapshot: Snapshot, rules: FoldRules, name: TextName) -> _Place:
    """Return where a person's words for a text stand."""
    in_force = InForce(snapshot)
    chapters = in_force.timeline()
    marks = _list_hand_marks(snapshot, chapters, name)
    *closed, current = chapters
    if name.kind is Kind.RECAP:
        tail = resolve_tail(snapshot, rules).recap.tail_messages
        recap = in_force.recap(current, tail)
        last = recap[-1].span.last if recap else snapshot.messages - tail - 1
        if last < current.first:
            raise BadInput(
                f"This chapter has no message outside the newest {tail} yet, which every view shows as they are; "
                "pin what should be kept in mind."
            )
        return _Place(current.scope, current.first, last, marks)
    if name.kind is Kind.CHAPTER:
        chapter = _find_chapter(closed, name.chapter)
        assert chapter.last is not None and chapter.mark is not None, "it is closed"
        return _Place(chapter.scope, chapter.first, chapter.last, marks, chapter.mark.origin)
    if not closed or closed[-1].last is None:
        raise BadInput("There is no backbone before the first chapter is closed.")
    backbone = in_force.backbone(closed[-1].last)
    reached = backbone[-1].span.last if backbone else -1
    return _Place(STORY_SCOPE, 0, reached if reached in [one.last for one in closed] else closed[-1].last, marks)


def _write_knowledge(change: StoryChange, name: str, summary: str, facts: Sequence[str]) -> None:
    """Keep what a person says that a character knows: as a link of its own behind what was known, or in place of it."""
    snapshot = change.snapshot
    presence = KnownReader().read_presence(snapshot, change.rules)
    if not presence.has(name):
        raise BadInput(f"Nobody has heard of {name!r} in this story.")
    scope, end = cast_scope(name, presence), snapshot.messages - 1
    live = snapshot.live(Kind.CAST, scope)
    before, first = (live.version.id, live.span.last + 1) if live else (None, 0)
    replaced = None
    if live and live.span.last == end:
        before, first, replaced = live.version.made.before, live.span.first, live.version.id
    earlier = snapshot.version(before) if before else None
    known = {fact.text: fact for fact in parse_knowledge(live.version.made.text).facts} if live else {}
    lines = [cut_line(fact) for fact in facts if fact.strip()]
    if len(lines) > MOST_FACTS:
        raise BadInput(f"A character keeps at most {MOST_FACTS} facts; these are {len(lines)}.")
    told = Knowledge(" ".join(summary.split()), tuple(known.get(line) or Fact(line, end) for line in lines))
    run = snapshot.path(first, end)
    change.tables.versions.commit(
        change.key,
        NewVersion(
            kind=Kind.CAST,
            scope=scope,
            span=Span(first, end),
            key=span_key(item.entry.digest for item in run),
            before=before,
            text=json.dumps(told.as_json(), ensure_ascii=False),
            carry=presence.digest(name, end),
            status=Status.COMMITTED,
            made_by=PERSON,
            reason="written by a person",
            at=time_at(),
            replaces=replaced,
            anchor=run[-1].node,
            reach=len(run) + (earlier.made.reach if earlier else 0),
        ),
    )


def _find_chapter(closed: Sequence[Chapter], number: int) -> Chapter:
    for chapter in closed:
        if chapter.number == number:
            return chapter
    raise BadInput(f"There is no closed chapter {number}; there are {len(closed)}.")


def _make_version(kind: Kind, place: _Place, run: Sequence[OnPath], text: str, made_by: str) -> NewVersion:
    """Return what the log keeps of a person's words."""
    return NewVersion(
        kind=kind,
        scope=place.scope,
        span=Span(place.first, place.last),
        key=span_key(item.entry.digest for item in run),
        before=None,
        text=text,
        carry="",
        status=Status.BY_HAND,
        made_by=made_by,
        reason="written by a person" if made_by == PERSON else "came with a file",
        at=time_at(),
        anchor=run[-1].node,
        reach=len(run),
    )


def _check_words(text: str) -> str:
    """Return a person's words as they can be stored; `BadInput` when there are none."""
    if not text.strip():
        raise BadInput("There are no words to keep.")
    return clean_draft(Draft(Message(Role.USER, (Text(text),))))[0].message.text
