"""The commands about who was present, what each character knows, and who knows of something."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from previously.cli import output
from previously.cli.arguments import AsJson, Story, check_name, open_story, parse_position, parse_stretch
from previously.cli.nouns import make_noun
from previously.core.errors import BadInput
from previously.story.thing_name import Thing, ThingKind

if TYPE_CHECKING:
    from previously.blocking import BlockingStory
    from previously.story.memory_texts import CastItem

NOBODY = "Nothing is noted of what anybody knows"
FEW_FACTS = 3
"""Facts of each character in the list of all: a screen holds a cast of eight."""

FROM_SUMMARY = "summary"
"""The source of a sentence that is no fact of its own."""


app: typer.Typer = make_noun("The characters, and what each knows: list, show, merge.")


@app.command("list")
def list_cast(ctx: typer.Context, story: Story, as_json: AsJson = False) -> None:
    """List the characters and what they know."""
    from previously.story.json_shapes import cast_json

    with open_story(ctx, story) as opened:
        items = opened.cast()
    if as_json:
        output.emit({"story": story, "cast": [cast_json(one) for one in items]})
        return
    console = output.console()
    if not items:
        console.print(output.from_model(story, NOBODY), soft_wrap=True)
        return
    for one in items:
        facts = output.count_nouns(len(one.facts), "fact")
        console.print(output.one_line(f"{one.name} ({facts}{', stale' if one.stale else ''})"), style="bold")
        if one.knowledge.summary:
            console.print(output.printable(one.knowledge.summary))
        for fact in one.knowledge.facts[:FEW_FACTS]:
            console.print(output.one_line(f"- {fact.text}"), soft_wrap=True)
        if len(one.facts) > FEW_FACTS:
            console.print(
                f"  All of it: `previously cast show {output.as_typed(story)} {output.as_typed(one.name)}`.",
                soft_wrap=True,
            )
    if all(one.knowledge.is_empty for one in items):
        console.print(output.from_model(story, "Nothing is noted of what they know"), soft_wrap=True)


@app.command("show")
def show(
    ctx: typer.Context,
    story: Story,
    character: Annotated[str, typer.Argument(metavar="NAME", parser=check_name, help="The character.")],
    as_json: AsJson = False,
) -> None:
    """Show all that one character knows, with the source of each fact."""
    from previously.story.json_shapes import cast_json

    with open_story(ctx, story) as opened:
        one = _find_item(opened, character)
    if as_json:
        output.emit({"story": story, **cast_json(one)})
    else:
        _print_one(story, one)


@app.command("merge")
def merge(
    ctx: typer.Context,
    story: Story,
    name: Annotated[str, typer.Argument(metavar="NAME", parser=check_name, help="One name of the character.")],
    into: Annotated[str, typer.Argument(metavar="INTO", parser=check_name, help="The name they are known by.")],
    as_json: AsJson = False,
) -> None:
    """Say that two names are one character's."""
    with open_story(ctx, story) as opened:
        known = opened.merge_cast(name, into)
    output.report({"story": story, "merged": name, "into": known}, f"{name} is {known}.", as_json=as_json)


def who_knows(
    ctx: typer.Context,
    story: Story,
    asked: Annotated[list[str], typer.Argument(metavar="WORDS…", help="What somebody may know of.")],
    as_json: AsJson = False,
) -> None:
    """Show who knows of something, what they know of it, from whom and since when."""
    from previously.cli.terminal import report_table
    from previously.story.json_shapes import knower_json

    query = " ".join(asked)
    with open_story(ctx, story) as opened:
        knowledge = opened.who_knows(query)
    record = {"story": story, "query": query, "knows": [knower_json(one) for one in knowledge]}
    nothing = f"Nobody is known to know of that: {output.one_line(query)}."
    lines: list[tuple[object, ...]] = []
    for one in knowledge:
        lines += [(one.name, fact.text, fact.source, f"message {fact.since}") for fact in one.facts]
        lines += [(one.name, sentence, FROM_SUMMARY, "-") for sentence in one.summary_sentences]
    columns = ("who", "knows", "source", "since")
    report_table(record, columns, lines, left=columns, nothing=nothing, as_json=as_json)


