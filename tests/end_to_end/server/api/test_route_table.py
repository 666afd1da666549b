"""What the command line can do, the API can: one table, and a page that names every route."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path

import typer

from previously.cli.headings import COMMANDS
from tests.end_to_end.server.api.routes import list_operations

S = "/stories/{story}"
PAGE = Path(__file__).parents[4] / "docs" / "api.md"

ROUTES = {
    "import": "POST /imports", "stories": "GET /stories", "show": f"GET {S}/memory", "view": f"GET {S}/view",
    "ask": f"POST {S}/ask", "search": f"GET {S}/search", "fold": f"POST {S}/fold", "undo": f"POST {S}/undo",
    "why": f"GET {S}/messages/{{}}/saw", "blame": f"GET {S}/blame", "log": f"GET {S}/versions",
    "diff": f"GET {S}/diff", "who-knows": f"GET {S}/who-knows", "edit": f"PUT {S}/things/{{}}",
    "remove": f"DELETE {S}/things/{{}}", "lock": f"POST {S}/things/{{}}/lock",
    "unlock": f"POST {S}/things/{{}}/unlock", "pin": f"POST {S}/pins", "restore": f"POST {S}/versions/{{}}/restore",
    "pending": f"GET {S}/pending", "approve": f"POST {S}/versions/{{}}/approve",
    "reject": f"POST {S}/versions/{{}}/reject", "write": f"POST {S}/chat", "add": f"POST {S}/messages",
    "continue": f"POST {S}/continue", "delete": f"DELETE {S}/messages/{{}}", "hide": f"POST {S}/messages/{{}}/hide",
    "unhide": f"POST {S}/messages/{{}}/unhide", "branch": f"POST {S}/branches",
    "switch": f"POST {S}/branches/{{}}/switch", "presence": f"PUT {S}/presence", "rename": f"PATCH {S}",
    "set": f"PATCH {S}/settings", "presets": "GET /presets", "compact": "POST /compact",
    "analyze": f"POST {S}/analyze", "play": "POST /games/{}/{}/turn", "export": f"GET {S}/export",
    "backup": "POST /backups", "forget": f"POST {S}/forget", "verify": "GET /verify", "gc": "POST /gc",
    "doctor": "GET /doctor", "lore list": f"GET {S}/lore", "lore add": f"POST {S}/lore",
    "lore edit": f"PATCH {S}/lore/{{}}", "lore show": f"GET {S}/things/{{}}", "lore merge": f"POST {S}/lore/{{}}/merge",
    "lore rename": f"POST {S}/lore/{{}}/rename",
    "lore accept": f"POST {S}/lore/{{}}/accept", "lore remove": f"DELETE {S}/things/{{}}",
    "lore explain": f"GET {S}/lore/explain", "lore export": f"GET {S}/export", "threads list": f"GET {S}/threads",
    "threads show": f"GET {S}/things/{{}}", "threads add": f"POST {S}/threads",
    "threads edit": f"PATCH {S}/threads/{{}}", "threads remove": f"DELETE {S}/things/{{}}",
    "threads settle": f"POST {S}/threads/{{}}/resolve", "threads reopen": f"POST {S}/threads/{{}}/reopen",
    "threads merge": f"POST {S}/threads/{{}}/merge", "state list": f"GET {S}/state",
    "state show": f"GET {S}/things/{{}}", "state add": f"POST {S}/state", "state edit": f"PUT {S}/things/{{}}",
    "state remove": f"DELETE {S}/things/{{}}", "wishes list": f"GET {S}/wishes",
    "wishes edit": f"PUT {S}/things/{{}}", "wishes remove": f"DELETE {S}/things/{{}}", "cast list": f"GET {S}/cast",
    "cast show": f"GET {S}/things/{{}}", "cast merge": f"POST {S}/cast/{{}}/merge",
    "chapters list": f"GET {S}/chapters", "chapters show": f"GET {S}/things/{{}}",
    "chapters add": f"POST {S}/chapters", "chapters edit": f"PATCH {S}/chapters/{{}}",
    "chapters remove": f"DELETE {S}/things/{{}}", "scenes list": f"GET {S}/scenes",
    "scenes show": f"GET {S}/things/{{}}", "scenes add": f"POST {S}/scenes", "branches list": f"GET {S}/branches",
    "branches show": f"GET {S}/things/{{}}", "branches add": f"POST {S}/branches",
    "branches edit": f"PATCH {S}/branches/{{}}", "books list": "GET /books", "books show": "GET /books/{}",
    "books add": "PUT /books/{}", "books attach": f"PUT {S}/books/{{}}", "books detach": f"DELETE {S}/books/{{}}",
    "books remove": "DELETE /books/{}", "keys list": "GET /keys", "keys add": "POST /keys",
    "keys remove": "DELETE /keys/{}", "shared attach": f"PUT {S}/books/{{}}",
    "shared detach": f"DELETE {S}/books/{{}}", "shared list": "GET /shared", "shared show": "GET /shared/{}",
    "shared add": "POST /shared/{}/facts", "shared edit": "PUT /shared/{}/facts/{}",
    "shared remove": "DELETE /shared/{}/facts/{}", "shared undo": "POST /shared/{}/undo",
    "shared keep": "POST /shared/{}/keep", "shared learn": "PUT /shared/{}/rule",
    "books edit": "PATCH /books/{}/entries/{}", "move": "POST /move", "apply": f"POST {S}/apply",
}  # fmt: skip
"""The route of each command: the one that does its main work."""

NO_ROUTE = {
    "demo": "plays on a terminal; the page has the sample story",
    "try": "keeps nothing: POST /imports previews a file, and DELETE lets go of it",
    "serve": "starts the server that answers",
    "open": "starts the server that answers",
    "completion": "is for a shell",
    "help": "GET /openapi.json describes the API",
    "lore validate": "judges a file, no story",
    "lore migrate": "rewrites a file, no story",
    "lore combine": "writes a file from files or from scenes",
}
"""The commands that no route does, and why."""


def blank_names(route: str) -> str:
    return re.sub(r"\{\w*\}", "{}", route)


def list_commands() -> set[str]:
    """Return every command, those of groups with their group."""
    found = set()
    for name, target in COMMANDS.items():
        module, _, attribute = target.partition(".")
        command = getattr(import_module(f"previously.cli.{module}"), attribute)
        if isinstance(command, typer.Typer):
            found |= {f"{name} {one.name}" for one in command.registered_commands}
        else:
            found.add(name)
    return found


def list_routes() -> set[str]:
    return {blank_names(str(operation)) for operation in list_operations()}


def test_every_command_has_its_route() -> None:
    commands = list_commands()
    assert commands == set(ROUTES) | (set(NO_ROUTE) & commands), "every command is in the table, and no other"
    assert not set(ROUTES) & set(NO_ROUTE)
    assert set(NO_ROUTE) - commands <= {"open"}, "exceptions are of commands that exist"
    assert not {command: route for command, route in ROUTES.items() if blank_names(route) not in list_routes()}


def read_page() -> set[str]:
    """Return the routes that the page names: `S` is a story, and `/x` after a comma stands in the last segment."""
    named = set()
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        cell = line.split("|")[1] if line.startswith("| ") else line if line.startswith("GET `") else ""
        methods: list[str] = []
        last, fresh = "", False
        for word, quoted in re.findall(r"\b(GET|POST|PUT|PATCH|DELETE)\b|`([^`]*)`", cell):
            if word:
                methods = [*methods, word] if fresh else [word]
                fresh = True
            elif methods and re.match(r"S(/|$)|/", quoted):
                path = re.sub(r"^S(?=/|$)", S, quoted)
                last = path if fresh or quoted[0] == "S" else last.rpartition("/")[0] + path
                named |= {blank_names(f"{method} {last}") for method in methods}
                fresh = False
    return named


def test_the_page_names_every_route_and_no_other() -> None:
    assert read_page() == list_routes()
