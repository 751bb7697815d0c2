"""Moving a tenant's vectors into the HNSW index of their dimension, in the background."""

from __future__ import annotations

import threading

from ....errors import StoreError
from ..database import PostgresDatabase, TenantCursor
from ..rows import SQL
from ..server_errors import translate_errors

TAIL = 4_000  # vectors compared one by one before they go into the HNSW index
_AT_ONCE = 1_000  # vectors put into it in one transaction


class HnswBuilder:
    """The vectors of one tenant that are not in the index yet.

    Args:
        hnsw: `m` and `ef_construction`, for the index of a dimension that has none.
        tail: vectors that may stay outside.
    """

    def __init__(self, server: PostgresDatabase, hnsw: dict[str, int], tail: int) -> None:
        self._server = server
        self._hnsw = hnsw
        self._tail = tail
        self._closed = False
        self._working = threading.Lock()  # one thread at a time moves vectors
        # vectors written since the tail was last measured; unknown at first
        self._since = tail

    def count_written(self, vectors: int | None) -> None:
        """Take note that vectors were written (None: not counted), and move some now and then."""
        self._since += self._tail if vectors is None else vectors
        if vectors != 0 and self._since >= self._tail and self._working.acquire(blocking=False):
            threading.Thread(
                target=self._in_background, name="remloom-vectors", daemon=True
            ).start()

    def settle(self) -> None:
        """Move them now, if there are more than may stay outside."""
        with self._working:
            self._move_if_many()

    def close(self) -> None:
        """Stop after the batch that is being moved."""
        self._closed = True
        self._working.acquire()
        self._working.release()

    def _in_background(self) -> None:
        try:
            self._move_if_many()
        except StoreError:
            # they are searched one by one meanwhile; `optimize` says what is wrong
            pass
        finally:
            self._working.release()

    def _move_if_many(self) -> None:
        self._since = 0
        rows = self._server.fetch(SQL.current_model)
        if not rows:
            return
        model, _, dims = rows[0]
        ((outside,),) = self._server.fetch(SQL.count_unindexed_vectors, model=model)
        if outside <= self._tail:
            return
        name = f"vectors_hnsw_{dims}"
        with self._server.connect() as connection, translate_errors(self._server.description):
            row = connection.execute(SQL.has_no_relation, {"name": f"remloom.{name}"}).fetchone()
            missing = row == (True,)
        self._move_all(model)
        # Only now: a graph is built several times as quickly as it grows.
        if missing and not self._closed:
            sql = SQL.fill(
                "create_hnsw_index",
                name=name,
                dims=str(dims),
                m=str(self._hnsw.get("m", 16)),
                ef_construction=str(self._hnsw.get("ef_construction", 200)),
            )
            self._server.define(sql)

    def _move_all(self, model: int) -> None:
        """Move every vector that is outside, a batch a transaction."""

        def move(cursor: TenantCursor) -> int:
            moved = cursor.run(SQL.index_some_vectors, model=model, limit=_AT_ONCE)
            if moved:
                cursor.run(SQL.mark_indexed, model=model)
            return moved

        while not self._closed and self._server.write(move):
            pass
