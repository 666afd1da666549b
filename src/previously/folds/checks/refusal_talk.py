"""A model that declines.

Owns the phrases in which models refuse, excuse themselves or ask for material, in the commoner languages. What must
stay true: only the model's own voice counts. What stands in quotation marks, or in the story's own words, is someone
in the story, who may refuse and be sorry as often as they like.
"""

from __future__ import annotations

import re

_SELF = re.compile(
    r"\bas an? (?:\w+ ){0,2}(?:ai|a\.i\.|artificial intelligence|language model|assistant|llm)\b[^.!?\n]{0,80}\b(?:i|"
    r"my)\b"
    r"|\bi(?:'m| am) (?:just |only )?an? (?:\w+ ){0,2}(?:ai|language model|ai assistant|virtual assistant|large "
    r"language model)\b"
    r"|\b(?:violat\w+|against|goes against|in line with|conflicts? with|outside) (?:my|our|the|openai's|anthropic's) "
    r"(?:\w+ ){0,2}"
    r"(?:guidelines|polic(?:y|ies)|content polic(?:y|ies)|usage polic(?:y|ies)|terms of (?:service|use)|programming|"
    r"safety rules)\b"
    r"|\bals (?:ki|künstliche intelligenz|(?:ki-)?sprachmodell|assistent)\b[^.!?\n]{0,80}\bich\b|\bals (?:ki|"
    r"sprachmodell|künstliche intelligenz) kann ich\b"
    r"|\ben tant qu(?:e |['’])(?:ia|intelligence artificielle|assistant|modèle)\b[^.!?\n]{0,100}\b(?:je|j['’])"
    r"|\bcomo (?:una? )?(?:ia|inteligencia artificial|modelo de lenguaje|asistente)\b[^.!?\n]{0,100}\b(?:no "
    r")(?:puedo|me es|podré)\b"
    r"|\bcomo (?:uma? )?(?:ia|inteligência artificial|modelo de linguagem|assistente)\b[^.!?\n]{0,100}\bnão (?:posso|"
    r"consigo|me é)\b"
    r"|\bкак (?:ии|искусственный интеллект|языковая модель|ассистент)\b[^.!?\n]{0,100}\b(?:я|не могу)\b"
    r"|作为(?:一个|一名)?(?:ai|人工智能|语言模型|大型语言模型|助手)[^。\n]{0,60}(?:我|无法|不能)|作為(?:一個)?(?:ai|"
    r"人工智慧|語言模型)[^。\n]{0,60}(?:我|無法|不能)"
    r"|(?:ai|言語モデル|人工知能|アシスタント)(?:アシスタント|言語モデル)?として[^。\n]{0,60}(?:できません|"
    r"できかねます|お断り|控え)",
    re.I,
)

