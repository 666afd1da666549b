"""The contract of `storage.store`, told once, kept by every store."""

from __future__ import annotations

from collections.abc import Awaitable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace

import pytest

from previously.core.digests import ROOT_HASH, node_hash, span_key
from previously.core.errors import BadInput, HeadMoved, UnknownBranch
from previously.core.marks import Mark, MarkKind
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
from previously.core.path import Put, Reuse, Span, Splice
from previously.core.versions import Cost, Kind, NewVersion, Status, Version
from previously.storage.store import StoryKey
from previously.storage.tables import Tables
from tests.contract.storage.verbs import VerbStore

AT = "2026-03-02T19:04:00+00:00"
ME = "me"


def draft(text: str, role: str = "user", **attributes: object) -> Draft:
    return Draft(message(role, text), Attributes(**attributes))  # type: ignore[arg-type]


async def a_story(store: VerbStore, texts: Sequence[str] = (), name: str = "tale", owner: str = ME) -> StoryKey:
    info = await store.create_story(owner, name, at=AT)
    if texts:
        await append(store, info.key, *texts)
    return info.key


async def append(store: VerbStore, key: StoryKey, *texts: str, branch: str = "main") -> None:
    length = (await store.branch(key, branch)).messages
    await store.apply(key, branch, [Splice(length, 0, tuple(Put(draft(text)) for text in texts))], at=AT)


async def texts(store: VerbStore, key: StoryKey, branch: str = "main") -> list[str]:
    return [item.entry.message.text for item in await store.path(key, branch, 0, 1_000_000)]


async def fold(
    store: VerbStore,
    key: StoryKey,
    first: int,
    last: int,
    *,
    before: Version | None = None,
    branch: str = "main",
    scope: str = "",
    status: Status = Status.COMMITTED,
    kind: Kind = Kind.RECAP,
    made_by: str = "builtin",
    reach: int = 0,
) -> Version:
    digests = [item.entry.digest for item in await store.path(key, branch, first, last)]
    return await store.commit(
        key,
        NewVersion(
            kind=kind,
            scope=scope,
            span=Span(first, last),
            key=span_key(digests),
            before=before.id if before else None,
            text=f"{first} to {last}",
            carry="{}",
            status=status,
            made_by=made_by,
            reason="40 messages",
            at=AT,
            cost=Cost(1, 2, 3),
            reach=reach,
        ),
    )


async def live_text(store: VerbStore, key: StoryKey, branch: str = "main") -> str | None:
    live = await store.live(key, branch, Kind.RECAP, "")
    return live.version.made.text if live else None


async def mark(
    store: VerbStore,
    key: StoryKey,
    position: int,
    kind: MarkKind = MarkKind.CHAPTER,
    text: str = "",
    *,
    branch: str = "main",
    seen: bytes = b"",
    origin: int = 0,
    retires: Sequence[int] = (),
) -> Mark:
    return await store.add_mark(
        key, branch, kind, position, text, made_by="person", at=AT, seen=seen, origin=origin, retires=retires
    )


async def covered(store: VerbStore, key: StoryKey, branch: str = "main") -> list[int]:
    return [version for _, _, version in await store.cover(key, branch)]


async def test_when_stories_last_changed(store: VerbStore) -> None:
    first, second = [await a_story(store, ["a"], name) for name in ("one", "two")]
    await a_story(store, name="empty")
    await a_story(store, ["a"], "theirs", "they")
    later = AT.replace("2026", "2027")
    await store.append(second, None, [draft("b")], at=later)
    assert await store.last_changes(ME) == {first.story: AT, second.story: later}
    await store.note_budget(first, 100)
    await store.fork(first, "main", "other", 1, at=later)
    assert (await store.last_changes(ME))[first.story] == AT, "looking, folding and forking change no path"


async def test_a_new_story_has_one_empty_branch(store: VerbStore) -> None:
    info = await store.create_story(ME, "tale", at=AT)
    assert (info.name, info.branches, info.budget_tokens) == ("tale", 1, None)
    assert (info.active.name, info.active.messages) == ("main", 0)
    assert await store.path(info.key, "main", 0, 10) == []
    assert await store.live(info.key, "main", Kind.RECAP, "") is None


async def test_creating_a_story_twice_gives_the_first(store: VerbStore) -> None:
    key = await a_story(store, ["one"])
    again = await store.create_story(ME, "tale", at=AT)
    assert again.key == key
    assert again.active.messages == 1


async def test_stories_come_by_name(store: VerbStore) -> None:
    for name in ("zebra", "apple", "mango"):
        await a_story(store, ["x"], name)
    assert [info.name for info in await store.stories(ME)] == ["apple", "mango", "zebra"]


async def test_a_story_is_known_by_what_its_header_says(store: VerbStore) -> None:
    headers = {
        "one": '{"chat": "a%_\\u00e9\\"", "other": "b"}',
        "two": '{"other": {"chat": "b"}, "chat": "c", "kept": "\\u0000"}',
        "three": '[{"chat": "b"}]',
        "four": '{"words": "\\"chat\\": \\"d\\""}',
    }
    for name, header in headers.items():
        await store.keep_header(await a_story(store, name=name), header)
    await store.keep_header(await a_story(store, name="five", owner="another"), '{"chat": "e"}')

    async def known_by(value: str) -> str | None:
        info = await store.database.reading(ME, lambda tables: tables.stories.known_by(ME, "chat", value))
        return info.name if info else None

    assert [await known_by(value) for value in ('a%_é"', "a", "b", "c", "d", "e")] == [
        "one",
        None,
        None,
        "two",
        None,
        None,
    ]


async def test_every_kind_of_part_comes_back_as_it_was(store: VerbStore) -> None:
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


async def test_no_witnesses_is_not_the_same_as_nobody(store: VerbStore) -> None:
    key = await a_story(store)
    pieces = tuple(Put(Draft(message("user", "psst", witnesses=who))) for who in (None, ()))
    await store.apply(key, "main", [Splice(0, 0, pieces)], at=AT)
    everyone, nobody = await store.path(key, "main", 0, 1)
    assert (everyone.entry.message.witnesses, nobody.entry.message.witnesses) == (None, ())
    assert everyone.entry.digest != nobody.entry.digest


async def test_positions_hashes_and_depths_follow_the_path(store: VerbStore) -> None:
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


