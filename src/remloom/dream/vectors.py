"""The vectors of whole records."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeAlias

from ..embed.bundled.sentence_embedder import model_card_named
from ..store.batch import Vector
from ..store.contract import Reads

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats: TypeAlias = NDArray[np.float32]

_PRIOR = 500  # pairs of texts that tell as much as that does


def matrix(store: Reads, ids: Sequence[str]) -> Floats:
    """A unit vector for each record, in order; zeros for one that has none. Shape (len(ids), dims).

    A record that fits the embedder has a window of its whole text, which is taken; of a longer one
    the windows are averaged.
    """
    import numpy as np

    windows_by_id = store.vectors.of(ids)
    if windows_by_id:
        windows = next(iter(windows_by_id.values()))
        # four bytes a number
        dims = len(windows[0].data) // 4
    else:
        _, dims = store.vectors.model() or ("", 1)
    rows = np.zeros((len(ids), dims), np.float32)
    for row, id in enumerate(ids):
        if id in windows_by_id:
            rows[row] = vector_of_text(windows_by_id[id])
    return rows


def typical_cosine(vectors: Floats, model: str) -> tuple[float, float]:
    """Mean and standard deviation of the cosine of any two of these vectors.

    What is typical of the embedder, where known, counts as much as `_PRIOR` pairs.
    """
    import numpy as np

    units = vectors[vectors.any(axis=1)].astype(np.float64)
    count = len(units)
    pairs = count * (count - 1) / 2
    mean = square = 0.0
    if pairs:
        # without a matrix of all pairs: the cosine of each with itself, which is 1, is taken off
        mean = float(np.square(units.sum(axis=0)).sum() - count) / (2 * pairs)
        square = float(np.square(units.T @ units).sum() - count) / (2 * pairs)
    # weighed by how much is known
    card = model_card_named(model)
    if card is not None:
        share = pairs / (pairs + _PRIOR)
        mean = share * mean + (1 - share) * card.mean
        square = share * square + (1 - share) * (card.mean**2 + card.deviation**2)
    return mean, max(0.0, square - mean**2) ** 0.5


def vector_of_text(windows: Sequence[Vector]) -> Floats:
    """The unit vector of a text by its windows."""
    import numpy as np

    first = windows[0]
    begins_first = first.start <= min(window.start for window in windows)
    ends_last = first.end >= max(window.end for window in windows)
    if begins_first and ends_last:
        # it is of the whole text; the others are sentences of it
        return np.frombuffer(first.data, np.float32)
    vectors = [np.frombuffer(window.data, np.float32) for window in windows]
    mean = np.mean(vectors, axis=0, dtype=np.float32)
    length = np.linalg.norm(mean)
    return np.asarray(mean / (length or 1.0), np.float32)
