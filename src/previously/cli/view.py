"""The commands about what a model sees: the view, and what it was at an earlier turn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from previously.cli import output
from previously.cli.arguments import AsJson, Position, Story, open_story, parse_budget, parse_position
from previously.story.json_results import view_json

if TYPE_CHECKING:
    from previously.core.messages import Message
    from previously.view.view import View

ReaderName = Annotated[
    str,
    typer.Option(
        "--reader", metavar="R", help="Who will read it: chat, narrator, character:NAME, memory:NAME, state or agent."
    ),
]
Explain = Annotated[bool, typer.Option("--explain", help="List every item with its cost and reason.")]


def view(
    ctx: typer.Context,
    story: Story,
    tokens: Annotated[
        int | None,
        typer.Option(
            "--budget", metavar="N", parser=parse_budget, help="Tokens the view may take; else what the window leaves."
        ),
    ] = None,
    reader: ReaderName = "chat",
    before: Annotated[
        int | None,
        typer.Option(
            "--before", metavar="POSITION", parser=parse_position, help="As it would have been before this message."
        ),
    ] = None,
    exclude: Annotated[
        list[str] | None,
        typer.Option("--exclude", metavar="SECTION", help="A section of memory to leave out; repeatable."),
    ] = None,
    explain: Explain = False,
    as_json: AsJson = False,
) -> None:
    """Show what the model should see, within a budget of tokens."""
    with open_story(ctx, story) as opened:
        seen = opened.view(tokens, reader=reader, before=before, exclude=exclude or ())
    _tell(story, seen, explain=explain, as_json=as_json)


def why(ctx: typer.Context, story: Story, at: Position, reader: ReaderName = "chat", as_json: AsJson = False) -> None:
    """Show what the model saw when it gave the answer at a position, and why."""
    with open_story(ctx, story) as opened:
        seen = opened.why(at, reader=reader)
    if not seen.as_shown:
        output.note("This view cannot be made again byte for byte: what it was made of has changed since.")
    _tell(story, seen, explain=True, as_json=as_json)


def _tell(story: str, seen: View, *, explain: bool, as_json: bool) -> None:
    if as_json:
        output.emit(view_json(seen))
    else:
        _print_view(story, seen, explain=explain)


def list_placed(seen: View) -> list[tuple[int | None, Message]]:
    """The view's messages, each with its position on the path; the system message has none."""
    from previously.view.render import place_messages

    return [(placed.position, placed.message) for placed in place_messages(seen.parts)]


def _print_view(story: str, seen: View, *, explain: bool) -> None:
    from previously.cli.terminal import draw_budget, make_table, render_message

    console = output.console()
    console.print(f"{output.one_line(story)}: {seen.tokens:,} of {seen.budget_tokens:,} tokens\n", style="bold")
    console.print(render_message(list_placed(seen)))
    console.print()
    console.print(draw_budget(seen))
    if explain:
        rows = [
            (
                item.section.value,
                ", ".join(str(span) for span in item.sources),
                item.tokens,
                item.reason if item.score is None else f"{item.reason} (score {item.score:.2f})",
            )
            for item in seen.items
        ]
        console.print()
        console.print(
            make_table(("section", "stands for", "tokens", "reason"), rows, left=("section", "stands for", "reason"))
        )
        _print_report(seen)
    if seen.left_out:
        console.print("\nLeft out", style="bold")
        for item in seen.left_out:
            console.print(f"  {item.what}: {item.why}")
    else:
        console.print("\nNothing is left out.")
    if seen.fold_due:
        console.print(f"A fold is due: `previously fold {output.as_typed(story)}` makes room.")


def _print_report(seen: View) -> None:
    """Print the parts of a view that stayed as they were, and the parts that counted."""
    report = seen.report
    console = output.console()
    console.print(f"\nFor {output.one_line(report.reader)}, counted by {output.one_line(report.counter)}.")
    if report.epoch:
        console.print(f"A new epoch began with this view: {report.epoch}.")
    if report.unchanged_share is not None:
        console.print(
            f"{report.unchanged_tokens:,} tokens ({report.unchanged_share:.0%}) are as they were the turn before."
        )
