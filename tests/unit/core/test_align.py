"""Alignment: a file is followed exactly and with few changes, a window loses nothing."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace

import pytest

from previously.core import align as module
from previously.core.align import Alignment, KnownEntry, align
from previously.core.digests import digest, match_key
from previously.core.messages import Attributes, Draft, Text, message
from previously.core.path import Put, Splice, Splices, check_splices, measure_length
from tests.effort import cases


def say(text: str, role: str = "user", **attributes: str) -> Draft:
    return Draft(message(role, text), Attributes(**attributes))  # type: ignore[arg-type]


def talk(words: str) -> list[Draft]:
    """One message a word; a capital is the model's."""
    return [say(word, "assistant" if word[0].isupper() else "user") for word in words.split()]


def path(drafts: Sequence[Draft], *hidden: int) -> list[KnownEntry]:
    known = []
    for i, draft in enumerate(drafts):
        attributes = replace(draft.attributes, hidden=True) if i in hidden else draft.attributes
        known.append(
            KnownEntry(100 + i, digest(draft.message), match_key(draft.message), attributes, draft.message.role)
        )
    return known


def apply(script: Splices, stored: Sequence[KnownEntry]) -> list[KnownEntry]:
    """The reference: every splice done, last one first. New entries have negative ids."""
    check_splices(script, len(stored))
    result = list(stored)
    for splice in reversed(script):
        drafts = [piece.draft for piece in splice.pieces if isinstance(piece, Put)]
        assert len(drafts) == len(splice.pieces)
        new = [replace(known, entry=-1 - known.entry) for known in path(drafts)]
        result[splice.at : splice.at + splice.remove] = new
    assert len(result) == measure_length(script, len(stored))
    return result


def followed(result: Alignment, stored: Sequence[KnownEntry]) -> list[KnownEntry]:
    """The path after script and attributes."""
    changed = dict(result.attributes)
    after = apply(result.script, stored)
    assert changed.keys() <= {known.entry for known in after}
    return [replace(known, attributes=changed.get(known.entry, known.attributes)) for known in after]


def edits(result: Alignment) -> dict[int, str]:
    """Entry and new text of every edit."""
    pieces = [piece for splice in result.script for piece in splice.pieces if isinstance(piece, Put)]
    return {piece.replaces: piece.draft.message.text for piece in pieces if piece.replaces is not None}


def counts(result: Alignment) -> tuple[int, int, int, int]:
    return result.added, result.updated, result.removed, result.unchanged


def texts(drafts: Sequence[Draft], known: Sequence[KnownEntry]) -> str:
    """A path in words, hidden ones in brackets."""
    names = {digest(draft.message): draft.message.text for draft in drafts}
    return " ".join(f"({names[k.digest]})" if k.attributes.hidden else names[k.digest] for k in known)


def changed_story(rng: random.Random, drafts: Sequence[Draft], pool: Sequence[str]) -> tuple[list[Draft], int]:
    """The story after some random changes, and how many messages these touched: a move takes one out and puts it in."""
    result, touched = list(drafts), 0
    for _ in range(rng.randrange(8)):
        operation = rng.choice(("insert", "edit", "delete", "move", "duplicate"))
        at = rng.randrange(len(result)) if result else 0
        if operation == "insert" or not result:
            result.insert(at, say(rng.choice(pool), rng.choice(("user", "assistant"))))
        elif operation == "edit":
            result[at] = replace(result[at], message=replace(result[at].message, parts=(Text(rng.choice(pool)),)))
        elif operation == "delete":
            del result[at]
        elif operation == "move":
            result.insert(rng.randrange(len(result)), result.pop(at))
            touched += 1
        else:
            result.insert(rng.randrange(len(result) + 1), result[at])
        touched += 1
    return result, touched


def random_story(rng: random.Random, ids: bool) -> tuple[list[Draft], list[str]]:
    pool = [f"line {n}" for n in range(rng.choice((2, 4, 12, 200)))]
    roles = ("user", "assistant") if rng.random() < 0.7 else ("user",)
    story = [say(rng.choice(pool), rng.choice(roles)) for _ in range(rng.randrange(40))]
    return [replace(d, attributes=Attributes(source_id=f"id{n}")) for n, d in enumerate(story)] if ids else story, pool


