"""Wheels of all that Previously needs, for each system and Python it is said to run on: nobody has to compile anything.

`python -m tests.release.wheels` asks pip to resolve the dependencies of the package for every cell of a table and
prints the table; `--extras` does the same for each extra. pip takes markers (`sys_platform == …`) from the machine it
runs on: requirements that only another system has are not seen, and those of extras are judged by hand below.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tomllib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).parents[2]
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
GLIBC = range(17, 29)
"""Minor versions of glibc whose wheels a system with 2.28 takes (Debian 10, RHEL 8, Ubuntu 18.10 and newer)."""

MACOS = (11, 12, 13)
"""Versions of macOS whose wheels macOS 13 takes; the oldest for which all that is needed is built."""

SYSTEMS = {
    "Linux x86_64": [f"manylinux_2_{minor}_x86_64" for minor in GLIBC] + ["manylinux2014_x86_64"],
    "Linux aarch64": [f"manylinux_2_{minor}_aarch64" for minor in GLIBC] + ["manylinux2014_aarch64"],
    "macOS arm64": [f"macosx_{major}_0_arm64" for major in MACOS],
    "macOS x86_64": [f"macosx_10_{minor}_x86_64" for minor in range(9, 16)]
    + [f"macosx_{major}_0_x86_64" for major in MACOS],
    "Windows x86_64": ["win_amd64"],
}
NOT_BUILT = {("local", "Linux aarch64"): "xllamacpp", ("server", "Windows x86_64"): "uvloop"}
"""Requirements whose marker leaves out a system that this machine is not."""


def read_requirements() -> dict[str, list[str]]:
    """Return what the package needs: under an empty name always, under the name of an extra with that."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return {"": project["dependencies"], **project["optional-dependencies"]}


def find_missing(requirements: list[str], system: str, python: str) -> str:
    """Return an empty text if every requirement has a wheel there, else what pip says."""
    platforms = [f"--platform={name}" for name in SYSTEMS[system]]
    command = [sys.executable, "-m", "pip", "install", "--dry-run", "--ignore-installed", "--quiet", "--no-input"]
    command += ["--disable-pip-version-check", "--only-binary=:all:", "--implementation=cp", "--target=unused"]
    command += [f"--python-version={python}", *platforms, *requirements]
    answer = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    if answer.returncode == 0:
        return ""
    errors = [line for line in answer.stderr.splitlines() if line.startswith("ERROR:")]
    return errors[-1].removeprefix("ERROR: ") if errors else answer.stderr.strip()[-300:]


def say(line: str) -> None:
    """Print a line at once: the next one may take a minute."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--extras", action="store_true", help="each extra too")
    asked = parser.parse_args()
    needed = read_requirements()
    missing = dict[tuple[str, str, str], str]()
    for extra in needed if asked.extras else [""]:
        say(f"\n{extra or 'base'}: {', '.join(needed[extra])}\n")
        say(f"| | {' | '.join(PYTHONS)} |\n|---|{'---|' * len(PYTHONS)}")
        for system in SYSTEMS:
            left_out = NOT_BUILT.get((extra, system), "nothing")
            wanted = [one for one in needed[extra] if not one.startswith(left_out)]
            with ThreadPoolExecutor(2) as pool:
                found = list(pool.map(lambda python: find_missing(wanted, system, python), PYTHONS))  # noqa: B023
            say(f"| {system} | {' | '.join('no' if reason else 'yes' for reason in found)} |")
            for python, reason in zip(PYTHONS, found, strict=True):
                if reason:
                    missing[extra, system, python] = reason
    for (extra, system, python), reason in missing.items():
        say(f"{extra or 'base'}, {system}, {python}: {reason}")
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
