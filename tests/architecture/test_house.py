"""The house is in order: sizes, names, and nothing that belongs to one machine."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCES = sorted((ROOT / "src").rglob("*.py"))

LONGEST_MODULE = 500
EMPTY_NAMES = {"utils", "util", "helpers", "helper", "common", "misc", "manager", "base", "legacy"}


def test_modules_stay_small() -> None:
    sizes = {str(path.relative_to(ROOT)): len(path.read_text("utf-8").splitlines()) for path in SOURCES}
    assert {name: size for name, size in sizes.items() if size > LONGEST_MODULE} == {}


def test_file_names_explain_themselves() -> None:
    assert [path for path in SOURCES if path.stem in EMPTY_NAMES or re.search(r"_v\d+$", path.stem)] == []


def test_no_two_test_modules_have_the_same_name() -> None:
    """Or one of them is not run: tests have no packages."""
    folders = [folder for folder in (ROOT / "tests").iterdir() if folder.name != "clients"]
    names = [path.name for folder in folders for path in folder.rglob("test_*.py")]
    assert sorted({name for name in names if names.count(name) > 1}) == []


def test_every_module_says_what_it_owns() -> None:
    undocumented = [path for path in SOURCES if not re.match(r'\s*(r|)"""', path.read_text("utf-8"))]
    assert undocumented == []


def test_nothing_of_one_machine_or_registry_is_committed() -> None:
    try:
        listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        listed = "\n".join(str(path.relative_to(ROOT)) for path in SOURCES)
    forbidden = re.compile(rf"/home/\w|/root/\w|{re.escape(str(ROOT))}/|index-url\s*=")
    here = Path(__file__).name
    for name in listed.splitlines():
        path = ROOT / name
        if path.name == here or not path.is_file() or path.suffix in {".png", ".lock"}:
            continue
        assert forbidden.findall(path.read_text("utf-8", errors="replace")) == [], name
    assert "uv.lock" not in listed.split()
