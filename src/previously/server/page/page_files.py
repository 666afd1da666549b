"""The files of the page, as they are served: read once, compressed, each with its tag.

They are the same for everybody and hold no story: whoever may connect gets them, and all that the page shows it asks
`/api/v1` for. The headers say that nothing runs or loads but these files, and that no string becomes markup.
"""

from __future__ import annotations

import gzip
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import PurePosixPath
from posixpath import normpath

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

PREFIX = "/page/"

KINDS = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".mjs": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
}
"""The types of what is served; a file of another kind is none of the page's."""

POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "connect-src 'self'",
        "img-src 'self' data: blob:",  # pictures in messages
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",  # no string is ever taken for markup or a script
        "trusted-types 'none'",
    )
)

HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-cache",  # kept, and asked about each time: a new version shows at once
    "vary": "Accept-Encoding",
}

FIRST_SCREEN = "screens/stories.js"
"""The screen that most people come to first: it is loaded beside the frame, not after it."""

STATIC_IMPORT = re.compile(r"""^(?:import|export)\b[^"'()]*\bfrom\s*["'](\./[^"']+|\.\./[^"']+)["']""", re.MULTILINE)

SMALL = 512
"""Bytes below which a file is sent as it is: compressed it would hardly be smaller."""


@dataclass(frozen=True, slots=True)
class PageFile:
    """One file: its bytes, plain and compressed, and what its headers say of it."""

    kind: str
    tag: str
    body: bytes
    compressed: bytes


@cache
def read_page_files() -> dict[str, PageFile]:
    """Return all files by their path below `/page/`; the page itself is `index.html`."""
    found = dict(_walk(resources.files(__package__), PurePosixPath()))
    modules = _list_imports(found, FIRST_SCREEN) | _list_imports(found, "app.js")
    # Named at once, they are loaded beside each other and not one after the other. Other screens are loaded when shown.
    links = "\n".join(f'<link rel="modulepreload" href="{PREFIX}{path}">' for path in sorted(modules - {"app.js"}))
    found["index.html"] = found["index.html"].replace(b"<!-- modules -->", links.encode())
    return {path: _make_file(path, body) for path, body in found.items()}


def _list_imports(files: Mapping[str, bytes], path: str) -> set[str]:
    """Return a module and all that it imports, directly or by others."""
    listed, waiting = set[str](), [path]
    while waiting:
        module = waiting.pop()
        if module not in listed:
            listed.add(module)
            named = STATIC_IMPORT.findall(files[module].decode())
            waiting += [normpath(PurePosixPath(module).parent / name) for name in named]
    return listed


def _walk(folder: Traversable, at: PurePosixPath) -> list[tuple[str, bytes]]:
    files: list[tuple[str, bytes]] = []
    for entry in folder.iterdir():
        path = at / entry.name
        if entry.is_dir():
            files += _walk(entry, path)
        elif path.suffix in KINDS:
            files.append((str(path), entry.read_bytes()))
    return files


def _make_file(path: str, body: bytes) -> PageFile:
    compressed = gzip.compress(body, 9, mtime=0) if len(body) >= SMALL else body
    return PageFile(KINDS[PurePosixPath(path).suffix], f'"{sha256(body).hexdigest()[:16]}"', body, compressed)


async def _serve(request: Request) -> Response:
    page_file = read_page_files().get(request.path_params.get("path", "index.html"))
    if page_file is None:
        return Response("There is no such file.", 404, HEADERS, "text/plain; charset=utf-8")
    headers = {**HEADERS, "etag": page_file.tag}
    if page_file.tag in [tag.strip().removeprefix("W/") for tag in request.headers.get("if-none-match", "").split(",")]:
        return Response(None, 304, headers)
    body = page_file.body
    if "gzip" in request.headers.get("accept-encoding", "") and page_file.compressed is not page_file.body:
        headers["content-encoding"], body = "gzip", page_file.compressed
    return Response(body, 200, headers, page_file.kind)


def make_page_routes(opened: Callable[[], object] = lambda: None) -> list[Route]:
    """Return the routes of the page and of its files; `opened` is called when somebody comes to the page."""

    async def show(request: Request) -> Response:
        opened()
        return await _serve(request)

    return [Route("/", show), Route(PREFIX + "{path:path}", _serve)]
