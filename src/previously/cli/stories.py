"""The commands about the place where stories are: listing them, and seeing whether all is well."""

from __future__ import annotations

import os
import platform
import re
import tempfile
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from previously.cli import output
from previously.cli.arguments import AsJson, Endpoint, ModelName, Story, check_name, choose_model, open_memory
from previously.core.errors import PreviouslyError
from previously.core.exact_names import show_name


def stories(ctx: typer.Context, as_json: AsJson = False) -> None:
    """List the stories."""
    with open_memory(ctx) as memory:
        infos = memory.stories()
    if as_json:
        output.emit(
            {
                "stories": [
                    {
                        "story": info.name,
                        "messages": info.active.messages,
                        "branches": info.branches,
                        "branch": info.active.name,
                    }
                    for info in infos
                ]
            }
        )
        return
    console = output.console()
    if not infos:
        console.print("There are no stories here yet. Begin one:")
        console.print("  previously import chat.jsonl")
        console.print('  previously add my-story --role user --name Ines --text "The lamp is out."')
        console.print("  previously demo")
        return
    from previously.cli.terminal import make_table

    rows = [(show_name(info.name), info.active.messages, info.branches, info.active.name) for info in infos]
    console.print(make_table(("story", "messages", "branches", "active branch"), rows, left=("story", "active branch")))


def rename(
    ctx: typer.Context,
    story: Story,
    new: Annotated[str, typer.Argument(metavar="NEW", parser=check_name, help="Its new name.")],
    as_json: AsJson = False,
) -> None:
    """Give a story another name. A client that asks for it by its old name begins a new story."""
    with open_memory(ctx) as memory:
        memory.rename(story, new)
    output.report({"story": new, "was": story}, f"{story} is called {new} now.", as_json=as_json)


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was looked at."""

    what: str
    ok: bool
    detail: str


def doctor(
    ctx: typer.Context,
    endpoint: Endpoint = "",
    model: ModelName = "",
    upstream: Annotated[
        str, typer.Option("--upstream", metavar="URL", help="Also look at a server that `serve` is to stand before.")
    ] = "",
    as_json: AsJson = False,
) -> None:
    """Check that everything works here, and say where things are."""
    facts: dict[str, Any] = {}
    looks: list[tuple[str, Callable[[], str]]] = [
        ("Python", lambda: _check_python(facts)),
        ("SQLite", lambda: _check_sqlite(facts)),
        ("Settings", lambda: _check_settings(facts)),
        ("Stories", lambda: _check_place(facts, ctx.obj)),
        ("Extras", lambda: _check_extras(facts)),
        ("Model", lambda: _check_model(facts, endpoint, model)),
        ("Test fold", lambda: _test_fold(endpoint, model)),
    ]
    if upstream:
        looks.append(("Upstream", lambda: _check_upstream(facts, upstream, model)))
    checks = [_check(what, look) for what, look in looks]
    well = all(check.ok for check in checks)
    if as_json:
        output.emit({"ok": well, "checks": [asdict(check) for check in checks], **facts})
    else:
        from previously.presets import show_value

        console = output.console()
        for check in checks:
            console.print("ok    " if check.ok else "FAULT ", style="green" if check.ok else "bold red", end="")
            console.print(f"{check.what}: {output.one_line(check.detail)}", soft_wrap=True)
        for name, setting in facts.get("settings", {}).items():
            console.print(f"        {name} = {show_value(setting['value'])} ({setting['from']})", soft_wrap=True)
        console.print("All is well." if well else "Something is wrong; see the lines marked FAULT.")
    if not well:
        raise typer.Exit(1)


def _check(what: str, look: Callable[[], str]) -> Check:
    try:
        return Check(what, True, look())
    except PreviouslyError as error:
        return Check(what, False, str(error))
    except Exception as error:  # whatever it is, a check-up reports it and goes on
        return Check(what, False, f"{type(error).__name__}: {error}")


def _check_python(facts: dict[str, Any]) -> str:
    facts["python"] = platform.python_version()
    return f"{facts['python']} on {platform.system()}"


def _check_sqlite(facts: dict[str, Any]) -> str:
    import apsw

    facts["sqlite"] = apsw.sqlite_lib_version()
    return f"{facts['sqlite']} (apsw {apsw.apsw_version()})"


def _check_settings(facts: dict[str, Any]) -> str:
    from previously.settings import Origin, explain_settings
    from previously.settings_file import find_effective

    layers = find_effective(os.environ)[1]
    settings = facts["settings"] = explain_settings(layers)
    facts["settings_file"] = next((layer.place for layer in layers if layer.origin is Origin.FILE), None)
    changed = sum(setting["from"] != "default" for setting in settings.values())
    return f"{changed} of {len(settings)} are not the default; file: {facts['settings_file'] or 'none'}"


_SHARED = "; other users of this machine can open it, `chmod 600 {}` keeps them out"


def _check_place(facts: dict[str, Any], db: str | None) -> str:
    from previously.app import IN_MEMORY, default_place
    from previously.blocking import BlockingMemory
    from previously.settings_file import find_effective

    place = db or find_effective(os.environ)[0].get("PREVIOUSLY_DB") or str(default_place())
    shown = re.sub(r"(?<=://)[^@/]*@", "", place)  # whoever reads this need not know a password
    facts |= {"db": shown, "size_bytes": None, "stories": None}
    path = Path(place)
    if place != IN_MEMORY and "://" not in place and path.parent.is_dir() and not path.exists():
        with tempfile.TemporaryFile(dir=path.parent):
            return f"{place} is not there yet; it is made with the first story"
    with BlockingMemory(place) as memory:  # opening takes the lock for writing, so a file that cannot be written fails
        facts["stories"] = len(memory.stories())
    if path.is_file():
        facts["size_bytes"] = path.stat().st_size
    size = f", {facts['size_bytes'] / 1_048_576:.1f} MB" if facts["size_bytes"] is not None else ""
    private = (
        "" if os.name != "posix" or not path.is_file() or not path.stat().st_mode & 0o077 else _SHARED.format(path)
    )
    return f"{shown} can be read and written: {output.count_nouns(facts['stories'], 'story')}{size}{private}"


def _check_extras(facts: dict[str, Any]) -> str:
    from importlib.metadata import PackageNotFoundError, metadata, requires, version

    def installed(requirement: str) -> bool:
        match = re.match(r"[A-Za-z0-9._-]+", requirement)
        try:
            return match is not None and bool(version(match.group()))
        except PackageNotFoundError:
            return False

    try:
        known = sorted(metadata("previously").get_all("Provides-Extra") or [])
        needed = requires("previously") or []
    except PackageNotFoundError:  # run from its source without being installed
        known, needed = [], []
    marks = {extra: re.compile(rf"""extra\s*==\s*['"]{re.escape(extra)}['"]""") for extra in known}
    facts["extras"] = {
        extra: all(installed(line) for line in needed if mark.search(line)) for extra, mark in marks.items()
    }
    words = [f"{extra} {'installed' if here else 'not installed'}" for extra, here in facts["extras"].items()]
    return ", ".join(words) or "none known"


