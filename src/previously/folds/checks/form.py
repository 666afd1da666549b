"""The outer form of an answer: what is harmless comes off, what is not prose is told.

Owns how an answer ends, and preambles, fences, wrapping tags and closing remarks, which are taken off while a body
remains, and lists, headings, tables, JSON and YAML, which are no recap. What must stay true: tidying never changes a
word of the body, tidying a tidied text changes nothing, and a text in a script that has no end mark is never called cut
off for lacking one.
"""

from __future__ import annotations

import json
import re

from previously.core.text import clean
from previously.core.words import count_words

_INVISIBLE = re.compile("[\ufeff\u200b\u200e\u200f\u2060\u00ad\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ufffe\uffff]")
_END_TOKENS = re.compile(
    r"\s*(?:<\|?/?(?:s|eos|bos|im_end|im_start|eot_id|eot|end|end_of_text|endoftext|end_of_turn|start_of_turn)\|?>|"
    r"\[/?INST\]|"
    r"</?｜(?:begin▁of▁sentence|end▁of▁sentence|User|Assistant)｜>)\s*"
)
_FENCE = re.compile(r"\s*(?P<mark>```+|~~~+)[ \t]*[\w-]{0,20}[ \t]*\n(?P<body>.*?)\n?[ \t]*(?P=mark)\s*", re.S)
_WRAPPER = re.compile(r"\s*<(?P<tag>[A-Za-z][\w-]{0,30})>\s*(?P<body>.*?)\s*</(?P=tag)>\s*", re.S)
_INLINE_TAGS = re.compile(r"</?(?:i|b|em|strong|u|br|p|span)\s*/?>", re.I)
_STRONG = re.compile(r"\*\*(?=\S)([^*\n]{1,400}?)(?<=\S)\*\*|__(?=\S)([^_\n]{1,400}?)(?<=\S)__")
_QUOTE_PAIRS = {'"': '"', "“": "”", "„": "“", "«": "»", "「": "」", "『": "』"}

_NOUN = (
    r"(?:summary|recap|summari[sz]ation|synopsis|story so far|memory|backbone|zusammenfassung|résumé|resume|"
    r"récapitulatif|resumen|resumo|"
    r"recapitulación|краткое содержание|пересказ|сводка|резюме|要約|あらすじ|まとめ|概要|摘要|总结|總結|概述|梗概)"
)
_ADJECTIVES = (
    r"(?:(?:the|an?|your|updated|new|revised|final|concise|brief|short|plain|rolling|current|complete|merged|combined|"
    r"latest|story|chapter|prose|die|eine|aktualisierte|neue|hier|le|la|un|el|o|a|обновлённое|обновленное|новое|"
    r"обновлённый|обновленный)[ ]+){0,6}"
    r"(?:更新された|更新した|最新の|新しい|更新后的|更新後的|最新|以下){0,2}"
)
_HEADING = re.compile(
    rf"(?:#{{1,6}}[ \t]*|\*\*|__|\[|【|={{2,}}[ ]*)?{_ADJECTIVES}{_NOUN}(?:[ ]+(?:so far|actualizado|atualizado|mis "
    rf"à jour))?"
    r"[ \t]*(?:\([^()\n]{1,40}\))?(?:\*\*|__|\]|】|[ ]*={2,})?[ \t]*(?P<colon>[:：])?[ \t]*(?:\*\*|"
    r"__)?(?P<rest>[^\n]*)",
    re.I,
)
_PREAMBLE = re.compile(
    r"(?:(?:sure|certainly|of course|okay|ok|alright|absolutely|got it|understood|no problem|gerne|natürlich|klar|"
    r"bien sûr|d'accord|claro|por supuesto|com certeza|конечно|хорошо|はい|承知しました|わかりました|了解しました|"
    r"好的|当然|當然)[ ]?[,.!。！、，—–-]?[ ]*)?"
    r"(?:(?:here(?:'s| is| are|’s)|below is|the following is|this is|i(?:'ve| have)|voici|hier ist|aquí (?:está|"
    r"tienes)|"
    rf"aqui está|вот|以下|这是|これ)[^\n:：.!?]{{0,120}}?{_NOUN}[^\n:：.!?]{{0,80}}|"
    r"(?:here(?:'s| is|’s)|below is) (?:the|an?|my|your) [^\n:：.!?]{0,80}(?=[:：][ \t]*\n)|"
    rf"{_ADJECTIVES}{_NOUN}[^\n:：.!?]{{0,40}})"
    r"[:：][ \t]*(?P<rest>[^\n]*)",
    re.I,
)
_ONLY_CHATTER = re.compile(
    r"(?:sure|certainly|of course|okay|ok|absolutely|got it|understood|no problem|done|yes|gerne|natürlich|bien sûr|"
    r"d'accord|claro|"
    r"por supuesto|com certeza|конечно|хорошо|はい|承知しました|わかりました|かしこまりました|了解です|好的|当然可以|"
    r"没问题)"
    r"[^\n]{0,60}[!.,。！、，]?",
    re.I,
)
_CLOSING = re.compile(
    r"\s*\n[ \t]*(?:-{3,}|\*{3,}|_{3,}|={3,}|"
    r"[(\[*_]*(?:word count|words?|total words|wortanzahl|nombre de mots|字数|文字数|количество слов)[ ]*[:：=~≈]*[ "
    r"]*\d+[^\n]{0,20}|"
    r"[(\[]?~?\d+ words[)\]]?\.?|"
    r"(?:let me know|feel free|i hope this|would you like|please let me know|is there anything|lass mich wissen|"
    r"n'hésitez pas|"
    r"avísame|me avise|дайте знать|如果需要|如需|ご不明|必要であれば)[^\n]{0,200})[ \t]*$",
    re.I,
)

