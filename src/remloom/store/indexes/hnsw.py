"""The vector index: an HNSW graph over most vectors, exact search over the rest.

Vectors are kept as 16-bit fixed point (component x 32767), which for unit vectors is as precise as
float16 and which numpy turns into float32 ten times faster. The graph (usearch, bf16) proposes
candidates; every returned score is computed from the fixed-point vectors.
"""

from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import cache, partial
from threading import Lock
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from .arrays import (
    Array,
    GrowingArray,
    Ids,
    contains,
    floor_of_best,
    pack,
    positions,
    unpack,
)
from .segments import AllowedIds

GRAPH_MINIMUM = 2_000  # vectors; below it, exact search is the faster one
_EXACT_SHARE = 0.1  # a filter that keeps at most this share is answered exactly
_DEAD_SHARE = 0.25  # a graph with more dead nodes than this is built again

_FORMAT = 2
_SCALE = 32767.0
# Components of the rows that are compared at once: 1.5 MB of float32, which stay in the cache. A
# larger product is shared out by OpenBLAS among threads, which wait for each other for ten times as
# long as it takes.
_BLOCK = 1024 * 384
_STEP = 4  # vectors added to the graph while searches wait: about a millisecond each

# How many more nodes a filtered search reads than its filter should need, as shares are uneven.
_SPARE_SHARE = 1.3
_SPARE_NODES = 8
_FETCH_AT_MOST = (
    1_000  # nodes, or four times what is to be returned; beyond, exact search is quicker
)

Scores = NDArray[np.float32]
_T = TypeVar("_T")


class _Graph(NamedTuple):
    """A usearch index whose keys are vector ids, and how far it has come."""

    index: Any
    last: int  # the highest id in it; every live id up to here is a node
    nodes: GrowingArray  # the id of each node, dead ones included, ascending

    @property
    def size(self) -> int:
        return len(self.nodes)


class _Rows(NamedTuple):
    """The rows that a search sees, in the order of their ids; some are dead."""

    ids: Ids
    vectors: NDArray[np.int16]
    alive: NDArray[np.bool_]
    dead: int


