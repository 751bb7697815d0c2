"""The memories that can be measured by a name alone.

Each is made in an empty folder, for the documents of one user, and keeps there what it keeps. Those
that search by vectors get them from the embedder that the settings name, so that none has a better
one than another.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from ..embed import load as load_embedder
from ..errors import EmbedderError
from ..memory import Memory
from ..model import Message
from ..settings import DEFAULT_EMBEDDER, Settings
from ..store.indexes.bm25 import TermIndex
from ..text.dates import parse
from .data import BenchDocument


class ReturnedText(NamedTuple):
    """A document, or a part of one, as a memory returned it; with the id "" it is of none."""

    id: str
    text: str


class Remloom:
    """`Memory.recall` as it is set up: it abstains, and finds by meaning unless `embedder` is
    "none"."""

    def __init__(self, folder: str) -> None:
        self._memory = Memory.open(folder)
        self.close = self._memory.close

    def ingest(self, documents: Sequence[BenchDocument]) -> None:
        said: list[Message] = []
        for one in documents:
            at = parse(one.timestamp)
            match one.messages:
                case [message]:
                    speaker = message.get("name") or message["role"]
                    text = message["content"]
                    said.append(Message(id=one.id, speaker=speaker, text=text, at=at))
                case _:
                    self._memory.read_text(one.content, uri=one.id, at=at, wait=False)
        if said:
            self._memory.read_chat(said, uri="chat", wait=False)
        if self._memory.admin.embedder is not None:
            self._memory.embed_pending()

    def retrieve(self, query: str, k: int, query_timestamp: str | None) -> list[ReturnedText]:
        now = parse(query_timestamp) or datetime.now(UTC)
        found = self._memory.recall(query, limit=k, now=now, neighbours=0)
        # a moment is of many documents, and has no id of one
        return [
            ReturnedText(id, hit.content or hit.name)
            for hit in found.hits
            for id in hit.message_ids or (hit.uri,)
        ][:k]


class Bm25:
    """Words alone, stemmed."""

    def ingest(self, documents: Sequence[BenchDocument]) -> None:
        self._documents = documents
        self._index = TermIndex()
        numbers = list(range(1, len(documents) + 1))  # ids begin at 1
        self._index.add(numbers, [one.content for one in documents])

    def retrieve(self, query: str, k: int) -> list[str]:
        return [self._documents[at - 1].id for at, _ in self._index.search(query, limit=k)]


class _Vectors:
    """What searches by the vectors of the embedder that the settings name."""

    def __init__(self) -> None:
        settings = Settings.load()
        embedder = load_embedder(settings.embedder or DEFAULT_EMBEDDER, settings)
        if embedder is None:
            raise EmbedderError(
                "this memory searches by vectors, and the embedder is none",
                remedy="set REMLOOM_EMBEDDER=minilm",
            )
        self.dims = embedder.dims
        self._embedder = embedder

    def embed_documents(self, texts: Sequence[str]) -> list[list[float]]:
        vectors: list[list[float]] = self._embedder.embed_documents(texts).tolist()
        return vectors

    def embed_query(self, text: str) -> list[float]:
        vector: list[float] = self._embedder.embed_query(text).tolist()
        return vector


class Chroma(_Vectors):
    """A collection in a `PersistentClient`, nearest by cosine."""

    needs = "chromadb"

    def __init__(self, folder: str) -> None:
        import chromadb

        super().__init__()
        self._collection = chromadb.PersistentClient(folder).create_collection(
            "bench", configuration={"hnsw": {"space": "cosine"}}, embedding_function=None
        )

    def ingest(self, documents: Sequence[BenchDocument]) -> None:
        for start in range(0, len(documents), 1000):
            some = documents[start : start + 1000]
            texts = [one.content for one in some]
            vectors: Any = self.embed_documents(texts)
            self._collection.add(ids=[one.id for one in some], embeddings=vectors, documents=texts)

    def retrieve(self, query: str, k: int) -> list[str]:
        vector: Any = self.embed_query(query)
        found: Any = self._collection.query(query_embeddings=[vector], n_results=k)
        return list(found["ids"][0])


class LangGraph(_Vectors):
    """`InMemoryStore` with an index. `SqliteStore` searches exactly, too: it finds the same."""

    needs = "langgraph-checkpoint"

    def __init__(self) -> None:
        from langgraph.store.memory import InMemoryStore

        super().__init__()
        index: Any = {"dims": self.dims, "embed": self.embed_documents, "fields": ["text"]}
        self._store = InMemoryStore(index=index)

    def ingest(self, documents: Sequence[BenchDocument]) -> None:
        from langgraph.store.base import PutOp

        self._store.batch([PutOp(("bench",), one.id, {"text": one.content}) for one in documents])

    def retrieve(self, query: str, k: int) -> list[str]:
        return [item.key for item in self._store.search(("bench",), query=query, limit=k)]


class Mem0(_Vectors):
    """Texts kept as they are (`infer=False`): what its language model would make of them is another
    thing to measure."""

    needs = "mem0ai langchain-core"

    def __init__(self, folder: str) -> None:
        os.environ["MEM0_DIR"] = folder
        from langchain_core.embeddings import Embeddings
        from mem0 import Memory as Mem0Memory

        super().__init__()
        Embeddings.register(type(self))
        path, history = (str(Path(folder, name)) for name in ("qdrant", "history.db"))
        store = {"path": path, "embedding_model_dims": self.dims, "on_disk": True}
        self._memory = Mem0Memory.from_config(
            {
                "embedder": {"provider": "langchain", "config": {"model": self}},
                "vector_store": {"provider": "qdrant", "config": store},
                # made, and never called
                "llm": {"provider": "openai", "config": {"api_key": "none"}},
                "history_db_path": history,
            }
        )

    def ingest(self, documents: Sequence[BenchDocument]) -> None:
        for one in documents:
            said = [{"role": "user", "content": one.content}]
            about = {"document": one.id}
            self._memory.add(said, user_id="bench", metadata=about, infer=False)

    def retrieve(self, query: str, k: int) -> list[ReturnedText]:
        found = self._memory.search(query, filters={"user_id": "bench"}, top_k=k)
        return [
            ReturnedText(one["metadata"]["document"], one["memory"]) for one in found["results"]
        ]


MEMORIES: dict[str, Callable[..., Any]] = {
    "remloom": Remloom,
    "bm25": Bm25,
    "chroma": Chroma,
    "langgraph": LangGraph,
    "mem0": Mem0,
}
