"""Whose voice a text speaks in: the story's, a narrator's "I", or that of a model talking about its work.

Owns the words for it in the commoner languages. What must stay true: what stands in quotation marks is someone in the
story, who may refuse, be sorry and say "I"; no text raises, and the work is linear in the text.
"""

from __future__ import annotations

import re

from previously.text.sentences import QUOTED, whole_sentences

_SINGLE = re.compile(
    r"(?:(?<=\s)|(?<=^)|(?<=[(—–]))['‘](?=\w)[^'‘’\n]{0,300}(?:['’](?=\w)[^'‘’\n]{0,300}){0,6}['’](?!\w)"
)
_SET_APART = re.compile(
    r"(?<![\w*])\*(?=[^\s*])[^*\n]{0,400}[^\s*]\*(?![\w*])|(?<![\w_])_(?=[^\s_])[^_\n]{0,400}[^\s_]_(?![\w_])"
)
"""What somebody wrote is often given in italics: the words of a letter, a card or a sign."""
_SAME = re.compile(r"”[^“”\n]*”")
_UNCLOSED = re.compile(r"[“„«「『\"][^“”„«»「」『』\"\n]*$", re.M)

_FIRST = {
    # "I" before a word is the teller; before a comma it may be a letter or a numeral.
    "English": r"\b(?:I(?=\s+[a-z])|I['’](?:m|ll|d|ve)|[Mm]e|[Mm]yself|[Mm]y|[Ww]e|[Ww]e['’](?:re|ll|d|ve)|us|[Oo]ur|"
    r"[Oo]urs|[Oo]urselves)\b",
    "German": r"\b(?:[Ii]ch|[Mm]ich|[Mm]ir|[Mm]eine[mnrs]?|[Mm]ein|[Ww]ir|[Uu]ns|[Uu]nsere?[mnrs]?)\b",
    "French": r"\b(?:[Jj]e|[Jj]['’]\w+|[Mm]e|[Mm]['’]\w+|[Mm]oi|[Mm]on|[Mm]a|[Mm]es|[Nn]ous|[Nn]otre|[Nn]os)\b",
    "Spanish": r"\b(?:[Yy]o|[Mm]e|[Mm]í|[Mm]is?|[Cc]onmigo|[Nn]osotr[oa]s|[Nn]os|[Nn]uestr[oa]s?)\b",
    "Portuguese": r"\b(?:[Ee]u|[Mm]e|[Mm]im|[Mm]eus?|[Mm]inhas?|[Cc]omigo|[Nn]ós|[Nn]oss[oa]s?)\b",
    "Italian": r"\b(?:[Ii]o|[Mm]i|[Mm]ie[ior]?|[Mm]i[oa]|[Nn]oi|[Nn]ostr[oaie])\b",
    "Dutch": r"\b(?:[Ii]k|[Mm]ij|[Mm]ijn|[Ww]ij|[Oo]ns|[Oo]nze)\b",
    "Russian": r"\b(?:[Яя]|[Мм]еня|[Мм]не|[Мм]ной|[Мм]о[йяеёию]|[Мм]оего|[Мм]оей|[Мм]ы|[Нн]ас|[Нн]ам|[Нн]ами|"
    r"[Нн]аш(?:[аеиу]|ей|его|ему|им|их|ем|ими)?)\b",
    "Japanese": r"(?:私|僕|俺|わたし|ぼく|あたし)(?:たち|達|ら)?[はがのもにをと]",
    "Chinese": r"(?<!自)我们?|咱们",
}
_FIRST_PERSON = {language: re.compile(pattern) for language, pattern in _FIRST.items()}
_NUMERAL = re.compile(r"\b[A-Z]\w+ I(?=[,.;:)]| of\b)|\b(?:[Aa]ct|[Pp]art|[Cc]hapter|[Bb]ook|[Ww]ar) I\b")

