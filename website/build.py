"""Build the site: `python -m website.build` (`make docs`), offline, into `build/website/site`.

Pages are copied from `docs/`, those made from the code are written beside them, and Zensical builds the whole. A link
or an anchor that leads nowhere ends the build.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

from website import commands_page, library_page

ROOT = Path(__file__).parents[1]
PLACE = ROOT / "build" / "website"


class BrokenSite(Exception):
    """The site cannot be built; the text says why."""


def build_site(place: Path = PLACE) -> Path:
    """Build the site below `place` and return its folder."""
    shutil.rmtree(place, ignore_errors=True)
    pages = place / "docs"
    shutil.copytree(ROOT / "docs", pages)
    for name, text in (("commands.md", commands_page.render()), ("api.md", library_page.render())):
        (pages / "reference").mkdir(exist_ok=True)
        (pages / "reference" / name).write_text(text, "utf-8")
    notes = [*(pages / "decisions").glob("*.md"), *(pages / "trials").glob("*.md")]
    for page in notes:  # readable from where they are named, not found by search
        page.write_text("---\nsearch:\n  exclude: true\n---\n\n" + page.read_text("utf-8"), "utf-8")
    (pages / "stylesheets").mkdir()
    shutil.copy(ROOT / "website" / "previously.css", pages / "stylesheets")
    shutil.copy(ROOT / "website" / "zensical.toml", place)
    command = [sys.executable, "-m", "zensical", "build", "--strict", "--clean"]
    built = subprocess.run(command, cwd=place, capture_output=True, text=True, check=False)
    if built.returncode != 0:
        raise BrokenSite(read_complaints(built.stdout + built.stderr))
    return place / "site"


def read_complaints(printed: str) -> str:
    """Return what Zensical complains of, without colours and without the traceback it ends with."""
    plain = re.sub(r"\x1b\[[0-9;]*m", "", printed)
    return plain.split("Traceback (most recent call last)")[0].strip() or plain


if __name__ == "__main__":
    try:
        site = build_site().relative_to(ROOT)
        sys.stdout.write(f"Built {site}. To read it with search: python -m http.server --directory {site}\n")
    except BrokenSite as broken:
        sys.exit(str(broken))
