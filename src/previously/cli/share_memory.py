"""The commands about shared memory: what a character, a world or a project keeps for every story that attaches it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from previously.cli import output
from previously.cli.arguments import AsJson, Story, check_name, open_memory
from previously.cli.forget import confirm_forgetting
from previously.cli.nouns import make_noun
from previously.core.errors import BadInput
from previously.story.json_shapes import shared_json

if TYPE_CHECKING:
    from previously.core.fact_book import SharedMemory

Name = Annotated[str, typer.Argument(metavar="NAME", parser=check_name, help="The shared memory, by its name.")]
Number = Annotated[int, typer.Argument(metavar="NUMBER", help="The fact, by its number from 1.")]

app: typer.Typer = make_noun(
    "Memory that stories share: list, show, add, edit, remove, undo, attach, detach, keep, learn."
)


@app.command("list")
def list_shared(ctx: typer.Context, as_json: AsJson = False) -> None:
    """List your shared memories, and the stories that have each attached."""
    from previously.cli.terminal import report_table

    with open_memory(ctx) as memory:
        shared = [(one, memory.sharing_stories(one.name)) for one in memory.shared()]
    record = {"shared": [{**shared_json(one), "stories": stories} for one, stories in shared]}
    nothing = 'There is none yet; `previously shared add NAME "A fact." --character WHO` begins one.'
    rows = [(one.name, _say_whose(one), len(one.facts), ", ".join(stories)) for one, stories in shared]
    columns, left = ("name", "of", "facts", "stories"), ("name", "of", "stories")
    report_table(record, columns, rows, left=left, nothing=nothing, as_json=as_json)


@app.command("show")
def show(ctx: typer.Context, name: Name, as_json: AsJson = False) -> None:
    """Show the facts of a shared memory, each with where it is from."""
    with open_memory(ctx) as memory:
        shared, stories = memory.shared_memory(name), memory.sharing_stories(name)
    if as_json:
        output.emit({**shared_json(shared), "stories": stories})
        return
    console = output.console()
    console.print(output.one_line(f"{shared.name}: {_say_whose(shared)}"), style="bold")
    if shared.learns:
        console.print(output.one_line(f"What {shared.of} knows in one of its stories is known in the others."))
    for number, fact in enumerate(shared.facts, 1):
        kept = f" (from {fact.story})" if fact.story else ""
        console.print(output.one_line(f"{number:>3}  {fact.text}{kept}"), soft_wrap=True)
    if not shared.facts:
        console.print("It holds no facts yet.")
    console.print(output.one_line(f"Attached to: {', '.join(stories) or 'no story'}"), soft_wrap=True)


@app.command("add")
def add(
    ctx: typer.Context,
    name: Name,
    text: Annotated[str | None, typer.Argument(metavar="FACT", help="What is to be known.")] = None,
    character: Annotated[
        str, typer.Option("--character", metavar="WHO", help="Begin the memory of this character.")
    ] = "",
    world: Annotated[bool, typer.Option("--world", help="Begin the memory of a world.")] = False,
    project: Annotated[bool, typer.Option("--project", help="Begin the memory of a project, for agents.")] = False,
    as_json: AsJson = False,
) -> None:
    """Put a fact there; with a kind, begin a new one."""
    kinds = [kind for kind, given in (("character", character), ("world", world), ("project", project)) if given]
    if len(kinds) > 1 or not (kinds or text):
        raise BadInput("Give a fact, or one of --character WHO, --world and --project to begin a shared memory.")
    with open_memory(ctx) as memory:
        if kinds:
            shared = memory.share(name, kinds[0], character)
            name = shared.name
        if text:
            shared = memory.add_shared(name, text)
    _report(shared, f"{name} holds {output.count_nouns(len(shared.facts), 'fact')}.", as_json)


@app.command("edit")
def edit(
    ctx: typer.Context,
    name: Name,
    number: Number,
    text: Annotated[str, typer.Option("--text", metavar="T", help="The new words.")],
    as_json: AsJson = False,
) -> None:
    """Put your words in place of a fact."""
    with open_memory(ctx) as memory:
        shared = memory.edit_shared(name, number, text)
    _report(shared, f"Fact {number} of {name} is yours now.", as_json)


@app.command("remove")
def remove(
    ctx: typer.Context,
    name: Name,
    number: Annotated[
        int | None, typer.Argument(metavar="NUMBER", help="The fact; without one, the whole memory, for good.")
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    as_json: AsJson = False,
) -> None:
    """Take a fact away, or destroy a shared memory."""
    with open_memory(ctx) as memory:
        shared = memory.shared_memory(name)
        if number is not None:
            shared = memory.remove_shared(name, number)
            _report(shared, f"Fact {number} of {name} is gone; `previously shared undo` brings it back.", as_json)
            return
        if not yes:
            output.note(f"{name} goes for good, {output.count_nouns(len(shared.facts), 'fact')}, from every story.")
            confirm_forgetting()
        memory.forget_book(name)
    output.report({"forgotten": name, "facts": len(shared.facts)}, f"Forgot {name}.", as_json=as_json)


@app.command("undo")
def undo(ctx: typer.Context, name: Name, as_json: AsJson = False) -> None:
    """Take back the last change of the facts."""
    with open_memory(ctx) as memory:
        shared = memory.undo_shared(name)
    _report(shared, f"{name} holds {output.count_nouns(len(shared.facts), 'fact')} again.", as_json)


@app.command("attach")
def attach(ctx: typer.Context, story: Story, name: Name, as_json: AsJson = False) -> None:
    """Let a story read a shared memory."""
    with open_memory(ctx) as memory:
        memory.shared_memory(name)
        memory.story(story, create=False).attach_book(name)
        shared = memory.shared_memory(name)
    _report(shared, f"{story} reads {name} now.", as_json, story=story)


@app.command("detach")
def detach(ctx: typer.Context, story: Story, name: Name, as_json: AsJson = False) -> None:
    """Let it read it no more."""
    with open_memory(ctx) as memory:
        shared = memory.shared_memory(name)
        memory.story(story, create=False).detach_book(name)
    _report(shared, f"{story} does not read {name} any more.", as_json, story=story)


@app.command("keep")
def keep(ctx: typer.Context, name: Name, story: Story, as_json: AsJson = False) -> None:
    """Keep what the character knows in a story now, for the others."""
    with open_memory(ctx) as memory:
        shared = memory.keep_shared(name, story)
    _report(shared, f"{name} holds {output.count_nouns(len(shared.facts), 'fact')}.", as_json, story=story)


@app.command("learn")
def learn(
    ctx: typer.Context,
    name: Name,
    rule: Annotated[str, typer.Argument(metavar="on|off", help="Whether what is learnt in one story is known in all.")],
    as_json: AsJson = False,
) -> None:
    """Say whether stories that attach a character's memory know what the character learns in the others."""
    if rule not in ("on", "off"):
        raise BadInput(f"The rule is on or off, not {output.one_line(rule)}.")
    with open_memory(ctx) as memory:
        shared = memory.rule_shared(name, learns=rule == "on")
    told = "is known in the others" if shared.learns else "stays there"
    _report(shared, f"What {shared.of or name} learns in a story {told}.", as_json)


def _say_whose(shared: SharedMemory) -> str:
    return f"the character {shared.of}" if shared.of else f"a {shared.kind.value}"


def _report(shared: SharedMemory, sentence: str, as_json: bool, **more: str) -> None:
    output.report({**shared_json(shared), **more}, output.one_line(sentence), as_json=as_json)
