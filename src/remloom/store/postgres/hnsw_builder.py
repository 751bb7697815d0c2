"""Moving a tenant's vectors into the HNSW index of their dimension, in the background."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from ...errors import StoreError
from .database import Database
from .server_errors import translate_errors

if TYPE_CHECKING:
    from psycopg import Cursor

__all__ = ["TAIL", "Indexing"]

TAIL = 4_000  # vectors compared one by one before they go into the HNSW index
_AT_ONCE = 1_000  # vectors put into it in one transaction
_MODEL = "SELECT model, dims FROM remloom.models WHERE tenant_id = %s AND current"


class Indexing:
    """The vectors of one tenant that are not in the index yet.

    Args:
        hnsw: `m` and `ef_construction`, for the index of a dimension that has none.
        tail: vectors that may stay outside.
    """

    def __init__(self, server: Database, tenant: str, hnsw: dict[str, int], tail: int) -> None:
        self._server = server
        self._tenant = tenant
        self._hnsw = hnsw
        self._tail = tail
        self._closed = False
        self._working = threading.Lock()  # one thread at a time moves vectors
        # vectors written since the tail was last measured; unknown at first
        self._since = tail

    def grown(self, vectors: int | None) -> None:
        """So many vectors were written (None: nobody counted): look now and then whether to move
        some."""
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
            # they are searched one by one meanwhile; `settle` says what is wrong
            pass
        finally:
            self._working.release()

    def _move_if_many(self) -> None:
        self._since = 0
        serving = self._server.fetch(self._tenant, _MODEL, (self._tenant,))
        if not serving:
            return
        model, dims = serving[0]
        ((outside,),) = self._server.fetch(
            self._tenant,
            "SELECT count(*) FROM remloom.vectors WHERE tenant_id = %s AND model = %s AND NOT indexed",
            (self._tenant, model),
        )
        if outside <= self._tail:
            return
        name = f"vectors_hnsw_{dims}"
        with self._server.connect() as connection, translate_errors(self._server.description):
            missing = connection.execute(
                "SELECT to_regclass(%s) IS NULL", (f"remloom.{name}",)
            ).fetchone() == (True,)
        while not self._closed and self._server.write(
            self._tenant, lambda cursor: self._some(cursor, model)
        ):
            pass
        # only now: a graph is built several times as quickly as it grows
        if missing and not self._closed:
            m, effort = self._hnsw.get("m", 16), self._hnsw.get("ef_construction", 200)
            self._server.define(
                f"CREATE INDEX IF NOT EXISTS {name} ON remloom.vectors USING hnsw ((data::halfvec({dims}))"
                f" halfvec_cosine_ops) WITH (m = {m}, ef_construction = {effort}) WHERE dims = {dims} AND indexed"
            )

    def _some(self, cursor: Cursor[Any], model: int) -> int:
        """Move a batch; returns how many there were."""
        moved = cursor.execute(
            "UPDATE remloom.vectors v SET indexed = true WHERE v.tenant_id = %s AND v.ctid = ANY (ARRAY(SELECT t.ctid"
            " FROM remloom.vectors t WHERE t.tenant_id = %s AND t.model = %s AND NOT t.indexed LIMIT %s))",
            (self._tenant, self._tenant, model, _AT_ONCE),
        ).rowcount
        if moved:
            cursor.execute(
                "UPDATE remloom.models SET indexed = true WHERE tenant_id = %s AND model = %s",
                (self._tenant, model),
            )
        return moved
