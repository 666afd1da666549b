"""The page of SillyTavern as something to click on: its parts, and how to know that it is done.

Everything a person would do with the mouse is a real click. What the page shows is read from its own state
(`SillyTavern.getContext()`), because the screen itself rounds corners: it renders Markdown, and of a long chat it
shows the newest messages only.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from playwright.async_api import Locator, Page

PATIENCE_MS = 120_000
"""How long anything on the page may take. Generous: the machine may be busy, and nothing here measures time."""

_WATCH = """async () => {
    const script = await import('/script.js');
    const { eventSource, eventTypes } = SillyTavern.getContext();
    const seen = { begun: 0, ended: 0, chats: 0, busy: () => script.isGenerating() || script.isChatSaving };
    eventSource.on(eventTypes.GENERATION_STARTED, (_type, _options, dryRun) => { seen.begun += dryRun ? 0 : 1; });
    eventSource.on(eventTypes.GENERATION_ENDED, () => { seen.ended += 1; });
    eventSource.makeLast(eventTypes.CHAT_CHANGED, () => { seen.chats += 1; });
    window.seen = seen;
}"""
"""Counts what begins and ends, so that a wait cannot mistake 'not yet' for 'already over'."""

_QUIET = """() => {
    const { streamingProcessor, swipe } = SillyTavern.getContext();
    return !window.seen.busy() && swipe.state() === 'none' && (!streamingProcessor || streamingProcessor.isStopped);
}"""
"""The last part matters: who swipes between a reply's last word and its being put away loses the new reply."""

_CHAT = """() => SillyTavern.getContext().chat.map(
    line => [line.name, Boolean(line.is_user), Boolean(line.is_system), line.mes])"""


@dataclass(frozen=True)
class Line:
    """A message of the chat, as SillyTavern has it."""

    name: str
    is_user: bool
    is_system: bool
    """Hidden messages, and notes of SillyTavern itself."""
    text: str


class Clicking:
    """One page of SillyTavern: finding things on it, and waiting for it."""

    def __init__(self, page: Page) -> None:
        self.page = page
        page.set_default_timeout(PATIENCE_MS)

    async def open(self, url: str) -> None:
        """Open SillyTavern and wait until it is ready."""
        await self.page.goto(url)
        await self.page.wait_for_function("() => window.SillyTavern && !document.getElementById('preloader')")
        await self.page.evaluate(_WATCH)

    async def chat(self) -> list[Line]:
        """The chat that is open, hidden messages included."""
        return [Line(*line) for line in await self.page.evaluate(_CHAT)]

    async def texts(self) -> list[str]:
        """What the model may see of it: the texts of all messages that are not hidden."""
        return [line.text for line in await self.chat() if not line.is_system]

    async def shown(self) -> list[str]:
        """The texts that are really on the screen, as rendered, the newest last."""
        return [text.strip() for text in await self.page.locator("#chat .mes .mes_text").all_inner_texts()]

    async def _state(self, expression: str) -> Any:
        """Something of the page's own state, `here` being its context."""
        return await self.page.evaluate(f"() => (here => {expression})(SillyTavern.getContext())")

    async def _seen(self, what: str) -> int:
        """How often that has happened on this page: `begun` and `ended` generations, `chats` opened."""
        count: int = await self.page.evaluate(f"() => window.seen.{what}")
        return count

    async def _until(self, expression: str, value: object = None) -> None:
        """Wait until that is so, and the page has come to rest."""
        await self.page.wait_for_function(f"value => (here => {expression})(SillyTavern.getContext())", arg=value)
        await self._quiet()

    async def _quiet(self) -> None:
        """Wait until nothing is being written, swiped or saved."""
        await self.page.wait_for_function(_QUIET)

    async def _generate(self, button: Locator) -> str:
        """Press what asks the model, and wait until it has said everything; the newest message is given back."""
        ended = await self._seen("ended")
        await button.click()
        await self._until("window.seen.ended > value", ended)
        return (await self.chat())[-1].text

    async def _change_chat(self, button: Locator, *, confirm: bool = False) -> None:
        """Press what opens another chat, and wait for it."""
        chats = await self._seen("chats")
        await button.click()
        if confirm:
            await self._confirm()
        await self._until("window.seen.chats > value && here.chat.length > 0", chats)

    async def _confirm(self) -> None:
        await self.page.click("dialog[open] .popup-button-ok")
        await self.page.locator("dialog[open]").wait_for(state="detached")

    def _message(self, index: int) -> Locator:
        """A message by its place in the chat, or from the end with a negative number."""
        if index < 0:
            return self.page.locator("#chat .mes").nth(index)
        return self.page.locator(f'#chat .mes[mesid="{index}"]')

    async def _option(self, name: str) -> Locator:
        """An entry of the menu beside the input box, with the menu open."""
        await self.page.click("#options_button")
        return self.page.locator(f"#options #option_{name}:visible")

    async def _editing(self, index: int) -> Locator:
        """A message under the pencil."""
        message = self._message(index)
        await message.locator(".mes_edit").click()
        await message.locator("#curEditTextarea").wait_for()
        return message
