"""Which embedder's vectors a store takes: one model's at a time."""

from __future__ import annotations

from collections.abc import Sequence

from ..errors import EmbedderMismatchError, VectorError

__all__ = ["chosen"]


def chosen(
    stored: Sequence[tuple[int, str, int, bool]], name: str, dims: int, *, current: bool = True
) -> tuple[int, bool]:
    """The number of an embedder among those stored (number, name, dimensions, whether it serves);
    whether it is new.

    A text may be queued before its embedder was ever loaded: 0 dimensions are number 0, and
    register nothing. With `current` false it is to follow the one that serves.

    Raises:
        EmbedderMismatchError: another one made the vectors that serve.
        VectorError: they have other dimensions.
    """
    serving = next((row for row in stored if row[3]), None)
    if serving and current:
        number, known, size, _ = serving
        if name and known and name != known:
            raise EmbedderMismatchError(
                f"this memory's vectors were made by {known}, not by {name}",
                remedy=f"run `remloom reembed` to move to {name}, or open it with the embedder of {known}",
                stored=known, given=name,
            )  # fmt: skip
        if dims and size != dims:
            raise VectorError(
                f"this memory's vectors have {size} dimensions, not {dims}",
                remedy=f"use the embedder {known or 'it began with'}",
            )
        return number, False
    if not dims:
        return 0, False
    found = next(
        (
            number
            for number, other, size, now in stored
            if not current and (other, size) == (name, dims)
        ),
        None,
    )
    return (
        (found, False)
        if found is not None
        else (max((row[0] for row in stored), default=0) + 1, True)
    )
