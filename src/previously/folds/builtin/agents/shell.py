"""Shell commands: what they are, and which files they touch.

Owns the reading of one command line. What must stay true: total and linear; a word that may be anything is no path; two
commands that differ only in flags, redirections or where they are run count as the same attempt.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise

LONGEST_READ = 6_000
"""Characters of a command that are looked at: what follows is text that is written somewhere."""


class Act(StrEnum):
    """What was done to a file."""

    READ = "read"
    RAN = "run"
    EDITED = "edited"
    CREATED = "created"
    REVERTED = "reverted"
    DELETED = "deleted"


@dataclass(frozen=True, slots=True)
class Touch:
    """One file, and what was done to it."""

    path: str
    act: Act


_TOKEN = re.compile(r"\"(?:[^\"\\]|\\.)*\"|'[^']*'|&&|\|\||>>|[;|&<>\n]|(?:\\.|[^\s;|&<>\"'])+|[\"']", re.S)
_HEREDOC = re.compile(r"<<-?\s*(?P<quote>[\"']?)(?P<word>\w{1,40})(?P=quote)")
_REDIRECTED = re.compile(r"\d?>&\d|&>>?\s{0,3}\S{1,200}|\b2>>?\s{0,3}\S{1,200}")
_ENDS = frozenset({"&&", "||", ";", "|", "&", "\n"})
_ENVIRONMENT = re.compile(r"[A-Za-z_]\w*=\S*")
_BEFORE = frozenset("sudo time env nohup exec command xargs npx uvx timeout nice poetry pipenv rye hatch pdm".split())
_VIA_RUN = frozenset({"uv", "poetry", "pipenv", "rye", "hatch", "pdm"})

_EXTENSION = re.compile(r"\.[A-Za-z][A-Za-z0-9_]{0,9}$|\.(?:7z|mp3|mp4|h5|f90)$")
_NOT_A_PATH = re.compile(r"[*?{}$`=|!^\\()\[\]\"']|://|^-|^@|^s/|^/dev/|^\.{1,2}/?$|^/$|^\d+(?:\.\d+)*$|\.{3}|[,;:]$")
_NAMES = frozenset(
    "makefile dockerfile license readme procfile gemfile rakefile justfile vagrantfile jenkinsfile".split()
)
_DOMAIN = re.compile(r"^[\w\-]+(?:\.[\w\-]+)*\.(?:com|org|net|io|dev|ai)$", re.I)

_READERS = frozenset("cat head tail less more nl bat view open xxd od tac".split())
_RUNNERS = frozenset("python python3 node deno bun ruby perl php bash sh zsh pytest lua rscript tsx ts-node".split())
_LOOKERS = frozenset(
    "ls cat head tail less more grep rg ag find fd tree which whereis type pwd cd echo printf wc stat file du df env "
    "test open goto scroll_up scroll_down search_dir search_file find_file view true false sleep ps date whoami awk "
    "sort uniq diff nl bat jq cut tr history submit exit".split()
)
_LOOKS_IN_GIT = frozenset("status log diff show branch blame remote ls-files rev-parse grep stash describe".split())


def looks_like_path(word: str) -> bool:
    """Whether a word can be nothing but a file or a folder."""
    if not 2 < len(word) <= 240 or _NOT_A_PATH.search(word) or _DOMAIN.search(word):
        return False
    return (
        "/" in word.strip("/")
        or bool(_EXTENSION.search(word))
        or word.lower() in _NAMES
        or word.startswith(("~/", "/"))
    )


def steps_of(command: str) -> list[list[str]]:
    """The simple commands of a command line, as words; what is written to a program's input is left out."""
    text = _REDIRECTED.sub(" ", _without_heredocs(command[:LONGEST_READ]))
    steps: list[list[str]] = [[]]
    for found in _TOKEN.finditer(text):
        token = found.group()
        if token in _ENDS:
            steps.append([])
        else:
            steps[-1].append(token)
    return [step for step in map(_bare, steps) if step]


def _without_heredocs(text: str) -> str:
    pieces: list[str] = []
    at = 0
    while found := _HEREDOC.search(text, at):
        line_end = text.find("\n", found.end())
        pieces.append(text[at : found.start()])
        if line_end < 0:
            at = found.end()
            continue
        pieces.append(text[found.end() : line_end])
        end = text.find(f"\n{found['word']}", line_end)
        at = len(text) if end < 0 else end + 1 + len(found["word"])
    return "".join([*pieces, text[at:]])


def _bare(step: list[str]) -> list[str]:
    """A simple command without what only says how it is run."""
    start = 0
    while start < len(step):
        word = step[start]
        through = word in _VIA_RUN and step[start + 1 : start + 2] == ["run"]
        if through:
            start += 2
        elif _ENVIRONMENT.fullmatch(word) or (word in _BEFORE and word not in _VIA_RUN):
            start += 2 if word == "timeout" else 1
        elif word in ("python", "python3") and step[start + 1 : start + 2] == ["-m"]:
            start += 2
        else:
            break
    return step[start:]