_BULLET = re.compile(r"[ \t]*(?:[-*•‣◦▪●・][ \t]+|[-•●・](?=\S)(?!-)|\(?\d{1,2}[.)][ \t]+|[a-z][.)][ \t]+)\S")
_MARKDOWN_HEADING = re.compile(
    r"[ \t]*(?:#{1,6}[ \t]+\S|\*\*[^*\n]{1,60}\*\*:?[ \t]*$|__[^_\n]{1,60}__:?[ \t]*$|【[^】\n]{1,30}】[ \t]*$)"
)
_BARE_HEADING = re.compile(r"[ \t]*[^\s.!?。！？:：\"“「][^.!?。！？:：\"“「\n]{0,40}[:：][ \t]*$")
_FIELD = re.compile(
    r"[ \t]*[\"']?[^\W\d_][\w .'’/&()-]{0,40}[\"']?[ \t]*[:：=](?:[ \t]+\S|[ \t]*$)|[ \t]*[\u3040-\u9fff]{1,12}[:：]"
)
_ENTRY = re.compile(r"[ \t]*[^\W\d_][\w.'’]{0,20}(?: [^\W\d_][\w.'’]{0,20}){0,2} [-–—] \S")
_ANNOUNCES = re.compile(
    r"(?:sure|certainly|of course|okay|ok)?[,.! ]*(?:here(?:'s| is|’s)|below is|this is|the following is|voici|hier "
    r"ist|aquí está|"
    rf"aqui está|вот|以下)[^\n.!?。]{{0,160}}{_NOUN}[^\n.!?。]{{0,160}}[.!?。]?",
    re.I,
)
_SAID = re.compile(r"[^:：\n]{1,80}[:：][ \t]*[\"“„«「『]")
_TABLE = re.compile(r"[ \t]*\|.*\|[ \t]*$")
_TAG = re.compile(r"</?[A-Za-z_][\w:-]{0,40}(?:\s[^<>\n]{0,200})?/?>")


def tidied(text: str) -> str:
    """The answer without what surrounds it. What would leave nothing is left as it is."""
    text = clean(text)[0]
    text = _INVISIBLE.sub("", text.replace("\r\n", "\n").replace("\r", "\n")).strip()
    for _ in range(6):
        before = text
        text = _once(text)
        if text == before:
            break
    return text


def _once(text: str) -> str:
    text = _without_end_tokens(text)
    for wrapped in (_FENCE, _WRAPPER):
        match = wrapped.fullmatch(text)
        if match and _has_body(match.group("body")) and match.group("body").count("```") == 0:
            text = match.group("body").strip()
    text = _INLINE_TAGS.sub("", text) if "<" in text else text
    text = _without_quotes(text)
    text = _without_first_line(text)
    while (closing := _CLOSING.search(text)) and _has_body(text[: closing.start()]):
        text = text[: closing.start()].rstrip()
    lines = text.split("\n")
    if not any(_MARKDOWN_HEADING.match(line) for line in lines):
        text = _STRONG.sub(lambda match: match.group(1) or match.group(2), text)
    return text.strip()


def _without_end_tokens(text: str) -> str:
    for _ in range(8):
        first = _END_TOKENS.match(text)
        if first:
            text = text[first.end() :]
        last = re.search(rf"(?:{_END_TOKENS.pattern})\Z", text[-80:])
        if last:
            text = text[: len(text) - len(last.group())]
        if not first and not last:
            break
    return text


def _without_quotes(text: str) -> str:
    """Quotes around the whole answer, not around what someone says first and someone else last."""
    closer = _QUOTE_PAIRS.get(text[:1])
    if closer and len(text) > 2 and text.endswith(closer):
        inner = text[1:-1]
        if text[0] not in inner and closer not in inner and _has_body(inner) and count_words(inner) >= 12:
            return inner.strip()
    return text


