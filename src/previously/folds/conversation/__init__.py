"""Folding a conversation that is no story: what is folded, what stays, and the proof that nothing broke."""
