"""Tokens of a text: what a counter is, and the estimate that needs no tokenizer.

The estimate weighs words, digits, signs and the letters of each script by what the usual tokenizers make of them, and
adds a margin where tokenizers differ: a view that is a little smaller than it could be is better than one the model's
server cuts. It is zero for the empty text and for no other, deterministic, and defined for any `str`; two texts
together never take more than both alone, nor less than one of them; and the time is linear in the text, with no loop
over characters in Python.

`COUNTER` names the rule, so that what was counted by it can be told from what another rule counted. A change of any
weight is a new rule.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from operator import mul
from string import ascii_letters, ascii_lowercase, ascii_uppercase, digits, punctuation
from typing import Final, Protocol

from previously.core.messages import Image, Message, Text, Thinking, ToolCall, ToolResult
from previously.core.recent_values import RecentValues

COUNTER: Final = "estimate-2"

MESSAGE_OVERHEAD_TOKENS = 4
"""Tokens that chat templates put around each message, where nothing better is known."""

IMAGE_TOKENS = 1_000
"""Between what the usual providers charge for a small and a large picture."""

CALL_OVERHEAD_TOKENS = 8
"""Tokens that chat templates put around a tool call."""

LONGEST_KNOWN = 10_000
"""Characters of a text whose count is kept for a while."""

LONGEST_WEIGHED = 50_000
"""Characters of a text whose weights are kept: all memory of a view is one text, of some 10,000 tokens at most, and is
counted several times."""

KNOWN_BYTES, WEIGHTS_BYTES = 32 * 1024 * 1024, 300
"""Bytes of texts whose weights are kept: those of the views of some hundred stories; and what the weights of one take
besides its words."""


class Counter(Protocol):
    """Whoever counts tokens. The same name always means the same counts, so a counter that has learned has another."""

    @property
    def name(self) -> str:
        """Return what counts, in which version: `estimate-2`, `estimate-2 x1.07`, `o200k_base`,
        `tokenizer:5f1c0a2b9d3e`."""

    @property
    def exact(self) -> bool:
        """Return whether a model's own tokenizer counts; else it is an estimate."""

    @property
    def message_overhead_tokens(self) -> int:
        """Return what the model's chat template puts around each message."""

    @property
    def request_overhead_tokens(self) -> int:
        """Return what every request takes besides its messages, as far as that is known."""

    def tokens(self, text: str) -> int:
        """Return the tokens of a text: zero for the empty one, at least one for any other, whatever `str` it is."""


def cache_counts(count: Callable[[str], int]) -> Callable[[str], int]:
    """`count` with a memory: a view counts the same texts again and again, turn after turn."""
    known = lru_cache(maxsize=1_024)(count)
    return lambda text: known(text) if len(text) <= LONGEST_KNOWN else count(text)


SCRIPTS: Final = ("latin", "digits", "signs", "alphabets", "indic", "cjk", "emoji")
"""Kinds of text that are weighed apart, so that it can be calibrated apart. `signs` are punctuation, lines, spaces and
whatever has no script; `alphabets` are those besides Latin; `indic` goes from India to Cambodia, Thai included."""

_LATIN, _DIGITS, _SIGNS, _ALPHABETS, _INDIC, _CJK, _EMOJI = range(len(SCRIPTS))

MARGINS: Final = (1.08, 1.25, 1.08, 1.3, 1.4, 1.25, 1.1)
"""Factors by which each of `SCRIPTS` may take more than is likely: about what the widespread older tokenizers make of
it."""

# All weights are thousandths of a token. A word is a run of ASCII letters; those of ordinary length are one token and
# a little, long ones, and many words of other languages than English, fall to pieces.
_WORD, _LETTER = 800, 55
_LETTER_OF_LONG_WORDS = 225  # not part of what is calibrated: a calibration finds out by itself
_CAPITAL = 150  # a name costs little more than a word, SHOUTING nearly twice as much
_DIGIT = 800  # many tokenizers give each digit a token of its own, some three at a time
_SIGN, _ROW_OF_SIGNS = 300, 450  # a sign alone is a token, and "):" or "==" is one as well
_LINE = 900  # and any other character that is not printed
_SPACE = 40  # the one before a word is part of its token, and many in a row are few tokens

