"""A brief as a value: its sections, how they are read from whatever a model wrote, and how they are written down.

Reading is total and linear, and forgives other words for a heading, another heading level, bold headings, prose, fences
and talk before the first heading. Writing gives every section, in order, "(none)" where it is empty. A brief normalises
its items when it is made, so that what was written is read back as the same value.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import Final

from previously.core.patterns import lazy_pattern

TITLES: Final = {
    "goal": "Goal",
    "constraints": "Constraints & Preferences",
    "done": "Done",
    "in_progress": "In Progress",
    "blocked": "Blocked",
    "decisions": "Key Decisions",
    "next_steps": "Next Steps",
    "context": "Critical Context",
    "files": "Relevant Files",
}
"""The sections in their order, each by the name of its field, with its title."""

PROGRESS: Final = "Progress"
"""The heading over Done, In Progress and Blocked."""

PROGRESS_FIELDS: Final = ("done", "in_progress", "blocked")

UNDIVIDED: Final = "progress"
"""Stands for what is written under Progress itself, outside its three parts."""

FAILED_TITLE: Final = "failed"
"""Stands for a section of failed approaches, which we keep among the decisions."""

_OTHER_TITLES = {
    "goal": "goals|objective|objectives|task|primary request|primary request and intent|user goal|user request|"
    "ziel|ziele|aufgabe|objectif|objectifs|objetivo|objetivos|obiettivo|doel|цель|цели|目标|目標|ゴール",
    "constraints": "constraints|preferences|constraints and preferences|user constraints|user preferences|rules|"
    "requirements|user directives|instructions|specs|user rules|vorgaben|einschränkungen|"
    "einschränkungen & vorlieben|einschränkungen und vorlieben|vorgaben & vorlieben|contraintes|"
    "contraintes & préférences|contraintes et préférences|restricciones|restricciones y preferencias|restrições|"
    "restrições e preferências|vincoli|ограничения|ограничения и предпочтения|约束|约束与偏好|制約|制約と好み",
    "done": "completed|completed work|finished|accomplished|erledigt|fertig|abgeschlossen|fait|terminé|hecho|"
    "completado|feito|concluído|fatto|сделано|готово|已完成|完成|完了",
    "in_progress": "in-progress|inprogress|active|current work|current|ongoing|wip|in arbeit|laufend|en cours|en curso|"
    "en progreso|em andamento|in corso|в работе|в процессе|进行中|進行中",
    "blocked": "blockers|blocker|blockiert|bloqué|bloqueado|bloqueos|bloccato|заблокировано|阻塞|受阻|ブロック",
    "decisions": "decisions|key decision|decisions made|design decisions|wichtige entscheidungen|entscheidungen|"
    "décisions|décisions clés|decisiones|decisiones clave|decisões|decisões importantes|decisioni|решения|"
    "ключевые решения|关键决策|重要な決定|決定事項",
    "next_steps": "next|next step|next move|next actions|todo|to do|to-do|remaining|remaining work|pending tasks|"
    "pending|nächste schritte|prochaines étapes|étapes suivantes|próximos pasos|siguientes pasos|próximos passos|"
    "prossimi passi|следующие шаги|下一步|次のステップ",
    "context": "context|important details|important context|key context|technical context|technical details|notes|"
    "key facts|facts|errors|open questions|errors and fixes|current state|state|wichtiger kontext|kontext|"
    "contexte|contexte critique|contexto|contexto crítico|contesto|контекст|важный контекст|关键上下文|重要な文脈",
    "files": "files|relevant file|key files|files touched|files modified|modified files|important files|"
    "files and code sections|relevante dateien|dateien|fichiers|fichiers pertinents|archivos|"
    "archivos relevantes|arquivos|arquivos relevantes|file rilevanti|файлы|важные файлы|相关文件|関連ファイル",
    UNDIVIDED: "progress|work state|status|work done|fortschritt|progrès|avancement|progreso|progresso|прогресс|进展|"
    "进度|進捗",
    FAILED_TITLE: "failed approaches|failed attempts|tried|tried and failed|what did not work|what didn't work|"
    "dead ends",
}
_FIELD_OF: Final = {
    **{name: field for field, names in _OTHER_TITLES.items() for name in names.split("|")},
    **{title.casefold(): field for field, title in TITLES.items()},
}

_ANNOUNCES = lazy_pattern(
    r"\b(?:summary|brief|recap|template|conversation|overview|zusammenfassung|résumé|resumen|resumo|riassunto)\b"
    r"|摘要|总结|要約|сводка",
    re.I,
)
_AROUND = " \t*_#:：.-–—"
_NUMBER = lazy_pattern(r"(?:\d{1,2}|[ivx]{1,4})[.)]\s+", re.I)


def find_field(title: str) -> str | None:
    """The field a title means, `UNDIVIDED` or `FAILED_TITLE`; None where it means none of ours."""
    key = title.strip(_AROUND).casefold()
    key = _NUMBER.sub("", key, count=1) if _NUMBER.match(key) else key
    return _FIELD_OF.get(key.strip(_AROUND))


def announces(title: str) -> bool:
    """Return whether a title only says what the text is."""
    return bool(_ANNOUNCES.search(title))


NONE: Final = "(none)"
FAILED: Final = "Tried, did not work: "
"""The beginning of a failed approach, among the decisions."""

NEWEST_REQUEST: Final = "Latest request before the newest messages: "
"""A newer one may stand in the messages behind the brief."""

EARLIER_REQUEST: Final = "Earlier request: "
REPORTED: Final = "Reported by the user: "
"""The beginnings of the user's own words, in the goal and the context."""

