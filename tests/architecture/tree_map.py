"""Write CONTRIBUTING's map of the tree from what the modules say of themselves.

`python -m tests.architecture.tree_map` prints it, `--write` puts it into CONTRIBUTING.md.
"""

from __future__ import annotations

import argparse
import ast
import re
import sys

from tests.architecture.sources import ROOT, Module, all_modules

PAGE = ROOT / "CONTRIBUTING.md"
BEGIN, END = "<!-- tree: python -m tests.architecture.tree_map --write -->", "<!-- /tree -->"


def render_map() -> str:
    """Return one line per package and per module, packages after the modules beside them."""
    modules = [module for module in all_modules().values() if module.parts[1:] and module.path.stem != "__main__"]
    by_place = sorted(modules, key=_place)
    return "\n".join(_line(module) for module in by_place)


def read_map() -> str:
    """Return the map as CONTRIBUTING has it; empty if it has none."""
    page = PAGE.read_text("utf-8")
    if BEGIN not in page or END not in page:
        return ""
    return page.partition(BEGIN)[2].partition(END)[0].strip()


def write_map() -> None:
    page = PAGE.read_text("utf-8")
    before, _, rest = page.partition(BEGIN)
    after = rest.partition(END)[2]
    PAGE.write_text(f"{before}{BEGIN}\n\n{render_map()}\n\n{END}{after}", "utf-8")


def _place(module: Module) -> list[tuple[bool, str]]:
    """Return what sorts a package after the modules beside it, and before those in it."""
    *packages, last = module.parts[1:]
    inside = [(True, package) for package in packages]
    return [*inside, (module.is_package, last)]


def _line(module: Module) -> str:
    depth = len(module.parts) - 2
    name = f"{module.parts[-1]}/" if module.is_package else module.parts[-1]
    return f"{'  ' * depth}- `{name}` {first_sentence(ast.get_docstring(module.tree) or '')}".rstrip()


def first_sentence(text: str) -> str:
    """Return the first sentence of a docstring in one line; all of its first paragraph if it has no end."""
    paragraph = " ".join(text.split("\n\n")[0].split())
    found = re.match(r".*?[.!?](?=\s|$)", paragraph)
    return found.group() if found else paragraph


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.architecture.tree_map", description=__doc__)
    parser.add_argument("--write", action="store_true", help="put it into CONTRIBUTING.md")
    if parser.parse_args().write:
        write_map()
    else:
        sys.stdout.write(render_map() + "\n")


if __name__ == "__main__":
    main()
