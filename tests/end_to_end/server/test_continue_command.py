"""`//continue` in a chat: it goes on from another story, and the model is sent what that one came to."""

from __future__ import annotations

import pytest

from tests.end_to_end.server.running import Rig, Talk

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def test_a_new_chat_goes_on_from_another_story(rig: Rig) -> None:
    rig.upstream.new_plan(["Under the stair.", "I remember."])
    old = Talk(rig, "summer of the ledger")
    await old.ask("Odalys, where is the grey ledger?")
    new = Talk(rig, "winter after it")
    new.messages.append({"role": "assistant", "content": "Snow lies on the quay."})
    told = (await new.ask("//continue summer of the ledger")).text
    assert "This chat goes on from summer of the ledger and remembers 2 messages of it." in told
    assert "goes on from summer of the ledger, 2 messages." in (await new.ask("//continue")).text
    await new.ask("Do you remember what we hid?")
    sent = (await rig.upstream.request(1)).messages
    assert "# Before this story" in sent[0]["content"] and "grey ledger" in sent[0]["content"]


async def test_what_cannot_be_is_said(rig: Rig) -> None:
    rig.upstream.new_plan(["Yes."])
    talk = Talk(rig, "alone")
    await talk.ask("Is anybody there?")
    assert "goes on from no other" in (await talk.ask("//continue")).text
    assert "no story named" in (await talk.ask("//continue nothing of the kind")).text
    assert "cannot continue itself" in (await talk.ask("//continue alone")).text
