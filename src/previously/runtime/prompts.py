"""Prompts as files: the package's own, or a directory of a user's with the same names.

A file that is changed counts from the next question on. One that cannot be used is refused when it is written and when
stories are opened; if somebody breaks it later, the last one that could be used goes on.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib.resources import files
from pathlib import Path
from tempfile import NamedTemporaryFile

from previously.core.errors import BadInput
from previously.folds.prompts.templates import PLACEHOLDERS, Template, parse_template


class Prompts(Mapping[str, Template]):
    """Every prompt by its name, as it stands now."""

    def __init__(self, directory: Path | None = None) -> None:
        self.directory = directory
        self._known: dict[str, tuple[int, Template]] = {}
        for name in PLACEHOLDERS:
            self._known[name] = _find_change(directory, name), load_prompt(name, directory)

    def __getitem__(self, name: str) -> Template:
        changed, known = self._known[name]
        if (now := _find_change(self.directory, name)) != changed:
            try:
                known = load_prompt(name, self.directory)
            except BadInput:
                return known  # a half-written file; the next question looks again
            self._known[name] = now, known
        return known

    def __iter__(self) -> Iterator[str]:
        return iter(PLACEHOLDERS)

    def __len__(self) -> int:
        return len(PLACEHOLDERS)


def load_prompts(directory: Path | None = None) -> Prompts:
    """Every prompt by its name."""
    return Prompts(directory)


def load_prompt(name: str, directory: Path | None = None) -> Template:
    """The prompt of that name, from the user's directory if it is there. A prompt that cannot be used is `BadInput`."""
    own, text = read_prompt(name, directory)
    return parse_template(str(own or name), text, PLACEHOLDERS[name])


def read_prompt(name: str, directory: Path | None = None) -> tuple[Path | None, str]:
    """Return the text of a prompt, and its file where it is a user's own."""
    _check_name(name)
    own = directory / f"{name}.md" if directory else None
    if own is None or not own.is_file():
        return None, (files("previously.folds") / "prompts" / f"{name}.md").read_text("utf-8")
    try:
        return own, own.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(f"The prompt {own} cannot be read: {error}.") from None


def write_prompt(name: str, text: str, directory: Path) -> None:
    """Put a user's own prompt in place of the package's, whole or not at all. One that cannot be used is `BadInput`."""
    _check_name(name)
    parse_template(name, text, PLACEHOLDERS[name])
    directory.mkdir(parents=True, exist_ok=True)
    with NamedTemporaryFile("w", encoding="utf-8", dir=directory, suffix=".new", delete=False) as file:
        file.write(text)
    Path(file.name).replace(directory / f"{name}.md")


def remove_prompt(name: str, directory: Path | None) -> None:
    """Take the package's own prompt again."""
    own, _ = read_prompt(name, directory)
    if own is None:
        raise BadInput(f"The prompt {name!r} is the package's own already.")
    own.unlink()


def check_prompts(directory: Path) -> None:
    """Refuse a directory of prompts that is not there, or holds one that is unknown or cannot be used."""
    if not directory.is_dir():
        raise BadInput(f"There is no folder of prompts at {directory}.")
    for path in sorted(directory.glob("*.md")):
        _check_name(path.stem)
        load_prompt(path.stem, directory)


def _check_name(name: str) -> None:
    if name not in PLACEHOLDERS:
        raise BadInput(f"There is no prompt named {name!r}; known: {', '.join(sorted(PLACEHOLDERS))}.")


def _find_change(directory: Path | None, name: str) -> int:
    """Return when a user's own prompt was last written; 0 if there is none."""
    try:
        return (directory / f"{name}.md").stat().st_mtime_ns if directory else 0
    except OSError:
        return 0
