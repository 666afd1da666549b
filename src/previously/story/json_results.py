"""The JSON of results, for the command line and the API alike: views, answers, folds, imports, copies, checks.

These shapes are relied on from outside; fields may be added.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from previously.story.json_shapes import span_json

if TYPE_CHECKING:
    from previously.formats.directory_merge import DirectoryEdit
    from previously.formats.files import StorySource
    from previously.runtime.backup import Copies
    from previously.runtime.conversation import FoldedConversation
    from previously.runtime.fold_report import FoldDone, FoldReport
    from previously.runtime.forget import Destroyed
    from previously.runtime.search import SearchHit
    from previously.storage.findings import Verified
    from previously.story.apply_directory import AppliedDirectory
    from previously.story.ask import Answer, Evidence
    from previously.story.intake import Intake
    from previously.story.searches import ModelSearch
    from previously.view.view import View


def hit_json(hit: SearchHit) -> dict[str, Any]:
    return {
        "position": hit.position,
        "id": hit.id,
        "speaker": hit.speaker,
        "at": hit.at,
        "text": hit.text,
        "score": hit.score,
        "tokens": hit.tokens,
        "highlights": [list(place) for place in hit.highlights],
        "hidden": hit.hidden,
        **({"only_alike": True} if hit.only_alike else {}),
        **({"picked": True} if hit.picked else {}),
        **({"from_story": hit.story} if hit.story else {}),
    }


def model_search_json(found: ModelSearch) -> dict[str, Any]:
    """The part of a model in a search: the words it gave, and what became of its pick."""
    pick = found.pick
    return {
        "words": asdict(found.words),
        "pick": {
            "picked": len(pick.hits),
            "offered": pick.offered,
            "reason": pick.reason,
            "warnings": list(pick.warnings),
            "model": pick.model,
            "cost": asdict(pick.cost),
        },
    }


def view_json(seen: View) -> dict[str, Any]:
    """The view in the shape that is relied on from outside."""
    from previously.wire.chat import to_openai

    report = seen.report
    return {
        "budget_tokens": seen.budget_tokens,
        "tokens": seen.tokens,
        "messages": [line for message in seen.messages for line in to_openai(message)],
        "items": [
            {
                "section": item.section.value,
                "tokens": item.tokens,
                "reason": item.reason,
                "sources": [span_json(span) for span in item.sources],
                "score": item.score,
            }
            for item in seen.items
        ],
        "left_out": [
            {"what": item.what, "reason": item.why, "span": span_json(item.span) if item.span else None}
            for item in seen.left_out
        ],
        "fold_due": seen.fold_due,
        "reader": seen.reader,
        "report": {
            "counter": report.counter,
            "sections": {section.value: tokens for section, tokens in report.sections.items()},
            "free_tokens": report.free_tokens,
            "new_epoch": report.epoch or None,
            "unchanged_tokens": report.unchanged_tokens,
            "unchanged_share": report.unchanged_share,
            "volatile_tokens": report.volatile_tokens,
        },
        "as_shown": seen.as_shown,
    }


def answer_json(story: str, answer: Answer) -> dict[str, Any]:
    return {
        "story": story,
        "question": answer.question,
        "verdict": answer.verdict.value,
        "answer": answer.text or None,
        "reason": answer.reason,
        "cited": [source.address for source in answer.cited],
        "sources": [_source_json(source) for source in answer.sources],
        "model": answer.model,
        "calls": answer.calls,
    }


def _source_json(source: Evidence) -> dict[str, Any]:
    return {
        "number": source.number,
        "address": source.address,
        "text": source.text,
        "messages": [[span.first, span.last] for span in source.spans],
        "speaker": source.speaker,
        "at": source.at,
        "note": source.note,
        "score": source.score,
        "tokens": source.tokens,
        **({"from_story": source.story} if source.story else {}),
    }


def report_json(story: str, report: FoldReport, price: float) -> dict[str, object]:
    """Return the report of a fold in the shape that is relied on from outside."""
    return {
        "folds": [fold_json(done) for done in report.folds],
        "calls": report.calls,
        "price": price,
        "stopped": report.stopped,
        "closed": [{"position": end.position, "title": end.title, "reason": end.reason} for end in report.closed],
        "story": story,
    }


def fold_json(done: FoldDone) -> dict[str, object]:
    return {
        "kind": done.kind.value,
        "scope": done.scope,
        "status": done.status,
        "made_by": done.made_by,
        "reason": done.reason,
        "span": span_json(done.span),
        "beside": list(done.beside),
        "calls": done.cost.calls,
        "input_tokens": done.cost.input_tokens,
        "output_tokens": done.cost.output_tokens,
    }


def conversation_json(done: FoldedConversation) -> dict[str, Any]:
    """An agent's conversation that was folded without a story."""
    return {
        "status": done.status,
        "reason": done.reason,
        "tokens": done.tokens,
        "before_tokens": done.before_tokens,
        "messages": done.messages,
        **({"system": done.system} if done.system else {}),
        "body": dict(done.body),
        "brief": done.brief,
        "folded": done.folded,
        "pruned": done.pruned,
        "interrupted": done.interrupted,
        "made_by": done.made_by or None,
        "note": done.note or None,
        "calls": done.calls,
        "previously": dict(done.earlier),
    }


def intake_json(story: str, source: StorySource, intake: Intake) -> dict[str, Any]:
    """Return what a file did to its story, or would do."""
    changes, memories = intake.changes, intake.memories
    return {
        "story": story,
        "added": changes.added,
        "updated": changes.updated,
        "removed": changes.removed,
        "unchanged": changes.unchanged,
        "format": source.format,
        "branches": list(intake.branches),
        "skipped": dict(source.skipped),
        "books": [{"book": one.name, "entries": one.entries, "status": one.status} for one in intake.books],
        "memories": {
            "found": memories.found,
            "added": memories.added,
            "updated": memories.updated,
            "unchanged": memories.unchanged,
            "left": list(memories.left),
        },
    }


def forgotten_json(done: Destroyed) -> dict[str, Any]:
    return {
        "story": done.story,
        "messages": done.messages,
        "others": done.others,
        "texts": done.texts,
        "backups": list(done.backups),
        "still_in": list(done.still_in),
        "cleared": done.cleared,
    }


def verified_json(result: Verified) -> dict[str, Any]:
    return {
        "clean": result.clean,
        "stories": result.stories,
        "messages": result.messages,
        "checked": dict(result.checked),
        "faults": [asdict(fault) for fault in result.faults],
        "more_faults": result.more_faults,
        "garbage": asdict(result.garbage),
    }


def copies_json(done: Copies) -> dict[str, Any]:
    """Stories that were copied to another place."""
    stories = [
        {"story": one.story, "messages": one.messages, "digest": one.digest, "status": one.status.value}
        for one in done.stories
    ]
    return {"from": done.source, "to": done.target, "stories": stories}


def applied_json(result: AppliedDirectory) -> dict[str, Any]:
    """Edits of a directory: those that are in the story now, conflicts, and what the story refused."""

    def list_edits(edits: Sequence[DirectoryEdit], fate: str = "") -> list[dict[str, Any]]:
        return [
            {
                "item": edit.name, "action": edit.action.value, "story": edit.story, "files": edit.files,
                **({"reason": edit.reason} if edit.reason else {}),
            }
            for edit in edits
            if not fate or edit.fate.value == fate
        ]  # fmt: skip

    return {
        "story": result.story,
        "branch": result.branch,
        "applied": list_edits(result.applied),
        "conflicts": list_edits(result.left, "conflict"),
        "refused": list_edits(result.left, "refused"),
    }
