"""LlamaIndex's memory block, chat store and retriever over a memory."""

from __future__ import annotations

from ...errors import MissingExtraError

try:
    import llama_index.core  # noqa: F401
except ImportError as error:
    raise MissingExtraError("LlamaIndex's memory block and retriever", "llamaindex") from error

from .chat_store import RemloomChatStore
from .memory_block import RemloomMemoryBlock
from .retriever import RemloomRetriever

__all__ = ["RemloomChatStore", "RemloomMemoryBlock", "RemloomRetriever"]
