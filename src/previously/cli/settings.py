"""`previously set` and `previously presets`: a story's settings, where each comes from, and the kinds of stories."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from previously.cli import output
from previously.cli.arguments import AsJson, Story, open_story


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

    with open_story(ctx, story) as opened:
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


def presets(
    preset: Annotated[str | None, typer.Argument(metavar="PRESET", help="One of them, with all it changes.")] = None,
    as_json: AsJson = False,
) -> None:
    """List the kinds of stories that the setting `preset` names, and what each means."""
    from previously.presets import MEANINGS, PRESETS, describe_presets, show_value

    described = describe_presets(preset)
    if as_json:
        output.emit({"presets": described})
        return
    console = output.console()
    if preset is None:
        from previously.cli.terminal import make_table

        console.print(make_table(("preset", "meaning"), MEANINGS.items(), left=("preset", "meaning")))
        console.print("`previously set STORY preset=novel` gives a story one.")
        return
    console.print(f"{preset}: {MEANINGS[preset]}", soft_wrap=True)
    for key, value in PRESETS[preset].items():
        console.print(f"  {key} = {show_value(value)}", soft_wrap=True)
    if not PRESETS[preset]:
        console.print("  It is the default: all settings have their own defaults.")
