"""`previously keys`: making, listing and removing, and that a key is printed once."""

from __future__ import annotations

import pytest

from tests.end_to_end.cli.running import Cli


def test_a_key_is_printed_once_and_listed_by_its_ending(cli: Cli) -> None:
    made = cli("keys", "add", "phone")
    key = made.out.strip()
    assert made.code == 0
    assert key.startswith("pk-")
    assert "stories of local" in made.err
    assert key not in made.err
    listed = cli("keys")
    assert key[-4:] in listed.out
    assert key[:-4] not in listed.out
    assert "phone" in listed.out


def test_json(cli: Cli) -> None:
    made = cli("keys", "add", "phone", "--owner", "ann", "--json").json
    assert set(made) == {"name", "owner", "created", "ending", "key"}
    assert (made["name"], made["owner"], made["ending"]) == ("phone", "ann", made["key"][-4:])
    del made["key"]
    assert cli("keys", "--json").json == {"keys": [made]}
    assert cli("keys", "remove", "phone", "--json").json == {"removed": "phone", "owner": "ann"}
    assert cli("keys", "--json").json == {"keys": []}


def test_no_keys_yet(cli: Cli) -> None:
    assert "keys add NAME" in cli("keys").out


def test_a_removed_key_is_gone(cli: Cli) -> None:
    cli("keys", "add", "phone")
    assert "phone is gone" in cli("keys", "remove", "phone").out
    assert "no key named 'phone'" in cli.fails(2, "keys", "remove", "phone")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("add",), "NAME"),
        (("add", "  "), "empty"),
        (("add", "x", "--owner", "*"), "nobody"),
        (("add", "x", "--owner", ""), "empty"),
        (("add", "a\nb"), "control"),
        (("--json", "add", "x"), "has no verb '--json'"),
        (("give", "x"), "give"),
        (("remove",), "NAME"),
    ],
)
def test_bad_input_is_one_sentence(cli: Cli, arguments: tuple[str, ...], said: str) -> None:
    assert said in cli.fails(2, "keys", *arguments)
    assert cli("keys", "--json").json == {"keys": []}


def test_a_name_is_given_once(cli: Cli) -> None:
    cli("keys", "add", "phone")
    assert "'phone' already" in cli.fails(2, "keys", "add", "phone", "--owner", "ann")
