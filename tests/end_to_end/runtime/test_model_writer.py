"""A model in the loop: bounds, fallback, making provisional memory anew, racing, limits."""

from __future__ import annotations

import asyncio
import random
import re
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from previously import BlockingMemory, Memory, Settings
from previously.blocking import BlockingStory
from previously.core.messages import Message, Role, ToolCall, ToolResult, message
from previously.core.model_io import FailureKind, ModelFailure, ModelReply, ModelRequest, Usage
from previously.core.versions import Kind, LiveVersion, Status, Version
from previously.folds.amend import AMENDED
from previously.folds.brief import BriefFold
from previously.models.retry import MAX_CALLS
from previously.runtime import model_writer
from previously.runtime.prompts import load_prompt
from previously.storage.tables import Tables
from previously.testing.model import Scripted, ScriptedModel
from tests.effort import cases
from tests.end_to_end.runtime.update_answers import answer, is_update, messages

RULES = Settings(
    scene_messages=0, cast="off", tail_messages=2, fold_messages=6, fold_words=400, fold_tokens=900, recap_words=60
)
DOWN = ModelFailure(FailureKind.CONNECTION, "Nobody listens there.")
GOOD = "Maya carried the parcels to the mill and promised Joaquin to be back by noon. Odalys kept the ledger."


def good(request: ModelRequest) -> str:
    """A fair recap of whatever is asked: it says how far the story has got."""
    read = messages(request) if is_update(request) else request.user.split("<new_events>")[1]
    numbers = [int(number) for number in re.findall(r"(?<!#)\b\d+", read)]
    told = (
        "Maya carried the parcels to the mill and promised Joaquin to be back by noon, while Odalys kept the ledger. "
        f"By then they had got as far as number {max(numbers, default=0)}."
    )
    return answer(request, told) if is_update(request) else told


def plain(request: ModelRequest) -> str:
    """The same words whatever is asked."""
    return answer(request, GOOD) if is_update(request) else GOOD


@pytest.fixture(autouse=True)
def _no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    async def at_once(seconds: float) -> None:
        await asyncio.sleep(0)

    defaults = model_writer.ModelWriter.__init__.__kwdefaults__
    assert defaults is not None
    monkeypatch.setitem(defaults, "sleep", at_once)


def tell(story: BlockingStory, count: int, start: int = 0) -> None:
    for number in range(start, start + count):
        name = ("Maya", "Joaquin", "Odalys")[number % 3]
        story.add("user", f"Parcel {number} goes to the mill, and {name} promised to be back by noon.", name=name)


def statuses(story: BlockingStory) -> list[str]:
    return [version.made.status.value for version in story.log()]


def version_of(story: BlockingStory, ident: int | None) -> Version:
    return next(version for version in story.log() if version.id == ident)


def test_a_models_recap_is_kept_with_its_cost_and_origin(tmp_path: Path) -> None:
    model = ScriptedModel(plain, name="small-7b")
    with BlockingMemory(tmp_path / "s.db", settings=RULES, model=model) as memory:
        story = memory.story("tale")
        tell(story, 9)
        report = story.fold()
        version, episode, note = story.log()
    assert [fold.status for fold in report.folds] == ["committed"]
    assert (version.made.made_by, version.made.model, version.made.text) == ("model", "small-7b", GOOD)
    assert version.made.cost.calls == report.calls == len(model.requests) == 1
    assert [(one.made.kind, one.made.cost.calls) for one in (episode, note)] == [(Kind.EPISODE, 0), (Kind.NOTE, 0)]
    assert version.made.prompt_hash
    assert version.firm
    assert model.closed


@pytest.mark.parametrize(
    ("bad", "calls"),
    [("", 3), ("I'm sorry, but I can't help with that.", 1), ("<think>hm", 3), (DOWN, 3)],
    ids=["empty", "refusal", "thoughts", "down"],
)
def test_after_the_last_try_the_built_in_writer_steps_in(tmp_path: Path, bad: Scripted, calls: int) -> None:
    model = ScriptedModel(lambda _: bad)
    with BlockingMemory(tmp_path / "s.db", settings=RULES, model=model) as memory:
        story = memory.story("tale")
        tell(story, 9)
        report = story.fold()
        live, firm = story.recap(), story.log()[-1].firm
        assert statuses(story) == ["refused"] * calls + ["provisional"]
        assert all(version.made.model for version in story.log()[:-1])
    assert len(model.requests) == calls == report.calls
    assert [fold.status for fold in report.folds] == ["provisional"]
    assert live is not None
    assert "Maya" in live.text
    assert not firm


