"""Sample stories: a bundled role-play and a deterministic generator of long ones.

It imports nothing of ours. The command `demo`, the benchmarks and tests use it.
"""
