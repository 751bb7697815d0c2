"""The derived indexes of a store: names, terms and vectors, each a snapshot, a tail and the dead.

The database is the only truth. An index is loaded when it is first asked for, from its snapshot if
that is whole and of this version, and brought up to date before every answer: rows whose number is
above what it has seen are added, numbers that got a tombstone since are removed. A background
thread moves tails into the fast part and stores new snapshots.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import msgspec
from msgspec import Struct

from ...errors import StoreBusyError, StoreError, StoreFullError
from ..indexed_text import searchable_text
from .database import Database
from .error_translation import translate
from .rows import decode
from .statements import SQL

if TYPE_CHECKING:
    import apsw

    from ..indexes.bm25 import TermIndex
    from ..indexes.hnsw import VectorIndex
    from ..indexes.trigrams import NameIndex

__all__ = ["IndexManager", "prune"]

_PART = 16 * 1024 * 1024  # bytes of a snapshot in one row
_FETCH = 5_000  # rows read at a time while catching up
_TAIL = 2_000  # a tail longer than this is merged in the background
# an index up to this size is merged at once: it takes milliseconds, and a tail is slow to search
_SMALL = 20_000
_SMALL_TAIL = 200
_GROWTH = 1.3  # a snapshot is stored again when the index outgrew it by this factor
_IDLE = 0.5  # seconds between looks of the background thread
# the latest tombstones, which stay for the indexes of other processes
_KEPT_TOMBSTONES = 10_000
# seconds after something was erased before a snapshot is stored again: more may follow
_REST = 60.0
_STEP = 64  # vectors moved into the graph between two looks at whether to stop


class _Index(Protocol):
    """What the three indexes have in common."""

    def __len__(self) -> int: ...
    @property
    def tail_size(self) -> int: ...
    def remove(self, ids: Any) -> None: ...


_I = TypeVar("_I", bound=_Index)


class _State(Struct):
    """One index and how much of the database it has seen."""

    index: Any
    seen: int  # highest number added
    dead: int  # highest tombstone applied
    saved: int = 0  # size when the snapshot was stored
    model: int = 0
    rests: float = 0.0  # monotonic time until which no snapshot is stored in the background


class IndexManager:
    """The three indexes of one database. Any thread may ask for any of them.

    Args:
        hnsw: see `VectorIndex`.
        chores: what the background thread does beside, each time it looks.
    """

    def __init__(
        self, database: Database, *, hnsw: dict[str, int], chores: Sequence[Callable[[], None]] = ()
    ) -> None:
        self._database = database
        self._chores = chores
        self._hnsw = hnsw
        self._states: dict[str, _State] = {}
        self._locks = {kind: threading.RLock() for kind in ("names", "terms", "vectors")}
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    # -- asking ------------------------------------------------------------------------------------

    def names(self) -> NameIndex:
        """Keys by label number, with every committed label in it."""
        return self._fresh("names").index  # type: ignore[no-any-return]

    def terms(self) -> TermIndex:
        """Texts by document number, with every committed text in it."""
        return self._fresh("terms").index  # type: ignore[no-any-return]

    def vectors(self) -> VectorIndex | None:
        """Windows of the current model by vector number; None while the store has no vectors."""
        return self._fresh("vectors").index  # type: ignore[no-any-return]

    def current(self, kind: str) -> Any:
        """Return an index by its kind, with everything committed in it."""
        return self._fresh(kind).index

    def loaded(self) -> dict[str, Any]:
        """The indexes that were needed so far."""
        return {
            kind: state.index for kind, state in self._states.items() if state.index is not None
        }

    def _fresh(self, kind: str) -> _State:
        state = self._states.get(kind)
        with translate(self._database.path):
            label_no, vector_no, text_no, tombstone_no, model = self._database.reader.execute(
                SQL.newest_numbers
            ).get
        newest = {"names": label_no, "terms": text_no, "vectors": vector_no}[kind]
        if (
            state is not None
            and state.seen == newest
            and state.dead == tombstone_no
            and state.model == (model or 0)
        ):
            return state
        with self._locks[kind], self._database.snapshot() as cursor:
            return self._catch_up(kind, cursor)

    def _catch_up(self, kind: str, cursor: apsw.Cursor) -> _State:
        state = self._states.get(kind)
        label_no, vector_no, text_no, dead, model = cursor.execute(SQL.newest_numbers).get
        newest = {"names": label_no, "terms": text_no, "vectors": vector_no}[kind]
        outdated = state is not None and (
            state.dead < pruned(cursor) or (kind == "vectors" and state.model != (model or 0))
        )
        if state is None or outdated:
            state = self._states[kind] = self._load(kind, cursor, dead)
            self.start()
        # A transaction that began earlier sees less than the index has: what it does not find is no
        # hit of its.
        if state.index is not None:
            if state.dead < dead:
                gone = cursor.execute(SQL.tombstones_after, (kind, state.dead)).fetchall()
                if gone:
                    state.index.remove([number for (number,) in gone])
            if state.seen < newest:
                _ADD[kind](state, cursor)
            if (
                kind != "vectors"
                and len(state.index) <= _SMALL
                and state.index.tail_size > _SMALL_TAIL
            ):
                state.index.compact()
        state.seen, state.dead = max(state.seen, newest), max(state.dead, dead)
        return state

    # -- loading and storing -----------------------------------------------------------------------

    def _load(self, kind: str, cursor: apsw.Cursor, dead: int) -> _State:
        if kind == "vectors":
            return self._load_vectors(cursor, dead)
        index_class = _index_class(kind)
        snapshot = _snapshot(cursor, kind)
        _forget_pages(cursor)
        if snapshot and pruned(cursor) <= snapshot.dead:
            try:
                index = index_class.load(snapshot.data)
                return _State(index, index.last, snapshot.dead, len(index))
            except ValueError:
                # another version or damaged: a cache is rebuilt, not repaired
                pass
        return _State(index_class(), 0, dead)

    def _load_vectors(self, cursor: apsw.Cursor, dead: int) -> _State:
        """Vectors come from their table; only the graph over them is in the snapshot."""
        current = cursor.execute(SQL.current_model).get
        if current is None:
            return _State(None, 0, dead)
        from ..indexes.hnsw import VectorIndex

        model, dims = current
        state = _State(VectorIndex(dims, **self._hnsw), 0, dead, model=model)
        _add_vectors(state, cursor)
        _forget_pages(cursor)
        snapshot = _snapshot(cursor, "vectors")
        _forget_pages(cursor)
        if snapshot and snapshot.model == model:
            try:
                state.index.load_graph(snapshot.data)
                state.saved = len(state.index)
            except ValueError:
                pass
        return state

    def save(self, kind: str) -> None:
        """Store a snapshot of an index as it is now, if the store can be written."""
        if self._database.read_only:
            return
        with self._locks[kind]:
            state = self._states[kind]
            blob = state.index.dump_graph() if kind == "vectors" else state.index.dump()
            size = len(state.index)
            meta = msgspec.json.encode({"model": state.model, "size": size}).decode()
            upto, dead = state.seen, state.dead

        def work(cursor: apsw.Cursor) -> None:
            erased = cursor.execute(SQL.has_tombstone_after, (dead, kind)).get
            if erased or pruned(cursor) > dead:
                # something in this blob was removed meanwhile and must not come back to disk
                return
            cursor.execute(SQL.delete_snapshot, (kind,))
            for part, start in enumerate(range(0, len(blob), _PART)):
                data = blob[start : start + _PART]
                cursor.execute(SQL.add_snapshot_part, (kind, part, upto, dead, meta, data))
            prune(cursor)

        self._database.write(work)
        state.saved = size

    # -- in the background -------------------------------------------------------------------------

    def start(self) -> None:
        """Begin the background work, if it has not begun yet."""
        if self._thread is None and not self._stop.is_set():
            self._thread = threading.Thread(target=self._run, name="remloom-indexes", daemon=True)
            self._thread.start()

    def _run(self) -> None:
        try:
            while not self._stop.wait(_IDLE):
                with suppress(StoreBusyError, StoreFullError):  # it is tried again
                    self._work()
        except StoreError:
            # of a file that is damaged or gone: the next one who reads or writes is told
            self._thread = None

    def _work(self) -> None:
        for chore in self._chores:
            chore()
        for kind in list(self._states):
            if self._stop.is_set():
                return
            self.maintain(kind, self._stop.is_set)

    def maintain(self, kind: str, stop: Callable[[], bool] = lambda: False) -> None:
        """Merge a long tail and store a snapshot when it pays. Searches go on meanwhile."""
        # so that the first question after a burst of writes finds most of it done
        state = self._fresh(kind)
        if state.index is None:
            return
        index = state.index
        if kind == "vectors":
            while not stop() and index.advance(_STEP):
                pass
        elif index.tail_size > _TAIL:
            index.compact()
        elif state.saved:
            return
        if (
            not stop()
            and len(index) > max(_TAIL, state.saved * _GROWTH)
            and time.monotonic() > state.rests
        ):
            self.save(kind)

    def drop_saved(self, kinds: Iterable[str]) -> None:
        """Note that the snapshots of these indexes were dropped: they are stored again when nothing
        was erased for a while."""
        for kind in kinds:
            if (state := self._states.get(kind)) is not None:
                state.saved, state.rests = 0, time.monotonic() + _REST

    def optimize(self) -> None:
        """Bring every index up to date, merge tails, store snapshots. May take minutes."""
        for kind in self._locks:
            state = self._fresh(kind)
            if state.index is None or not len(state.index):
                continue
            if kind == "vectors":
                while state.index.advance(_STEP):
                    pass
            elif state.index.tail_size:
                state.index.compact()
            self.save(kind)

    def close(self) -> None:
        """Stop the background work; what is cheap to keep is kept for the next process."""
        self._stop.set()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join()
        for kind in ("names", "terms"):
            state = self._states.get(kind)
            if state is not None and len(state.index) - state.saved > _TAIL:
                state.index.compact()
                with suppress(StoreBusyError, StoreFullError):  # the next process makes it again
                    self.save(kind)


def prune(cursor: apsw.Cursor) -> None:
    """Drop the tombstones that every snapshot knows of, but for the latest: an index that is
    further behind, in another process, is loaded anew. One at least stays, to tell how far that is.
    """
    cursor.execute(SQL.prune_tombstones, (_KEPT_TOMBSTONES,))


def pruned(cursor: apsw.Cursor) -> int:
    """Return the number up to which tombstones were dropped."""
    oldest = cursor.execute(SQL.oldest_tombstone).get
    return (oldest - 1) if oldest else 0


class _Snapshot(Struct):
    """A stored index."""

    data: bytearray
    dead: int  # highest tombstone it knows of
    model: int


def _snapshot(cursor: apsw.Cursor, kind: str) -> _Snapshot | None:
    """The snapshot of an index, put together part by part: it may be a hundred megabytes, and is
    held once."""
    first = cursor.execute(SQL.snapshot_header, (kind,)).get
    if first is None:
        return None
    data = bytearray()
    for (part,) in cursor.execute(SQL.snapshot_parts, (kind,)):
        data += part
    return _Snapshot(data, first[0], msgspec.json.decode(first[1]).get("model", 0))


def _forget_pages(cursor: apsw.Cursor) -> None:
    """Empty the page cache of what was read once and is now held as an index."""
    cursor.connection.pragma("shrink_memory")


def _index_class(kind: str) -> Any:
    if kind == "names":
        from ..indexes.trigrams import NameIndex

        return NameIndex
    from ..indexes.bm25 import TermIndex

    return TermIndex


def _add_names(state: _State, cursor: apsw.Cursor) -> None:
    rows = cursor.execute(SQL.labels_after, (state.seen,)).fetchall()
    if rows:
        state.index.add([label_no for label_no, _ in rows], [key for _, key in rows])


def _add_terms(state: _State, cursor: apsw.Cursor) -> None:
    while rows := cursor.execute(SQL.texts_after, (state.seen, _FETCH)).fetchall():
        texts = [
            searchable_text(decode(schema, body, content)) for _, _, schema, body, content in rows
        ]
        state.index.add([row[0] for row in rows], texts)
        state.seen = rows[-1][0]


def _add_vectors(state: _State, cursor: apsw.Cursor) -> None:
    import numpy as np

    while rows := cursor.execute(SQL.vectors_after, (state.seen, state.model, _FETCH)).fetchall():
        matrix = np.frombuffer(b"".join(data for _, data in rows), np.float16).reshape(
            len(rows), -1
        )
        state.index.add([vector_no for vector_no, _ in rows], matrix)
        state.seen = rows[-1][0]


_ADD: dict[str, Callable[[_State, Any], None]] = {
    "names": _add_names,
    "terms": _add_terms,
    "vectors": _add_vectors,
}
