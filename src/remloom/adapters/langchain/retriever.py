"""LangChain's documents of records, and the retriever that gives what a memory recalls."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from pydantic import ConfigDict, Field, InstanceOf

from ...memory import Memory
from ...model import Hit, Resource
from .. import record_id

# in the metadata of a resource, that of its document
DOCUMENT_METADATA = "metadata.document"
_KIND = "langchain"


def collection_uri(collection: str) -> str:
    """The beginning of the uris of a collection's documents, and of no others."""
    return f"{_KIND}:{_quoted(collection)}/"


def document_id(collection: str, id: str) -> str:
    """The id of the record of a document."""
    return record_id(_KIND, collection, id)


def resource_of(collection: str, id: str, text: str, metadata: dict[str, Any]) -> Resource:
    return Resource(
        id=document_id(collection, id),
        content=text,
        category="document",
        uri=collection_uri(collection) + _quoted(id),
        metadata={"id": id, "document": metadata},
    )


def document_of(record: Resource) -> Document:
    metadata = record.metadata
    return Document(id=metadata["id"], page_content=record.content, metadata=metadata["document"])


def document_of_hit(hit: Hit) -> Document:
    """Any record that was found, as a document: with the metadata that it was added with, if it
    was, and where it is from."""
    record = hit.record
    found = {
        "source": hit.source,
        "name": hit.name,
        "schema": hit.schema,
        "score": hit.score,
        "record": hit.id,
    }
    if hit.stale is not None:
        found["stale"] = hit.stale.as_dict()
    if isinstance(record, Resource) and record.uri.startswith(f"{_KIND}:"):
        document = document_of(record)
        return Document(
            id=document.id,
            page_content=document.page_content,
            metadata={**found, **document.metadata},
        )
    if isinstance(record, Resource):
        found["trust"] = record.trust
        if record.starts_at is not None:
            found["at"] = record.starts_at.isoformat()
    return Document(id=hit.id, page_content=hit.content or hit.name, metadata=found)


def _quoted(name: str) -> str:
    return quote(name, safe="", errors="surrogatepass")


class RemloomRetriever(BaseRetriever):
    """Retrieves what `Memory.recall` finds: by words, meaning, names, relations and time.

    All that the memory has is looked through: documents, chats, files, what was learned. Metadata
    of a document found: `source` (a citation), `name`, `schema`, `score`, `record` (the id), and
    its own. Nothing is retrieved when nothing answers the question.

    Args:
        memory: what is looked through; it is not closed here.
        k: documents at most; `invoke(question, k=…)` changes it for one question.
        options: further options of recall, by name: `{"mode": "iterated"}`. See `RecallOptions`.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)

    memory: InstanceOf[Memory]
    k: int = 10
    options: dict[str, Any] = Field(default_factory=dict)

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun, **changes: Any
    ) -> list[Document]:
        limit = changes.pop("k", self.k)
        recalled = self.memory.recall(query, **{"limit": limit, **self.options, **changes})
        return [document_of_hit(hit) for hit in recalled.hits]
