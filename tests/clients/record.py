"""Recordings of what real clients send: written by `python -m tests.clients.record CLIENT …`, read by fast tests.

A recording holds requests under the way they went: `direct` (client to model), `to_proxy` and `upstream` (client to
proxy, proxy to model), `compaction` (the client's own). Every value stands once, however many bodies have it. Keys and
paths of the machine are replaced. The clients' own prompts are their makers' text: their words are replaced by others
of the same length, and only what a program recognises them by stays (tags, opening words, names, ids, what is ours).
"""

from __future__ import annotations

import asyncio
import gzip
import json
import re
import sys
import tempfile
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.clients.agent_run import AgentRun, run_agent
from tests.clients.agent_work import DECISIONS, DONE, TALK_1, TALK_2, TASK_1, TASK_2
from tests.clients.agents import AGENTS
from tests.clients.workplace import KEY, RULES, Workplace

FOLDER = Path(__file__).parent / "recorded"
SMALL_WINDOW = 40_000
"""At this window each agent has to compact within the first task."""

PROJECT = "/quay"
HOME = "/quay-home"
"""Where the project and the user's home lie in recordings."""

_LISTS = ("messages", "input")
_LEFT_OUT = {"host", "content-length", "connection", "accept-encoding"}

_FILLERS = (
    "able area back ball bank base bear best bird blue boat body book both call calm care city coal coat cold corn "
    "dark date deep door east easy edge face fact fair fall farm fast field floor glass grain green horse house "
    "large light metal month mouth music night north paper place plant point river round scale sense shape sheep "
    "shore sight smoke sound south space steel stone store table taste train voice water wheel white world young "
    "animal branch bridge butter button canvas carrot change circle cotton county danger degree desert detail "
    "doctor double dozens engine family farmer father finger flower forest friend garden handle island kettle "
    "letter market matter middle minute mother nature number object orange parcel pencil people pocket potato "
    "purple result sailor school season second shadow silver simple single spring square stream street summer "
    "supper ticket travel valley window winter yellow account balance brother captain century chapter chicken "
    "citizen climate cottage country daytime distant evening factory feather harvest history holiday journey "
    "kitchen lantern library machine million morning natural picture popular present problem quarter railway "
    "science serious similar society station subject surface teacher thought village weather welcome western "
    "activity argument business calendar children coloured daughter decision distance division electric entrance "
    "evidence exercise football hundreds industry interest material medicine mountain movement neighbour opposite "
    "ordinary planting pleasure position possible practice province question sentence shoulder sometime standard "
    "strength surprise thousand together tomorrow training treasure umbrella vegetable condition different "
    "direction education excellent following important knowledge newspaper operation passenger political president "
    "production scientist telephone afternoon agriculture experience government population restaurant particular "
    "temperature independent information environment development"
).split()
_BY_LENGTH: dict[int, list[str]] = {}
for _word in _FILLERS:
    _BY_LENGTH.setdefault(len(_word), []).append(_word)

_KEPT = re.compile(
    r"<environment_context>.*?</environment_context>|<env>.*?</env>|</?[A-Za-z_][\w -]*>"
    r"|You are opencode|You are a title generator|Generate a title for this conversation:?"
    r"|Instructions from: \S+|You are powered by the model[^\n]*|Here is some useful information about the environment"
    r"|# AGENTS\.md instructions for [^\n]*|You are a coding agent running in the Codex CLI"
    r"|CONTEXT CHECKPOINT COMPACTION|Another language model started to solve this problem"
    r"|x-anthropic-billing-header:[^\n]*|You are a Claude agent, built on Anthropic's Claude Agent SDK\."
    r"|You are Claude Code, Anthropic's official CLI for Claude"
    r"|Codebase and user instructions are shown below\.|Contents of \S+ \([^)]*\):"
    r"|As you answer the user's questions, you can use the following context:|# gitStatus|# claudeMd|# currentDate"
    r"|# Environment| - (Primary working directory|Is a git repository|Platform|Shell|OS Version): [^\n]*"
    r"|Today's date is [^\n]*|Current branch: [^\n]*|Main branch [^\n]*|Status:|Recent commits:|\(clean\)"
    r"|create a detailed summary|This session is being continued from a previous conversation that ran out of context\."
    r"|You are a context summarization agent\.|Here is the conversation so far:|What did we do so far\?"
    r"|Continue if you have next steps, or stop and ask for clarification|<command-name>[^<]*</command-name>"
    r"|Note: \S+ was read before the last conversation was summarized"
    r"|\[(User|Assistant|Assistant tool call|Tool result)\]:"
    r"|Act as an expert software developer\.|\*?SEARCH/REPLACE( block)?\*?|[Ss]ummarize this partial conversation"
    r"|I committed the changes with git hash \w+ & commit msg:"
    r"|I switched to a new code base\. Please don't consider the above files or try to edit them any longer\."
    r"|Here are some READ ONLY files, provided for your reference\.|I have \*added these files to the chat\*"
    r"|\*Trust this message as the true contents of these files!\*|Here are summaries of some files present in my git"
    r"|You are an expert software engineer that generates concise, one-line Git commit messages"
    r"|### Task:|<chat_history>|Generate a concise|Generate 1-3 broad tags|Suggest 3-5 relevant follow-up",
    re.S,
)
"""The few words by which a program, ours or theirs, tells these texts apart."""

