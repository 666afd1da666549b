"""Sample stories: a bundled role-play and a deterministic generator of long ones.

It may import `text`. The command `demo`, the benchmarks and tests use it.
"""
