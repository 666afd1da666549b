"""`verify`: clean on whatever the product writes, and every planted damage is found and named."""

from __future__ import annotations

import asyncio
import re
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from hypothesis.stateful import invariant, precondition, rule

from previously.core.versions import Status
from previously.storage import findings, verify, verify_memory, verify_paths
from previously.storage.findings import Verified
from tests.contract.storage.postgres_server import shared_server
from tests.contract.storage.rich_story import NEVER, OWNER, OnFile, OnServer, Place
from tests.contract.storage.verbs import VerbStore
from tests.effort import cases
from tests.property.storage.test_postgres_agrees import AgreeingOnPostgres
from tests.property.storage.test_stores_agree import NUMBERS, Agreeing

STORY = "(SELECT id FROM story WHERE name = 'tale')"
MAIN = f"(SELECT id FROM branch WHERE name = 'main' AND story = {STORY})"
MAIN_LINE = f"(SELECT line FROM branch WHERE id = {MAIN})"
ASIDE_LINE = f"(SELECT line FROM branch WHERE name = 'aside' AND story = {STORY})"
HEAD = f"(SELECT head FROM branch WHERE id = {MAIN})"
COVERED = f"(SELECT max(version) FROM cover WHERE line = {MAIN_LINE} AND scope < '@')"
CHAINED = "(SELECT max(id) FROM version WHERE before <> 0 AND firm = 1)"
BY_HAND = f"(SELECT min(id) FROM version WHERE status = 'by hand' AND story = {STORY})"
NOTED = "(SELECT max(id) FROM version WHERE kind = 'analysis')"
MARK = f"(SELECT min(id) FROM mark WHERE branch = {MAIN} AND retired_by = 0)"

