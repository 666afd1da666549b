"""The commands about versions: the list of all, what changed from one to another, and where one came from."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Annotated

import typer

from previously.cli import output
from previously.cli.arguments import AsJson, Story, open_memory
from previously.cli.memory import Verbose
from previously.cli.read_thing import read_words_of
from previously.cli.things import Thing, ThingKind, find_listed, find_thing, parse_thing
from previously.core.errors import BadInput

if TYPE_CHECKING:
    from previously.blocking import BlockingStory
    from previously.core.versions import Version
    from previously.memory.in_force import MemoryText

MOST_SHOWN = 3
"""Messages behind a sentence that are shown: one or two carry it, a third is for sentences that sum up."""

AThing = Annotated[
    str | None, typer.Argument(metavar="THING", help="A version (version:12), or a text: recap, chapter:2, …")
]


def log(ctx: typer.Context, story: Story, verbose: Verbose = False, as_json: AsJson = False) -> None:
    """Say what folds and people wrote, by kind; with -v every version, the oldest first."""
    with open_memory(ctx) as memory:
        versions = memory.story(story, create=False).log()
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


_IN_FORCE = frozenset({"committed", "provisional", "by hand"})


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
    from previously.cli.memory_json import render_version
    from previously.text.compare import ChangeKind, diff_words

    things = [parse_thing(one) for one in (old, new) if one is not None]
    with open_memory(ctx) as memory:
        opened = memory.story(story, create=False)
        kept = [version for version in opened.log() if version.made.status != "refused"]
        named = [_find_named(opened, story, kept, thing) for thing in things]
    newest = _find_version(story, kept, kept[-1].id if kept else None)
    if len(named) == 2:
        older, newer = named
    elif named and things[0].kind is ThingKind.VERSION:
        older, newer = named[0], newest
    else:
        newer = named[0] if named else newest
        older = _find_before(kept, newer)
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


def find_earlier(story: BlockingStory, name: str, thing: Thing) -> Version:
    """Return the version of a text before the one in force."""
    kept = [version for version in story.log() if version.made.status != "refused"]
    newer = _find_named(story, name, kept, thing)
    older = _find_before(kept, newer)
    if older.id == newer.id:
        raise BadInput(f"There is no earlier version of {thing}; `previously log -v` lists them all.")
    return older


def _find_named(story: BlockingStory, name: str, versions: list[Version], thing: Thing) -> Version:
    """Return the version that a thing is: itself, or the one of its text in force."""
    if thing.kind is ThingKind.VERSION:
        return _find_version(name, versions, thing.number)
    text = _read_text(story, thing)
    if text is None:
        raise BadInput(f"{thing} has no text yet.")
    by_hand = {version.made.text: version.id for version in versions if version.made.status == "by hand"}
    version = by_hand.get(text.text) if text.version is None else text.version
    if version is None:
        raise BadInput(f"{thing} is joined of several texts; `previously log -v` lists their versions.")
    return _find_version(name, versions, version)


def _read_text(story: BlockingStory, thing: Thing) -> MemoryText | None:
    match thing.kind:
        case ThingKind.RECAP | ThingKind.BRIEF:
            return story.recap()
        case ThingKind.BACKBONE:
            return story.backbone()
        case ThingKind.CHAPTER:
            recap: MemoryText | None = find_listed(story, thing).recap
            return recap
        case ThingKind.EPISODE:
            episode: MemoryText = find_listed(story, thing)
            return episode
        case _:
            raise BadInput(f"{thing} has no versions: recap, backbone, chapter:N, episode:N and version:N have.")


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
    with open_memory(ctx) as memory:
        opened = memory.story(story, create=False)
        if thing is not None and thing.kind is ThingKind.MESSAGE:
            _blame_message(opened, story, thing.position, as_json=as_json)
        elif thing is not None and thing.kind not in _VERSIONED:
            _blame_sentence(opened, story, read_words_of(opened, thing), as_json=as_json)
        elif asked and thing is None:
            _blame_sentence(opened, story, asked, as_json=as_json)
        else:
            _blame_version(opened, story, thing, as_json=as_json)


_VERSIONED = frozenset(
    {ThingKind.VERSION, ThingKind.RECAP, ThingKind.BACKBONE, ThingKind.BRIEF, ThingKind.CHAPTER, ThingKind.EPISODE}
)


def _blame_sentence(opened: BlockingStory, story: str, sentence: str, *, as_json: bool) -> None:
    """Name the texts that say something, the versions that brought it in, and the messages it comes from."""
    found = opened.blame(sentence)
    if as_json:
        rows = [
            {
                "thing": one.thing,
                "sentence": one.sentence,
                "version": one.version,
                "by_hand": one.by_hand,
                "span": [one.span.first, one.span.last],
                "messages": [
                    {"position": item.position, "speaker": item.entry.message.speaker, "text": item.entry.message.text}
                    for item in one.messages
                ],
            }
            for one in found
        ]
        output.emit({"story": story, "sentence": sentence, "found": rows})
        return
    from previously.cli.terminal import render_message

    console = output.console()
    if not found:
        search = f"`previously search {output.as_typed(story)} …`"
        console.print(f"No memory says that: {output.one_line(sentence)} ({search} looks in the messages).")
    for one in found:
        brought = f", brought in by version {one.version}" if one.version is not None else ""
        where = "in your own words" if one.by_hand else f"from {one.span}"
        console.print(output.one_line(f"{one.thing}{brought}, {where}:"), style="bold")
        console.print(output.printable(f"  {one.sentence}"), soft_wrap=True)
        if one.messages:
            console.print(render_message([(item.position, item.entry.message) for item in one.messages[:MOST_SHOWN]]))
        elif not one.by_hand:
            console.print("  No single message says it; it sums up what was read.")
        console.print()


def _blame_version(opened: BlockingStory, story: str, thing: Thing | None, *, as_json: bool) -> None:
    """Say where a version came from: which messages, who wrote it, what it cost."""
    from previously.cli.memory_json import render_version
    from previously.core.versions import Kind
    from previously.memory.in_force import cuts_from

    versions = opened.log()
    texts = _find_texts_in_force(opened, versions)
    if thing is not None:
        version = _find_named(opened, story, versions, thing)
    else:
        version = _find_version(story, versions, texts[0] if texts else versions[-1].id if versions else None)
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
        raise BadInput(f"Nothing is folded yet; `previously fold {output.as_typed(story)}` folds what is due.")
    for version in versions:
        if version.id == wanted:
            return version
    raise BadInput(f"There is no version {wanted} here; `previously log {output.as_typed(story)}` lists them.")


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
