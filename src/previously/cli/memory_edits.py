"""The commands by which people have the last word: edit, remove, lock, unlock, pin, undo. Each takes any thing."""

from __future__ import annotations

from typing import Annotated

import typer

from previously.cli import output
from previously.cli.arguments import AsJson, At, Story, ThingArgument, Words, open_story, read_words
from previously.core.errors import BadInput
from previously.story.thing_name import TEXTS, ThingKind, parse_thing


def edit(ctx: typer.Context, story: Story, what: ThingArgument, text: Words, as_json: AsJson = False) -> None:
    """Put your own words in place of a message, the recap, the backbone, a chapter, a thread, a line of the state, a
    wish, an entry of lore or a pin. No fold changes them."""
    thing = parse_thing(what)
    if thing.kind is ThingKind.MESSAGE:
        from previously.cli.transcript import edit_message

        edit_message(ctx, story, thing.position, text, as_json)
        return
    with open_story(ctx, story) as opened:
        named = opened.edit_thing(thing, read_words(text))
    stands = "; memory goes on behind them" if thing.kind in TEXTS else ""
    record = {"story": story, "edited": named, **({"rewritten": named} if thing.kind in TEXTS else {})}
    output.report(record, f"Your words stand for {named} now{stands}.", as_json=as_json)


def remove(ctx: typer.Context, story: Story, what: ThingArgument, as_json: AsJson = False) -> None:
    """Take a thing away: a message, a thread, a line of the state, a wish, an entry of lore, a pin, or the end of a
    chapter. Nothing is destroyed, and `undo` brings it back."""
    thing = parse_thing(what)
    if thing.kind is ThingKind.MESSAGE:
        from previously.cli.transcript import delete

        delete(ctx, story, thing.position, as_json)
        return
    with open_story(ctx, story) as opened:
        more = {"unpinned": opened.find_listed(thing).id} if thing.kind is ThingKind.PIN else {}
        sentence = opened.remove_thing(thing)
    output.report({"story": story, "removed": str(thing), **more}, sentence, as_json=as_json)


def lock(ctx: typer.Context, story: Story, what: ThingArgument, as_json: AsJson = False) -> None:
    """Keep the recap, the backbone, a chapter or an entry of lore as it stands: no fold changes it any more."""
    thing = parse_thing(what)
    with open_story(ctx, story) as opened:
        locked = opened.lock_thing(thing)
    if isinstance(locked, str):
        _report(story, "locked", locked, f"{locked} is locked; memory goes on behind it.", as_json)
        return
    from previously.cli.lore import report_entry

    report_entry(story, "locked", locked, f"{locked.name} stays as it is.", as_json)


def unlock(ctx: typer.Context, story: Story, what: ThingArgument, as_json: AsJson = False) -> None:
    """Give up what you wrote or locked: the text is folded again, the entry is what folds say of it."""
    thing = parse_thing(what)
    with open_story(ctx, story) as opened:
        unlocked = opened.unlock_thing(thing)
    gone = {"gone": unlocked.is_gone} if thing.kind is ThingKind.LORE else {}
    output.report({"story": story, "unlocked": unlocked.name, **gone}, unlocked.sentence, as_json=as_json)


def pin(
    ctx: typer.Context,
    story: Story,
    what: Annotated[
        str | None, typer.Argument(metavar="THING", help="A message, a thread, an entry: its words are pinned.")
    ] = None,
    text: Annotated[
        str | None, typer.Option("--text", metavar="T", help="Your own words; - reads them from standard input.")
    ] = None,
    at: At = None,
    as_json: AsJson = False,
) -> None:
    """Show words in every view: your own, or those of a thing; by default those of the newest message."""
    from previously.story.json_shapes import pin_json

    thing = parse_thing(what) if what is not None else None
    if thing is not None and (text is not None or at is not None):
        raise BadInput("A thing is pinned with its own words: give it without --text and --at.")
    with open_story(ctx, story) as opened:
        words = None if text is None else read_words(text)
        pinned = opened.pin(words, at=-1 if at is None else at) if thing is None else opened.pin_thing(thing)
    output.report({"story": story, **pin_json(pinned)}, f"Pin {pinned.id}: {pinned.text}", as_json=as_json)


def undo(
    ctx: typer.Context,
    story: Story,
    what: Annotated[
        str | None, typer.Argument(metavar="version:N", help="A version that a fold wrote; else what you did last.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Take back the last thing you did on this branch: an edit, an import, a text by hand, a pin, a switch. Again: one
    further back. What folds wrote is left alone, unless you name the version."""
    thing = parse_thing(what) if what is not None else None
    if thing is not None and thing.kind is not ThingKind.VERSION:
        raise BadInput(f"undo takes no {thing.kind.value}: alone it takes back what you did last, else say version:N.")
    with open_story(ctx, story) as opened:
        if thing is None:
            undone = opened.undo()
        else:
            taken = opened.take_back(thing.number)
            undone = f"version {taken.id}, {taken.made.kind.value} of {taken.made.span}"
    _report(story, "undone", undone, f"Undone: {undone}.", as_json)


def restore_thing(ctx: typer.Context, story: str, what: str, as_json: bool) -> None:
    """Put an earlier version in force again, of a text the one before; or bring back what was removed."""
    thing = parse_thing(what)
    with open_story(ctx, story) as opened:
        restored, sentence = opened.restore_thing(thing)
    _report(story, "restored", restored, sentence, as_json)


def _report(story: str, verb: str, what: object, sentence: str, as_json: bool) -> None:
    output.report({"story": story, verb: what}, sentence[0].upper() + sentence[1:], as_json=as_json)
