"""Shell commands and what they print: the files they touch, whether they failed, and the line that tells it.

Commands are read by their words, never run. A failure is told by exit codes and by the words of common tools; output
that only speaks of errors is none. Reading is total and linear.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise

from previously.core.patterns import lazy_pattern
from previously.text.cuts import clip

LONGEST_READ = 6_000
"""Characters of a command that are looked at: what follows is text that is written somewhere."""


class Act(StrEnum):
    """The acts on a file."""

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


_TOKEN = lazy_pattern(r"\"(?:[^\"\\]|\\.)*\"|'[^']*'|&&|\|\||>>|[;|&<>\n]|(?:\\.|[^\s;|&<>\"'])+|[\"']", re.S)
_HEREDOC = lazy_pattern(r"<<-?\s*(?P<quote>[\"']?)(?P<word>\w{1,40})(?P=quote)")
_REDIRECTED = lazy_pattern(r"\d?>&\d|&>>?\s{0,3}\S{1,200}|\b2>>?\s{0,3}\S{1,200}")
_ENDS = frozenset({"&&", "||", ";", "|", "&", "\n"})
_ENVIRONMENT = lazy_pattern(r"[A-Za-z_]\w*=\S*")
_BEFORE = frozenset("sudo time env nohup exec command xargs npx uvx timeout nice poetry pipenv rye hatch pdm".split())
_VIA_RUN = frozenset({"uv", "poetry", "pipenv", "rye", "hatch", "pdm"})

_EXTENSION = lazy_pattern(r"\.[A-Za-z][A-Za-z0-9_]{0,9}$|\.(?:7z|mp3|mp4|h5|f90)$")
_NOT_A_PATH = lazy_pattern(r"[*?{}$`=|!^\\()\[\]\"']|://|^-|^@|^s/|^/dev/|^\.{1,2}/?$|^/$|^\d+(?:\.\d+)*$|\.{3}|[,;:]$")
_NAMES = frozenset(
    "makefile dockerfile license readme procfile gemfile rakefile justfile vagrantfile jenkinsfile".split()
)
_DOMAIN = lazy_pattern(r"^[\w\-]+(?:\.[\w\-]+)*\.(?:com|org|net|io|dev|ai)$", re.I)

_READERS = frozenset("cat head tail less more nl bat view open xxd od tac".split())
_RUNNERS = frozenset("python python3 node deno bun ruby perl php bash sh zsh pytest lua rscript tsx ts-node".split())
_LOOKERS = frozenset(
    "ls cat head tail less more grep rg ag find fd tree which whereis type pwd cd echo printf wc stat file du df env "
    "test open goto scroll_up scroll_down search_dir search_file find_file view true false sleep ps date whoami awk "
    "sort uniq diff nl bat jq cut tr history submit exit".split()
)
_LOOKS_IN_GIT = frozenset("status log diff show branch blame remote ls-files rev-parse grep stash describe".split())


def looks_like_path(word: str) -> bool:
    """Return whether a word can be nothing but a file or a folder."""
    if not 2 < len(word) <= 240 or _NOT_A_PATH.search(word) or _DOMAIN.search(word):
        return False
    return (
        "/" in word.strip("/")
        or bool(_EXTENSION.search(word))
        or word.lower() in _NAMES
        or word.startswith(("~/", "/"))
    )


def split_steps(command: str) -> list[list[str]]:
    """The simple commands of a command line, as words; what is written to a program's input is left out."""
    text = _REDIRECTED.sub(" ", _without_heredocs(command[:LONGEST_READ]))
    steps: list[list[str]] = [[]]
    for match in _TOKEN.finditer(text):
        token = match.group()
        if token in _ENDS:
            steps.append([])
        else:
            steps[-1].append(token)
    return [step for step in map(_bare, steps) if step]


def _without_heredocs(text: str) -> str:
    pieces: list[str] = []
    at = 0
    while match := _HEREDOC.search(text, at):
        line_end = text.find("\n", match.end())
        pieces.append(text[at : match.start()])
        if line_end < 0:
            at = match.end()
            continue
        pieces.append(text[match.end() : line_end])
        end = text.find(f"\n{match['word']}", line_end)
        at = len(text) if end < 0 else end + 1 + len(match["word"])
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


def find_touched(command: str) -> list[Touch]:
    """The files that a command line reads, runs, writes or removes, as far as that is certain."""
    touches: list[Touch] = []
    for step in split_steps(command):
        touches += _written(step)
        words = [_unquoted(word) for word in step]
        program = words[0].rsplit("/", 1)[-1].lower()
        paths = [word for word in _arguments(words) if looks_like_path(word)]
        touches += _of_program(program, words, paths)
    return touches


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
    """Return where output is sent to."""
    touches: list[Touch] = []
    for sign, target in pairwise(step):
        path = _unquoted(target)
        if sign in (">", ">>") and looks_like_path(path):
            touches.append(Touch(path, Act.CREATED if sign == ">" else Act.EDITED))
    return touches


