"""Statements in an agent's conversation: requests of the user, and claims of the agent about its own work.

Here are the phrases in which agents say that they finished, decided, found out or gave up something, and in which users
ask and set rules. Sentences are quoted, never reworded; an intention is no deed. Reading is linear in the text.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from previously.core.messages import Message, Role
from previously.core.patterns import lazy_pattern
from previously.core.scripts import count_words
from previously.folds.conversation.pins import find_requests, read_user_words
from previously.text.cuts import clip
from previously.text.sentences import join_lines, split_sentences

LONGEST_CLAIM = 280
_NEAR = 4
"""The number of messages back in which words still belong to a deed: a call and its result, twice."""

_WHOLE = 5
"""Words from which on a sentence says what it speaks of."""

_TELLING = 8
"""Words from which on a statement of no known sort is worth keeping."""
_READ = 12_000

_FENCE = lazy_pattern(r"```[^`]*(?:```|\Z)")
_HEADS = lazy_pattern(r"^\s*(?:#{1,6}\s+|\*\*[^*\n]{1,60}\*\*:?\s*$)")
_OPENING = lazy_pattern(
    r"\A(?:(?:great|perfect|excellent|good|ok(?:ay)?|alright|done|wonderful|nice|ah|hmm|oh no|gut|super)[!.,:]+\s+|"
    r"now,\s+|so,\s+)+",
    re.I,
)
_BULLET = lazy_pattern(r"^[\s\-*•\d.)>]+(?=\S)")

_FINISHED = lazy_pattern(
    r"(?:I(?:['’]ve| have)|we(?:['’]ve| have)) (?:now |successfully |also |just )*(?!not |to |been asked|a |no |"
    r"the |found|located|looked|seen|noticed|reviewed|read |learned|identified)\w+|"
    r"(?:I |we )?successfully \w+|"
    r"(?:the|all|both|this|that|these|it|everything|`[^`]{1,80}`)\b.{0,120}?\b(?:(?:has|have) (?:now |"
    r"successfully |also )?been "
    r"(?:\w+ly )?\w+(?:ed|en|t)|(?:is|are) now \w+|now (?:works?|pass(?:es)?|returns?|handles?)|(?:has|is|"
    r"are) (?:fixed|resolved|complete|done)|"
    r"tests? (?:now )?pass(?:ed|es)?|(?:ran|completed|succeeded|passed|built) (?:successfully|without|cleanly))|"
    r"(?:fixed|added|implemented|created|updated|removed|renamed|refactored|replaced|moved|rewrote|wrote|changed|"
    r"committed|installed|"
    r"migrated|configured|verified)\b (?!by you)|"
    r"ich habe .{1,160}(?:t|en)\.?$|.{1,120} (?:wurde|wurden|ist jetzt|sind jetzt) \w+|j['’]ai \w+|he \w+ado|"
    r"se ha \w+|eu \w+ei|"
    r"(?:я )?(?:исправил|добавил|создал|удалил|обновил|реализовал)\w*|已(?:经)?(?:修复|添加|完成|更新|创建|删除|实现)",
    re.I,
)
_NOT_YET = lazy_pattern(
    r"\b(?:let me|let['’]s|i['’]ll|i will|we['’]ll|we should|i should|need to|going to|if|once|when|unless|would|"
    r"could|might)\b|"
    r"haven['’]t|hasn['’]t|not been|(?:is|are|was|were) not\b",
    re.I,
)
_DECIDED = lazy_pattern(
    r"\b(?:I|we)(?:['’]ll| will) (?:use|go with|keep|stick (?:to|with)|take|switch to|base|rely|leave|store|avoid)\b|"
    r"\b(?:I|we)?(?:['’]ve| have)? ?(?:decided|chose|chosen|opted|settled) (?:to|on|for|against)\b|"
    r"\blet['’]s (?:use|go with|keep|stick)\b(?! (?:the )?`?\w+`?(?: command| tool)? to (?:see|find|locate|look|"
    r"check|search|open|view|list|run))|"
    r"\bgoing with\b|^(?:decision|decided)\b[:,]|\b(?:picked|picking|opting for|settling on)\b|"
    r"\bthe (?:best|right|cleanest|simplest|safest|correct|proper) (?:approach|way|fix|option|"
    r"choice|solution|place)\b|"
    r"\b(?:instead of|rather than)\b|\bto fix (?:this|the|that|it)\b.{0,80}\b(?:should|need|must|will)\b|"
    r"\bthe fix is (?:to|simple|straightforward)\b|"
    r"\b(?:verwende|benutze|entscheide|entschieden|statt)\b|\b(?:au lieu de|décidé|en lugar de|decidido|em vez de|"
    r"invece di|вместо|решил)\b|"
    r"决定|改用|代わりに",
    re.I,
)
_LOOKS_FIRST = lazy_pattern(
    r"(?:first,? |now,? |next,? )?(?:let me|let['’]s|i['’]ll|i will|i need to|i['’]m going to) (?:\w+ )?(?:look|check|"
    r"see|read|open|run|search|find|list|view|try|start|begin|explore|examine|inspect|locate)\b",
    re.I,
)
_CAUSE = lazy_pattern(
    r"\broot cause\b|\bthe (?:issue|problem|bug|error|failure|culprit|cause)\b.{0,60}\b(?:is|was|comes|stems|"
    r"occurs|lies|seems)\b|"
    r"\bcaused by\b|\bturns out\b|"
    r"\bthe reason\b|\bdie ursache\b|\bliegt an\b|\ble problème (?:est|vient)\b|\bel problema (?:es|está)\b|"
    r"\bпричина\b|原因是|原因は",
    re.I,
)
_NO_CAUSE = lazy_pattern(
    r"\b(?:let me|let['’]s|i['’]ll|next step|will (?:attempt|try)|now that|in the edit|(?:is|are|has been|"
    r"have been) (?:now )?"
    r"(?:fixed|resolved|solved))\b",
    re.I,
)
_GAVE_UP = lazy_pattern(
    r"\b(?:didn['’]t|did not|doesn['’]t|does not|won['’]t) (?:work|help|fix|solve|resolve|compile)\b|"
    r"\b(?:approach|attempt|fix|change|patch|solution|workaround) (?:failed|fails|broke|breaks|is wrong|was wrong|"
    r"caused)\b|"
    r"\b(?:is|are) (?:out\b[,;:.]|not an option|no option|off the table)|\b(?:ruled|rules) out\b|"
    r"\b(?:revert(?:ing|ed)?|roll(?:ing|ed)? back|undo(?:ing)?) (?:the|this|that|my|those|it)\b|\bdead end\b|"
    r"\b(?:hat nicht (?:funktioniert|geholfen)|funktioniert nicht|n['’]a pas (?:marché|fonctionné)|no funcionó|"
    r"não funcionou|"
    r"не (?:сработал|помог)\w*)|没有(?:用|效果)|うまくいかな",
    re.I,
)
_NEXT = lazy_pattern(
    r"(?:next(?: up)?[,:]|next,? (?:i|we|let)|(?:the )?next steps?\b|remaining[: ]|still (?:need|to do|missing|"
    r"open)|todo[: ]|"
    r"(?:i|we) (?:still )?need to\b|after that|als nächstes|noch (?:zu tun|offen)|ensuite|a continuación|"
    r"em seguida|далее|接下来|次に)",
    re.I,
)
_INTENDS = lazy_pattern(
    r"\b(?:let me|let['’]s|i['’]ll|i will|i['’]m going to|i am going to|we['’]ll|now i|we can now|we should now|"
    r"lass mich|ich werde|je vais|voy a|vou)\b|"
    r"让我|我来|ましょう",
    re.I,
)
_STUCK = lazy_pattern(
    r"\b(?:blocked (?:by|on|until)|i(?:['’]m| am) (?:blocked|stuck|waiting)|waiting for (?:you|your|the user)|"
    r"cannot proceed|can['’]t proceed|"
    r"need(?:s)? your (?:input|decision|approval|permission|help)|please (?:provide|confirm|tell me|let me know))\b|"
    r"\b(?:bitte (?:bestätige|teile mir)|warte auf)\b",
    re.I,
)


@dataclass(slots=True)
class Claims:
    """Sentences of the agent by what they say, the oldest first."""

    finished: list[str] = field(default_factory=list)
    decided: list[str] = field(default_factory=list)
    causes: list[str] = field(default_factory=list)
    gave_up: list[str] = field(default_factory=list)
    next_steps: list[str] = field(default_factory=list)
    """Of the newest message that names any."""
    intends: str = ""
    """The intention that it stated last."""
    stuck: list[str] = field(default_factory=list)
    """The things it waits for, of its newest message."""
    remarks: list[str] = field(default_factory=list)
    """Its other statements: nobody knows all the words in which a decision can be told."""


def read_claims(messages: Sequence[Message]) -> Claims:
    """Return what the agent says of its work."""
    claims = Claims()
    for message in messages:
        if message.role is Role.USER and message.text.strip():
            claims.next_steps, claims.stuck = [], []  # what was open was answered
        if message.role is not Role.ASSISTANT:
            continue
        text = message.text
        if text.strip():
            claims.intends = ""
            _read(text[:_READ], claims)
    return claims


def find_said_before(messages: Sequence[Message], at: int) -> str:
    """Return what the agent said last before this message, or in it, no person in between, what it means to do left
    out."""
    for message in reversed(messages[max(0, at - _NEAR) : at + 1]):
        if message.role is Role.USER:
            return ""
        if message.role is Role.ASSISTANT and message.text.strip():
            sentences = split_sentences(join_lines(_FENCE.sub("\n", message.text[:_READ])))
            own = " ".join(" ".join(one.split()) for one in sentences if not _INTENDS.search(one))
            return clip(own.strip(), LONGEST_CLAIM)
    return ""


def _read(text: str, claims: Claims) -> None:
    steps: list[str] = []
    stuck: list[str] = []
    listing = False
    gave_up = ""
    sentences = [line for one in split_sentences(join_lines(_FENCE.sub("\n", text))) if (line := " ".join(one.split()))]
    for line in sentences:
        head = bool(_HEADS.match(line)) or line.endswith(":")
        bare = _OPENING.sub("", _BULLET.sub("", line), count=1) if not head else line
        if listing and not head and _BULLET.match(line):
            steps.append(bare)
            continue
        listing = head and bool(_NEXT.search(line[:80]))
        words = len(bare.split())
        if words < _WHOLE and not head and _GAVE_UP.search(bare):  # the next sentence says what it was, and why
            gave_up = bare
            continue
        if gave_up and not head:
            claims.gave_up.append(clip(f"{gave_up} {bare}", LONGEST_CLAIM))
            gave_up = ""
            continue
        if head or words > 70 or (words < 3 and bare.isascii()) or len(bare) > 3 * LONGEST_CLAIM:
            continue
        bare = clip(bare, LONGEST_CLAIM)
        if _sorted_out(bare, claims):
            continue
        if _NEXT.match(bare) and not bare.endswith("?"):
            steps.append(bare)
        elif _STUCK.search(bare) or (bare.endswith("?") and line is sentences[-1]):
            stuck.append(bare)
        elif not _INTENDS.search(bare) and not bare.endswith("?") and words >= _TELLING:
            claims.remarks.append(bare)
        if _INTENDS.search(bare) and not bare.endswith("?"):
            claims.intends = bare
    if gave_up:
        claims.gave_up.append(gave_up)
    if steps:
        claims.next_steps = steps
    claims.stuck = stuck


def _sorted_out(line: str, claims: Claims) -> bool:
    if line.endswith(("?", "？")):
        return False
    if _GAVE_UP.search(line):
        claims.gave_up.append(line)
    elif _CAUSE.search(line) and not _NO_CAUSE.search(line):
        claims.causes.append(line)
    elif _FINISHED.match(line) and not _NOT_YET.search(line):
        claims.finished.append(line)
    elif _DECIDED.search(line) and not _LOOKS_FIRST.match(line):
        claims.decided.append(line)
    else:
        return False
    return True


LONGEST_GOAL = 360
LONGEST_RULE = 280
MOST_RULES = 14
"""Of one request: a template of rules is not to fill the brief."""

_REQUEST_READ = 24_000
"""Characters of one request that are looked at."""


@dataclass(frozen=True, slots=True)
class Request:
    """A request of a person, and its place."""

    at: int
    text: str


_PROMPT = lazy_pattern(r"\n\(Open file: [^\n]*\)|\n\(Current directory: [^\n]*\)|\nbash-\$[ \t]*$")
_CODE = lazy_pattern(r"```[^`]*(?:```|\Z)|^(?: {4}|\t)[^\n]*\n?", re.M)
_TAG = lazy_pattern(r"^[ \t]*</?[a-z][\w\-]{0,40}>[ \t]*$", re.M | re.I)
_SLIGHT = lazy_pattern(
    r"(?:yes|yep|ok(?:ay)?|sure|thanks?(?: you)?|great|good|perfect|nice|go(?: on| ahead)?|continue|proceed|do it|"
    r"please|"
    r"ja|danke|weiter|gut|oui|merci|sí|si|gracias|sim|obrigado|да|спасибо|hi|hello|hey|hallo|bonjour|hola)"
    r"(?:[ ,.!]+(?:please|thanks?|continue|go ahead|there|do it|ahead|bitte))*[ .!]*",
    re.I,
)
_MARKED = lazy_pattern(
    r"^[ \t]*(?:ISSUE|TASK|GOAL|PROBLEM|REQUEST|OBJECTIVE|AUFGABE)[ \t]*:[ \t]*$|^[ \t]*<(?:pr_description|issue|"
    r"task|"
    r"problem_statement|request|objective|user_query)>[ \t]*$",
    re.M,
)
_MARK_ENDS = lazy_pattern(r"^[ \t]*(?:INSTRUCTIONS?|IMPORTANT[\w ]{0,20}|TIPS|NOTES?)[ \t]*:|^[ \t]*</\w", re.M)
_HEADING = lazy_pattern(r"#{1,6} .{1,80}|\*\*[^*]{1,80}\*\*:?|__[^_]{1,80}__:?|[A-Z ]{4,40}:")
_GREETING = lazy_pattern(r"(?:hi|hello|hey|hallo|dear)\b[^.!?\n]{0,30}[.!,]?", re.I)


def read_requests(messages: Sequence[Message], *, goes_on: bool = False) -> list[Request]:
    """Return what the user wrote, without what clients and shells put there. `goes_on` says that the agent spoke
    before."""
    requests: list[Request] = []
    for at in sorted(find_requests(messages, goes_on=goes_on)):
        text = _PROMPT.sub("", read_user_words(messages[at])).strip()
        if text:
            requests.append(Request(at, text[:_REQUEST_READ]))
    return requests


def is_slight(text: str) -> bool:
    """Return whether a message only nods, greets or thanks."""
    return len(text) < 60 and bool(_SLIGHT.fullmatch(text.strip()))


def find_asked(text: str) -> str:
    """A request in one line: as it is where that is short, or else what it is about."""
    line = " ".join(text.split())
    return line if len(line) <= LONGEST_GOAL else find_goal(text)


def find_goal(text: str) -> str:
    """Return what is asked for, in one line: the first sentences of the request, rules told apart left out."""
    marked = _MARKED.search(text)
    body = text[marked.end() :] if marked else text
    ends = _MARK_ENDS.search(body) if marked else None
    body = _TAG.sub("", _CODE.sub("\n", body[: ends.start()] if ends else body))
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
        ended = sentence.rstrip("\"'”’»)")[-1:] in tuple(".!?:…。！？")  # also within quotation marks
        kept.append(sentence if ended else f"{sentence}.")
        length += len(kept[-1]) + 1
    line = " ".join(kept) or " ".join(text.split())
    line = f"{line[:-1]}…" if line.endswith(":") else line
    return clip(line, LONGEST_GOAL)


_ANYWHERE = lazy_pattern(
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
_AT_THE_START = lazy_pattern(
    r"[\s\-*•\d.)#>]*(?:please |also |and |but |remember[:,]? ?(?:to |that )?|note[:,]? |btw,? )?"
    r"(?:use|keep|avoid|follow|stick|write|put|name|call|run|add tests|target|support|treat|respect|leave|no )\b",
    re.I,
)
_NO_RULE = lazy_pattern(
    r"\b(?:i|we|they|it|he|she|that|this|which|who|users?|you|there)\s+(?:really |just |also |still |probably )?"
    r"(?:don['’]?t|do not|doesn['’]t|never|always|only)\b(?! (?:use|change|touch|edit|add|want|commit|push|delete|"
    r"remove|break))",
    re.I,
)


def find_rules(text: str) -> list[str]:
    """The sentences of a request that say how something is to be done or not done, word for word."""
    rules: list[str] = []
    for sentence in split_sentences(join_lines(_TAG.sub("", _CODE.sub("\n", text)))):
        line = " ".join(sentence.split())
        if _is_rule(line):
            rules.append(clip(line, LONGEST_RULE))
        if len(rules) >= MOST_RULES:
            break
    return list(dict.fromkeys(rules))


def _is_rule(line: str) -> bool:
    if not 2 <= count_words(line) <= 60 or len(line) > 2 * LONGEST_RULE or line.endswith(("?", "？", ":")):
        return False
    return bool(_AT_THE_START.match(line) or _ANYWHERE.search(_NO_RULE.sub(" ", line)))


_URL = lazy_pattern(r"https?://[^\s<>\"'`)\]]{4,200}")


def find_links(text: str) -> list[str]:
    """The addresses a user gave, each once."""
    return list(dict.fromkeys(one.rstrip(".,;:") for one in _URL.findall(text)))


_EXAMPLE = lazy_pattern(r"(?:such as|e\.g\.|for example) (\S{1,120})", re.I)
FILE_NAME = lazy_pattern(
    r"(?<![\w/.@:\-])(?:[\w.\-~@+]{0,80}/){0,20}[\w.\-@+]{1,80}\.(?:py|pyi|ipynb|js|mjs|cjs|jsx|ts|"
    r"tsx|vue|svelte|"
    r"md|rst|txt|json|jsonl|ya?ml|toml|ini|cfg|conf|env|lock|html?|css|scss|c|h|cc|cpp|hpp|cs|rs|go|java|kt|swift|"
    r"rb|php|pl|"
    r"sh|bash|ps1|bat|sql|proto|graphql|xml|csv|tsv|svg|png|jpe?g|gif|pdf|log|diff|patch|tf|gradle|lua|dart|ex|"
    r"exs|zig)\b(?![\w/(])"
)


def find_named_files(text: str) -> list[str]:
    """The files a user named outside of pasted code and addresses, each once."""
    bare = _URL.sub(" ", _CODE.sub("\n", text))
    examples = {one.strip("`'\",.:;)") for one in _EXAMPLE.findall(bare)}
    return [one for one in dict.fromkeys(FILE_NAME.findall(bare)) if one not in examples]
