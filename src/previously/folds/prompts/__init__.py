"""The prompts of the folds, one file each, and the templates that they are.

A prompt has the name of its fold: `update.md` belongs to `folds/update.py`. `runtime.prompts` reads the files;
`templates` fills them, purely, and any package above may use it.
"""
