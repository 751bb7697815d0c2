"""Checking what a model answered: as many vectors as texts, all of one length, all numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..errors import EmbedderError

if TYPE_CHECKING:
    from .contract import Floats

__all__ = ["unit_rows"]


def unit_rows(values: Sequence[Any], *, count: int, dims: int | None, model: str) -> Floats:
    """Make float32 rows of unit length of a model's answer, shape (count, dims).

    Raises:
        EmbedderError: another number of vectors or dimensions than expected, or no direction in one
            of them.
    """
    import numpy as np

    try:
        rows = np.asarray(values, dtype=np.float32)
    except (TypeError, ValueError) as error:
        raise EmbedderError(
            f"{model} answered with something that is not a list of vectors", model=model
        ) from error
    if rows.ndim != 2:
        raise EmbedderError(
            f"{model} answered an array of shape {rows.shape}, not a list of vectors", model=model
        )
    if len(rows) != count:
        raise EmbedderError(f"{model} answered {len(rows)} vectors to {count} texts", model=model)
    if dims is not None and rows.shape[1] != dims:
        raise EmbedderError(
            f"{model} answered vectors of {rows.shape[1]} dimensions, not {dims}",
            remedy="the endpoint serves another model than before: check its name, "
            "or run `remloom reembed`",
            model=model,
        )
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    if not np.isfinite(lengths).all() or not lengths.all():
        raise EmbedderError(f"{model} answered a vector of zeros, NaN or infinity", model=model)
    return np.asarray(rows / lengths, dtype=np.float32)
