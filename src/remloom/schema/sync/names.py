"""Names of the rows that edges lead to."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from ... import labels
from ...model import Row
from ...store.contract import Store

_KEPT = 100_000  # names


class Names:
    """What rows are called, by their handles: as far as they are stored.

    An edge leads to whatever has the label of its handle, however that is spelt.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._names: dict[str, str] = {}  # by key

    def of(self, handles: Collection[str]) -> dict[str, str]:
        """Give the names of these, by handle; what is not stored is left out."""
        if len(self._names) > _KEPT:
            self._names.clear()
        keys = {handle: labels.key(handle) for handle in handles}
        unknown = sorted({key for key in keys.values() if key not in self._names})
        if unknown:
            for key, records in self._store.records.lookup(unknown, edges=0).items():
                for record in records:
                    if isinstance(record, Row) and labels.key(record.handle) == key:
                        self._names[key] = record.name
        return {handle: self._names[key] for handle, key in keys.items() if key in self._names}

    def learn(self, names: Mapping[str, str]) -> None:
        """Note what rows are called now, by the keys of their handles."""
        self._names.update((key, name) for key, name in names.items() if key in self._names)
