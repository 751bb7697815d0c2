"""Measure every target of the embedded store through `Memory`: python -m bench.run --help."""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

# the references are single-threaded, as the targets are
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import msgspec
import numpy as np

from remloom import Edge, Entity, Home, Memory, Resource
from remloom.predicates import Eq, In

from . import data, reference, stores
from .measure import Results, race, timing

SIZES = (1_000, 10_000, 100_000, 1_000_000)
NO_GRAPH_BELOW = 2_000  # vectors; fewer are always searched exactly
# building a graph of a million vectors takes longer than the rest together
VECTORS_AT_MOST = 100_000


class Bench:
    """One run: a scratch folder, a file of results, and how much to do."""

    def __init__(self, home: Path, results: Results, *, encrypted: bool, calls: int) -> None:
        self.home, self.results, self.encrypted = home, results, encrypted
        # timed calls of a cheap operation; dearer ones get a part of them
        self.calls = calls

    def id(self, what: str, size: int) -> str:
        return f"{what}/{size}/{'encrypted' if self.encrypted else 'plain'}"

    def open(self, tenant: str) -> Memory:
        return stores.open_memory(self.home, tenant, encrypted=self.encrypted)

    def raw(self, name: str) -> Path:
        path = self.home / f"raw-{name}.db"
        path.unlink(missing_ok=True)
        return path

    def inserts(self, name: str) -> reference.Inserts:
        return reference.Inserts(self.raw(f"insert-{name}"), stores.KEY if self.encrypted else "")


def chunks(bench: Bench, size: int) -> None:
    """Resources with text and vectors: writing, visibility after the burst, and every search over
    them."""
    tenant = f"chunks-{size}"
    with bench.open(tenant) as memory:
        records = list(stores.chunks(size))
        ids, ours, raw = stores.write_beside(memory, records, bench.inserts(tenant))
        bench.results.add(bench.id("write-resources", size), ours, raw, against="bare insert")
        _visibility(bench, memory, size, ids, records)
        memory.admin.optimize()
    with bench.open(tenant) as memory:
        _get(bench, memory, size, ids)
        _vector_search(bench, memory, size, ids, records)
        _text_search(bench, memory, size, ids, records)
        bench.results.add(
            bench.id("disk-chunks", size), bytes_per_record=_disk(bench.home, tenant) // size
        )
    bench.results.add(bench.id("memory", size), **_memory(bench, tenant))


def _visibility(
    bench: Bench, memory: Memory, size: int, ids: list[str], records: list[Resource]
) -> None:
    """Right after the burst: is the last row found by every search, and how soon do the indexes
    catch up?"""
    last, record = ids[-1], records[-1]
    seen = {
        "get": memory.get_resource(last).id == last,
        "lookup": any(hit.id == last for hit in memory.lookup(record.name).records),
        "fuzzy": any(
            hit.name == record.name for hit in memory.fuzzy(record.name, limit=20).records
        ),
        "text": any(
            hit.id == last for hit in memory.search_text(record.content[:60], limit=20).records
        ),
        "vector": memory.search(vector=record.embedding, limit=1).records[0].id == last,
    }
    before, began = exact_share(memory), time.perf_counter()
    while (
        size > NO_GRAPH_BELOW and exact_share(memory) > 0.02 and time.perf_counter() - began < 600
    ):
        time.sleep(1)
    bench.results.add(
        bench.id("after-burst", size),
        **seen,
        searched_exactly=round(before, 3),
        later=round(exact_share(memory), 3),
        settled_after=round(time.perf_counter() - began, 1),
    )


def exact_share(memory: Memory) -> float:
    """The share of the vectors that the graph does not hold yet."""
    return memory.admin.stats().vectors.exact_share or 0.0


def _get(bench: Bench, memory: Memory, size: int, ids: list[str]) -> None:
    rows = [(id, id, msgspec.json.encode(memory.get_resource(id))) for id in ids]
    raw = reference.Rows(bench.raw(f"get-{size}"), rows)
    wanted = np.random.default_rng(11).choice(ids, bench.calls * 6).tolist()
    ours, theirs = race(wanted, memory.get_resource, raw.get)
    bench.results.add(bench.id("get", size), ours, theirs, against="sqlite3 + json.loads")


