"""The package as it is published: wheel and sdist, built, compared with the tree and used in empty environments.

`python -m tests.release.built` builds both, builds the wheel once more from the sdist, and looks whether each file of
the tree is in them. Then it installs the wheel, alone and with each extra, into a new environment each, and lets the
command tell its version, look at itself, show the demo, and take a story from a file to an answer (`--only EXTRA`,
`base` for none).
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import venv
import zipfile
from pathlib import Path
from typing import Any

from previously import __version__
from tests.release.wheels import ROOT, read_requirements, say

LINES = [
    {"role": "user", "name": "Maya", "content": f"Maya put crate {number} of lamp oil under the third stair."}
    for number in range(80)
]
MODULES = {
    "": ("previously.cli.main", "previously.app"),
    "local": ("previously.models.local",),
    "models": ("previously.models.http",),
    "postgres": ("previously.storage.postgres",),
    "tokens": ("previously.models.tokenizers", "tokenizers", "rs_bpe"),
    "recall": ("wordllama",),
    "server": ("previously.server.process",),
    "bench": ("bm25s", "nltk", "rouge_score", "sumy"),
}
"""Modules that can be imported with an extra."""


def build(source: Path, target: Path) -> tuple[Path, Path]:
    """Build wheel and sdist of a source tree; return their paths."""
    run([sys.executable, "-m", "hatchling", "build", "-d", str(target)], cwd=source)
    (wheel,), (sdist,) = target.glob("*.whl"), target.glob("*.tar.gz")
    return wheel, sdist


def check_contents(wheel: Path, sdist: Path, folder: Path) -> None:
    """See that the wheel holds all of the package, and that the sdist makes the same wheel."""
    tracked = run(["git", "ls-files", "-z", "src/previously"], cwd=ROOT).split("\0")
    wanted = {name.removeprefix("src/") for name in tracked if name}
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        assert wanted <= names, f"not in the wheel: {sorted(wanted - names)}"
        extra = {name for name in names - wanted if ".dist-info/" not in name}
        assert not extra, f"in the wheel and not in the tree: {sorted(extra)}"
        for notice in ("LICENSE", "NOTICE"):
            assert f"previously-{__version__}.dist-info/licenses/{notice}" in names, f"no {notice} in the wheel"
    unpacked = folder / "unpacked"
    unpacked.mkdir()
    run(["tar", "xzf", str(sdist), "-C", str(unpacked)])
    (source,) = unpacked.iterdir()
    again, _ = build(source, folder / "again")
    assert again.name == wheel.name and again.read_bytes() == wheel.read_bytes(), "the sdist makes another wheel"


def try_installed(wheel: Path, extra: str, folder: Path) -> str:
    """Install the wheel into an empty environment and use it; return a line about that."""
    began = time.monotonic()
    place = folder / (extra or "base")
    venv.create(place / "venv", with_pip=True)
    programs = place / "venv" / ("Scripts" if os.name == "nt" else "bin")
    wanted = f"{wheel}[{extra}]" if extra else str(wheel)
    run([str(programs / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", wanted])
    installed = time.monotonic() - began
    command = str(programs / "previously")
    for module in MODULES[extra]:
        run([str(programs / "python"), "-c", f"import {module}"], cwd=place)
    assert run([command, "--version"], cwd=place) == f"previously {__version__}\n"
    own = {**os.environ, "PREVIOUSLY_DB": str(place / "stories.db"), "PREVIOUSLY_CONFIG": "", "HOME": str(place)}

    def ask(*arguments: str) -> dict[str, Any]:
        answer: dict[str, Any] = json.loads(run([command, *arguments, "--json"], cwd=place, env=own))
        return answer

    run([command, "doctor"], cwd=place, env=own)
    assert run([command, "demo"], cwd=place, env=own)
    (place / "chat.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in LINES))
    assert ask("import", "chat.jsonl", "--story", "tale")["added"] == len(LINES)
    folds = ask("fold", "tale")["folds"]
    assert folds and all(one["made_by"] == "builtin" for one in folds)
    view = ask("view", "tale", "--budget", "2000")
    assert view["messages"] and view["tokens"] <= 2000
    hits = ask("search", "tale", "crate 41")["hits"]
    assert hits[0]["position"] == 41, hits[0]
    assert not ask("verify").get("faults")
    return f"{extra or 'base'}: installed in {installed:.0f} s, used in {time.monotonic() - began - installed:.0f} s"


def run(command: list[str], **how: Any) -> str:
    """Run a program to its end and return what it printed; an error says what it complained of."""
    answer = subprocess.run(command, capture_output=True, text=True, check=False, **how)
    if answer.returncode:
        raise SystemExit(f"{' '.join(command)} ended with {answer.returncode}:\n{answer.stdout}{answer.stderr}")
    return str(answer.stdout)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--only", action="append", help="this extra alone; repeatable")
    parser.add_argument("--keep", type=Path, help="put wheel and sdist here")
    asked = parser.parse_args()
    extras = [name for name in read_requirements() if not asked.only or (name or "base") in asked.only]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        wheel, sdist = build(ROOT, folder / "dist")
        check_contents(wheel, sdist, folder)
        sizes = " and ".join(f"{made.name} ({made.stat().st_size:,} bytes)" for made in (wheel, sdist))
        say(f"{sizes} are whole, and the sdist makes the same wheel")
        for extra in extras:
            say(try_installed(wheel, extra, folder))
        if asked.keep:
            asked.keep.mkdir(parents=True, exist_ok=True)
            for made in (wheel, sdist):
                made.replace(asked.keep / made.name)


if __name__ == "__main__":
    main()
