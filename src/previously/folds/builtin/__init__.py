"""The built-in folder: a deterministic, extractive recap without a model. `rewrite` is its one entry."""

from previously.core.words import count_words
from previously.folds.builtin.folder import Rewrite, rewrite
from previously.folds.builtin.reading import Said

__all__ = ["Rewrite", "Said", "count_words", "rewrite"]
