"""`previously keys`: who may use a server. A key is printed once, when it is made, and kept nowhere."""

from __future__ import annotations

from typing import Annotated

import typer

from previously.cli import output
from previously.cli.arguments import AsJson, check_name, open_memory
from previously.cli.nouns import make_noun
from previously.story.json_shapes import key_json

Name = Annotated[str, typer.Argument(metavar="NAME", parser=check_name, help="What the key is called.")]
Owner = Annotated[
    str | None, typer.Option("--owner", metavar="OWNER", parser=check_name, help="Whose stories it opens; else local.")
]

app: typer.Typer = make_noun("Who may use a server: list, add, remove.")


@app.command("list")
def list_keys(ctx: typer.Context, as_json: AsJson = False) -> None:
    """List the keys to a server."""
    from previously.cli.terminal import report_table

    with open_memory(ctx) as memory:
        keys = memory.keys()
    rows = [(key.name, key.owner, key.at[:16].replace("T", " "), f"…{key.ending}") for key in keys]
    columns = ("key", "owner", "created (UTC)", "ends with")
    nothing = "There are no keys yet; `previously keys add NAME` makes one."
    record = {"keys": [key_json(key) for key in keys]}
    report_table(record, columns, rows, left=columns, nothing=nothing, as_json=as_json)


@app.command("add")
def add(ctx: typer.Context, called: Name, owner: Owner = None, as_json: AsJson = False) -> None:
    """Make a key and print it, once. It opens the stories of its owner."""
    from previously.runtime.keys import LOCAL_OWNER

    with open_memory(ctx) as memory:
        key, kept = memory.add_key(called, owner=LOCAL_OWNER if owner is None else owner)
    if as_json:
        output.emit({**key_json(kept), "key": key})
        return
    output.console().print(key, soft_wrap=True)
    output.note(f"It opens the stories of {kept.owner}. Keep it now: only its hash is kept here.")


@app.command("remove")
def remove(ctx: typer.Context, called: Name, as_json: AsJson = False) -> None:
    """Take a key away: a server that runs refuses it within seconds."""
    with open_memory(ctx) as memory:
        gone = memory.remove_key(called)
    output.report(
        {"removed": gone.name, "owner": gone.owner}, f"Key {output.one_line(gone.name)} is gone.", as_json=as_json
    )
