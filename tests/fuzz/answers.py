"""Targets that a model wrote: the answers to every fold; and keys of lore, which people share."""

from __future__ import annotations

from functools import partial

from previously.core.messages import message
from previously.core.model_io import ModelRequest
from previously.core.note import Aspect
from previously.core.versions import Kind
from previously.folds.amend import AmendFold
from previously.folds.analysis import AnalysisFold
from previously.folds.brief import BriefFold
from previously.folds.cast import CastFold
from previously.folds.chapter import ChapterFold
from previously.folds.checks import Refused
from previously.folds.combine import CombineFold
from previously.folds.context import NoteContext, UpdateContext
from previously.folds.fold import Amends, Fold
from previously.folds.scene import SceneFold
from previously.folds.update import Part, UpdateFold
from previously.lore.decisions import ScanInput, ScanMessage
from previously.lore.entry import KeyedEntry, find_problems
from previously.lore.scan import scan
from previously.wire.model_call import build_reply
from tests.fuzz.mutations import Sample
from tests.fuzz.samples import SCENES
from tests.fuzz.target import FuzzInput, Target, check

SAID = (
    message("assistant", "On the eve of the fair Ada came to the mill. Rain fell.", speaker="Teller"),
    message("user", "“Finn, lend me ten crowns until the fair,” I said.", speaker="Ada"),
    message("assistant", "Finn counted out ten crowns. Old Tess listened behind the door.", speaker="Teller"),
)
RECAP = "Ada, a glazier, had come to the mill on the eve of the fair. Finn, her cousin, lent her ten crowns."
OPEN = (("a1", "Ada to Finn: ten crowns."), ("b2", "Who dug the tunnel?"))

UPDATES = [
    Sample.of(
        f"EPISODE\nAda borrowed ten crowns from Finn.\n\nRECAP\n{RECAP}\n\nTHREADS\n- new #2 Ada to Finn: ten crowns\n"
        "- T2 now #3 Who dug it?\n- T1 settled #3 Paid.\n\nSTATE\n- #3 Ten crowns / holder: Ada\n- Kiln / at: ended\n\n"
        "PRESENT\n- #1-#3: Ada, Finn and Old Tess\n- #2: -\n\nLEARNT\n- #3 Old Tess: that Ada owes Finn\n\n"
        "LORE\n- #1 Ada | person | Ada, glazier | A glazier.\n\nPLAYERS\n- #2 Bea: Ada\n\nWISHES\n- #1 no romance\n\n"
        "SCENES\n- ends at #3\n\nEND\n"
    ),
    Sample.of(f"<think>Hm.</think>**Recap:**\n{RECAP}\n### Threads\n* none\n"),
]
CHAPTERS = [Sample.of(f"TITLE\nThe Mill\n\nCHAPTER\n{RECAP}\n\nSHORT\nAda owed Finn.\n\nBACKBONE\n{RECAP}\n\nEND")]
PROSE = [Sample.of(RECAP), Sample.of(f"Sure! Here is it:\n```\n{RECAP}\n```\nAnything else?")]
ANALYSES = [
    Sample.of(
        {
            "summary_update": "Ada owed Finn ten crowns.", "signals": {"scene_end": True},
            "characters": [{"name": "Ada", "aspect": "place", "value": "the mill"}],
            "new_threads": ["Ada to Finn: ten crowns."], "resolved_threads": [1, "T2"], "lore": [{"name": "Mill"}],
            "state": [{"who": "Ada", "aspect": next(iter(Aspect)).value, "value": "x"}],
        }
    ),
]  # fmt: skip
CASTS = [
    Sample.of({"summary": "Ada waits.", "add": ["Finn is kind"], "remove": [2], "update": [{"old": 1, "new": "Rain"}]}),
    Sample.of("summary: Ada waits.\nadd:\n  - Finn is kind\nremove: [2]\nupdate:\n  - old: 1\n    new: x\n"),
    Sample.of({"memory": {"new_summary": "Ada waits.", "key_facts": ["1. a", "b"]}}),
]
BRIEFS = [
    Sample.of(
        "## Goal\n- Add rotation.\n\n## Constraints\n- Never log to stdout.\n\n## Done\n- `pytest -q` passes.\n\n"
        "## Decisions\n- Keep five files: the disk is small.\n- FAILED: gzip.\n\n## Next steps\n1. Document it.\n\n"
        "## Files\n- src/writer.py: opens the log\n\n## Context\n- key sk-abcdefghijklmnopqrstuvwx\n"
    )
]
WORK = (
    message("user", "Add rotation to the log writer, and never log to stdout. The key is sk-abcdefghijklmnop."),
    message("assistant", "I added a class in src/writer.py; `pytest -q` passes."),
)
KEYS = [
    Sample.of("mill"), Sample.of("/mi(?:ll|lls)\\b/i"), Sample.of("/(a|b)*c{2,5}[^\\u00e9\\/]/gms"),
    Sample.of("/\\u{1F409}|\\cA|[^]|[]/y"), Sample.of("Straße"), Sample.of("/(?<name>x)\\k<name>/"),
    Sample.of("/((a{1,30}){1,30}){1,30}/"), Sample.of("田中"),
]  # fmt: skip
TEXT = "The mills of Mirk stood by the Straße; 田中さん and a dragon 🐉 saw aaaa…"

