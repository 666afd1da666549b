"""The commands about versions: the list of all, what changed from one to another, and where one came from."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Annotated

import typer

from previously.cli import output
from previously.cli.arguments import AsJson, Story, open_story
from previously.cli.memory import Verbose
from previously.core.errors import BadInput
from previously.story.json_shapes import telling_json, trace_json, version_json
from previously.story.thing_name import VERSIONED, Thing, ThingKind, find_thing, parse_thing

if TYPE_CHECKING:
    from previously.blocking import BlockingStory
    from previously.core.versions import Version

MOST_SHOWN = 3
"""Messages behind a sentence that are shown: one or two carry it, a third is for sentences that sum up."""

AThing = Annotated[
    str | None, typer.Argument(metavar="THING", help="A version (version:12), or a text: recap, chapter:2, …")
]


def log(ctx: typer.Context, story: Story, verbose: Verbose = False, as_json: AsJson = False) -> None:
    """Say what folds and people wrote, by kind; with -v every version, the oldest first."""
    with open_story(ctx, story) as opened:
        versions = opened.log()
    if as_json:
        output.emit({"versions": [version_json(version) for version in versions]})
        return
    console = output.console()
    if not versions:
        console.print(f"Nothing is folded yet; `previously fold {output.as_typed(story)}` folds what is due.")
        return
    from previously.cli.terminal import make_table

    if not verbose:
        columns = ("kind", "versions", "by", "messages", "newest (UTC)", "out of force")
        rows = [_make_kind_row(kind, alike) for kind, alike in _group_by_kind(versions).items()]
        console.print(make_table(columns, rows, left=("kind", "by", "out of force")))
        console.print(f"{output.count_nouns(len(versions), 'version')}; -v lists each with its number and reason.")
        return
    lines = [
        (
            version.id, _name_kind(version), version.made.status.value, version.made.made_by,
            f"{version.made.span.first}-{version.made.span.last}", version.made.at[:16].replace("T", " "),
            version.made.reason,
        )
        for version in versions
    ]  # fmt: skip
    columns_of_all = ("id", "kind", "status", "by", "messages", "at (UTC)", "why")
    console.print(make_table(columns_of_all, lines, left=("kind", "status", "by", "why")))


def _group_by_kind(versions: list[Version]) -> dict[str, list[Version]]:
    kinds: dict[str, list[Version]] = {}
    for version in versions:
        kinds.setdefault(_name_kind(version), []).append(version)
    return kinds


def _make_kind_row(kind: str, versions: list[Version]) -> tuple[object, ...]:
    by = ", ".join(dict.fromkeys(version.made.made_by for version in versions))
    first = min(version.made.span.first for version in versions)
    last = max(version.made.span.last for version in versions)
    newest = max(version.made.at for version in versions)[:16].replace("T", " ")
    gone = Counter(version.made.status.value for version in versions if version.made.status not in _IN_FORCE)
    return kind, len(versions), by, f"{first}-{last}", newest, ", ".join(f"{n} {status}" for status, n in gone.items())


_IN_FORCE = frozenset({"committed", "provisional", "by hand", "asked"})


def diff(
    ctx: typer.Context,
    story: Story,
    old: AThing = None,
    new: Annotated[
        str | None, typer.Argument(metavar="NEWER", help="The version to compare it with, like version:13.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show word by word what changed: in a text since the version before, from one version to another; by default in
    what was written last."""
    from previously.cli.terminal import print_changes

    things = [parse_thing(one) for one in (old, new) if one is not None]
    with open_story(ctx, story) as opened:
        compared = opened.compare_texts(*things)
    older, newer, changes = compared.older, compared.newer, compared.changes
    if as_json:
        runs = [{"kind": change.kind.value, "text": change.text} for change in changes]
        output.emit({"story": story, "old": older.id, "new": newer.id, "changes": runs})
        return
    console = output.console()
    if older.id == newer.id:
        console.print(f"Version {newer.id}: there is none to compare it with.", style="bold", soft_wrap=True)
    else:
        console.print(f"Version {older.id} to {newer.id}", style="bold")
    print_changes(console, changes)


