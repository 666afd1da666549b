"""Folding agents' conversations at the same size, without a judge: what is still there, word for word?

`python -m benchmarks.compaction` runs it; `docs/benchmarks.md`, section "Compaction", says what is measured.
"""
