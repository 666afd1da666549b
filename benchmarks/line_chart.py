"""A line chart as SVG, by hand: a few lines, two axes, and each line's name at its end.

Colours are Okabe and Ito's, which the colour-blind can tell apart, and each line has its own dashes besides. Text is a
grey that reads on white and on black; the background is left clear.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

COLOURS = ("#0072b2", "#56b4e9", "#d55e00", "#e69f00", "#009e73", "#cc79a7")
DASHES = ("", "8 3", "", "8 3", "2 3", "10 3 2 3")
WIDTH, HEIGHT = 800, 400
LEFT, RIGHT, TOP, BOTTOM = 56, 190, 40, 48
GREY = "#777777"
LINE_HEIGHT = 15


@dataclass(frozen=True, slots=True)
class Line:
    """A name and points of (x, percent)."""

    name: str
    points: Sequence[tuple[float, float]]
    heavy: bool = False


def line_chart(lines: Sequence[Line], *, title: str, across: str, up: str) -> str:
    """The chart; the y axis is per cent, the x axis begins at 0 and ends with the last point."""
    most = max((x for line in lines for x, _ in line.points), default=1)
    wide, high = WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM

    def place(x: float, y: float) -> tuple[float, float]:
        return LEFT + wide * x / most, TOP + high * (1 - y / 100)

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" '
        f'role="img" font-family="sans-serif" font-size="12" fill="{GREY}">',
        f"<title>{escape(title)}</title>",
        f'<text x="{LEFT}" y="22" font-size="15" font-weight="bold">{escape(title)}</text>',
    ]
    for percent in range(0, 101, 20):
        x, y = place(0, percent)
        parts.append(
            f'<line x1="{x:.0f}" x2="{LEFT + wide}" y1="{y:.1f}" y2="{y:.1f}" stroke="{GREY}" stroke-opacity="0.3"/>'
        )
        parts.append(f'<text x="{x - 8:.0f}" y="{y + 4:.1f}" text-anchor="end">{percent}</text>')
    for quarter in range(5):
        x, y = place(most * quarter / 4, 0)
        parts.append(f'<text x="{x:.0f}" y="{y + 18:.0f}" text-anchor="middle">{most * quarter / 4:,.0f}</text>')
    parts.append(f'<text x="{LEFT + wide / 2:.0f}" y="{HEIGHT - 8}" text-anchor="middle">{escape(across)}</text>')
    middle = f"{TOP + high / 2:.0f}"
    parts.append(
        f'<text x="14" y="{middle}" text-anchor="middle" transform="rotate(-90 14 {middle})">{escape(up)}</text>'
    )
    labels = _spread([place(*line.points[-1])[1] for line in lines], TOP, TOP + high)
    for number, (line, label) in enumerate(zip(lines, labels, strict=True)):
        colour, dashes = COLOURS[number % len(COLOURS)], DASHES[number % len(DASHES)]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in (place(*point) for point in line.points))
        dashed = f' stroke-dasharray="{dashes}"' if dashes else ""
        parts.append(
            f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="{3.5 if line.heavy else 2}" '
            f'stroke-linejoin="round"{dashed}/>'
        )
        weight = ' font-weight="bold"' if line.heavy else ""
        last = f"{line.name} {line.points[-1][1]:.0f} %"
        parts.append(f'<text x="{LEFT + wide + 8}" y="{label + 4:.1f}" fill="{colour}"{weight}>{escape(last)}</text>')
    return "\n".join([*parts, "</svg>", ""])


def _spread(wanted: Sequence[float], top: float, bottom: float) -> list[float]:
    """Places for labels near where they are wanted, none over another."""
    order = sorted(range(len(wanted)), key=lambda index: wanted[index])
    placed = [0.0] * len(wanted)
    lowest = top - LINE_HEIGHT
    for index in order:
        lowest = placed[index] = max(wanted[index], lowest + LINE_HEIGHT)
    ceiling = bottom + LINE_HEIGHT
    for index in reversed(order):
        ceiling = placed[index] = min(placed[index], ceiling - LINE_HEIGHT)
    return placed
