"""Notes of updates on a path: they are reduced where their span stands, and an edit re-selects them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from previously import BlockingMemory, Draft, Settings, message
from previously.blocking import BlockingStory
from previously.core.digests import span_key
from previously.core.marks import OWN_SCOPE, SPAN_SCOPE
from previously.core.note import (
    Aspect,
    LoreItem,
    Note,
    PlayerItem,
    StateItem,
    ThreadChange,
    ThreadItem,
    WishItem,
    render_note,
    thread_id,
)
from previously.core.path import Span
from previously.core.versions import Kind, NewVersion, Status
from previously.plan import notes

RULES = Settings(tail_messages=2, scene_messages=0, fold_messages=100_000, fold_words=1_000_000, fold_tokens=1_000_000,
                 chapter_messages=0, cast="off")  # fmt: skip


@pytest.fixture
def story() -> Iterator[BlockingStory]:
    with BlockingMemory(":memory:", settings=RULES) as memory:
        found = memory.story("tale")
        roles = ("user", "assistant")
        found.add_drafts([Draft(message(roles[number % 2], f"Message {number}.")) for number in range(40)])
        yield found


def keep(story: BlockingStory, first: int, last: int, note: Note) -> bytes:
    run = story.messages(first, last)
    digests = [item.entry.digest for item in run]
    version = NewVersion(
        Kind.NOTE, SPAN_SCOPE, Span(first, last), span_key(digests), None, render_note(note), "", Status.COMMITTED,
        "model", "", "2026-01-01", anchor=run[-1].node, reach=len(run), first=digests[0],
    )  # fmt: skip
    inner = story._inner
    story._run(inner._access.change(lambda change: change.tables.versions.commit(change.key, version)))
    return version.key


def told(story: BlockingStory) -> Note:
    """Three notes: a debt that is opened, grows, and is paid; and what else there is."""
    opening = Note(
        threads=(ThreadItem(ThreadChange.NEW, "Bram to Pell: nine shillings.", 4),),
        state=(StateItem("Bram", Aspect.PLACE, "the tower", 2),),
        lore=(LoreItem("Bram", "person", ("Bram",), "Harbour clerk.", (1,)),),
        wishes=(WishItem("Slower, please.", 6), WishItem("Said by nobody.", 7)),
    )
    ident = thread_id(keep(story, 0, 9, opening), opening.threads[0].text)
    keep(story, 10, 19, Note(threads=(ThreadItem(ThreadChange.NOW, "Bram to Pell: ten shillings.", 3, ident),)))
    closing = Note(
        threads=(
            ThreadItem(ThreadChange.SETTLED, "Paid in full.", 5, ident),
            ThreadItem(ThreadChange.NEW, "A vow.", 6),
        ),
        state=(StateItem("bram", Aspect.PLACE, "the ferry", 9),),
        lore=(LoreItem("Bram", "person", ("Bram", "clerk"), "Harbour clerk who fled.", (9,)),),
    )
    keep(story, 20, 29, closing)
    return opening


def lists(story: BlockingStory) -> tuple[object, ...]:
    threads = [(one.thread.text, one.thread.opened, one.thread.settled) for one in story.threads(everything=True)]
    state = [(one.text, one.position) for one in story.state()]
    return threads, state, [one.content for one in story.lore()], [(one.text, one.position) for one in story.wishes()]


WHOLE = (
    [("A vow.", 26, None), ("Bram to Pell: ten shillings.", 4, 25)],
    [("bram / place: the ferry", 29)],
    ["Harbour clerk who fled."],
    [("Slower, please.", 6)],
)


def test_notes_are_reduced_in_the_order_of_the_path(story: BlockingStory) -> None:
    told(story)
    assert lists(story) == WHOLE


def test_a_player_goes_on_with_another_character_and_the_view_says_so(story: BlockingStory) -> None:
    keep(story, 0, 9, Note(players=(PlayerItem("Bea", "Orsolo", 1), PlayerItem("Noor", "Crumb", 2))))
    keep(story, 10, 19, Note(players=(PlayerItem("bea", "Perrin", 4), PlayerItem("Ann", "Nobody", 40))))
    found = [(one.name, one.character, one.since) for one in story.players()]
    assert found == [("Noor", "Crumb", 2), ("bea", "Perrin", 14)]
    assert "- Noor plays Crumb.\n- bea plays Perrin." in story.view(4_000).messages[0].text


def test_an_edit_of_the_opener_cuts_its_operations_off_and_undoing_brings_all_back(story: BlockingStory) -> None:
    told(story)
    story.edit(4, "Another message.")
    threads, state, lore, wishes = lists(story)
    assert threads == [("A vow.", 26, None)]
    assert (state, lore, wishes) == (WHOLE[1], WHOLE[2], [])
    unmatched = story._run(story._inner._access.read(lambda moment: moment.read_known().state)).threads.unmatched
    assert [(one.change.value, one.text) for one in unmatched] == [
        ("now", "Bram to Pell: ten shillings."), ("settled", "Paid in full."),
    ]  # fmt: skip
    story.edit(4, "Message 4.")
    assert lists(story) == WHOLE


def test_notes_move_with_their_messages(story: BlockingStory) -> None:
    told(story)
    story.insert(0, "assistant", "Earlier.")
    assert lists(story)[0] == [("A vow.", 27, None), ("Bram to Pell: ten shillings.", 5, 26)]


def test_a_snapshot_changes_nothing(story: BlockingStory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(notes, "SNAPSHOT_MESSAGES", 10)
    told(story)
    story.fold()
    snapshots = [one for one in story.log() if one.made.kind is Kind.STATE and one.made.scope == OWN_SCOPE]
    assert [one.made.span.last for one in snapshots] == [29], "only what is noted stands in it"
    assert lists(story) == WHOLE


def test_a_snapshot_of_another_form_is_made_anew(story: BlockingStory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(notes, "SNAPSHOT_MESSAGES", 10)
    told(story)
    run = story.messages(0, 29)
    old = NewVersion(
        Kind.STATE, OWN_SCOPE, Span(0, 29), span_key(item.entry.digest for item in run), None, '{"lore":[]}', "",
        Status.COMMITTED, "code", "", "2026-01-01", anchor=run[-1].node, reach=30,
    )  # fmt: skip
    inner = story._inner
    story._run(inner._access.change(lambda change: change.tables.versions.commit(change.key, old)))
    assert lists(story) == WHOLE
    story.fold()
    made = [one.made for one in story.log() if one.made.kind is Kind.STATE]
    assert [one.text[:9] for one in made] == ['{"lore":[', '{"current']
    assert lists(story) == WHOLE
