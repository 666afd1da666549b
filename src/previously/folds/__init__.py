"""Folds: each memory is one module that builds a question and judges its answer.

Pure; it may import `text` and `core`. `plan` chooses the folds, `runtime` performs them: both use the modules of this
package and what `folds.checks` exports. The modules below `checks`, `builtin` and `conversation` are its own, but for
those that a contract in pyproject.toml names.
"""
