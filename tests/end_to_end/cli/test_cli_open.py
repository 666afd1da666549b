"""`previously open`: the page on a server of its own, in a real process, without a model server."""

from __future__ import annotations

import builtins
import json
import os
import re
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.end_to_end.cli.running import Cli, sentence


@contextmanager
def opened(db: Path, *arguments: str) -> Iterator[tuple[str, list[str]]]:
    """The page's address without its fragment, and all lines that were said; Ctrl-C ends it."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PREVIOUSLY_")}
    process = subprocess.Popen(
        [sys.executable, "-m", "previously", "--db", str(db), "open", "--no-browser", *arguments],
        stderr=subprocess.PIPE,
        encoding="utf-8",
        env=environment | {"PREVIOUSLY_CONFIG": ""},
    )
    assert process.stderr
    try:
        said = [process.stderr.readline()]
        while said[-1] and "The page is at" not in said[-1]:
            said.append(process.stderr.readline())
        found = re.search(r"The page is at (http://127\.0\.0\.1:\d+/)", said[-1])
        assert found, said
        yield found[1], said
        process.send_signal(signal.SIGINT)
        said += process.communicate(timeout=30)[1].splitlines(keepends=True)
        assert process.returncode in (0, 130), said
        assert not any("Traceback" in line for line in said), said
    finally:
        if process.poll() is None:
            process.kill()
            process.communicate()


def ask(address: str, body: Any = None) -> tuple[int, str]:
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(address, data, {"content-type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def test_the_page_is_there_without_a_model_server(tale: Cli) -> None:
    with opened(tale.db, "tale") as (page, said):
        assert said[-1].strip() == f"The page is at {page}#/story/tale/read (Ctrl-C ends it)."
        assert ask(f"{page}healthz") == (200, '{"ok":true}')
        assert "<title>" in ask(page)[1]
        status, answer = ask(f"{page}v1/chat/completions", {"model": "any", "messages": []})
        assert status == 503
        assert json.loads(answer)["error"]["message"].startswith("No model is named here: name one on the page")
        assert json.loads(ask(f"{page}v1/messages", {})[1])["type"] == "error"
        assert ask(f"{page}v1/models")[0] == 503
    lines = ["Starting the page.\n", "No model is named yet", "The page is at http:/"]
    assert [line[:21] for line in said] == lines, "and nothing else"


@pytest.mark.slow(reason="starts two processes, folds the sample story and loads the API")
def test_the_sample_story_is_put_in_once(tmp_path: Path) -> None:
    for _ in range(2):
        with opened(tmp_path / "stories.db", "--sample") as (page, _said):
            stories = json.loads(ask(f"{page}api/v1/stories")[1])["stories"]
            assert [story["story"] for story in stories] == ["harbour"]
            assert stories[0]["memories"] > 20
            server = json.loads(ask(f"{page}api/v1/server")[1])
            assert (server["proxy"], server["upstream"], server["model"]) == (None, None, None)


@pytest.mark.slow(reason="starts a process and loads the API")
def test_a_model_that_is_named_is_behind_the_proxy_too(tale: Cli) -> None:
    with opened(tale.db, "--endpoint", "http://127.0.0.1:9/v1", "--model", "small") as (page, said):
        server = json.loads(ask(f"{page}api/v1/server")[1])
        assert (server["model"], server["proxy"]) == ("small", f"{page}v1")
        assert server["endpoint"] == "http://127.0.0.1:9/v1"
    assert any(f"{page}v1" in line for line in said)


def test_a_story_that_is_not_there_is_a_sentence(tale: Cli) -> None:
    ran = tale("open", "no-such-story", "--no-browser")
    assert ran.code == 2
    sentence(ran.err)
    assert "no-such-story" in ran.err


def test_a_model_needs_an_endpoint(tale: Cli) -> None:
    ran = tale("open", "--model", "small", "--no-browser")
    assert ran.code == 2
    sentence(ran.err)


def test_without_the_extra_it_says_what_to_install(tale: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without_server(name: str, *rest: Any, **more: Any) -> Any:
        if name.startswith("previously.server"):
            raise ImportError(name)
        return real(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", without_server)
    ran = tale("open")
    assert ran.code == 2
    assert "pip install 'previously[server]'" in ran.err
