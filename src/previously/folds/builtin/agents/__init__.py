"""What is read of an agent's conversation without a model: deeds, files, failures, requests, plans and claims.

Rules over words and arguments, each linear in what it reads and none of them a guess: what cannot be told is left out.
"""
