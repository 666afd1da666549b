"""Old spellings of commands: they work for one release more, and say how the same is written now.

All of this goes with release 0.3. Nothing else in the package knows an old spelling.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence

from previously.cli import output
from previously.core.errors import BadInput

_RENAMED = {
    "rewrite": ("edit",),
    "chapter": ("chapters", "add"),
    "scene": ("scenes", "add"),
    "rebuild": ("fold", "--anew"),
}
_BOOKS = {"books": "list", "import": "add", "attach": "attach", "detach": "detach", "forget": "remove"}
_DEEDS = {
    "threads": {"--open": "add", "--resolve": "settle", "--reopen": "reopen", "--reword": "edit"},
    "state": {"--set": "add", "--end": "remove"},
    "wishes": {"--withdraw": "remove", "--reword": "edit"},
}
"""For each noun the options that were deeds, and the verbs they are now."""

_NUMBER = re.compile(r"[0-9]+")
_VERSIONS = {"blame": 1, "diff": 2, "restore": 1, "approve": 0, "reject": 0}
"""Commands that took the ids of versions as bare numbers, and how many."""


def translate_old_spelling(arguments: Sequence[str]) -> list[str]:
    """Return the arguments as they are written now; a hint goes to stderr where they were written otherwise."""
    front, rest = _split_globals(list(arguments))
    new = _translate(rest)
    if new != rest:
        said = " ".join(map(shlex.quote, new))
        output.note(f"Hint: this is now `previously {said}`; the old spelling goes with the next release.")
    return [*front, *new]


def _split_globals(arguments: list[str]) -> tuple[list[str], list[str]]:
    """Return the global options, and the command with all behind it."""
    at = 0
    while at < len(arguments) and arguments[at].startswith("-"):
        at += 2 if arguments[at] == "--db" else 1
    return arguments[:at], arguments[at:]


def _translate(words: list[str]) -> list[str]:
    match words:
        case ["unpin", story, pin, *rest]:
            return ["remove", story, f"pin:{pin}", *rest]
        case ["lore", verb, *rest] if verb in _BOOKS:
            return ["books", _BOOKS[verb], *rest]
        case ["books", "export", *rest]:
            return ["lore", "export", *rest]
        case ["lore", "lock" | "unlock" as verb, story, entry, *rest]:
            return [verb, story, f"lore:{entry}", *rest]
        case ["cast", story, name, *rest] if story not in ("list", "show", "merge") and _are_names(story, name):
            return ["cast", "show", story, name, *rest]
        case [("threads" | "state" | "wishes") as noun, *rest]:
            return _translate_deed(noun, rest)
        case ["rebuild", story, *rest]:
            return ["fold", story, "--anew", *rest]
        case [command, *rest] if command in _RENAMED:
            return [*_RENAMED[command], *rest]
        case ["blame", story, "--message", position, *rest]:
            return ["blame", story, f"message:{position}", *rest]
        case [command, story, *rest] if command in _VERSIONS:
            most = _VERSIONS[command]
            return [command, story, *(_name_version(word) if at < most else word for at, word in enumerate(rest))]
    return words


def _are_names(*words: str) -> bool:
    return not any(word.startswith("-") for word in words)


def _name_version(word: str) -> str:
    return f"version:{word}" if _NUMBER.fullmatch(word) else word


def _split_value(word: str, options: Sequence[str]) -> list[str]:
    """Return `--open=TEXT` as two words."""
    option, equals, value = word.partition("=")
    return [option, value] if equals and option in options else [word]


def _translate_deed(noun: str, words: list[str]) -> list[str]:
    """Return `threads STORY --open TEXT` as `threads add STORY TEXT`."""
    deeds = _DEEDS[noun]
    words = [part for word in words for part in _split_value(word, (*deeds, "--to"))]
    given = [at for at, word in enumerate(words[:-1]) if word in deeds]
    if not given:
        if "--to" in words:
            raise BadInput("--reword and --to go together: which one, and the words it is given.")
        return [noun, *words]
    if len(given) > 1:
        raise BadInput(f"One thing at a time: {', '.join(words[at] for at in given)} are commands of their own now.")
    (at,) = given
    which = words[at + 1]
    others = [*words[:at], *words[at + 2 :]]
    story, *rest = others or [""]
    verb = deeds[words[at]]
    if verb == "edit":
        if "--to" not in rest:
            raise BadInput("--reword and --to go together: which one, and the words it is given.")
        rest = ["--text" if word == "--to" else word for word in rest]
    return [noun, verb, story, which, *rest]