def _check_model(facts: dict[str, Any], endpoint: str, name: str) -> str:
    from asyncio import run

    from previously.app import describe_model

    asked = choose_model(endpoint, name)
    if asked is None:
        return "none named; memory quotes the story, lore, cast and state need a model or a person"
    description = facts["model"] = run(describe_model(asked))
    if not description.get("reachable"):
        raise PreviouslyError(str(description.get("reason") or "the endpoint does not answer"))
    if description.get("model_listed") is False:
        raise PreviouslyError(f"the server answers, but has no model named {asked.name}")
    window = description.get("window_tokens")
    schema = (
        {True: "keeps a JSON schema", False: "no JSON schema"}.get(bool(description.get("json_schema")), "")
        if description.get("json_schema") is not None
        else "JSON schema not tried"
    )
    return f"{asked.name} answers; window {f'{window:,} tokens' if window else 'not known'}; {schema}"


def _check_upstream(facts: dict[str, Any], url: str, name: str) -> str:
    """Ask the upstream as `serve` would: whether it answers, with which models, and how large their window is."""
    from asyncio import run

    from previously.app import describe_model, model_at

    key = os.environ.get("PREVIOUSLY_UPSTREAM_KEY", "")
    description = run(describe_model(model_at(url, name or "default", key, 10.0), probe_schema=False))
    models = description.get("models") or []
    if not name and models and description.get("reachable"):
        description = run(describe_model(model_at(url, models[0], key, 10.0), probe_schema=False))
    facts["upstream"] = description
    if not description.get("reachable"):
        raise PreviouslyError(str(description.get("reason") or "it does not answer"))
    window = description.get("window_tokens")
    parts = (
        f"window {window:,} tokens" if window else "its window is not told: name it with --window, else 8,192 are taken"
    )
    return f"{description['endpoint']} answers with {output.count_nouns(len(models), 'model')}; {parts}"


def _test_fold(endpoint: str, name: str) -> str:
    from previously.app import IN_MEMORY
    from previously.blocking import BlockingMemory
    from previously.core.versions import Status
    from previously.settings import Settings

    asked = choose_model(endpoint, name)
    rules = Settings(tail_messages=2, fold_messages=4, recap_words=60)
    with BlockingMemory(IN_MEMORY, settings=rules, model=asked) as memory:
        story = memory.story("test")
        for index, line in enumerate(_TEST_STORY):
            story.add("user" if index % 2 else "assistant", line, name="Mara" if index % 2 else "Narrator")
        report, recap = story.fold(), story.recap()
    if not report.folds or recap is None or not recap.text.strip():
        raise PreviouslyError(f"the built-in writer made no recap: {report.stopped}")
    words = output.count_nouns(len(recap.text.split()), "word")
    if asked is None:
        return f"the built-in writer quoted {words}, no model needed"
    stood_in = next((done for done in report.folds if done.status == Status.PROVISIONAL.value), None)
    if stood_in:
        raise PreviouslyError(f"{asked.name} wrote nothing that could be kept ({stood_in.reason})")
    return f"{asked.name} wrote {words} in {output.count_nouns(report.calls, 'call')}"


_TEST_STORY = (
    "Mara came to the lighthouse at dusk. The lamp was broken.",
    '"I will mend the lamp before Friday," Mara promised.',
    "Old Tobias gave her the brass key to the lamp room.",
    "Mara climbed the stairs and cut her hand on the glass.",
    "The wind rose, and a ship showed three lights.",
    '"Then Friday is too late," Mara said.',
)
