"""A page of the documentation as a session: its files are written, its commands are run, their answers compared.

A block with a title (```` ```text title="ferry.txt" ````) is a file. In a block of the kind `console` each line after
`$ ` is a command and what follows it is expected: `…` stands for anything, alone on a line for any number of lines. A
command without an expected answer may say what it likes, and has to succeed. `<!-- not run: why -->` before a block
leaves it out; `<!-- client: words -->` sends these words through the proxy that the page has started, as a chat client
would. Addresses of the reader's model and of the proxy stand for a scripted server and a free port.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import shlex
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from previously.cli.command_table import main
from tests.ports import find_port

MODEL, PROXY = "127.0.0.1:8080", "127.0.0.1:8642"
"""Addresses as pages give them."""

BLOCK = re.compile(
    r'(?P<skip><!-- not run:[^>]*-->\n)?^```(?P<kind>\w*)(?: title="(?P<title>[^"]+)")?\n(?P<body>.*?)^```$'
    r"|^<!-- client: (?P<said>.*?) -->$",
    re.MULTILINE | re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class FileStep:
    """A file to be written."""

    name: str
    text: str


@dataclass(frozen=True, slots=True)
class CommandStep:
    """A command, and what it should say."""

    command: str
    expected: str


@dataclass(frozen=True, slots=True)
class ClientStep:
    """Words that somebody says in a client of the proxy."""

    said: str


Step = FileStep | CommandStep | ClientStep


def list_steps(page: str) -> Iterator[Step]:
    """Yield what a page has its reader do, in order."""
    for block in BLOCK.finditer(page):
        if block["said"]:
            yield ClientStep(block["said"])
        elif block["skip"]:
            continue
        elif block["title"]:
            yield FileStep(block["title"], block["body"])
        elif block["kind"] == "console":
            for part in re.split(r"^\$ ", block["body"], flags=re.MULTILINE)[1:]:
                command, _, expected = part.partition("\n")
                while expected.startswith("> "):
                    more, _, expected = expected.partition("\n")
                    command += "\n" + more.removeprefix("> ")
                yield CommandStep(command, expected.strip("\n"))


def is_as_expected(said: str, expected: str) -> bool:
    """Return whether a command said what a page says it does."""
    lines = [re.escape(line.rstrip()).replace("…", ".*?") for line in expected.splitlines()]
    pattern = "".join(r"(?:[^\n]*\n)*?" if line == ".*?" else line + r"\n" for line in lines)
    return re.fullmatch(pattern, "".join(line.rstrip() + "\n" for line in said.strip("\n").splitlines())) is not None


class Session:
    """A reader at a terminal, in an empty folder."""

    def __init__(
        self, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], model: str
    ) -> None:
        self.folder = folder
        self._monkeypatch, self._capsys = monkeypatch, capsys
        self._addresses = {MODEL: model, PROXY: f"127.0.0.1:{find_port()}"}
        self._server: subprocess.Popen[str] | None = None
        monkeypatch.chdir(folder)
        monkeypatch.setenv("XDG_DATA_HOME", str(folder / ".data"))
        monkeypatch.setenv("XDG_CONFIG_HOME", str(folder / ".config"))
        monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
        monkeypatch.setenv("COLUMNS", "100")
        for name in ("PREVIOUSLY_DB", "FORCE_COLOR", "NO_COLOR", "TTY_COMPATIBLE"):
            monkeypatch.delenv(name, raising=False)

    def do(self, step: Step) -> None:
        """Do one thing, and fail if it does not come out as the page says."""
        if isinstance(step, FileStep):
            (self.folder / step.name).write_text(self._translate(step.text), "utf-8")
        elif isinstance(step, ClientStep):
            self._ask_proxy(step.said)
        else:
            code, said = self.run(step.command)
            assert code == 0 or "previously: " in step.expected, f"$ {step.command}\n{said}"
            assert not step.expected or is_as_expected(said, step.expected), f"$ {step.command}\n{said}"

    def run(self, command: str) -> tuple[int, str]:
        """Run a command; those of ours in this process, a server beside it, all others in a shell."""
        command = self._translate(command)
        if " && previously " in command:
            first, _, rest = command.partition(" && ")
            code, said = self.run(first)
            return (code, said) if code else self.run(rest)
        if command.startswith("export "):
            for name, _, value in (word.partition("=") for word in shlex.split(command)[1:]):
                self._monkeypatch.setenv(name, value)
            return 0, ""
        if command.startswith("previously serve"):
            return 0, self._start_server(shlex.split(command, comments=True))
        if command.startswith("previously ") and not re.search(
            r"[|><;&]|\$\(", re.sub(r"'[^']*'|\"[^\"]*\"", "", command)
        ):
            return self._run_here(shlex.split(command, comments=True)[1:])
        done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, cwd=self.folder, check=False)
        return done.returncode, self._translate_back(done.stdout + done.stderr)

    def close(self) -> None:
        """Stop what was started."""
        if self._server is not None:
            self._server.terminate()
            self._server.wait(timeout=30)
            assert self._server.stdout is not None
            self._server.stdout.close()

    def _run_here(self, arguments: list[str]) -> tuple[int, str]:
        self._monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(), encoding="utf-8"))
        self._capsys.readouterr()
        code = main(arguments)
        said = self._capsys.readouterr()
        return code, self._translate_back(said.err + said.out)

    def _start_server(self, command: list[str]) -> str:
        port = self._addresses[PROXY].partition(":")[2]
        self._server = subprocess.Popen(
            [*command, "--port", port], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=self.folder
        )
        assert self._server.stdout is not None
        lines: list[str] = []
        for line in self._server.stdout:
            lines.append(line)
            if "Remembering at" in line:
                break
        threading.Thread(target=self._drain, daemon=True).start()
        self._wait_for_server()
        return self._translate_back("".join(lines))

    def _wait_for_server(self) -> None:
        """Wait until it takes requests: it says where it is a moment before it listens."""
        assert self._server is not None
        while self._server.poll() is None:
            with (
                contextlib.suppress(OSError),
                urllib.request.urlopen(f"http://{self._addresses[PROXY]}/healthz", timeout=5),
            ):
                return
            time.sleep(0.05)

    def _drain(self) -> None:
        """Read what the server goes on to say, so that its pipe is never full."""
        assert self._server is not None
        assert self._server.stdout is not None
        with contextlib.suppress(ValueError):  # closed meanwhile
            for _ in self._server.stdout:
                pass

    def _ask_proxy(self, said: str) -> None:
        body = {"model": "any", "messages": [{"role": "user", "content": said}]}
        url = f"http://{self._addresses[PROXY]}/v1/chat/completions"
        headers = {"Content-Type": "application/json"}
        with urllib.request.urlopen(
            urllib.request.Request(url, json.dumps(body).encode(), headers), timeout=60
        ) as answer:
            assert answer.headers["X-Previously-Memory"] == "on"
            assert json.load(answer)["choices"][0]["message"]["content"]

    def _translate(self, text: str) -> str:
        return _replace(text, self._addresses)

    def _translate_back(self, text: str) -> str:
        return _replace(text, {real: shown for shown, real in self._addresses.items()})


def _replace(text: str, addresses: Mapping[str, str]) -> str:
    for old, new in addresses.items():
        text = text.replace(old, new)
    return text
