"""Many tenants at once on one PostgreSQL database: python -m bench.load --help.

Threads pick a tenant and an operation at random, three reads to a write, and take notes of how long
each took. Whatever goes wrong is counted, shown, and makes the program end with 1.
"""

from __future__ import annotations

import argparse
import random
import sys
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable
from typing import Any

import numpy as np
import psycopg

from remloom import Edge, Entity, Memory, Resource
from remloom.predicates import Eq
from remloom.settings import Settings

from . import data
from .measure import Results
from .postgres import server

DIMS = 64
SEED_ROWS = 200  # of each kind in a tenant at the start


class Load:
    """One run: its tenants, and what was noted."""

    def __init__(self, url: str, tenants: int, connections: int) -> None:
        settings = Settings.load(home=url, pool_size=connections, embedder="none")
        self.memories = [
            Memory.open(settings=settings, tenant=f"load-{number}", embedder="none")
            for number in range(tenants)
        ]
        self.names = data.names(5_000)
        self.texts = list(data.texts(2_000))
        self.vectors = data.vectors(2_000, dims=DIMS)
        self.spent: dict[str, list[float]] = defaultdict(list)
        self.failed: Counter[str] = Counter()
        self.lock = threading.Lock()

    def fill(self) -> None:
        """The same few hundred records for everybody, so that tenants differ only by what they
        write."""
        for number, memory in enumerate(self.memories):
            rng = random.Random(number)
            memory.write(
                [self._resource(rng) for _ in range(SEED_ROWS)]
                + [self._entity(rng) for _ in range(SEED_ROWS)]
            )
            memory.write([self._edge(rng) for _ in range(SEED_ROWS)])

    def work(self, seed: int, until: float) -> None:
        """What one thread does."""
        rng = random.Random(seed)
        operations = list(OPERATIONS)
        weights = [OPERATIONS[name][0] for name in operations]
        while time.monotonic() < until:
            (name,) = rng.choices(operations, weights)
            memory = rng.choice(self.memories)
            before = time.perf_counter()
            try:
                OPERATIONS[name][1](self, memory, rng)
            except Exception as error:
                with self.lock:
                    self.failed[f"{name}: {type(error).__name__}: {error}"] += 1
                continue
            taken = time.perf_counter() - before
            with self.lock:
                self.spent[name].append(taken)

    def _resource(self, rng: random.Random) -> Resource:
        at = rng.randrange(len(self.texts))
        return Resource(
            name=f"note {rng.randrange(10**9)}",
            content=self.texts[at],
            category=f"c{at % 20}",
            embedding=self.vectors[at],
        )

    def _entity(self, rng: random.Random) -> Entity:
        return Entity(
            type="person", name=rng.choice(self.names), summary=f"number {rng.randrange(1_000)}"
        )

    def _edge(self, rng: random.Random) -> Edge:
        return Edge(
            src=rng.choice(self.names),
            rel_type=rng.choice(("knows", "manages")),
            dst=rng.choice(self.names),
        )

    def read(self, what: str, memory: Memory, rng: random.Random) -> Any:
        name, vector = rng.choice(self.names), self.vectors[rng.randrange(len(self.vectors))]
        match what:
            case "lookup":
                return memory.lookup(name)
            case "fuzzy":
                return memory.fuzzy(name[:-1])
            case "search":
                return memory.search(vector=vector)
            case "filtered":
                return memory.search(vector=vector, where=Eq("category", "c7"))
            case "text":
                return memory.search_text(" ".join(rng.sample(rng.choice(self.texts).split(), 3)))
            case "traverse":
                return memory.traverse(name, max_depth=2)
            case "sql":
                return memory.sql("SELECT type, count(*) AS n FROM entities GROUP BY type")

    def write(self, what: str, memory: Memory, rng: random.Random) -> Any:
        match what:
            case "resource":
                return memory.write([self._resource(rng)])
            case "entity":
                return memory.write([self._entity(rng)])
            case "edge":
                return memory.write([self._edge(rng)])
            case "batch":
                return memory.write(
                    [self._resource(rng) for _ in range(20)] + [self._edge(rng) for _ in range(20)]
                )
            case "forget":
                found = memory.search(
                    vector=self.vectors[rng.randrange(len(self.vectors))], limit=1
                ).records
                return memory.admin.store.delete([hit.id for hit in found])


Operation = Callable[[Load, Memory, random.Random], Any]


def _reading(what: str) -> Operation:
    return lambda load, memory, rng: load.read(what, memory, rng)


def _writing(what: str) -> Operation:
    return lambda load, memory, rng: load.write(what, memory, rng)


OPERATIONS: dict[str, tuple[int, Operation]] = {
    **{
        what: (weight, _reading(what))
        for what, weight in {
            "lookup": 30,
            "fuzzy": 5,
            "search": 15,
            "filtered": 5,
            "text": 10,
            "traverse": 8,
            "sql": 2,
        }.items()
    },
    **{
        what: (weight, _writing(what))
        for what, weight in {"resource": 8, "entity": 8, "edge": 6, "batch": 2, "forget": 1}.items()
    },
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.load", description=__doc__)
    parser.add_argument("--url", help="postgresql://… (default: a server of its own)")
    parser.add_argument("--minutes", type=float, default=5.0)
    parser.add_argument("--connections", type=int, default=16)
    parser.add_argument("--tenants", type=int, default=200)
    given = parser.parse_args()
    if given.url:
        sys.exit(run(given.url, given.minutes, given.connections, given.tenants))
    with server() as url:
        code = run(url, given.minutes, given.connections, given.tenants)
    sys.exit(code)


def run(url: str, minutes: float, connections: int, tenants: int) -> int:
    """Fill, work, report; returns the exit code."""
    load = Load(url, tenants, connections)
    load.fill()
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("ANALYZE")
    until = time.monotonic() + minutes * 60
    threads = [
        threading.Thread(target=load.work, args=(seed, until)) for seed in range(connections)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    disagreements = [line for memory in load.memories[:20] for line in memory.admin.check()]
    for memory in load.memories:
        memory.close()
    results = Results("load")
    every: list[float] = []
    for name in OPERATIONS:
        spent = load.spent[name]
        every += spent
        if spent:
            results.add(f"load-{name}", **percentiles(spent, minutes))
    results.add(
        "load",
        **percentiles(every, minutes),
        tenants=tenants,
        connections=connections,
        minutes=minutes,
        errors=load.failed.total(),
        disagreements=len(disagreements),
    )
    for line in [
        *(f"{count} x {what}" for what, count in load.failed.most_common(10)),
        *disagreements[:10],
    ]:
        print(line)
    return 1 if load.failed or disagreements else 0


def percentiles(spent: list[float], minutes: float) -> dict[str, float]:
    """Calls, calls a second, and milliseconds within which so many in a hundred were answered."""
    at = {f"p{part:g}_ms": part for part in (50, 95, 99, 99.9)}
    return {
        "calls": len(spent),
        "rate": round(len(spent) / (minutes * 60), 1),
        **{name: round(float(np.percentile(spent, part)) * 1e3, 1) for name, part in at.items()},
    }


if __name__ == "__main__":
    main()
