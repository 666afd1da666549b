"""The librarian: what one fragment adds to the summary, what it changed, and where it contradicts the story so far.

An analysis reads one fragment. The story before it, the names and the open threads are shown so that it can be
understood, and so that a contradiction can be seen at all. An answer is read forgivingly: other spellings of the keys,
items that are objects, lists that are texts, words for "nothing". No answer raises, and what is kept is bounded. An
answer that notes nothing is no analysis; one that could be better is asked for once more, and then an empty summary
update is derived from the signals, so that it is no gap.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar

from previously.core.messages import Message, Role
from previously.core.model_io import ModelRequest
from previously.core.note import Note
from previously.core.patterns import lazy_pattern
from previously.core.scene import (
    LONGEST_UPDATE,
    MOST_ITEMS,
    MOST_MENTIONS,
    Analysis,
    Signals,
    join_signals,
    keep_newest,
    parse_items,
    parse_settled,
    parse_signals,
    render_settled,
)
from previously.core.scripts import casefold
from previously.core.versions import Kind
from previously.folds.boundary import find_heading
from previously.folds.builtin.quotes import quote
from previously.folds.checks import Accepted, Refused
from previously.folds.context import (
    ASPECTS,
    NO_CONTEXT,
    NoteContext,
    build_signals_note,
    build_stranger_finder,
    find_state_faults,
    name_threads,
    render_language_rule,
)
from previously.folds.fold import NoteFold
from previously.folds.json_answer import (
    DECLINED,
    accept_note,
    dump_canonical,
    find_object,
    read_text_value,
    refuse_shape,
)
from previously.folds.prompts.templates import Template, defuse_tags, fill_template, render_message, render_transcript
from previously.text.sentences import split_sentences, strip_markup
from previously.text.voice import is_refusal

LISTS = tuple(field.name for field in fields(Signals))

ANSWER_TOKENS = 1_200
"""Room for an answer: two sentences and a dozen short items take less than half of it."""

BUILTIN_WORDS = 45
"""The words an update without a model may have: one sentence or two."""

_LONG_ENOUGH = 5
"""So many words in a row that stand in the summary so far are told again, not by chance."""

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "summary_update": {"type": "string"},
        **{name: {"type": "array", "items": {"type": "string"}} for name in (*LISTS, "mentions", "contradictions")},
    },
    "required": ["summary_update", *LISTS, "mentions", "contradictions"],
    "additionalProperties": False,
}


def is_fragment(message: Message) -> bool:
    """Return whether a message tells something that is analysed: no instruction, no chapter heading, no remark out of
    character, not without words."""
    heading = find_heading(message)
    says = _LETTER_OR_DIGIT.search(strip_markup(render_message(message)))
    return message.role is not Role.SYSTEM and says is not None and not (heading and heading.alone)


@dataclass(frozen=True, slots=True)
class AnalysisFold(NoteFold):
    """One fragment to be analysed."""

    kind: ClassVar[Kind] = Kind.ANALYSIS
    prompt: ClassVar[str] = "analysis"

    delta: tuple[Message, ...]
    """The fragment, or a part of it."""
    so_far: str = ""
    """The analysis that was noted of the parts before."""
    context: NoteContext = NO_CONTEXT
    """The story before the fragment."""
    again: bool = False
    first: int = 0
    """The position of the fragment."""

    def build(self, template: Template, hint: str = "") -> ModelRequest:
        noted = parse_analysis(self.so_far).summary_update if self.so_far else ""
        beginning = "This was noted of how the fragment begins, which is not shown; do not note it again."
        system, user = fill_template(
            template,
            {
                **self.context.render(),
                "bridge": self.context.render_bridge(),
                "aspects": ASPECTS,
                "language": render_language_rule(self.delta, "fragment", 'keys, aspects and the word "ended"'),
                "noted": f"\n{beginning}\n<noted>\n{defuse_tags(noted)}\n</noted>\n" if noted else "",
                "fragment": render_transcript(self.delta) or "(nothing)",
                "hint": f" {hint}" if hint else "",
            },
        )
        return ModelRequest(system, user, ANSWER_TOKENS, SCHEMA)

    def judge_text(self, text: str) -> Accepted | Refused:
        """Return what a model's answer notes, with what was noted of the parts before."""
        given = find_object(text)
        if isinstance(given, Refused):
            return given
        analysis = read_analysis(given)
        signals, settled = name_threads(analysis.signals, self.context.threads)
        analysis = replace(analysis, signals=signals, settled=settled)
        if is_refusal(analysis.summary_update) and analysis.signals.is_empty:
            return DECLINED
        if analysis.is_empty:
            return refuse_shape("it notes nothing; write at least summary_update")
        update, again = self._without_retelling(analysis.summary_update)
        warnings = [f"told before, left out: {again[0][:80]}"] if again else []
        faults = [f"{name} has {count} items, of which {MOST_ITEMS} count" for name, count in find_overfull(given)]
        if not update:
            faults.append("summary_update is empty, or only tells the story so far again")
            update = derive_update(analysis.signals)
            if not update:
                return refuse_shape("its summary_update only repeats the story so far")
            warnings.append("the summary update was derived from the signals")
        warnings += find_state_faults(analysis.signals)
        analysis = replace(analysis, summary_update=update)
        analysis, strangers = self._without_strangers(analysis)
        faults += [f"the name {name} stands neither in the fragment nor in what you were given" for name in strangers]
        return accept_note(render_analysis(self._with_so_far(analysis)), warnings, faults)

    def builtin(self) -> Accepted:
        """Return what is noted without a model: a sentence or two of the fragment, word for word."""
        earlier = parse_analysis(self.so_far)
        update = quote(earlier.summary_update, self.delta, self.first, BUILTIN_WORDS)
        return Accepted(render_analysis(replace(earlier, summary_update=update)))

    def _with_so_far(self, analysis: Analysis) -> Analysis:
        return join_analyses(parse_analysis(self.so_far), analysis) if self.so_far else analysis

    def _without_strangers(self, analysis: Analysis) -> tuple[Analysis, list[str]]:
        """Return an analysis without items that name somebody nobody has heard of, and those names. The summary update
        stays: it is all that is remembered of the fragment."""
        strangers: list[str] = []
        find_strangers = build_stranger_finder(self.context, self.delta, self.so_far)

        def is_heard(text: str) -> bool:
            unheard = find_strangers(text)
            strangers.extend(unheard)
            return not unheard

        is_heard(analysis.summary_update)
        lists = {name: tuple(filter(is_heard, getattr(analysis.signals, name))) for name in LISTS}
        mentions = tuple(name for name in analysis.mentions if is_heard(f"of {name}."))
        settled = tuple(one for one in analysis.settled if is_heard(one.text))
        kept = replace(analysis, signals=Signals(**lists), mentions=mentions, settled=settled)
        return kept, list(dict.fromkeys(strangers))

    def _without_retelling(self, update: str) -> tuple[str, Sequence[str]]:
        """The update without sentences that stand in the summary so far, and those."""
        earlier = casefold("\n".join((self.context.earlier, self.context.so_far, self.context.recent)))
        sentences = split_sentences(update)
        again = [
            one for one in sentences if len(one.split()) >= _LONG_ENOUGH and casefold(one).rstrip(".!? ") in earlier
        ]
        return (" ".join(one for one in sentences if one not in again) if again else update), again


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
_NO_SUCH = lazy_pattern(
    r"(?:there (?:are|is|were) )?(?:no|none) (?:\w+ ){0,3}(?:contradictions?|threads?|changes?|events?)?"
)
_LETTER_OR_DIGIT = lazy_pattern(r"[^\W_]")
_COMMAS = lazy_pattern(r"[,;|\n]+")
_CAMEL = lazy_pattern(r"(?<=[a-z])(?=[A-Z])")


