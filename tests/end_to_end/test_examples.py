"""The examples run."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path

from previously import ScriptedServer

EXAMPLES = Path(__file__).parents[2] / "examples"


async def test_the_chat_goes_on_where_it_ended(tmp_path: Path) -> None:
    async with ScriptedServer(["Good evening.", "You said hello."]) as server:
        for said, answer in (("Hello.", "Good evening.\n"), ("What did I say?", "You said hello.\n")):
            command = (sys.executable, str(EXAMPLES / "chat_loop.py"), server.base_url, "small")
            process = await asyncio.create_subprocess_exec(
                *command, cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
            )
            out, err = await process.communicate(f"{said}\n\n".encode())
            assert (process.returncode, out.decode()) == (0, answer), err.decode()
        second = (await server.request(1)).messages
    assert [message["content"] for message in second] == ["Hello.", "Good evening.", "What did I say?"]


def test_a_writer_of_ten_lines_writes_memory() -> None:
    command = [sys.executable, str(EXAMPLES / "custom_writer.py")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == "Odalys hid the ledger. The ferry left at nine.\n"


def test_the_loop_and_the_writer_are_as_short_as_the_docs_say() -> None:
    loop = _count_lines(EXAMPLES / "chat_loop.py", "async def chat", "if __name__")
    writer = _count_lines(EXAMPLES / "custom_writer.py", "class FirstSentences", "if __name__")
    assert (loop <= 15, writer <= 10) == (True, True), (loop, writer)


def test_the_page_shows_the_loop_as_it_is() -> None:
    loop = (EXAMPLES / "chat_loop.py").read_text("utf-8")
    shown = loop[loop.index("async def chat") : loop.index("\n\n\nif __name__")]
    page = (EXAMPLES.parent / "docs" / "library.md").read_text("utf-8")
    assert shown.replace('    """Talk until an empty line."""\n', "") in page


def test_what_a_writer_gives_back_is_checked() -> None:
    """The page says: the built-in writer writes instead, and the log says why."""
    from examples.custom_writer import FirstSentences
    from previously import BlockingMemory, Settings

    rules = Settings(tail_messages=1, fold_messages=2)
    with BlockingMemory(":memory:", settings=rules, writer=FirstSentences()) as memory:
        story = memory.story("ferry")
        for text in ("I hid the ledger. It rained.", "I saw the ferry leave. Nobody waved.", "Where is everybody?"):
            story.add("user", text, name="Odalys")
        story.fold()
        recap, reasons = story.recap(), [version.made.reason for version in story.log()]
    assert recap and recap.made_by == "builtin"
    assert any("third person" in reason for reason in reasons), reasons


def _count_lines(path: Path, first: str, end: str) -> int:
    text = path.read_text("utf-8")
    return sum(bool(line.strip()) for line in text[text.index(first) : text.index(end)].splitlines())