class VectorIndex:
    """Cosine search over unit vectors by id.

    Ids are positive and ever increasing; the vector under an id never changes. Any number of
    threads may search while others add, remove and advance. A search sees every vector added before
    it. `m`, `ef_construction` and `ef` are HNSW's connectivity and breadth while building and
    searching.
    """

    def __init__(self, dims: int, *, m: int = 16, ef_construction: int = 200, ef: int = 50) -> None:
        self.dims = dims
        self._tuning = {"connectivity": m, "expansion_add": ef_construction, "expansion_search": ef}
        self._lock = Lock()  # guards rows and the swap of graphs
        self._advancing = Lock()  # one thread builds
        # usearch gives every caller the same scratch space: one call at a time
        self._using = Lock()
        self._ids = GrowingArray("<i8")
        self._vectors = GrowingArray("<i2", dims)
        self._alive = GrowingArray("?")
        self._rows = _Rows(self._ids.view(), self._vectors.view(), self._alive.view(), 0)
        self._graph: _Graph | None = None
        # being built in place of a graph with too many dead
        self._next: _Graph | None = None

    def __len__(self) -> int:
        return len(self._rows.ids) - self._rows.dead

    @property
    def ids(self) -> Ids:
        """The ids of every live vector, ascending."""
        rows = self._rows
        return rows.ids[rows.alive[: len(rows.ids)]]

    def contains(self, ids: Iterable[int]) -> set[int]:
        """Select those of these ids whose vectors are live: a search for each of them."""
        rows = self._rows
        at = positions(rows.ids, np.array(sorted(set(ids)), np.int64))
        return set(rows.ids[at[rows.alive[at]]].tolist())

    @property
    def tail_size(self) -> int:
        """Vectors that no graph has yet."""
        graph = self._graph
        ids = self._rows.ids
        if graph is None:
            return len(ids)
        return len(ids) - int(np.searchsorted(ids, graph.last, "right"))

    @property
    def exact_share(self) -> float:
        """The share of the vectors that an unfiltered search compares one by one, 0..1."""
        rows = self._rows
        return self.tail_size / len(rows.ids) if len(rows.ids) else 0.0

    # -- changing ----------------------------------------------------------------------------------

    def add(self, ids: Iterable[int] | Ids, matrix: Array) -> None:
        """Add unit vectors, one row an id; float16 or float32, shape (len(ids), dims). Raises
        ValueError: wrong shape, or ids that do not increase."""
        new = ids if isinstance(ids, np.ndarray) else np.fromiter(ids, np.int64)
        new = new.astype(np.int64)
        if matrix.shape != (len(new), self.dims):
            raise ValueError(
                f"expected vectors of shape {(len(new), self.dims)}, not {matrix.shape}"
            )
        if not len(new):
            return
        fixed = _to_fixed_point(matrix)
        with self._lock:
            last = int(self._rows.ids[-1]) if len(self._rows.ids) else 0
            if new[0] <= last or (np.diff(new) <= 0).any():
                raise ValueError(f"ids must increase, and exceed {last}")
            self._ids.append(new)
            self._vectors.append(fixed)
            self._alive.append(np.ones(len(new), bool))
            self._publish(self._rows.dead)

    def remove(self, ids: Iterable[int] | Ids) -> None:
        """Make vectors unfindable; ids that are not there are ignored."""
        removed = np.unique(np.fromiter(ids, np.int64))
        with self._lock:
            rows = self._rows
            at = positions(rows.ids, removed)
            newly_dead = int(rows.alive[at].sum())
            # Marked in place: searches that are under way may see it, or not.
            rows.alive[at] = False
            self._publish(rows.dead + newly_dead)

    def _publish(self, dead: int) -> None:
        """Let searches see the arrays as they are now."""
        self._rows = _Rows(self._ids.view(), self._vectors.view(), self._alive.view(), dead)

    def advance(self, budget: int = 256) -> int:
        """Move up to `budget` vectors into the graph; returns how many still wait for it.

        Meant for a background thread: about a millisecond for each vector, while searches go on.
        Fewer than `GRAPH_MINIMUM` vectors get no graph. A graph with more than a quarter of its
        nodes dead serves until its successor has caught up.
        """
        with self._advancing:
            self._drop_dead()
            rows = self._rows
            graph = self._next or self._graph
            if graph is None or (graph is self._graph and self._has_decayed(graph)):
                if len(self) < GRAPH_MINIMUM:
                    self._graph = None
                    return 0
                graph = _Graph(self._empty_graph(), 0, GrowingArray("<i8"))
            start = int(np.searchsorted(rows.ids, graph.last, "right"))
            stop = min(start + budget, len(rows.ids))
            for low in range(start, stop, _STEP):
                graph = self._extend(graph, rows, low, min(low + _STEP, stop))
                # A graph that already serves is seen to grow; a successor waits until it is whole.
                if self._is_serving(graph):
                    self._graph = graph
            waiting = len(rows.ids) - stop
            if self._is_serving(graph) or not waiting:
                self._graph = graph
                self._next = None
            else:
                self._next = graph
            return waiting

    def _extend(self, graph: _Graph, rows: _Rows, low: int, high: int) -> _Graph:
        live = np.flatnonzero(rows.alive[low:high]) + low
        if len(live):
            vectors = _to_float(rows.vectors[live])
            with self._using:
                graph.index.add(rows.ids[live].astype(np.uint64), vectors, threads=1)
            graph.nodes.append(rows.ids[live])
        return _Graph(graph.index, int(rows.ids[high - 1]), graph.nodes)

    def _is_serving(self, graph: _Graph) -> bool:
        """Whether searches use this graph, or could, as there is no other."""
        return self._graph is None or self._graph.index is graph.index

    def _has_decayed(self, graph: _Graph) -> bool:
        live = int(np.searchsorted(self.ids, graph.last, "right"))
        return graph.size - live > _DEAD_SHARE * graph.size

    def _drop_dead(self) -> None:
        """Give back the rows of dead vectors once they are a quarter. The graph stays valid, as it
        knows ids, not rows."""
        with self._lock:
            rows = self._rows
            if rows.dead <= _DEAD_SHARE * len(rows.ids):
                return
            # New arrays, as searches may still read the old ones.
            alive = rows.alive
            self._ids = GrowingArray("<i8")
            self._vectors = GrowingArray("<i2", self.dims)
            self._alive = GrowingArray("?")
            self._ids.append(rows.ids[alive])
            self._vectors.append(rows.vectors[alive])
            self._alive.append(rows.alive[alive])
            self._publish(0)

    def _empty_graph(self) -> Any:
        return _usearch().index.Index(
            ndim=self.dims, metric="cos", dtype="bf16", enable_key_lookups=False, **self._tuning
        )

    # -- snapshots ---------------------------------------------------------------------------------

    def dump_graph(self) -> bytes:
        """Make one blob with a checksum of the graph, empty when there is none. The vectors of dead
        nodes are written over; they keep their edges."""
        with self._advancing:
            graph = self._graph
            if graph is None:
                return b""
            with self._using:
                saved = np.array(np.frombuffer(graph.index.save(), np.uint8))
            nodes = graph.nodes.view()
            _overwrite_dead(saved, nodes, self.ids)
        fields = {**self._identity(), "last": graph.last}
        return pack("graph", fields, {"nodes": saved, "ids": nodes})

    def load_graph(self, data: bytes) -> None:
        """Take over a dumped graph, once every vector that is alive has been added.

        Raises:
            ValueError: the blob is damaged, of another version or tuning, or lacks vectors
                that it should have. Nothing has changed then: `advance` builds the graph again.
        """
        fields, arrays = unpack("graph", data)
        for name, value in self._identity().items():
            if fields.get(name) != value:
                raise ValueError(f"the graph has {name} {fields.get(name)}, expected {value}")
        live = self.ids
        live = live[: np.searchsorted(live, fields["last"], "right")]
        if len(positions(arrays["ids"], live)) != len(live):
            raise ValueError("the graph lacks vectors of the store")
        index = self._empty_graph()
        index.load(arrays["nodes"].data)
        nodes = GrowingArray("<i8")
        nodes.append(arrays["ids"])
        if len(index) != len(nodes):
            raise ValueError(f"the graph has {len(index)} nodes, expected {len(nodes)}")
        with self._advancing:
            self._graph = _Graph(index, fields["last"], nodes)
            self._next = None

    def _identity(self) -> dict[str, Any]:
        """Return what must be equal for a dumped graph to be of use here."""
        version = _usearch().__version__
        return {"format": _FORMAT, "usearch": version, "dims": self.dims, **self._tuning}

    # -- searching ---------------------------------------------------------------------------------

    def search(
        self, vector: Array, k: int, *, allow: AllowedIds | None = None
    ) -> tuple[Ids, Scores]:
        """Find the k live ids with the highest cosine, and the cosines, best first (ties: lower id
        first).

        Args:
            vector: a unit vector, shape (dims,).
            allow: the only ids that may be returned. For at most a tenth of the index the answer is
                exact; else more and more nodes of the graph are read until enough are found.
        """
        # in this order: rows are never older than the graph
        graph = self._graph
        rows = self._rows
        count = len(rows.ids)
        query = np.ascontiguousarray(vector, np.float32)
        # A graph without nodes has met none but dead vectors so far.
        if graph is None or not graph.size or _is_selective(allow, count):
            return _best(rows, _select(rows, 0, allow), query, k)
        split = int(np.searchsorted(rows.ids, graph.last, "right"))
        nearest = self._search_graph(graph, rows, split, query, k, allow)
        if nearest is None:
            return _best(rows, _select(rows, 0, allow), query, k)
        if split == count:
            return _best(rows, nearest, query, k)
        # What the graph has not come to yet is compared one by one.
        ids, scores = _best(rows, nearest, query, k)
        tail_ids, tail_scores = _best(rows, _select(rows, split, allow), query, k)
        return _top(np.concatenate([ids, tail_ids]), np.concatenate([scores, tail_scores]), k)

    def begin_search(
        self, vector: Array, k: int, *, allow: AllowedIds | None = None
    ) -> Callable[[], tuple[Ids, Scores]]:
        """Begin a `search` beside the caller, where that takes long enough to be worth it."""
        search = partial(self.search, vector, k, allow=allow)
        walks = self._graph is not None and not _is_selective(allow, len(self._rows.ids))
        return begin(search) if walks else search

    def _search_graph(
        self, graph: _Graph, rows: _Rows, split: int, query: Array, k: int, allow: AllowedIds | None
    ) -> NDArray[np.intp] | None:
        """Find the rows of at least k live, allowed nodes near the query; None when too many nodes
        would have to be read."""
        if allow is None:
            share = max(split - rows.dead, 1) / graph.size
        else:
            share = len(allow) / len(rows.ids)
        fetch = k if share >= 1 else int(k / share * _SPARE_SHARE) + _SPARE_NODES
        while fetch <= max(_FETCH_AT_MOST, 4 * k):
            with self._using:
                keys = graph.index.search(query, fetch, threads=1).keys
            nearest = positions(rows.ids[:split], keys.astype(np.int64))
            if rows.dead:
                nearest = nearest[rows.alive[nearest]]
            if allow is not None:
                nearest = nearest[contains(allow.ids, rows.ids[nearest])]
            if len(nearest) >= k:
                return nearest
            fetch *= 4
        return None


