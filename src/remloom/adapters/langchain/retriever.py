"""LangChain's retriever: what a memory recalls, as documents."""

from __future__ import annotations

from typing import Any

from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from pydantic import ConfigDict, Field, InstanceOf

from ...memory import Memory
from .documents import document_of_hit


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
