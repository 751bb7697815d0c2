"""Predicates as expression values: what a field name means, and what it may be compared with."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any, TypeAlias

from msgspec.structs import replace

from .. import predicates
from ..errors import InvalidInputError, UnknownNameError
from ..labels import storable
from ..model import Row
from ..predicates import Predicate
from . import values
from .coercion import literal
from .columns import (
    DEFAULTS,
    OBJECTS,
    RENAMED,
    SCHEMAS,
    TIMES,
    SqlTable,
    column,
    is_json,
)
from .matching import check_regex
from .times import parse_time
from .values import Column, Expression, Json, Operator, Type, Value

_Comparison: TypeAlias = (
    predicates.Eq | predicates.Ne | predicates.Gt | predicates.Gte | predicates.Lt | predicates.Lte
)
_TextSearch: TypeAlias = predicates.StartsWith | predicates.EndsWith | predicates.Matches

_OPERATORS: dict[type[Any], Operator] = {
    predicates.Eq: "=",
    predicates.Ne: "<>",
    predicates.Gt: ">",
    predicates.Gte: ">=",
    predicates.Lt: "<",
    predicates.Lte: "<=",
}
_ANNOTATIONS = {
    name: annotation
    for schema in (*SCHEMAS.values(), Row)
    for name, annotation in schema.__annotations__.items()
}
_NOT_TEXT = ("time", "date", "integer", "real", "number", "boolean")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Conditions:
    """Reads the predicates of one table.

    Args:
        table: whose fields are known.
        has_path: whether any record has this JSON path; asked for a bare name that is not a field,
            which then means a key of `properties` (entities) or `metadata` (resources, moments).
    """

    def __init__(self, table: SqlTable, has_path: Callable[[str], bool]) -> None:
        self.table = table
        self.schema = table.name
        self._has_path = has_path
        self._fields = table.fields

    def field(self, name: str) -> str:
        """The full path that a field name means.

        Raises:
            UnknownNameError: the schema has no such field.
        """
        if not isinstance(name, str):
            raise InvalidInputError(f"{name!r} is not a field name")
        name = RENAMED.get(name, name)
        # No name has a quote: a store writes names and paths into its SQL.
        has_quote = any(char in name for char in "\"'\\")
        if not name or has_quote or not storable(name):
            raise InvalidInputError(f"{name!r} is not a field name")
        first, dot, rest = name.removeprefix("fields.").partition(".")
        first = self.table.renamed.get(first, first)
        if not dot and first in self.table.own:
            return first
        if first in self.table.own and self.table.own[first].kind == "json":
            return f"fields.{first}.{rest}"
        root = name.partition(".")[0]
        if name in self._fields or (root in OBJECTS and root in self._fields):
            return name
        if self.table.is_registered:
            raise UnknownNameError(f"field of {self.schema}", name, self._fields)
        column = "properties" if self.schema == "entities" else "metadata"
        path = f"{column}.{name}"
        if self._has_path(path):
            return path
        raise UnknownNameError(f"field of {self.schema}", name, self._fields)

    def value(self, name: str) -> Column | Json:
        """The value that a field name means."""
        return self._value_at(self.field(name))

    def _value_at(self, path: str) -> Column | Json:
        if path in self.table.own:
            return self.table.columns[path]
        root, *steps = path.split(".")
        field = self.table.columns.get(steps[0]) if root == "fields" and steps else None
        if isinstance(field, Json):
            return replace(field, steps=tuple(steps), is_list=False)
        if steps or is_json(root):
            return Json(root, tuple(steps))
        return column(root)

    def read(self, predicate: Predicate) -> Expression:
        """The condition that a predicate means.

        Raises:
            InvalidInputError: it is not a predicate, or compares what cannot be compared.
        """
        match predicate:
            case predicates.Eq() | predicates.Ne():
                return self._read_comparison(predicate)
            case predicates.Gt() | predicates.Gte() | predicates.Lt() | predicates.Lte():
                return self._read_comparison(predicate)
            case predicates.All():
                return values.And(())
            case predicates.And(predicates=parts):
                return values.And(tuple(map(self.read, parts)))
            case predicates.Or(predicates=parts):
                return values.Or(tuple(map(self.read, parts)))
            case predicates.Not(predicate=part):
                # A comparison with an unset field is false, not unknown, so its NOT is true.
                return values.IsTrue(self.read(part), negated=True)
            case predicates.Exists(field=field) | predicates.NotExists(field=field):
                is_set = values.IsSet(self.value(field))
                return is_set if isinstance(predicate, predicates.Exists) else values.Not(is_set)
            case predicates.In() | predicates.NotIn():
                return self._read_in(predicate)
            case predicates.Contains(field=field, value=value):
                path = self.field(field)
                searched = self._searchable(predicate, path)
                return values.Contains(searched, self._comparable(field, path, value))
            case predicates.StartsWith() | predicates.EndsWith() | predicates.Matches():
                return self._read_text_search(predicate)
            case predicates.VectorSimilar():
                raise InvalidInputError(
                    "VectorSimilar under Or or Not has no meaning",
                    remedy="use it at the top or under And, once",
                )
        raise _not_a_predicate(predicate)

    # -- kinds of predicates -----------------------------------------------------------------------

    def _read_comparison(self, predicate: _Comparison) -> Expression:
        path = self.field(predicate.field)
        left = self._value_at(path)
        if predicate.value is None and isinstance(predicate, predicates.Eq | predicates.Ne):
            return values.IsNull(left, negated=isinstance(predicate, predicates.Ne))
        right = self._comparable(predicate.field, path, predicate.value)
        comparison = values.Compare(_OPERATORS[type(predicate)], left, right)
        # An empty text is stored as none.
        if right.value == "" and isinstance(predicate, predicates.Eq):
            return values.Or((values.IsNull(left), comparison))
        return comparison

    def _read_in(self, predicate: predicates.In | predicates.NotIn) -> Expression:
        listed: Any = predicate.value
        if isinstance(listed, str) or not isinstance(listed, Sequence | set | frozenset):
            raise InvalidInputError(f"{type(predicate).__name__} takes a list, not {listed!r}")
        path = self.field(predicate.field)
        field = self._value_at(path)
        is_json_field = field.type == "json"
        # A store compares with several values of one type at once.
        by_type: dict[Type, list[Value]] = {}
        for given in listed:
            value = self._comparable(predicate.field, path, given)
            kind = "real" if value.type == "integer" and is_json_field else value.type
            by_type.setdefault(kind, []).append(value)
        some: list[Expression] = [
            values.AnyOf(field, tuple(group), lists=is_json_field) for group in by_type.values()
        ]
        among = some[0] if len(some) == 1 else values.Or(tuple(some))
        if isinstance(predicate, predicates.In):
            return among
        # of an unset field it is false, not unknown
        is_set = values.IsNull(field, negated=True)
        return values.And((is_set, values.Not(among)))

    def _read_text_search(self, predicate: _TextSearch) -> Expression:
        if not isinstance(predicate.value, str):
            raise _not_a_predicate(predicate)
        field = self._searchable(predicate, self.field(predicate.field))
        if isinstance(predicate, predicates.Matches):
            return values.Matches(field, check_regex(predicate.value))
        _check_storable(predicate.value)
        if isinstance(predicate, predicates.StartsWith):
            return values.StartsWith(field, predicate.value)
        return values.EndsWith(field, predicate.value)

    # -- their fields and values -------------------------------------------------------------------

    def _searchable(self, predicate: predicates.Contains | _TextSearch, path: str) -> Expression:
        """The value of a field that is a text, or may be one."""
        value = self._value_at(path)
        if value.type in _NOT_TEXT:
            raise InvalidInputError(
                f"{predicate.field} is not text, and {type(predicate).__name__} looks into texts",
                remedy="compare it with < and >",
            )
        return value

    def _comparable(self, name: str, path: str, value: Any) -> Value:
        """A value as a literal of the type that the field of this name, at this path, has.

        Raises:
            InvalidInputError: it cannot be one.
        """
        if path in self.table.own:
            return _of_kind(name, value, self.table.columns[path].type)
        if path in TIMES:
            return Value(_micros(path, value), "time")
        if isinstance(value, datetime):
            # in JSON a time is a text, written so
            text = value.astimezone(UTC).isoformat().replace("+00:00", "Z")
            return Value(text, "text")
        _check_plain(path, value)
        _check_type(path, value)
        return _bounded(bool(value) if isinstance(DEFAULTS.get(path), bool) else value)


def _check_type(field: str, value: Any) -> None:
    """Refuse a value of another type than the field's. What is in JSON may be of any type."""
    annotation = "" if "." in field else _ANNOTATIONS.get(field, "")
    remedy = ""
    if annotation.startswith("str") and not isinstance(value, str):
        raise InvalidInputError(f"{field} is text, and {value!r} is not", remedy=f"write '{value}'")
    if annotation == "int" and isinstance(value, bool):
        remedy = "compare it with a number"
    elif annotation in ("int", "bool") and isinstance(value, str):
        remedy = "write it without quotes"
    if remedy:
        raise InvalidInputError(f"{field} is a number, and {value!r} is not one", remedy=remedy)


