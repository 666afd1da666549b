"""Facts about the server that the page shows: its version, its model, the address of the proxy."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ServerFacts:
    """Facts that change only when somebody names another model."""

    model: str = ""
    """The model that writes memory; empty where the built-in writer does."""
    endpoint: str = ""
    proxy: str = ""
    """The address that clients send their chats to; empty where nothing is passed on."""
    upstream: str = ""
    place: str = ""
    """The place of the stories, as it may be shown."""