def touched_by(command: str) -> list[Touch]:
    """The files that a command line reads, runs, writes or removes, as far as that is certain."""
    found: list[Touch] = []
    for step in steps_of(command):
        found += _written(step)
        words = [_unquoted(word) for word in step]
        program = words[0].rsplit("/", 1)[-1].lower()
        paths = [word for word in _arguments(words) if looks_like_path(word)]
        found += _of_program(program, words, paths)
    return found


def _of_program(program: str, words: list[str], paths: list[str]) -> list[Touch]:
    second = words[1] if len(words) > 1 else ""
    if program in _READERS or (program == "sed" and "-n" in words):
        return [Touch(path, Act.READ) for path in paths]
    if program in ("sed", "perl") and any(word.startswith("-") and "i" in word[1:3] for word in words[1:4]):
        return [Touch(path, Act.EDITED) for path in paths[-3:]]
    if program in ("rm", "unlink") or (program == "git" and second == "rm"):
        return [Touch(path, Act.DELETED) for path in paths]
    if (program == "mv" or (program == "git" and second == "mv")) and len(paths) == 2:
        return [Touch(paths[0], Act.DELETED), Touch(paths[1], Act.CREATED)]
    if program == "cp" and len(paths) == 2:
        return [Touch(paths[1], Act.CREATED)]
    if program in ("touch", "tee", "create"):
        return [Touch(path, Act.EDITED if "-a" in words else Act.CREATED) for path in paths]
    if program == "git" and second in ("checkout", "restore"):
        return [Touch(path, Act.REVERTED) for path in paths if _EXTENSION.search(path) or "--" in words]
    if program in _RUNNERS and second != "-c":
        return [Touch(path.split("::")[0], Act.RAN) for path in paths[:1]]
    if words[0].startswith("./") and looks_like_path(words[0]):
        return [Touch(words[0], Act.RAN)]
    return []


def _written(step: list[str]) -> list[Touch]:
    """Where output is sent to."""
    found: list[Touch] = []
    for sign, target in pairwise(step):
        path = _unquoted(target)
        if sign in (">", ">>") and looks_like_path(path):
            found.append(Touch(path, Act.CREATED if sign == ">" else Act.EDITED))
    return found


def _arguments(words: list[str]) -> list[str]:
    """The words behind the program, redirections left out."""
    found: list[str] = []
    skip = False
    for word in words[1:]:
        if word in (">", ">>", "<"):
            skip = True
        elif not skip:
            found.append(word)
        else:
            skip = False
    return found


def _unquoted(word: str) -> str:
    return word[1:-1] if len(word) > 1 and word[0] == word[-1] and word[0] in "\"'" else word


def only_looks(command: str) -> bool:
    """Whether a command line changes and checks nothing: that it finds nothing is no failure."""
    for step in steps_of(command):
        program = _unquoted(step[0]).rsplit("/", 1)[-1].lower()
        if program == "git" and len(step) > 1 and step[1] in _LOOKS_IN_GIT:
            continue
        if program == "sed" and "-n" in step:
            continue
        if program not in _LOOKERS or ">" in step:
            return False
    return True


_MATTERS = re.compile(
    r"\b(?:pytest|unittest|tox|nox|npm|yarn|pnpm|bun|cargo|go|make|mvn|gradle|gradlew|ctest|cmake|ruff|mypy|"
    r"pyright|eslint|"
    r"tsc|jest|vitest|pip|pip3|uv|poetry|docker|terraform|kubectl|alembic|rake|rails|rspec|dotnet|python|python3|"
    r"node|"
    r"ruby|bash|sh|swift|ninja|bazel|black|prettier|phpunit|composer|psql|sqlite3|playwright|cypress|deno|javac|"
    r"java|gcc)\b"
    r"|\bgit (?:commit|push|merge|rebase|tag|cherry-pick|am|apply|pull|clone|switch|checkout -b)\b|(?:^|[\s;&])\./\S"
)


def matters(command: str) -> bool:
    """Whether a command line builds, checks, installs or publishes something."""
    return bool(_MATTERS.search(command[:400])) and not only_looks(command)


def same_attempt(command: str) -> tuple[str, ...]:
    """What two command lines have in common when they try the same: programs and what they are given, without flags."""
    found: list[str] = []
    for step in steps_of(command):
        words = [_unquoted(word) for word in step]
        if words[0] in ("cd", "head", "tail", "echo", "cat", "tee", "grep", "source", "export", "set"):
            continue
        found.append(words[0].rsplit("/", 1)[-1])
        found += [word for word in _arguments(words) if not word.startswith("-") and word not in ("2", "1")]
    return tuple(found)
