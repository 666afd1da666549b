"""`previously lore`: the entries of a story as people see, write and judge them.

The commands about books are in `cli.books`, those about scene memories in files in `cli.scene_memories`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from previously.cli import output, scene_memories
from previously.cli.arguments import AsJson, Story, check_name, open_story, read_words
from previously.cli.export import export_book
from previously.cli.nouns import make_noun
from previously.story.thing_name import Thing, ThingKind

if TYPE_CHECKING:
    from previously.blocking import BlockingStory
    from previously.story.lore_edits import LoreListing

SHORT_KEYWORDS, SHORT_CONTENT = 40, 60
"""Characters in the columns of a list: with names and types they fill about the widest line (`output.WIDEST`)."""

EntryName = Annotated[str, typer.Argument(metavar="ENTRY", parser=check_name, help="The entry, by its name.")]
Type = Annotated[
    str,
    typer.Option("--type", metavar="TYPE", help="character, location, item, faction, concept, lore, event, rule, …"),
]
Keywords = Annotated[
    list[str] | None, typer.Option("--keyword", metavar="K", help="A word that brings it up; repeatable.")
]
Content = Annotated[
    str | None, typer.Option("--text", metavar="T", help="What it says; - reads it from standard input.")
]

app: typer.Typer = make_noun(
    "What things are: list, show, add, edit, remove, accept, merge, explain; a book as a file: export; and scene "
    "memories in files: validate, migrate, combine."
)


@app.command("list")
def list_entries(
    ctx: typer.Context,
    story: Story,
    everything: Annotated[bool, typer.Option("--all", help="Also those suggested or removed.")] = False,
    as_json: AsJson = False,
) -> None:
    """List the entries of a story and of its books."""
    from previously.story.json_shapes import lore_json

    with open_story(ctx, story) as opened:
        entries, attached = opened.lore(everything=True), opened.attached_books()
    counts = dict.fromkeys(("live", "retired", "suggested", "removed"), 0)
    for entry in entries:
        counts[entry.status] += 1
    shown = [one for one in entries if everything or one.status in ("live", "retired")]
    if as_json:
        output.emit({"story": story, "entries": [lore_json(one) for one in shown], "counts": counts, "books": attached})
        return
    if shown:
        from previously.cli.terminal import print_texts, shorten

        print_texts(
            ("entry", "type", "by", "keywords", "content"),
            [
                (
                    one.name if one.status == "live" else f"{one.name} ({one.status})",
                    one.type,
                    f"book {one.book}" if one.book else one.by,
                    shorten(", ".join(one.keywords), SHORT_KEYWORDS),
                    shorten(one.content, SHORT_CONTENT),
                )
                for one in shown
            ],
        )
        output.write_data("")
    parts = [f"{number:,} {status}" for status, number in counts.items() if number]
    if not parts:
        name = output.as_typed(story)
        by_hand = f"`previously lore add {name}`, or `previously books attach {name}` for a book"
        output.write_data(output.from_model(story, "There is no lore", by_hand))
        return
    output.write_data(f"{output.count_nouns(len(entries), 'entry')}: {', '.join(parts)}.")
    if counts["suggested"] and not everything:
        output.write_data("`--all` lists those suggested; `previously lore accept` takes one over.")


@app.command("add")
def add(
    ctx: typer.Context,
    story: Story,
    entry: EntryName,
    text: Annotated[str, typer.Option("--text", metavar="T", help="What it says; - reads it from standard input.")],
    kind: Type = "",
    keywords: Keywords = None,
    as_json: AsJson = False,
) -> None:
    """Write an entry of your own. Scenes never change it."""
    from previously.core.errors import BadInput
    from previously.lore.keys import normalize_name

    with open_story(ctx, story) as opened:
        there = next(
            (one for one in opened.lore() if not one.book and normalize_name(one.name) == normalize_name(entry)), None
        )
        if there:
            raise BadInput(f"There is an entry {there.name!r} already; `previously lore edit` changes it.")
        made = opened.write_lore(entry, kind, keywords=keywords, content=read_words(text))
    report_entry(story, "written", made, f"{made.name} ({made.type}) is written.", as_json)


@app.command("edit")
def edit(
    ctx: typer.Context,
    story: Story,
    entry: EntryName,
    kind: Type = "",
    keywords: Keywords = None,
    text: Content = None,
    as_json: AsJson = False,
) -> None:
    """Put your own content, keywords or type in an entry. What you do not give stays as it is."""
    from previously.core.errors import BadInput

    if keywords is None and text is None and not kind:
        raise BadInput("There is nothing to change: give --text, --keyword or --type.")
    with open_story(ctx, story) as opened:
        known = _find_own(opened, entry)
        content = None if text is None else read_words(text)
        made = opened.write_lore(known.name, kind or known.type, keywords=keywords, content=content)
    report_entry(story, "edited", made, f"{made.name} is as you say now; what scenes note of it is suggested.", as_json)


@app.command("show")
def show(ctx: typer.Context, story: Story, entry: EntryName, as_json: AsJson = False) -> None:
    """Show one entry whole, with what was said of it before and what is suggested."""
    from previously.story.json_shapes import lore_json

    with open_story(ctx, story) as opened:
        one = opened.find_listed(Thing(ThingKind.LORE, entry))
    if as_json:
        output.emit({"story": story, **lore_json(one)})
        return
    console = output.console()
    source = f"book {one.book}" if one.book else one.by
    console.print(output.one_line(f"{one.name} ({one.type}, {one.status}, by {source})"), style="bold")
    console.print(output.printable(one.content))
    console.print(f"Keywords: {output.one_line(', '.join(one.keywords)) or 'none'}", soft_wrap=True)
    for heading, texts in (("Earlier", one.earlier), ("Suggested", one.suggestions)):
        for text in texts:
            console.print(f"{heading}: {output.one_line(text)}", soft_wrap=True)


@app.command("merge")
def merge(
    ctx: typer.Context,
    story: Story,
    entry: EntryName,
    into: Annotated[str, typer.Argument(metavar="INTO", parser=check_name, help="The entry that it is the same as.")],
    as_json: AsJson = False,
) -> None:
    """Say that two entries are of one thing, under the second name."""
    with open_story(ctx, story) as opened:
        made = opened.merge_lore(entry, into)
    report_entry(story, "merged", made, f"{entry} is part of {made.name} now.", as_json)


@app.command("rename")
def rename(
    ctx: typer.Context,
    story: Story,
    entry: EntryName,
    new: Annotated[str, typer.Argument(metavar="NEW", parser=check_name, help="Its new name.")],
    as_json: AsJson = False,
) -> None:
    """Give an entry another name; it is still found by the old one."""
    with open_story(ctx, story) as opened:
        made = opened.rename_lore(_find_own(opened, entry).name, new)
    report_entry(story, "renamed", made, f"{entry} is called {made.name} now.", as_json)


@app.command("accept")
def accept(ctx: typer.Context, story: Story, entry: EntryName, kind: Type = "", as_json: AsJson = False) -> None:
    """Take over an entry that is only suggested, or bring back one that was removed."""
    with open_story(ctx, story) as opened:
        made = opened.accept_lore(entry, kind)
    report_entry(story, "accepted", made, f"{made.name} is part of the lore now.", as_json)


@app.command("remove")
def remove(ctx: typer.Context, story: Story, entry: EntryName, kind: Type = "", as_json: AsJson = False) -> None:
    """Show an entry no more. Nothing is deleted: `lore accept` brings it back."""
    with open_story(ctx, story) as opened:
        made = opened.remove_lore(entry, kind)
    report_entry(story, "removed", made, f"{made.name} is shown no more.", as_json)


@app.command("explain")
def explain(
    ctx: typer.Context,
    story: Story,
    reader: Annotated[
        str, typer.Option("--reader", metavar="R", help="For whom: chat, narrator, character:NAME, …")
    ] = "chat",
    as_json: AsJson = False,
) -> None:
    """Say of each entry why it comes up in the view of the newest turn, or why not."""
    with open_story(ctx, story) as opened:
        decisions = opened.explain_lore(reader)
    if as_json:
        entries = [
            {
                "name": one.name,
                "book": one.book or None,
                "fired": one.fired,
                "reason": one.reason,
                "place": one.place or None,
            }
            for one in decisions
        ]
        output.emit({"story": story, "reader": reader, "entries": entries})
        return
    if not decisions:
        output.console().print("There are no entries that could come up.")
        return
    from previously.cli.terminal import print_texts

    rows = [(one.name, one.book or "-", one.place or "no", one.reason) for one in decisions]
    print_texts(("entry", "book", "comes up in", "because"), rows)


app.command("export")(export_book)
app.command("validate")(scene_memories.validate)
app.command("migrate")(scene_memories.migrate)
app.command("combine")(scene_memories.combine)


def _find_own(story: BlockingStory, entry: str) -> LoreListing:
    """Return the entry that is meant; one of a book is changed in the book."""
    from previously.core.errors import BadInput

    own = [one for one in story.lore(everything=True) if not one.book]
    try:
        listing: LoreListing = story.find_listed(Thing(ThingKind.LORE, entry))
    except BadInput as error:
        if "could mean" in str(error):
            raise
        raise BadInput(f"There is no entry {entry!r} in this story; `previously lore add` writes one.") from None
    if listing in own:
        return listing
    raise BadInput(f"{entry!r} is an entry of the book {listing.book!r}; change the book's file and import it again.")


def report_entry(story: str, verb: str, made: LoreListing, sentence: str, as_json: bool) -> None:
    """Print what was done to an entry."""
    from previously.story.json_shapes import lore_json

    record = {"story": story, verb: made.name, "entry": lore_json(made), "problems": list(made.problems)}
    output.report(record, sentence, as_json=as_json)
    for problem in made.problems:
        output.note(output.one_line(problem))
