"""The commands by which people have the last word: edit, remove, lock, unlock, pin, undo. Each takes any thing."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated

import typer

from previously.cli import output
from previously.cli.arguments import AsJson, At, Story, Words, open_memory, read_words
from previously.cli.things import A_THING, Thing, ThingKind, find_listed, parse_thing
from previously.core.errors import BadInput

if TYPE_CHECKING:
    from previously.blocking import BlockingStory

TEXTS = frozenset({ThingKind.RECAP, ThingKind.BACKBONE, ThingKind.CHAPTER})


def edit(ctx: typer.Context, story: Story, what: A_THING, text: Words, as_json: AsJson = False) -> None:
    """Put your own words in place of a message, the recap, the backbone, a chapter, a thread, a line of the state, a
    wish, an entry of lore or a pin. No fold changes them."""
    thing = parse_thing(what)
    if thing.kind is ThingKind.MESSAGE:
        from previously.cli.transcript import edit_message

        edit_message(ctx, story, thing.position, text, as_json)
        return
    with open_memory(ctx) as memory:
        named = edit_thing(memory.story(story, create=False), thing, read_words(text))
    stands = "; memory goes on behind them" if thing.kind in TEXTS else ""
    record = {"story": story, "edited": named, **({"rewritten": named} if thing.kind in TEXTS else {})}
    output.report(record, f"Your words stand for {named} now{stands}.", as_json=as_json)


def edit_thing(story: BlockingStory, thing: Thing, words: str) -> str:
    """Put a person's words in place of a thing; return its name."""
    match thing.kind:
        case ThingKind.RECAP | ThingKind.BACKBONE | ThingKind.CHAPTER:
            return _name_text(story, thing, lambda name: story.write(name, words))
        case ThingKind.THREAD:
            return f"thread:{story.edit_thread(find_listed(story, thing).thread.id, words).text}"
        case ThingKind.STATE:
            return f"state:{story.reword_held(thing.which, words).text}"
        case ThingKind.WISH:
            return f"wish:{story.reword_wish(thing.which, words).text}"
        case ThingKind.LORE:
            return f"lore:{story.write_lore(_mean_own(story, thing), content=words).name}"
        case ThingKind.PIN:
            return f"pin:{story.reword_pin(find_listed(story, thing).id, words).id}"
        case _:
            raise BadInput(f"{thing} is written by folds alone; edit the messages that it tells, or the recap.")


def remove(ctx: typer.Context, story: Story, what: A_THING, as_json: AsJson = False) -> None:
    """Take a thing away: a message, a thread, a line of the state, a wish, an entry of lore, a pin, or the end of a
    chapter. Nothing is destroyed, and `undo` brings it back."""
    thing = parse_thing(what)
    if thing.kind is ThingKind.MESSAGE:
        from previously.cli.transcript import delete

        delete(ctx, story, thing.position, as_json)
        return
    with open_memory(ctx) as memory:
        sentence, more = remove_thing(memory.story(story, create=False), thing)
    output.report({"story": story, "removed": str(thing), **more}, sentence, as_json=as_json)


def remove_thing(story: BlockingStory, thing: Thing) -> tuple[str, dict[str, object]]:
    """Take a thing away; return a sentence that says so, and what else the JSON says."""
    match thing.kind:
        case ThingKind.THREAD:
            return f"Removed the thread: {story.remove_thread(find_listed(story, thing).thread.id).text}", {}
        case ThingKind.STATE:
            return f"Ended: {story.end_held(thing.which).text}", {}
        case ThingKind.WISH:
            return f"Removed the wish: {story.withdraw_wish(thing.which).text}", {}
        case ThingKind.LORE:
            return f"{story.remove_lore(_mean_own(story, thing)).name} is shown no more.", {}
        case ThingKind.PIN:
            pin = find_listed(story, thing)
            story.unpin(pin.id)
            return f"Pin {pin.id} is gone.", {"unpinned": pin.id}
        case ThingKind.CHAPTER:
            chapter = find_listed(story, thing)
            story.open_chapter(chapter.number)
            return f"Chapter {chapter.number} ends with message {chapter.span.last} no more.", {}
        case _:
            raise BadInput(f"{thing} cannot be removed; `unlock` gives up your words, `forget` destroys messages.")


def lock(ctx: typer.Context, story: Story, what: A_THING, as_json: AsJson = False) -> None:
    """Keep the recap, the backbone, a chapter or an entry of lore as it stands: no fold changes it any more."""
    thing = parse_thing(what)
    with open_memory(ctx) as memory:
        opened = memory.story(story, create=False)
        if thing.kind is ThingKind.LORE:
            made = opened.lock_lore(_mean_own(opened, thing))
            from previously.cli.lore import report_entry

            report_entry(story, "locked", made, f"{made.name} stays as it is.", as_json)
            return
        _expect_text(thing, "locked")
        named = _name_text(opened, thing, opened.lock)
    _report(story, "locked", named, f"{named} is locked; memory goes on behind it.", as_json)


