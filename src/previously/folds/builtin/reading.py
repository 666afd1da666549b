"""Messages and an earlier recap become lines: one sentence each, with who says it.

Owns the difference between narration and speech. Stars and the text around quotations narrate; quotations are spoken;
text with neither is spoken when it speaks of "I" or "you", and narrates when it does not. A narrator's "you" and an
actor's "I" become the third person. What must stay true: an
attributed sentence of an earlier recap is read back as the very line it was written from, so that many rewrites never
nest quotations.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from previously.folds.builtin.cues import DANGLING_OPENERS, HAPPENS
from previously.folds.builtin.names import WORD, is_capitalised, shown
from previously.folds.builtin.person import i_to_third, you_to_third
from previously.folds.builtin.vocabulary import FUNCTION_WORDS
from previously.text.sentences import (
    QUOTED,
    is_too_long,
    plain,
    shortened,
    split_sentences,
    unwrapped,
    whole_sentences,
    without_emphasis,
)


@dataclass(frozen=True, slots=True)
class Said:
    """One message of the delta; no speaker means the narrator."""

    speaker: str | None
    text: str


@dataclass(frozen=True, slots=True)
class Line:
    """One sentence. `speaker` is set for speech and for first-person telling; narration has none."""

    speaker: str | None
    text: str
    fresh: bool


SPEECH_VERBS = ("said", "told", "asked", "promised", "swore to", "swore", "warned", "admitted to", "admitted")

_ATTRIBUTED = re.compile(
    rf"(?P<speaker>[^:\"“”\n]{{1,60}}?)(?: (?:{'|'.join(SPEECH_VERBS)})(?: [^:\"“”\n]{{1,60}})?)?"
    r"(?:: ?\"(?P<said>[^\"]+)\"|：「(?P<said2>[^「」]+)」)\s*$"
)
_STARRED = re.compile(r"\*([^*\n]+)\*")
_FIRST_OR_SECOND = re.compile(
    r"\b(?:i|i'm|i'll|i've|i'd|me|my|mine|myself|we|we're|we'll|we've|we'd|us|our|ours|you|you're|you'll|"
    r"you've|you'd|your|yours|"
    r"y'all|let's|ich|mich|mir|mein\w*|du|dich|dir|dein\w*|wir|uns|unser\w*|ihr|euch|je|j'|tu|moi|toi|nous|"
    r"vous|yo|tú|"
    r"mi|nosotros|ustedes|io|noi|voi|eu|você|nós|я|мы|ты|вы|мне|меня|тебя|тебе)(?![\w'])|[我你您俺僕私]|あなた|君は"
)
_FIRST = re.compile(r"\b(?:i|i'm|i'll|i've|i'd|me|my|mine|myself)(?![\w'])")
_SECOND = re.compile(r"\b(?:you|your|yours|you're|you'll|you've|you'd)(?![\w'])")
_THROAT_CLEARING = re.compile(
    r"(?:(?:all right|alright|okay|ok|so|well|now|and then|and|but|also|anyway|yeah|yes|oh|then|at which point),? )+"
    r"(?=\w)",
    re.I,
)
_PRONOUNS = frozenset("he she they it i we you who one then and but someone everyone nobody".split())
_INNER_QUOTES = re.compile('["“”„«»]')
_LATIN_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")


def is_english(text: str) -> bool:
    """Whether the small words of a text are English ones."""
    words = _LATIN_WORD.findall(text[:4000].lower())
    return bool(words) and sum(map(FUNCTION_WORDS.__contains__, words)) >= 0.18 * len(words)


def lines_of_message(message: Said, *, narrates: bool, at_table: bool, listener: str | None) -> list[Line]:
    """The sentences of one message, speech told from narration.

    `narrates`: the speaker is the story's narrator. `at_table`: someone else is, by habit, so that unmarked
    text is talk. `listener`: who "you" is, when there is only one it can be.
    """
    return list(_lines_of(message, narrates, at_table, listener))


@lru_cache(maxsize=1_024)  # the same messages are read for the recap, the scene and every character
def _lines_of(message: Said, narrates: bool, at_table: bool, listener: str | None) -> tuple[Line, ...]:
    text = without_emphasis(unwrapped(plain(message.text)))
    speaker = shown(message.speaker or "") or None
    starred = "*" in text and bool(_STARRED.search(text))
    quoted = any(_is_speech(match.group()) for match in QUOTED.finditer(text))
    spoken = speaker is not None and not quoted and not narrates
    if spoken and not starred:
        spoken = at_table or bool(_FIRST_OR_SECOND.search(text.replace("’", "'").lower())) or not is_english(text)
    lines: list[Line] = []
    end = 0
    for star in [*_STARRED.finditer(text), None]:
        between = text[end : star.start() if star else len(text)]
        lines += _segment(
            between, speaker, listener, spoken=spoken, acts=starred or quoted, starred=False, narrates=narrates
        )
        if star:
            lines += _segment(
                star.group(1), speaker, listener, spoken=False, acts=True, starred=True, narrates=narrates
            )
            end = star.end()
    return tuple(lines)


def _segment(
    text: str, speaker: str | None, listener: str | None, *, spoken: bool, acts: bool, starred: bool, narrates: bool
) -> list[Line]:
    lines: list[Line] = []
    subject = speaker if starred and not narrates else None
    for whole in whole_sentences(text.replace("*", " ").strip()):
        if speaker and QUOTED.fullmatch(whole):
            lines += [Line(speaker, inner, True) for inner in split_sentences(unquoted(whole))]
            continue
        for sentence in _opened(whole, speaker):
            if isinstance(sentence, Line):
                lines.append(sentence)
            elif speaker and spoken:
                lines.append(Line(speaker, _single_quotes(sentence), True))
            else:
                told = _in_third_person(sentence, speaker, listener, acts=acts, narrates=narrates)
                if told is None:
                    lines.append(Line(speaker, _single_quotes(sentence) if speaker else balanced(sentence), True))
                else:
                    told, subject = _with_subject(told, subject)
                    lines.append(Line(None, balanced(told), True))
    return lines


def _opened(sentence: str, speaker: str | None) -> list[str | Line]:
    """A sentence as it is; when it is too long, its quotations as lines of their own and the rest in pieces."""
    if not is_too_long(sentence):
        return list(shortened(sentence))
    pieces: list[str | Line] = []
    end = 0
    for match in [*QUOTED.finditer(sentence), None]:
        pieces += shortened(sentence[end : match.start() if match else len(sentence)].strip(" ,;:"))
        if match and _is_speech(match.group()):
            inner = split_sentences(unquoted(match.group()))
            pieces += [Line(speaker, piece, True) if speaker else f'"{piece}"' for piece in inner]
        elif match:
            pieces += shortened(match.group())
        end = match.end() if match else end
    return pieces


def _in_third_person(
    sentence: str, speaker: str | None, listener: str | None, *, acts: bool, narrates: bool
) -> str | None:
    """A sentence of narration told in the third person, or None when it has to be quoted."""
    outside = QUOTED.sub(" ", sentence)
    if speaker and sentence.endswith(("?", "？")) and outside == sentence:
        return None
    outside = outside.replace("’", "'").lower()
    if _FIRST.search(outside):
        if speaker is None or not acts or narrates:
            return None
        told = you_to_third(sentence, listener) if listener and _SECOND.search(outside) else sentence
        return i_to_third(told, speaker) if told else None
    if _SECOND.search(outside):
        return you_to_third(sentence, listener) if narrates or acts else None
    return sentence


def _with_subject(sentence: str, subject: str | None) -> tuple[str, str | None]:
    """A sentence that starts with "He", "She" or a bare verb gets the name that started the sentence before it; "All
    right, so" and its like go."""
    opener = _THROAT_CLEARING.match(sentence)
    if opener and opener.end() < len(sentence):
        rest = sentence[opener.end() :]
        sentence = rest[0].upper() + rest[1:]
    first = WORD.match(sentence)
    if not first:
        return sentence, None
    word = first.group()
    if subject and word.endswith("s") and word.lower() in HAPPENS:
        return f"{subject} {word.lower()}{sentence[first.end() :]}", subject
    if word in ("He", "She") and subject and sentence[first.end() : first.end() + 1] == " ":
        return subject + sentence[first.end() :], subject
    following = sentence[first.end() : first.end() + 2]
    if is_capitalised(word) and len(following) == 2 and following[0] == " " and following[1].islower():
        return sentence, word
    return sentence, None


