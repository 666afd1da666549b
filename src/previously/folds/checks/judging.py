"""The judgement: every check in its order.

Owns which fault is named when there are several: what the server said first, then what kind of text it is, then what
the text says. What must stay true: total and deterministic; passages a person wrote are never judged, only looked
for; the text that is accepted is the answer after tidying, not a word more or less.
"""

from __future__ import annotations

import re

from previously.core.asking import ModelReply
from previously.core.words import count_words
from previously.folds.checks import echo, form, language, losses, reasoning, refusal_talk, size, speakers
from previously.folds.checks.material import Material, book_of, material_of
from previously.folds.checks.support import unverified
from previously.folds.checks.verdict import Accepted, Asked, Refusal, Refused, brief
from previously.folds.checks.voice import speaks_for_itself, speaks_of_task
from previously.text.sentences import QUOTED, whole_sentences

_TOOL_TEXT = re.compile(
    r"\s*(?:<\|?(?:tool_calls?|tool_use|function_calls?|invoke|tool▁calls▁begin|python_tag)\b|<function=|"
    r"\[TOOL_CALLS?\]|<｜tool|"
    r"(?:functools|to=functions\.|functions\.\w+\s*\()|```(?:tool_code|tool_call|function)|"
    r"\{\s*\"(?:tool_calls?|function(?:_call)?|tool|tool_name|name|action)\"\s*:\s*[\"{\[][^}]*\"?(?:arguments|"
    r"parameters|input|args|action_input|function)\"?\s*:|"
    r"\[\s*\{\s*\"(?:name|function|type|id)\"\s*:\s*\"[^\"]*\"[^\]]*\"(?:arguments|parameters|function|input)\"|"
    r"(?:Action|Tool|Function)(?: Call)?\s*:\s*\S[^\n]*\n+\s*(?:Action Input|Input|Arguments|Args|Parameters)\s*:|"
    r"[a-z_]+\((?:[a-z_]+\s*=\s*(?:\"[^\"]*\"|'[^']*'|\d+)\s*,?\s*)+\)\s*$)",
    re.I,
)
_TOOL_FIELDS = re.compile(
    r"\{[^{}]{0,200}\"(?:arguments|parameters|tool_input)\"\s*:\s*[{\"]|</?(?:tool_call|function_call)s?>", re.I
)
_TOOL_REASONS = frozenset({"tool_calls", "tool_use", "function_call", "tool_call"})
LEAST_WORDS = 4
MUCH_READ = 40
"""From this many words read on, a word or two are no recap."""

_FILTERED = frozenset({"content_filter", "safety", "refusal", "blocked", "prohibited_content", "recitation"})


def judge(asked: Asked, reply: ModelReply) -> Accepted | Refused:
    """Whether a model's answer may become memory."""
    finish = (reply.finish_reason or "").strip().lower() or None
    if reply.tool_calls or finish in _TOOL_REASONS:
        return Refused(Refusal.TOOL_CALL, "the model answered with a tool call instead of a text")
    if finish in _FILTERED:
        return Refused(Refusal.REFUSAL, f"the server withheld the answer ({finish})")
    if not _visible(reply.text) and _visible(reply.reasoning):
        return Refused(Refusal.REASONING, "the model reasoned and gave no answer")
    return _judged(asked, reply.text, finish, by_model=True)


def judge_text(asked: Asked, text: str) -> Accepted | Refused:
    """The same for a text that came without a wire reply: from the built-in folder, or pasted by a person.

    Either may decide that the earlier text stands as it is; a model that hands it back has not read on.
    """
    return _judged(asked, text, None, by_model=False)


def is_tool_call(text: str) -> bool:
    """Whether an answer begins as a tool call written out."""
    return bool(_TOOL_TEXT.match(text))


def lost_commitments(asked: Asked, text: str) -> tuple[str, ...]:
    """The commitments that a text no longer holds."""
    return tuple(losses.lost(asked, text)) if asked.commitments else ()


