"""The command `ask`: a question about a story, and the memories and messages that answer it."""

from __future__ import annotations

from typing import Annotated

import typer

from previously.cli import output
from previously.cli.arguments import AsJson, Endpoint, ModelName, Story, open_for_folding, parse_budget
from previously.story.json_results import answer_json


def ask(
    ctx: typer.Context,
    story: Story,
    question: Annotated[str, typer.Argument(metavar="QUESTION", help="What you want to know, in plain words.")],
    tokens: Annotated[
        int | None,
        typer.Option("--budget", metavar="N", parser=parse_budget, help="Tokens that all sources may take together."),
    ] = None,
    witness: Annotated[
        str | None, typer.Option("--as", metavar="CHARACTER", help="Only what this character may know.")
    ] = None,
    sources_only: Annotated[bool, typer.Option("--sources", help="Only the sources: ask no model.")] = False,
    endpoint: Endpoint = "",
    model: ModelName = "",
    as_json: AsJson = False,
) -> None:
    """Ask a question about a story, and see where the answer stands."""
    with open_for_folding(ctx, endpoint, model) as memory:
        opened = memory.story(story, create=False)
        answer = opened.ask(question, budget_tokens=tokens, witness=witness, by_model=not sources_only)
    if as_json:
        output.emit(answer_json(story, answer))
        return
    console = output.console()
    if answer.reason:
        output.note(f"The model's answer could not be shown: {answer.reason.rstrip('.')}.")
    if answer.text:
        console.print(output.printable(answer.text), style="bold")
    cited = {source.number for source in answer.cited}
    for source in answer.sources:
        if answer.text:
            console.print()
        console.print(
            output.one_line(f"[{source.number}] {source.label}  ({f'{source.story} {source.address}'.strip()})"),
            style="bold" if source.number in cited or not cited else "dim",
        )
        console.print(output.printable(source.text), style=None if source.number in cited or not cited else "dim")
        if not answer.text:
            console.print()
