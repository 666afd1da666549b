"""The address of an OpenAI-compatible server, and the addresses below and beside it.

Pure. The address is used as the user gave it, `/v1` included; a trailing slash or the full path of `/chat/completions`
does no harm. `shown` is the only form that may be shown: without user name, password and query, which may hold keys.
"""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass
from urllib.parse import SplitResult, urlsplit

from previously.core.errors import BadInput

_EXAMPLE = "http://127.0.0.1:8080/v1"


@dataclass(frozen=True, slots=True)
class Endpoint:
    """The address of a server."""

    parts: SplitResult

    @property
    def shown(self) -> str:
        """The address as it may be shown."""
        host = self.parts.hostname or ""
        host = f"[{host}]" if ":" in host else host
        port = f":{self.parts.port}" if self.parts.port is not None else ""
        return f"{self.parts.scheme}://{host}{port}{self.parts.path}"

    @property
    def versioned(self) -> bool:
        """True when the path names a version of the interface, as in `/v1` or `/v1beta/openai`."""
        return re.search(r"/v\d", self.parts.path) is not None

    @property
    def loopback(self) -> bool:
        """True when the server is on this machine."""
        host = self.parts.hostname or ""
        try:
            return ipaddress.ip_address(host).is_loopback
        except ValueError:
            return host == "localhost" or host.endswith(".localhost")

    def join(self, path: str) -> str:
        """Return the address of a path of the OpenAI-compatible interface."""
        return self.parts._replace(path=f"{self.parts.path}/{path}").geturl()

    def join_beside(self, path: str) -> str:
        """Return the address of a path of the server's own interface, which lies where `/v1` does."""
        root = re.sub(r"/v\d[^/]*$", "", self.parts.path)
        return self.parts._replace(path=f"{root}/{path}").geturl()

    def __repr__(self) -> str:
        return f"Endpoint({self.shown!r})"


def parse_endpoint(base_url: str) -> Endpoint:
    """Parse an address; `BadInput` when it cannot be one. The message does not repeat what may hold a key."""
    given = base_url.strip()
    if re.search(r"[\s\x00-\x1f\x7f\\]", given):
        raise BadInput(f"The endpoint holds spaces or control characters; it should look like {_EXAMPLE}.")
    try:
        parts = urlsplit(given)
        host, _ = parts.hostname, parts.port
        if host:
            host.encode("idna")
    except (ValueError, UnicodeError):
        raise BadInput(f"The endpoint is not an address; it should look like {_EXAMPLE}.") from None
    if parts.scheme.lower() not in ("http", "https") or not host:
        raise BadInput(f"The endpoint must begin with http:// or https:// and name a server, like {_EXAMPLE}.")
    path = parts.path.rstrip("/").removesuffix("/chat/completions").rstrip("/")
    return Endpoint(parts._replace(path=path, fragment=""))
