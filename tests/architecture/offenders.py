"""Find what breaks the rules of the house in `src`: `python -m tests.architecture.offenders` lists it.

There is none, and one fails `make check`.
"""

from __future__ import annotations

import argparse
import ast
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping

from tests.architecture.sources import (
    Module,
    all_modules,
    find_cycle_edges,
    find_edges,
    find_folder_edges,
)

Rule = Callable[[], dict[str, int]]
"""Gives each offender with how often it offends."""

NOUNS = set(
    "blocking embed embedding encoding feed finding findings heading headings known meaning need pairing pending "
    "postprocessing reasoning seed setting settings speed string testing thing things".split()
)
"""Words that look like gerunds or participles and are nouns of ours, or adjectives that the target tree names."""

PARTICIPLES = set(
    "begun bound bought broken brought built caught chosen come dealt done drawn driven fallen felt forgotten found "
    "given gone grown heard held hidden kept laid led left lent lost made meant met paid put said seen sent set shown "
    "shut sold spent spoken stood struck sung taken taught thought thrown told torn understood woken won worn wound "
    "written".split()
)
PRONOUNS = set("what who whom whose which how where when why whether all each every other others one it they".split())

PARALLEL_FOLDERS = ({"storage.sqlite", "storage.postgres"}, {"folds", "folds.builtin", "folds.checks"})
"""Folders whose modules have the same names on purpose: each holds its side of the same thing."""

MAY_WAIT = ("app", "blocking", "cli", "demo", "models", "play", "previously", "runtime", "server", "story", "testing")
"""Packages in which code may be asynchronous. `storage` is not among them, but its drivers are."""

MAY_WAIT_IN_STORAGE = re.compile(r"storage\.(store|database|sqlite|postgres)\b")
"""The store, which runs all other work of `storage`; the drivers, and the contract they keep."""

QUESTIONS = re.compile(r"(What|Whether|How|Where)\b")

NUMBER_WORDS = set("three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen".split())
ENOUGH_NUMBER_WORDS = 5
"""A sentence may count to four; whoever lists five number words in one literal keeps a table of them."""

OWNERS = {"stemmer": "text.stems", "sentence splitter": "text.sentences", "number words": "text.numbers"}
"""Where each tool of language lives. No other module may have one of its own."""

STEMMER = re.compile(r"_?(stem|stems|stem_of|stemmed|stem_\w+|\w+_stem|stemmer)$")
SPLITTER = re.compile(
    r"_?(split_(into_)?sentences|sentences|sentences_(of|in)|sentence_(ends|spans|bounds)|to_sentences)$"
)
SPLITTING_PATTERN = re.compile(r"\(\?<=\[[^\]]*[.!?][^\]]*\]")


def find_module_cycles() -> dict[str, int]:
    return dict.fromkeys(find_cycle_edges(find_edges()), 1)


def find_folder_cycles() -> dict[str, int]:
    return dict.fromkeys(find_cycle_edges(find_folder_edges()), 1)


def find_gerunds() -> dict[str, int]:
    """Modules that are named with a gerund, a participle or a pronoun."""
    return {name: 1 for name in all_modules() if any(map(is_gerund, name.rpartition(".")[2].split("_")))}


def is_gerund(word: str) -> bool:
    if word in NOUNS:
        return False
    return word in PARTICIPLES or word in PRONOUNS or (len(word) > 4 and word.endswith(("ing", "ings", "ed")))


def find_repeated_stems() -> dict[str, int]:
    """File names that stand more than once in an outermost package, endings aside."""
    places: dict[str, list[str]] = {}
    for name, module in all_modules().items():
        if not module.is_package and "." in name and module.path.stem != "__main__":
            places.setdefault(f"{module.package}: {strip_ending(module.path.stem)}", []).append(name)
    return {key: len(names) for key, names in places.items() if len(names) > 1 and not _are_parallel(names)}


def strip_ending(name: str) -> str:
    """Return a file name without the ending of its last word, so that `note`, `notes` and `noting` are one."""
    return re.sub(r"(?<=\w{3})(e|es|s|ing|ed|er|ers)$", "", name)


