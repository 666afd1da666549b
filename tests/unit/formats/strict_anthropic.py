"""What Anthropic's API refuses in a request, as sentences; none = it is taken."""

from __future__ import annotations

import re
from typing import Any

_ID = re.compile(r"[a-zA-Z0-9_-]+")


def refusals(body: dict[str, Any]) -> list[str]:
    """Why a request would be refused."""
    messages = body["messages"]
    found: list[str] = []
    if not messages:
        return ["no message"]
    if messages[0]["role"] != "user":
        found.append("the first message is not the user's")
    if "system" in body and not body["system"]:
        found.append("empty system")
    asked: list[str] = []
    used: set[str] = set()
    for at, message in enumerate(messages):
        if at and message["role"] == messages[at - 1]["role"]:
            found.append(f"{at}: the same role twice")
        content = message["content"]
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        if not blocks:
            found.append(f"{at}: empty content")
        answered = [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"]
        if sorted(answered) != sorted(asked):
            found.append(f"{at}: asked {asked}, answered {answered}")
        kinds = [block["type"] for block in blocks]
        if "tool_result" in kinds[len(answered) :]:
            found.append(f"{at}: a result behind other blocks")
        if message["role"] == "assistant" and kinds and kinds[-1] in ("thinking", "redacted_thinking"):
            found.append(f"{at}: ends in thinking")
        asked = []
        for block in blocks:
            found += [f"{at}: {why}" for why in _block(block, message["role"])]
            if block["type"] == "tool_use":
                asked.append(block["id"])
                if block["id"] in used:
                    found.append(f"{at}: an id twice")
                used.add(block["id"])
    if asked:
        found.append("calls without results at the end")
    return found


def _block(block: dict[str, Any], role: str) -> list[str]:
    found = []
    match block["type"]:
        case "text":
            if not block["text"].strip():
                found.append("empty text")
        case "thinking":
            if role != "assistant" or not block.get("signature"):
                found.append("thinking without a signature")
        case "tool_use":
            if role != "assistant" or not isinstance(block["input"], dict) or not _ID.fullmatch(block["id"]):
                found.append("a bad call")
            if not re.fullmatch(r"[a-zA-Z0-9_-]{1,128}", block["name"]):
                found.append("a bad name")
        case "tool_result":
            if role != "user" or block.get("content") in ("", []):
                found.append("a bad result")
            inside = block.get("content", [])
            for one in inside if isinstance(inside, list) else []:
                found += _block(one, role)
        case "image":
            if role != "user" or not block["source"]:
                found.append("a bad picture")
    return found
