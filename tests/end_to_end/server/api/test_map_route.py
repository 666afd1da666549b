"""The memory map over HTTP."""

from __future__ import annotations

from tests.end_to_end.server.api.conftest import Api


async def test_the_map_tells_what_is_by_hand_and_what_is_not_in_memory_yet(api: Api) -> None:
    await api.tell()
    story = await api.memory.story("ferry")
    await story.open_thread("Odalys to Wren: the brass key")
    drawn = await api.get("/stories/ferry/map")
    assert (drawn["messages"], drawn["untold"], drawn["bands"]) == (4, [[0, 3]], [])
    assert drawn["threads"] == [
        {"number": 1, "thing": "thread:1", "text": "Odalys to Wren: the brass key", "opened": 3, "settled": None,
         "outcome": None, "by_hand": True}
    ]  # fmt: skip
    assert [mark["text"] for mark in drawn["by_hand"]] == ["opening the thread “Odalys to Wren: the brass key”"]
    assert {name for stretch in drawn["presence"] for name in stretch["names"] or ()} <= {"Odalys", "Wren"}
