"""The ids that a filter lets through."""

from __future__ import annotations

from typing import Protocol
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from .arrays import Ids, positions


class Rows(Protocol):
    """Rows in the order of their ids, which never change."""

    @property
    def ids(self) -> Ids: ...


class AllowedIds:
    """The only ids that a search may return, ascending.

    Where each segment has them is remembered: a filter that comes again costs a search little, even
    one that allows nearly everything.
    """

    def __init__(self, ids: Ids) -> None:
        self.ids = ids
        self._rows: WeakKeyDictionary[Rows, NDArray[np.intp]] = WeakKeyDictionary()
        self._barred: WeakKeyDictionary[Rows, NDArray[np.bool_]] = WeakKeyDictionary()

    def __len__(self) -> int:
        return len(self.ids)

    def rows_in(self, segment: Rows) -> NDArray[np.intp]:
        """The rows of a segment that are allowed, ascending."""
        rows = self._rows.get(segment)
        if rows is None:
            rows = self._rows[segment] = positions(segment.ids, self.ids)
        return rows

    def barred_in(self, segment: Rows) -> NDArray[np.bool_]:
        """For each row of a segment, whether it is not allowed."""
        barred = self._barred.get(segment)
        if barred is None:
            barred = np.ones(len(segment.ids), bool)
            barred[self.rows_in(segment)] = False
            self._barred[segment] = barred
        return barred
