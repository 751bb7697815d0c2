"""The statements that fetch or count edges: in one order, of some types, in force at one time."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from functools import lru_cache
from heapq import nlargest, nsmallest
from operator import itemgetter
from typing import Any, NamedTuple

from ....errors import UnknownNameError
from ....model import Direction
from ...encoding import micros, now
from ...specs import EdgeOrder
from ..rows import SQL

_UNLIMITED = 2**62  # edges; one more is still a limit to SQLite
_OTHER_KEY = "(SELECT key FROM labels l WHERE l.lid = e.{other})"
_TYPE = "(SELECT name FROM rels t WHERE t.rel = e.rel)"
_ORDERS = {
    "created_at": "e.created", "weight": "e.weight", "rel_type": _TYPE, "dst": _OTHER_KEY,
    # Python cannot sort None
    **{field: f"ifnull(e.{field}, {-(2**63)})" for field in ("valid_from", "valid_to")},
}  # fmt: skip


class Statements(NamedTuple):
    """Each by the end of the edge at which the label is.

    All take the time. `edges` gives whole edges at a label, with what the order goes by and what
    tells ties apart; `counts` how many there are. The others take a JSON list of labels, and give
    for each of them lists in a list: `edge_keys` src, rel and dst, `neighbours` the labels at the
    ends, both with what the order goes by and what tells ties apart behind. One more than the limit
    comes, so that it is seen whether there are more, and whether the last one is equal to the next.
    All but the first are answered from an index alone, unless the order is by weight or they are
    `exact`.
    """

    edges: dict[str, str]
    edge_keys: dict[str, str]
    neighbours: dict[str, str]
    counts: dict[str, str]


class Fetch:
    """What to fetch of the edges at one end of a label, and their order (see `contract.EdgeOrder`).

    `quick` are statements by which edges that are equal in what the order goes by come newest
    first, and no more: the keys that tell which comes first of those of one time have to be looked
    up, one by one. `exact` ones do that.

    Raises:
        UnknownNameError: edges have no such field to be ordered by.
    """

    def __init__(
        self, order: EdgeOrder, edge_types: tuple[int, ...] | None, limit: int | None, now: bool
    ) -> None:
        if order.field not in _ORDERS:
            raise UnknownNameError("edge field", order.field, list(_ORDERS))
        self.edge_types = edge_types
        self.limit = _UNLIMITED if limit is None else min(limit, _UNLIMITED)
        self.now = now  # else in force at a time in the past
        self.counts_all = edge_types is None and now  # the table `degrees` has how many there are
        # then what the order goes by is always an integer
        self.by_time = order.field == "created_at"
        self.quick = self._statements(order, exact=False)
        self.exact = self._statements(order, exact=True)
        self._down = order.order == "desc"

    def _statements(self, order: EdgeOrder, *, exact: bool) -> Statements:
        direction = "DESC" if order.order == "desc" else "ASC"
        made = Statements({}, {}, {}, {})
        for end in ("out", "in"):
            ties = [] if self.by_time else ["-e.created"]
            if exact:
                ties += [_OTHER_KEY, _TYPE]
            names = ["by", *(f"tie{number}" for number in range(len(ties)))]
            other = other_column(end)
            expressions = [term.format(other=other) for term in (_ORDERS[order.field], *ties)]
            named = zip(expressions, names, strict=True)
            pieces = {
                "end": end,
                "own": own_column(end),
                "in_force": self._condition(),
            }
            ordered = pieces | {
                "by": ", ".join(f"{expression} AS {name}" for expression, name in named),
                "order": ", ".join([f"by {direction}", *names[1:]]),
                "limit": str(self.limit + 1),
            }
            lists = ", ".join(f"json_group_array({name})" for name in names)
            made.edges[end] = SQL.fill("edges", **ordered)
            made.edge_keys[end] = SQL.fill("edge_keys", lists=lists, **ordered)
            made.neighbours[end] = SQL.fill("neighbours", other=other, lists=lists, **ordered)
            made.counts[end] = SQL.fill("count_at", **pieces)
        return made

    def _condition(self) -> str:
        if self.edge_types is None:
            return in_force(self.now)
        types = ", ".join(map(str, self.edge_types))
        return f"{in_force(self.now)} AND e.rel IN ({types})"

    def merged(self, rows: Iterable[tuple[Any, ...]], by: int) -> list[tuple[Any, ...]]:
        """Rows of several fetches as one would give them. What the order goes by stands at `by`,
        what tells ties apart behind it; rows that are equal in all of that stay as they stand."""
        ordered = sorted(rows, key=itemgetter(slice(by + 1, None)))
        ordered.sort(key=itemgetter(by), reverse=self._down)
        return ordered[: self.limit + 1]

    def ranked(self, values: Sequence[Any], limit: int | None) -> list[int]:
        """Places of the values in the order, the first `limit`; ties as they stand."""
        best = nlargest if self._down else nsmallest
        return best(
            len(values) if limit is None else limit, range(len(values)), key=values.__getitem__
        )


# one for all who ask alike: what was seen is remembered by it
fetch_for = lru_cache(maxsize=256)(Fetch)


def has_ties(values: Sequence[Any]) -> bool:
    return len(set(values)) < len(values)


def ends_of(direction: Direction) -> tuple[str, ...]:
    return ("out", "in") if direction == "both" else (direction,)


def own_column(end: str) -> str:
    return "src" if end == "out" else "dst"


def other_column(end: str) -> str:
    return "dst" if end == "out" else "src"


def in_force(now: bool) -> str:
    """Return the condition that an edge is in force at `:at`."""
    condition = (
        "(e.valid_to IS NULL OR e.valid_to > :at) AND (e.valid_from IS NULL OR e.valid_from <= :at)"
    )
    # In the past an edge without a beginning is in force from when it was made.
    if not now:
        condition += " AND (e.valid_from IS NOT NULL OR e.created <= :at)"
    return condition


def microseconds_at(as_of: datetime | None) -> int:
    """Microseconds since 1970, of now when there is no time."""
    return now() if as_of is None else micros(as_of) or 0