def _without_first_line(text: str) -> str:
    for pattern in (_HEADING, _PREAMBLE):
        match = pattern.match(text)
        if not match:
            continue
        if pattern is _HEADING and match.group("rest").strip(" *_") and not match.group("colon"):
            continue  # "The story so far had been kind to her": prose that happens to begin so
        body = text[match.start("rest") :].strip()
        if _has_body(body):
            return body
    first, _, after = text.partition("\n")
    if _ONLY_CHATTER.fullmatch(first.strip()) and count_words(first) <= 12 and _has_body(after):
        return after.strip()
    return text


def _has_body(text: str) -> bool:
    """Something that could be a recap: a few words, not a list of one."""
    return count_words(text) >= 4


def is_only_preamble(text: str) -> bool:
    """Whether there is an announcement and nothing announced."""
    flat = text.strip()
    if count_words(flat) > 40:
        return False
    heading = _HEADING.fullmatch(flat)
    if heading and not heading.group("rest").strip(" *_#:"):
        return True
    if flat.endswith((":", "：")):
        return True
    return bool(_ONLY_CHATTER.fullmatch(flat) or _ANNOUNCES.fullmatch(flat))


def structure_of(text: str, story: str = "") -> str | None:
    """What kind of structure stands in the place of prose; None when it is prose. Tags the story has are its own."""
    stripped = text.strip()
    if _is_json(stripped):
        return "JSON"
    lines = [line for line in text.split("\n") if line.strip()]
    tags = [tag for tag in _TAG.findall(text) if tag not in story]
    if len(tags) >= 2:
        return "markup tags"
    if "```" in text:
        return "a code block"
    bullets = sum(1 for line in lines if _BULLET.match(line))
    if bullets >= 2 and bullets >= 0.4 * len(lines):
        return "a list"
    if bullets == 1 and len(lines) == 1 and re.match(r"[ \t]*[-*•●][ \t]", lines[0]) and not stripped.endswith("*"):
        return "a list"
    if sum(1 for line in lines if _TABLE.match(line)) >= 2:
        return "a table"
    headings = sum(1 for line in lines if _MARKDOWN_HEADING.match(line))
    bare = sum(1 for line in lines if _BARE_HEADING.match(line))
    if headings or bare >= 2:
        return "headings"
    fields = sum(
        1
        for line in lines
        if (_FIELD.match(line) or _ENTRY.match(line)) and not _SAID.match(line) and count_words(line) <= 30
    )
    if (fields >= 2 and fields >= 0.6 * len(lines)) or (fields >= 3 and fields >= 0.5 * len(lines)):
        return "fields with values"
    return None


def _is_json(text: str) -> bool:
    if text[:1] not in "{[" or text[-1:] not in "}]":
        return bool(re.match(r"\{\s*\"[^\"\n]{1,60}\"\s*:", text) or re.match(r"\[\s*[\{\"]", text))
    if re.match(r"[\[{]\s*[\"'{\[}\]]", text):
        return True
    try:
        return isinstance(json.loads(text[:200_000]), dict | list)
    except (ValueError, RecursionError):
        return False


CUT = frozenset(
    {"length", "max_tokens", "max_output_tokens", "model_length", "error", "abort", "aborted", "cancelled", "timeout"}
)
"""What servers say when an answer stopped for another reason than being finished."""

_CLOSERS = "\"'”’“‘»«›)]}」』）】〉》*_~` \t\n"
_END = ".!?…。！？｡．؟।॥։።។။།;·‼⁉⁈᙮꓿"
_NO_END_MARK = re.compile("[\u0e00-\u0eff\u0f00-\u0fff\u1000-\u109f\u1780-\u17ff]$")
_OPEN = re.compile(r"[\w,;:、，；：\-–—(\[「『“„«&/+=<]$")


def is_cut(text: str, *, lenient: bool) -> bool:
    """Whether a text stops before its end, by its last mark. `lenient` = a missing full stop alone says nothing."""
    text = text.rstrip()
    if text[-1:] in '"“„«「『(（[' and (text[-2:-1].isspace() or text[-1] not in '"“'):
        return True  # a quotation that has just begun
    bare = text.rstrip(_CLOSERS)
    if not bare or bare[-1] in _END.replace(";", "") or _NO_END_MARK.search(bare):
        return False
    if bare != text and text[-1] in '"”’»」』)）]】' and bare[-1] not in ",;:、，；：-–—(":
        return False  # … known as "the Hen"
    return not bare[-1].isalnum() and bool(_OPEN.search(bare)) if lenient else bool(_OPEN.search(bare))