DAMAGES: dict[str, tuple[str, str]] = {
    "an entry's words": ("UPDATE entry SET text = 'Other words.' WHERE id = 7", r"entry 7: its digest"),
    "an entry's speaker": ("UPDATE entry SET speaker = NULL WHERE id = 7", r"entry 7: its digest"),
    "an entry's digest": (
        "UPDATE entry SET digest = (SELECT digest FROM entry WHERE id = 8) WHERE id = 7",
        r"entry 7: its digest is not that of its words",
    ),
    "an entry's match key": (
        "UPDATE entry SET match_key = (SELECT match_key FROM entry WHERE id = 8) WHERE id = 7",
        r"entry 7: its match key",
    ),
    "an entry's role": ("UPDATE entry SET role = 'robot' WHERE id = 7", r"entry 7: it cannot be read .*robot"),
    "an entry without words": ("UPDATE entry SET text = NULL WHERE id = 7", r"entry 7: it must have either"),
    "an entry with too much": ("UPDATE entry SET parts = '[]' WHERE id = 7", r"entry 7: it must have either"),
    "an entry's witnesses": ("UPDATE entry SET witnesses = '[' WHERE id = 7", r"entry 7: it cannot be read"),
    "an entry's extra": ("UPDATE entry SET extra = '{' WHERE id = 7", r"entry 7: it cannot be read"),
    "what an entry replaces": ("UPDATE entry SET replaces = 9999 WHERE id = 7", r"entry 7: it replaces entry 9999"),
    "an entry's story": ("UPDATE entry SET story = 9999 WHERE id = 7", r"its entry 7 is of another story"),
    "an entry gone": ("DELETE FROM entry WHERE id = 7", r"its entry 7 is not there"),
    "a node's hash": ("UPDATE node SET hash = (SELECT hash FROM node WHERE id = 8) WHERE id = 7", r"node 7: its hash"),
    "a node's depth": (
        "UPDATE node SET depth = depth + 1 WHERE id = 7",
        r"node 7: its depth is 7, that of its parent 5",
    ),
    "a node's parent gone": (
        "UPDATE node SET parent = 9999 WHERE id = 7",
        r"node 7: its parent, node 9999, is not there",
    ),
    "a node's parent": ("UPDATE node SET parent = 3 WHERE id = 7", r"node 7: its depth is 6, that of its parent 2"),
    "a node's parent younger": ("UPDATE node SET parent = 9 WHERE id = 7", r"node 7: its parent, node 9, is younger"),
    "a node's entry": ("UPDATE node SET entry = 9 WHERE id = 7", r"node 7: its hash"),
    "a node gone": ("DELETE FROM node WHERE id = 7", r"node 8: its parent, node 7, is not there"),
    "a node of another story": (
        "UPDATE node SET story = 9999 WHERE id = 7",
        r"node 8: its parent, node 7, is of another story",
    ),
    "a head's node gone": (f"DELETE FROM node WHERE id = {HEAD}", r"line \d+, depth 49: its node \d+ is not there"),
    "a path row missing": (f"DELETE FROM path WHERE line = {MAIN_LINE} AND depth = 47", r"its row at depth 47 is not"),
    "the last path row missing": (
        f"DELETE FROM path WHERE line = {MAIN_LINE} AND depth = 49",
        r"its rows end before depth 49, its path at 50",
    ),
    "a path row too many": (
        f"INSERT INTO path SELECT owner, line, 50, node, entry FROM path WHERE line = {MAIN_LINE} AND depth = 49",
        r"depth 50: its path has only 50 messages",
    ),
    "a path row before its line": (
        f"INSERT INTO path SELECT owner, {ASIDE_LINE}, 2, node, entry FROM path WHERE depth = 2 AND line = 1",
        r"it has a row at depth 2, before its fork",
    ),
    "a path row's node": (
        f"UPDATE path SET node = 7 WHERE line = {MAIN_LINE} AND depth = 47",
        r"depth 47: its node 7 has depth 6",
    ),
    "a path row's entry": (
        f"UPDATE path SET entry = 7 WHERE line = {MAIN_LINE} AND depth = 47",
        r"depth 47: it has entry 7, its node \d+ entry \d+",
    ),
    "a path row of another chain": (
        "UPDATE path SET node = (SELECT id FROM node WHERE depth = 30 ORDER BY id DESC LIMIT 1), entry = "
        "(SELECT entry FROM node WHERE depth = 30 ORDER BY id DESC LIMIT 1) WHERE depth = 30 AND line = 1",
        r"depth 3[01]: the parent of its node",
    ),
    "a line's fork": (f"UPDATE line SET fork = fork + 1 WHERE id = {ASIDE_LINE}", r"it has a row at depth \d+, before"),
    "a line's fork too early": (f"UPDATE line SET fork = fork - 1 WHERE id = {ASIDE_LINE}", r"its row at depth \d+ is"),
    "a line's parent gone": (
        f"UPDATE line SET parent = 9999 WHERE id = {ASIDE_LINE}",
        r"its parent, line 9999, is not",
    ),
    "a line without a parent": (f"UPDATE line SET parent = NULL WHERE id = {ASIDE_LINE}", r"it forks at \d+ from no"),
    "a line going round": (f"UPDATE line SET parent = id WHERE id = {ASIDE_LINE}", r"its parent, line \d+, is younger"),
    "a line not published": (
        f"UPDATE line SET published = 0 WHERE id = {MAIN_LINE}",
        r"branch 'main': its line \d+ is",
    ),
    "a line gone": (f"DELETE FROM line WHERE id = {MAIN_LINE}", r"branch 'main': its line \d+ is not there"),
    "a branch's head": (f"UPDATE branch SET head = 7 WHERE id = {MAIN}", r"branch 'main': its head is node 7"),
    "a branch too long": (
        f"UPDATE branch SET messages = 51 WHERE id = {MAIN}",
        r"its rows end before depth 50, its path at 51",
    ),
    "a branch without end": (
        f"UPDATE branch SET messages = 1000000000000 WHERE id = {MAIN}",
        r"its rows end before depth 50, its path at 1000000000000",
    ),
    "a branch below nothing": (f"UPDATE branch SET messages = -3 WHERE id = {MAIN}", r"'main': it has -3 messages"),
    "a version without end": (
        f"UPDATE version SET length = 1000000000000, last = first + 999999999999 WHERE id = {COVERED}",
        r"its anchor, node \d+, has depth \d+, its span ends at \d+",
    ),
    "a line's fork without end": (
        f"UPDATE line SET fork = 1000000000000 WHERE id = {ASIDE_LINE}",
        r"branch 'aside': it has \d+ messages, and its line forks at 1000000000000",
    ),
    "a branch too short": (f"UPDATE branch SET messages = 49 WHERE id = {MAIN}", r"branch 'main': its head is node"),
    "a branch on another's line": (
        f"UPDATE branch SET line = {MAIN_LINE} WHERE name = 'aside'",
        r"branch 'aside': its line \d+ is that of 'main' too",
    ),
    "a branch shorter than its fork": (
        "UPDATE branch SET messages = 1 WHERE name = 'aside'",
        r"branch 'aside': it has 1 messages, and its line forks",
    ),
    "a branch of no story": (
        "UPDATE branch SET story = 9999 WHERE name = 'short'",
        r"branch short: it is of story 9999",
    ),
    "the active branch": (
        f"UPDATE story SET active = 9999 WHERE id = {STORY}",
        r"its active branch, 9999, is not there",
    ),
    "the header": (f"UPDATE story SET header = '{{' WHERE id = {STORY}", r"its header cannot be read"),
    "the settings": (f"UPDATE story SET settings = '' WHERE id = {STORY}", r"its settings cannot be read"),
    "a story gone": (
        "DELETE FROM story WHERE name = 'another'",
        r"branch main: it is of story \d+, which is not there",
    ),
    "a cover row missing": (
        f"DELETE FROM cover WHERE version = {COVERED}",
        r"branch 'main', cover: version \d+ is valid from \d+ to \d+, and not said to be",
    ),
    "a cover row too many": (
        "INSERT INTO cover SELECT owner, line, kind, scope, first + 1, last + 1, version, firm FROM cover "
        f"WHERE version = {COVERED}",
        r"cover: version \d+ is said to be valid from \d+ to \d+, and is not",
    ),
    "a cover row moved": (
        f"UPDATE cover SET first = first - 1, last = last - 1 WHERE version = {COVERED}",
        r"cover: version \d+ is said to be valid from \d+ to \d+, and is not",
    ),
    "a cover row's length": (
        f"UPDATE cover SET first = first + 1 WHERE version = {COVERED}",
        r"cover of version \d+: it stands from \d+ to \d+, the version for \d+",
    ),
    "a cover row behind the path": (
        f"UPDATE cover SET first = first + 60, last = last + 60 WHERE version = {COVERED} AND line = {MAIN_LINE}",
        r"cover: version \d+ is said to end at \d+, behind the path",
    ),
    "a cover row's firmness": (
        f"UPDATE cover SET firm = 1 - firm WHERE version = {COVERED}",
        r"its kind, scope and firm",
    ),
    "a cover row's kind": (
        f"UPDATE cover SET kind = 'chapters' WHERE version = {COVERED}",
        r"its kind, scope and firm",
    ),
    "a cover row's scope": (
        f"UPDATE cover SET scope = '77' WHERE version = {COVERED}",
        r"its kind, scope and firmness",
    ),
    "a cover row's version": (
        f"UPDATE cover SET version = 9999 WHERE version = {COVERED}",
        r"cover of version 9999: the story has no such version",
    ),
    "a version's key": (
        f"UPDATE version SET key = (SELECT key FROM version WHERE id = 1) WHERE id = {COVERED}",
        r"version \d+: its key is not that of the messages that end in node \d+",
    ),
    "a covered version's status": (f"UPDATE version SET status = 'undone' WHERE id = {COVERED}", r"is not in force"),
    "a version's status": (f"UPDATE version SET status = 'odd' WHERE id = {COVERED}", r"its status is 'odd'"),
    "a version's kind": (f"UPDATE version SET kind = 'odd' WHERE id = {COVERED}", r"its kind is 'odd'"),
    "a version's firmness": (f"UPDATE version SET firm = 1 WHERE id = {BY_HAND}", r"it is by hand and said to be firm"),
    "what a firm version was built on": (
        f"UPDATE version SET firm = 0 WHERE id = (SELECT before FROM version WHERE id = {CHAINED})",
        r"it is said to be firm, and version \d+, on which it was built, is not",
    ),
    "a version built on nothing": (
        f"UPDATE version SET before = 9999 WHERE id = {CHAINED}",
        r"it was built on version 9999, which is not there",
    ),
    "a version built on a later one": (
        f"UPDATE version SET before = id WHERE id = {CHAINED}",
        r"it was built on version \d+, which is younger",
    ),
    "a version replacing nothing": (
        f"UPDATE version SET replaces = 9999 WHERE id = {COVERED}",
        r"it replaces version 9",
    ),
    "a version's length": (f"UPDATE version SET length = 1 WHERE id = {COVERED}", r"its length is 1, its span \d+ to"),
    "a version's span": (
        f"UPDATE version SET first = first + 1, last = last + 1 WHERE id = {COVERED}",
        r"its anchor, node \d+, has depth \d+, its span ends at \d+",
    ),
    "a version's anchor gone": (f"UPDATE version SET anchor = 9999 WHERE id = {COVERED}", r"anchor, node 9999, is not"),
    "a version's anchor": (f"UPDATE version SET anchor = 3 WHERE id = {COVERED}", r"its anchor, node 3, has depth 2"),
    "a version's reach": (f"UPDATE version SET reach = reach + 1 WHERE id = {CHAINED}", r"it stands for \d+ messages"),
    "a version's lists": (f"UPDATE version SET shed = '[' WHERE id = {COVERED}", r"keeps as a list cannot be read"),
    "a version of no story": (
        f"UPDATE version SET story = 9999 WHERE id = {COVERED}",
        r"version \d+: it is of story 9",
    ),
    "the message a note is found by": (
        f"UPDATE version SET first_digest = (SELECT digest FROM entry WHERE id = 7) WHERE id = {NOTED}",
        r"version \d+: the first message it read is not the one that it is found by",
    ),
    "a note that is found by nothing": (
        f"UPDATE version SET first_digest = substr(first_digest, 1, 0) WHERE id = {NOTED}",
        r"version \d+: it is of a span, and goes on from another or is found by no message",
    ),
    "a note's key": (
        f"UPDATE version SET key = (SELECT key FROM version WHERE id = 1) WHERE id = {NOTED}",
        r"version \d+: its key is not that of the messages that end in node \d+",
    ),
    "a note that is covered": (
        "INSERT INTO cover (owner, line, kind, scope, first, last, version, firm) "
        f"SELECT owner, {MAIN_LINE}, kind, scope, first, last, id, firm FROM version WHERE id = {NOTED}",
        r"cover of version \d+: it is of a span, which is valid wherever it stands and covers nothing",
    ),
    "a cover row of an own chain missing": (
        "DELETE FROM cover WHERE scope = '@Maya'",
        r"branch 'main', cover: version \d+ is valid from 0 to 11, and not said to be",
    ),
    "an own chain with a gap": (
        "UPDATE version SET first = 1, last = 12 WHERE scope = '@Maya'",
        r"version \d+: it begins at 1, and its chain does not end there",
    ),
    "an attached book gone": (
        "DELETE FROM book WHERE name = 'people'",
        r"attached book 'people': there is no such book",
    ),
    "an attached book's place": (
        "UPDATE story_book SET position = 0",
        r"attached book '\w+': another is at place 0 too",
    ),
    "a book attached to no story": ("UPDATE story_book SET story = 9999", r"attached book \w+: it is of story 9999"),
    "a book's text": ("UPDATE book SET body = '{' WHERE name = 'places'", r"book 'places': it cannot be read"),
    "a mark's position": (f"UPDATE mark SET position = 50 WHERE id = {MARK}", r"mark \d+: it stands at 50, and branch"),
    "a mark's branch": (f"UPDATE mark SET branch = 9999 WHERE id = {MARK}", r"mark \d+: it is of branch 9999"),
    "a mark's story": (f"UPDATE mark SET story = 9999 WHERE id = {MARK}", r"mark \d+: it is of story 9999"),
    "a mark's origin": (f"UPDATE mark SET origin = 9999 WHERE id = {MARK}", r"mark \d+: its origin is mark 9999"),
    "a mark's kind": (f"UPDATE mark SET kind = 'odd' WHERE id = {MARK}", r"mark \d+: its kind is 'odd'"),
    "a mark retired by none": (f"UPDATE mark SET retired_by = 9999 WHERE id = {MARK}", r"it is retired by mark 9999"),
    "a mark made after nothing": (f"UPDATE mark SET after = 9999 WHERE id = {MARK}", r"it was made after version 9999"),
    "a mark out of its place": (f"UPDATE mark SET behind = -1 WHERE id = {MARK}", r"mark \d+: it stands -1 places"),
    "a move's old head": ("UPDATE move SET old_head = 9999 WHERE id = 5", r"move 5: node 9999 is not there"),
    "a move's new head": ("UPDATE move SET new_head = 9999 WHERE id = 5", r"move 5: node 9999 is not there"),
    "a move's branch": ("UPDATE move SET branch = 9999 WHERE id = 5", r"move 5: it is of branch 9999"),
    "the last move": (
        f"UPDATE move SET new_head = 7 WHERE id = (SELECT max(id) FROM move WHERE branch = {MAIN})",
        r"branch 'main': it last moved to node 7",
    ),
    "a move of no story": ("UPDATE move SET story = 9999 WHERE id = 5", r"move 5: it is of story 9999"),
    "a receipt of no story": ("UPDATE receipt SET story = 9999", r"receipt once: it is of story 9999"),
    "answers of no story": ("UPDATE answer SET story = 9999", r"answers 9999: it is of story 9999"),
    "a lease of no story": ("UPDATE lease SET story = 9999", r"lease fold: it is of story 9999"),
}


