"""An embedder made of functions that a framework or a user has already."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from ..errors import EmbedderError, InvalidInputError
from ..text.sentences import approximate_windows
from .answers import unit_rows

if TYPE_CHECKING:
    from .contract import Floats


class FunctionEmbedder:
    """An embedder of two functions. See `contract.Embedder`.

    Args:
        name: the identity of the vectors: another name is another model.
        documents: gives a vector for each text, in their order.
        query: gives the vector of a question; default that of `documents`.
        dims: length of each vector; default that of the first answer.
        max_tokens: of a window, by an estimate that errs towards too many.
    """

    def __init__(
        self,
        name: str,
        documents: Callable[[list[str]], Sequence[Any]],
        query: Callable[[str], Any] | None = None,
        *,
        dims: int | None = None,
        max_tokens: int = 512,
    ) -> None:
        if not name:
            raise InvalidInputError("an embedder needs a name", remedy="name its model")
        self.name = name
        self.max_tokens = max_tokens
        self._documents = documents
        self._query = query
        self._dims = dims

    @property
    def dims(self) -> int:
        if self._dims is None:
            self._dims = len(self.embed_query("dimension"))
        return self._dims

    def embed_documents(self, texts: Sequence[str]) -> Floats:
        import numpy as np

        if not texts:
            return np.empty((0, self.dims), np.float32)
        return self._rows(self._documents, list(texts))

    def embed_query(self, text: str) -> Floats:
        query = self._query
        if query is None:
            first: Floats = self.embed_documents([text])[0]
            return first
        row: Floats = self._rows(lambda texts: [query(texts[0])], [text])[0]
        return row

    def windows(self, text: str) -> list[tuple[int, int]]:
        return approximate_windows(text, self.max_tokens)

    def _rows(self, embed: Callable[[list[str]], Sequence[Any]], texts: list[str]) -> Floats:
        try:
            values = embed(texts)
        except EmbedderError:
            raise
        except Exception as error:
            # whatever the function of somebody else raises
            raise EmbedderError(
                f"{self.name} did not embed: {type(error).__name__}: {error}", model=self.name
            ) from error
        rows = unit_rows(values, count=len(texts), dims=self._dims, model=self)
        self._dims = rows.shape[1]
        return rows