async def test_equal_messages_are_two_entries(store: VerbStore) -> None:
    key = await a_story(store, ["ok", "ok"])
    first, second = await store.path(key, "main", 0, 1)
    assert first.entry.digest == second.entry.digest
    assert first.entry.id != second.entry.id


async def test_a_script_edits_inserts_and_deletes_at_once(store: VerbStore) -> None:
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


async def test_a_script_that_does_not_fit_changes_nothing(store: VerbStore) -> None:
    key = await a_story(store, list("abc"))
    for script in ([Splice(4, 0, ())], [Splice(2, 2, ())], [Splice(1, 1, ()), Splice(0, 1, ())]):
        with pytest.raises(ValueError, match="does not fit"):
            await store.apply(key, "main", script, at=AT)
    assert await texts(store, key) == list("abc")


async def test_an_expected_head_that_moved_changes_nothing(store: VerbStore) -> None:
    key = await a_story(store, ["a"])
    head = (await store.branch(key)).head
    await append(store, key, "b")
    with pytest.raises(HeadMoved):
        await store.apply(key, "main", [Splice(2, 0, (Put(draft("c")),))], at=AT, expected_head=head)
    assert await texts(store, key) == ["a", "b"]


async def test_a_receipt_is_honoured_once(store: VerbStore) -> None:
    key = await a_story(store)
    for _ in range(2):
        info = await store.apply(key, "main", [Splice(0, 0, (Put(draft("a")),))], at=AT, receipt="r1")
    assert info.messages == 1
    assert await texts(store, key) == ["a"]


async def test_messages_are_appended_wherever_the_end_is(store: VerbStore) -> None:
    key = await a_story(store, ["a", "b"])
    await store.fork(key, "main", "other", 1, at=AT)
    seen = await store.branch(key, "other")
    first = await store.append(key, "other", [draft("x"), draft("y")], at=AT, receipt="one")
    assert (first.name, first.messages) == ("other", 3)
    assert await store.append(key, "other", [draft("x"), draft("y")], at=AT, receipt="one") == first
    with pytest.raises(HeadMoved):
        await store.append(key, "other", [draft("z")], at=AT, expected_head=seen.head)
    assert (await store.append(key, None, [draft("c")], at=AT)).name == "main"
    assert (await store.append(key, None, [], at=AT)).messages == 3
    assert await texts(store, key) == ["a", "b", "c"]
    assert await texts(store, key, "other") == ["a", "x", "y"]
    with pytest.raises(UnknownBranch):
        await store.append(key, "nowhere", [draft("z")], at=AT)


async def test_reads_that_belong_together_are_of_one_moment(store: VerbStore) -> None:
    key = await a_story(store, ["a", "b"])
    await fold(store, key, 0, 1)

    async def look(moment: VerbStore) -> tuple[list[str], int, int]:
        info = await moment.story(ME, "tale")
        live = await moment.live(key, "main", Kind.RECAP, "")
        assert info is not None and live is not None
        return await texts(moment, key), info.active.messages, live.span.last

    assert await store.at_one_moment(ME, look) == (["a", "b"], 2, 1)
    await append(store, key, "c")
    assert await store.at_one_moment(ME, look) == (["a", "b", "c"], 3, 1)

    async def fail(moment: VerbStore) -> None:
        await moment.branch(key, "nowhere")

    with pytest.raises(UnknownBranch):
        await store.at_one_moment(ME, fail)


async def test_attributes_change_without_moving_a_node(store: VerbStore) -> None:
    key = await a_story(store, ["a", "b"])
    before = await store.path(key, "main", 0, 1)
    await store.set_attributes(key, [(before[1].entry.id, Attributes(hidden=True, extra={"k": "v"}))])
    after = await store.path(key, "main", 0, 1)
    assert after[1].entry.attributes == Attributes(hidden=True, extra={"k": "v"})
    assert (after[1].node, after[1].hash) == (before[1].node, before[1].hash)


async def test_alternatives_are_siblings_off_the_path(store: VerbStore) -> None:
    key = await a_story(store, ["hello"])
    swiped = Draft(message("assistant", "one"), alternatives=(draft("two", "assistant"), draft("one", "assistant")))
    await store.apply(key, "main", [Splice(1, 0, (Put(swiped),))], at=AT)
    siblings = await store.siblings(key, "main", 1)
    assert [item.entry.message.text for item in siblings] == ["one", "two"]
    assert await texts(store, key) == ["hello", "one"]
    assert await store.add_siblings(key, "main", [(1, [draft("two", "assistant"), draft("three", "assistant")])]) == 1
    assert len(await store.siblings(key, "main", 1)) == 3


async def test_choosing_a_swipe_and_going_back_uses_the_same_nodes(store: VerbStore) -> None:
    key = await a_story(store, ["hello", "one"])
    await store.add_siblings(key, "main", [(1, [draft("two")])])
    one, two = await store.siblings(key, "main", 1)
    await store.apply(key, "main", [Splice(1, 1, (Reuse(two.entry.id),))], at=AT)
    assert (await store.branch(key)).head == two.node
    await store.apply(key, "main", [Splice(1, 1, (Reuse(one.entry.id),))], at=AT)
    assert (await store.branch(key)).head == one.node
    assert len(await store.siblings(key, "main", 1)) == 2


async def test_an_edit_leaves_the_old_message_as_a_sibling_and_logs_the_move(store: VerbStore) -> None:
    key = await a_story(store, ["a", "b"])
    old = await store.branch(key)
    new = await store.apply(key, "main", [Splice(1, 1, (Put(draft("B")),))], at=AT)
    assert [item.entry.message.text for item in await store.siblings(key, "main", 1)] == ["b", "B"]
    last = (await store.moves(key))[-1]
    assert (last.branch, last.old_head, last.new_head, last.at) == ("main", old.head, new.head, AT)


async def test_branches_go_their_own_way(store: VerbStore) -> None:
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


async def test_branch_of_a_branch_of_a_branch(store: VerbStore) -> None:
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


async def test_unknown_and_taken_branch_names_are_bad_input(store: VerbStore) -> None:
    key = await a_story(store, ["a"])
    with pytest.raises(BadInput, match="already"):
        await store.fork(key, "main", "main", 1, at=AT)
    with pytest.raises(UnknownBranch, match="main"):
        await store.switch(key, "nowhere")
    with pytest.raises(UnknownBranch):
        await store.path(key, "nowhere", 0, 1)


