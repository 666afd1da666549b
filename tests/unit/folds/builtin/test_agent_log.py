"""What rules read of an agent's conversation: commands, failures, deeds, requests, plans and claims."""

from __future__ import annotations

import json

import pytest

from previously.core.messages import FAILED, Message, Role, ToolCall, ToolResult, message
from previously.folds.builtin.agent_log import (
    AgentDeed,
    Sort,
    find_newest_plan,
    list_files,
    list_runs,
    read_deeds,
    render_command,
)
from previously.folds.builtin.shell import (
    find_command_key,
    find_error,
    find_reported_errors,
    find_touched,
    is_failed_command,
    is_failed_edit,
    looks_like_path,
    matters,
    only_looks,
)
from previously.folds.builtin.statements import (
    find_goal,
    find_named_files,
    find_rules,
    is_slight,
    read_claims,
    read_requests,
)


def did(name: str, given: object, output: str = "", *, failed: bool = False) -> tuple[Message, Message]:
    arguments = given if isinstance(given, str) else json.dumps(given)
    call = Message(Role.ASSISTANT, (ToolCall("1", name, arguments),))
    return call, Message(Role.TOOL, (ToolResult("1", output, FAILED if failed else ""),))


def deed(name: str, given: object, output: str = "", *, failed: bool = False) -> AgentDeed:
    return read_deeds(did(name, given, output, failed=failed))[0]


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("cat src/a.py", ["src/a.py read"]),
        ("sed -n '1,20p' src/a.py | head", ["src/a.py read"]),
        ("sed -i 's/a/b/' src/a.py", ["src/a.py edited"]),
        ("rm -f build/x.txt notes.md", ["build/x.txt deleted", "notes.md deleted"]),
        ("git rm old.py", ["old.py deleted"]),
        ("mv a.py src/b.py", ["a.py deleted", "src/b.py created"]),
        ("cp a.py src/b.py", ["src/b.py created"]),
        ("touch src/new.py", ["src/new.py created"]),
        ("echo hi > out/log.txt", ["out/log.txt created"]),
        ("echo hi >> out/log.txt 2>&1", ["out/log.txt edited"]),
        ("cat > src/a.py <<'EOF'\nrm b.py\nEOF\npython src/a.py", ["src/a.py created", "src/a.py run"]),
        ("cd /repo && FOO=1 python3 scripts/run.py --x", ["scripts/run.py run"]),
        ("python -m pytest tests/test_a.py::test_b", ["tests/test_a.py run"]),
        ("poetry run pytest tests/test_a.py", ["tests/test_a.py run"]),
        ("git checkout -- src/a.py", ["src/a.py reverted"]),
        ("git restore src/a.py", ["src/a.py reverted"]),
        ("git checkout feature/x", []),
        ("create repro.py", ["repro.py created"]),
        ("open src/a.py 1474", ["src/a.py read"]),
        ("./build.sh", ["./build.sh run"]),
        ("ls -la src && grep -rn foo src/", []),
        ("curl https://example.com/a.json > /dev/null", []),
        ("echo 'unbalanced", []),
        ("", []),
    ],
)
def test_which_files_a_command_touches(command: str, expected: list[str]) -> None:
    assert [f"{one.path} {one.act}" for one in find_touched(command)] == expected


@pytest.mark.parametrize("word", ["src/a.py", "a.py", "/etc/hosts", "Makefile", "web/src/index.tsx", "~/notes"])
def test_what_is_a_path(word: str) -> None:
    assert looks_like_path(word)


@pytest.mark.parametrize(
    "word", ["1.2.3", "https://a.b/c.py", "--flag", "s/a/b/", "*.py", "$HOME/x", "a", "..", "example.com"]
)
def test_what_is_no_path(word: str) -> None:
    assert not looks_like_path(word)


def test_the_same_attempt_whatever_the_flags() -> None:
    one = find_command_key("cd /repo && pytest -q tests/test_a.py 2>&1 | tail -20")
    assert one == find_command_key("python -m pytest tests/test_a.py -x") == ("pytest", "tests/test_a.py")
    assert one != find_command_key("pytest tests/test_b.py")


@pytest.mark.parametrize(
    "command", ["ls", "grep -n x a.py", "git status", "cd a && cat b.py", "find . -name x | wc -l"]
)
def test_looking_changes_nothing(command: str) -> None:
    assert only_looks(command)
    assert not matters(command)


@pytest.mark.parametrize("command", ["pytest", "npm run build", "git commit -m x", "make", "./run.sh", "python x.py"])
def test_what_matters(command: str) -> None:
    assert matters(command)


