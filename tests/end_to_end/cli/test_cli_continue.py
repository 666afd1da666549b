"""`previously continue`."""

from __future__ import annotations

import pytest

from tests.end_to_end.cli.running import LINES, Cli


@pytest.fixture
def tale(cli: Cli) -> Cli:
    for role, name, text in LINES:
        assert cli("add", "tale", "--role", role, "--name", name, "--text", text).code == 0
    return cli


def test_a_story_is_continued(tale: Cli) -> None:
    done = tale("continue", "tale", "--as", "winter", "--json").json
    assert done == {
        "story": "winter", "continues": "tale", "branch": "continued by winter", "messages": 4, "folds": 2, "calls": 0,
    }  # fmt: skip
    continues = tale("show", "winter", "--json").json["continues"]
    assert (continues["story"], continues["messages"]) == ("tale", 4)
    assert continues["begins_with"][0]["tokens"] > 0
    shown = tale("show", "winter").out
    assert "It continues tale, 4 messages." in shown and "Before this story" in shown and "'tale'" in shown
    assert "Nothing is folded" not in shown
    asked = tale("ask", "winter", "Who has the key to the bell tower?")
    assert "message 3 of tale, Orla (tale message:3)" in asked.out
    asked = tale("ask", "winter", "Who has the key to the bell tower?", "--json")
    assert {"tale"} == {source["from_story"] for source in asked.json["sources"]}
    view = tale("view", "winter", "--budget", 2_000, "--json").json
    assert [item["section"] for item in view["items"]] == ["earlier"]
    assert "'tale'" in tale("view", "winter", "--explain").out
    hit = tale("search", "winter", "key to the bell tower", "--json").json["hits"][0]
    assert (hit["position"], hit["from_story"]) == (3, "tale")
    assert "message 3 of tale, Orla" in tale("search", "winter", "key to the bell tower").out
    assert "of the story tale" in tale("blame", "winter", "Orla Finch had eleven sheep left").out
    assert (
        tale("blame", "winter", "Orla Finch had eleven sheep left", "--json").json["found"][0]["from_story"] == "tale"
    )


def test_the_branch_that_is_kept_for_it_says_so(tale: Cli) -> None:
    assert (
        'tale keeps what it remembers as a branch of its own, "continued by winter"'
        in tale("continue", "tale", "--as", "winter").out
    )
    rows = [" ".join(line.split()) for line in tale("branches", "list", "tale").out.splitlines()]
    assert rows[-2:] == ["main 4 active", "continued by winter 4 kept for winter"]


def test_a_model_that_does_not_answer_is_told_of(tale: Cli) -> None:
    assert tale("continue", "tale", "--as", "spring").err == ""
    tale("add", "tale", "--role", "user", "--text", "It snows.")
    ran = tale("continue", "tale", "--as", "winter", "--endpoint", "http://127.0.0.1:9/v1", "--model", "small")
    assert ran.code == 0 and "holds quotations for now: No connection to http://127.0.0.1:9/v1" in ran.err
    assert "`previously fold winter` asks it again" in ran.err


def test_a_refusal_is_one_sentence(tale: Cli) -> None:
    ran = tale("continue", "tale", "--as", "tale")
    assert (ran.code, ran.err) == (2, "previously: A story cannot continue itself; give the new one another name.\n")
    assert tale("continue", "nothing", "--as", "winter").code == 2
    assert tale("continue", "tale", "--as", "winter", "--at", 9).code == 2
    assert [one["story"] for one in tale("stories", "--json").json["stories"]] == ["tale"]


def test_forgetting_says_who_remembers_it(tale: Cli) -> None:
    tale("continue", "tale", "--as", "winter")
    assert "winter continues it and would remember it no more." in tale("forget", "tale").err
    assert tale("forget", "tale", "--yes").code == 0
    assert "It continues a story that is not here any more." in tale("show", "winter").out