async def test_a_version_comes_back_with_everything(store: VerbStore) -> None:
    key = await a_story(store, list("abc"))
    plain = await fold(store, key, 0, 1)
    whole = replace(
        plain.made,
        before=plain.id,
        model="m",
        prompt_hash="h",
        shed=("40", "Vasey"),
        unverified=("It rained.",),
        anchor=(await store.path(key, "main", 1, 1))[0].node,
        reach=4,
        commitments=("Ines owes Odalys 40 crowns.", "Zoë's trunk: unpaid"),
    )
    version = await store.commit(key, whole)
    assert version.made == whole
    assert await store.versions(key) == [plain, version]
    assert await store.version(key, version.id) == version
    assert await store.version(key, 77) is None
    for wrong in (replace(whole, anchor=(await store.branch(key)).head), replace(whole, anchor=10_000)):
        with pytest.raises(HeadMoved):
            await store.commit(key, wrong)
    live = await store.live(key, "main", Kind.RECAP, "")
    assert live is not None
    assert (live.version, live.span) == (plain, Span(0, 1)), "the other one's run does not follow on this path"
    assert await store.live(key, "main", Kind.RECAP, "Maya") is None


async def test_of_two_racing_folds_the_second_is_discarded(store: VerbStore) -> None:
    key = await a_story(store, list("abc"))
    first = await fold(store, key, 0, 1)
    assert await fold(store, key, 0, 1) == first
    assert len(await store.versions(key)) == 1


async def several(store: VerbStore, key: StoryKey) -> list[NewVersion]:
    """A link of the recap, an episode and a note of the same messages, on their way into the store."""
    read = await store.path(key, "main", 0, 1)
    digests = [item.entry.digest for item in read]
    made: tuple[object, ...] = (span_key(digests), None, "", "", Status.COMMITTED, "model", "due", AT)
    kinds = ((Kind.RECAP, ""), (Kind.EPISODE, "*"), (Kind.NOTE, "*"))
    news = [NewVersion(kind, scope, Span(0, 1), *made) for kind, scope in kinds]  # type: ignore[arg-type]
    return [replace(new, text=new.kind.value, anchor=read[-1].node, first=digests[0]) for new in news]


async def test_several_versions_are_kept_in_one_step(store: VerbStore) -> None:
    key = await a_story(store, list("abc"))
    news = await several(store, key)
    made = await store.commit_all(key, news)
    assert [version.made for version in made] == news
    assert await store.versions(key) == made
    assert await live_text(store, key) == "recap"
    assert await covered(store, key) == [made[0].id], "notes of a span are covered nowhere"
    assert await store.notes(key, Kind.NOTE, "*", [news[0].first]) == [made[2]]
    assert await store.commit_all(key, []) == []


async def test_of_several_versions_the_same_folds_are_given_back(store: VerbStore) -> None:
    key = await a_story(store, list("abc"))
    news = await several(store, key)
    episode = await store.commit(key, news[1])
    made = await store.commit_all(key, [*news, replace(news[0], text="again")])
    assert (made[1], made[3]) == (episode, made[0])
    assert len(await store.versions(key)) == 3
    assert await store.commit_all(key, news[::-1]) == made[2::-1]


async def test_if_one_of_several_versions_is_refused_none_is_kept(store: VerbStore) -> None:
    key = await a_story(store, list("abc"))
    recap, episode, note = await several(store, key)
    for wrong, error in (
        (replace(note, key=b"other words"), HeadMoved),
        (replace(note, anchor=10_000), HeadMoved),
        (replace(note, first=b""), BadInput),
        (replace(recap, scope="@own", span=Span(1, 1)), BadInput),
        (replace(recap, before=10_000), BadInput),
    ):
        for news in ([recap, episode, wrong], [wrong, recap, episode], [recap, wrong, episode]):
            with pytest.raises(error):
                await store.commit_all(key, news)
            assert await store.versions(key) == []
            assert await covered(store, key) == []
    made = await store.commit_all(key, [recap, episode])
    assert await store.versions(key) == made


async def test_versions_kept_in_one_step_do_not_go_on_from_one_another(store: VerbStore) -> None:
    key = await a_story(store, list("abcd"))
    first = await fold(store, key, 0, 0)
    digests = [item.entry.digest for item in await store.path(key, "main", 1, 3)]
    one, two = (replace(first.made, span=Span(at, at), key=span_key(digests[at - 1 : at])) for at in (1, 2))
    guessed = replace(two, before=first.id + 1)  # the id that the other one would have
    with pytest.raises(BadInput, match=f"no version {first.id + 1}"):
        await store.commit_all(key, [replace(one, before=first.id), guessed])
    with pytest.raises(BadInput, match=f"no version {first.id + 1}"):
        await store.commit(key, guessed)
    assert await store.versions(key) == [first]
    second = await store.commit(key, replace(one, before=first.id))
    third = await store.commit(key, replace(two, before=second.id))
    assert await covered(store, key) == [first.id, second.id, third.id]


async def test_a_version_does_not_go_on_from_one_of_another_story(store: VerbStore) -> None:
    key, other = await a_story(store, list("abc")), await a_story(store, list("abc"), "other")
    first = await fold(store, key, 0, 0)
    with pytest.raises(BadInput, match=f"no version {first.id}"):
        await fold(store, other, 1, 1, before=first)
    assert await store.versions(other) == []


async def test_a_refused_version_is_kept_and_never_live(store: VerbStore) -> None:
    key = await a_story(store, list("abc"))
    made = (await fold(store, key, 0, 1)).made
    refused = NewVersion(Kind.RECAP, "x", made.span, made.key, None, "", "", Status.REFUSED, "model", "empty", AT)
    for _ in range(2):
        await store.commit(key, refused)
    assert [version.made.status for version in await store.versions(key)] == ["committed", "refused", "refused"]
    assert await store.live(key, "main", Kind.RECAP, "x") is None


async def test_memory_follows_the_path(store: VerbStore) -> None:
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


async def test_a_fold_of_a_branch_serves_every_branch_that_holds_its_messages(store: VerbStore) -> None:
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


