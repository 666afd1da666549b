"""Output: data to stdout, notes and progress to stderr; colours only on a terminal, and never the only sign.

Nothing that is printed can steer a terminal: control characters in a story are shown as such. A reader that goes away
(`previously … | head`) ends the command quietly.
"""

from __future__ import annotations

import errno
import io
import json
import os
import shlex
import sys
import unicodedata
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TextIO

import typer

from previously.core.count_nouns import count_nouns as count_nouns
from previously.core.errors import BadInput

if TYPE_CHECKING:
    from rich.console import Console

WIDEST = 100
"""Prose in wider lines is hard to read."""

Progress = Callable[[int, int], None]


_is_paged = False
"""True while stdout goes to a pager, which shows it on a terminal."""


def set_terminal(paged: bool) -> None:
    """Say that stdout is shown on a terminal though it goes to another program."""
    global _is_paged  # noqa: PLW0603
    _is_paged = paged


def is_on_terminal() -> bool:
    """Return whether what is printed is read on a terminal."""
    return _is_paged or sys.stdout.isatty()


def prepare() -> None:
    """Make both streams take every character, whatever the system's encoding is, also where they are closed."""
    sys.stdout = sys.stdout or io.StringIO()
    sys.stderr = sys.stderr or io.StringIO()
    for stream, errors in ((sys.stdout, "replace"), (sys.stderr, "backslashreplace")):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors=errors)


def finish() -> bool:
    """Write out what is still held back; whether that worked. A reader that went away is no failure."""
    try:
        sys.stdout.flush()
    except (OSError, ValueError) as error:
        _discard()
        return _has_reader_left(error)
    return True


def emit(value: Mapping[str, Any]) -> None:
    """Print the command's result as one JSON object on stdout."""
    write_data(json.dumps(value, ensure_ascii=not takes_unicode(sys.stdout), indent=2 if is_on_terminal() else None))


def report(record: Mapping[str, Any], sentence: str, *, as_json: bool) -> None:
    """Print the command's result: the record as JSON, or for people a sentence on one line."""
    if as_json:
        emit(record)
    else:
        write_data(one_line(sentence))


def write_data(text: str) -> None:
    """Print a result on stdout as it is: for another program, or plain lines, for which Rich need not be loaded."""
    try:
        typer.echo(text)
    except OSError as error:
        if _has_reader_left(error):
            _leave()
        raise


def write_new(path: Path, text: str) -> None:
    """Write a result into a file of its own; one that is there already is never overwritten."""
    try:
        with path.open("x", encoding="utf-8", errors="replace") as file:
            file.write(f"{text}\n")
    except FileExistsError:
        raise BadInput(f"{one_line(str(path))} is there already; choose another name.") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "this is not a possible file name"
        raise BadInput(f"{one_line(str(path))} cannot be written: {reason}.") from None


def note(sentence: str) -> None:
    """Print a remark beside the result on stderr."""
    with suppress(OSError):
        typer.echo(one_line(sentence), err=True)


def complain(sentence: str) -> None:
    """Print an error in one line on stderr."""
    note(f"previously: {sentence}")


def console() -> Console:
    """Return the console on which results for people are printed."""
    return _make_console(stderr=False)


@contextmanager
def progress(label: str) -> Iterator[Progress]:
    """A progress bar on stderr for as long as the block lasts; only a terminal shows one."""
    target = _make_console(stderr=True)
    if not target.is_terminal:
        yield _no_progress
        return
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bar

    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()
    with Bar(*columns, console=target, transient=True) as bar:
        task = bar.add_task(label, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=max(total, 1))


def _no_progress(done: int, total: int) -> None:
    """Show nothing: nobody watches."""


def printable(text: str) -> str:
    """The text with every control character but line ends and tabs made visible."""
    if text.isprintable():
        return text
    return "".join(
        char if char in "\n\t" or not _is_control(char) else _draw_control(char) for char in _normalize_ends(text)
    )


def from_model(story: str, nothing: str, by_hand: str = "") -> str:
    """Say that something is not there, and who could bring it: a model, or a person with a command."""
    asked = f"`previously fold {as_typed(story)} --endpoint URL --model NAME`"
    yourself = f", or from you ({by_hand})" if by_hand else ""
    return f"{nothing} yet: that comes from a model ({asked}){yourself}."


def one_line(text: str) -> str:
    """The text as it can stand in a sentence."""
    if text.isprintable() and "  " not in text and text == text.strip():
        return text  # as nearly all names are; no other space than the plain one is printable
    return " ".join(printable(text).split())


def as_typed(name: str) -> str:
    """The name as it is typed in a command: in quotes where a shell would take it apart."""
    return shlex.quote(one_line(name))


def takes_unicode(stream: TextIO) -> bool:
    """Return whether any character can be written to the stream."""
    return (stream.encoding or "").lower().replace("-", "").startswith("utf")


def _normalize_ends(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _is_control(char: str) -> bool:
    """Control characters, and the marks that reorder the text around them."""
    return unicodedata.category(char) == "Cc" or char in "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"


def _draw_control(char: str) -> str:
    return chr(0x2400 + ord(char)) if ord(char) < 0x20 else "\N{REPLACEMENT CHARACTER}"


def _make_console(*, stderr: bool) -> Console:
    from rich.console import Console

    class Ours(Console):
        def on_broken_pipe(self) -> None:
            _leave()

    plain = "NO_COLOR" in os.environ
    ours = Ours(
        stderr=stderr, markup=False, highlight=False, emoji=False, no_color=plain,
        color_system=None if plain else "auto", force_terminal=True if _is_paged and not stderr else None,
    )  # fmt: skip
    if ours.width > WIDEST:
        ours.width = WIDEST
    return ours


def _has_reader_left(error: OSError | ValueError) -> bool:
    # Windows reports a closed pipe as an invalid argument.
    return isinstance(error, BrokenPipeError) or (os.name == "nt" and getattr(error, "errno", 0) == errno.EINVAL)


def _leave() -> NoReturn:
    _discard()
    raise typer.Exit(0)


def _discard() -> None:
    """Send what stdout still holds, and all that follows, nowhere: else the interpreter complains when it ends."""
    with suppress(OSError, ValueError):
        stdout = sys.stdout.fileno()
        os.dup2(os.open(os.devnull, os.O_WRONLY), stdout)
