"""SELECTs by their text: compiled once, and kept."""

from __future__ import annotations

from functools import lru_cache

from ..sql.compile import compile_select
from ..sql.render import render_select
from ..sql.values import Select

__all__ = ["compiled"]


@lru_cache(maxsize=256)
def compiled(sql: str) -> tuple[Select, str]:
    """The SELECT that a text says, and its canonical text. Raises what `compile_select` raises."""
    select = compile_select(sql)
    return select, render_select(select)
