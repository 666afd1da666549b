r"""Keys that are regular expressions: how they are parsed, which are refused, and how many are searched for at once.

Every search is by RE2, whose time is linear in the text whatever the pattern is. Lookaround and backreferences cannot
be had that way and are refused, with RE2's own reason. Keys are written for JavaScript, so what it spells otherwise
is respelled here: `\/`, `\u00e9`, `\u{1F409}`, `\cA`, `[^]` and `[]`. No pattern takes more than linear time or more
than `MEMORY` bytes, and one that a set passes over does not occur in the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

import re2  # type: ignore[import-untyped]

from previously.core.json_values import clean
from previously.core.patterns import lazy_pattern

LONGEST_PATTERN = 2_000
"""Characters of a pattern; a longer one is refused. Those in books that people share have a few hundred at most."""

MEMORY = 1 << 20
"""Bytes RE2 may use for one pattern. With fewer it falls back to a slower way sooner; it never needs more."""

MOST_STEPS = 1_200
"""Size of a pattern once its counted repetitions are written out: what a character of text can cost."""

MOST_INSTRUCTIONS = 6_000
"""The same in RE2's own program, where classes of Unicode letters are large."""

_LITERAL = lazy_pattern(r"/(.+?)/([gimsuy]*)", re.DOTALL)
_INNER_SLASH = lazy_pattern(r"(?<!\\)(?:\\\\)*/")
_ESCAPE = lazy_pattern(r"\\u\{([0-9A-Fa-f]{1,6})\}|\\u([0-9A-Fa-f]{4})|\\c([A-Za-z])|\\(.)", re.DOTALL)
_ESCAPE_OR_CLASS = lazy_pattern(rf"{_ESCAPE.pattern}|(\[(?:\\.|[^\]\\])*\])", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Regex:
    """A pattern in RE2's spelling, flags included; `fault` says why it cannot be used, and is empty when it can."""

    pattern: str
    fault: str = ""


def parse_regex(key: str) -> Regex | None:
    """Return the pattern a key between slashes stands for; None for a plain key."""
    parts = _parts(key)
    if parts is None:
        return None
    source, flags = parts
    if len(source) > LONGEST_PATTERN:
        return Regex("", f"it is longer than {LONGEST_PATTERN:,} characters")
    used_flags = "".join(flag for flag in "ims" if flag in flags)
    pattern = (f"(?{used_flags})" if used_flags else "") + _ESCAPE_OR_CLASS.sub(_respelled, clean(source)[0])
    return Regex(pattern, _fault(pattern))


def find_ignored_flags(key: str) -> str:
    """Return the flags of a key that change nothing here, though they would in a browser."""
    parts = _parts(key)
    return "y" if parts is not None and "y" in parts[1] else ""


class RegexSet:
    """A set of patterns, searched for together: those whose fixed letters are not in the text are not tried at all."""

    # Its answer proves that the filter ran to its end: RE2 gives up without a word when it runs out of memory.
    _PROOF = "\x02the filter ran\x02"

    __slots__ = ("_filter", "_patterns", "_places")

    def __init__(self, patterns: Sequence[str]) -> None:
        self._patterns = tuple(patterns)
        self._places = {pattern: place for place, pattern in enumerate(self._patterns)}
        self._filter = re2.Filter()
        for pattern in (*self._patterns, self._PROOF):
            self._filter.Add(pattern, _options())
        self._filter.Compile()

    def likely(self, text: str) -> Iterator[str]:
        """Yield the patterns that may occur in a text or in a part of it: all that do, and some that do not."""
        places = self._filter.Match(text + self._PROOF, potential=True) or ()
        proven = len(self._patterns) in places
        for place in places if proven else range(len(self._patterns)):
            if place < len(self._patterns):
                yield self._patterns[place]

    def first(self, pattern: str, text: str) -> int | None:
        """Return where a pattern first occurs in a text; None if it does not."""
        match = self._filter.re(self._places[pattern]).search(text)
        return None if match is None else int(match.start())


def _parts(key: str) -> tuple[str, str] | None:
    literal = _LITERAL.fullmatch(key.strip())
    if literal is None or _INNER_SLASH.search(literal[1]):
        return None
    return literal[1], literal[2]


def _respelled(match: re.Match[str]) -> str:
    """Return an escape or a class as RE2 spells it."""
    code, short_code, control, plain, *rest = match.groups()
    if code or short_code:
        return f"\\x{{{code or short_code}}}"
    if control:
        return f"\\x{ord(control) % 32:02x}"
    if plain:
        return "/" if plain == "/" else match[0]
    (inside,) = rest
    if inside in ("[]", "[^]"):
        return "(?s:.)" if inside == "[^]" else r"[^\x00-\x{10FFFF}]"
    return _ESCAPE.sub(_respelled, inside)


def _options(*, one_byte: bool = False) -> re2.Options:
    options = re2.Options()
    options.max_mem = MEMORY
    options.log_errors = False
    options.never_capture = True
    if one_byte:
        options.encoding = re2.Options.Encoding.LATIN1
    return options


@lru_cache(maxsize=4_096)
def _fault(pattern: str) -> str:
    """Return why RE2 cannot search for a pattern, or why it would be too dear; empty if neither."""
    try:
        instructions = re2.compile(pattern, _options()).programsize
        # A character class is one step here, and many instructions in UTF-8: this counts what was written out.
        steps = re2.compile(pattern.encode(), _options(one_byte=True)).programsize
    except re2.error as error:
        reason = error.args[0]
        return reason.decode("utf-8", "replace") if isinstance(reason, bytes) else str(reason)
    if steps > MOST_STEPS or instructions > MOST_INSTRUCTIONS:
        return "written out, its repetitions are too large to search for quickly"
    return ""
