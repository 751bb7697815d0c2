"""What a sync did."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec import Struct

from ...model import Row
from .rows import LEFT_OUT

_TOTALS = (
    "read", "added", "changed", "unchanged", "deleted", "forgotten", "refused", "left_out",
    "edges_added", "edges_ended", "orphans",
)  # fmt: skip
SHOWN = 100  # refusals of a table, and pairs that may be one, that a report lists


class Refusal(Struct, frozen=True):
    """A row that was not taken, and why."""

    row: str  # its handle, or "" if it has none
    reason: str


class SameAs(Struct, frozen=True):
    """Two rows with a value in common that identifies a row: they are one thing, or may be."""

    first: str  # handles
    second: str
    united: bool = False  # by this sync, as the plans say
    why: str = ""  # why they are not, although the plans would have it
    separated: bool = False  # by this sync: they were one


class TableReport(Struct, kw_only=True):
    """What a sync did with one table."""

    table: str
    schema_name: str = ""  # empty: its rows are edges
    read: int = 0  # rows
    added: int = 0
    changed: int = 0
    unchanged: int = 0
    deleted: int = 0
    forgotten: int = 0  # skipped, as somebody forgot them here
    refused: int = 0
    refusals: list[Refusal] = []  # the first of them
    # values that are not as their field says, or that cannot be read, of all rows that are there:
    # these are kept without them
    left_out: int = 0
    left_out_values: list[Refusal] = []  # the first of them
    edges_added: int = 0
    edges_ended: int = 0
    orphans: int = 0  # edges that were written and lead to a row that the source does not have
    # keys that differ, but are one label: their handles have six digits more
    colliding: int = 0
    fault: str = ""  # why it was left alone as a whole; empty: it was not

    def refuse(self, row: str, reason: str) -> None:
        self.refused += 1
        if len(self.refusals) < SHOWN:
            self.refusals.append(Refusal(row, reason))

    def leave_out(self, row: Row) -> None:
        """Count the values that a stored row is without."""
        self.leave_out_values(row.handle, row.metadata.get(LEFT_OUT, ()))

    def leave_out_values(self, row: str, reasons: Sequence[str]) -> None:
        """Count the values that a row, or an edge of one, is kept without."""
        for reason in reasons:
            self.left_out += 1
            if len(self.left_out_values) < SHOWN:
                self.left_out_values.append(Refusal(row, reason))


class SyncReport(Struct, frozen=True, kw_only=True):
    """What a sync did, table by table."""

    source: str
    tables: tuple[TableReport, ...] = ()
    same_as: tuple[SameAs, ...] = ()  # the first pairs that were found, and that are none any more
    united: int = 0  # pairs of rows that are one thing since this sync
    separated: int = 0  # pairs that are not any more: a value changed, or is that of several rows
    # the sums of the tables: read, added, changed, unchanged, deleted, forgotten, refused, …
    totals: dict[str, int] = {}
    seconds: float = 0.0
    dry_run: bool = False  # nothing was written
    resumed: bool = False  # the sync before was broken off
    # what rests on rows that changed or are gone, and may no longer hold; ids of the first hundred
    stale: int = 0
    stale_ids: tuple[str, ...] = ()

    @property
    def read(self) -> int:
        return self.totals["read"]

    @property
    def added(self) -> int:
        return self.totals["added"]

    @property
    def changed(self) -> int:
        return self.totals["changed"]

    @property
    def unchanged(self) -> int:
        return self.totals["unchanged"]

    @property
    def deleted(self) -> int:
        return self.totals["deleted"]

    @property
    def forgotten(self) -> int:
        return self.totals["forgotten"]

    @property
    def refused(self) -> int:
        return self.totals["refused"]

    @property
    def left_out(self) -> int:
        return self.totals["left_out"]

    @property
    def edges_added(self) -> int:
        return self.totals["edges_added"]

    @property
    def edges_ended(self) -> int:
        return self.totals["edges_ended"]

    @property
    def orphans(self) -> int:
        return self.totals["orphans"]

    @classmethod
    def of(cls, source: str, tables: Sequence[TableReport], **fields: Any) -> SyncReport:
        totals = {name: sum(getattr(table, name) for table in tables) for name in _TOTALS}
        return cls(source=source, tables=tuple(tables), totals=totals, **fields)

    @property
    def faults(self) -> dict[str, str]:
        """Table -> why it was left alone as a whole."""
        return {table.table: table.fault for table in self.tables if table.fault}
