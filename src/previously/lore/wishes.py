"""Wishes: what players ask for about the telling, out of character. A reduce over the items of notes.

Only a user's message can hold one. A wish stands until a person withdraws it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import blake2b

from previously.core.note import WishItem
from previously.core.scripts import casefold

MOST_WISHES = 40
"""Wishes that are kept, the newest: far more than a table agrees on."""


@dataclass(frozen=True, slots=True)
class Wish:
    """One wish."""

    id: str
    text: str
    position: int
    by: str = "model"
    """`person` where a person gave it its words."""


def wish_id(key: bytes, index: int) -> str:
    """Return the id of the wish that a note of the span with this key holds as its item number `index`."""
    state = blake2b(key, digest_size=8, person=b"prev.wish.1")
    state.update(index.to_bytes(4, "big"))
    return state.hexdigest()


def reduce_wishes(wishes: tuple[Wish, ...], items: Iterable[tuple[int, int, WishItem]], key: bytes) -> tuple[Wish, ...]:
    """Return the wishes after the items of one note, each with its index and position. One said again is there once."""
    found = list(wishes)
    for index, position, item in items:
        text = " ".join(item.text.split())
        if text and all(casefold(one.text) != casefold(text) for one in found):
            found.append(Wish(wish_id(key, index), text, position))
    return tuple(found[-MOST_WISHES:])


def find_wish(wishes: Iterable[Wish], ident: str, words: str) -> Wish | None:
    """Return the wish of that id, if it has those words, else the one that has them."""
    listed = list(wishes)
    worded = [one for one in listed if casefold(one.text) == casefold(words)]
    return next((one for one in worded if one.id == ident), worded[0] if worded else None)
