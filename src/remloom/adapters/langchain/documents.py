"""LangChain's documents as records, and records as documents."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from langchain_core.documents import Document

from ...model import Hit, Resource
from ..ids import record_id

# in the metadata of a resource, that of its document
GIVEN = "metadata.document"
_KIND = "langchain"


def collection_uri(collection: str) -> str:
    """The beginning of the uris of a collection's documents, and of no others."""
    return f"{_KIND}:{_quoted(collection)}/"


def document_id(collection: str, id: str) -> str:
    """The id of the record of a document."""
    return record_id(_KIND, collection, id)


def resource_of(collection: str, id: str, text: str, metadata: dict[str, Any]) -> Resource:
    """The resource that keeps a document."""
    return Resource(
        id=document_id(collection, id),
        content=text,
        category="document",
        uri=collection_uri(collection) + _quoted(id),
        metadata={"id": id, "document": metadata},
    )


def document_of(record: Resource) -> Document:
    """The document that a resource keeps, as it was added."""
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
