"""Macros of chat programs: names and texts in double braces, put in once, as text.

What a macro stands for is never looked at again, so a name that looks like a macro stays a name. Macros that draw
(`{{random::a::b}}`, `{{pick::a::b}}`, `{{roll:2d6}}`) are decided by numbers that the caller gives, so that the same
turn draws the same. Those that need a clock or variables, and unknown ones, stay as they are written.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from previously.core.patterns import lazy_pattern

_MACRO = lazy_pattern(r"\n*\{\{trim\}\}\n*|\{\{//[^{}]*\}\}|\{\{([A-Za-z_]{1,40})\}\}|<(user|bot|char)>", re.I)
_ANGLED = {"bot": "char"}
_ALWAYS = {"newline": "\n", "noop": ""}
_NAMES = ("user", "char", "charifnotgroup", "group")
_ANY = lazy_pattern(r"\{\{([^{}]*)\}\}")
_ANY_ANGLED = lazy_pattern(r"<(?:user|bot|char)>", re.I)
_DRAWS = frozenset({"random", "pick", "roll"})
_DICE = lazy_pattern(r"(\d{0,3})d(\d{1,6})([+-]\d{1,6})?", re.I)


@dataclass(frozen=True, slots=True)
class MacroNames:
    """The people that names in macros stand for; empty where nobody is known."""

    user: str = ""
    character: str = ""

    @property
    def values(self) -> dict[str, str]:
        """Return what each macro stands for, but for people who are not known."""
        named = zip(_NAMES, (self.user, self.character, self.character, self.character), strict=True)
        return {macro: name for macro, name in named if name}


NOBODY = MacroNames()


def has_macros(text: str) -> bool:
    """Return whether there may be something to put in."""
    return "{{" in text or ("<" in text and _ANY_ANGLED.search(text) is not None)


def has_draws(text: str) -> bool:
    """Return whether a text differs from turn to turn."""
    return "{{" in text and any(_name_macro(match) in _DRAWS for match in _ANY.finditer(text))


def substitute_macros(text: str, values: Mapping[str, str]) -> str:
    """Return a text with its plain macros replaced; `values` has what each stands for, under its name in lower case.

    >>> substitute_macros("{{char}} waits for {{User}}{{// or not}}. {{roll:d6}}", {"char": "Wren", "user": "Ada"})
    'Wren waits for Ada. {{roll:d6}}'
    """

    def replace(match: re.Match[str]) -> str:
        if match[1]:
            name = match[1].lower()
            return values.get(name, _ALWAYS.get(name, match[0]))
        if match[2]:
            name = match[2].lower()
            return values.get(_ANGLED.get(name, name), match[0])
        return ""

    return _MACRO.sub(replace, text)


def put_in_draws(text: str, draw: Callable[[int], float]) -> str:
    """Return a text with its draws decided. `draw` gives a number from 0 up to 1 for the first, the second, …

    >>> put_in_draws("It rains {{random::cats::dogs}}.", lambda place: 0.6)
    'It rains dogs.'
    """
    if "{{" not in text:
        return text
    drawn = 0

    def put_in(match: re.Match[str]) -> str:
        nonlocal drawn
        name = _name_macro(match)
        if name not in _DRAWS:
            return match[0]
        place, drawn = drawn, drawn + 1
        words = match[1].strip()[len(name) :]
        if name == "roll":  # each die has a number of its own, far from those of other draws
            return _roll(words.lstrip(": ").strip(), lambda number: draw(1_000 * (place + 1) + number)) or match[0]
        choices = words.removeprefix("::").split("::") if words.startswith("::") else words.lstrip(":").split(",")
        return choices[int(draw(place) * len(choices))].strip()

    return _ANY.sub(put_in, text)


def find_unknown_macros(text: str) -> list[str]:
    """Return the macros that stand for nothing here, once each."""
    known = {*_NAMES, *_DRAWS, *_ALWAYS, "trim"}
    named = ((match[0], _name_macro(match)) for match in _ANY.finditer(text)) if "{{" in text else ()
    return list(dict.fromkeys(macro for macro, name in named if name not in known and not name.startswith("//")))


def _name_macro(match: re.Match[str]) -> str:
    words = match[1].strip().lower()
    return words if words.startswith("//") else words.partition(":")[0].split(" ")[0]


def _roll(dice: str, draw: Callable[[int], float]) -> str:
    """Return the sum of dice as `2d6+1` names them; `20` is one of twenty sides. Empty if they cannot be thrown."""
    match = _DICE.fullmatch(f"1d{dice}" if dice.isdecimal() else dice)
    if match is None or not int(match[2]):
        return ""
    sides = int(match[2])
    thrown = sum(1 + int(draw(number) * sides) for number in range(int(match[1] or 1)))
    return str(thrown + int(match[3] or 0))
