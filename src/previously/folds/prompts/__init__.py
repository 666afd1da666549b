"""The prompts of the folds, one file each, and the templates that they are."""
