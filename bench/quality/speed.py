"""How many questions a second does `recall` answer in a large memory? The vector is given:
embedding is apart.

    python -m bench.quality.speed [records] [questions] [--page]

Records have text, vectors, and edges to the names they mention; every second question has a name in
it.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Iterator

import numpy as np

from remloom import Edge, Entity, Memory, Resource

from ..data import names, questions, texts, vectors
from .tables import put_into_page

BATCH = 5_000
KNOWN = 5_000  # names
HEAD = "| asked | questions/s | p50 ms | p99 ms | CPU ms a question |\n|---|---|---|---|---|"
WAYS = {
    "hybrid": {"mode": "hybrid"},
    "hybrid, without neighbours": {"mode": "hybrid", "neighbours": 0},
    "iterated, 2 hops": {"mode": "iterated"},
}


def items(size: int) -> Iterator[Resource | Edge | Entity]:
    known, rng = names(KNOWN), np.random.default_rng(11)
    yield from (Entity(name=name, type="person") for name in known)
    for number, text in enumerate(texts(size)):
        if number % BATCH == 0:
            block = vectors(min(BATCH, size - number), start=number, total=size)
        named = [known[int(rng.integers(KNOWN))] for _ in range(2)]
        name = f"chunk {number}"
        yield Resource(
            name=name, content=text, embedding=block[number % BATCH], related_entities=tuple(named)
        )
        yield from (Edge(src=name, rel_type="mentions", dst=one, weight=0.3) for one in named)
        if number % 20:
            yield Edge(src=name, rel_type="next", dst=f"chunk {number + 1}")


def fill(memory: Memory, size: int) -> None:
    waiting: list[Resource | Edge | Entity] = []
    for item in items(size):
        waiting.append(item)
        if len(waiting) >= BATCH:
            memory.write(waiting)
            waiting.clear()
    memory.write(waiting)
    memory.admin.optimize()


def main() -> int:
    arguments = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    arguments.add_argument("records", nargs="?", type=int, default=100_000)
    arguments.add_argument("questions", nargs="?", type=int, default=1_000)
    arguments.add_argument("--page", action="store_true")
    given = arguments.parse_args()
    corpus = list(texts(2_000))
    asked = questions(given.questions, corpus, words=5)
    known = names(KNOWN)
    asked = [f"{text} {known[n % KNOWN]}" if n % 2 else text for n, text in enumerate(asked)]
    near = vectors(given.questions, start=7, total=given.records)
    lines = [HEAD]
    with (
        tempfile.TemporaryDirectory() as home,
        Memory.open(home, embedder="none", key="5e" * 32) as memory,
    ):
        fill(memory, given.records)
        for text, vector in zip(asked, near, strict=True):  # warm
            memory.recall(text, vector=vector)
        for way, options in WAYS.items():
            spent = []
            busy = time.thread_time()
            for text, vector in zip(asked, near, strict=True):
                began = time.perf_counter()
                memory.recall(text, vector=vector, **options)  # type: ignore[arg-type]
                spent.append(time.perf_counter() - began)
            p50, p99 = (1000 * float(np.percentile(spent, share)) for share in (50, 99))
            busy = 1000 * (time.thread_time() - busy) / len(spent)
            lines.append(
                f"| {way} | {len(spent) / sum(spent):.0f} | {p50:.1f} | {p99:.1f} | {busy:.1f} |"
            )
            print(lines[-1], flush=True)
    if given.page:
        put_into_page({"speed": "\n".join(lines)})
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
