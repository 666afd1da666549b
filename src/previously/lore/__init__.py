"""Lore: entries and books, the keys that call them up, threads, the current state, and a person's corrections.

Pure; it may import `text` and `core`. `memory` reduces notes to its values, `runtime` scans turns with it, `story` and
`formats` read and write its entries.
"""
