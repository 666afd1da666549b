"""The last view of a story is the newest that is known on its path."""

from __future__ import annotations

from previously.app import Memory
from previously.runtime.writer import BuiltinWriter
from previously.settings import Settings


async def test_the_last_view_is_the_newest_that_is_known() -> None:
    memory = await Memory.open(":memory:", writer=BuiltinWriter(), settings=Settings(tail_messages=2, fold_messages=4))
    story = await memory.story("harbour")
    for at in range(8):
        await story.add("user" if at % 2 == 0 else "assistant", f"Wren promised number {at} to Odalys.", name="Wren")
    await story.fold()

    async def budget() -> int | None:
        found = await story.last_view()
        return found.budget_tokens if found else None

    assert await budget() is None
    await story.add("user", "And then?")
    await story.view(2_001)
    assert await budget() == 2_001, "asked, not answered yet"
    await story.add("assistant", "Then the ferry left.")
    assert await budget() == 2_001
    await story.view(2_002)
    assert await budget() == 2_002, "to go on with an answer"
    for at in range(4):
        await story.add("user" if at % 2 == 0 else "assistant", f"Without memory {at}.")
    assert await budget() == 2_002, "turns of which none is known are passed over"
    await story.branch("other", at=3)
    await story.switch("other")
    assert await budget() is None, "that was another path"
    await memory.close()
