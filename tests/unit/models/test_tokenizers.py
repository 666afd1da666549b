"""Exact counters: the right one for a name, exact, offline, and a clear sentence where there is none."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.token_texts import LANGUAGES, paragraphs
from previously.core.errors import BadInput
from previously.core.messages import message
from previously.core.tokens import ESTIMATE, MESSAGE_OVERHEAD_TOKENS, message_tokens
from previously.models import tokenizers as ours
from previously.models.tokenizers import find_counter, find_encoding, is_known
from tests.effort import mark_slow

pytest.importorskip("rs_bpe", reason="the extra `tokens` is not installed")
reference = pytest.importorskip("tokenizers", reason="the extra `tokens` is not installed")


@pytest.fixture(autouse=True)
def forgotten() -> Iterator[None]:
    """No test sees what another one loaded."""
    yield
    ours._load_openai.cache_clear()
    ours._load_tokenizer.cache_clear()


@pytest.fixture(scope="module")
def trained() -> Any:
    """A small tokenizer of bytes, with a special token and a wish for texts of eight tokens."""
    made = reference.Tokenizer(reference.models.BPE())
    made.pre_tokenizer = reference.pre_tokenizers.ByteLevel(add_prefix_space=False)
    alphabet = reference.pre_tokenizers.ByteLevel.alphabet()
    trainer = reference.trainers.BpeTrainer(
        vocab_size=900, special_tokens=["<|end|>"], initial_alphabet=alphabet, show_progress=False
    )
    made.train_from_iterator(paragraphs("english"), trainer)
    return made


@pytest.fixture
def file(trained: Any, tmp_path: Path) -> Path:
    path = tmp_path / "tokenizer.json"
    content = json.loads(trained.to_str())
    content["truncation"] = {"direction": "Right", "max_length": 8, "strategy": "LongestFirst", "stride": 0}
    content["padding"] = {
        "strategy": {"Fixed": 8},
        "direction": "Right",
        "pad_to_multiple_of": None,
        "pad_id": 0,
        "pad_type_id": 0,
        "pad_token": "<|end|>",
    }
    path.write_text(json.dumps(content), "utf-8")
    return path


@pytest.mark.parametrize(
    ("name", "text", "tokens"),
    [
        ("cl100k", "hello world", 2),
        ("cl100k", "rain falls here!", 4),
        ("cl100k", "1234567890", 4),
        ("cl100k", "<|endoftext|>", 7),
        ("cl100k", "<|im_start|>", 6),
        ("o200k", "hello world", 2),
        ("o200k", "雨が降る", 4),
        ("o200k", "<|endoftext|>", 7),
        ("cl100k", "", 0),
        ("o200k", "", 0),
    ],
)
def test_vocabularies_of_openai_count_as_theirs_do(name: str, text: str, tokens: int) -> None:
    assert find_counter(name).tokens(text) == tokens


def test_names_say_what_counts_and_in_which_version(file: Path) -> None:
    assert (
        find_counter("cl100k").name == find_counter("cl100k_base").name == find_counter("gpt-4").name == "cl100k_base"
    )
    assert find_counter(" o200k ").name == find_counter("openai/gpt-4o-mini").name == "o200k_base"
    assert find_counter("cl100k").exact and not find_counter("estimate").exact
    assert find_counter("estimate") is find_counter(ESTIMATE.name) is ESTIMATE
    assert find_counter("estimate-2 x1.05 m6").name == "estimate-2 x1.05 m6"
    named = find_counter(str(file)).name
    kind, _, rest = named.partition(":")
    assert (kind, len(rest)) == ("tokenizer", 12)


def test_a_file_counts_as_its_own_library_does(file: Path, trained: Any) -> None:
    counter = find_counter(str(file))
    for language in LANGUAGES:
        for text in paragraphs(language):
            assert counter.tokens(text) == len(trained.encode(text).ids)


def test_a_file_is_known_by_what_it_holds(file: Path, tmp_path: Path) -> None:
    first = find_counter(str(file))
    assert find_counter(str(file)) is first
    copy = tmp_path / "copy.json"
    copy.write_bytes(file.read_bytes())
    assert find_counter(str(copy)).name == first.name
    copy.write_text(json.dumps(json.loads(copy.read_text("utf-8"))) + "\n", "utf-8")
    assert find_counter(str(copy)).name != first.name


def test_special_tokens_in_a_text_are_text(file: Path, trained: Any) -> None:
    assert len(trained.encode("<|end|>").ids) == 1
    assert find_counter(str(file)).tokens("<|end|>") > 1
    assert find_counter(str(file)).tokens("x" * 100) > 8  # neither cut nor padded
    assert find_counter(str(file)).tokens("x") == 1


@given(st.text(st.characters(), max_size=60))
def test_any_text_has_a_count(text: str) -> None:
    for name in ("cl100k", "o200k"):
        tokens = find_counter(name).tokens(text)
        assert (tokens > 0) == bool(text)
        assert tokens <= 4 * len(text)
        assert find_counter(name).tokens(text) == tokens


def test_half_a_character_is_counted_as_what_a_server_gets(file: Path) -> None:
    for name in ("cl100k", "o200k", str(file)):
        count = find_counter(name).tokens
        assert count("a\ud800b") == count("a\ufffdb")
        assert count("\ud83d\ude00") == count("😀")


def test_a_tokenizer_that_makes_nothing_of_spaces_still_gives_one(tmp_path: Path) -> None:
    made = reference.Tokenizer(reference.models.WordLevel({"[UNK]": 0, "rain": 1}, unk_token="[UNK]"))
    made.pre_tokenizer = reference.pre_tokenizers.Whitespace()
    path = tmp_path / "words.json"
    path.write_text(made.to_str(), "utf-8")
    counter = find_counter(str(path))
    assert [counter.tokens(text) for text in ("rain rain", "snow", "  ", "")] == [2, 1, 1, 0]


def test_a_message_is_counted_exactly_when_the_counter_is_exact() -> None:
    assert message_tokens(message("user", "hello world"), find_counter("cl100k")) == MESSAGE_OVERHEAD_TOKENS + 2


@pytest.mark.parametrize("name", ["gpt2", "", "estimate-1", "cl100k-2", "estimate-2 x99", "o200k_harmony"])
def test_an_unknown_name_is_refused_with_those_that_exist(name: str) -> None:
    with pytest.raises(BadInput, match=r"it must be estimate, cl100k, o200k, a model of OpenAI's or the path"):
        find_counter(name)
    assert not is_known(name)


@pytest.mark.parametrize(
    "name",
    [
        "missing.json",
        "no/such/folder/tokenizer.json",
        "~nobody-of-that-name/x.json",
        "nul\0.json",
        "x" * 5_000 + ".json",
    ],
)
def test_a_file_that_is_not_there_is_named(name: str) -> None:
    with pytest.raises(BadInput, match="cannot be read"):
        find_counter(name)


@pytest.mark.parametrize(
    "content",
    [b"", b"{}", b"[]", b"\xff\xfe", b'{"model": {}}', b'{"version": "1.0", "model": {"type": "BPE"}}', b"# notes"],
)
def test_a_file_that_is_no_tokenizer_is_refused(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    path.write_bytes(content)
    with pytest.raises(BadInput, match=r"settings\.json is not a tokenizer\.json"):
        find_counter(str(path))


def test_what_is_no_file_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, file: Path) -> None:
    folder = tmp_path / "folder.json"
    folder.mkdir()
    with pytest.raises(BadInput, match="is no file, or larger"):
        find_counter(str(folder))
    monkeypatch.setattr(ours, "LARGEST_BYTES", 10)
    with pytest.raises(BadInput, match="is no file, or larger"):
        find_counter(str(file))


@pytest.mark.parametrize(
    "text",
    [
        "a",
        "rain falls here! ",
        "雨が降る。",
        *mark_slow("ha", " ", "\n", "👩🏽\u200d🚀", "<|endoftext|>", "\ud800", reason="half a second each"),
    ],
)
def test_a_megabyte_does_not_take_quadratic_time(text: str, file: Path) -> None:
    for name in ("cl100k", "o200k", str(file)):
        counter = find_counter(name)
        small, large = (text * (size // len(text)) for size in (30_000, 480_000))
        assert _seconds(counter.tokens, large) < 16 * 5 * _seconds(counter.tokens, small) + 0.2, name


def _seconds(count: Callable[[str], int], text: str) -> float:
    started = time.process_time()
    assert count(text) > 0
    return time.process_time() - started


def test_a_tokenizer_that_stumbles_is_refused_when_it_is_chosen(tmp_path: Path) -> None:
    path = tmp_path / "stumbling.json"
    path.write_text(reference.Tokenizer(reference.models.WordLevel({"rain": 0}, unk_token="[UNK]")).to_str(), "utf-8")
    with pytest.raises(BadInput, match=r"not a tokenizer\.json"):
        find_counter(str(path))


@pytest.mark.parametrize(
    ("name", "package", "module"), [("cl100k", "rs-bpe", "rs_bpe.bpe"), ("tokenizer.json", "tokenizers", "tokenizers")]
)
def test_a_missing_extra_is_named(
    name: str, package: str, module: str, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(file.parent)
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(BadInput, match=rf"needs the package {package}: pip install 'previously\[tokens\]'"):
        find_counter(name)


@pytest.mark.parametrize(
    ("model", "encoding"),
    [
        ("gpt-4", "cl100k"),
        ("gpt-4-0613", "cl100k"),
        ("gpt-4-turbo-2024-04-09", "cl100k"),
        ("gpt-4-1106-preview", "cl100k"),
        ("GPT-3.5-turbo-16k", "cl100k"),
        ("gpt-35-turbo", "cl100k"),
        ("text-embedding-3-small", "cl100k"),
        ("gpt-4o", "o200k"),
        ("gpt-4o-mini-2024-07-18", "o200k"),
        ("openai/gpt-4.1-nano", "o200k"),
        ("chatgpt-4o-latest", "o200k"),
        ("gpt-5.1-codex", "o200k"),
        ("o1", "o200k"),
        ("o3-mini-high", "o200k"),
        ("gpt-oss:20b", "o200k"),
        ("ft:gpt-4o-mini-2024-07-18:harbour::9f3a", "o200k"),
        ("gpt-4-x-alpaca-13b", None),
        ("gpt4all", None),
        ("gpt2", None),
        ("o1-open-something", None),
        ("mistral-nemo", None),
        ("ft:", None),
        ("any", None),
        ("", None),
    ],
)
def test_models_of_openai_are_known_by_name(model: str, encoding: str | None) -> None:
    assert find_encoding(model) == encoding
    assert is_known(model) == bool(encoding)


def test_nothing_is_fetched(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a connection was opened")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    for name in ("cl100k", "o200k", str(file)):
        assert find_counter(name).tokens("hello world") > 0


def test_packages_are_loaded_only_when_they_are_needed() -> None:
    code = (
        "import sys; from previously.models.tokenizers import find_counter; find_counter('estimate').tokens('rain');"
        "print(sorted({'rs_bpe', 'tokenizers', 'huggingface_hub'} & set(sys.modules)));"
        "find_counter('cl100k').tokens('rain'); print(sorted({'tokenizers', 'huggingface_hub'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split("\n")[:2] == ["[]", "[]"]
    assert done.stderr == ""
