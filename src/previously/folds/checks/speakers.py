"""People who were never there.

Owns the question whether an answer is about someone else: a list of speakers, or several names, that occur nowhere in
what was read. What must stay true: names are only counted where a script or a list shows them as names, and an answer
that mostly speaks of known people may bring a new word or two.
"""

from __future__ import annotations

import re

from previously.folds.builtin.names import NameBook, is_capitalised
from previously.folds.checks.echo import labels_in
from previously.folds.checks.language import languages_of
from previously.folds.checks.material import Material
from previously.folds.checks.traces import has_name, inner_names, keys_of, name_parts, names_in

_LIST = re.compile(
    r"(?:^|\n)[ \t#*_【\[]*(?:speakers?|characters?|cast|participants?|people|dramatis personae|names|persons?|"
    r"sprecher|personen|figuren|charaktere|"
    r"beteiligte|personnages|participants|intervenants|locuteurs|personajes|participantes|hablantes|personagens|"
    r"falantes|"
    r"персонажи|участники|действующие лица|говорящие|登場人物|話者|人物|キャラクター|参加者|角色|说话人|說話人|"
    r"参与者|人物列表)"
    r"[^:：\n]{0,30}[:：]\**[ \t]*(?P<list>[^\n]*(?:\n[ \t]*(?:[-*•●・]|\d+[.)])[^\n]*)*)",
    re.I,
)
_ITEM = re.compile(r"[,;、，；・/\n]|\band\b|\bund\b|\bet\b|\by\b|\be\b|\bи\b|和|と")
_PARENTHESIS = re.compile(r"[(（\[][^()（）\[\]]*[)）\]]")

SEVERAL = 3


def listed_in(text: str) -> list[str]:
    """The names in lists of people, as written."""
    found: list[str] = []
    for match in _LIST.finditer(text):
        for item in _ITEM.split(_PARENTHESIS.sub(" ", match.group("list"))):
            name = re.split(r"\s[-–—:]\s|[:：.。]", item.strip(' \t-*•●・_.0123456789)"“”「」'), maxsplit=1)[0].strip()
            if 0 < len(name) <= 40:
                found.append(name)
    return found


def is_list(text: str) -> bool:
    """Whether an answer is nothing but a list of people."""
    match = _LIST.match(text.strip())
    return match is not None and match.end() >= 0.6 * len(text.strip())


def invented_in_lists(material: Material, prompt: str, text: str) -> list[str]:
    """Names in lists of people or before lines of speech that nobody in the story has."""
    listed = [*listed_in(text), *(name for name in labels_in(text) if _is_like_a_name(name))]
    names = list(dict.fromkeys(name for name in listed if name_parts(name)))
    unknown = _unknown(names, material, prompt)
    return unknown if len(unknown) >= 2 and 2 * len(unknown) > len(names) else []


def _is_like_a_name(label: str) -> bool:
    words = label.split()
    return len(words) <= 3 and all(not word[0].islower() for word in words)


def invented_in_prose(material: Material, prompt: str, text: str, book: NameBook) -> list[str]:
    """Names in the prose that nobody and nothing in the story has, when they outnumber the known ones."""
    # Words in katakana are as often things as people.
    names = [name for name in names_in(book, text) if any(is_capitalised(word) for word in name.split())]
    if book.nouns_are_capitalised() and languages_of(text).get("German", 0.0) < 0.5:
        # A short story full of names looks as if every noun had a capital.
        names = list(dict.fromkeys([*names, *inner_names(text)]))
    unknown = _unknown(names, material, prompt)
    return unknown if len(unknown) >= SEVERAL and 2 * len(unknown) > len(names) else []


def _unknown(names: list[str], material: Material, prompt: str) -> list[str]:
    """The names that neither the story nor the prompt has: a card or a lore entry may name someone, too."""
    unknown = [name for name in names if not has_name(name, material.story, material.keys)]
    if unknown and prompt:
        keys = keys_of(prompt)
        unknown = [name for name in unknown if not has_name(name, prompt, keys)]
    return unknown
