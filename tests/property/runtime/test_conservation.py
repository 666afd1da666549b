"""The laws that hold over every history: what no sequence of adds, edits, deletes, hides, swipes, branches, switches,
folds and budgets may break. The same steps run on every store, and every answer must be the same.

- **Conservation**: every message of the path is verbatim in the view, or covered by live memory (or both, where free
  room is filled with older messages), or else listed as left out with a reason; and one outside the tail that is left
  out for budget makes a fold due. No two memories of a view cover
  the same message.
- **Path and cover** equal their definitions.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from previously import (
    Attributes,
    BadInput,
    BlockingMemory,
    BudgetTooSmall,
    Draft,
    Message,
    ScriptedModel,
    Settings,
    message,
)
from previously.blocking import BlockingStory
from previously.core.cover import Link, place
from previously.core.digests import ROOT_HASH, node_hash
from previously.core.marks import Mark, MarkKind, find_starts
from previously.core.messages import Image, Role, Text, Thinking, ToolCall, ToolResult
from previously.core.model_io import FailureKind, ModelFailure, ModelReply, ModelRequest, Usage
from previously.core.path import OnPath
from previously.core.versions import IN_FORCE, Kind, Status
from previously.folds.amend import AMENDED
from previously.folds.update import UPDATED
from previously.runtime import model_writer
from previously.runtime.fold_versions import KEPT
from previously.storage.store import NO_NODE
from previously.storage.tables import Tables
from previously.story import views
from previously.story.story import Story
from previously.testing.model import Scripted
from previously.view.view import Reason, Section, View
from tests.effort import cases
from tests.end_to_end.runtime.turn_memory import remove_turn_memory
from tests.end_to_end.runtime.update_answers import answer, asked_for, is_update

RULES = Settings(
    window_tokens=256,
    tail_messages=3,
    fold_messages=6,
    fold_words=120,
    fold_tokens=160,
    recap_words=40,
    chapter_messages=15,
    chapter_words=15,
    backbone_words=40,
)

WORDS = st.sampled_from(
    [
        "ok",
        "Maya promised to pay 40 crowns.",
        "Joaquin hid the key in the mill.",
        "Where is Odalys?",
        "雨が降る。",
        "*nods*",
    ]
)
TEXTS = st.lists(WORDS, min_size=1, max_size=6).map(" ".join)
POSITIONS = st.integers(min_value=0, max_value=10_000)
ODD_DRAFTS = st.builds(
    Draft,
    st.one_of(
        TEXTS.map(lambda text: message("system", text)),
        st.sampled_from(["", " ", "...", "(OOC: brb)", "QUJD" * 60, "🌧️🌧️"]).map(lambda text: message("user", text)),
        st.just(Message(Role.USER, (Image("data:,x"),))),
        st.just(Message(Role.ASSISTANT, (Thinking("hm"), Text("Yes.")))),
        st.sampled_from("ab").map(lambda call: Message(Role.ASSISTANT, (ToolCall(call, "look", "{}"),))),
        st.sampled_from("ab").map(lambda call: Message(Role.TOOL, (ToolResult(call, "A mill."),))),
    ),
    st.builds(Attributes, hidden=st.booleans()),
)
"""What is not just words: instructions, nothing, pictures, thoughts, calls and results, hidden or not."""


async def read_branch(
    story: Story, name: str, messages: int
) -> tuple[list[OnPath], list[Mark], list[tuple[int, int, int]]]:
    """Return the path, the marks and the cover of a branch."""
    key = story._access.key

    def read(tables: Tables) -> tuple[list[OnPath], list[Mark], list[tuple[int, int, int]]]:
        snapshot = tables.snapshot(key, name)
        return snapshot.path(0, messages), snapshot.marks(), snapshot.cover()

    return await story._access.store.read(key.owner, read)


class Histories(RuleBasedStateMachine):
    """One story on two stores, and a plain list per branch that says what must be there."""

    @initialize()
    def open(self) -> None:
        self.folder = tempfile.TemporaryDirectory()
        places = [":memory:", str(Path(self.folder.name) / "stories.db")]
        self.marks = patch.object(views, "choice", lambda letters: letters[0])  # else the views of both stores differ
        self.marks.start()
        self.memories = [self.opened(place) for place in places]
        self.stories = [memory.story("tale") for memory in self.memories]
        self.branches: dict[str, list[tuple[str, bool]]] = {"main": []}
        self.active = "main"

    def opened(self, place: str) -> BlockingMemory:
        return BlockingMemory(place, settings=RULES)

    def teardown(self) -> None:
        if hasattr(self, "marks"):
            self.marks.stop()
        if hasattr(self, "memories"):
            try:
                assert self.memories[1].verify().faults == (), "all that was derived on the way is as if derived anew"
            finally:
                for memory in self.memories:
                    memory.close()
                self.folder.cleanup()

    def both(self, act: Callable[[BlockingStory], Any]) -> Any:
        """Do the same on every store; the answers must agree."""
        first, second = (act(story) for story in self.stories)
        assert first == second
        return first

    @property
    def path(self) -> list[tuple[str, bool]]:
        return self.branches[self.active]

    def has_messages(self) -> bool:
        return bool(self.path)

    @rule(text=TEXTS, role=st.sampled_from(["user", "assistant"]), name=st.sampled_from([None, "Maya", "Joaquin"]))
    def add(self, text: str, role: str, name: str | None) -> None:
        self.both(lambda story: story.add(role, text, name=name).messages)
        self.path.append((text, False))

    @rule(texts=st.lists(TEXTS, min_size=5, max_size=20))
    def add_many(self, texts: list[str]) -> None:
        for text in texts:
            self.add(text, "user", "Maya")

    @rule(drafts=st.lists(ODD_DRAFTS, min_size=1, max_size=8))
    def add_odd_ones(self, drafts: list[Draft]) -> None:
        self.both(lambda story: story.add_drafts(drafts).messages)
        self.path.extend((draft.message.text, draft.attributes.hidden) for draft in drafts)

    @precondition(has_messages)
    @rule(position=POSITIONS, kind=st.sampled_from(MarkKind))
    def mark(self, position: int, kind: MarkKind) -> None:
        at = position % len(self.path)
        for memory, front in zip(self.memories, self.stories, strict=True):
            story = front._inner
            memory._runner.run(story._access.change(lambda change: change.add_mark(kind, at, "x")))

    @precondition(has_messages)
    @rule(position=POSITIONS)
    def close_chapter(self, position: int) -> None:
        self.both(lambda story: story.close_chapter("Slate", position % len(self.path)))

    @rule(what=st.sampled_from(["recap", "backbone", "chapter:1", "chapter:2"]), text=TEXTS)
    def write(self, what: str, text: str) -> None:
        self.both(lambda story: tried(lambda: story.write(what, text)))

    @rule(what=st.sampled_from(["recap", "backbone", "chapter:1", "chapter:2"]), locking=st.booleans())
    def lock_or_unlock(self, what: str, locking: bool) -> None:
        self.both(lambda story: tried(lambda: story.lock(what) if locking else story.unlock(what)))

    @rule()
    def take_back(self) -> None:
        self.both(lambda story: tried(lambda: story.take_back().made.text))

    @rule()
    def undo(self) -> None:
        """Take back what was done last, whatever it was: what each branch then shows is read back, since a switch, an
        edit, hiding and a choice are all deeds."""
        self.both(lambda story: tried(story.undo))
        self.active = self.both(lambda story: story.branch_info().name)
        assert set(self.branches) == set(self.both(lambda story: [branch.name for branch in story.branches()]))
        for name in self.branches:
            self.branches[name] = [
                (item.entry.message.text, item.entry.attributes.hidden) for item in self.read_path(name)
            ]

    def read_path(self, name: str) -> list[OnPath]:
        """Return the path of a branch without switching to it, which would be a deed."""
        first, second = (
            memory._runner.run(read_branch(front._inner, name, 1_000_000))[0]
            for memory, front in zip(self.memories, self.stories, strict=True)
        )
        assert [item.entry.digest for item in first] == [item.entry.digest for item in second]
        return first

    @rule(version=st.integers(1, 40))
    def restore(self, version: int) -> None:
        self.both(lambda story: tried(lambda: story.restore(version).made.text))

    @rule()
    def rebuild(self) -> None:
        self.both(lambda story: story.rebuild().folds)

    @precondition(has_messages)
    @rule(position=POSITIONS, text=TEXTS)
    def edit(self, position: int, text: str) -> None:
        at = position % len(self.path)
        self.both(lambda story: story.edit(at, text).messages)
        self.path[at] = (text, self.path[at][1])

    @precondition(has_messages)
    @rule(position=POSITIONS, text=TEXTS)
    def insert(self, position: int, text: str) -> None:
        at = position % len(self.path)
        self.both(lambda story: story.insert(at, "user", text).messages)
        self.path.insert(at, (text, False))

    @precondition(has_messages)
    @rule(position=POSITIONS)
    def delete(self, position: int) -> None:
        at = position % len(self.path)
        self.both(lambda story: story.delete(at).messages)
        del self.path[at]

    @precondition(has_messages)
    @rule(position=POSITIONS, hidden=st.booleans())
    def hide(self, position: int, hidden: bool) -> None:
        at = position % len(self.path)
        self.both(lambda story: story.hide(at, hidden=hidden).messages)
        # An entry that several branches hold is hidden on all of them: read back what each shows.
        for name in self.branches:
            self.both(lambda story, name=name: story.switch(name).messages)  # type: ignore[misc]
            shown = self.both(lambda story: [item.entry.attributes.hidden for item in story.messages()])
            self.branches[name] = [(text, flag) for (text, _), flag in zip(self.branches[name], shown, strict=True)]
        self.both(lambda story: story.switch(self.active).messages)
        assert self.path[at][1] is hidden

    @precondition(has_messages)
    @rule(text=TEXTS)
    def regenerate(self, text: str) -> None:
        self.both(lambda story: story.regenerate(text).messages)
        self.path[-1] = (text, self.path[-1][1])

    @precondition(has_messages)
    @rule(number=POSITIONS)
    def choose_a_swipe(self, number: int) -> None:
        count = self.both(lambda story: len(story.swipes()))
        chosen = number % count
        self.both(lambda story: story.choose(chosen).messages)
        entry = self.stories[0].messages(-1)[0].entry
        self.path[-1] = (entry.message.text, entry.attributes.hidden)

    @precondition(lambda self: self.path and len(self.branches) < 5)
    @rule(position=POSITIONS)
    def branch(self, position: int) -> None:
        at = position % len(self.path)
        name = f"branch {len(self.branches)}"
        self.both(lambda story: story.branch(name, at).messages)
        self.branches[name] = self.path[: at + 1]

    @rule(number=POSITIONS)
    def switch(self, number: int) -> None:
        self.active = sorted(self.branches)[number % len(self.branches)]
        self.both(lambda story: story.switch(self.active).messages)

    @rule(once=st.booleans())
    def fold(self, once: bool) -> None:
        report = self.both(lambda story: story.fold(once=once))
        tail = max(len(self.path) - RULES.tail_messages, 0)
        closed = max((one.span.last for one in self.stories[0].chapters()), default=-1)
        # A scene that a person ended is noted wherever it ends, and a librarian analyses every fragment.
        noted = (Kind.SCENE, Kind.ANALYSIS)
        open_ones = [one for one in report.folds if one.span.last > closed and one.kind not in noted]
        assert all(fold.span.last < tail for fold in open_ones), (
            "the tail is not folded before a chapter closes with it"
        )
        if not once:
            self.comes_to_rest()

    def comes_to_rest(self) -> None:
        assert self.both(lambda story: story.fold().folds) == (), "folding twice in a row does nothing"

    @rule(budget=st.integers(min_value=60, max_value=900))
    def view(self, budget: int) -> None:
        try:
            view = self.both(lambda story: story.view(budget))
        except BudgetTooSmall as error:
            assert error.needed_tokens > budget
            return
        self.conserved(view)
        waits = self.both(lambda story: [one.id for one in story.pending()])
        if view.fold_due and not waits:  # what waits for a person is not made a second time
            assert self.both(lambda story: story.plan().folds), "a message left out for budget makes a fold due"
            self.both(lambda story: story.fold().folds)
            again = self.both(lambda story: story.view(budget))
            self.conserved(again)
            assert not again.fold_due or self.both(lambda story: len(story.pending()))

    def conserved(self, view: View) -> None:
        assert view.tokens <= view.budget_tokens
        assert view.tokens == sum(item.tokens for item in view.items)
        found: dict[Section, list[int]] = {section: [] for section in Section}
        for item in view.items:
            found[item.section] += [position for span in item.sources for position in _all(span)]
        told = found[Section.BACKBONE] + found[Section.CHAPTERS] + found[Section.RECAP]
        assert len(told) == len(set(told)), "nothing is told of twice"
        # Where a recap waits for a person, the episode that came with it tells of its messages alone.
        covered = {*told, *found[Section.EPISODES]}
        opening, verbatim = set(found[Section.SYSTEM]), set(found[Section.TAIL])
        listed = {position: out.reason for out in view.left_out if out.span for position in _all(out.span)}
        for position, (_, hidden) in enumerate(self.path):
            places = [position in place for place in (opening, covered, verbatim, listed)]
            assert any(places[:3]) != (position in listed), f"position {position} is in {places}"
            if hidden and position not in covered | opening:
                assert listed[position] in (Reason.HIDDEN, Reason.BUDGET, Reason.WAITING)
            assert not (position in verbatim and hidden)
        has_system = any(item.tokens for item in view.items if item.section not in (Section.TAIL, Section.RECALL))
        shown = [remove_turn_memory(message.text) for message in view.messages[int(has_system) :]]
        assert shown == [self.path[position][0] for position in sorted(verbatim)]
        first_verbatim = min(verbatim, default=len(self.path))
        for position, reason in listed.items():
            if reason is Reason.BUDGET and not self.path[position][1]:
                assert position < first_verbatim, "what is cut is older than what is shown"

    @invariant()
    def paths_equal_their_definition(self) -> None:
        if not hasattr(self, "stories"):
            return
        for story in self.stories:
            info = story.branch_info()
            path = story.messages()
            assert info.name == self.active
            assert [item.entry.message.text for item in path] == [text for text, _ in self.path]
            assert [item.position for item in path] == list(range(len(path)))
            assert info.head == (path[-1].node if path else NO_NODE)
            expected = ROOT_HASH
            for item in path:
                expected = node_hash(expected, item.entry.digest)
                assert item.hash == expected

    @invariant()
    def covers_equal_their_definition(self) -> None:
        if not hasattr(self, "memories"):
            return
        marks_by_store: dict[str, list[list[tuple[MarkKind, int]]]] = {}
        for memory, front in zip(self.memories, self.stories, strict=True):
            story = front._inner
            for name, path in self.branches.items():
                items, marks, stored = memory._runner.run(read_branch(story, name, len(path)))
                digests = [item.entry.digest for item in items]
                versions = [version for version in front.log() if version.made.status in IN_FORCE]

                def after(before: int | str, versions: list[Any] = versions) -> list[Link]:
                    return [version.link for version in versions if version.link.before == before]

                marks_by_store.setdefault(name, []).append([(mark.kind, mark.position) for mark in marks])
                defined = place(
                    after,
                    len(digests),
                    lambda first, last, d=digests: d[first : last + 1],  # type: ignore[misc]
                    after=find_starts(marks).items(),
                )
                rows = sorted((cover.span.last, cover.version, cover.span.first) for cover in defined)
                assert [(last, version, first) for first, last, version in stored] == rows
        assert all(one == other for one, other in marks_by_store.values())


MANNERS: dict[str, Callable[[ModelRequest], Scripted]] = {}
"""What a model may do with a question, by name."""


def manner(name: str) -> Callable[[Callable[[ModelRequest], Scripted]], Callable[[ModelRequest], Scripted]]:
    def put(act: Callable[[ModelRequest], Scripted]) -> Callable[[ModelRequest], Scripted]:
        MANNERS[name] = act
        return act

    return put


@manner("answers")
def answers(request: ModelRequest) -> str:
    named = [name for name in ("Maya", "Joaquin", "Odalys") if name in request.user]
    told = f"{' and '.join(named) or 'They'} spoke of the mill."
    if not is_update(request):
        return told
    return answer(request, told, threads=f"- new #1 {told}", state="- #1 The key / place: the mill")


@manner("is cut off in its lists")
def cut(request: ModelRequest) -> Scripted:
    text = str(answers(request))
    if not is_update(request) or "THREADS" not in text:
        return text
    return ModelReply(text.partition("\nPRESENT")[0], "m", "length", Usage(1, 1, True))


@manner("is cut off in its texts")
def cut_early(request: ModelRequest) -> Scripted:
    return ModelReply(str(answers(request))[:40], "m", "length", Usage(1, 1, True))


@manner("cannot give texts and lists in one")
def clumsy(request: ModelRequest) -> Scripted:
    both = is_update(request) and {"RECAP", "THREADS"} <= set(asked_for(request))
    return "I have read it all." if both else answers(request)


@manner("never gives lists")
def without_lists(request: ModelRequest) -> Scripted:
    return "I have read it all." if is_update(request) and "THREADS" in asked_for(request) else answers(request)


@manner("makes somebody up")
def inventive(request: ModelRequest) -> Scripted:
    told = "They met Zephyrine at the mill."
    return answer(request, told) if is_update(request) else told


MANNERS["declines"] = lambda _: "I'm sorry, but I can't help with that."
MANNERS["is silent"] = lambda _: ""
MANNERS["is down"] = lambda _: ModelFailure(FailureKind.CONNECTION, "Nobody listens there.")
MANNERS["finds it too long"] = lambda _: ModelFailure(FailureKind.OVERFLOW, "Too long.")
RESTLESS = frozenset({"is down", "finds it too long", "is silent"})
"""Manners after which the model is asked once more with every fold."""


class HistoriesWithAModel(Histories):
    """The same with a model that answers well, in part, badly or not at all, as it likes."""

    def opened(self, place: str) -> BlockingMemory:
        self.manner = "answers"
        return BlockingMemory(place, settings=replace(RULES, cast="off"), model=ScriptedModel(self.reply))

    def reply(self, request: ModelRequest) -> Scripted:
        return MANNERS[self.manner](request)

    @rule(name=st.sampled_from(sorted(MANNERS)))
    def change_manners(self, name: str) -> None:
        self.manner = name

    @rule()
    def review_ends(self) -> None:
        """All that waits is approved or rejected, in turn."""
        for number, waiting in enumerate(self.both(lambda story: [one.id for one in story.pending()])):
            self.both(lambda story, w=waiting, n=number: str(  # type: ignore[misc]
                (story.reject if n % 2 else story.approve)(w).made.status
            ))  # fmt: skip

    @rule(on=st.booleans())
    def review(self, on: bool) -> None:
        self.both(lambda story: story.set([f"review={str(on).lower()}"]))

    def comes_to_rest(self) -> None:
        """What a model could not answer is asked for once more, and then left as it is."""
        if self.manner in RESTLESS:
            return
        for _ in range(4):
            if self.both(lambda story: story.fold().folds) == ():
                return
        raise AssertionError(f"it is folded again and again: {self.manner}")

    @invariant()
    def recap_and_episode_come_together(self) -> None:
        if not hasattr(self, "stories"):
            return
        log = self.stories[0].log()
        # An episode is never written again: a recap that is asked for once more goes on with the one there is.
        episodes = {one.made.key for one in log if one.made.kind is Kind.EPISODE}
        for one in log:
            made = one.made
            told_anew = AMENDED not in made.reason and KEPT not in made.reason
            if made.kind is Kind.RECAP and made.carry == UPDATED and made.made_by == "model" and told_anew:
                assert made.status is Status.REFUSED or made.key in episodes


class HistoriesOfPresets(HistoriesWithAModel):
    """The same with a preset's own timeline and notes, and chapters that close at the ends of short scenes."""

    preset = "roleplay"

    def opened(self, place: str) -> BlockingMemory:
        self.manner = "answers"
        small = {name: getattr(RULES, name) for name in SMALL} | {"chapter_messages": 8, "tail_turns": 0, "cast": "off"}
        return BlockingMemory(place, settings=Settings.of(self.preset, **small), model=ScriptedModel(self.reply))


