"""Measurements of Remloom against its own targets, the raw engines under it, and its peers.

`python -m bench.run` measures, `python -m bench.peers` compares, `python -m bench.report` writes
docs/benchmarks.md.
"""
