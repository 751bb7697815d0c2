"""Checks and normalizes vectors."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ..errors import VectorError

__all__ = ["to_vector"]


def to_vector(values: Sequence[float], *, what: str) -> tuple[bytes, int]:
    """Return the unit-length float32 bytes and the dimension of a vector.

    Raises:
        VectorError: not one-dimensional numbers, empty, NaN, infinite, or of zero length.
    """
    import numpy as np

    try:
        # too large a number becomes infinite, and is refused below
        with np.errstate(over="ignore"):
            vector = np.asarray(values, dtype=np.float32)
    except (TypeError, ValueError) as error:
        raise VectorError(f"{what}: the vector is not a sequence of numbers: {error}") from error
    if vector.ndim != 1 or not vector.size:
        raise VectorError(
            f"{what}: a vector has one dimension and at least one number, not shape {vector.shape}"
        )
    with np.errstate(over="ignore"):
        length = math.sqrt(float(vector @ vector))
    if not math.isfinite(length):
        raise VectorError(
            f"{what}: the vector holds NaN or infinity", remedy="embed the text again"
        )
    if length == 0:
        raise VectorError(
            f"{what}: a vector of zeros has no direction", remedy="leave `embedding` out"
        )
    return (vector / np.float32(length)).tobytes(), vector.size
