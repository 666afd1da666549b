"""The corpora behind the checks: scenes, recaps a reader would keep, and answers nobody should.

`scenes.jsonl`, `good_recaps.jsonl` and `bad_replies.jsonl` are written by hand; the builders vary them systematically.
Rows of the set "tuned" were at hand while the rules were written; "held" was written after them, and "last" after the
faults that "held" had shown were mended.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from previously.core.messages import Message, message
from previously.core.model_io import ModelReply, Usage
from previously.core.scripts import count_words
from previously.folds.checks import TextRequest
from previously.text.sentences import split_sentences

HERE = Path(__file__).parent
HARBOUR = HERE.parents[3] / "src" / "previously" / "demo" / "harbour.jsonl"
SETS = ("tuned", "held", "last")
NO_USAGE = Usage(0, 0, False)

INSTRUCTIONS = """\
You keep the memory of a story. Below you find the recap so far and the messages that came after it.

Write the new recap. Rules:
- Plain prose in the past tense and the third person. No headings, no lists, no preamble, no comments.
- Keep in this order: the named characters with their state, place, ties and attitude; what the player did and promised;
  open threads; concrete facts such as numbers, dates and objects.
- Never drop an open thread or a promise that has not been kept. Shorten the oldest details first.
- Write in the language of the story. Use about {target} words.
"""


@dataclass(frozen=True, slots=True)
class Scene:
    name: str
    language: str
    set: str
    previous: str
    target: int
    messages: tuple[Message, ...]


@dataclass(frozen=True, slots=True)
class Case:
    """An answer to be judged: where it came from, what was asked, what came back."""

    label: str
    set: str
    asked: TextRequest
    reply: ModelReply


def rows(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (HERE / name).read_text("utf-8").splitlines() if line.strip()]


@cache
def scenes() -> dict[str, Scene]:
    harbour = [json.loads(line) for line in HARBOUR.read_text("utf-8").splitlines()]
    found: dict[str, Scene] = {}
    for row in rows("scenes.jsonl"):
        if "harbour" in row:
            first, last = row["harbour"]
            said = [(line["role"], line.get("name"), line["content"]) for line in harbour[first : last + 1]]
        else:
            said = [tuple(line) for line in row["messages"]]
        messages = tuple(message(role, text, speaker=name) for role, name, text in said)
        found[row["scene"]] = Scene(row["scene"], row["language"], row["set"], row["previous"], row["target"], messages)
    return found


def transcript(scene: Scene) -> str:
    return "\n\n".join(f"{one.speaker}: {one.text}" if one.speaker else one.text for one in scene.messages)


def prompt_of(scene: Scene) -> str:
    earlier = scene.previous or "(nothing yet)"
    rules = INSTRUCTIONS.format(target=scene.target or 300)
    return f"{rules}\n## Recap so far\n\n{earlier}\n\n## New messages\n\n{transcript(scene)}\n\n## New recap\n"


def asked_of(scene: Scene) -> TextRequest:
    return TextRequest(scene.previous, scene.messages, scene.target)


def reply_of(text: str, finish: str | None = "stop", *, reasoning: str = "", tool_calls: bool = False) -> ModelReply:
    return ModelReply(text, "scripted", finish, NO_USAGE, reasoning, tool_calls)


@dataclass(frozen=True, slots=True)
class Recap:
    scene: Scene
    text: str
    fault: str = ""
    """What it would be refused for, though it reads well."""


@cache
def _all_recaps() -> tuple[Recap, ...]:
    """The recaps written by hand."""
    return tuple(Recap(scenes()[row["scene"]], row["text"], row.get("fault", "")) for row in rows("good_recaps.jsonl"))


def recaps() -> tuple[Recap, ...]:
    """The recaps a reader would keep."""
    return tuple(recap for recap in _all_recaps() if not recap.fault)


# Good recaps by variation


def _case(label: str, recap: Recap, text: str, **changes: Any) -> Case:
    asked = asked_of(recap.scene)
    finish = changes.pop("finish", "stop")
    return Case(f"{recap.scene.name}: {label}", recap.scene.set, replace(asked, **changes), reply_of(text, finish))


def _joined(sentences: list[str], language: str) -> str:
    return ("" if language in ("Japanese", "Chinese") else " ").join(sentences)


RENAMED = (
    {"Ines": "Zoë", "Bram": "Søren", "Wick": "Łukasz", "Dorrie": "Nguyễn", "Maret": "Aðalbjörg", "Senn": "O’Connell"},
    {
        "Ines": "Xiomara",
        "Bram": "Achilleas",
        "Wick": "Pip",
        "Dorrie": "Mother Goose-Quill",
        "Anneke": "Þóra",
        "Corvin": "Émile",
    },
    {
        "Tola": "Ðorđe",
        "Jonas": "Kjartan",
        "Théo": "Gaël",
        "Inés": "Begoña",
        "João": "Ubirajara",
        "Ruth": "Zsófia",
    },
)
CAPITAL = re.compile(r"\b[A-ZÀ-ÞА-Я]|[\u30a0-\u30ff\u4e00-\u9fff]{2}")
PHRASES = (
    (r"\bpromised\b", "gave a promise"),
    (r"\btold\b", "let know"),
    (r"\bfound\b", "came upon"),
    (r"\bwent\b", "made for"),
    (r"\bsaid\b", "remarked"),
    (r"\barrived\b|\bcame\b", "turned up"),
    (r"\bpushed\b", "shoved"),
    (r"\basked\b", "enquired"),
    (r"\bhad\b", "had, it seems,"),
)
PRESENT = tuple(
    (rf"\b{past}\b", present)
    for past, present in (
        pair.split(":")
        for pair in "was:is were:are had:has told:tells said:says came:comes took:takes gave:gives promised:promises "
        "could:can did:does thought:thinks refused:refuses saw:sees went:goes knew:knows".split()
    )
)
TRIMMINGS = (
    "**Summary:**\n{}",
    "## Recap\n\n{}",
    "```\n{}\n```",
    "Summary: {}",
    "<summary>\n{}\n</summary>",
    "{}\n\n---",
    "{}<|im_end|>",
    "<think>\nThe user wants a recap. Keep it short.\n</think>\n\n{}",
    "\n\n  {}  \n",
)
"""Wrapping that comes off."""

CHATTER = (
    "Here is the updated summary:\n\n{}",
    "Sure! Here's the new recap:\n\n{}",
    "{}\n\nLet me know if you would like any changes.",
    "{}\n\n(Word count: 120)",
    "{} Let me know if you want a longer version!",
    "{}\n\nAs an AI language model, I do not have personal opinions on these events.",
    "{} I hope this recap helps.",
    "{}\n\nWould you like me to continue the story?",
    "{} Feel free to ask for more details.",
    "Certainly! {}",
)
"""What a model says to the one who asked."""

LOCAL_CHATTER = {
    "German": "Hier ist die aktualisierte Zusammenfassung:\n\n{}",
    "French": "Voici le résumé mis à jour :\n\n{}",
    "Spanish": "Claro, aquí está el resumen actualizado:\n\n{}",
    "Portuguese": "Aqui está o resumo atualizado:\n\n{}",
    "Russian": "Вот обновлённое краткое содержание:\n\n{}",
    "Japanese": "以下が更新されたあらすじです：\n\n{}",
    "Chinese": "以下是更新后的摘要：\n\n{}",
    "English": "Okay, here is the revised recap of the story so far:\n\n{}",
}


def _renamed(recap: Recap, table: dict[str, str]) -> Case | None:
    if not any(re.search(rf"\b{old}\b", recap.text) for old in table):
        return None

    def swap(text: str) -> str:
        for old, new in table.items():
            text = re.sub(rf"\b{old}\b", new, text)
        return text

    scene = recap.scene
    changed = replace(
        scene,
        previous=swap(scene.previous),
        messages=tuple(
            message(one.role, swap(one.text), speaker=swap(one.speaker or "") or None) for one in scene.messages
        ),
    )
    return _case("renamed", Recap(changed, ""), swap(recap.text))


def _substituted(text: str, table: tuple[tuple[str, str], ...]) -> str:
    for pattern, instead in table:
        text = re.sub(pattern, instead, text)
    return text


def _variants(index: int, recap: Recap) -> list[Case]:
    text, scene = recap.text, recap.scene
    sentences = split_sentences(text)
    english = scene.language == "English"
    found = [_case("as written", recap, text)]
    if index % 2:
        found.append(_case("no finish reason", recap, text, finish=None))
    found.append(_case("trimmed", recap, TRIMMINGS[index % len(TRIMMINGS)].format(text)))
    if len(sentences) >= 3:
        found.append(_case("backwards", recap, _joined(sentences[::-1], scene.language)))
        found.append(_case("paragraphs", recap, "\n\n".join(sentences)))
    if len(sentences) >= 4:
        for drop in range(1, len(sentences)):
            left = _joined(sentences[:drop] + sentences[drop + 1 :], scene.language)
            # Whoever or whatever has a name stays in it, and so does most of the text.
            if CAPITAL.findall(sentences[drop])[1:] or 2 * count_words(left) < count_words(scene.previous):
                continue
            found.append(_case(f"without sentence {drop}", recap, left))
    if english:
        found.append(_case("present tense", recap, _substituted(text, PRESENT)))
        found.append(_case("other verbs", recap, _substituted(text, PHRASES)))
        found.append(_case("typographic", recap, text.replace("'", "’").replace('"', "”")))
        found.append(_case("dashes", recap, text.replace(", ", " — ", 3)))
    for table in RENAMED:
        case = _renamed(recap, table)
        if case:
            found.append(case)
    if index % 3 == 0:
        found.append(_case("no target", recap, text, target_words=0))
    if index % 4 == 0 and scene.previous:
        found.append(_case("as an addition", recap, f"{scene.previous} {text}", target_words=max(scene.target, 400)))
    return found


def _unions(of: list[Recap]) -> list[Case]:
    """Two recaps of one scene, told one after the other: longer, and some things twice."""
    found = []
    for one, other in zip(of, of[1:] + of[:1], strict=True):
        if one is not other:
            gap = "\n\n" if len(one.text) % 2 else _joined(["", ""], one.scene.language)
            room = count_words(one.text + other.text)
            text = f"{one.text}{gap}{other.text}"
            found.append(_case("joined", one, text, target_words=max(one.scene.target, room)))
    return found


@cache
def good_cases() -> tuple[Case, ...]:
    found: list[Case] = []
    for index, recap in enumerate(recaps()):
        found += _variants(index, recap)
    for name in scenes():
        found += _unions([recap for recap in recaps() if recap.scene.name == name])
    return tuple(found)


# Bad replies

CLASSES = (
    "empty",
    "whitespace",
    "refusal",
    "reasoning",
    "truncated",
    "tool call",
    "echo",
    "unchanged",
    "assistant's talk",
    "first person",
    "unknown person",
    "changed number",
    "collapse",
    "people missing",
    "too long",
    "wrong language",
    "invented speakers",
    "markup or preamble",
)
NOTHING = (
    *("", "\ufeff", "\u200b\u200b", "<|im_end|>", "</s>", "```\n```", '""', "...", "…", "—", "---", "***", "\x00"),
    *("<think></think>", "[]", "{}", "<|eot_id|>", "「」", "。", "##", "- ", "()", "****", "_ _", "```text\n\n```"),
)
SPACES = (
    *(" ", "\n", "\t", "\r\n", "\u00a0", "\u3000", "\u2003", "\u200b \u200b", "\n\n\n\n", " \n \t \n ", "\v", "\f"),
    *("\u2028", "\u2029", "\x85", "\u1680", "\u202f", "\ufeff \ufeff", " " * 500, "\n" * 200, "\t\t\t"),
    *("\u2000\u2001", "\u205f", "\r", " \r\n \r\n", "\x1c\x1d", "\u00a0\n\u00a0"),
)


def _bad(label: str, scene: Scene, reply: ModelReply) -> Case:
    return Case(label, scene.set, asked_of(scene), reply)


def _by_hand() -> list[Case]:
    found = []
    for index, row in enumerate(rows("bad_replies.jsonl")):
        of = row.get("set", "tuned")
        english = [
            scene for scene in scenes().values() if scene.name in ("platform", "candle" if of == "tuned" else "storm")
        ]
        scene = scenes()[row["scene"]] if "scene" in row else english[index % len(english)]
        reply = reply_of(
            row["text"],
            row.get("finish", "stop"),
            reasoning=row.get("reasoning", ""),
            tool_calls=row.get("tool_calls", False),
        )
        found.append(Case(row["class"], of, asked_of(scene), reply))
    return found


def _nothing() -> list[Case]:
    """Nothing, in every way to send it, shared out over the three sets."""
    places = {of: [scene for scene in scenes().values() if scene.set == of] for of in SETS}
    found = []
    for label, texts in (("empty", NOTHING), ("whitespace", SPACES)):
        for index, text in enumerate(texts):
            there = places[("tuned", "tuned", "tuned", "held", "last")[index % 5]]
            finish = ("stop", None, "length" if label == "empty" else "stop")[index % 3]
            found.append(_bad(label, there[index % len(there)], reply_of(text, finish)))
    return found


def _truncated(recap: Recap, index: int) -> list[Case]:
    spaceless = recap.scene.language in ("Japanese", "Chinese")
    pieces = list(recap.text) if spaceless else recap.text.split(" ")
    found = []
    for share, finish in ((0.45, "length"), (0.7, None), (0.85, "stop"), (0.97, "max_tokens")):
        cut = pieces[: max(3, int(share * len(pieces)) + index % 3)]
        while cut and finish not in ("length", "max_tokens") and not cut[-1][-1:].isalpha():
            cut.pop()
        text = ("" if spaceless else " ").join(cut)
        if len(cut) >= 3 and text != recap.text:
            found.append(_bad("truncated", recap.scene, reply_of(text, finish)))
    return found


def _echoes(scene: Scene) -> list[Case]:
    prompt = prompt_of(scene)
    rules = INSTRUCTIONS.format(target=scene.target or 300)
    said = transcript(scene)
    plain = "\n\n".join(one.text for one in scene.messages)
    texts = [
        prompt[: len(rules)],
        prompt,
        rules.split("Rules:")[1].strip(),
        said,
        "\n\n".join(said.split("\n\n")[-4:]),
        plain,
    ]
    return [_bad("echo", scene, reply_of(text)) for text in texts]


def _too_long(scene: Scene, of: list[Recap], others: list[Recap]) -> list[Case]:
    found = []
    target = scene.target or 300
    for recap in of[:2]:
        times = 10 * target // max(count_words(recap.text), 1) + 1
        found.append(_bad("too long", scene, reply_of(" ".join([recap.text] * times))))
    alike = [recap.text for recap in others if recap.scene.language == scene.language]
    text = " ".join([of[0].text, *alike])
    while count_words(text) < 10 * target:
        text += " " + " ".join(sentence for one in alike for sentence in reversed(split_sentences(one)))
    found.append(_bad("too long", scene, reply_of(text)))
    return found


OWN_WORDS = {
    "English": "I saw it with my own eyes.",
    "German": "Ich habe es selbst gesehen.",
    "French": "J'ai tout vu de mes yeux.",
    "Spanish": "Yo lo vi con mis propios ojos.",
    "Portuguese": "Eu vi tudo com os meus olhos.",
    "Russian": "Я видела это своими глазами.",
    "Japanese": "私はそれを見た。",
    "Chinese": "我亲眼看见了。",
}
STRANGERS = {
    "English": (" Later Garrick Thornquist took the lamp.", " In the end they spoke with old Zebulon about it."),
    "German": (" Später kam Balthasar Grimmelt dazu.", " Zuletzt wusste auch Herr Quastenberg davon."),
    "French": (" Plus tard Gontran Lesage prit la lampe.", " Le soir, ils virent Hildegonde."),
    "Spanish": (" Luego llegó Baltasar Quiroga.", " Al final hablaron con Leandra."),
    "Portuguese": (" Depois chegou Baltazar Quaresma.", " No fim falaram com Leandra."),
    "Russian": (" Потом пришёл Евграф Стрельников.", " В конце они говорили с Ипполитом."),
    "Japanese": ("ヴィクトルさんが後から来た。", "ゲオルク・バウムは何も言わなかった。"),
    "Chinese": (),
}
NUMBERS = {
    "English": r"\b(?:four|five|six|seven|eight|nine|ten|eleven|twelve|fifteen|nineteen|forty|fifty|ninety-five|"
    r"twenty-two|six hundred|three hundred and forty|four thousand|four hundred|tenth|eleventh|twelfth)\b",
    "German": r"\b(?:sechs|neun|fünf|elf|neun|zweihundertzehn)\b",
    "French": r"\b(?:dix|sept cents|quinze)\b",
    "Spanish": r"\b(?:cuarenta mil|siete|noventa y dos|cinco mil|nueve|doce)\b",
    "Portuguese": r"\b(?:doze|trinta|quarenta e uma?)\b",
    "Russian": r"\b(?:шесть|четыре|двадцать шесть|триста тысяч|сорок восьмого)\b",
    "Japanese": r"七十二|三百|二千万|十二",
    "Chinese": r"十二|三百|十五",
}
OTHERS = {
    "English": "eighty-seven",
    "German": "siebenundachtzig",
    "French": "quatre-vingt-sept",
    "Spanish": "ochenta y siete",
    "Portuguese": "oitenta e sete",
    "Russian": "восемьдесят семь",
    "Japanese": "八十七",
    "Chinese": "八十七",
}


def _quoteless(text: str) -> str:
    return re.sub('["“”„«»「」]', "", text)


def _mutated(recap: Recap, index: int) -> list[Case]:
    """Good recaps with one fault each."""
    scene, text = recap.scene, recap.text
    local = (LOCAL_CHATTER[scene.language], *CHATTER[index % 3 :: 3])
    found = [_bad("assistant's talk", scene, reply_of(chatter.format(text))) for chatter in local]
    found += [_bad("unknown person", scene, reply_of(text + who)) for who in STRANGERS[scene.language]]
    if any(one.speaker for one in scene.messages):
        gap = "" if scene.language in ("Japanese", "Chinese") else " "
        found.append(_bad("first person", scene, reply_of(f"{text}{gap}{OWN_WORDS[scene.language]}")))
        found.append(_bad("first person", scene, reply_of(f"{OWN_WORDS[scene.language]}{gap}{text}")))
    if scene.language == "English" and re.search(r"(?<=[a-z,] )(?:she|he) ", text):
        told = re.sub(r"(?<=[a-z,] )(?:she|he) ", "I ", text, count=1)
        if _quoteless(text) == text and any(one.speaker for one in scene.messages):
            found.append(_bad("first person", scene, reply_of(told)))
    for name, other in (("Ines", "Hesper"), ("Bram", "Corin"), ("Wick", "Teague"), ("Cole", "Dunmore")):
        if scene.language == "English" and re.search(rf"[a-z,] {name}\b", text):
            found.append(_bad("unknown person", scene, reply_of(re.sub(rf"\b{name}\b", other, text))))
    for match in re.finditer(NUMBERS[scene.language], text):
        changed = text[: match.start()] + OTHERS[scene.language] + text[match.end() :]
        found.append(_bad("changed number", scene, reply_of(changed)))
    for match in re.finditer(r"(?<![\w.,:/-])\d{2,}(?![\w.,:/-])", text):
        found.append(_bad("changed number", scene, reply_of(f"{text[: match.start()]}787{text[match.end() :]}")))
    return found


def _collapsed(recap: Recap) -> list[Case]:
    """The beginning of a recap in place of a longer one, as a recap and as an amend."""
    scene = recap.scene
    room = int(0.35 * min(count_words(scene.previous), scene.target or 10_000))
    sentences: list[str] = []
    for sentence in split_sentences(recap.text):
        if count_words(_joined([*sentences, sentence], scene.language)) > room:
            break
        sentences.append(sentence)
    text = _joined(sentences, scene.language)
    if count_words(text) < 4:
        return []
    case = _bad("collapse", scene, reply_of(text))
    return [case, replace(case, asked=replace(case.asked, amends=True))]


def _unchanged(scene: Scene) -> list[Case]:
    if not scene.previous or sum(count_words(one.text) for one in scene.messages) < 60:
        return []
    texts = (scene.previous, f"## Recap\n\n{scene.previous}", scene.previous.replace(". ", ".\n\n"))
    return [_bad("unchanged", scene, reply_of(text)) for text in texts]


def _with_fault() -> list[Case]:
    faulty = [recap for recap in _all_recaps() if recap.fault]
    found = [_bad(recap.fault, recap.scene, reply_of(recap.text)) for recap in faulty]
    for scene in scenes().values():
        speakers = list(dict.fromkeys(one.speaker for one in scene.messages if one.speaker))
        if len(speakers) >= 5 and scene.language == "English":
            for one in speakers:
                if sum(one.split()[-1] in other for other in speakers) > 1:
                    continue  # of one family
                length = max(count_words(scene.previous) // 2, 12)
                told = f"{one} thought about it for a long while, went away, came back and said no more. " * 9
                text = ". ".join(told.split(". ")[: length // 14 + 1]).strip(". ") + "."
                found.append(_bad("people missing", scene, reply_of(text)))
    return found


@cache
def bad_cases() -> tuple[Case, ...]:
    found = [*_by_hand(), *_nothing()]
    found += _with_fault()
    for index, recap in enumerate(recaps()):
        found += [*_mutated(recap, index), *_collapsed(recap)]
        if index % 2 == 0:
            found += _truncated(recap, index)
    for index, scene in enumerate(scenes().values()):
        found += _unchanged(scene)
        of = [recap for recap in recaps() if recap.scene is scene]
        if index % 2 == 0:
            found += _echoes(scene)
        if index % 3 == 0 and of:
            found += _too_long(scene, of, [recap for recap in recaps() if recap.scene.set == scene.set])
    return tuple(found)
