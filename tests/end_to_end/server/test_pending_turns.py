"""What waits on disk for a store that is slow or down."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest

from previously.core.errors import StoreProblem
from previously.core.messages import message
from previously.server.chat_request import ChatRequest, parse_chat_request
from previously.server.pending_turns import PendingTurns

MUCH = 1_000_000


def asked(text: str = "Hello") -> ChatRequest:
    return parse_chat_request(json.dumps({"model": "m", "messages": [{"role": "user", "content": text}]}).encode(), {})


async def test_what_waits_is_there_after_a_restart_with_its_answer(tmp_path: Path) -> None:
    path = tmp_path / "spool"
    spool = PendingTurns(path, MUCH)
    first, second = await spool.add("ann", asked("one \ud800")), await spool.add("bob", asked("two"))
    assert first is not None and second is not None
    await spool.keep_answer(second, [message("assistant", "Two, yes.")], partial=True)
    found = await PendingTurns(path, MUCH).read_all()
    assert [(one.owner, one.request.client_list.body[0].message.text) for one in found] == [
        ("ann", "one \ufffd"),
        ("bob", "two"),
    ]
    assert [(tuple(reply.text for reply in one.replies), one.partial) for one in found] == [
        ((), False),
        (("Two, yes.",), True),
    ]


async def test_when_nothing_waits_any_more_the_file_is_empty(tmp_path: Path) -> None:
    path = tmp_path / "spool"
    spool = PendingTurns(path, MUCH)
    numbers = [await spool.add("ann", asked(str(at))) for at in range(3)]
    for number in numbers:
        assert number is not None
        await spool.remove(number)
    assert (spool.count, path.stat().st_size) == (0, 0)
    assert not await PendingTurns(path, MUCH).read_all()


async def test_a_line_that_was_cut_off_is_none_and_harms_no_other(tmp_path: Path) -> None:
    path = tmp_path / "spool"
    await PendingTurns(path, MUCH).add("ann", asked("one"))
    path.write_bytes(path.read_bytes() + b'{"id": 2, "owner": "bo')
    spool = PendingTurns(path, MUCH)
    assert spool.count == 1
    await spool.add("cid", asked("three"))
    assert [one.owner for one in await PendingTurns(path, MUCH).read_all()] == ["ann", "cid"]


async def test_it_never_grows_beyond_its_bound(tmp_path: Path) -> None:
    path = tmp_path / "spool"
    spool = PendingTurns(path, 2_000)
    numbers = [await spool.add("ann", asked("word " * 50)) for _ in range(20)]
    assert None in numbers and numbers[0] is not None
    assert path.stat().st_size <= 2_000


async def test_only_its_owner_can_read_it(tmp_path: Path) -> None:
    path = tmp_path / "spool"
    await PendingTurns(path, MUCH).add("ann", asked())
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


async def test_a_disk_that_cannot_be_written_is_no_reason_to_stop(tmp_path: Path) -> None:
    assert await PendingTurns(tmp_path / "missing" / "spool", MUCH).add("ann", asked()) is None


def test_a_spool_that_cannot_be_read_is_said(tmp_path: Path) -> None:
    (tmp_path / "spool").mkdir()
    with pytest.raises(StoreProblem, match="cannot be read"):
        PendingTurns(tmp_path / "spool", MUCH)
