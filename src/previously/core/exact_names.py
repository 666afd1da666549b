"""Names exactly as they were given: keys that tell any two of them apart, and a form in which each can be shown.

Whoever is told apart by a name must not meet another whose name only looks the same. So no letter is folded, dropped or
trimmed here, and no number is the text that it is written with. A name that cannot be kept as it is becomes a hash of
all of it, in a form that no other name has.
"""

from __future__ import annotations

import json
from hashlib import blake2b
from re import Match

from previously.core.errors import BadInput
from previously.core.json_values import clean
from previously.core.patterns import lazy_pattern

LONGEST_NAME = 200
"""Characters of a name that somebody gives; more would not fit on a line of a list, nor into every index."""

SHOWN_OF_LONG = 160
"""Characters that are shown of a name that was too long; its hash stands behind them."""

_HASHED = "\x01"
"""Begins the key of a user who is known by a hash; a text that begins so is hashed too."""

_CONTROLS = lazy_pattern(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")
"""Line breaks, and characters that move or end what is shown."""

_ODD_SPACE = lazy_pattern(r"^ +| +$|(?<= ) +")
_WALL_BYTES = 4
"""Bytes of the digest in the name of a user's story: it says where the user ends and the story begins, nothing else."""


_OTHER_PLACES = (".", "..")
"""Names that mean other places, in an address and in a path."""


def check_new_name(kind: str, name: str) -> None:
    """Refuse what cannot be the name of a new thing of that kind ("A story"). What is there already keeps its name."""
    if not _is_plain(name):
        raise BadInput(
            f"{kind} needs a name of 1 to {LONGEST_NAME} characters, none of them a line break or another control "
            "character."
        )
    if name in _OTHER_PLACES:
        raise BadInput(f"{kind} cannot be named {name!r}: no address could lead to it.")


def make_new_name(given: str) -> str:
    """Return what a new story is called that a program named: so, or, where `check_new_name` would refuse that, in a
    form that can be read with a hash behind it. The wall in the name of a user's story stays where it is."""
    if (_is_plain(given) and given not in _OTHER_PLACES) or is_walled_name(given):
        return given
    return f"{show_name(given)[:SHOWN_OF_LONG]} {_hash(given)}"


def _is_plain(name: str) -> bool:
    return is_storable(name) and len(name) <= LONGEST_NAME and not _CONTROLS.search(name)


def is_storable(name: str) -> bool:
    """Return whether a store can keep a name: it is not blank, and none of its characters would be replaced."""
    return bool(name.strip()) and not clean(name)[1]


def make_user_key(given: object) -> str:
    """Return the key of a user; empty for nobody: null, the empty text, or none given. Two values of JSON that differ
    have different keys, 5 and "5" too."""
    if given is None or given == "":
        return ""
    if isinstance(given, str) and len(given) <= LONGEST_NAME and not clean(given)[1] and given[0] != _HASHED:
        return given
    return _HASHED + _hash(given)


def make_story_key(given: str) -> str:
    """Return the name under which a story is kept: the given one to the last character, or, if no store can keep that,
    the beginning of it and a hash of all of it. A name that was made here is given back as it is."""
    if is_storable(given) and len(given) <= LONGEST_NAME:
        return given
    return f"{show_name(given)[:SHOWN_OF_LONG]} {_hash(given)}"


def make_walled_name(user: str, story: str) -> str:
    """Return the name of a story that belongs to one of several users, who may all have given theirs the same name."""
    return f"{user}/{story} {_make_digest(user, story)}"


def is_walled_name(name: str) -> bool:
    """Return whether a name was made by `make_walled_name`."""
    both, _, digest = name.rpartition(" ")
    slashes = (at for at, letter in enumerate(both) if letter == "/") if len(digest) == 2 * _WALL_BYTES else ()
    return any(_make_digest(both[:at], both[at + 1 :]) == digest for at in slashes)


def show_name(name: str) -> str:
    """Return a name as people can read it: what cannot be seen, and a space that could be overlooked, is written as its
    number."""
    if name.isprintable() and name == " ".join(name.split()) and "\\" not in name:
        return name
    return _ODD_SPACE.sub(_write_number, "".join(map(_write_visibly, name)))


def _write_visibly(letter: str) -> str:
    if letter == "\\":
        return "\\\\"  # so that no name looks like another with a number in it
    return (
        letter if letter.isprintable() else f"\\U{ord(letter):08x}" if ord(letter) > 0xFFFF else f"\\u{ord(letter):04x}"
    )


def _write_number(space: Match[str]) -> str:
    return "\\u0020" * len(space.group())


def _hash(given: object) -> str:
    return blake2b(json.dumps(given, sort_keys=True).encode(), digest_size=16).hexdigest()


def _make_digest(user: str, story: str) -> str:
    return blake2b(json.dumps([user, story]).encode(), digest_size=_WALL_BYTES).hexdigest()
