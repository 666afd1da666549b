"""Pictures of terminals for `docs/`: the last lines that a client printed, as an SVG."""

from __future__ import annotations

import re
from html import escape
from pathlib import Path

COLUMNS, LINES = 96, 18
"""As much as can be read beside text."""

_CONTROLS = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]|[\x00-\x08\x0b-\x1f\x7f]")
_LETTER_WIDTH, _LINE_HEIGHT, _MARGIN = 7.8, 18, 14


def draw_terminal(text: str, places: dict[str, str] | None = None) -> str:
    """Return the last lines of a text as an SVG. `places` gives other names to folders of this machine."""
    for folder, name in (places or {}).items():
        text = text.replace(folder, name)
    printed = [line.rstrip() for line in _CONTROLS.sub("", text).splitlines()]
    lines = [line if len(line) <= COLUMNS else f"{line[: COLUMNS - 1]}…" for line in printed if line][-LINES:]
    width, height = round(COLUMNS * _LETTER_WIDTH) + 2 * _MARGIN, len(lines) * _LINE_HEIGHT + 2 * _MARGIN
    drawn = "\n".join(
        f'<text x="{_MARGIN}" y="{_MARGIN - 5 + _LINE_HEIGHT * number}" xml:space="preserve">{escape(line)}</text>'
        for number, line in enumerate(lines, 1)
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}">\n'
        f'<rect width="{width}" height="{height}" rx="8" fill="#1c1f26"/>\n'
        f'<g font-family="ui-monospace, Menlo, Consolas, monospace" font-size="13" fill="#dfe2e8">\n{drawn}\n</g>\n'
        "</svg>\n"
    )


def save_terminal(path: Path, text: str, places: dict[str, str] | None = None) -> None:
    """Write that picture."""
    path.write_text(draw_terminal(text, places), "utf-8")
