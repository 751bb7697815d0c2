"""Products of token vectors, by one thread."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..contract import Bytes, Floats


_LARGEST = 200_000  # multiplications that one thread does alone


def products(rows: Floats | Bytes, columns: Floats) -> Floats:
    """The product of each row with each column: float32, shape (rows, columns).

    Args:
        rows: of float32 or int8, shape (rows, dims).
        columns: of float32, shape (columns, dims).
    """
    import numpy as np

    turned = np.ascontiguousarray(columns.T)
    found = np.empty((len(rows), len(columns)), np.float32)
    # A larger product is shared out by OpenBLAS among threads, which spin and wait for each other
    # for ten times as long as the product takes.
    size = max(1, _LARGEST // columns.size)
    for first in range(0, len(rows), size):
        some = rows[first : first + size].astype(np.float32, copy=False)
        np.matmul(some, turned, out=found[first : first + size])
    return found