def unquoted(sentence: str) -> str:
    """A quotation without its outer marks, with any inner double ones made single."""
    return _single_quotes(sentence[1:-1].strip())


def _single_quotes(text: str) -> str:
    return _INNER_QUOTES.sub("'", text) if _INNER_QUOTES.search(text) else text


def balanced(sentence: str) -> str:
    """Straight double quotes only in pairs: a stray one would swallow its neighbours on the next reading."""
    sentence = sentence.replace("“", '"').replace("”", '"').replace("„", '"')
    return sentence.replace('"', "") if sentence.count('"') % 2 else sentence


def _is_speech(quotation: str) -> bool:
    """A quotation that is said, not a nickname or a title in quotes."""
    inner = quotation[1:-1].strip()
    return len(inner) > 1 and (inner[-1] in ".!?…,—-。！？" or len(inner.split()) > 3)


def lines_of_recap(text: str) -> list[Line]:
    """The sentences of an earlier recap, ours or anyone's; attributed speech is opened again."""
    lines: list[Line] = []
    for sentence in whole_sentences(balanced_paragraphs(plain(text).replace("*", ""))):
        attributed = _ATTRIBUTED.match(sentence) if ":" in sentence or "：" in sentence else None
        said = attributed and (attributed.group("said") or attributed.group("said2"))
        if attributed and said and _is_a_speaker(attributed.group("speaker")):
            lines += [Line(attributed.group("speaker").strip(), inner, False) for inner in split_sentences(said)]
        else:
            lines += [Line(None, balanced(piece), False) for piece in shortened(sentence)]
    return lines


def balanced_paragraphs(text: str) -> str:
    """Each paragraph with its double quotes paired."""
    return "\n".join(unwrapped_part for part in text.split("\n") if (unwrapped_part := balanced(part)))


def _is_a_speaker(name: str) -> bool:
    """Whether what stands before "said:" is a name and not the first half of a sentence."""
    words = name.split()
    if len(words) == 1:
        return words[0].lower() not in _PRONOUNS
    if not words or len(words) > 6:
        return False
    if words[0] in ("the", "The") and len(words) <= 4:
        return True
    return words[0].lower() not in DANGLING_OPENERS and all(
        not word[0].islower() or word in ("of", "the", "de", "and", "van", "von") for word in words
    )


def speakers_of(messages: Sequence[Said], earlier: Sequence[Line]) -> list[str]:
    """Everyone who speaks, in order of first appearance."""
    named = [line.speaker for line in earlier if line.speaker]
    named += [name for message in messages if message.speaker and (name := shown(message.speaker))]
    return list(dict.fromkeys(named))