def _arguments(words: list[str]) -> list[str]:
    """The words behind the program, redirections left out."""
    arguments: list[str] = []
    skip = False
    for word in words[1:]:
        if word in (">", ">>", "<"):
            skip = True
        elif not skip:
            arguments.append(word)
        else:
            skip = False
    return arguments


def _unquoted(word: str) -> str:
    return word[1:-1] if len(word) > 1 and word[0] == word[-1] and word[0] in "\"'" else word


def only_looks(command: str) -> bool:
    """Return whether a command line changes and checks nothing: that it finds nothing is no failure."""
    for step in split_steps(command):
        program = _unquoted(step[0]).rsplit("/", 1)[-1].lower()
        if program == "git" and len(step) > 1 and step[1] in _LOOKS_IN_GIT:
            continue
        if program == "sed" and "-n" in step:
            continue
        if program not in _LOOKERS or ">" in step:
            return False
    return True


_MATTERS = lazy_pattern(
    r"\b(?:pytest|unittest|tox|nox|npm|yarn|pnpm|bun|cargo|go|make|mvn|gradle|gradlew|ctest|cmake|ruff|mypy|"
    r"pyright|eslint|"
    r"tsc|jest|vitest|pip|pip3|uv|poetry|docker|terraform|kubectl|alembic|rake|rails|rspec|dotnet|python|python3|"
    r"node|"
    r"ruby|bash|sh|swift|ninja|bazel|black|prettier|phpunit|composer|psql|sqlite3|playwright|cypress|deno|javac|"
    r"java|gcc)\b"
    r"|\bgit (?:commit|push|merge|rebase|tag|cherry-pick|am|apply|pull|clone|switch|checkout -b)\b|(?:^|[\s;&])\./\S"
)


def matters(command: str) -> bool:
    """Return whether a command line builds, checks, installs or publishes something."""
    return bool(_MATTERS.search(command[:400])) and not only_looks(command)


def find_command_key(command: str) -> tuple[str, ...]:
    """Return what two command lines have in common when they try the same: programs and what they are given, without
    flags."""
    key: list[str] = []
    for step in split_steps(command):
        words = [_unquoted(word) for word in step]
        if words[0] in ("cd", "head", "tail", "echo", "cat", "tee", "grep", "source", "export", "set"):
            continue
        key.append(words[0].rsplit("/", 1)[-1])
        key += [word for word in _arguments(words) if not word.startswith("-") and word not in ("2", "1")]
    return tuple(key)


LOOKED_AT = 12_000
"""Characters at the end of an output, and half as many at its beginning, that are looked at."""

LONGEST_ERROR = 300

_EXIT = lazy_pattern(
    r"(?:exit(?:ed)?(?: with)?(?: exit)?[ _]?(?:code|status)[:= ]{1,3}|<returncode>\s{0,3}|returncode[:= ]{1,3}|"
    r"\"exit_?code\": ?|process exited with code )(?P<code>-?\d{1,5})",
    re.I,
)
_SOME_FAILED = lazy_pattern(
    r"\b(?P<count>\d{1,6}) (?:failed|failing|failures?|errors?)\b|\bfailures?[:=] ?(?P<other>\d{1,6})", re.I
)
_TRACEBACK = lazy_pattern(
    r"^Traceback \(most recent call last\):|^[ \t]{0,20}(?:panic: |thread '[^'\n]{0,80}' panicked)", re.M
)

_EXCEPTION = lazy_pattern(
    r"^(?:E\s{1,8}|\W{0,6})?(?P<error>(?:[A-Za-z_][\w.]{0,80}(?:Error|Exception|Warning|Interrupt|Exit|Failure)|"
    r"AssertionError)"
    r"(?:: [^\n]{0,400})?)\s{0,20}$",
    re.M,
)
_SAID = lazy_pattern(
    r"^[^\S\n]{0,20}(?P<error>"
    r"(?:[\w./\\\-]{1,160}(?::\d{1,6}){1,2}:? ?-? ?)?(?:fatal )?error(?: ?\[?[A-Z]{0,4}\d{1,6}\]?)?: [^\n]{1,400}"
    r"|[\w./\\\-]{1,160}\(\d+,\d+\): error [^\n]{1,400}"
    r"|FAILED [^\n]{1,300}|--- FAIL: [^\n]{1,200}|npm (?:ERR!|error) (?!A complete log|code |errno )[^\n]{3,300}|"
    r"fatal: [^\n]{1,300}"
    r"|panic: [^\n]{1,300}|thread '[^'\n]{0,80}' panicked[^\n]{0,200}|make: \*\*\* [^\n]{1,200}"
    r"|(?:bash|sh|zsh|/bin/sh|/bin/bash): [^\n]{0,120}(?:not found|No such file|Permission denied|"
    r"syntax error)[^\n]{0,120}"
    r"|[^\n:]{1,120}: (?:command not found|No such file or directory|Permission denied)|(?-i:ERROR):? [^\n]{3,300}"
    r"|- E\d{3} [^\n]{3,200}"
    r")[^\S\n]{0,20}$",
    re.M | re.I,
)
_REFUSED = lazy_pattern(
    r"(?:error|fail(?:ed|ure)?|cannot|can't|could not|couldn't|unable|invalid|no such|not found|no match|denied|"
    r"rejected|"
    r"your proposed edit has introduced|old_string|search (?:text|string) not found|the edit was not|traceback|"
    r"interrupted)",
    re.I,
)
_EXPECTED = lazy_pattern(r"\b0 (?:failed|failures?|errors?)|no errors", re.I)


