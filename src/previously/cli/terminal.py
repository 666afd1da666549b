"""Stories on a terminal: messages with their speakers, tables, and the bar of a budget.

Everything says the same without colour: names stand before their words, and each part of the bar has its own sign.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from previously.cli.output import console, emit, one_line, printable, takes_unicode, write_data
from previously.core.messages import Error, Image, Message, Text, Thinking, ToolCall, ToolResult

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.table import Table

    from previously.text.compare import WordChange
    from previously.view.view import View

_SPEAKER_STYLES = ("cyan", "magenta", "green", "yellow", "blue", "red", "bright_cyan", "bright_magenta")
_SECTIONS = {
    "system": ("blue", "▒", "s"),
    "pins": ("yellow", "▪", "p"),
    "wishes": ("bright_white", "▫", "w"),
    "earlier": ("bright_blue", "◂", "<"),
    "backbone": ("cyan", "▌", "b"),
    "chapters": ("bright_magenta", "▐", "c"),
    "episodes": ("bright_cyan", "▄", "e"),
    "recap": ("magenta", "█", "r"),
    "brief": ("magenta", "▙", "B"),
    "threads": ("bright_red", "◇", "h"),
    "state": ("white", "◆", "="),
    "cast": ("bright_green", "▣", "k"),
    "shared": ("bright_yellow", "◈", "x"),
    "lore": ("red", "▤", "l"),
    "tail": ("green", "▓", "t"),
    "recall": ("bright_yellow", "▞", "a"),
    "furniture": ("bright_blue", "▚", "f"),
    "free": ("dim", "░", "."),
}
"""Of each section of a view: its colour, its sign in the bar, and the sign where only ASCII can be shown."""

BAR_WIDTH = 60
"""Fits into a terminal of 80 columns."""

SHORT = 100
"""Characters of a message in its short form: one line of the widest output."""


_CHANGES = {"removed": ("[-", "-]", "red"), "added": ("{+", "+}", "green")}


def print_changes(console: Console, changes: Sequence[WordChange]) -> None:
    """Print a text with what was taken out of it and what was put in."""
    for change in changes:
        opening, closing, style = _CHANGES.get(change.kind.value, ("", "", ""))
        body = change.text.rstrip()
        shown = printable(f"{opening}{body}{closing}{change.text[len(body) :]}")
        console.print(shown, style=style or None, end="", soft_wrap=True)
    console.print()


def render_body(message: Message) -> str:
    """All that a reader sees of a message, calls and pictures named in brackets."""
    texts = [_render_part(part) for part in message.parts if not isinstance(part, Thinking)]
    return printable("\n".join(text for text in texts if text))


def _render_part(part: Text | ToolCall | ToolResult | Image | Error) -> str:
    match part:
        case Text(text):
            return text
        case ToolCall(_, name, arguments):
            return f"[calls {name} {arguments}]"
        case ToolResult(_, text):
            return f"[result] {text}"
        case Image(_, caption):
            return f"[image: {caption}]" if caption else "[image]"
        case Error(text):
            return f"[error] {text}"


def render_message(messages: Iterable[tuple[int | None, Message]], *, short: bool = False) -> Table:
    """Messages with their positions, each speaker in one colour."""
    from rich.table import Table
    from rich.text import Text as Styled

    styles: dict[str, str] = {}
    grid = Table.grid(padding=(0, 2, 0, 0))
    grid.add_column(justify="right", style="dim", no_wrap=True)
    grid.add_column(overflow="fold")
    for position, message in messages:
        who = one_line(message.speaker or message.role.value)
        style = styles.setdefault(who, _SPEAKER_STYLES[len(styles) % len(_SPEAKER_STYLES)])
        said = shorten(render_body(message)) if short else render_body(message)
        grid.add_row("" if position is None else str(position), Styled.assemble((f"{who}: ", f"bold {style}"), said))
    return grid


def shorten(text: str, limit: int = SHORT) -> str:
    """The beginning of a text, on one line."""
    line = one_line(text)
    return line if len(line) <= limit else f"{line[:limit].rsplit(' ', 1)[0]}…"


def make_table(columns: Sequence[str], rows: Iterable[Sequence[object]], *, left: Sequence[str] = ()) -> Table:
    """A plain table; numbers to the right, the columns named in `left` to the left."""
    from rich import box
    from rich.table import Table

    drawn = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, 1, 0, 0))
    for column in columns:
        drawn.add_column(column, justify="left" if column in left else "right", overflow="fold")
    for row in rows:
        drawn.add_row(*(f"{cell:,}" if isinstance(cell, int) else one_line(str(cell)) for cell in row))
    return drawn


def report_table(
    record: Mapping[str, Any],
    columns: Sequence[str],
    rows: Sequence[Sequence[object]],
    *,
    left: Sequence[str],
    nothing: str,
    as_json: bool,
) -> None:
    """Print a list: the record as JSON, or for people a table, or the sentence that there is nothing to list."""
    if as_json:
        emit(record)
    elif rows:
        console().print(make_table(columns, rows, left=left))
    else:
        console().print(nothing, soft_wrap=True)


MOST_DRAWN = 200
"""Rows of a table that is drawn cell by cell: each takes a millisecond, and nobody sees the shape of a longer one."""


def print_texts(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table of texts, drawn, or as plain lines where it is very long."""
    if len(rows) > MOST_DRAWN:
        write_data(render_long_table(columns, rows))
    else:
        console().print(make_table(columns, rows, left=columns))


def render_long_table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """The same for very many rows, as plain lines: no cell is folded, however wide the table gets."""
    cells = [columns, *([one_line(cell) for cell in row] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = (" ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in cells)
    return "\n".join(lines)


def share_budget(view: View) -> dict[str, int]:
    """Return the tokens of each section of a view, and those that are free."""
    shares: dict[str, int] = {}
    for item in view.items:
        shares[item.section.value] = shares.get(item.section.value, 0) + item.tokens
    return {**shares, "free": view.budget_tokens - view.tokens}


def draw_budget(view: View) -> RenderableType:
    """The budget as a bar, with what each sign stands for."""
    from rich.text import Text as Styled

    which = 1 if takes_unicode(sys.stdout) else 2
    shares = share_budget(view)
    drawn = Styled()
    for section, cells in _share_cells(shares, view.budget_tokens).items():
        drawn.append(_SECTIONS[section][which] * cells, _SECTIONS[section][0])
    drawn.append("\n")
    for section, tokens in shares.items():
        share = round(100 * tokens / view.budget_tokens)
        drawn.append(f"{_SECTIONS[section][which]} ", _SECTIONS[section][0])
        drawn.append(f"{section} {tokens:,} ({share} %)   ")
    drawn.rstrip()
    return drawn


def _share_cells(shares: Mapping[str, int], budget: int) -> dict[str, int]:
    """Cells of the bar, which sum up to its width; whatever has tokens has at least one."""
    cells = {name: max(round(BAR_WIDTH * tokens / budget), int(tokens > 0)) for name, tokens in shares.items()}
    largest = max(cells, key=lambda name: cells[name])
    cells[largest] += BAR_WIDTH - sum(cells.values())
    return cells
