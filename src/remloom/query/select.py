"""SELECTs by their text: compiled once and kept, and run within limits."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from functools import cache
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from ..errors import InvalidInputError
from ..sql.columns import OBJECTS, REPLACED_BY, SCHEMAS, STALE, table_of
from ..sql.compile import compile_select
from ..sql.render import render_select
from ..sql.values import (
    And,
    AnyOf,
    Column,
    Expression,
    Select,
    Value,
    names_column,
    with_value_of,
)
from ..store.contract import Store
from ..store.definitions import Schemas
from ..store.premises import stale_ids
from ..store.rules.replaced_entries import is_any_replaced

MAX_ROWS = 1_000  # of one SELECT
SQL_TIMEOUT = 5.0  # seconds
_MOST_DERIVED = 200_000  # records of a schema that are looked at for the column `stale`
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


def with_stale(store: Store, select: Select) -> tuple[Select, int | None]:
    """Find what is stale for a SELECT that names the column `stale`, and put it in there.

    Returns the SELECT and how many records of its schema are stale; None: it does not ask.

    Raises:
        InvalidInputError: there is more than a statement takes.
    """
    if not names_column(select, STALE):
        return select, None
    derived = (
        "generation > 0 OR rests_on IS NOT NULL"
        if select.schema == "resources"
        else "resource_refs IS NOT NULL"
    )
    every = compile_select(f"SELECT id FROM {select.schema} WHERE {derived}", {})
    found = store.sql.select(every, limit=_MOST_DERIVED, timeout=SQL_TIMEOUT)
    if found.truncated:
        raise InvalidInputError(
            f"too many of the {select.schema} were made of others for the column `stale` of a "
            f"SELECT: at most {_MOST_DERIVED:,}",
            remedy='ask recall(question, stale="only"), or `dreams.refresh(dry_run=True)`',
        )
    stale = sorted(stale_ids(store.records, [id for (id,) in found.rows]))
    ids = tuple(Value(id, "text") for id in stale)
    is_stale: Expression = AnyOf(Column("id", "text"), ids) if ids else Value(False, "boolean")
    return with_value_of(select, STALE, is_stale), len(stale)


def without_replaced(store: Store, select: Select) -> Select:
    """Leave out of a SELECT what somebody replaced; one that names the column `replaced_by` has it,
    with that in its place."""
    if select.schema not in SCHEMAS:
        return select
    (by,), is_shown = _replacement(select.schema)
    if names_column(select, REPLACED_BY):
        return with_value_of(select, REPLACED_BY, by)
    if not is_any_replaced(store.kv):
        return select
    where = is_shown if select.where is None else And((select.where, is_shown))
    return replace(select, where=where)


@cache
def _replacement(schema: str) -> tuple[tuple[Expression, ...], Expression]:
    """What replaced a record of a schema; and that nothing did, as somebody said: a run says not
    since when."""
    (free,) = OBJECTS & table_of(schema).columns.keys()
    mark = f"{free} -> 'superseded'"
    by = f"CASE WHEN {mark} ->> 'since' IS NOT NULL THEN {mark} ->> 'by' END"
    compiled = compile_select(f"SELECT {by} FROM {schema} WHERE {mark} ->> 'since' IS NULL", {})
    assert compiled.where is not None  # noqa: S101 - it has one
    return tuple(output.value for output in compiled.outputs), compiled.where


def run_select(store: Store, sql: str) -> Selection:
    """Run a SELECT. Raises what `compile_select` raises, and StoreBusyError after `SQL_TIMEOUT`."""
    select, statement = compile_cached(sql, store.schemas)
    select, _ = with_stale(store, without_replaced(store, select))
    found = store.sql.select(select, limit=MAX_ROWS, timeout=SQL_TIMEOUT)
    return Selection(select.schema, statement, found.columns, found.rows, found.truncated)
