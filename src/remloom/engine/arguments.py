"""Checks of arguments that several services of `Memory` share."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from ..errors import InvalidInputError, UnknownNameError
from ..labels import storable
from ..predicates import MOST_RESULTS, Query

if TYPE_CHECKING:
    from ..llm import Budget


_T = TypeVar("_T")
MAX_COUNT = 2**63 - 1  # of rows, in either store
RUN_KINDS = (
    "learn",
    "dream",
    "moments",
    "affinity",
    "consolidate",
    "refresh",
    "confirm",
    "observe",
    "normalise",
    "profile",
)
_LIFETIME = re.compile(r"(\d{1,5})\s*(h|d|w)")
_UNITS = {"h": timedelta(hours=1), "d": timedelta(days=1), "w": timedelta(weeks=1)}
Progress: TypeAlias = Callable[[int, int], None]  # called as progress(done, total)


def check_aware(at: datetime) -> None:
    """Refuse a time without a time zone, or one that UTC does not have."""
    if not isinstance(at, datetime) or at.utcoffset() is None:
        raise InvalidInputError(
            f"{at} has no time zone",
            remedy="write it like 2025-05-01T09:30:00Z; in Python datetime.now(UTC)",
        )
    try:
        at.astimezone(UTC)
    except OverflowError as error:
        raise InvalidInputError(
            f"{at.isoformat()} is out of range", remedy="give a time of the years 1 to 9999 in UTC"
        ) from error


def end_of(text: str, now: datetime, what: str) -> datetime | None:
    """Read when something ends: a time such as "2027-01-31", or how long it lasts, such as "12h".

    Args:
        text: empty: never.
        what: that ends, for the message of an error: "a key".

    Raises:
        InvalidInputError: it is not a time, or is over.
    """
    if not text.strip():
        return None
    end = _parse_end(text.strip(), now)
    if end <= now:
        raise InvalidInputError(
            f"{what} that ended at {end.isoformat()} is of no use", remedy="give a time to come"
        )
    return end.astimezone(UTC)


def _parse_end(text: str, now: datetime) -> datetime:
    duration = _LIFETIME.fullmatch(text)
    try:
        end = (
            now + int(duration[1]) * _UNITS[duration[2]]
            if duration
            else datetime.fromisoformat(text)
        )
    except (ValueError, OverflowError):
        raise InvalidInputError(
            f"{text!r:.50} is no time", remedy="write it like 30d, 12h, or 2027-01-31"
        ) from None
    return end if end.tzinfo is not None else end.replace(tzinfo=UTC)


def edge_type_names(edge_types: Sequence[str] | None) -> tuple[str, ...]:
    """Give types of edges as a tuple; one may be given as a plain text."""
    names = (edge_types,) if isinstance(edge_types, str) else edge_types or ()
    is_list = isinstance(names, (list, tuple, set, frozenset))
    if not is_list or not all(isinstance(name, str) for name in names):
        raise InvalidInputError(
            f"types of edges are texts, not {edge_types!r}", remedy='edge_types=["knows"]'
        )
    return tuple(names)


def check_budget(budget: Any) -> Budget:
    """Refuse what is not a budget, which would else be noticed by the first call; None has no
    limit."""
    from ..llm import Budget

    if budget is None:
        return Budget()
    if not isinstance(budget, Budget):
        raise InvalidInputError(
            f"a budget is not a {type(budget).__name__}", remedy="budget=Budget(tokens=100_000)"
        )
    return budget


def check_kind(value: Any, kind: type[_T]) -> _T:
    """Refuse a value of another kind."""
    if not isinstance(value, kind):
        raise InvalidInputError(f"expected a {kind.__name__}, not a {type(value).__name__}")
    return value


def check_query(query: Any) -> Query:
    """Refuse a query whose limit or offset is not a whole number from 0; no limit is fine."""
    checked = check_kind(query, Query)
    if checked.count is not None:
        _check_count(checked.count, "a limit")
    _check_count(checked.skip, "an offset")
    return checked


def _check_count(number: Any, name: str) -> None:
    is_whole = isinstance(number, int) and not isinstance(number, bool)
    if not is_whole or not 0 <= number <= MAX_COUNT:
        raise InvalidInputError(f"{name} is a whole number from 0 to {MAX_COUNT:,}, not {number!r}")


def check_text(value: Any, name: str) -> str:
    """Refuse what is not text, or text that no store can hold."""
    if not isinstance(value, str):
        raise InvalidInputError(f"{name} is text, not {type(value).__name__}")
    if not storable(value):
        raise InvalidInputError(
            f"{value[:80]!r} is not {name}", remedy="decode it as UTF-8, without NUL characters"
        )
    return value


def check_ids(ids: Any) -> list[str]:
    """Refuse what is not a list of ids; one text is none."""
    is_list = isinstance(ids, Iterable) and not isinstance(ids, str | bytes | Mapping)
    listed = list(ids) if is_list else []
    if not is_list or not all(isinstance(id, str) for id in listed):
        raise InvalidInputError(f"ids are a list of texts, not {ids!r}"[:200], remedy='["…"]')
    return listed


def check_limit(limit: int) -> int:
    """Refuse a number of results below 1, or above what one answer may hold."""
    is_whole = isinstance(limit, int) and not isinstance(limit, bool)
    if not is_whole or not 1 <= limit <= MOST_RESULTS:
        raise InvalidInputError(
            f"a limit is a whole number from 1 to {MOST_RESULTS:,}, not {limit!r}"
        )
    return limit


def check_run_kind(kind: str) -> str:
    """Refuse an unknown kind of run; "" stands for all of them."""
    if check_text(kind, "a kind of run") and kind not in RUN_KINDS:
        raise UnknownNameError("kind of run", kind, RUN_KINDS)
    return kind
