"""`previously ask`."""

from __future__ import annotations

import pytest

from previously import ScriptedServer
from tests.end_to_end.cli.running import LINES, Cli

KEY = "Where is the key to the bell tower?"


@pytest.fixture
def told(cli: Cli) -> Cli:
    for role, name, text in LINES:
        cli("add", "tale", "--role", role, "--name", name, "--text", text)
    return cli


def test_sources_for_people_and_as_json(told: Cli) -> None:
    ran = told("ask", "tale", KEY)
    assert (ran.code, ran.err) == (0, "")
    assert "message 3, Orla" in ran.out
    assert "(message:3)" in ran.out
    value = told("ask", "tale", KEY, "--json").json
    assert set(value) == {"story", "question", "verdict", "answer", "reason", "cited", "sources", "model", "calls"}
    assert (value["story"], value["question"], value["verdict"], value["answer"]) == ("tale", KEY, "sources", None)
    first = value["sources"][0]
    assert (first["number"], first["address"], first["messages"], first["speaker"]) == (
        1,
        "message:3",
        [[3, 3]],
        "Orla",
    )


async def test_a_model_answers_above_its_sources(told: Cli) -> None:
    async with ScriptedServer("The key is under the third stone [1].") as server:
        import asyncio

        ran = await asyncio.to_thread(
            told, "ask", "tale", KEY, "--endpoint", f"{server.base_url}", "--model", "m", "--budget", 500
        )
    assert ran.out.startswith("The key is under the third stone [1].\n")
    assert "message 3, Orla" in ran.out


async def test_a_search_with_a_model_says_what_was_searched_and_what_it_took(told: Cli) -> None:
    import asyncio

    query = "Who may go up to ring?"
    async with ScriptedServer(["under the third stone", "1, 9"]) as server:
        model = ("--with-model", "--endpoint", f"{server.base_url}", "--model", "m")
        people = await asyncio.to_thread(told, "search", "tale", query, *model)
        found = (await asyncio.to_thread(told, "search", "tale", query, *model, "--json")).json
    assert "message 3, Orla" in people.out
    assert people.err.count("1 call,") == 2
    assert "under the third stone" in people.err
    assert "Picked 1 of 4 hits" in people.err
    assert "1 of its numbers stands for no message" in people.err
    assert ", picked  (score" in people.out
    paid = {"calls": 0, "input_tokens": 0, "output_tokens": 0}
    assert found["words"] == {"lines": ["under the third stone"], "reason": "", "model": "m", "cost": paid}
    assert found["pick"] == {
        "picked": 1, "offered": 4, "reason": "", "warnings": ["1 of its numbers stands for no message"], "model": "m",
        "cost": paid,
    }  # fmt: skip
    assert [hit["picked"] for hit in found["hits"] if "picked" in hit] == [True]
    assert {hit["position"] for hit in found["hits"]} >= {3}


def test_a_search_with_a_model_where_there_is_none_is_the_ordinary_one(told: Cli) -> None:
    alone = told("search", "tale", KEY, "--with-model")
    assert alone.err == ("This is the ordinary search: no model writes memory; name one with --endpoint and --model.\n")
    assert alone.out == told("search", "tale", KEY).out


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("ask", "tale", ""), "The question is empty"),
        (("ask", "tale", "?"), "nothing to search for"),
        (("ask", "nowhere", KEY), "nowhere"),
        (("ask", "tale", KEY, "--as", "Rook"), "takes part in this story"),
        (("ask", "tale", KEY, "--budget", "0"), "budget"),
        (("ask", "tale", KEY, "--model", "m"), "both an endpoint and a name"),
    ],
)
def test_bad_input_is_one_sentence(told: Cli, arguments: tuple[str, ...], sentence: str) -> None:
    ran = told(*arguments)
    assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1)
    assert sentence in ran.err


def test_no_source_is_said(told: Cli) -> None:
    assert told("ask", "tale", "Who won the regatta?").out == "Nothing in the story speaks of that.\n"


def test_what_does_not_fit_the_budget_is_not_said_to_be_missing(cli: Cli) -> None:
    cli("add", "mill", "--role", "user", "--text", "The brass key lies under the third stair. " * 20)
    cli("add", "mill", "--role", "user", "--text", "A lock wants opening.")
    ran = cli("search", "mill", "brass key", "--budget", "30")
    assert ran.out.startswith("No message that fits the budget has these words. Nearest in meaning:\n")
    assert "message 1" in ran.out and "message 0" not in ran.out
    assert not cli("search", "mill", "brass key").out.startswith("No message")