_BLOCKS = (
    # Unicode in blocks of 256, by the upper byte of UTF-16: first, last, script, weight of a character
    (0x00, 0x00, _LATIN, 1_400),  # an accent breaks its word in pieces as well
    (0x01, 0x01, _LATIN, 2_000),
    (0x02, 0x02, _LATIN, 1_400),
    (0x03, 0x03, _ALPHABETS, 850),  # Greek
    (0x04, 0x04, _ALPHABETS, 450),  # Cyrillic
    (0x05, 0x05, _ALPHABETS, 950),  # Hebrew, Armenian
    (0x06, 0x06, _ALPHABETS, 730),  # Arabic
    (0x07, 0x08, _ALPHABETS, 1_300),
    (0x09, 0x09, _INDIC, 960),  # Devanagari, Bengali
    (0x0A, 0x0B, _INDIC, 1_180),
    (0x0C, 0x0D, _INDIC, 1_430),
    (0x0E, 0x0E, _INDIC, 790),  # Thai, Lao
    (0x0F, 0x0F, _INDIC, 1_430),
    (0x10, 0x10, _ALPHABETS, 1_650),  # Georgian, Burmese
    (0x11, 0x11, _CJK, 1_200),
    (0x12, 0x16, _ALPHABETS, 1_900),
    (0x17, 0x1D, _INDIC, 1_360),
    (0x1E, 0x1E, _LATIN, 500),  # Vietnamese, whose words are broken in pieces already
    (0x1F, 0x1F, _ALPHABETS, 1_150),
    (0x20, 0x20, _SIGNS, 750),  # quotation marks, dashes
    (0x21, 0x25, _SIGNS, 1_500),
    (0x26, 0x27, _EMOJI, 2_000),
    (0x30, 0x30, _CJK, 850),  # kana
    (0x31, 0x33, _CJK, 1_200),
    (0x34, 0x4D, _CJK, 2_000),
    (0x4E, 0x9F, _CJK, 1_150),  # ideographs in use
    (0xAC, 0xD7, _CJK, 1_150),  # hangul
    (0xD8, 0xDB, _EMOJI, 1_550),  # the first half of a character beyond 16 bits, mostly an emoji,
    (0xDC, 0xDF, _EMOJI, 900),  # and the second
    (0xE0, 0xF8, _SIGNS, 2_800),
    (0xF9, 0xFA, _CJK, 2_000),
    (0xFE, 0xFE, _EMOJI, 900),  # how an emoji is to be shown
    (0xFF, 0xFF, _CJK, 1_000),  # full width
)
_ELSEWHERE = (_SIGNS, 1_900)

_KINDS = (_ELSEWHERE, *((script, weight) for _, _, script, weight in _BLOCKS))
_ACCENTED = 1
"""The place of block 0 in `_KINDS`, which also holds ASCII."""

_KIND_OF_BLOCK = bytes(
    next((kind for kind, (first, last, *_) in enumerate(_BLOCKS, 1) if first <= block <= last), 0)
    for block in range(256)
)


def _make_filter(kept: str) -> bytes:
    """Return a table for `bytes.translate` that makes a space of everything else."""
    return bytes(byte if chr(byte) in kept else ord(" ") for byte in range(256))


_LETTERS_ONLY, _SIGNS_ONLY = _make_filter(ascii_letters), _make_filter(punctuation)
_LOWER_CASE, _UPPER_CASE, _TEN_DIGITS = (kind.encode() for kind in (ascii_lowercase, ascii_uppercase, digits))
_LINE_BREAKS = bytes(range(ord(" "))) + b"\x7f"


def weigh(text: str) -> tuple[int, ...]:
    """Return what each of `SCRIPTS` takes in a text, in thousandths of a token, as far as words are English."""
    return _weigh_text(text)[0]


def _weigh_text(text: str) -> tuple[tuple[int, ...], int]:
    """Return what `weigh` tells, and what long words may take besides. Every counter that estimates asks for the same
    weights, and a calibration that has learnt is another counter: what a text weighs stays."""
    size = len(text)
    if size > LONGEST_WEIGHED:
        return _measure_weights(text)
    size += WEIGHTS_BYTES
    weighed = _known_weights.get(text, size)
    if weighed is None:
        weighed = _measure_weights(text)
        _known_weights.keep(text, weighed, size)
    return weighed