REQUEST = ModelRequest(system="", user="What happened?", max_output_tokens=100)

FOLDS: dict[str, tuple[Fold, list[Sample]]] = {
    "update": (UpdateFold(SAID, UpdateContext(recap=RECAP, threads=OPEN)), UPDATES),
    "update, lists": (UpdateFold(SAID, UpdateContext(threads=OPEN), Part.LISTS), UPDATES),
    "chapter": (ChapterFold(SAID, recap=RECAP, backbone=RECAP, episodes=("Ada came.",)), CHAPTERS),
    "amend": (AmendFold(Kind.RECAP, RECAP, SAID[1:], 60, Amends(SAID[:1], (RECAP,))), PROSE),
    "combine": (CombineFold.of([RECAP, "Ada left."], 60), PROSE),
    "scene": (SceneFold(SAID, "", NoteContext(so_far=RECAP, threads=OPEN)), SCENES),
    "analysis": (AnalysisFold(delta=SAID, context=NoteContext(so_far=RECAP, threads=OPEN)), ANALYSES),
    "cast": (CastFold.of("Ada", SAID, at=2), CASTS),
    "brief": (BriefFold(WORK, ""), BRIEFS),
}
"""Every fold that asks a model, and answers that it takes."""


def list_answers() -> list[Target]:
    """Return a target for the answers to each fold, and one for keys."""
    folds = [Target(f"answer: {name}", partial(_judge, fold), samples) for name, (fold, samples) in FOLDS.items()]
    return [*folds, Target("lore: key", _search, KEYS)]


def _judge(fold: Fold, given: FuzzInput) -> str | None:
    """Judge an answer; what is kept of it can be stored and does not grow without end."""
    finish = given.chance.choice(("stop", "stop", "stop", "length", "content_filter", None))
    called = given.chance.random() < 0.02
    reply = build_reply(given.said, request=REQUEST, model="m", finish_reason=finish, tool_calls=called)
    verdict = fold.judge(reply)
    if isinstance(verdict, Refused):
        return f"It is refused: {verdict.reason}."
    for text in (verdict.text, *(beside for _, beside in verdict.beside)):
        text.encode()
        check("\0" not in text, "NUL is kept")
    return None


def _search(given: FuzzInput) -> str | None:
    """Search a text for a key, whatever it is; an entry that cannot be found says why."""
    entry = KeyedEntry("u", "b", keys=(given.said,), content=given.said[:50])
    found = scan(
        [entry], ScanInput((ScanMessage(TEXT), ScanMessage(given.said[:2_000]))), quirks=given.chance.random() < 0.3
    )
    found.explain_all()
    problems = find_problems(entry)
    return "; ".join(problems) if problems else None
