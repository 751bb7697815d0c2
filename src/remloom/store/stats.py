"""What a store holds, in numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import msgspec
from msgspec import Struct

from .encoding import SCHEMAS, now
from .sql_files import SqlFiles
from .stored_vectors import StoredTokenVectors, StoredVectors


class VectorStats(Struct, frozen=True):
    """The vectors that serve."""

    count: int
    model: str  # "" while there are none
    dims: int
    exact_share: float | None = None  # searched one by one; None: not known


class TokenVectorStats(Struct, frozen=True):
    """The token vectors that one model made."""

    count: int  # texts that have them
    dims: int  # 0: none was made yet
    pending: int  # texts that wait for them
    parked: int  # texts for which they failed too often


class MoveStats(Struct, frozen=True):
    """A move to another model, which somebody is at, or which was cut off."""

    what: str  # vectors or token vectors
    source: str  # the model that made those that serve; "" when there are none
    target: str  # the model that makes them again
    done: int  # texts
    total: int  # texts


class Stats(Struct, frozen=True):
    """What a store holds, in numbers."""

    types: dict[str, dict[str, int]]  # records by schema, then by type ("": of none)
    thin_entities: int
    keys: int
    edge_types: dict[str, int]  # edges by type
    vectors: VectorStats
    pending: int  # texts that wait for their vectors
    parked: int  # texts whose embedding failed too often
    expired: int  # records that wait for the sweep; they are counted among the others
    entries: dict[str, int]  # key-value entries by namespace
    encrypted: bool
    bytes: int  # on disk
    token_vectors: dict[str, TokenVectorStats] = {}  # by the model that made them
    moves: tuple[MoveStats, ...] = ()

    @property
    def records(self) -> dict[str, int]:
        """Records by schema."""
        return {schema: sum(types.values()) for schema, types in self.types.items()}

    @property
    def edges(self) -> int:
        """Edges of every type."""
        return sum(self.edge_types.values())

    def as_dict(self) -> dict[str, Any]:
        """The same as a dictionary, as `remloom stats` prints it."""
        return {
            "records": self.records,
            "types": self.types,
            "thin_entities": self.thin_entities,
            "keys": self.keys,
            "edges": self.edges,
            "edge_types": self.edge_types,
            "vectors": msgspec.structs.asdict(self.vectors),
            "token_vectors": {
                model: msgspec.structs.asdict(made) for model, made in self.token_vectors.items()
            },
            "moves": [msgspec.structs.asdict(move) for move in self.moves],
            "pending": self.pending,
            "parked": self.parked,
            "expired": self.expired,
            "entries": self.entries,
            "encrypted": self.encrypted,
            "bytes": self.bytes,
        }


def by_schema(rows: Iterable[tuple[str, str | None, int]]) -> dict[str, dict[str, int]]:
    """Sort rows of (schema, type, count) into `Stats.types`; each schema is in it."""
    types: dict[str, dict[str, int]] = {schema: {} for schema in SCHEMAS}
    for schema, type, count in rows:
        types.setdefault(schema, {})[type or ""] = count
    return types


def collect(
    statements: SqlFiles,
    fetch: Callable[..., list[Any]],
    vectors: StoredVectors,
    token_vectors: StoredTokenVectors,
    **own: Any,
) -> Stats:
    """Count what a tenant holds, by statements that both stores have.

    Args:
        own: the fields that each store counts in a way of its own.
    """
    model = fetch(statements.current_model)
    number, name, dims = model[0] if model else (0, "", 0)
    ((count,),) = fetch(statements.count_vectors, model=number) if model else ((0,),)
    waiting, parked = vectors.queue_lengths()
    ((keys,),) = fetch(statements.count_keys)
    ((expired,),) = fetch(statements.count_expired, now=now())
    tokens = {}
    for model_name, _ in token_vectors.models():
        ((token_model, token_dims, _),) = fetch(statements.token_model, name=model_name)
        ((texts,),) = fetch(statements.count_token_vectors, model=token_model)
        queue = token_vectors.queue_lengths(model_name)
        tokens[model_name] = TokenVectorStats(texts, token_dims, *queue)
    return Stats(
        keys=keys,
        edge_types=dict(fetch(statements.count_edges_of_types)),
        vectors=VectorStats(count, name, dims),
        pending=waiting,
        parked=parked,
        expired=expired,
        entries=dict(fetch(statements.count_entries_of_namespaces)),
        token_vectors=tokens,
        moves=_moves(statements, fetch),
        **own,
    )


def _moves(statements: SqlFiles, fetch: Callable[..., list[Any]]) -> tuple[MoveStats, ...]:
    models = sorted(fetch(statements.models))
    source = next((name for _, name, _, current in models if current), "")
    coming = [(number, name) for number, name, _, current in models if not current]
    if not coming:
        return ()
    ((total,),) = fetch(statements.count_texts_to_embed)
    moves = []
    for number, name in coming:
        ((done,),) = fetch(statements.count_embedded_texts, model=number)
        moves.append(MoveStats("vectors", source, name, done, total))
    return tuple(moves)
