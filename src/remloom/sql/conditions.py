"""Predicates as expression values: what a field name means, and what a value may be."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any

from ..errors import InvalidInputError, UnknownNameError
from ..labels import storable
from ..predicates import All as Every  # fmt: skip
from ..predicates import And as Every_
from ..predicates import Contains as Containing
from ..predicates import (
    EndsWith,
    Eq,
    Exists,
    Gt,
    Gte,
    In,
    Lt,
    Lte,
    Ne,
    NotExists,
    NotIn,
    Predicate,
    StartsWith,
    VectorSimilar,
)
from ..predicates import Matches as Matching
from ..predicates import Not as Inverse
from ..predicates import Or as Either
from . import patterns
from .coercion import literal
from .columns import DEFAULTS, OBJECTS, RENAMED, SCHEMAS, TIMES, column, fields, is_json
from .times import instant
from .values import (  # fmt: skip
    And,
    AnyOf,
    Compare,
    Contains,
    Ends,
    Expression,
    IsNull,
    IsSet,
    IsTrue,
    Json,
    Matches,
    Not,
    Operator,
    Or,
    Starts,
    Type,
    Value,
)

__all__ = ["Conditions"]

_OPERATORS: dict[type[Any], Operator] = {Eq: "=", Ne: "<>", Gt: ">", Gte: ">=", Lt: "<", Lte: "<="}
_TYPES = {
    name: kind for schema in SCHEMAS.values() for name, kind in schema.__annotations__.items()
}
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Conditions:
    """Reads predicates of one schema.

    Args:
        schema: which schema's fields are known.
        has_path: whether any record has this JSON path; asked for a bare name that is no field,
            which then means a key of `properties` (entities) or `metadata` (the others).
    """

    def __init__(self, schema: str, has_path: Callable[[str], bool]) -> None:
        self.schema = schema
        self._has_path = has_path
        self._known = fields(schema)

    def field(self, name: str) -> str:
        """The full path a field name means.

        Raises:
            UnknownNameError: the schema has no such field.
        """
        name = RENAMED.get(name, name) if isinstance(name, str) else name
        if (
            not isinstance(name, str)
            or not name
            or any(char in name for char in "\"'\\")
            or not storable(name)
        ):
            raise InvalidInputError(f"{name!r} is no field name")
        root = name.partition(".")[0]
        if name in self._known or (root in OBJECTS and root in self._known):
            return name
        inside = f"{'properties' if self.schema == 'entities' else 'metadata'}.{name}"
        if self._has_path(inside):
            return inside
        raise UnknownNameError(f"field of {self.schema}", name, self._known)

    def value(self, name: str) -> Expression:
        """What a field name means, as a value."""
        root, *rest = self.field(name).split(".")
        if rest or is_json(root):
            return Json(root, tuple(rest))
        return column(root)

    def read(self, predicate: Predicate) -> Expression:
        """The condition that a predicate is.

        Raises:
            InvalidInputError: it is none, or compares what does not compare.
        """
        match predicate:
            case Every():
                return And(())
            case Every_(predicates=parts):
                return And(tuple(map(self.read, parts)))
            case Either(predicates=parts):
                return Or(tuple(map(self.read, parts)))
            case Inverse(predicate=inner):
                return IsTrue(self.read(inner), negated=True)
            case Exists(field=name):
                return IsSet(self.value(name))
            case NotExists(field=name):
                return Not(IsSet(self.value(name)))
            case VectorSimilar():
                raise InvalidInputError(
                    "VectorSimilar under Or or Not has no meaning",
                    remedy="use it at the top or under And, once",
                )
            case In() | NotIn():
                return self._among(predicate)
            case Containing():
                return Contains(
                    self._looked_into(predicate), self._comparable(predicate.field, predicate.value)
                )
            case StartsWith(value=wanted) if isinstance(wanted, str):
                return Starts(self._looked_into(predicate), _text(wanted))
            case EndsWith(value=wanted) if isinstance(wanted, str):
                return Ends(self._looked_into(predicate), _text(wanted))
            case Matching(value=pattern) if isinstance(pattern, str):
                return Matches(self._looked_into(predicate), patterns.regular_expression(pattern))
            case Eq(value=None):
                return IsNull(self.value(predicate.field))
            case Ne(value=None):
                return IsNull(self.value(predicate.field), negated=True)
            case Eq() | Ne() | Gt() | Gte() | Lt() | Lte():
                return self._compared(predicate)
            case _:
                raise InvalidInputError(
                    f"{predicate!r} is no predicate", remedy="see remloom.predicates"
                )

    def _looked_into(self, predicate: Containing | StartsWith | EndsWith | Matching) -> Expression:
        """What a field means that is to be a text, or may be one."""
        value = self.value(predicate.field)
        if value.type in ("time", "date", "integer", "real", "number", "boolean"):
            raise InvalidInputError(
                f"{predicate.field} is no text, and {type(predicate).__name__} looks into texts",
                remedy="compare it with < and >",
            )
        return value

    def _compared(self, predicate: Eq | Ne | Gt | Gte | Lt | Lte) -> Expression:
        left, right = (
            self.value(predicate.field),
            self._comparable(predicate.field, predicate.value),
        )
        compared = Compare(_OPERATORS[type(predicate)], left, right)
        if right.value == "" and isinstance(predicate, Eq):  # an empty text is stored as none
            return Or((IsNull(left), compared))
        return compared

    def _among(self, predicate: In | NotIn) -> Expression:
        listed: Any = predicate.value
        if isinstance(listed, str) or not isinstance(listed, Sequence | set | frozenset):
            raise InvalidInputError(f"{type(predicate).__name__} takes a list, not {listed!r}")
        left = self.value(predicate.field)
        by_type: dict[Type, list[Value]] = {}
        for value in listed:
            wanted = self._comparable(predicate.field, value)
            by_type.setdefault(
                "real" if wanted.type == "integer" and left.type == "json" else wanted.type, []
            ).append(wanted)
        some = tuple(
            AnyOf(left, tuple(values), lists=left.type == "json") for values in by_type.values()
        )
        found: Expression = some[0] if len(some) == 1 else Or(some)
        return (
            And((IsNull(left, negated=True), Not(found))) if isinstance(predicate, NotIn) else found
        )

    def _comparable(self, name: str, value: Any) -> Value:
        """A value as one of the type that the field has.

        Raises:
            InvalidInputError: it is none.
        """
        field = self.field(name)
        if field in TIMES:
            return Value(_instant(field, value), "time")
        if isinstance(value, datetime):
            return Value(value.astimezone(UTC).isoformat().replace("+00:00", "Z"), "text")
        if isinstance(value, bool | int | float | str):
            kind = "" if "." in field else _TYPES.get(field, "")
            if kind.startswith("str") and not isinstance(value, str):
                raise InvalidInputError(
                    f"{field} is text, {value!r} is none", remedy=f"write '{value}'"
                )
            if kind == "int" and isinstance(value, bool):
                raise InvalidInputError(
                    f"{field} is a number, {value!r} is none", remedy="compare it with a number"
                )
            if kind in ("int", "bool") and isinstance(value, str):
                raise InvalidInputError(
                    f"{field} is a number, {value!r} is none", remedy="write it without quotes"
                )
            if isinstance(DEFAULTS.get(field), bool):
                value = bool(value)
            if isinstance(value, str):
                _text(value)
            elif isinstance(value, int) and not -(2**63) <= value < 2**63:
                value = float(value)
            return literal(value)
        raise InvalidInputError(
            f"{field} cannot be compared with {value!r}",
            remedy="use text, a number, a boolean or a datetime",
        )


def _text(value: str) -> str:
    if not storable(value):
        raise InvalidInputError(
            "a text may hold no NUL character, and no half a character (a lone surrogate)"
        )
    return value


def _instant(field: str, value: Any) -> int:
    if isinstance(value, datetime):
        if value.tzinfo is None:
            raise InvalidInputError(
                f"{field}: {value} has no time zone", remedy="use an aware datetime"
            )
        return (value - _EPOCH) // (datetime.resolution)
    if not isinstance(value, str):
        raise InvalidInputError(
            f"{field} is a time, {value!r} is none", remedy="write 2025-01-31T10:00:00Z"
        )
    return instant(field, value)
