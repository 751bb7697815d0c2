"""The hot paths of a memory, timed on request: `bench.turns` runs this in one process for each of
two checkouts.

It uses few names of the API, so that it runs in most checkouts; for one in which they are others,
`bench.turns --own` takes that checkout's own. It reads a request a line from standard input,
`PATH CALLS`, and answers `CPU WALL` in microseconds a call, or `! REASON`.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

from remloom import Edge, Entity, Memory, Message, Resource, Row

from . import data, stores

Call = Callable[[], Any]

_ORDERS = 1_000  # rows, of a schema of its own


class Hot:
    """A filled tenant and what is done to it."""

    def __init__(self, home: str, tenant: str, size: int) -> None:
        self._numbers = count()
        self._hundreds = count(_ORDERS // 100)
        self._rng = np.random.default_rng(21)
        key = None if "://" in home else stores.KEY
        self.memory = Memory.open(home, tenant=tenant, key=key, embedder="none")
        records = list(stores.chunks(size))
        self._ids, _ = stores.write_all(self.memory, records)
        self._names = data.names(size)
        stores.write_all(self.memory, stores.named(size))
        sources, destinations = data.graph(max(50, size // 10), size)
        stores.write_all(self.memory, stores.edges(sources.tolist(), destinations.tolist()))
        self.memory.admin.optimize()
        texts = [record.content for record in records]
        self._texts = texts
        self._endless = {
            "ids": self._drawn(self._ids),
            "names": self._drawn(self._names),
            "typos": self._drawn([data.typo(name, 1, self._rng) for name in self._names[:500]]),
            "questions": self._drawn(data.questions(300, texts)),
            "vectors": self._drawn(list(data.vectors(300, start=50_000_000, total=size))),
            "nodes": self._drawn(
                [stores.node_name(number) for number in range(max(50, size // 10))]
            ),
            "texts": self._drawn(texts),
        }
        self.memory.schemas.register(
            schema_name="orders",
            fields={"number": "integer", "total": "integer", "note": "string"},
            entity_types=["order"],
            handle=["number"],
        )
        self.memory.write([self._order(number) for number in range(_ORDERS)])
        self._entity = self.memory.create_entity(Entity(type="person", name="Constant Person"))
        self.memory.read_chat(
            [Message(speaker="Ann", text="We begin.", id="m-0")], uri="chat/short"
        )

    def _drawn(self, items: Any) -> Iterator[Any]:
        while True:
            for place in self._rng.permutation(len(items)):
                yield items[place]

    def _next(self, kind: str) -> Any:
        return next(self._endless[kind])

    def paths(self) -> dict[str, tuple[Call, int]]:
        """What is timed, and how many calls make a turn."""
        memory = self.memory
        return {
            "get": (lambda: memory.get_resource(self._next("ids")), 400),
            "LOOKUP": (lambda: memory.lookup(self._next("names")), 300),
            "LOOKUP, as text": (lambda: memory.query(f'LOOKUP "{self._next("names")}"'), 50),
            "FUZZY": (lambda: memory.fuzzy(self._next("typos")), 40),
            "SEARCH": (lambda: memory.search(vector=self._next("vectors")), 40),
            "SEARCH, filter keeps 1 %": (
                lambda: memory.search(vector=self._next("vectors"), where="category = 'c7'"),
                20,
            ),
            "text": (lambda: memory.search_text(self._next("questions"), schema="resources"), 40),
            "TRAVERSE, depth 3": (lambda: memory.traverse(self._next("nodes"), max_depth=3), 40),
            "edges of a label": (lambda: memory.get_edges(self._next("nodes")), 100),
            "SELECT by id": (
                lambda: memory.sql(
                    f"SELECT name, uri FROM resources WHERE id = '{self._next('ids')}'"
                ),
                30,
            ),
            "recall": (
                lambda: memory.recall(self._next("questions"), vector=self._next("vectors")),
                4,
            ),
            "write an entity": (lambda: memory.create_entity(self._person()), 20),
            "write an edge": (lambda: memory.create_edge(self._knows()), 20),
            "write a resource": (lambda: memory.create_resource(self._chunk()), 40),
            "write 100 entities": (lambda: memory.write([self._person() for _ in range(100)]), 3),
            "write 100 edges": (lambda: memory.write([self._knows() for _ in range(100)]), 3),
            "write 100 resources": (lambda: memory.write([self._chunk() for _ in range(100)]), 2),
            "write 100 rows": (lambda: self._write_orders(next(self._hundreds)), 3),
            "write 100 rows again": (lambda: self._write_orders(next(self._numbers) % 10), 3),
            "update an entity": (self._update, 20),
            "read a document": (self._read, 2),
            "append a turn": (self._append, 4),
        }

    def _person(self) -> Entity:
        return Entity(
            type="person", name=f"New Person {next(self._numbers)}", properties={"team": "t1"}
        )

    def _knows(self) -> Edge:
        return Edge(src=self._next("nodes"), rel_type="knows", dst=f"Friend {next(self._numbers)}")

    def _chunk(self) -> Resource:
        number = next(self._numbers)
        return Resource(
            name=f"new {number}", content=f"{number} {self._next('texts')}", uri=f"new/{number}.md",
            embedding=self._next("vectors"),
        )  # fmt: skip

    def _order(self, number: int) -> Row:
        customer = Edge(
            dst=f"customer-{number % 50}",
            rel_type="belongs_to",
            properties={"source_fk": "customer"},
        )
        return Row(
            schema="orders", name=f"Order of {number % 90} lamps", graph_paths=(customer,),
            fields={"number": number, "total": next(self._numbers), "note": self._next("nodes")},
        )  # fmt: skip

    def _write_orders(self, hundred: int) -> None:
        self.memory.write([self._order(hundred * 100 + number) for number in range(100)])

    def _update(self) -> None:
        self.memory.update_entity(self._entity, properties={"number": next(self._numbers)})

    def _read(self) -> None:
        text = "\n\n".join(self._next("texts") for _ in range(12))
        self.memory.read_text(text, uri=f"read/{next(self._numbers)}.md")

    def _append(self) -> None:
        number = next(self._numbers)
        turn = Message(
            speaker="Ann" if number % 2 else "Ben", text=f"This is turn {number}.", id=f"m-{number}"
        )
        self.memory.read_chat([turn], uri=f"chat/{number // 40}", append=True)


def main() -> None:
    """Fill a tenant, then time what is asked for until there is nothing more."""
    home, tenant, size = sys.argv[1:]
    if "://" not in home:
        Path(home).mkdir(parents=True, exist_ok=True)
    hot = Hot(home, tenant, int(size))
    paths = hot.paths()
    print(
        "ready",
        " | ".join(f"{name}={calls}" for name, (_, calls) in paths.items()),
        sep="\t",
        flush=True,
    )
    for line in sys.stdin:
        name, _, calls = line.rstrip("\n").rpartition("\t")
        try:
            print(*_timed(paths[name][0], int(calls)), flush=True)
        except Exception as error:
            print("!", type(error).__name__, str(error).split("\n")[0][:100], flush=True)


def _timed(call: Call, calls: int) -> tuple[float, float]:
    """CPU time of this thread, and wall time, of one call in microseconds."""
    began, cpu = time.perf_counter(), time.thread_time()
    for _ in range(calls):
        call()
    return (time.thread_time() - cpu) / calls * 1e6, (time.perf_counter() - began) / calls * 1e6


if __name__ == "__main__":
    main()