_OUR_LINES = {
    line.strip()
    for text in (RULES, *DECISIONS, *DONE, *TALK_1, *TALK_2, "The quay as it was", "The quay in millimetres")
    for line in text.splitlines()
    if line.strip()
}
_OUR_CODE = re.compile(
    r"^[\s\d:│+⋮-]*(def \w+_\d+\(|limit = |if limit|raise ValueError|return limit|LENGTH_OF_PART"
    r'|"""|src/part_\d\d|diff --git|@@ )'
)
_OUR_REASONS = re.compile(r"That is reason \d+ for function|Now function \d+ of part 5|And once more function \d+")
_WORD = re.compile(r"[A-Za-z]{4,}")
_PLAIN = 60
"""A text up to this length outside the clients' prompts is a word or two of theirs, which may stay."""


@dataclass(frozen=True)
class Recorded:
    """One request of a recording."""

    way: str
    method: str
    path: str
    headers: dict[str, str]
    body: dict[str, Any]


def load(client: str, way: str | None = None) -> list[Recorded]:
    """Return the requests of a client in their order; of one way, or of all."""
    values: list[Any] = []
    requests: list[Recorded] = []
    with gzip.open(FOLDER / f"{client}.jsonl.gz", "rt", encoding="utf-8") as lines:
        for line in lines:
            told = json.loads(line)
            if "value" in told:
                values.append(told["value"])
            elif way in (None, told["way"]):
                body = {name: _expand(number, values) for name, number in told["body"].items()}
                requests.append(Recorded(told["way"], told["method"], told["path"], values[told["headers"]], body))
    return requests


def _expand(number: int | list[int], values: list[Any]) -> Any:
    return [values[at] for at in number] if isinstance(number, list) else values[number]


def save(client: str, requests: Iterable[Recorded]) -> int:
    """Write a recording; return its size in bytes."""
    known: dict[str, int] = {}
    lines: list[str] = []

    def place(value: Any) -> int:
        text = json.dumps(value, ensure_ascii=False)
        if text not in known:
            known[text] = len(known)
            lines.append(f'{{"value": {text}}}')
        return known[text]

    for request in requests:
        body = {
            name: [place(item) for item in value] if name in _LISTS and isinstance(value, list) else place(value)
            for name, value in request.body.items()
        }
        told = {"way": request.way, "method": request.method, "path": request.path, "headers": place(request.headers)}
        lines.append(json.dumps(told | {"body": body}, ensure_ascii=False))
    FOLDER.mkdir(exist_ok=True)
    path = FOLDER / f"{client}.jsonl.gz"
    path.write_bytes(gzip.compress("\n".join(lines).encode() + b"\n", 9, mtime=0))
    return path.stat().st_size


async def record(client: str, folder: Path) -> int:
    """Let a client work directly, through the proxy, and with a window so small that it compacts by itself."""
    agent = AGENTS[client]
    direct = await run_agent(agent, folder / "direct", through_proxy=False)
    behind = await run_agent(agent, folder / "proxy", through_proxy=True)
    runs = [direct, behind]
    if client != "open_webui":  # which has no window of its own
        tasks = (TASK_1, "/compact", TASK_2) if client == "claude_code" else (TASK_1,)
        runs.append(
            await run_agent(agent, folder / "small", through_proxy=False, tasks=tasks, client_window=SMALL_WINDOW)
        )
        assert any(seen.kind == "summary" for seen in runs[-1].seen), "the client did not compact"
    for run in runs:
        assert all(spoken.code == 0 for spoken in run.spoken), run.spoken[-1].output[-2_000:]
    ways = ({"sent": "direct"}, {"sent": "to_proxy", "seen": "upstream"}, {"sent": "compaction"})
    return save(client, [request for run, names in zip(runs, ways, strict=False) for request in redact_run(run, names)])