def presence(
    ctx: typer.Context,
    story: Story,
    names: Annotated[
        list[str] | None, typer.Argument(metavar="NAME…", help="With --set: who was present; none = nobody was.")
    ] = None,
    meant: Annotated[
        str | None, typer.Option("--set", metavar="FIRST-LAST", help="Say who was present at these messages.")
    ] = None,
    everybody: Annotated[bool, typer.Option("--everybody", help="With --set: everybody was present.")] = False,
    unset: Annotated[
        int | None,
        typer.Option("--unset", metavar="POSITION", parser=parse_position, help="Take back what was set last there."),
    ] = None,
    leave: Annotated[
        list[str] | None, typer.Option("--leave", metavar="N", help="Who is not there from now on; repeatable.")
    ] = None,
    enter: Annotated[
        list[str] | None, typer.Option("--enter", metavar="N", help="Who is there, or there again; repeatable.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show who was present at each stretch and where that is known from, and correct it; or say who leaves or comes
    back with the next message."""
    from previously.core.people import NARRATORS
    from previously.core.scripts import casefold
    from previously.story.json_shapes import stretch_json

    if meant is None and (names or everybody):
        raise BadInput("Names and --everybody say who was present at some messages: give those with --set FIRST-LAST.")
    if names and everybody:
        raise BadInput("Either everybody was present or those who are named.")
    with open_story(ctx, story) as opened:
        for name in leave or ():
            opened.leave(name)
        for name in enter or ():
            opened.enter(name)
        if meant is not None:
            heard = {casefold(one.name) for one in opened.people()}
            heard |= {casefold(name) for one in opened.presence() for name in one.names or ()}
            span = opened.set_presence(*parse_stretch(meant), None if everybody else names or [])
            new = [name for name in names or () if casefold(name) not in heard]
            output.note(f"Set for {span}." + (f" Not heard of before: {', '.join(new)}." if new else ""))
        if unset is not None:
            output.note(f"Taken back for {opened.unset_presence(unset)}.")
        absent, present, stretches = opened.absent(), opened.present(), opened.presence()
        is_named = any(casefold(one.name) not in NARRATORS for one in opened.people())
    if as_json:
        rows = [stretch_json(one) for one in stretches]
        output.emit({"story": story, "absent": absent, "present": present, "stretches": rows})
        return
    console = output.console()
    if not is_named and not absent and not present:
        add = f"`previously add {output.as_typed(story)} --role user --name NAME --text TEXT`"
        console.print(f"Nobody in this story has a name yet: names come with messages ({add}).", soft_wrap=True)
        return
    console.print(f"There: {output.one_line(', '.join(present)) or 'nobody'}.", soft_wrap=True)
    console.print(f"Not there: {output.one_line(', '.join(absent)) or 'nobody'}.", soft_wrap=True)
    from previously.cli.terminal import make_table

    lines = [(str(one.span), _name_all(one.names), one.source.value) for one in stretches]
    columns = ("stretch", "present", "source")
    console.print(make_table(columns, lines, left=columns))


def _name_all(names: tuple[str, ...] | None) -> str:
    return "everybody" if names is None else ", ".join(names) or "nobody"


def _find_item(story: BlockingStory, character: str) -> CastItem:
    listed = [one.name for one in story.cast()]
    try:
        item: CastItem = story.find_listed(Thing(ThingKind.CAST, character))
        return replace(item, knowledge=replace(item.knowledge, facts=item.facts))  # not only the key facts
    except BadInput as error:
        if "could mean" in str(error):
            raise
    there = f"the only one is {listed[0]}" if len(listed) == 1 else f"there are {', '.join(listed)}"
    raise BadInput(f"There is no character {character!r} in this story; {there if listed else 'there is none'}.")


def _print_one(story: str, one: CastItem) -> None:
    console = output.console()
    console.print(output.one_line(f"{one.name}{' (stale)' if one.stale else ''}"), style="bold")
    if one.knowledge.is_empty:
        console.print(output.from_model(story, "Nothing is noted of what they know"), soft_wrap=True)
        return
    console.print(output.printable(one.knowledge.summary))
    if not one.knowledge.facts:
        return
    from previously.cli.terminal import make_table

    rows = [(fact.text, fact.source, f"message {fact.since}") for fact in one.knowledge.facts]
    console.print()
    console.print(make_table(("fact", "source", "since"), rows, left=("fact", "source", "since")))