@pytest.fixture(scope="module", params=["file", "server"])
def place(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    if request.param == "file":
        yield OnFile(tmp_path_factory.mktemp("verified"))
        return
    on_server = OnServer(shared_server())
    yield on_server
    on_server.close(shared_server())


def verified(store: VerbStore, **options: Any) -> Verified:
    return asyncio.run(store.verify(OWNER, before=NEVER, **options))


def told(found: Verified) -> list[str]:
    return [f"{fault.where}: {fault.reason}" for fault in found.faults]


def test_what_the_product_writes_is_clean_and_all_of_it_is_looked_at(place: Place) -> None:
    with place.anew() as (store, asked):
        found = verified(store)
        assert told(found) == []
        assert found.clean
        assert found.stories == 2
        (counts,) = asked(
            "SELECT (SELECT count(*) FROM entry), (SELECT count(*) FROM node), (SELECT count(*) FROM version), "
            "(SELECT count(*) FROM mark), (SELECT count(*) FROM move), (SELECT count(*) FROM receipt), "
            "(SELECT count(*) FROM lease), (SELECT count(*) FROM branch), (SELECT count(*) FROM book), "
            "(SELECT count(*) FROM story_book)"
        )
        of_stories = ("entries", "nodes", "versions", "marks", "moves", "receipts", "leases", "branches")
        kinds = (*of_stories, "books", "attached books")
        assert tuple(found.checked[kind] for kind in kinds) == tuple(counts)
        assert found.messages == counts[0]
        assert min(found.checked.values()) > 0
        statuses = {row[0] for row in asked("SELECT DISTINCT status FROM version")}
        assert {"committed", "by hand", "undone"} <= statuses


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_planted_damage_is_found_and_named(place: Place, damage: str) -> None:
    statement, words = DAMAGES[damage]
    with place.anew() as (store, asked):
        asked(statement)
        found = verified(store)
        assert not found.clean, "nothing was found"
        assert re.search(words, "\n".join(told(found))), told(found)


def test_reading_in_small_pieces_finds_the_same(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (verify, verify, verify_paths, verify_memory, verify_memory):
        monkeypatch.setattr(module, "ROWS_AT_ONCE", 3)
    with place.anew() as (store, asked):
        assert verified(store).faults == ()
        asked("UPDATE entry SET text = 'Other words.' WHERE id = 7")
        assert len(verified(store).faults) == 2


def test_faults_are_told_up_to_a_number_and_then_counted(place: Place) -> None:
    with place.anew() as (store, asked):
        asked("UPDATE entry SET text = 'Other words.'")
        found = verified(store)
        assert len(found.faults) == findings.MOST_FAULTS
        assert found.more_faults > 0
        assert len(found.faults) + found.more_faults == 2 * found.messages, "digests and match keys"


def test_a_broken_story_does_not_hide_another(place: Place) -> None:
    with place.anew() as (store, asked):
        asked(f"DELETE FROM line WHERE story = {STORY}")
        asked("UPDATE entry SET text = 'Other words.' WHERE id = (SELECT max(id) FROM entry)")
        assert {fault.where.split(",")[0] for fault in verified(store).faults} == {"story 'tale'", "story 'another'"}


def test_owners_are_walls(place: Place) -> None:
    with place.anew() as (store, asked):
        asked("UPDATE entry SET text = 'Other words.'")
        found = asyncio.run(store.verify("somebody else", before=NEVER))
        assert (found.stories, found.messages, found.faults) == (0, 0, ())


def test_nothing_is_changed(place: Place) -> None:
    with place.anew() as (store, asked):
        asked("UPDATE path SET node = 7 WHERE depth = 9")
        before = [asked(f"SELECT * FROM {table} ORDER BY 1, 2, 3") for table in ("path", "cover", "node", "line")]
        verified(store)
        after = [asked(f"SELECT * FROM {table} ORDER BY 1, 2, 3") for table in ("path", "cover", "node", "line")]
        assert before == after


def test_progress_is_told(place: Place) -> None:
    seen: list[tuple[str, int]] = []
    with place.anew() as (store, _):
        found = verified(store, told=lambda story, rows: seen.append((story, rows)))
    assert {story for story, _ in seen} == {"tale", "another"}
    assert seen[-1][1] == sum(found.checked.values())


def test_a_check_that_nobody_waits_for_any_more_ends(place: Place) -> None:
    calls: list[str] = []
    reached, cancelled = threading.Event(), threading.Event()

    def tell(story: str, rows: int) -> None:
        calls.append(story)
        reached.set()
        cancelled.wait(30)

    async def check(store: VerbStore) -> None:
        task = asyncio.create_task(store.verify(OWNER, before=NEVER, told=tell))
        await asyncio.to_thread(reached.wait, 30)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        cancelled.set()
        await store.stories(OWNER)

    with place.anew() as (store, _):
        asyncio.run(check(store))
        assert verified(store).clean
    assert calls == ["tale"]


def test_a_file_with_broken_pages_is_told_of(tmp_path: Path) -> None:
    on_file = OnFile(tmp_path)
    with on_file.anew() as (store, asked):
        asked("PRAGMA writable_schema = ON")
        asked("DELETE FROM sqlite_schema WHERE name = 'path_by_entry'")
        asked("PRAGMA writable_schema = RESET")
        found = verified(store)
        assert any(fault.where == "the file" for fault in found.faults), told(found)


def check_at_the_end(machine: Agreeing) -> None:
    """At the end of a life of a random driver all is clean, on every store of tables."""
    if hasattr(machine, "stores"):
        for store in machine.stores:
            if isinstance(store, VerbStore):
                assert told(machine.runner.run(store.verify("me", before="a"))) == []


LASTING = [Status.COMMITTED, Status.UNDONE, Status.PENDING, Status.REFUSED]
"""What a version may become; provisional and by hand it is from the start."""


class Verifying(Agreeing):
    """Random verbs on a file."""

    @precondition(lambda self: self.versions)
    @rule(number=NUMBERS, status=st.sampled_from(LASTING))
    def set_status(self, number: int, status: Status) -> None:
        version = self.versions[number % len(self.versions)]
        if version.made.status not in (Status.BY_HAND, Status.FORGOTTEN):
            self.both(lambda store: store.set_status(self.key, version.id, status, reason="so"))

    @invariant()
    def every_branch_agrees(self) -> None:
        """That is tested elsewhere."""
        if hasattr(self, "names"):
            self.versions = self.both(lambda store: store.versions(self.key))

    def teardown(self) -> None:
        try:
            check_at_the_end(self)
        finally:
            super().teardown()


class VerifyingOnServer(AgreeingOnPostgres):
    """Random verbs on a server."""

    set_status = Verifying.set_status
    every_branch_agrees = Verifying.every_branch_agrees

    def teardown(self) -> None:
        try:
            check_at_the_end(self)
        finally:
            super().teardown()


TestVerifying = Verifying.TestCase
TestVerifying.settings = hypothesis_settings(
    max_examples=cases(40, soak=1_000), stateful_step_count=cases(40, quick=20, soak=60)
)
TestVerifyingOnServer = VerifyingOnServer.TestCase
TestVerifyingOnServer.settings = hypothesis_settings(
    max_examples=cases(6, soak=300), stateful_step_count=cases(40, quick=20, soak=60)
)
