"""A person at SillyTavern's page: everything they do to their chats, click by click."""

from __future__ import annotations

from pathlib import Path

from playwright.async_api import Locator

from tests.clients.clicking import Clicking, Line

__all__ = ["Driver", "Line"]

LIST_ORDER = "1"
"""The way of a group in which every member answers, in the order of the list."""

HEARD_MS = 100
"""How soon a click on the send button shows."""

SETTLED_MS = 500
"""How soon a drawer has stopped moving."""


class Driver(Clicking):
    """One page of SillyTavern, and a person before it. Every method returns when the page has come to rest."""

    # Turns

    async def send(self, text: str) -> str:
        """Say something and wait for the whole reply (in a group: for all replies); the last one is given back."""
        ended = await self._seen("ended")
        await self._say(text)
        await self._until("window.seen.ended > value", ended)
        return (await self.chat())[-1].text

    async def script(self, commands: str) -> str:
        """Type SillyTavern's own commands, of which one asks the model; the last message is given back."""
        ended = await self._seen("ended")
        await self.page.fill("#send_textarea", commands)
        while await self.page.input_value("#send_textarea") == commands:
            await self.page.click("#send_but")
            await self.page.wait_for_timeout(HEARD_MS)
        await self._until("window.seen.ended > value", ended)
        return (await self.chat())[-1].text

    async def begin(self, text: str) -> None:
        """Say something and wait only until the first words of the reply are there."""
        at = len(await self.chat()) + 1
        await self._say(text)
        await self.page.wait_for_function(
            "at => (SillyTavern.getContext().chat[at]?.mes ?? '').split(' ').length > 3", arg=at
        )

    async def stop(self) -> str:
        """Stop what is being written; what there is of it is given back."""
        await self.page.click("#mes_stop")
        await self._quiet()
        return (await self.chat())[-1].text

    async def swipe_right(self) -> str:
        """The next version of the newest reply; after the last one, a new one is asked for."""
        at, versions = await self._state("[here.chat.at(-1).swipe_id ?? 0, here.chat.at(-1).swipes?.length ?? 1]")
        arrow = self._message(-1).locator(".swipe_right")
        if at + 1 < versions:
            return await self._swipe(arrow, at + 1)
        return await self._generate(arrow)

    async def swipe_left(self) -> str:
        """The version before the one that is shown."""
        at: int = await self._state("here.chat.at(-1).swipe_id")
        return await self._swipe(self._message(-1).locator(".swipe_left"), at - 1)

    async def regenerate(self) -> str:
        """Another reply instead of the newest; the old one is gone."""
        return await self._generate(await self._option("regenerate"))

    async def continue_(self) -> str:
        """More of the newest reply; the whole of it is given back."""
        return await self._generate(await self._option("continue"))

    async def impersonate(self) -> str:
        """Have the user's next message written; it waits in the input box and is given back."""
        await self._generate(await self._option("impersonate"))
        text: str = await self.page.input_value("#send_textarea")
        return text

    async def _say(self, text: str) -> None:
        """Press send until it is heard: for a moment after a reply, SillyTavern takes no notice of it."""
        await self.page.fill("#send_textarea", text)
        begun = await self._seen("begun")
        while begun == await self._seen("begun"):
            await self.page.click("#send_but")
            await self.page.wait_for_timeout(HEARD_MS)

    async def _swipe(self, arrow: Locator, to: int) -> str:
        await arrow.click()
        await self._until("here.chat.at(-1).swipe_id === value", to)
        return (await self.chat())[-1].text

    # Changes to what was said

    async def edit(self, index: int, text: str) -> None:
        """Put other words in place of a message, with pencil and tick."""
        message = await self._editing(index)
        await message.locator("#curEditTextarea").fill(text)
        await message.locator(".mes_edit_done").click()
        await message.locator("#curEditTextarea").wait_for(state="detached")
        await self._quiet()

    async def delete(self, index: int) -> None:
        """Take one message out, with pencil and bin."""
        before = len(await self.chat())
        message = await self._editing(index)
        await message.locator(".mes_edit_delete").click()
        await self._confirm()
        await self._until("here.chat.length === value", before - 1)

    async def delete_last(self, count: int) -> None:
        """Take the newest messages off, with *Delete messages*."""
        before = len(await self.chat())
        option = await self._option("delete_mes")
        await option.click()
        await self._message(-count).locator(".del_checkbox").click()
        await self.page.click("#dialogue_del_mes_ok")
        await self._until("here.chat.length === value", before - count)

    async def hide(self, index: int) -> None:
        """Keep a message from the model."""
        await self._message(index).locator(".mes_hide").click()
        await self._until("here.chat[value].is_system", index)

    async def unhide(self, index: int) -> None:
        """Show it to the model again."""
        await self._message(index).locator(".mes_unhide").click()
        await self._until("!here.chat[value].is_system", index)

    # Chats

    async def select(self, character: str) -> None:
        """Open the newest chat with a character, or the first one; the chat that is open stays if it is with them."""
        if await self._state("here.groupId ? '' : here.characters[here.characterId]?.name") == character:
            return
        await self._show_characters()
        entry = self.page.locator("#rm_print_characters_block .character_select").filter(
            has=self.page.get_by_text(character, exact=True)
        )
        await self._change_chat(entry)
        await self.page.click("#rightNavDrawerIcon")

    async def new_chat(self) -> None:
        """Begin another chat with the same character or group."""
        await self._change_chat(await self._option("start_new_chat"), confirm=True)

    async def branch(self, index: int) -> str:
        """Branch off after a message; the branch is open then, and its name is given back."""
        await self._change_chat(self._message(index).locator(".mes_create_branch"))
        return await self.chat_id()

    async def open_chat(self, name: str) -> None:
        """Open one of the chats of this character or group by its name."""
        option = await self._option("select_chat")
        await option.click()
        await self._change_chat(self._chat_file(name))

    async def chat_id(self) -> str:
        """The name of the chat that is open."""
        name: str = await self._state("here.getCurrentChatId()")
        return name

    async def root_chat_id(self) -> str:
        """The name of the chat that is open or, if it is a branch, of the one it left."""
        name: str = await self._state("here.chatMetadata.main_chat ?? here.getCurrentChatId()")
        return name

    async def import_chat(self, path: Path) -> None:
        """Import a chat file for the character that is open, and open it."""
        option = await self._option("select_chat")
        await option.click()
        async with self.page.expect_file_chooser() as choosing:
            await self.page.click("#chat_import_button")
        async with self.page.expect_response("**/api/chats/import") as importing:
            await (await choosing.value).set_files(path)
        (name,) = (await (await importing.value).json())["fileNames"]
        await self._change_chat(self._chat_file(name))

    async def make_group(self, name: str, *members: str) -> None:
        """Make a group whose members all answer, in this order, and open its chat."""
        await self._show_characters()
        await self.page.click("#rm_button_group_chats")
        await self.page.fill("#rm_group_chat_name", name)
        await self.page.select_option("#rm_group_activation_strategy", LIST_ORDER)
        await self._unfold("#groupAddMemberListToggle", "#rm_group_add_members")
        for member in reversed(members):  # the list begins with the one who was added last
            entry = self.page.locator("#rm_group_add_members .group_member").filter(
                has=self.page.get_by_text(member, exact=True)
            )
            await entry.locator('[data-action="add"]').click()
            await self.page.locator("#rm_group_members").get_by_text(member, exact=True).wait_for()
        async with self.page.expect_response("**/api/groups/create") as making:
            await self.page.click("#rm_group_submit")
        made = (await (await making.value).json())["id"]
        await self._change_chat(self.page.locator(f'#rm_print_characters_block .group_select[data-grid="{made}"]'))
        await self.page.click("#rightNavDrawerIcon")

    async def _unfold(self, toggle: str, content: str) -> None:
        """Open a drawer. SillyTavern toggles this one by itself: the second group finds it shut."""
        await self.page.wait_for_timeout(SETTLED_MS)
        while not await self.page.locator(content).is_visible():
            await self.page.click(toggle)
            await self.page.wait_for_timeout(SETTLED_MS)

    def _chat_file(self, name: str) -> Locator:
        """Where to click to open a chat of the list: its preview, for beside it are buttons."""
        block = self.page.locator(f'.select_chat_block[file_name="{name.removesuffix(".jsonl")}"]')
        return block.locator(".select_chat_block_mes")

    async def _show_characters(self) -> None:
        if not await self.page.locator("#right-nav-panel").is_visible():
            await self.page.click("#rightNavDrawerIcon")
        await self.page.click("#rm_button_characters")

    # Settings

    async def connect(self, base_url: str) -> None:
        """Put an endpoint into the connection panel and connect: the one change a user makes."""
        await self.page.click("#API-status-top")
        await self.page.fill("#custom_api_url_text", base_url)
        async with self.page.expect_response("**/api/backends/chat-completions/status"):
            await self.page.click("#api_button_openai")
        await self._until("here.onlineStatus === 'Valid' && here.chatCompletionSettings.custom_url === value", base_url)
        await self.page.click("#API-status-top")

    async def include_in_body(self, parameters: str) -> None:
        """What SillyTavern adds to every request, as YAML, under *Additional Parameters*."""
        await self.page.click("#API-status-top")
        await self.page.click("#customize_additional_parameters")
        await self.page.fill("dialog[open] #custom_include_body", parameters)
        await self._confirm()
        await self._until("here.chatCompletionSettings.custom_include_body === value", parameters)
        await self.page.click("#API-status-top")

    async def set_max_context(self, tokens: int) -> None:
        """How much SillyTavern sends at most, in the panel of the response settings."""
        await self.page.click("#leftNavDrawerIcon")
        box = self.page.locator("#openai_max_context_counter")
        await box.clear()
        await box.press_sequentially(str(tokens))  # it listens to keys
        await box.press("Enter")
        await self._until("here.chatCompletionSettings.openai_max_context === value", tokens)
        await self.page.click("#leftNavDrawerIcon")

    async def screenshot(self, path: Path) -> None:
        """A picture of the page."""
        await self.page.screenshot(path=path)