_DOING = (
    r"(?:assist|help(?! but)|continue (?:with|this|the|writing)|fulfil\w*|comply|provide|create|write|summari[sz]e|"
    r"engage|generate|produce|process|"
    r"complete (?:this|that|the|your)|do (?:that|this)|participate|support|discuss|respond|answer|share|offer|recap|"
    r"accommodate|proceed|"
    r"work with|access|see (?:any|the|a)|find (?:any|the) (?:transcript|text|messages|story|conversation))"
)
_DECLINES = re.compile(
    rf"\b(?:i|we)(?: am|'m| are|'re)?(?: (?:really|very|so|truly|terribly))? ?(?:sorry|afraid|"
    rf"apologi[sz]e)\b[^.!?\n]{{0,60}}\b(?:but|that|,)? ?i?[^.!?\n]{{0,20}}"
    rf"\b(?:can(?:not|'t| not)|could(?:n't| not)|won't|will not|unable|not able|must "
    rf"decline)\b[^.!?\n]{{0,30}}\b{_DOING}"
    rf"|^\W*(?:unfortunately|regrettably|sorry|apologies|my apologies|i apologi[sz]e)[^.!?\n]{{0,40}}\bi(?:'m| am)? "
    rf"?(?:can(?:not|'t)|won't|will not|unable|not able|must)\b"
    rf"|^\W*(?:no[,.] )?i (?:can(?:not|'t| not)|won't|will not|must decline|have to decline|decline to|am not able "
    rf"to|am unable to|do not feel comfortable|"
    rf"don't feel comfortable|refuse to|would rather not|prefer not to)\b[^.!?\n]{{0,40}}(?:{_DOING}|summar|request|"
    rf"content)"
    rf"|^\W*i (?:understand|appreciate|see|know|realize)\b[^.!?\n]{{0,160}}\b(?:but|however|"
    rf"though)\b[^.!?\n]{{0,40}}\b(?:can't|cannot|"
    rf"won't|unable|not able|must decline|not comfortable)\b"
    rf"|^\W*(?:that|this)(?:'s| is) (?:not )?(?:something|a request|content)[^.!?\n]{{0,30}}\bi(?:'m| am)? ?(?:can't|"
    rf"cannot|won't|not|unable|able)\b"
    rf"|^\W*i(?:'m| am) (?:unable|not able|not comfortable|not allowed|not permitted|not going to|going to have to "
    rf"decline)\b"
    rf"|\b(?:your|this|that|the) (?:request|prompt|content|material|text) (?:appears to |seems to )?(?:contains?|"
    rf"involves?|includes?|depicts?|violates?)\b"
    rf"[^.!?\n]{{0,80}}\b(?:i (?:can|won|am|must|will)|inappropriate|explicit|harmful|violat|not appropriate|policy)"
    rf"|^\W*(?:thanks?(?: you)? for (?:sharing|providing|the (?:text|story))|please (?:provide|share|paste|send|give "
    rf"me|supply)|could you (?:please )?(?:provide|share|paste)|(?:it )?(?:looks|seems) like (?:you|the|there)"
    rf"[^.!?\n]{{0,60}}(?:transcript|text|message|provid|story|conversation)|i (?:don't|do not) (?:see|have)(?: "
    rf"access to)? (?:any|the|a|enough)|"
    rf"there (?:is|are|was|were) no (?:text|transcript|messages|story|conversation|content|new "
    rf"information)\b[^.!?\n]{{0,40}}(?:to|provided|given|in))"
    rf"|^\W*i(?:'d| would) be (?:happy|glad) to\b|^\W*i(?:'m| am) (?:ready|here) to (?:help|assist|summari[sz]e)|"
    rf"^\W*how (?:can|may) i (?:help|assist)"
    rf"|^\W*(?:content (?:blocked|removed|filtered)|\[(?:content|response|request) (?:blocked|removed|filtered|"
    rf"redacted|withheld)[^\]]*\]|request (?:denied|rejected|blocked))",
    re.I,
)  # fmt: skip

