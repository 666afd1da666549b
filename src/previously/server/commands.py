"""Answers to in-chat commands.

Neither a command nor its answer becomes part of the transcript; what else the client's list shows is followed as with
any request.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace

from previously.app import Memory
from previously.core.errors import PreviouslyError
from previously.core.scripts import casefold
from previously.recognition.choose_story import ClientRequest
from previously.recognition.client_list import Ask
from previously.recognition.commands import COMMANDS, MARK, Command
from previously.runtime.follow_client import ClientFollower
from previously.server.absences import Absences
from previously.server.background_folds import BackgroundFolds
from previously.server.chat_request import ChatRequest
from previously.server.upstream_messages import UpstreamViews
from previously.story.ask import Verdict
from previously.story.story import Story
from previously.view.view import Section, View

MOST_LINES = 40
"""The most lines of a list that are told: more than a screen, and nobody reads on in a chat."""

ASK_S = 120.0
"""Seconds that a model may take to answer a question: most clients wait a few minutes. After that the sources are shown
without it."""

ASKS_MODEL = frozenset({"ask", "continue"})
"""The commands for which a model may be asked: folds make way for them."""

NEAREST = 3
"""Sources that are shown where the story does not say: a small model may have missed what stands there."""

FOLDINGS = {
    "automatic": "what is due is folded when nobody waits",
    "ask": "what is due waits for `//fold`",
    "off": "nothing is folded, and what the client sends goes on as it came",
}
"""The settings of folding, in words."""

PART_NAMES = {
    Section.FURNITURE: "what your chat program adds (system prompt, card, notes)",
    Section.SYSTEM: "instructions of the story",
    Section.PINS: "pinned",
    Section.EARLIER: "the story before this one",
    Section.BACKBONE: "the whole story in short",
    Section.THREADS: "open threads",
    Section.STATE: "how things stand",
    Section.CAST: "who knows what",
    Section.SHARED: "known from elsewhere",
    Section.TAIL: "newest messages",
    Section.RECALL: "found passages",
}
"""The parts of a view as newcomers understand them, where their name does not say it."""

NO_STORY = "There is no story yet: say something first."


class Commands:
    """Answers commands."""

    def __init__(
        self,
        memory_of: Callable[[str], Memory],
        recognising: ClientFollower,
        deadline_s: float,
        absences: Absences,
        folds: BackgroundFolds,
        views: UpstreamViews,
        open_story: Callable[[str, str, str, str | None], Awaitable[Story]],
    ) -> None:
        """`open_story(owner, name, model, key)` gives a story with the model that writes its memory."""
        self._memory_of = memory_of
        self._open_story = open_story
        self._absences = absences
        self._folds = folds
        self._views = views
        self._recognising = recognising
        self._deadline_s = deadline_s

    async def answer(self, owner: str, request: ChatRequest, key: str | None = None) -> str | None:
        """Return the answer to a request whose last message is a command; None if it is not. `key` is the one that it
        came with."""
        command = request.command
        if command is None:
            return None
        try:
            async with asyncio.timeout(self._deadline_s) as deadline:
                if command.name in ASKS_MODEL:
                    deadline.reschedule(asyncio.get_running_loop().time() + self._deadline_s + ASK_S)
                words = await self._answer(owner, command, request.client_request(owner), request.model, key)
        except PreviouslyError as error:
            words = str(error)
        except TimeoutError:
            words = "Memory is busy; ask again in a moment."
        return f"{MARK} {command.tell(words)}"

    async def _answer(self, owner: str, command: Command, request: ClientRequest, model: str, key: str | None) -> str:
        if command.meant:
            typed = f"{command.mark}{command.name}"
            return (
                f"There is no command `{typed}`; did you mean `//{command.meant}`? `//help` lists all of them. "
                f"If it belongs to the story, put a space behind {command.mark}."
            )
        if command.name == "help":
            return "Commands:\n" + "\n".join(f"- `//{name}` {what}" for name, what in COMMANDS.items())
        if not request.client_list.body and not request.story:
            return NO_STORY
        turn = replace(_as_turn(request), creates=command.name == "continue" and bool(command.argument))
        place = await self._recognising.follow(turn, "")
        if place is None:
            return NO_STORY
        if command.name == "ask":
            return await _ask(await self._open_story(owner, place.name, model, key), command.argument)
        story = await self._memory_of(owner).story(place.name, create=False)
        waits = self._folds.describe_folding(owner, story) if command.name == "why" else ""
        if command.name == "why" and (sentence := self._absences.describe(owner, place.name)):
            return sentence
        if waits and story.folding == "off":
            return waits  # no view was made
        if command.name == "fold":
            self._folds.add_story(owner, place.name, "automatic")
            return "What is due is folded now; `//why` shows it in the next turn, and `//undo fold` takes it back."
        if command.name == "continue":
            return await _continue(self._memory_of(owner), story, command.argument)
        words = await _ANSWERS[command.name](story, command.argument)
        if command.name == "folding":
            self._views.forget_settings(owner, place.name)
        return f"{words}\n{waits}" if waits else words


def _as_turn(request: ClientRequest) -> ClientRequest:
    """Return the list before the command, which is no request for more of the story and yet shows where it stands."""
    return replace(request, ask=Ask.TURN, creates=False)


async def _continue(memory: Memory, story: Story, earlier: str) -> str:
    if earlier:
        done = await memory.continue_story(earlier, story.name, begun=True)
        return f"This chat goes on from {done.earlier} and remembers {done.messages:,} messages of it."
    link = await story.continues()
    if link is None:
        return "This chat goes on from no other: `//continue STORY` lets it."
    where = link.story or "a story that is not here any more"
    return f"This chat goes on from {where}, {link.messages:,} messages."


async def _recap(story: Story, _: str) -> str:
    backbone, recap = await story.backbone(), await story.recap()
    texts = [one.text for one in (backbone, recap) if one and one.text.strip()]
    chapters = await story.chapters()
    if not texts and not chapters:
        return "Nothing has been folded yet: all that was said is still in view."
    recaps = [f"**{one.title or f'Chapter {one.number}'}** {one.text}" for one in chapters if one.text]
    return "\n\n".join([*recaps, *texts])


async def _ask(story: Story, question: str) -> str:
    if not question:
        return "Ask something: `//ask Where is the brass key?`"
    try:
        async with asyncio.timeout(ASK_S):
            answer = await story.ask(question)
    except TimeoutError:
        answer = replace(await story.ask(question, by_model=False), reason=f"it took longer than {ASK_S:.0f} seconds")
    note = f"The model's answer could not be shown: {answer.reason.rstrip('.')}." if answer.reason else ""
    most = NEAREST if answer.verdict is Verdict.NOT_SAID else MOST_LINES
    shown = answer.cited or answer.sources
    sources = "\n".join(f"- [{one.number}] {one.label}: {' '.join(one.text.split())}" for one in shown[:most])
    return "\n\n".join(filter(None, (answer.text, note, sources)))


async def _why(story: Story, _: str) -> str:
    view = await story.why(-1)
    return describe_view(view)


def describe_view(view: View) -> str:
    report = view.report
    lines = [f"{view.tokens:,} of {view.budget_tokens:,} tokens"]
    lines += [f"- {PART_NAMES.get(section, section.value)}: {tokens:,}" for section, tokens in report.sections.items()]
    lines += [f"- recalled, {item.reason}" for item in view.items if item.section is Section.RECALL]
    if report.epoch:
        lines.append(f"New memory was taken up: {report.epoch}.")
    if view.left_out:
        lines.append("Left out:")
        lines += [f"- {one.what}: {one.why}" for one in view.left_out[:20]]
    return "\n".join(lines)


async def _threads(story: Story, text: str) -> str:
    if text:
        return f"Settled: {(await story.resolve_thread(text)).text}"
    threads = await story.threads()
    if not threads:
        return "Nothing is known to be open yet; a model notes that, or a person."
    return "Still open:\n" + "\n".join(f"- {one.thread.text}" for one in threads[:MOST_LINES])


async def _state(story: Story, text: str) -> str:
    if text:
        await story.hold(text)
        return f"Noted: {text}"
    state = await story.state()
    if not state:
        return "Nothing is noted yet of how things stand; a model notes that, or a person."
    return "As things stand:\n" + "\n".join(f"- {one.text}" for one in state[-MOST_LINES:])


async def _lore(story: Story, name: str) -> str:
    entries = await story.lore()
    wanted = " ".join(name.split()).casefold()
    if wanted:
        entries = [one for one in entries if wanted in (one.name.casefold(), *(key.casefold() for key in one.keywords))]
        return (
            "\n\n".join(f"**{one.name}** ({one.type}) {one.content}" for one in entries)
            or f"Nothing is known of {name}."
        )
    if not entries:
        return "No lore yet: it comes with the scenes of the story, or from a book."
    return "Known:\n" + "\n".join(f"- {one.name} ({one.type})" for one in entries[-MOST_LINES:])


async def _knows(story: Story, name: str) -> str:
    cast = await story.cast()
    wanted = casefold(name)
    if not wanted:
        names = ", ".join(character.name for character in cast)
        return f"Characters: {names}." if names else "No characters are known yet."
    character = next((character for character in cast if casefold(character.name) == wanted), None)
    if character is None or character.knowledge.is_empty:
        return f"Nothing is noted yet of what {' '.join(name.split())} knows."
    return "\n".join([character.knowledge.summary, *(f"- {fact.text}" for fact in character.knowledge.facts)])


async def _scene(story: Story, _: str) -> str:
    mark = await story.end_scene()
    return f"The scene ends with message {mark.position}; it is noted soon."


async def _pin(story: Story, text: str) -> str:
    if not text:
        pins = await story.pins()
        return "Pinned:\n" + "\n".join(f"- {pin.text}" for pin in pins) if pins else "Nothing is pinned."
    await story.pin(text)
    return f"Pinned: {text}"


async def _undo(story: Story, what: str) -> str:
    if what.lower() != "fold":
        return f"Taken back: {await story.undo()}."
    version = await story.take_back()
    words = f"Taken back: version {version.id}, {version.made.kind.value}."
    if story.folding != "automatic":
        return words
    return f"{words} A fold that is due is made anew by itself; `//folding ask` leaves that to you."


async def _folding(story: Story, mode: str) -> str:
    if mode:
        await story.set([f"folding={mode.lower()}"])
    return f"Folding is {story.folding} in this story: {FOLDINGS[story.folding]}."


async def _chapter(story: Story, title: str) -> str:
    closed = await story.close_chapter(title)
    return f"Chapter {closed.number} is closed" + (f": {closed.title}." if closed.title else ".")


async def _leave(story: Story, name: str) -> str:
    await story.leave(name)
    return f"{' '.join(name.split())} does not witness what is said from now on."


async def _enter(story: Story, name: str) -> str:
    await story.enter(name)
    return f"{' '.join(name.split())} is there from now on."


_ANSWERS: dict[str, Callable[[Story, str], Awaitable[str]]] = {
    "recap": _recap,
    "why": _why,
    "threads": _threads,
    "state": _state,
    "lore": _lore,
    "knows": _knows,
    "scene": _scene,
    "pin": _pin,
    "undo": _undo,
    "folding": _folding,
    "chapter": _chapter,
    "leave": _leave,
    "enter": _enter,
}
