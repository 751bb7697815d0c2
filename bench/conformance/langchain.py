"""LangChain's standard tests, inherited for `RemloomVectorStore` and `RemloomRetriever`."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from typing import Any

import pytest
from langchain_core.retrievers import BaseRetriever
from langchain_core.vectorstores import VectorStore
from langchain_tests.integration_tests import (
    RetrieversIntegrationTests,
    VectorStoreIntegrationTests,
)

from remloom import Memory
from remloom.adapters.langchain import RemloomRetriever, RemloomVectorStore


class TestVectorStore(VectorStoreIntegrationTests):
    """A store over a new memory, with the embeddings that the tests have."""

    @pytest.fixture
    def vectorstore(self) -> Iterator[VectorStore]:
        folder = tempfile.mkdtemp(prefix="conformance-")
        with RemloomVectorStore.open(folder, self.get_embeddings()) as store:
            yield store


class TestRetriever(RetrieversIntegrationTests):
    """A retriever over a memory with six notes that answer the question."""

    @property
    def retriever_constructor(self) -> type[BaseRetriever]:
        return RemloomRetriever

    @property
    def retriever_constructor_params(self) -> dict[str, Any]:
        folder = tempfile.mkdtemp(prefix="conformance-")
        memory = Memory.open(folder, embedder="none")
        for number in range(6):
            memory.read_text(f"Cat {number} sleeps on sofa {number}.", uri=f"notes/{number}")
        return {"memory": memory}

    @property
    def retriever_query_example(self) -> str:
        return "Where does the cat sleep?"
