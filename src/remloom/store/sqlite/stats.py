"""Counts what a tenant holds.

The records are counted type by type along an index, a tenth of a microsecond each: tallies kept by
triggers would make every write a tenth slower. Nothing else reads more than the pages of a small
index.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ..rules.expiry import now
from ..stats import MoveStats, Stats, TokenVectorStats, VectorStats, by_schema
from .file.connector import file_size
from .statements import SQL

if TYPE_CHECKING:
    import apsw


_RECORDS = "SELECT schema, type, count(*) FROM records GROUP BY 1, 2 ORDER BY 1, 3 DESC, 2"
_THIN = "SELECT count(*) FROM records WHERE schema = 'entities' AND thin = 1"


def queue_lengths(cursor: apsw.Cursor) -> tuple[int, int]:
    """Count the texts that wait for their vectors, and those parked. It costs what it counts."""
    waiting = cursor.execute("SELECT count(*) FROM pending WHERE parked = 0").get
    return waiting, cursor.execute("SELECT count(*) FROM pending").get - waiting


def token_queue_lengths(cursor: apsw.Cursor, model: str) -> tuple[int, int]:
    """Count the texts that wait for their token vectors of a model, and those parked."""
    number, _, upto = cursor.execute(SQL.token_model, (model,)).get or (0, 0, 0)
    values = {"name": model, "model": number, "upto": upto, "now": now()}
    fresh = cursor.execute(SQL.count_texts_without_tokens, values).get
    failed, parked = cursor.execute(SQL.count_token_failures, values).get
    return fresh + failed, parked


def collect(
    cursor: apsw.Cursor, path: Path, *, encrypted: bool, exact_share: float | None
) -> Stats:
    """Count what the tenant whose file is at `path` holds.

    Args:
        exact_share: of the vectors, those searched one by one; None: not known.
    """
    edges = cursor.execute("SELECT name, edges FROM rels ORDER BY 2 DESC, 1").fetchall()
    entries = cursor.execute("SELECT kind, count(*) FROM journal GROUP BY 1 ORDER BY 1").fetchall()
    waiting, parked = queue_lengths(cursor)
    return Stats(
        types=by_schema(cursor.execute(_RECORDS).fetchall()),
        thin_entities=cursor.execute(_THIN).get,
        keys=cursor.execute("SELECT count(*) FROM labels").get,
        edge_types=dict(edges),
        vectors=_vectors(cursor, exact_share),
        pending=waiting,
        parked=parked,
        expired=cursor.execute("SELECT count(*) FROM records WHERE expires <= ?", (now(),)).get,
        entries=dict(entries),
        encrypted=encrypted,
        token_vectors={
            name: _token_vectors(cursor, name)
            for name, _ in cursor.execute(SQL.token_models).fetchall()
        },
        moves=_moves(cursor),
        bytes=sum(map(file_size, path.parent.glob("memory.db*"))),
    )


def _vectors(cursor: apsw.Cursor, exact_share: float | None) -> VectorStats:
    models = cursor.execute("SELECT model, name, dims, current FROM models").fetchall()
    current = next((model for model in models if model[3]), None)
    if current is None:
        return VectorStats(0, "", 0, exact_share)
    number, name, dims, _ = current
    if len(models) == 1:
        count = cursor.execute("SELECT count(*) FROM vectors").get
    else:  # the vectors of another model are being made, to move to it
        count = cursor.execute("SELECT count(*) FROM vectors WHERE model = ?", (number,)).get
    return VectorStats(count, name, dims, exact_share)


def _moves(cursor: apsw.Cursor) -> tuple[MoveStats, ...]:
    models = cursor.execute("SELECT model, name, current FROM models ORDER BY model").fetchall()
    source = next((name for _, name, current in models if current), "")
    coming = [(number, name) for number, name, current in models if not current]
    if not coming:
        return ()
    total = cursor.execute("SELECT count(*) FROM records WHERE doc IS NOT NULL").get
    count = "SELECT count(DISTINCT rid) FROM vectors WHERE model = ?"
    return tuple(
        MoveStats("vectors", source, name, cursor.execute(count, (number,)).get, total)
        for number, name in coming
    )


def _token_vectors(cursor: apsw.Cursor, name: str) -> TokenVectorStats:
    number, dims, _ = cursor.execute(SQL.token_model, (name,)).get
    count = cursor.execute(SQL.count_token_vectors, (number,)).get
    waiting, parked = token_queue_lengths(cursor, name)
    return TokenVectorStats(count, dims, waiting, parked)