def read_analysis(answer: Mapping[str, Any]) -> Analysis:
    """The analysis in a JSON object, whatever a model made of the shape it was asked for."""
    given = _by_name(answer)
    signals = Signals(**{name: _read_items(given.get(name)) for name in LISTS})
    update = " ".join(read_text_value(given.get("summary_update")).split())
    return Analysis(
        summary_update=_cut(update) if _says_something(update) else "",
        signals=signals,
        mentions=_read_mentions(given.get("mentions")),
        contradictions=_read_items(given.get("contradictions")),
    )


def find_overfull(answer: Mapping[str, Any]) -> list[tuple[str, int]]:
    """Return the lists of a JSON object that have more items than are kept, and how many each has."""
    given = _by_name(answer)
    counts = ((name, given.get(name)) for name in (*LISTS, "contradictions"))
    return [(name, len(items)) for name, items in counts if isinstance(items, list) and len(items) > MOST_ITEMS]


def _by_name(answer: Mapping[str, Any]) -> dict[str, Any]:
    """The values under the names they should have; what lies one object deeper is taken up."""
    named: dict[str, Any] = {}
    for key, value in answer.items():
        name = re.sub(r"[\s\-]+", "_", _CAMEL.sub("_", str(key)).strip().lower())
        name = _OTHER_NAMES.get(name, name)
        if isinstance(value, Mapping):
            for inner, deeper in _by_name({k: v for k, v in value.items() if not isinstance(v, Mapping)}).items():
                named.setdefault(inner, deeper)
        elif name not in named:
            named[name] = value
    return named


