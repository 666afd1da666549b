"""`previously write`."""

from __future__ import annotations

import asyncio

import pytest

from previously import ScriptedAnswer, ScriptedServer
from tests.end_to_end.cli.running import Cli, Ran


async def test_a_story_is_written_on(cli: Cli) -> None:
    async with ScriptedServer(["It is late.", "It is in.", "Come aboard."], strict=True) as server:
        model = ("--endpoint", server.base_url, "--model", "m")

        async def write(*arguments: object) -> Ran:
            return await asyncio.to_thread(cli, "write", "tale", *arguments, *model)

        assert (await write("--setup", "name=Odalys", "--setup", "temperature=0.5")).out == (
            "name: Odalys\nnote_depth: 4\ntemperature: 0.5\n"
        )
        ran = await write("--text", "Is the ferry in?", "--direction", "Be short.")
        assert (ran.code, ran.out, ran.err) == (0, "It is late.\n", "")
        again = (await write("--again", "--json")).json
        assert again == {
            "story": "tale",
            "branch": "main",
            "messages": 2,
            "position": 1,
            "text": "It is in.",
            "finish": "stop",
            "failure": "",
        }
        assert (await write("--longer")).out == "It is in. Come aboard.\n"
        assert server.requests[0].json["temperature"] == 0.5
    assert server.faults == []


async def test_a_failure_is_one_sentence_and_what_was_said_is_kept(cli: Cli) -> None:
    async with ScriptedServer(ScriptedAnswer(status=500, body={"error": {"message": "no room"}})) as server:
        ran = await asyncio.to_thread(
            cli, "write", "tale", "--text", "Hello?", "--endpoint", server.base_url, "--model", "m"
        )
    assert (ran.code, ran.out, ran.err.count("\n")) == (1, "", 1)
    assert "no room" in ran.err
    assert (await asyncio.to_thread(cli, "show", "tale", "--json")).json["messages"] == 1


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--text", "Hello?"), "No model is configured"),
        (("--text", "x", "--again"), "only one of"),
        (("--setup", "temperature"), "sets nothing"),
        (("--setup", "temperature=hot"), "temperature must be a number"),
        (("--setup", "mood=blue"), "mood is no part"),
        (("--again",), "tale"),
    ],
)
def test_bad_input_is_one_sentence(cli: Cli, arguments: tuple[str, ...], sentence: str) -> None:
    ran = cli("write", "tale", *arguments)
    assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1)
    assert sentence in ran.err