REMARK: Final = "Said: "
"""The beginning of a statement of the agent of no known sort; it stands in the context and is the first to go."""

NAMES: Final = "Names met in "
"""The beginning of a line that says where exact names were met: "Names met in src/a.py: `read_all`, `OPS-12`"."""

LONGEST_READ = 200_000
"""Characters of an answer that are read: what is longer ran away."""

_NOTHING = frozenset(
    "(none) none none. (none). n/a (n/a) (empty) (nothing) nothing (keine) keine (aucun) (ninguno) (нет) "
    "无 (无) （无） なし (なし) （なし）".split()
) | {"(none yet)", "none yet", "(none yet)."}
_MARKS = lazy_pattern(r"(?:[-*+•‣◦▪●・–](?:\s+|$))+")
_FAILED_WORDS = lazy_pattern(
    r"(?:\*\*|__)?(?:tried(?:,| and| but)? ?(?:did not work|didn['’]t work|failed|without success)|"
    r"failed(?: approach| attempt)?|did not work|dead end)(?:\*\*|__)?\s*[:：–—-]\s*(?:\*\*|__)?\s*",
    re.I,
)
_NEWEST_WORDS = lazy_pattern(
    r"(?:\*\*|__)?(?:newest|latest) request(?: before the newest messages)?(?:\*\*|__)?\s*[:：]\s*(?:\*\*|__)?\s*", re.I
)
"""The same as models and earlier briefs word it."""


@dataclass(frozen=True, slots=True)
class Brief:
    """A brief of a conversation: for each section its items, the oldest first, one line each."""

    goal: tuple[str, ...] = ()
    constraints: tuple[str, ...] = ()
    """Rules, preferences and specifications that the user wants kept."""
    done: tuple[str, ...] = ()
    in_progress: tuple[str, ...] = ()
    blocked: tuple[str, ...] = ()
    decisions: tuple[str, ...] = ()
    """Decisions with their reasons, and failed approaches; see `FAILED`."""
    next_steps: tuple[str, ...] = ()
    context: tuple[str, ...] = ()
    files: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for field in fields(self):
            items = (_read_item(one) for one in getattr(self, field.name))
            if field.name == "decisions":
                items = (_named(one, _FAILED_WORDS, FAILED) for one in items)
            elif field.name == "goal":
                items = (_named(one, _NEWEST_WORDS, NEWEST_REQUEST) for one in items)
            object.__setattr__(self, field.name, tuple(dict.fromkeys(one for one in items if one)))

    @property
    def is_empty(self) -> bool:
        return not any(getattr(self, name) for name in TITLES)

    def items(self) -> tuple[str, ...]:
        return tuple(one for name in TITLES for one in getattr(self, name))


def is_failure(item: str) -> bool:
    return item.startswith(FAILED)


def render_failure(what: str) -> str:
    return f"{FAILED}{what}"


def _read_item(text: str) -> str:
    """One line without a bullet; empty where there is nothing."""
    line = " ".join(piece for one in text.splitlines() if (piece := one.strip()))
    line = _MARKS.sub("", line, count=1) if _MARKS.match(line) else line
    return "" if line.casefold() in _NOTHING else line


def _named(item: str, words: re.Pattern[str], ours: str) -> str:
    """An item that begins in other words than ours, in ours."""
    match = words.match(item)
    if not match:
        return item
    rest = _read_item(item[match.end() :])
    while again := words.match(rest):
        rest = _read_item(rest[again.end() :])
    return f"{ours}{rest}" if rest else ""


