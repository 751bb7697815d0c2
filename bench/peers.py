"""The same work done by Chroma, LanceDB, LangGraph's SQLite store and Remloom: python -m
bench.peers --help.

Documents of some 900 characters with a 384-dimensional vector and a category are added in batches
of a thousand; then each system is asked for the ten nearest, the ten nearest of one category in a
hundred, and single documents by id. The systems take turns, so that all see the same machine. Each
has HNSW with M 16, efConstruction 200, ef 50 and cosine where it has HNSW. Remloom also indexes
words and names meanwhile, which the others do not.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Callable, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any, Protocol
from uuid import NAMESPACE_URL, uuid5

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("ANONYMIZED_TELEMETRY", "False")

import msgspec
import numpy as np

from remloom import Memory, Resource
from remloom.predicates import Eq

from . import data, reference, stores
from .measure import Results, timing

DIMS, LIMIT = 384, 10


class Peer(Protocol):
    """One system, opened in an empty folder."""

    name: str
    package: str

    def add(
        self, ids: Sequence[str], documents: Sequence[Resource], vectors: data.Floats
    ) -> None: ...
    def finish(self) -> None:
        """Complete the indexes, where that is not part of adding."""

    def search(self, vector: data.Floats) -> list[str]: ...
    def filtered(self, vector: data.Floats, category: str) -> list[str]: ...
    def get(self, id: str) -> Any: ...


class Remloom:
    """The tenant is encrypted; every batch is on disk when `write` returns."""

    name, package = "Remloom", "remloom"

    def __init__(self, folder: Path) -> None:
        self._memory = Memory.open(folder, key=stores.KEY, embedder="none")

    def add(self, ids: Sequence[str], documents: Sequence[Resource], vectors: data.Floats) -> None:
        self._memory.write(documents)

    def finish(self) -> None:
        self._memory.admin.optimize()

    def search(self, vector: data.Floats) -> list[str]:
        return [hit.id for hit in self._memory.search(vector=vector).records]

    def filtered(self, vector: data.Floats, category: str) -> list[str]:
        return [
            hit.id
            for hit in self._memory.search(vector=vector, where=Eq("category", category)).records
        ]

    def get(self, id: str) -> Any:
        return self._memory.get_resource(id)


class Chroma:
    """`PersistentClient`, with text and metadata."""

    name, package = "Chroma", "chromadb"

    def __init__(self, folder: Path) -> None:
        import chromadb

        client = chromadb.PersistentClient(
            str(folder), chromadb.Settings(anonymized_telemetry=False)
        )
        hnsw = {"space": "cosine", "max_neighbors": 16, "ef_construction": 200, "ef_search": 50}
        self._collection = client.create_collection(
            "documents", configuration={"hnsw": hnsw}, embedding_function=None
        )

    def add(self, ids: Sequence[str], documents: Sequence[Resource], vectors: data.Floats) -> None:
        self._collection.add(
            ids=list(ids), embeddings=vectors, documents=[d.content for d in documents],
            metadatas=[{"name": d.name, "category": d.category} for d in documents],
        )  # fmt: skip

    def finish(self) -> None:
        pass

    def search(self, vector: data.Floats) -> list[str]:
        return self._collection.query(query_embeddings=[vector], n_results=LIMIT)["ids"][0]

    def filtered(self, vector: data.Floats, category: str) -> list[str]:
        found = self._collection.query(
            query_embeddings=[vector], n_results=LIMIT, where={"category": category}
        )
        return found["ids"][0]

    def get(self, id: str) -> Any:
        return self._collection.get(ids=[id])["documents"][0]


class Lance:
    """A table with scalar indexes on id and category, and IVF_HNSW_SQ in one partition, built after
    the last add."""

    name, package = "LanceDB", "lancedb"

    def __init__(self, folder: Path) -> None:
        import lancedb
        import pyarrow as pa

        vector = pa.list_(pa.float32(), DIMS)
        columns = [
            ("id", pa.string()),
            ("name", pa.string()),
            ("category", pa.string()),
            ("text", pa.string()),
        ]
        self._table = lancedb.connect(folder).create_table(
            "documents", schema=pa.schema([*columns, ("vector", vector)])
        )

    def add(self, ids: Sequence[str], documents: Sequence[Resource], vectors: data.Floats) -> None:
        self._table.add(
            [
                {
                    "id": id,
                    "name": d.name,
                    "category": d.category,
                    "text": d.content,
                    "vector": vector,
                }
                for id, d, vector in zip(ids, documents, vectors, strict=True)
            ]
        )

    def finish(self) -> None:
        from lancedb.index import Bitmap, BTree, HnswSq

        graph = HnswSq(distance_type="cosine", num_partitions=1, m=16, ef_construction=200)
        self._table.create_index("vector", config=graph)
        self._table.create_index("id", config=BTree())
        self._table.create_index("category", config=Bitmap())
        self._table.optimize()

    def search(self, vector: data.Floats) -> list[str]:
        return self._ids(self._table.search(vector))

    def filtered(self, vector: data.Floats, category: str) -> list[str]:
        return self._ids(
            self._table.search(vector).where(f"category = '{category}'", prefilter=True)
        )

    def _ids(self, query: Any) -> list[str]:
        found = (
            query.distance_type("cosine")
            .nprobes(1)
            .ef(50)
            .limit(LIMIT)
            .select(["id", "text", "_distance"])
            .to_arrow()
        )
        return found["id"].to_pylist()

    def get(self, id: str) -> Any:
        return self._table.search().where(f"id = '{id}'").limit(1).to_list()[0]["text"]


class LangGraph:
    """`SqliteStore`, whose vectors are searched exactly; `put` through its batch interface.

    It loads an extension, which the sqlite3 of some Pythons cannot; pysqlite3 can.
    """

    name, package = "LangGraph SqliteStore", "langgraph-checkpoint-sqlite"

    def __init__(self, folder: Path) -> None:
        import sqlite3

        from langgraph.store.sqlite import SqliteStore

        if not hasattr(sqlite3.Connection, "enable_load_extension"):
            import pysqlite3 as sqlite3  # type: ignore[no-redef]
        folder.mkdir(parents=True, exist_ok=True)
        self._vectors: dict[str, Any] = {}
        connection = sqlite3.connect(
            folder / "store.db", check_same_thread=False, isolation_level=None
        )
        self._store = SqliteStore(
            connection, index={"dims": DIMS, "embed": self._embed, "fields": ["text"]}
        )
        self._store.setup()

    def _embed(self, texts: Sequence[str]) -> list[list[float]]:
        return [self._vectors[text].tolist() for text in texts]

    def add(self, ids: Sequence[str], documents: Sequence[Resource], vectors: data.Floats) -> None:
        from langgraph.store.base import PutOp

        self._vectors.update(zip((d.content for d in documents), vectors, strict=True))
        self._store.batch(
            [
                PutOp(
                    ("documents",),
                    id,
                    {"text": d.content, "name": d.name, "category": d.category},
                    ["text"],
                )
                for id, d in zip(ids, documents, strict=True)
            ]
        )

    def finish(self) -> None:
        pass

    def _search(self, vector: data.Floats, where: dict[str, Any] | None) -> list[str]:
        self._vectors["query"] = vector
        return [
            item.key
            for item in self._store.search(("documents",), query="query", filter=where, limit=LIMIT)
        ]

    def search(self, vector: data.Floats) -> list[str]:
        return self._search(vector, None)

    def filtered(self, vector: data.Floats, category: str) -> list[str]:
        return self._search(vector, {"category": category})

    def get(self, id: str) -> Any:
        return self._store.get(("documents",), id)


PEERS: tuple[Any, ...] = (Remloom, Chroma, Lance, LangGraph)


def compare(size: int, results: Results, folder: Path) -> None:
    ids = [str(uuid5(NAMESPACE_URL, f"document {number}")) for number in range(size)]
    records = [
        msgspec.structs.replace(record, id=id)
        for record, id in zip(stores.chunks(size), ids, strict=True)
    ]
    matrix = stores.matrix(records)
    number = {id: at for at, id in enumerate(ids)}
    peers = {kind.name: peer for kind in PEERS if (peer := _open(kind, folder / kind.package))}

    spent: dict[str, list[float]] = {name: [] for name in peers}
    for start in range(0, size, stores.BATCH):
        part = slice(start, start + stores.BATCH)
        for name, peer in peers.items():
            before = time.perf_counter()
            peer.add(ids[part], records[part], matrix[part])
            spent[name].append(time.perf_counter() - before)
    for name, peer in peers.items():
        before = time.perf_counter()
        peer.finish()
        finishing = time.perf_counter() - before
        results.add(
            f"add/{name}",
            timing(spent[name], stores.BATCH),
            finishing=round(finishing, 1),
            version=version(peer.package),
        )
    exact = reference.Vectors(matrix)
    queries = list(data.vectors(200, start=50_000_000, total=size))
    kept = np.array([at for at, record in enumerate(records) if record.category == "c7"])
    asked = np.random.default_rng(21).choice(ids, 500).tolist()
    tasks: dict[str, tuple[list[list[int]], Callable[[Peer, Any], list[str]]]] = {
        "search": ([exact.search(q) for q in queries], lambda peer, q: peer.search(q)),
        "filtered": (
            [exact.search(q, among=kept) for q in queries],
            lambda peer, q: peer.filtered(q, "c7"),
        ),
    }
    for what, (truth, call) in tasks.items():
        for name, (took, answers) in _turns(peers, queries, call).items():
            pairs = zip(answers, truth, strict=True)
            recall = np.mean(
                [len({number[id] for id in got} & set(best)) / len(best) for got, best in pairs]
            )
            results.add(f"{what}/{name}", timing(took), recall=round(float(recall), 4))
    for name, (took, _) in _turns(peers, asked, lambda peer, id: peer.get(id)).items():
        results.add(f"get/{name}", timing(took))


def _open(kind: Any, folder: Path) -> Peer | None:
    try:
        return kind(folder)
    except ImportError as error:
        print(f"left out: {kind.name} ({error})")
        return None


def _turns(
    peers: dict[str, Peer], items: Sequence[Any], call: Callable[[Peer, Any], Any], rounds: int = 5
) -> dict[str, tuple[list[float], list[Any]]]:
    """Durations and answers of each system, which take turns; the first round is run once before,
    to warm up."""
    found: dict[str, tuple[list[float], list[Any]]] = {name: ([], []) for name in peers}
    length = -(-len(items) // rounds)
    for peer in peers.values():
        for item in items[:length]:
            call(peer, item)
    for start in range(0, len(items), length):
        for name, peer in peers.items():
            for item in items[start : start + length]:
                before = time.perf_counter()
                answer = call(peer, item)
                found[name][0].append(time.perf_counter() - before)
                found[name][1].append(answer)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.peers", description=__doc__)
    parser.add_argument("--size", type=float, default=20_000, help="documents (default: 20000)")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="remloom-peers-") as folder:
        compare(int(given.size), Results("peers"), Path(folder))


if __name__ == "__main__":
    main()
