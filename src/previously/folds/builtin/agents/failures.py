"""Whether a command failed, and the exact words in which it said so.

Owns the signs of failure in outputs. What must stay true: what is quoted stands in the output word for word; a file
that happens to hold the word "error" is no failure; total and linear.
"""

from __future__ import annotations

import re

LOOKED_AT = 12_000
"""Characters at the end of an output, and half as many at its beginning, that are looked at."""

LONGEST_ERROR = 300

_EXIT = re.compile(
    r"(?:exit(?:ed)?(?: with)?(?: exit)?[ _]?(?:code|status)[:= ]{1,3}|<returncode>\s{0,3}|returncode[:= ]{1,3}|"
    r"\"exit_?code\": ?|process exited with code )(?P<code>-?\d{1,5})",
    re.I,
)
_SOME_FAILED = re.compile(
    r"\b(?P<count>\d{1,6}) (?:failed|failing|failures?|errors?)\b|\bfailures?[:=] ?(?P<other>\d{1,6})", re.I
)
_TRACEBACK = re.compile(
    r"^Traceback \(most recent call last\):|^[ \t]{0,20}(?:panic: |thread '[^'\n]{0,80}' panicked)", re.M
)

_EXCEPTION = re.compile(
    r"^(?:E\s{1,8}|\W{0,6})?(?P<error>(?:[A-Za-z_][\w.]{0,80}(?:Error|Exception|Warning|Interrupt|Exit|Failure)|"
    r"AssertionError)"
    r"(?:: [^\n]{0,400})?)\s{0,20}$",
    re.M,
)
_SAID = re.compile(
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
_REFUSED = re.compile(
    r"(?:error|fail(?:ed|ure)?|cannot|can't|could not|couldn't|unable|invalid|no such|not found|no match|denied|"
    r"rejected|"
    r"your proposed edit has introduced|old_string|search (?:text|string) not found|the edit was not|traceback|"
    r"interrupted)",
    re.I,
)
_EXPECTED = re.compile(r"\b0 (?:failed|failures?|errors?)|no errors", re.I)


def ends_of(text: str) -> str:
    """The parts of a long output where it says how it went."""
    return text if len(text) <= 2 * LOOKED_AT else f"{text[: LOOKED_AT // 2]}\n{text[-LOOKED_AT:]}"


def command_failed(output: str) -> bool:
    """Whether the output of a command says that it failed."""
    text = ends_of(output)
    if any(int(found["count"] or found["other"]) for found in _SOME_FAILED.finditer(text) if _is_summary(text, found)):
        return True
    codes = [int(found["code"]) for found in _EXIT.finditer(text)]
    if codes:
        return codes[-1] != 0
    if _TRACEBACK.search(text) or _EXCEPTION.match(last_line(text)):
        return True
    return _said(text) is not None and not _EXPECTED.search(text)


def _is_summary(text: str, found: re.Match[str]) -> bool:
    """Whether a count of failures stands in a line that sums up, not in some prose."""
    line = text[text.rfind("\n", 0, found.start()) + 1 : found.end() + 80].split("\n")[0]
    return (
        "passed" in line or line.lstrip("= \t").startswith(found[0]) or "failures" in line.lower() or "Tests:" in line
    )


def edit_failed(output: str) -> bool:
    """Whether what an editing tool gave back begins by refusing."""
    first = output.strip().split("\n", 1)[0][:200]
    return bool(_REFUSED.match(first.lstrip("<>[]: "))) or first.lower().startswith(
        ("your proposed edit has introduced", "<error", "<tool_use_error", "error")
    )


def error_in(output: str) -> str:
    """The exact words of what went wrong, the last and most telling; the last line where nothing stands out."""
    text = ends_of(output)
    thrown = [found["error"] for found in _EXCEPTION.finditer(text)]
    said = _said(text)
    if thrown:
        return _bounded(thrown[-1])
    if said is not None:
        return _bounded(said)
    lines = [line.strip() for line in text.splitlines() if _tells(line)]
    return _bounded(lines[-1]) if lines else ""


def _said(text: str) -> str | None:
    found = [match["error"].strip() for match in _SAID.finditer(text)]
    strong = [one for one in found if one.startswith(("FAILED ", "--- FAIL", "- E", "npm "))]
    return (strong or found)[-1 if not strong else 0] if found else None


_PROMPT = re.compile(
    r"\s*(?:\(Open file: .*|\(Current directory: .*|bash-\$|</?\w+>|<returncode>.*|[=\-*~_\s]*|"
    r"\[Process.*|Exit code.*)\s*",
    re.I,
)


_SAYS_NOTHING = re.compile(
    r"(?:your command ran successfully and did not produce any output|\(no output\)|no output|warning: |"
    r"\[notice\])",
    re.I,
)


def _tells(line: str) -> bool:
    return bool(line.strip()) and len(line) < 2_000 and not _PROMPT.fullmatch(line)


def _bounded(text: str) -> str:
    line = text.strip()
    return line if len(line) <= LONGEST_ERROR else f"{line[: LONGEST_ERROR - 1].rstrip()}…"


def last_line(output: str) -> str:
    """The last line of an output that says something."""
    for line in reversed(ends_of(output).splitlines()):
        if _tells(line) and not _SAYS_NOTHING.match(line.strip()):
            return line.strip()
    return ""


_COMMITTED = re.compile(r"^\[[\w./#\-]{1,120}(?: \([\w -]{1,40}\))? [0-9a-f]{7,40}\] [^\n]{1,200}$", re.M)


def telling_line(output: str) -> str:
    """The line of a success that is worth keeping: which commit was made, or else the last."""
    made = _COMMITTED.findall(ends_of(output))
    return made[-1] if made else last_line(output)


def errors_reported(text: str) -> list[str]:
    """The errors that stand in a user's words or in what was pasted, each once."""
    found = [match["error"] for match in _EXCEPTION.finditer(text) if ":" in match["error"]]
    found += [match["error"].strip() for match in _SAID.finditer(text)]
    return list(dict.fromkeys(map(_bounded, found)))
