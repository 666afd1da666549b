"""The page's files over HTTP: the same for everybody, compressed, asked about anew, and under strict headers."""

from __future__ import annotations

import gzip
import re
from hashlib import sha256
from importlib import resources

import pytest
from starlette.applications import Starlette

from previously.server import refusals
from previously.server.guard import Guard, GuardRules
from previously.server.page.page_files import HEADERS, KINDS, make_page_routes, read_page_files
from tests.end_to_end.server.asking import asked
from tests.end_to_end.server.test_callers import KEY, Doors

FIRST_LOAD = 150_000
"""Bytes that a browser may load before it shows the first screen."""


@pytest.fixture
def guard(monkeypatch: pytest.MonkeyPatch) -> Guard:
    monkeypatch.setattr(refusals, "LINGER_S", 0.01)
    return Guard(Starlette(routes=make_page_routes()), GuardRules.of("127.0.0.1"), Doors(**{KEY: "ann"}).callers())


async def test_the_page_and_all_it_names_are_there_for_whoever_has_no_key(guard: Guard) -> None:
    answer = await asked(guard, path="/")
    assert (answer.status, answer.headers["content-type"]) == (200, "text/html; charset=utf-8")
    named = re.findall(r'(?:src|href)="([^"]+)"', answer.body.decode())
    assert "/page/app.js" in named
    assert "/page/vendor/preact.mjs" in named
    for path in named:
        found = await asked(guard, path=path)
        assert found.status == 200, path
        assert found.headers["content-type"] in KINDS.values()
        assert {name: found.headers[name] for name in HEADERS} == HEADERS


async def test_a_file_that_is_known_is_not_sent_again(guard: Guard) -> None:
    first = await asked(guard, path="/page/app.js", headers={"accept-encoding": "gzip"})
    assert first.headers["content-encoding"] == "gzip"
    plain = await asked(guard, path="/page/app.js")
    assert "content-encoding" not in plain.headers
    assert gzip.decompress(first.body) == plain.body
    tag = first.headers["etag"]
    for known in (tag, f'"other", W/{tag}'):
        again = await asked(guard, path="/page/app.js", headers={"if-none-match": known})
        assert (again.status, again.body, again.headers["etag"]) == (304, b"", tag)
    assert (await asked(guard, path="/page/app.js", headers={"if-none-match": '"other"'})).status == 200


@pytest.mark.parametrize(
    "path",
    ["/page/", "/page/nothing.js", "/page/page_files.py", "/page/../app.py", "/page/%2e%2e/app.py", "/page/vendor"],
)
async def test_what_is_no_file_of_the_page(guard: Guard, path: str) -> None:
    assert (await asked(guard, path=path)).status == 404


def test_nothing_runs_or_loads_but_these_files() -> None:
    policy = HEADERS["content-security-policy"].split("; ")
    assert policy[0] == "default-src 'none'"
    assert "script-src 'self'" in policy
    assert "require-trusted-types-for 'script'" in policy
    assert not [rule for rule in policy if "unsafe" in rule or "http" in rule or "*" in rule]
    page = read_page_files()["index.html"].body.decode()
    assert not re.search(r"<style|style=|\son\w+=|<script(?! type=\"module\"(?: async)? src=\"/page/)", page)
    for path, page_file in read_page_files().items():
        if not path.startswith("vendor/"):
            assert not re.search(
                rb"innerHTML|outerHTML|insertAdjacent|dangerously|document\.write|https?://(?!www\.w3\.org|127\.0\.0\.1)",
                page_file.body,
            ), path


def test_the_first_load_is_small() -> None:
    files = read_page_files()
    named = re.findall(r'(?:src|href)="/page/([^"]+)"', files["index.html"].body.decode())
    first = ["index.html", *named]
    assert {"first.js", "app.js", "screens/stories.js", "screens/stories/health.js", "vendor/hooks.mjs"} <= set(named)
    assert "screens/map.js" not in named, "other screens are loaded when they are shown"
    assert len(named) == len(set(named))
    assert sum(len(files[path].compressed) for path in first) < FIRST_LOAD


def test_what_is_of_others_is_as_it_was() -> None:
    folder = resources.files("previously.server.page") / "vendor"
    rows = re.findall(r"^(\w+\.mjs) .* ([0-9a-f]{64})$", (folder / "README.txt").read_text(), re.MULTILINE)
    assert {name for name, _ in rows} == {entry.name for entry in folder.iterdir() if entry.name.endswith(".mjs")}
    for name, digest in rows:
        original = (folder / name).read_bytes().replace(b'from"./preact.mjs"', b'from"preact"')
        assert sha256(original).hexdigest() == digest, name
