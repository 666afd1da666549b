"""The brief without a model: what an agent's conversation comes to, by rules.

It quotes the user and the agent, and tells deeds from calls and their results. Nothing stands in it that was not said
or done. An earlier brief is updated: what still holds stays, what was settled since is told as done, and what is known
again is not told twice. It is deterministic and linear, and holds no secret.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from previously.core.messages import Message
from previously.core.patterns import lazy_pattern
from previously.folds.builtin.agent_log import (
    AgentDeed,
    CommandRun,
    CommandRuns,
    Files,
    TodoList,
    find_newest_plan,
    list_files,
    list_runs,
    read_deeds,
    render_command,
)
from previously.folds.builtin.shell import Act, find_command_key, find_reported_errors
from previously.folds.builtin.statements import (
    Claims,
    Request,
    find_asked,
    find_goal,
    find_links,
    find_named_files,
    find_rules,
    find_said_before,
    is_slight,
    read_claims,
    read_requests,
)
from previously.folds.conversation.secrets import redact
from previously.folds.conversation.sections import (
    EARLIER_REQUEST,
    NAMES,
    NEWEST_REQUEST,
    REMARK,
    REPORTED,
    Brief,
    is_failure,
    render_failure,
)
from previously.text.words import find_words

MOST = {"constraints": 40, "done": 40, "decisions": 24, "next_steps": 15, "context": 24, "blocked": 8}
"""Items of a section, at most; the newest stay."""

LAST_STEP = "Last step: "
RAN = "Ran "
_FAILS, _PASSES = "fails: ", "no error"
_MOST_REQUESTS = 6
MOST_REMARKS = 24
_BACKTICKED = lazy_pattern(r"`([^`\n]{1,400})`")


@dataclass(frozen=True, slots=True)
class _Read:
    """All that was read of the new messages."""

    requests: list[Request]
    deeds: list[AgentDeed]
    claims: Claims
    plan: TodoList
    files: Files
    attempts: CommandRuns
    reverted: list[tuple[AgentDeed, str, str]]
    """Changes that were taken back: by which deed, of which file, and what the agent had said."""


def write_brief(messages: Sequence[Message], earlier: Brief | None = None) -> Brief:
    """The brief of these messages, going on from an earlier one."""
    before = earlier or Brief()
    deeds = read_deeds(messages)
    read = _Read(
        [one for one in read_requests(messages, goes_on=not before.is_empty) if not is_slight(one.text)],
        deeds,
        read_claims(messages),
        find_newest_plan(deeds),
        list_files(deeds),
        list_runs(deeds),
        [
            (deed, touch.path, find_said_before(messages, deed.at))
            for deed in deeds
            for touch in deed.touches
            if touch.act is Act.REVERTED
        ],
    )
    failing = read.attempts.failing()
    open_now = [one for one in failing if _is_open(one, read.deeds)]
    goal = _goal(before, read.requests)
    rules = [rule for one in read.requests for rule in find_rules(one.text) if not _leads(rule, goal)]
    brief = Brief(
        goal=goal,
        constraints=_most("constraints", _union(before.constraints, rules)),
        done=_most("done", _done(before, read)),
        in_progress=_in_progress(before, read, open_now),
        blocked=_most("blocked", _blocked(before, read, open_now)),
        decisions=_most(
            "decisions", _decisions(before, read, [one for one in failing if not _is_open(one, read.deeds)])
        ),
        next_steps=_most("next_steps", _next_steps(before, read)),
        context=_context(before, read),
        files=list_told_files(before.files, read.files, [one.text for one in read.requests]),
    )
    return redact_brief(brief)


def redact_brief(brief: Brief) -> Brief:
    names = Brief.__slots__
    return Brief(**{name: tuple(redact(one) for one in getattr(brief, name)) for name in names})


def _most(name: str, items: Sequence[str]) -> tuple[str, ...]:
    return tuple(items[-MOST[name] :])


def _union(earlier: Iterable[str], new: Iterable[str]) -> list[str]:
    """Both, without saying again what an item says already."""
    items = list(dict.fromkeys(earlier))
    known = {_key(item) for item in items}
    for item in new:
        key = _key(item)
        if key and key not in known:
            known.add(key)
            items.append(item)
    return items


def _key(item: str) -> str:
    return " ".join(find_words(item.casefold()))


def _goal(before: Brief, requests: Sequence[Request]) -> tuple[str, ...]:
    """The first request, and the newest where it is another."""
    first = [find_goal(one.text) for one in requests[:1]]
    kept = [one for one in before.goal if not one.startswith(NEWEST_REQUEST)] or first
    newest = find_asked(requests[-1].text) if requests else ""
    if newest and newest not in kept and (before.goal or len(requests) > 1):
        return (*kept, f"{NEWEST_REQUEST}{newest}")
    return (*kept, *(one for one in before.goal if one.startswith(NEWEST_REQUEST) and not requests))


def _leads(rule: str, goal: Iterable[str]) -> bool:
    """Return whether a goal begins with this rule: then it is the goal."""
    return any(one.removeprefix(NEWEST_REQUEST).startswith(rule.rstrip(".!")) for one in goal)


def _done(before: Brief, read: _Read) -> list[str]:
    finished = [*before.done, *(one for one in before.in_progress if _key(one) in set(map(_key, read.plan.done)))]
    worked = [f"{RAN}{_outcome(one)}" for one in read.attempts.went_well() if one.serious]
    finished = [one for one in finished if not (one.startswith(RAN) and _tried_since(one, read.attempts))]
    return _union(finished, [*read.plan.done, *read.claims.finished, *worked])


def _tried_since(item: str, attempts: CommandRuns, *, well: bool = False) -> bool:
    """Return whether the command that an item tells of was run again since: then the item is out of date."""
    for command in _BACKTICKED.findall(item):
        key = find_command_key(command)
        tried = attempts.of.get(key) or attempts.of.get(key[:1]) if key else None
        if tried is not None and not (well and tried.failed):
            return True
    return False


def _outcome(run: CommandRun) -> str:
    result = f": {run.result[:160]}" if run.result and not run.failed else ""
    return f"{run.what}: {_PASSES}{result}{f' (before: {run.before})' if run.before else ''}"


def _in_progress(before: Brief, read: _Read, open_now: Sequence[CommandRun]) -> tuple[str, ...]:
    """Return what is under way by the agent's list, or else the last thing it did and meant to do."""
    now: list[str] = list(read.plan.doing)
    if read.deeds and not now:
        step = _last_step(read.deeds[-1])
        result = next((one.result for one in open_now if one.result and step.endswith(f": {one.result}")), "")
        now.append(step.removesuffix(f": {result}") if result else step)  # it is told as what is blocked
    if read.claims.intends and not read.plan.doing:
        now.append(read.claims.intends)
    if now:
        return tuple(now)
    return before.in_progress


