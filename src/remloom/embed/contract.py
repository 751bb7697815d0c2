"""The contracts of embedders and token encoders, for those who write one and those who use one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol, TypeAlias

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats: TypeAlias = NDArray[np.float32]
    Bytes: TypeAlias = NDArray[np.int8]


class Embedder(Protocol):
    """Turns texts into unit vectors. Any object of this shape can be given to
    `Memory.open(embedder=…)`.

    Making one is cheap: models are loaded, and endpoints called, by the first method that needs
    them, and any method may be called from any thread. Every method raises `EmbedderError` when the
    model cannot be loaded or does not answer as it should, and never returns fewer vectors than
    texts.

    An embedder may also have `model_card: ModelCard`, figures from measuring it, by which recall
    abstains and dreaming judges what is alike.
    """

    @property
    def name(self) -> str:
        """The identity of the vectors: two embedders with one name make comparable vectors.

        It names the model and, where documents and queries get a prefix, says so.
        """
        ...

    @property
    def dims(self) -> int:
        """Length of each vector. May have to ask the model."""
        ...

    @property
    def max_tokens(self) -> int:
        """Tokens of a text that the model sees; what is beyond them is cut off."""
        ...

    def embed_documents(self, texts: Sequence[str]) -> Floats:
        """One row for each text, in their order: float32, shape (len(texts), dims), unit length."""
        ...

    def embed_query(self, text: str) -> Floats:
        """The vector of a question: float32, shape (dims,), unit length. May be read-only."""
        ...

    def windows(self, text: str) -> list[tuple[int, int]]:
        """Character spans of the text that each fit `max_tokens`, to be embedded one by one.

        They follow each other without gap or overlap, cover the whole text, and end where sentences
        end if sentences fit. A text that fits is one window; an empty text has none.
        """
        ...


class TokenEncoder(Protocol):
    """Turns texts into a vector for each of their tokens. Any object of this shape can be given to
    `Memory.open(token_encoder=…)`.

    A text fits a question as the mean, over the tokens of the question, of the nearest token in it
    (MaxSim; Khattab and Zaharia 2020, ColBERT). As with an embedder, making one is cheap, any
    method may be called from any thread, and every one raises `EmbedderError` when the model cannot
    be loaded or does not answer as it should.

    It may also have `languages`, those that it knows, as ISO 639-1; none, or without it: all. Of a
    question in another language it is not asked.
    """

    @property
    def name(self) -> str:
        """The identity of the vectors, dimensions included."""
        ...

    @property
    def dims(self) -> int:
        """Length of each vector."""
        ...

    def encode_documents(self, texts: Sequence[str]) -> list[Bytes]:
        """One array for each text, in their order: int8, shape (tokens, dims), 127 for 1. A text
        without tokens has shape (0, dims)."""
        ...

    def encode_query(self, text: str) -> Floats:
        """The vectors of a question: float32, shape (tokens, dims), each of unit length. May be
        read-only."""
        ...
