"""The command `search`: messages of a story, found again."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from previously.cli import output
from previously.cli.arguments import AsJson, Endpoint, ModelName, Story, open_for_folding, open_memory, parse_budget
from previously.story.json_results import hit_json

if TYPE_CHECKING:
    from rich.text import Text as Styled

    from previously.runtime.search import SearchHit
    from previously.story.searches import SoughtWords

SHOWN = 300
"""Characters of a message that people are shown, around the first hit: three lines, enough to recognise the place."""


def search(
    ctx: typer.Context,
    story: Story,
    query: Annotated[str, typer.Argument(metavar="QUERY", help="What to look for, in plain words.")],
    top: Annotated[
        int | None, typer.Option("--top", metavar="K", help="How many messages at most; 10, or what a budget holds.")
    ] = None,
    tokens: Annotated[
        int | None,
        typer.Option("--budget", metavar="N", parser=parse_budget, help="Tokens that the messages may take together."),
    ] = None,
    witness: Annotated[
        str | None, typer.Option("--as", metavar="CHARACTER", help="Only what this character witnessed.")
    ] = None,
    with_model: Annotated[
        bool, typer.Option("--with-model", help="Ask the model for other words to look for: one call.")
    ] = False,
    endpoint: Endpoint = "",
    model: ModelName = "",
    as_json: AsJson = False,
) -> None:
    """Find messages again, by words, meaning, speaker and date; the best first."""
    opening = open_for_folding(ctx, endpoint, model) if with_model else open_memory(ctx)
    words: SoughtWords | None = None
    with opening as memory, output.progress("Indexing") as progress:
        opened = memory.story(story, create=False)
        if with_model:
            found = opened.search_with_model(query, top=top, budget_tokens=tokens, witness=witness, progress=progress)
            hits, words = list(found.hits), found.words
        else:
            hits = opened.search(query, top=top, budget_tokens=tokens, witness=witness, progress=progress)
    if as_json:
        asked = {"words": asdict(words)} if words else {}
        output.emit({"story": story, "query": query, "hits": [hit_json(hit) for hit in hits], **asked})
        return
    console = output.console()
    if words and words.reason:
        output.note(f"The model gave no other words, so the query was searched alone: {words.reason.rstrip('.')}.")
    elif words:
        output.note(f"Searched too ({_say_cost(words)}): {output.one_line(' / '.join(words.lines))}")
    if not hits:
        console.print("Nothing was found." if tokens is None else "Nothing was found that fits the budget.")
    elif all(hit.only_alike for hit in hits):
        console.print("No message says this in these words. Nearest in meaning:\n")
    for hit in hits:
        when = f", {hit.at}" if hit.at else ""
        hidden = ", hidden" if hit.hidden else ""
        who = f", {output.one_line(hit.speaker)}" if hit.speaker else ""
        of = f" of {output.one_line(hit.story)}" if hit.story else ""
        console.print(
            f"message {hit.position}{of}{who}{output.one_line(when)}{hidden}  (score {hit.score:.2f})", style="bold"
        )
        console.print(_make_excerpt(hit))
        console.print()


def _say_cost(words: SoughtWords) -> str:
    if not words.cost.calls:
        return "asked before, no call"
    return f"{words.cost.calls} call, {words.cost.input_tokens:,} tokens read, {words.cost.output_tokens:,} written"


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
