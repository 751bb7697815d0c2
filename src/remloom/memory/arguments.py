"""Checks of arguments that several parts of `Memory` share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any, TypeAlias

from ..errors import InvalidInputError, UnknownNameError
from ..labels import storable
from ..predicates import MOST_RESULTS, Query

__all__ = ["Progress", "asked", "aware", "names", "of", "positive", "run_kind", "text"]

MOST = 2**63 - 1  # what a store can count to
RUN_KINDS = ("learn", "dream", "moments", "affinity", "consolidate")
Progress: TypeAlias = Callable[[int, int], None]  # told (done, all)


def aware(at: datetime) -> None:
    if not isinstance(at, datetime) or at.utcoffset() is None:
        raise InvalidInputError(
            f"{at!r} has no time zone", remedy="use an aware datetime, e.g. datetime.now(UTC)"
        )


def names(edge_types: Sequence[str] | None) -> tuple[str, ...]:
    found = (edge_types,) if isinstance(edge_types, str) else edge_types or ()
    if not isinstance(found, (list, tuple, set, frozenset)) or not all(
        isinstance(name, str) for name in found
    ):
        raise InvalidInputError(
            f"types of edges are texts, not {edge_types!r}", remedy='edge_types=["knows"]'
        )
    return tuple(found)


def of(value: Any, kind: type[Any]) -> Any:
    if not isinstance(value, kind):
        raise InvalidInputError(f"expected a {kind.__name__}, not a {type(value).__name__}")
    return value


def asked(query: Any) -> Query:
    """A query whose window is one: a limit of at least 0 or none, an offset of at least 0."""
    for number, what in ((of(query, Query).count, "a limit"), (query.skip, "an offset")):
        whole = isinstance(number, int) and not isinstance(number, bool) and 0 <= number <= MOST
        if not whole and (number is not None or what == "an offset"):
            raise InvalidInputError(f"{what} is a whole number from 0 to {MOST:,}, not {number!r}")
    return query  # type: ignore[no-any-return]


def text(value: Any, what: str) -> str:
    if not isinstance(value, str):
        raise InvalidInputError(f"{what} is text, not {type(value).__name__}")
    if not storable(value):
        raise InvalidInputError(
            f"{value[:80]!r} is not {what}", remedy="decode it as UTF-8, without NUL characters"
        )
    return value


def positive(limit: int) -> int:
    if not isinstance(limit, int) or isinstance(limit, bool) or not 1 <= limit <= MOST_RESULTS:
        raise InvalidInputError(
            f"a limit is a whole number from 1 to {MOST_RESULTS:,}, not {limit!r}"
        )
    return limit


def run_kind(kind: str) -> str:
    """A kind of run, or "" for all of them."""
    if text(kind, "a kind of run") and kind not in RUN_KINDS:
        raise UnknownNameError("kind of run", kind, RUN_KINDS)
    return kind
