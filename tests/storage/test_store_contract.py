"""The contract of `storage.store`, told once, kept by every store."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from previously.core.digests import ROOT_HASH, node_hash, span_key
from previously.core.errors import BadInput, HeadMoved, UnknownBranch
from previously.core.marks import MarkKind
from previously.core.messages import (
    Attributes,
    Draft,
    Error,
    Image,
    Message,
    Role,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    message,
)
from previously.core.scripts import Put, Reuse, Splice
from previously.core.spans import Span
from previously.core.versions import Cost, Kind, NewVersion, Status, Version
from previously.storage.store import Store, StoryKey

AT = "2026-03-02T19:04:00+00:00"
ME = "me"


def draft(text: str, role: str = "user", **attributes: object) -> Draft:
    return Draft(message(role, text), Attributes(**attributes))  # type: ignore[arg-type]


async def a_story(store: Store, texts: Sequence[str] = (), name: str = "tale", owner: str = ME) -> StoryKey:
    info = await store.create_story(owner, name, at=AT)
    if texts:
        await append(store, info.key, *texts)
    return info.key


async def append(store: Store, key: StoryKey, *texts: str, branch: str = "main") -> None:
    length = (await store.branch(key, branch)).messages
    await store.apply(key, branch, [Splice(length, 0, tuple(Put(draft(text)) for text in texts))], at=AT)


async def texts(store: Store, key: StoryKey, branch: str = "main") -> list[str]:
    return [item.entry.message.text for item in await store.path(key, branch, 0, 1_000_000)]


async def fold(
    store: Store,
    key: StoryKey,
    first: int,
    last: int,
    *,
    before: Version | None = None,
    branch: str = "main",
    scope: str = "",
    status: Status = Status.COMMITTED,
) -> Version:
    digests = [item.entry.digest for item in await store.path(key, branch, first, last)]
    return await store.commit(
        key,
        NewVersion(
            kind=Kind.RECAP,
            scope=scope,
            span=Span(first, last),
            key=span_key(digests),
            before=before.id if before else None,
            text=f"{first} to {last}",
            carry="{}",
            status=status,
            made_by="builtin",
            reason="40 messages",
            at=AT,
            cost=Cost(1, 2, 3),
        ),
    )


async def live_text(store: Store, key: StoryKey, branch: str = "main") -> str | None:
    live = await store.live(key, branch, Kind.RECAP, "")
    return live.version.made.text if live else None


async def test_a_new_story_has_one_empty_branch(store: Store) -> None:
    info = await store.create_story(ME, "tale", at=AT)
    assert (info.name, info.branches, info.budget_tokens) == ("tale", 1, None)
    assert (info.active.name, info.active.messages) == ("main", 0)
    assert await store.path(info.key, "main", 0, 10) == []
    assert await store.live(info.key, "main", Kind.RECAP, "") is None


async def test_creating_a_story_twice_gives_the_first(store: Store) -> None:
    key = await a_story(store, ["one"])
    again = await store.create_story(ME, "tale", at=AT)
    assert again.key == key
    assert again.active.messages == 1


async def test_stories_come_by_name(store: Store) -> None:
    for name in ("zebra", "apple", "mango"):
        await a_story(store, ["x"], name)
    assert [info.name for info in await store.stories(ME)] == ["apple", "mango", "zebra"]


async def test_every_kind_of_part_comes_back_as_it_was(store: Store) -> None:
    parts = (
        Text("Look at this."),
        Thinking("hm"),
        ToolCall("c1", "read", '{"a": '),
        ToolResult("c1", ""),
        Image("data:,x", "a cat"),
        Error("timeout"),
    )
    given = Draft(
        Message(Role.ASSISTANT, parts, "Maya", ("Joaquin", "Maya")),
        Attributes(AT, "id-7", {"session": 3, "ünïcode": ["x", None, 1.5]}, hidden=True),
    )
    key = await a_story(store)
    await store.apply(key, "main", [Splice(0, 0, (Put(given),))], at=AT)
    (item,) = await store.path(key, "main", 0, 0)
    assert item.entry.message == given.message
    assert item.entry.attributes == given.attributes


async def test_no_witnesses_is_not_the_same_as_nobody(store: Store) -> None:
    key = await a_story(store)
    pieces = tuple(Put(Draft(message("user", "psst", witnesses=who))) for who in (None, ()))
    await store.apply(key, "main", [Splice(0, 0, pieces)], at=AT)
    everyone, nobody = await store.path(key, "main", 0, 1)
    assert (everyone.entry.message.witnesses, nobody.entry.message.witnesses) == (None, ())
    assert everyone.entry.digest != nobody.entry.digest


async def test_positions_hashes_and_depths_follow_the_path(store: Store) -> None:
    key = await a_story(store, ["a", "b", "c"])
    path = await store.path(key, "main", 0, 99)
    assert [item.position for item in path] == [0, 1, 2]
    expected = ROOT_HASH
    for item in path:
        expected = node_hash(expected, item.entry.digest)
        assert item.hash == expected
    assert [item.position for item in await store.path(key, "main", 1, 1)] == [1]
    assert await store.path(key, "main", 3, 9) == []
    assert await store.path(key, "main", -5, -1) == []


async def test_equal_messages_are_two_entries(store: Store) -> None:
    key = await a_story(store, ["ok", "ok"])
    first, second = await store.path(key, "main", 0, 1)
    assert first.entry.digest == second.entry.digest
    assert first.entry.id != second.entry.id


async def test_a_script_edits_inserts_and_deletes_at_once(store: Store) -> None:
    key = await a_story(store, list("abcdef"))
    before = await store.path(key, "main", 0, 5)
    script = [
        Splice(1, 1, (Put(draft("B"), replaces=before[1].entry.id),)),
        Splice(3, 0, (Put(draft("x")), Put(draft("y")))),
        Splice(4, 2, ()),
    ]
    info = await store.apply(key, "main", script, at=AT)
    assert await texts(store, key) == list("aBcxyd")
    assert info.messages == 6
    after = await store.path(key, "main", 0, 5)
    assert after[0] == before[0], "what comes before the change keeps its node"
    assert after[5].entry == before[3].entry, "what comes after keeps its entry"
    assert after[1].entry.replaces == before[1].entry.id


async def test_a_script_that_does_not_fit_changes_nothing(store: Store) -> None:
    key = await a_story(store, list("abc"))
    for script in ([Splice(4, 0, ())], [Splice(2, 2, ())], [Splice(1, 1, ()), Splice(0, 1, ())]):
        with pytest.raises(ValueError, match="does not fit"):
            await store.apply(key, "main", script, at=AT)
    assert await texts(store, key) == list("abc")


async def test_an_expected_head_that_moved_changes_nothing(store: Store) -> None:
    key = await a_story(store, ["a"])
    head = (await store.branch(key)).head
    await append(store, key, "b")
    with pytest.raises(HeadMoved):
        await store.apply(key, "main", [Splice(2, 0, (Put(draft("c")),))], at=AT, expected_head=head)
    assert await texts(store, key) == ["a", "b"]


async def test_a_receipt_is_honoured_once(store: Store) -> None:
    key = await a_story(store)
    for _ in range(2):
        info = await store.apply(key, "main", [Splice(0, 0, (Put(draft("a")),))], at=AT, receipt="r1")
    assert info.messages == 1
    assert await texts(store, key) == ["a"]


async def test_attributes_change_without_moving_a_node(store: Store) -> None:
    key = await a_story(store, ["a", "b"])
    before = await store.path(key, "main", 0, 1)
    await store.set_attributes(key, [(before[1].entry.id, Attributes(hidden=True, extra={"k": "v"}))])
    after = await store.path(key, "main", 0, 1)
    assert after[1].entry.attributes == Attributes(hidden=True, extra={"k": "v"})
    assert (after[1].node, after[1].hash) == (before[1].node, before[1].hash)


async def test_alternatives_are_siblings_off_the_path(store: Store) -> None:
    key = await a_story(store, ["hello"])
    swiped = Draft(message("assistant", "one"), alternatives=(draft("two", "assistant"), draft("one", "assistant")))
    await store.apply(key, "main", [Splice(1, 0, (Put(swiped),))], at=AT)
    siblings = await store.siblings(key, "main", 1)
    assert [item.entry.message.text for item in siblings] == ["one", "two"]
    assert await texts(store, key) == ["hello", "one"]
    assert await store.add_siblings(key, "main", [(1, [draft("two", "assistant"), draft("three", "assistant")])]) == 1
    assert len(await store.siblings(key, "main", 1)) == 3


async def test_choosing_a_swipe_and_going_back_uses_the_same_nodes(store: Store) -> None:
    key = await a_story(store, ["hello", "one"])
    await store.add_siblings(key, "main", [(1, [draft("two")])])
    one, two = await store.siblings(key, "main", 1)
    await store.apply(key, "main", [Splice(1, 1, (Reuse(two.entry.id),))], at=AT)
    assert (await store.branch(key)).head == two.node
    await store.apply(key, "main", [Splice(1, 1, (Reuse(one.entry.id),))], at=AT)
    assert (await store.branch(key)).head == one.node
    assert len(await store.siblings(key, "main", 1)) == 2


async def test_an_edit_leaves_the_old_message_as_a_sibling_and_logs_the_move(store: Store) -> None:
    key = await a_story(store, ["a", "b"])
    old = await store.branch(key)
    new = await store.apply(key, "main", [Splice(1, 1, (Put(draft("B")),))], at=AT)
    assert [item.entry.message.text for item in await store.siblings(key, "main", 1)] == ["b", "B"]
    last = (await store.moves(key))[-1]
    assert (last.branch, last.old_head, last.new_head, last.at) == ("main", old.head, new.head, AT)


async def test_branches_go_their_own_way(store: Store) -> None:
    key = await a_story(store, list("abcd"))
    info = await store.fork(key, "main", "alt", 2, at=AT)
    assert info.messages == 2
    await append(store, key, "X", branch="alt")
    await append(store, key, "e")
    await store.apply(key, "main", [Splice(0, 1, (Put(draft("A")),))], at=AT)
    assert await texts(store, key, "alt") == ["a", "b", "X"]
    assert await texts(store, key) == ["A", "b", "c", "d", "e"]
    assert [branch.name for branch in await store.branches(key)] == ["main", "alt"]
    assert (await store.switch(key, "alt")).messages == 3
    assert (await store.branch(key)).name == "alt"


async def test_branch_of_a_branch_of_a_branch(store: Store) -> None:
    key = await a_story(store, list("abcdef"))
    await store.fork(key, "main", "one", 5, at=AT)
    await append(store, key, "1", branch="one")
    await store.fork(key, "one", "two", 3, at=AT)
    await store.fork(key, "two", "three", 0, at=AT)
    await append(store, key, "z", branch="three")
    await store.apply(key, "one", [Splice(1, 1, ())], at=AT)
    assert await texts(store, key, "one") == list("acde1")
    assert await texts(store, key, "two") == list("abc")
    assert await texts(store, key, "three") == ["z"]


async def test_unknown_and_taken_branch_names_are_bad_input(store: Store) -> None:
    key = await a_story(store, ["a"])
    with pytest.raises(BadInput, match="already"):
        await store.fork(key, "main", "main", 1, at=AT)
    with pytest.raises(UnknownBranch, match="main"):
        await store.switch(key, "nowhere")
    with pytest.raises(UnknownBranch):
        await store.path(key, "nowhere", 0, 1)


async def test_a_version_comes_back_with_everything(store: Store) -> None:
    key = await a_story(store, list("abc"))
    version = await fold(store, key, 0, 1)
    assert await store.versions(key) == [version]
    live = await store.live(key, "main", Kind.RECAP, "")
    assert live is not None
    assert (live.version, live.span) == (version, Span(0, 1))
    assert await store.live(key, "main", Kind.RECAP, "Maya") is None


async def test_of_two_racing_folds_the_second_is_discarded(store: Store) -> None:
    key = await a_story(store, list("abc"))
    first = await fold(store, key, 0, 1)
    assert await fold(store, key, 0, 1) == first
    assert len(await store.versions(key)) == 1


async def test_a_refused_version_is_kept_and_never_live(store: Store) -> None:
    key = await a_story(store, list("abc"))
    made = (await fold(store, key, 0, 1)).made
    refused = NewVersion(Kind.RECAP, "x", made.span, made.key, None, "", "", Status.REFUSED, "model", "empty", AT)
    for _ in range(2):
        await store.commit(key, refused)
    assert [version.made.status for version in await store.versions(key)] == ["committed", "refused", "refused"]
    assert await store.live(key, "main", Kind.RECAP, "x") is None


async def test_memory_follows_the_path(store: Store) -> None:
    key = await a_story(store, list("abcdef"))
    one = await fold(store, key, 0, 1)
    two = await fold(store, key, 2, 3, before=one)
    assert await live_text(store, key) == "2 to 3"
    await store.apply(key, "main", [Splice(3, 1, (Put(draft("D")),))], at=AT)
    assert await live_text(store, key) == "0 to 1", "a link that read the old words is not valid"
    await store.apply(key, "main", [Splice(3, 1, (Put(draft("d")),))], at=AT)
    assert await live_text(store, key) == "2 to 3", "the old words are back, and so is what was made of them"
    assert await store.cover(key, "main") == [(0, 1, one.id), (2, 3, two.id)]
    await store.apply(key, "main", [Splice(0, 6, ())], at=AT)
    assert await store.cover(key, "main") == []
    await append(store, key, *"abc")
    assert await live_text(store, key) == "0 to 1"
    await append(store, key, "d")
    assert await live_text(store, key) == "2 to 3"


async def test_a_fold_of_a_branch_serves_every_branch_that_holds_its_messages(store: Store) -> None:
    key = await a_story(store, list("abcdef"))
    await store.fork(key, "main", "early", 1, at=AT)
    await store.fork(key, "main", "late", 5, at=AT)
    await append(store, key, *"bcX", branch="early")
    one = await fold(store, key, 0, 2)
    await fold(store, key, 3, 3, before=one)
    assert await live_text(store, key, "late") == "3 to 3"
    assert await live_text(store, key, "early") == "0 to 2", "told again in the same words"
    await fold(store, key, 3, 3, before=one, branch="early")
    assert len(await store.versions(key)) == 3


async def test_a_fold_commits_at_its_own_anchor_when_the_path_has_moved(store: Store) -> None:
    key = await a_story(store, list("abcd"))
    await store.fork(key, "main", "kept", 4, at=AT)
    await store.apply(key, "main", [Splice(0, 1, (Put(draft("A")),))], at=AT)
    await fold(store, key, 0, 3, branch="kept")
    assert await live_text(store, key) is None
    assert await live_text(store, key, "kept") == "0 to 3"


async def test_a_replacement_wins_over_what_it_replaces(store: Store) -> None:
    key = await a_story(store, list("abc"))
    old = await fold(store, key, 0, 1)
    made = old.made
    better = NewVersion(
        Kind.RECAP, "", made.span, made.key, None, "better", "", Status.COMMITTED, "model", "redone", AT,
        replaces=old.id,
    )  # fmt: skip
    await store.commit(key, better)
    assert await live_text(store, key) == "better"


async def test_owners_are_walls(store: Store) -> None:
    mine = await a_story(store, ["secret"])
    await fold(store, mine, 0, 0)
    theirs = StoryKey("they", mine.story)
    assert await store.stories("they") == []
    assert await store.story("they", "tale") is None
    other = await a_story(store, ["other"], owner="they")
    assert other != mine
    if theirs != other:
        with pytest.raises((UnknownBranch, KeyError)):
            await store.path(theirs, "main", 0, 9)
    assert await texts(store, mine) == ["secret"]


async def test_the_last_budget_is_remembered(store: Store) -> None:
    key = await a_story(store, ["a"])
    await store.note_budget(key, 900)
    info = await store.story(ME, "tale")
    assert info is not None
    assert info.budget_tokens == 900


async def test_a_long_change_in_the_past_and_a_bulk_append(store: Store) -> None:
    count = 5_000
    key = await a_story(store, [f"m{number}" for number in range(count)])
    one = await fold(store, key, 0, 39)
    await store.fork(key, "main", "kept", count, at=AT)
    await store.apply(key, "main", [Splice(50, 1, (Put(draft("edited")),))], at=AT)
    assert (await store.branch(key)).messages == count
    assert [item.entry.message.text for item in await store.path(key, "main", 49, 51)] == ["m49", "edited", "m51"]
    assert [item.entry.message.text for item in await store.path(key, "kept", 50, 50)] == ["m50"]
    assert await store.cover(key, "main") == [(0, 39, one.id)]
    known = await store.known(key, "main")
    assert len(known) == count
    assert known[4_999].entry == (await store.path(key, "kept", 4_999, 4_999))[0].entry.id


async def test_marks_move_with_the_path_and_are_copied_up_to_a_fork(store: Store) -> None:
    key = await a_story(store, list("abcdefgh"))
    first = await store.add_mark(key, "main", MarkKind.CHAPTER, 2, "One", made_by="person", at=AT)
    await store.add_mark(key, "main", MarkKind.BLOCK, 5, "By hand.", made_by="person", at=AT)
    await store.fork(key, "main", "alt", 4, at=AT)
    (copy,) = await store.marks(key, "alt")
    assert (copy.position, copy.origin, copy.scope, copy.text) == (2, first.id, first.scope, "One")
    await store.apply(key, "main", [Splice(0, 0, (Put(draft("new")),))], at=AT)
    assert [mark.position for mark in await store.marks(key, "main")] == [3, 6]
    assert [mark.position for mark in await store.marks(key, "alt")] == [2]
    await store.apply(key, "main", [Splice(3, 1, ())], at=AT)
    assert [(mark.position, mark.kind) for mark in await store.marks(key, "main")] == [(2, "chapter"), (5, "block")]
    await store.apply(key, "main", [Splice(0, 8, ())], at=AT)
    assert await store.marks(key, "main") == []


async def test_memory_behind_a_mark_has_a_chain_of_its_own(store: Store) -> None:
    key = await a_story(store, list("abcdef"))
    await fold(store, key, 0, 1)
    mark = await store.add_mark(key, "main", MarkKind.CHAPTER, 1, "One", made_by="person", at=AT)
    later = await fold(store, key, 2, 3, scope=mark.scope)
    assert await live_text(store, key) == "0 to 1"
    live = await store.live(key, "main", Kind.RECAP, mark.scope)
    assert live is not None
    assert (live.version.id, live.span) == (later.id, Span(2, 3))
    await store.apply(key, "main", [Splice(0, 1, (Put(draft("A")), Put(draft("AA"))))], at=AT)
    assert await live_text(store, key) is None, "the first chapter was changed"
    live = await store.live(key, "main", Kind.RECAP, mark.scope)
    assert live is not None
    assert live.span == Span(3, 4), "the second was not, and stands one message further on"
    assert await store.live(key, "main", Kind.RECAP, "77") is None


async def test_committed_memory_replaces_provisional_and_firmness_is_inherited(store: Store) -> None:
    key = await a_story(store, list("abcdef"))
    shaky = await fold(store, key, 0, 1, status=Status.PROVISIONAL)
    built_on_it = await fold(store, key, 2, 3, before=shaky)
    assert (shaky.firm, built_on_it.firm) == (False, False)
    assert await store.live(key, "main", Kind.RECAP, "", firm=True) is None
    assert await fold(store, key, 0, 1, status=Status.PROVISIONAL) == shaky
    better = await fold(store, key, 0, 1)
    assert (better.made.replaces, better.firm) == (shaky.id, True)
    firm = await store.live(key, "main", Kind.RECAP, "", firm=True)
    assert firm is not None
    assert firm.version == better
    assert await fold(store, key, 0, 1) == better, "a committed version is not replaced by another"


async def test_what_was_spent_is_summed_per_owner_and_time(store: Store) -> None:
    key = await a_story(store, list("abcd"))
    await fold(store, key, 0, 0)
    await fold(store, key, 0, 1)
    assert await store.spent(ME, "2026-01-01") == Cost(2, 4, 6)
    assert await store.spent(ME, "2027-01-01") == Cost()
    assert await store.spent("they", "2026-01-01") == Cost()


async def test_a_lease_is_held_by_one_until_it_ends(store: Store) -> None:
    key = await a_story(store)
    assert await store.take_lease(key, "recap", "one", now="10", until="20")
    assert not await store.take_lease(key, "recap", "two", now="15", until="25")
    assert await store.take_lease(key, "recap", "one", now="15", until="30")
    assert await store.take_lease(key, "other work", "two", now="15", until="25")
    assert await store.take_lease(key, "recap", "two", now="31", until="40"), "expired"
    await store.give_lease(key, "recap", "one")
    assert not await store.take_lease(key, "recap", "one", now="35", until="45")
    await store.give_lease(key, "recap", "two")
    assert await store.take_lease(key, "recap", "one", now="35", until="45")


async def test_memory_that_only_a_line_passed_over_knew_is_taken_along(store: Store) -> None:
    """A cover below a branch's fork, seen through a branch of that branch, when the latter is edited further up."""
    key = await a_story(store, list("abcdefghij"))
    await store.fork(key, "main", "one", 10, at=AT)
    await append(store, key, *"kl", branch="one")
    await store.apply(key, "main", [Splice(0, 1, (Put(draft("A")),))], at=AT)
    version = await fold(store, key, 0, 5, branch="one")
    await store.fork(key, "one", "two", 12, at=AT)
    await append(store, key, "m", branch="two")
    await store.apply(key, "two", [Splice(7, 1, ())], at=AT)
    assert await store.cover(key, "two") == [(0, 5, version.id)]
    await store.fork(key, "two", "three", 6, at=AT)
    assert await store.cover(key, "three") == [(0, 5, version.id)]
    assert await store.cover(key, "main") == []