def _of_kind(name: str, value: Any, kind: Type) -> Value:
    """A value as a literal that the field of a row, which is of this type, is compared with."""
    if kind in ("time", "date"):
        if isinstance(value, date) and not isinstance(value, datetime):
            value = value.isoformat()
        return Value(_micros(name, value), kind)
    if isinstance(value, Decimal):
        value = float(value)
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if kind == "text" and not isinstance(value, str):
        raise InvalidInputError(f"{name} is text, and {value!r} is not", remedy=f"write '{value}'")
    if kind in ("integer", "real") and not is_number:
        raise InvalidInputError(f"{name} is a number, and {value!r} is not one")
    if kind == "boolean" and not isinstance(value, bool):
        raise InvalidInputError(f"{name} is true or false, and {value!r} is neither")
    _check_plain(name, value)
    return Value(float(value), "real") if kind == "real" else _bounded(value)


def _check_plain(name: str, value: Any) -> None:
    if not isinstance(value, bool | int | float | str):
        raise InvalidInputError(
            f"{name} cannot be compared with {value!r}",
            remedy="use text, a number, a boolean or a datetime",
        )


def _bounded(value: bool | float | str) -> Value:
    """A literal that a store can keep; whole numbers beyond 64 bits become real."""
    if isinstance(value, str):
        _check_storable(value)
    elif isinstance(value, int) and not -(2**63) <= value < 2**63:
        value = float(value)
    return literal(value)


def _check_storable(text: str) -> None:
    if not storable(text):
        raise InvalidInputError(
            "a text may hold no NUL character, and no half a character (a lone surrogate)"
        )


def _not_a_predicate(predicate: Any) -> InvalidInputError:
    return InvalidInputError(f"{predicate!r} is not a predicate", remedy="see remloom.predicates")


def _micros(field: str, value: Any) -> int:
    if isinstance(value, datetime):
        if value.tzinfo is None:
            raise InvalidInputError(
                f"{field}: {value} has no time zone", remedy="use an aware datetime"
            )
        return (value - _EPOCH) // datetime.resolution
    if not isinstance(value, str):
        raise InvalidInputError(
            f"{field} is a time, and {value!r} is not one", remedy="write 2025-01-31T10:00:00Z"
        )
    return parse_time(field, value)
