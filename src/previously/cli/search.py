"""The command `search`: messages of a story, found again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from previously.cli import output
from previously.cli.arguments import AsJson, Story, open_memory, parse_budget

if TYPE_CHECKING:
    from rich.text import Text as Styled

    from previously.runtime.search import SearchHit

SHOWN = 300
"""Characters of a message that people are shown, around the first hit: three lines, enough to recognise the place."""


def search(
    ctx: typer.Context,
    story: Story,
    query: Annotated[str, typer.Argument(metavar="QUERY", help="What to look for, in plain words.")],
    top: Annotated[
        int | None,
        typer.Option("--top", metavar="K", help="How many messages at most; 10, or what a budget holds."),
    ] = None,
    tokens: Annotated[
        int | None,
        typer.Option("--budget", metavar="N", parser=parse_budget, help="Tokens that the messages may take together."),
    ] = None,
    witness: Annotated[
        str | None, typer.Option("--as", metavar="CHARACTER", help="Only what this character witnessed.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Find messages again, by words, meaning, speaker and date; the best first."""
    with open_memory(ctx) as memory:
        hits = memory.story(story, create=False).search(query, top=top, budget_tokens=tokens, witness=witness)
    if as_json:
        output.emit({"story": story, "query": query, "hits": [_hit_json(hit) for hit in hits]})
        return
    console = output.console()
    if not hits:
        console.print("Nothing was found." if tokens is None else "Nothing was found that fits the budget.")
    for hit in hits:
        when = f", {hit.at}" if hit.at else ""
        hidden = ", hidden" if hit.hidden else ""
        who = f", {output.one_line(hit.speaker)}" if hit.speaker else ""
        console.print(
            f"message {hit.position}{who}{output.one_line(when)}{hidden}  (score {hit.score:.2f})", style="bold"
        )
        console.print(_make_excerpt(hit))
        console.print()


def _hit_json(hit: SearchHit) -> dict[str, Any]:
    return {
        "position": hit.position,
        "id": hit.id,
        "speaker": hit.speaker,
        "at": hit.at,
        "text": hit.text,
        "score": hit.score,
        "tokens": hit.tokens,
        "highlights": [list(place) for place in hit.highlights],
        "hidden": hit.hidden,
    }


def _make_excerpt(hit: SearchHit) -> Styled:
    """A stretch of the text with what it was found by marked: bold on a terminal, between ⟦ and ⟧ elsewhere."""
    from rich.text import Text as Styled

    first = hit.highlights[0][0] if hit.highlights else 0
    start = max(0, min(first - SHOWN // 4, len(hit.text) - SHOWN))
    end = min(len(hit.text), start + SHOWN)
    plain = not output.console().is_terminal
    drawn, at = Styled("…" if start else ""), start
    for begin, stop in hit.highlights:
        if begin < at or stop > end:
            continue
        drawn.append(_show_line(hit.text[at:begin]))
        word = _show_line(hit.text[begin:stop])
        drawn.append(f"⟦{word}⟧" if plain else word, "" if plain else "bold reverse")
        at = stop
    drawn.append(_show_line(hit.text[at:end]))
    drawn.append("…" if end < len(hit.text) else "")
    return drawn


def _show_line(text: str) -> str:
    return output.printable(text).replace("\n", " ")