def test_a_refused_answer_is_asked_for_again_with_the_reason(tmp_path: Path) -> None:
    replies = iter(("", GOOD))
    model = ScriptedModel(lambda request: (said := next(replies)) and answer(request, said))
    with BlockingMemory(tmp_path / "s.db", settings=RULES, model=model) as memory:
        story = memory.story("tale")
        tell(story, 9)
        story.fold()
        assert statuses(story) == ["refused", "committed", "committed", "committed"]
        assert story.log()[0].made.reason
    first, second = model.requests
    assert first != second
    assert "could not be used" in second.user


def test_an_unreachable_model_never_stops_memory_and_is_left_alone(tmp_path: Path) -> None:
    model = ScriptedModel(lambda _: DOWN)
    with BlockingMemory(tmp_path / "s.db", settings=RULES, model=model) as memory:
        story = memory.story("tale")
        tell(story, 120)
        folds = story.fold().folds
    assert len(folds) > 5
    assert {fold.status for fold in folds} == {"provisional"}
    assert len(model.requests) == 3 * MAX_CALLS, "after three failed folds the breaker opens"


def test_a_model_that_cannot_help_to_search_still_folds(tmp_path: Path) -> None:
    def answer_folds(request: ModelRequest) -> str:
        return plain(request) if is_update(request) else ""

    with BlockingMemory(tmp_path / "s.db", settings=RULES, model=ScriptedModel(answer_folds)) as memory:
        story = memory.story("tale")
        tell(story, 20)
        for number in range(4):
            assert story.search_with_model(f"Who carried parcel {number}?").words.reason
        assert [fold.made_by for fold in story.fold(once=True).made if fold.kind is Kind.RECAP] == ["model"]


def test_provisional_memory_is_made_anew_when_the_model_answers(tmp_path: Path) -> None:
    place = tmp_path / "s.db"
    with BlockingMemory(place, settings=RULES, model=ScriptedModel(lambda _: DOWN)) as memory:
        story = memory.story("tale")
        tell(story, 40)
        reached = story.fold().folds[-1].span.last
    model = ScriptedModel(good)
    with BlockingMemory(place, settings=RULES, model=model) as memory:
        story = memory.story("tale")
        planned = story.plan()
        assert planned.folds[0].span.first == 0, "the plan knows what is to be made anew"
        assert planned.calls == len(planned.folds)
        folds = story.fold().folds
        live = story.recap()
        assert live is not None
        assert version_of(story, live.version).firm
        assert live.span.last >= reached
        reached = live.span.last
        assert f"number {reached}" in live.text
        assert {fold.status for fold in folds} == {"committed"}
        assert sum(len(fold.span) for fold in folds) == reached + 1
        assert story.fold().folds == ()


def test_a_span_the_model_will_not_fold_does_not_switch_the_model_off(tmp_path: Path) -> None:
    def reply(request: ModelRequest) -> Scripted:
        if "Parcel 9 " in messages(request):
            return ModelFailure(FailureKind.FILTERED, "Blocked by a content filter.")
        return good(request)

    model = ScriptedModel(reply)
    with BlockingMemory(tmp_path / "s.db", settings=RULES, model=model) as memory:
        story = memory.story("tale")
        for start in range(0, 120, 4):
            tell(story, 4, start)
            story.fold()
        live = story.recap()
        assert live is not None
        assert (version_of(story, live.version).firm, live.made_by) == (True, "model")
        blocked = [request for request in model.requests if "Parcel 9 " in messages(request)]
        assert len(blocked) == 2, "once, and once more; then the built-in text stays"
        seen = len(model.requests)
        story.fold()
        assert len(model.requests) == seen


