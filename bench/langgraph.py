"""`RemloomStore` beside LangGraph's own SQLite store: python -m bench.langgraph --help.

Both hold the same items, a user's namespace each for a hundred, with a vector of the same embedder;
every put is on disk when it returns (theirs commits each, as ours does). They take turns, so that
both see the same machine. What is kept is the ratio of the rates.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

try:
    # Python's own cannot load extensions everywhere, and their store needs one
    import pysqlite3

    sys.modules["sqlite3"] = pysqlite3
except ImportError:
    pass

from langgraph.store.base import BaseStore, PutOp
from langgraph.store.sqlite import SqliteStore

from remloom.adapters.langgraph import RemloomStore

from . import data
from .measure import RESULTS, Results, race

DIMS = 384
USERS = 100


class Embedder:
    """Gives texts vectors that were made before, without computing."""

    def __init__(self, count: int) -> None:
        self._vectors = data.vectors(count, dims=DIMS, total=count)

    def __call__(self, texts: Sequence[str]) -> list[list[float]]:
        return [self._vectors[int(text.split()[1]) % len(self._vectors)].tolist() for text in texts]


def put_of(number: int) -> PutOp:
    """An item: what an agent noted of a user."""
    value = {
        "text": f"note {number} of what the user said, and what came of it",
        "kind": "fact" if number % 2 else "wish",
        "number": number,
    }
    return PutOp(("users", f"u{number % USERS}", "notes"), f"note-{number}", value)


def batches(numbers: range, size: int = 500) -> Iterator[list[PutOp]]:
    """The items of these numbers, some at a time."""
    source = iter(numbers)
    while batch := [put_of(number) for number in islice(source, size)]:
        yield batch


def calls(count: int) -> dict[str, tuple[Callable[[BaseStore, int], Any], int]]:
    """What is called on either store with a number, and how often."""
    everyone, one = ("users",), ("users", "u7", "notes")
    return {
        "put": (lambda store, n: store.batch([put_of(count + n)]), 300),
        "put again": (lambda store, n: store.batch([put_of(n)]), 300),
        "get": (lambda store, n: store.get(put_of(n).namespace, put_of(n).key), 2_000),
        "search by meaning": (lambda store, n: store.search(everyone, query=f"note {n}"), 60),
        "search by meaning, one user": (lambda store, n: store.search(one, query=f"note {n}"), 60),
        "newest, one user": (lambda store, n: store.search(one), 300),
        "newest of all": (lambda store, n: store.search(everyone), 60),
        "filter, half": (lambda store, n: store.search(everyone, filter={"kind": "fact"}), 60),
        "filter, one": (lambda store, n: store.search(everyone, filter={"number": n}), 60),
        "filter, one user": (lambda store, n: store.search(one, filter={"kind": "fact"}), 300),
        "list namespaces": (lambda store, n: store.list_namespaces(), 60),
    }


def main() -> None:
    """Measure both at one size, and keep the ratios."""
    parser = argparse.ArgumentParser(prog="python -m bench.langgraph", description=__doc__)
    parser.add_argument("--items", type=int, default=10_000)
    parser.add_argument("--results", type=Path, default=RESULTS, help="a folder")
    given = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="bench-langgraph-"))
    index: Any = {"dims": DIMS, "embed": Embedder(given.items), "fields": ["text"]}
    # their store calls the fields so
    index["text_fields"] = index["fields"]
    results = Results("langgraph", given.results)
    with (
        RemloomStore.open(folder / "ours", index=index) as ours,
        SqliteStore.from_conn_string(str(folder / "theirs.db"), index=index) as theirs,
    ):
        theirs.setup()
        # as careful as ours: a put is on disk when it returns
        theirs.conn.execute("PRAGMA synchronous = FULL")
        for batch in batches(range(given.items)):
            ours.batch(batch)
            theirs.batch(batch)
        ours.memory.admin.optimize()
        for name, (call, times) in calls(given.items).items():
            numbers = [number * 31 % given.items for number in range(times)]
            mine, other = race(
                numbers,
                lambda n, call=call: call(ours, n),  # type: ignore[misc]
                lambda n, call=call: call(theirs, n),  # type: ignore[misc]
                warm=numbers[:5],
            )
            results.add(f"{name}/{given.items}", mine, other, against="LangGraph SqliteStore")


if __name__ == "__main__":
    main()
