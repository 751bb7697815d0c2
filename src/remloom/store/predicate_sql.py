"""Predicates as SQLite expressions over the row `r` of a record. Values are always bound, never spliced."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any

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
from .contract import SCHEMAS
from .rows import micros

__all__ = ["Compiler", "column", "view_columns"]

_OPERATORS = {Eq: "=", Ne: "<>", Gt: ">", Gte: ">=", Lt: "<", Lte: "<="}
_TIMES = {
    "created_at": "r.created",
    "updated_at": "r.updated",
    "starts_at": "r.starts",
    "ends_at": "CASE WHEN r.body ->> '$.ends_at' IS NOT NULL THEN r.ends END",
}
_LISTS = {
    "aliases", "related_entities", "emotion_tags", "topic_tags", "classifications", "resource_refs", "entity_refs",
    "present_persons", "speakers",
}  # fmt: skip
_OBJECTS = {"metadata", "properties"}
_ELSEWHERE = {"parents", "graph_paths", "embedding"}  # not in the body
_RENAMED = {  # seed 5's column names
    "resource_timestamp": "starts_at",
    "resource_ends_timestamp": "ends_at",
    "moment_type": "type",
    "source_resource_ids": "resource_refs",
}


def fields(schema: str) -> list[str]:
    """The fields of a schema that a predicate may name; JSON fields take paths below them too."""
    return [name for name in SCHEMAS[schema].__struct_fields__ if name not in _ELSEWHERE]


def view_columns(schema: str) -> dict[str, str]:
    """Column name -> expression over `r`, for the view that SQL sees as a table."""
    columns = {name: _shown(name) for name in fields(schema)}
    for renamed, name in _RENAMED.items():
        if name in columns:
            columns[renamed] = columns[name]
    columns["key"] = "(SELECT l.key FROM names n JOIN labels l USING (lid) WHERE n.rid = r.rid AND n.rank = 0)"
    columns["schema"] = "r.schema"
    columns["parents"] = (
        "(SELECT json_group_array(p.id) FROM parents d JOIN records p ON p.rid = d.parent"
        " WHERE d.child = r.rid AND d.kind = 0)"
    )
    columns["graph_paths"] = (
        "(SELECT json_group_array(json_object('dst', l.key, 'rel_type', t.name, 'weight', e.weight,"
        " 'properties', json(coalesce(e.properties, '{}'))))"
        " FROM names n JOIN edges e ON e.src = n.lid JOIN rels t USING (rel) JOIN labels l ON l.lid = e.dst"
        " WHERE n.rid = r.rid)"
    )
    return columns


def column(field: str) -> str:
    """The value of a field or JSON path, as SQL."""
    if field in _TIMES:
        return _TIMES[field]
    if field in ("id", "schema"):
        return f"r.{field}"
    if field == "content":
        return "CASE WHEN r.content IS NULL THEN r.body ->> '$.content' ELSE decompress(r.content) END"
    return f"r.body ->> {_path(field)}"


def _shown(field: str) -> str:
    if field in _LISTS or field in _OBJECTS:
        return f"coalesce(r.body -> {_path(field)}, '{'[]' if field in _LISTS else '{}'}')"
    if field == "thin":
        return "coalesce(r.thin, 0)"
    if field in ("ordinal", "generation"):
        return f"coalesce({column(field)}, 0)"
    if field in _TIMES:
        return f"r.body ->> {_path(field)}"
    default = {"trust": "read", "kind": "chunk"}.get(field)
    return f"coalesce({column(field)}, '{default}')" if default else column(field)


def _path(field: str) -> str:
    """A JSON path as a SQL string literal. Names are quoted, and hold no quote (see `Compiler.field`)."""
    return "'$" + "".join(f'."{part}"' if not _plain(part) else f".{part}" for part in field.split(".")) + "'"


def _plain(name: str) -> bool:
    return name.isidentifier() and name.isascii()


class Compiler:
    """Compiles predicates of one schema.

    Args:
        schema: which schema's fields are known.
        has_path: whether any record has this JSON path; asked for a bare name that is no field, which then
            means a key of `properties` (entities) or `metadata` (the others).
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
        name = _RENAMED.get(name, name)
        if not isinstance(name, str) or not name or any(char in name for char in "\"'\\\0"):
            raise InvalidInputError(f"{name!r} is no field name")
        root = name.partition(".")[0]
        if name in self._known or (root in _OBJECTS and root in self._known):
            return name
        inside = f"{'properties' if self.schema == 'entities' else 'metadata'}.{name}"
        if self._has_path(inside):
            return inside
        raise UnknownNameError(f"field of {self.schema}", name, self._known)

    def compile(self, predicate: Predicate) -> tuple[str, list[Any]]:
        """A boolean SQL expression and its parameters."""
        match predicate:
            case All():
                return "1", []
            case And(predicates=parts) | Or(predicates=parts):
                joined = [self.compile(part) for part in parts]
                word, empty = ("AND", "1") if isinstance(predicate, And) else ("OR", "0")
                text = f" {word} ".join(f"({sql})" for sql, _ in joined) or empty
                return text, [value for _, values in joined for value in values]
            case Not(predicate=inner):
                sql, values = self.compile(inner)
                return f"(({sql}) IS NOT TRUE)", values
            case Exists(field=field) | NotExists(field=field):
                value = column(self.field(field))
                known = f"({value} IS NOT NULL AND {value} NOT IN ('', '[]', '{{}}'))"
                return known if isinstance(predicate, Exists) else f"NOT {known}", []
            case VectorSimilar():
                raise InvalidInputError(
                    "VectorSimilar under Or or Not has no meaning", remedy="use it at the top or under And, once"
                )
            case In() | NotIn():
                return self._membership(predicate)
            case Contains():
                return self._contains(predicate)
            case StartsWith(value=value) | EndsWith(value=value) if isinstance(value, str):
                sql = column(self.field(predicate.field))
                part = f"substr({sql}, 1, {len(value)})" if isinstance(predicate, StartsWith) else _ending(sql, value)
                return f"{part} = ?", [value]
            case Matches(value=value) if isinstance(value, str):
                import re

                try:
                    re.compile(value)
                except re.error as error:
                    raise InvalidInputError(f"{value!r} is no regular expression: {error}") from error
                return f"matches(?, {column(self.field(predicate.field))})", [value]
            case Eq(value=None):
                return f"{column(self.field(predicate.field))} IS NULL", []
            case Ne(value=None):
                return f"{column(self.field(predicate.field))} IS NOT NULL", []
            case Eq() | Ne() | Gt() | Gte() | Lt() | Lte():
                field = self.field(predicate.field)
                return f"{column(field)} {_OPERATORS[type(predicate)]} ?", [_bound(field, predicate.value)]
            case _:
                raise InvalidInputError(f"{predicate!r} is no predicate", remedy="see remloom.predicates")

    def _membership(self, predicate: In | NotIn) -> tuple[str, list[Any]]:
        field = self.field(predicate.field)
        if isinstance(predicate.value, str) or not isinstance(predicate.value, Sequence | set | frozenset):
            raise InvalidInputError(f"{type(predicate).__name__} takes a list, not {predicate.value!r}")
        values = [_bound(field, value) for value in predicate.value]
        marks = ", ".join("?" * len(values))
        scalar = f"{column(field)} IN ({marks})"
        if "." in field or field in _LISTS:
            among = f"EXISTS (SELECT 1 FROM json_each(r.body, {_path(field)}) WHERE value IN ({marks}))"
            sql = f"CASE json_type(r.body, {_path(field)}) WHEN 'array' THEN {among} ELSE {scalar} END"
            values = values * 2
        else:
            sql = scalar
        if isinstance(predicate, NotIn):
            sql = f"({column(field)} IS NOT NULL AND NOT ({sql}))"
        return sql, values

    def _contains(self, predicate: Contains) -> tuple[str, list[Any]]:
        field = self.field(predicate.field)
        value = _bound(field, predicate.value)
        text = f"instr(casefold({column(field)}), casefold(?)) > 0"
        if "." not in field and field not in _LISTS:
            return text, [str(value)]
        element = "value = ? OR (type = 'object' AND value ->> '$.name' = ?)"
        among = f"EXISTS (SELECT 1 FROM json_each(r.body, {_path(field)}) WHERE {element})"
        sql = f"CASE json_type(r.body, {_path(field)}) WHEN 'array' THEN {among} ELSE {text} END"
        return sql, [value, value, str(value)]


def _ending(sql: str, value: str) -> str:
    return f"substr({sql}, -{len(value)})" if value else f"substr({sql}, 1, 0)"


def _bound(field: str, value: Any) -> Any:
    """A value as SQLite compares it with the field."""
    if field in _TIMES:
        return micros(_instant(field, value))
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat().replace("+00:00", "Z")
    if isinstance(value, int | float | str):
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
