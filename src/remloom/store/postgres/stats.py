"""Counts what a tenant holds.

Each counts along an index that has all it asks for; only the size is estimated, from some of the
rows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..rules.expiry import now
from ..stats import MoveStats, Stats, TokenVectorStats, VectorStats, by_schema
from .statements import SQL

if TYPE_CHECKING:
    from psycopg import Cursor


_SAMPLE = 1_000  # records whose size tells that of all


def queue_lengths(cursor: Cursor[Any], tenant: str) -> tuple[int, int]:
    """Count the texts that wait for their vectors, and those parked. It costs what it counts."""
    ((waiting, parked),) = cursor.execute(SQL.count_pending, {"tenant": tenant}).fetchall()
    return waiting, parked


def token_queue_lengths(cursor: Cursor[Any], tenant: str, model: str) -> tuple[int, int]:
    """Count the texts that wait for their token vectors of a model, and those parked."""

    def fetch(sql: str, **values: Any) -> list[Any]:
        return cursor.execute(sql, {"tenant": tenant, "name": model, **values}).fetchall()

    number, _, upto = (fetch(SQL.token_model) or [(0, 0, 0)])[0]
    ((fresh,),) = fetch(SQL.count_texts_without_tokens, model=number, upto=upto, now=now())
    ((failed, parked),) = fetch(SQL.count_token_failures, now=now())
    return fresh + failed, parked


def collect(cursor: Cursor[Any], tenant: str) -> Stats:
    """Count what a tenant holds."""

    def fetch(sql: str, **values: Any) -> list[Any]:
        return cursor.execute(sql, {"tenant": tenant, **values}).fetchall()

    by_type = fetch(SQL.count_records)
    waiting, parked = queue_lengths(cursor, tenant)
    ((keys,),) = fetch(SQL.count_keys)
    ((size,),) = fetch(SQL.record_size, sample=_SAMPLE)
    model = fetch(SQL.current_model)
    number, name, dims = model[0] if model else (0, "", 0)
    ((vectors,),) = fetch(SQL.count_vectors, model=number)
    ((exact,),) = fetch(SQL.count_unindexed_vectors, model=number)
    exact_share = round(exact / vectors, 4) if vectors else None
    return Stats(
        types=by_schema((schema, type, count) for schema, type, count, _ in by_type),
        thin_entities=sum(thin for _, _, _, thin in by_type),
        keys=keys,
        edge_types=dict(fetch(SQL.count_edges_of_types)),
        vectors=VectorStats(vectors, name, dims, exact_share),
        pending=waiting,
        parked=parked,
        expired=fetch(SQL.count_expired, now=now())[0][0],
        entries=dict(fetch(SQL.count_entries)),
        encrypted=False,  # Remloom does not encrypt what it keeps in PostgreSQL
        token_vectors={
            name: _token_vectors(cursor, tenant, name) for name, _ in fetch(SQL.token_models)
        },
        moves=_moves(fetch(SQL.models), fetch),
        bytes=int(size * sum(count for _, _, count, _ in by_type)),
    )


def _moves(models: list[Any], fetch: Callable[..., list[Any]]) -> tuple[MoveStats, ...]:
    source = next((name for _, name, _, current in models if current), "")
    coming = [(number, name) for number, name, _, current in sorted(models) if not current]
    if not coming:
        return ()
    ((total,),) = fetch(SQL.count_texts_to_embed)
    return tuple(
        MoveStats(
            "vectors", source, name, fetch(SQL.count_embedded_texts, model=number)[0][0], total
        )
        for number, name in coming
    )


def _token_vectors(cursor: Cursor[Any], tenant: str, name: str) -> TokenVectorStats:
    values = {"tenant": tenant, "name": name}
    ((number, dims, _),) = cursor.execute(SQL.token_model, values).fetchall()
    values = {"tenant": tenant, "model": number}
    ((count,),) = cursor.execute(SQL.count_token_vectors, values).fetchall()
    return TokenVectorStats(count, dims, *token_queue_lengths(cursor, tenant, name))
