"""Which names and which pages are let in: by rule, form by form."""

from __future__ import annotations

from pathlib import Path

import pytest

from previously import Memory
from previously.core.errors import BadInput
from previously.server.hosts import check_bind, check_host, check_origin, is_loopback, parse_hosts, parse_origins
from previously.server.refusals import Header, Refusal
from tests.end_to_end.server.running import running_proxy

HOSTS = parse_hosts("127.0.0.1")


def headers(**given: str) -> list[Header]:
    return [(name.replace("_", "-").encode(), value.encode("latin-1")) for name, value in given.items()]


@pytest.mark.parametrize(
    "host",
    ["127.0.0.1", "127.0.0.1:8642", "localhost", "LOCALHOST:1", "localhost:65535", "[::1]", "[::1]:8642"],
)
def test_this_machine_by_its_names_at_any_port(host: str) -> None:
    assert check_host(headers(host=host), HOSTS) == host.lower()


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:8642",
        "localhost.evil.example",
        "127.0.0.1.evil.example",
        "127.0.0.1@evil.example",
        "evil.example@127.0.0.1",
        "localhost.",
        "localhost:",
        "localhost:0",
        "localhost:65536",
        "localhost:99999999999",
        "localhost:80:80",
        "localhost:8642/evil",
        "localhost ",
        " localhost",
        "localhost\t",
        "localhost,evil.example",
        "http://localhost",
        "0.0.0.0:8642",
        "127.1",
        "127.0.0.2",
        "2130706433",
        "0x7f000001",
        "017700000001",
        "[::]",
        "::1",
        "[::1",
        "[::ffff:127.0.0.1]",
        "[0:0:0:0:0:0:0:1]",
        "[::1]evil.example",
        "ⓛocalhost".encode().decode("latin-1"),
        "localhost\x00",
        "*",
        "",
    ],
)
def test_no_other_name(host: str) -> None:
    with pytest.raises(Refusal) as refused:
        check_host(headers(host=host), HOSTS)
    assert refused.value.status == 421
    assert host.strip() not in refused.value.message or not host.strip("* ")


def test_a_missing_or_second_host_is_none() -> None:
    for given in ([], [*headers(host="localhost"), *headers(host="localhost")]):
        with pytest.raises(Refusal) as refused:
            check_host(given, HOSTS)
        assert refused.value.status == 421


def test_hosts_are_those_of_this_machine_the_bound_one_and_the_named() -> None:
    assert parse_hosts("0.0.0.0") == parse_hosts("::") == HOSTS
    assert parse_hosts("192.168.1.5", ["Memory.Example"]) == HOSTS | {"192.168.1.5", "memory.example"}
    assert parse_hosts("fe80::1") == parse_hosts("[fe80::1]") == HOSTS | {"fe80::1"}
    assert check_host(headers(host="[fe80::1]:80"), parse_hosts("fe80::1"))
    for bad in ("http://x", "x:80", "x/y", "*", "", "a b", "x@y", "[::1]:80"):
        with pytest.raises(BadInput, match="not the name of a host"):
            parse_hosts("127.0.0.1", [bad])


@pytest.mark.parametrize(
    ("host", "origin"),
    [
        ("127.0.0.1:8642", "http://127.0.0.1:8642"),
        ("localhost", "http://localhost"),
        ("localhost:80", "http://localhost"),
        ("memory.example", "https://memory.example"),
        ("[::1]:8642", "http://[::1]:8642"),
    ],
)
def test_our_own_pages_may_ask(host: str, origin: str) -> None:
    assert check_origin("POST", host, headers(origin=origin), ()) is None


