"""The part of `Store.query` that goes by a vector, for any provider."""

from __future__ import annotations

from ..errors import InvalidInputError
from ..predicates import MOST_RESULTS, Predicate, Query
from .contract import Match, Store
from .predicate_sql import check_window, known, split

__all__ = ["similar"]


def similar(store: Store, schema: str, query: Query) -> tuple[Predicate, list[Match] | None]:
    """The filter without its VectorSimilar, and what that finds, best first; None when it has none.

    Raises:
        UnknownNameError: there is no such schema.
        InvalidInputError: a negative limit or offset; two VectorSimilar, or one whose top_k or
            min_score is none.
    """
    known(schema)
    check_window(query.count, query.skip)
    wanted, rest = split(query.where)
    if wanted is None:
        return rest, None
    limit, least = wanted.top_k, wanted.min_score
    if not isinstance(limit, int) or isinstance(limit, bool) or not 1 <= limit <= MOST_RESULTS:
        raise InvalidInputError(
            f"top_k is a whole number from 1 to {MOST_RESULTS:,}, not {limit!r}"
        )
    if not isinstance(least, (int, float)) or not -1 <= least <= 1:  # nor is NaN
        raise InvalidInputError(f"min_score is a cosine, a number from -1 to 1, not {least!r}")
    return rest, store.search_vector(
        wanted.query, schema=schema, where=rest, limit=limit, min_score=least
    )
