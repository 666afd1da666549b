"""Sample stories: a bundled role-play with a strong model's recorded answers, and a generator of long ones.

It may import `formats`, `settings`, `wire`, `text` and `core`. The commands `demo` and `try`, the benchmarks and tests
use it.
"""
