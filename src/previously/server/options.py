"""The options that an operator starts the proxy with."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from previously.core.errors import BadInput
from previously.models.endpoint import Endpoint

DEFAULT_PORT = 8642


@dataclass(frozen=True, slots=True)
class ServerOptions:
    """The options of a proxy. Nothing in them comes from a client."""

    upstream: Endpoint
    upstream_key: str = field(default="", repr=False)
    """Sent to the upstream for clients with a key of ours, and for folds."""
    host: str = "127.0.0.1"
    port: int = DEFAULT_PORT
    window_tokens: int | None = None
    """None = what the upstream tells, else what is taken for an unknown model."""
    deadline_s: float = 2.0
    """Seconds that memory may take before a request goes on without it."""
    idle_s: float = 1.0
    """Seconds that nobody may have asked for anything before folding begins."""
    timeout_s: float = 600.0
    """Seconds that the upstream may be silent."""
    drain_s: float = 20.0
    """Seconds that streams may go on when the proxy is told to stop."""
    memory: str = "upstream"
    """Who folds: `upstream`, or `builtin`."""
    memory_model: str = ""
    """Which model of the upstream folds; empty = the one that was last asked for."""
    require_keys: bool = False
    allow_hosts: tuple[str, ...] = ()
    allow_origins: tuple[str, ...] = ()
    log_json: bool = False
    spool_bytes: int = 64 * 1024 * 1024
    """The most that may wait on disk for a store that is down."""

    def __post_init__(self) -> None:
        if not 0 < self.port < 65_536:
            raise BadInput(f"{self.port} is no port; use a number from 1 to 65535.")
        if self.window_tokens is not None and self.window_tokens < 512:
            raise BadInput(f"A window of {self.window_tokens} tokens is too small for a story; use 512 or more.")
        if not (0 < self.deadline_s < math.inf and 0 < self.timeout_s < math.inf):
            raise BadInput("A time limit must be more than 0 seconds.")
        if not (0 <= self.idle_s < math.inf and 0 <= self.drain_s < math.inf):
            raise BadInput("A time to wait must be 0 seconds or more.")
        if self.memory == "builtin" and self.memory_model:
            raise BadInput("The built-in folder needs no model: give --memory builtin or --memory-model, not both.")
        if self.memory not in ("upstream", "builtin"):
            raise BadInput(f"{self.memory!r} cannot fold; use upstream or builtin, or name a memory endpoint.")
