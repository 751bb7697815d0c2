"""Speed and recall of the three derived indexes alone, without database or records.

    python -m bench.indexes [names] [terms] [vectors] [--small]

Names are people and firms mistyped by one or two edits, texts are Zipf-distributed words with
three-word questions of three ranges of frequency, vectors are clustered gaussians of 384 dims.
"""

from __future__ import annotations

import resource
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from remloom.store.indexes.bm25 import TermIndex
from remloom.store.indexes.hnsw import VectorIndex
from remloom.store.indexes.segments import AllowedIds
from remloom.store.indexes.trigrams import NameIndex

FIRST = """james mary robert patricia john jennifer michael linda david elizabeth william barbara
    richard susan joseph jessica thomas sarah charles karen christopher lisa daniel nancy
    matthew betty anthony margaret mark sandra donald ashley steven kimberly paul emily
    andrew donna joshua michelle kenneth carol kevin amanda brian dorothy george melissa
    wei mohammed olga hiroshi fatima ingrid pablo chiara lars nadia""".split()
LAST = """smith johnson williams brown jones garcia miller davis rodriguez martinez hernandez
    lopez gonzalez wilson anderson thomas taylor moore jackson martin lee perez thompson
    white harris sanchez clark ramirez lewis robinson walker young allen king wright scott
    torres nguyen hill flores green adams nelson baker hall rivera campbell mitchell
    carter chen nakamura kowalski ivanova fischer rossi haddad okafor lindqvist oconnor""".split()
FIRM = """acme globex initech umbrella hooli stark wayne wonka cyberdyne tyrell aperture soylent
    oscorp massive vandelay sterling nakatomi weyland monarch zorin oceanic virtucon""".split()
KIND = (
    "corp labs systems group partners holdings media robotics energy foods logistics bank".split()
)


def timed(work: Callable[[Any], Any], items: Sequence[Any]) -> tuple[float, list[Any]]:
    """Items a second of this thread's processor time, which other processes disturb less, and the
    answers."""
    for item in items[:20]:
        work(item)
    start = time.thread_time()
    answers = [work(item) for item in items]
    return len(items) / (time.thread_time() - start), answers


def mistyped(name: str, edits: int, rng: np.random.Generator) -> str:
    """The name after random insertions, deletions, replacements and swaps."""
    letters = list(name)
    for _ in range(edits):
        at, letter = int(rng.integers(len(letters))), chr(97 + int(rng.integers(26)))
        replacement = ([letter, letters[at]], [], [letter], letters[at : at + 2][::-1])[
            int(rng.integers(4))
        ]
        letters[at : at + (2 if len(replacement) == 2 and letters[at] != replacement[1] else 1)] = (
            replacement
        )
    return "".join(letters)