@pytest.mark.parametrize(
    ("output", "error"),
    [
        ("Traceback (most recent call last):\n  File 'x'\nKeyError: 'a'", "KeyError: 'a'"),
        ("E       AssertionError: assert 1 == 2\nFAILED tests/t.py::t\n1 failed", "AssertionError: assert 1 == 2"),
        ("tests ran\nFAILED tests/t.py::test_a\n1 failed, 2 passed", "FAILED tests/t.py::test_a"),
        ("bash: foo: command not found", "bash: foo: command not found"),
        ("src/a.ts(3,5): error TS2322: Type 'x' is wrong.", "src/a.ts(3,5): error TS2322: Type 'x' is wrong."),
        ("error[E0308]: mismatched types\n --> src/main.rs:4", "error[E0308]: mismatched types"),
        ("npm ERR! code ERESOLVE\nnpm ERR! ERESOLVE unable to resolve", "npm ERR! ERESOLVE unable to resolve"),
        ("fatal: not a git repository", "fatal: not a git repository"),
        ("something odd\nExit code: 2", "something odd"),
        ("<returncode>1</returncode>\n<output>\nbroken pipe\n</output>", "broken pipe"),
        ("--- FAIL: TestSum (0.00s)\nexit status 1", "--- FAIL: TestSum (0.00s)"),
    ],
)
def test_failures_and_their_exact_words(output: str, error: str) -> None:
    assert is_failed_command(output)
    assert find_error(output) == error


@pytest.mark.parametrize(
    "output",
    [
        "",
        "12 passed in 0.3s",
        "Found 0 errors",
        "0 failed, 12 passed",
        "Script completed successfully, no errors. Result: True",
        "error handling is described in the manual",
        "warning: x\nExit code: 0",
        "class MyError(Exception): pass",
    ],
)
def test_what_is_no_failure(output: str) -> None:
    assert not is_failed_command(output)


@pytest.mark.parametrize(
    "output",
    [
        "Error: old_string not found in file",
        "Your proposed edit has introduced new syntax error(s).\nERRORS:\n- E999 IndentationError",
        "<tool_use_error>String to replace not found</tool_use_error>",
        "Failed to apply patch",
    ],
)
def test_a_refused_edit(output: str) -> None:
    assert is_failed_edit(output)
    assert not is_failed_edit("The file a.py has been updated. Here is the result:\n1 raise Error")


@pytest.mark.parametrize(
    ("name", "given", "sort", "touched"),
    [
        ("Read", {"file_path": "/a/b.py"}, Sort.READ, ["/a/b.py read"]),
        ("read_file", {"path": "b"}, Sort.READ, ["b read"]),
        ("mcp__fs__write_file", {"path": "b.py", "content": "x"}, Sort.CREATE, ["b.py created"]),
        ("MultiEdit", {"file_path": "b.py", "edits": []}, Sort.EDIT, ["b.py edited"]),
        ("edit", {"filePath": "/a/b.py", "oldString": "a", "newString": "b"}, Sort.EDIT, ["/a/b.py edited"]),
        ("str_replace_editor", {"command": "view", "path": "/b.py"}, Sort.READ, ["/b.py read"]),
        ("str_replace_editor", {"command": "create", "path": "/b.py"}, Sort.CREATE, ["/b.py created"]),
        ("str_replace_based_edit_tool", {"command": "str_replace", "path": "/b.py"}, Sort.EDIT, ["/b.py edited"]),
        ("apply_patch", {"input": "*** Begin Patch\n*** Update File: a.py\n*** Add File: b.py\n*** Delete File: c.py"},
         Sort.EDIT, ["a.py edited", "b.py created", "c.py deleted"]),
        ("apply_patch", "*** Begin Patch\n*** Update File: a.py\n", Sort.EDIT, ["a.py edited"]),
        ("apply_diff", {"diff": "--- a/x.py\n+++ b/x.py\n"}, Sort.EDIT, ["x.py edited"]),
        ("delete_file", {"target_file": "x.py"}, Sort.DELETE, ["x.py deleted"]),
        ("shell", {"command": ["bash", "-lc", "cat a.py"]}, Sort.RUN, ["a.py read"]),
        ("exec_command", {"cmd": "rm a.py"}, Sort.RUN, ["a.py deleted"]),
        ("bash", "cat a.py", Sort.RUN, ["a.py read"]),
        ("TodoWrite", {"todos": []}, Sort.PLAN, []),
        ("Grep", {"pattern": "x", "path": "src"}, Sort.OTHER, []),
        ("web_search", {"query": "x"}, Sort.OTHER, []),
        ("read", "not json", Sort.READ, []),
    ],
)  # fmt: skip
def test_what_a_call_does(name: str, given: object, sort: Sort, touched: list[str]) -> None:
    found = deed(name, given)
    assert found.sort is sort
    assert [f"{one.path} {one.act}" for one in found.touches] == touched


