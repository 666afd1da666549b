"""The model's own voice in an answer.

Owns the question whether a sentence speaks of the task instead of the story: someone says "I", or speaks of "the
user", and means the summary, the transcript, the request; or says "I can't" and "I think" of nothing that happened.
What must stay true: a word the story itself uses is the story's, so an agent's session about summaries can be told,
and a narrator may say "I".
"""

from __future__ import annotations

import re

from previously.folds.checks.traces import content_of

_SPEAKER = re.compile(
    r"\b(?:i|i'm|i'll|i'd|i've|me|my|we|our|let's|the user|ich|mir|mich|der nutzer|der benutzer|die nutzerin|je|j'ai|"
    r"j'|"
    r"moi|l'utilisateur|yo|debo|necesito|voy a|puedo|tengo que|el usuario|eu|preciso|devo|vou|posso|consigo|tenho "
    r"que|"
    r"o usuário|я|мне|нужно|надо|пользователь)\b|我|私|用户|用戶|ユーザー|必要が",
    re.I,
)
_TASK = re.compile(
    r"\b(?:summar\w+|recap\w*|synops[ie]s|transcript\w*|prompt|instructions?|word (?:count|limit|target)|"
    r"third[- ]person|past[- ]tense|(?:this|your|that|the) (?:conversation|request|content|material)|guidelines|"
    r"polic(?:y|ies)|language model|zusammenfass\w*|nacherzähl\w*|anfrage|sprachmodell|richtlinien|résum\w+|"
    r"récapitul\w*|modèle de langage|resum(?:en|ir|o)\w*|recapitul\w*|modelo de (?:lenguaje|linguagem)|solicitud|"
    r"diretrizes|directrices|пересказ\w*|резюм\w*|кратк\w+ содержани\w*|языковая модель|запрос\w*)\b|"
    r"总结|總結|摘要|概括|梗概|要約|あらすじ|まとめ|语言模型|言語モデル",
    re.I,
)
_CHAT = re.compile(
    r"^(?:okay|ok|alright|hmm+|sure|certainly|gut|d'accord|bien|bueno|vale|claro|certo|хорошо|ладно|好的|"
    r"はい)[,.!，、。！:]"
    r"|^(?:sorry|apologies|my apologies|lo siento|désolée?|desculpe|извините|抱歉|对不起|すみません)[,.，、。]"
    r"|^me temo que no\b|^(?:first |second |final |rough )?draft ?[:：]|^(?:entwurf|borrador|brouillon|rascunho) "
    r"?[:：]"
    r"|\b(?:do you want me to|would you like|shall i|want me to|möchtest du|soll ich|voulez-vous que|quieres que|"
    r"quer que eu)\b"
    r"|\b(?:about|around|under|roughly|in|ca\.) \d+ (?:words|wörter|mots|palabras|palavras|слов)\b"
    r"|\b(?:important|key) (?:thing|things|points?|facts|details|threads?|beats) (?:to|here|for|are|include)\b"
    r"|\b(?:fasse|fass)\b[^.!?]{0,60}\bzusammen\b|\bdie figuren sind\b|\bmal sehen\b|请问您|您希望我|ましょうか",
    re.I,
)
"""What is said to the one who asked, or to oneself over the work; never by someone who tells a story."""

_NOW = re.compile(
    r"\b(?:i'm|i am|i can|i can't|i cannot|i think|i'd|i'll|i must|i should|should i|let me|i won't|i will|i don't|"
    r"i do not|i have to|i need to|ich (?:kann|darf|werde|möchte|muss|soll|bin|denke)|"
    r"(?:kann|darf|werde|möchte|muss) ich|je (?:ne )?(?:peux|suis|dois|vais|pense)|puedo|prefiero|debo|voy a|creo "
    r"que|"
    r"posso|prefiro|vou|devo|consigo|acho que|я (?:не )?(?:могу|буду|должен|должна|думаю))\b|"
    r"我(?:无法|無法|不能|来|將|将|觉得|需要)|私は[^。]{0,20}(?:ません|ます。)",
    re.I,
)
_SAID = re.compile(
    r"\b(?:said|says|told|tells|asked|asks|replied|answered|thought|whispered|wrote|sagte|sagt|fragte|dit|dijo|disse|"
    r"сказал\w*|говорит)\b|[说道言]",
    re.I,
)
_MODALS = frozenset(
    content_of("think should must need can't won't i'm i'll i'd cannot kann darf werde möchte puedo debo posso devo")
)
_SENTENCES = 6
_SHORT = 80
_OURS = 0.5


def speaks_of_task(unquoted: str, story: str) -> str | None:
    """The first sentence, quotations taken out, in which the writer speaks of what it was asked to do."""
    told = story.lower()
    for sentence in _sentences(unquoted):
        chat = _CHAT.search(sentence)
        if chat and chat.group().lower() not in told:
            return sentence
        if not _SPEAKER.search(sentence):
            continue
        if any(match.group().lower() not in told for match in _TASK.finditer(sentence)):
            return sentence
    return None


def speaks_for_itself(unquoted: str, words: int, told: frozenset[str]) -> str | None:
    """The sentence in which a short answer, quotations taken out, says of itself what the story does not say.

    `words` is how long the answer is, `told` the telling words of the story.
    """
    for sentence in _sentences(unquoted)[: _SENTENCES if words <= _SHORT else 1]:
        if not _NOW.search(sentence) or _SAID.search(sentence):
            continue
        terms = [term for term in content_of(sentence) if term not in _MODALS]
        if sum(1 for term in terms if term in told) <= _OURS * len(terms):
            return sentence
    return None


def _sentences(unquoted: str) -> list[str]:
    text = unquoted[:1_500].replace("’", "'")
    return [piece.strip() for piece in re.split(r"(?<=[.!?。！？\n])\s*", text) if piece.strip()][:_SENTENCES]
