"""How near windows of texts are to a question in meaning."""

from __future__ import annotations

from collections.abc import Sequence

from ..errors import VectorError
from ..store.batch import Vector


def cosines(windows: Sequence[Vector], vector: Sequence[float]) -> list[float]:
    """The cosine of each window to the vector of a question.

    Raises:
        VectorError: they have other dimensions: models take seconds, in which another embedder may
            come to serve.
    """
    import numpy as np

    if not windows:
        return []
    rows = np.frombuffer(b"".join(window.data for window in windows), np.float32)
    rows = rows.reshape(len(windows), -1)
    if rows.shape[1] != len(vector):
        raise VectorError(
            f"the vectors have {rows.shape[1]} dimensions, that of the question {len(vector)}"
        )
    similarities: list[float] = (rows @ np.asarray(vector, np.float32)).tolist()
    return similarities
