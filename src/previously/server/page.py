"""The page at `/`: which stories there are, and of one of them the last view and the newest of its log.

It has no script, loads nothing, and knows no address but our own; the headers it is sent with say so once more
(`guard.make_page_headers`). It shows the caller's own stories, and
nobody else's: a story that is another's and one that is not there are the same 404. What goes wrong is said in a
sentence of ours. To look at a story changes nothing.

Markup is safe by construction: elements are made by code, everything else in them is text. Whatever was written by a
person, a client or a model gets into a page through `shown`, and so can be nothing but characters to be read: no
element, no attribute, no control character, nothing that reorders the line.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from html import escape
from itertools import groupby

from starlette.requests import Request
from starlette.responses import HTMLResponse
from starlette.routing import Route

from previously.app import Memory
from previously.core.errors import BadInput, PreviouslyError, StoreProblem
from previously.core.exact_names import show_name
from previously.core.messages import Message, Text, Thinking, ToolCall, ToolResult
from previously.core.path import Span
from previously.core.patterns import lazy_pattern
from previously.core.versions import Version
from previously.server.guard import get_caller, make_page_headers
from previously.server.logs import get_note
from previously.storage.store import StoryInfo
from previously.storage.tables import Tables
from previously.story.story import Story
from previously.view.view import Item, View

MOST_LOG = 50
MOST_SHOWN = 200
"""The most versions, and the most items, things left out and messages of a view, that are shown: more would be a page
of megabytes."""

UNDO = "The newest fold comes first; //undo fold in the chat takes it back."

STYLE = """
:root { --ground: #fbfaf7; --ink: #22252b; --faint: #6b7078; --line: #dedbd2; --link: #1c5fa8;
  --furniture: #7d8aa5; --system: #4f6d9e; --pins: #d9a520; --backbone: #2f8f8b; --chapters: #8b5fbf; --recap: #c2587a;
  --wishes: #e3c04a; --episodes: #a77fd0; --brief: #b0486a;
  --threads: #c0504d; --state: #3f9fc4; --cast: #4f9f86; --lore: #a98455; --tail: #5a9e4b; --recall: #e08a3c;
  --free: #e9e6dd; }
@media (prefers-color-scheme: dark) { :root { --ground: #16181c; --ink: #e4e4e0; --faint: #979ca6; --line: #33373f;
  --link: #82b6f0; --free: #2a2e35; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1rem; max-width: 64rem; background: var(--ground); color: var(--ink);
  font: 16px/1.5 system-ui, sans-serif; overflow-wrap: anywhere; }
table { overflow-wrap: break-word; }
a { color: var(--link); }
h1 { font-size: 1.4rem; margin: .5rem 0; } h2 { font-size: 1.1rem; margin: 2rem 0 .5rem; }
.faint { color: var(--faint); }
.wide { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: .9rem; }
th, td { text-align: left; vertical-align: top; padding: .35rem .75rem .35rem 0; border-bottom: 1px solid var(--line); }
th { font-weight: 600; color: var(--faint); white-space: nowrap; }
td { min-width: 4rem; max-width: 28rem; }
.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
.bar { display: block; width: 100%; height: 1.6rem; border-radius: .3rem; }
.said { white-space: pre-wrap; margin: .25rem 0 1rem; }
.key { display: inline-block; width: .8rem; height: .8rem; border-radius: .2rem; vertical-align: baseline; }
.furniture { fill: var(--furniture); } .system { fill: var(--system); } .pins { fill: var(--pins); }
.backbone { fill: var(--backbone); } .chapters { fill: var(--chapters); } .recap { fill: var(--recap); }
.wishes { fill: var(--wishes); } .episodes { fill: var(--episodes); } .brief { fill: var(--brief); }
.threads { fill: var(--threads); } .state { fill: var(--state); } .cast { fill: var(--cast); }
.lore { fill: var(--lore); } .tail { fill: var(--tail); } .recall { fill: var(--recall); } .free { fill: var(--free); }
summary { cursor: pointer; margin: 1rem 0; }
"""


def render_stories_page(stories: Sequence[tuple[StoryInfo, str]], owner: str) -> str:
    """Return the list of stories, each with the time it last changed; those that changed last come first."""
    newest_first = sorted(stories, key=lambda one: (one[1], one[0].key.story), reverse=True)
    rows = [
        (_link(info), f"{info.active.messages:,}", f"{info.branches:,}", _time(at) or "not yet")
        for info, at in newest_first
    ]
    listed = (
        table(("story", "messages", "branches", "last used (UTC)"), rows, numbers=("messages", "branches"))
        if rows
        else tag(
            "p", "There are no stories here yet. The first message that a client sends through this server begins one."
        )
    )
    return _page("Stories", tag("h1", "Stories"), tag("p", "Those of ", tag("bdi", owner), ".", class_="faint"), listed)


def render_story_page(info: StoryInfo, view: View | None, log: Sequence[Version], notices: Sequence[str] = ()) -> str:
    """Return the page of one story: the view that was made of it last, None if none is known, and its versions, the
    oldest first. `notices` are sentences about why memory is missing, or waits."""
    about = f"{_counted(info.active.messages, 'message')} on branch "
    about_branches = f", {_counted(info.branches, 'branch', 'branches')} in all."
    name = show_name(info.name)
    return _page(
        name,
        tag("p", tag("a", "All stories", href="/")),
        tag("h1", tag("bdi", name)),
        tag("p", about, tag("bdi", info.active.name), about_branches, class_="faint"),
        *(tag("p", notice) for notice in notices if notice),
        tag("h2", "What the model saw last"),
        *(
            _view(view)
            if view
            else [tag("p", "No view is known of this story: nothing was asked since it was changed.")]
        ),
        tag("h2", "Log"),
        *([tag("p", UNDO, class_="faint")] if log else []),
        _log(log),
    )


def render_message_page(title: str, sentence: str) -> str:
    return _page(title, tag("h1", title), tag("p", sentence), tag("p", tag("a", "All stories", href="/")))


def _view(view: View) -> Iterator[Html]:
    shares = {**{section.value: tokens for section, tokens in view.report.sections.items()}}
    shares["free"] = max(0, view.budget_tokens - sum(shares.values()))
    yield tag("p", f"{view.tokens:,} of {view.budget_tokens:,} tokens, for ", tag("bdi", view.reader), ".")
    yield _bar(shares)
    rows = [(_key(name), tokens, f"{_percent(tokens, shares)} %") for name, tokens in shares.items() if tokens]
    yield table(("section", "tokens", "share"), rows, numbers=("tokens", "share"))
    if not view.as_shown:
        yield tag("p", "What it was made of has changed since: this is as near to it as can be.")
    yield tag("h2", "Why each part is there")
    runs = list(_runs(view.items))
    items = [(section, ", ".join(map(str, spans)) or "–", tokens, why) for section, spans, tokens, why in runs]
    columns = ("section", "stands for", "tokens", "reason")
    yield table(columns, items[:MOST_SHOWN], numbers=("tokens",))
    yield from _more(len(items))
    yield tag("h2", "Left out")
    if view.left_out:
        yield table(("what", "reason"), [(left.what, left.reason.value) for left in view.left_out[:MOST_SHOWN]])
        yield from _more(len(view.left_out))
    else:
        yield tag("p", "Nothing is left out.")
    said = [_said(message) for message in view.messages[:MOST_SHOWN]]
    yield tag("details", tag("summary", "Read it all"), *said, *_more(len(view.messages)))


def _bar(shares: dict[str, int]) -> Html:
    """Return the budget as a bar, drawn in the order of the table below it."""
    total = max(1, sum(shares.values()))
    drawn, at = [], 0.0
    for name, tokens in shares.items():
        width = 1_000 * tokens / total
        drawn.append(tag("rect", x=f"{at:.2f}", y=0, width=f"{width:.2f}", height=10, class_=name))
        at += width
    words = ", ".join(f"{name} {_percent(tokens, shares)} %" for name, tokens in shares.items())
    return tag(
        "svg", *drawn, viewBox="0 0 1000 10", preserveAspectRatio="none", class_="bar", role="img", aria_label=words
    )


def _key(name: str) -> Html:
    """Return a section with its colour in the bar."""
    patch = tag("rect", width=10, height=10, class_=name)
    return joined((tag("svg", patch, viewBox="0 0 10 10", class_="key", aria_hidden="true"), " ", name))


def _runs(items: Sequence[Item]) -> Iterator[tuple[str, list[Span], int, str]]:
    """Yield items with the same reason one after another, taken together: section, spans, tokens, reason."""
    rows = [
        (one.section.value, one.reason if one.score is None else f"{one.reason} (score {one.score:.2f})", one)
        for one in items
    ]
    for (section, why), group in groupby(rows, key=lambda one: one[:2]):
        run = [one for _, _, one in group]
        spans: list[Span] = []
        for span in sorted(span for one in run for span in one.sources):
            if spans and span.first <= spans[-1].last + 1:
                spans[-1] = Span(spans[-1].first, max(spans[-1].last, span.last))
            else:
                spans.append(span)
        yield section, spans, sum(one.tokens for one in run), why


def _said(message: Message) -> Html:
    who = message.speaker or message.role.value
    parts = [_part(part) for part in message.parts if not isinstance(part, Thinking)]
    text = shortened("\n".join(part for part in parts if part))
    return tag("div", tag("strong", tag("bdi", who)), tag("p", text, class_="said", dir="auto"))


def _part(part: object) -> str:
    match part:
        case Text(text):
            return text
        case ToolCall(_, name, arguments):
            return f"[calls {name} {arguments}]"
        case ToolResult(_, text):
            return f"[result] {text}"
        case _:
            return f"[{type(part).__name__.lower()}]"


def _log(versions: Sequence[Version]) -> Html:
    if not versions:
        return tag("p", "Nothing is folded yet.")
    rows = [
        (
            version.id,
            version.made.kind.value,
            version.made.status.value,
            str(version.made.span),
            version.made.model or version.made.made_by,
            version.made.reason,
            f"{version.made.cost.input_tokens:,} / {version.made.cost.output_tokens:,}",
            _time(version.made.at),
        )
        for version in reversed(versions[-MOST_LOG:])
    ]
    columns = ("id", "kind", "status", "of", "made by", "reason", "tokens read / written", "at (UTC)")
    drawn = table(columns, rows, numbers=("id", "tokens read / written"))
    if len(versions) <= MOST_LOG:
        return drawn
    return tag("div", tag("p", f"The newest {MOST_LOG} of {len(versions):,}.", class_="faint"), drawn)


def _page(title: str, *content: Html) -> str:
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("title", f"{title} – Previously"),
        Html(f"<style>{STYLE}</style>"),  # its hash stands in the policy: not a byte of it may differ
    )
    return f"<!doctype html>{tag('html', head, tag('body', tag('main', *content)), lang='en')}"


def _more(count: int) -> list[Html]:
    return [tag("p", f"And {count - MOST_SHOWN:,} more.", class_="faint")] if count > MOST_SHOWN else []


def _link(info: StoryInfo) -> Html:
    return tag("a", tag("bdi", show_name(info.name)), href=f"/stories/{info.key.story}")


def _percent(tokens: int, shares: dict[str, int]) -> int:
    return round(100 * tokens / max(1, sum(shares.values())))


def _time(at: str) -> str:
    return at[:16].replace("T", " ")


def _counted(number: int, noun: str, plural: str = "") -> str:
    return f"{number:,} {noun if number == 1 else plural or f'{noun}s'}"


HEADERS = dict(make_page_headers(STYLE))


def make_page_routes(
    memory_of: Callable[[str], Memory], notices_of: Callable[[str, Story], Sequence[str]]
) -> list[Route]:
    """Return the routes of the list of stories and of one story. `memory_of` gives the stories of an owner,
    `notices_of` sentences about one of them."""

    async def stories(request: Request) -> HTMLResponse:
        owner = get_caller(request.scope).owner
        memory = memory_of(owner)

        def read(tables: Tables) -> list[tuple[StoryInfo, str]]:
            used = tables.stories.last_changes(owner)
            return [(info, used.get(info.key.story, "")) for info in tables.stories.all(owner)]

        try:
            listed = await memory.store.read(owner, read)
        except StoreProblem:
            return _away()
        return _sent(render_stories_page(listed, owner))

    async def story(request: Request) -> HTMLResponse:
        owner = get_caller(request.scope).owner
        memory = memory_of(owner)
        try:
            wanted = int(request.path_params["number"])
            infos = [info for info in await memory.stories() if info.key.story == wanted]
            if not infos:
                return _sent(render_message_page("Not found", "There is no such story here."), 404)
            get_note(request.scope).story = wanted
            opened = await memory.story(infos[0].name, create=False)
            notices = notices_of(owner, opened)
            return _sent(render_story_page(infos[0], await opened.last_view(), await opened.log(), notices))
        except BadInput:
            return _sent(render_message_page("Not found", "There is no such story here."), 404)  # forgotten meanwhile
        except PreviouslyError:
            return _away()

    return [Route("/", stories), Route("/stories/{number:int}", story)]


def _away() -> HTMLResponse:
    return _sent(render_message_page("Not now", "The stories cannot be read at the moment; try again in a while."), 503)


def _sent(page: str, status: int = 200) -> HTMLResponse:
    return HTMLResponse(page, status, HEADERS)


LONGEST = 4_000
"""Characters of one text on a page: about two screens, so that one huge message does not hide the others."""

VOID = frozenset({"meta"})
_SAFE = lazy_pattern(r"[\x20-\x7e\n\t]*")
_REORDERING = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


class Html(str):
    """Markup of ours."""

    __slots__ = ()


def tag(name: str, /, *content: str, **attributes: object) -> Html:
    """Return an element. Text in it is shown as text; an attribute that is None is left out, `class_` is `class`."""
    given = "".join(
        f' {label.rstrip("_").replace("_", "-")}="{shown(str(value))}"'
        for label, value in attributes.items()
        if value is not None
    )
    if name in VOID:
        return Html(f"<{name}{given}>")
    return Html(f"<{name}{given}>{joined(content)}</{name}>")


def joined(content: Iterable[str]) -> Html:
    return Html("".join(piece if isinstance(piece, Html) else shown(piece) for piece in content))


def shown(text: str) -> Html:
    """Return a text as it can stand in a page, between elements or in an attribute."""
    return Html(escape(text if _SAFE.fullmatch(text) else "".join(map(_visible, text)), quote=True))


def shortened(text: str, limit: int = LONGEST) -> str:
    return text if len(text) <= limit else f"{text[:limit]}… ({len(text) - limit:,} more characters)"


def table(columns: Iterable[str], rows: Iterable[Iterable[str | int]], *, numbers: Iterable[str] = ()) -> Html:
    """Return a table; columns named in `numbers` are set to the right."""
    names = list(columns)
    kinds = ["number" if name in set(numbers) else None for name in names]
    head = tag("tr", *(tag("th", name, scope="col", class_=kind) for name, kind in zip(names, kinds, strict=True)))
    body = [
        tag("tr", *(tag("td", _cell(cell), class_=kind) for cell, kind in zip(row, kinds, strict=True))) for row in rows
    ]
    return tag("div", tag("table", tag("thead", head), tag("tbody", *body)), class_="wide")


def _cell(value: str | int) -> str:
    return f"{value:,}" if isinstance(value, int) else value


def _visible(char: str) -> str:
    if char in "\n\t":
        return char
    kind = unicodedata.category(char)
    if kind == "Cc":
        return chr(0x2400 + ord(char)) if ord(char) < 0x20 else "\N{REPLACEMENT CHARACTER}"
    return "\N{REPLACEMENT CHARACTER}" if kind == "Cs" or char in _REORDERING else char
