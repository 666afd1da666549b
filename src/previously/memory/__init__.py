"""Memory of one branch, read from a snapshot: which texts are in force, and what notes come to.

Pure and synchronous; it may import `folds`, `lore`, `text` and `core`. `plan` asks it what a fold should know,
`runtime` what a view can show, `story` what people see.
"""