def _last_step(deed: AgentDeed) -> str:
    what = f"`{render_command(deed.command)}`" if deed.command else f"`{render_command(f'{deed.tool} {deed.raw}')}`"
    if deed.touches and not deed.command:
        what = f"{deed.tool} of {deed.touches[0].path}"
    if deed.output is None and deed.arguments:  # the answer to a command that was typed may stand behind the brief
        return f"{LAST_STEP}{what}, no result yet"
    return f"{LAST_STEP}{what}: {deed.error}" if deed.failed and deed.error else f"{LAST_STEP}{what}"


_RECENT = 6


def _is_open(run: CommandRun, deeds: Sequence[AgentDeed]) -> bool:
    """Return whether a failure is still to be dealt with: a check that fails, or what failed just now."""
    return run.serious or run.at >= len(deeds) - _RECENT


def _blocked(before: Brief, read: _Read, open_now: Sequence[CommandRun]) -> list[str]:
    kept = [one for one in before.blocked if not _tried_since(one, read.attempts)]
    if read.requests:
        kept = [one for one in kept if not one.endswith("?")]  # the user has answered since
    return _union(kept, [*(f"{one.what} {_FAILS}{one.result or 'no output'}" for one in open_now), *read.claims.stuck])


def _decisions(before: Brief, read: _Read, given_up: Sequence[CommandRun]) -> list[str]:
    taken_back = [
        f"{why} (changes to {path}, taken back by `{render_command(deed.command)}`)"
        if why
        else f"changes to {path}, taken back by `{render_command(deed.command)}`"
        for deed, path, why in read.reverted
    ]
    failures = [
        *(render_failure(f"{one.what}: {one.result}" if one.result else one.what) for one in given_up),
        *map(render_failure, taken_back),
        *(render_failure(one) for one in read.claims.gave_up if not any(one in told for told in taken_back)),
    ]
    kept = [one for one in before.decisions if not is_failure(one)]
    failed = [one for one in before.decisions if is_failure(one) and not _tried_since(one, read.attempts, well=True)]
    half = MOST["decisions"] // 2
    return [*_union(kept, read.claims.decided)[-half:], *_union(failed, failures)[-half:]]


def _next_steps(before: Brief, read: _Read) -> list[str]:
    if not read.plan.is_empty:
        return list(read.plan.to_do)
    if read.claims.next_steps:
        return read.claims.next_steps
    finished = {_key(one) for one in (*read.claims.finished, *read.plan.done)}
    return [one for one in before.next_steps if _key(one) not in finished]


