"""Prompts as files: the package's own, or a folder of a user's with the same names."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

from previously.core.errors import BadInput
from previously.folds.prompts.templates import PLACEHOLDERS, Template, parse_template


def load_prompts(folder: Path | None = None) -> dict[str, Template]:
    """Every prompt by its name."""
    return {name: load_prompt(name, folder) for name in PLACEHOLDERS}


def load_prompt(name: str, folder: Path | None = None) -> Template:
    """The prompt of that name, from the user's folder if it is there. A prompt that cannot be used is `BadInput`."""
    own = folder / f"{name}.md" if folder else None
    if own is not None and own.is_file():
        try:
            return parse_template(str(own), own.read_text("utf-8-sig"), PLACEHOLDERS[name])
        except (OSError, UnicodeDecodeError) as error:
            raise BadInput(f"The prompt {own} cannot be read: {error}.") from None
    text = (files("previously.folds") / "prompts" / f"{name}.md").read_text("utf-8")
    return parse_template(name, text, PLACEHOLDERS[name])


def check_prompts(folder: Path) -> None:
    """Refuse a folder of prompts that is not there, or holds one that is unknown or cannot be used."""
    if not folder.is_dir():
        raise BadInput(f"There is no folder of prompts at {folder}.")
    for path in sorted(folder.glob("*.md")):
        if path.stem not in PLACEHOLDERS:
            raise BadInput(f"There is no prompt named {path.stem!r}; known: {', '.join(sorted(PLACEHOLDERS))}.")
        load_prompt(path.stem, folder)
