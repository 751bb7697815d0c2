"""Asking a model, and checking what it answers: somebody else's must not poison an index, nor what
is asked of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..errors import EmbedderError
from .contract import Embedder, TokenEncoder

if TYPE_CHECKING:
    from .contract import Bytes, Embedder, Floats


def question_vector(embedder: Embedder, text: str) -> Floats:
    """The vector of a question: float32, shape (dims,), unit length.

    Raises:
        EmbedderError: it answered something else. Or whatever it raises: see `answered_by`.
    """
    made = [embedder.embed_query(text)]
    row: Floats = unit_rows(made, count=1, dims=embedder.dims, model=embedder)[0]
    return row


def text_vectors(embedder: Embedder, texts: Sequence[str]) -> Floats:
    """The vectors of texts: float32, shape (len(texts), dims), unit length.

    Raises:
        EmbedderError: it answered something else. Or whatever it raises.
    """
    made: Any = embedder.embed_documents(texts)
    return unit_rows(made, count=len(texts), dims=embedder.dims, model=embedder)


def question_tokens(encoder: TokenEncoder, text: str) -> Floats:
    """The token vectors of a question: float32, shape (tokens, dims), at least one.

    Raises:
        EmbedderError: it answered something else. Or whatever it raises.
    """
    import numpy as np

    dims = encoder.dims
    made: Floats = np.asarray(encoder.encode_query(text), np.float32)
    if made.ndim != 2 or not len(made) or made.shape[1] != dims:
        raise EmbedderError(
            f"{encoder.name} answered {made.shape} for a question, not rows of {dims}",
            remedy="check the token encoder",
        )
    if not np.isfinite(made).all():
        raise EmbedderError(
            f"{encoder.name} answered a vector with NaN or infinity",
            remedy="check the token encoder",
        )
    return made


def text_tokens(encoder: TokenEncoder, texts: Sequence[str]) -> list[Bytes]:
    """The token vectors of each text: int8, shape (tokens, dims), of one number of dimensions.

    Raises:
        EmbedderError: it answered something else. Or whatever it raises.
    """
    import numpy as np

    dims = encoder.dims
    arrays = list(encoder.encode_documents(texts))
    fit = [
        isinstance(array, np.ndarray)
        and array.dtype == np.int8
        and array.ndim == 2
        and array.shape[1] == dims
        for array in arrays
    ]
    if len(arrays) != len(texts) or not all(fit):
        raise EmbedderError(
            f"{encoder.name} answered {sum(fit)} arrays of bytes of {dims} dimensions a token to "
            f"{len(texts)} texts",
            remedy="check the token encoder",
        )
    return arrays


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
