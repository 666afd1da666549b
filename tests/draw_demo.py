"""Draw the demo's screen, as it is printed on this machine, into pictures for the README and the docs.

python -m tests.draw_demo
"""

from __future__ import annotations

import io
import re
import sys
from collections.abc import Iterator, Sequence
from itertools import takewhile
from pathlib import Path

import pytest
from rich._export_format import CONSOLE_SVG_FORMAT
from rich.console import Console
from rich.terminal_theme import MONOKAI
from rich.text import Text

from previously.cli import output
from previously.cli.command_table import main

IMAGES = Path(__file__).parents[1] / "docs" / "images"

COLUMNS = 84
"""Wide enough for the demo's bars, and narrow enough to be read on a page."""

PICTURES = {
    "demo.svg": {
        "What the model sees": "# Previously",
        "Ask": "Who was carried",
        "Change the past": "The story so far",
        "Secrets stay": "",
    },
    "demo-view.svg": {"A story too long": "", "What the model sees": "", "Ask": ""},
    "demo-edit.svg": {"Change the past": "", "Secrets stay": ""},
}
"""The parts of the demo that each picture shows, by how their headings begin, and the line at which it breaks off."""

FONTS = "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace"
"""Fonts that systems have: a picture in a README loads none."""


def print_demo() -> str:
    """Run the demo and return what it prints, with its colours."""
    screen = _make_console()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(output, "console", lambda: screen)
        patch.setattr("previously.cli.tour.name_program", lambda: "previously")
        if main(["demo"]) != 0:
            raise SystemExit("The demo failed.")
    return screen.export_text(styles=True)


def draw_picture(lines: Sequence[Text], title: str) -> str:
    """Return lines of a terminal as an SVG that loads nothing from elsewhere."""
    screen = _make_console()
    for line in lines:
        screen.print(line)
    form = re.sub(r"@font-face \{\{.*?\n    \}\}\s*", "", CONSOLE_SVG_FORMAT, flags=re.DOTALL)
    form = form.replace("font-family: Fira Code, monospace", f"font-family: {FONTS}")
    return screen.export_svg(title=title, theme=MONOKAI, code_format=form, unique_id="demo")


def split_parts(printed: str) -> Iterator[tuple[str, list[Text]]]:
    """Yield each part of the demo with its heading."""
    heading, lines = "", list[Text]()
    for line in Text.from_ansi(printed).split("\n"):
        if line.plain.rstrip().endswith("───"):
            yield heading, lines
            heading, lines = line.plain, []
        line.rstrip()
        lines.append(line)
    yield heading, lines


def _make_console() -> Console:
    return Console(
        record=True, width=COLUMNS, force_terminal=True, color_system="standard", file=io.StringIO(),
        markup=False, highlight=False, emoji=False, legacy_windows=False,
    )  # fmt: skip


def cut_part(lines: Sequence[Text], until: str) -> list[Text]:
    """Return the lines of a part up to the one that begins so, and a mark where it is cut; none are empty at its
    end."""
    kept = list(takewhile(lambda line: not until or not line.plain.startswith(until), lines))
    while kept and not kept[-1].plain.strip():
        kept.pop()
    return kept if len(kept) == len(lines) or not until else [*kept, Text("⋮", "dim")]


def draw_all() -> None:
    """Write the pictures."""
    parts = list(split_parts(print_demo()))
    IMAGES.mkdir(parents=True, exist_ok=True)
    for name, wanted in PICTURES.items():
        lines = [Text("$ previously demo", "bold green")]
        for heading, part in parts:
            for beginning, until in wanted.items():
                if heading.startswith(beginning):
                    lines += [Text(), *cut_part(part, until)]
        (IMAGES / name).write_text(f"{draw_picture(lines, 'previously demo')}\n", "utf-8")
        sys.stdout.write(f"{IMAGES / name}: {len(lines)} lines\n")


if __name__ == "__main__":
    draw_all()
