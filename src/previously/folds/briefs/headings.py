"""The headings of a brief: what they are called by us, and what models call them.

Owns which section a heading means. What must stay true: our own titles mean their own sections; a title that means
nothing here is told apart from one that only announces the text.
"""

from __future__ import annotations

import re
from typing import Final

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

_ANNOUNCES = re.compile(
    r"\b(?:summary|brief|recap|template|conversation|overview|zusammenfassung|résumé|resumen|resumo|riassunto)\b"
    r"|摘要|总结|要約|сводка",
    re.I,
)
_AROUND = " \t*_#:：.-–—"
_NUMBER = re.compile(r"(?:\d{1,2}|[ivx]{1,4})[.)]\s+", re.I)


def field_of(title: str) -> str | None:
    """The field a title means, `UNDIVIDED` or `FAILED_TITLE`; None where it means none of ours."""
    key = title.strip(_AROUND).casefold()
    key = _NUMBER.sub("", key, count=1) if _NUMBER.match(key) else key
    return _FIELD_OF.get(key.strip(_AROUND))


def announces(title: str) -> bool:
    """Whether a title only says what the text is."""
    return bool(_ANNOUNCES.search(title))