def test_many_people_over_many_parts_are_judged_part_by_part(tmp_path: Path) -> None:
    people = [
        "Maya",
        "Joaquin",
        "Odalys",
        "Wren",
        "Tamsin",
        "Corvin",
        "Anneke",
        "Bram",
        "Dorrie",
        "Senn",
        "Hanne",
        "Osric",
    ]

    def reply(request: ModelRequest) -> str:
        events = messages(request)
        here = [name for name in people if f"{name}:" in events]
        numbers = re.findall(r"sack (\d+)", events)
        told = (
            f"{', '.join(here)} carried sacks to the mill in Lethen, up to sack {numbers[-1]}, and kept count of them."
        )
        return answer(request, told)

    model = ScriptedModel(reply)
    small = Settings(scene_messages=0, cast="off", tail_messages=1, fold_words=2_500, fold_messages=500,
                     fold_tokens=9_000, recap_words=60,
                     memory_window_tokens=2_048)  # fmt: skip
    with BlockingMemory(tmp_path / "s.db", settings=small, model=model) as memory:
        story = memory.story("tale")
        for number in range(240):
            name = people[number // 20]
            story.add("user", f"I take sack {number} to the mill in Lethen and write it into the ledger.", name=name)
        folds = [fold for fold in story.fold().folds if fold.kind is Kind.RECAP]
        assert {fold.status for fold in folds} == {"committed"}
        assert len(model.requests) > len(folds), "they were split"
        assert all("THREADS" not in request.user for request in model.requests), "for lists the window has no room"


def test_nothing_is_asked_about_nothing(tmp_path: Path) -> None:
    model = ScriptedModel(GOOD)
    with BlockingMemory(tmp_path / "s.db", settings=RULES, model=model) as memory:
        story = memory.story("tale")
        for _ in range(30):
            story.add("user", "")
        assert {fold.status for fold in story.fold().folds} == {"committed"}
    assert model.requests == []


def test_a_fold_that_would_take_too_many_calls_is_left_to_the_built_in_writer(tmp_path: Path) -> None:
    model = ScriptedModel(good)
    small = Settings(
        scene_messages=0, cast="off", tail_messages=1, fold_messages=2, recap_words=60, memory_window_tokens=2_048
    )
    with BlockingMemory(tmp_path / "s.db", settings=small, model=model) as memory:
        story = memory.story("tale")
        story.add("user", "Maya goes to the mill with Joaquin. " * 9_000, name="Maya")
        story.add("user", "Maya is back.", name="Maya")
        story.add("user", "Good.", name="Joaquin")
        (done,) = story.fold().folds
    assert done.status == "provisional"
    assert "calls" in done.reason
    assert model.requests == []


def test_what_does_not_fit_the_window_is_split_and_read_to_the_last_word(tmp_path: Path) -> None:
    small = Settings(
        scene_messages=0, cast="off", tail_messages=1, fold_messages=2, recap_words=60, memory_window_tokens=3_000
    )
    model = ScriptedModel(good)
    sentences = [f"Then Maya counted sack {number} at the mill with Odalys." for number in range(900)]
    with BlockingMemory(tmp_path / "s.db", settings=small, model=model) as memory:
        story = memory.story("tale")
        story.add("user", "Maya goes to the mill with Joaquin. " + " ".join(sentences), name="Maya")
        story.add("user", "Maya is back.", name="Maya")
        story.add("user", "Good.", name="Joaquin")
        recap, note = story.fold().folds
    assert (recap.kind, recap.status) == (Kind.RECAP, "committed")
    assert (note.kind, note.status) == (Kind.NOTE, "provisional"), "for lists the window has no room"
    assert len(model.requests) > 3
    read = " ".join(request.user for request in model.requests)
    assert all(sentence in read for sentence in sentences)
    for request in model.requests:
        assert (len(request.system) + len(request.user)) // 4 + request.max_output_tokens <= 3_000 + 10


@pytest.mark.parametrize("said", [None, 2_100])
def test_a_server_with_a_smaller_window_than_thought_is_asked_in_parts(tmp_path: Path, said: int | None) -> None:
    def reply(request: ModelRequest) -> Scripted:
        if (len(request.system) + len(request.user)) // 4 + request.max_output_tokens > 2_100:
            return ModelFailure(FailureKind.OVERFLOW, "The input is too long.", window_tokens=said)
        return good(request)

    model = ScriptedModel(reply)
    with BlockingMemory(
        tmp_path / "s.db", settings=Settings(scene_messages=0, cast="off", tail_messages=1, recap_words=60), model=model
    ) as memory:
        story = memory.story("tale")
        sentences = [f"Then Maya counted sack {number} at the mill with Joaquin and Odalys." for number in range(300)]
        for start in range(0, 300, 20):
            story.add("user", " ".join(sentences[start : start + 20]), name="Maya")
        folds = [fold for fold in story.fold().folds if fold.kind is Kind.RECAP]
        assert {fold.status for fold in folds} == {"committed"}
    read = " ".join(request.user for request in model.requests)
    folded = 20 * (folds[-1].span.last + 1)
    assert folded >= 160
    assert all(sentence in read for sentence in sentences[:folded])
    refused = [request for request in model.requests if not isinstance(reply(request), str)]
    assert len(refused) <= 3, "what it has learnt it keeps"


def test_a_server_that_finds_everything_too_long_ends_in_the_built_in_writer(tmp_path: Path) -> None:
    model = ScriptedModel(lambda _: ModelFailure(FailureKind.OVERFLOW, "The input is too long."))
    with BlockingMemory(tmp_path / "s.db", settings=RULES, model=model) as memory:
        story = memory.story("tale")
        tell(story, 9)
        assert [fold.status for fold in story.fold().folds] == ["provisional"]
    assert len(model.requests) <= MAX_CALLS, "all at once, the texts alone, and less of them"


@pytest.mark.parametrize(("name", "value"), [("calls_per_hour", 2), ("calls_per_day", 2), ("tokens_per_day", 500)])
def test_limits_hold_and_memory_goes_on_without_the_model(tmp_path: Path, name: str, value: int) -> None:
    model = ScriptedModel(good)
    settings = Settings(
        scene_messages=0, cast="off", tail_messages=2, fold_messages=6, recap_words=60, **dict[str, Any]({name: value})
    )
    with BlockingMemory(tmp_path / "s.db", settings=settings, model=model) as memory:
        story = memory.story("tale")
        tell(story, 60)
        folds = story.fold().folds
    assert 0 < len(model.requests) <= 2
    assert folds[-1].status == "provisional"
    assert "limit of" in folds[-1].reason


@pytest.mark.random
@pytest.mark.parametrize("edited", [False, True], ids=["growing", "and edited, in chapters"])
def test_any_plan_of_failures_is_survived(tmp_path: Path, edited: bool) -> None:
    """Random replies of every sort: never more than three calls a fold, never a loop, the view within budget."""
    settings = replace(RULES, chapter_messages=15) if edited else RULES
    menu: list[Scripted | Callable[[ModelRequest], Scripted]] = [
        plain,
        lambda request: ModelReply(plain(request).partition("\n\nTHREADS")[0], "m", "length", Usage(1, 1, True)),
        lambda request: plain(request).replace("none", "- something else"),
        GOOD,
        "",
        " \n",
        "<think>only thoughts</think>",
        "As an AI language model, I cannot continue.",
        "word " * 3_000,
        '{"tool": "search", "arguments": {}}',
        DOWN,
        ModelFailure(FailureKind.RATE_LIMITED, "Too many requests.", 0.0),
        ModelFailure(FailureKind.OVERFLOW, "Too long."),
        ModelReply("Maya went to", "m", "length", Usage(1, 1, True)),
        ModelReply("", "m", "tool_calls", Usage(1, 1, True), tool_calls=True),
        ModelReply("", "m", "stop", Usage(1, 1, True), reasoning="hm"),
    ]
    for seed in range(cases(25)):
        pick = random.Random(seed)

        def reply(request: ModelRequest, pick: random.Random = pick) -> Scripted:
            found = pick.choice(menu)
            return found(request) if callable(found) else found

        model = ScriptedModel(reply)
        with BlockingMemory(tmp_path / f"{seed}.db", settings=settings, model=model) as memory:
            story = memory.story("tale")
            for start in range(0, 60, 12):
                before = story.recap()
                tell(story, 12, start)
                if edited:
                    story.edit(pick.randrange(start + 1), f"Parcel {start} was never sent, said Odalys to Maya.")
                seen = len(model.requests)
                report = story.fold()
                new = model.requests[seen:]
                parts = {messages(request) or request.user.partition("\n\nYour last")[0] for request in new}
                assert len(new) <= MAX_CALLS * max(len(report.folds), len(parts)), "each part counts by itself"
                kept = [fold for fold in report.folds if fold.reason.partition(";")[0] != AMENDED]
                assert all(fold.status in ("committed", "provisional") for fold in kept)
                assert not any(one.recap is None for one in story.chapters())
                view = story.view(700)
                assert view.tokens <= 700
                if before and not report.folds:
                    assert story.recap() == before
            texts = [v.made.text for v in story.log() if v.made.status is not Status.REFUSED]
            assert all(text.strip() and "think" not in text for text in texts)


async def barrier_model(racers: int) -> tuple[ScriptedModel, Callable[[], Awaitable[None]]]:
    thinking = asyncio.Event()
    go_on = asyncio.Event()

    async def reply(request: ModelRequest) -> str:
        thinking.set()
        await go_on.wait()
        return plain(request)

    async def release() -> None:
        await thinking.wait()
        for _ in range(racers):
            await asyncio.sleep(0)
        go_on.set()

    return ScriptedModel(reply), release


async def test_fifty_racers_pay_for_one_call(tmp_path: Path) -> None:
    model, release = await barrier_model(50)
    async with await Memory.open(tmp_path / "s.db", settings=RULES, model=model) as memory:
        story = await memory.story("tale")
        for number in range(9):
            await story.add("user", f"Parcel {number} goes to the mill with Maya, Joaquin and Odalys.", name="Maya")
        handles = [await memory.story("tale") for _ in range(50)]
        reports = asyncio.gather(*(handle.fold() for handle in handles))
        await release()
        results = await reports
        assert len(model.requests) == 1
        assert sum(len(report.folds) for report in results) == 1
        assert sum("another" in report.stopped for report in results) == 49
        assert len(await story.log()) == 3, "recap, episode and note"


async def test_a_path_that_moves_while_the_model_thinks_gets_nothing_false(tmp_path: Path) -> None:
    model, release = await barrier_model(5)
    async with await Memory.open(tmp_path / "s.db", settings=RULES, model=model) as memory:
        story = await memory.story("tale")
        for number in range(9):
            await story.add("user", f"Parcel {number} goes to the mill with Maya, Joaquin and Odalys.", name="Maya")
        await story.branch("kept")
        folding = asyncio.create_task(story.fold(once=True))
        await asyncio.sleep(0.05)
        await story.edit(2, "Maya threw the parcel into the river instead.")
        await release()
        await folding
        branch = await story.branch_info()
        access = story._access

        def live(tables: Tables) -> list[LiveVersion | None]:
            return [tables.snapshot(access.key, name).live(Kind.RECAP, "") for name in (branch.name, "kept")]

        now, kept = await access.store.read(access.key.owner, live)
        assert now is None
        assert kept is not None, "what was made is true where it was made"


def worked(calls: int) -> tuple[Message, ...]:
    """A conversation of an agent; every call and what it gave takes about a thousand tokens."""
    said = [message("user", "Make the tests of the parser pass.")]
    for at in range(calls):
        said.append(Message(Role.ASSISTANT, (ToolCall(f"c{at}", "bash", f'{{"command": "cat part_{at}.py"}}'),)))
        said.append(Message(Role.TOOL, (ToolResult(f"c{at}", f"line of part {at}, which is read\n" * 110),)))
    return tuple(said)


def test_a_long_conversation_is_read_in_many_parts_and_no_call_without_its_result() -> None:
    model = ScriptedModel(
        lambda request: f"## Goal\n- Make the tests of the parser pass.\n## Done\n- Read {len(request.user)} characters"
    )
    writer = model_writer.ModelWriter(model, {"brief": load_prompt("brief")}, window_tokens=8_192)
    reply = asyncio.run(writer.write(BriefFold(worked(100))))
    assert (reply.made_by, reply.reason) == ("model", "")
    assert 24 < len(model.requests) <= BriefFold(()).most_parts
    for request in model.requests:
        assert request.user.count("[tool bash") == request.user.count("[tool-result]") > 0


def test_a_conversation_of_far_too_many_parts_says_what_would_help() -> None:
    model = ScriptedModel("## Goal\n- x")
    writer = model_writer.ModelWriter(model, {"brief": load_prompt("brief")}, window_tokens=8_192)
    reply = asyncio.run(writer.write(BriefFold(worked(400))))
    assert reply.status is Status.PROVISIONAL
    assert reply.reason == (
        "it would take more than 64 calls, since the model's window is taken for 8,192 tokens; "
        "if it is larger, say so with memory_window_tokens"
    )
    assert model.requests == []