def _vector_search(
    bench: Bench, memory: Memory, size: int, ids: list[str], records: list[Resource]
) -> None:
    matrix = stores.matrix(records)
    queries = list(data.vectors(min(1_000, bench.calls), start=50_000_000, total=size))
    exact = reference.Vectors(matrix)
    number = {id: at for at, id in enumerate(ids)}

    def search(query: Any) -> list[int]:
        return [number[hit.id] for hit in memory.search(vector=query).records]

    graph = _graph(memory)
    if graph is None:
        ours, theirs = race(queries, search, exact.search, share=5)
    else:
        ours, theirs = race(queries, search, lambda query: graph.search(query, 10, threads=1))
    recall = _overlap([(search(query), exact.search(query)) for query in queries[:300]])
    against = "exact numpy" if graph is None else "its graph alone, ids only"
    bench.results.add(bench.id("search", size), ours, theirs, against=against, recall=recall)
    for percent, where in (
        (1, Eq("category", "c7")),
        (10, In("category", [f"c{n}" for n in range(10)])),
    ):
        kept = np.array([at for at, record in enumerate(records) if _keeps(record, percent)])

        def filtered(query: Any, where: Any = where) -> list[int]:
            return [number[hit.id] for hit in memory.search(vector=query, where=where).records]

        def among(query: Any, kept: Any = kept) -> list[int]:
            return exact.search(query, among=kept)

        ours, theirs = race(queries[:500], filtered, among, share=5)
        recall = _overlap([(filtered(query), among(query)) for query in queries[:100]])
        bench.results.add(
            bench.id(f"search-keep-{percent}%", size),
            ours,
            theirs,
            against="exact numpy",
            recall=recall,
        )


def _graph(memory: Memory) -> Any:
    """The usearch index within the memory, None while it has none: what SEARCH costs without
    everything around it."""
    index = memory.admin.store._indexes.vectors()  # type: ignore[attr-defined]
    return index._graph.index if index and index._graph else None


def _keeps(record: Resource, percent: int) -> bool:
    return record.category == "c7" if percent == 1 else int(record.category[1:]) < percent


def _overlap(pairs: list[tuple[list[int], list[int]]]) -> float:
    return round(
        float(np.mean([len(set(found) & set(right)) / len(right) for found, right in pairs])), 4
    )


def _text_search(
    bench: Bench, memory: Memory, size: int, ids: list[str], records: list[Resource]
) -> None:
    from remloom.text.analysis import terms

    texts = [record.content for record in records]
    exact = reference.Bm25(texts, terms)
    number = {id: at for at, id in enumerate(ids)}
    asked = data.questions(min(1_000, bench.calls), texts)

    def search(question: str) -> list[int]:
        return [number[hit.id] for hit in memory.search_text(question, schema="resources").records]

    ours, theirs = race(asked, search, exact.search, share=5)
    places = right = 0
    for question in asked[:300]:
        scores = exact.scores(question)
        best = np.sort(scores)[::-1][:10]
        best = best[best > 0]
        found = scores[search(question)]
        places += len(best)
        right += int(
            (np.abs(found[: len(best)] - best[: len(found)]) < 1e-6 * best[: len(found)]).sum()
        )  # ties are equal
    bench.results.add(
        bench.id("text", size),
        ours,
        theirs,
        against="exact numpy BM25",
        places_equal=round(right / max(places, 1), 4),
    )


def _memory(bench: Bench, tenant: str) -> dict[str, float]:
    """Memory of a new process that opens the tenant and runs each kind of search."""
    probe = """
import sys
from pathlib import Path
from bench import data, stores
from bench.measure import memory as used

home, tenant, encrypted = sys.argv[1:]
memory = stores.open_memory(Path(home), tenant, encrypted=encrypted == "True")
opened, _ = used()
memory.lookup("document 1 #1")
memory.fuzzy("documnt 1")
memory.search_text("which document")
for vector in data.vectors(50):
    memory.search(vector=vector)
print(opened, *used())
"""
    arguments = [str(bench.home), tenant, str(bench.encrypted)]
    done = subprocess.run(
        [sys.executable, "-c", probe, *arguments], capture_output=True, text=True, check=True
    )
    opened, now, peak = (round(float(value)) for value in done.stdout.split())
    return {"opened_mb": opened, "mb": now, "peak_mb": peak}


