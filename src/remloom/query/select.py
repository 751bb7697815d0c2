"""SELECTs by their text: compiled once and kept, and run within limits."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from msgspec import Struct

from ..sql.compile import compile_select
from ..sql.render import render_select
from ..sql.values import Select
from ..store.contract import Store
from ..store.definitions import Schemas

MAX_ROWS = 1_000  # of one SELECT
SQL_TIMEOUT = 5.0  # seconds
_KEPT = 256  # compiled SELECTs


class Selection(Struct, frozen=True):
    """The rows of a SELECT."""

    schema: str
    statement: str  # canonical text
    columns: list[str]
    rows: list[tuple[Any, ...]]
    truncated: bool  # there are more than `MAX_ROWS`


# An agent asks the same again and again, and compiling costs as much as a small SELECT. The key has
# the identity of the definitions that it was compiled by (0: of a built-in schema), which are kept
# with it, so that no others can have it.
_compiled: OrderedDict[tuple[str, int], tuple[Select, str, Schemas]] = OrderedDict()


def compile_cached(sql: str, schemas: Callable[[], Schemas]) -> tuple[Select, str]:
    """The SELECT that a text says, and its canonical text. Raises what `compile_select` raises.

    Args:
        schemas: gives the definitions of the registered schemas.
    """
    found = _compiled.get((sql, 0))
    if found is None:
        definitions = schemas()
        found = _compiled.get((sql, id(definitions)))
        if found is None:
            select = compile_select(sql, definitions)
            is_registered = select.schema in definitions
            found = select, render_select(select), definitions
            _compiled[sql, id(definitions) if is_registered else 0] = found
            while len(_compiled) > _KEPT:
                _compiled.popitem(last=False)
    return found[:2]


def run_select(store: Store, sql: str) -> Selection:
    """Run a SELECT. Raises what `compile_select` raises, and StoreBusyError after `SQL_TIMEOUT`."""
    select, statement = compile_cached(sql, store.schemas)
    found = store.sql.select(select, limit=MAX_ROWS, timeout=SQL_TIMEOUT)
    return Selection(select.schema, statement, found.columns, found.rows, found.truncated)
