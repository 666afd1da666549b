"""The tree of a story in short."""

from __future__ import annotations

import random

from previously.core.tree import TreeNode, TreeStretch, find_stretches
from tests.effort import cases


def make(*parents: int) -> list[TreeNode]:
    """Nodes 1, 2, … behind these."""
    depth = {0: -1}
    nodes = []
    for number, parent in enumerate(parents, 1):
        depth[number] = depth[parent] + 1
        nodes.append(TreeNode(number, parent, depth[number], text=str(number)))
    return nodes


def show(stretch: TreeStretch) -> tuple[int, int, int | None, int | None]:
    return stretch.first.id, stretch.last.id, stretch.under, stretch.swipe


def test_a_story_without_a_choice_is_one_stretch() -> None:
    assert [show(one) for one in find_stretches(make(0, 1, 2))] == [(1, 3, None, None)]
    assert find_stretches([]) == []


def test_swipes_and_what_follows_one_of_them() -> None:
    nodes = make(0, 1, 1, 3, 4)  # 1, then 2 or 3, then 4 and 5 behind 3
    assert [show(one) for one in find_stretches(nodes)] == [(1, 1, None, None), (2, 2, 1, 0), (3, 5, 1, 1)]


def test_a_branch_ends_a_stretch() -> None:
    assert [show(one) for one in find_stretches(make(0, 1, 2), {2})] == [(1, 2, None, None), (3, 3, 1, None)]


def test_two_beginnings_are_swipes() -> None:
    assert [show(one) for one in find_stretches(make(0, 0))] == [(1, 1, None, 0), (2, 2, None, 1)]


def test_every_node_is_in_one_stretch() -> None:
    for seed in range(cases(30)):
        chance = random.Random(seed)
        nodes = make(*(chance.randint(max(0, number - 4), number) for number in range(chance.randint(1, 60))))
        stretches = find_stretches(nodes, {chance.randint(1, 60)})
        assert sum(one.last.position - one.first.position + 1 for one in stretches) == len(nodes)
        firsts = {one.first.id for one in stretches}
        assert all(one.under is None or one.under in firsts for one in stretches)
