"""compact: an agent's conversation in a file, folded."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from previously.core.pairing import find_unpaired
from previously.formats.claude_code import to_claude_code
from previously.formats.conversations import parse_conversation, read_conversation
from tests.end_to_end.cli.running import Cli
from tests.end_to_end.runtime.test_fold_conversation import BRIEF, chat
from tests.end_to_end.runtime.test_folding_bodies import RULES, anthropic_body, responses_body
from tests.unit.formats.test_opencode import SESSION, message, part, stored

FIELDS = {
    "status", "reason", "tokens", "before_tokens", "messages", "brief", "folded", "pruned", "interrupted", "made_by",
    "note", "calls", "previously", "path", "body", "skipped",
}  # fmt: skip


@pytest.fixture
def session(tmp_path: Path) -> Path:
    path = tmp_path / "session.json"
    path.write_text(json.dumps(chat()), "utf-8")
    return path


def test_it_folds_and_says_what_it_did(cli: Cli, session: Path) -> None:
    given = session.read_bytes()
    ran = cli("compact", session, "--budget", 3_000, "--json")
    done = ran.json
    assert set(done) == FIELDS
    assert (done["status"], done["made_by"], done["calls"]) == ("folded", "builtin", 0)
    assert done["tokens"] <= 3_000 < done["before_tokens"]
    assert done["messages"][0] == chat()[0]
    assert done["messages"][-1] == chat()[-1]
    assert find_unpaired(parse_conversation(done["messages"]).messages) == []
    assert "are a brief now" in ran.err
    assert session.read_bytes() == given, "the file is left as it is"
    assert not cli.db.exists(), "no story is touched"


def test_what_it_wrote_is_known_again(cli: Cli, session: Path, tmp_path: Path) -> None:
    out = tmp_path / "folded.json"
    ran = cli("compact", session, "--budget", 3_000, "--out", out)
    assert (ran.code, ran.out) == (0, "")
    done = cli("compact", out, "--budget", 3_000, "--json").json
    assert done["status"] == "nothing to fold"
    grown = json.loads(out.read_text("utf-8"))
    grown["messages"] += chat()[1:]
    more = tmp_path / "more.json"
    more.write_text(json.dumps(grown), "utf-8")
    done = cli("compact", more, "--budget", 3_000, "--json").json
    assert sum("## Goal" in str(one.get("content")) for one in done["messages"]) == 1, "the brief is updated"
    assert "is there already" in cli.fails(2, "compact", session, "--out", out)


def test_without_json_the_conversation_is_the_output(cli: Cli, session: Path) -> None:
    ran = cli("compact", session, "--budget", 3_000)
    assert parse_conversation(json.loads(ran.out)).dialect == "openai"
    assert ran.err.startswith("Folded: ")


@pytest.mark.parametrize("to", ["openai", "anthropic", "responses"])
def test_it_is_written_as_asked(cli: Cli, session: Path, to: str) -> None:
    done = cli("compact", session, "--budget", 3_000, "--to", to, "--json").json
    assert parse_conversation(done["messages"]).dialect == to
    assert ("system" in done) == (to == "anthropic")


def test_claude_code_can_go_on_with_it(cli: Cli, session: Path, tmp_path: Path) -> None:
    out = tmp_path / "session.jsonl"
    cli("compact", session, "--budget", 3_000, "--to", "claude-code", "--out", out)
    lines = [json.loads(line) for line in out.read_text("utf-8").splitlines()]
    assert [line["parentUuid"] for line in lines[1:]] == [line["uuid"] for line in lines[:-1]]
    assert lines[-1]["message"]["content"] == chat()[-1]["content"]
    again = read_conversation(out)
    assert find_unpaired(again.messages) == []
    assert cli("compact", out, "--budget", 50_000, "--json").json["status"] == "nothing to fold"


def test_turns_pins_and_the_tokenizer(cli: Cli, session: Path) -> None:
    all_of_it = cli("compact", session, "--tail-turns", 0, "--json").json
    assert all_of_it["folded"] == len(chat()) - 2, "rules and the newest request stay"
    assert cli("compact", session, "--tail-turns", -1, "--json").json["folded"] == all_of_it["folded"]
    pinned = cli("compact", session, "--tail-turns", 0, "--pin", 1, "--pin", -2, "--json").json
    assert chat()[1] in pinned["messages"]
    assert chat()[-2] in pinned["messages"]
    exact = cli("compact", session, "--tokenizer", "cl100k", "--budget", 3_000, "--json").json
    assert exact["tokens"] <= 3_000


def test_a_model_writes_the_brief(cli: Cli, session: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from previously.cli import compact
    from previously.testing.model import ScriptedModel

    monkeypatch.setattr(compact, "choose_model", lambda endpoint, model: ScriptedModel(lambda _: BRIEF))
    done = cli("compact", session, "--budget", 3_000, "--endpoint", "http://x/v1", "--model", "m", "--json").json
    assert (done["made_by"], done["calls"], done["note"]) == ("model", 1, None)
    monkeypatch.setattr(compact, "choose_model", lambda endpoint, model: ScriptedModel(lambda _: ""))
    ran = cli("compact", session, "--budget", 3_000, "--json")
    assert ran.json["made_by"] == "builtin"
    assert "The built-in writer wrote the brief" in ran.err


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "empty"),
        (b"[]", "no messages"),
        (b'{"a": 1}', "not known"),
        (b'[{"role": "wizard", "content": "x"}]', "wizard"),
        (b"\xff\xfe", "UTF-16"),
    ],
)
def test_a_file_that_cannot_be_folded_is_refused_in_one_sentence(
    cli: Cli, tmp_path: Path, content: bytes, sentence: str
) -> None:
    path = tmp_path / "odd.json"
    path.write_bytes(content)
    assert sentence in cli.fails(2, "compact", path)


def test_options_that_cannot_be_are_refused(cli: Cli, session: Path, tmp_path: Path) -> None:
    assert "no such file" in cli.fails(2, "compact", tmp_path / "none.json")
    assert "no message 999" in cli.fails(2, "compact", session, "--pin", 999)
    assert "not a number" in cli.fails(2, "compact", session, "--tail-turns", "two")
    cli.fails(2, "compact", session, "--budget", 0)
    cli.fails(2, "compact", session, "--to", "morse")
    least: Any = cli("compact", session, "--budget", 60, "--json").json
    assert least["status"] == "folded"
    assert "as small as it can be" in least["reason"]


def test_the_view_of_an_agents_story_is_drawn(cli: Cli, session: Path) -> None:
    cli("import", session, "--story", "work")
    cli("set", "work", "preset=agent", "window_tokens=2048")
    assert cli("fold", "work").code == 0
    for arguments in (("view", "work", "--budget", 1_800), ("view", "work", "--budget", 1_800, "--explain")):
        ran = cli(*arguments)
        assert (ran.code, "brief" in ran.out.lower()) == (0, True), ran
    shown = cli("show", "work", "--json").json
    assert shown["recap"] is None
    assert shown["brief"].startswith("## Goal")
    assert "Brief" in cli("show", "work").out


def test_a_request_comes_back_as_a_request(cli: Cli, tmp_path: Path) -> None:
    for number, given in enumerate([anthropic_body(), responses_body()]):
        path = tmp_path / f"request_{number}.json"
        path.write_text(json.dumps(given), "utf-8")
        ran = cli("compact", path, "--budget", 4_000)
        found = json.loads(ran.out)
        listed = "input" if "input" in given else "messages"
        assert set(found) == {*given, "previously"}
        assert all(found[name] == given[name] for name in given if name != listed)
        again = tmp_path / f"again_{number}.json"
        again.write_text(ran.out, "utf-8")
        said = cli("compact", again, "--budget", 4_000, "--json").json
        assert said["status"] == "nothing to fold"
        assert said["before_tokens"] == cli("compact", path, "--budget", 4_000, "--json").json["tokens"]
        assert said["body"] == {name: value for name, value in given.items() if name != listed}


def test_a_transcript_of_claude_code_keeps_the_rules_and_knows_its_brief(cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / "request.json"
    path.write_text(json.dumps(anthropic_body()), "utf-8")
    for turn in range(4):
        out = tmp_path / f"session_{turn}.jsonl"
        done = cli("compact", path, "--budget", 4_000, "--to", "claude-code", "--out", out, "--json").json
        assert done["status"] == "folded", turn
        lines = [json.loads(line) for line in out.read_text("utf-8").splitlines()]
        assert (lines[0]["isMeta"], lines[0]["message"]["content"]) == (True, RULES)
        assert sum("Notes on what happened earlier" in json.dumps(line) for line in lines) == 1
        again = read_conversation(out)
        assert (again.messages[0].role, again.messages[0].text) == ("system", RULES)
        last = lines[-1]["uuid"]
        more = to_claude_code(
            parse_conversation(chat(9)[1:]).messages, session_id=f"more {turn}", at="2026-01-01T00:00:00Z"
        )
        first = json.loads(more[0]) | {"parentUuid": last}
        path = tmp_path / f"grown_{turn}.jsonl"
        path.write_text("\n".join([*map(json.dumps, lines), json.dumps(first), *more[1:]]), "utf-8")


def test_it_says_what_it_did_once_and_in_words_that_fit(cli: Cli, session: Path, tmp_path: Path) -> None:
    nothing = cli("compact", session, "--budget", 500_000).err
    assert nothing.lower().count("nothing to fold") == 1
    assert cli("compact", session, "--budget", 60).err.count("more than the budget of 60") == 1
    open_call = tmp_path / "open.json"
    open_call.write_text(json.dumps([*chat(2)[:3], chat(2)[-1]]), "utf-8")
    assert "1 call never got a result and is marked as interrupted." in cli("compact", open_call).err


def test_what_a_log_leaves_out_is_said(cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / "rollout.jsonl"
    call = {"type": "function_call", "name": "run", "arguments": "{}", "call_id": "c"}
    said: list[dict[str, Any]] = [{"type": "message", "role": "user", "content": "Go."}, call]
    lines: list[dict[str, Any]] = [{"type": "session_meta", "payload": {"id": "s"}}]
    lines += [{"type": "response_item", "payload": one} for one in said]
    lines += [{"type": "event_msg", "payload": {"type": "token_count"}}] * 2
    path.write_text("\n".join([*map(json.dumps, lines), '{"cut']), "utf-8")
    ran = cli("compact", path, "--json")
    assert (ran.json["skipped"], ran.json["interrupted"]) == ({"event_msg": 2, "broken line": 1}, 1)
    assert "Skipped 3 lines without a message (2 event_msg, 1 broken line)." in ran.err
    assert "1 call never got a result" in ran.err


def test_a_folder_of_sessions(cli: Cli, tmp_path: Path) -> None:
    said = [message(1, "user", [part(1, "text", text="Mend the reader.")])]
    file = stored(tmp_path, {**SESSION, "id": "ses_1"}, said)
    only = cli("compact", tmp_path, "--json").json
    assert [one["content"] for one in only["messages"]] == ["Mend the reader."]
    stored(tmp_path, {**SESSION, "id": "ses_2", "parentID": "ses_1"}, said)
    assert cli("compact", tmp_path, "--json").json["messages"] == only["messages"], "a sub-agent is not meant"
    stored(tmp_path, {**SESSION, "id": "ses_3"}, said)
    refused = cli.fails(2, "compact", tmp_path)
    assert "2 sessions (ses_1, ses_3)" in refused
    assert cli("compact", file, "--json").json["messages"] == only["messages"]