def _are_parallel(names: list[str]) -> bool:
    folders = {name.rpartition(".")[0] for name in names}
    same = len({name.rpartition(".")[2] for name in names}) == 1
    return same and any(folders <= parallel for parallel in PARALLEL_FOLDERS)


def find_repeated_classes() -> dict[str, int]:
    """Public classes whose name stands more than once in all of `src`."""
    names = Counter(
        node.name
        for module in all_modules().values()
        for node in module.tree.body
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    )
    return {name: times for name, times in names.items() if times > 1}


def find_question_docstrings() -> dict[str, int]:
    """Docstrings that begin like a question, by outermost package: so many that a list would only be noise."""
    counts: Counter[str] = Counter()
    for module in all_modules().values():
        counts[module.package] += sum(1 for text in find_docstrings(module) if QUESTIONS.match(text))
    return {package: count for package, count in counts.items() if count}


def find_docstrings(module: Module) -> Iterator[str]:
    """Yield what stands below a module, class, function or assignment to explain it."""
    for node in ast.walk(module.tree):
        body = getattr(node, "body", None)
        for statement in body if isinstance(body, list) else ():
            match statement:
                case ast.Expr(value=ast.Constant(value=str(text))):
                    yield text.strip()


def find_async() -> dict[str, int]:
    """Modules below `story` and `runtime` that wait, and are no driver."""
    waiting = (ast.AsyncFunctionDef, ast.AsyncFor, ast.AsyncWith, ast.Await)
    return {
        name: 1
        for name, module in all_modules().items()
        if module.package not in MAY_WAIT
        and not MAY_WAIT_IN_STORAGE.match(name)
        and any(isinstance(node, waiting) for node in ast.walk(module.tree))
    }


def find_second_tools() -> dict[str, int]:
    """Modules with a stemmer, a sentence splitter or a table of number words, the owner aside."""
    return {
        f"{tool}: {name}": 1
        for name, module in all_modules().items()
        for tool in sorted(find_tools(module.tree))
        if OWNERS[tool] != name
    }


def find_tools(tree: ast.Module) -> set[str]:
    """Return the tools of language that a module defines: by the names of functions, by patterns, by lists of words."""
    tools: set[str] = set()
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef(name=name) if STEMMER.fullmatch(name):
                tools.add("stemmer")
            case ast.FunctionDef(name=name) if SPLITTER.fullmatch(name):
                tools.add("sentence splitter")
            case ast.Constant(value=str(text)) if SPLITTING_PATTERN.search(text):
                tools.add("sentence splitter")
            case ast.Constant(value=str(text)) if _counts_words([*text.casefold().replace("|", " ").split()]):
                tools.add("number words")
            case ast.Dict(keys=items) | ast.Set(elts=items) | ast.Tuple(elts=items) | ast.List(elts=items):
                if _counts_words([item.value for item in items if isinstance(item, ast.Constant)]):
                    tools.add("number words")
            case _:
                pass
    return tools


def _counts_words(words: list[object]) -> bool:
    return len(NUMBER_WORDS.intersection(words)) >= ENOUGH_NUMBER_WORDS


RULES: Mapping[str, Rule] = {
    "module_cycles": find_module_cycles,
    "folder_cycles": find_folder_cycles,
    "gerunds": find_gerunds,
    "repeated_stems": find_repeated_stems,
    "repeated_classes": find_repeated_classes,
    "question_docstrings": find_question_docstrings,
    "async_below_runtime": find_async,
    "second_tools": find_second_tools,
}


def find_offenders(rule: str) -> list[str]:
    """Return the offenders against a rule, each with how often it offends if that is more than once."""
    return [name if count == 1 else f"{name} ({count})" for name, count in sorted(RULES[rule]().items())]


def main() -> int:
    argparse.ArgumentParser(prog="python -m tests.architecture.offenders", description=__doc__).parse_args()
    lines = [f"{rule}: {offender}\n" for rule in RULES for offender in find_offenders(rule)]
    sys.stdout.writelines(lines)
    return int(bool(lines))


if __name__ == "__main__":
    sys.exit(main())
