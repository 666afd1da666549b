"""Words of people and models are text on every screen: 300 hostile ones, in every field there is, and none runs."""

from __future__ import annotations

import json
from itertools import islice, product
from pathlib import Path
from urllib.parse import quote

from playwright.sync_api import Page, expect

from previously.blocking import BlockingMemory
from previously.settings import Settings
from tests.page.conftest import run_aside
from tests.page.serving import Upstream, serve

CALLS = ("window.ran=1", "parent.ran=1", "globalThis['ran']=1", "eval('ran=1')", "top.ran=1")
SHAPES = (
    "<script>{}</script>", "<img src=x onerror={}>", "<svg onload={}>", '"><script>{}</script>', "'><img src=x onerror={}>",
    "<iframe srcdoc='<script>{}</script>'>", "<body onload={}>", "<details open ontoggle={}>x</details>",
    "javascript:{}", "<a href='javascript:{}'>x</a>", "<math><mtext></form><form><mglyph><style></math><img src onerror={}>",
    "<style>@import 'x';</style><img src=x onerror={}>", "</textarea><script>{}</script>", "</title><script>{}</script>",
    "<!--><img src=x onerror={}>-->", "<input autofocus onfocus={}>", "<video><source onerror={}></video>",
    "<object data='javascript:{}'>", "<embed src='javascript:{}'>", "<form action='javascript:{}'><button>x</button></form>",
    "<svg><animate onbegin={} attributeName=x dur=1s>", "<marquee onstart={}>x</marquee>", "<select autofocus onfocus={}>",
    "<template><script>{}</script></template>", "${{{}}}", "{{{{constructor.constructor('{}')()}}}}", "<x contenteditable onblur={}>x",
    "<link rel=stylesheet href='javascript:{}'>", "<base href='javascript:{}//'>", "<meta http-equiv=refresh content='0;javascript:{}'>",
    "\\u003cscript\\u003e{}\\u003c/script\\u003e", "&lt;script&gt;{}&lt;/script&gt;", "<scr<script>ipt>{}</script>", "<ScRiPt>{}</sCrIpT>",
    "<svg><script>{}</script></svg>", "<svg><use href='data:image/svg+xml,<svg onload={}>'/></svg>", "*<img src=x onerror={}>*",
    "**<script>{}</script>**", "[x](javascript:{})", "![x](x onerror={})", "<img src=`x` onerror={}>", "<div style='background:url(javascript:{})'>",
    "<div onpointerover={} style='position:fixed;inset:0'>x</div>", "<button popovertarget=x onclick={}>x</button>", "<dialog open oncancel={}>x</dialog>",
    "</script><script>{}</script>", "<noscript><p title='</noscript><img src=x onerror={}>'>", "<a id=ran href=x>x</a>{}", "<img name=ran src=x>{}",
    "\u2028<script>{}</script>", "\u202e<script>{}</script>", "<script\x0b>{}</script>", "<script\n>{}</script\n>", "<img/src=x/onerror={}>",
    "<svg/onload={}>", "<iframe src='javascript:{}'>", "<audio src=x onerror={}>", "<keygen autofocus onfocus={}>", "<isindex type=image src=1 onerror={}>",
    "';{};//", '";{};//', "`;{};//",
)  # fmt: skip
PAYLOADS = list(islice((shape.format(call) for call, shape in product(CALLS, SHAPES)), 300))
SCREENS = ("read", "memory", "memory?tab=lore", "memory?tab=people", "memory?tab=threads", "memory?tab=state",
           "memory?tab=presence", "memory?tab=review", "memory?tab=log", "saw", "map", "settings")  # fmt: skip


def tell_story(path: Path) -> list[str]:
    """Write stories in which every word is hostile; return their names."""
    chunk, names = 50, []
    with BlockingMemory(path, settings=Settings(tail_messages=2, fold_messages=4)) as memory:
        for first in range(0, len(PAYLOADS), chunk):
            mine = PAYLOADS[first : first + chunk]
            names.append(f"{first} {mine[0]}"[:80])
            story = memory.story(names[-1])
            for at, text in enumerate(mine):
                story.add("user" if at % 2 == 0 else "assistant", f"{text} {text}", name=text[:60])
                if at % 2 == 0:
                    story.open_thread(text)
                    story.pin(text)
                    story.hold(text)
                    story.write_lore(f"{at} {text}"[:60], "item", keywords=[text[:60]], content=text)
            story.fold()
            story.write("recap", "\n".join(mine))
            story.write_knowledge(mine[0][:60], mine[1], mine[:10])
            story.set_presence(0, 5, [text[:60] for text in mine[:5]])
            story.close_chapter(mine[0][:60], 20)
    return names


