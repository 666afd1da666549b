"""What must hold of every run of an agent behind the proxy. Each function returns a sentence for each breach."""

from __future__ import annotations

import re
from collections.abc import Iterator

from previously.testing.bodies import INTERFACES
from tests.clients.agent_model import Seen, count_body, messages_of, texts_of, user_texts
from tests.clients.agent_run import AgentRun
from tests.clients.agent_work import TALK_1, TALK_2, TASK_2
from tests.clients.tap import Sent
from tests.clients.workplace import RULES

LEAST_USED = 0.7
"""The part of the window that a full conversation must fill: below, the client pays for room that nobody uses."""

_REQUESTS = (*TALK_1, *TALK_2)
_DECIDED = ("lengths are whole millimetres in a constant", "the third part stays in metres")
_ENVIRONMENT = re.compile(r"^ *(?:- Primary working directory:|Working directory:|<cwd>).*$", re.M)
_FILES = ("I have *added these files to the chat*", "Here are summaries of some files present in my git")
_ATTACHED = re.compile(r"\n*<recalled(?: \w+)?>.*?</recalled(?: \w+)?>\n*", re.S)
"""Passages that the proxy adds under a tag of its own, which says that nobody said them now."""


def keep_the_window(run: AgentRun) -> list[str]:
    """Nothing over the window reaches the upstream: it would have to be refused and sent again."""
    return [f"{seen.tokens} tokens were sent" for seen in run.seen if seen.tokens > _window(run)]


def use_the_window(run: AgentRun) -> list[str]:
    """Once the client's list is larger than the window, what is sent fills most of it."""
    shares = [
        (number, seen.tokens / _window(run))
        for number, (sent, seen) in enumerate(run.pairs())
        if count_body(sent.body) > _window(run)
    ]
    assert shares, "the window never was full"
    return [f"request {number} uses {share:.0%}" for number, share in shares if share < LEAST_USED]


def leave_alone_what_fits(run: AgentRun) -> list[str]:
    """A list that leaves much of the window free goes through with every message and every word of it."""
    return [
        f"request {number} of {tokens} tokens: {len(messages_of(seen.body))} of {len(messages_of(sent.body))} messages"
        f" and {seen.tokens} tokens"
        for number, (sent, seen) in enumerate(run.pairs())
        for tokens in [count_body(sent.body)]
        if tokens <= LEAST_USED * _window(run)
        and (len(messages_of(seen.body)) < len(messages_of(sent.body)) or seen.tokens < tokens)
    ]


def keep_pairs_whole(run: AgentRun) -> list[str]:
    """Each call has its result, each result its call."""
    return [fault for seen in run.seen for fault in seen.faults if "call" in fault or "tool" in fault]


def keep_to_the_interface(run: AgentRun) -> list[str]:
    """The official API takes what the proxy has made; what the client itself sent is the client's affair."""
    breaches: list[str] = []
    for number, (sent, seen) in enumerate(run.pairs()):
        own = {_without_numbers(fault) for fault in INTERFACES[seen.path.partition("?")[0]].faults(sent.body)}
        breaches += [f"request {number}: {fault}" for fault in seen.faults if _without_numbers(fault) not in own]
    return breaches


def keep_the_newest_request(run: AgentRun) -> list[str]:
    """The newest request of the user is there byte for byte."""
    return [
        f"request {number} misses {request[:60]!r}"
        for number, (sent, seen) in enumerate(run.pairs())
        for request in [newest_request(sent)]
        if not any(request in text for text in user_texts(seen.body))
    ]


def keep_the_rules(run: AgentRun) -> list[str]:
    """The rules of the project are there byte for byte."""
    return [
        f"request {number} has no rules"
        for number, (sent, seen) in enumerate(run.pairs())
        if RULES.strip() in _whole_text(sent) and RULES.strip() not in _whole_text(seen)
    ]


def keep_the_environment(run: AgentRun) -> list[str]:
    """What the client tells of folder, platform and date is there line for line."""
    return [
        f"request {number} misses {line!r}"
        for number, (sent, seen) in enumerate(run.pairs())
        for line in _ENVIRONMENT.findall(_whole_text(sent))
        if line not in _whole_text(seen)
    ]


def keep_the_files(run: AgentRun) -> list[str]:
    """Files that a client shows with every request are there byte for byte."""
    return [
        f"request {number} misses the files of {text[:60]!r}"
        for number, (sent, seen) in enumerate(run.pairs())
        for text in user_texts(sent.body)
        if text.startswith(_FILES) and text not in user_texts(seen.body)
    ]


def know_the_decisions(run: AgentRun) -> list[str]:
    """In the second task the decisions of the first are known. A chat has no brief: without a model it is told by
    quotations of its messages, one sentence of each, so one decision must be among them."""
    needed = len(_DECIDED) if "agent" in run.stories.values() else 1
    return [
        f"request {number} knows {known}"
        for number, seen in _second_task(run)
        for known in [[decided for decided in _DECIDED if decided in _whole_text(seen)]]
        if len(known) < needed
    ]