def test_a_call_without_a_result_has_no_outcome() -> None:
    (found,) = read_deeds(did("bash", {"command": "make"})[:1])
    assert (found.output, found.failed, found.error) == (None, False, "")


def test_an_id_that_is_used_again_belongs_to_the_newest_call() -> None:
    found = read_deeds(
        [*did("bash", {"command": "make"}, "ok"), *did("bash", {"command": "make x"}, "boom", failed=True)]
    )
    assert [one.failed for one in found] == [False, True]


def test_commands_in_fences_are_calls_when_a_shell_answers() -> None:
    prompt = "\n(Open file: /repo/a.py)\n(Current directory: /repo)\nbash-$"
    found = read_deeds(
        [
            message("user", f"ISSUE:\nfix it{prompt}"),
            message("assistant", "I edit it.\n```\nedit 1:1\nx = 1\nend_of_edit\n```"),
            message("user", f"[File: /repo/a.py (1 lines total)]\n1:x = 1{prompt}"),
            message("assistant", "Run it.\n```\npython a.py\n```"),
            message("user", f"NameError: name 'y' is not defined{prompt}"),
            message("assistant", "For example:\n```\nrm -rf x.py\n```"),
            message("user", "No, leave it."),
        ]
    )
    assert [(one.sort, one.failed) for one in found] == [(Sort.EDIT, False), (Sort.RUN, True)]
    assert found[0].touches[0].path == "/repo/a.py"
    assert found[1].error == "NameError: name 'y' is not defined"


def test_one_file_under_two_paths_is_one() -> None:
    deeds = read_deeds(
        [*did("Read", {"file_path": "/repo/src/a.py"}), *did("bash", {"command": "sed -i s/a/b/ ./src/a.py"})]
    )
    assert list_files(deeds).told() == [("/repo/src/a.py", "edited")]


def test_a_file_that_could_not_be_edited_was_not_edited() -> None:
    deeds = read_deeds([*did("Edit", {"file_path": "a.py"}, "Error: not found", failed=True)])
    assert list_files(deeds).told() == []
    assert [one.what for one in list_runs(deeds).failing()] == ["Edit of a.py"]


def test_a_command_that_went_well_at_last_has_not_failed() -> None:
    deeds = read_deeds(
        [
            *did("bash", {"command": "pytest tests/a.py"}, "KeyError: 'x'\n1 failed"),
            *did("bash", {"command": "pytest tests/b.py"}, "KeyError: 'y'\n1 failed"),
            *did("bash", {"command": "pytest -x tests/a.py"}, "1 passed"),
        ]
    )
    found = list_runs(deeds)
    assert [(one.what, one.before) for one in found.went_well()] == [("`pytest -x tests/a.py`", "KeyError: 'x'")]
    assert [one.result for one in found.failing()] == ["KeyError: 'y'"]
    whole = list_runs([*deeds, deed("bash", {"command": "pytest -q"}, "9 passed")])
    assert whole.failing() == []


def test_a_long_command_is_shown_in_one_line() -> None:
    assert render_command("cat > a.py <<'EOF'\nx\nEOF") == "cat > a.py <<'EOF' …"
    assert len(render_command("x " * 400)) <= 160


@pytest.mark.parametrize(
    "text",
    [
        "Never touch the public API.",
        "Please use tabs.",
        "- Must run on Python 3.9",
        "Don't add dependencies.",
        "I want the old flag to keep working.",
        "Prefer composition over inheritance.",
        "Let's use SQLite.",
        "Die Datei darf nicht gelöscht werden.",
        "Verwende keine neuen Pakete.",
        "N'utilise pas de variable globale.",
        "No uses variables globales.",
        "Никогда не меняй схему.",
        "不要修改接口。",
        "テストを必ず実行してください。",
    ],
)
def test_what_is_a_rule(text: str) -> None:
    assert find_rules(text) == [text]


@pytest.mark.parametrize(
    "text",
    [
        "I don't know why it fails.",
        "It never worked on my machine.",
        "Should I use tabs?",
        "The import crashes on empty files.",
        "IMPORTANT TIPS:",
        "```\nnever = True\n```",
    ],
)
def test_what_is_no_rule(text: str) -> None:
    assert find_rules(text) == []


