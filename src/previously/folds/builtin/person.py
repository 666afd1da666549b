"""First and second person become third, for narration only.

Owns the grammar of "You step through the gate" -> "They step through the gate", "Nott, you notice a draft" ->
"Nott notices a draft" and "I close the ledger" -> "Odalys closes the ledger". English only. What must stay
true: words inside quotations are never touched, and a sentence the rules do not fit is given back as None, to
be quoted as it stands.
"""

from __future__ import annotations

import re

from previously.folds.builtin.cues import HAPPENS
from previously.text.sentences import QUOTED

_YOU = re.compile(
    r"\b(?P<word>you(?:'re|'ve|'ll|'d)?(?: guys| all| both)?|yourselves|yourself|yours|your)(?![\w'])", re.I
)
_I = re.compile(r"\b(?P<word>i(?:'m|'ve|'ll|'d)?|me|my|mine|myself)(?![\w'])", re.I)
_VOCATIVE = re.compile(
    r"(?P<name>[A-Z][^\W\d_]+(?: [A-Z][^\W\d_]+)?), (?=(?:you|your|as|when|while|at|after|before|once|in|on|"
    r"from|with)\b)"
)
_VOCATIVE_AFTER = re.compile(r"\byou, (?P<name>[A-Z][^\W\d_]+)(?:,|(?=[.!]))")
_WE = re.compile(r"\b(?:we|us|our|ours|we're|we'll|we've|let's)(?![\w'])", re.I)
_NEXT = re.compile(r"\s+(?P<word>[^\W\d_]+(?:'[^\W\d_]+)?)")
_BEFORE = re.compile(r"(?P<word>[^\W\d_]+(?:'[^\W\d_]+)?)[\s]+$")
_QUOTES = re.compile('["“„«]')

_OBJECT_BEFORE = frozenset(
    "to for with at of from behind past towards toward around on upon over near between by into about "
    "against like beside "
    "above below beneath under through across without among let lets give gives gave hand hands handed tell "
    "tells told show shows showed "
    "lead leads led bring brings brought ask asks asked watch watches sees hears meets greets follows "
    "catches grabs pulls "
    "hits stops leaves left makes made takes took".split()
)
_CLAUSE_BEFORE = frozenset(
    "as when while if and then before after once where because so but that since until unless".split()
)
_OBJECT_AFTER = frozenset(
    "a an the to with in on at from and as that this these those his her its their your by for into out up "
    "down over back through who "
    "away off toward towards again here there inside outside but or too very then when while until if".split()
)
_UNBENT = frozenset(
    "can could will would shall should may might must did had won't can't couldn't wouldn't didn't never saw "
    "went felt got came found "
    "heard made took knew gave left told said stood sat ran fell began kept held brought thought led met "
    "lost wore drew woke ate "
    "drank slept spoke broke chose rode threw caught bought built sent spent put cut hit let set read".split()
)
_IRREGULAR = {
    "are": "is", "were": "was", "have": "has", "do": "does", "don't": "doesn't", "aren't": "isn't",
    "weren't": "wasn't",
    "haven't": "hasn't", "go": "goes", "am": "is",
}  # fmt: skip
_SKIPPED = frozenset("all both also just then now still always even quickly slowly finally only simply each".split())
_THIRD = {"'m": "'re", "'re": "'re", "'ve": "'ve", "'ll": "'ll", "'d": "'d"}
_SINGULAR = {"'re": " is", "'m": " is", "'ve": " has", "'ll": " will", "'d": " would"}
_ACTION_AND = re.compile(r"(?P<joint>(?:,| and| then|, and|, then|and then|or) )(?P<verb>[a-z]+)(?= )")
ACTIONS = frozenset(
    "walk run step turn look open close take give put pull push draw sit stand lean nod smile laugh sigh "
    "shrug grab hold lift drop throw "
    "reach point hand set pick pour drink eat wipe shake bow kneel rise climb jump move follow lead wait "
    "watch listen stare glance search "
    "check find hide knock enter leave return go come bring carry slide slip tuck fold shut lock unlock "
    "light cut tie wrap press raise lower "
    "touch read write sign count pay buy sell steal offer ask tell say whisper shout answer call attack "
    "strike swing shoot fire cast "
    "draw aim stab kick punch duck dodge block rest sleep wake cross head continue start begin try keep tap "
    "rub clear straighten "
    "gather examine study inspect order promise swear agree refuse decide".split()
)


def third_singular(verb: str) -> str:
    """ "notice" -> "notices"; past forms and helping verbs stay."""
    lowered = verb.lower()
    if lowered in _IRREGULAR:
        return _IRREGULAR[lowered]
    if lowered in _UNBENT or lowered.endswith("ed"):
        return verb
    if lowered.endswith(("s", "sh", "ch", "x", "z", "o")):
        return verb + "es"
    if lowered.endswith("y") and lowered[-2:-1] not in tuple("aeiou"):
        return verb[:-1] + "ies"
    return verb + "s"


