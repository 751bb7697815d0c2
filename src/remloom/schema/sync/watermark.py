"""The watermark of a table: a column that grows with every write to a row.

A reliable one saves reading the rows before it, but for their keys. It is reliable once a sync of
all rows found each changed row behind it; every tenth sync reads all rows again.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from ...kv import Entry, EntryReads
from ..databases.contract import Key, Table
from ..plan.planned import PlannedTable

WATERMARKS = "watermarks"  # namespace of the entries; the key is "<source>/<table>"
_QUICK = 9  # syncs by the watermark between two that read all rows
# what others may still write behind the highest value that was seen, by the type of the column
_OVERLAP = {datetime: timedelta(hours=1), date: timedelta(days=2), int: 10_000, Decimal: 10_000}


class _State(Struct, frozen=True, omit_defaults=True):
    """What is known of a watermark."""

    plan: str  # digest of what the rows depend on: a new plan needs all rows
    high: Any = None  # JSON of the highest value seen
    is_proven: bool = False
    is_refuted: bool = False
    quick: int = 0  # syncs by it since all rows were read


class TableWatermark:
    """The watermark of a table in one sync; `plan` is the digest of what the rows depend on."""

    def __init__(
        self, entries: EntryReads, source: str, planned: PlannedTable, table: Table, plan: str
    ) -> None:
        self._key = f"{source}/{planned.table}"
        self._column = planned.watermark
        self._table = table
        self._type = _type_of(table, planned.watermark)
        stored = entries.get(WATERMARKS, self._key)
        state = _State(plan)
        if stored is not None:
            state = msgspec.json.decode(stored.value, type=_State)
        self._is_known = state.plan == plan and state.high is not None
        self._state = replace(state, plan=plan) if self._is_known else _State(plan)
        self._before = self._read(self._state.high)
        self._high = self._before
        self._changed = self._missed = False

    @property
    def is_reliable(self) -> bool:
        """Whether it is enough to read the rows behind it."""
        state = self._state
        columns = [columns[0] for columns in self._table.indexed if columns]
        return (
            state.is_proven
            and not state.is_refuted
            and state.quick < _QUICK
            and bool(self._table.primary_key)
            and self._column in columns
        )

    def table(self) -> Table:
        """Describe the table as it is read in the order of the watermark."""
        return replace(self._table, primary_key=(self._column, *self._table.primary_key))

    def after(self, key: Key) -> Key:
        """The key behind which the table is read; `key` is that of any row."""
        return (self._start(), *key)

    def observe(self, values: Mapping[str, Any], *, was_there: bool) -> None:
        """Note a row that was found to be new or changed."""
        if was_there:
            value = values[self._column]
            self._changed = True
            start = self._start()
            if type(value) is not self._type or start is None or value < start:
                self._missed = True

    def see(self, value: Any) -> None:
        """Note the watermark of any row."""
        if type(value) is self._type and (self._high is None or value > self._high):
            self._high = value

    def entry(self, *, was_quick: bool) -> Entry:
        """Make the entry that keeps its state."""
        state = self._state
        if not was_quick and self._is_known and self._changed:
            state = replace(state, is_proven=True, is_refuted=state.is_refuted or self._missed)
        quick = state.quick + 1 if was_quick else 0
        high = msgspec.to_builtins(self._high, enc_hook=str)
        kept = replace(state, high=high, quick=quick)
        return Entry(WATERMARKS, self._key, msgspec.json.encode(kept))

    def _start(self) -> Any:
        """The value from which on rows may have changed."""
        if self._before is None or self._type not in _OVERLAP:
            return self._before
        return self._before - _OVERLAP[self._type]

    def _read(self, value: Any) -> Any:
        return None if value is None else msgspec.convert(value, self._type, strict=False)


def _type_of(table: Table, column: str) -> type:
    kinds: dict[str | None, type] = {
        "integer": int, "float": float, "decimal": Decimal, "date": date, "datetime": datetime,
    }  # fmt: skip
    kind = next((each.kind for each in table.columns if each.name == column), None)
    return kinds.get(kind, str)