def _is_selective(allow: AllowedIds | None, count: int) -> bool:
    """Whether a filter allows so few rows that they are best compared one by one."""
    return allow is not None and len(allow) <= _EXACT_SHARE * count


def _select(rows: _Rows, start: int, allow: AllowedIds | None) -> slice | NDArray[np.intp]:
    if allow is None:
        return slice(start, len(rows.ids))
    if not start:
        return positions(rows.ids, allow.ids)
    return positions(rows.ids[start:], allow.ids) + start


def _overwrite_dead(saved: NDArray[np.uint8], nodes: Ids, alive: Ids) -> None:
    """Give the dead nodes of a saved graph the vector of one that is alive, so that nothing of what
    was removed is saved. It begins with rows and columns (bytes a row) as 32-bit numbers, and its
    vectors, in the order they came."""
    rows, columns = np.frombuffer(saved[:8].tobytes(), np.uint32).tolist()
    if rows != len(nodes):
        raise ValueError(f"the graph was saved with {rows} vectors, not {len(nodes)}")
    vectors = saved[8 : 8 + rows * columns].reshape(rows, columns)
    is_alive = contains(alive, nodes)
    dead = np.flatnonzero(~is_alive)
    if len(dead):
        vectors[dead] = vectors[int(np.argmax(is_alive))] if is_alive.any() else 0


