"""The vector index: an HNSW graph over most vectors, exact search over the rest.

Vectors are kept as 16-bit fixed point (component x 32767), which for unit vectors is as precise as
float16 and which numpy turns into float32 ten times faster. The graph (usearch, bf16) proposes; the
kept vectors give every returned score.
"""

from __future__ import annotations

from collections.abc import Iterable
from threading import Lock
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .arrays import Array, Growing, Ids, contains, floor_of_best, pack, positions, unpack

__all__ = ["GRAPH_MINIMUM", "VectorIndex"]

GRAPH_MINIMUM = 2_000  # vectors; below it, exact search is the faster one
EXACT_SHARE = 0.1  # a filter that keeps at most this share is answered exactly
DEAD_SHARE = 0.25  # a graph with more dead nodes than this is built anew

_FORMAT = 2
_SCALE = 32767.0
_BLOCK = 1024  # rows: 1.5 MB of float32 at 384 dims, which stays in the cache
_STEP = 4  # vectors added to the graph while searches wait: about a millisecond each

Scores = NDArray[np.float32]


class _Graph(NamedTuple):
    """A usearch index whose keys are vector ids, and how far it has come."""

    index: Any
    last: int  # the highest id in it; every live id up to here is a node
    nodes: Growing  # the id of each node, dead ones included, ascending

    @property
    def size(self) -> int:
        return len(self.nodes)


class _Rows(NamedTuple):
    """What a search sees: rows in the order of their ids, of which some are dead."""

    ids: Ids
    vectors: NDArray[np.int16]
    alive: NDArray[np.bool_]
    dead: int


