"""Examples in docstrings run, and everything public has words of its own."""

from __future__ import annotations

import doctest
import inspect
from importlib import import_module

import pytest

import previously
from previously import Memory, Story, View
from previously.story.parts import PARTS as STORY_PARTS

PARTS = {part.__module__ for part in (*(part.load() for part in STORY_PARTS.values()), *Memory.__mro__[1:-1])}
MODULES = sorted({f"previously.{home}" for home in previously._HOMES.values()} | PARTS)


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings_run(name: str) -> None:
    assert doctest.testmod(import_module(name)).failed == 0


def test_public_names_are_listed_once_and_alike() -> None:
    assert set(previously._HOMES) == set(previously.__all__)
    assert len(set(previously.__all__)) == len(previously.__all__)


@pytest.mark.parametrize("owner", [Story, Memory, View], ids=lambda owner: owner.__name__)
def test_every_public_method_says_what_it_does(owner: type) -> None:
    methods = {name: member for name, member in inspect.getmembers(owner, callable) if not name.startswith("_")}
    assert [name for name, method in methods.items() if not method.__doc__] == []


def test_all_that_methods_take_and_give_can_be_imported_from_previously() -> None:
    from tests.blocking_stub import STUB

    names = set()
    for line in STUB.read_text("utf-8").splitlines():
        if line.startswith("from previously."):
            names |= set(line.partition(" import ")[2].split(", "))
    aliases = {"CopyProgress", "Progress", "System", "Told", "Tools", "WordsTold"}
    assert names - aliases <= set(previously.__all__)