def _asked_earlier(before: Brief, requests: Sequence[Request]) -> list[str]:
    """Return what was asked before the newest request, and is not the goal: also what was the newest till now."""
    if not requests:
        return []
    goal = " ".join(_goal(before, requests))
    newest = [one.removeprefix(NEWEST_REQUEST) for one in before.goal if one.startswith(NEWEST_REQUEST)]
    since = [find_asked(one.text) for one in requests[:-1] if find_goal(one.text) not in goal][-_MOST_REQUESTS:]
    return [one for one in (*newest, *since) if one not in goal]


def _context(before: Brief, read: _Read) -> tuple[str, ...]:
    kept = [item for item in before.context if not item.startswith(NAMES)]  # they are put in again where there is room
    kept = [item for item in kept if not (_FAILS in item and _tried_since(item, read.attempts))]
    asked = [f"{EARLIER_REQUEST}{one}" for one in _asked_earlier(before, read.requests)]
    reported = [f"{REPORTED}{error}" for one in read.requests for error in find_reported_errors(one.text)[:4]]
    goal = " ".join(_goal(before, read.requests))
    links = [link for one in read.requests for link in find_links(one.text)[:4] if link not in goal]
    told_now = _union(
        [one for one in kept if not one.startswith(REMARK)], [*asked, *reported, *links, *read.claims.causes]
    )
    known = " ".join([*told_now, *(why for _, _, why in read.reverted)])
    remarks = [one for one in kept if one.startswith(REMARK)]
    remarks = _union(remarks, [f"{REMARK}{one}" for one in read.claims.remarks if one not in known])
    return (*_most("context", told_now), *remarks[-MOST_REMARKS:])


MOST_FILES = 80
NAMED = "named by the user"
_MOST_NAMED = 10
"""Files that one request may name."""

ONLY_READ = f": {Act.READ.value}"
_ACTS = frozenset(act.value for act in Act)


def list_certain_files(earlier: Iterable[str], deeds: Sequence[AgentDeed]) -> tuple[str, ...]:
    """The files that calls touched, each with what was done to it; of an earlier brief those that say nothing else."""
    certain = [item for item in earlier if all(act in _ACTS for act in split_file(item)[1].split(", "))]
    return list_told_files(certain, list_files(deeds), ())


def list_told_files(earlier: Iterable[str], touched: Files, requests: Iterable[str]) -> tuple[str, ...]:
    """The files of an earlier brief, those touched since, and those that requests name."""
    files = _Told()
    for item in earlier:
        files.put(*split_file(item))
    for path, deeds in touched.told():
        files.put(path, deeds)
    for request in requests:
        for path in find_named_files(request)[:_MOST_NAMED]:
            files.put(path, NAMED)
    items = [f"{path}: {why}" if why else path for path, why in files.why.items()]
    room = MOST_FILES - sum(not one.endswith(ONLY_READ) for one in items)
    only_read = [one for one in items if one.endswith(ONLY_READ)]
    dropped = set(only_read[: max(0, len(only_read) - max(0, room))])
    return tuple([one for one in items if one not in dropped][-MOST_FILES:])


def split_file(item: str) -> tuple[str, str]:
    """The path of an item of the files, and why it matters."""
    ticked = _BACKTICKED.match(item)
    if ticked:
        return ticked[1], item[ticked.end() :].lstrip(" :–—-")
    for sign in (": ", " – ", " — ", " - ", " ("):
        path, parted, why = item.partition(sign)
        if parted and " " not in path:
            return path.strip("*"), why.rstrip(")") if sign == " (" else why
    return item, ""


class _Told:
    """Files with why they matter, each under its longest path."""

    def __init__(self) -> None:
        self.why: dict[str, str] = {}
        self._by_name: dict[str, str] = {}

    def put(self, path: str, why: str) -> None:
        """A file, once more or for the first time. What is told anew comes last."""
        name = path.rsplit("/", 1)[-1]
        known = path if path in self.why else self._by_name.get(name, "")
        if known and (known == path or known.endswith(f"/{path}") or path.endswith(f"/{known}")):
            if why == NAMED:
                return
            why = _why(self.why.pop(known), why)
            path = max(path, known, key=len)
        self.why[path] = why
        self._by_name[name] = path


def _why(why: str, deeds: str) -> str:
    """Return why a file matters, with what was done to it since."""
    if not why or why in (Act.READ.value, NAMED):
        return deeds
    said = set(find_words(why.lower()))
    new = [act for act in deeds.split(", ") if act not in said and act != Act.READ.value]
    return f"{why}; {', '.join(new)}" if new else why
