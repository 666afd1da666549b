"""Folding a conversation that is no story: what is folded, what stays, and the proof that nothing broke.

Pure. `runtime.conversation` performs it; the proxy asks `pins` which messages of an agent must stay.
"""
