"""Ports for servers that tests start as processes of their own."""

from __future__ import annotations

import itertools
import os
import socket

FIRST, LAST = 10_000, 32_000
"""Below the ports that a system gives to connections going out: one of those may be taken before the server that a test
starts has begun to listen."""

_OFFERED = itertools.count(os.getpid() * 61)
"""Each process begins elsewhere, and offers no port twice in a row: two runs of tests beside each other seldom meet."""


def find_port() -> int:
    """Return a port of the loopback interface that nobody listens on."""
    for number in _OFFERED:
        port = FIRST + number % (LAST - FIRST)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    raise AssertionError("a counter never ends")