class HistoriesOfGames(HistoriesOfPresets):
    """With a recap of a few sentences."""

    preset = "game"


SMALL = (
    "window_tokens", "tail_messages", "fold_messages", "fold_words", "fold_tokens", "recap_words", "chapter_words",
    "backbone_words",
)  # fmt: skip
"""What is made small of a preset, so that much happens in a short history."""


def tried(act: Callable[[], Any]) -> Any:
    """What came of it, or what was wrong with asking."""
    try:
        return act()
    except BadInput as error:
        return str(error)


def _all(span: Any) -> range:
    return range(span.first, span.last + 1)


TestHistories = Histories.TestCase
TestHistories.settings = hypothesis_settings(
    max_examples=cases(60, soak=1_000), stateful_step_count=cases(40, quick=30, soak=60)
)


class WithoutWaiting:
    """Tests with a model."""

    @pytest.fixture(autouse=True)
    def _no_waiting(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Waiting takes no time, and the breaker never lasts."""

        async def at_once(seconds: float) -> None:
            """Wait no time at all."""

        ticks = count(0, 7_200)
        defaults = model_writer.ModelWriter.__init__.__kwdefaults__
        assert defaults is not None
        monkeypatch.setitem(defaults, "sleep", at_once)
        monkeypatch.setitem(defaults, "clock", lambda: float(next(ticks)))


class TestHistoriesWithAModel(WithoutWaiting, HistoriesWithAModel.TestCase):  # type: ignore[misc,valid-type]
    settings = hypothesis_settings(max_examples=cases(40, soak=500), stateful_step_count=cases(30, soak=60, quick=30))


FEW = hypothesis_settings(max_examples=cases(8, soak=300), stateful_step_count=cases(25, quick=20, soak=60))


class TestHistoriesOfRolePlays(WithoutWaiting, HistoriesOfPresets.TestCase):  # type: ignore[misc,valid-type]
    settings = FEW


class TestHistoriesOfGames(WithoutWaiting, HistoriesOfGames.TestCase):  # type: ignore[misc,valid-type]
    settings = FEW
