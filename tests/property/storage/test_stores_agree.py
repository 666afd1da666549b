"""Every store answers as the in-memory store does, which keeps no caches: the same random verbs on both, all answers
compared.

What is random here is what caches may get wrong: paths that change and change back, branches of branches, marks that
are moved, copied and taken off, chains of memory under marks and beside them, notes of spans, and versions that come
into force and go out of it.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from previously.core.digests import span_key
from previously.core.errors import BadInput
from previously.core.marks import MarkKind, find_starts, is_of_a_span
from previously.core.messages import Attributes, Draft, message
from previously.core.path import Insertion, Put, Reuse, Span, Splice
from previously.core.versions import Kind, NewVersion, Status, Version
from previously.recall.outline import PathEntries
from previously.recall.search import StoryIndex, find
from previously.storage.tables import answers as answer_store
from previously.storage.tables import path_writer
from tests.contract.storage.letters import Letters
from tests.contract.storage.verbs import SqliteVerbs, VerbStore
from tests.effort import cases
from tests.oracle.in_memory import oracle

NUMBERS = st.integers(min_value=0, max_value=10_000)
WORDS = st.lists(st.sampled_from("abc"), max_size=4)
"""Few words, so that what was taken away comes back in the same words."""

IN_MEMORY = Path("/dev/shm")
MOST_BRANCHES = 5
MOST_MESSAGES = 24
OWN_SCOPES = ("@", "@Maya", "@7")
SPAN_SCOPES = ("*", "*7")


MADE = [status for status in Status if status is not Status.FORGOTTEN]
"""The statuses that a version is made with: only `forget` makes one forgotten, and takes its words away with it."""


class Agreeing(RuleBasedStateMachine):
    """One story on two stores."""

    @initialize(rows=st.sampled_from([3, path_writer.ROWS_PER_STAGE]), words=WORDS)
    def open(self, rows: int, words: list[str]) -> None:
        self.patched = pytest.MonkeyPatch()
        self.patched.setattr(path_writer, "ROWS_PER_STAGE", rows)
        self.runner = asyncio.Runner()
        self.stores: list[VerbStore] = [oracle(), SqliteVerbs(self.file())]
        self.key = self.both(lambda store: store.create_story("me", "tale", at="now")).key
        self.names = ["main"]
        self.nodes = [0]
        self.versions: list[Version] = []
        self.add(0, [*words, *"abcabc"])

    def file(self) -> str:
        """A new file, in memory where the system has a place for that."""
        self.folder = tempfile.TemporaryDirectory(dir=IN_MEMORY if IN_MEMORY.is_dir() else None)
        return str(Path(self.folder.name) / "stories.db")

    def teardown(self) -> None:
        if hasattr(self, "runner"):
            for store in self.stores:
                self.runner.run(store.close())
            self.runner.close()
            self.folder.cleanup()
            self.patched.undo()

    def both(self, act: Callable[[VerbStore], Awaitable[Any]]) -> Any:
        """Do the same on both stores; what they answer, or refuse, must be the same."""
        first, second = (self.runner.run(self._tried(act(store))) for store in self.stores)
        assert first == second
        return first

    async def _tried(self, verb: Awaitable[Any]) -> Any:
        try:
            return await verb
        except BadInput as error:
            return str(error)

    def name(self, number: int) -> str:
        return self.names[number % len(self.names)]

    def length(self, branch: str) -> int:
        length: int = self.both(lambda store: store.branch(self.key, branch)).messages
        return length

    def scopes(self, branch: str) -> dict[str, int]:
        """Where chains may begin there: behind marks, and those that know none."""
        return find_starts(self.both(lambda store: store.marks(self.key, branch)), OWN_SCOPES)

    def splice(self, branch: str, at: int, remove: int, pieces: list[Insertion]) -> None:
        script = [Splice(at, remove, tuple(pieces))]
        head = self.both(lambda store: store.apply(self.key, branch, script, at="now")).head
        self.nodes.append(head)

    @rule(branch=NUMBERS, words=WORDS)
    def add(self, branch: int, words: list[str]) -> None:
        name = self.name(branch)
        if self.length(name) < MOST_MESSAGES:
            self.splice(name, self.length(name), 0, [_put(word) for word in words])

    @rule(branch=NUMBERS, at=NUMBERS, remove=st.integers(0, 6), words=WORDS)
    def change(self, branch: int, at: int, remove: int, words: list[str]) -> None:
        name = self.name(branch)
        first = at % (self.length(name) + 1)
        removed = min(remove, self.length(name) - first)
        self.splice(name, first, removed, [_put(word) for word in words[: removed + 1]])

    @rule(branch=NUMBERS, at=NUMBERS, source=NUMBERS)
    def put_again(self, branch: int, at: int, source: int) -> None:
        """An entry of any branch, at any place of this one."""
        name = self.name(branch)
        entries = self.both(lambda store: store.path(self.key, self.name(source), 0, 99))
        if entries:
            entry = entries[at % len(entries)].entry.id
            self.splice(name, at % (self.length(name) + 1), 0, [Reuse(entry)])

    @precondition(lambda self: len(self.names) < MOST_BRANCHES)
    @rule(branch=NUMBERS, length=NUMBERS)
    def fork(self, branch: int, length: int) -> None:
        source, new = self.name(branch), f"branch {len(self.names)}"
        kept = self.length(source) - length % (self.length(source) + 1) // 2
        self.both(lambda store: store.fork(self.key, source, new, kept, at="now"))
        self.names.append(new)

    @rule(branch=NUMBERS, at=NUMBERS, kind=st.sampled_from(MarkKind))
    def mark(self, branch: int, at: int, kind: MarkKind) -> None:
        name = self.name(branch)
        position = at % (self.length(name) + 1) - 1
        self.both(
            lambda store: store.add_mark(self.key, name, kind, position, "", made_by="person", at="now", seen=b"s")
        )

    @rule(branch=NUMBERS, number=NUMBERS, remove=st.booleans())
    def change_a_mark(self, branch: int, number: int, remove: bool) -> None:
        name = self.name(branch)
        marks = self.both(lambda store: store.marks(self.key, name))
        if not marks:
            return
        mark = marks[number % len(marks)]
        if remove:
            self.both(lambda store: store.take_back_mark(self.key, name, mark.id))
            return
        retired = [mark.id, *(one.id for one in marks if number % 3 == 0 and one.origin != mark.origin)]
        self.both(
            lambda store: store.add_mark(
                self.key,
                name,
                mark.kind,
                mark.position,
                str(number),
                made_by="person",
                at="now",
                of=number % 3,
                origin=mark.origin if number % 2 else 0,
                retires=retired,
            )
        )

    @rule(
        branch=NUMBERS,
        scope=NUMBERS,
        length=st.integers(1, 4),
        kind=st.sampled_from(Kind),
        status=st.sampled_from(MADE),
        made_by=st.sampled_from(["builtin", "builtin", "person"]),
    )
    def begin_a_chain(self, branch: int, scope: int, length: int, kind: Kind, status: Status, made_by: str) -> None:
        scopes = self.scopes(self.name(branch))
        chosen = sorted(scopes)[scope % len(scopes)]
        self.commit(self.name(branch), scopes[chosen], length, kind, chosen, None, status, made_by)

    @rule(branch=NUMBERS, scope=NUMBERS, lengths=st.lists(st.integers(1, 3), min_size=2, max_size=4))
    def make_a_chain(self, branch: int, scope: int, lengths: list[int]) -> None:
        scopes = self.scopes(self.name(branch))
        chosen = sorted(scopes)[scope % len(scopes)]
        first, before = scopes[chosen], None
        for length in lengths:
            made = self.commit(
                self.name(branch), first, length, Kind.RECAP, chosen, before, Status.COMMITTED, "builtin"
            )
            if made is None:
                return
            first, before = first + length, made.id

    @rule(
        branch=NUMBERS,
        at=NUMBERS,
        length=st.integers(1, 4),
        kind=st.sampled_from([Kind.ANALYSIS, Kind.SCENE, Kind.NOTE]),
        scope=st.sampled_from(SPAN_SCOPES),
        status=st.sampled_from([Status.COMMITTED, Status.COMMITTED, *MADE]),
        again=st.booleans(),
    )
    def note(self, branch: int, at: int, length: int, kind: Kind, scope: str, status: Status, again: bool) -> None:
        """A note of a run anywhere on a branch; one that there is may be made again."""
        name = self.name(branch)
        first = at % (self.length(name) + 1)
        read = self.both(lambda store: store.path(self.key, name, first, first + length - 1))
        digests = [item.entry.digest for item in read]
        there = self.both(lambda store: store.notes(self.key, kind, scope, digests[:1]))
        same = [one for one in there if one.made.key == span_key(digests)]
        replaces = same[-1].id if same and again else None
        self.commit(name, first, length, kind, scope, None, status, "model", replaces)

    @rule(branch=NUMBERS, at=NUMBERS, length=st.integers(0, 3))
    def look_for_notes(self, branch: int, at: int, length: int) -> None:
        """By the first messages of any run."""
        read = self.both(lambda store: store.path(self.key, self.name(branch), at % MOST_MESSAGES, 99))
        firsts = [item.entry.digest for item in read[:length]]
        found = self.both(lambda store: store.notes(self.key, Kind.SCENE, SPAN_SCOPES[at % 2], firsts))
        assert all(one.made.first in firsts for one in found)

    @precondition(lambda self: self.versions)
    @rule(
        branch=NUMBERS,
        number=NUMBERS,
        length=st.integers(1, 4),
        status=st.sampled_from([Status.COMMITTED, Status.COMMITTED, *MADE]),
        made_by=st.sampled_from(["builtin", "builtin", "person"]),
    )
    def go_on(self, branch: int, number: int, length: int, status: Status, made_by: str) -> None:
        """After a version that is valid there, if there is one, otherwise after any."""
        name = self.name(branch)
        covers = self.both(lambda store: store.cover(self.key, name))
        if covers:
            _, last, ident = covers[number % len(covers)]
            before = next(one for one in self.versions if one.id == ident)
        else:
            before = self.versions[number % len(self.versions)]
            last = before.made.span.last
        self.commit(name, last + 1, length, before.made.kind, before.made.scope, before.id, status, made_by)

    def commit(
        self,
        branch: str,
        first: int,
        length: int,
        kind: Kind,
        scope: str,
        before: int | None,
        status: Status,
        made_by: str,
        replaces: int | None = None,
    ) -> Version | None:
        new = self.new(branch, first, length, kind, scope, before, status, made_by, replaces)
        if new is None:
            return None
        made: Version = self.both(lambda store: store.commit(self.key, new))
        self.versions = self.both(lambda store: store.versions(self.key))
        return made

    def new(
        self,
        branch: str,
        first: int,
        length: int,
        kind: Kind,
        scope: str,
        before: int | None,
        status: Status,
        made_by: str,
        replaces: int | None = None,
    ) -> NewVersion | None:
        """A version on its way into the stores; None if the path is too short for it."""
        last = first + length - 1
        read = self.both(lambda store: store.path(self.key, branch, first, last))
        if len(read) < length:
            return None
        return NewVersion(
            kind=kind,
            scope=scope,
            span=Span(first, last),
            key=span_key([item.entry.digest for item in read]),
            before=before,
            text="",
            carry="",
            status=status,
            made_by=made_by,
            reason="",
            at="now",
            anchor=read[-1].node,
            replaces=replaces,
            first=read[0].entry.digest if is_of_a_span(scope) else b"",
        )

    @rule(
        branch=NUMBERS,
        scope=NUMBERS,
        length=st.integers(1, 4),
        status=st.sampled_from([Status.COMMITTED, Status.COMMITTED, *MADE]),
        refused=st.booleans(),
    )
    def update(self, branch: int, scope: int, length: int, status: Status, refused: bool) -> None:
        """The beginning of a chain with an episode and a note of the same run, in one step; none if one is refused."""
        name = self.name(branch)
        scopes = self.scopes(name)
        chosen = sorted(scopes)[scope % len(scopes)]
        link = self.new(name, scopes[chosen], length, Kind.RECAP, chosen, None, status, "model")
        if link is None:
            return
        read = self.both(lambda store: store.path(self.key, name, link.span.first, link.span.first))
        of_span = replace(link, scope="*", first=read[0].entry.digest)
        news = [link, replace(of_span, kind=Kind.EPISODE), replace(of_span, kind=Kind.NOTE)]
        if refused:
            news[scope % 3] = replace(news[scope % 3], before=10**6)
        self.both(lambda store: store.commit_all(self.key, news))
        self.versions = self.both(lambda store: store.versions(self.key))

    @rule(number=st.integers(0, 5), most=st.integers(1, 4), text=st.sampled_from(["a", "b"]))
    def answer(self, number: int, most: int, text: str) -> None:
        """Answers and facts are kept, and the oldest go; what is bounded is so by the process that writes."""
        self.patched.setattr(answer_store, "MOST_ANSWERS", most)
        self.patched.setattr(answer_store, "MOST_MODEL_FACTS", most)

        async def answers(store: VerbStore) -> list[Any]:
            await store.keep_answer(self.key, bytes([number]) * 32, text, model="m", at="now")
            await store.set_model_fact("me", str(number), text, "now")
            kept = [await store.answer("me", bytes([one]) * 32) for one in range(6)]
            return [*kept, *[await store.model_fact("me", str(one)) for one in range(6)]]

        self.both(answers)

    @precondition(lambda self: self.versions)
    @rule(number=NUMBERS, status=st.sampled_from([Status.COMMITTED, Status.UNDONE, *Status]))
    def set_status(self, number: int, status: Status) -> None:
        ident = self.versions[number % len(self.versions)].id
        self.both(lambda store: store.set_status(self.key, ident, status, reason="so"))

    @rule(branch=NUMBERS, number=NUMBERS)
    def take_back(self, branch: int, number: int) -> None:
        """A version that is valid somewhere, with all that is built on it."""
        covers = self.both(lambda store: store.cover(self.key, self.name(branch)))
        if covers:
            ident = covers[number % len(covers)][2]
            self.both(lambda store: store.set_status(self.key, ident, Status.UNDONE, reason="undone"))

    @rule(number=NUMBERS)
    def restore(self, number: int) -> None:
        undone = [one.id for one in self.versions if one.made.status is Status.UNDONE]
        if undone:
            ident = undone[number % len(undone)]
            self.both(lambda store: store.set_status(self.key, ident, Status.COMMITTED, reason="restored"))

    @precondition(lambda self: self.versions)
    @rule(numbers=st.lists(NUMBERS, max_size=2))
    def loosen(self, numbers: list[int]) -> None:
        idents = [self.versions[number % len(self.versions)].id for number in numbers]
        self.both(lambda store: store.loosen(self.key, idents))

    @rule(most=st.integers(1, 12), turned=st.sampled_from([None, 0, 0, 1]))
    def index(self, most: int, turned: int | None) -> None:
        """By processes that have a table of vectors, another, or none."""
        self.both(lambda store: store.index(self.key, None if turned is None else Letters(turned), most=most))

    @rule(branch=NUMBERS, at=NUMBERS, day=st.integers(1, 9), session=st.sampled_from(["one", 2, None]))
    def tell_when(self, branch: int, at: int, day: int, session: object) -> None:
        entries = self.both(lambda store: store.path(self.key, self.name(branch), 0, 99))
        if entries:
            changed = entries[at % len(entries)].entry.id
            new = Attributes(f"2024-05-0{day}", None, {"session": session})
            self.both(lambda store: store.set_attributes(self.key, [(changed, new)]))

    @rule(branch=NUMBERS, text=st.sampled_from(["b", "b c", "who said c on 7 May 2024?", "", "b OR c*"]))
    def recall(self, branch: int, text: str) -> None:
        def found(index: StoryIndex, path: PathEntries) -> list[Any]:
            answer = find(index, path, text, Letters())
            return [
                path.ids.tolist(),
                sorted(index.speakers()),
                answer.query,
                answer.outline.sessions.tolist(),
                answer.hits,
            ]

        self.both(lambda store: store.recall(self.key, self.name(branch), found))

    @rule(branch=NUMBERS, number=NUMBERS, most=st.integers(0, 5), kinds=st.sets(st.sampled_from(MarkKind)))
    def look(self, branch: int, number: int, most: int, kinds: set[MarkKind]) -> None:
        name, node, key = self.name(branch), self.nodes[number % len(self.nodes)], self.key

        async def answers(store: VerbStore) -> list[Any]:
            before = await store.leading_to(key, node, most)
            assert len(before) <= most
            return [
                before,
                [await store.position_of(key, name, item.node) for item in before],
                await store.marks(key, name, kinds, since=number % 12 - 1),
                [await store.newest_mark(key, name, kind, number % 3) for kind in MarkKind],
                [await store.newest_versions(key, kind, "", status, most) for kind in Kind for status in Status],
            ]

        self.both(lambda store: store.at_one_moment("me", answers))

    @invariant()
    def every_branch_agrees(self) -> None:
        if hasattr(self, "names"):
            self.versions = self.both(lambda store: store.at_one_moment("me", self.branches))[0]

    async def branches(self, store: VerbStore) -> list[Any]:
        """Versions, paths, marks and what is covered."""
        versions = await store.versions(self.key)
        chains = {(one.made.kind, one.made.scope) for one in versions}
        found: list[Any] = [versions, await store.branches(self.key)]
        for name in self.names:
            found += await store.path(self.key, name, 0, 99)
            found += await store.marks(self.key, name)
            covers = await store.cover(self.key, name)
            of_kinds = [row for kind in Kind for row in await store.cover(self.key, name, kind)]
            assert sorted(covers) == sorted(of_kinds)
            found += [covers, await store.cover(self.key, name, firm=True)]
            spans = [span for kind in Kind for span in await store.spans(self.key, name, kind)]
            assert not any(is_of_a_span(scope) for scope, _, _ in spans)
            found.append(sorted(spans))
            for kind, scope in sorted(chains):
                found.append(await store.live(self.key, name, kind, scope))
                found.append(await store.live(self.key, name, kind, scope, firm=True, through=3))
        return found


def _put(word: str) -> Put:
    return Put(Draft(message("user", word)))


TestAgreeing = Agreeing.TestCase
TestAgreeing.settings = hypothesis_settings(
    max_examples=cases(60, soak=1_000), stateful_step_count=cases(40, quick=20, soak=60)
)
