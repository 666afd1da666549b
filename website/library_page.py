"""The page of every public class and function, from their signatures and docstrings."""

from __future__ import annotations

import dataclasses
import inspect
import re
from collections.abc import Callable, Iterator
from enum import Enum
from typing import Any

import previously

TOP = """# Every class and function

Look up a signature. This page is made from the code: everything that can be imported from `previously`, with what its
docstring says. How the parts work together, with examples, is in [the library](../library.md).

`BlockingMemory` gives stories with the methods of `Story` without `await`.
"""

LONGEST = 100
"""Characters of a signature that stand in one line: about what the site shows without scrolling."""

OPENED = ("Memory", "Story")
"""Classes that nobody makes by calling them."""


def render() -> str:
    """Return the page as Markdown."""
    named = sorted(((name, getattr(previously, name)) for name in previously.__all__), key=_rank)
    return "\n".join([TOP, *(_render_thing(name, thing) for name, thing in named)])


def _rank(named: tuple[str, Any]) -> tuple[int, str]:
    """Sort what everybody needs first, then classes, then functions, then errors."""
    name, thing = named
    first = ("Memory", "BlockingMemory", "Story", "View", "Settings")
    if name in first:
        return first.index(name), ""
    is_error = inspect.isclass(thing) and issubclass(thing, Exception)
    return 7 if is_error else 6 if not inspect.isclass(thing) else 5, name


def _render_thing(name: str, thing: Any) -> str:
    """Return the section of one public name."""
    parts = [f"## {name}", ""]
    if inspect.isclass(thing):
        if not issubclass(thing, Exception | Enum) and name not in OPENED:
            parts += _render_signature(name, thing)
        parts += [_render_doc(thing), ""]
        for method, function in _list_methods(thing):
            parts += [f"### {name}.{method}", "", *_render_signature(method, function), _render_doc(function), ""]
    else:
        parts += [*(_render_signature(name, thing) if callable(thing) else []), _render_doc(thing), ""]
    return "\n".join(parts)


def _list_methods(kind: type) -> Iterator[tuple[str, Any]]:
    """Yield the public methods and properties of a class, in the order of their names."""
    for name, member in inspect.getmembers(kind):
        if name.startswith("_") or name in {field.name for field in _list_fields(kind)}:
            continue
        function = member.fget if isinstance(member, property) else inspect.unwrap(member) if callable(member) else None
        if function is not None and (getattr(function, "__module__", None) or "").startswith("previously"):
            yield name, function


def _list_fields(kind: type) -> tuple[Any, ...]:
    return dataclasses.fields(kind) if dataclasses.is_dataclass(kind) else ()


def _render_signature(name: str, thing: Callable[..., Any]) -> list[str]:
    """Return the signature as a block of code, one parameter a line where it is long."""
    signature = inspect.signature(thing)
    begun = "async def " if inspect.iscoroutinefunction(thing) else "class " if inspect.isclass(thing) else "def "
    parameters, starred = [], False
    for one in signature.parameters.values():
        if one.name in ("self", "cls"):
            continue
        if one.kind is one.KEYWORD_ONLY and not starred:
            parameters.append("*")
        starred = starred or one.kind in (one.KEYWORD_ONLY, one.VAR_POSITIONAL)
        parameters.append(_render_parameter(one))
    back = "" if inspect.isclass(thing) else f" -> {_show_type(signature.return_annotation)}"
    line = f"{begun}{name}({', '.join(parameters)}){back}"
    if len(line) > LONGEST:
        line = f"{begun}{name}(\n    " + ",\n    ".join(parameters) + f",\n){back}"
    return ["```python", line, "```", ""]


def _render_parameter(one: inspect.Parameter) -> str:
    stars = "*" if one.kind is one.VAR_POSITIONAL else "**" if one.kind is one.VAR_KEYWORD else ""
    kind = "" if one.annotation is one.empty else f": {_show_type(one.annotation)}"
    shown = repr(one.default)
    default = "" if one.default is one.empty else f" = {'…' if shown.startswith('<') else shown}"
    return f"{stars}{one.name}{kind}{default}"


def _show_type(annotation: Any) -> str:
    """Return a type as it is written, without modules."""
    text = annotation if isinstance(annotation, str) else getattr(annotation, "__name__", str(annotation))
    return re.sub(r"\b(?:[a-z_]+\.)+(?=[A-Z])", "", text)


def _render_doc(thing: Any) -> str:
    """Return a docstring as Markdown; its examples become blocks of code."""
    doc = inspect.getdoc(thing) or ""
    paragraphs = re.split(r"\n\s*\n", doc)
    return "\n\n".join(_render_paragraph(one) for one in paragraphs)


def _render_paragraph(text: str) -> str:
    if ">>> " in text or all(line.startswith("    ") for line in text.splitlines() if line):
        return f"```python\n{inspect.cleandoc(text)}\n```"
    return text.replace("<", "&lt;")
