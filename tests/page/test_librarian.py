"""The librarian on the page: contradictions, gaps and suggestions; accepted, edited, dismissed."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

from playwright.sync_api import Page, expect

from previously import ScriptedModel
from previously.blocking import BlockingMemory
from previously.core.model_io import ModelRequest
from previously.settings import Settings
from tests.end_to_end.runtime.echoing import make_writer, part
from tests.end_to_end.runtime.test_structured_by_hand import RULES, answers, tell
from tests.page.conftest import run_aside
from tests.page.serving import Upstream, serve

SAYS = "Maya cannot be at the mill: it burned down."
READ = (0, 2, 3)
"""The messages that the librarian has read; 1 and 4 are gaps."""


def answer(request: ModelRequest) -> str:
    event = re.findall(r"event\d+", part(request, "fragment"))[0]
    return json.dumps({"summary_update": f"Then {event} happened at the mill.", "contradictions": [SAYS]})


def tell_novel(path: Path) -> None:
    with BlockingMemory(path, settings=Settings.of("novel"), model=ScriptedModel(answer)) as memory:
        story = memory.story("novel")
        story.set(["preset=novel"])
        for number in range(9):
            story.add("assistant", f"And so it came to event{number} for Maya and Bram at the old mill by the river.")
        for position in READ:
            story.analyze(position)


def tell_of_grim(path: Path) -> None:
    """Write a story in which an entry is suggested, and another text for one that a person wrote."""
    settings = replace(RULES, lore="suggest")
    with BlockingMemory(path, settings=settings, writer=make_writer(ScriptedModel(answers))) as memory:
        story = memory.story("tale")
        story.set(["lore=suggest"])
        tell(story, 3)


def test_contradictions_and_gaps(page: Page, upstream: Upstream, tmp_path: Path) -> None:
    run_aside(tell_novel, tmp_path / "stories.db")
    with serve(tmp_path / "stories.db", upstream.url, settings={"PREVIOUSLY_FOLDING": "ask"}) as served:
        page.goto(f"{served.url}#/story/novel/memory?tab=review")
        seen = page.locator("article.suggestion").filter(has_text=SAYS)
        expect(seen).to_have_count(len(READ))
        seen.first.get_by_role("button", name="Show the message").click()
        expect(seen.first).to_contain_text("event0")
        seen.first.get_by_role("button", name="Dismiss").click()
        expect(seen).to_have_count(len(READ) - 1)
        page.evaluate("localStorage.clear()")
        page.reload()
        expect(seen).to_have_count(len(READ) - 1)
        rows = served.ask("api/v1/stories/novel/analyses")["analyses"]
        assert [row["dismissed"] for row in rows] == [[SAYS], [], []]
        page.get_by_role("button", name="Undo").first.click()
        expect(seen).to_have_count(len(READ))
        gap = page.get_by_role("listitem").filter(has_text="Message 1: this message has not been read yet")
        gap.get_by_role("button", name="Read it now").click()
        expect(gap).to_have_count(0)
        assert 1 in [row["position"] for row in served.ask("api/v1/stories/novel/analyses")["analyses"]]


def test_suggestions(page: Page, upstream: Upstream, tmp_path: Path) -> None:
    run_aside(tell_of_grim, tmp_path / "stories.db")
    with serve(tmp_path / "stories.db", upstream.url, settings={"PREVIOUSLY_FOLDING": "ask"}) as served:

        def find(name: str) -> str:
            lore = served.ask("api/v1/stories/tale/lore?all=true")["lore"]
            return str({one["name"]: one["status"] for one in lore}.get(name))

        names = [one["name"] for one in served.ask("api/v1/stories/tale/lore?all=true")["lore"]]
        assert "Grim" in names, names
        page.goto(f"{served.url}#/story/tale/memory?tab=review")
        suggested = page.locator("div.suggestion")
        grim = suggested.filter(has=page.get_by_role("heading", name="Grim", exact=True))
        expect(grim).to_contain_text("Gruff dwarf")
        grim.get_by_role("button", name="Accept").click()
        expect(grim).to_have_count(0)
        assert find("Grim") == "live"
        page.get_by_role("button", name="Undo").first.click()
        expect(grim).to_have_count(1)
        grim.get_by_role("link", name="Edit").click()
        expect(page.get_by_role("tab", name="Lore", selected=True)).to_be_visible()
        page.go_back()
        grim.get_by_role("button", name="Dismiss").click()
        expect(grim).to_have_count(0)
        assert find("Grim") in ("removed", "None")
