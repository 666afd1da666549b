"""The types of the blocking fronts, made from the methods of `Story` and `Memory`.

`python -m tests.blocking_stub` writes them to `src/previously/blocking.pyi`.
"""

from __future__ import annotations

import ast
import inspect
import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from previously import blocking
from previously.app import Memory
from previously.runtime.conversation import fold_conversation_async
from previously.story.story import Story

STUB = Path(blocking.__file__).with_suffix(".pyi")

PRIVATE = {
    "BlockingStory": ["_inner: Story", "def _run(self, work: Coroutine[Any, Any, T]) -> T: ..."],
    "BlockingMemory": ["_inner: Memory", "_runner: Runner"],
}
"""What tests reach for."""


def make_stub() -> str:
    """Return the text of the stub."""
    imports: dict[str, set[str]] = defaultdict(set)
    imports |= {
        "asyncio": {"Runner"}, "typing": {"TypeVar"}, Memory.__module__: {"Memory"}, Story.__module__: {"Story"}
    }  # fmt: skip
    by_hand = {
        "BlockingStory": ["__init__", "name"],
        "BlockingMemory": ["__init__", "story", "_run", "close", "__enter__", "__exit__"],
    }
    blocks = ['T = TypeVar("T")', "NOT_BLOCKING: frozenset[str]"]
    blocks += [_render("find_async_methods", blocking.find_async_methods, imports, "")]
    blocks += [_render("fold_conversation", fold_conversation_async, imports, "")]
    for front, owner in ((blocking.BlockingStory, Story), (blocking.BlockingMemory, Memory)):
        lines = [f"class {front.__name__}:", *(f"    {line}" for line in PRIVATE[front.__name__])]
        for name in by_hand[front.__name__]:
            member = inspect.getattr_static(front, name)
            if isinstance(member, property):
                lines.append("    @property")
                member = member.fget
            lines.append(_render(name, member, imports, "    "))
        lines += [_render(name, method, imports, "    ") for name, method in blocking.find_async_methods(owner)]
        blocks.append("\n".join(lines))
    imported = "\n".join(
        f"from {module} import {', '.join(sorted(names))}" for module, names in sorted(imports.items())
    )
    text = f"# Written by `python -m tests.blocking_stub`.\n\n{imported}\n\n" + "\n\n".join(blocks) + "\n"
    for arguments in (["check", "--select", "I", "--fix-only", "--quiet"], ["format"]):
        ruff = [sys.executable, "-m", "ruff", *arguments, "--stdin-filename", str(STUB), "-"]
        text = subprocess.run(ruff, input=text, capture_output=True, text=True, check=True).stdout
    return text


def _render(name: str, method: Callable[..., Any], imports: dict[str, set[str]], indent: str) -> str:
    method = inspect.unwrap(method)
    signature = inspect.signature(method)
    parameters = [
        parameter.replace(default=parameter.default if _is_plain(parameter.default) else Ellipsis)
        if parameter.default is not parameter.empty
        else parameter
        for parameter in signature.parameters.values()
    ]
    sources = _read_imports(method.__module__)
    annotations = [str(one.annotation) for one in parameters if one.annotation is not one.empty]
    for word in re.findall(r"(?<![\w.\"'])[A-Za-z_]\w*", " ".join([*annotations, str(signature.return_annotation)])):
        if word in sources:
            imports[sources[word]].add(word)
    listed = ", ".join(str(one) for one in _with_star(parameters))
    listed = re.sub(r": '([^']*)'", r": \1", listed).replace("Ellipsis", "...")
    return f"{indent}def {name}({listed}) -> {signature.return_annotation}: ..."


def _with_star(parameters: list[inspect.Parameter]) -> list[object]:
    shown: list[object] = []
    for at, parameter in enumerate(parameters):
        starts = parameter.kind is parameter.KEYWORD_ONLY and (
            not at or parameters[at - 1].kind is not parameter.KEYWORD_ONLY
        )
        shown += ["*", parameter] if starts else [parameter]
    return shown


def _is_plain(default: object) -> bool:
    return default is None or isinstance(default, bool | int | float | str | tuple)


@cache
def _read_imports(module: str) -> dict[str, str]:
    """Return where each name of a module comes from."""
    text = Path(str(sys.modules[module].__file__)).read_text(encoding="utf-8")
    names: dict[str, str] = {}
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom) and node.module:
            names |= {alias.asname or alias.name: node.module for alias in node.names}
        elif isinstance(node, ast.ClassDef):
            names[node.name] = module
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            names[node.targets[0].id] = module
    return {name: source for name, source in names.items() if source != blocking.__name__}


if __name__ == "__main__":
    STUB.write_text(make_stub(), encoding="utf-8")
