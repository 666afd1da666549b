"""CONTRIBUTING.md names what exists: the map is that of the tree, and no place or function in it has moved away."""

from __future__ import annotations

import pytest

from tests.architecture.tree_map import read_map, render_map
from tests.architecture.walk_throughs import (
    FLOW,
    FOLD,
    find_missing_places,
    is_there,
    list_functions,
    list_rows,
    list_steps,
)


def test_the_map_of_the_tree_is_up_to_date() -> None:
    assert read_map() == render_map(), "python -m tests.architecture.tree_map --write"


def test_every_place_in_the_table_of_behaviours_exists() -> None:
    assert len(list_rows()) >= 25
    assert find_missing_places() == []


@pytest.mark.parametrize("walk", [FLOW, FOLD])
def test_every_function_of_a_walk_through_exists(walk: str) -> None:
    assert 12 <= len(list_steps(walk)) <= 20
    assert all(step.count("`") >= 2 for step in list_steps(walk)), "each step names code"
    assert [name for name in list_functions(walk) if not is_there(name)] == []


@pytest.mark.parametrize("name", ["server.turn.ChatTurns.nothing", "server.nowhere.begin", "nowhere.at.all"])
def test_what_does_not_exist_is_seen(name: str) -> None:
    assert not is_there(name)
