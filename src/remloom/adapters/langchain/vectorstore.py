"""LangChain's vector store over a memory."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self
from uuid import uuid4

from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.vectorstores import VectorStore
from langchain_core.vectorstores.utils import maximal_marginal_relevance

from ...embed import FunctionEmbedder
from ...errors import EmbedderError, InvalidInputError, NotFoundError, UnknownNameError
from ...labels import storable
from ...memory import Memory
from ...model import Resource
from ...predicates import (
    And,
    Eq,
    Exists,
    Gt,
    Gte,
    In,
    Lt,
    Lte,
    Ne,
    Not,
    NotExists,
    NotIn,
    Or,
    Predicate,
    Query,
    StartsWith,
)
from .retriever import DOCUMENT_METADATA, collection_uri, document_id, document_of, resource_of

if TYPE_CHECKING:
    from collections.abc import Callable

_COMPARISONS: dict[str, Callable[[str, Any], Predicate]] = {
    "$eq": Eq,
    "$ne": Ne,
    "$gt": Gt,
    "$gte": Gte,
    "$lt": Lt,
    "$lte": Lte,
    "$in": In,
    "$nin": NotIn,
}
_REFUSED = set("\"'\\`[]{}$")
_OPERATORS = (*_COMPARISONS, "$exists", "$and", "$or", "$not")


class RemloomVectorStore(VectorStore):
    """Documents of LangChain in a memory, found by meaning.

    Each is a resource, which `recall`, `search_text` and `RemloomRetriever` find as well, and which
    `forget` forgets. Documents with the same text are found once.

    Args:
        memory: where the documents go; its embedder makes the vectors. It is not closed here.
        collection: documents of one are not found in another.
    """

    def __init__(self, memory: Memory, *, collection: str = "documents") -> None:
        self.memory = memory
        self._collection = collection
        self._embeddings: Embeddings | None = None
        self._owns_memory = False

    @classmethod
    def open(
        cls,
        home_or_url: str | os.PathLike[str] | None = None,
        embedding: Embeddings | None = None,
        *,
        collection: str = "documents",
        tenant: str | None = None,
        key: str | None = None,
    ) -> Self:
        """Open a memory with LangChain's embeddings as its embedder, and a store over it.

        Use it as a context manager, or call `close`.

        Args:
            embedding: default the embedder of the settings.
            home_or_url, tenant, key: as for `Memory.open`, which says what is raised.
        """
        embedder = None if embedding is None else _embedder_of(embedding)
        memory = Memory.open(home_or_url, tenant=tenant, key=key, embedder=embedder)
        store = cls(memory, collection=collection)
        store._embeddings = embedding
        store._owns_memory = True
        return store

    @classmethod
    def from_texts(
        cls,
        texts: list[str],
        embedding: Embeddings,
        metadatas: list[dict[str, Any]] | None = None,
        *,
        ids: list[str] | None = None,
        **opening: Any,
    ) -> Self:
        """Open a store and add texts to it.

        Args:
            opening: `home_or_url`, `collection`, `tenant`, `key`, as for `open`.
        """
        store = cls.open(opening.pop("home_or_url", None), embedding, **opening)
        try:
            store.add_texts(texts, metadatas, ids=ids)
        except BaseException:
            store.close()
            raise
        return store

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the memory, if it was opened by `open` or `from_texts`."""
        if self._owns_memory:
            self.memory.close()

    @property
    def embeddings(self) -> Embeddings | None:
        """LangChain's embeddings, if the store was opened with them."""
        return self._embeddings

    def add_texts(
        self,
        texts: Iterable[str],
        metadatas: list[dict[str, Any]] | None = None,
        *,
        ids: Sequence[str | None] | None = None,
        **_: Any,
    ) -> list[str]:
        """Add texts, all or none; found by meaning when it returns.

        A text whose id is there takes the place of that one. If the embedder fails, the texts are
        kept, found by words, and embedded later.

        Raises:
            InvalidInputError: lists of different lengths; metadata that is not JSON.
            EmbedderError: the embedder does not work.
        """
        texts = list(texts)
        metadatas = metadatas or [{} for _ in texts]
        document_ids = ids or [None] * len(texts)
        if not len(texts) == len(metadatas) == len(document_ids):
            counts = f"{len(texts)} texts, {len(metadatas)} metadatas and {len(document_ids)} ids"
            raise InvalidInputError(f"there are {counts}", remedy="give one of each for a text")
        known = [id or str(uuid4()) for id in document_ids]
        resources = [
            resource_of(self._collection, id, text, metadata)
            for id, text, metadata in zip(known, texts, metadatas, strict=True)
        ]
        if resources:
            self.memory.write(resources, wait=True)
        return known

    def delete(self, ids: list[str] | None = None, **_: Any) -> bool:
        """Forget documents; without ids, all of the collection. Ids that are not there are passed
        over."""
        stored = self._stored(ids)
        while stored:
            try:
                self.memory.forget(*(resource.id for resource in stored), by="id")
            except NotFoundError:
                # somebody else forgot some of them
                stored = self._stored(ids)
                continue
            break
        return True

    def get_by_ids(self, ids: Sequence[str], /) -> list[Document]:
        """Get the documents that are there, in the order of the ids."""
        documents = {resource.metadata["id"]: resource for resource in self._stored(ids)}
        return [document_of(documents[id]) for id in dict.fromkeys(ids) if id in documents]

    def similarity_search(
        self, query: str, k: int = 4, filter: Mapping[str, Any] | None = None, **_: Any
    ) -> list[Document]:
        """Find the documents that are most like a text, best first.

        Args:
            filter: over their metadata: `{"year": {"$gte": 2020}}`; operators: `$eq $ne $gt $gte
                $lt $lte $in $nin $exists $and $or $not`. A dot leads into an object.

        Raises:
            InvalidInputError: a filter that is none.
            EmbedderError: there is no embedder, or it does not work.
        """
        return [document for document, _ in self.similarity_search_with_score(query, k, filter)]

    def similarity_search_with_score(
        self, query: str, k: int = 4, filter: Mapping[str, Any] | None = None, **_: Any
    ) -> list[tuple[Document, float]]:
        """Find documents, each with the cosine of its vector and the text's: higher is better."""
        found = self.memory.search(query, where=self._where(filter), limit=k)
        return list(_scored(found.records))

    def similarity_search_by_vector(
        self,
        embedding: list[float],
        k: int = 4,
        filter: Mapping[str, Any] | None = None,
        **_: Any,
    ) -> list[Document]:
        """Find the documents that are most like a vector of the memory's embedder, best first."""
        found = self.memory.search(vector=embedding, where=self._where(filter), limit=k)
        return [document for document, _ in _scored(found.records)]

    def max_marginal_relevance_search(
        self,
        query: str,
        k: int = 4,
        fetch_k: int = 20,
        lambda_mult: float = 0.5,
        filter: Mapping[str, Any] | None = None,
        **_: Any,
    ) -> list[Document]:
        """Find documents that are like a text and unlike each other.

        The `fetch_k` most like it are embedded again, as their vectors stay in the memory.

        Args:
            lambda_mult: from 0, as unlike each other as can be, to 1, as like the text.

        Raises:
            EmbedderError: the store was not opened with LangChain's embeddings.
        """
        if self._embeddings is None:
            raise EmbedderError(
                "marginal relevance needs LangChain's embeddings",
                remedy="RemloomVectorStore.open(home, embeddings)",
            )
        import numpy as np

        found = self.similarity_search(query, fetch_k, filter)
        if not found:
            return []
        vectors = self._embeddings.embed_documents([document.page_content for document in found])
        query_vector = np.array(self._embeddings.embed_query(query))
        chosen = maximal_marginal_relevance(query_vector, vectors, lambda_mult, k)
        return [found[position] for position in chosen]

    def _select_relevance_score_fn(self) -> Callable[[float], float]:
        # a cosine below 0 is not relevant at all
        return lambda cosine: min(max(cosine, 0.0), 1.0)

    def _where(self, conditions: Mapping[str, Any] | None) -> Predicate:
        in_collection = StartsWith("uri", collection_uri(self._collection))
        if not conditions:
            return in_collection
        return And((in_collection, _predicate_of(conditions, DOCUMENT_METADATA)))

    def _stored(self, ids: Sequence[str] | None) -> list[Resource]:
        if ids is None:
            return self.memory.query_resources(Query().filter(self._where(None)))
        record_ids = [document_id(self._collection, id) for id in ids]
        return self.memory.query_resources(Query().filter(In("id", record_ids)))