_DOING = (
    r"(?:assist|help(?! but)|continue|fulfil|comply|provide|creat|writ|summar|engage|generat|"
    r"produc(?:e|ing)|process|do "
    r"(?:that|this)|discuss|respond|answer|share|recap|proceed|access|see any|find any|complet)"
)
_NOT = r"(?:can(?:not|['’]t| not)|could(?: not|n['’]t)|won['’]t|will not|unable|not able|must decline|have to decline|"
_NOT += r"refuse to|would rather not|prefer not|not comfortable|(?:do not|don['’]t) feel comfortable)"
_DECLINES = re.compile(
    r"\bas an? (?:\w+ ){0,2}(?:ai|a\.i\.|artificial intelligence|language model|assistant|llm)\b[^.!?\n]{0,80}\b"
    r"(?:i|my)\b|\bi(?:['’]m| am) (?:just |only )?an? (?:\w+ ){0,2}(?:ai|language model|assistant)\b"
    r"|\b(?:violat\w+|against|conflicts? with|outside) (?:my|our|the) (?:\w+ ){0,2}(?:guidelines|polic(?:y|ies)|"
    r"programming|safety rules|terms of \w+)\b"
    rf"|^\W*(?:(?:i(?:['’]m| am)? )?(?:\w+ )?(?:sorry|afraid|apologi[sz]e|apologies|unfortunately|regrettably)\b)"
    rf"[^.!?\n]{{0,80}}\b{_NOT}"
    rf"|^\W*(?:no[,.] )?i(?:['’]m| am)? {_NOT}\b[^.!?\n]{{0,40}}(?:{_DOING}|request|content|material)"
    rf"|^\W*i (?:understand|appreciate|see|know|realize)\b[^.!?\n]{{0,160}}\b(?:but|however|though)\b[^.!?\n]{{0,40}}"
    rf"\b{_NOT}"
    r"|^\W*(?:sorry|apologies)\b,? but\b|\bthis (?:response|content|request) (?:has been|was|cannot|can't)\b"
    r"|^\W*i (?:must|have to) decline|^\W*i won['’]t be able"
    r"|^\W*(?:please|could you)\b[^.!?\n]{0,30}\b(?:provide|share|send|paste)\b[^.!?\n]{0,60}\b(?:text|transcript|"
    r"conversation|messages|story|content)\b|\byou haven['’]t (?:included|provided|shared)"
    r"|^\W*(?:i['’]d|i would) be (?:happy|glad) to help"
    r"|\bals (?:ki|künstliche intelligenz|(?:ki-)?sprachmodell|assistent)\b[^.!?\n]{0,80}\bich\b"
    r"|^\W*(?:es tut mir leid|tut mir leid|leider|entschuldigung|bedaure)\b[^.!?\n]{0,60}\b(?:kann|darf|werde|muss)\b "
    r"?ich?\b|^\W*(?:es )?tut mir leid\b[^.!?\n]{0,60}\bnicht\b"
    r"|^\W*ich (?:kann|darf|werde|möchte)\b[^.!?\n]{0,60}\b(?:nicht|keine)\b[^.!?\n]{0,40}(?:helf|zusammenfass|"
    r"bearbeit|fortsetz|erstell|schreib|erfüll|unterstütz)"
    r"|\ben tant qu(?:e |['’])(?:ia|intelligence artificielle|assistant|modèle)\b|^\W*(?:je suis )?(?:désolée?|"
    r"navrée?|malheureusement)\b[^.!?\n]{0,60}\b(?:ne peux|ne suis|ne puis|impossible)\b"
    r"|^\W*je ne (?:peux|suis|puis)\b[^.!?\n]{0,60}(?:aider|résumer|continuer|fournir|mesure|répondre|créer)"
    r"|\bcomo (?:una? |uma )?(?:ia|inteligencia artificial|inteligência artificial|modelo de \w+|a[s]sistente|"
    r"asistente)\b[^.!?\n]{0,100}\bn(?:o|ão)\b"
    r"|^\W*(?:lo siento|lamento|lamentablemente|disculpa|me temo|sinto muito|desculpe|infelizmente|me desculpe|"
    r"peço desculpas)\b[^.!?\n]{0,60}\bn(?:o|ão) (?:puedo|podré|es posible|posso|consigo|poderei|é possível|estou)"
    r"|^\W*n(?:o|ão) (?:puedo|podré|posso|consigo)\b[^.!?\n]{0,40}(?:ayudar|resumir|continuar|proporcionar|cumplir|"
    r"generar|crear|procesar|ajud|fornecer|cumprir|gerar|criar|processar|atender)"
    r"|^\W*(?:извините|простите|к сожалению|прошу прощения|мне (?:очень )?жаль|сожалею)\b[^.!?\n]{0,60}\b(?:не "
    r"(?:могу|смогу|имею|в состоянии)|вынужден)|^\W*я не (?:могу|смогу|буду)\b[^.!?\n]{0,40}(?:помочь|пересказ|"
    r"резюмир|продолж|выполн|созда|обработ|предостав|обсужд|ответ|напис)|\bкак (?:ии|искусственный интеллект|"
    r"языковая модель)\b"
    r"|^\W*(?:很?抱歉|对不起|對不起|非常抱歉|不好意思|很遗憾)[^。\n]{0,40}(?:无法|無法|不能|没办法|不便)"
    r"|^\W*我(?:无法|無法|不能)[^。\n]{0,30}(?:协助|帮助|总结|摘要|提供|生成|完成|继续|处理|满足|回答)"
    r"|作[为為](?:一[个個名])?(?:ai|人工智[能慧]|大?型?[语語]言模型|助手)|^\W*请(?:您)?(?:提供|分享|发送)"
    r"|^\W*(?:大変)?(?:申し訳|すみません|恐れ入りますが|残念ながら)[^。\n]{0,80}(?:できません|かねます|お断り|控え|"
    r"お応え|対応)|(?:ai|言語モデル|人工知能)(?:アシスタント|言語モデル)?として|^\W*(?:この|その|ご依頼|ご要望|"
    r"リクエスト)[^。\n]{0,60}(?:できません|かねます|お断り)",
    re.I,
)
_WORK = (
    r"(?:summar(?:y|ies|i[sz]\w+)|recaps?|synopsis|story so far|zusammenfassung|résumé|récapitulatif|resumen|resumo|"
    r"пересказ\w*|краткое содержание|сводк\w|要約|あらすじ|まとめ|概要|摘要|总结|總結|概述|梗概)"
)
_TALK = re.compile(
    rf"^\W*(?:(?:sure|certainly|of course|okay|ok|alright|absolutely|got it|understood|gerne|natürlich|klar|bien sûr|"
    rf"d['’]accord|claro|por supuesto|com certeza|конечно|хорошо|はい|承知しました|"
    rf"わかりました|好的|当然)[,.!。！、，]? ?)?"
    rf"(?:here(?:['’]s| is| are)|below is|the following is|this is|voici|hier ist|aquí (?:está|tienes)|aqui está|вот|"
    rf"以下|这是)[^.!?。]{{0,120}}{_WORK}"
    rf"|^\W*(?:sure|certainly|of course|okay|alright|absolutely|got it|understood|no problem)[.!,:]"
    rf"|^\W*{_WORK}[^.!?。\w]{{0,3}}\(?[^.!?。)]{{0,30}}(?:words|wörter|mots|palabras|слов)\b"
    r"|\b(?:let me know|feel free to|(?:i )?hope this (?:helps|recap|summary)|would you like (?:me|any)|do you want me|"
    r"is there anything else|want me to|happy to (?:revise|adjust|expand|shorten)|lass mich wissen|sag(?:en sie)? mir "
    r"bescheid|n['’]hésitez pas|faites-moi savoir|avísame|hazme saber|me avise|дайте знать|如果需要|如需|ご不明|"
    r"必要であれば|お知らせください|请告诉我|请告知)"
    r"|\b(?:word count|wortanzahl|nombre de mots|количество слов)\b|字数|文字数|\(~?\d+ words\)"
    r"|\b(?:as|being) an? (?:\w+ ){0,2}(?:ai|language model|assistant|llm)\b[^.!?\n]{0,80}\bi\b"
    r"|\b(?:the|this|that|your|my|first|second) (?:user (?:wants|asks|asked|"
    r"is asking)\b[^.!?]{0,40}\b(?:me|us|summary|recap)|task (?:is|was)|prompt|"
    r"instructions? (?:say|ask)|transcript (?:starts|begins|shows|says)|(?:new )?(?:recap|"
    r"summary) (?:above|keeps|covers|"
    r"must|should|so far says))\b"
    r"|^\W*(?:key (?:points|facts|details)|main (?:points|beats)|thought process|thinking process|chain of thought|"
    r"(?:first |second |final |rough )?draft|analysis|plan|reasoning|step (?:1|one)|entwurf|borrador|brouillon|"
    r"rascunho)\b[^.!?:\n]{0,30}[:：]|^\W*key (?:points|facts|details) to\b|^\W*(?:we |i )?need to (?:write|produce|"
    r"summari[sz]e|update|create|fold)\b|\bthe (?:most |next )?important thing to (?:keep|preserve|mention)\b"
    r"|\b(?:the task is to|second draft|past tense\.|third person,|thread(?: one)?:|about \d+ words|around \d+ words)"
    r"|\bder (?:be)?nutzer (?:möchte|will|bittet)\b|l['’]utilisateur (?:me )?(?:demande|veut)|\bel usuario (?:me )?"
    r"(?:pide|quiere)\b|\bo usuário (?:me )?(?:pede|quer)\b|пользователь (?:хочет|просит)|"
    r"(?:用户|用戶)(?:要求|希望|想要)|"
    r"ユーザーは[^。\n]{0,60}(?:求め|望ん|依頼)|"
    r"\b(?:preciso|necesito|debo|devo) (?:escribir|escrever|resumir|mencionar|"
    r"actualizar|atualizar)\b|\bmal sehen\b|\bdie figuren sind\b|\bwichtig (?:sind hier|ist hier)\b|首先，分析|"
    r"我来写|要約する必要|需要总结|ましょうか|您希望我",
    re.I,
)
"""What is said to the one who asked, or over the work; never by someone who tells a story."""

