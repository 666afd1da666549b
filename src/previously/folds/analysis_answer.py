"""From an answer to an analysis, and back to text.

Owns how forgiving the librarian reads: other spellings of the keys, items that are objects, lists that are texts, words
for "nothing". What must stay true: no answer raises; what is kept is bounded; `analysis_of(analysis_text(x))` is `x`
for all that was kept.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from typing import Any

from previously.core.analyses import LONGEST_UPDATE, MOST_MENTIONS, Analysis
from previously.core.note import Note
from previously.core.signals import MOST_ITEMS, Signals, folded, items_of, settled_json, settled_of, signals_of
from previously.folds.json_answer import canonical, text_in
from previously.folds.scene_shape import signals_note
from previously.text.sentences import whole_sentences

LISTS = tuple(one.name for one in fields(Signals))

_OTHER_NAMES = {
    "summary": "summary_update", "update": "summary_update", "state": "state_changes", "changes": "state_changes",
    "threads": "open_threads", "open": "open_threads", "resolved": "resolved_threads", "closed_threads":
    "resolved_threads", "characters": "mentions", "people": "mentions", "names": "mentions", "mentioned_characters":
    "mentions",
}  # fmt: skip
_WORDS_OF_ITEMS = ("text", "description", "event", "change", "thread", "name", "summary")
_NOTHING = frozenset(
    "none nothing n/a null no empty unknown nil - keine aucun aucune ninguno ninguna нет 无 なし".split()
)
_NO_SUCH = re.compile(
    r"(?:there (?:are|is|were) )?(?:no|none) (?:\w+ ){0,3}(?:contradictions?|threads?|changes?|events?)?"
)
_LETTER_OR_DIGIT = re.compile(r"[^\W_]")
_COMMAS = re.compile(r"[,;|\n]+")
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")


def analysis_in(found: Mapping[str, Any]) -> Analysis:
    """The analysis in a JSON object, whatever a model made of the shape it was asked for."""
    given = _by_name(found)
    signals = Signals(**{name: _items(given.get(name)) for name in LISTS})
    update = " ".join(text_in(given.get("summary_update")).split())
    return Analysis(
        summary_update=_cut(update) if _says_something(update) else "",
        signals=signals,
        mentions=_mentions(given.get("mentions")),
        contradictions=_items(given.get("contradictions")),
    )


def overfull(found: Mapping[str, Any]) -> list[tuple[str, int]]:
    """Return the lists of a JSON object that have more items than are kept, and how many each has."""
    given = _by_name(found)
    counts = ((name, given.get(name)) for name in (*LISTS, "contradictions"))
    return [(name, len(items)) for name, items in counts if isinstance(items, list) and len(items) > MOST_ITEMS]


def _by_name(found: Mapping[str, Any]) -> dict[str, Any]:
    """The values under the names they should have; what lies one object deeper is taken up."""
    named: dict[str, Any] = {}
    for key, value in found.items():
        name = re.sub(r"[\s\-]+", "_", _CAMEL.sub("_", str(key)).strip().lower())
        name = _OTHER_NAMES.get(name, name)
        if isinstance(value, Mapping):
            for inner, deeper in _by_name({k: v for k, v in value.items() if not isinstance(v, Mapping)}).items():
                named.setdefault(inner, deeper)
        elif name not in named:
            named[name] = value
    return named


def _items(given: object) -> tuple[str, ...]:
    return items_of([one for one in _texts(given) if _says_something(one)])


def _mentions(given: object) -> tuple[str, ...]:
    found: dict[str, str] = {}
    names = _COMMAS.split(given) if isinstance(given, str) else _texts(given)
    for one in names:
        name = " ".join(one.split()).strip(" .,;:")
        if _says_something(name) and len(name) <= 80:
            found.setdefault(folded(name), name)
    return tuple(found.values())[:MOST_MENTIONS]


def _texts(given: object) -> Iterable[str]:
    items: Sequence[object] = given if isinstance(given, list | tuple) else (given,)
    for item in items:
        if isinstance(item, str):
            yield item
        elif isinstance(item, Mapping):
            words = [item[key] for key in _WORDS_OF_ITEMS if isinstance(item.get(key), str)]
            yield next(iter([*words, *(value for value in item.values() if isinstance(value, str))]), "")


def _says_something(text: str) -> bool:
    if not _LETTER_OR_DIGIT.search(text):
        return False
    plain = folded(text).strip(" .!()[]")
    return plain not in _NOTHING and not _NO_SUCH.fullmatch(plain)


def _cut(text: str) -> str:
    """The sentences that fit, or the first words where not even one does."""
    if len(text) <= LONGEST_UPDATE:
        return text
    kept = ""
    for sentence in whole_sentences(text):
        longer = f"{kept} {sentence}".strip()
        if len(longer) > LONGEST_UPDATE:
            break
        kept = longer
    return kept or text[: LONGEST_UPDATE - 1].rsplit(" ", 1)[0] + "…"


def derived(signals: Signals) -> str:
    """A summary update made of the signals: what happened, what changed, what is open and what is settled."""
    told = " ".join(map(_ended, signals.events))
    lists = (
        ("Now", signals.state_changes),
        ("Still open", signals.open_threads),
        ("Settled", signals.resolved_threads),
    )
    rest = [f"{_ended(f'{what}: ' + '; '.join(one.rstrip('. ') for one in items))}" for what, items in lists if items]
    return _cut(" ".join([told, *rest]).strip())


def _ended(sentence: str) -> str:
    return sentence if sentence.endswith((".", "!", "?", "…", "。", "！", "？", '"', "”")) else f"{sentence}."


def joined(earlier: Analysis, later: Analysis) -> Analysis:
    """The analysis of a fragment that was read in two parts. Where there is too much, what is later counts."""
    settled = {folded(one) for one in later.signals.resolved_threads}
    still_open = [one for one in earlier.signals.open_threads if folded(one) not in settled]
    lists = {
        name: _newest([*(still_open if name == "open_threads" else getattr(earlier.signals, name)), *new])
        for name, new in ((name, getattr(later.signals, name)) for name in LISTS)
    }
    return Analysis(
        summary_update=_cut(f"{earlier.summary_update} {later.summary_update}".strip()),
        signals=Signals(**lists),
        mentions=_mentions([*earlier.mentions, *later.mentions]),
        contradictions=_newest([*earlier.contradictions, *later.contradictions]),
        settled=(*earlier.settled, *later.settled),
    )


def _newest(items: Sequence[str]) -> tuple[str, ...]:
    once = {folded(one): one for one in items}
    return items_of(list(once.values())[-MOST_ITEMS:])


def analysis_text(analysis: Analysis) -> str:
    """An analysis as canonical JSON."""
    return canonical(
        {
            "summary_update": analysis.summary_update,
            **analysis.signals.as_json(),
            "mentions": list(analysis.mentions),
            "contradictions": list(analysis.contradictions),
            **settled_json(analysis.settled),
        }
    )


def analysis_of(text: str) -> Analysis:
    """The analysis in a text that was kept, as it was kept; an empty one where it cannot be read."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return Analysis("")
    if not isinstance(found, Mapping):
        return Analysis("")
    update = found.get("summary_update")
    mentions = found.get("mentions")
    names = [one for one in mentions if isinstance(one, str)] if isinstance(mentions, list) else []
    return Analysis(
        summary_update=update if isinstance(update, str) else "",
        signals=signals_of(found),
        mentions=tuple(names[:MOST_MENTIONS]),
        contradictions=items_of(found.get("contradictions")),
        settled=settled_of(found.get("settled")),
    )


def analysis_note(text: str) -> Note:
    """Return the note in the text of an analysis' version."""
    analysis = analysis_of(text)
    return signals_note(analysis.signals, analysis.settled)
