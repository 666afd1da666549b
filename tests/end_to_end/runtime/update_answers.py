"""What scripted models answer to an update: a recap of theirs in the form that was asked for."""

from __future__ import annotations

import re

from previously.core.model_io import ModelRequest

CLOSING = ("TITLE", "CHAPTER", "SHORT", "BACKBONE")
TEXTS = ("EPISODE", "RECAP")
LISTS = ("THREADS", "STATE", "PRESENT", "LEARNT", "LORE", "PLAYERS", "WISHES", "SCENES")
_HEADING = re.compile(rf"^(?:{'|'.join((*TEXTS, *LISTS, *CLOSING))})$", re.M)


def is_update(request: ModelRequest) -> bool:
    """Return whether a request asks for an update, or a part of one."""
    return "<new_messages>\n" in request.user


def is_closing(request: ModelRequest) -> bool:
    """Return whether a request is about a chapter that has closed, or a part of that."""
    return "# Your answer" in request.user and not is_update(request)


def closing_answer(request: ModelRequest, chapter: str, *, title: str = "The Mill", **texts: str) -> str:
    """Return an answer with all that was asked for of a closed chapter: this text, unless others are given."""
    found = {"TITLE": title} | {name.upper(): text for name, text in texts.items()}
    blocks = [f"{heading}\n{found.get(heading) or chapter}" for heading in asked_for(request)]
    return "\n\n".join([*blocks, "END"])


def messages(request: ModelRequest) -> str:
    """Return the new messages of an update as they stand in the request."""
    found = re.search(r"<new_messages>\n(.*?)\n</new_messages>", request.user, re.DOTALL)
    return found[1] if found else ""


def under(request: ModelRequest, heading: str) -> str:
    """Return what an update is told under the heading that begins so; empty where that is nothing yet."""
    found = re.search(rf"^# {heading}[^\n]*\n(.*?)\n\n(?:# |<)", request.user, re.DOTALL | re.M)
    text = found[1] if found else ""
    return "" if text.startswith("(n") else text


def recap_in(request: ModelRequest) -> str:
    """Return the recap that an update goes on from."""
    return under(request, "The recap")


def asked_for(request: ModelRequest) -> list[str]:
    """Return the headings that are asked for."""
    return _HEADING.findall(request.user[request.user.rindex("# Your answer") :])


def answer(request: ModelRequest, recap: str, *, episode: str = "", **lists: str) -> str:
    """Return an answer with all that was asked for: this recap, an episode (the recap, if none is given) and lists by
    name in lower case."""
    texts = {"RECAP": recap, "EPISODE": episode or recap, "TITLE": "The Mill", "SHORT": recap, "BACKBONE": recap}
    texts |= {name.upper(): lines for name, lines in lists.items()}
    blocks = [f"{heading}\n{texts.get(heading) or 'none'}" for heading in asked_for(request)]
    return "\n\n".join([*blocks, "END"])
