"""The raw engines that each measurement is set against: the same work with nothing of ours around
it."""

from __future__ import annotations

import json
import sqlite3
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from .data import Floats


class Rows:
    """Standard-library sqlite3: rows of JSON by id, and keys that lead to them."""

    def __init__(self, path: Path, rows: Sequence[tuple[str, str, bytes]]) -> None:
        """`rows` are (id, key, JSON)."""
        self._db = sqlite3.connect(path)
        self._db.execute("PRAGMA journal_mode=WAL")
        self._db.execute("PRAGMA cache_size=-200000")
        self._db.execute("CREATE TABLE record(id TEXT PRIMARY KEY, data BLOB) WITHOUT ROWID")
        self._db.execute("CREATE TABLE key(key TEXT, id TEXT, PRIMARY KEY(key, id)) WITHOUT ROWID")
        with self._db:
            self._db.executemany(
                "INSERT INTO record VALUES(?, ?)", sorted((id, data) for id, _, data in rows)
            )
            self._db.executemany(
                "INSERT OR IGNORE INTO key VALUES(?, ?)", sorted((key, id) for id, key, _ in rows)
            )

    def get(self, id: str) -> Any:
        return json.loads(
            self._db.execute("SELECT data FROM record WHERE id = ?", (id,)).fetchone()[0]
        )

    def lookup(self, key: str) -> Any:
        sql = "SELECT data FROM key JOIN record USING(id) WHERE key = ?"
        return [json.loads(data) for (data,) in self._db.execute(sql, (key,))]


class Clock:
    """How fast this machine is now, as a share of the one whose raw figures the targets were
    derived from.

    Its measure is the standard library's `sqlite3` reading rows of 0.9 kB by a key of 30
    characters, of 100,000.
    """

    RATE = 106_000  # a second, there

    def __init__(self, path: Path) -> None:
        self._db = sqlite3.connect(path)
        self._db.execute("PRAGMA cache_size=-200000")
        self._db.execute("CREATE TABLE record(id TEXT PRIMARY KEY, data BLOB) WITHOUT ROWID")
        with self._db:
            self._db.executemany(
                "INSERT INTO record VALUES(?, ?)",
                ((f"{n:030}", b"x" * 900) for n in range(100_000)),
            )
        self._ids = [
            f"{n:030}" for n in np.random.default_rng(17).integers(0, 100_000, 20_000).tolist()
        ]
        self.share()

    def share(self) -> float:
        """The share now, from a fifth of a second's work."""
        before = time.perf_counter()
        for id in self._ids:
            self._db.execute("SELECT data FROM record WHERE id = ?", (id,)).fetchone()
        return round(len(self._ids) / (time.perf_counter() - before) / self.RATE, 2)


class Vectors:
    """numpy: every vector against the query."""

    def __init__(self, vectors: Floats) -> None:
        self._vectors = vectors

    def search(self, query: Floats, limit: int = 10, among: Any = None) -> list[int]:
        scores = (self._vectors if among is None else self._vectors[among]) @ query
        best = (
            np.argpartition(scores, -limit)[-limit:]
            if len(scores) > limit
            else np.arange(len(scores))
        )
        best = best[np.argsort(-scores[best])]
        return [int(at) for at in (best if among is None else among[best])]


class Bm25:
    """Exact BM25 (k1 1.2, b 0.75) in float64 over the terms that `analyse` makes of a text."""

    def __init__(self, texts: Sequence[str], analyse: Callable[[str], Sequence[str]]) -> None:
        self._analyse = analyse
        postings: dict[str, dict[int, int]] = defaultdict(dict)
        lengths = np.zeros(len(texts))
        for number, text in enumerate(texts):
            terms = analyse(text)
            lengths[number] = len(terms)
            for term in terms:
                counts = postings[term]
                counts[number] = counts.get(number, 0) + 1
        norm = 1.2 * (0.25 + 0.75 * lengths / lengths.mean())
        self._count = len(texts)
        self._impacts = {}
        for term, counts in postings.items():
            documents, frequency = (
                np.fromiter(counts, np.int64),
                np.fromiter(counts.values(), np.float64),
            )
            idf = np.log(1 + (len(texts) - len(counts) + 0.5) / (len(counts) + 0.5))
            self._impacts[term] = (documents, idf * frequency * 2.2 / (frequency + norm[documents]))

    def scores(self, question: str) -> Any:
        total = np.zeros(self._count)
        for term in self._analyse(question):
            if term in self._impacts:
                documents, impacts = self._impacts[term]
                total[documents] += impacts
        return total

    def search(self, question: str, limit: int = 10) -> Any:
        total = self.scores(question)
        best = np.argpartition(total, -limit)[-limit:]
        return best[np.argsort(-total[best])]


class Walk:
    """Standard-library sqlite3: breadth first, one indexed query a node, newest edges first, no
    records loaded."""

    def __init__(self, path: Path, sources: Any, destinations: Any) -> None:
        self._db = sqlite3.connect(path)
        self._db.execute("PRAGMA cache_size=-200000")
        self._db.execute(
            "CREATE TABLE edge(src INT, at INT, dst INT, PRIMARY KEY(src, at, dst)) WITHOUT ROWID"
        )
        rows = sorted(
            zip(sources.tolist(), range(len(sources)), destinations.tolist(), strict=True)
        )
        with self._db:
            self._db.executemany("INSERT INTO edge VALUES(?, ?, ?)", rows)

    def walk(self, start: int, depth: int = 3, breadth: int = 9) -> set[int]:
        seen, level = {start}, [start]
        for _ in range(depth):
            reached = []
            for node in level:
                found = self._db.execute(
                    "SELECT dst FROM edge WHERE src = ? ORDER BY at DESC LIMIT ?", (node, breadth)
                )
                for (next_node,) in found:
                    if next_node not in seen:
                        seen.add(next_node)
                        reached.append(next_node)
            level = reached
        return seen


class Inserts:
    """Bare apsw: a row and two indexes, one durable transaction a batch, encrypted when there is a
    key."""

    def __init__(self, path: Path, key: str) -> None:
        import apsw

        self._db = apsw.Connection(str(path))
        if key:
            self._db.pragma("cipher", "aegis")
            self._db.pragma("key", f"raw:{key}")
        self._db.pragma("journal_mode", "wal")
        self._db.pragma("synchronous", "full")
        self._db.pragma("cache_size", -200_000)
        self._count = 0
        self._db.execute(
            "CREATE TABLE row(id TEXT PRIMARY KEY, a TEXT, b TEXT, data BLOB) WITHOUT ROWID"
        )
        self._db.execute("CREATE INDEX a ON row(a)")
        self._db.execute("CREATE INDEX b ON row(b)")

    def insert(self, rows: Sequence[tuple[str, str, bytes]]) -> None:
        """Insert (a, b, data) rows; their ids rise."""
        numbered = [(f"{number:012}", *row) for number, row in enumerate(rows, self._count)]
        self._count += len(rows)
        with self._db:
            self._db.executemany("INSERT INTO row VALUES(?, ?, ?, ?)", numbered)
