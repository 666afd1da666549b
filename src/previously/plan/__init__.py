"""Plans: pure decisions over a snapshot about what is to be folded next, made into steps.

It may import `memory`, `folds`, `lore`, `text` and `core`. `due` is the way in: `runtime.fold_loop` asks it, and
performs the steps that it gives.
"""
