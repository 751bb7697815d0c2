"""The statements that fetch or count edges: in one order, of some types, in force at one time."""

from __future__ import annotations

import time
from collections.abc import Sequence
from datetime import datetime
from functools import lru_cache
from heapq import nlargest, nsmallest
from typing import Any, NamedTuple

from ...errors import UnknownNameError
from ...model import Direction
from ..columns import micros
from ..contract import EdgeOrder

__all__ = ["COLUMNS", "Fetch", "ends", "far", "in_force", "instant", "near"]

COLUMNS = "e.src, e.rel, e.dst, e.weight, e.created, e.valid_from, e.valid_to"
_ORDERS = {
    "created_at": "e.created", "weight": "e.weight", "valid_from": "e.valid_from", "valid_to": "e.valid_to",
    "rel_type": "(SELECT name FROM rels t WHERE t.rel = e.rel)",
}  # fmt: skip


class Fetch:
    """What to fetch of the edges at one end of a label, and the statements that do.

    `edges` gives whole edges with what the order goes by, `triples` (src, rel, dst), `count` how many there are; each
    takes the time and a label. `around` takes the time and a JSON list of labels, and gives for each of them two JSON
    lists in one: the labels at the other ends, and what the order goes by. All but the first are answered from an index
    alone, unless the order is by weight.

    Raises:
        UnknownNameError: edges have no such field to be ordered by.
    """

    def __init__(
        self, order: EdgeOrder, rels: tuple[int, ...] | None, limit: int | None, as_of: datetime | None
    ) -> None:
        if order.field not in _ORDERS and order.field != "dst":
            raise UnknownNameError("edge field", order.field, [*_ORDERS, "dst"])
        self.rels = rels
        self.limit = limit
        self.as_of = as_of
        self.counted = rels is None and as_of is None  # `degrees` tells how many there are
        self.at = instant(as_of)
        self.numeric = order.field == "created_at"  # what the order goes by is always an integer
        self._down = order.order == "desc"
        self._unset = order.field.startswith("valid")
        statements = _statements(order.field, self._down, rels, limit, as_of is None)
        self.edges, self.triples, self.count, self.around = statements

    def sorted(self, rows: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
        """Rows of several fetches in the order, which goes by their last value; unset values are lowest."""
        return sorted(rows, key=_last_value, reverse=self._down)

    def ranked(self, values: Sequence[Any], limit: int | None) -> list[int]:
        """Places of the values in the order, the first `limit`; ties as they stand."""
        key = (lambda place: (values[place] is not None, values[place])) if self._unset else values.__getitem__
        best = nlargest if self._down else nsmallest
        return best(len(values) if limit is None else limit, range(len(values)), key=key)


class _Statements(NamedTuple):
    """Each by the end of the edge at which the label is."""

    edges: dict[str, str]
    triples: dict[str, str]
    counts: dict[str, str]
    around: dict[str, str]


@lru_cache(maxsize=256)
def _statements(field: str, down: bool, rels: tuple[int, ...] | None, limit: int | None, now: bool) -> _Statements:
    types = "" if rels is None else f" AND e.rel IN ({', '.join(map(str, rels))})"
    cut = "" if limit is None else f" LIMIT {limit}"
    made = _Statements({}, {}, {}, {})
    for end in ("out", "in"):
        by = _ORDERS.get(field) or f"(SELECT key FROM labels l WHERE l.lid = e.{far(end)})"
        edges = f"FROM edges e INDEXED BY edges_{end} WHERE e.{near(end)}"
        condition = f"{in_force(now)}{types}"
        order = f"ORDER BY {by} {'DESC' if down else 'ASC'}{cut}"
        made.edges[end] = f"SELECT {COLUMNS}, e.properties, {by} {edges} = ?2 AND {condition} {order}"
        made.triples[end] = f"SELECT e.src, e.rel, e.dst, {by} {edges} = ?2 AND {condition} {order}"
        made.counts[end] = f"SELECT count(*) {edges} = ?2 AND {condition}"
        # One statement for many labels, not one each: a third of the time.
        made.around[end] = (
            "SELECT v.value, (SELECT json_array(json_group_array(far), json_group_array(by)) FROM"
            f" (SELECT e.{far(end)} AS far, {by} AS by {edges} = v.value AND {condition} {order})) FROM json_each(?2) v"
        )
    return made


def ends(direction: Direction) -> tuple[str, ...]:
    """At which end of its edges a node is looked at."""
    return ("out", "in") if direction == "both" else (direction,)


def near(end: str) -> str:
    """The column of the label whose edges are looked at."""
    return "src" if end == "out" else "dst"


def far(end: str) -> str:
    """The column of the label at their other end."""
    return "dst" if end == "out" else "src"


def in_force(now: bool) -> str:
    """In force at parameter 1. An edge asked for in the past began, if nothing else is said, when it was made."""
    since = "" if now else " AND (e.valid_from IS NOT NULL OR e.created <= ?1)"
    return f"(e.valid_to IS NULL OR e.valid_to > ?1) AND (e.valid_from IS NULL OR e.valid_from <= ?1){since}"


def instant(as_of: datetime | None) -> int:
    """Microseconds since 1970, of now when there is no time."""
    return time.time_ns() // 1000 if as_of is None else micros(as_of) or 0


def _last_value(row: tuple[Any, ...]) -> tuple[bool, Any]:
    return row[-1] is not None, row[-1]