def know_the_decisions_in_summaries(run: AgentRun) -> list[str]:
    """A client that asks for a summary of its own gets one of all that it sent, however much was left out."""
    breaches: list[str] = []
    for sent, event in zip(run.events, run.events[1:], strict=False):
        if isinstance(sent, Sent) and isinstance(event, Seen) and event.kind == "summary":
            whole, left = _whole_text(sent), _whole_text(event)
            missing = [decided for decided in _DECIDED if decided in whole and decided not in left]
            breaches += [f"{event.tokens} of {count_body(sent.body)} tokens, without: {decided}" for decided in missing]
    return breaches


def send_what_was_asked(run: AgentRun) -> list[str]:
    """A request for a summary that fits goes through with nothing added: it says itself what to summarise."""
    sizes = [
        (count_body(sent.body), event.tokens)
        for sent, event in zip(run.events, run.events[1:], strict=False)
        if isinstance(sent, Sent) and isinstance(event, Seen) and event.kind == "summary"
    ]
    assert sizes, "the client asked for no summary"
    return [f"{sent} tokens became {seen}" for sent, seen in sizes if sent <= LEAST_USED * _window(run) and seen > sent]


def say_nothing_in_the_users_name(run: AgentRun) -> list[str]:
    """Whatever stands in the user's name, the client has put there."""
    breaches: list[str] = []
    for number, (sent, seen) in enumerate(run.pairs()):
        own = {_ATTACHED.sub("", text).strip() for text in user_texts(sent.body)}
        joined = "\n".join(own)
        for text in user_texts(seen.body):
            plain = _ATTACHED.sub("", text).strip()
            if plain not in own and plain not in joined:
                breaches.append(f"request {number}: {plain[:80]!r}")
    return breaches


def degrade_nothing(run: AgentRun) -> list[str]:
    """No answer says that memory was left out, and no proxy warns."""
    heads = [head.decode("latin-1").lower() for head in run.heads]
    told = [match[1] for head in heads if (match := re.search(r"x-previously-memory: ([^\r\n]*)", head))]
    assert told, "no answer tells of memory"
    warnings = [line for log in run.logs for line in log.splitlines() if " warning " in line]
    return [state for state in told if state == "degraded"] + warnings


def keep_one_story(run: AgentRun) -> list[str]:
    """One conversation is one story: titles and messages for commits become none."""
    return [f"the story {name!r}" for name in list(run.stories)[1:]]


def name_the_story(run: AgentRun) -> list[str]:
    """A person recognises the story by its name: by the project or by the task, not by a time or an id."""
    return [name for name in run.stories if not re.search(r"quay|project|metres|Task one", name)]


def choose_the_preset(run: AgentRun) -> list[str]:
    """A conversation with calls of tools, or with files to be changed, has the preset for agents; one that only could
    call some has not."""
    *_, (sent, _) = run.pairs()
    calls = any(text.startswith(_FILES) for text in user_texts(sent.body)) or any(
        message.get("tool_calls") or message.get("type") == "function_call" or "tool_use" in str(message.get("content"))
        for message in messages_of(sent.body)
    )
    preset = next(iter(run.stories.values()), "")
    return [f"the preset is {preset!r}"] if calls != (preset == "agent") else []


def newest_request(sent: Sent) -> str:
    """The text of the client in which the newest request of a person stands."""
    for text in reversed(user_texts(sent.body)):
        if any(request in text for request in _REQUESTS):
            return text
    raise AssertionError("the client sent no request of ours")


def _without_numbers(fault: str) -> str:
    return re.sub(r"\d+", "#", fault)


def _window(run: AgentRun) -> int:
    assert run.window is not None, "directly there is no window to keep"
    return run.window


def _second_task(run: AgentRun) -> Iterator[tuple[int, Seen]]:
    for number, (sent, seen) in enumerate(run.pairs()):
        if any(TASK_2 in text for text in user_texts(sent.body)):
            yield number, seen


def _whole_text(request: Sent | Seen) -> str:
    heads = [request.body.get("system"), request.body.get("instructions")]
    return "\n".join(text for item in [*heads, *messages_of(request.body)] for text in texts_of(item))


PROMISES = (
    keep_the_window,
    use_the_window,
    leave_alone_what_fits,
    keep_pairs_whole,
    keep_to_the_interface,
    keep_the_newest_request,
    keep_the_rules,
    keep_the_environment,
    keep_the_files,
    know_the_decisions,
    say_nothing_in_the_users_name,
    degrade_nothing,
    keep_one_story,
    name_the_story,
    choose_the_preset,
)
