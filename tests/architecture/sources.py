"""The modules of `src` as data: their names, folders, syntax and imports."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

ROOT = Path(__file__).parents[2]
SRC = ROOT / "src"
PACKAGE = "previously"


@dataclass(frozen=True)
class Module:
    """One file of `src`."""

    path: Path

    @property
    def parts(self) -> tuple[str, ...]:
        """Its dotted name in parts; that of the package for an `__init__`."""
        parts = self.path.relative_to(SRC).with_suffix("").parts
        return parts[:-1] if self.is_package else parts

    @property
    def is_package(self) -> bool:
        return self.path.name == "__init__.py"

    @property
    def name(self) -> str:
        """The dotted name without `previously.`, which all begin with."""
        return ".".join(self.parts[1:]) or PACKAGE

    @property
    def folder(self) -> str:
        """The dotted name of its directory. A module beside the packages is a folder of its own."""
        inside = self.parts[1:] if self.is_package else self.parts[1:-1]
        return ".".join(inside) or self.name

    @property
    def package(self) -> str:
        """The outermost package that it stands in."""
        return self.parts[1] if len(self.parts) > 1 else PACKAGE

    @property
    def text(self) -> str:
        return self.path.read_text("utf-8")

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.text)


@cache
def all_modules() -> Mapping[str, Module]:
    """Every module of `src` by name."""
    modules = [Module(path) for path in sorted(SRC.rglob("*.py"))]
    return {module.name: module for module in modules}


def find_imports(module: Module, names: Iterable[str]) -> set[str]:
    """Return the modules that one imports, wherever the statement stands.

    Imports inside functions count: a cycle that only runs late is still a cycle. Those for type checking do not, for
    they never run.
    """
    known = set(names)
    found = {target for wanted in _imported_names(module) for target in _resolve(wanted, known)}
    return found - {module.name}


@cache
def find_edges() -> dict[str, set[str]]:
    """Return the import graph of `src`."""
    modules = all_modules()
    return {name: find_imports(module, modules) for name, module in modules.items()}


def find_folder_edges() -> dict[str, set[str]]:
    """Return the graph of directories that the imports between their modules make."""
    modules = all_modules()
    graph: dict[str, set[str]] = {module.folder: set() for module in modules.values()}
    for name, targets in find_edges().items():
        graph[modules[name].folder] |= {modules[target].folder for target in targets}
    return {folder: targets - {folder} for folder, targets in graph.items()}


def find_cycle_edges(graph: Mapping[str, set[str]]) -> list[str]:
    """Return every edge of a graph that lies on a cycle, as `a -> b`."""
    reached = {node: _reach(graph, node) for node in graph}
    return sorted(f"{node} -> {target}" for node in graph for target in graph[node] if node in reached[target])


def _reach(graph: Mapping[str, set[str]], start: str) -> set[str]:
    reached: set[str] = set()
    waiting = [start]
    while waiting:
        for target in graph[waiting.pop()] - reached:
            reached.add(target)
            waiting.append(target)
    return reached


def _imported_names(module: Module) -> Iterator[str]:
    for node in _walk_running(module.tree):
        match node:
            case ast.Import(names=names):
                yield from (alias.name for alias in names)
            case ast.ImportFrom(module=target, names=names, level=level):
                outer = module.parts[: len(module.parts) - level + module.is_package] if level else ()
                before = ".".join([*outer, *([target] if target else [])])
                yield from (f"{before}.{alias.name}" for alias in names)
            case _:
                pass


def _walk_running(tree: ast.AST) -> Iterator[ast.AST]:
    """Yield every node but those that only a type checker reads."""
    for node in ast.iter_child_nodes(tree):
        match node:
            case ast.If(test=ast.Name(id="TYPE_CHECKING"), orelse=others):
                for other in others:
                    yield from _walk_running(other)
            case ast.expr():
                pass  # no expression holds an import
            case _:
                yield node
                yield from _walk_running(node)


def _resolve(wanted: str, known: set[str]) -> Iterator[str]:
    """Yield the module that a dotted name stands in: the longest front of it that is one."""
    if wanted != PACKAGE and not wanted.startswith(f"{PACKAGE}."):
        return
    parts = wanted.split(".")[1:]
    fronts = [".".join(parts[:end]) or PACKAGE for end in range(len(parts), -1, -1)]
    yield next(front for front in fronts if front in known)