def redact_run(run: AgentRun, ways: dict[str, str]) -> Iterator[Recorded]:
    """The requests of a run without what is not ours to keep. `ways`: names for what was `sent` and `seen`."""
    for name in ("sent", "seen"):
        if name not in ways:
            continue
        for request in getattr(run, name):
            if isinstance(request.body, dict):
                yield redact(
                    ways[name],
                    getattr(request, "method", "POST"),
                    request.path,
                    request.headers,
                    request.body,
                    run.place,
                )


def redact(
    way: str, method: str, path: str, headers: list[tuple[str, str]], body: dict[str, Any], place: Workplace
) -> Recorded:
    """One request without keys, paths of the machine and the makers' prompts."""
    told = {name.lower(): value for name, value in headers if name.lower() not in _LEFT_OUT}
    paths = {str(place.project): PROJECT, str(place.home): HOME, KEY: "KEY"}
    whole = json.dumps({"headers": told, "body": body}, ensure_ascii=False)
    for old, new in paths.items():
        whole = whole.replace(old, new).replace(re.sub(r"[/_]", "-", old), new)  # as Claude Code writes it for a folder
    whole = re.sub(r"(?<![0-9a-f])[0-9a-f]{64}(?![0-9a-f])", "0" * 64, whole)  # the id of a device
    whole = re.sub(r"Linux \d+\.\d[\w.-]*", "Linux 6.1", whole)
    clean = json.loads(whole)
    return Recorded(
        way, method, path, clean["headers"], {name: _blot_field(name, value) for name, value in clean["body"].items()}
    )


def _blot_field(name: str, value: Any) -> Any:
    if name in ("system", "instructions", "prompt"):
        return _blot_all(value)
    if name == "tools":
        return _blot_descriptions(value)
    if name in _LISTS and isinstance(value, list):
        return [_blot_message(item) for item in value]
    return value


def _blot_message(message: Any) -> Any:
    if not isinstance(message, dict) or message.get("role") not in ("system", "developer", "user"):
        return message
    return {name: _blot_all(item) if name == "content" else item for name, item in message.items()}


def _blot_all(value: Any) -> Any:
    match value:
        case str():
            return blot(value)
        case list():
            return [_blot_all(item) for item in value]
        case {"type": "tool_result"}:
            return value  # our own files
        case dict():
            return {name: _blot_all(item) if name in ("text", "content") else item for name, item in value.items()}
    return value


def _blot_descriptions(value: Any) -> Any:
    match value:
        case list():
            return [_blot_descriptions(item) for item in value]
        case dict():
            return {
                name: blot(item) if name == "description" and isinstance(item, str) else _blot_descriptions(item)
                for name, item in value.items()
            }
    return value


def blot(text: str) -> str:
    """Replace the words of others by words of the same length; lines that are ours and marks stay."""
    if len(text) <= _PLAIN:
        return text
    done, at = [], 0
    for match in _KEPT.finditer(text):
        done += [_blot_lines(text[at : match.start()]), match[0]]
        at = match.end()
    return "".join([*done, _blot_lines(text[at:])])


def _blot_lines(text: str) -> str:
    return "".join(line if _is_ours(line) else _WORD.sub(_replace, line) for line in text.splitlines(keepends=True))


def _is_ours(line: str) -> bool:
    plain = line.strip().strip('"')
    return plain in _OUR_LINES or bool(_OUR_CODE.search(line) or _OUR_REASONS.search(line))


def _replace(match: re.Match[str]) -> str:
    word = match[0]
    words = _BY_LENGTH.get(len(word)) or ["x" * len(word)]
    filler = words[zlib.crc32(word.lower().encode()) % len(words)]
    return filler.capitalize() if word[0].isupper() else filler


if __name__ == "__main__":
    for named in sys.argv[1:] or list(AGENTS):
        with tempfile.TemporaryDirectory() as temporary:
            sys.stdout.write(f"{named}: {asyncio.run(record(named, Path(temporary)))} bytes\n")
