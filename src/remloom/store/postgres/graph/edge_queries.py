"""Which statement gives or counts edges: in one order, of some types, at one end or both; and which
gives records with theirs.

All of them take the tenant from `t.tenant` (see `Database.call`), and of the parameters:

    at, past   the time at which edges are in force, and whether it was asked for (see `at_time`)
    rels       the types, of statements for some types
    limit      edges of one node; NULL: all
    side(s)    0: edges that leave a key; 1: those that enter it
"""

from __future__ import annotations

from datetime import datetime
from functools import cache
from typing import Any, NamedTuple

from ....errors import UnknownNameError
from ....model import Direction
from ...encoding import micros
from ...rules.expiry import now
from ...specs import EdgeOrder
from ..statements import SQL

SIDES: dict[Direction, tuple[int, ...]] = {"out": (0,), "in": (1,), "both": (0, 1)}

_OF_TYPES = " AND e.rel = ANY (%(rels)s::text[])"
_ALL_NAMES = "remloom.names n"
# of each key at most so many
_SOME_NAMES = """unnest(%(keys)b::text[]) k (key) CROSS JOIN LATERAL (
  SELECT n.* FROM remloom.names n
  JOIN remloom.records o ON o.tenant_id = n.tenant_id AND o.id = n.id
  WHERE n.tenant_id = t.tenant AND n.key = k.key AND (NOT %(own)s OR n.kin IS NOT NULL)
    AND (o.expires IS NULL OR o.expires > %(now)s)
  ORDER BY n.id LIMIT %(most)s
) n"""


class _Column(NamedTuple):
    """A column that edges are ordered by, and the type of an array of its values."""

    name: str
    array: str


_COLUMNS = {
    "created_at": _Column("created", "bigint[]"),
    "weight": _Column("weight", "double precision[]"),
    "valid_from": _Column("valid_from", "bigint[]"),
    "valid_to": _Column("valid_to", "bigint[]"),
    "rel_type": _Column("rel", 'text[] COLLATE "C"'),
    "dst": _Column("other", 'text[] COLLATE "C"'),  # the key at the other end
}


@cache
def lookup(name: str, *, some: bool) -> str:
    """The statement of this name for the records that have keys, with their edges.

    Args:
        some: of each key `most` records at most, that have not expired `now`; with `own` only those
            whose edges are there.
    """
    return SQL.fill(name, names=_SOME_NAMES if some else _ALL_NAMES)


@cache
def edges(order: EdgeOrder, direction: Direction, *, typed: bool) -> str:
    """The statement for the edges at keys, first those of the first key.

    Raises:
        UnknownNameError: edges have no such field to be ordered by.
    """
    by = f"{_column(order).name} {_way(order)}"
    if direction == "both":
        return SQL.fill("edges_both_ways", order=by, types=_types(typed))
    return SQL.fill("edges", order=by, types=_types(typed), **_ends(direction))


@cache
def edge_keys(direction: Direction, *, typed: bool) -> str:
    """The statement for the ends and types of the newest edges at keys."""
    if direction == "both":
        return SQL.fill("edge_keys_both_ways", types=_types(typed))
    return SQL.fill("edge_keys", types=_types(typed), **_ends(direction))


@cache
def walk(order: EdgeOrder, direction: Direction, *, typed: bool, aliased: bool) -> str:
    """The statement that walks from keys.

    Args:
        aliased: whether some record has several keys, which are then one node.

    Raises:
        UnknownNameError: edges have no such field to be ordered by.
    """
    column = _column(order)
    words = {
        "column": column.name, "type": column.array, "way": _way(order), "types": _types(typed),
    }  # fmt: skip
    name = "walk_aliased" if aliased else "walk"
    if direction == "both":
        return SQL.fill(f"{name}_both_ways", **words)
    ends = "own, rel, other" if direction == "out" else "other, rel, own"
    return SQL.fill(name, ends=ends, **words)


def at_time(as_of: datetime | None) -> dict[str, Any]:
    """The parameters `at`, in microseconds since 1970 (now when there is no time), and `past`."""
    if as_of is None:
        return {"at": now(), "past": False}
    return {"at": micros(as_of) or 0, "past": True}


def _column(order: EdgeOrder) -> _Column:
    if order.field not in _COLUMNS:
        raise UnknownNameError("edge field", order.field, list(_COLUMNS))
    return _COLUMNS[order.field]


def _way(order: EdgeOrder) -> str:
    """How the column is sorted: unset values are lowest."""
    # Only these are ever unset. Said of the others it would keep their index from giving the order.
    unset = order.field in ("valid_from", "valid_to")
    if order.order == "desc":
        return "DESC NULLS LAST" if unset else "DESC"
    return "ASC NULLS FIRST" if unset else "ASC"


def _types(typed: bool) -> str:
    return _OF_TYPES if typed else ""


def _ends(direction: Direction) -> dict[str, str]:
    """The columns of a node's own key and of the one at the other end."""
    if direction == "out":
        return {"own": "src", "other": "dst"}
    return {"own": "dst", "other": "src"}