def blame(
    ctx: typer.Context,
    story: Story,
    what: Annotated[
        list[str] | None,
        typer.Argument(metavar="SENTENCE or THING", help="A sentence of memory or part of one; recap; message:41; …"),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Say where memory has something from: the messages behind a sentence, behind a text or version, or, of a message,
    the memories that tell it. By default the recap in force."""
    asked = " ".join(what or ())
    unknown = next((word for word in what or () if word.startswith("--")), None)
    if unknown is not None:  # positions may be negative, so what begins with a dash comes through
        raise BadInput(f"No such option: {unknown}; see `previously blame --help`.")
    thing = find_thing(asked) if asked else None
    with open_story(ctx, story) as opened:
        if thing is not None and thing.kind is ThingKind.MESSAGE:
            _blame_message(opened, story, thing.position, as_json=as_json)
        elif thing is not None and thing.kind not in VERSIONED:
            _blame_sentence(opened, story, opened.read_thing(thing).words, as_json=as_json)
        elif asked and thing is None:
            _blame_sentence(opened, story, asked, as_json=as_json)
        else:
            _blame_version(opened, story, thing, as_json=as_json)


def _blame_sentence(opened: BlockingStory, story: str, sentence: str, *, as_json: bool) -> None:
    """Name the texts that say something, the versions that brought it in, and the messages it comes from."""
    found = opened.blame(sentence)
    if as_json:
        output.emit({"story": story, "sentence": sentence, "found": [one.as_json() for one in found]})
        return
    from previously.cli.terminal import render_message

    console = output.console()
    if not found:
        search = f"`previously search {output.as_typed(story)} …`"
        console.print(f"No memory says that: {output.one_line(sentence)} ({search} looks in the messages).")
    for one in found:
        brought = f", brought in by version {one.version}" if one.version is not None else ""
        where = "in your own words" if one.by_hand else f"from {one.span}"
        where += f" of the story {one.story}" if one.story else ""
        console.print(output.one_line(f"{one.thing}{brought}, {where}:"), style="bold")
        console.print(output.printable(f"  {one.sentence}"), soft_wrap=True)
        if one.messages:
            console.print(render_message([(item.position, item.entry.message) for item in one.messages[:MOST_SHOWN]]))
        elif not one.by_hand:
            console.print("  No single message says it; it sums up what was read.")
        console.print()


def _blame_version(opened: BlockingStory, story: str, thing: Thing | None, *, as_json: bool) -> None:
    """Say where a version came from: which messages, who wrote it, what it cost."""
    from previously.core.versions import Kind
    from previously.memory.in_force import cuts_from
    from previously.story.memory_texts import render_version

    version, in_force = opened.trace(thing)
    made = version.made
    cuts = cuts_from(made)
    if as_json:
        output.emit({"story": story, **trace_json(version, in_force)})
        return
    console = output.console()
    rows = [
        ("Version", f"{version.id}, {made.kind.value}, {made.status.value}{', in force' if in_force else ''}"),
        ("Written by", f"{made.model or made.made_by} at {made.at[:19].replace('T', ' ')} UTC"),
        ("Because", made.reason),
        ("Read", f"{made.span}, after {f'version {made.before}' if made.before else 'nothing'}"),
        ("Instead of", f"version {made.replaces}" if made.replaces else "-"),
        ("Prompt", made.prompt_hash or "none"),
        (
            "Cost",
            f"{output.count_nouns(made.cost.calls, 'call')}, {made.cost.input_tokens:,} tokens read, "
            f"{made.cost.output_tokens:,} written",
        ),
        ("Left behind", ", ".join(made.shed) or "nothing noticed"),
        ("Unverified", " ".join(made.unverified) or "nothing"),
        ("Cut", f"{', '.join(map(str, cuts))}: told no more, since it had grown too long" if cuts else "nothing"),
    ]
    for what, words in rows:
        console.print(f"{what + ':':<12}", style="bold", end="")
        console.print(output.printable(words), soft_wrap=True)
    if made.kind in (Kind.EPISODE, Kind.NOTE, Kind.SHORT):  # no other command shows these
        console.print()
        console.print(output.printable(render_version(version)), soft_wrap=True)


def _blame_message(found: BlockingStory, story: str, at: int, *, as_json: bool) -> None:
    """Say which memories stand for a message, and whether they still tell it."""
    telling = found.telling(at)
    if as_json:
        output.emit({"story": story, "position": at, "told_by": [telling_json(one) for one in telling]})
        return
    console = output.console()
    if not telling:
        console.print(f"No memory stands for message {at}; views show it word for word, or list it as left out.")
    for one in telling:
        who = f"version {one.version}" if one.version is not None else "by hand"
        words = f"The {one.kind.value} of {one.span} ({who}) "
        words += f"told it, and does so no more: {one.cut} were cut when it grew too long." if one.cut else "tells it."
        console.print(output.printable(words), soft_wrap=True)


def _name_kind(version: Version) -> str:
    """Return the kind of a version, with the character's name where it is about one."""
    from previously.cli.memory import name_character

    name = name_character(version.made.scope)
    return f"{version.made.kind.value} of {name}" if name else version.made.kind.value
