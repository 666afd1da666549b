"""Folds: each memory is one module that builds a question and judges its answer. Nothing here does I/O."""
