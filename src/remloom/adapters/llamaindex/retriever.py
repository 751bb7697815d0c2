"""LlamaIndex's retriever: what a memory recalls, as nodes."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from llama_index.core.retrievers import BaseRetriever
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode

from ...memory import Memory
from ...model import RecallHit, Resource

# for the reader of an answer, not for the model that writes it
_UNSHOWN = ["schema", "name"]


class RemloomRetriever(BaseRetriever):
    """Retrieves what `Memory.recall` finds: by words, meaning, names, relations and time.

    Metadata of a node: `source` (a citation), `name`, `schema`, `trust`, `at`. Nothing is retrieved
    when nothing answers the question.

    Args:
        memory: what is looked through; it is not closed here.
        similarity_top_k: nodes at most.
        options: further options of recall, by name: `{"mode": "iterated"}`. See `RecallOptions`.
        others: those of every retriever, such as `callback_manager`.
    """

    def __init__(
        self,
        memory: Memory,
        *,
        similarity_top_k: int = 10,
        options: Mapping[str, Any] | None = None,
        **others: Any,
    ) -> None:
        self._memory = memory
        self._options = {"limit": similarity_top_k, **(options or {})}
        super().__init__(**others)

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        recalled = self._memory.recall(query_bundle.query_str, **self._options)
        return [NodeWithScore(node=_node_of(hit), score=hit.score) for hit in recalled.hits]

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return await asyncio.to_thread(self._retrieve, query_bundle)


def _node_of(hit: RecallHit) -> TextNode:
    metadata = {"source": hit.source, "name": hit.name, "schema": hit.schema}
    record = hit.record
    if isinstance(record, Resource):
        metadata["trust"] = record.trust
        if record.starts_at is not None:
            metadata["at"] = record.starts_at.isoformat()
    return TextNode(
        id_=hit.id,
        text=hit.content or hit.name,
        metadata=metadata,
        excluded_llm_metadata_keys=_UNSHOWN,
        excluded_embed_metadata_keys=list(metadata),
    )
