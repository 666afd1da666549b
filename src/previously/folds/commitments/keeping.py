"""What was promised, owed, threatened, kept secret or given a deadline, and is still open: found by code.

Owns the list of open commitments that a fold hands on: each a short sentence that can stand alone, in the third person
or as an attributed quotation, in the language of the story. What must stay true: pure and deterministic; a sentence put
back into a text is found there by the checks; what is open stays open until a message plainly settles it; nearly equal
ones are one; at most `MOST` are held, the oldest go first, so the list never outgrows the texts it guards.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple

from previously.core.messages import Message, Role
from previously.core.words import count_words
from previously.folds.builtin import prose
from previously.folds.builtin.names import shown
from previously.folds.builtin.narrators import habits, has_title, narrators_among
from previously.folds.builtin.person import i_to_third
from previously.folds.builtin.reading import Line, Said, is_english, lines_of_message, unquoted
from previously.folds.builtin.traces import content_of
from previously.folds.commitments import glance
from previously.folds.commitments.openings import opening_of
from previously.folds.commitments.people import People
from previously.folds.commitments.settling import Held, may_be_done_abroad, says_it_ended
from previously.folds.commitments.ties import Opening, Tie
from previously.text.sentences import QUOTED

MOST = 40
"""Open commitments that are held; more than this no recap can tell, and the oldest are dropped first."""

LONGEST_WORDS = 30
"""A commitment is cut to this: the clause that makes it, and what stands around it."""

_SHORT = 6
"""So few words mostly speak of what was said just before."""

_VOWS = frozenset({Tie.VOW, Tie.BARE_VOW})
_VERBS = {
    Tie.VOW: "promised",
    Tie.BARE_VOW: "promised",
    Tie.DEBT: "said",
    Tie.SECRET: "said",
    Tie.DEADLINE: "said",
    Tie.THREAT: "warned",
}
_TO = {"said": "told", "swore": "swore to"}
_SWEARS = re.compile(r"\b(?:swear|vow|oath)\b", re.I)
_WILL = re.compile(r"'ll\b|\b(?:will|shall|won't|shan't|never|must|would)\b", re.I)
_MARKED = re.compile('[*"“„«「]')
_BIDS = re.compile(r"(?:Keep|Tell|Not|Don't|Do not|Never|Let|Bring|Hand|Leave|Give|Swear|Pay|Say|Stay|Get|Put)\b")
_LEANS_BACK = re.compile(r"\b(?:it|this|that|so|them)\b|^(?:nobody|no one|tell no|don't tell|keep|between)\b", re.I)
_ASKS_FOR_VOW = re.compile(r"\b(?:promise|swear|vow|your word)\b", re.I)
_FIRST = re.compile(r"\b(?:i|i'm|i'll|i've|i'd|me|my|mine|myself|we|we're|we'll|us|our)(?![\w'])", re.I)
_SECOND = re.compile(r"\b(?:you|your|yours|you're|you'll|you've|you'd|yourself)(?![\w'])", re.I)
_PRONOUN = re.compile(r"(?:He|She|They)(?= )")
_PLAIN_VOW = re.compile(
    r"(?:[A-Z][\w'’]+, )?I (?:do |solemnly |hereby )?(?P<verb>promise|swear|vow|pledge)(?: to)?(?: you)?"
    r"(?:,? (?P<whom>[A-Z][\w'’]+))?,?(?: that)? (?:I will|I'll|I shall|"
    r"to) (?P<rest>[^\"]+?)(?:, (?P<called>[A-Z][\w'’]+))?[.!]*"
)
_YOU = re.compile(r"\byou\b")
_YOUR = re.compile(r"\byour\b")
_YOU_ACTS = re.compile(
    r"\b(?:until|if|what|that|when|as|before|after|once|unless|where|how|who|while|because|and|than|all) you\b|"
    r"\byou(?:'|rs)|"
    r"\byou (?:are|will|have|were|can|need|want|ask|say|go|come)\b|\byourself"
)
_PAST = {"promise": "promised", "swear": "swore", "vow": "vowed", "pledge": "pledged"}
_CLAUSES = re.compile(r"(?<=[,;:—、，；])\s*|\s+(?=(?:and|but|because|while|und|aber|mais|pero|и|но)\s)")
_NARRATOR = "The narrator"
_PLAYER = "The player"


class _Spoken(NamedTuple):
    """A line with its place: which message it is of, who hears it, whether a narrator tells it, and what `glance` sees
    in it."""

    line: Line
    message: int
    listener: str | None
    narrated: bool
    player: bool
    signs: int


def commitments_after(earlier: Sequence[str], messages: Sequence[Message]) -> tuple[str, ...]:
    """The open commitments after these messages: the earlier ones that nothing settled, and the new ones, oldest
    first."""
    lines = _lines(messages)
    texts = [spoken.line.text for spoken in lines]
    whole = " ".join([*texts, *earlier[-10:]])
    english, abroad = is_english(whole), may_be_done_abroad(whole)
    people = People((message.speaker for message in messages if message.speaker), [*earlier, *texts])
    held = Held(people)
    for text in dict.fromkeys(one.strip() for one in earlier):
        if text:
            held.add(text)
    for index, spoken in enumerate(lines):
        ended = glance.may_be_done(spoken.signs) and says_it_ended(spoken.line.text)
        found = None if ended else opening_of(spoken.line.text, english=english, signs=spoken.signs)
        if found is not None:
            for text in _worded(lines, index, found, people, english=english):
                held.add(text)
        elif abroad or glance.may_be_done(spoken.signs):
            held.settle(spoken.line, spoken.listener)
    return held.texts()[-MOST:]


def put_back(text: str, missing: Sequence[str]) -> str:
    """The text with these sentences at its end, as prose."""
    text = text.rstrip()
    for sentence in missing:
        if not sentence.strip():
            continue
        ended = text.endswith((".", "!", "?", "…", '"', "”", "»", "'", ")"))
        between = "" if not text or text.endswith(("。", "！", "？", "」")) else " " if ended else "\n"
        text += between + sentence.strip()
    return text


def _lines(messages: Sequence[Message]) -> list[_Spoken]:
    """Every sentence of the messages, read as the built-in folder reads them."""
    told = [message for message in messages if message.role in (Role.USER, Role.ASSISTANT) and message.text.strip()]
    said = [Said(message.speaker, message.text) for message in told]
    counted = habits(said, {})
    narrators = narrators_among(counted)
    at_table = any(not has_title(name) for name in narrators)
    players = [name for name in counted if name not in narrators]
    lines: list[_Spoken] = []
    for number, (message, original) in enumerate(zip(said, told, strict=True)):
        name = shown(message.speaker) if message.speaker else ""
        others = [player for player in players if player != name]
        listener = others[0] if len(others) == 1 and not at_table else None
        narrates = not name or name in narrators
        read = lines_of_message(message, narrates=narrates, at_table=at_table, listener=listener)
        if not narrates and not _MARKED.search(message.text) and any(_BIDS.match(line.text) for line in read):
            read = [Line(name, line.text, line.fresh) for line in read]  # who bids, speaks
        for line in read:
            signs = glance.signs_of(line.text.replace("’", "'").lower())
            inner = line if narrates or line.speaker is not None else _out_of_quotes(line, name, signs)
            lines.append(_Spoken(inner, number, listener, narrates, original.role is Role.USER, signs))
    return lines


def _out_of_quotes(line: Line, speaker: str, signs: int) -> Line:
    """What is said inside a sentence of narration, as a line of its speaker, where that is what commits."""
    if '"' not in line.text or not glance.may_open(signs, line.text):
        return line
    quotations = [unquoted(match.group()) for match in QUOTED.finditer(line.text)]
    said = " ".join(quotations).strip().rstrip(",;: ")
    outside = QUOTED.sub(" ", line.text)
    inside_only = opening_of(said, english=True) and not opening_of(outside, english=True)
    return Line(speaker, said, line.fresh) if said and inside_only else line


def _worded(lines: Sequence[_Spoken], index: int, found: Opening, people: People, *, english: bool) -> Iterable[str]:
    """The commitment as a sentence by itself; nothing where it is not said what is promised."""
    spoken = lines[index]
    text = spoken.line.text
    room = LONGEST_WORDS - 3 - count_words(spoken.line.speaker or "")
    bare = found.tie is Tie.BARE_VOW
    owed = found.tie in (Tie.DEBT, Tie.SECRET, Tie.DEADLINE)
    leans = bare or count_words(text) <= _SHORT or (owed and _LEANS_BACK.search(text))
    before = _before(lines, index, room - count_words(text), only=_WILL if bare else None) if leans and english else ""
    if bare and not before:
        return _asked_for(lines, index)
    text = f"{before} {text}" if before else _cut(text, found.at, room)
    return (_attributed(lines, index, text, found, people, english=english),)


def _before(lines: Sequence[_Spoken], index: int, room: int, only: re.Pattern[str] | None) -> str:
    """What the same speaker said just before, in the same message: the sentence, or back to one like `only`."""
    spoken = lines[index]
    taken: list[str] = []
    for other in reversed(lines[max(0, index - 3) : index]):
        text = other.line.text
        if other.message != spoken.message or other.line.speaker != spoken.line.speaker or text.endswith("?"):
            break
        if count_words(text) > room >= _SHORT:
            text = _cut(text, 0, room)
        room -= count_words(text)
        if room < 0:
            break
        taken.insert(0, text)
        if only is None or only.search(text):
            return " ".join(taken)
    leaning = only is not None and _LEANS_BACK.search(spoken.line.text)
    return " ".join(taken) if leaning else ""


def _asked_for(lines: Sequence[_Spoken], index: int) -> Iterable[str]:
    """ "I promise." as the answer to "Promise me that …"."""
    asker = next((one for one in reversed(lines[:index]) if one.message < lines[index].message), None)
    answerer = lines[index].line.speaker
    if not asker or not answerer or asker.message != lines[index].message - 1 or not asker.line.speaker:
        return ()
    for one in reversed([each for each in lines[:index] if each.message == asker.message]):
        if one.line.speaker and _ASKS_FOR_VOW.search(one.line.text) and count_words(one.line.text) <= LONGEST_WORDS - 8:
            return (f'{answerer} promised what {one.line.speaker} asked: "{one.line.text}"',)
    return ()


def _attributed(
    lines: Sequence[_Spoken], index: int, text: str, found: Opening, people: People, *, english: bool
) -> str:
    """A sentence of the story as one of a recap."""
    spoken = lines[index]
    speaker = spoken.line.speaker
    if speaker and english and not spoken.narrated:
        easy = _in_third_person(text, speaker, spoken.listener)
        if easy:
            return easy
    if speaker is None and not (english and _FIRST.search(QUOTED.sub(" ", text))):
        subject = _subject(lines[:index], people) if english and _PRONOUN.match(text) else None
        if subject:
            text = _PRONOUN.sub(subject, text, count=1)
        return prose.write([Line(None, text, True)], english=english)
    if spoken.narrated:
        speaker = _subject(lines[:index], people) or (_PLAYER if spoken.player else _NARRATOR)
    text = text.replace('"', "'")
    if not english or not speaker:
        return prose.write([Line(speaker, text, True)], english=english)
    called = prose.addressee(text)
    verb = "swore" if found.tie in _VOWS and _SWEARS.search(text) else _VERBS[found.tie]
    to_whom = f" {_TO.get(verb, verb)} {called}" if called and called not in speaker else f" {verb}"
    return f'{speaker}{to_whom}: "{text}"'


def _subject(before: Sequence[_Spoken], people: People) -> str | None:
    return people.subject([spoken.line for spoken in before])


def _in_third_person(text: str, speaker: str, listener: str | None) -> str | None:
    """A plain "I promise to …" or "I owe …" told of its speaker; None where that is not easy."""
    plain = text.replace("’", "'")
    vow = _PLAIN_VOW.fullmatch(plain)
    if vow is None:
        if not plain.startswith("I owe ") or _SECOND.search(plain) or len(_FIRST.findall(plain)) > 1:
            return None
        return i_to_third(plain, speaker)
    rest, whom = vow.group("rest"), vow.group("whom") or vow.group("called")
    if _FIRST.search(rest) or rest.startswith("you") or '"' in rest:
        return None
    verb = _PAST[vow.group("verb")]
    never = re.match(r"(?:never|not|always) ", rest)
    what = f"{never.group()}to {rest[never.end() :]}" if never else f"to {rest}"
    if _SECOND.search(rest):
        heard = whom or listener
        if not heard or _YOU_ACTS.search(rest):
            return None
        what = _YOUR.sub("their", _YOUR.sub(f"{heard}'s", _YOU.sub(heard, what, count=1), count=1))
        what, whom = _YOU.sub("them", what), None
    to_whom = "" if not whom else f" {whom}" if verb == "promised" else f" to {whom}"
    return f"{speaker} {verb}{to_whom} {what[0].lower()}{what[1:]}."


def _cut(text: str, at: int, room: int) -> str:
    """The sentence, or the run of clauses that tells most of what is committed and fits."""
    if count_words(text) <= room:
        return text
    edges = [0, *(match.end() for match in _CLAUSES.finditer(text)), len(text)]
    pieces = [(start, text[start:end]) for start, end in pairwise(edges) if text[start:end].strip()]
    best, most = "", -1
    for first, (start, _) in enumerate(pieces):
        for last in range(first, len(pieces)):
            run = "".join(piece for _, piece in pieces[first : last + 1])
            if count_words(run) > room:
                break
            worded_here = start <= at < start + len(run)
            score = len(content_of(run)) + 4 * worded_here + 4 * bool(_WILL.search(run)) - 4 * (start + len(run) <= at)
            if score > most:
                best, most = run, score
    kept = best or (" ".join(text.split()[:room]) if len(text.split()) > room else text[: 2 * room])
    kept = kept.strip(' ,;:—、，；"“”').removeprefix("and ").removeprefix("but ").replace('"', "'")
    kept = kept[:1].upper() + kept[1:]
    return kept if kept.endswith((".", "!", "…", "。", "！")) else f"{kept}{'.' if best else '…'}"
