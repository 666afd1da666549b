"""Sample stories: a bundled role-play with a strong model's recorded answers, and a deterministic generator of long ones.

It may import `formats`, `settings` and the layers below. The commands `demo` and `try`, the benchmarks and tests use it.
"""
