"""Arguments that commands share: stories, positions, budgets, texts; and the way to the stories themselves.

Values are read here rather than by the option parser, so that each fault is said in a sentence of ours.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from previously.core.errors import BadInput, PreviouslyError
from previously.core.json_values import MAX_MESSAGE_BYTES, clean
from previously.core.path import parse_position as parse_position

if TYPE_CHECKING:
    from previously.blocking import BlockingMemory, BlockingStory
    from previously.models.client import Model

MOST_TOKENS = 10**12
"""No model has such a window; a larger number is a slip."""


def check_name(text: str) -> str:
    """Return a name if it can be stored; else raise `BadInput`."""
    if not text.strip():
        raise BadInput("A name must not be empty.")
    if clean(text)[1]:
        raise BadInput(f"{text!a} holds characters that cannot be stored; choose another name.")
    return text


def parse_stretch(text: str) -> tuple[int, int]:
    """Parse a stretch of messages: the positions of the first and the last, or of one."""
    match = re.fullmatch(r"(-?[0-9]{1,18})(?:-(-?[0-9]{1,18}))?", text)
    if not match:
        raise BadInput(f"{text!r} is no stretch of messages: give FIRST-LAST, like 3-7, or one position.")
    first, last = int(match[1]), int(match[2] or match[1])
    if 0 <= last < first:
        raise BadInput(f"{text!r} is no stretch of messages: it ends before it begins.")
    return first, last


def parse_budget(text: str) -> int:
    """Parse a number of tokens."""
    if not re.fullmatch(r"[+-]?[0-9]{1,18}", text):
        raise BadInput(f"{text!r} is not a budget: give a number of tokens.")
    if not 0 < int(text) <= MOST_TOKENS:
        raise BadInput(f"A budget of {text} tokens is not possible; give a number from 1 to {MOST_TOKENS}.")
    return int(text)


def parse_version(text: str) -> int:
    """Parse the id of a version."""
    number = text.removeprefix("version:")
    if not re.fullmatch(r"[0-9]{1,18}", number):
        raise BadInput(f"{text!r} is not a version: give its number from `previously log -v`, like version:12.")
    return int(number)


def parse_number(text: str) -> int:
    """Parse a number as lists give it."""
    if not re.fullmatch(r"[0-9]{1,18}", text):
        raise BadInput(f"{text!r} is not a number.")
    return int(text)


def complete_story(ctx: typer.Context, incomplete: str) -> list[str]:
    """Return the names of stories that begin so, for the Tab key; none where they cannot be read."""
    ctx.obj = (ctx.parent.params if ctx.parent else {}).get("db")
    try:
        with open_memory(ctx) as memory:
            return [info.name for info in memory.stories() if info.name.startswith(incomplete)]
    except PreviouslyError:
        return []


Story = Annotated[
    str, typer.Argument(metavar="STORY", parser=check_name, help="The story.", autocompletion=complete_story)
]
Branch = Annotated[str, typer.Argument(metavar="BRANCH", parser=check_name, help="The branch.")]
Position = Annotated[
    int,
    typer.Argument(metavar="POSITION", parser=parse_position, help="Which message: from 0, or from the end with -1."),
]
At = Annotated[
    int | None,
    typer.Option(
        "--at", metavar="POSITION", parser=parse_position, help="Which message: from 0, or from the end with -1."
    ),
]
ThingArgument = Annotated[
    str, typer.Argument(metavar="THING", help="recap, backbone, chapter:2, thread:7, lore:NAME, message:41, …")
]
Words = Annotated[str, typer.Option("--text", metavar="T", help="The words; - reads them from standard input.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]


Endpoint = Annotated[str, typer.Option("--endpoint", metavar="URL", help="An OpenAI-compatible server, /v1 included.")]
ModelName = Annotated[str, typer.Option("--model", metavar="NAME", help="The model there that writes memory.")]


def is_on_server(ctx: typer.Context) -> bool:
    """Return whether the stories are on a server, in no file of ours."""
    from previously.settings_file import find_effective

    return "://" in str(ctx.obj or find_effective(os.environ)[0].get("PREVIOUSLY_DB", ""))


def is_in_memory(ctx: typer.Context) -> bool:
    """Return whether the stories are in no file at all, and gone with this process."""
    from previously.app import IN_MEMORY
    from previously.settings_file import find_effective

    return str(ctx.obj or find_effective(os.environ)[0].get("PREVIOUSLY_DB", "")) == IN_MEMORY


@contextmanager
def open_memory(ctx: typer.Context) -> Iterator[BlockingMemory]:
    """The stories that --db, PREVIOUSLY_DB or the user's data folder hold, for whatever needs no model."""
    from previously.blocking import BlockingMemory
    from previously.runtime.writer import BuiltinWriter

    with BlockingMemory(ctx.obj, writer=BuiltinWriter()) as memory:
        yield memory


@contextmanager
def open_story(ctx: typer.Context, story: str) -> Iterator[BlockingStory]:
    """One of these stories, which must be there."""
    with open_memory(ctx) as memory:
        yield memory.story(story, create=False)


@contextmanager
def open_for_folding(ctx: typer.Context, endpoint: str, model: str) -> Iterator[BlockingMemory]:
    """The same, with the model that writes their memory."""
    from previously.blocking import BlockingMemory

    with BlockingMemory(ctx.obj, model=choose_model(endpoint, model)) as memory:
        yield memory


def choose_model(endpoint: str, model: str) -> Model | None:
    """The model that the options name, each standing in for its variable; None when nothing names one."""
    from previously.app import model_from
    from previously.settings import resolve
    from previously.settings_file import find_effective

    given = {"PREVIOUSLY_ENDPOINT": endpoint, "PREVIOUSLY_MODEL": model}
    environment, layers = find_effective(os.environ)
    named = {**environment, **{name: value for name, value in given.items() if value}}
    return model_from(named, resolve(layers).timeout_s)


def read_words(text: str) -> str:
    """Return the words given as --text; from standard input without its last line end."""
    if text != "-":
        return text
    if sys.stdin is None:
        raise BadInput("Standard input is closed.")
    data = sys.stdin.buffer.read(MAX_MESSAGE_BYTES + 3)
    if len(data) == MAX_MESSAGE_BYTES + 3:
        raise BadInput(
            f"Standard input has more than {MAX_MESSAGE_BYTES // 1_048_576} MB, the most a message may have."
        )
    try:
        read = data.decode()
    except UnicodeDecodeError as error:
        raise BadInput(f"Standard input is not UTF-8 (byte {error.start}).") from None
    return read.removesuffix("\n").removesuffix("\r")
