"""Write the golden questions anew after a prompt was changed: `python -m tests.unit.folds.write_golden`. Read the
diff."""

from __future__ import annotations

from previously.core.model_io import ModelRequest
from tests.unit.folds import test_analysis, test_combine, test_scene, test_split, test_update_fold


def write(name: str, question: ModelRequest) -> None:
    """Write a question as the tests read it."""
    text = f"{question.system}\n=== user ===\n{question.user}\n"
    (test_split.GOLDEN / f"{name}.txt").write_text(text, "utf-8")


if __name__ == "__main__":
    for name in test_split.ASKED:
        write(name, test_split.question(name))
    for name in test_update_fold.QUESTIONS:
        write(name, test_update_fold.question(name))
    write("combine", test_combine.question())
    write("analysis", test_analysis.question())
    write("scene", test_scene.question())
