"""The command `show`: what is remembered of a story, or one thing of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from previously.cli import output
from previously.cli.arguments import AsJson, Story, open_story
from previously.cli.chapters import print_chapter, print_text
from previously.story import json_shapes as shapes
from previously.story.json_shapes import chapter_json, span_json
from previously.story.thing_name import Thing, ThingKind, parse_thing

if TYPE_CHECKING:
    from previously.blocking import BlockingStory

NEWEST = 5
"""The messages that `show` ends with: enough to see where the story is, on one screen with its memory."""


def show(
    ctx: typer.Context,
    story: Story,
    what: Annotated[
        str | None, typer.Argument(metavar="THING", help="One thing of it: recap, chapter:2, thread:7, lore:NAME, …")
    ] = None,
    gaps: Annotated[
        bool, typer.Option("--gaps", help="Instead, where the librarian's summary cannot go on, and why.")
    ] = False,
    full: Annotated[bool, typer.Option("--full", help="Show closed chapters in full, not in short.")] = False,
    as_json: AsJson = False,
) -> None:
    """Show what is remembered of a story, or one thing of it."""
    if what is not None:
        _show_thing(ctx, story, parse_thing(what), as_json)
        return
    if gaps:
        _show_gaps(ctx, story, as_json)
        return
    with open_story(ctx, story) as opened:
        info, branches, recap = opened.info(), opened.branches(), opened.recap()
        chapters, backbone, pins, flagged = opened.chapters(), opened.backbone(), opened.pins(), opened.flagged()
        length = info.active.messages
        newest = opened.messages(max(length - NEWEST, 0), -1) if length else []
        beside = _list_remembered(opened)
        brief, link = opened.brief(), opened.continues()
        begun = _list_begun(opened) if link and link.story else []
    if as_json:
        output.emit(
            {
                "story": story,
                "branch": info.active.name,
                "messages": length,
                "continues": {**shapes.link_json(link), "begins_with": begun} if link else None,
                "recap": recap.text if recap and not brief else None,
                "recap_span": span_json(recap.told) if recap else None,
                **({"recap_cut": span_json(recap.cut)} if recap and recap.cut else {}),
                "chapters": [chapter_json(one) for one in chapters],
                "backbone": backbone.text if backbone else None,
                "backbone_span": span_json(backbone.span) if backbone else None,
                "pins": [shapes.pin_json(pin) for pin in pins],
                "stale": [name for name, text in (("recap", recap), ("backbone", backbone)) if text and text.stale],
                "flagged": flagged,
                "layers": [],
                **beside,
                "brief": brief.text if brief else None,
                "branches": [{"branch": branch.name, "messages": branch.messages} for branch in branches],
            }
        )
        return
    from previously.cli.terminal import render_message

    console = output.console()
    console.print(
        f"{output.one_line(story)}: {output.count_nouns(length, 'message')} on branch {info.active.name}", style="bold"
    )
    others = [f"{branch.name} ({branch.messages:,})" for branch in branches if branch.name != info.active.name]
    if others:
        console.print(output.one_line(f"Other branches: {', '.join(others)}"))
    if link:
        console.print(
            f"It continues {output.one_line(link.story)}, {output.count_nouns(link.messages, 'message')}."
            if link.story
            else "It continues a story that is not here any more."
        )
    if begun:
        console.print("\nBefore this story", style="bold")
        console.print("\n".join(f"  {one['tokens']:,} tokens: {output.one_line(one['what'])}" for one in begun))
        console.print(f"  `previously view {output.as_typed(story)}` shows the words.", soft_wrap=True)
    if not (recap or chapters) and (length or not begun):
        console.print(f"\nNothing is folded yet. `previously fold {output.as_typed(story)}` folds what is due.")
    if pins:
        console.print("\nPinned", style="bold")
        console.print("\n".join(f"  {pin.id}: {output.one_line(pin.text)}" for pin in pins))
    if backbone:
        print_text("The story so far", backbone)
    for one in chapters:
        print_chapter(one, full=full)
    if recap:
        print_text("Brief" if brief else "Recap", recap)
    _print_beside(story, beside)
    if flagged:
        console.print(f"\nMessages have changed under what you wrote: {', '.join(flagged)}.")
    if newest:
        console.print("\nNewest messages", style="bold")
        console.print(render_message([(item.position, item.entry.message) for item in newest], short=True))


def _list_begun(story: BlockingStory) -> list[dict[str, Any]]:
    """Return the texts of earlier stories that the story begins with, as a view shows them now."""
    from previously.view.view import Section

    view = story.view(aside=True)
    return [{"what": item.reason, "tokens": item.tokens} for item in view.items if item.section is Section.EARLIER]


def _list_remembered(story: BlockingStory) -> dict[str, Any]:
    """Return the lists of `show`: what scenes left behind, what is open, how things stand, who knows what."""
    lore = [one for one in story.lore(everything=True) if not one.book and one.status != "removed"]
    return {
        "episodes": [shapes.episode_json(one) for one in story.episodes()],
        "scenes": [shapes.scene_json(number, one) for number, one in enumerate(story.scenes(), 1)],
        "lore": [shapes.lore_json(one) for one in lore],
        "books": story.attached_books(),
        "cast": [shapes.cast_json(one) for one in story.cast() if not one.knowledge.is_empty],
        "threads": [
            shapes.thread_json(one) for one in story.threads(everything=True) if one.status.value != "resolved"
        ],
        "state": [shapes.held_json(one) for one in story.state()],
        "players": [{"name": one.name, "character": one.character, "since": one.since} for one in story.players()],
        "wishes": [shapes.wish_json(one) for one in story.wishes()],
    }


def _show_gaps(ctx: typer.Context, story: str, as_json: bool) -> None:
    with open_story(ctx, story) as opened:
        gaps = opened.gaps()
    if as_json:
        output.emit({"story": story, "gaps": [{"position": gap.position, "reason": gap.reason} for gap in gaps]})
        return
    console = output.console()
    for gap in gaps:
        console.print(f"Message {gap.position}: {_GAPS[gap.reason]} ({gap.reason}).")
    if not gaps:
        console.print("There are no gaps in a librarian's summary of this story.")


_GAPS = {
    "missing_analysis": "it has no analysis yet",
    "empty_summary_update": "its analysis says nothing for the summary",
}


def _print_beside(story: str, beside: Mapping[str, Any]) -> None:
    """Print the memory beside the texts, in a line each, with the command that shows it."""
    lines = [
        ("log", output.count_nouns(len(beside["episodes"]), "episode")),
        ("scenes", output.count_nouns(len(beside["scenes"]), "scene")),
        ("lore", output.count_nouns(len(beside["lore"]), "entry") + " of lore"),
        ("threads", output.count_nouns(len(beside["threads"]), "open thread")),
        ("state", output.count_nouns(len(beside["state"]), "line") + " of how things stand"),
        ("cast", output.count_nouns(len(beside["cast"]), "character") + " whose knowledge is kept"),
        ("wishes", f"{len(beside['wishes']):,} of the players' wishes"),
    ]
    hints = [f"  {what}: `previously {command} {output.as_typed(story)}`" for command, what in lines if what[0] != "0"]
    if hints:
        output.console().print("\nAlso kept", style="bold")
        output.console().print("\n".join(hints), soft_wrap=True)
    if beside["books"]:
        output.console().print(f"  books: {output.one_line(', '.join(beside['books']))}", soft_wrap=True)


def _show_thing(ctx: typer.Context, story: str, thing: Thing, as_json: bool) -> None:
    with open_story(ctx, story) as opened:
        text = opened.read_thing(thing)
        is_message = thing.kind is ThingKind.MESSAGE
        words = _render_message(opened, thing.position) if is_message else text.words
    if as_json:
        output.emit({"story": story, "shown": str(thing), **text.record})
        return
    output.console().print(output.one_line(text.heading), style="bold")
    output.console().print(output.printable(words))


def _render_message(story: BlockingStory, position: int) -> str:
    from previously.cli.terminal import render_body

    return render_body(story.messages(position, position)[0].entry.message)
