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
from typing import TYPE_CHECKING, Any

import apsw

from ....errors import StoreBusyError, StoreError, StoreFullError
from ..file.database import SqliteDatabase
from ..file.error_translation import translate
from ..rows import SQL
from .index_loader import (
    IndexSnapshot,
    LoadedIndex,
    NewestNumbers,
    catch_up,
    is_outdated,
    load_index,
    write_snapshot,
)

if TYPE_CHECKING:
    from ...indexes.bm25 import TermIndex
    from ...indexes.hnsw import VectorIndex
    from ...indexes.trigrams import NameIndex


_TAIL = 2_000  # a tail longer than this is merged in the background
# an index up to this size is merged at once: it takes milliseconds, and a tail is slow to search
_SMALL = 20_000
_SMALL_TAIL = 200
_GROWTH = 1.3  # a snapshot is stored again when the index outgrew it by this factor
_INTERVAL = 0.5  # seconds between looks of the background thread
# seconds after something was erased before a snapshot is stored again: more may follow
_SAVE_DELAY = 60.0
# of a graph: to store all of it costs less than to add this share of its vectors once more
_FEW_VECTORS = 0.005
_STEP = 64  # vectors moved into the graph between two looks at whether to stop


class IndexManager:
    """The three indexes of one database. Any thread may ask for any of them.

    Args:
        hnsw: see `VectorIndex`.
        tasks: what else the background thread does, each time it looks.
    """

    def __init__(
        self,
        database: SqliteDatabase,
        *,
        hnsw: dict[str, int],
        tasks: Sequence[Callable[[], None]] = (),
    ) -> None:
        self._database = database
        self._tasks = tasks
        self._hnsw = hnsw
        self._loaded: dict[str, LoadedIndex] = {}
        self._locks = {kind: threading.RLock() for kind in ("names", "terms", "vectors")}
        self._dropping = threading.Lock()
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    # -- asking ------------------------------------------------------------------------------------

    def names(self) -> NameIndex:
        """Keys by label number, with every committed label in it."""
        return self._up_to_date("names").index  # type: ignore[no-any-return]

    def terms(self) -> TermIndex:
        """Texts by document number, with every committed text in it."""
        return self._up_to_date("terms").index  # type: ignore[no-any-return]

    def vectors(self) -> VectorIndex | None:
        """Windows of the current model by vector number; None while the store has no vectors."""
        return self._up_to_date("vectors").index  # type: ignore[no-any-return]

    def current(self, kind: str) -> Any:
        return self._up_to_date(kind).index

    def loaded(self) -> dict[str, Any]:
        """The indexes that were needed so far."""
        indexes = {kind: loaded.index for kind, loaded in self._loaded.items()}
        return {kind: index for kind, index in indexes.items() if index is not None}

    def _up_to_date(self, kind: str) -> LoadedIndex:
        loaded = self._loaded.get(kind)
        with translate(self._database.path):
            numbers = self._database.reader.execute(SQL.newest_numbers).get
        if loaded is not None:
            # Asked before every search: mostly nothing was written since the one before.
            if numbers == loaded.newest:
                return loaded
            newest = NewestNumbers(*numbers)
            if loaded.is_current(kind, newest):
                loaded.newest = newest
                return loaded
        with self._locks[kind], self._database.snapshot() as cursor:
            return self._catch_up(kind, cursor)

    def _catch_up(self, kind: str, cursor: apsw.Cursor) -> LoadedIndex:
        newest = NewestNumbers(*cursor.execute(SQL.newest_numbers).get)
        loaded = self._loaded.get(kind)
        if loaded is None or is_outdated(kind, loaded, cursor, newest):
            loaded = load_index(kind, cursor, newest.tombstone_no, self._hnsw)
            self._loaded[kind] = loaded
            self.start()
        catch_up(kind, loaded, cursor, newest)
        is_small = kind != "vectors" and len(loaded.index) <= _SMALL
        if is_small and loaded.index.tail_size > _SMALL_TAIL:
            loaded.index.compact()
        return loaded

    # -- storing -----------------------------------------------------------------------------------

    def save(self, kind: str) -> None:
        """Store a snapshot of an index as it is now, if the store can be written."""
        if self._database.read_only:
            return
        with self._locks[kind]:
            loaded = self._loaded[kind]
            # what has something that was erased is not stored; who reads an old state for as long
            # as a dump takes would keep the log from being emptied
            with self._database.snapshot() as cursor:
                newest = NewestNumbers(*cursor.execute(SQL.newest_numbers).get)
                if not is_outdated(kind, loaded, cursor, newest):
                    catch_up(kind, loaded, cursor, newest)
            index = loaded.index
            data = index.dump_graph() if kind == "vectors" else index.dump()
            size = loaded.size_to_save(kind)
            last_number = loaded.last_number
            known_size = loaded.saved_size
            drops = loaded.drops
            snapshot = IndexSnapshot(data, loaded.last_tombstone, loaded.model)

        def write(cursor: apsw.Cursor) -> int:
            return write_snapshot(
                cursor, kind, snapshot, last_number=last_number, size=size, known_size=known_size
            )

        saved_size = self._database.write(write)
        with self._dropping:
            # of what was dropped since it was written nothing is stored
            if loaded.drops == drops:
                loaded.saved_size = saved_size

    # -- in the background -------------------------------------------------------------------------

    def start(self) -> None:
        if self._thread is None and not self._stop.is_set():
            self._thread = threading.Thread(target=self._run, name="remloom-indexes", daemon=True)
            self._thread.start()

    def _run(self) -> None:
        try:
            while not self._stop.wait(_INTERVAL):
                with suppress(StoreBusyError, StoreFullError):  # it is tried again
                    self._work()
        except StoreError:
            # of a file that is damaged or gone: the next read or write reports it
            self._thread = None

    def _work(self) -> None:
        for task in self._tasks:
            task()
        for kind in list(self._loaded):
            if self._stop.is_set():
                return
            self.maintain(kind, self._stop.is_set)

    def maintain(self, kind: str, stop: Callable[[], bool] = lambda: False) -> None:
        """Merge a long tail and store a snapshot when it pays. Searches go on meanwhile."""
        # so that the first question after a burst of writes finds most of it done
        loaded = self._up_to_date(kind)
        if loaded.index is None:
            return
        index = loaded.index
        if kind == "vectors":
            while not stop() and index.advance(_STEP):
                pass
        elif index.tail_size > _TAIL:
            index.compact()
        elif loaded.saved_size:
            return
        if (
            not stop()
            and loaded.size_to_save(kind) > max(_TAIL, loaded.saved_size * _GROWTH)
            and time.monotonic() > loaded.save_after
        ):
            self.save(kind)

    def drop_saved(self, kinds: Iterable[str]) -> None:
        """Note that snapshots were dropped: they are stored again when nothing was erased for a
        while."""
        for kind in kinds:
            if (loaded := self._loaded.get(kind)) is not None:
                with self._dropping:
                    loaded.drops += 1
                    loaded.saved_size = 0
                loaded.save_after = time.monotonic() + _SAVE_DELAY

    def optimize(self) -> None:
        """Bring every index up to date, merge tails, store snapshots. May take minutes."""
        for kind in self._locks:
            loaded = self._up_to_date(kind)
            if loaded.index is None or not len(loaded.index):
                continue
            if kind == "vectors":
                while loaded.index.advance(_STEP):
                    pass
            elif loaded.index.tail_size:
                loaded.index.compact()
            self.save(kind)

    def close(self) -> None:
        """Stop the background work; what is cheap to keep is kept for the next process."""
        self._stop.set()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join()
        for kind, loaded in self._loaded.items():
            size = loaded.size_to_save(kind)
            few = size * _FEW_VECTORS if kind == "vectors" else _TAIL
            if size - loaded.saved_size > few:
                if kind != "vectors":
                    loaded.index.compact()
                with suppress(StoreError):  # the next process makes it again
                    self.save(kind)
