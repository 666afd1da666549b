"""The tree of a story's messages in short: stretches of messages that follow each other without a choice.

Pure. A stretch ends where the story went several ways, or where it ends. Swipes are stretches that nothing follows,
unless somebody wrote on behind them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TreeNode:
    """A message at its place."""

    id: int
    parent: int
    """The node that it follows; 0 for none."""
    position: int
    speaker: str | None = None
    text: str = ""
    """The words that it begins with."""
    role: str = ""
    entry: int = 0
    """The entry that stands there."""


@dataclass(frozen=True, slots=True)
class TreeStretch:
    """Messages that follow each other without a choice."""

    first: TreeNode
    last: TreeNode
    under: int | None
    """The first node of the stretch that it follows; None for the beginning."""
    swipe: int | None
    """Its number among the ways that the story went there with a message of the same role; None if there was no such
    choice: what stood there before a message was put in or taken out is no other form of its neighbour, and what was
    deleted is none of what was written there next."""


def find_stretches(
    nodes: Iterable[TreeNode], ends: Collection[int] = (), no_swipes: Collection[int] = ()
) -> list[TreeStretch]:
    """Return all stretches, each behind the one that it follows. `ends` are nodes at which a stretch ends in any case:
    those of branches. `no_swipes` are nodes that are no form of what stands beside them."""
    below: dict[int, list[TreeNode]] = {}
    for node in nodes:
        below.setdefault(node.parent, []).append(node)
    for ways in below.values():
        ways.sort(key=lambda node: node.id)
    stretches: list[TreeStretch] = []
    waiting: list[tuple[TreeNode, int | None, int | None]] = []

    def add_ways(parent: int, under: int | None) -> None:
        ways = below.get(parent, [])
        forms = [way for way in ways if way.id not in no_swipes]
        same = {way.role: [other.id for other in forms if other.role == way.role] for way in ways}
        for way in reversed(ways):
            swipes = same[way.role]
            waiting.append((way, under, swipes.index(way.id) if len(swipes) > 1 and way.id in swipes else None))

    add_ways(0, None)
    while waiting:
        first, under, swipe = waiting.pop()
        last = first
        while len(ways := below.get(last.id, [])) == 1 and last.id not in ends:
            last = ways[0]
        stretches.append(TreeStretch(first, last, under, swipe))
        add_ways(last.id, first.id)
    return stretches
