"""Reasoning left in an answer.

Owns the tags models think in and the phrases they think with. A closed block before the answer comes off; an open
one, or thinking aloud in plain words, leaves nothing to trust. What must stay true: tags and thoughts inside the
story are the story's own, and people in it may think, plan and need to.
"""

from __future__ import annotations

import re

_NAMES = (
    r"(?:think|thinking|thought|thoughts|reasoning|reason|reflection|reflect|analysis|scratchpad|"
    r"inner_monologue|cot|seed:think)"
)
_OPEN = re.compile(rf"(?<!\s)\s*(?:<\|?{_NAMES}\|?>|\[{_NAMES}\]|◁think▷|<｜thinking｜>)", re.I)
_CLOSE = re.compile(
    rf"(?:</\|?{_NAMES}\|?>|<\|/{_NAMES}\|>|<\|end_?of_?{_NAMES}\|>|<\|{_NAMES}_end\|>|\[/{_NAMES}\]|◁/think▷|"
    rf"<｜/thinking｜>)\s*",
    re.I,
)
_CHANNEL = re.compile(
    r"\s*<\|channel\|>\s*(?:analysis|commentary)\b.*?<\|channel\|>\s*final\s*(?:<\|message\|>)?", re.S | re.I
)
_CHANNEL_OPEN = re.compile(r"\s*<\|channel\|>", re.I)
_MOST_BLOCKS = 4
_FINAL = re.compile(r"\s*<\|channel\|>\s*final\s*<\|message\|>", re.I)

_TASK = (
    r"(?:summar\w+|recap\w*|synopsis|past[- ]tense|third[- ]person|word (?:count|limit|target)|\d+ words|the prompt|"
    r"the instructions?|"
    r"the transcript|the (?:new )?messages|the previous (?:text|summary|recap)|open threads|output|preamble|the "
    r"conversation)"
)
_ENGLISH = re.compile(
    rf"(?:^|(?<=[.!?\n] ))(?:(?:okay|ok|alright|all right|hmm+|so|right|well|first|now|wait|let's see|good)[,.…]* +)*"
    rf"(?:(?:i|we)(?:'ll| will|'d| would)? (?:need|should|must|have|want|might|can|could|am|'m|are|going)\b|i'll|"
    rf"we'll|"
    rf"let me|let's|let us)[^.!?\n]{{0,160}}?\b{_TASK}"
    rf"|(?:^|(?<=[.!?\n] ))(?:(?:okay|ok|alright|hmm+|so)[,.…]* +)?the user (?:wants|asks|asked|is asking|has asked|"
    rf"would like|has given|"
    rf"gave|provided|has provided)[^.!?\n]{{0,40}} (?:me|us)\b[^.!?\n]{{0,120}}"
    r"",
    re.I,
)
_ABOUT_TASK = re.compile(
    rf"(?:^|(?<=[.!?\n] ))(?:(?:okay|ok|alright|hmm+|so)[,.…]* +)?the (?:user|task|prompt|instructions?) (?:wants|"
    rf"asks|says?|is to|requires?|"
    rf"asks for)[^.!?\n]{{0,120}}?\b{_TASK}",
    re.I,
)
_STARTS = re.compile(
    r"(?:okay|ok|alright|hmm+|so|right)[,.…]* +(?:so +)?(?:let me|let's|i need|i should|i have to|we need|we should|"
    r"the user)\b"
    r"|(?:analysis|reasoning|thoughts?|plan)\s*[:：]|(?:we|i) (?:need|have) to \w+",
    re.I,
)
_OPENERS = re.compile(
    r"(?:(?:okay|ok|alright|hmm+|so|right|first|now)[,.…]* +)*(?:so +)?(?:let me|let's|let us) (?:think|start|break|"
    r"analy[sz]e|"
    r"go through|see what|figure|first|re-?read|begin|identify|list|draft|write|summari[sz]e|craft|work|review|"
    r"compile|rewrite|"
    r"note|check|count|try|recap|outline|look at|parse|merge|combine)\b"
    r"|(?:thinking process|thought process|my reasoning|chain of thought|step 1|step one)\s*[:：]"
    r"|(?:we |i |i'm |we're )?(?:need|have|going) to (?:produce|write|update|create|generate|summari[sz]e|rewrite|"
    r"merge|fold|output|craft|compress)\b",
    re.I,
)
_OTHERS = re.compile(
    r"^(?:okay|also|gut|hmm+|alors|bon|d'accord|bueno|vale|bem|bom|хорошо|итак|так|ладно|好的?|嗯|首先|让我|讓我|"
    r"では|さて|まず|えっと|"
    r"うーん)?[,，、。.… ]*(?:"
    r"ich (?:muss|soll|sollte|werde)\b[^.!?\n]{0,100}(?:zusammenfass|zusammenfassung|aktualisier)|der (?:nutzer|"
    r"benutzer|user) (?:möchte|will|bittet)"
    r"|je (?:dois|vais|devrais)\b[^.!?\n]{0,100}(?:résum|mettre à jour)|l['’]utilisateur (?:me |m['’])?(?:demande|"
    r"veut|souhaite)"
    r"|(?:necesito|debo|tengo que|voy a)\b[^.!?\n]{0,100}(?:resum|actualiz)|el usuario (?:me )?(?:pide|quiere)"
    r"|(?:preciso|devo|tenho que|vou)\b[^.!?\n]{0,100}(?:resum|atualiz)|o usuário (?:me )?(?:pede|quer|pediu)"
    r"|(?:мне|я|нам) (?:нужно|надо|должен|должна|следует)\b[^.!?\n]{0,100}(?:пересказ|резюм|обнов|сводк|содержани)|"
    r"пользователь (?:хочет|просит|дал)"
    r"|[^。\n]{0,20}(?:我(?:需要|应该|應該|要|得)|让我|讓我)[^。\n]{0,60}(?:总结|總結|摘要|概括|更新|分析)|(?:用户|"
    r"用戶|使用者)(?:要求|希望|想要|让我|需要)"
    r"|[^。\n]{0,20}ユーザーは[^。\n]{0,60}(?:求めて|望んで|依頼)|[^。\n]{0,60}(?:要約|まとめ|"
    r"あらすじ)[^。\n]{0,30}(?:必要がある|必要があります|しなければ|しよう|考え)"
    r")",
    re.I,
)


