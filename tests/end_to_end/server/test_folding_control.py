"""Folding is the user's: off, ask or automatic, for a story or a request; each fold is said in the log, and undone."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import httpx
import pytest
import pytest_asyncio

from previously import Memory, ScriptedAnswer
from previously.core.versions import Status
from tests.end_to_end.server.running import Rig, Talk, running_rig, stories_with

pytestmark = pytest.mark.asyncio(loop_scope="module")

WINDOW = 2_000
PATIENCE_S = 30.0
LINE = "The ferry to the north island leaves from the third pier at noon, and line {} of the log says who took it. "
DUE = "a fold is due and waits for //fold"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared_rig(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Rig]:
    async with running_rig(tmp_path_factory.mktemp("folding"), window=WINDOW, memory="builtin", idle_s=0.05) as rig:
        yield rig


async def fill(talk: Talk) -> httpx.Response:
    """Say more than the window holds; return the last answer."""
    answer = None
    for number in range(12):
        answer = await talk.ask(" ".join(LINE.format(100 * number + line) for line in range(12)))
        assert answer.status_code == 200
    assert answer is not None
    return answer


def sent(rig: Rig) -> list[dict[str, Any]]:
    """The list that the upstream got last."""
    body = rig.upstream.requests[-1].json
    assert isinstance(body, dict)
    return list(body["messages"])


async def folds_of(rig: Rig, name: str) -> list[str]:
    """How each version of a story stands."""
    async with await Memory.open(rig.proxy.db) as memory:
        return [str(version.made.status) for version in await (await memory.story(name, create=False)).log()]


async def until(is_so: Callable[[], Awaitable[bool]], what: str) -> None:
    last = time.monotonic() + PATIENCE_S
    while not await is_so():
        assert time.monotonic() < last, what
        await asyncio.sleep(0.05)


async def number_of(rig: Rig, name: str) -> int:
    async with await Memory.open(rig.proxy.db) as memory:
        return next(info.key.story for info in await memory.stories() if info.name == name)


async def test_automatic_folds_are_said_in_the_log_and_the_page(rig: Rig) -> None:
    talk = Talk(rig, "automatic")
    answer = await fill(talk)
    assert answer.headers["x-previously-memory"] == "on"
    assert len(sent(rig)) < len(talk.messages)
    await until(lambda: _has(rig, "automatic"), "nothing was folded")
    story = await number_of(rig, "automatic")
    # The first fold takes one message or several, by how fast the next ones come.
    await until(lambda: _logged(rig, rf"Story {story}: folded messages? 0[ -]"), "the log does not say so")
    versions = (await rig.client.get(f"{rig.proxy.origin}/api/v1/stories/automatic/versions")).json()["versions"]
    assert "committed" in {version["status"] for version in versions}


async def test_off_leaves_out_nothing_and_folds_nothing(rig: Rig) -> None:
    talk = Talk(rig, "off by command")
    await talk.ask("Let us begin at the third pier.")
    said = (await talk.ask("//folding off")).json()["choices"][0]["message"]["content"]
    assert "Folding is off in this story: nothing is folded" in said
    answer = await fill(talk)
    assert answer.headers["x-previously-memory"] == "off; reason=folding-off"
    theirs = [message for message in talk.messages if "olding" not in message["content"]]
    assert sent(rig) == theirs[:-1], "the list goes on as it came, but for the command and its answer"
    why = (await talk.ask("//why")).json()["choices"][0]["message"]["content"]
    assert "Folding is off in this story" in why
    await fill(Talk(rig, "another"))  # whose folds come after this story's
    await until(lambda: _has(rig, "another"), "nothing was folded")
    assert await folds_of(rig, "off by command") == []
    kept = (await stories_with(rig.proxy.db, "Let us begin at the third pier."))["off by command"]
    assert len(kept) == len(theirs), "what is said is remembered all the same"


async def test_off_by_header_holds_for_its_requests(rig: Rig) -> None:
    talk = Talk(rig, "off by header")
    talk.headers["X-Previously-Folding"] = "off"
    answer = await fill(talk)
    assert answer.headers["x-previously-memory"] == "off; reason=folding-off"
    assert sent(rig) == talk.messages[:-1]
    assert "x-previously-folding" not in rig.upstream.requests[-1].headers
    assert await folds_of(rig, "off by header") == []
    del talk.headers["X-Previously-Folding"]
    answer = await talk.ask("And now?")
    assert answer.headers["x-previously-memory"] == "on"
    assert len(sent(rig)) < len(talk.messages) - 1
    await until(lambda: _has(rig, "off by header"), "nothing was folded")


async def test_off_means_never_also_where_the_list_is_too_long(rig: Rig) -> None:
    refusal = {
        "error": {"message": "This model's maximum context length is 900 tokens.", "code": "context_length_exceeded"}
    }
    rig.upstream.new_plan(lambda _: ScriptedAnswer(status=400, body=refusal))
    talk = Talk(rig, "too long")
    talk.headers["X-Previously-Folding"] = "off"
    before = len(rig.upstream.requests)
    answer = await talk.ask("The third pier. " * 400)
    assert (answer.status_code, answer.json()) == (400, refusal)
    assert len(rig.upstream.requests) == before + 1, "it is not sent once more"


async def test_ask_waits_for_a_person_and_says_so(rig: Rig) -> None:
    talk = Talk(rig, "asking")
    await talk.ask("Let us begin.")
    said = (await talk.ask("//folding ask")).json()["choices"][0]["message"]["content"]
    assert "what is due waits for `//fold`" in said
    await fill(talk)
    story = await number_of(rig, "asking")
    await until(lambda: _logged(rig, f"Story {story}: {DUE}"), "the log does not say that a fold is due")
    answer = await talk.ask("Go on.")
    assert answer.headers["x-previously-memory"] == "on; fold=waiting"
    assert rig.proxy.written().count(f"Story {story}: {DUE}") == 1, "once is enough"
    why = (await talk.ask("//why")).json()["choices"][0]["message"]["content"]
    assert "A fold is due and waits for you: say //fold in the chat." in why
    health = (await rig.client.get(f"{rig.proxy.origin}/api/v1/stories/asking/health")).json()
    assert [notice for notice in health["notices"] if "waits for you" in notice]
    assert await folds_of(rig, "asking") == []
    await talk.ask("//fold")
    await until(lambda: _has(rig, "asking"), "nothing was folded")
    answer = await talk.ask("And on.")
    assert answer.headers["x-previously-memory"] == "on"


async def test_a_fold_that_is_undone_stays_undone_where_a_person_decides(rig: Rig) -> None:
    talk = Talk(rig, "undoing")
    await fill(talk)
    await until(lambda: _has(rig, "undoing"), "nothing was folded")
    await talk.ask("//folding ask")
    await until(lambda: _is_idle(rig), "a fold that was under way never ends")
    before = await folds_of(rig, "undoing")
    said = (await talk.ask("//undo fold")).json()["choices"][0]["message"]["content"]
    assert "Taken back: version" in said
    assert "anew" not in said
    await talk.ask("Go on.")
    await fill(Talk(rig, "one more"))
    await until(lambda: _has(rig, "one more"), "nothing was folded")
    now = await folds_of(rig, "undoing")
    assert len(now) == len(before)
    assert now.count(Status.UNDONE.value) == 1


async def test_undoing_tells_that_it_is_folded_anew(rig: Rig) -> None:
    talk = Talk(rig, "anew")
    await fill(talk)
    await until(lambda: _has(rig, "anew"), "nothing was folded")
    said = (await talk.ask("//undo fold")).json()["choices"][0]["message"]["content"]
    assert "`//folding ask` leaves that to you" in said


@pytest.mark.parametrize("given", ["never", "on, off"])
async def test_a_word_that_is_none_is_refused(rig: Rig, given: str) -> None:
    talk = Talk(rig)
    talk.headers["X-Previously-Folding"] = given
    answer = await talk.ask("Hello, third pier.")
    assert answer.status_code == 400
    assert "X-Previously-Folding must be automatic, ask or off." in answer.text
    said = (await Talk(rig, "automatic").ask(f"//folding {given}")).json()["choices"][0]["message"]["content"]
    assert "folding is" in said
    assert "must be" in said


async def _is_idle(rig: Rig) -> bool:
    metrics = (await rig.client.get(f"{rig.proxy.origin}/metrics")).text
    return "previously_stories_to_fold 0\n" in metrics


async def _has(rig: Rig, name: str) -> bool:
    return bool(await folds_of(rig, name))


async def _logged(rig: Rig, pattern: str) -> bool:
    return re.search(pattern, rig.proxy.written()) is not None
