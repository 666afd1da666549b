"""What the user wants: the goal, the rules, and what was reported, in the user's own words.

Owns which messages are a person's requests and which words make a rule. What must stay true: rules are quoted, never
reworded; what a client or a shell put in a user's message is nobody's request; a report of what happens is no rule;
linear in the text.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from previously.core.messages import Message, Role
from previously.core.scripts import count_words
from previously.folds.briefs.attached import said_by_user
from previously.folds.builtin.agents.deeds import is_observation
from previously.text.sentences import join_lines, split_sentences

LONGEST_GOAL = 360
LONGEST_RULE = 280
MOST_RULES = 14
"""Of one request: a template of rules is not to fill the brief."""

_READ = 24_000
"""Characters of one request that are looked at."""


@dataclass(frozen=True, slots=True)
class Request:
    """What a person asked for, and where."""

    at: int
    text: str


_PROMPT = re.compile(r"\n\(Open file: [^\n]*\)|\n\(Current directory: [^\n]*\)|\nbash-\$[ \t]*$")
_FENCE = re.compile(r"```[^`]*(?:```|\Z)|^(?: {4}|\t)[^\n]*\n?", re.M)
_TAG = re.compile(r"^[ \t]*</?[a-z][\w\-]{0,40}>[ \t]*$", re.M | re.I)
_SLIGHT = re.compile(
    r"(?:yes|yep|ok(?:ay)?|sure|thanks?(?: you)?|great|good|perfect|nice|go(?: on| ahead)?|continue|proceed|do it|"
    r"please|"
    r"ja|danke|weiter|gut|oui|merci|sí|si|gracias|sim|obrigado|да|спасибо|hi|hello|hey|hallo|bonjour|hola)"
    r"(?:[ ,.!]+(?:please|thanks?|continue|go ahead|there|do it|ahead|bitte))*[ .!]*",
    re.I,
)
_MARKED = re.compile(
    r"^[ \t]*(?:ISSUE|TASK|GOAL|PROBLEM|REQUEST|OBJECTIVE|AUFGABE)[ \t]*:[ \t]*$|^[ \t]*<(?:pr_description|issue|"
    r"task|"
    r"problem_statement|request|objective|user_query)>[ \t]*$",
    re.M,
)
_MARK_ENDS = re.compile(r"^[ \t]*(?:INSTRUCTIONS?|IMPORTANT[\w ]{0,20}|TIPS|NOTES?)[ \t]*:|^[ \t]*</\w", re.M)
_HEADING = re.compile(r"#{1,6} .{1,80}|\*\*[^*]{1,80}\*\*:?|__[^_]{1,80}__:?|[A-Z ]{4,40}:")
_GREETING = re.compile(r"(?:hi|hello|hey|hallo|dear)\b[^.!?\n]{0,30}[.!,]?", re.I)


def requests_in(messages: Sequence[Message]) -> list[Request]:
    """What the user wrote, without what clients and shells put there."""
    found: list[Request] = []
    answered = False
    for at, message in enumerate(messages):
        if message.role is not Role.USER:
            answered = answered or message.role is Role.ASSISTANT
            continue
        text = said_by_user(message)
        if answered and is_observation(text):
            continue  # a shell speaks, after the agent did
        text = _PROMPT.sub("", text).strip()
        if text:
            found.append(Request(at, text[:_READ]))
    return found


def is_slight(text: str) -> bool:
    """Whether a message only nods, greets or thanks."""
    return len(text) < 60 and bool(_SLIGHT.fullmatch(text.strip()))


def asked_in(text: str) -> str:
    """A request in one line: as it is where that is short, or else what it is about."""
    line = " ".join(text.split())
    return line if len(line) <= LONGEST_GOAL else goal_of(text)


def goal_of(text: str) -> str:
    """What is asked for, in one line: the first sentences of the request, rules told apart left out."""
    marked = _MARKED.search(text)
    body = text[marked.end() :] if marked else text
    ends = _MARK_ENDS.search(body) if marked else None
    body = _TAG.sub("", _FENCE.sub("\n", body[: ends.start()] if ends else body))
    kept: list[str] = []
    length = 0
    for one in split_sentences(join_lines(body)):
        sentence = " ".join(one.split())
        if _GREETING.fullmatch(sentence) or is_slight(sentence) or not any(map(str.isalnum, sentence)):
            continue
        if kept and (_HEADING.fullmatch(sentence) or _is_rule(sentence)):
            continue
        if kept and length + len(sentence) > LONGEST_GOAL:
            break
        kept.append(sentence if sentence[-1] in ".!?:…。！？" else f"{sentence}.")
        length += len(kept[-1]) + 1
    line = " ".join(kept) or " ".join(text.split())
    line = f"{line[:-1]}…" if line.endswith(":") else line
    return line if len(line) <= LONGEST_GOAL else f"{line[: LONGEST_GOAL - 1].rstrip()}…"


_ANYWHERE = re.compile(
    r"\b(?:must(?:n['’]?t)?|never|always|do not|don['’]?t|make sure|ensure|required|requirement|forbidden|"
    r"not allowed|"
    r"only (?:use|change|edit|touch|when|if|the|in|one)|cannot use|can['’]t use|no (?:new|more|other|external) |"
    r"without |"
    r"instead of|rather than|should(?:n['’]t)? (?:not|be|use|have|never|always|only|stay|keep|support|return|work)|"
    r"(?:has|have|needs?) to (?:be|stay|remain|go|keep|use|work|support|review\w*|approve\w*|pass)|off[ -]limits|"
    r"hands off|prefer(?:ably)?|"
    r"important|at most|at least|i want|i['’]d like|i need|let['’]s (?:use|go with|keep|not)|go with|"
    r"leave .{1,60} (?:alone|as (?:it|they)|untouched)|backwards?[ -]compatib)"
    r"|\b(?:muss|müssen|darf nicht|dürfen nicht|niemals|nie|immer|bitte (?:nicht|kein\w*|nur)|nicht (?:ändern|"
    r"anfassen|"
    r"verwenden|löschen)|verwende\w*|benutze\w*|nutze|vermeide\w*|achte auf|lieber|soll(?:te|en|st)?|ohne)\b"
    r"|\b(?:toujours|jamais|doit|doivent|n['’]utilise\w*|utilise\w*|évite\w*|préfère|sans)\b"
    r"|\b(?:nunca|siempre|debe|deben|no (?:uses|toques|cambies)|usa|utiliza|evita|prefiero|sin)\b"
    r"|\b(?:sempre|deve|devem|não (?:use|mude|toque)|evite|prefiro|sem)\b"
    r"|\b(?:никогда|всегда|нельзя|должен|должна|должно|должны|используй\w*|не (?:трогай|меняй|используй)\w*|без)\b"
    r"|必须|不要|不能|禁止|务必|应该|请用|只能|必ず|ないで|してはいけ|禁止|べき|使ってください",
    re.I,
)
_AT_THE_START = re.compile(
    r"[\s\-*•\d.)#>]*(?:please |also |and |but |remember[:,]? ?(?:to |that )?|note[:,]? |btw,? )?"
    r"(?:use|keep|avoid|follow|stick|write|put|name|call|run|add tests|target|support|treat|respect|leave|no )\b",
    re.I,
)
_NO_RULE = re.compile(
    r"\b(?:i|we|they|it|he|she|that|this|which|who|users?|you|there)\s+(?:really |just |also |still |probably )?"
    r"(?:don['’]?t|do not|doesn['’]t|never|always|only)\b(?! (?:use|change|touch|edit|add|want|commit|push|delete|"
    r"remove|break))",
    re.I,
)


def rules_in(text: str) -> list[str]:
    """The sentences of a request that say how something is to be done or not done, word for word."""
    found: list[str] = []
    for sentence in split_sentences(join_lines(_TAG.sub("", _FENCE.sub("\n", text)))):
        line = " ".join(sentence.split())
        if _is_rule(line):
            found.append(line if len(line) <= LONGEST_RULE else f"{line[: LONGEST_RULE - 1].rstrip()}…")
        if len(found) >= MOST_RULES:
            break
    return list(dict.fromkeys(found))


def _is_rule(line: str) -> bool:
    if not 2 <= count_words(line) <= 60 or len(line) > 2 * LONGEST_RULE or line.endswith(("?", "？", ":")):
        return False
    return bool(_AT_THE_START.match(line) or _ANYWHERE.search(_NO_RULE.sub(" ", line)))


_URL = re.compile(r"https?://[^\s<>\"'`)\]]{4,200}")


def links_in(text: str) -> list[str]:
    """The addresses a user gave, each once."""
    return list(dict.fromkeys(one.rstrip(".,;:") for one in _URL.findall(text)))


_EXAMPLE = re.compile(r"(?:such as|e\.g\.|for example) (\S{1,120})", re.I)
_FILE = re.compile(
    r"(?<![\w/.@:\-])(?:[\w.\-~@+]{0,80}/){0,20}[\w.\-@+]{1,80}\.(?:py|pyi|ipynb|js|mjs|cjs|jsx|ts|"
    r"tsx|vue|svelte|"
    r"md|rst|txt|json|jsonl|ya?ml|toml|ini|cfg|conf|env|lock|html?|css|scss|c|h|cc|cpp|hpp|cs|rs|go|java|kt|swift|"
    r"rb|php|pl|"
    r"sh|bash|ps1|bat|sql|proto|graphql|xml|csv|tsv|svg|png|jpe?g|gif|pdf|log|diff|patch|tf|gradle|lua|dart|ex|"
    r"exs|zig)\b(?![\w/(])"
)


def files_named_in(text: str) -> list[str]:
    """The files a user named outside of pasted code and addresses, each once."""
    bare = _URL.sub(" ", _FENCE.sub("\n", text))
    examples = {one.strip("`'\",.:;)") for one in _EXAMPLE.findall(bare)}
    return [one for one in dict.fromkeys(_FILE.findall(bare)) if one not in examples]
