"""Rows of link tables as edges, by the plan of their database."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

import msgspec
from msgspec import Struct

from ...model import SOURCE_FK, Edge
from ..databases.contract import Table, Unreadable
from ..plan.planned import PlannedLink
from .rows import Handles


class LinkRow(Struct, frozen=True, gc=False):
    """A row of a link table, and the handles of the rows that it links."""

    values: Sequence[Any]
    owner: str
    target: str


class LinkReader:
    """Makes edges of the rows of a link table.

    Args:
        owner, target: of the rows at both ends.
    """

    def __init__(self, link: PlannedLink, table: Table, owner: Handles, target: Handles) -> None:
        self.link = link
        self.owner = owner
        self.target = target
        payload = [field.column for field in link.fields]
        self.columns = (*link.owner_columns, *link.target_columns, *payload)
        first = len(link.owner_columns)
        self._owner_key = _key_order(table, link.owner_columns, owner, 0)
        self._target_key = _key_order(table, link.target_columns, target, first)
        self._payload = first + len(link.target_columns)

    @property
    def source_fk(self) -> str:
        """What its edges have as the foreign key; the name of the table is in it."""
        return f"{self.link.table}.{','.join(self.link.target_columns)}"

    def read(self, values: Sequence[Any]) -> LinkRow | None:
        """Say which rows a row links; None: one of its ends is NULL."""
        owner = tuple([values[position] for position in self._owner_key])
        target = tuple([values[position] for position in self._target_key])
        if None in owner or None in target:
            return None
        return LinkRow(values, self.owner.of(owner), self.target.of(target))

    def edges_of(self, row: LinkRow, names: Mapping[str, str]) -> list[Edge]:
        """Make the edge of a row, and the inverse one if there is to be one.

        Args:
            names: handle -> name of the rows at both ends, as far as they are known.
        """
        payload = self._payload_of(row)
        there = [(self.link.name, row.owner, row.target, self.target)]
        if self.link.inverse:
            there.append((self.link.inverse, row.target, row.owner, self.owner))
        edges = []
        for rel_type, src, dst, handles in there:
            properties = {**payload, "dst_entity_type": handles.table.entity_type}
            if name := names.get(dst, ""):
                properties["dst_name"] = name
            properties[SOURCE_FK] = self.source_fk
            edges.append(Edge(src=src, rel_type=rel_type, dst=dst, properties=properties))
        return edges

    def unreadable_of(self, row: LinkRow) -> list[str]:
        """Say which properties the edge of a row is kept without."""
        values = row.values[self._payload :]
        return [
            f"{field.name} cannot be read: {value.reason}"
            for field, value in zip(self.link.fields, values, strict=True)
            if isinstance(value, Unreadable)
        ]

    def _payload_of(self, row: LinkRow) -> dict[str, Any]:
        values = row.values[self._payload :]
        return {
            field.name: _as_json(value)
            for field, value in zip(self.link.fields, values, strict=True)
            if value is not None and not isinstance(value, Unreadable)
        }


def _key_order(table: Table, columns: Sequence[str], end: Handles, first: int) -> list[int]:
    """Give the positions of the columns, in the order of the key that they lead to."""
    targets = tuple(end.table.key)
    for key in table.foreign_keys:
        if set(key.columns) == set(columns) and set(key.target_columns) == set(targets):
            by_target = dict(zip(key.target_columns, key.columns, strict=True))
            return [first + list(columns).index(by_target[column]) for column in targets]
    return list(range(first, first + len(columns)))


def _as_json(value: Any) -> Any:
    if isinstance(value, Decimal) and value.is_finite() and Decimal(repr(float(value))) == value:
        return float(value)
    return msgspec.to_builtins(value, enc_hook=str)
