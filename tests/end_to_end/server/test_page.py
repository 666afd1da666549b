"""The page: what it says, and that nothing anybody wrote is ever more than text in it."""

from __future__ import annotations

import re
from base64 import b64encode
from collections import Counter
from dataclasses import replace
from hashlib import sha256
from html.parser import HTMLParser

import pytest

from previously.core.messages import Image, Message, Role, Text, Thinking, ToolCall, ToolResult, message
from previously.core.path import Span
from previously.core.versions import Cost, Kind, NewVersion, Status, Version
from previously.server.guard import make_page_headers
from previously.server.page import (
    LONGEST,
    MOST_LOG,
    MOST_SHOWN,
    STYLE,
    render_message_page,
    render_stories_page,
    render_story_page,
    shown,
)
from previously.storage.store import BranchInfo, StoryInfo, StoryKey
from previously.view.view import Item, LeftOut, Reason, Section, View
from tests.end_to_end.server.payloads import PAYLOADS

ELEMENTS = set(
    "html head meta title style body main h1 h2 p a bdi div table thead tbody tr th td svg rect details summary "
    "strong".split()
)
ATTRIBUTES = {
    "lang": "en", "charset": "utf-8", "name": "viewport|color-scheme", "scope": "col", "role": "img", "dir": "auto",
    "content": "width=device-width, initial-scale=1|light dark", "href": r"/|/stories/[0-9]+", "class": "[a-z]+",
    "viewbox": "[0-9 ]+", "preserveaspectratio": "none", "x": "[0-9.]+", "y": "0", "width": "[0-9.]+", "height": "10",
    "aria-hidden": "true", "aria-label": "[a-z0-9 ,%]+",
}  # fmt: skip
"""All that a page may be made of, and what each attribute may say."""


class Parsed(HTMLParser):
    """A page taken apart; anything that is not on the list is a fault."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: Counter[str] = Counter()
        self.text = ""
        self.styles = ""
        self.open: list[str] = []
        self.feed(page)
        self.close()
        assert self.open == [], "every element is closed"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in ELEMENTS, tag
        self.elements[tag] += 1
        for name, value in attrs:
            assert name in ATTRIBUTES, name
            assert re.fullmatch(ATTRIBUTES[name], value or ""), (name, value)
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open[-1:] == ["style"]:
            self.styles += data
        else:
            self.text += f"{data}\x1f"

    def handle_comment(self, data: str) -> None:
        raise AssertionError("a comment")

    def handle_pi(self, data: str) -> None:
        raise AssertionError("an instruction")

    def unknown_decl(self, data: str) -> None:
        raise AssertionError("a declaration")

    def handle_decl(self, decl: str) -> None:
        assert decl == "doctype html"


def info(name: str = "harbour", number: int = 7, branch: str = "main", messages: int = 249) -> StoryInfo:
    return StoryInfo(StoryKey("local", number), name, BranchInfo(branch, 1, messages), 2, None)


def version(number: int = 1, text: str = "", **changed: object) -> Version:
    made = NewVersion(
        Kind.RECAP, text, Span(0, 25), b"", None, text, text, Status.COMMITTED,
        text or "builtin", text or "2049 tokens", "2026-11-15T09:17:00.000+00:00", model=text, cost=Cost(1, 2_000, 300),
    )  # fmt: skip
    return Version(number, replace(made, **changed), True)  # type: ignore[arg-type]


def view(text: str = "words", items: int = 1) -> View:
    messages = [
        message("system", text),
        message("user", text, speaker=text),
        Message(Role.ASSISTANT, (Thinking(text), ToolCall(text, text, text), Image(text, text)), text),
        Message(Role.TOOL, (ToolResult(text, text), Text(text))),
    ]
    there = [
        Item(Section.SYSTEM, 40, text, ()),
        Item(Section.RECAP, 200, text, (Span(0, 199),)),
        *(Item(Section.TAIL, 10, text, (Span(200 + at, 200 + at),)) for at in range(items)),
        Item(Section.RECALL, 30, text, (Span(3, 3),), 1.5),
    ]
    left = (LeftOut(text, Reason.BUDGET, Span(1, 2)), LeftOut(text, Reason.HIDDEN))
    return View(1_000, 280, tuple(messages), tuple(there), left, False, reader=text)


def pages(text: str) -> list[str]:
    """Every page, with a text wherever somebody's words can stand."""
    listed = [(info(text, 1), text), (info(text, 2, text), "")]
    one = info(text, 3, text)
    return [
        render_stories_page(listed, text),
        render_story_page(one, view(text), [version(1, text), version(2, text, at=text, scope=text)]),
        render_story_page(one, None, []),
        render_message_page(text, text),
    ]


PLAIN = [Parsed(page) for page in pages("words")]


def test_there_are_enough_payloads() -> None:
    assert len(PAYLOADS) >= 300