class VectorIndex:
    """Cosine search over unit vectors by id.

    Ids are positive and ever increasing; the vector under an id never changes. Any number of
    threads may search while others add, remove and advance. A search sees every vector added before
    it.

    Args:
        dims: dimensions of every vector.
        m, ef_construction, ef: HNSW connectivity and breadth while building and searching.
    """

    def __init__(self, dims: int, *, m: int = 16, ef_construction: int = 200, ef: int = 50) -> None:
        self.dims = dims
        self._tuning = {"connectivity": m, "expansion_add": ef_construction, "expansion_search": ef}
        self._lock = Lock()  # guards rows and the swap of graphs
        self._advancing = Lock()  # one thread builds
        # usearch gives every caller the same scratch space: one call at a time
        self._using = Lock()
        self._ids = Growing("<i8")
        self._vectors = Growing("<i2", dims)
        self._alive = Growing("?")
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

    def holds(self, ids: Iterable[int]) -> set[int]:
        """Those of these ids whose vectors live. It costs a search for each, however many there
        are."""
        rows = self._rows
        at = positions(rows.ids, np.array(sorted(set(ids)), np.int64))
        return set(rows.ids[at[rows.alive[at]]].tolist())

    @property
    def tail_size(self) -> int:
        """Vectors that no graph has yet."""
        graph, rows = self._graph, self._rows
        return (
            len(rows.ids) - int(np.searchsorted(rows.ids, graph.last, "right"))
            if graph
            else len(rows.ids)
        )

    @property
    def exact_share(self) -> float:
        """The share of the vectors that an unfiltered search compares one by one, 0..1."""
        rows = self._rows
        return self.tail_size / len(rows.ids) if len(rows.ids) else 0.0

    # -- changing ----------------------------------------------------------------------------------

    def add(self, ids: Iterable[int] | Ids, matrix: Array) -> None:
        """Add unit vectors, one row an id; float16 or float32, shape (len(ids), dims).

        Raises:
            ValueError: wrong shape, or ids that do not increase.
        """
        new = (
            np.fromiter(ids, np.int64) if not isinstance(ids, np.ndarray) else ids.astype(np.int64)
        )
        if matrix.shape != (len(new), self.dims):
            raise ValueError(
                f"expected vectors of shape {(len(new), self.dims)}, not {matrix.shape}"
            )
        if not len(new):
            return
        fixed = (
            np.rint(matrix.astype(np.float32) * np.float32(_SCALE))
            .clip(-_SCALE, _SCALE)
            .astype(np.int16)
        )
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
        gone = np.unique(np.fromiter(ids, np.int64))
        with self._lock:
            rows = self._rows
            at = positions(rows.ids, gone)
            fresh = int(rows.alive[at].sum())
            rows.alive[at] = False
            self._publish(rows.dead + fresh)

    def _publish(self, dead: int) -> None:
        self._rows = _Rows(self._ids.view(), self._vectors.view(), self._alive.view(), dead)

    def advance(self, budget: int = 256) -> int:
        """Move up to `budget` vectors into the graph; returns how many still wait for it.

        Meant for a background thread, in small steps: about a millisecond for each vector. Searches
        go on meanwhile. Fewer than `GRAPH_MINIMUM` vectors get no graph. A graph with more than a
        quarter of its nodes dead is replaced, and serves until its successor has caught up.
        """
        with self._advancing:
            self._drop_dead()
            rows, graph = self._rows, self._next or self._graph
            if graph is None or (graph is self._graph and self._decayed(graph)):
                if len(self) < GRAPH_MINIMUM:
                    self._graph = None
                    return 0
                graph = _Graph(self._empty_graph(), 0, Growing("<i8"))
            start = int(np.searchsorted(rows.ids, graph.last, "right"))
            stop = min(start + budget, len(rows.ids))
            for low in range(start, stop, _STEP):
                high = min(low + _STEP, stop)
                live = np.flatnonzero(rows.alive[low:high]) + low
                if len(live):
                    vectors = _unfixed(rows.vectors[live])
                    with self._using:
                        graph.index.add(rows.ids[live].astype(np.uint64), vectors, threads=1)
                    graph.nodes.append(rows.ids[live])
                graph = _Graph(graph.index, int(rows.ids[high - 1]), graph.nodes)
                if self._serves(graph):
                    self._graph = graph
            waiting = len(rows.ids) - stop
            if self._serves(graph) or not waiting:
                self._graph, self._next = graph, None
            else:
                self._next = graph
            return waiting

    def _serves(self, graph: _Graph) -> bool:
        return self._graph is None or self._graph.index is graph.index

    def _decayed(self, graph: _Graph) -> bool:
        live = int(np.searchsorted(self.ids, graph.last, "right"))
        return graph.size - live > DEAD_SHARE * graph.size

    def _drop_dead(self) -> None:
        """Give back the rows of dead vectors once they are a quarter. The graph does not mind: it
        knows ids."""
        with self._lock:
            rows = self._rows
            if rows.dead <= DEAD_SHARE * len(rows.ids):
                return
            keep = rows.alive
            self._ids, self._vectors, self._alive = (
                Growing("<i8"),
                Growing("<i2", self.dims),
                Growing("?"),
            )
            self._ids.append(rows.ids[keep])
            self._vectors.append(rows.vectors[keep])
            self._alive.append(rows.alive[keep])
            self._publish(0)

    def _empty_graph(self) -> Any:
        from usearch.index import Index

        return Index(
            ndim=self.dims, metric="cos", dtype="bf16", enable_key_lookups=False, **self._tuning
        )

    # -- keeping -----------------------------------------------------------------------------------

    def dump_graph(self) -> bytes:
        """The graph as one blob with its checksum, empty when there is none. Its nodes hold the
        vectors that are alive; those of the dead are written over, and lead where they led."""
        with self._advancing:
            graph = self._graph
            if graph is None:
                return b""
            with self._using:
                saved = np.array(np.frombuffer(graph.index.save(), np.uint8))
            nodes = graph.nodes.view()
            _write_over(saved, nodes, self.ids)
        return pack(
            "graph", {**self._identity(), "last": graph.last}, {"nodes": saved, "ids": nodes}
        )

    def load_graph(self, data: bytes) -> None:
        """Take over a dumped graph, once every vector that is alive has been added.

        Raises:
            ValueError: the blob is damaged, was made by another version or with other dimensions or
                tuning, or lacks vectors that it should have. Nothing has changed then: `advance`
                builds the graph anew.
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
        nodes = Growing("<i8")
        nodes.append(arrays["ids"])
        if len(index) != len(nodes):
            raise ValueError(f"the graph has {len(index)} nodes, expected {len(nodes)}")
        with self._advancing:
            self._graph, self._next = _Graph(index, fields["last"], nodes), None

    def _identity(self) -> dict[str, Any]:
        from usearch import __version__

        return {"format": _FORMAT, "usearch": __version__, "dims": self.dims, **self._tuning}

    # -- searching ---------------------------------------------------------------------------------

    def search(self, vector: Array, k: int, *, allow: Ids | None = None) -> tuple[Ids, Scores]:
        """The k live ids with the highest cosine, and the cosines, best first (ties: lower id
        first).

        Args:
            vector: a unit vector, shape (dims,).
            allow: the only ids that may be returned, sorted. When they are at most a tenth of the
                index the answer is exact; otherwise the graph is asked for more until enough of
                them are found.
        """
        # in this order: rows are never older than the graph
        graph, rows = self._graph, self._rows
        if graph is not None and not graph.size:  # all that it has come to so far was dead
            graph = None
        query = np.ascontiguousarray(vector, np.float32)
        if allow is not None and (graph is None or len(allow) <= EXACT_SHARE * len(rows.ids)):
            return _best(rows, positions(rows.ids, allow), query, k)
        if graph is None:
            return _best(rows, slice(0, len(rows.ids)), query, k)
        split = int(np.searchsorted(rows.ids, graph.last, "right"))
        near = self._from_graph(graph, rows, split, query, k, allow)
        if near is None:
            return _best(
                rows,
                slice(0, len(rows.ids)) if allow is None else positions(rows.ids, allow),
                query,
                k,
            )
        if split == len(rows.ids):
            return _best(rows, near, query, k)
        tail = (
            positions(rows.ids[split:], allow) + split
            if allow is not None
            else slice(split, len(rows.ids))
        )
        ids, scores = _best(rows, near, query, k)
        more, more_scores = _best(rows, tail, query, k)
        return _top(np.concatenate([ids, more]), np.concatenate([scores, more_scores]), k)

    def _from_graph(
        self, graph: _Graph, rows: _Rows, split: int, query: Array, k: int, allow: Ids | None
    ) -> NDArray[np.intp] | None:
        """Rows of at least k live, allowed nodes near the query, or None when the graph is the
        wrong way to them."""
        share = (
            max(split - rows.dead, 1) / graph.size if allow is None else len(allow) / len(rows.ids)
        )
        fetch = k if share >= 1 else int(k / share * 1.3) + 8
        while fetch <= max(1_000, 4 * k):
            with self._using:
                found = graph.index.search(query, fetch, threads=1).keys
            kept = positions(rows.ids[:split], found.astype(np.int64))
            if rows.dead:
                kept = kept[rows.alive[kept]]
            if allow is not None:
                kept = kept[contains(allow, rows.ids[kept])]
            if len(kept) >= k:
                return kept
            fetch *= 4
        return None


def _write_over(saved: NDArray[np.uint8], nodes: Ids, alive: Ids) -> None:
    """Give the dead among the nodes of a saved graph the vector of one that is alive: what went
    leaves no number.

    A saved graph begins with rows and columns (bytes a row) as 32-bit numbers, and its vectors, in
    the order they came.
    """
    rows, columns = np.frombuffer(saved[:8].tobytes(), np.uint32).tolist()
    if rows != len(nodes):
        raise ValueError(f"the graph was saved with {rows} vectors, not {len(nodes)}")
    vectors = saved[8 : 8 + rows * columns].reshape(rows, columns)
    living = contains(alive, nodes)
    dead = np.flatnonzero(~living)
    if len(dead):
        vectors[dead] = vectors[int(np.argmax(living))] if living.any() else 0


def _unfixed(vectors: NDArray[np.int16]) -> NDArray[np.float32]:
    return vectors.astype(np.float32) / np.float32(_SCALE)


def _best(rows: _Rows, at: slice | NDArray[np.intp], query: Array, k: int) -> tuple[Ids, Scores]:
    """Exact: the k best of these rows."""
    ids, vectors = rows.ids[at], rows.vectors
    # a slice is a view, in which others may die between the two uses below
    alive = rows.alive[at].copy()
    scores = np.empty(len(ids), np.float32)
    block = np.empty((min(_BLOCK, len(ids)), len(query)), np.float32)
    for low in range(0, len(ids), _BLOCK):
        high = min(low + _BLOCK, len(ids))
        part = (
            vectors[at.start + low : at.start + high]
            if isinstance(at, slice)
            else vectors.take(at[low:high], 0)
        )
        np.copyto(block[: high - low], part)
        np.dot(block[: high - low], query, out=scores[low:high])
    scores *= np.float32(1 / _SCALE)
    if rows.dead:
        ids, scores = ids[alive], scores[alive]
    return _top(ids, scores, k)


def _top(ids: Ids, scores: Scores, k: int) -> tuple[Ids, Scores]:
    if len(ids) > 4 * k:
        some = np.flatnonzero(scores >= np.float32(floor_of_best(scores, k)))
        ids, scores = ids[some], scores[some]
    order = np.lexsort((ids, -scores))[:k]
    return ids[order], np.minimum(scores[order], np.float32(1))
