"""The statements that fetch or count edges: in one order, of some types, in force at one time.

All take the tenant from `t.tenant` (see `Database.call`) and the parameters `at` and `past` (see
`graph.moment`), those of some types `rels`, those that fetch `limit`.
"""

from __future__ import annotations

from typing import NamedTuple, cast

from ...errors import UnknownNameError
from ...model import Direction
from ..contract import EdgeOrder

__all__ = ["NEAR", "Fetch", "counted", "ends", "others"]

NEAR = {"out": "src", "in": "dst"}
_FAR = {"out": "dst", "in": "src"}
_SIDE = {"out": 0, "in": 1}
_ORDERS = {
    "created_at": ("created", "bigint[]"), "weight": ("weight", "double precision[]"),
    "valid_from": ("valid_from", "bigint[]"), "valid_to": ("valid_to", "bigint[]"),
    "rel_type": ("rel", 'text[] COLLATE "C"'), "dst": ("far", 'text[] COLLATE "C"'),
}  # fmt: skip
_TYPES = " AND e.rel = ANY (%(rels)s::text[])"


class Fetch(NamedTuple):
    """The edges of a node, in an order (see `contract.EdgeOrder`).

    The rows have what the order goes by (`by`), what tells ties apart, and `columns` of the edge
    `e`.

    Raises:
        UnknownNameError: edges have no such field to be ordered by.
    """

    order: EdgeOrder
    direction: Direction
    typed: bool = False  # only those of some types
    kin: str = ""  # if this is so, of the other keys of its records too
    columns: str = ""

    @property
    def kind(self) -> str:
        """The type of an array of what the order goes by."""
        return self._by[1]

    @property
    def way(self) -> str:
        """How what the order goes by is sorted: unset values are lowest."""
        # the others never are, and then an index gives the order
        unset = self.order.field.startswith("valid")
        if self.order.order == "desc":
            return "DESC NULLS LAST" if unset else "DESC"
        return "ASC NULLS FIRST" if unset else "ASC"

    @property
    def rank(self) -> str:
        """What the rows of one node are ordered by."""
        made = "" if self.order.field == "created_at" else ", made DESC"
        return f"by {self.way}{made}, far, rel{', side, near' if self._mixed else ''}"

    def at(self, key: str, *, once: bool = False) -> str:
        """The statement for a key. An edge from a key to itself leaves it and enters it; with
        `once` it only leaves."""
        alone = self._ends(key, once=once)
        if not self.kin:
            return alone
        keys = f"(SELECT {key} AS key UNION {others(key)}) k"
        several = (
            f"SELECT e.* FROM {keys} CROSS JOIN LATERAL ({self._ends('k.key', once=once)}) e WHERE {self.kin}"
            f" ORDER BY {self.rank} LIMIT %(limit)s"
        )
        # OFFSET, because PostgreSQL copies a condition on this into both parts, and a hashed NOT IN
        # (…) among them then goes by the rows of an earlier level.
        return f"SELECT e.* FROM (SELECT e.* FROM ({alone}) e WHERE NOT {self.kin} UNION ALL ({several})) e OFFSET 0"

    def _ends(self, key: str, *, once: bool) -> str:
        if self.direction != "both":
            return self._end(self.direction, key, once=once)
        out, into = (self._end(end, key, once=once) for end in ends("both"))
        return (
            f"SELECT e.* FROM (({out}) UNION ALL ({into})) e ORDER BY {self.rank} LIMIT %(limit)s"
        )

    def _end(self, end: Direction, key: str, *, once: bool) -> str:
        near, far = NEAR[end], _FAR[end]
        by = self._by[0]
        columns = [f"e.{far if by == 'far' else by} AS by", f"e.{far} AS far", "e.rel"]
        if by != "created":
            columns.append("e.created AS made")
        if self._mixed:
            columns += [f"{_SIDE[end]} AS side", f"e.{near} AS near"]
        loops = " AND e.src <> e.dst" if once and end == "in" and self.direction == "both" else ""
        return (
            f"SELECT {', '.join(columns)}{self.columns} FROM remloom.edges e WHERE e.tenant_id = t.tenant"
            f" AND e.{near} = {key} AND remloom.in_force(e, %(at)s, %(past)s){_TYPES if self.typed else ''}{loops}"
            f" ORDER BY {self.rank} LIMIT %(limit)s"
        )

    @property
    def _by(self) -> tuple[str, str]:
        if self.order.field not in _ORDERS:
            raise UnknownNameError("edge field", self.order.field, list(_ORDERS))
        return _ORDERS[self.order.field]

    @property
    def _mixed(self) -> bool:
        """Whether the edges are not all at the same end of the same key."""
        return bool(self.kin) or self.direction == "both"


def counted(key: str, direction: Direction, *, typed: bool, past: bool) -> str:
    """Rows (`key`, `rel`, `side`, `edges`) that add up to how many edges are in force at a key, or
    any of some: `= …`.

    Now that is all of them, which are counted already, but the dated ones that are not; in the
    past, one by one.
    """
    types = _TYPES if typed else ""
    in_force = "remloom.in_force(e, %(at)s, %(past)s)"
    if not past:
        in_force = f"(e.valid_from IS NOT NULL OR e.valid_to IS NOT NULL) AND NOT {in_force}"
    parts = [
        f"SELECT e.{NEAR[end]} AS key, e.rel, {_SIDE[end]} AS side, {'1' if past else '-1'}::bigint AS edges"
        f" FROM remloom.edges e WHERE e.tenant_id = t.tenant AND e.{NEAR[end]} {key} AND {in_force}{types}"
        for end in ends(direction)
    ]
    if not past:
        sides = ", ".join(str(_SIDE[end]) for end in ends(direction))
        all_of_them = (
            "SELECT d.key, d.rel, d.side, d.edges FROM remloom.degrees d WHERE d.tenant_id = t.tenant"
            f" AND d.key {key} AND d.side IN ({sides}){types.replace('e.rel', 'd.rel')}"
        )
        parts.insert(0, all_of_them)
    return " UNION ALL ".join(parts)


def others(key: str) -> str:
    """The other keys of the records that have a key; once for each such record."""
    return (
        "SELECT b.key FROM remloom.names a CROSS JOIN LATERAL (SELECT b.key FROM remloom.names b"
        f" WHERE b.tenant_id = t.tenant AND b.id = a.id AND b.kin AND b.key <> {key} OFFSET 0) b"
        f" WHERE a.tenant_id = t.tenant AND a.key = {key} AND a.kin"
    )


def ends(direction: Direction) -> tuple[Direction, ...]:
    """At which end of its edges a node is looked at."""
    return cast("tuple[Direction, ...]", ("out", "in") if direction == "both" else (direction,))
