"""Clients that send everything as one text: memory is put into it, and it is cut to the model's window."""

from __future__ import annotations

from tests.end_to_end.server.test_requests import Rig, rig

__all__ = ["rig"]

FRONT = "Write Odalys's next reply in a fictional chat between Odalys and Wren.\n\n[Start a new Chat]"


def one_text(*said: str, behind: str = "") -> str:
    """What a client sends of a chat."""
    names = {"u": "Wren", "a": "Odalys"}
    lines = [f"{names[line[0]]}: {line[2:]}" for line in said]
    return "u " + "\n\n".join([FRONT, *lines, *([behind] if behind else [])])


async def test_a_short_one_goes_on_as_it_came(rig: Rig) -> None:
    text = one_text("a You are late.", "u The ferry would not leave.")
    await rig.ask(text)
    assert rig.last_sent() == [{"role": "user", "content": text[2:]}]
    [stored] = (await rig.stories()).values()
    assert stored[:2] == ["You are late.", "The ferry would not leave."]


async def test_pins_stand_behind_the_mark_that_the_chat_begins(rig: Rig) -> None:
    await rig.ask(one_text("a You are late.", "u The ferry would not leave."))
    [name] = await rig.stories()
    await (await rig.memory.story(name)).pin("The trunk smells of oranges.")
    [stored] = (await rig.stories()).values()
    await rig.ask(one_text("a You are late.", "u The ferry would not leave.", f"a {stored[2]}", "u And now?"))
    [message] = rig.last_sent()
    content = message["content"]
    assert message["role"] == "user"
    assert content.startswith(FRONT)
    assert FRONT.count("\n") < content.index("oranges") < content.index("Odalys: You are late.")
    assert content.endswith("Wren: And now?")


async def test_a_long_one_is_cut_to_the_window(rig: Rig) -> None:
    said = [f"{'ua'[at % 2]} Message {at} " + "word " * 60 for at in range(61)]
    await rig.ask(one_text(*said))
    [message] = rig.last_sent()
    assert len(message["content"]) < len(one_text(*said)) / 2
    assert message["content"].startswith(FRONT)
    assert message["content"].rstrip().endswith(said[-1][2:].rstrip())
    [stored] = (await rig.stories()).values()
    assert len(stored) == 62
