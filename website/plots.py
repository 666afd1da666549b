"""The plots of the benchmarks page, drawn from its own tables: `python -m website.plots` writes them.

A figure stands once, in `docs/benchmarks.md`. A test draws the plots again and compares, so a table that changes takes
its plot along. Colours are those of `benchmarks.line_chart`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

from benchmarks.line_chart import COLOURS, GREY

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "benchmarks.md"
IMAGES = ROOT / "docs" / "images"
WIDTH, LEFT, RIGHT, TOP, BAR, GAP = 800, 260, 70, 44, 18, 14


@dataclass(frozen=True, slots=True)
class Plot:
    """Bars of some rows and columns of one table."""

    name: str
    title: str
    section: str
    header: str
    rows: tuple[tuple[str, str], ...]
    columns: tuple[tuple[str, int], ...]
    most: float
    which: int = -1
    """Of several figures in a cell, as in 89/83, the one that is drawn."""


PLOTS = (
    Plot(
        "exam",
        "Exam questions that a view of 4,000 tokens answers, of 90",
        "Exam",
        "| of 90 |",
        (
            ("newest messages only", "newest messages only"),
            ("one rolling summary", "one rolling summary, strong model"),
            ("the engine, no model", "Previously, no model"),
            ("the engine, a strong model, set a", "Previously, strong model"),
        ),
        (("without the question", 3), ("with the question asked", 4)),
        90,
    ),
    Plot(
        "recall",
        "Evidence found inside the budget, percent",
        "Recall",
        "| | LoCoMo | RealMem |",
        (
            ("recency", "newest messages"),
            ("bm25s", "BM25"),
            ("wordllama", "word vectors"),
            ("BM25 + wordllama", "BM25 + word vectors"),
            ("**ours**", "Previously"),
        ),
        (("LoCoMo", 1), ("RealMem", 2), ("CRD3", 3)),
        100,
    ),
    Plot(
        "compaction",
        "Facts of an agent's session still there after a fold, percent",
        "Compaction",
        "| | valid | mended |",
        (
            ("**ours, no model**", "Previously, no model"),
            ("**ours**", "Previously, the rule as model"),
            ("two turns and a template", "two turns and a template"),
            ("LangChain, reads all", "LangChain, reads all"),
            ("truncation by message", "truncation by message"),
            ("LangChain", "LangChain, as it comes"),
            ("OpenHands' rules", "OpenHands' rules"),
            ("opencode's rules", "opencode's rules"),
        ),
        (("all facts", 15),),
        100,
    ),
    Plot(
        "prefix",
        "Share of a prompt that a cache can use again, percent",
        "Prefix",
        "| | unchanged |",
        (
            ("**ours**, recall left out", "Previously, recall off"),
            ("**ours**, with recalled passages of up to 1,200 tokens", "Previously, with recall"),
            ("the usual way without lore", "sliding window"),
            ("the usual way: summary and lore on top, the window slides each turn", "sliding window with lore"),
        ),
        (("unchanged", 1),),
        100,
    ),
)


def read_table(page: str, section: str, header: str) -> dict[str, list[str]]:
    """Return the rows of a table of a section by their first cell."""
    begun = re.search(rf"^## {re.escape(section)}\n.*?(?=^## |\Z)", page, re.MULTILINE | re.DOTALL)
    if begun is None or header not in begun.group():
        raise ValueError(f"docs/benchmarks.md has no table {header!r} under {section!r}.")
    lines = begun.group()[begun.group().index(header) :].split("\n\n")[0].splitlines()
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return {row[0]: row for row in cells}


def read_figure(cell: str, which: int) -> float:
    """Return one of the figures of a cell."""
    return float(re.findall(r"\d+(?:\.\d+)?", cell.replace(",", ""))[which])


def draw(plot: Plot, page: str) -> str:
    """Return the plot as SVG."""
    table = read_table(page, plot.section, plot.header)
    found = [(label, _find_row(table, row)) for row, label in plot.rows]
    bars = [(label, [read_figure(cells[column], plot.which) for _, column in plot.columns]) for label, cells in found]
    return _render(plot, bars)


def _find_row(table: dict[str, list[str]], begun: str) -> list[str]:
    """Return the row of that name, or the only one that begins so."""
    if begun in table:
        return table[begun]
    (row,) = [cells for name, cells in table.items() if name.startswith(begun)]
    return row


def _render(plot: Plot, bars: Sequence[tuple[str, Sequence[float]]]) -> str:
    many, wide = len(plot.columns), WIDTH - LEFT - RIGHT
    legend = 24 if many > 1 else 0
    high = TOP + legend + sum(BAR * many + GAP for _ in bars) + 6
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {high}" width="{WIDTH}" height="{high}" '
        f'role="img" font-family="sans-serif" font-size="13" fill="{GREY}">',
        f"<title>{escape(plot.title)}</title>",
        f'<text x="12" y="24" font-size="15" font-weight="bold">{escape(plot.title)}</text>',
    ]
    for number, (name, _) in enumerate(plot.columns if many > 1 else ()):
        x = LEFT + number * 180
        parts.append(f'<rect x="{x}" y="{TOP - 2}" width="12" height="12" fill="{COLOURS[number]}"/>')
        parts.append(f'<text x="{x + 18}" y="{TOP + 9}">{escape(name)}</text>')
    y = TOP + legend
    for label, figures in bars:
        weight = ' font-weight="bold"' if label.startswith("Previously") else ""
        middle = y + BAR * many / 2 + 5
        parts.append(f'<text x="{LEFT - 10}" y="{middle:.0f}" text-anchor="end"{weight}>{escape(label)}</text>')
        for number, figure in enumerate(figures):
            long = wide * figure / plot.most
            faint = "" if label.startswith("Previously") else ' fill-opacity="0.55"'
            parts.append(
                f'<rect x="{LEFT}" y="{y:.0f}" width="{long:.1f}" height="{BAR - 3}" fill="{COLOURS[number]}"{faint}/>'
            )
            parts.append(f'<text x="{LEFT + long + 6:.1f}" y="{y + BAR - 5:.0f}"{weight}>{figure:g}</text>')
            y += BAR
        y += GAP
    return "\n".join([*parts, "</svg>", ""])


if __name__ == "__main__":
    for one in PLOTS:
        (IMAGES / f"{one.name}.svg").write_text(draw(one, PAGE.read_text("utf-8")), "utf-8")
