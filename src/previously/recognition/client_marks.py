"""Texts that clients write and no person of the story says: marks around the history, nudges, tasks beside it.

Facts about other programs, kept in one place. All of these are texts that users may change, so nothing rests on them
alone: an unknown nudge is taken for what its place suggests, and the next request puts right what was taken wrongly.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from previously.core.patterns import lazy_pattern

_NEW_CHAT = lazy_pattern(r"\[start a new (?:group )?chat\b[^\]]*\]", re.IGNORECASE)
_MEMBERS = lazy_pattern(r"\[start a new group chat\. group members: ([^\]]+)\]", re.IGNORECASE)
_CONTINUE = lazy_pattern(
    r"\[?\s*continue (?:your|the|from your) (?:last|previous) (?:message|reply|response)\b.*", re.IGNORECASE | re.DOTALL
)
_SPEAK_AS = lazy_pattern(r"\[\s*(?:write|reply|respond)[^\]\n]{0,40}? only as ([^\]\n]{1,80}?)\.?\s*\]", re.IGNORECASE)
_ASIDE = lazy_pattern(
    r"\[?\s*write your next reply from the point of view of "
    r"|\[?\s*(?:ignore previous instructions\.\s*)?summari[sz]e the (?:most important|story|chat|conversation|above)"
    r"|\[?\s*pause (?:your|the) (?:role-?play|story)|### task:|create a concise,? .{0,40}title",
    re.IGNORECASE,
)
_SIDE_TASK = lazy_pattern(
    r"\s*(?:you are an? (?:title generator|context summari[sz]ation agent"
    r"|expert software engineer that generates concise\b.{0,40}\bcommit messages)"
    r"|\*?\w+\*? summari[sz]e this partial conversation)",
    re.IGNORECASE,
)
"""The beginning of prompts for a task beside a conversation: opencode's titles and summaries, aider's messages
of commits and summaries."""

_ATTACHED = lazy_pattern(
    r"here are some read only files, provided for your reference\b|here are summaries of some files present in my git\b"
    r"|i have \*added these files to the chat\*|i switched to a new code base\. please don't consider\b",
    re.IGNORECASE,
)
"""The beginning of messages of the user in which aider shows files. The model's `Ok` stands behind each."""

_COMPACTION = lazy_pattern(
    r"\bCONTEXT CHECKPOINT COMPACTION\b|\bcreate a detailed summary of the [^\n]{0,40}\bso far\b"
)
"""Words with which Codex and Claude Code ask for a summary of their list, to go on from that."""

_CONTINUED = lazy_pattern(r"\s*This session is being continued from a previous conversation\b")
"""The beginning of the summary that Claude Code goes on from."""

_SWITCHED = lazy_pattern(r"i switched to a new code base\b", re.IGNORECASE)
"""The end of aider's examples, which are the same in every project."""

_GLUED_RULES = lazy_pattern(r"\n\n# (?:\*SEARCH/REPLACE block\* \w+:|File editing rules:)\n")
"""The heading of what aider puts behind the newest words of the user."""

_ACKNOWLEDGED = lazy_pattern(r"ok\b[^\n]{0,80}", re.IGNORECASE)

_DIRECTORY = lazy_pattern(
    r"^[ \t*-]*(?:primary |current )?working directory:[ \t]*(?P<line>\S[^\n]*)|<cwd>(?P<tag>[^<\n]+)</cwd>",
    re.IGNORECASE | re.MULTILINE,
)
_PAIR = lazy_pattern(
    r"\bnext reply in a fictional chat between ([^\n]{1,80}?) and ([^\n]{1,80}?)(?:\.|$)", re.IGNORECASE | re.MULTILINE
)


@dataclass(frozen=True, slots=True)
class ChatNames:
    """The names of those who speak, as far as a client says."""

    character: str | None = None
    user: str | None = None
    members: tuple[str, ...] = ()
    """All characters of a group."""

    @property
    def all(self) -> frozenset[str]:
        return frozenset(name for name in (self.character, self.user, *self.members) if name)


def is_start(text: str) -> bool:
    """Return whether a text only says that a chat begins."""
    return _NEW_CHAT.fullmatch(text.strip()) is not None


def has_start(text: str) -> bool:
    """Return whether a text says among other things that a chat begins."""
    return _NEW_CHAT.search(text) is not None


def is_continue(text: str) -> bool:
    """Return whether a text asks to go on with the last message."""
    # A longer text is a message of the story that begins with the same words.
    return len(text) < 400 and _CONTINUE.fullmatch(text.strip()) is not None


def find_asked_speaker(text: str) -> str | None:
    """Return whose reply a nudge asks for, if that is all it does."""
    match = _SPEAK_AS.fullmatch(text.strip())
    return match.group(1) if match else None


def is_aside(text: str) -> bool:
    """Return whether a text asks for something beside the story: a summary, a title, what the user could say."""
    return _ASIDE.match(text.strip()) is not None


def is_side_task(front: str) -> bool:
    """Return whether a prompt is for a task beside a conversation: a title, a summary, the message of a commit."""
    return _SIDE_TASK.match(front) is not None


def is_compaction(text: str) -> bool:
    """Return whether a client asks for a summary that takes the place of its list."""
    return _COMPACTION.search(text) is not None


def is_continuation(text: str) -> bool:
    """Return whether a message is the summary that a client goes on from."""
    return _CONTINUED.match(text) is not None


def shows_files(text: str) -> bool:
    """Return whether a client shows files in a message of the user, which it sends anew with every request."""
    return _ATTACHED.match(text) is not None


def ends_examples(text: str) -> bool:
    """Return whether a message of the user says that what stands before it were examples."""
    return _SWITCHED.match(text) is not None


def find_glued_rules(text: str) -> int | None:
    """Return where the rules begin that a client has put behind the words of the user."""
    match = _GLUED_RULES.search(text)
    return match.start() if match and match.start() else None


def is_acknowledgement(text: str) -> bool:
    """Return whether a reply only says that files were seen, as a client lets the model say."""
    return _ACKNOWLEDGED.fullmatch(text.strip()) is not None


def find_project(text: str) -> str | None:
    """Return the folder that a client says it works in."""
    match = _DIRECTORY.search(text)
    return (match["line"] or match["tag"]).strip() if match else None


def is_nudge(text: str) -> bool:
    return is_continue(text) or find_asked_speaker(text) is not None or is_aside(text)


def find_names(front: str) -> ChatNames:
    pair, group = _PAIR.search(front), _MEMBERS.search(front)
    members = tuple(name.strip() for name in group.group(1).split(",") if name.strip()) if group else ()
    return ChatNames(pair.group(1) if pair else None, pair.group(2) if pair else None, members)


_PREFIX = lazy_pattern(r"([^\s:*\"“\[][^\n:]{0,39}):\s+(?=\S)")


def split_name(text: str) -> tuple[str | None, str]:
    """Return the name that a text begins with, and the rest; None if it begins with none."""
    match = _PREFIX.match(text)
    return (match.group(1), text[match.end() :]) if match else (None, text)


def strip_name(text: str, names: frozenset[str]) -> tuple[str | None, str]:
    """Return the same for these names only. A name with nothing behind it is an empty reply."""
    name, colon, rest = text.partition(":")
    return (name, rest.lstrip(" ")) if colon and name in names else (None, text)