_ENDS = 3
"""Sentences at either end in which a model talks: before it begins to tell, and after."""

_OPENING = 400
"""Characters from the start within which a model declines: it does so first."""


def unquoted(text: str) -> str:
    """A text without what stands in quotation marks, one that is opened and never closed included, or in italics."""
    return _UNCLOSED.sub(" ", _SINGLE.sub(" ", _SAME.sub(" ", QUOTED.sub(" ", _SET_APART.sub(" ", text)))))


def first_person_in(text: str, language: str) -> str | None:
    """The first word outside quotations in which the teller speaks of themselves."""
    pattern = _FIRST_PERSON.get(language or "English")
    if pattern is None:
        return None
    own = unquoted(text)
    found = pattern.search(_NUMERAL.sub(" ", own) if language in ("", "English") else own)
    return found.group() if found else None


def declines(text: str) -> bool:
    """Whether a text is a model declining, quotations aside."""
    return _DECLINES.search(unquoted(text[: 4 * _OPENING]).strip()[:_OPENING]) is not None


def talk_in(text: str, story: str = "") -> str | None:
    """The sentence at the beginning or the end in which a model talks of its work. What the story says itself, as in
    an agent's session about summaries, is no such talk."""
    sentences = whole_sentences(unquoted(text[:4_000]))[:_ENDS] + whole_sentences(unquoted(text[-4_000:]))[-_ENDS:]
    for sentence in sentences:
        found = _TALK.search(sentence) or (_DECLINES.search(sentence) if len(sentence) < _OPENING else None)
        if found and found.group().strip().casefold() not in story.casefold():
            return sentence
    return None
