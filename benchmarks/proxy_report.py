"""The figures of the proxy benchmark, for people to read."""

from __future__ import annotations

from typing import Any


def show(what: str, found: Any) -> None:
    """One part of the figures."""
    print(f"\n{what}")
    if not isinstance(found, dict):
        print(f"  {found}")
        return
    for name, value in found.items():
        if isinstance(value, dict):
            print(f"  {name:12} " + "  ".join(f"{key} {_worded(one)}" for key, one in value.items()))
        else:
            print(f"  {name}: {_worded(value)}")


def _worded(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:,.2f}"
    if isinstance(value, list):
        return " ".join(_worded(one) for one in value)
    return str(value)