def render_brief(brief: Brief) -> str:
    """A brief as Markdown: every section, in order."""
    lines: list[str] = []
    for name, title in TITLES.items():
        if name == PROGRESS_FIELDS[0]:
            lines += ["", f"## {PROGRESS}"]
        if name in PROGRESS_FIELDS:
            lines.append(f"### {title}")
        else:
            lines += ["", f"## {title}"]
        lines += [f"- {one}" for one in getattr(brief, name)] or [f"- {NONE}"]
    return "\n".join(lines).strip()


_BULLET = lazy_pattern(r"(?P<indent>\s*)(?:[-*+•‣◦▪●・–](?:\s+|$)|\(?\d{1,3}[.)]\s+)(?P<text>.*)")
_HASHES = lazy_pattern(r"\s{0,3}#{1,6}(?P<title>.*)", re.S)
_BOLD = lazy_pattern(r"\s{0,3}(?P<mark>\*\*|__)(?P<title>[^*_\n]{1,60})(?P=mark)\s*[:：]?\s*(?P<rest>.*)")
_BARE = lazy_pattern(r"\s{0,3}(?P<title>[^:：\n]{1,40})[:：]\s*(?P<rest>.*)")
_FENCE = lazy_pattern(r"\s*(?:```+|~~~+)[\w-]*\s*")
_TAG = lazy_pattern(r"\s*</?[a-z][\w-]{0,40}>\s*", re.I)
_BOX = lazy_pattern(r"\[(?P<mark>[ xX~/-]?)\]\s+")


def parse_brief(text: str) -> Brief:
    """The brief in a text. What stands before the first heading is no part of it; a text without one is empty."""
    reading = _Reading()
    for line in text[:LONGEST_READ].splitlines():
        reading.line(line)
    return build_brief(reading.found())


def build_brief(sections: dict[str, list[str]]) -> Brief:
    """The brief with these items, undivided progress and failed approaches put where they belong."""
    items: dict[str, list[str]] = {name: list(sections.get(name, ())) for name in TITLES}
    for item in sections.get(UNDIVIDED, ()):
        box = _BOX.match(item)
        mark = box["mark"] if box else "~"
        name = "done" if mark in ("x", "X") else "next_steps" if mark in ("", " ") else "in_progress"
        items[name].append(item[box.end() :] if box else item)
    items["decisions"] += [render_failure(item) for item in sections.get(FAILED_TITLE, ()) if _read_item(item)]
    return Brief(**{name: tuple(given) for name, given in items.items()})


class _Reading:
    """The state of reading a brief: its section and item. An item is kept in pieces till the end."""

    def __init__(self) -> None:
        self._found: dict[str, list[list[str]]] = {}
        self._section: str | None = None
        self._open = False
        """True if a line that is no bullet goes on with the last item."""
        self._gathers = False
        """True if nested bullets belong to the last item: it ended in a colon."""
        self._fenced = False

    def found(self) -> dict[str, list[str]]:
        return {name: [" ".join(pieces) for pieces in items] for name, items in self._found.items()}

    def line(self, line: str) -> None:
        if _FENCE.fullmatch(line):
            self._fenced = not self._fenced
        elif not line.strip() or _TAG.fullmatch(line):
            self._open = False
        elif bullet := _BULLET.fullmatch(line):
            self._bullet(bullet["text"].strip(), nested=bool(bullet["indent"]))
        elif not self._heading(line):
            self._prose(line.strip())

    def _bullet(self, text: str, *, nested: bool) -> None:
        if self._section is None:
            return
        items = self._found.setdefault(self._section, [])
        if nested and self._gathers and items:
            items[-1][-1] += "" if items[-1][-1].endswith((":", ";")) else ";"
            items[-1].append(text)
        else:
            items.append([text])
            self._gathers = text.endswith(":")
        self._open = True

    def _prose(self, text: str) -> None:
        if self._section is None:
            return
        items = self._found.setdefault(self._section, [])
        if self._open and items:
            items[-1].append(text)
        else:
            items.append([text])
        self._open = True

    def _heading(self, line: str) -> bool:
        hashes = _HASHES.fullmatch(line)
        if hashes:
            name = find_field(hashes["title"])
            if name is None and self._fenced and self._section is not None:
                return False
            self._enter(name or (None if announces(hashes["title"]) else "context"))
            return True
        for form in (_BOLD, _BARE):
            match = form.fullmatch(line)
            name = find_field(match["title"]) if match else None
            if match and name:
                self._enter(name)
                if match["rest"].strip():
                    self._prose(match["rest"].strip())
                return True
        return False

    def _enter(self, section: str | None) -> None:
        self._section = section
        self._open = False
        self._gathers = False


def extend_brief(brief: Brief, **more: Iterable[str]) -> Brief:
    return Brief(**{name: (*getattr(brief, name), *more.get(name, ())) for name in TITLES})
