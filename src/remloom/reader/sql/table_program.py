"""The program of a `TableProcess`."""

from __future__ import annotations

import pickle
import sys
from collections.abc import Callable
from typing import Any

from ...errors import RemloomError
from .rows import Rows
from .table_process import Task
from .tables import LineTables


def main() -> None:
    """Answer the query on standard input."""
    source, target = sys.stdin.buffer, sys.stdout.buffer
    task: Task = pickle.load(source)  # noqa: S301 - of the process that began this one
    searches = iter(task.ranked)
    rank: Callable[[str, int], Any] = lambda words, limit: next(searches)  # noqa: E731
    tables = LineTables(
        task.sources, table=task.table, rank=rank, seconds=task.seconds, is_alone=True
    )
    # the time runs from here
    target.write(b"\n")
    target.flush()
    answer: Rows | RemloomError
    try:
        answer = tables.run(task.text, fix=task.fix, most=task.most)
    except RemloomError as error:
        answer = error
    pickle.dump(answer, target)
    target.flush()
