"""Addresses: used as given, shown without what may be secret."""

from __future__ import annotations

import pytest

from previously.core.errors import BadInput
from previously.models.endpoint import parse_endpoint


@pytest.mark.parametrize(
    ("given", "below", "beside"),
    [
        ("http://127.0.0.1:8080/v1", "http://127.0.0.1:8080/v1/chat/completions", "http://127.0.0.1:8080/props"),
        ("http://127.0.0.1:8080/v1/", "http://127.0.0.1:8080/v1/chat/completions", "http://127.0.0.1:8080/props"),
        ("http://localhost:8080", "http://localhost:8080/chat/completions", "http://localhost:8080/props"),
        (" http://[::1]:8080/v1 ", "http://[::1]:8080/v1/chat/completions", "http://[::1]:8080/props"),
        ("https://a.example/api/v1", "https://a.example/api/v1/chat/completions", "https://a.example/api/props"),
        ("https://a.example/v1?key=k", "https://a.example/v1/chat/completions?key=k", "https://a.example/props?key=k"),
        ("http://a.example/v1/chat/completions", "http://a.example/v1/chat/completions", "http://a.example/props"),
    ],
)
def test_paths(given: str, below: str, beside: str) -> None:
    found = parse_endpoint(given)
    assert found.join("chat/completions") == below
    assert found.join_beside("props") == beside


def test_what_is_shown_holds_no_secret() -> None:
    found = parse_endpoint("https://wren:hunter2@a.example:99/v1?key=hunter3#hunter4")
    assert found.shown == "https://a.example:99/v1"
    assert "hunter" not in repr(found)
    assert parse_endpoint("http://[::1]:8080/v1").shown == "http://[::1]:8080/v1"


@pytest.mark.parametrize(
    ("given", "versioned", "loopback"),
    [
        ("http://127.0.0.1/v1", True, True),
        ("http://127.0.0.5", False, True),
        ("http://localhost:1", False, True),
        ("http://[::1]:1/", False, True),
        ("http://me.localhost/v1beta/openai", True, True),
        ("http://192.168.0.2/v1", True, False),
        ("https://localhost.example/api", False, False),
    ],
)
def test_what_is_known_of_it(given: str, versioned: bool, loopback: bool) -> None:
    found = parse_endpoint(given)
    assert (found.versioned, found.loopback) == (versioned, loopback)


@pytest.mark.parametrize(
    "given",
    [
        "", "127.0.0.1:8080", "localhost:8080/v1", "ftp://a.example", "http://", "http:///v1", "http://a.example:port",
        "http://a.example:99999", "http://a b/v1", "http://a.example/v1\n", "file:///etc/passwd", "http://[::1", "/v1",
        "http://" + "a" * 70 + ".example/v1",
    ],
)  # fmt: skip
def test_what_cannot_be_an_address_is_refused(given: str) -> None:
    if given.endswith("\n"):
        given = given.replace("/v1", "/v 1")
    with pytest.raises(BadInput):
        parse_endpoint(given)
