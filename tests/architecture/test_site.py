"""The site builds offline, every link and anchor in it leads somewhere, and no page loads anything from elsewhere."""

from __future__ import annotations

import json
import re
import tomllib
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from website.build import ROOT, BrokenSite, build_site, read_complaints
from website.plots import IMAGES, PAGE, PLOTS, Plot, draw

LOADED = {"script": "src", "img": "src", "iframe": "src", "source": "src", "video": "src", "audio": "src"}
LOADING_LINKS = {"stylesheet", "icon", "preload", "prefetch", "modulepreload", "preconnect", "manifest"}


class Page(HTMLParser):
    """The links, anchors and loaded files of one built page."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.anchors: set[str] = set()
        self.loads: list[str] = []
        self.feed(path.read_text("utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.anchors |= {given[name] for name in ("id", "name") if name in given}
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        if tag in LOADED and given.get(LOADED[tag]):
            self.loads.append(given[LOADED[tag]])
        if tag == "link" and LOADING_LINKS & set(given.get("rel", "").split()):
            self.loads.append(given["href"])


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    try:
        return build_site(tmp_path_factory.mktemp("website"))
    except BrokenSite as broken:
        pytest.fail(str(broken))


@cache
def parse(path: Path) -> Page:
    return Page(path)


def find_faults(site: Path) -> list[str]:
    """Return links, anchors and loaded files of built pages that are not there, and whatever is loaded from afar."""
    faults = []
    for path in sorted(site.rglob("*.html")):
        page = parse(path)
        if path.name == "404.html":  # it is shown under any address, so its links begin at the root
            continue
        for target in [*page.links, *page.loads]:
            parts = urlsplit(target)
            if parts.scheme in ("http", "https", "mailto") or target.startswith("//"):
                if target in page.loads:
                    faults.append(f"{path.relative_to(site)} loads {target}")
                continue
            there = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            there = there / "index.html" if there.is_dir() else there
            if not there.exists():
                faults.append(f"{path.relative_to(site)} leads to {target}, which is not there")
            elif _is_missing_anchor(there, unquote(parts.fragment)):
                faults.append(f"{path.relative_to(site)} leads to {target}, an anchor that is not there")
    return faults


def _is_missing_anchor(page: Path, anchor: str) -> bool:
    """Return whether a page lacks an anchor; those that begin with `__` are the theme's own switches."""
    is_ours = bool(anchor) and not anchor.startswith("__") and page.suffix == ".html"
    return is_ours and anchor not in parse(page).anchors


def test_the_site_is_whole_and_loads_nothing_from_elsewhere(site: Path) -> None:
    assert find_faults(site) == []
    styles = "\n".join(path.read_text("utf-8") for path in site.rglob("*.css"))
    assert re.findall(r"(?:@import|url\()\s*['\"]?(?:https?:)?//", styles) == []


def test_every_page_is_in_the_navigation_or_a_decision_or_a_trial(site: Path) -> None:
    nav = (ROOT / "website" / "zensical.toml").read_text("utf-8")
    listed = set(re.findall(r'"([\w/-]+\.md)"', str(tomllib.loads(nav)["project"]["nav"]).replace("'", '"')))
    pages = {str(path.relative_to(ROOT / "docs")) for path in (ROOT / "docs").rglob("*.md")}
    assert {page for page in pages if not page.startswith(("decisions/", "trials/"))} - listed == set()
    assert len(list(site.rglob("*.html"))) >= len(pages)


def test_the_search_index_knows_what_pages_say(site: Path) -> None:
    items = json.loads((site / "search.json").read_text("utf-8"))["items"]
    assert {"view.html#epochs-the-prompt-cache-stays-warm", "reference/api.html#memoryopen"} <= {
        item["location"] for item in items
    }
    assert not [item for item in items if item["location"].startswith(("decisions/", "trials/"))]


def test_faults_are_seen(tmp_path: Path) -> None:
    (tmp_path / "index.html").write_text(
        '<a href="gone.html">a</a><a href="other.html#here">b</a><a href="other.html#nowhere">c</a>'
        '<script src="https://cdn.example/x.js"></script><a href="https://example.org/">d</a>',
        "utf-8",
    )
    (tmp_path / "other.html").write_text('<h1 id="here">Here</h1>', "utf-8")
    assert find_faults(tmp_path) == [
        "index.html leads to gone.html, which is not there",
        "index.html leads to other.html#nowhere, an anchor that is not there",
        "index.html loads https://cdn.example/x.js",
    ]


def test_a_complaint_is_shown_without_colours_and_traceback() -> None:
    printed = "\x1b[33mWarning:\x1b[0m page does not exist\nTraceback (most recent call last):\n  File …"
    assert read_complaints(printed) == "Warning: page does not exist"


@pytest.mark.parametrize("plot", PLOTS, ids=lambda plot: plot.name)
def test_a_plot_shows_the_figures_of_the_page(plot: Plot) -> None:
    drawn = (IMAGES / f"{plot.name}.svg").read_text("utf-8")
    assert drawn == draw(plot, PAGE.read_text("utf-8")), "python -m website.plots"
