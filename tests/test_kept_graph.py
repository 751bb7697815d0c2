"""What was built of an index is there when the store is opened again: loaded, not built once more."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from remloom import Resource
from remloom.store.specs import NameSpec, SearchSpec
from remloom.store.sqlite import SqliteStore
from remloom.store.sqlite.search.index_loader import load_index
from remloom.testing.conformance import put

DIMS = 8
HNSW = {"m": 8, "ef_construction": 32, "ef": 16}


def opened(folder: Path) -> closing[SqliteStore]:
    return closing(SqliteStore(folder / "memory.db", hnsw=HNSW))


def grow(store: SqliteStore, start: int, count: int) -> list[str]:
    """Write so many texts with vectors, and let all of their indexes be built, as the background does."""
    vectors = np.random.default_rng(start).normal(size=(count, DIMS)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    numbered = enumerate(vectors, start)
    ids = put(
        store, *(Resource(name=f"r{n}", content=f"text {n}", embedding=v) for n, v in numbered)
    ).ids
    search(store)
    for kind in ("names", "terms", "vectors"):
        store._indexes.maintain(kind)
    return list(ids)


def search(store: SqliteStore) -> None:
    spec = SearchSpec(schema="resources", limit=1)
    store.search.vector([1.0] + [0.0] * (DIMS - 1), spec)
    store.search.text("text", spec)
    store.search.names("r1", NameSpec(threshold=0.5, limit=1))


def stored(store: SqliteStore, kind: str) -> Any:
    """An index as a process would load it now."""
    with store._database.snapshot() as cursor:
        return load_index(kind, cursor, 0, HNSW).index


@pytest.mark.parametrize("steps", [(2_100, 2_100), (2_500, 300, 100, 2_600), (1_900, 300, 1_000)])
def test_what_was_built_is_loaded_after_each_opening(
    tmp_path: Path, steps: tuple[int, ...]
) -> None:
    written = 0
    for step in steps:
        with opened(tmp_path) as store:
            grow(store, written, step)
            written += step
        with opened(tmp_path) as store:
            has_graph = written >= 2_000
            assert stored(store, "vectors").tail_size == (0 if has_graph else written)
            for kind in ("names", "terms"):
                # a short tail is read faster than it is stored
                assert len(stored(store, kind)) >= written - 2_000


def test_another_process_with_less_of_a_graph_stores_none_over_more(tmp_path: Path) -> None:
    with opened(tmp_path) as first:
        grow(first, 0, 2_200)
    with opened(tmp_path) as second:
        search(second)
        second._indexes._stop.set()  # its background does nothing more
        with opened(tmp_path) as first:
            grow(first, 2_200, 2_000)
        assert stored(second, "vectors").tail_size == 0
        index = second._indexes.vectors()
        assert index is not None
        index.advance(64)
    with opened(tmp_path) as store:
        assert stored(store, "vectors").tail_size == 0


def test_what_was_forgotten_is_not_stored_at_closing(tmp_path: Path) -> None:
    with opened(tmp_path) as store:
        ids = grow(store, 0, 2_400)
        store.delete(ids[:300])
    with opened(tmp_path) as store:
        graph = store._indexes.vectors()
        assert graph is not None
        assert len(graph) == 2_100
        assert not graph.contains(range(1, 301))
        assert stored(store, "vectors").tail_size == 0
        assert store.admin.check() == []


def test_what_is_forgotten_while_a_graph_is_stored_does_not_count_as_stored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(tmp_path) as store:
        ids = grow(store, 0, 2_400)
        write = store._database.write

        def forget_after(work: Any) -> Any:
            written = write(work)
            monkeypatch.undo()
            store.delete(ids[:300])
            return written

        monkeypatch.setattr(store._database, "write", forget_after)
        store._indexes.save("vectors")
    with opened(tmp_path) as store:
        assert stored(store, "vectors").tail_size == 0


def test_a_forgotten_text_does_not_come_back_by_a_reader_of_an_older_state(tmp_path: Path) -> None:
    with opened(tmp_path) as other, opened(tmp_path) as store:
        grow(store, 0, 50)
        (forgotten,) = put(other, Resource(name="s", content="zanzibar")).ids
        number = 51

        def save() -> None:
            thread = threading.Thread(target=store._indexes.save, args=("terms",))
            thread.start()
            thread.join()

        with store.snapshot():
            assert store.records.get("resources", forgotten)
            other.delete([forgotten])
            save()
            search(store)
        search(store)
        assert number not in store._indexes.terms().contains([number])
        save()
    with opened(tmp_path) as store:
        assert number not in store._indexes.terms().contains([number])
        assert store.admin.check() == []


def test_a_graph_survives_a_process_that_is_killed_later(tmp_path: Path) -> None:
    with opened(tmp_path) as store:
        grow(store, 0, 2_200)
    program = (
        "import os, sys; from pathlib import Path; import test_kept_graph as t;"
        "store = t.opened(Path(sys.argv[1])).thing; t.grow(store, 2_200, 100); os._exit(9)"
    )
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), *sys.path]),
    }
    killed = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path)], env=environment, check=False
    )
    assert killed.returncode == 9
    with opened(tmp_path) as store:
        assert stored(store, "vectors").tail_size <= 100
        assert store.admin.check() == []
