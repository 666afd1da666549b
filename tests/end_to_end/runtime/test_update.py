"""The update: one answer for all that is kept of a span, what becomes of half an answer, and what an edit costs."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from previously import BadInput, BlockingMemory, Draft, ScriptedModel, Settings, message
from previously.blocking import BlockingStory
from previously.core.marks import SPAN_SCOPE
from previously.core.model_io import ModelReply, ModelRequest, Usage
from previously.core.note import NO_NOTE, parse_note
from previously.core.snapshot import Snapshot
from previously.core.tokens import estimate_tokens
from previously.core.versions import Kind, Status
from previously.folds.tiles import cut_note_tiles
from previously.testing.model import Scripted
from tests.effort import ON_DISK, cross, mark_slow
from tests.end_to_end.runtime.echoing import CANARY, canaries_in, canary, echo, kind_of, part
from tests.end_to_end.runtime.update_answers import (
    answer,
    asked_for,
    closing_answer,
    is_closing,
    is_update,
    recap_in,
    under,
)

pytestmark = pytest.mark.usefixtures("no_waiting")

RULES = Settings(cast="off", tail_messages=2, fold_messages=6, recap_words=60, chapter_messages=0)
TOLD = "Maya and Joaquin carried parcels to the mill."
THREAD = "- new #1 Maya to Joaquin: a parcel, before noon"

Reply = Callable[[ModelRequest], Scripted]


def whole(request: ModelRequest) -> str:
    """All that is asked for, in the form it is asked for."""
    return (
        answer(request, TOLD, threads=THREAD, state="- #1 Maya / place: the mill", backbone=f"{TOLD} All ended there.")
        if is_update(request)
        else closing_answer(request, f"{TOLD} The chapter ended there.", backbone=f"{TOLD} All of it ended there.")
        if is_closing(request)
        else f"{TOLD} The {kind_of(request)} ended there."
    )


def cut(request: ModelRequest) -> ModelReply:
    """The same, cut off within the lists."""
    return ModelReply(whole(request).partition("\n\nSTATE")[0], "m", "length", Usage(1, 1, True))


def texts_only(request: ModelRequest) -> str:
    """A model that can write, but not in two shapes at once, and never makes lists."""
    return whole(request) if "THREADS" not in asked_for(request) else "Here is what I think of it all."


def lists_by_themselves(request: ModelRequest) -> str:
    """A model that can do either, but not both at once."""
    wanted = asked_for(request)
    return whole(request) if len({"THREADS", "RECAP"} & set(wanted)) == 1 else "Here is what I think of it all."


class Script:
    """A model whose manners can change, and what it was asked since it was last looked at."""

    def __init__(self, reply: Reply = whole, name: str = "small-7b") -> None:
        self.reply = reply
        self.model = ScriptedModel(self._reply, name=name)
        self._seen = 0

    def _reply(self, request: ModelRequest) -> Scripted:
        return self.reply(request)

    def asked(self) -> list[tuple[str, ...]]:
        """Return the headings of each update, and the kind of what is none."""
        new = self.model.requests[self._seen :]
        self._seen = len(self.model.requests)
        return [tuple(asked_for(one)) if is_update(one) else (kind_of(one),) for one in new]


WHOLE = ("EPISODE", "RECAP", "THREADS", "STATE", "PRESENT", "LEARNT", "LORE", "PLAYERS", "WISHES", "SCENES")
TEXTS, LISTS = WHOLE[:2], WHOLE[2:]


@pytest.fixture
def script() -> Script:
    return Script()


@pytest.fixture(params=["in_memory", ON_DISK])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return ":memory:" if request.param == "in_memory" else str(tmp_path / "stories.db")


@pytest.fixture
def memory(place: str, script: Script) -> Iterator[BlockingMemory]:
    with BlockingMemory(place, settings=RULES, model=script.model) as found:
        yield found


@pytest.fixture
def story(memory: BlockingMemory) -> BlockingStory:
    return memory.story("tale")


def tell(story: BlockingStory, count: int, start: int = 0) -> None:
    names = ("Maya", "Joaquin")
    drafts = [
        Draft(message("user" if at % 2 else "assistant", f"Parcel {at} goes to the mill.", speaker=names[at % 2]))
        for at in range(start, start + count)
    ]
    story.add_drafts(drafts)


def kept(story: BlockingStory) -> list[tuple[str, str]]:
    """Return what the log holds, but for the snapshots: kinds and what became of them."""
    return [(one.made.kind.value, one.made.status.value) for one in story.log() if one.made.kind is not Kind.STATE]


ALL_THREE = [("recap", "committed"), ("episode", "committed"), ("note", "committed")]


def test_one_call_gives_recap_episode_and_note(story: BlockingStory, script: Script) -> None:
    tell(story, 8)
    (done,) = story.fold().folds
    assert (done.kind, done.beside, done.cost.calls) == (Kind.RECAP, ("episode", "note"), 1)
    assert script.asked() == [WHOLE]
    assert kept(story) == ALL_THREE
    recap, episode, note = story.log()
    assert len({one.made.at for one in (recap, episode, note)}) == 1
    assert [one.made.cost.calls for one in (recap, episode, note)] == [1, 0, 0]
    assert {str(one.made.span) for one in (recap, episode, note)} == {"messages 0-5"}
    assert [one.thread.text for one in story.threads()] == ["Maya to Joaquin: a parcel, before noon"]
    assert [one.text for one in story.state()] == ["Maya / place: the mill"]
    assert story.fold().folds == ()


def test_a_refused_recap_keeps_no_episode_and_no_note(story: BlockingStory, script: Script) -> None:
    script.reply = lambda request: answer(request, "Maya met Zephyrine at the mill.", episode=TOLD, threads=THREAD)
    tell(story, 8)
    story.fold()
    assert kept(story) == [("recap", "refused")] * 3 + [("recap", "provisional")]
    assert all("Zephyrine" in one.made.reason for one in story.log()[:3])
    assert story.threads() == []


def test_a_refused_episode_keeps_no_recap(story: BlockingStory, script: Script) -> None:
    script.reply = lambda request: answer(request, TOLD, episode="Maya met Zephyrine at the mill.")
    tell(story, 8)
    story.fold()
    recap = story.recap()
    assert recap is not None
    assert recap.made_by == "builtin"
    assert kept(story)[-1] == ("recap", "provisional")


def test_lists_that_are_cut_off_cost_only_the_note_which_is_asked_for_by_itself(
    story: BlockingStory, script: Script
) -> None:
    replies: Iterator[Reply] = iter((cut, whole))

    def reply(request: ModelRequest) -> Scripted:
        return next(replies)(request)

    script.reply = reply
    tell(story, 8)
    first, second = story.fold().folds
    assert (first.kind, first.beside, first.status) == (Kind.RECAP, ("episode",), "committed")
    assert (second.kind, second.reason, second.status) == (Kind.NOTE, "it has no note yet", "committed")
    assert script.asked() == [WHOLE, LISTS]
    assert kept(story) == ALL_THREE
    assert len(story.threads()) == 1


def test_a_bad_line_costs_no_other_line(story: BlockingStory, script: Script) -> None:
    script.reply = lambda request: answer(
        request, TOLD, threads=f"- something is up\n{THREAD}\n- new #99 nobody to nobody: nothing"
    )
    tell(story, 8)
    story.fold()
    assert [one.thread.text for one in story.threads()] == ["Maya to Joaquin: a parcel, before noon"]
    assert script.asked() == [WHOLE]


def test_after_two_unusable_answers_texts_and_lists_are_asked_apart(story: BlockingStory, script: Script) -> None:
    script.reply = lists_by_themselves
    tell(story, 8)
    first, second = story.fold().folds
    assert script.asked() == [WHOLE, WHOLE, TEXTS, LISTS]
    assert (first.kind, first.beside, second.kind) == (Kind.RECAP, ("episode",), Kind.NOTE)
    assert kept(story) == [("recap", "refused")] * 2 + ALL_THREE
    tell(story, 6, 8)
    story.fold()
    assert script.asked() == [TEXTS, LISTS], "what it cannot do is not tried again"


def test_that_a_model_needs_two_steps_is_remembered_when_the_store_is_opened_again(tmp_path: Path) -> None:
    clumsy, other = Script(lists_by_themselves), Script(lists_by_themselves)
    openings = ((clumsy, 0, [WHOLE, WHOLE, TEXTS, LISTS]), (other, 8, [TEXTS, LISTS]))
    for script, first, expected in openings:
        with BlockingMemory(tmp_path / "stories.db", settings=RULES, model=script.model) as memory:
            story = memory.story("tale")
            tell(story, 8, first)
            story.fold()
            assert script.asked()[: len(expected)] == expected
    able = Script(name="large")
    with BlockingMemory(tmp_path / "stories.db", settings=RULES, model=able.model) as memory:
        story = memory.story("tale")
        tell(story, 8, 16)
        story.fold()
        assert set(able.asked()) == {WHOLE}, "another model is not thought to be like it"


def test_a_model_that_never_answers_is_not_thought_to_need_two_steps(story: BlockingStory, script: Script) -> None:
    script.reply = lambda _: "Here is what I think of it all."
    tell(story, 8)
    story.fold()
    assert script.asked() == [WHOLE, WHOLE, TEXTS]
    script.reply = whole
    story.fold()
    assert script.asked() == [WHOLE]


def test_a_model_that_never_gives_lists_gets_an_empty_note_and_is_left_in_peace(
    story: BlockingStory, script: Script
) -> None:
    script.reply = texts_only
    tell(story, 8)
    story.fold()
    note = story.log()[-1].made
    assert (note.kind, note.status, parse_note(note.text)) == (Kind.NOTE, Status.PROVISIONAL, NO_NOTE)
    for _ in range(4):
        story.fold()
    spent = len(script.model.requests)
    assert spent <= 3 + 3 + 3, "the texts, the lists, and the lists once more"
    for _ in range(4):
        story.fold()
    assert len(script.model.requests) == spent
    recap = story.recap()
    assert recap is not None
    assert recap.text == TOLD


def test_under_review_one_approval_puts_all_in_force(story: BlockingStory, script: Script) -> None:
    story.set(["review=true"])
    tell(story, 8)
    story.fold()
    (waiting,) = story.pending()
    assert waiting.made.kind is Kind.RECAP
    assert (story.recap(), story.threads()) == (None, [])
    assert story.fold().folds == ()
    story.approve(waiting.id)
    assert (kept(story), story.pending()) == (ALL_THREE, [])
    assert len(story.threads()) == 1
    assert story.fold().folds == ()
    assert script.asked() == [WHOLE]


def test_under_review_one_rejection_refuses_all_and_another_answer_is_asked_for(
    story: BlockingStory, script: Script
) -> None:
    story.set(["review=true"])
    tell(story, 8)
    story.fold()
    (waiting,) = story.pending()
    story.reject(waiting.id)
    assert [status for _, status in kept(story)] == ["refused"] * 3
    script.reply = lambda request: answer(request, f"{TOLD} Both were glad.")
    story.fold()
    (another,) = story.pending()
    assert another.made.text == f"{TOLD} Both were glad."
    assert script.asked() == [WHOLE, WHOLE], "what was rejected is not given once more"


def test_note_episode_and_recap_are_taken_back_one_by_one(story: BlockingStory, script: Script) -> None:
    tell(story, 8)
    story.fold()
    for kind in ("note", "episode", "recap"):
        taken = story.take_back().made
        assert (taken.kind, str(taken.span)) == (kind, "messages 0-5")
        assert (story.recap() is None) is (kind == "recap")
        assert story.threads() == []
    with pytest.raises(BadInput):
        story.take_back()


def test_a_note_that_was_undone_is_made_again_by_itself(story: BlockingStory, script: Script) -> None:
    tell(story, 8)
    story.fold()
    story.take_back()
    script.asked()
    (done,) = story.fold().folds
    assert (done.kind, script.asked()) == (Kind.NOTE, [LISTS])
    assert len(story.threads()) == 1


def test_what_was_answered_once_is_not_paid_for_again(memory: BlockingMemory, script: Script) -> None:
    story, same = memory.story("tale"), memory.story("told again")
    tell(story, 8)
    story.fold()
    script.asked()
    tell(same, 8)
    (done,) = same.fold().folds
    assert (done.cost.calls, script.asked()) == (0, []), "the same question has the same answer"
    assert kept(same)[-3:] == ALL_THREE
    same.rebuild()
    assert script.asked() == [WHOLE], "who asks for all anew gets it anew"


def test_what_a_person_took_back_is_asked_for_anew(story: BlockingStory, script: Script) -> None:
    tell(story, 8)
    story.fold()
    for _ in range(3):
        story.take_back()
    script.asked()
    story.fold()
    assert script.asked() == [WHOLE], "the same answer would be what was taken back"


def test_answers_go_with_a_message_that_is_forgotten(memory: BlockingMemory, script: Script) -> None:
    story = memory.story("tale")
    tell(story, 9)
    story.fold()
    memory.forget("tale", 8)
    script.asked()
    same = memory.story("told again")
    tell(same, 9)
    same.fold()
    assert script.asked() == [WHOLE]


def test_an_old_edit_costs_at_most_three_calls_however_many_chapters_there_are(place: str, script: Script) -> None:
    settings = replace(RULES, chapter_messages=12)
    with BlockingMemory(place, settings=settings, model=script.model) as memory:
        story = memory.story("tale")
        tell(story, 120)
        story.fold()
        assert len(story.chapters()) >= 4
        assert all(one.recap for one in story.chapters())
        script.asked()
        story.edit(3, "Parcel 3 went astray.")
        story.fold()
        assert Counter(script.asked()) == {("amend",): 2, ("EPISODE", *LISTS): 1}
        assert story.fold().folds == ()


WRENS = "There were " + ", ".join(f"Wren{chr(97 + at)}ly" for at in range(12))
"""People of whom the lists may tell."""


def full_recap(request: ModelRequest) -> str:
    """Return a recap as long as it is asked for."""
    asked = re.search(r"written anew in about (\d+) words", request.user)
    told = "Joaquin and Maya had gone to the old mill." if recap_in(request).startswith(TOLD) else TOLD
    return " ".join([told] * max(1, int(asked[1]) // len(told.split()))) if asked else told


@pytest.mark.parametrize("words", [8, 60, *mark_slow(300, 900, reason="seconds of checks on long messages")])
def test_question_and_answer_fit_the_window(place: str, words: int) -> None:
    """Whatever the length of the messages, and with all that memory can tell beside them."""

    def eager(request: ModelRequest) -> str:
        if is_closing(request):
            return closing_answer(request, TOLD)
        if not is_update(request):
            return TOLD
        names = [f"Wren{chr(97 + at)}ly" for at in range(12)]
        long = "who keeps the northern gate of the old mill and owes nobody anything at all " * 4
        return answer(
            request,
            full_recap(request),
            episode=" ".join([TOLD] * 7),
            threads="\n".join(f"- new #1 {name} to Maya: {long}" for name in names[:8]),
            state="\n".join(f"- #1 {name} / place: {long}" for name in names),
            lore="\n".join(f"- #1 {name} | person | {name} | {long * 3}" for name in names),
        )

    script = Script(eager)
    settings = Settings(cast="off", memory_window_tokens=8_192, chapter_messages=60)
    with BlockingMemory(place, settings=settings, model=script.model) as memory:
        story = memory.story("tale")
        text = " ".join(["Maya", "and", "Joaquin", "went", "to", "the", "old", "mill"] * (words // 8))
        drafts = [
            Draft(message("user", f"{text}. {WRENS if at == 0 else TOLD}", speaker=("Maya", "Joaquin")[at % 2]))
            for at in range(90)
        ]
        story.add_drafts(drafts)
        folds = story.fold().folds
    assert {one.status for one in folds if one.kind is Kind.RECAP} == {"committed"}
    told = [[under(one, heading) for heading in ("Open", "How", "People")] for one in script.model.requests]
    assert words < 60 or any(all(lists) for lists in told)
    for one in script.model.requests:
        assert estimate_tokens(one.system) + estimate_tokens(one.user) + one.max_output_tokens <= 8_192


def test_a_span_of_the_largest_size_takes_one_call(place: str) -> None:
    """With a full recap and lists of ordinary length beside it."""

    def full(request: ModelRequest) -> str:
        people = "\n".join(
            f"- #1 Wren{chr(97 + at)}ly | person | Wren | Keeps the gate of the mill." for at in range(12)
        )
        threads = "\n".join(f"- new #1 Maya to Wren{chr(97 + at)}ly: a parcel, before noon" for at in range(8))
        return answer(request, full_recap(request), episode=TOLD, threads=threads, lore=people)

    script = Script(full)
    settings = Settings(cast="off", memory_window_tokens=8_192, chapter_messages=0)
    with BlockingMemory(place, settings=settings, model=script.model) as memory:
        story = memory.story("tale")
        text = " ".join(["Maya and Joaquin went to the old mill"] * 7)
        story.add_drafts(
            [Draft(message("user", f"{at}. {text}. {WRENS if at == 0 else TOLD}", speaker="Maya")) for at in range(200)]
        )
        folds = story.fold().folds
    assert len(folds) >= 5
    assert {one.status for one in folds} == {"committed"}
    assert script.asked() == [WHOLE] * len(folds)


# --- the edit canary ---


def parrot(request: ModelRequest) -> str:
    """A model that tells every distinctive word it reads, in text and lists, in words that pass the checks."""
    found = (word.lower() for word in CANARY.findall(request.user))
    words = [word for word in dict.fromkeys(found) if word != "question"]  # which is one of the prompt's own
    if part(request, "old_words"):
        gone = canaries_in(part(request, "old_words")) - canaries_in(part(request, "new_words"))
        words = [word for word in words if word.capitalize() not in gone]
    if kind_of(request) == "cast":
        return echo(request)
    told = " ".join(["Maya and Joaquin talked.", *(f"Maya spoke of the {word}." for word in words)])
    if is_closing(request):
        return closing_answer(request, told)
    if not is_update(request):
        return told
    return answer(
        request,
        told,
        threads="\n".join(f"- new #1 Maya to Joaquin: the {word}, before noon" for word in words[:12]),
        state="\n".join(f"- #1 {word} / holder: Maya" for word in words[:16]),
        present=f"- #1: Maya, {', '.join(words[:3])}",
        learnt="\n".join(f"- #1 Joaquin: the {word} is at the mill" for word in words[:10]),
        lore="\n".join(f"- #1 The {word} | thing | {word} | A lamp like the {words[0]}." for word in words[:16]),
        wishes="\n".join(f"- #1 more of {one}" for one in words[:8]),
    )


def stubborn_parrot(request: ModelRequest) -> str:
    """The same, but it takes nothing out of a text that it is to set right."""
    return parrot(replace(request, user=request.user.replace("old_words", "kept_words")))


def in_force(story: BlockingStory) -> dict[str, str]:
    """Return all memory there is, by what it is."""

    def notes(snapshot: Snapshot) -> list[str]:
        path = snapshot.path(0, snapshot.messages - 1)
        digests = [item.entry.digest for item in path]
        kinds = (Kind.EPISODE, Kind.NOTE)
        found = [cut_note_tiles(path, snapshot.notes(kind, SPAN_SCOPE, digests)) for kind in kinds]
        return [one.note.made.text for tiles in found for one in tiles if one.note]

    recap, backbone = story.recap(), story.backbone()
    views = [story.view(budget) for budget in (500, 2_000, 20_000)]
    return {
        "recap": recap.text if recap else "",
        "backbone": backbone.text if backbone else "",
        "chapters": "\n".join(f"{one.text}\n{one.title}\n{one.short}" for one in story.chapters()),
        "notes": "\n".join(story._run(story._inner._access.read(lambda moment: notes(moment.snapshot)))),
        "lore": repr(story.lore(everything=True)),
        "threads": repr(story.threads(everything=True)),
        "state": repr(story.state()),
        "wishes": repr(story.wishes()),
        "cast": repr(story.cast()),
        "views": "\n".join(one.text for view in views for one in view.messages),
    }


CANARY_EVERY = 6


def say(at: int) -> str:
    """Return what the message at a position says, some with a word that no other has."""
    word = f" They hid the {canary(at).lower()} there." if at % CANARY_EVERY == 1 else ""
    return f"Parcel {at} goes to the mill.{word}"


@pytest.mark.parametrize(
    ("deed", "at", "chapters", "manners"),
    cross(
        ("edit", "delete", "hide the word"),
        (1, 19, 31),
        (0, 12),
        (parrot, stubborn_parrot),
        reason="each is a story of its own, half a second",
    ),
)
def test_no_word_of_what_was_removed_is_left(manners: Reply, chapters: int, at: int, deed: str) -> None:
    script = Script(manners)
    settings = Settings(cast="turn", tail_messages=2, fold_messages=6, recap_words=300, chapter_messages=chapters)
    with BlockingMemory(":memory:", settings=settings, model=script.model) as memory:
        story = memory.story("tale")
        drafts = [
            Draft(message("user" if n % 2 else "assistant", say(n), speaker=("Maya", "Joaquin")[n % 2]))
            for n in range(56)
        ]
        story.add_drafts(drafts)
        story.fold()
        removed = canary(at)
        before = in_force(story)
        told = [name for name, text in before.items() if removed in canaries_in(text)]
        assert {"notes", "lore", "threads", "state", "views"} <= set(told), "it was told everywhere"
        if deed == "edit":
            story.edit(at, f"Parcel {at} goes to the quay, to the {canary(500).lower()}.")
        elif deed == "delete":
            story.delete(at)
        else:
            story.edit(at, f"Parcel {at} goes to the mill.")
        story.fold()
        for name, text in in_force(story).items():
            assert removed not in canaries_in(text), f"{name}: {text[:400]}"
        others = {canary(n) for n in range(48) if n % CANARY_EVERY == 1 and n != at}
        assert others <= canaries_in(in_force(story)["notes"]), "what nobody removed is still noted"
        assert story.fold().folds == ()
