"""SELECTs by their text: compiled once and kept, and run within limits."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from msgspec import Struct

from ..sql.compile import compile_select
from ..sql.render import render_select
from ..sql.values import Select
from ..store.contract import Store

__all__ = ["MAX_ROWS", "SQL_TIMEOUT", "Selection", "compile_cached", "run_select"]

MAX_ROWS = 1_000  # of one SELECT
SQL_TIMEOUT = 5.0  # seconds


class Selection(Struct, frozen=True):
    """The rows of a SELECT."""

    schema: str
    statement: str  # canonical text
    columns: list[str]
    rows: list[tuple[Any, ...]]
    truncated: bool  # there are more than `MAX_ROWS`


# An agent asks the same again and again, and compiling costs as much as a small SELECT.
@lru_cache(maxsize=256)
def compile_cached(sql: str) -> tuple[Select, str]:
    """The SELECT that a text says, and its canonical text. Raises what `compile_select` raises."""
    select = compile_select(sql)
    return select, render_select(select)


def run_select(store: Store, sql: str) -> Selection:
    """Run a SELECT. Raises what `compile_select` raises, and StoreBusyError after `SQL_TIMEOUT`."""
    select, statement = compile_cached(sql)
    found = store.sql.select(select, limit=MAX_ROWS, timeout=SQL_TIMEOUT)
    return Selection(select.schema, statement, found.columns, found.rows, found.truncated)
