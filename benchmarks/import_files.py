"""How fast does a file come in, and how much memory does it take?

`python -m benchmarks.import_files [--megabytes 20] [--formats jsonl,sillytavern,…] [--json]`

A generated story is written as a file of that size in each format and imported by the command, into an empty SQLite
file. CPU seconds are those of the command, from its start to its end; memory is the most that it held, above what
`previously stories` holds. `read` is the reading of the file alone. Before anything is measured the command has run
once with its modules compiled, as they are where it is installed.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
import zipfile
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from io import TextIOWrapper
from pathlib import Path
from typing import IO, Any

from previously.formats import open_story

WORDS = ("rain", "mill", "lantern", "promise", "ferry", "Odalys", "the", "key", "under", "stone", "said", "night")


def make_texts() -> Iterator[str]:
    """Yield messages of about 400 characters, no two alike."""
    number = 0
    while True:
        chosen = (WORDS[(number * 7 + at * at) % len(WORDS)] for at in range(70))
        yield f"{number}: {' '.join(chosen)}."
        number += 1


def write_jsonl(number: int, text: str) -> str:
    return json.dumps({"role": "user" if number % 2 else "assistant", "name": "Wren", "content": text})


def write_sillytavern(number: int, text: str) -> str:
    return json.dumps({"name": "Wren", "is_user": bool(number % 2), "mes": text, "send_date": "2026-01-01T00:00:00Z"})


def write_text(_: int, text: str) -> str:
    return f"{text}\n"


def write_claude_code(number: int, text: str) -> str:
    before = f"u{number - 1}" if number else None
    message = {"role": "user" if number % 2 else "assistant", "content": text}
    line = {"type": message["role"], "uuid": f"u{number}", "parentUuid": before, "sessionId": "s", "message": message}
    return json.dumps(line)


def write_codex(number: int, text: str) -> str:
    role, kind = ("user", "input_text") if number % 2 else ("assistant", "output_text")
    said = {"type": "message", "role": role, "content": [{"type": kind, "text": text}]}
    return json.dumps({"timestamp": "2026-01-01T00:00:00Z", "type": "response_item", "payload": said})


def write_claude(number: int, text: str) -> str:
    """Write a message of an export, which is one document without any line end; a conversation has a hundred."""
    place = number % IN_CONVERSATION
    message = {
        "uuid": f"m{number}",
        "sender": "human" if number % 2 else "assistant",
        "created_at": "2026-01-01T00:00:00Z",
        "text": text,
        "content": [{"type": "text", "text": text}],
    }
    start = {"uuid": f"c{number // IN_CONVERSATION}", "name": f"Night {number // IN_CONVERSATION}", "chat_messages": []}
    before = "," if place else f"{']},' if number else '['}{json.dumps(start)[:-2]}"
    return f"{before}{json.dumps(message)}"


def write_openai(number: int, text: str) -> str:
    """Write a message of one request, which is one document."""
    message = {"role": "user" if number % 2 else "assistant", "content": text}
    return ("," if number else '{"model": "any", "messages": [') + json.dumps(message)


def write_anthropic(number: int, text: str) -> str:
    message = {"role": "user" if number % 2 else "assistant", "content": [{"type": "text", "text": text}]}
    return ("," if number else '{"system": "You tell a story.", "messages": [') + json.dumps(message)


def write_rewinds(number: int, text: str) -> str:
    """Write a line of Claude Code; one in thousands goes back by ten."""
    line = json.loads(write_claude_code(number, text))
    if number % REWIND_EVERY == REWIND_EVERY - 1:
        line["parentUuid"] = f"u{number - REWIND_BY}"
    return json.dumps(line)


def write_rollbacks(number: int, text: str) -> str:
    """Write a line of Codex; before one in thousands, five turns are taken back."""
    line = write_codex(number, text)
    if number % REWIND_EVERY != REWIND_EVERY - 1:
        return line
    back = {"type": "thread_rolled_back", "num_turns": REWIND_BY // 2}
    return f"{json.dumps({'timestamp': '2026-01-01T00:00:00Z', 'type': 'event_msg', 'payload': back})}\n{line}"


REWIND_EVERY, REWIND_BY = 5_000, 10
"""Messages from one rewind to the next, and messages that it takes back: people do it now and then."""

IN_CONVERSATION = 100
"""Messages of a conversation in an export: more than most have, fewer than a long role-play."""


FORMATS: dict[str, tuple[str, Callable[[int, str], str]]] = {
    "jsonl": (".jsonl", write_jsonl),
    "sillytavern": (".jsonl", write_sillytavern),
    "text": (".txt", write_text),
    "claude-code": (".jsonl", write_claude_code),
    "codex": (".jsonl", write_codex),
    "claude": (".json", write_claude),
    "claude-zip": (".zip", write_claude),
    "openai": (".json", write_openai),
    "anthropic": (".json", write_anthropic),
    "claude-code-rewinds": (".jsonl", write_rewinds),
    "codex-rollbacks": (".jsonl", write_rollbacks),
}
_ENDS = {"claude": "]}]", "claude-zip": "]}]", "openai": "]}", "anthropic": "]}"}
"""The ends of documents that are no lines."""


def make_file(path: Path, name: str, size: int) -> int:
    """Write a file of that many bytes, as they are when it is unpacked; return how many messages it has."""
    write, end = FORMATS[name][1], _ENDS.get(name)
    written, number = 0, 0
    with _open_to_write(path) as file:
        for text in make_texts():
            line = write(number, text)
            written += file.write(line if end else f"{line}\n")
            number += 1
            if written >= size:
                file.write(end or "")
                return number
    raise AssertionError("there is no end of texts")


@contextmanager
def _open_to_write(path: Path) -> Iterator[IO[str]]:
    if path.suffix != ".zip":
        with path.open("w", encoding="utf-8") as file:
            yield file
        return
    with (
        zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive,
        archive.open("conversations.json", "w", force_zip64=True) as member,
        TextIOWrapper(member, "utf-8") as file,
    ):
        yield file


_ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


@dataclass(frozen=True)
class Cost:
    """The cost of one command."""

    cpu_s: float
    peak_mb: float


def run_command(*arguments: str) -> Cost:
    """Run `previously` with these arguments in a process of its own."""
    child = os.fork()
    if not child:
        quiet = os.open(os.devnull, os.O_WRONLY)
        os.dup2(quiet, 1)
        os.execve(sys.executable, [sys.executable, "-m", "previously", *arguments], _ENVIRONMENT)  # our own command
    _, status, used = os.wait4(child, 0)
    if status:
        raise RuntimeError(f"previously {' '.join(arguments)} ended with {status}")
    return Cost(used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)


def measure(name: str, megabytes: int, folder: Path) -> dict[str, Any]:
    path, place = folder / f"story{FORMATS[name][0]}", folder / f"{name}.db"
    messages = make_file(path, name, megabytes * 1_000_000)
    run_command("--db", str(place), "import", "--dry-run", str(path))
    idle = run_command("--db", str(place), "stories")
    first = run_command("--db", str(place), "import", str(path))
    again = run_command("--db", str(place), "import", str(path))
    began = time.process_time()
    source = open_story(path)
    deque(source.stream or source.stories or (), maxlen=0)
    read_s = time.process_time() - began
    path.unlink()
    place.unlink()
    return {
        "format": name,
        "megabytes": megabytes,
        "messages": messages,
        "mb_per_cpu_s": round(megabytes / first.cpu_s, 1),
        "read_mb_per_cpu_s": round(megabytes / read_s, 1),
        "again_mb_per_cpu_s": round(megabytes / again.cpu_s, 1),
        "above_idle_mb": round(first.peak_mb - idle.peak_mb),
        "again_above_idle_mb": round(again.peak_mb - idle.peak_mb),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description="How fast files come in, and how much memory they take.")
    parser.add_argument("--megabytes", type=int, default=20)
    parser.add_argument("--formats", default=",".join(FORMATS))
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="previously-import-") as folder:
        rows = [measure(name, asked.megabytes, Path(folder)) for name in asked.formats.split(",")]
    if asked.json:
        print(json.dumps({"files": rows}))
        return
    print(f"{'format':20}{'MB':>6}{'messages':>10}{'MB/CPU s':>10}{'read':>8}{'again':>8}{'MB above idle':>15}")
    for row in rows:
        print(
            f"{row['format']:20}{row['megabytes']:>6}{row['messages']:>10,}{row['mb_per_cpu_s']:>10}"
            f"{row['read_mb_per_cpu_s']:>8}{row['again_mb_per_cpu_s']:>8}{row['above_idle_mb']:>15}"
        )


if __name__ == "__main__":
    main()