def _measure_weights(text: str) -> tuple[tuple[int, ...], int]:
    plain = text.encode("ascii", "ignore")
    # Each step takes one kind of character away; what is missing afterwards was of that kind.
    beyond_lower = plain.translate(None, _LOWER_CASE)
    beyond_letters = beyond_lower.translate(None, _UPPER_CASE)
    beyond_spaces = beyond_letters.translate(None, b" ")
    beyond_digits = beyond_spaces.translate(None, _TEN_DIGITS)
    signs = len(beyond_digits.translate(None, _LINE_BREAKS))
    letters = len(plain) - len(beyond_letters)
    capitals = len(beyond_lower) - len(beyond_letters)
    weights = [0] * len(SCRIPTS)
    weights[_DIGITS] = _DIGIT * (len(beyond_spaces) - len(beyond_digits))
    weights[_SIGNS] = (
        _SIGN * signs
        + _ROW_OF_SIGNS * len(plain.translate(_SIGNS_ONLY).split())
        + _LINE * (len(beyond_digits) - signs)
        + _SPACE * (len(beyond_letters) - len(beyond_spaces))
    )
    if len(plain) < len(text):
        _weigh_beyond_ascii(text, len(plain), weights)
        plain = text.encode("ascii", "replace")  # "für" is broken in pieces, as it is by most tokenizers
    words = len(plain.translate(_LETTERS_ONLY).split())
    in_words = _WORD * words + _LETTER * letters
    weights[_LATIN] += in_words + _CAPITAL * capitals
    return tuple(weights), max(0, _LETTER_OF_LONG_WORDS * letters - in_words)


_known_weights = RecentValues[str, tuple[tuple[int, ...], int]](KNOWN_BYTES)


def _weigh_beyond_ascii(text: str, ascii_characters: int, weights: list[int]) -> None:
    kinds = text.encode("utf-16-le", "surrogatepass")[1::2].translate(_KIND_OF_BLOCK)
    for kind in set(kinds):
        script, weight = _KINDS[kind]
        weights[script] += weight * (kinds.count(kind) - (ascii_characters if kind == _ACCENTED else 0))


_PER_CENT = tuple(round(100 * margin) for margin in MARGINS)


def _with_margin(text: str) -> int:
    weights, in_long_words = _weigh_text(text)
    total = sum(map(mul, weights, _PER_CENT)) + in_long_words * _PER_CENT[_LATIN]
    return max(1, -(-total // 100_000)) if text else 0


class Estimate:
    """The counter that needs no tokenizer: what is likely, and a margin."""

    name: Final = COUNTER
    exact: Final = False
    message_overhead_tokens: Final = MESSAGE_OVERHEAD_TOKENS
    request_overhead_tokens: Final = 0

    def __init__(self) -> None:
        self._count = cache_counts(_with_margin)

    def tokens(self, text: str) -> int:
        """Return the tokens of a text by estimate, rounded up."""
        return self._count(text)


ESTIMATE: Final = Estimate()
"""The counter where no other is chosen."""


def estimate_tokens(text: str) -> int:
    """Return the tokens of a text as the default counter counts them."""
    return ESTIMATE.tokens(text)


def list_texts(message: Message) -> tuple[list[str], int]:
    """Return the texts of a message that cost tokens in a view, and the tokens it takes besides them and its
    template's.

    Thinking is never shown, so it costs nothing.
    """
    texts: list[str] = []
    fixed = 0
    if message.speaker:
        texts.append(message.speaker)
        fixed += 1
    for part in message.parts:
        match part:
            case Text(text) | ToolResult(_, text):
                texts.append(text)
            case Thinking():
                pass
            case ToolCall(call_id, name, arguments):
                texts += (call_id, name, arguments)
                fixed += CALL_OVERHEAD_TOKENS
            case Image():
                fixed += IMAGE_TOKENS
            case _:
                texts.append(part.text)
    return texts, fixed


def message_tokens(message: Message, counter: Counter = ESTIMATE) -> int:
    """Return what the message costs in a view."""
    if len(message.parts) == 1 and type(message.parts[0]) is Text and not message.speaker:
        return counter.message_overhead_tokens + counter.tokens(message.parts[0].text)
    texts, fixed = list_texts(message)
    return counter.message_overhead_tokens + fixed + sum(map(counter.tokens, texts))