@pytest.mark.parametrize(
    "origin",
    [
        "http://evil.example",
        "http://127.0.0.1:3000",
        "http://localhost:8642",
        "http://127.0.0.1",
        "https://127.0.0.1",
        "null",
        "",
        "file://",
        "http://127.0.0.1:8642.evil.example",
        "http://evil.example#http://127.0.0.1:8642",
        "http://evil.example@127.0.0.1:8642",
        "http://127.0.0.1:8642/",
        "http://127.0.0.1:8642 http://evil.example",
        "chrome-extension://abcdef",
        "ftp://127.0.0.1:8642",
        "http://[",
    ],
)
def test_pages_of_others_may_not(origin: str) -> None:
    for method in ("GET", "POST", "OPTIONS"):
        with pytest.raises(Refusal) as refused:
            check_origin(method, "127.0.0.1:8642", headers(origin=origin), parse_origins(["https://friend.example"]))
        assert refused.value.status == 403


def test_two_origins_are_none() -> None:
    ours = headers(origin="http://127.0.0.1:8642")
    with pytest.raises(Refusal):
        check_origin("GET", "127.0.0.1:8642", [*ours, *ours], ())


def test_named_origins_are_let_in_and_said() -> None:
    named = parse_origins(["http://localhost:3000/", "HTTPS://Friend.Example"])
    for origin in ("http://localhost:3000", "https://friend.example"):
        assert check_origin("POST", "127.0.0.1:8642", headers(origin=origin), named) == origin
    for bad in ("*", "localhost:3000", "http://", "http://a/b", "null", "", "http://a b"):
        with pytest.raises(BadInput, match="not an origin"):
            parse_origins([bad])


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_a_page_cannot_show_ours_as_its_own(site: str) -> None:
    shown = headers(sec_fetch_site=site, sec_fetch_mode="no-cors")
    with pytest.raises(Refusal):
        check_origin("GET", "localhost", shown, ())
    followed = headers(sec_fetch_site=site, sec_fetch_mode="navigate")
    assert check_origin("GET", "localhost", followed, ()) is None
    with pytest.raises(Refusal):
        check_origin("POST", "localhost", followed, ())


def test_whoever_is_no_browser_says_nothing_of_itself() -> None:
    assert check_origin("POST", "localhost", [], ()) is None
    for site in ("same-origin", "none"):
        assert check_origin("POST", "localhost", headers(sec_fetch_site=site), ()) is None


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "localhost", "LocalHost", "::1", "[::1]", "127.8.9.1", "::ffff:127.0.0.1"]
)
def test_loopback_needs_no_key(host: str) -> None:
    assert is_loopback(host)
    check_bind(host, has_keys=False)


@pytest.mark.parametrize(
    "host",
    [
        "0.0.0.0",
        "::",
        "",
        "*",
        "0",
        "127.1",
        "192.168.1.5",
        "example.com",
        "2130706433",
        "localhost.",
        "localhost.evil.example",
        "::ffff:1.2.3.4",
        "fe80::1%eth0",
        "/run/previously.sock",
        "unix:/run/previously.sock",
    ],
)
def test_beyond_it_one_does(host: str) -> None:
    assert not is_loopback(host)
    check_bind(host, has_keys=True)
    with pytest.raises(BadInput, match="keys add NAME") as refused:
        check_bind(host, has_keys=False)
    assert str(refused.value).count(".") - host.count(".") == 1, "one sentence"


async def test_a_server_beyond_this_machine_starts_with_a_key_and_asks_for_it(tmp_path: Path) -> None:
    db = tmp_path / "stories.db"
    with pytest.raises(AssertionError, match="previously keys add NAME"):
        async with running_proxy("http://127.0.0.1:9/v1", db=db, host="0.0.0.0"):
            pass
    async with await Memory.open(db) as memory:
        key, _ = await memory.add_key("mine")
    async with running_proxy("http://127.0.0.1:9/v1", db=db, host="0.0.0.0") as proxy:
        async with await Memory.open(db) as memory:
            await memory.remove_key("mine")
        stories = f"{proxy.origin}/api/v1/stories"
        assert (await proxy.client.get(stories)).status_code == 401
        assert (await proxy.client.get(stories, headers={"authorization": f"Bearer {key}"})).status_code == 401
