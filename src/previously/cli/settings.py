"""`previously set`: a story's own settings, and all that are in force for it with the place each comes from."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from previously.cli import output
from previously.cli.arguments import AsJson, Story, open_memory


def set_values(
    ctx: typer.Context,
    story: Story,
    assignments: Annotated[
        list[str] | None,
        typer.Argument(metavar="KEY=VALUE", help="What to set; KEY= takes it back. None: list all settings."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Give a story settings of its own, or list those in force."""
    from previously.presets import show_value
    from previously.settings import Layer, Origin, explain_settings
    from previously.settings_file import find_effective

    with open_memory(ctx) as memory:
        opened = memory.story(story, create=False)
        if assignments:
            opened.set(assignments)
        own = opened.settings()
    _, layers = find_effective(os.environ)
    in_force = explain_settings([*layers, Layer(Origin.STORY, own, f"the settings of {story}")])
    if as_json:
        output.emit({"story": story, "settings": in_force})
        return
    console = output.console()
    if assignments:
        for key in dict.fromkeys(assignment.partition("=")[0].strip() for assignment in assignments):
            if key in in_force:
                now = in_force[key]
                console.print(output.one_line(f"{key} = {show_value(now['value'])} ({now['from']})"), soft_wrap=True)
        return
    from previously.cli.terminal import make_table

    rows = [(key, show_value(setting["value"]), setting["from"]) for key, setting in in_force.items()]
    console.print(make_table(("setting", "value", "from"), rows, left=("setting", "from")))
