"""The longest run of equal things in two lists, in order.

Found from lists of matches rather than a table, so time grows with the number of matches and never with its square.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

CANDIDATES = 200_000
"""Pairs of equals that are all tried; beyond, each tries only its nearest equals."""

REACH = 8
"""Equals on either side of its own rank that each then tries: edits seldom move a message further."""

Pair = tuple[int, int]
"""A place in the one list and a place in the other."""


def chain(keys: Sequence[object], keys_in: Sequence[object], *, rare: bool) -> list[Pair]:
    """Return a longest run of pairs with equal keys, in order; of several, the one nearest to both ends. None equals
    nothing.

    With more than `CANDIDATES` pairs of equals only the rare keys count; where there are none, and `rare` does not
    insist on them, each message tries its nearest equals, counted from the end.
    """
    wanted = set(keys_in) - {None}
    places: dict[object, list[int]] = {}
    for i in range(len(keys) - 1, -1, -1):
        if keys[i] in wanted:
            places.setdefault(keys[i], []).append(i)
    reach = len(keys)
    if sum(len(places.get(key, ())) for key in keys_in) > CANDIDATES:
        reach, common = REACH, places
        places = {key: spots for key, spots in places.items() if len(spots) <= REACH} or ({} if rare else common)
    ranks = dict.fromkeys(places, 0)
    tails: list[int] = []  # for each length, how far from the end the nearest chain of that length begins
    heads: list[int] = []  # and the link it begins with
    links: list[tuple[int, int, int]] = []  # a pair, and the link that follows it or -1
    for j in range(len(keys_in) - 1, -1, -1):
        key = keys_in[j]
        if key not in places:
            continue
        rank = ranks[key]
        ranks[key] = rank + 1
        for i in reversed(places[key][max(0, rank - reach) : rank + reach + 1]):
            k = bisect_left(tails, -i)
            if k == len(tails) or tails[k] != -i:
                tails[k : k + 1], heads[k : k + 1] = [-i], [len(links)]
                links.append((i, j, heads[k - 1] if k else -1))
    pairs: list[Pair] = []
    link = heads[-1] if heads else -1
    while link >= 0:
        i, j, link = links[link]
        pairs.append((i, j))
    return pairs
