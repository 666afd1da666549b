"""Every example in README and docs runs and gives what it says: Python, and in guides whole sessions at a terminal."""

from __future__ import annotations

import asyncio
import doctest
import gc
import re
import shlex
import threading
from collections.abc import Iterator
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from previously import BlockingMemory, ScriptedServer, Settings, read_story
from previously.cli.command_table import make_parser
from previously.core.tokens import ESTIMATE, message_tokens
from tests.end_to_end.page_session import CommandStep, FileStep, Session, is_as_expected, list_steps

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
ALL = [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]
PAGES = [page for page in ALL if ">>> " in page.read_text("utf-8")]
SESSIONS = [
    ROOT / "README.md",
    *sorted((DOCS / "tutorials").glob("*.md")),
    *sorted((DOCS / "guides").glob("*.md")),
    DOCS / "beyond-one-story.md",
    DOCS / "directory.md",
    DOCS / "troubleshooting.md",
]
"""Pages that a reader follows from top to bottom."""

SLOW = {
    "python-chat": "starts programs that import a client",
    "sillytavern": "starts a server",
    "host": "starts a server",
    "move-here": "starts a program that opens the store",
    "directory": "starts git and the program",
}
"""Pages that take seconds; what they show of the engine has quick tests of its own."""

OWN_FILES = {"README": {"my-book.md": "# One\n\nInes came to Lethen.\n\n# Two\n\nShe stayed.\n"}}
"""Files that a reader of these pages has already."""


def mark_slow(page: Path) -> Any:
    """Return the page as a parameter, marked if it takes seconds."""
    marks = [pytest.mark.slow(reason=SLOW[page.stem])] if page.stem in SLOW else []
    return pytest.param(page, marks=marks)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_examples_run(page: Path) -> None:
    results = doctest.testfile(str(page), module_relative=False, encoding="utf-8")
    assert results.attempted > 0
    assert results.failed == 0
    gc.collect()  # so that what an example leaves open is this test's fault, not the next one's


@pytest.fixture(scope="module")
def model() -> Iterator[str]:
    """The address of a model that always has something to say, in a thread of its own."""
    loop, server = asyncio.new_event_loop(), ScriptedServer()
    running = threading.Thread(target=loop.run_forever)
    running.start()
    asyncio.run_coroutine_threadsafe(server.__aenter__(), loop).result()
    yield urlsplit(server.base_url).netloc
    asyncio.run_coroutine_threadsafe(server.__aexit__(None, None, None), loop).result()
    loop.call_soon_threadsafe(loop.stop)
    running.join()
    loop.close()


@pytest.mark.parametrize("page", [mark_slow(page) for page in SESSIONS], ids=lambda page: page.stem)
def test_a_page_can_be_followed_from_top_to_bottom(
    page: Path, model: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    steps = list(list_steps(page.read_text("utf-8")))
    assert any(isinstance(step, CommandStep) for step in steps), "a page that shows how to do something shows commands"
    session = Session(tmp_path, monkeypatch, capsys, model)
    for name, text in OWN_FILES.get(page.stem, {}).items():
        (tmp_path / name).write_text(text, "utf-8")
    try:
        for step in steps:
            session.do(step)
    finally:
        session.close()


@pytest.mark.parametrize("page", SESSIONS, ids=lambda page: page.stem)
def test_what_is_not_run_says_why(page: Path) -> None:
    for reason in re.findall(r"<!-- not run:(.*?)-->", page.read_text("utf-8")):
        assert len(reason.split()) >= 2


@pytest.mark.parametrize(
    "page", [page for page in ALL if "$ previously " in page.read_text("utf-8")], ids=lambda page: page.stem
)
def test_every_command_that_a_page_shows_can_be_given(page: Path) -> None:
    root = make_parser()
    for block in re.findall(r"^```console\n(.*?)^```", page.read_text("utf-8"), re.MULTILINE | re.DOTALL):
        for line in re.findall(r"^\$ (?:\w+=\S* )*previously (.*)", block, re.MULTILINE):
            for part in re.split(r" && previously | \| ", line.split(" > ")[0])[:1]:
                read_command(root, shlex.split(part, comments=True))


def read_command(command: Any, arguments: list[str], parent: Any = None) -> None:
    """Read a command line as the program would, down to its last command, and run nothing."""
    context = command.make_context(command.name, list(arguments), parent=parent)
    if hasattr(command, "commands"):
        rest = [*context._protected_args, *context.args]
        _, below, rest = command.resolve_command(context, rest)
        read_command(below, rest, context)


def test_steps_of_a_page_are_found_in_order() -> None:
    page = (
        '```text title="a.txt"\nA.\n```\n\n<!-- not run: needs a screen -->\n```console\n$ firefox\n```\n\n'
        "```console\n$ previously stories  # all\none\n$ echo a \\\n> b\n```\n"
    )
    assert list(list_steps(page)) == [
        FileStep("a.txt", "A.\n"),
        CommandStep("previously stories  # all", "one"),
        CommandStep("echo a \\\nb", ""),
    ]


@pytest.mark.parametrize(
    ("said", "expected", "same"),
    [
        ("one\ntwo\nthree\n", "one\n…\nthree", True),
        ("one\n", "one\n…", True),
        ("took 3.2 s\n", "took … s", True),
        ("one\ntwo\n", "one", False),
        ("(a.b)\n", "(a.b)", True),
        ("(a-b)\n", "(a.b)", False),
    ],
)
def test_answers_are_compared_as_pages_give_them(said: str, expected: str, same: bool) -> None:
    assert is_as_expected(said, expected) is same


def test_the_readme_shows_what_newest_messages_and_the_view_hold() -> None:
    readme = " ".join((ROOT / "README.md").read_text("utf-8").split())
    question = re.search(r'the player asks: \*"(.*?)"\*', readme)
    assert question is not None
    with as_file(files("previously.demo").joinpath("harbour.jsonl")) as path:
        drafts = read_story(path, None).drafts
    with BlockingMemory(":memory:", settings=Settings()) as memory:
        story = memory.story("harbour")
        story.follow(drafts)
        story.fold()
        story.add("user", question[1], name="Ines Quillan")
        view = story.view(4_000)
        said = [item.entry.message for item in story.messages()]
    room, newest = 4_000, []
    for message in reversed(said):
        room -= message_tokens(message, ESTIMATE)
        if room >= 0:
            newest.append(message.text)
    assert f"| {len(newest) - 1} messages. No word about the key's number" in readme  # the question aside
    assert not [text for text in newest[1:] if re.search(r"\b31\b|thirty-one|Ice House|brass key", text)]
    tail = [item for item in view.items if item.section == "tail"]
    told = [span for item in view.items if item.section in ("backbone", "recap") for span in item.sources]
    assert f"the newest {len(tail) - 1} word for word" in readme
    assert min(span.first for span in told) == 0
    assert f"Memory of the first {max(span.last for span in told) + 1} messages" in readme
    for position, words in re.findall(r'\*message (\d+):\* "… (.*?) …"', readme):
        assert words in said[int(position)].text
        assert words in view.messages[-1].text, "recalled in the newest message"


def test_the_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text("utf-8").splitlines()) < 150
