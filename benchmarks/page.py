"""How heavy is the page? The size and time of its first load, and the work of a server for a long story.

`python -m benchmarks.page [--json] [--messages 10000] [--runs 5]`

A story of that length is folded by a model that answers from a script: chapters, episodes, threads, and who was there.
A server of its own shows it. A real browser without a cache loads the page, also from a server that was started a
moment ago, and draws the map. Then it opens each screen; all that the screen asked for is asked again over HTTP, and
the CPU time of the server is read before and after. The quickest run counts. It needs chromium and playwright, which
`make test-page` installs.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Page, Request, sync_playwright

from previously import BlockingMemory, Draft, ScriptedModel, Settings, message
from previously.core.model_io import ModelRequest
from previously.server.process import FIRST_SCREEN

STORY = "The mill"
NAMES = ("Maya", "Joaquin")
LISTS = ("STATE", "LEARNT", "LORE", "PLAYERS", "WISHES", "SCENES")

PATIENCE_S = 60.0
QUIET_MS = 1_500
"""Milliseconds without a request after which a screen has asked for all it needs."""
SCREENS = (
    "", "read", "tree", "memory", "memory?tab=lore", "memory?tab=people", "memory?tab=threads", "memory?tab=state",
    "memory?tab=presence", "memory?tab=review", "memory?tab=log", "saw", "map", "settings",
)  # fmt: skip
"""The screens by their addresses; the first is the list of stories."""


def answer(request: ModelRequest) -> str:
    """Answer a fold as a model does that follows its instructions to the letter."""
    asked_for = re.findall(r"^[A-Z]{4,}$", request.user[request.user.rfind("# Your answer") :], re.MULTILINE)
    numbers = [int(number) for number in re.findall(r"^\[?#(\d+)", request.user, re.MULTILINE)] or [1]
    parcel = int((re.findall(r"Parcel (\d+) ", request.user) or ["0"])[-1])
    told = f"Maya and Joaquin carried parcels to the mill, and at last parcel {parcel}."
    parts = {
        "TITLE": "The mill", "THREADS": f"- new #{numbers[0]} Maya to Joaquin: parcel {parcel} is paid",
        "PRESENT": f"- #{numbers[0]}-#{numbers[-1]}: Maya, Joaquin", **dict.fromkeys(LISTS, "none"),
    }  # fmt: skip
    return "\n\n".join([*(f"{name}\n{parts.get(name, told)}" for name in asked_for if name != "END"), "END"])


def tell(path: Path, messages: int) -> dict[str, int]:
    """Write and fold the story; return how much memory there is of it."""
    drafts = [
        Draft(
            message(
                "user" if at % 2 else "assistant",
                f"Parcel {at} goes to the mill. " + "It is a heavy one, and the road is long. " * 3,
                speaker=NAMES[at % 2],
            )
        )
        for at in range(messages)
    ]
    with BlockingMemory(path, settings=Settings(cast="off"), model=ScriptedModel(answer)) as memory:
        story = memory.story(STORY)
        story.add_drafts(drafts)
        story.fold()
        drawn = story.memory_map()
        return {
            "bands": len(drawn.bands), "threads": len(drawn.threads), "stretches of presence": len(drawn.presence),
            "made anew later": sum(band.status.value == "provisional" for band in drawn.bands),
        }  # fmt: skip


@contextmanager
def serve(database: Path) -> Iterator[tuple[str, int]]:
    """Run a server; yield its address and its process when it has made its first screen, as when it opens a browser."""
    command = [sys.executable, "-m", "previously", "--db", str(database), "open", "--no-browser"]
    process = subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, encoding="utf-8",
        env={**os.environ, "PREVIOUSLY_CONFIG": "", "PREVIOUSLY_FOLDING": "off", "PYTHONDONTWRITEBYTECODE": ""},
    )  # fmt: skip
    assert process.stderr
    try:
        said = next(filter(None, (re.search(r"The page is at (http://[^/]+)/", line) for line in process.stderr)))
        for path in FIRST_SCREEN:
            fetch(said[1] + path)
        yield said[1], process.pid
    finally:
        process.kill()
        process.communicate()


def fetch(url: str) -> bytes:
    request = urllib.request.Request(url, headers={"accept-encoding": "gzip"})
    with urllib.request.urlopen(request, timeout=PATIENCE_S) as response:
        body: bytes = response.read()
        return gzip.decompress(body) if response.headers.get("content-encoding") == "gzip" else body


def read_cpu_s(process: int) -> float:
    """Return the CPU time that a process and its threads have taken so far."""
    tasks = Path(f"/proc/{process}/task")
    return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks.iterdir()) / 1e9


def measure_screens(process: int, asked: dict[str, list[str]], runs: int) -> dict[str, float]:
    """Return the CPU milliseconds of the server for all that each screen asks for."""
    figures = {}
    for screen, addresses in asked.items():
        best = float("inf")
        for _ in range(runs):
            before = read_cpu_s(process)
            for address in addresses:
                fetch(address)
            best = min(best, read_cpu_s(process) - before)
        figures[screen] = best * 1000
    return figures


def list_questions(page: Page, url: str) -> dict[str, list[str]]:
    """Return what each screen asks the server for, when it is opened by its address."""
    asked: dict[str, list[str]] = {}
    for screen in SCREENS:
        found = asked[screen or "stories"] = []
        page.goto("about:blank")

        def note(request: Request, found: list[str] = found) -> None:
            if "/api/v1/" in request.url and not request.url.endswith("/events"):
                found.append(request.url)

        page.on("request", note)
        page.goto(f"{url}/#/story/{urllib.parse.quote(STORY)}/{screen}" if screen else url)
        before = -1
        while before != len(found):
            before = len(found)
            page.wait_for_timeout(QUIET_MS)
        page.remove_listener("request", note)
    return asked


WATCH_MAP = """async () => {
    const began = performance.now();
    location.hash = location.hash.replace(/[^/]*$/, "map");
    while (!document.querySelector("svg.map .band")) await new Promise((wake) => requestAnimationFrame(wake));
    await new Promise((wake) => requestAnimationFrame(() => setTimeout(wake)));
    const [asked] = performance.getEntriesByType("resource").filter((one) => one.name.endsWith("/map"));
    return [performance.now() - began, performance.now() - asked.responseEnd];
}"""


WATCH_STORIES = """addEventListener("DOMContentLoaded", () => {
    const look = () => { if (!window.shown && document.querySelector("li.story a")) window.shown = performance.now(); };
    new MutationObserver(look).observe(document.getElementById("app"), { childList: true, subtree: true });
}, { once: true })"""


def measure_first_load(page: Page, url: str) -> float:
    """Return the milliseconds from the address to the list of stories."""
    page.add_init_script(WATCH_STORIES)
    page.goto(url)
    page.get_by_role("link", name=STORY).wait_for()
    shown_ms: float = page.evaluate("window.shown")
    return shown_ms


def measure_fresh_server(browser: Browser, database: Path) -> float:
    """Return the milliseconds of a first load from a server that answers since a moment ago."""
    with serve(database) as (url, _):
        page = browser.new_page()
        shown_ms = measure_first_load(page, url)
        page.close()
        return shown_ms


def measure_browser(browser: Browser, url: str) -> dict[str, float]:
    """Return what a browser without a cache finds: bytes and milliseconds."""
    context = browser.new_context()
    page = context.new_page()
    sizes: list[int] = []
    page.on("requestfinished", lambda request: sizes.append(request.sizes()["responseBodySize"]))
    first_ms, load_bytes = measure_first_load(page, url), sum(sizes)
    page.goto(f"{url}/#/story/{urllib.parse.quote(STORY)}/settings")
    page.get_by_role("button", name="Change tail messages").wait_for()
    whole_ms, drawn_ms = page.evaluate(WATCH_MAP)
    context.close()
    return {
        "first load, bytes": load_bytes, "first load, ms": first_ms, "map from click to picture, ms": whole_ms,
        "map drawn by the browser, ms": drawn_ms,
    }  # fmt: skip


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="How heavy is the page?")
    parser.add_argument("--json", action="store_true", help="one JSON object")
    parser.add_argument("--messages", type=int, default=10_000)
    parser.add_argument("--runs", type=int, default=5)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        database = Path(folder, "stories.db")
        memory = tell(database, given.messages)
        with serve(database) as (url, process), sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=shutil.which("chromium"))
            fresh_ms = min(measure_fresh_server(browser, database) for _ in range(given.runs))
            found = [measure_browser(browser, url) for _ in range(given.runs)]
            screens = measure_screens(process, list_questions(browser.new_page(), url), given.runs)
            browser.close()
    seen = {name: min(one[name] for one in found) for name in found[0]}
    seen["first load from a fresh server, ms"] = fresh_ms
    figures: dict[str, Any] = {"messages": given.messages, "memory": memory, "browser": seen, "cpu_ms": screens}
    if given.json:
        print(json.dumps(figures))
        return
    print(f"{given.messages:,} messages; " + ", ".join(f"{count:,} {name}" for name, count in memory.items()))
    for name, figure in seen.items():
        print(f"{name:36} {figure:10,.0f}")
    for name, figure in screens.items():
        print(f"server, {name:22} {figure:10,.0f} ms CPU")


if __name__ == "__main__":
    main()
