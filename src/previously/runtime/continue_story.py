"""Continuing a story: a new one that begins with the memory of an old one.

Nothing is copied but settings and the list of attached books. The old story is given a branch that ends where the new
one begins; its chapter is closed there, so that all of it is folded; and the new story has a mark that names it.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from itertools import count
from typing import TYPE_CHECKING
from uuid import uuid4

from previously.core.continuation import LINK, Continuation, name_link_branch, parse_continuation
from previously.core.deed import PERSON, Deed, DeedKind
from previously.core.errors import BadInput, UnknownStory
from previously.core.exact_names import check_new_name
from previously.core.marks import Mark, MarkKind
from previously.core.path import find_position
from previously.runtime.clock import time_at
from previously.runtime.note_deed import add_deed
from previously.runtime.writer import MemoryWriter
from previously.storage.store import Store, StoryInfo, StoryKey
from previously.storage.tables import Tables

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from previously.core.fold_rules import FoldRules
    from previously.runtime.fold_report import FoldReport
    from previously.settings import Layer

CONTINUED = "another story goes on from here"
"""The reason why the chapter of the old story ends."""


@dataclass(frozen=True, slots=True)
class Continued:
    """A story that was continued."""

    story: str
    """The new story."""
    earlier: str
    branch: str
    """The branch of the earlier story that ends where the new one begins."""
    messages: int
    """Messages of the earlier story that the new one remembers."""
    folds: FoldReport | None
    """The folds that were made of them now; None if none were to be."""


class Continuations:
    """The stories of one owner, as far as they continue one another."""

    _store: Store
    _owner: str
    _writer: MemoryWriter
    _layers: Sequence[Layer]

    async def continue_story(
        self,
        story: str,
        new: str,
        *,
        at: int | None = None,
        branch: str | None = None,
        fold: bool = True,
        begun: bool = False,
    ) -> Continued:
        """Begin a new story with the memory of another, up to and including position `at` of a branch (all of the
        active one if nothing is said). What is not folded of it is folded now, unless `fold` is False. With `begun`,
        `new` may have begun already, as long as it continues no story.

        >>> from previously import BlockingMemory
        >>> with BlockingMemory(":memory:") as memory:
        ...     _ = memory.story("ferry").add("user", "Odalys hid the ledger under the stair.", name="Wren")
        ...     continued = memory.continue_story("ferry", "winter")
        ...     view = memory.story("winter").view(1_000)
        >>> continued.messages, [item.section.value for item in view.items], "ledger" in view.messages[0].text
        (1, ['earlier'], True)
        """
        check_new_name("A story", new)
        info = await self._store.read(self._owner, lambda tables: self._check(tables, story, new, begun=begun))

        def claim(tables: Tables) -> tuple[Continuation, str, StoryInfo]:
            self._check(tables, story, new, begun=begun)  # others may have been faster
            return *_link(tables, info, new, branch, at), tables.stories.create(self._owner, new, time_at())

        link, link_branch, target = await self._store.write(info.key, claim)
        await self._store.write(target.key, lambda tables: _begin(tables, info.key, target, link))
        report = await self._close(info.key, link_branch, fold=fold)
        return Continued(new, info.name, link_branch, link.messages, report)

    def _check(self, tables: Tables, story: str, new: str, *, begun: bool) -> StoryInfo:
        info = tables.stories.named(self._owner, story)
        if info is None:
            raise UnknownStory(story)
        if new == story:
            raise BadInput("A story cannot continue itself; give the new one another name.")
        target = tables.stories.named(self._owner, new)
        if target is None:
            return info
        if not begun:
            raise BadInput(f"There is a story named {new!r} already.")
        passed: StoryInfo | None = info
        _check_free(tables, target)
        while passed is not None:
            if passed.key == target.key:
                raise BadInput(f"{story!r} continues {new!r} itself.")
            marks = tables.snapshot(passed.key).marks({MarkKind.CONTINUES})
            link = parse_continuation(marks[-1].text) if marks else None
            passed = tables.stories.known_by(self._owner, LINK, link.link) if link else None
        return info

    async def _close(self, key: StoryKey, branch: str, *, fold: bool) -> FoldReport | None:
        """Close the last chapter of the branch where it ends, so that no message of it stays unfolded, and fold it."""
        from previously.core.fold_rules import Timeline  # not for who lists stories
        from previously.runtime.story_settings import StorySettings

        own = await self._store.read(self._owner, lambda tables: tables.stories.kept(key, "settings"))
        rules = StorySettings(self._layers, own).in_force.fold_rules
        if rules.timeline is not Timeline.BRIEF:
            await self._store.write(key, lambda tables: _close_chapter(tables, key, branch))
        return await fold_link(self._store, key, branch, self._writer, rules) if fold else None


async def fold_link(store: Store, key: StoryKey, branch: str, writer: MemoryWriter, rules: FoldRules) -> FoldReport:
    """Fold all of a branch that another story goes on from: it has no tail, since nothing comes after it."""
    from previously.core.fold_rules import Timeline
    from previously.runtime.fold_loop import fold

    if rules.timeline is Timeline.BRIEF:  # it has no chapters: all of it goes into the brief
        all_of_it = replace(rules.recap, tail_messages=0, due_messages=1, chosen=True)
        rules = replace(rules, tail_turns=0, recap=all_of_it)
    return await fold(store, key, writer, rules, pressed=_is_pressed, branch=branch)


async def _is_pressed() -> bool:
    return True


def _link(tables: Tables, info: StoryInfo, new: str, branch: str | None, at: int | None) -> tuple[Continuation, str]:
    """Give a story the branch that another goes on from, and the word it is found by; return both."""
    source = tables.branch(info.key, branch)
    if not source.messages:
        raise BadInput(f"{info.name!r} has no messages yet: there is nothing to continue.")
    length = source.messages if at is None else find_position(source.messages, at) + 1
    names = [other.name for other in tables.stories.branches(info.key)]
    free = next(name for name in _number(name_link_branch(new)) if name not in names)
    tables.writer.fork(info.key, source, free, length, time_at())
    add_deed(tables, info.key, Deed(DeedKind.CONTINUED, what=new))
    return Continuation(info.name, find_link(tables, info.key), len(names), length), free


def find_link(tables: Tables, key: StoryKey) -> str:
    """Return the word by which other stories, and facts kept from it, know a story; one is drawn if it has none."""
    from previously.recognition.choose_story import parse_header

    header = parse_header(tables.stories.kept(key, "header"))
    word = str(header.get(LINK) or uuid4().hex)
    if LINK not in header:
        tables.stories.keep(key, "header", json.dumps({**header, LINK: word}, ensure_ascii=False))
    return word


def _close_chapter(tables: Tables, key: StoryKey, branch: str) -> None:
    row = tables.branch(key, branch)
    if not tables.snapshot(key, branch).marks({MarkKind.CHAPTER}, since=row.messages - 1):
        mark = Mark(0, 0, MarkKind.CHAPTER, row.messages - 1, "", CONTINUED, time_at())
        tables.marks.add(key, row, mark, ())


def _check_free(tables: Tables, target: StoryInfo) -> None:
    if tables.snapshot(target.key).marks({MarkKind.CONTINUES}):
        raise BadInput(f"{target.name!r} continues a story already; `previously undo {target.name}` takes that back.")


def _begin(tables: Tables, earlier: StoryKey, target: StoryInfo, link: Continuation) -> None:
    """Give the new story its link, and what is the same for both: settings of its own, and books."""
    _check_free(tables, target)
    if target.active.messages == 0:
        tables.stories.keep(target.key, "settings", tables.stories.kept(earlier, "settings"))
    for book in tables.books.attached(earlier):
        tables.books.attach(target.key, book)
    mark = Mark(0, 0, MarkKind.CONTINUES, -1, link.render(), PERSON, time_at())
    tables.marks.add(target.key, tables.branch(target.key, None), mark, ())


def _number(name: str) -> Iterator[str]:
    return (name if number == 1 else f"{name} ({number})" for number in count(1))