def you_to_third(sentence: str, who: str | None) -> str | None:
    """Narration told to "you", told of `who` instead, or of "they"; None when it does not fit."""
    sentence = sentence.replace("’", "'")
    if _WE.search(QUOTED.sub(" ", sentence)) or sentence.endswith("?"):
        return None
    spans = [match.span() for match in QUOTED.finditer(sentence)]
    vocative = _VOCATIVE.match(sentence)
    after = _VOCATIVE_AFTER.search(sentence)
    if after and not spans:
        who = after.group("name")
        sentence = sentence[: after.start() + 3] + sentence[after.end() :]
    elif vocative and _YOU.search(sentence):
        who = vocative.group("name")
        sentence = sentence[vocative.end() :]
        spans = [(start - vocative.end(), end - vocative.end()) for start, end in spans]
    parts: list[str] = []
    end = 0
    named = who is None
    for match in _YOU.finditer(sentence):
        if match.start() < end or any(start <= match.start() < stop for start, stop in spans):
            continue
        parts.append(sentence[end : match.start()])
        said, end = _instead_of_you(sentence, match, None if named else who)
        named = True
        at_start = not "".join(parts).strip()
        parts.append(said[0].upper() + said[1:] if at_start else said)
    parts.append(sentence[end:])
    return "".join(parts)


def _instead_of_you(sentence: str, match: re.Match[str], who: str | None) -> tuple[str, int]:
    word = match.group("word").lower()
    base = word.split(" ")[0]
    possessives = {"your": "their", "yours": "theirs", "yourself": "themselves", "yourselves": "themselves"}
    if base in possessives:
        return (f"{who}'s" if who and base == "your" else possessives[base]), match.end()
    if "'" in base:
        ending = base[3:]
        return (who + _SINGULAR[ending] if who else "they" + _THIRD[ending]), match.end()
    if _is_object(sentence, match):
        return who or "them", match.end()
    if who is None:
        return "they", match.end()
    return _bent(sentence, match.end(), who)


def _bent(sentence: str, end: int, who: str) -> tuple[str, int]:
    """The subject's name and its verb in the third person; small adverbs between them are stepped over."""
    between = ""
    for _ in range(2):
        following = _NEXT.match(sentence, end)
        if not following:
            break
        word = following.group("word")
        end = following.end()
        if word in _SKIPPED or word.endswith("ly"):
            between += f" {word}"
            continue
        return f"{who}{between} {third_singular(word)}", end
    return who + between, end


def _is_object(sentence: str, match: re.Match[str]) -> bool:
    before = _BEFORE.search(sentence[max(0, match.start() - 20) : match.start()])
    if before and _takes_object(before.group("word").lower()):
        return True
    following = _NEXT.match(sentence, match.end())
    if not before or not following:
        return bool(before)
    in_clause = before.group("word").lower() in _CLAUSE_BEFORE
    return not in_clause and following.group("word").lower() in _OBJECT_AFTER


def _takes_object(word: str) -> bool:
    return word in _OBJECT_BEFORE or word.endswith("ing") or (word.endswith("s") and word in HAPPENS)


def i_to_third(sentence: str, who: str) -> str | None:
    """ "I shut my ledger and look up" -> "Odalys shuts their ledger and looks up"; None when it is no plain
    action."""
    sentence = sentence.replace("’", "'")
    if _QUOTES.search(sentence) or _WE.search(sentence) or _YOU.search(sentence) or sentence.endswith("?"):
        return None
    parts: list[str] = []
    end = 0
    for match in _I.finditer(sentence):
        if match.start() < end:
            continue
        parts.append(sentence[end : match.start()])
        word = match.group("word").lower()
        end = match.end()
        first = not parts[1:]
        if word == "i" or word.startswith("i'"):
            if word != "i":
                parts.append(who + _SINGULAR[word[1:]] if first else "they" + _THIRD[word[1:]])
            elif first:
                said, end = _bent(sentence, end, who)
                parts.append(said)
            else:
                parts.append("they")
        elif first and word in ("my", "me"):
            parts.append(f"{who}'s" if word == "my" else who)
        else:
            parts.append({"me": "them", "my": "their", "mine": "theirs", "myself": "themselves"}[word])
    parts.append(sentence[end:])
    told = "".join(parts)
    return _ACTION_AND.sub(_bend_joint, told) if re.match(r"i\b", sentence, re.I) else told


def _bend_joint(match: re.Match[str]) -> str:
    verb = match.group("verb")
    return match.group("joint") + (third_singular(verb) if verb in ACTIONS else verb)
