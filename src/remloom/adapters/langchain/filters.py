"""Filters over the metadata of documents, as LangChain's vector stores write them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ...errors import InvalidInputError, UnknownNameError
from ...labels import storable
from ...predicates import (
    And,
    Eq,
    Exists,
    Gt,
    Gte,
    In,
    Lt,
    Lte,
    Ne,
    Not,
    NotExists,
    NotIn,
    Or,
    Predicate,
)

_COMPARISONS: dict[str, Callable[[str, Any], Predicate]] = {
    "$eq": Eq,
    "$ne": Ne,
    "$gt": Gt,
    "$gte": Gte,
    "$lt": Lt,
    "$lte": Lte,
    "$in": In,
    "$nin": NotIn,
}
_REFUSED = set("\"'\\`[]{}$")
_OPERATORS = (*_COMPARISONS, "$exists", "$and", "$or", "$not")


def predicate_of(wanted: Mapping[str, Any], within: str) -> Predicate:
    """Translate a filter such as `{"year": {"$gte": 2020}, "$or": [{"a": 1}, {"b": 2}]}`.

    Keys are names of the metadata, with dots between those of objects inside each other; several
    conditions hold together. `$ne` and `$nin` hold only where the key is there.

    Args:
        within: the field that has the metadata.

    Raises:
        InvalidInputError: a key is no name, or an operator has no value that it takes.
        UnknownNameError: there is no such operator.
    """
    conditions: list[Predicate] = []
    for key, value in wanted.items():
        if isinstance(key, str) and key.startswith("$"):
            conditions.append(_joined(key, value, within))
        else:
            conditions += _compared(f"{within}.{_checked(key)}", value)
    return And(tuple(conditions))


def _joined(operator: str, value: Any, within: str) -> Predicate:
    if operator not in _OPERATORS:
        raise UnknownNameError("operator", operator, _OPERATORS)
    if operator == "$not" and isinstance(value, Mapping):
        return Not(predicate_of(value, within))
    is_list = isinstance(value, Sequence) and all(isinstance(part, Mapping) for part in value)
    if operator in ("$and", "$or") and is_list:
        parts = tuple(predicate_of(part, within) for part in value)
        return And(parts) if operator == "$and" else Or(parts)
    raise InvalidInputError(
        f"{operator} does not take {value!r:.80}",
        remedy='{"$or": [{"a": 1}, {"b": 2}]}, {"$not": {"a": 1}}, {"a": {"$gt": 1}}',
    )


def _compared(field: str, value: Any) -> list[Predicate]:
    if not isinstance(value, Mapping):
        return [Eq(field, value)]
    conditions: list[Predicate] = []
    for operator, operand in value.items():
        if operator == "$exists":
            conditions.append(Exists(field) if operand else NotExists(field))
        elif operator in _COMPARISONS:
            conditions.append(_COMPARISONS[operator](field, operand))
        else:
            raise UnknownNameError("operator", str(operator), _OPERATORS)
    return conditions


def _checked(key: Any) -> str:
    """Refuse what is no name: nothing else gets into a field."""
    is_text = isinstance(key, str) and storable(key) and key.isprintable()
    if is_text and all(key.split(".")) and not set(key) & _REFUSED:
        return str(key)
    raise InvalidInputError(
        f"{key!r:.100} is not a key of a filter",
        remedy="use names without quotes, brackets, dollar signs and control characters",
    )
