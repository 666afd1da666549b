"""Benchmarks. Each runs as `python -m benchmarks.NAME` and reads its data from a path given to it."""
