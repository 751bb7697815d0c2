"""Predicates as SQL, for any provider: what a field name means, what a value may be, and the shape of a condition.

A provider subclasses `Compiler` and says how its SQL compares. Values are always bound, never spliced.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any, TypeAlias

from ..errors import InvalidInputError, UnknownNameError
from ..predicates import (
    All,
    And,
    Contains,
    EndsWith,
    Eq,
    Exists,
    Gt,
    Gte,
    In,
    Lt,
    Lte,
    Matches,
    Ne,
    Not,
    NotExists,
    NotIn,
    Or,
    Predicate,
    StartsWith,
    VectorSimilar,
)
from .columns import micros
from .contract import SCHEMAS

__all__ = [
    "DEFAULTS",
    "LISTS",
    "OBJECTS",
    "TIMES",
    "Compiler",
    "Condition",
    "check_window",
    "direction",
    "fields",
    "known",
    "renamed",
    "split",
]

Condition: TypeAlias = tuple[str, list[Any]]  # a boolean SQL expression and its parameters

LISTS = frozenset({
    "aliases", "related_entities", "emotion_tags", "topic_tags", "classifications", "resource_refs", "entity_refs",
    "present_persons", "speakers",
})  # fmt: skip
OBJECTS = frozenset({"metadata", "properties"})
TIMES = frozenset({"created_at", "updated_at", "starts_at", "ends_at"})
DEFAULTS: dict[str, Any] = {  # bodies leave out what has its default
    "ordinal": 0, "generation": 0, "trust": "read", "kind": "chunk", "thin": False,
}  # fmt: skip
RENAMED = {  # seed 5's column names
    "resource_timestamp": "starts_at",
    "resource_ends_timestamp": "ends_at",
    "moment_type": "type",
    "source_resource_ids": "resource_refs",
}
_ELSEWHERE = {"parents", "graph_paths", "embedding"}  # not in the body
_TYPES = {name: kind for schema in SCHEMAS.values() for name, kind in schema.__annotations__.items()}
_OPERATORS = {Eq: "=", Ne: "<>", Gt: ">", Gte: ">=", Lt: "<", Lte: "<="}


def known(schema: str) -> str:
    """The schema's name, if there is one.

    Raises:
        UnknownNameError: there is none.
    """
    if schema not in SCHEMAS:
        raise UnknownNameError("schema", schema, list(SCHEMAS))
    return schema


def fields(schema: str) -> list[str]:
    """The fields of a schema that a predicate may name; JSON fields take paths below them too."""
    return [name for name in SCHEMAS[schema].__struct_fields__ if name not in _ELSEWHERE]


def split(where: Predicate) -> tuple[VectorSimilar | None, Predicate]:
    """The VectorSimilar of a filter, and the filter without it."""
    if isinstance(where, VectorSimilar):
        return where, And(())
    if isinstance(where, And):
        found = [part for part in where.predicates if isinstance(part, VectorSimilar)]
        if len(found) > 1:
            raise InvalidInputError("a query takes one VectorSimilar", remedy="run one query for each vector")
        if found:
            return found[0], And(tuple(part for part in where.predicates if part is not found[0]))
    return None, where


class Compiler(ABC):
    """Compiles predicates of one schema.

    Args:
        schema: which schema's fields are known.
        has_path: whether any record has this JSON path; asked for a bare name that is no field, which then
            means a key of `properties` (entities) or `metadata` (the others).
    """

    true = "TRUE"
    false = "FALSE"

    def __init__(self, schema: str, has_path: Callable[[str], bool]) -> None:
        self.schema = schema
        self._has_path = has_path
        self._known = fields(schema)

    def field(self, name: str) -> str:
        """The full path a field name means.

        Raises:
            UnknownNameError: the schema has no such field.
        """
        name = RENAMED.get(name, name)
        if not isinstance(name, str) or not name or any(char in name for char in "\"'\\\0"):
            raise InvalidInputError(f"{name!r} is no field name")
        root = name.partition(".")[0]
        if name in self._known or (root in OBJECTS and root in self._known):
            return name
        inside = f"{'properties' if self.schema == 'entities' else 'metadata'}.{name}"
        if self._has_path(inside):
            return inside
        raise UnknownNameError(f"field of {self.schema}", name, self._known)

    def compile(self, predicate: Predicate) -> Condition:
        """A boolean SQL expression and its parameters."""
        match predicate:
            case All():
                return self.true, []
            case And(predicates=parts) | Or(predicates=parts):
                joined = [self.compile(part) for part in parts]
                word, empty = ("AND", self.true) if isinstance(predicate, And) else ("OR", self.false)
                text = f" {word} ".join(f"({sql})" for sql, _ in joined) or empty
                return text, [value for _, values in joined for value in values]
            case Not(predicate=inner):
                sql, values = self.compile(inner)
                return f"(({sql}) IS NOT TRUE)", values
            case Exists(field=name) | NotExists(field=name):
                sql = self.set(self.field(name))
                return sql if isinstance(predicate, Exists) else f"NOT {sql}", []
            case VectorSimilar():
                raise InvalidInputError(
                    "VectorSimilar under Or or Not has no meaning", remedy="use it at the top or under And, once"
                )
            case In() | NotIn():
                field = self.field(predicate.field)
                if isinstance(predicate.value, str) or not isinstance(predicate.value, Sequence | set | frozenset):
                    raise InvalidInputError(f"{type(predicate).__name__} takes a list, not {predicate.value!r}")
                among, values = self.among(field, [comparable(field, value) for value in predicate.value])
                if isinstance(predicate, NotIn):
                    among = f"({self.value(field)} IS NOT NULL AND NOT ({among}))"
                return among, values
            case Contains():
                field = self.field(predicate.field)
                return self.contains(field, comparable(field, predicate.value))
            case StartsWith(value=value) if isinstance(value, str):
                return self.starts(self.field(predicate.field), value)
            case EndsWith(value=value) if isinstance(value, str):
                return self.ends(self.field(predicate.field), value)
            case Matches(value=value) if isinstance(value, str):
                try:
                    re.compile(value)
                except re.error as error:
                    raise InvalidInputError(f"{value!r} is no regular expression: {error}") from error
                return self.matches(self.field(predicate.field), value)
            case Eq(value=None):
                return f"{self.value(self.field(predicate.field))} IS NULL", []
            case Ne(value=None):
                return f"{self.value(self.field(predicate.field))} IS NOT NULL", []
            case Eq() | Ne() | Gt() | Gte() | Lt() | Lte():
                field = self.field(predicate.field)
                value = comparable(field, predicate.value)
                if value == "" and isinstance(predicate, Eq):  # an empty text is stored as none
                    return f"({self.value(field)} IS NULL OR {self.value(field)} = '')", []
                return self.compare(field, _OPERATORS[type(predicate)], value)
            case _:
                raise InvalidInputError(f"{predicate!r} is no predicate", remedy="see remloom.predicates")

    # -- what a provider says --------------------------------------------------------------------------------

    @abstractmethod
    def value(self, field: str) -> str:
        """The value of a field or JSON path; NULL where it is unset or null."""

    @abstractmethod
    def set(self, field: str) -> str:
        """Whether it is set: not null, not an empty text, list or object."""

    @abstractmethod
    def compare(self, field: str, operator: str, value: Any) -> Condition: ...

    @abstractmethod
    def among(self, field: str, values: list[Any]) -> Condition:
        """Whether it is one of the values, or a list that holds one of them."""

    @abstractmethod
    def contains(self, field: str, value: Any) -> Condition:
        """Whether a list holds the value, as an element or as the name of one; of a text, whether it is in it."""

    @abstractmethod
    def starts(self, field: str, value: str) -> Condition: ...

    @abstractmethod
    def ends(self, field: str, value: str) -> Condition: ...

    @abstractmethod
    def matches(self, field: str, pattern: str) -> Condition: ...


def direction(way: str) -> str:
    """An order, as SQL.

    Raises:
        InvalidInputError: it is neither asc nor desc.
    """
    if way.lower() not in ("asc", "desc"):
        raise InvalidInputError(f"an order is asc or desc, not {way!r}")
    return way.upper()


def check_window(count: int | None, skip: int) -> None:
    """Refuse a limit or an offset below nothing."""
    for number, what in ((count, "limit"), (skip, "offset")):
        if number is not None and number < 0:
            raise InvalidInputError(f"{what} may not be negative, it is {number}")


def comparable(field: str, value: Any) -> Any:
    """A value in the form it is stored in: times as microseconds since 1970, or as text within JSON."""
    if field in TIMES:
        return micros(_instant(field, value))
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat().replace("+00:00", "Z")
    if isinstance(value, bool | int | float | str):
        kind = _TYPES.get(field, "")
        if kind.startswith("str") and not isinstance(value, str):
            raise InvalidInputError(f"{field} is text, {value!r} is none", remedy=f"write '{value}'")
        if kind == "int" and isinstance(value, str):
            raise InvalidInputError(f"{field} is a number, {value!r} is none", remedy="write it without quotes")
        return value
    raise InvalidInputError(
        f"{field} cannot be compared with {value!r}", remedy="use text, a number, a boolean or a datetime"
    )


def _instant(field: str, value: Any) -> datetime:
    try:
        at = value if isinstance(value, datetime) else datetime.fromisoformat(value)
    except (TypeError, ValueError):
        raise InvalidInputError(f"{field} is a time, {value!r} is none", remedy="write 2025-01-31T10:00:00Z") from None
    if at.tzinfo is None:
        if isinstance(value, datetime):
            raise InvalidInputError(f"{field}: {value} has no time zone", remedy="use an aware datetime")
        at = at.replace(tzinfo=UTC)  # a date in a statement means UTC
    return at


def renamed(columns: dict[str, str]) -> dict[str, str]:
    """The columns, and those of them that have another name in seed 5 under that name too."""
    return columns | {other: columns[name] for other, name in RENAMED.items() if name in columns}