def check_whole(stored: list[KnownEntry], incoming: Sequence[Draft]) -> Alignment:
    result = align(stored, incoming, whole=True)
    after = followed(result, stored)
    assert [known.digest for known in after] == [digest(draft.message) for draft in incoming]
    kept = [known for known in after if known.entry >= 0]
    assert [k.entry for k in kept] == sorted({k.entry for k in kept})
    assert all(known.digest == stored[known.entry - 100].digest for known in kept)
    assert result.added + result.updated + result.unchanged == len(incoming)
    assert len(stored) - result.removed == len(incoming) - result.added
    assert all(s.remove == 1 == len(s.pieces) for s in result.script if any(p.replaces for p in s.pieces))  # type: ignore[union-attr]
    return result


def distance(a: Sequence[Draft], b: Sequence[Draft]) -> int:
    """The fewest messages to touch, where only messages of one role are edits of each other."""
    best = list(range(len(b) + 1))
    for i, x in enumerate(a):
        last, best = best, [i + 1]
        for j, y in enumerate(b):
            pair = 0 if x.message == y.message else 1 if x.message.role is y.message.role else 2
            best.append(min(last[j + 1] + 1, best[j] + 1, last[j] + pair))
    return best[-1]


@pytest.mark.random
def test_a_file_is_followed_exactly_and_touches_no_more_than_was_changed() -> None:
    rng = random.Random(7)
    for number in range(cases(5_000)):
        story, pool = random_story(rng, ids=number % 4 == 0)
        incoming, touched = changed_story(rng, story, pool)
        result = check_whole(path(story), incoming)
        if number % 4:
            assert result.added + result.updated + result.removed <= touched
        if number % 10 == 1:
            assert result.added + result.updated + result.removed == distance(story, incoming)