def test_none_of_300_hostile_texts_runs_on_any_screen(page: Page, upstream: Upstream, tmp_path: Path) -> None:
    assert len(set(PAYLOADS)) == 300
    names = run_aside(tell_story, tmp_path / "stories.db")
    alerts: list[str] = []
    page.on("dialog", lambda dialog: alerts.append(dialog.message))
    with serve(tmp_path / "stories.db", upstream.url, settings={"PREVIOUSLY_FOLDING": "ask"}) as served:
        page.goto(served.url)
        expect(page.locator(".story")).to_have_count(len(names))
        check(page, alerts)
        for name, screen in product(names, SCREENS):
            page.goto(f"{served.url}#/story/{quote(name, safe='')}/{screen}")
            expect(page.locator("main [aria-busy=true]")).to_have_count(0)
            check(page, alerts)
        page.goto(f"{served.url}#/story/{quote(names[0], safe='')}/memory")
        page.get_by_role("button", name="Edit").first.click()
        page.locator("summary.icon").first.click()
        check(page, alerts)


def check(page: Page, alerts: list[str]) -> None:
    """Nothing ran, and nothing became an element that a text has no business to be."""
    assert alerts == []
    ran = "typeof window.ran === 'number' || location.href.startsWith('javascript')"
    assert page.evaluate(ran) is False
    made = "document.querySelectorAll('#app :is(script, iframe, object, embed, video, marquee, base, meta, [onerror], [onload])')"
    assert page.evaluate(f"{made}.length") == 0


def test_what_is_typed_into_every_field_stays_text(page: Page, upstream: Upstream, tmp_path: Path) -> None:
    hostile = "<img src=x onerror=window.ran=1>"
    with serve(tmp_path / "stories.db", upstream.url, settings={"PREVIOUSLY_FOLDING": "ask"}) as served:
        alerts: list[str] = []
        page.goto(served.url)
        page.get_by_role("button", name="New story").click()
        page.get_by_label("Its name").fill(hostile)
        page.get_by_role("button", name="Begin").click()
        expect(page.locator(".crumb")).to_have_text(hostile)
        story = f"{served.url}#/story/{quote(hostile, safe='')}"
        served.ask(
            f"api/v1/stories/{quote(hostile, safe='')}/messages", {"role": "user", "text": hostile, "speaker": hostile}
        )
        page.goto(f"{story}/memory?tab=threads")
        page.get_by_role("button", name="Add a thread").click()
        page.get_by_label("What is open?").fill(hostile)
        page.get_by_role("dialog").get_by_role("button", name="Add", exact=True).click()
        expect(page.locator("main")).to_contain_text(hostile)
        page.goto(f"{story}/memory?tab=lore")
        page.get_by_role("button", name="Add an entry").click()
        page.get_by_role("dialog").get_by_label("Name", exact=True).fill(hostile)
        page.get_by_role("dialog").get_by_label("Keys").fill(hostile)
        page.get_by_label("What it is").fill(hostile)
        page.get_by_role("button", name="Save").click()
        expect(page.locator(".card")).to_contain_text(hostile)
        page.get_by_label("Test a sentence").fill(hostile)
        page.get_by_role("button", name="Test", exact=True).click()
        page.get_by_label("Find an entry").fill(hostile)
        check(page, alerts)
        page.goto(f"{story}/memory?tab=state")
        page.get_by_role("button", name="Pin something").click()
        page.get_by_label("Words that the model sees").fill(hostile)
        page.get_by_role("dialog").get_by_role("button", name="Add", exact=True).click()
        expect(page.locator("main")).to_contain_text(hostile)
        page.goto(served.url)
        page.get_by_role("searchbox").fill(hostile)
        expect(page.locator("main")).to_contain_text("passage")
        check(page, alerts)
        chat = tmp_path / "bad.jsonl"
        rows = [{"user_name": hostile, "character_name": hostile}, {"name": hostile, "is_user": True, "mes": hostile}]
        chat.write_text("\n".join(json.dumps(row) for row in rows))
        page.get_by_label("A file to import").set_input_files(chat)
        expect(page.get_by_role("dialog")).to_contain_text(hostile)
        check(page, alerts)