def cut_ends(text: str) -> str:
    """The parts of a long output where it says how it went."""
    return text if len(text) <= 2 * LOOKED_AT else f"{text[: LOOKED_AT // 2]}\n{text[-LOOKED_AT:]}"


def is_failed_command(output: str) -> bool:
    text = cut_ends(output)
    if any(int(found["count"] or found["other"]) for found in _SOME_FAILED.finditer(text) if _is_summary(text, found)):
        return True
    codes = [int(found["code"]) for found in _EXIT.finditer(text)]
    if codes:
        return codes[-1] != 0
    if _TRACEBACK.search(text) or _EXCEPTION.match(find_last_line(text)):
        return True
    return _said(text) is not None and not _EXPECTED.search(text)


def _is_summary(text: str, match: re.Match[str]) -> bool:
    """Return whether a count of failures stands in a line that sums up, not in some prose."""
    line = text[text.rfind("\n", 0, match.start()) + 1 : match.end() + 80].split("\n")[0]
    return (
        "passed" in line or line.lstrip("= \t").startswith(match[0]) or "failures" in line.lower() or "Tests:" in line
    )


def is_failed_edit(output: str) -> bool:
    """Return whether what an editing tool gave back begins by refusing."""
    first = output.strip().split("\n", 1)[0][:200]
    return bool(_REFUSED.match(first.lstrip("<>[]: "))) or first.lower().startswith(
        ("your proposed edit has introduced", "<error", "<tool_use_error", "error")
    )


def find_error(output: str) -> str:
    """The exact words of what went wrong, the last and most telling; the last line where nothing stands out."""
    text = cut_ends(output)
    thrown = [found["error"] for found in _EXCEPTION.finditer(text)]
    said = _said(text)
    if thrown:
        return clip(thrown[-1].strip(), LONGEST_ERROR)
    if said is not None:
        return clip(said, LONGEST_ERROR)
    lines = [line.strip() for line in text.splitlines() if _tells(line)]
    return clip(lines[-1], LONGEST_ERROR) if lines else ""


def _said(text: str) -> str | None:
    errors = [match["error"].strip() for match in _SAID.finditer(text)]
    strong = [one for one in errors if one.startswith(("FAILED ", "--- FAIL", "- E", "npm "))]
    return (strong or errors)[-1 if not strong else 0] if errors else None


_PROMPT = lazy_pattern(
    r"\s*(?:\(Open file: .*|\(Current directory: .*|bash-\$|</?\w+>|<returncode>.*|[=\-*~_\s]*|"
    r"\[Process.*|Exit code.*)\s*",
    re.I,
)

_SAYS_NOTHING = lazy_pattern(
    r"(?:your command ran successfully and did not produce any output|\(no output\)|no output|warning: |"
    r"\[notice\])",
    re.I,
)


def _tells(line: str) -> bool:
    return bool(line.strip()) and len(line) < 2_000 and not _PROMPT.fullmatch(line)


def find_last_line(output: str) -> str:
    for line in reversed(cut_ends(output).splitlines()):
        if _tells(line) and not _SAYS_NOTHING.match(line.strip()):
            return line.strip()
    return ""


_COMMITTED = lazy_pattern(r"^\[[\w./#\-]{1,120}(?: \([\w -]{1,40}\))? [0-9a-f]{7,40}\] [^\n]{1,200}$", re.M)


def find_telling_line(output: str) -> str:
    """The line of a success that is worth keeping: which commit was made, or else the last."""
    made = _COMMITTED.findall(cut_ends(output))
    return made[-1] if made else find_last_line(output)


def find_reported_errors(text: str) -> list[str]:
    """The errors that stand in a user's words or in what was pasted, each once."""
    errors = [match["error"] for match in _EXCEPTION.finditer(text) if ":" in match["error"]]
    errors += [match["error"].strip() for match in _SAID.finditer(text)]
    return list(dict.fromkeys(clip(error.strip(), LONGEST_ERROR) for error in errors))