def _scored(hits: Iterable[Any]) -> Iterator[tuple[Document, float]]:
    for hit in hits:
        yield document_of(hit.record), hit.score


def _embedder_of(embedding: Embeddings) -> FunctionEmbedder:
    """The embedder of a memory that LangChain's embeddings make; it asks them once for the length
    of their vectors."""
    dims = len(embedding.embed_query("dimensions"))
    names = (getattr(embedding, name, None) for name in ("model", "model_name"))
    model = next((name for name in names if isinstance(name, str) and name), None)
    return FunctionEmbedder(
        f"langchain:{model or type(embedding).__qualname__}:{dims}",
        embedding.embed_documents,
        embedding.embed_query,
        dims=dims,
    )


def _predicate_of(metadata_filter: Mapping[str, Any], within: str) -> Predicate:
    """Translate a filter such as `{"year": {"$gte": 2020}, "$or": [{"a": 1}, {"b": 2}]}`.

    Keys are names of the metadata, with dots between those of objects inside each other; several
    conditions hold together. `$ne` and `$nin` hold only where the key is there.

    Args:
        within: the field that has the metadata.

    Raises:
        InvalidInputError: a key is not a name, or an operator has no value that it takes.
        UnknownNameError: there is no such operator.
    """
    conditions: list[Predicate] = []
    for key, value in metadata_filter.items():
        if isinstance(key, str) and key.startswith("$"):
            conditions.append(_joined(key, value, within))
        else:
            conditions += _compared(f"{within}.{_checked(key)}", value)
    return And(tuple(conditions))


