"""The command `show`: what is remembered of a story, or one thing of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from previously.cli import output
from previously.cli.arguments import AsJson, Story, open_memory
from previously.cli.chapters import chapter_json, print_chapter, print_text
from previously.cli.memory import span_json
from previously.cli.things import Thing, ThingKind, find_listed, parse_thing
from previously.core.errors import BadInput

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
    from previously.cli.memory_json import remembered_json

    if what is not None:
        _show_thing(ctx, story, parse_thing(what), as_json)
        return
    if gaps:
        _show_gaps(ctx, story, as_json)
        return
    with open_memory(ctx) as memory:
        opened = memory.story(story, create=False)
        info, branches, recap = opened.info(), opened.branches(), opened.recap()
        chapters, backbone, pins, flagged = opened.chapters(), opened.backbone(), opened.pins(), opened.flagged()
        length = info.active.messages
        newest = opened.messages(max(length - NEWEST, 0), -1) if length else []
        beside = remembered_json(opened)
        brief = opened.brief()
    if as_json:
        output.emit(
            {
                "story": story,
                "branch": info.active.name,
                "messages": length,
                "recap": recap.text if recap and not brief else None,
                "recap_span": span_json(recap.told) if recap else None,
                **({"recap_cut": span_json(recap.cut)} if recap and recap.cut else {}),
                "chapters": [chapter_json(one) for one in chapters],
                "backbone": backbone.text if backbone else None,
                "backbone_span": span_json(backbone.span) if backbone else None,
                "pins": [{"pin": pin.id, "position": pin.position, "text": pin.text} for pin in pins],
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
    if not (recap or chapters):
        console.print(f"\nNothing is folded yet. `previously fold {output.one_line(story)}` folds what is due.")
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


def _show_gaps(ctx: typer.Context, story: str, as_json: bool) -> None:
    with open_memory(ctx) as memory:
        gaps = memory.story(story, create=False).gaps()
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
    hints = [f"  {what}: `previously {command} {output.one_line(story)}`" for command, what in lines if what[0] != "0"]
    if hints:
        output.console().print("\nAlso kept", style="bold")
        output.console().print("\n".join(hints), soft_wrap=True)
    if beside["books"]:
        output.console().print(f"  books: {output.one_line(', '.join(beside['books']))}", soft_wrap=True)


def _show_thing(ctx: typer.Context, story: str, thing: Thing, as_json: bool) -> None:
    with open_memory(ctx) as memory:
        heading, words, record = read_thing(memory.story(story, create=False), thing)
    if as_json:
        output.emit({"story": story, "thing": str(thing), **record})
        return
    output.console().print(output.one_line(heading), style="bold")
    output.console().print(output.printable(words))


def read_words_of(story: BlockingStory, thing: Thing) -> str:
    """Return the words of a thing."""
    return read_thing(story, thing)[1]


def read_thing(story: BlockingStory, thing: Thing) -> tuple[str, str, dict[str, Any]]:
    """Return a thing: its heading, its words, and what the JSON says of it."""
    from previously.cli import memory_json
    from previously.cli.terminal import render_body

    match thing.kind:
        case ThingKind.RECAP | ThingKind.BACKBONE | ThingKind.BRIEF:
            text = getattr(story, thing.kind.value)()
            if text is None:
                raise BadInput(f"There is no {thing.kind.value} yet.")
            record = {"text": text.text, "span": span_json(text.told), "made_by": text.made_by, "stale": text.stale}
            return f"{thing.kind.value.capitalize()} ({text.told}, by {text.made_by})", text.text, record
        case ThingKind.MESSAGE:
            item = story.messages(thing.position, thing.position)[0]
            message = item.entry.message
            who = message.speaker or message.role.value
            record = {"position": item.position, "role": message.role.value, "speaker": message.speaker}
            record |= {"at": item.entry.attributes.at, "hidden": item.entry.attributes.hidden, "text": message.text}
            return f"Message {item.position}, {who}", render_body(message), record
        case ThingKind.VERSION:
            version = _find_version(story, thing.number)
            return (
                f"Version {version.id}, {version.made.kind.value} of {version.made.span}",
                memory_json.render_version(version),
                {"version": version.id, "kind": version.made.kind.value, "text": version.made.text},
            )
        case ThingKind.BRANCH:
            branch = next((one for one in story.branches() if one.name == thing.which), None)
            if branch is None:
                raise BadInput(f"There is no branch {thing.which!r}; `branches list` shows those there are.")
            counted = output.count_nouns(branch.messages, "message")
            return f"Branch {branch.name}", counted, {"branch": branch.name, "messages": branch.messages}
        case _:
            return _read_listed(find_listed(story, thing), thing)


def _read_listed(one: Any, thing: Thing) -> tuple[str, str, dict[str, Any]]:
    from previously.cli import memory_json

    match thing.kind:
        case ThingKind.CHAPTER:
            return f"{one.name} ({one.span})", one.text or "Its recap waits to be folded.", chapter_json(one)
        case ThingKind.EPISODE:
            return f"Episode ({one.span})", one.text, memory_json.episode_json(one)
        case ThingKind.SCENE:
            return f"Scene {thing.which} ({one.span})", one.summary, memory_json.scene_json(thing.number, one)
        case ThingKind.THREAD:
            record = memory_json.thread_json(one)
            words = f"{one.thread.line}{f' Ended: {one.thread.outcome}' if one.thread.outcome else ''}"
            return f"Thread {one.number}, {one.status.value} since message {one.thread.opened}", words, record
        case ThingKind.STATE:
            return f"Since message {one.position}, by {one.by}", one.text, memory_json.held_json(one)
        case ThingKind.WISH:
            return f"A wish since message {one.position}", one.text, memory_json.wish_json(one)
        case ThingKind.PIN:
            return (
                f"Pin {one.id} at message {one.position}",
                one.text,
                {"pin": one.id, "position": one.position, "text": one.text},
            )
        case ThingKind.LORE:
            keywords = f"\nKeywords: {', '.join(one.keywords)}" if one.keywords else ""
            return (
                f"{one.name} ({one.type}, {one.status}, by {one.by})",
                one.content + keywords,
                memory_json.lore_json(one),
            )
        case _:
            facts = [f"- {fact.text} ({fact.source}, message {fact.since})" for fact in one.knowledge.facts]
            words = "\n".join([one.knowledge.summary, *facts]).strip() or "Nothing is noted of what they know."
            return one.name, words, memory_json.cast_json(one)


def _find_version(story: BlockingStory, number: int) -> Any:
    for version in story.log():
        if version.id == number:
            return version
    raise BadInput(f"There is no version {number} here; `log -v` lists them.")