def without_reasoning(text: str) -> str:
    """The answer after a closed block of reasoning; the text itself when there is none."""
    channel = _CHANNEL.match(text) or _FINAL.match(text)
    if channel:
        return text[channel.end() :].strip()
    for _ in range(_MOST_BLOCKS):
        opening = _OPEN.search(text)
        closing = _CLOSE.search(text)
        if closing is None or (opening is not None and not _OPEN.match(text) and opening.start() < closing.start()):
            break  # what opens and closes inside the text is its own
        text = text[closing.end() :]
    return text.strip()


def is_open_block(text: str) -> bool:
    """Whether an answer starts to think in tags and never stops."""
    return bool(
        (_OPEN.match(text) and not _CLOSE.search(text)) or (_CHANNEL_OPEN.match(text) and not _FINAL.search(text))
    )


def thinks_aloud(unquoted: str, story: str) -> bool:
    """Whether an answer, its quotations taken out, starts by thinking about its task.

    Where the story itself is about summaries and transcripts, to mention them is no thinking.
    """
    opening = unquoted.strip()[:600].replace("’", "'")
    first = opening[:220]
    if _OTHERS.match(first) or _OPENERS.match(first):
        return True
    if _STARTS.match(first) and re.search(_TASK, opening, re.I):
        return True
    found = _ENGLISH.search(opening)
    if found is not None and found.start() < 200:
        return True
    about = _ABOUT_TASK.search(opening)
    if about is None or about.start() >= 200:
        return False
    told = story.lower()
    return not any(word.lower() in told for word in re.findall(_TASK, about.group(), re.I))
