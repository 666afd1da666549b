"""The routes of the API as its own description lists them, and a sound request for each."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import cache
from typing import Any
from urllib.parse import quote

from previously.server.api.application import make_application
from previously.server.api.door import Services

GIVEN = {
    "position": "0", "number": "1", "thing": "recap", "version": "1", "thread": "1", "branch": "main", "name": "x",
    "book": "x", "prompt": "cast", "upload": "x", "game": "x", "slot": "x", "shared": "x", "fact": "1", "entry": "x",
}  # fmt: skip


@dataclass(frozen=True)
class Operation:
    """A method at a path."""

    method: str
    path: str

    def __str__(self) -> str:
        return f"{self.method} {self.path}"

    @property
    def described(self) -> dict[str, Any]:
        found: dict[str, Any] = describe_api()["paths"][self.path][self.method.lower()]
        return found

    def fill_path(self, **names: str) -> str:
        """Return the path with a value for each name in it, and the query that it needs."""
        filled = re.sub(r"\{(\w+)\}", lambda found: quote({**GIVEN, **names}[found[1]], safe=""), self.path)
        asked = [one["name"] for one in self.described.get("parameters", ()) if one["in"] == "query"]
        needed = [one for one in self.described.get("parameters", ()) if one["name"] in asked and one.get("required")]
        query = "&".join(f"{one['name']}={quote(str(make_value(one['schema'])))}" for one in needed)
        return f"{filled}?{query}" if query else filled

    @property
    def kind(self) -> str:
        """Return the kind of its body."""
        kinds = self.described.get("requestBody", {}).get("content", {})
        return "application/json" if "application/json" in kinds or not kinds else next(iter(kinds))

    def make_request(self, **names: str) -> dict[str, Any]:
        """Return a sound request, as a client takes it."""
        content = {"content": b"x" if self.kind != "application/json" else json.dumps(self.make_body()).encode()}
        sent = {} if self.method in ("GET", "DELETE") else {**content, "headers": {"content-type": self.kind}}
        return {"method": self.method, "url": self.fill_path(**names), **sent}

    def make_body(self) -> Any:
        """Return the least that a request must say; None where it has no body."""
        if self.method in ("GET", "DELETE"):
            return None
        content = self.described.get("requestBody", {}).get("content", {})
        return make_value(content["application/json"]["schema"]) if "application/json" in content else {}


@cache
def describe_api() -> dict[str, Any]:
    """Return the description of the whole API."""
    return make_application(Services(lambda owner: (_ for _ in ()).throw(AssertionError(owner)))).openapi()


def list_operations() -> list[Operation]:
    return [Operation(method.upper(), path) for path, methods in describe_api()["paths"].items() for method in methods]


def make_value(schema: dict[str, Any]) -> Any:
    """Return a small value that a schema allows."""
    if "$ref" in schema:
        return make_value(describe_api()["components"]["schemas"][schema["$ref"].rpartition("/")[2]])
    if "anyOf" in schema:
        return make_value(schema["anyOf"][0])
    if "enum" in schema or "const" in schema:
        return schema.get("const", schema.get("enum", [None])[0])
    match schema.get("type"):
        case "object":
            needed = schema.get("required", ())
            return {name: make_value(schema["properties"][name]) for name in needed}
        case "array":
            return [make_value(schema["items"])] * schema.get("minItems", 0)
        case "integer" | "number":
            return max(1, schema.get("minimum", 1))
        case "boolean":
            return False
        case "string":
            return "x" * max(1, schema.get("minLength", 1))
    return {}
