"""LangChain's vector store and retriever over a memory."""

from __future__ import annotations

from ...errors import MissingExtraError

try:
    import langchain_core  # noqa: F401
except ImportError as error:
    raise MissingExtraError("LangChain's vector store and retriever", "langchain") from error

from .retriever import RemloomRetriever
from .vectorstore import RemloomVectorStore

__all__ = ["RemloomRetriever", "RemloomVectorStore"]