def people_and_firms(count: int) -> list[str]:
    """Distinct keys like "sarah-chen", "sarah-chen-acme-labs", "globex-wayne-media-17"."""
    rng, names = np.random.default_rng(1), dict[str, None]()
    while len(names) < count:
        first, last, other = rng.choice(FIRST), rng.choice(LAST), rng.choice(LAST)
        firm, kind, number = rng.choice(FIRM), rng.choice(KIND), rng.integers(max(count // 100, 10))
        forms = (
            f"{first}-{last}",
            f"{first}-{last}-{firm}-{kind}",
            f"{first}-{last}-{other}-{firm}",
            f"{firm}-{rng.choice(FIRM)}-{kind}-{number}",
            f"{first}-{other}-{last}-{kind}-{number}",
        )
        names[forms[int(rng.integers(5))]] = None
    return list(names)


def bench_names(count: int) -> None:
    names, rng = people_and_firms(count), np.random.default_rng(2)
    index = NameIndex()
    start = time.perf_counter()
    index.add(range(1, count + 1), names)
    index.compact()
    built, blob = time.perf_counter() - start, index.dump()
    start = time.perf_counter()
    index = NameIndex.load(blob)
    loaded = time.perf_counter() - start
    print(
        f"names {count:,}: built in {built:.1f} s, {len(blob) / 1e6:.0f} MB, loaded in"
        f" {loaded * 1000:.0f} ms"
    )
    for edits in (0, 1, 2):
        chosen = rng.integers(0, count, 1_500).tolist()
        texts = [mistyped(names[at], edits, rng) for at in chosen]
        rate, answers = timed(lambda text: index.search(text, threshold=0.5, limit=5), texts)
        recall = np.mean(
            [
                any(id == at + 1 for id, _ in found)
                for at, found in zip(chosen, answers, strict=True)
            ]
        )
        print(f"  {edits} edits: {rate:,.0f} q/s, recall@5 {recall:.3f}")
    parts = [f"{rng.choice(LAST)}-{rng.choice(FIRM)}" for _ in range(500)]
    print(
        "  two of its words:"
        f" {timed(lambda text: index.search(text, threshold=0.5, limit=5), parts)[0]:,.0f} q/s"
    )


def bench_terms(count: int) -> None:
    rng, vocabulary = np.random.default_rng(3), 60_000
    words = np.array(
        ["".join(map(chr, rng.integers(97, 123, rng.integers(3, 11)))) for _ in range(vocabulary)]
    )
    chances = 1 / (np.arange(vocabulary) + 10)
    chances /= chances.sum()
    index, last = TermIndex(), 0
    adding = sealing = 0.0
    while last < count:
        texts = [" ".join(words[rng.choice(vocabulary, 150, p=chances)]) for _ in range(5_000)]
        start = time.perf_counter()
        index.add(range(last + 1, last + 5_001), texts)
        adding += time.perf_counter() - start
        start = time.perf_counter()
        index.compact()
        sealing += time.perf_counter() - start
        last += 5_000
    blob = index.dump()
    start = time.perf_counter()
    index = TermIndex.load(blob)
    loaded = time.perf_counter() - start
    print(
        f"texts {count:,}: {count / adding:,.0f} added/s, sealed and merged in {sealing:.1f} s, "
        f"{len(blob) / 1e6:.0f} MB, loaded in {loaded * 1000:.0f} ms"
    )
    for low, high in ((20, 300), (300, 3_000), (3_000, 30_000)):
        questions = [" ".join(words[rng.integers(low, high, 3)]) for _ in range(300)]
        rate, _ = timed(lambda text: index.search(text, limit=10), questions)
        print(f"  three words of rank {low:,}-{high:,}: {rate:,.0f} q/s")


def bench_vectors(count: int, dims: int = 384, k: int = 10) -> None:
    rng = np.random.default_rng(4)
    centres = rng.standard_normal((count // 100, dims), np.float32)

    def clustered(number: int) -> Any:
        vectors = centres[rng.integers(0, len(centres), number)] + 0.7 * rng.standard_normal(
            (number, dims), np.float32
        )
        return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)

    vectors, queries = clustered(count), clustered(300)
    index = VectorIndex(dims)
    start = time.perf_counter()
    for low in range(0, count, 1_000):
        index.add(range(low + 1, low + 1_001), vectors[low : low + 1_000])
    print(f"vectors {count:,}: {count / (time.perf_counter() - start):,.0f} added/s")

    def report(name: str, allow: Any = None) -> None:
        only = None if allow is None else AllowedIds(allow)
        rate, answers = timed(lambda query: index.search(query, k, allow=only)[0], list(queries))
        scores = queries @ vectors.T
        if allow is not None:
            scores[:, np.setdiff1d(np.arange(count), allow - 1)] = -2
        best = np.argpartition(-scores, k, axis=1)[:, :k] + 1
        recall = np.mean(
            [len(np.intersect1d(a, b)) / k for a, b in zip(answers, best, strict=True)]
        )
        print(f"  {name}: {rate:,.0f} q/s, recall@{k} {recall:.4f}")

    report("all exact")
    start = time.perf_counter()
    while index.advance(1_024):
        pass
    print(f"  graph built at {count / (time.perf_counter() - start):,.0f}/s")
    report("graph")
    for kept in (0.5, 0.2, 0.11, 0.1, 0.01):
        report(
            f"a filter keeping {kept:.0%}",
            np.sort(rng.choice(count, int(count * kept), replace=False)) + 1,
        )
    start = time.perf_counter()
    blob = index.dump_graph()
    middle = time.perf_counter()
    index.load_graph(blob)
    done = time.perf_counter()
    print(
        f"  {len(blob) / 1e6:.0f} MB, dumped in {middle - start:.2f} s, loaded in"
        f" {done - middle:.2f} s"
    )


def main() -> None:
    small = "--small" in sys.argv
    chosen = [a for a in sys.argv[1:] if not a.startswith("-")] or ["names", "terms", "vectors"]
    if "names" in chosen:
        for count in (10_000, 100_000) if small else (10_000, 100_000, 1_000_000):
            bench_names(count)
    if "terms" in chosen:
        for count in (10_000, 40_000) if small else (10_000, 100_000):
            bench_terms(count)
    if "vectors" in chosen:
        for count in (10_000,) if small else (10_000, 100_000):
            bench_vectors(count)
    print(
        f"peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:,.0f} MB, this"
        " script's data included"
    )


if __name__ == "__main__":
    main()
