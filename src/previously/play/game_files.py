"""Games as directories of YAML: `game.yaml`, `world.yaml`, `characters/*.yaml`, `chapters/*.yaml`.

Every fault is one sentence that names file, line and field; all faults of a game are found at once. YAML is read as
text, lists and mappings only: `yes` is a word, aliases and repeated keys are refused.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

from previously.core.errors import BadInput
from previously.core.json_values import clean
from previously.play.game import Character, Completion, Game, GameChapter, GameFault, World, find_game_faults
from previously.play.game_schema import FILES, LONGEST_TEXT, NAME_PATTERN, FieldKind, FileField

SHIPPED = "the-drowned-bell"
"""The game that comes with the package."""

STARTER = "starter"

MOST_BYTES = 65_536
"""Of one file: thirty times what its prompts have room for."""

MOST_FAULTS = 12
"""Faults that are told at once: a screen of them."""


@dataclass
class _Reading:
    """The faults that were found, and the lines at which fields stand."""

    faults: list[str] = field(default_factory=list)
    lines: dict[tuple[str, str], int] = field(default_factory=dict)

    def blame(self, file: str, line: int, place: str, reason: str) -> Any:
        """Note a fault; return None, for whoever has no value then."""
        self.faults.append(f"{file}, line {line}{f', {place}' if place else ''}: {reason}.")

    def blame_field(self, fault: GameFault) -> None:
        self.blame(fault.file, self.lines.get((fault.file, fault.field), 1), fault.field, fault.reason)


def read_game(folder: Path) -> Game:
    """Return the game in a directory; `BadInput` with every fault that it has."""
    reading = _Reading()
    game = _read_files(folder, reading) if folder.is_dir() else None
    if not folder.is_dir():
        raise BadInput(f"There is no game at {folder}: it is a directory with a game.yaml; `previously play new DIR`.")
    if game is not None and not reading.faults:
        for fault in find_game_faults(game):
            reading.blame_field(fault)
    if reading.faults or game is None:
        shown = reading.faults[:MOST_FAULTS]
        more = f" And {len(reading.faults) - len(shown)} more." if len(reading.faults) > len(shown) else ""
        raise BadInput(" ".join(shown) + more)
    return game


def read_shipped_game(name: str = SHIPPED) -> Game:
    """Return the game that comes with the package."""
    with as_file(files("previously.play") / "games" / name) as folder:
        return read_game(folder)


def write_new_game(folder: Path) -> list[str]:
    """Make a small game to start from; return the files. A directory that holds anything is left alone."""
    check_free(folder)
    with as_file(files("previously.play") / "games" / STARTER) as starter:
        shutil.copytree(starter, folder, dirs_exist_ok=True)
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*.yaml"))


def check_free(folder: Path) -> None:
    """Refuse a directory that holds anything."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise BadInput(f"{folder} is there already and not empty; choose another place.")


def _read_files(folder: Path, reading: _Reading) -> Game | None:
    game = _read_file(folder, "game.yaml", "game", reading)
    world = _read_file(folder, "world.yaml", "world", reading)
    stems, ids = list(game.get("characters", ())), list(game.get("chapters", ()))
    people = {stem: _read_file(folder, f"characters/{stem}.yaml", "character", reading) for stem in stems}
    chapters = {ident: _read_file(folder, f"chapters/{ident}.yaml", "chapter", reading) for ident in ids}
    for place, named in (("characters", stems), ("chapters", ids)):
        for path in sorted((folder / place).glob("*.yaml")) if game else ():
            if path.stem not in named:
                line = reading.lines.get(("game.yaml", place), 1)
                reading.blame("game.yaml", line, place, f"{place}/{path.name} is there and not named here")
    if reading.faults:
        return None
    return Game(
        game["id"],
        game["title"],
        game["description"],
        World(world["setting"], world.get("tone", ""), tuple(world.get("rules", ()))),
        {stem: _make_character(stem, values) for stem, values in people.items()},
        {ident: _make_chapter(ident, values) for ident, values in chapters.items()},
        game.get("player", "Player"),
        game.get("player_role", ""),
    )


def _make_character(stem: str, values: Mapping[str, Any]) -> Character:
    return Character(
        stem,
        values["name"],
        values["role"].rstrip("."),
        values["personality"],
        values.get("secret", ""),
        values.get("relationships", {}),
    )


def _make_chapter(ident: str, values: Mapping[str, Any]) -> GameChapter:
    characters = tuple(values["characters"])
    return GameChapter(
        ident,
        values["title"],
        values["summary"],
        tuple(values["beats"]),
        values["completion"],
        characters,
        tuple(values.get("present", characters)),
        values.get("opening", ""),
        values.get("next", ""),
    )


def _read_file(folder: Path, name: str, kind: str, reading: _Reading) -> dict[str, Any]:
    """Return the fields of a file that are right; all that is wrong is noted."""
    node = _compose(folder / name, name, reading)
    if node is None:
        return {}
    fields = FILES[kind]
    values: dict[str, Any] = {}
    for key, key_node, value_node in _walk_mapping(node, name, "", reading):
        reading.lines[name, key] = _find_line(key_node)
        if key not in fields:
            near = get_close_matches(key, fields, 1)
            hint = f"do you mean {near[0]}?" if near else f"there are {', '.join(fields)}"
            reading.blame(name, _find_line(key_node), key, f"there is no such field; {hint}".rstrip("?"))
            continue
        value = _read_value(value_node, name, key, fields[key], reading)
        if value is not None:
            values[key] = value
    for key, one in fields.items():
        if one.required and key not in values and (name, key) not in reading.lines:
            reading.blame(name, _find_line(node), key, "it is missing")
    return values


