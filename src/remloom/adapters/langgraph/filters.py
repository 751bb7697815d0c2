"""Filters over the values of items, as LangGraph writes them: `{"status": "new", "n": {"$gt": 3}}`.

A filter is decided here, in Python, on the value itself. What of it a store can decide sooner goes
along as a predicate, which may let through more, never less. No key reaches SQL but by that.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from ...errors import InvalidInputError, UnknownNameError
from ...labels import storable
from ...predicates import Eq, Gt, Gte, Lt, Lte, Predicate

_COMPARISONS: dict[str, tuple[Callable[[Any, Any], bool], type[Gt | Gte | Lt | Lte]]] = {
    "$gt": (operator.gt, Gt),
    "$gte": (operator.ge, Gte),
    "$lt": (operator.lt, Lt),
    "$lte": (operator.le, Lte),
}
_OPERATORS = ("$eq", "$ne", *_COMPARISONS)
_REFUSED = re.compile(r"""["'`\\\x00-\x1f\x7f]""")
# a name that a predicate can say: see `Conditions.field`
_PLAIN = re.compile(r"[A-Za-z0-9_-]+", re.ASCII)


class Filter:
    """Which values are wanted.

    A key is a name of the value, or else a path of names with dots between; a name that is not
    there has the value None. An object whose names begin with `$` holds operators; any other is
    compared name by name, a list part by part. Numbers compare with numbers, texts with texts; what
    else is put before or behind each other does not match.

    Raises:
        InvalidInputError: a key has a quote, a backslash or a control character in it.
        UnknownNameError: an operator that there is not.
    """

    def __init__(self, wanted: Mapping[str, Any] | None) -> None:
        self._wanted = dict(wanted or {})
        _check_keys(self._wanted, is_value=True)

    def __bool__(self) -> bool:
        return bool(self._wanted)

    def matches(self, value: Mapping[str, Any]) -> bool:
        """Say whether a value is wanted."""
        return all(_fits(_find(value, key), wanted) for key, wanted in self._wanted.items())

    def predicates(self) -> Iterator[Predicate]:
        """Yield what a store can decide: each holds wherever the filter matches."""
        for key, wanted in self._wanted.items():
            if not _PLAIN.fullmatch(key):
                continue
            field = f"metadata.value.{key}"
            operators = wanted if _is_operators(wanted) else {"$eq": wanted}
            for name, operand in operators.items():
                if not _is_comparable(operand):
                    continue
                if name == "$eq":
                    yield Eq(field, operand)
                elif name in _COMPARISONS and not isinstance(operand, bool):
                    yield _COMPARISONS[name][1](field, operand)


def _check_keys(wanted: Any, *, is_value: bool = False) -> None:
    """Check the keys of a filter, or of a part of it; a whole value holds no operators."""
    if isinstance(wanted, list | tuple):
        for part in wanted:
            _check_keys(part)
    if not isinstance(wanted, Mapping):
        return
    for key, part in wanted.items():
        if not isinstance(key, str) or not key or _REFUSED.search(key):
            raise InvalidInputError(
                f"Invalid filter key {key!r:.100}",
                remedy="a key is text without quotes, backslashes and control characters",
            )
        _check_keys(part)
    if not is_value and _is_operators(wanted):
        for key in wanted:
            if key not in _OPERATORS:
                raise UnknownNameError("operator", key, _OPERATORS)


def _is_operators(wanted: Any) -> bool:
    return isinstance(wanted, Mapping) and any(key.startswith("$") for key in wanted)


def _is_comparable(operand: Any) -> bool:
    """Whether a predicate can compare with it."""
    if isinstance(operand, float):
        return math.isfinite(operand)
    return isinstance(operand, int) or (isinstance(operand, str) and storable(operand))


def _find(value: Mapping[str, Any], key: str) -> Any:
    if key in value or "." not in key:
        return value.get(key)
    found: Any = value
    for name in key.split("."):
        if not isinstance(found, Mapping) or name not in found:
            return None
        found = found[name]
    return found


def _fits(value: Any, wanted: Any) -> bool:
    if _is_operators(wanted):
        return all(_holds(value, name, operand) for name, operand in wanted.items())
    if isinstance(wanted, Mapping):
        if not isinstance(value, Mapping):
            return False
        return all(_fits(_find(value, key), part) for key, part in wanted.items())
    if isinstance(wanted, list | tuple):
        if not isinstance(value, list | tuple) or len(value) != len(wanted):
            return False
        return all(map(_fits, value, wanted))
    return _equal(value, wanted)


def _holds(value: Any, name: str, operand: Any) -> bool:
    if name == "$eq":
        return _equal(value, operand)
    if name == "$ne":
        return not _equal(value, operand)
    if not (_are_numbers(value, operand) or _are_texts(value, operand)):
        return False
    return _COMPARISONS[name][0](value, operand)


def _equal(value: Any, other: Any) -> bool:
    """Whether two values are the same in JSON, where true is not 1."""
    if isinstance(value, bool) or isinstance(other, bool):
        return value is other
    return bool(value == other)


def _are_numbers(*values: Any) -> bool:
    return all(isinstance(one, int | float) and not isinstance(one, bool) for one in values)


def _are_texts(*values: Any) -> bool:
    return all(isinstance(one, str) for one in values)
