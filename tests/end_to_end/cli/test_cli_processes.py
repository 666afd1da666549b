"""Real processes: what only shows there. Start-up, streams, closed pipes, colours, Ctrl-C."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from previously import BlockingMemory
from tests.end_to_end.cli.running import Cli, sentence

PYTHON = [sys.executable, "-m", "previously"]


def run(*arguments: object, env: dict[str, str] | None = None, **more: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*PYTHON, *map(str, arguments)],
        capture_output=True,
        encoding="utf-8",
        env={**os.environ, **(env or {})},
        timeout=60,
        check=False,
    )


@pytest.mark.slow(reason="starts five processes")
def test_a_round(tmp_path: Path) -> None:
    db = tmp_path / "stories.db"
    added = run("--db", db, "add", "tale", "--role", "user", "--text", "Schnee über dem Pass. 雪", "--json")
    assert (added.returncode, json.loads(added.stdout)) == (0, {"story": "tale", "branch": "main", "messages": 1})
    assert added.stderr == "Started a new story, tale.\n"
    edited = run("--db", db, "edit", "tale", "-1", "--text", "雪が降る。", env={"PYTHONIOENCODING": "ascii"})
    assert edited.returncode == 0
    seen = run("--db", db, "view", "tale", "--json", env={"PYTHONIOENCODING": "ascii"})
    assert seen.stdout.isascii()
    assert json.loads(seen.stdout)["messages"][0]["content"] == "雪が降る。"
    people = run("--db", db, "view", "tale", env={"PYTHONIOENCODING": "ascii"})
    assert people.returncode == 0
    assert "t tail" in people.stdout
    wrong = run("--db", db, "view", "tale", "--budget", "1", "--json")
    assert (wrong.returncode, wrong.stdout) == (2, "")
    sentence(wrong.stderr)


NO_ENGINE = {
    *("pydantic", "numpy", "httpx", "json_repair", "re2", "ahocorasick_rs", "yaml"),
    *(
        f"previously.{package}"
        for package in "folds formats lore memory plan recall recognition server story view wire".split()
    ),
    *("previously.core.calibration", "previously.models.http", "previously.storage.verify", "previously.storage.gc"),
}
"""What a command that opens no story must not load: it takes longer than all the rest."""

NO_FOLDS = {
    *("pydantic", "numpy", "httpx", "json_repair"),
    *(f"previously.{package}" for package in "formats plan recall recognition server view wire".split()),
    *("previously.folds.recap", "previously.folds.update", "previously.runtime.fold_loop", "previously.models.http"),
}
"""What a command that lists something of a story must not load: it makes no view, folds nothing and asks nobody."""

NO_STORE = {"rich", "apsw", "asyncio", "previously.app", "previously.storage", "previously.runtime"}


@pytest.mark.parametrize(
    ("arguments", "absent"),
    [
        ("--help", NO_ENGINE | NO_STORE),
        ("--version", NO_ENGINE | NO_STORE),
        ("stories", NO_ENGINE),
        ("--db FILE stories", NO_ENGINE),
        ("--db FILE lore list tale", NO_FOLDS),
        ("--db FILE log tale", NO_FOLDS),
    ],
)
def test_a_command_loads_only_what_it_needs(arguments: str, absent: set[str], tmp_path: Path) -> None:
    script = (
        "import sys; from previously.cli.command_table import main; main(sys.argv[1:]);"
        "print(*sys.modules, file=sys.stderr)"
    )
    file = str(tmp_path / "stories.db")
    if "tale" in arguments:
        with BlockingMemory(file) as memory:
            memory.story("tale").write_lore("Grim", "character", content="A barkeeper.")
    command = [sys.executable, "-c", script, *arguments.replace("FILE", file).split()]
    environment = {**os.environ, "PREVIOUSLY_DB": file}
    ran = subprocess.run(command, capture_output=True, encoding="utf-8", check=True, timeout=60, env=environment)
    assert not set(ran.stderr.split()) & absent


@pytest.mark.skipif(sys.platform == "win32", reason="pseudo-terminals are POSIX")
@pytest.mark.parametrize("plain", [False, True])
def test_colours_only_where_they_are_wanted(tale: Cli, plain: bool) -> None:
    import pty

    leader, follower = pty.openpty()
    env = {key: value for key, value in os.environ.items() if key != "NO_COLOR"}
    env |= {"TERM": "xterm-256color", **({"NO_COLOR": "1"} if plain else {})}
    process = subprocess.Popen(
        [*PYTHON, "--db", str(tale.db), "view", "tale"], stdout=follower, stderr=subprocess.PIPE, env=env
    )
    os.close(follower)
    shown = b""
    while True:
        try:
            data = os.read(leader, 65536)
        except OSError:
            break
        if not data:
            break
        shown += data
    os.close(leader)
    _, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (0, b"")
    assert (b"\x1b[" in shown) is not plain
    assert b"Orla" in shown


@pytest.mark.slow(reason="shows a megabyte in two processes")
def test_a_reader_that_goes_away_is_no_error(cli: Cli) -> None:
    cli("add", "tale", "--role", "user", "--text", "-", stdin=b"many words " * 100_000)
    for flags in ((), ("--json",)):
        process = subprocess.Popen(
            [*PYTHON, "--db", str(cli.db), "view", "tale", "--budget", "900000", *flags],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == b""
        process.stderr.close()
        assert process.wait(timeout=60) == 0


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no full device")
def test_a_full_disk_is_one_sentence(tale: Cli) -> None:
    for flags in ((), ("--json",)):
        with Path("/dev/full").open("w") as full:
            ran = subprocess.run(
                [*PYTHON, "--db", str(tale.db), "view", "tale", *flags],
                stdout=full, stderr=subprocess.PIPE, encoding="utf-8", timeout=60, check=False,
            )  # fmt: skip
        assert ran.returncode == 1
        sentence(ran.stderr)


@pytest.mark.slow(reason="begins the demo in a process of its own")
@pytest.mark.skipif(sys.platform == "win32", reason="signals are POSIX")
def test_ctrl_c(tmp_path: Path) -> None:
    start = (
        "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
        "from previously.cli.main import run; run()"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", start, "--db", str(tmp_path / "stories.db"), "demo"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )  # fmt: skip
    assert process.stdout is not None
    for line in process.stdout:
        if b"249" in line:  # it is being folded now
            break
    time.sleep(0.2)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (130, b"")


@pytest.mark.skipif(sys.platform == "win32", reason="signals are POSIX")
def test_ctrl_c_while_the_command_is_being_loaded() -> None:
    """Importing a part of it raises what Ctrl-C raises."""
    start = (
        "import builtins; really = builtins.__import__\n"
        "def importing(name, *rest):\n"
        "    if name == 'typer': raise KeyboardInterrupt\n"
        "    return really(name, *rest)\n"
        "from previously.cli.main import run; builtins.__import__ = importing; run()"
    )
    ran = subprocess.run([sys.executable, "-c", start], capture_output=True, timeout=60, check=False)
    assert (ran.returncode, ran.stdout, ran.stderr) == (130, b"", b"")


@pytest.mark.skipif(sys.platform == "win32", reason="the shell's words are POSIX")
def test_closed_streams(tmp_path: Path) -> None:
    command = f'"{sys.executable}" -m previously --db "{tmp_path / "stories.db"}" add tale --role user --text'
    ran = subprocess.run(
        f"{command} - <&-; {command} x >&-; {command} x 2>&-",
        shell=True, capture_output=True, encoding="utf-8", timeout=60, check=False,
    )  # fmt: skip
    assert ran.returncode == 0
    assert ran.stderr == "previously: Standard input is closed.\nStarted a new story, tale.\n"
    assert ran.stdout == "Added message 1 to tale.\n"
