"""JSON from outside: parsed strictly, with one plain sentence for whatever is wrong with it.

JSON is read as strictly as other programs will read it again: NaN and infinite numbers are refused, since nothing else
accepts them. Of a key given twice the last one counts, as in JavaScript and every common reader. A fault is a
`BadInput` without a place; the caller knows the file and the line.
"""

from __future__ import annotations

import json
import re
from typing import Any, NoReturn

from previously.core.errors import BadInput

TOO_DEEP = "the JSON is nested too deeply."


class BrokenJson(BadInput):
    """Not JSON; `line` counts from 1 within the text, `follows` says that a whole value came before the fault,
    `cut_off` that only its end is missing."""

    def __init__(self, sentence: str, line: int, follows: bool, *, cut_off: bool = False) -> None:
        self.line = line
        self.follows = follows
        self.cut_off = cut_off
        super().__init__(sentence)


def parse_json(text: str, what: str) -> Any:
    """The JSON value in the text. `what` names the text in a fault: "line" or "file"."""
    try:
        return _DECODER.decode(text)
    except json.JSONDecodeError as error:
        raise _broken(error, what) from None
    except RecursionError:
        raise BadInput(TOO_DEEP) from None
    except ValueError:
        raise BadInput("a number has too many digits.") from None


def parse_object(line: str) -> dict[str, Any]:
    """The JSON object in a line."""
    value = parse_json(line, "line")
    if type(value) is not dict:
        raise BadInput(f"the line must hold an object, not {kind(value)}.")
    return value


def _broken(error: json.JSONDecodeError, what: str) -> BrokenJson:
    line, follows = error.lineno, error.msg == "Extra data"
    if follows:
        return BrokenJson(f"more text follows the end of the JSON value (column {error.colno}).", line, follows)
    rest = error.doc[error.pos :].rstrip()
    if error.msg.startswith("Unterminated string") or _CUT_OFF.fullmatch(rest):
        end = error.doc.rstrip().count("\n") + 1
        return BrokenJson(f"the {what} is cut off (not valid JSON).", end, follows, cut_off=True)
    reason = error.msg.removesuffix(" at").rstrip(": ")
    return BrokenJson(
        f"the {what} is not valid JSON at column {error.colno}: {reason[:1].lower()}{reason[1:]}.", line, follows
    )


_CUT_OFF = re.compile(r"|,|-|\.|[eE][+-]?|tr?u?|fa?l?s?|nu?l?|\\?u[0-9a-fA-F]{0,4}")
"""The rest after the place of the fault when it is the end that is missing."""


def _not_a_number(constant: str) -> NoReturn:
    raise BadInput(f"the number {constant} is not allowed in JSON.")


def _number(digits: str) -> float:
    value = float(digits)
    if value in (float("inf"), float("-inf")):
        raise BadInput(f"the number {shown(digits, 40)} is too large.")
    return value


_DECODER = json.JSONDecoder(parse_constant=_not_a_number, parse_float=_number)


def kind(value: object) -> str:
    """Return in words what a JSON value is."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, str):
        return "text"
    if isinstance(value, int | float):
        return "a number"
    return "a list" if isinstance(value, list) else "an object"


def shown(text: str, limit: int = 200) -> str:
    """The text as it may stand in a sentence: on one line, printable, and not without end."""
    if not text.isprintable():
        text = ascii(text)
    return text if len(text) <= limit else f"{text[:limit]}…"
