"""Servers whose reports are odd, to see what a calibration makes of them.

Each `Server` counts with a real tokenizer and puts its own number of tokens around each message; some of its reports
are wrong. Judged is always by what it truly takes. Servers are told apart by one oddity each, so that a figure says
what that one costs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from previously.core.calibration import FEWEST_SAMPLES, calibrate, make_counter, make_sample
from previously.core.messages import Message
from previously.core.tokens import Counter, message_tokens

Request = Sequence[Message]
Told = tuple[Sequence[Request], Sequence[Request]]
"""The requests to learn from, and those to be judged by."""

TEMPLATE_TOKENS, ANSWER_TOKENS = 5, 3
"""What ChatML puts around each message, and before the answer. Not what the estimate assumes: it has to be learned."""


@dataclass(frozen=True, slots=True)
class Server:
    """One that counts right, and may report something else."""

    template_tokens: int = TEMPLATE_TOKENS
    report: Callable[[int, int], int] = lambda _, tokens: tokens
    """What it says of which request (counted from 0), given what that truly takes."""

    def takes(self, request: Request, tokenizer: Counter) -> int:
        """The prompt tokens of a request."""
        return sum(tokenizer.tokens(one.text) + self.template_tokens for one in request) + ANSWER_TOKENS


SERVERS: Mapping[str, Server] = {
    "nothing odd": Server(),
    "12 tokens per message": Server(template_tokens=12),
    "2,000 too many in one of five": Server(report=lambda number, tokens: tokens + 2_000 * (number == 2)),
    "a fifth left out of one of five": Server(report=lambda number, tokens: tokens * (4 if number == 2 else 5) // 5),
    "a fifth left out of two of five": Server(report=lambda number, tokens: tokens * (4 if number % 2 else 5) // 5),
}


def counted(request: Request, counter: Counter) -> int:
    """What a counter makes of a request."""
    return sum(message_tokens(one, counter) for one in request) + counter.request_overhead_tokens


def learned(requests: Sequence[Request], tokenizer: Counter, server: Server) -> Counter:
    """The counter after five reports."""
    reports = [server.report(number, server.takes(one, tokenizer)) for number, one in enumerate(requests)]
    samples = [make_sample(one, said) for one, said in zip(requests, reports, strict=True)]
    return make_counter(calibrate(sample for sample in samples[:FEWEST_SAMPLES] if sample is not None))


def miss_after_odd_reports(told: Iterable[Told], tokenizers: Iterable[Counter], server: Server) -> float:
    """How far a calibrated counter is off on average, in per cent, without sign."""
    chosen = list(tokenizers)
    misses = []
    for first, later in told:
        for tokenizer in chosen:
            counter = learned(first, tokenizer, server)
            misses += [abs(counted(one, counter) / server.takes(one, tokenizer) - 1) for one in later]
    return round(100 * fmean(misses), 2)
