"""Lore: entries and books, the keys that call them up, threads, the current state, and a person's corrections. Pure."""