def _disk(home: Path, tenant: str) -> int:
    return sum(
        file.stat().st_size for file in (home / "tenants" / tenant).rglob("*") if file.is_file()
    )


def names(bench: Bench, size: int) -> None:
    """Short records of every schema: writing entities, LOOKUP, FUZZY."""
    from rapidfuzz import fuzz, process

    tenant = f"names-{size}"
    known = data.names(size)
    with bench.open(tenant) as memory:
        _, writing, inserting = stores.write_beside(
            memory, stores.named(size), bench.inserts(tenant)
        )
        bench.results.add(
            bench.id("write-entities", size), writing, inserting, against="bare insert"
        )

        found = {name: memory.lookup(name).records[0].record for name in known[:200_000]}
        rows = [(record.id, name, msgspec.json.encode(record)) for name, record in found.items()]
        raw = reference.Rows(bench.raw(f"lookup-{size}"), rows)
        wanted = np.random.default_rng(12).choice(list(found), bench.calls * 3).tolist()
        ours, theirs = race(wanted, memory.lookup, raw.lookup)
        bench.results.add(
            bench.id("lookup", size), ours, theirs, against="sqlite3 join + json.loads"
        )

        first = _once(lambda: memory.fuzzy(known[7]))
        bench.results.add(
            bench.id("fuzzy-first", size), seconds=first, settled=_once(memory.admin.optimize)
        )
        rng = np.random.default_rng(13)
        for edits in (1, 2):
            wrong = [
                (data.typo(name, edits, rng), name) for name in rng.choice(known, bench.calls // 5)
            ]

            def fuzzy(item: tuple[str, str]) -> bool:
                return any(hit.name == item[1] for hit in memory.fuzzy(item[0]).records)

            def everything(item: tuple[str, str]) -> Any:
                return process.extract(item[0], known, scorer=fuzz.ratio, limit=5)

            share = max(1, size // 2_000)
            ours, theirs = race(
                wrong, fuzzy, everything, share=max(1, min(share, len(wrong) // 20))
            )
            recall = round(sum(map(fuzzy, wrong)) / len(wrong), 4)
            bench.results.add(
                bench.id(f"fuzzy-{edits}", size),
                ours,
                theirs,
                against="rapidfuzz over all",
                recall=recall,
            )
        bench.results.add(
            bench.id("disk-names", size), bytes_per_record=_disk(bench.home, tenant) // size
        )


def _once(call: Callable[[], Any]) -> float:
    """Seconds of one call."""
    before = time.perf_counter()
    call()
    return round(time.perf_counter() - before, 3)


def graph(bench: Bench, size: int) -> None:
    """`size` power-law edges over a tenth as many entities: writing into an empty and a full graph,
    TRAVERSE."""
    nodes = max(50, size // 10)
    sources, destinations = data.graph(nodes, size)
    tenant = f"graph-{size}"
    late = max(1, size // 20)
    with bench.open(tenant) as memory:
        stores.write_all(
            memory, (Entity(type="node", name=stores.node_name(n)) for n in range(nodes))
        )
        parts = {"write-edges": slice(0, size - late), "write-edges-late": slice(size - late, size)}
        inserts = bench.inserts(tenant)
        for what, part in parts.items():
            made = stores.edges(
                sources[part].tolist(), destinations[part].tolist(), start=part.start
            )
            _, writing, inserting = stores.write_beside(memory, made, inserts)
            bench.results.add(bench.id(what, size), writing, inserting, against="bare insert")

        raw = reference.Walk(bench.raw(f"walk-{size}"), sources, destinations)
        for what, chosen in (
            ("traverse", data.hubs(2 * bench.calls, sources)),
            ("traverse-uniform", np.random.default_rng(14).integers(0, nodes, 2 * bench.calls)),
        ):
            others, starts = chosen[: bench.calls].tolist(), chosen[bench.calls :].tolist()
            reached: list[int] = []

            def traverse(start: int, reached: list[int] = reached) -> None:
                answer = memory.traverse(stores.node_name(start), max_depth=3)
                reached.append(len(answer.nodes))

            ours, theirs = race(starts, traverse, raw.walk, warm=others)
            bench.results.add(
                bench.id(what, size),
                ours,
                theirs,
                against="sqlite3 walk, no records",
                nodes_returned=round(float(np.mean(reached)), 1),
                nodes_visited=round(
                    float(np.mean([len(raw.walk(start)) for start in starts[:500]])), 1
                ),
            )


def growth(bench: Bench, size: int) -> None:
    """LOOKUP and TRAVERSE in the largest tenant and in the smallest, in turns: does the cost depend
    on the size?"""
    smallest = min(SIZES)
    built = {tenant.name for tenant in Home(bench.home).tenants()}
    for what, kind in (("lookup", "names"), ("traverse-uniform", "graph")):
        if smallest == size or not {f"{kind}-{smallest}", f"{kind}-{size}"} <= built:
            continue
        with bench.open(f"{kind}-{smallest}") as small, bench.open(f"{kind}-{size}") as large:
            rng = np.random.default_rng(15)
            if kind == "names":
                pairs = list(
                    zip(
                        *(
                            rng.choice(data.names(n), bench.calls).tolist()
                            for n in (smallest, size)
                        ),
                        strict=True,
                    )
                )
                ours, theirs = race(
                    pairs, lambda pair: large.lookup(pair[1]), lambda pair: small.lookup(pair[0])
                )
            else:
                starts = (
                    rng.integers(0, n // 10, bench.calls // 5).tolist() for n in (smallest, size)
                )
                pairs = [tuple(map(stores.node_name, pair)) for pair in zip(*starts, strict=True)]
                ours, theirs = race(
                    pairs,
                    lambda pair: large.traverse(pair[1], max_depth=3),
                    lambda pair: small.traverse(pair[0], max_depth=3),
                )
        bench.results.add(
            bench.id(f"growth-{what}", size), ours, theirs, against=f"the same among {smallest:,}"
        )


def singles(bench: Bench, size: int) -> None:
    """One durable write a call, into a tenant of `size` names."""
    with bench.open("singles") as memory:
        stores.write_all(memory, stores.named(size))
        count = min(500, bench.calls)
        vectors = data.vectors(count, start=70_000_000)
        text = list(data.texts(count, seed=8))
        calls: dict[str, Callable[[int], Any]] = {
            "create-resource": lambda n: memory.create_resource(
                Resource(name=f"single {n}", content=text[n], embedding=vectors[n])
            ),
            "create-entity": lambda n: memory.create_entity(
                Entity(type="person", name=f"Single Person {n}")
            ),
            "create-edge": lambda n: memory.create_edge(
                Edge(src=f"Single Person {n}", rel_type="knows", dst=f"Single Person {n // 2}")
            ),
        }
        for what, call in calls.items():
            spent = []
            for number in range(count):
                before = time.perf_counter()
                call(number)
                spent.append(time.perf_counter() - before)
            bench.results.add(bench.id(what, size), timing(spent))
        spent = []
        for number in range(count // 5):
            batch = [Entity(type="person", name=f"Batch {number} Person {n}") for n in range(100)]
            before = time.perf_counter()
            memory.write(batch)
            spent.append(time.perf_counter() - before)
        bench.results.add(bench.id("batch-100", size), timing(spent), unit="batches")


def cli(bench: Bench, size: int) -> None:
    """Whole processes of the command line against one tenant of `size` names, a tenth as many
    chunks and edges."""
    with bench.open("cli") as memory:
        tenth = size // 10
        sources, destinations = data.graph(tenth, tenth)
        stores.write_all(memory, stores.named(size))
        stores.write_all(memory, stores.chunks(tenth))
        stores.write_all(memory, stores.edges(sources.tolist(), destinations.tolist()))
        memory.admin.optimize()
    name, node = data.names(size)[3], stores.node_name(int(sources[0]))
    commands = {
        "version": (["--version"], ""),
        "lookup": (["lookup", name], ""),
        "fuzzy": (["fuzzy", name[:-1] + "x"], ", numpy, rapidfuzz"),
        "text": (["search", "--text", "which document"], ", numpy"),
        "traverse": (["traverse", node, "--depth", "2"], ", lark"),
        "query": (["query", "SELECT name FROM entities LIMIT 5"], ", lark, sqlglot"),
        "show": (["show", name], ""),
        "stats": (["stats"], ""),
    }
    settings = {
        "REMLOOM_HOME": str(bench.home),
        "REMLOOM_TENANT": "cli",
        "REMLOOM_EMBEDDER": "none",
    }
    environment = os.environ | settings | ({"REMLOOM_KEY": stores.KEY} if bench.encrypted else {})
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # as installed, modules are compiled once
    program = str(Path(sys.executable).parent / "remloom")

    def seconds(command: list[str]) -> tuple[float, int]:
        before = time.perf_counter()
        done = subprocess.run(command, env=environment, capture_output=True, check=False)
        return time.perf_counter() - before, done.returncode

    for what, (arguments, libraries) in commands.items():
        imports = [sys.executable, "-c", f"import click, msgspec, apsw, rich.console{libraries}"]
        spent, bare, codes = [], [], set()
        for _ in range(11):
            taken, code = seconds([program, *arguments])
            spent.append(taken)
            codes.add(code)
            bare.append(seconds(imports)[0])
        bench.results.add(
            bench.id(f"cli-{what}", size),
            seconds=round(sorted(spent)[5], 3),
            slowest=round(max(spent), 3),
            libraries=round(sorted(bare)[5], 3),
            exit_code=max(codes),
        )


def demo(bench: Bench, size: int) -> None:
    """`make demo` in a fresh clone of the committed state, with an empty package cache."""
    root = Path(__file__).parent.parent
    with tempfile.TemporaryDirectory() as folder:
        clone = Path(folder) / "clone"
        subprocess.run(["git", "clone", "--quiet", str(root), str(clone)], check=True)
        environment = os.environ | {"PIP_CACHE_DIR": f"{folder}/pip"}
        before = time.perf_counter()
        done = subprocess.run(
            ["make", "demo"],
            cwd=clone,
            env=environment,
            capture_output=True,
            stdin=subprocess.DEVNULL,
        )
        bench.results.add(
            "demo", seconds=round(time.perf_counter() - before, 1), exit_code=done.returncode
        )


SECTIONS: dict[str, Callable[[Bench, int], None]] = {
    "chunks": chunks,
    "names": names,
    "graph": graph,
    "growth": growth,
    "singles": singles,
    "cli": cli,
    "demo": demo,
}
# the largest; else that which the targets are stated for
AT_ONE_SIZE = {"growth", "singles", "cli", "demo"}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.run", description=__doc__)
    parser.add_argument(
        "--size", type=float, action="append", help="1e3 to 1e6, may be repeated (default: all)"
    )
    parser.add_argument(
        "--only", action="append", choices=SECTIONS, help="a section, may be repeated"
    )
    parser.add_argument("--plain", action="store_true", help="without encryption")
    parser.add_argument("--quick", action="store_true", help="a tenth of the calls")
    parser.add_argument(
        "--home", type=Path, help="scratch folder, emptied first (default: a temporary one)"
    )
    given = parser.parse_args()
    sizes = [int(size) for size in given.size or SIZES]
    home = given.home or Path(tempfile.mkdtemp(prefix="remloom-bench-"))
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir(parents=True)
    clock = reference.Clock(home / "clock.db")
    bench = Bench(
        home,
        Results("remloom", speed=clock.share),
        encrypted=not given.plain,
        calls=500 if given.quick else 5_000,
    )
    try:
        for name in given.only or SECTIONS:
            if name in AT_ONE_SIZE:
                SECTIONS[name](bench, max(sizes) if name == "growth" else min(100_000, max(sizes)))
                continue
            for size in sizes:
                if name == "chunks" and size > VECTORS_AT_MOST:
                    continue
                SECTIONS[name](bench, size)
    finally:
        shutil.rmtree(home, ignore_errors=True)


if __name__ == "__main__":
    main()
