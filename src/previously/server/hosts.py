"""The names a server answers to, and whose pages may ask it: rules about three headers.

A server on a person's own machine is reached by every page that their browser shows. Two things keep those out: the
name in `Host`, which a page that points its own name at this machine cannot choose, and `Origin`, which no page can
leave out when it sends anything. Neither check is ever off.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Collection, Iterable

from previously.core.errors import BadInput
from previously.core.patterns import lazy_pattern
from previously.server.refusals import Header, Refusal

LOCAL_NAMES = frozenset({"127.0.0.1", "localhost", "::1"})
ANY_INTERFACE = frozenset({"", "0.0.0.0", "::", "*"})

_AUTHORITY = lazy_pattern(r"(\[[0-9a-f:.]{2,45}\]|[a-z0-9_](?:[a-z0-9._-]{0,252}))(?::([0-9]{1,5}))?")
_ORIGIN = lazy_pattern(r"(https?)://(.+)")
_NAMES_OF_HEADERS = re.compile(rb"[A-Za-z0-9!#$%&'*+.^_`|~-]+(?: *, *[A-Za-z0-9!#$%&'*+.^_`|~-]+)*")
_PORTS = {"http": "80", "https": "443"}
_SEEN_BY_PAGES = b"x-previously-story, x-previously-memory, x-previously-request, x-request-id, retry-after"


def check_bind(host: str, has_keys: bool) -> None:
    """Refuse to listen where others can connect while anybody may ask: `BadInput`."""
    if not has_keys and not is_loopback(host):
        raise BadInput(
            f"Others can connect to {host or 'every interface'}, so clients need a key there: run `previously keys add "
            "NAME`, give the key to your client as its API key, and start again."
        )


def is_loopback(host: str) -> bool:
    """Return whether only this machine can connect to that address. A name but `localhost` may lead anywhere."""
    if host.lower() == "localhost":
        return True
    try:
        address = ipaddress.ip_address(host.strip("[]"))
    except ValueError:
        return False
    mapped = getattr(address, "ipv4_mapped", None)
    return (mapped or address).is_loopback


def parse_hosts(bind_host: str, extra: Iterable[str] = ()) -> frozenset[str]:
    """Return the names by which this server may be called: those of this machine, the address it listens on, and
    `extra`."""
    names = set(LOCAL_NAMES)
    for name in (*(() if bind_host in ANY_INTERFACE else (bind_host,)), *extra):
        split = _split_authority(name.lower() if name.count(":") < 2 or name.startswith("[") else f"[{name.lower()}]")
        if split is None or split[1]:
            raise BadInput(f"{name!r} is not the name of a host: give it without scheme and port.")
        names.add(split[0])
    return frozenset(names)


def parse_origins(origins: Iterable[str]) -> frozenset[str]:
    """Return the origins whose pages may ask, as browsers write them. Everybody is not one of them."""
    allowed = set()
    for origin in origins:
        match = _ORIGIN.fullmatch(origin.lower().rstrip("/"))
        if match is None or _split_authority(match.group(2)) is None:
            raise BadInput(f"{origin!r} is not an origin: give scheme and host, such as http://localhost:3000.")
        allowed.add(match.group())
    return frozenset(allowed)


def check_host(headers: Collection[Header], hosts: Collection[str]) -> str:
    """Return the one `Host`, as it was given; `Refusal` 421 unless it is one of ours."""
    given = values(headers, b"host")
    split = _split_authority(given[0].lower()) if len(given) == 1 else None
    if split is None or split[0] not in hosts:
        raise Refusal(421, "unknown_host", "This server does not go by that name; start it with --allow-host NAME.")
    return given[0].lower()


def check_target(target: bytes, host: str) -> None:
    """Raise `Refusal` 421 for a request whose target names another host than its `Host`: of two names only one would
    be checked. A target is a path, or the whole address with that very host."""
    scheme, _, rest = target.decode("latin-1").lower().partition("://")
    if not target.startswith(b"/") and (scheme not in _PORTS or re.split("[/?#]", rest, maxsplit=1)[0] != host):
        raise Refusal(421, "unknown_host", "The address in the request names another host than its `Host`.")


def check_origin(method: str, host: str, headers: Collection[Header], origins: Collection[str]) -> str | None:
    """Return the origin of a foreign page that may ask; None if no foreign page does. `Refusal` 403 for any other
    page."""
    given = values(headers, b"origin")
    if not given:
        _check_fetch(method, headers)
        return None
    origin = given[0].lower()
    if len(given) == 1 and origin in origins:
        return origin
    match = _ORIGIN.fullmatch(origin)
    if len(given) == 1 and match is not None:
        scheme, authority = match.groups()
        # By the page's own scheme: a proxy in front may speak TLS for us.
        if _add_port(authority, scheme) is not None and _add_port(authority, scheme) == _add_port(host, scheme):
            return None
    raise _refuse_foreign()


def check_own_page(headers: Collection[Header], host: str) -> None:
    """Raise `Refusal` 403 unless a page of this very server asks, as its browser says."""
    if not values(headers, b"origin") and values(headers, b"sec-fetch-site") != ["same-origin"]:
        raise _refuse_foreign()
    if check_origin("POST", host, headers, ()) is not None:
        raise _refuse_foreign()


def make_cors_headers(origin: str) -> list[Header]:
    """Return the headers that let a page of that origin read an answer."""
    return [
        (b"access-control-allow-origin", origin.encode()),
        (b"access-control-expose-headers", _SEEN_BY_PAGES),
        (b"vary", b"Origin"),
    ]


def is_preflight(method: str, headers: Collection[Header]) -> bool:
    """Return whether a browser asks what a page may send."""
    return method == "OPTIONS" and bool(values(headers, b"access-control-request-method"))


def make_preflight_headers(headers: Collection[Header]) -> list[Header]:
    """Return the headers that say what an allowed page may send: whatever it wishes to, since its origin was named by
    whoever runs this server."""
    answer = [(b"access-control-allow-methods", b"GET, POST, PUT, PATCH, DELETE"), (b"access-control-max-age", b"600")]
    wished = values(headers, b"access-control-request-headers")
    if len(wished) == 1 and _NAMES_OF_HEADERS.fullmatch(wished[0].encode("latin-1")):
        answer.append((b"access-control-allow-headers", wished[0].encode("latin-1")))
    if values(headers, b"access-control-request-private-network") == ["true"]:
        answer.append((b"access-control-allow-private-network", b"true"))
    return answer


def values(headers: Collection[Header], name: bytes) -> list[str]:
    return [value.decode("latin-1") for known, value in headers if known == name]


def _check_fetch(method: str, headers: Collection[Header]) -> None:
    """Refuse a page that shows something of ours as its image, script or frame: it sends no origin, but its browser
    says so."""
    site = values(headers, b"sec-fetch-site")
    if not site or site[0] in ("same-origin", "none"):
        return
    if method not in ("GET", "HEAD") or values(headers, b"sec-fetch-mode") != ["navigate"]:
        raise _refuse_foreign()


def _refuse_foreign() -> Refusal:
    return Refusal(403, "foreign_origin", "Pages of another origin may not ask; start with --allow-origin ORIGIN.")


def _split_authority(authority: str) -> tuple[str, str] | None:
    """Return name and port, the name without brackets; None if it is no authority."""
    match = _AUTHORITY.fullmatch(authority)
    if match is None or int(match.group(2) or 1) not in range(1, 65536):
        return None
    return match.group(1).strip("[]"), match.group(2) or ""


def _add_port(authority: str, scheme: str) -> tuple[str, str] | None:
    split = _split_authority(authority)
    return split and (split[0], split[1] or _PORTS.get(scheme, ""))