async def test_a_fold_commits_at_its_own_anchor_when_the_path_has_moved(store: VerbStore) -> None:
    key = await a_story(store, list("abcd"))
    await store.fork(key, "main", "kept", 4, at=AT)
    await store.apply(key, "main", [Splice(0, 1, (Put(draft("A")),))], at=AT)
    await fold(store, key, 0, 3, branch="kept")
    assert await live_text(store, key) is None
    assert await live_text(store, key, "kept") == "0 to 3"


async def test_a_replacement_wins_over_what_it_replaces(store: VerbStore) -> None:
    key = await a_story(store, list("abc"))
    old = await fold(store, key, 0, 1)
    made = old.made
    better = NewVersion(
        Kind.RECAP, "", made.span, made.key, None, "better", "", Status.COMMITTED, "model", "redone", AT,
        replaces=old.id,
    )  # fmt: skip
    await store.commit(key, better)
    assert await live_text(store, key) == "better"


async def test_owners_are_walls(store: VerbStore) -> None:
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


async def test_the_last_budget_is_remembered(store: VerbStore) -> None:
    key = await a_story(store, ["a"])
    await store.note_budget(key, 900)
    info = await store.story(ME, "tale")
    assert info is not None
    assert info.budget_tokens == 900


async def test_a_long_change_in_the_past_and_a_bulk_append(store: VerbStore) -> None:
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


