"""Prompts over HTTP: read, changed, taken back, and the next question with them."""

from __future__ import annotations

from pathlib import Path

import pytest

from previously.runtime.prompts import Prompts
from tests.end_to_end.server.api.conftest import Api


@pytest.fixture(autouse=True)
def prompts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PREVIOUSLY_PROMPTS", str(tmp_path / "prompts"))
    (tmp_path / "prompts").mkdir()
    return tmp_path / "prompts"


async def test_a_prompt_is_changed_and_taken_back(api: Api, prompts: Path) -> None:
    listed = {row["prompt"]: row for row in (await api.get("/prompts"))["prompts"]}
    assert not listed["cast"]["own"]
    changed = await api.send("PUT", "/prompts/cast", {"text": listed["cast"]["text"] + "\nBe brief."})
    assert changed["own"] and changed["text"].endswith("Be brief.")
    assert Prompts(prompts)["cast"].user.endswith("Be brief.")
    back = await api.send("DELETE", "/prompts/cast")
    assert back == listed["cast"]


async def test_a_prompt_without_its_input_is_refused_with_the_sentence(api: Api) -> None:
    refused = await api.send("PUT", "/prompts/cast", {"text": "Be brief.\n=== user ===\nNow."}, status=400)
    assert "lacks" in refused["detail"]
    assert "no prompt named" in (await api.send("PUT", "/prompts/secrets", {"text": "x"}, status=400))["detail"]
    listed = (await api.get("/prompts"))["prompts"]
    assert not [row for row in listed if row["own"]], "nothing was written"


async def test_the_next_question_is_shown_with_ones_own_words(api: Api) -> None:
    assert (await api.get("/prompts"))["editable"]
    await api.tell("long", [f"Odalys carried parcel {number} to the mill and back again." for number in range(90)])
    asked = await api.get("/stories/long/next-question")
    assert asked["prompt"] == "update" and "parcel 3 " in asked["user"] and asked["tokens"] > 500
    update = next(row for row in (await api.get("/prompts"))["prompts"] if row["prompt"] == "update")
    await api.send("PUT", "/prompts/update", {"text": "Mind the parcels.\n" + update["text"]})
    assert (await api.get("/stories/long/next-question"))["system"].startswith("Mind the parcels.")


async def test_a_short_story_has_no_question(api: Api) -> None:
    await api.tell()
    assert await api.get("/stories/ferry/next-question") == {"story": "ferry", "prompt": None}
