"""What learning costs besides the model: how busy it keeps the model, its own time a document, its
memory.

    python -m bench.dreaming [DOCUMENTS] [LATENCY]

A fake model answers after LATENCY seconds (default 0.2). Measured: the share of the allowed
concurrency that is busy in relaxed order, our own CPU time a document (apart: the model, embedding,
and the vector index, which grows in the background), and how memory grows: all of it, the pages of
the database kept in memory (bounded by `cache_mb`), and the numbers of the vectors that were added.
Prints JSON.
"""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

import apsw
import numpy as np

from remloom import Memory
from remloom.dream.context import LearnProgress
from remloom.ingest.embedding_worker import EmbeddingQueue
from remloom.llm import Request
from remloom.settings import Settings
from remloom.store.indexes.hnsw import VectorIndex
from remloom.testing.models import ScriptedModel

PLACES = (
    "Boston",
    "London",
    "Salem",
    "Paris",
    "Madrid",
    "Berlin",
    "Vienna",
    "Lisbon",
    "Dublin",
    "Oslo",
)


class Hashed:
    """An embedder that takes no time worth speaking of, and measures what it takes."""

    name, dims, max_tokens = "hashed-64", 64, 1_000_000

    def __init__(self) -> None:
        self.seconds = 0.0

    def embed_documents(self, texts: Sequence[str]) -> Any:
        return np.stack([self.embed_query(text) for text in texts])

    def embed_query(self, text: str) -> Any:
        began = time.thread_time()
        seed = int.from_bytes(sha256(text.encode("utf-8", "replace")).digest()[:8])
        vector = np.random.default_rng(seed).standard_normal(self.dims, dtype=np.float32)
        self.seconds += time.thread_time() - began
        return vector / np.linalg.norm(vector)

    def windows(self, text: str) -> list[tuple[int, int]]:
        return [(0, len(text))] if text else []


class Clocked(ScriptedModel):
    """Adds up how long how many requests are under way."""

    def __init__(self, latency: float) -> None:
        super().__init__(self._said, latency)
        self.busy = 0.0  # seconds, of all requests together

    def cost(self, requests: int = 400) -> float:
        """Seconds of CPU time that a reply takes: in a loop of its own, some at once."""

        async def some() -> None:
            for start in range(0, requests, 8):
                await asyncio.gather(*(self.complete(_request(start + n)) for n in range(8)))

        asyncio.run(some())
        began = time.process_time()
        asyncio.run(some())
        self.busy, spent = 0.0, time.process_time() - began
        return spent / requests

    async def complete(self, request: Request) -> Any:
        began = time.monotonic()
        try:
            return await super().complete(request)
        finally:
            self.busy += time.monotonic() - began
            self.requests.clear()  # it would keep them all

    @staticmethod
    def _said(request: Request) -> Any:
        said = sha256(request.prompt.encode()).hexdigest()[:8]
        if request.task != "entities":
            return (
                f"An insight of {request.task}: {said}. It relates to what is known in this and"
                " that way."
            )
        found = [place for place in PLACES if place in request.prompt][:2]
        return [
            {"entity": name, "learning": f"{name} is told of in {said}."} for name in found
        ] or []


def _request(number: int) -> Request:
    return Request(
        task="entities", system="", prompt=f"Note {number} of {PLACES[number % 10]}. " * 60
    )


def main(documents: int, latency: float) -> dict[str, Any]:
    import langgraph.graph  # noqa: F401 - importing it takes seconds, once

    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "source"
        source.mkdir()
        for n in range(documents):
            text = " ".join(
                f"Note {n} says that {PLACES[(n + k) % 10]} traded item {n * k}." for k in range(30)
            )
            (source / f"{n:05}.md").write_text(
                f"---\ndate: 2021-01-{n % 28 + 1:02}\n---\n\n{text}\n"
            )
        model, embedder = Clocked(latency), Hashed()
        settings = Settings.load(home=f"{folder}/home")
        windows = EmbeddingQueue.windows

        def timed(queue: EmbeddingQueue, texts: Sequence[str]) -> Any:
            began, inner = time.thread_time(), embedder.seconds
            found = windows(queue, texts)
            embedder.seconds = inner + time.thread_time() - began
            return found

        advance, building = VectorIndex.advance, [0.0]

        def built(index: VectorIndex, budget: int = 256) -> int:
            began = time.thread_time()
            waiting = advance(index, budget)
            building[0] += time.thread_time() - began
            return waiting

        VectorIndex.advance = built  # type: ignore[method-assign]  # in the background, and told apart
        EmbeddingQueue.windows = timed  # type: ignore[method-assign]  # splitting into sentences is part of embedding
        with Memory.open(embedder=embedder, llm=model, settings=settings) as memory:
            began = time.perf_counter()
            memory.read(source)
            memory.admin.optimize()
            reading = time.perf_counter() - began
            sizes: list[int] = []
            pages: list[int] = []

            def told(step: LearnProgress) -> None:
                if step.phase == "learning" and step.done % max(1, documents // 10) == 0:
                    sizes.append(_resident())
                    pages.append(apsw.memory_used())

            vectors = memory.admin.stats().vectors.count
            thinking = model.cost()
            embedder.seconds, building[0] = 0.0, 0.0
            before, began = time.process_time(), time.perf_counter()
            run = memory.learn(order="relaxed", period="none", progress=told).run
            took, calls = time.perf_counter() - began, run.counts["calls"]
            cpu = time.process_time() - before - embedder.seconds - building[0] - thinking * calls
            vectors = memory.admin.stats().vectors.count - vectors
            return {
                "documents": documents,
                "latency": latency,
                "concurrency": settings.llm_concurrency,
                "calls": calls,
                "seconds": round(took, 1),
                "busy_share": round(model.busy / took / settings.llm_concurrency, 3),
                "ideal_seconds": round(calls * latency / settings.llm_concurrency, 1),
                "own_ms_a_document": round(cpu / documents * 1000, 2),
                "index_ms_a_document": round(building[0] / documents * 1000, 2),
                "own_ms_a_call": round(cpu / max(1, calls) * 1000, 2),
                "reading_seconds": round(reading, 1),
                "resident_mb": [round(size / 2**20) for size in sizes],
                "page_cache_mb": [round(size / 2**20) for size in pages],
                "vectors_mb": round(vectors * embedder.dims * 2 / 2**20, 1),
                "threads": threading.active_count(),
            }


def _resident() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096


if __name__ == "__main__":
    arguments = sys.argv[1:]
    told = main(
        int(arguments[0]) if arguments else 1000, float(arguments[1]) if len(arguments) > 1 else 0.2
    )
    print(json.dumps(told, indent=2))
