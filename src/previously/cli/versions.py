"""The commands about versions: the list of all, what changed from one to another, and where one came from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from previously.cli import output
from previously.cli.arguments import AsJson, Story, open_memory, parse_position, parse_version
from previously.core.errors import BadInput

if TYPE_CHECKING:
    from previously.blocking import BlockingStory
    from previously.core.versions import Version

Which = Annotated[
    int | None, typer.Argument(metavar="VERSION", parser=parse_version, help="A version by its id in `log`.")
]
Other = Annotated[
    int | None, typer.Argument(metavar="NEWER", parser=parse_version, help="The version to compare it with.")
]


def log(ctx: typer.Context, story: Story, as_json: AsJson = False) -> None:
    """List every version of every memory, the oldest first."""
    with open_memory(ctx) as memory:
        versions = memory.story(story, create=False).log()
    if as_json:
        output.emit({"versions": [version_json(version) for version in versions]})
        return
    console = output.console()
    if not versions:
        console.print(f"Nothing is folded yet; `previously fold {output.one_line(story)}` folds what is due.")
        return
    from previously.cli.terminal import make_table

    rows = [
        (
            version.id, _name_kind(version), version.made.status.value, version.made.made_by,
            f"{version.made.span.first}-{version.made.span.last}", version.made.at[:16].replace("T", " "),
            version.made.reason,
        )
        for version in versions
    ]  # fmt: skip
    columns = ("id", "kind", "status", "by", "messages", "at (UTC)", "why")
    console.print(make_table(columns, rows, left=("kind", "status", "by", "why")))


def diff(ctx: typer.Context, story: Story, old: Which = None, new: Other = None, as_json: AsJson = False) -> None:
    """Show word by word what changed from one version to another; by default from the one before the newest."""
    from previously.cli.memory_json import render_version
    from previously.text.compare import ChangeKind, diff_words

    with open_memory(ctx) as memory:
        kept = [version for version in memory.story(story, create=False).log() if version.made.status != "refused"]
    newer = _find_version(story, kept, new if new is not None else kept[-1].id if kept else None)
    older = _find_version(story, kept, old if old is not None else _find_before(kept, newer).id)
    changes = diff_words(render_version(older), render_version(newer))
    if as_json:
        runs = [{"kind": change.kind.value, "text": change.text} for change in changes]
        output.emit({"story": story, "old": older.id, "new": newer.id, "changes": runs})
        return
    console = output.console()
    if older.id == newer.id:
        console.print(f"Version {newer.id}: there is none to compare it with.", style="bold", soft_wrap=True)
    else:
        console.print(f"Version {older.id} to {newer.id}", style="bold")
    marks = {ChangeKind.REMOVED: ("[-", "-]", "red"), ChangeKind.ADDED: ("{+", "+}", "green")}
    for change in changes:
        opening, closing, style = marks.get(change.kind, ("", "", ""))
        body = change.text.rstrip()
        shown = output.printable(f"{opening}{body}{closing}{change.text[len(body) :]}")
        console.print(shown, style=style or None, end="", soft_wrap=True)
    console.print()


def blame(
    ctx: typer.Context,
    story: Story,
    which: Which = None,
    message: Annotated[
        int | None,
        typer.Option("--message", metavar="POSITION", parser=parse_position, help="Which memory tells this message."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Say where a version came from: which messages, who wrote it, what it cost; by default the recap in force."""
    from previously.cli.memory_json import render_version
    from previously.core.versions import Kind
    from previously.memory.in_force import cuts_from

    with open_memory(ctx) as memory:
        opened = memory.story(story, create=False)
        if message is not None:
            _blame_message(opened, story, message, as_json=as_json)
            return
        versions = opened.log()
        texts = _find_texts_in_force(opened, versions)
        default = texts[0] if texts else versions[-1].id if versions else None
        version = _find_version(story, versions, which if which is not None else default)
        in_force = version.id in texts
    made = version.made
    cuts = cuts_from(made)
    if as_json:
        record = {"text": made.text, "shed": list(made.shed), "unverified": list(made.unverified)}
        chain = {"before": made.before, "replaces": made.replaces, "in_force": in_force}
        gone = {"cuts": [[cut.first, cut.last] for cut in cuts]} if cuts else {}
        output.emit({"story": story, **version_json(version), **chain, **record, **gone})
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
        rows = [
            {
                "kind": one.kind.value,
                "version": one.version,
                "span": [one.span.first, one.span.last],
                "cut": [one.cut.first, one.cut.last] if one.cut else None,
            }
            for one in telling
        ]
        output.emit({"story": story, "position": at, "told_by": rows})
        return
    console = output.console()
    if not telling:
        console.print(f"No memory stands for message {at}; views show it word for word, or list it as left out.")
    for one in telling:
        who = f"version {one.version}" if one.version is not None else "by hand"
        words = f"The {one.kind.value} of {one.span} ({who}) "
        words += f"told it, and does so no more: {one.cut} were cut when it grew too long." if one.cut else "tells it."
        console.print(output.printable(words), soft_wrap=True)


def _find_texts_in_force(story: BlockingStory, versions: list[Version]) -> list[int]:
    """The versions that speak for the story now: of the recap, the backbone, each chapter, and the notes of spans."""
    texts = [story.recap(), story.backbone(), *(chapter.recap for chapter in story.chapters())]
    by_hand = {version.made.text: version.id for version in versions if version.made.status == "by hand"}
    ids = [by_hand.get(text.text) if text.version is None else text.version for text in texts if text]
    return [*(ident for ident in ids if ident is not None), *story.notes_in_force()]


def _name_kind(version: Version) -> str:
    """Return the kind of a version, with the character's name where it is about one."""
    from previously.cli.memory import name_character

    name = name_character(version.made.scope)
    return f"{version.made.kind.value} of {name}" if name else version.made.kind.value


def _find_version(story: str, versions: list[Version], wanted: int | None) -> Version:
    if wanted is None:
        raise BadInput(f"Nothing is folded yet; `previously fold {output.one_line(story)}` folds what is due.")
    for version in versions:
        if version.id == wanted:
            return version
    raise BadInput(f"There is no version {wanted} here; `previously log {output.one_line(story)}` lists them.")


def _find_before(versions: list[Version], newer: Version) -> Version:
    """The version it went on from or replaced; itself where there is none."""
    earlier = [version for version in versions if version.id in (newer.made.before, newer.made.replaces)]
    return earlier[-1] if earlier else newer


def version_json(version: Version) -> dict[str, object]:
    """A version in the shape that is relied on from outside."""
    made = version.made
    return {
        "id": version.id,
        "kind": made.kind.value,
        "scope": made.scope,
        "status": made.status.value,
        "made_by": made.made_by,
        "span": [made.span.first, made.span.last],
        "at": made.at,
        "reason": made.reason,
        "model": made.model,
        "prompt_hash": made.prompt_hash,
        "calls": made.cost.calls,
        "input_tokens": made.cost.input_tokens,
        "output_tokens": made.cost.output_tokens,
    }
