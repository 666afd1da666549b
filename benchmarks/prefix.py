"""How much of a prompt is byte for byte that of the turn before, so that a server need not compute it again.

    python -m benchmarks.prefix [--turns 1000] [--budget 8000] [--llama 50] [--json]

A generated story, turns of at most 200 tokens; after each user message a view is asked for, after each answer all that
is due is folded (by the built-in writer). Counted are the tokens before the first byte that differs from the prompt of
the turn before, as a share of all tokens outside volatile memory; the mean over all turns.

* **ours**: the view, recall left out.
* **ours, volatile 600**: the view with recalled passages of up to 600 tokens in the newest user message.
* **usual**: the usual way: a summary that is rewritten every 10 turns and lore of 600 tokens, which changes with every
  turn, on top; below, as many of the newest messages as fit, so that the window slides with each turn.
* **usual, no lore**: the same without lore.

`--llama N` sends the last N prompts of *ours* to llama.cpp in this process and reports what it says itself of tokens
taken from its cache (the package `xllamacpp` and SmolLM2 are needed).
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random
from statistics import fmean
from typing import Any

from previously import BlockingMemory, Message, Settings, message
from previously.core.messages import Text
from previously.core.tokens import ESTIMATE, message_tokens
from previously.demo.long_story import generate_story
from previously.text.compare import find_common_front

MOST_IN_A_TURN = 200
VOLATILE = 600
SUMMARY_EVERY = 10
SUMMARY_TOKENS = 530
"""What a summary of 400 words takes."""

SYSTEM = (
    "You are the narrator of a long story about a harbour town. Write in the past tense, in the third person, two or "
    "three paragraphs at a time, and never speak for the reader's own character. "
) * 3


def turns(number: int, seed: int = 7) -> Iterator[tuple[Message, Message]]:
    """User messages and answers, each as close to half of 200 tokens as whole words allow."""
    told = generate_story(1_000_000, seed)
    for _ in range(number):
        yield _message("user", told), _message("assistant", told)


def _message(role: str, told: Iterator[dict[str, object]]) -> Message:
    name, words = "", list[str]()
    while len(words) < MOST_IN_A_TURN:
        line = next(told)
        name = name or str(line.get("name") or "")
        words += str(line["content"]).split()
    while message_tokens(made := message(role, " ".join(words), speaker=name or None)) > MOST_IN_A_TURN // 2:
        words.pop()
    return made


def same_front(before: Sequence[Message], now: Sequence[Message]) -> int:
    """The tokens of a prompt before the first byte that differs from the one before."""
    total = 0
    for one, other in zip(before, now, strict=False):
        if one == other:
            total += message_tokens(other)
            continue
        if (one.role, one.speaker) == (other.role, other.speaker):
            total += ESTIMATE.tokens(find_common_front(one.text, other.text))
        break
    return total


class Measured:
    """The shares of one method."""

    def __init__(self) -> None:
        self.before: Sequence[Message] = ()
        self.shares: list[float] = []
        self.tokens: list[int] = []
        self.volatile: list[int] = []

    def add(self, prompt: Sequence[Message], volatile: int = 0) -> None:
        tokens = sum(message_tokens(one) for one in prompt)
        if self.before:
            self.shares.append(same_front(self.before, prompt) / max(1, tokens - volatile))
            self.tokens.append(tokens)
            self.volatile.append(volatile)
        self.before = prompt

    def figures(self) -> dict[str, Any]:
        return {
            "unchanged_percent": round(100 * fmean(self.shares), 1),
            "mean_tokens": round(fmean(self.tokens)),
            "mean_volatile_tokens": round(fmean(self.volatile)),
        }


def ours(number: int, budget: int, *, recall: bool, prompts: list[Sequence[Message]] | None = None) -> dict[str, Any]:
    """Our views. The report's own count of what is unchanged is given beside the one by bytes."""
    measured, epochs, reported = Measured(), 0, []
    settings = Settings(window_tokens=budget, answer_tokens=0, recall_percent=100 * VOLATILE // budget if recall else 0)
    with tempfile.TemporaryDirectory() as folder, BlockingMemory(Path(folder) / "s.db", settings=settings) as memory:
        story = memory.story("tale")
        story.add("system", SYSTEM)
        for user, answer in turns(number):
            story.add("user", user.text, name=user.speaker)
            view = story.view(budget)
            report = view.report
            measured.add(view.messages, report.volatile_tokens)
            epochs += bool(report.epoch)
            if report.unchanged_share is not None:
                reported.append(report.unchanged_share)
            if prompts is not None:
                prompts.append(view.messages)
            story.add("assistant", answer.text, name=answer.speaker)
            story.fold()
    found = measured.figures()
    return {**found, "epochs": epochs, "reported_percent": round(100 * fmean(reported), 1)}


def usual(number: int, budget: int, *, lore: bool) -> dict[str, Any]:
    """A summary, and lore if asked for, on top; the window slides."""
    measured, told = Measured(), list[Message]()
    random = Random(1)
    words = "harbour lamp quay lock mill snuffbox ledger candlestick bell widow".split()
    summary = ""
    for at, (user, answer) in enumerate(turns(number)):
        told.append(user)
        if at % SUMMARY_EVERY == 0:
            summary = " ".join(random.choices(words, k=int(SUMMARY_TOKENS * 0.75)))
        fired = " ".join(random.choices(words, k=int(VOLATILE * 0.75))) if lore else ""
        system = message("system", "\n\n".join(text for text in (SYSTEM, summary, fired) if text))
        room = budget - message_tokens(system)
        window: list[Message] = []
        for one in reversed(told):
            room -= message_tokens(one)
            if room < 0:
                break
            window.insert(0, one)
        measured.add([system, *window], ESTIMATE.tokens(fired))
        told.append(answer)
    return measured.figures()


def llama(prompts: Sequence[Sequence[Message]]) -> dict[str, Any] | None:
    """What llama.cpp says of its own cache for these prompts, one after the other; None where it is not installed."""
    from previously.models.local import LocalModel, find_smollm2

    found = find_smollm2()
    if found is None:
        return None
    import httpx

    local = LocalModel(found, window_tokens=10_000)
    server, address = local._serve("key")
    prompt_tokens = cached_tokens = 0
    with httpx.Client(timeout=3_600, headers={"Authorization": "Bearer key"}) as client:
        for number, prompt in enumerate(prompts):
            lines = [{"role": one.role.value, "content": _plain(one)} for one in prompt]
            body = {"messages": lines, "max_tokens": 1, "temperature": 0, "cache_prompt": True}
            reply = client.post(f"{address}/v1/chat/completions", json=body).raise_for_status().json()
            timings = reply["timings"]
            if number:  # before the first there is nothing to be taken from a cache
                prompt_tokens += timings["prompt_n"] + timings["cache_n"]
                cached_tokens += timings["cache_n"]
    del server
    return {
        "turns": len(prompts) - 1,
        "prompt_tokens": prompt_tokens,
        "cached_tokens": cached_tokens,
        "cached_percent": round(100 * cached_tokens / prompt_tokens, 1),
    }


def _plain(one: Message) -> str:
    text = "\n\n".join(part.text for part in one.parts if isinstance(part, Text))
    return f"{one.speaker}: {text}" if one.speaker else text


def main() -> None:
    """Measure every method and print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.prefix", description=__doc__.splitlines()[0])
    parser.add_argument("--turns", type=int, default=1_000)
    parser.add_argument("--budget", type=int, default=8_000)
    parser.add_argument("--llama", type=int, default=0, metavar="N", help="ask llama.cpp about the last N prompts")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    asked = parser.parse_args()
    prompts: list[Sequence[Message]] = []
    methods = {
        "ours": ours(asked.turns, asked.budget, recall=False, prompts=prompts),
        "ours, volatile 600": ours(asked.turns, asked.budget, recall=True),
        "usual": usual(asked.turns, asked.budget, lore=True),
        "usual, no lore": usual(asked.turns, asked.budget, lore=False),
    }
    result = {"turns": asked.turns, "budget_tokens": asked.budget, "methods": methods}
    if asked.llama:
        result["llama_cpp"] = llama(prompts[-asked.llama - 1 :])
    if asked.json:
        print(json.dumps(result))
        return
    print(f"{asked.turns:,} turns of at most {MOST_IN_A_TURN} tokens, budget {asked.budget:,}")
    print(f"{'':>20} {'unchanged %':>12} {'mean tokens':>12} {'volatile':>9} {'epochs':>7}")
    for name, row in methods.items():
        print(
            f"{name:>20} {row['unchanged_percent']:>12} {row['mean_tokens']:>12,} {row['mean_volatile_tokens']:>9,} "
            f"{row.get('epochs', ''):>7}"
        )
    if asked.llama:
        print("llama.cpp:", result["llama_cpp"])


if __name__ == "__main__":
    main()