@cache
def _usearch() -> Any:
    """Import usearch, behind the C++ runtime of the system. Its wheels for Linux export a copy of
    that runtime; ONNX Runtime, if loaded later, would be bound to both, and end the process."""
    with suppress(OSError):  # there is none of this name
        ctypes.CDLL("libstdc++.so.6", mode=ctypes.RTLD_GLOBAL)
    import usearch.index

    return usearch


def _to_fixed_point(vectors: Array) -> NDArray[np.int16]:
    scaled = np.rint(vectors.astype(np.float32) * np.float32(_SCALE))
    fixed: NDArray[np.int16] = scaled.clip(-_SCALE, _SCALE).astype(np.int16)
    return fixed


def _to_float(vectors: NDArray[np.int16]) -> NDArray[np.float32]:
    return vectors.astype(np.float32) / np.float32(_SCALE)


def _best(rows: _Rows, at: slice | NDArray[np.intp], query: Array, k: int) -> tuple[Ids, Scores]:
    """Compare these rows with the query one by one: the k best that are alive."""
    ids = rows.ids[at]
    vectors = rows.vectors
    # A slice is a view, in which more rows may die before it is used below.
    alive = rows.alive[at].copy()
    scores = np.empty(len(ids), np.float32)
    size = max(1, min(_BLOCK // len(query), len(ids)))
    block = np.empty((size, len(query)), np.float32)
    for low in range(0, len(ids), size):
        high = min(low + size, len(ids))
        if isinstance(at, slice):
            part = vectors[at.start + low : at.start + high]
        else:
            part = vectors.take(at[low:high], 0)
        # One buffer for every block, which stays in the cache.
        np.copyto(block[: high - low], part)
        np.dot(block[: high - low], query, out=scores[low:high])
    scores *= np.float32(1 / _SCALE)
    if rows.dead:
        ids = ids[alive]
        scores = scores[alive]
    return _top(ids, scores, k)


def _top(ids: Ids, scores: Scores, k: int) -> tuple[Ids, Scores]:
    if len(ids) > 4 * k:
        candidates = np.flatnonzero(scores >= np.float32(floor_of_best(scores, k)))
        ids = ids[candidates]
        scores = scores[candidates]
    order = np.lexsort((ids, -scores))[:k]
    # Rounding may take the cosine of a vector with itself above 1.
    return ids[order], np.minimum(scores[order], np.float32(1))


# -- spare threads ---------------------------------------------------------------------------------


def _free_cores() -> int:
    """The cores that are left to others than the caller."""
    has_affinity = hasattr(os, "sched_getaffinity")
    return (len(os.sched_getaffinity(0)) if has_affinity else os.cpu_count() or 1) - 1


class Helpers:
    """A thread for each core but the caller's, for the whole process."""

    def __init__(self) -> None:
        self._begin()
        if hasattr(os, "register_at_fork"):
            # where the threads are not, and the lock may be held
            os.register_at_fork(after_in_child=self._begin)

    def _begin(self) -> None:
        count = _free_cores()
        self._free = threading.Semaphore(count)
        self._threads = ThreadPoolExecutor(max(count, 1), "remloom-beside")  # begun when needed

    def begin(self, work: Callable[[], _T]) -> Callable[[], _T]:
        # nobody waits for a thread: the caller has to do it all the same
        if not self._free.acquire(blocking=False):
            return work

        def do() -> _T:
            try:
                return work()
            finally:
                self._free.release()

        try:
            return self._threads.submit(do).result
        except RuntimeError:  # the interpreter is ending
            self._free.release()
            return work


begin = Helpers().begin
"""Begin some work where a core is free for it; what is returned gives its result, or raises what it
raises. Where none is free, that does the work."""