@pytest.mark.parametrize("payload", PAYLOADS)
def test_a_payload_is_text_and_changes_nothing_but_text(payload: str) -> None:
    for page, plain in zip(pages(payload), PLAIN, strict=True):
        page.encode()
        parsed = Parsed(page)
        assert parsed.elements == plain.elements
        assert parsed.styles == STYLE


@pytest.mark.parametrize("payload", [payload for payload in PAYLOADS if payload.isprintable() and len(payload) < 1_000])
def test_it_can_be_read_as_it_was_written(payload: str) -> None:
    for page in pages(payload)[:2]:
        assert payload in Parsed(page).text


def test_nothing_steers_and_nothing_is_hidden() -> None:
    for payload in PAYLOADS:
        for page in pages(payload):
            assert not re.search(
                "[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\u200e\u200f\u061c\ud800-\udfff]", page
            )


def test_control_characters_are_shown_as_such() -> None:
    assert shown("a\x1bb\x00\u202e\ud800") == "a␛b␀\ufffd\ufffd"
    assert shown('<a href="x">&\'') == "&lt;a href=&quot;x&quot;&gt;&amp;&#x27;"


def test_the_policy_names_the_style_of_the_page() -> None:
    parsed = Parsed(render_stories_page([], "local"))
    digest = b64encode(sha256(parsed.styles.encode()).digest()).decode()
    assert f"style-src 'sha256-{digest}'" in dict(make_page_headers(STYLE))["content-security-policy"]
    assert "url(" not in STYLE
    assert "@import" not in STYLE


def test_the_list_says_what_there_is_the_last_used_first() -> None:
    page = Parsed(
        render_stories_page([(info("old", 1), "2026-01-01T10:00:00"), (info("new", 2), "2026-02-01T10:00:00")], "ann")
    )
    assert page.text.index("new") < page.text.index("old")
    for words in ("ann", "249", "2026-02-01 10:00", "branches"):
        assert words in page.text


def test_empty_states_are_words() -> None:
    assert "no stories here yet" in Parsed(render_stories_page([], "local")).text
    assert "not yet" in Parsed(render_stories_page([(info(), "")], "local")).text
    empty = Parsed(render_story_page(info(), None, [])).text
    assert "No view is known" in empty
    assert "Nothing is folded yet" in empty
    nothing_left = replace(view(), left_out=())
    assert "Nothing is left out." in Parsed(render_story_page(info(), nothing_left, [])).text


def test_a_story_shows_its_view_and_its_log() -> None:
    text = Parsed(render_story_page(info(), view("because"), [version(1), version(2, status=Status.REFUSED)])).text
    for words in ("280 of 1,000 tokens", "because", "messages 0-199", "(score 1.50)", "budget", "hidden", "refused"):
        assert words in text
    assert text.index("refused") < text.index("committed"), "the newest first"
    assert "2,000 / 300" in text


def test_the_bar_adds_up_to_the_budget() -> None:
    for seen in (view(), view(items=50), replace(view(), budget_tokens=1, items=()), replace(view(), items=())):
        widths = re.findall(r'width="([0-9.]+)" height="10" class="[a-z]+"', render_story_page(info(), seen, []))
        drawn = [float(width) for width in widths if float(width) != 10 or width != "10"]
        assert sum(drawn) == pytest.approx(1_000, abs=0.1)


def test_items_of_one_reason_stand_together() -> None:
    parsed = Parsed(render_story_page(info(), view("because", items=50), []))
    assert "messages 200-249" in parsed.text
    assert "500" in parsed.text


def test_a_page_is_bounded() -> None:
    long = "x" * 1_000_000
    seen = view()
    many = replace(
        seen,
        messages=tuple([message("user", long)] * (MOST_SHOWN + 5)),
        left_out=tuple([LeftOut("x", Reason.BUDGET)] * (MOST_SHOWN + 7)),
        items=tuple(Item(Section.TAIL, 1, str(at), (Span(at, at),)) for at in range(MOST_SHOWN + 9)),
    )
    page = render_story_page(info(), many, [version(number) for number in range(1_000)])
    assert len(page) < 2 * LONGEST * MOST_SHOWN
    text = Parsed(page).text
    for words in ("And 5 more", "And 7 more", "And 9 more", f"The newest {MOST_LOG} of 1,000", "more characters"):
        assert words in text


def test_thinking_is_not_shown() -> None:
    seen = replace(view(), messages=(Message(Role.ASSISTANT, (Thinking("hidden thoughts"), Text("said"))),))
    page = render_story_page(info(), seen, [])
    assert "hidden thoughts" not in page
    assert "said" in page


def test_every_section_has_a_colour_of_its_own() -> None:
    named = dict(re.findall(r"--([a-z]+): (#[0-9a-f]{6})", STYLE.partition("@media")[0]))
    assert all(f".{section} {{ fill: var(--{section}); }}" in STYLE for section in Section)
    assert len({named[section] for section in Section}) == len(Section)
