"""The part of `Store.query` that goes by a vector, for any provider."""

from __future__ import annotations

from ..predicates import Predicate, Query
from .compiling import check_window, known, split
from .contract import Match, Store

__all__ = ["similar"]


def similar(store: Store, schema: str, query: Query) -> tuple[Predicate, list[Match] | None]:
    """The filter without its VectorSimilar, and what that finds, best first; None when it has none.

    Raises:
        UnknownNameError: there is no such schema.
        InvalidInputError: a negative limit or offset; two VectorSimilar.
    """
    known(schema)
    check_window(query.count, query.skip)
    wanted, rest = split(query.where)
    if wanted is None:
        return rest, None
    limit, least = wanted.top_k, wanted.min_score
    return rest, store.search_vector(wanted.query, schema=schema, where=rest, limit=limit, min_score=least)
