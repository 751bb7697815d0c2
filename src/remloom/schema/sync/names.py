"""Names of the rows that edges lead to."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from ... import labels
from ...model import Row
from ...store.contract import Store

__all__ = ["Names"]

_KEPT = 100_000  # names


class Names:
    """What rows are called, by their handles: as far as they are stored."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._names: dict[str, str] = {}

    def of(self, handles: Collection[str]) -> dict[str, str]:
        """Give the names of these; what is not stored is left out."""
        if len(self._names) > _KEPT:
            self._names.clear()
        unknown = {labels.key(handle) for handle in handles if handle not in self._names}
        if unknown:
            for records in self._store.records.lookup(sorted(unknown), edges=0).values():
                rows = [record for record in records if isinstance(record, Row)]
                self._names.update((row.handle, row.name) for row in rows)
        return {handle: self._names[handle] for handle in handles if handle in self._names}

    def learn(self, names: Mapping[str, str]) -> None:
        """Note what rows are called now."""
        for handle, name in names.items():
            if handle in self._names:
                self._names[handle] = name

    def lose(self, handles: Collection[str]) -> None:
        """Note that there are no such rows any more."""
        for handle in handles:
            self._names.pop(handle, None)
