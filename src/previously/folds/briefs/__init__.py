"""Folding an agent's conversation: what is folded, what stays, and the proof that nothing was broken."""
