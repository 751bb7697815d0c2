"""Checks and normalizes vectors: they are of one embedder at a time."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ...errors import EmbedderMismatchError, VectorError
from ..batch import TokenVectorBatch


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


def to_vectors(values: Sequence[float | Sequence[float]], *, what: str) -> tuple[list[bytes], int]:
    """Return the unit-length float32 bytes of one vector or several, and their dimension. Raises
    VectorError: see `to_vector`; also none at all, or several dimensions."""
    # a row of an array is no Sequence, but has a length as a list has
    if not len(values) or not hasattr(values[0], "__len__"):
        data, dims = to_vector(values, what=what)  # type: ignore[arg-type]  # one vector
        return [data], dims
    checked = [to_vector(row, what=what) for row in values]  # type: ignore[arg-type]  # several
    lengths = {dims for _, dims in checked}
    if len(lengths) > 1:
        raise VectorError(f"{what}: vectors of {' and of '.join(map(str, sorted(lengths)))}")
    return [data for data, _ in checked], lengths.pop()


def check_token_vectors(batch: TokenVectorBatch, stored_dims: int) -> None:
    """Refuse token vectors that are not what their model makes: it has no name, they have other
    dimensions than those stored of it (0: none), or a token is not whole. Raises VectorError."""
    if not batch.model or batch.dims < 1:
        raise VectorError(
            f"token vectors of {batch.model!r} with {batch.dims} dimensions",
            remedy="name their model, and its dimensions",
        )
    if stored_dims not in (0, batch.dims):
        raise VectorError(
            f"the token vectors of {batch.model} have {stored_dims} dimensions, not {batch.dims}",
            remedy="give the encoder another name",
        )
    for id, data in batch.vectors.items():
        if len(data) % batch.dims:
            raise VectorError(
                f"{id}: {len(data)} bytes are no whole tokens of {batch.dims} dimensions",
                remedy="give an int8 for each dimension of each token",
            )


def choose_model(
    stored: Sequence[tuple[int, str, int, bool]], name: str, dims: int, *, current: bool = True
) -> tuple[int, bool]:
    """Return the number of an embedder, and whether it is new.

    A text may be queued before its embedder was ever loaded: 0 dimensions are number 0, and
    register nothing.

    Args:
        stored: number, name, dimensions of each embedder, and whether it serves.
        current: false for one that is to follow the one that serves.

    Raises:
        EmbedderMismatchError: another one made the vectors that serve.
        VectorError: they have other dimensions.
    """
    serving = next((row for row in stored if row[3]), None)
    if serving and current:
        number, serving_name, serving_dims, _ = serving
        _check_serving(serving_name, serving_dims, name, dims)
        return number, False
    if not dims:
        return 0, False
    if not current:
        for number, other_name, other_dims, _ in stored:
            if (other_name, other_dims) == (name, dims):
                return number, False
    return max((row[0] for row in stored), default=0) + 1, True


def _check_serving(serving_name: str, serving_dims: int, name: str, dims: int) -> None:
    if name and serving_name and name != serving_name:
        raise EmbedderMismatchError(
            f"this memory's vectors were made by {serving_name}, not by {name}",
            remedy=f"run `remloom reembed --embedder NAME` to move to {name}, or open it "
            f"with the embedder of {serving_name}",
            stored=serving_name,
            given=name,
        )
    if dims and serving_dims != dims:
        raise VectorError(
            f"this memory's vectors have {serving_dims} dimensions, not {dims}",
            remedy=f"use the embedder {serving_name or 'it began with'}",
        )