def _joined(operator: str, value: Any, within: str) -> Predicate:
    if operator not in _OPERATORS:
        raise UnknownNameError("operator", operator, _OPERATORS)
    if operator == "$not" and isinstance(value, Mapping):
        return Not(_predicate_of(value, within))
    is_list = isinstance(value, Sequence) and all(isinstance(part, Mapping) for part in value)
    if operator in ("$and", "$or") and is_list:
        parts = tuple(_predicate_of(part, within) for part in value)
        return And(parts) if operator == "$and" else Or(parts)
    raise InvalidInputError(
        f"{operator} does not take {value!r:.80}",
        remedy='{"$or": [{"a": 1}, {"b": 2}]}, {"$not": {"a": 1}}, {"a": {"$gt": 1}}',
    )


def _compared(field: str, value: Any) -> list[Predicate]:
    if not isinstance(value, Mapping):
        return [Eq(field, value)]
    conditions: list[Predicate] = []
    for operator, operand in value.items():
        if operator == "$exists":
            conditions.append(Exists(field) if operand else NotExists(field))
        elif operator in _COMPARISONS:
            conditions.append(_COMPARISONS[operator](field, operand))
        else:
            raise UnknownNameError("operator", str(operator), _OPERATORS)
    return conditions


def _checked(key: Any) -> str:
    """Refuse what is not a name: nothing else gets into a field."""
    is_text = isinstance(key, str) and storable(key) and key.isprintable()
    if is_text and all(key.split(".")) and not set(key) & _REFUSED:
        return str(key)
    raise InvalidInputError(
        f"{key!r:.100} is not a key of a filter",
        remedy="use names without quotes, brackets, dollar signs and control characters",
    )
