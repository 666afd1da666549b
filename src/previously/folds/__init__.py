"""Folds: one memory per module. What is due, what is asked, and whether the answer may be kept. Pure."""