def _judged(asked: Asked, raw: str, finish: str | None, *, by_model: bool) -> Accepted | Refused:
    text, refused = _opened(asked, raw, finish)
    if refused:
        return refused
    material = material_of(asked)
    if reasoning.thinks_aloud(QUOTED.sub(" ", reasoning.without_reasoning(raw)[:4_000]), material.story):
        return Refused(Refusal.REASONING, f"the answer thinks aloud about its task: {brief(text)}")
    touched = [passage for passage in asked.locked if passage.strip() and passage not in text]
    if touched:
        return Refused(Refusal.HAND_TEXT_TOUCHED, f"a passage written by hand is changed or gone: {brief(touched[0])}")
    own = text
    for passage in sorted((passage for passage in asked.locked if passage.strip()), key=len, reverse=True):
        own = own.replace(passage, "\n")
    own = own.strip()
    if not _visible(own):
        if material.told:
            return Refused(Refusal.EMPTY, "the answer has nothing beside the passages written by hand")
        return Accepted(text, (), ())
    if by_model and not asked.amends and echo.repeats_previous(material, text):
        return Refused(Refusal.ECHO, "the answer is the earlier text, without what happened since")
    if by_model and asked.prose and not asked.retells and echo.copies_story(material, own):
        return Refused(Refusal.ECHO, "the answer copies the messages")
    refused = _kind_of_text(asked, material, own) or _length(asked, own)
    if refused:
        return refused
    if count_words(own) < LEAST_WORDS and material.words >= MUCH_READ:
        return Refused(Refusal.EMPTY, f"the answer says next to nothing: {brief(own)}")
    if not text.endswith(asked.locked or ("\0",)) and form.is_cut(own, lenient=not by_model):
        return Refused(Refusal.TRUNCATED, f"the answer breaks off: …{brief(own[-40:])}")
    book = book_of(material, own)
    source = f"{asked.previous}\n" + "\n".join(material.texts)
    wrong = language.wrong_language(source, own)
    if wrong:
        return Refused(Refusal.WRONG_LANGUAGE, f"the answer is in {wrong}, the story is not")
    invented = speakers.invented_in_prose(material, asked.prompt, own, book)
    if invented:
        return Refused(
            Refusal.SPEAKERS_INVENTED, f"names that occur nowhere in the story: {brief(', '.join(invented))}"
        )
    missing = [] if asked.amends else losses.people_missing(material, text, book)
    if missing:
        return Refused(
            Refusal.PEOPLE_MISSING, f"most people of the new messages are not named: {brief(', '.join(missing))}"
        )
    if size.grows(count_words(own), material.words):
        return Refused(
            Refusal.GROWING, f"the answer has {count_words(own)} words, more than the {material.words} it was made from"
        )
    gone = losses.dropped(asked.commitments, material, text, book)
    if gone:
        return Refused(Refusal.THREAD_DROPPED, f"an open thread is gone: {brief(gone[0], 100)}", tuple(gone))
    return Accepted(text, losses.shed(material, text, book), unverified(material, own, book))


def _opened(asked: Asked, raw: str, finish: str | None) -> tuple[str, Refused | None]:
    """The text inside the answer, or why there is none."""
    if not _visible(raw):
        return "", Refused(Refusal.EMPTY, "the answer is empty")
    if reasoning.is_open_block(raw):
        return "", Refused(Refusal.REASONING, "the answer is reasoning that never comes to an end")
    answer = reasoning.without_reasoning(raw)
    text = form.tidied(answer)
    if not _visible(text):
        alone = answer != raw
        said = "holds reasoning and nothing else" if alone else "is empty"
        return text, Refused(Refusal.REASONING if alone else Refusal.EMPTY, f"the answer {said}")
    if is_tool_call(text) or _TOOL_FIELDS.search(text):
        return text, Refused(Refusal.TOOL_CALL, "the answer is a tool call written out")
    if any(passage.strip() and passage in raw and passage not in text for passage in asked.locked):
        # What looks like trimmings is a person's own text.
        text = raw if any(passage in raw and passage not in raw.strip() for passage in asked.locked) else raw.strip()
    if finish in form.CUT:
        return text, Refused(Refusal.TRUNCATED, f"the server stopped the answer before its end ({finish})")
    return text, None


def _kind_of_text(asked: Asked, material: Material, text: str) -> Refused | None:
    words = count_words(text)
    voice = _voice(material, text)
    if refusal_talk.declines(voice, words):
        return Refused(Refusal.REFUSAL, f"the model declines: {brief(text)}")
    invented = speakers.invented_in_lists(material, asked.prompt, text)
    if invented:
        return Refused(
            Refusal.SPEAKERS_INVENTED, f"people that occur nowhere in the story: {brief(', '.join(invented))}"
        )
    if form.is_only_preamble(text) or (asked.prose and speakers.is_list(text)):
        return Refused(
            Refusal.NOT_PROSE, f"the answer announces a text, or lists people, and tells nothing: {brief(text)}"
        )
    meta = speaks_of_task(voice, material.story) or speaks_for_itself(voice, words, material.terms)
    if meta:
        return Refused(Refusal.REASONING, f"the model speaks of its task: {brief(meta)}")
    if echo.echoes_prompt(material, asked.prompt, text):
        return Refused(Refusal.ECHO, "the answer repeats the instructions")
    if asked.prose:
        if echo.plays_on(material, text):
            return Refused(Refusal.ECHO, "the answer plays on instead of telling what happened")
        structure = form.structure_of(text, material.story)
        if structure:
            return Refused(Refusal.NOT_PROSE, f"the answer is not prose but {structure}")
    return None


def _length(asked: Asked, text: str) -> Refused | None:
    words = count_words(text)
    if size.over_ceiling(words, asked.target_words):
        return Refused(
            Refusal.TOO_LONG,
            f"the answer has {words} words, over {size.CEILING} times its target of {asked.target_words}",
        )
    if size.goes_round(text):
        return Refused(Refusal.TOO_LONG, "the answer says the same sentences over and over")
    return None


def _voice(material: Material, text: str) -> str:
    """The beginning of an answer without quotations and without sentences of the story: the writer's own words."""
    unquoted = QUOTED.sub(" ", text[:4_000])
    own = [sentence for sentence in whole_sentences(unquoted) if len(sentence) < 20 or sentence not in material.story]
    return " ".join(own)


def _visible(text: str) -> bool:
    return any(mark.isalnum() for mark in text)
