"""The brief: what a coding agent's conversation comes to when its window is full.

Pure values and rules: what a brief says and how it is read, written and bounded; what of a conversation goes to a
model, and what never does. Nothing here asks a model or keeps anything.
"""
