"""The next question to a model, as it would be asked: nothing is sent, nothing is kept."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from previously.core.fold_rules import FoldRules
from previously.core.model_io import ModelRequest
from previously.core.path import Span
from previously.folds.fold import Fold
from previously.folds.prompts.templates import Template
from previously.runtime.fold_loop import Pressed, plan_folds
from previously.runtime.writer import BuiltinWriter
from previously.storage.store import Store, StoryKey


@dataclass(frozen=True, slots=True)
class NextQuestion:
    """A question that a fold would ask."""

    prompt: str
    """The name of its prompt."""
    span: Span
    """The messages that it is about."""
    request: ModelRequest
    due: bool
    """False if nothing is due: then it is the first question of a story that is folded from its beginning."""


class _Asker(BuiltinWriter):
    """Stands for a writer with a model behind it that is ready."""

    made_by = "model"
    amends = True


async def preview_question(
    store: Store, key: StoryKey, templates: Mapping[str, Template], rules: FoldRules, pressed: Pressed
) -> NextQuestion | None:
    """Return what a model would be asked next; None where a story has too few messages to ask about."""
    for anew in (False, True):
        questions: list[Fold] = []
        report = await plan_folds(
            store, key, _Asker(), rules, pressed=pressed, anew=anew, once=True, hear=questions.append
        )
        asked = next((question for question in questions if not question.is_silent), None)
        if asked and report.folds:
            return NextQuestion(asked.prompt, report.folds[0].span, asked.build(templates[asked.prompt]), not anew)
    return None
