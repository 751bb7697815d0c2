"""What affinity costs: time, processor time and memory, over resources with vectors and names,
without a model.

    python -m bench.affinity [RESOURCES]

Made: documents of four chunks (default 10,000 chunks in all), with vectors around 400 centres and
eight names each, drawn by a power law. Measured: the first run, the second (which writes nothing),
and taking the first back. Prints JSON.
"""

from __future__ import annotations

import json
import random
import resource
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from remloom import Edge, Memory, Resource

CENTRES, DIMS, NAMES, NAMED, WORDS = 400, 384, 3_000, 8, 120


def main(count: int = 10_000) -> None:
    with tempfile.TemporaryDirectory() as home, Memory.open(home, embedder="none") as memory:
        for batch in batches(count):
            memory.write(batch)
        first, found = timed(memory.dreams.affinity)
        second, again = timed(memory.dreams.affinity)
        back, _ = timed(lambda: memory.runs.rollback(found.run.id))
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
        told = {
            "resources": count,
            "edges": found.run.receipt["edges"],
            "again": again.run.receipt["edges"],
            "first": first,
            "second": second,
            "rollback": back,
            "peak_mb": peak,
        }
    print(json.dumps(told, indent=2))


def timed(work: Callable[[], Any]) -> tuple[dict[str, float], Any]:
    """Seconds by the clock and of the processor, and the result."""
    wall, cpu = time.perf_counter(), time.process_time()
    result = work()
    return {
        "seconds": round(time.perf_counter() - wall, 1),
        "cpu_seconds": round(time.process_time() - cpu, 1),
    }, result


def batches(count: int) -> Iterator[list[Resource | Edge]]:
    rng, chance = np.random.default_rng(0), random.Random(0)
    centres = rng.standard_normal((CENTRES, DIMS)).astype(np.float32)
    words = [f"word{n}" for n in range(20_000)]
    odds = 1 / np.arange(1, NAMES + 1) ** 0.9
    odds /= odds.sum()
    for low in range(0, count, 1_000):
        batch: list[Resource | Edge] = []
        for n in range(low, min(low + 1_000, count)):
            named = tuple(
                f"Person {k}" for k in sorted(set(rng.choice(NAMES, NAMED, p=odds).tolist()))
            )
            name = f"document {n // 4} #{n % 4}"
            vector = centres[n % CENTRES] + rng.standard_normal(DIMS).astype(np.float32)
            content = " ".join(chance.choices(words, k=WORDS))
            batch.append(
                Resource(
                    name=name,
                    uri=f"file:{n // 4}",
                    ordinal=n % 4,
                    content=content,
                    embedding=vector.tolist(),
                    related_entities=named,
                )
            )
            batch += [
                Edge(src=name, rel_type="mentions", dst=person, weight=0.3) for person in named
            ]
        yield batch


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]))