def _compose(path: Path, name: str, reading: _Reading) -> Any:
    """Return the tree of a YAML file; None where there is none that can be used."""
    yaml = import_yaml()
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return reading.blame(name, 1, "", "there is no such file")
    except OSError as error:
        return reading.blame(name, 1, "", f"it cannot be read: {error.strerror}")
    if len(data) > MOST_BYTES:
        return reading.blame(name, 1, "", f"it has {len(data):,} bytes; {MOST_BYTES:,} are the most")
    try:
        text = clean(data.decode("utf-8-sig"))[0]
        events = list(yaml.parse(text, Loader=yaml.SafeLoader))
        alias = next((event for event in events if isinstance(event, yaml.AliasEvent)), None)
        if alias:
            return reading.blame(name, alias.start_mark.line + 1, "", f"aliases (*{alias.anchor}) are not taken")
        node = yaml.compose(text, Loader=yaml.SafeLoader)
    except UnicodeDecodeError as error:
        return reading.blame(name, 1, "", f"it is not UTF-8 (byte {error.start})")
    except (yaml.YAMLError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        problem = str(getattr(error, "problem", "") or "it cannot be read as YAML")
        return reading.blame(name, mark.line + 1 if mark else 1, "", problem)
    if node is None or not isinstance(node, yaml.MappingNode):
        return reading.blame(name, 1, "", "it must be fields, each a name, a colon and a value")
    return node


def _walk_mapping(node: Any, name: str, place: str, reading: _Reading) -> list[tuple[str, Any, Any]]:
    pairs: dict[str, tuple[str, Any, Any]] = {}
    for key_node, value_node in node.value:
        key = str(key_node.value) if isinstance(key_node.value, str) else ""
        if key in pairs or not key:
            reading.blame(name, _find_line(key_node), place or key, "this field is there twice" if key else "no name")
            continue
        pairs[key] = (key, key_node, value_node)
    return list(pairs.values())


def _read_value(node: Any, file: str, key: str, wanted: FileField, reading: _Reading) -> Any:
    """Return a value of the kind that is wanted, or None after the fault was noted."""
    match wanted.kind:
        case FieldKind.TEXT | FieldKind.NAME:
            return _read_text(node, file, key, wanted.kind, reading)
        case FieldKind.TEXTS | FieldKind.NAMES:
            kind = FieldKind.TEXT if wanted.kind is FieldKind.TEXTS else FieldKind.NAME
            return _read_list(node, file, key, kind, reading)
        case FieldKind.TIES:
            if not _is(node, "mapping"):
                return reading.blame(file, _find_line(node), key, "it must be names, each with a text")
            pairs = _walk_mapping(node, file, key, reading)
            return {who: _read_text(tie, file, key, FieldKind.TEXT, reading) for who, _, tie in pairs}
        case FieldKind.COMPLETION:
            return _read_completion(node, file, key, reading)


def _read_text(node: Any, file: str, key: str, kind: FieldKind, reading: _Reading) -> Any:
    if not _is(node, "scalar"):
        return reading.blame(file, _find_line(node), key, "it must be a text")
    text = " ".join(node.value.split()) if kind is FieldKind.NAME else _unwrap(node.value)
    if not text or (node.style is None and node.tag.endswith(":null")):
        return reading.blame(file, _find_line(node), key, "it is empty")
    if len(text) > LONGEST_TEXT:
        return reading.blame(
            file, _find_line(node), key, f"it has {len(text):,} characters; {LONGEST_TEXT:,} are the most"
        )
    if kind is FieldKind.NAME and not re.fullmatch(NAME_PATTERN, text):
        return reading.blame(file, _find_line(node), key, f"{text!r} is no name of letters, digits, - and _")
    return text


def _unwrap(text: str) -> str:
    """Return a text with a line for each paragraph: how an author's editor breaks lines is not the story's."""
    return "\n\n".join(" ".join(part.split()) for part in re.split(r"\n\s*\n", text) if part.strip())


def _read_list(node: Any, file: str, key: str, kind: FieldKind, reading: _Reading) -> Any:
    if not _is(node, "sequence") or not node.value:
        what = "texts" if kind is FieldKind.TEXT else "names"
        return reading.blame(file, _find_line(node), key, f"it must be a list of {what}")
    items: list[str] = []
    for item in node.value:
        text = _read_text(item, file, key, kind, reading)
        if text is not None and text in items:
            reading.blame(file, _find_line(item), key, f"{text!r} is there twice")
        elif text is not None:
            items.append(text)
    return items


def _read_completion(node: Any, file: str, key: str, reading: _Reading) -> Any:
    if _is(node, "scalar"):
        text = _read_text(node, file, key, FieldKind.TEXT, reading)
        return Completion(when=text) if text else None
    if not _is(node, "mapping"):
        return reading.blame(file, _find_line(node), key, "it must be a sentence, or `beats` and `when`")
    beats, when = 0, ""
    for part, part_node, value in _walk_mapping(node, file, key, reading):
        if part == "beats":
            number = value.value if _is(value, "scalar") else ""
            if not re.fullmatch(r"[1-9][0-9]{0,3}", number):
                return reading.blame(file, _find_line(value), f"{key}.beats", "it must be a whole number from 1 on")
            beats = int(number)
        elif part == "when":
            when = _read_text(value, file, f"{key}.when", FieldKind.TEXT, reading) or ""
        else:
            reading.blame(file, _find_line(part_node), f"{key}.{part}", "there is no such field; there are beats, when")
    return Completion(beats, when)


def _is(node: Any, kind: str) -> bool:
    return type(node).__name__ == f"{kind.capitalize()}Node"


def _find_line(node: Any) -> int:
    return int(node.start_mark.line) + 1


def import_yaml() -> Any:
    """Import the reader of YAML only when a game is read: the command line starts without it."""
    import yaml

    return yaml
