"""Which statement gives or counts edges: in one order, of some types, at one end or both; and which
gives records with theirs.

All of them take the tenant from `t.tenant` (see `PostgresDatabase.call`), and of the parameters:

    at, past   the time at which edges are in force, and whether it was asked for (see `at_time`)
    rels       the types, of statements for some types
    limit      edges of one node; NULL: all
    side(s)    0: edges that leave a key; 1: those that enter it
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import cache
from typing import Any, NamedTuple

from ...errors import UnknownNameError
from ...model import Direction
from ..encoding import micros, now
from ..specs import EdgeOrder
from .rows import SQL

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

# the columns of an edge and the one of its own key, as it leaves a key and as it enters one
_ENDS = ("own, rel, other", "other, rel, own")
_OWN = ("src", "dst")
_WALK_EDGES = """SELECT e.{column} AS value, e.created, e.other, e.rel
FROM remloom.edges e (tenant_id, {ends})
WHERE e.tenant_id = t.tenant AND e.own = {key} AND remloom.in_force(e, %(at)s, %(past)s){types}
ORDER BY value {way}, e.created DESC, e.other, e.rel LIMIT %(limit)s"""
# now: all edges, which are counted already, but for the dated ones that are not in force
_COUNTED = """SELECT {node}e.edges FROM remloom.degrees e
WHERE NOT %(past)s AND e.tenant_id = t.tenant AND e.key {among}{side}{types}"""
_NOT_IN_FORCE = """SELECT {node}-1::bigint FROM remloom.edges e
WHERE NOT %(past)s AND e.tenant_id = t.tenant AND e.{own} {among}
AND (e.valid_to <= %(at)s OR e.valid_from > %(at)s){types}"""
# in the past: one by one
_IN_FORCE = """SELECT {node}1::bigint FROM remloom.edges e
WHERE %(past)s AND e.tenant_id = t.tenant AND e.{own} {among}
AND remloom.in_force(e, %(at)s, true){types}"""
# the other keys of the records that have a key
_OTHER_KEYS = """SELECT b.key FROM remloom.names a CROSS JOIN LATERAL (
SELECT b.key FROM remloom.names b
WHERE b.tenant_id = t.tenant AND b.id = a.id AND b.kin AND b.key <> {key} OFFSET 0
) b
WHERE a.tenant_id = t.tenant AND a.key = {key} AND a.kin"""
_OTHERS = f"""CROSS JOIN LATERAL (
{_OTHER_KEYS.format(key="k.key")}
) o
WHERE o.key <> ALL (%(keys)b::text[]) GROUP BY o.key"""
# keys, and behind them the other keys of their records
_FAMILY = f"""WITH family AS MATERIALIZED (
SELECT k.key COLLATE "C" AS key, k.position
FROM unnest(%(keys)b::text[]) WITH ORDINALITY k (key, position)
UNION ALL
SELECT o.key, cardinality(%(keys)b::text[]) + 1 FROM unnest(%(keys)b::text[]) k (key) {_OTHERS}
)"""
# the same, to be counted: the other keys of a record have the position of the first of them
_COUNTED_FAMILY = f"""WITH family AS MATERIALIZED (
SELECT k.key COLLATE "C" AS key, k.position
FROM unnest(%(keys)b::text[], %(positions)b::bigint[]) k (key, position)
UNION ALL
SELECT o.key, min(k.position)
FROM unnest(%(keys)b::text[], %(positions)b::bigint[]) k (key, position) {_OTHERS}
)"""


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
    """The statement for the edges at keys, first those of the first key."""
    by = f"{_column(order).name} {_way(order)}"
    if direction == "both":
        return SQL.fill("edges_both_ways", family=_FAMILY, order=by, types=_types(typed))
    return SQL.fill("edges", family=_FAMILY, order=by, types=_types(typed), **_ends(direction))


@cache
def edge_keys(direction: Direction, *, typed: bool) -> str:
    """The statement for the ends and types of the newest edges at keys."""
    if direction == "both":
        return SQL.fill("edge_keys_both_ways", family=_FAMILY, types=_types(typed))
    return SQL.fill("edge_keys", family=_FAMILY, types=_types(typed), **_ends(direction))


@cache
def counting(name: str) -> str:
    """The statement of this name that counts the edges at keys."""
    return SQL.fill(name, family=_COUNTED_FAMILY)


@cache
def walk(order: EdgeOrder, direction: Direction, *, typed: bool, aliased: bool) -> str:
    """The statement that walks from keys; `aliased`: some record has several, which are one
    node."""
    name = "walk_aliased" if aliased else "walk"
    return SQL.fill(name, **walk_words(order, direction, typed=typed, aliased=aliased))


def walk_words(
    order: EdgeOrder, direction: Direction, *, typed: bool, aliased: bool
) -> dict[str, str]:
    """What stands in the slots of `walk`, or of `walk_aliased`."""
    column, sides = _column(order), SIDES[direction]
    words = {"column": column.name, "way": _way(order), "types": _types(typed)}
    pieces = {
        "edges": _walk_edges(sides, "p.key", words),
        "counts": _counts(sides, words, aliased=aliased),
    }
    if aliased:
        pieces["edges_of_all"] = _walk_edges(sides, "k.key", words)
        for row, key in (("o", "o.key"), ("p", "p.key"), ("n", "n.other")):
            pieces[f"others_of_{row}"] = _OTHER_KEYS.format(key=key)
    return {"type": column.array, "way": words["way"], **pieces}


def _walk_edges(sides: Sequence[int], key: str, words: Mapping[str, str]) -> str:
    """The edges at a key, in their order: of both sides, the first of both together."""
    parts = [_WALK_EDGES.format(key=key, ends=_ENDS[side], **words) for side in sides]
    if len(parts) == 1:
        return parts[0]
    both = " UNION ALL ".join(f"({part})" for part in parts)
    return f"{both}\nORDER BY value {words['way']}, created DESC, other, rel LIMIT %(limit)s"


def _counts(sides: Sequence[int], words: Mapping[str, str], *, aliased: bool) -> str:
    """How many edges there are at keys, in parts to be added up; a key is a node if not aliased."""
    among, node = ("= a.key", "") if aliased else ("= ANY (b.seen)", "e.{}, ")
    one_side = " AND e.side = %(side)s" if len(sides) == 1 else ""
    parts = [_COUNTED.format(node=node.format("key"), among=among, side=one_side, **words)]
    for template in (_NOT_IN_FORCE, _IN_FORCE):
        parts += [
            template.format(node=node.format(own), own=own, among=among, **words)
            for own in (_OWN[side] for side in sides)
        ]
    return "\nUNION ALL\n".join(parts)


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
    if direction == "out":
        return {"own": "src", "other": "dst"}
    return {"own": "dst", "other": "src"}
