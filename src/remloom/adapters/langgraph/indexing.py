"""What of a value is searched: its texts, and the vectors that a user's embedder makes of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Literal

from langgraph.store.base import (
    Embeddings,
    IndexConfig,
    PutOp,
    ensure_embeddings,
    get_text_at_path,
    tokenize_path,
)

from ...embed import FunctionEmbedder
from ...errors import EmbedderError, InvalidInputError
from .items import as_text

Vectors = dict[str, Sequence[float]]  # of texts

_WHOLE = "$"


class Indexing:
    """Picks the texts of items, and embeds them where a user has given an embedder.

    Args:
        config: LangGraph's; None: whole values are searched, by the memory's own means.
    """

    def __init__(self, config: IndexConfig | None) -> None:
        self.embeddings: Embeddings | None = None
        self._fields: Sequence[str] = (_WHOLE,)
        if config is not None:
            if "embed" not in config or "dims" not in config:
                raise InvalidInputError(
                    "an index needs an embedder and its dimensions",
                    remedy='index={"dims": 1536, "embed": "openai:text-embedding-3-small"}',
                )
            self.embeddings = ensure_embeddings(config["embed"])
            self._fields = config.get("fields") or (_WHOLE,)

    def content(self, op: PutOp) -> str:
        """The text of an item that words are searched in; whole values as lines."""
        if op.value is None or op.index is False:
            return ""
        texts = (
            [as_text(op.value)] if field == _WHOLE else get_text_at_path(op.value, _path(field))
            for field in self._fields_of(op.index)
        )
        return "\n".join(text for some in texts for text in some if text)

    def texts(self, op: PutOp) -> list[str]:
        """The texts of an item that a user's embedder is given, a vector each."""
        if self.embeddings is None or op.value is None or op.index is False:
            return []
        found = (get_text_at_path(op.value, _path(field)) for field in self._fields_of(op.index))
        return [text for texts in found for text in texts if text]

    def embed(self, texts: Iterable[str], queries: Iterable[str]) -> tuple[Vectors, Vectors]:
        """Embed texts and questions, each once."""
        documents, questions = list(dict.fromkeys(texts)), list(dict.fromkeys(queries))
        if self.embeddings is None or not (documents or questions):
            return {}, {}
        rows = self.embeddings.embed_documents(documents) if documents else []
        query_vectors = [self.embeddings.embed_query(question) for question in questions]
        return _paired(documents, rows), _paired(questions, query_vectors)

    async def aembed(self, texts: Iterable[str], queries: Iterable[str]) -> tuple[Vectors, Vectors]:
        documents, questions = list(dict.fromkeys(texts)), list(dict.fromkeys(queries))
        if self.embeddings is None or not (documents or questions):
            return {}, {}
        rows = await self.embeddings.aembed_documents(documents) if documents else []
        query_vectors = [await self.embeddings.aembed_query(question) for question in questions]
        return _paired(documents, rows), _paired(questions, query_vectors)

    def _fields_of(self, index: Literal[False] | list[str] | None) -> Sequence[str]:
        return self._fields if index is None or index is False else index


def embedder_of(config: IndexConfig) -> FunctionEmbedder:
    """Make the embedder of a memory of the one that LangGraph was given.

    Its name, by which a memory knows its vectors, is that of the model where the embedder tells it,
    or else that of its class or function.
    """
    embeddings = ensure_embeddings(config["embed"])
    return FunctionEmbedder(
        f"langchain:{_model_name(config['embed'])}:{config['dims']}",
        embeddings.embed_documents,
        embeddings.embed_query,
        dims=config["dims"],
    )


def _model_name(embed: Any) -> str:
    if isinstance(embed, str):
        return embed
    for name in ("model", "model_name"):
        if isinstance(found := getattr(embed, name, None), str) and found:
            return found
    return getattr(embed, "__qualname__", type(embed).__qualname__)


def _path(field: str) -> Any:
    return field if field == _WHOLE else tokenize_path(field)


def _paired(texts: Sequence[str], rows: Sequence[Sequence[float]]) -> Vectors:
    if len(rows) != len(texts):
        raise EmbedderError(f"the embedder answered {len(rows)} vectors to {len(texts)} texts")
    return dict(zip(texts, rows, strict=True))