_OTHER_LANGUAGES = re.compile(
    # German
    r"^\W*(?:es tut mir (?:sehr )?leid|tut mir leid|leider|entschuldigung|ich bedau[e]?re)[^.!?\n]{0,80}\b(?:kann|"
    r"darf|möchte|werde) (?:ich|dabei|dir|ihnen)\b[^.!?\n]{0,100}"
    r"|^\W*(?:leider )?(?:ich )?(?:kann|darf|werde) (?:ich )?(?:diese|diesen|dieser|dieses|dabei|ihnen|dir|hierbei|"
    r"bei dieser|das|die)\b[^.!?\n]{0,80}"
    r"\b(?:nicht|keine)\b[^.!?\n]{0,40}\b(?:helfen|unterstützen|zusammenfassen|erfüllen|bearbeiten|erstellen|"
    r"nachkommen|fortsetzen|weiterhelfen)"
    r"|^\W*(?:bitte (?:gib|geben|teile|schick)|könnten sie (?:mir )?(?:bitte )?)[^.!?\n]{0,60}\b(?:text|gespräch|"
    r"nachrichten|verlauf|transkript)"
    # French
    r"|^\W*(?:je suis (?:vraiment )?désolée?|désolée?|malheureusement|je regrette|je m['’]excuse|"
    r"navrée?)[^.!?\n]{0,60}\bje (?:ne (?:peux|puis|suis|pourrai)|refuse)"
    r"|^\W*je ne (?:peux|puis|suis) (?:pas|malheureusement pas|pas en mesure)[^.!?\n]{0,60}(?:aider|résumer|répondre|"
    r"continuer|fournir|satisfaire|traiter|donner suite|assister|produire|créer)"
    r"|^\W*(?:veuillez|merci de|pourriez-vous)[^.!?\n]{0,40}(?:fournir|partager|coller|envoyer)"
    # Spanish
    r"|^\W*(?:lo siento|lo lamento|lamentablemente|desafortunadamente|disculpa|disculpe|perdón|me "
    r"temo)[^.!?\n]{0,60}\bno (?:puedo|podré|me es posible|estoy en condiciones)"
    r"|^\W*no (?:puedo|podré|me es posible)[^.!?\n]{0,40}(?:ayudar|ayudarte|ayudarle|resumir|continuar|proporcionar|"
    r"cumplir|generar|crear|procesar|atender)"
    r"|^\W*(?:por favor,? )?(?:proporci[oó]n[ae]\w*|comparte|envía\w*)[^.!?\n]{0,60}(?:texto|conversación|mensajes|"
    r"transcripción)"
    # Portuguese
    r"|^\W*(?:(?:sinto muito|desculpe|lamento|me desculpe|peço desculpas|infelizmente|"
    r"lamentavelmente))[^.!?\n]{0,60}\bnão (?:posso|consigo|poderei|é possível|estou)"
    r"|^\W*não (?:posso|consigo|me é possível)[^.!?\n]{0,40}(?:ajudar|ajudá-lo|resumir|continuar|fornecer|cumprir|"
    r"gerar|criar|processar|atender)"
    # Russian
    r"|^\W*(?:извините|простите|к сожалению|прошу прощения|мне (?:очень )?жаль|сожалею)[^.!?\n]{0,60}\b(?:я )?(?:не "
    r"(?:могу|смогу|имею|в состоянии)|вынужден)"
    r"|^\W*я не (?:могу|смогу|буду)[^.!?\n]{0,40}(?:помочь|пересказ|резюмир|продолж|выполн|создать|обработ|предостав|"
    r"обсужд|ответить|написать)"
    # Chinese
    r"|^\W*(?:很?抱歉|对不起|對不起|非常抱歉|不好意思|很遗憾)[^。\n]{0,40}(?:无法|無法|不能|没办法|不便|不可以)"
    r"|^\W*我(?:无法|無法|不能|不可以)[^。\n]{0,30}(?:协助|帮助|总结|摘要|提供|生成|完成|继续|处理|满足|回答|參與|协|"
    r"幫)"
    r"|^\W*请(?:提供|您提供|分享|发送)[^。\n]{0,30}(?:文本|对话|内容|消息|记录)"
    # Japanese
    r"|^\W*(?:申し訳(?:ございません|ありません)|すみません|恐れ入りますが|残念ながら|"
    r"大変申し訳)[^。\n]{0,80}(?:できません|できかねます|いたしかねます|お答え|お手伝い|対応|お断り|控え)"
    r"|^\W*(?:この|その|ご依頼|ご要望|リクエスト|お客様)[^。\n]{0,60}(?:できません|できかねます|いたしかねます|"
    r"お応えできません|お断り)"
    r"|^\W*(?:要約|まとめ)(?:する|対象の)?[^。\n]{0,30}(?:を|が)(?:提供|教え|お送り|ありません|見つかりません)",
    re.I,
)  # fmt: skip
_WITHIN = 400
"""Characters from the start within which a model declines: it does so first."""

_SHORT = 80


def declines(unquoted: str, words: int) -> bool:
    """Whether an answer, its quotations taken out, is a model declining. `words` is how long the answer is."""
    text = unquoted.strip().replace("’", "'")
    opening = text[:_WITHIN]
    if _SELF.search(opening) or (words <= _SHORT and _SELF.search(text)):
        return True
    if _DECLINES.match(opening) or _OTHER_LANGUAGES.match(opening):
        return True
    if words > _SHORT:
        return False
    return any(
        _DECLINES.match(sentence.strip()) or _OTHER_LANGUAGES.match(sentence.strip()) for sentence in _sentences(text)
    )


def _sentences(text: str) -> list[str]:
    return [sentence for sentence in re.split(r"(?<=[.!?。！？\n])\s*", text[:2_000]) if sentence.strip()]
