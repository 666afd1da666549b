"""Recognising a story in what a client sends. Pure: decisions about lists of messages, no I/O."""
