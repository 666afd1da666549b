"""`previously scenes`: the scenes that were noted, and where they end; and the analyses of a librarian."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from previously.cli import output
from previously.cli.arguments import (
    AsJson,
    At,
    Endpoint,
    ModelName,
    Story,
    open_for_folding,
    open_story,
    parse_position,
)
from previously.cli.nouns import make_noun
from previously.story.thing_name import Thing, ThingKind

if TYPE_CHECKING:
    from previously.core.scene import Analysis
    from previously.story.memory_texts import SceneText

app: typer.Typer = make_noun("The scenes that were noted: list, show, add (a scene ends here).")


@app.command("list")
def list_scenes(ctx: typer.Context, story: Story, as_json: AsJson = False) -> None:
    """List the scenes that were noted, with their summaries and what they describe."""
    from previously.story.json_shapes import scene_json

    with open_story(ctx, story) as opened:
        notes = opened.scenes()
    if as_json:
        output.emit({"story": story, "scenes": [scene_json(number, one) for number, one in enumerate(notes, 1)]})
        return
    console = output.console()
    for number, one in enumerate(notes, 1):
        _print_scene(number, one)
    if not notes:
        ends = f"`previously scenes add {output.as_typed(story)}` ends one"
        console.print(f"No scene is noted yet; a fold notes those that are over, and {ends}.", soft_wrap=True)


@app.command("show")
def show(
    ctx: typer.Context,
    story: Story,
    which: Annotated[str, typer.Argument(metavar="WHICH", help="The scene's number.")],
    as_json: AsJson = False,
) -> None:
    """Show one scene."""
    from previously.story.json_shapes import scene_json

    thing = Thing(ThingKind.SCENE, which)
    with open_story(ctx, story) as opened:
        scene = opened.find_listed(thing)
    if as_json:
        output.emit({"story": story, **scene_json(thing.number, scene)})
    else:
        _print_scene(thing.number, scene)


@app.command("add", context_settings={"ignore_unknown_options": True})
def add(ctx: typer.Context, story: Story, at: At = None, as_json: AsJson = False) -> None:
    """End the scene with the newest message, or with another; the next fold notes it."""
    with open_story(ctx, story) as opened:
        mark = opened.end_scene(-1 if at is None else at)
    if as_json:
        output.emit({"story": story, "position": mark.position})
    else:
        output.console().print(f"The scene ends with message {mark.position}. The next fold notes it.")


def _print_scene(number: int, scene: SceneText) -> None:
    console = output.console()
    console.print(f"Scene {number} ({scene.span}, by {scene.made_by})", style="bold")
    console.print(output.printable(scene.summary))
    if scene.entries:
        console.print(f"Describes: {output.one_line(', '.join(scene.entries))}.", soft_wrap=True)
    console.print()


def analyze(
    ctx: typer.Context,
    story: Story,
    where: Annotated[
        int | None,
        typer.Argument(
            metavar="POSITION", parser=parse_position, help="Which fragment; else all that have no analysis."
        ),
    ] = None,
    again: Annotated[bool, typer.Option("--again", help="Also what has an analysis: the newest counts.")] = False,
    endpoint: Endpoint = "",
    model: ModelName = "",
    as_json: AsJson = False,
) -> None:
    """Analyse fragments as the librarian does: what each adds, what changed, what is open."""
    from previously.cli.memory import compute_price, print_folds
    from previously.story.json_results import report_json
    from previously.story.json_shapes import analysis_json

    with open_for_folding(ctx, endpoint, model) as memory:
        opened = memory.story(story, create=False)
        report = opened.analyze(where, again=again)
        analyses = dict(opened.analyses())
        length = opened.branch_info().messages
    wanted = {done.span.first for done in report.folds} if where is None else {where if where >= 0 else length + where}
    chosen = [(at, one) for at, one in analyses.items() if at in wanted]
    if as_json:
        output.emit(
            {
                **report_json(story, report, compute_price(report)),
                "analyses": [analysis_json(at, one) for at, one in chosen],
            }
        )
    else:
        for at, one in chosen:
            _print_analysis(at, one)
        if report.folds:
            print_folds(report, planned=False)
        else:
            output.console().print("Nothing was left to analyse; --again makes analyses anew.")
    if report.folds and not report.made:
        raise typer.Exit(1)


def _print_analysis(at: int, one: Analysis) -> None:
    console = output.console()
    console.print(f"Message {at}", style="bold")
    console.print(output.printable(one.summary_update) or "It adds nothing to the summary.")
    lists = {**one.signals.as_json(), "mentions": list(one.mentions), "contradictions": list(one.contradictions)}
    for name, items in lists.items():
        if items:
            console.print(f"  {name.replace('_', ' ')}: {output.one_line('; '.join(items))}", soft_wrap=True)
