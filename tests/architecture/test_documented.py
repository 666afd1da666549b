"""What is not documented does not exist: every public name, command and setting stands in the docs."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path

import pytest

import previously
from previously.cli.command_table import make_parser
from previously.presets import show_value
from previously.settings import PREFIX, Settings
from tests.architecture.sources import PACKAGE, SRC, all_modules

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
OBJECTS = {"memory", "story", "view"}
"""Packages of ours whose names pages give to objects: `view.report` is no module."""

COMMANDS = dict(sorted(make_parser().commands.items()))


@pytest.mark.parametrize("name", previously.__all__)
def test_every_public_name_is_in_the_library_page(name: str) -> None:
    assert re.search(rf"`{name}\b", (DOCS / "library.md").read_text("utf-8"))


@pytest.mark.parametrize("name", previously.__all__)
def test_every_public_name_exists_and_says_what_it_is(name: str) -> None:
    assert getattr(previously, name).__doc__


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_a_heading_and_every_option_is_named(command: str) -> None:
    page = (DOCS / "cli.md").read_text("utf-8")
    section = re.search(rf"^#+ `?{command}\b.*?(?=^#+ |\Z)", page, re.MULTILINE | re.DOTALL)
    assert section, f"docs/cli.md has no heading for {command}"
    found = COMMANDS[command]
    below = getattr(found, "commands", {})
    for name in below:
        assert f"previously {command} {name}" in section.group()
    for parameter in [*found.params, *(one for each in below.values() for one in each.params)]:
        longest = max(parameter.opts, key=len)
        if longest.startswith("--") and longest not in ("--help", "--json") and not getattr(parameter, "hidden", False):
            assert longest in section.group(), f"{command} {longest} is not documented"


@pytest.mark.parametrize("field", fields(Settings), ids=lambda field: field.name)
def test_every_setting_is_documented_with_its_variable_and_default(field: object) -> None:
    page = (DOCS / "settings.md").read_text("utf-8")
    name, default = field.name, field.default  # type: ignore[attr-defined]
    row = re.search(rf"^\| `{name}` .*$", page, re.MULTILINE)
    assert row, f"docs/settings.md has no row for {name}"
    assert show_value(default) in row.group()
    assert f"`{PREFIX}{name.upper()}`" in row.group()


def test_the_glossary_holds_at_most_40_words_that_users_meet() -> None:
    glossary = (DOCS / "glossary.md").read_text("utf-8")
    rows = re.findall(r"^\| \*\*.*$", glossary, re.MULTILINE)
    assert 30 < len(rows) <= 40
    pages = "\n".join(page.read_text("utf-8") for page in DOCS.glob("*.md") if page.name != "glossary.md").casefold()
    for word in re.findall(r"\*\*([^*]+)\*\*", "\n".join(row.split("|")[1] for row in rows)):
        assert re.search(rf"\b{word}", pages), f"no page uses the word {word!r}"


def test_links_between_pages_lead_somewhere() -> None:
    for page in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *DOCS.rglob("*.md")]:
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text("utf-8")):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_modules_that_pages_name_exist() -> None:
    replaced = {"0009-commitments.md"}  # tells of what was, and says so
    modules = all_modules()
    packages = {module.package for module in modules.values() if len(module.parts) > 2}
    for page in [ROOT / "README.md", *(page for page in DOCS.rglob("*.md") if page.name not in replaced)]:
        text = page.read_text("utf-8")
        for path in re.findall(r"`((?:[a-z_]+/)+[a-z_]+\.py)`", text):
            assert (ROOT / path).exists() or (SRC / PACKAGE / path).exists(), f"{page.name} names {path}"
        for name, inside in re.findall(r"`(?:previously\.)?([a-z_]+)\.([a-z_]+)[\w.]*`", text):
            if name in packages - OBJECTS:
                assert f"{name}.{inside}" in modules, f"{page.name} names {name}.{inside}"
