"""The command `search`: messages of a story, found again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from previously.cli import output
from previously.cli.arguments import AsJson, Endpoint, ModelName, Story, open_for_folding, open_memory, parse_budget
from previously.story.json_results import hit_json, model_search_json

if TYPE_CHECKING:
    from rich.text import Text as Styled

    from previously.core.versions import Cost
    from previously.runtime.search import SearchHit
    from previously.story.searches import ModelSearch

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
        bool,
        typer.Option(
            "--with-model", help="Let the model add words to look for and pick the hits that help: two calls."
        ),
    ] = False,
    endpoint: Endpoint = "",
    model: ModelName = "",
    as_json: AsJson = False,
) -> None:
    """Find messages again, by words, meaning, speaker and date; the best first."""
    opening = open_for_folding(ctx, endpoint, model) if with_model else open_memory(ctx)
    found: ModelSearch | None = None
    with opening as memory, output.progress("Indexing") as progress:
        opened = memory.story(story, create=False)
        if with_model:
            found = opened.search_with_model(query, top=top, budget_tokens=tokens, witness=witness, progress=progress)
            hits = list(found.hits)
        else:
            hits = opened.search(query, top=top, budget_tokens=tokens, witness=witness, progress=progress)
    if as_json:
        asked = model_search_json(found) if found else {}
        output.emit({"story": story, "query": query, "hits": [hit_json(hit) for hit in hits], **asked})
        return
    console = output.console()
    if found:
        _say_help(found)
    if not hits:
        console.print("Nothing was found." if tokens is None else "Nothing was found that fits the budget.")
    elif all(hit.only_alike and not hit.picked for hit in hits):
        which = "No message" if tokens is None else "No message that fits the budget"
        console.print(f"{which} has these words. Nearest in meaning:\n")
    for hit in hits:
        when = f", {hit.at}" if hit.at else ""
        hidden = ", hidden" if hit.hidden else ""
        picked = ", picked" if hit.picked else ""
        who = f", {output.one_line(hit.speaker)}" if hit.speaker else ""
        of = f" of {output.one_line(hit.story)}" if hit.story else ""
        console.print(
            f"message {hit.position}{of}{who}{output.one_line(when)}{hidden}{picked}  (score {hit.score:.2f})",
            style="bold",
        )
        console.print(_make_excerpt(hit))
        console.print()


def _say_help(found: ModelSearch) -> None:
    """Say what a model did for a search, and what it cost."""
    from previously.story.searches import NO_MODEL

    words, pick = found.words, found.pick
    if words.reason == NO_MODEL:
        output.note(f"This is the ordinary search: {NO_MODEL}; name one with --endpoint and --model.")
    elif words.reason:
        output.note(f"The model gave no other words, so the query was searched alone: {words.reason.rstrip('.')}.")
    else:
        output.note(f"Searched too ({_say_cost(words.cost)}): {output.one_line(' / '.join(words.lines))}")
    if pick.reason and pick.reason != words.reason:
        output.note(f"The model picked none of the hits, so their order is the search's: {pick.reason.rstrip('.')}.")
    elif not pick.reason:
        dropped = "".join(f"; {warning}" for warning in pick.warnings)
        output.note(f"Picked {len(pick.hits)} of {pick.offered} hits ({_say_cost(pick.cost)}{dropped}).")


def _say_cost(cost: Cost) -> str:
    if not cost.calls:
        return "asked before, no call"
    return f"{cost.calls} call, {cost.input_tokens:,} tokens read, {cost.output_tokens:,} written"


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