def test_the_goal_of_a_short_request_is_the_request_without_its_rules() -> None:
    assert find_goal("Hi! Fix the crash in a.py. Never touch b.py.") == "Fix the crash in a.py."
    assert find_goal("You must fix a.py.") == "You must fix a.py."
    assert find_goal('"Fix the crash in a.py."') == '"Fix the crash in a.py."', "as opencode quotes what it is told"


def test_the_goal_of_a_long_request_is_its_title_and_what_follows() -> None:
    text = (
        "We're solving the following issue.\nISSUE:\nTimeDelta precision\nHi there!\n\nThe field truncates.\n"
        f"```python\n{'x = 1' * 100}\n```\nOutput is `344`.\n\nINSTRUCTIONS:\n{'Now solve it. ' * 40}"
    )
    assert find_goal(text) == "TimeDelta precision. The field truncates. Output is `344`."


def test_what_clients_and_shells_write_is_no_request() -> None:
    messages = [
        message("user", "<environment_context>\n<cwd>/repo</cwd>\n</environment_context>"),
        message("user", "# AGENTS.md instructions for /repo\nUse tabs."),
        message("user", "Here is a demonstration of how to correctly accomplish this task."),
        message("user", "Fix it.<system-reminder>Never say this.</system-reminder>"),
        message("assistant", "Sure."),
        message("user", "x\n(Current directory: /repo)\nbash-$"),
        message("user", "<command-name>/clear</command-name>"),
    ]
    assert [one.text for one in read_requests(messages)] == ["Fix it."]


@pytest.mark.parametrize("text", ["yes", "ok, thanks!", "go ahead", "Weiter bitte", "continue"])
def test_a_nod_is_no_request(text: str) -> None:
    assert is_slight(text)
    assert not is_slight("yes, but use tabs")


def test_files_and_errors_a_user_names() -> None:
    text = "See `src/a.py` and docs/x.md (not https://a.b/c.py), such as foo.png:\n```\nimport b.py\n```"
    assert find_named_files(text) == ["src/a.py", "docs/x.md"]
    assert find_reported_errors("It says\nTypeError: x is not a function\nhelp") == ["TypeError: x is not a function"]


def test_the_newest_plan_counts() -> None:
    old = deed("TodoWrite", {"todos": [{"content": "a", "status": "pending"}]})
    new = deed("update_plan", {"plan": [
        {"step": "a", "status": "completed"}, {"step": "b", "status": "in_progress"},
        {"step": "c", "status": "pending"}, {"step": "d", "status": "cancelled"}, "e", 7,
    ]})  # fmt: skip
    found = find_newest_plan([old, new, deed("TodoWrite", {"todos": []}), deed("todo_write", "no json")])
    assert (found.done, found.doing, found.to_do) == (("a",), ("b",), ("c", "e"))


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("I've added the missing colon to `a.py`.", "finished"),
        ("The code has been updated to use `round`.", "finished"),
        ("All 12 tests now pass.", "finished"),
        ("Ich habe die Prüfung in a.py ergänzt.", "finished"),
        ("I'll use SQLite because it needs no server.", "decided"),
        ("I decided to keep the old flag.", "decided"),
        ("The root cause is a missing lock in pool.py.", "causes"),
        ("That approach failed with a deadlock.", "gave_up"),
        ("Caching the handle didn't work.", "gave_up"),
        ("Next, I'll write the tests.", "next_steps"),
        ("I'm blocked until you grant access to the bucket.", "stuck"),
        ("Which of the two should I take?", "stuck"),
    ],
)
def test_what_the_agent_claims(text: str, kind: str) -> None:
    found = read_claims([message("assistant", text)])
    assert getattr(found, kind) == [text]


@pytest.mark.parametrize(
    "text", ["Let me fix the colon.", "I haven't fixed it.", "If the tests pass, it is fixed.", "I've found it."]
)
def test_an_intention_is_no_deed(text: str) -> None:
    assert read_claims([message("assistant", text)]).finished == []


def test_listed_next_steps_and_an_answered_question() -> None:
    asked = message("assistant", "Done.\n\n**Next steps:**\n- write docs\n- ship it\n\nShall I go on?")
    found = read_claims([asked])
    assert (found.next_steps, found.stuck) == (["write docs", "ship it"], ["Shall I go on?"])
    assert read_claims([asked, message("user", "yes")]).stuck == []