def unlock(ctx: typer.Context, story: Story, what: A_THING, as_json: AsJson = False) -> None:
    """Give up what you wrote or locked: the text is folded again, the entry is what folds say of it."""
    thing = parse_thing(what)
    with open_memory(ctx) as memory:
        opened = memory.story(story, create=False)
        if thing.kind is ThingKind.LORE:
            name = _mean_own(opened, thing)
            left = opened.unlock_lore(name)
            stands = "is again what scenes say of it" if left else "is gone, since no scene says anything of it"
            back = "" if left else " `previously undo` brings it back."
            record = {"story": story, "unlocked": name, "gone": left is None}
            output.report(record, f"{name} {stands}.{back}", as_json=as_json)
            return
        _expect_text(thing, "unlocked")
        named = _name_text(opened, thing, opened.unlock)
    _report(story, "unlocked", named, f"{named} is folded again from now on.", as_json)


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
    thing = parse_thing(what) if what is not None else None
    if thing is not None and (text is not None or at is not None):
        raise BadInput("A thing is pinned with its own words: give it without --text and --at.")
    with open_memory(ctx) as memory:
        opened = memory.story(story, create=False)
        words = None if text is None else read_words(text)
        if thing is not None and thing.kind is ThingKind.MESSAGE:
            at = thing.position
        elif thing is not None:
            from previously.cli.read_thing import read_words_of

            words = read_words_of(opened, thing)
        pinned = opened.pin(words, at=-1 if at is None else at)
    record = {"story": story, "pin": pinned.id, "position": pinned.position, "text": pinned.text}
    output.report(record, f"Pin {pinned.id}: {pinned.text}", as_json=as_json)


def undo(
    ctx: typer.Context,
    story: Story,
    what: Annotated[
        str | None, typer.Argument(metavar="version:N", help="A version that a fold wrote; else what you did last.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Take back the last thing you did on this branch: an edit, a text by hand, a pin, a switch. Again: one further
    back. What folds wrote is left alone, unless you name the version."""
    thing = parse_thing(what) if what is not None else None
    if thing is not None and thing.kind is not ThingKind.VERSION:
        raise BadInput(f"undo takes no {thing.kind.value}: alone it takes back what you did last, else say version:N.")
    with open_memory(ctx) as memory:
        opened = memory.story(story, create=False)
        if thing is None:
            undone = opened.undo()
        else:
            taken = opened.take_back(thing.number)
            undone = f"version {taken.id}, {taken.made.kind.value} of {taken.made.span}"
    _report(story, "undone", undone, f"Undone: {undone}.", as_json)


def restore_thing(ctx: typer.Context, story: str, what: str, as_json: bool) -> None:
    """Put an earlier version in force again, of a text the one before; or bring back what was removed."""
    from previously.cli.versions import find_earlier

    thing = parse_thing(what)
    with open_memory(ctx) as memory:
        opened = memory.story(story, create=False)
        if thing.kind is ThingKind.LORE:
            made = opened.accept_lore(_mean_own(opened, thing))
            _report(story, "restored", f"lore:{made.name}", f"{made.name} is part of the lore again.", as_json)
            return
        if thing.kind is ThingKind.THREAD:
            thread = opened.reopen_thread(find_listed(opened, thing).thread.id)
            _report(story, "restored", f"thread:{thread.text}", f"Open again: {thread.text}", as_json)
            return
        version = thing.number if thing.kind is ThingKind.VERSION else find_earlier(opened, story, thing).id
        restored = opened.restore(version)
    _report(story, "restored", restored.id, f"Version {restored.id} is in force again.", as_json)


def _name_text(story: BlockingStory, thing: Thing, do: Callable[[str], None]) -> str:
    """Do something to a text; return its name."""
    named = f"chapter:{find_listed(story, thing).number}" if thing.kind is ThingKind.CHAPTER else str(thing)
    do(named)
    return named


def _mean_own(story: BlockingStory, thing: Thing) -> str:
    """Return the name of the entry that is meant; one of a book is changed in the book."""
    entry = find_listed(story, thing)
    if entry.book:
        raise BadInput(
            f"{entry.name!r} is an entry of the book {entry.book!r}; change the book's file and add it again."
        )
    return str(entry.name)


def _expect_text(thing: Thing, verb: str) -> None:
    if thing.kind not in TEXTS:
        raise BadInput(f"{thing} cannot be {verb}: only recap, backbone, chapter:N and lore:NAME can.")


def _report(story: str, verb: str, what: object, sentence: str, as_json: bool) -> None:
    output.report({"story": story, verb: what}, sentence[0].upper() + sentence[1:], as_json=as_json)
