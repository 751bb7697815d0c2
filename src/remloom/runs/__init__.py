"""Runs: what makes records out of records, what it did, and how that is undone.

`begin_run` and a `Writer` make a run; `run_to_end` ends it, however it ends; `rollback` undoes it.
"""
