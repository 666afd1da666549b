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

from previously.core.asking import ModelReply, Usage
from previously.core.messages import Message, message
from previously.core.words import count_words
from previously.folds.checks import Asked
from previously.text.sentences import whole_sentences

HERE = Path(__file__).parent
HARBOUR = HERE.parents[2] / "src" / "previously" / "demo" / "harbour.jsonl"
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
    asked: Asked
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


def asked_of(scene: Scene, commitments: tuple[str, ...] = ()) -> Asked:
    return Asked(scene.previous, scene.messages, prompt_of(scene), scene.target, (), commitments)


def reply_of(text: str, finish: str | None = "stop", *, reasoning: str = "", tool_calls: bool = False) -> ModelReply:
    return ModelReply(text, "scripted", finish, NO_USAGE, reasoning, tool_calls)


@dataclass(frozen=True, slots=True)
class Recap:
    scene: Scene
    text: str
    commitments: tuple[str, ...]


@cache
def recaps() -> tuple[Recap, ...]:
    """The recaps written by hand."""
    return tuple(
        Recap(scenes()[row["scene"]], row["text"], tuple(row.get("commitments", ())))
        for row in rows("good_recaps.jsonl")
    )


# Good recaps by variation


def _case(label: str, recap: Recap, text: str, **changes: Any) -> Case:
    asked = asked_of(recap.scene, changes.pop("commitments", ()))
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
        "Марина": "Зинаида",
    },
)
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
    "Here is the updated summary:\n\n{}",
    "**Summary:**\n{}",
    "## Recap\n\n{}",
    "```\n{}\n```",
    "Sure! Here's the new recap:\n\n{}",
    "Summary: {}",
    "<summary>\n{}\n</summary>",
    "{}\n\n---\n(Word count: 120)",
    "{}<|im_end|>",
    "<think>\nThe user wants a recap. Keep it short.\n</think>\n\n{}",
    "\n\n  {}  \n",
    "Updated recap:\n{}\n\nLet me know if you would like any changes.",
)
LOCAL_TRIMMINGS = {
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
    kept = tuple(swap(one) for one in recap.commitments)
    return _case("renamed", Recap(changed, "", ()), swap(recap.text), commitments=kept)


def _substituted(text: str, table: tuple[tuple[str, str], ...]) -> str:
    for pattern, instead in table:
        text = re.sub(pattern, instead, text)
    return text


def _variants(index: int, recap: Recap) -> list[Case]:
    text, scene = recap.text, recap.scene
    sentences = whole_sentences(text)
    english = scene.language == "English"
    found = [_case("as written", recap, text, commitments=recap.commitments)]
    if index % 2:
        found.append(_case("no finish reason", recap, text, finish=None))
    found.append(_case("trimmed", recap, TRIMMINGS[index % len(TRIMMINGS)].format(text), commitments=recap.commitments))
    found.append(_case("trimmed in its language", recap, LOCAL_TRIMMINGS[scene.language].format(text)))
    if len(sentences) >= 3:
        found.append(_case("backwards", recap, _joined(sentences[::-1], scene.language), commitments=recap.commitments))
        found.append(_case("paragraphs", recap, "\n\n".join(sentences), commitments=recap.commitments))
        found.append(_case("first half", recap, _joined(sentences[: (len(sentences) + 1) // 2], scene.language)))
    if len(sentences) >= 4:
        for drop in range(1, len(sentences), max(1, len(sentences) // 3)):
            left = sentences[:drop] + sentences[drop + 1 :]
            found.append(_case(f"without sentence {drop}", recap, _joined(left, scene.language)))
    if english:
        found.append(_case("present tense", recap, _substituted(text, PRESENT), commitments=recap.commitments))
        found.append(_case("other verbs", recap, _substituted(text, PHRASES)))
        found.append(
            _case("typographic", recap, text.replace("'", "’").replace('"', "”"), commitments=recap.commitments)
        )
        found.append(_case("dashes", recap, text.replace(", ", " — ", 3), commitments=recap.commitments))
    for table in RENAMED:
        case = _renamed(recap, table)
        if case:
            found.append(case)
    if index % 3 == 0:
        found.append(_case("no prompt, no target", recap, text, prompt="", target_words=0))
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
    "too long",
    "wrong language",
    "invented speakers",
    "markup or preamble",
    "dropped threads",
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
THREADS = (
    ("platform", "Bram gave his word to take Ines to the wreck on Thursday at two.", r"Thursday|parted|wreck on"),
    ("platform", "Ines promised Bram that he would hear first whatever she finds.", r"hear|promise on each|findings"),
    ("platform", "Ines's report is due in Lethen at noon on Tuesday the 24th.", r"24th|noon"),
    ("candle", "Ines promised to take Wick to Lethen to turn the handle of the tide-engine.", r"tide-engine"),
    ("candle", "Ines promised Wick not to tell Mr. Oskett about the cracked pane.", r"pane|crack"),
    ("widow", "Ines promised to bring the captain's compass back to Agnes Vasey.", r"compass"),
    ("widow", "Ines is to dine with the Ashdells on Saturday at eight.", r"Saturday"),
    ("wreck", "Ines promised to learn to swim by the end of August.", r"swim|August"),
    ("wreck", "Ines promised to find Dorrie's stolen blanket.", r"blanket"),
    ("dinner", "Maret promised to bring the green ledger on Thursday the 12th at six in the evening.", r"ledger"),
    ("dinner", "Bram must pay Ashdell 340 crowns by the twenty-fifth or lose house, boat and post.", r"340"),
    ("causeway", "Ines swore on her father's pen to tell nobody that Anneke is alive.", r"swore|pen\b"),
    ("stair", "Dr. Senn promised not to drink a drop until the inquest sits.", r"brandy|sober|inquest"),
    (
        "kestrel",
        "If Tola is not back in two hours, Kestrel must wake Okafor and turn the ship round.",
        r"Okafor|two hours",
    ),
    ("Leuchtturm", "Jonas versprach, vor dem Neumond nicht in den Keller zu gehen.", r"Neumond|Neun Tage"),
    ("atelier", "Théo doit revenir jeudi avant minuit avec une lettre de Lucien.", r"jeudi"),
    ("hacienda", "La deuda de cuarenta mil pesos debe pagarse antes de San Juan.", r"San Juan"),
    ("神社", "ハルカは満月までに鏡を湖へ返すと約束した。", r"満月|約束"),
    ("茶馆", "燕七许诺中秋之前不杀陆青。", r"中秋"),
    ("экспедиция", "Марина обещала, что не даст Глебу застрелить Зимина.", r"Зимин"),
    ("mercado", "João prometeu levar Álvaro ao mercado amanhã às seis.", r"seis"),
    ("novel", "Halloran may stay in the barn until the harvest.", r"harvest"),
    ("storm", "Ines promised to reopen the Halcyon Jane and to see Hanne Oskett paid.", r"Halcyon|Hanne|correction"),
    ("storm", "Bram gave his word to go with Ines to the magistrate on Friday.", r"magistrate|Friday"),
    ("station", "Ines will take Wick to the tide-engine in July.", r"July|tide-engine"),
    ("station", "Dr. Senn is to testify before the Board on the second of April.", r"April|testify"),
    ("deploy", "Retention must stay at 30 days.", r"retention|30 days"),
    ("deploy", "The export must finish before 06:00 for the finance team.", r"06:00"),
    ("saloon", "Cole gave his word to bring the mare Duchess back before the first snow.", r"Duchess|snow|mare|horse"),
    ("Archiv", "Doktor Weiss öffnet Kira morgen um sechs die Tür zum Turm.", r"sechs|Turm"),
    ("phare", "Maëlle a promis de ne pas parler du cercueil à son père.", r"cercueil"),
    ("tren", "Leonor prometió que Celia no aparecerá en ningún papel.", r"Celia"),
    ("宇宙", "ユウは妹のアオイに必ず帰ると約束した。", r"アオイ|約束"),
    ("客栈", "林晚舟答应替阿萝问苏砚一句话。", r"答应|问苏砚"),
    ("театр", "Софья должна найти деньги к пятнице.", r"пятниц"),
    ("sertão", "No sábado à noite Zefa vai mostrar a lista a Rosa.", r"sábado|lista"),
    ("duet", "The player owes Seraphine an unspecified favour.", r"favour"),
    ("Wohngemeinschaft", "Ole hat Franzi eine große Monstera versprochen.", r"Monstera"),
    ("detective", "Salcedo prometió devolver la foto antes de las doce.", r"devolver|foto de"),
    ("江湖", "叶小刀答应船老大不杀周鹤。", r"答应|不杀"),
    ("first days", "Ines promised Wick to take him to the tide-engine in Lethen.", r"tide-engine"),
    ("first days", "Ines promised to learn to swim by the end of August.", r"August"),
    ("first days", "Ines promised to find Dorrie's plaid blanket.", r"blanket"),
    ("first days", "Ines promised Agnes Vasey to bring back the captain's compass.", r"compass|bring it back"),
)
"""A commitment of a scene, and the sentences that have to go for it to be dropped."""


def _bad(label: str, scene: Scene, reply: ModelReply, commitments: tuple[str, ...] = ()) -> Case:
    return Case(label, scene.set, asked_of(scene, commitments), reply)


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
    if scene.previous and count_words(plain) > 100:
        texts.append(scene.previous)
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
        text += " " + " ".join(sentence for one in alike for sentence in reversed(whole_sentences(one)))
    found.append(_bad("too long", scene, reply_of(text)))
    return found


def _dropped() -> list[Case]:
    found = []
    for name, commitment, pattern in THREADS:
        for recap in recaps():
            if recap.scene.name != name:
                continue
            left = [sentence for sentence in whole_sentences(recap.text) if not re.search(pattern, sentence)]
            text = _joined(left, recap.scene.language)
            if count_words(text) >= 8:
                found.append(_bad("dropped threads", recap.scene, reply_of(text), (commitment,)))
    return found


@cache
def bad_cases() -> tuple[Case, ...]:
    found = [*_by_hand(), *_nothing(), *_dropped()]
    for index, recap in enumerate(recaps()):
        if index % 2 == 0:
            found += _truncated(recap, index)
    for index, scene in enumerate(scenes().values()):
        of = [recap for recap in recaps() if recap.scene is scene]
        if index % 2 == 0:
            found += _echoes(scene)
        if index % 3 == 0 and of:
            found += _too_long(scene, of, [recap for recap in recaps() if recap.scene.set == scene.set])
    return tuple(found)
