"""Chooses whose vectors a store takes: those of one embedder at a time."""

from __future__ import annotations

from collections.abc import Sequence

from ..errors import EmbedderMismatchError, VectorError


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
