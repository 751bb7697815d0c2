"""What embedders and token encoders raise, told as one error."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ..errors import EmbedderError, RemloomError

__all__ = ["as_embedder_error"]


@contextmanager
def as_embedder_error(name: str) -> Iterator[None]:
    """Raise whatever a model raises as an `EmbedderError` that names it; one of somebody else's may
    raise anything. Our own errors stay as they are."""
    try:
        yield
    except RemloomError:
        raise
    except Exception as error:
        raise EmbedderError(f"{name} failed: {type(error).__name__}: {error}") from error
