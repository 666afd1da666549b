"""Counters that know a model's tokenizer: exact where the estimate of `core.tokens` is near.

A counter is chosen by name: `cl100k` and `o200k` (OpenAI's, from the package `rs-bpe`, with their vocabularies), one of
OpenAI's models, the path of a `tokenizer.json` (read by the package `tokenizers`), or `estimate`. A package is loaded
only when a counter needs it, and nothing is ever fetched. A counter that cannot work is refused when it is chosen, not
when it counts. Special tokens in a text are text, since that is how a server must treat what a user typed.

Counters count the text alone. A chat template puts `MESSAGE_OVERHEAD_TOKENS` around it.
"""

from __future__ import annotations

import hashlib
import importlib
import re
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from previously.core.errors import BadInput
from previously.core.tokens import ESTIMATE, MESSAGE_OVERHEAD_TOKENS, Counter, cache_counts

_OPENAI = {"cl100k": "cl100k_base", "o200k": "o200k_base"}
"""Our names of OpenAI's vocabularies, and theirs."""

_DATED = r"(-(\d{4}|\d{4}-\d\d-\d\d))?"
_OF_MODELS = {
    "cl100k": rf"gpt-4(-32k|-turbo|-vision)?(-preview)?{_DATED}(-preview)?|gpt-3\.?5-turbo(-16k|-instruct)?{_DATED}"
    r"|text-embedding-(ada-002|3-small|3-large)",
    "o200k": r"(chatgpt-4o|gpt-(4o|4\.[15]|5(\.\d+)?))(-[a-z\d-]+)?|gpt-oss[-:]\d+b.*"
    rf"|o[134](-mini|-pro|-preview)?(-high|-low|-deep-research)?{_DATED}",
}
"""Models of OpenAI by vocabulary. Narrow, since many a local model is called something with "gpt-4" in it."""

KNOWN: Final = f"estimate, {', '.join(_OPENAI)}, a model of OpenAI's or the path of a tokenizer.json"
"""The names that may be given, for whoever has to mend one."""

LARGEST_BYTES = 256 * 1_048_576
"""Several times what the largest vocabularies in use take; something else went astray."""

_TRIAL = "A word, 雨, 🙂\n"
"""A tokenizer that stumbles over a character it does not know is of no use."""


class ExactCounter:
    """A counter with a tokenizer behind it. Texts are counted exactly; the chat template around them is a guess."""

    exact: Final = True
    message_overhead_tokens: Final = MESSAGE_OVERHEAD_TOKENS
    request_overhead_tokens: Final = 0

    def __init__(self, name: str, count: Callable[[str], int]) -> None:
        self.name: Final = name
        self._tokens = count
        self._count = cache_counts(self._counted)

    def __repr__(self) -> str:
        return f"Exact({self.name!r})"

    def tokens(self, text: str) -> int:
        return self._count(text)

    def _counted(self, text: str) -> int:
        try:
            text.encode()
        except UnicodeEncodeError:  # half a character: no server gets it either
            text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
        return max(1, self._tokens(text)) if text else 0  # a few tokenizers make nothing of spaces


def find_counter(name: str) -> Counter:
    """Return the counter that `tokenizer` in the settings names.

    A counter's own name serves as well, as far as it says how to count (`estimate-2 x1.083`, `o200k_base`).
    """
    wanted = name.strip()
    if wanted == "estimate":
        return ESTIMATE
    from previously.core.calibration import find_estimate

    if estimate := find_estimate(wanted):
        return estimate
    if is_path(wanted):
        return _load_file(_expand_home(wanted))
    if encoding := _find_encoding(wanted):
        return _load_openai(encoding)
    raise BadInput(f"tokenizer is {name[:80]!r}; it must be {KNOWN}.")


def is_known(name: str) -> bool:
    """Return whether `find_counter` knows the name, whatever may then be missing on this machine."""
    wanted = name.strip()
    if "\0" in wanted:
        return False
    if wanted == "estimate" or is_path(wanted) or _find_encoding(wanted):
        return True
    from previously.core.calibration import find_estimate  # the only names that need it

    return find_estimate(wanted) is not None


def is_path(name: str) -> bool:
    """Return whether the name is taken to be the path of a file."""
    return name.strip().endswith(".json")


def _find_encoding(name: str) -> str | None:
    plain = name.removesuffix("_base")
    return plain if plain in _OPENAI else find_encoding(name)


def find_encoding(model: str) -> str | None:
    """Return `cl100k` or `o200k` for a well-known model of OpenAI, whatever stands before its name; else None."""
    name = model.strip().lower().rpartition("/")[2]
    if name.startswith("ft:"):
        name = name.split(":")[1]
    return next((encoding for encoding, models in _OF_MODELS.items() if re.fullmatch(models, name)), None)


@lru_cache(maxsize=len(_OPENAI))
def _load_openai(encoding: str) -> ExactCounter:
    openai = _import_package("rs_bpe.bpe", f"Counting with {encoding}", "rs-bpe").openai
    tokenizer = getattr(openai, _OPENAI[encoding])()
    return ExactCounter(_OPENAI[encoding], tokenizer.count)


def _expand_home(text: str) -> Path:
    try:
        return Path(text).expanduser()
    except RuntimeError:  # nobody of that name, or no home
        return Path(text)


def _load_file(path: Path) -> ExactCounter:
    try:
        now = path.stat()
        if not path.is_file() or now.st_size > LARGEST_BYTES:
            raise BadInput(f"The tokenizer {str(path)[:200]!r} is no file, or larger than any vocabulary.")
        return _load_tokenizer(path, now.st_size, now.st_mtime_ns)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise BadInput(f"The tokenizer {str(path)[:200]!r} cannot be read: {reason}.") from None


@lru_cache(maxsize=4)
def _load_tokenizer(path: Path, _size: int, _changed: int) -> ExactCounter:
    """Return the counter of a file; read again only when the file has changed."""
    content = path.read_bytes()
    tokenizers = _import_package("tokenizers", "A tokenizer.json", "tokenizers")
    try:
        tokenizer = tokenizers.Tokenizer.from_buffer(content)
        # Some files ask for texts of one length; what counts is what is there.
        tokenizer.no_padding()
        tokenizer.no_truncation()
        tokenizer.encode_special_tokens = True
        tokenizer.encode(_TRIAL, add_special_tokens=False)
    except Exception as error:  # the package has no errors of its own
        raise BadInput(f"{path} is not a tokenizer.json: {' '.join(str(error).split())[:160]}") from None
    digest = hashlib.sha256(content).hexdigest()[:12]
    return ExactCounter(f"tokenizer:{digest}", lambda text: len(tokenizer.encode(text, add_special_tokens=False)))


def _import_package(module: str, what: str, package: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError:
        raise BadInput(f"{what} needs the package {package}: pip install 'previously[tokens]'.") from None