async def test_messages_that_are_read_as_they_come_are_seen_all_at_once(
    store: VerbStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("previously.storage.tables.path_writer.ROWS_PER_STAGE", 10)
    key = await a_story(store, ["a", "b"])
    head = (await store.branch(key)).head
    noted: list[int] = []

    async def extend(count: int, fault: int = -1) -> None:
        def read() -> Iterator[Draft]:
            for number in range(count):
                if number == fault:
                    raise BadInput("line 36 is broken.")
                yield draft(f"m{number}")

        def note(tables: Tables) -> None:
            noted.append(tables.branch(key, "main").messages)

        await store.extend(key, "main", read, at=AT, expected_head=head, also=note)

    with pytest.raises(BadInput, match="line 36"):
        await extend(50, fault=35)
    assert ((await store.branch(key)).messages, noted) == (2, [])
    await extend(50)
    assert ((await store.branch(key)).messages, noted) == (52, [52])
    assert [item.entry.message.text for item in await store.path(key, "main", 50, 51)] == ["m48", "m49"]
    with pytest.raises(HeadMoved):
        await extend(1)
    taken = await store.gc(ME, before="9999")
    assert (taken.lines, taken.nodes, taken.entries) == (0, 0, 0)


async def test_marks_move_with_the_path_and_are_copied_up_to_a_fork(store: VerbStore) -> None:
    key = await a_story(store, list("abcdefgh"))
    first = await mark(store, key, 2, text="One", seen=b"abc")
    await mark(store, key, 5, MarkKind.RECAP, "By hand.")
    await store.fork(key, "main", "alt", 4, at=AT)
    (copy,) = await store.marks(key, "alt")
    assert copy == replace(first, id=copy.id)
    assert (copy.position, copy.origin, copy.scope, copy.seen) == (2, first.id, first.scope, b"abc")
    await store.apply(key, "main", [Splice(0, 0, (Put(draft("new")),))], at=AT)
    assert [one.position for one in await store.marks(key, "main")] == [3, 6]
    assert [one.position for one in await store.marks(key, "alt")] == [2]
    await store.apply(key, "main", [Splice(3, 1, ())], at=AT)
    assert [(one.position, one.kind) for one in await store.marks(key, "main")] == [(2, "chapter"), (5, "recap")]


async def test_no_mark_is_lost_to_a_script(store: VerbStore) -> None:
    key = await a_story(store, list("abcdefgh"))
    first = await mark(store, key, 2, text="One")
    second = await mark(store, key, 5, text="Two")
    await store.apply(key, "main", [Splice(0, 8, ())], at=AT)
    marks = await store.marks(key, "main")
    assert [(one.position, one.text) for one in marks] == [(-1, "One"), (-1, "Two")]
    await store.fork(key, "main", "alt", 0, at=AT)
    assert [(one.position, one.origin) for one in await store.marks(key, "alt")] == [(-1, first.id), (-1, second.id)]
    await append(store, key, *"xyz")
    assert [one.position for one in await store.marks(key, "main")] == [-1, -1]
    version = await fold(store, key, 0, 1, scope=second.scope)
    assert await store.cover(key, "main") == [(0, 1, version.id)], "the scope begins with the first message now"
    assert await store.cover(key, "alt") == []
    await append(store, key, *"xy", branch="alt")
    assert await store.cover(key, "alt") == [(0, 1, version.id)]


async def test_marks_are_found_by_kind_and_place(store: VerbStore) -> None:
    key = await a_story(store, list("abcdefgh"))
    assert await store.marks(key, "main") == []
    for position, kind in [
        (5, MarkKind.CHAPTER),
        (2, MarkKind.PIN),
        (2, MarkKind.CHAPTER),
        (4, MarkKind.RECAP),
        (5, MarkKind.CHAPTER_RECAP),
        (5, MarkKind.BACKBONE),
    ]:
        await mark(store, key, position, kind, f"{kind} {position}")
    found = [(one.text, one.kind) for one in await store.marks(key, "main")]
    assert [text for text, _ in found] == [
        "pin 2", "chapter 2", "recap 4", "chapter 5", "chapter recap 5", "backbone 5",
    ]  # fmt: skip
    assert all(text.startswith(kind) for text, kind in found)
    some = await store.marks(key, "main", {MarkKind.CHAPTER, MarkKind.RECAP})
    assert [one.text for one in some] == ["chapter 2", "recap 4", "chapter 5"]
    later = await store.marks(key, "main", {MarkKind.CHAPTER, MarkKind.RECAP}, since=4)
    assert [one.text for one in later] == ["recap 4", "chapter 5"]
    assert await store.marks(key, "main", since=6) == []
    assert await store.marks(key, "main", ()) == []
    with pytest.raises(UnknownBranch):
        await store.marks(key, "nowhere")


async def test_the_newest_marks_of_a_kind_are_counted_from_the_end(store: VerbStore) -> None:
    key = await a_story(store, [str(number) for number in range(40)])
    assert await store.newest_mark(key, "main", MarkKind.CHAPTER, 0) == (None, 0)
    marks = {position: await mark(store, key, position) for position in (19, 9, 29)}
    await mark(store, key, 35, MarkKind.RECAP)
    for number, position, count in [(0, 29, 3), (1, 19, 2), (2, 9, 1)]:
        assert await store.newest_mark(key, "main", MarkKind.CHAPTER, number) == (marks[position], count)
    for number in (3, 5):
        assert await store.newest_mark(key, "main", MarkKind.CHAPTER, number) == (None, 0)
    again = await mark(store, key, 29)
    assert await store.newest_mark(key, "main", MarkKind.CHAPTER, 0) == (again, 3), "two at one message count once"
    assert await store.newest_mark(key, "main", MarkKind.CHAPTER, 1) == (marks[29], 3)
    await store.fork(key, "main", "alt", 20, at=AT)
    newest, count = await store.newest_mark(key, "alt", MarkKind.CHAPTER, 0)
    assert newest is not None
    assert (newest.position, newest.origin, count) == (19, marks[19].id, 2)
    with pytest.raises(UnknownBranch):
        await store.newest_mark(key, "nowhere", MarkKind.CHAPTER, 0)


async def test_a_mark_can_retire_others_and_what_it_retired_is_back_when_it_is_taken_back(store: VerbStore) -> None:
    key = await a_story(store, list("abcdefgh"))
    one = await mark(store, key, 1, MarkKind.RECAP, "Old words.", seen=b"old")
    link = await fold(store, key, 2, 3, scope=one.scope)
    pin = await mark(store, key, 2, MarkKind.PIN, "A pin.")
    two = await mark(store, key, 1, MarkKind.RECAP, "New words.", seen=b"new", origin=one.origin, retires=[one.id])
    assert (two.origin, two.scope, two.after) == (one.origin, one.scope, link.id)
    assert await store.marks(key, "main") == [two, pin]
    assert await covered(store, key) == [link.id], "memory behind it goes on"
    three = await mark(store, key, 5, MarkKind.RECAP, "Newest words.", retires=[two.id, pin.id, 77])
    assert await store.marks(key, "main") == [three]
    assert await covered(store, key) == []

    await store.fork(key, "main", "all", 8, at=AT)
    await store.fork(key, "main", "early", 4, at=AT)
    assert [copy.text for copy in await store.marks(key, "early")] == ["New words.", "A pin."], "back before it"
    (copy,) = await store.marks(key, "all")
    await store.take_back_mark(key, "all", copy.id)
    assert [copy.text for copy in await store.marks(key, "all")] == ["New words.", "A pin."]

    await store.apply(key, "main", [Splice(0, 1, ())], at=AT)
    await store.take_back_mark(key, "main", three.id)
    assert await store.marks(key, "main") == [replace(two, position=0), replace(pin, position=1)], "retired ones move"
    assert await covered(store, key) == [link.id]
    await store.take_back_mark(key, "main", two.id)
    assert [left.text for left in await store.marks(key, "main")] == ["Old words.", "A pin."]
    for missing in (two.id, one.id + 77):
        with pytest.raises(BadInput, match="no mark"):
            await store.take_back_mark(key, "main", missing)
    with pytest.raises(UnknownBranch):
        await store.take_back_mark(key, "nowhere", one.id)


async def test_marks_that_fell_back_to_one_message_keep_their_order(store: VerbStore) -> None:
    key = await a_story(store, list("abcdefgh"))
    late = await mark(store, key, 5, text="late")
    early = await mark(store, key, 3, text="early")
    again = await mark(store, key, 3, text="early, named", origin=early.origin, retires=[early.id])
    await store.apply(key, "main", [Splice(4, 2, ())], at=AT)
    assert [one.text for one in await store.marks(key, "main")] == ["early, named", "late"]
    await mark(store, key, 3, text="early, named again", origin=early.origin, retires=[again.id])
    assert [one.text for one in await store.marks(key, "main")] == ["early, named again", "late"]
    newest, count = await store.newest_mark(key, "main", MarkKind.CHAPTER, 0)
    assert newest is not None
    assert (newest.id, count) == (late.id, 1)
    await store.fork(key, "main", "alt", 5, at=AT)
    assert [one.text for one in await store.marks(key, "alt")] == ["early, named again", "late"]


async def test_spans_say_the_scope(store: VerbStore) -> None:
    key = await a_story(store, list("abcdef"))
    one = await mark(store, key, 1)
    await fold(store, key, 0, 1)
    await fold(store, key, 2, 3, scope=one.scope)
    await fold(store, key, 2, 4, scope=one.scope, status=Status.PROVISIONAL)
    assert await store.spans(key, "main", Kind.RECAP) == {("", 0, 1), (one.scope, 2, 3), (one.scope, 2, 4)}
    assert await store.spans(key, "main", Kind.RECAP, firm=True) == {("", 0, 1), (one.scope, 2, 3)}
    assert await store.spans(key, "main", Kind.CHAPTER) == set()


async def test_copies_of_marks_keep_the_order_in_which_they_were_made(store: VerbStore) -> None:
    key = await a_story(store, list("abcdefgh"))
    for position in (5, 2, 4):
        await mark(store, key, position, MarkKind.PIN, str(position))
    await store.fork(key, "main", "alt", 8, at=AT)
    copies = sorted(await store.marks(key, "alt"), key=lambda one: one.id)
    assert [copy.text for copy in copies] == ["5", "2", "4"]


async def test_a_mark_that_is_taken_off_takes_its_memory_from_this_branch_only(store: VerbStore) -> None:
    key = await a_story(store, list("abcdefgh"))
    chapter = await mark(store, key, 1)
    one = await fold(store, key, 2, 3, scope=chapter.scope)
    await store.fork(key, "main", "alt", 7, at=AT)
    await store.take_back_mark(key, "main", chapter.id)
    assert await store.marks(key, "main") == []
    assert await store.cover(key, "main") == []
    assert await store.live(key, "main", Kind.RECAP, chapter.scope) is None
    two = await fold(store, key, 4, 5, before=one, scope=chapter.scope)
    assert await covered(store, key) == [], "what is made later under that scope is not known here either"
    assert await covered(store, key, "alt") == [one.id, two.id]
    await store.apply(key, "main", [Splice(3, 1, ())], at=AT)
    await store.apply(key, "main", [Splice(3, 0, (Put(draft("d")),))], at=AT)
    assert await covered(store, key) == []
    await store.fork(key, "main", "late", 8, at=AT)
    assert await covered(store, key, "late") == []
    await store.fork(key, "alt", "later", 6, at=AT)
    assert await covered(store, key, "later") == [one.id, two.id]
    with pytest.raises(BadInput, match="no mark"):
        await store.take_back_mark(key, "main", chapter.id)
    with pytest.raises(BadInput, match="no mark"):
        await store.take_back_mark(key, "alt", chapter.id)  # there its copy has another id
    with pytest.raises(UnknownBranch):
        await store.take_back_mark(key, "nowhere", chapter.id)


async def test_the_scope_of_a_mark_is_never_given_again(store: VerbStore) -> None:
    key = await a_story(store, list("abcd"))
    gone = await mark(store, key, 1)
    await fold(store, key, 2, 3, scope=gone.scope)
    await store.take_back_mark(key, "main", gone.id)
    new = await mark(store, key, 1)
    assert new.scope != gone.scope
    assert await store.cover(key, "main") == []


async def test_memory_behind_a_mark_has_a_chain_of_its_own(store: VerbStore) -> None:
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


async def test_committed_memory_replaces_provisional_and_firmness_is_inherited(store: VerbStore) -> None:
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


async def test_what_was_spent_is_summed_per_owner_and_time(store: VerbStore) -> None:
    key = await a_story(store, list("abcd"))
    await fold(store, key, 0, 0)
    await fold(store, key, 0, 1)
    assert await store.spent(ME, "2026-01-01") == Cost(2, 4, 6)
    assert await store.spent(ME, "2027-01-01") == Cost()
    assert await store.spent("they", "2026-01-01") == Cost()


async def test_a_lease_is_held_by_one_until_it_ends(store: VerbStore) -> None:
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


async def test_memory_that_only_a_line_passed_over_knew_is_taken_along(store: VerbStore) -> None:
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


async def test_only_what_is_in_force_is_covered(store: VerbStore) -> None:
    key = await a_story(store, list("abcdef"))
    one = await fold(store, key, 0, 1)
    held = await fold(store, key, 2, 3, before=one, status=Status.PENDING)
    assert held.firm, "as firm as it will be once it is approved"
    on_it = await fold(store, key, 4, 4, before=held)
    assert await covered(store, key) == [one.id], "what is held is valid nowhere, nor is what is built on it"
    await fold(store, key, 0, 2, status=Status.PENDING)
    await append(store, key, "g")
    await store.apply(key, "main", [Splice(1, 1, (Put(draft("b")),))], at=AT)
    assert await covered(store, key) == [one.id], "nor once the path has changed"
    assert await fold(store, key, 2, 3, before=one, status=Status.PENDING) == held, "nor is it made twice"
    assert await fold(store, key, 2, 3, before=one) == held
    approved = await store.set_status(key, held.id, Status.COMMITTED, reason="approved")
    assert approved == await store.version(key, held.id)
    assert (approved.made.status, approved.made.reason, approved.firm) == ("committed", "40 messages; approved", True)
    assert await store.cover(key, "main") == [(0, 1, one.id), (2, 3, held.id), (4, 4, on_it.id)]


async def test_what_is_rejected_makes_room(store: VerbStore) -> None:
    key = await a_story(store, list("abcd"))
    held = await fold(store, key, 0, 1, status=Status.PENDING)
    await store.set_status(key, held.id, Status.REFUSED, reason="")
    assert (await store.versions(key))[0].made.reason == "40 messages"
    new = await fold(store, key, 0, 1)
    assert (new.id != held.id, new.made.replaces) == (True, None)
    for status in (Status.PENDING, Status.COMMITTED, Status.UNDONE):
        with pytest.raises(BadInput, match="in its place"):
            await store.set_status(key, held.id, status, reason="after all")
    assert await covered(store, key) == [new.id]
    assert [version.made.status for version in await store.versions(key)] == ["refused", "committed"]
    alone = await fold(store, key, 0, 2, status=Status.REFUSED)
    await store.set_status(key, alone.id, Status.PROVISIONAL, reason="better than nothing")
    assert await covered(store, key) == [new.id, alone.id]


async def test_what_is_taken_back_takes_along_what_was_built_on_it_everywhere(store: VerbStore) -> None:
    key = await a_story(store, list("abcdefgh"))
    await store.fork(key, "main", "alt", 7, at=AT)
    one = await fold(store, key, 0, 1)
    two = await fold(store, key, 2, 3, before=one)
    three = await fold(store, key, 4, 5, before=two)
    other = await fold(store, key, 2, 4, before=one, status=Status.PROVISIONAL)
    await store.apply(key, "alt", [Splice(5, 1, ())], at=AT)
    everything = {name: await store.cover(key, name) for name in ("main", "alt")}
    assert everything == {
        "main": [(0, 1, one.id), (2, 3, two.id), (2, 4, other.id), (4, 5, three.id)],
        "alt": [(0, 1, one.id), (2, 3, two.id), (2, 4, other.id)],
    }
    await store.set_status(key, two.id, Status.UNDONE, reason="undone")
    assert await covered(store, key) == [one.id, other.id]
    assert await covered(store, key, "alt") == [one.id, other.id]
    assert await live_text(store, key) == "2 to 4"
    await append(store, key, *"ij")
    assert await covered(store, key) == [one.id, other.id], "a path that changes does not bring it back"
    await store.fork(key, "main", "late", 6, at=AT)
    assert await covered(store, key, "late") == [one.id, other.id]
    await store.set_status(key, three.id, Status.UNDONE, reason="undone")
    await store.set_status(key, two.id, Status.COMMITTED, reason="restored")
    assert await covered(store, key) == [one.id, two.id, other.id], "what was taken back by itself stays so"
    await store.set_status(key, three.id, Status.COMMITTED, reason="restored")
    assert {name: await store.cover(key, name) for name in ("main", "alt")} == everything
    assert await store.cover(key, "late") == everything["main"]
    await store.set_status(key, one.id, Status.REFUSED, reason="")
    assert [await covered(store, key, name) for name in ("main", "alt", "late")] == [[], [], []]
    await store.set_status(key, one.id, Status.PROVISIONAL, reason="")
    assert {name: await store.cover(key, name) for name in ("main", "alt")} == everything
    await store.set_status(key, one.id, Status.COMMITTED, reason="")
    assert {name: await store.cover(key, name) for name in ("main", "alt")} == everything


async def test_a_status_is_given_to_versions_of_this_story_only(store: VerbStore) -> None:
    key = await a_story(store, list("abcd"))
    version = await fold(store, key, 0, 1)
    other = await a_story(store, list("abcd"), "another tale")
    for story, ident in ((key, 77), (other, version.id)):
        with pytest.raises(BadInput, match="no version"):
            await store.set_status(story, ident, Status.UNDONE, reason="x")
    assert await store.version(other, version.id) is None
    assert await store.versions(key) == [version]


async def test_what_was_taken_back_is_replaced_by_anything(store: VerbStore) -> None:
    key = await a_story(store, list("abcd"))
    first = await fold(store, key, 0, 1)
    await store.set_status(key, first.id, Status.UNDONE, reason="undone")
    second = await fold(store, key, 0, 1, status=Status.PROVISIONAL)
    assert second.made.replaces == first.id
    third = await fold(store, key, 0, 1)
    assert third.made.replaces == second.id, "and what stood in for it by what is better"
    assert await fold(store, key, 0, 1) == third
    by_hand = await fold(store, key, 0, 1, status=Status.BY_HAND)
    assert (by_hand.id > third.id, by_hand.made.replaces) == (True, None), "a person's words are no fold of it"
    assert await covered(store, key) == [second.id, third.id]
    live = await store.live(key, "main", Kind.RECAP, "")
    assert live is not None
    assert live.version == third


async def test_what_is_loosened_stays_in_force_until_made_anew(store: VerbStore) -> None:
    key = await a_story(store, list("abcdefgh"))
    one = await fold(store, key, 0, 1)
    two = await fold(store, key, 2, 3, before=one)
    three = await fold(store, key, 4, 5, before=two)
    refused = await fold(store, key, 6, 6, before=three, status=Status.REFUSED)
    await store.fork(key, "main", "alt", 8, at=AT)
    other = await a_story(store, list("abcdefgh"), "another tale")
    await store.loosen(other, [one.id])
    assert all(version.firm for version in (await store.versions(key))[:3])
    await store.loosen(key, [two.id, 77])
    await store.loosen(key, [])
    assert [version.firm for version in await store.versions(key)] == [True, False, False, False]
    for branch in ("main", "alt"):
        assert await covered(store, key, branch) == [one.id, two.id, three.id]
        assert await live_text(store, key, branch) == "4 to 5"
        firm = await store.live(key, branch, Kind.RECAP, "", firm=True)
        assert firm is not None
        assert firm.version == one
        assert await store.cover(key, branch, firm=True) == [(0, 1, one.id)]
        assert await store.cover(key, branch, Kind.RECAP, firm=True) == [(0, 1, one.id)]
        assert await store.cover(key, branch, Kind.CHAPTER, firm=True) == []
    assert not refused.firm
    anew = await fold(store, key, 2, 3, before=one)
    assert (anew.made.replaces, anew.firm) == (two.id, True)
    await store.set_status(key, two.id, Status.UNDONE, reason="")
    await store.set_status(key, two.id, Status.COMMITTED, reason="")
    firm = await store.live(key, "main", Kind.RECAP, "", firm=True)
    assert firm is not None
    assert firm.version == anew, "a version that comes back is as loose as it was"


async def test_the_newest_versions_of_a_kind_scope_and_status(store: VerbStore) -> None:
    key = await a_story(store, list("abcdefgh"))
    refused = [await fold(store, key, 0, last, status=Status.REFUSED) for last in range(4)]
    kept = await fold(store, key, 0, 1)
    chapter = await fold(store, key, 0, 1, kind=Kind.CHAPTER, status=Status.REFUSED)
    scoped = await fold(store, key, 0, 1, scope="9", status=Status.REFUSED)
    asked = (key, Kind.RECAP, "", Status.REFUSED)
    assert await store.newest_versions(*asked, 3) == refused[:0:-1]
    assert await store.newest_versions(*asked, 99) == refused[::-1]
    assert await store.newest_versions(*asked, 0) == []
    assert await store.newest_versions(key, Kind.RECAP, "", Status.COMMITTED, 9) == [kept]
    assert await store.newest_versions(key, Kind.CHAPTER, "", Status.REFUSED, 9) == [chapter]
    assert await store.newest_versions(key, Kind.RECAP, "9", Status.REFUSED, 9) == [scoped]
    await store.set_status(key, kept.id, Status.UNDONE, reason="")
    assert await store.newest_versions(key, Kind.RECAP, "", Status.COMMITTED, 9) == []


async def test_the_newest_versions_that_stand_for_more(store: VerbStore) -> None:
    key = await a_story(store, list("abcd"))
    made = [await fold(store, key, 0, last, reach=last + 1) for last in (0, 1, 2)]
    for beyond, kept in [(-1, 3), (0, 3), (1, 2), (2, 1), (3, 0)]:
        found = await store.newest_versions(key, Kind.RECAP, "", Status.COMMITTED, 9, beyond=beyond)
        assert found == made[::-1][:kept]


async def test_several_live_versions_are_read_at_once(store: VerbStore) -> None:
    key = await a_story(store, list("abcdef"))
    one = await mark(store, key, 1)
    first = await fold(store, key, 0, 1)
    second = await fold(store, key, 2, 3, scope=one.scope)
    asked = [("", 5), (one.scope, 5), (one.scope, 2), ("9", 5)]
    found = await store.live_each(key, "main", Kind.RECAP, asked)
    assert [live.version.id if live else None for live in found] == [first.id, second.id, None, None]


async def test_kinds_of_memory_are_kept_apart(store: VerbStore) -> None:
    key = await a_story(store, list("abcdef"))
    recap = await fold(store, key, 0, 1)
    chapter = await fold(store, key, 0, 3, kind=Kind.CHAPTER)
    backbone = await fold(store, key, 0, 3, kind=Kind.BACKBONE)
    assert len({recap.id, chapter.id, backbone.id}) == 3
    assert await covered(store, key) == [recap.id, chapter.id, backbone.id]
    for kind, version in ((Kind.RECAP, recap), (Kind.CHAPTER, chapter), (Kind.BACKBONE, backbone)):
        span = version.made.span
        assert await store.cover(key, "main", kind) == [(span.first, span.last, version.id)]
        live = await store.live(key, "main", kind, "")
        assert live is not None
        assert live.version == version


async def test_memory_up_to_a_place(store: VerbStore) -> None:
    key = await a_story(store, list("abcdefgh"))
    one = await fold(store, key, 0, 1)
    two = await fold(store, key, 2, 3, before=one)
    await store.fork(key, "main", "alt", 6, at=AT)
    three = await fold(store, key, 4, 5, before=two, branch="alt", status=Status.PROVISIONAL)
    for through, found in [(-1, None), (0, None), (1, one), (2, one), (3, two), (4, two), (5, three), (99, three)]:
        live = await store.live(key, "alt", Kind.RECAP, "", through=through)
        assert (live and live.version) == found, through
    live = await store.live(key, "alt", Kind.RECAP, "", firm=True, through=5)
    assert live is not None
    assert (live.version, live.span) == (two, Span(2, 3))


async def test_where_an_entry_stands_now(store: VerbStore) -> None:
    key = await a_story(store, list("abcdef"))
    nodes = [item.node for item in await store.path(key, "main", 0, 5)]
    entries = [item.entry.id for item in await store.path(key, "main", 0, 5)]
    assert [await store.position_of(key, "main", node) for node in nodes] == [0, 1, 2, 3, 4, 5]
    await store.fork(key, "main", "alt", 4, at=AT)
    await store.apply(key, "main", [Splice(1, 1, (Put(draft("B")), Put(draft("BB"))))], at=AT)
    assert [await store.position_of(key, "main", node) for node in nodes] == [0, None, 3, 4, 5, 6]
    assert [await store.position_of(key, "alt", node) for node in nodes] == [0, 1, 2, 3, None, None]
    await store.apply(key, "alt", [Splice(0, 2, ()), Splice(4, 0, (Reuse(entries[2]),))], at=AT)
    assert [await store.position_of(key, "alt", node) for node in nodes] == [None, None, 2, 1, None, None]
    (moved,) = await store.path(key, "alt", 2, 2)
    assert moved.node not in nodes
    assert await store.position_of(key, "main", moved.node) == 3, "an entry is known by any of its nodes"
    assert await store.position_of(key, "main", 999_999) is None
    other = await a_story(store, ["x"], "another tale")
    assert await store.position_of(other, "main", nodes[0]) is None
    with pytest.raises(UnknownBranch):
        await store.position_of(key, "nowhere", nodes[0])


async def test_what_led_to_a_node_is_found_on_a_branch_or_off_it(store: VerbStore) -> None:
    key = await a_story(store, list("abcdef"))
    before = await store.path(key, "main", 0, 5)
    await store.apply(key, "main", [Splice(2, 4, (Put(draft("C")),))], at=AT)
    assert await store.leading_to(key, before[4].node, 3) == before[2:5]
    assert await store.leading_to(key, before[4].node, 99) == before[:5]
    assert await store.leading_to(key, before[0].node, 2) == before[:1]
    assert await store.leading_to(key, before[4].node, 0) == []
    assert await store.leading_to(key, (await store.branch(key)).head, 2) == await store.path(key, "main", 1, 2)
    assert await store.leading_to(key, 999_999, 5) == []
    assert await store.leading_to(key, 0, 5) == []
    other = await a_story(store, ["x"], "another tale")
    assert await store.leading_to(other, before[4].node, 5) == []


async def test_settings_of_a_story_are_kept(store: VerbStore) -> None:
    key = await a_story(store, ["a"])
    assert await store.settings(key) == "{}"
    await store.keep_header(key, '{"title":"x"}')
    await store.keep_settings(key, '{"tail_messages":8}')
    await store.keep_settings(key, '{"tail_messages":9}')
    assert (await store.settings(key), await store.header(key)) == ('{"tail_messages":9}', '{"title":"x"}')
    other = await a_story(store, ["x"], "another tale")
    assert await store.settings(other) == "{}"


async def test_no_verb_crosses_the_wall_between_owners(store: VerbStore) -> None:
    mine = await a_story(store, list("abcdef"))
    version = await fold(store, mine, 0, 1)
    chapter = await mark(store, mine, 3, text="One", seen=b"abcd")
    await fold(store, mine, 4, 4, scope=chapter.scope)
    await store.keep_settings(mine, '{"mine":1}')
    head = (await store.branch(mine)).head

    async def all_of_it() -> list[object]:
        return [
            await store.marks(mine, "main"),
            await store.versions(mine),
            await store.cover(mine, "main"),
            await store.live(mine, "main", Kind.RECAP, "", firm=True),
            await store.settings(mine),
        ]

    before = await all_of_it()
    await a_story(store, list("abcdef"), owner="they")
    theirs = StoryKey("they", mine.story)
    verbs: list[Awaitable[object]] = [
        store.marks(theirs, "main"),
        store.newest_mark(theirs, "main", MarkKind.CHAPTER, 0),
        store.take_back_mark(theirs, "main", chapter.id),
        store.set_status(theirs, version.id, Status.UNDONE, reason="theirs"),
        store.loosen(theirs, [version.id]),
        store.version(theirs, version.id),
        store.newest_versions(theirs, Kind.RECAP, "", Status.COMMITTED, 9),
        store.live(theirs, "main", Kind.RECAP, ""),
        store.cover(theirs, "main", Kind.RECAP),
        store.position_of(theirs, "main", head),
        store.leading_to(theirs, head, 9),
        store.settings(theirs),
        store.keep_settings(theirs, '{"theirs":1}'),
    ]
    for verb in verbs:
        with suppress(BadInput, KeyError):
            assert await verb in (None, [], "{}")
    assert await all_of_it() == before
    other = await a_story(store, owner="they")
    assert await store.version(other, version.id) is None
    assert await store.position_of(other, "main", head) is None
    assert await store.leading_to(other, head, 9) == []
    with pytest.raises(BadInput):
        await store.take_back_mark(other, "main", chapter.id)
    with pytest.raises(BadInput):
        await store.set_status(other, version.id, Status.UNDONE, reason="theirs")
    await store.loosen(other, [version.id])
    assert await all_of_it() == before


async def test_the_number_of_a_forgotten_story_is_never_given_again(store: VerbStore) -> None:
    """Whoever still holds it must not write into another story."""
    gone = (await store.create_story("me", "gone", at="")).key
    await store.forget_story(gone)
    assert (await store.create_story("me", "new", at="")).key != gone