def _read_items(given: object) -> tuple[str, ...]:
    return parse_items([one for one in _iterate_texts(given) if _says_something(one)])


def _read_mentions(given: object) -> tuple[str, ...]:
    mentions: dict[str, str] = {}
    names = _COMMAS.split(given) if isinstance(given, str) else _iterate_texts(given)
    for mention in names:
        name = " ".join(mention.split()).strip(" .,;:")
        if _says_something(name) and len(name) <= 80:
            mentions.setdefault(casefold(name), name)
    return tuple(mentions.values())[:MOST_MENTIONS]


def _iterate_texts(given: object) -> Iterable[str]:
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
    plain = casefold(text).strip(" .!()[]")
    return plain not in _NOTHING and not _NO_SUCH.fullmatch(plain)


def _cut(text: str) -> str:
    """The sentences that fit, or the first words where not even one does."""
    if len(text) <= LONGEST_UPDATE:
        return text
    kept = ""
    for sentence in split_sentences(text):
        longer = f"{kept} {sentence}".strip()
        if len(longer) > LONGEST_UPDATE:
            break
        kept = longer
    return kept or text[: LONGEST_UPDATE - 1].rsplit(" ", 1)[0] + "…"


def derive_update(signals: Signals) -> str:
    """A summary update made of the signals: what happened, what changed, what is open and what is settled."""
    events = " ".join(map(_end_sentence, signals.events))
    lists = (
        ("Now", signals.state_changes),
        ("Still open", signals.open_threads),
        ("Settled", signals.resolved_threads),
    )
    rest = [
        f"{_end_sentence(f'{what}: ' + '; '.join(one.rstrip('. ') for one in items))}" for what, items in lists if items
    ]
    return _cut(" ".join([events, *rest]).strip())


def _end_sentence(sentence: str) -> str:
    return sentence if sentence.endswith((".", "!", "?", "…", "。", "！", "？", '"', "”")) else f"{sentence}."


def join_analyses(earlier: Analysis, later: Analysis) -> Analysis:
    """The analysis of a fragment that was read in two parts. Where there is too much, what is later counts."""
    return Analysis(
        summary_update=_cut(f"{earlier.summary_update} {later.summary_update}".strip()),
        signals=join_signals(earlier.signals, later.signals),
        mentions=_read_mentions([*earlier.mentions, *later.mentions]),
        contradictions=keep_newest(earlier.contradictions + later.contradictions),
        settled=(*earlier.settled, *later.settled),
    )


def render_analysis(analysis: Analysis) -> str:
    return dump_canonical(
        {
            "summary_update": analysis.summary_update,
            **analysis.signals.as_json(),
            "mentions": list(analysis.mentions),
            "contradictions": list(analysis.contradictions),
            **render_settled(analysis.settled),
        }
    )


def parse_analysis(text: str) -> Analysis:
    """The analysis in a text that was kept, as it was kept; an empty one where it cannot be read."""
    try:
        kept = json.loads(text)
    except (ValueError, RecursionError):
        return Analysis("")
    if not isinstance(kept, Mapping):
        return Analysis("")
    update = kept.get("summary_update")
    mentions = kept.get("mentions")
    names = [one for one in mentions if isinstance(one, str)] if isinstance(mentions, list) else []
    return Analysis(
        summary_update=update if isinstance(update, str) else "",
        signals=parse_signals(kept),
        mentions=tuple(names[:MOST_MENTIONS]),
        contradictions=parse_items(kept.get("contradictions")),
        settled=parse_settled(kept.get("settled")),
    )


def parse_analysis_note(text: str) -> Note:
    analysis = parse_analysis(text)
    return build_signals_note(analysis.signals, analysis.settled)
