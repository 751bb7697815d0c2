"""Checking what a model answered: as many vectors as texts, all of one length, all numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..errors import EmbedderError

if TYPE_CHECKING:
    from .contract import Embedder, Floats


def unit_rows(values: Sequence[Any], *, count: int, dims: int | None, model: Embedder) -> Floats:
    """Make float32 rows of unit length of a model's answer, shape (count, dims).

    Raises:
        EmbedderError: another number of vectors or dimensions than expected, or no direction in one
            of them.
    """
    import numpy as np

    def wrong(answer: str, remedy: str = "") -> EmbedderError:
        return EmbedderError(f"{model.name} answered {answer}", remedy=remedy, model=model.name)

    try:
        rows = np.asarray(values, dtype=np.float32)
    except (TypeError, ValueError) as error:
        raise wrong("with something that is not a list of vectors") from error
    if rows.ndim != 2:
        raise wrong(f"an array of shape {rows.shape}, not a list of vectors")
    if len(rows) != count:
        raise wrong(f"{len(rows)} vectors to {count} texts")
    if dims is not None and rows.shape[1] != dims:
        raise wrong(
            f"vectors of {rows.shape[1]} dimensions, not {dims}",
            "the endpoint serves another model than before: check its name, "
            "or run `remloom reembed`",
        )
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    if not np.isfinite(lengths).all() or not lengths.all():
        raise wrong("a vector of zeros, NaN or infinity")
    return np.asarray(rows / lengths, dtype=np.float32)
