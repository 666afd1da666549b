"""`previously.toml`: where it is looked for, what it may hold, and what is in force together with the environment.

It holds settings and, beside them, `db`, `endpoint`, `model` and `prompts`. Keys for models do not belong into files.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from previously.core.errors import BadInput
from previously.core.json_values import clean
from previously.models.tokenizers import is_path
from previously.settings import DEFAULTS, OTHER_KEYS, PREFIX, Layer, Origin, find_close, read_environment, refuse_key

NAME = "previously.toml"
CONFIG = f"{PREFIX}CONFIG"

LARGEST_BYTES = 1_048_576
"""No settings file is larger; something else went astray."""

_PLACES = ("db", "prompts")
"""Keys that name a file or a folder."""

_SECRETS = {"apikey", "previouslyapikey", "key", "token", "secret", "password"}


def find_effective(
    environment: Mapping[str, str], cwd: Path | None = None, platform: str = sys.platform
) -> tuple[dict[str, str], list[Layer]]:
    """The environment with what the file names where no variable does, and the layers of settings, file first.

    A variable that is set and empty counts: it switches off what the file names.
    """
    found = find_settings_file(environment, cwd, platform)
    if found is None:
        return dict(environment), [read_environment(environment)]
    path, values = found
    if "endpoint" in values and path.parent == (cwd or Path()) and environment.get(CONFIG) is None:
        raise BadInput(
            f"{path} names an endpoint, and stories may not leave because of a file that lies in the current folder: "
            f"move it to your own settings file, or say {CONFIG}={path}."
        )
    named = {PREFIX + key.upper(): _named(path, key, values[key]) for key in OTHER_KEYS if key in values}
    settings = {key: value for key, value in values.items() if key not in OTHER_KEYS}
    tokenizer = settings.get("tokenizer")
    if isinstance(tokenizer, str) and is_path(tokenizer):
        settings["tokenizer"] = str(_resolve_path(path.parent, tokenizer, f"tokenizer in {path}"))
    return {**named, **environment}, [Layer(Origin.FILE, settings, str(path)), read_environment(environment)]


def find_settings_file(
    environment: Mapping[str, str], cwd: Path | None = None, platform: str = sys.platform
) -> tuple[Path, dict[str, Any]] | None:
    """The file that counts, and what it holds; None if there is none.

    It is the one that `PREVIOUSLY_CONFIG` names (none if that is empty), else the one in the current folder, else the
    one in the user's folder for configuration.
    """
    here = cwd or Path()
    if (wanted := environment.get(CONFIG)) is not None:
        if not wanted.strip():
            return None
        path = _resolve_path(here, wanted, CONFIG)
        values = read_settings_file(path)
        if values is None:
            raise BadInput(f"{CONFIG} names {path}, which is not there.")
        return path, values
    for folder in (here, find_user_folder(environment, platform)):
        if folder is not None and (values := read_settings_file(folder / NAME)) is not None:
            return folder / NAME, values
    return None


def find_user_folder(environment: Mapping[str, str], platform: str = sys.platform) -> Path | None:
    """Return the directory where this system keeps a user's configuration of ours; None for a user without a home."""
    named = {"win32": "APPDATA", "darwin": ""}.get(platform, "XDG_CONFIG_HOME")
    if base := environment.get(named):
        return Path(base) / "previously"
    parts = {"win32": "AppData/Roaming", "darwin": "Library/Application Support"}.get(platform, ".config")
    try:
        return Path.home() / parts / "previously"
    except RuntimeError:
        return None


def keep_named(
    named: Mapping[str, str], environment: Mapping[str, str], cwd: Path | None = None, platform: str = sys.platform
) -> Path | None:
    """Put keys such as `endpoint` into the user's own settings file, and leave all else there as it is. Return the
    file; None where no file counts."""
    if (wanted := environment.get(CONFIG)) is not None:
        path = _resolve_path(cwd or Path(), wanted, CONFIG) if wanted.strip() else None
    else:
        folder = find_user_folder(environment, platform)
        path = folder / NAME if folder else None
    if path is None:
        return None
    read_settings_file(path)  # a broken one is refused, and not written over
    lines = path.read_text("utf-8-sig").splitlines() if path.exists() else []
    kept = [line for line in lines if line.partition("=")[0].strip() not in named]
    given = [f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in named.items()]
    partial = path.with_name(f".{path.name}-{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        partial.write_text("\n".join([*given, *kept]) + "\n", "utf-8")
        partial.replace(path)
    except OSError as error:
        raise BadInput(f"{path} cannot be written: {error.strerror or error}.") from None
    return path


def read_settings_file(path: Path) -> dict[str, Any] | None:
    """Read a settings file, its keys known but its values not yet checked; None if there is no such file."""
    try:
        with path.open("rb") as file:
            data = file.read(LARGEST_BYTES + 1)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError) as error:
        raise BadInput(f"{path} cannot be read: {getattr(error, 'strerror', None) or error}.") from None
    if len(data) > LARGEST_BYTES:
        raise BadInput(f"{path} is larger than 1 MB; it is no settings file.")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise BadInput(f"{path} is not UTF-8 (line {line}).") from None
    import tomllib  # only where there is a file

    try:
        values = tomllib.loads(text)
    except RecursionError:
        raise BadInput(f"{path} is nested too deeply.") from None
    except ValueError as error:
        raise BadInput(f"{path} is not TOML: {error}.") from None
    for key in values:
        _check_key(path, key)
    return values


def _check_key(path: Path, key: str) -> None:
    if key in DEFAULTS or key in OTHER_KEYS:
        return
    if key.lower().replace("_", "").replace("-", "") in _SECRETS:
        raise BadInput(f"{key} in {path} is refused: a file is no place for a key; use {PREFIX}API_KEY.")
    raise refuse_key(f"{key[:60]} in {path}", find_close(key, (*DEFAULTS, *OTHER_KEYS)))


def _named(path: Path, key: str, value: object) -> str:
    """A text of the file; a place is seen from the file's own folder."""
    if not isinstance(value, str) or not value.strip() or clean(value)[1]:
        raise BadInput(f"{key} in {path} is {str(value)[:60]!r}; it must be text, and not empty.")
    if key not in _PLACES or value == ":memory:" or "://" in value:
        return value
    return str(_resolve_path(path.parent, value, f"{key} in {path}"))


def _resolve_path(folder: Path, text: str, called: str) -> Path:
    try:
        return folder / (Path(text).expanduser() if text.startswith("~") else text)
    except RuntimeError:
        raise BadInput(f"{called} is {text!r}, and there is no such home folder.") from None
