"""The fold of an agent's conversation: what is folded, what stays, what a brief says, and the proof that nothing broke.

Pure values and rules. Nothing here asks a model or keeps anything.
"""