def small_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes every story a long one."""
    for name, value in {"_TABLE": 9, "_GAP_TABLE": 4, "_PIECE": 4, "_TRUSTED": 3}.items():
        monkeypatch.setattr(module, name, value)
    for name, value in {"CANDIDATES": 20, "REACH": 2}.items():
        monkeypatch.setattr(module, name, value)


@pytest.mark.random
def test_a_long_file_is_followed_exactly(monkeypatch: pytest.MonkeyPatch) -> None:
    small_limits(monkeypatch)
    rng = random.Random(8)
    for number in range(cases(2_000)):
        story, pool = random_story(rng, ids=number % 2 == 0)
        incoming, _ = changed_story(rng, story, pool)
        check_whole(path(story), incoming if number % 3 else random_story(rng, ids=number % 4 == 0)[0])


def test_the_same_file_changes_nothing_and_a_longer_one_only_appends() -> None:
    story = talk("a B ok B ok B ok ok c D")
    assert align(path(story), story, whole=True).changes_nothing
    for length in range(len(story)):
        result = align(path(story[:length]), story, whole=True)
        assert result.script == (Splice(length, 0, tuple(Put(draft) for draft in story[length:])),)
        assert counts(result) == (len(story) - length, 0, 0, length)
    assert counts(align(path(story), [], whole=True)) == (0, 0, len(story), 0)


@pytest.mark.parametrize(
    ("old", "new", "edited", "expected"),
    [
        ("a B c D", "a B x D", {102: "x"}, (0, 1, 0, 3)),
        ("a B c D", "a B X D", {}, (1, 0, 1, 3)),  # another role is another message
        ("a B c D", "a B x c D", {}, (1, 0, 0, 4)),
        ("a B c D", "a c D", {}, (0, 0, 1, 3)),
        ("a B c D", "x B c Y", {100: "x", 103: "Y"}, (0, 2, 0, 2)),
        ("a B c D", "a X y z D", {101: "X", 102: "y"}, (1, 2, 0, 2)),
    ],
)
def test_an_edit_is_an_edit(old: str, new: str, edited: dict[int, str], expected: tuple[int, ...]) -> None:
    result = check_whole(path(talk(old)), talk(new))
    assert edits(result) == edited
    assert counts(result) == expected


def test_a_gap_is_paired_by_id_then_by_match_key_then_by_order() -> None:
    stored = path([say("one", source_id="1"), say("two", source_id="2"), say("three")])
    assert edits(check_whole(stored, [say("TWO", source_id="2"), say("Three")])) == {101: "TWO", 102: "Three"}
    assert edits(check_whole(stored[:2], [say("two ")])) == {101: "two "}
    assert edits(check_whole(stored[:2], [say("x")])) == {100: "x"}
    unknown = [replace(known, role=None) for known in stored]
    assert edits(check_whole(unknown[:1], [say("x", "assistant")])) == {100: "x"}


def test_equal_messages_are_told_apart_by_their_ids() -> None:
    story = [say("ok", source_id=str(n)) for n in range(5)]
    for gone in range(5):
        result = check_whole(path(story), story[:gone] + story[gone + 1 :])
        assert (result.script, counts(result)) == ((Splice(gone, 1, ()),), (0, 0, 1, 4))


def test_what_the_source_does_not_say_stays_known() -> None:
    known = Attributes("2024", "1", {"mood": "calm"}, hidden=True)
    stored = path([Draft(message("user", "a"), known), Draft(message("user", "b"), known)])
    result = align(stored, [say("a"), say("c", at="2025")], whole=True)
    assert result.attributes == ((100, replace(known, hidden=False)),)
    put = Put(Draft(message("user", "c"), Attributes("2025", "1", {"mood": "calm"})), replaces=101)
    assert result.script == (Splice(1, 1, (put,)),)
    given = Attributes("2025", "2", {"x": 1})
    assert align(stored[:1], [Draft(message("user", "a"), given)], whole=True).attributes == ((100, given),)


def test_swipes_are_reported_where_their_message_now_stands() -> None:
    swipes = (say("B2", "assistant"),)
    incoming = [say("new"), say("a"), replace(say("B", "assistant"), alternatives=swipes)]
    for whole in (True, False):
        result = align(path(talk("a B")), incoming, whole=whole)
        assert (result.alternatives, result.added, result.changes_nothing) == (((2, swipes),), 1, False)


WINDOWS = {
    "a missing front was trimmed": ("a B c D", (), "c D", "a B c D", (0, 0, 0, 2)),
    "a hole is hidden": ("a B c D e F", (), "c F", "a B c (D) (e) F", (0, 2, 0, 2)),
    "a hidden hole stays hidden": ("a B c D", (1, 2), "a D", "a (B) (c) D", (0, 0, 0, 2)),
    "what is sent again is shown": ("a B c D", (1, 3), "a B c D", "a B c D", (0, 2, 0, 2)),
    "a hidden message is not edited": ("a B c D", (2,), "a B x D", "a B (c) x D", (1, 0, 0, 3)),
    "a gap holds edits": ("a B c D", (), "a X c D", "a X c D", (0, 1, 0, 3)),
    "a gap takes more": ("a B c D", (), "a X y Z c D", "a X y Z c D", (2, 1, 0, 3)),
    "another role is no edit": ("a B c D", (), "a x c D", "a (B) x c D", (1, 1, 0, 3)),
    "a new front is an edit of the beginning": ("a B c D", (), "x c D", "x (B) c D", (0, 2, 0, 2)),
    "a new front is an edit of what was shown": ("a B c D e F g H", (), "X g H", "a B c D e X g H", (0, 1, 0, 2)),
    "a front of another role is inserted": ("a B c D e F g H", (), "x g H", "a B c D e F x g H", (1, 0, 0, 2)),
    "more of the front than was known": ("c D", (), "a B c D", "a B c D", (2, 0, 0, 2)),
    "new messages are appended": ("a B c D", (), "c D e F", "a B c D e F", (2, 0, 0, 2)),
    "going back removes": ("a B c D e F", (), "B c", "a B c", (0, 0, 3, 2)),
    "a new reply is an edit": ("a B c D", (), "c X", "a B c X", (0, 1, 0, 1)),
    "a new reply and more": ("a B c D e", (), "c X y Z", "a B c X y Z", (1, 2, 0, 1)),
    "going back and on": ("a B c D e F", (), "B c X", "a B c X", (0, 1, 2, 2)),
    "a hidden end stays": ("a B c D", (2, 3), "a B x", "a B (c) (D) x", (1, 0, 0, 2)),
    "equal messages: the newest": ("ok A ok B ok C", (), "ok X", "ok A ok B ok X", (0, 1, 0, 1)),
    "equal messages: not the first": ("ok x ok Y", (), "ok Z", "ok x ok Z", (0, 1, 0, 1)),
    "equal messages: the shown one": ("a ok ok", (2,), "a ok", "a ok (ok)", (0, 0, 0, 2)),
    "nothing matches, all is appended": ("a B", (), "x Y", "a B x Y", (2, 0, 0, 0)),
    "an empty window": ("a B", (), "", "a B", (0, 0, 0, 0)),
    "an empty story": ("", (), "a B", "a B", (2, 0, 0, 0)),
}


@pytest.mark.parametrize(("old", "hidden", "new", "after", "expected"), WINDOWS.values(), ids=WINDOWS.keys())
def test_window(old: str, hidden: tuple[int, ...], new: str, after: str, expected: tuple[int, ...]) -> None:
    stored = path(talk(old), *hidden)
    result = align(stored, talk(new), whole=False)
    assert texts(talk(old) + talk(new), followed(result, stored)) == after
    assert counts(result) == expected


def test_what_a_client_did_to_a_text_is_not_stored() -> None:
    stored = path([say("Hello  there.\n", at="2024", source_id="7"), say("Café", "assistant")])
    window = [say("Hello there.", at="2025"), say("<think>hm</think>Cafe\u0301 ", "assistant")]
    assert align(stored, window, whole=False).changes_nothing
    assert counts(align(stored, window, whole=True)) == (0, 2, 0, 0)


@pytest.mark.random
@pytest.mark.parametrize("long", [False, True])
def test_after_a_window_the_path_shows_it(long: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if long:
        small_limits(monkeypatch)
    rng = random.Random(9)
    for _ in range(cases(2_000)):
        story, pool = random_story(rng, ids=False)
        history, _ = changed_story(rng, story, pool)
        window = history[rng.randrange(len(history) + 1) :]
        stored = path(story, *rng.sample(range(len(story)), len(story) // 8))
        result = align(stored, window, whole=False)
        after = followed(result, stored)
        shown = [known.match_key for known in after if not known.attributes.hidden]
        assert shown[len(shown) - len(window) :] == [match_key(draft.message) for draft in window]
        assert not window or align(after, window, whole=False).changes_nothing
        assert len(after) == len(stored) + result.added - result.removed


@pytest.mark.random
def test_work_grows_with_the_number_of_messages(monkeypatch: pytest.MonkeyPatch) -> None:
    cells = 0
    costs = module._Sides.costs

    def counting(self: module._Sides, i: int, drafts: Sequence[tuple[bytes, bytes, Draft]]) -> list[int]:
        nonlocal cells
        cells += len(drafts)
        return costs(self, i, drafts)

    monkeypatch.setattr(module._Sides, "costs", counting)
    size = cases(10_000)
    story = [say(f"message {n}") for n in range(size)]
    ok = [say("ok")] * cases(100_000)
    framed = [say("x"), *ok, say("y")], [say("z"), *ok[1:], say("w")]
    respaced = [say(f"message  {n}") for n in range(size)]
    for old, new, changed in (
        (story, story, 0),
        (story, [say(f"other {n}") for n in range(size)], size),
        (story, [say(f"other {n}") if n % 200 else story[n] for n in range(size)], size + -size // 200),
        (story, [respaced[0], say("new"), *respaced[1:]], size + 1),
        (ok, ok[1:], 1),
        (*framed, 3),
    ):
        cells = 0
        result = check_whole(path(old), new)
        assert result.added + result.updated + result.removed == changed
        assert cells <= 64 * (len(old) + len(new))
    assert align(path(ok), ok[1:], whole=False).changes_nothing
