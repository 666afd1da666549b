"""Takes the goldens of some stories, each group in stores of its own."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.goldens.commands import FULL, take_commands
from tests.goldens.compare import GROUPS, Taken
from tests.goldens.corpora import Corpus, list_corpora
from tests.goldens.memory_texts import Apart
from tests.goldens.paths import take_paths
from tests.goldens.run_cli import own_environment
from tests.goldens.upstream import TALKS, take_upstream


def take_all(corpora: list[Corpus], tell: Callable[[str], None]) -> Taken:
    """Return every group for all the stories; `tell` hears what is being done."""
    taken: Taken = {group: {} for group in GROUPS}
    parts: list[Taken] = []
    for corpus in corpora:
        tell(f"{corpus.name}: paths and commands")
        parts.append(take_on_disk(corpus))
    tell("bodies at the upstream")
    parts.append(take_at_upstream(corpora))
    for part in parts:
        for group, by_name in part.items():
            taken[group] |= by_name
    return taken


def take_on_disk(corpus: Corpus) -> Taken:
    """Return the paths and the answers of commands for one story, and the memory texts in them."""
    apart = Apart()
    with _place_of_its_own() as directory:
        commands = take_commands(corpus, directory, apart)
        paths = {} if corpus.name == FULL else {corpus.name: take_paths(corpus, directory)}
    texts = {f"commands of {corpus.name}": apart.kept}
    return {"paths": paths, "commands": {corpus.name: commands}, "memory_texts": texts}


def take_at_upstream(corpora: list[Corpus]) -> Taken:
    """Return the bodies sent upstream for the scripted talks and these stories, and the memory texts in them."""
    apart = Apart()
    with _place_of_its_own() as directory:
        told = [corpus for corpus in corpora if corpus.name != FULL and not corpus.long]
        bodies = asyncio.run(take_upstream(told, directory, apart))
    texts = {
        f"upstream of {name}": {place: kept for place, kept in apart.kept.items() if place.startswith(f"{name}/")}
        for name in bodies
    }
    return {"upstream": bodies, "memory_texts": texts}


def known_names() -> set[str]:
    """Return every name that an expected file may hold a part of."""
    names = {corpus.name for corpus in list_corpora()} | {f"talk {name}" for name in TALKS}
    return names | {f"{group} of {name}" for group in ("commands", "upstream") for name in names}


@contextmanager
def _place_of_its_own() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="goldens-") as made, own_environment(Path(made)):
        yield Path(made)
