"""A role-play client as clients behave: chats with swipes, edits, branches, trimmed fronts and processed prompts.

It knows what it shows, and from that what a follower must have: the messages of its list, and before them what it has
shown earlier and shows no more because its window is too small.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any

MAIN_PROMPT = "Write Odalys's next reply in a fictional chat between Odalys and Wren."
CONTINUE = "[Continue your last message without repeating its original content.]"
IMPERSONATE = "[Write your next reply from the point of view of Wren, in the style of the chat so far.]"
COMMON = ("ok", "*nods*", "Yes.", "Go on.", "Hello!", "...")
"""What people say again and again."""

_ids = count(1)


@dataclass(frozen=True)
class Said:
    """A message of a chat; its id stays when its text is edited."""

    role: str
    text: str
    id: int = field(default_factory=lambda: next(_ids))
    hidden: bool = False


@dataclass
class Chat:
    """One chat on a client's screen."""

    history: list[Said]
    window: int = 10_000
    """How many messages it sends at most."""
    mode: str = "none"
    swipes: list[str] = field(default_factory=list)
    """The replies there are in place of the last one."""
    shown: list[Said] = field(default_factory=list)
    """What a follower must have, by what was shown until now."""
    turns: int = 0
    before: int = 0
    """How many of these stood before the last list."""
    blurred: bool = False
    """Whether nobody can tell any more what stands before its list."""
    number: int = field(default_factory=lambda: next(_ids))

    @property
    def visible(self) -> list[Said]:
        """What is on screen and not hidden."""
        return [one for one in self.history if not one.hidden]


class Client:
    """Does random things in random chats."""

    def __init__(self, chance: random.Random, chats: int, *, modes: tuple[str, ...] = ("none",)) -> None:
        self.chance = chance
        self.words = count(1)
        self.chats = [self._new(f"Greeting of card {number % max(1, chats // 3)}.", modes) for number in range(chats)]
        self.modes = modes

    def _new(self, greeting: str, modes: tuple[str, ...]) -> Chat:
        return Chat([Said("assistant", greeting)], mode=self.chance.choice(modes))

    def text(self) -> str:
        """Something to say: mostly new, sometimes what was said a hundred times, sometimes both."""
        kind, common = self.chance.random(), self.chance.choice(COMMON)
        if kind < 0.15:
            return common
        new = f"Message {next(self.words)} about {self.chance.choice(('rain', 'rope', 'bread', 'the lamp'))}."
        return f"{common}\n\n{new}" if kind < 0.25 else new

    def listed(self, chat: Chat, history: list[Said]) -> tuple[list[Said], list[dict[str, Any]]]:
        """What a request shows of a history, and the list it is sent as."""
        shown = [one for one in history if not one.hidden][-chat.window :]
        front = [{"role": "system", "content": MAIN_PROMPT}]
        if self.chance.random() < 0.3:
            front.append({"role": "system", "content": f"World: {self.chance.choice(('storm', 'calm', 'ferry'))}."})
        body = [{"role": one.role, "content": one.text} for one in shown]
        if chat.mode == "none" and len(body) > 4 and self.chance.random() < 0.3:
            body.insert(len(body) - 4, {"role": "system", "content": "[Style: short sentences.]"})
        if chat.mode == "prefixed":
            names = {"user": "Wren", "assistant": "Odalys"}
            body = [{**one, "content": f"{names[one['role']]}: {one['content']}"} for one in body]
        if chat.mode in ("merge", "strict"):
            front, body = _merged(front), _merged(body)
        if chat.mode == "strict" and body and body[0]["role"] == "assistant":
            front.append({"role": "user", "content": "[Start a new chat]"})
        return shown, front + body

    def follow(self, chat: Chat, shown: list[Said]) -> None:
        """A list was shown: what a follower has from now on."""
        ids = {one.id for one in shown}
        places = [at for at, one in enumerate(chat.shown) if one.id in ids]
        before = chat.shown[: places[0]] if places else chat.shown
        kept = [one for one in before if one.id not in ids]
        chat.shown, chat.before = kept + shown, len(kept)

    # What people do that sends nothing.

    def edit(self, chat: Chat) -> None:
        """Give a message other words."""
        at = self.chance.randrange(len(chat.history))
        chat.history[at] = replace(chat.history[at], text=f"{chat.history[at].text} (edited {next(self.words)})")
        self._settle(chat)

    def delete_last(self, chat: Chat) -> None:
        """Take the newest messages away."""
        keep = max(2, len(chat.history) - self.chance.choice((1, 2, 2, 3, 6)))
        del chat.history[keep:]
        self._settle(chat)

    def delete_middle(self, chat: Chat) -> None:
        """Take a message out."""
        if len(chat.history) > 4:
            del chat.history[self.chance.randrange(1, len(chat.history) - 2)]

    def move(self, chat: Chat) -> None:
        """Let two neighbours change places."""
        if len(chat.history) > 4:
            at = self.chance.randrange(2, len(chat.history) - 1)
            chat.history[at - 1 : at + 1] = reversed(chat.history[at - 1 : at + 1])
            self._settle(chat)

    def hide(self, chat: Chat) -> None:
        """Hide a message, or show it again."""
        at = self.chance.randrange(len(chat.history))
        if sum(not one.hidden for one in chat.history) > 4 or chat.history[at].hidden:
            chat.history[at] = replace(chat.history[at], hidden=not chat.history[at].hidden)

    def swipe_left(self, chat: Chat) -> None:
        """Choose another of the replies there are."""
        if len(chat.swipes) > 1 and chat.history[-1].role == "assistant":
            chat.history[-1] = replace(chat.history[-1], text=self.chance.choice(chat.swipes))

    def resize(self, chat: Chat) -> None:
        """Another context size."""
        chat.window = self.chance.choice((8, 20, 10_000))

    def branch(self, chat: Chat) -> Chat:
        """A new chat that begins as this one does."""
        at = self.chance.randrange(2, len(chat.history) + 1) if len(chat.history) > 2 else len(chat.history)
        chat.blurred = True  # the two share what is hidden
        history = [replace(one, id=next(_ids)) for one in chat.history[:at]]
        return Chat(history, chat.window, chat.mode, blurred=True)

    def _settle(self, chat: Chat) -> None:
        chat.swipes = [chat.history[-1].text] if chat.history[-1].role == "assistant" else []


def _merged(body: list[dict[str, Any]]) -> list[dict[str, Any]]:
    merged: list[dict[str, Any]] = []
    for one in body:
        if merged and merged[-1]["role"] == one["role"]:
            merged[-1] = {**merged[-1], "content": f"{merged[-1]['content']}\n\n{one['content']}"}
        else:
            merged.append(dict(one))
    return merged
