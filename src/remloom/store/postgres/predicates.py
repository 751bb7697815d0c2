"""Predicates as PostgreSQL expressions over the row `r` of a record.

JSON values compare with values of their own type only: a number is never less than a text.
"""

from __future__ import annotations

import re
from typing import Any

import msgspec

from ...errors import InvalidInputError
from ..compiling import DEFAULTS, LISTS, OBJECTS, TIMES, Compiler, Condition, fields, renamed

__all__ = ["PostgresCompiler", "json_value", "order", "shown_columns", "sortable"]

_TIMES = {
    "created_at": "r.created",
    "updated_at": "r.updated",
    "starts_at": "r.starts",
    "ends_at": "CASE WHEN r.body ->> 'ends_at' IS NOT NULL THEN r.ends END",
}
_COLUMNS = {"id": "r.id", "schema": "r.schema", "content": "r.content", "uri": "r.uri"}


def json_value(field: str) -> str:
    """The JSON value of a field or path within the body. Names hold no quote (see `Compiler.field`)."""
    parts = [part.replace("%", "%%") for part in field.split(".")]
    if field in DEFAULTS:
        return f"coalesce(r.body -> '{field}', '{msgspec.json.encode(DEFAULTS[field]).decode()}'::jsonb)"
    if len(parts) == 1:
        return f"(r.body -> '{parts[0]}')"
    listed = ",".join(f'"{part}"' for part in parts)
    return f"(r.body #> '{{{listed}}}')"


def sortable(field: str) -> str:
    """What `create_index` indexes of a field."""
    return f"remloom.sortable({json_value(field)})"


def _text(field: str) -> str:
    """The value as text; NULL where it is unset or null."""
    return _TIMES.get(field) or _COLUMNS.get(field) or f"({json_value(field)} #>> '{{}}')"


def order(field: str, way: str) -> str:
    """ORDER BY terms: unset values lowest, then numbers, then texts."""
    if field in TIMES:
        return f"{_TIMES[field]} {way} NULLS {'FIRST' if way == 'ASC' else 'LAST'}"
    text, opposite = _text(field), "DESC" if way == "ASC" else "ASC"
    if field in _COLUMNS:
        return f"({text} IS NULL) {opposite}, {text} {way}"
    number = f"CASE WHEN jsonb_typeof({json_value(field)}) = 'number' THEN {text}::numeric END"
    return f'({text} IS NULL) {opposite}, ({number} IS NULL) {way}, {number} {way}, {text} COLLATE "C" {way}'


def shown_columns(schema: str) -> dict[str, str]:
    """Column name -> expression over `r`, for the table that SQL sees."""
    columns = renamed({name: _shown(name) for name in fields(schema)})
    columns["key"] = (
        "(SELECT coalesce(n.label, n.key) FROM remloom.names n"
        " WHERE n.tenant_id = r.tenant_id AND n.id = r.id AND n.rank = 0)"
    )
    columns["schema"] = "r.schema"
    columns["parents"] = (
        "(SELECT coalesce(jsonb_agg(d.parent), '[]') FROM remloom.parents d"
        " WHERE d.tenant_id = r.tenant_id AND d.child = r.id AND d.kind = 0)"
    )
    columns["graph_paths"] = (
        "(SELECT coalesce(jsonb_agg(jsonb_build_object('dst', e.dst, 'rel_type', e.rel, 'weight', e.weight,"
        " 'properties', coalesce(e.properties, '{}'))), '[]') FROM remloom.names n"
        " JOIN remloom.edges e ON e.tenant_id = r.tenant_id AND e.src = n.key"
        " WHERE n.tenant_id = r.tenant_id AND n.id = r.id)"
    )
    return columns


def _shown(field: str) -> str:
    if field in LISTS or field in OBJECTS:
        return f"coalesce({json_value(field)}, '{'[]' if field in LISTS else '{}'}'::jsonb)"
    if field == "thin":
        return "r.thin::integer"
    if field in ("ordinal", "generation"):
        return f"({_text(field)})::integer"
    if field in TIMES:
        return f"(r.body ->> '{field}') COLLATE \"C\""
    return f'{_text(field)} COLLATE "C"'


class PostgresCompiler(Compiler):
    """See `Compiler`."""

    @property
    def _indexed(self) -> str:
        """The field that stands in the column `type` besides."""
        return "category" if self.schema == "resources" else "type"

    def value(self, field: str) -> str:
        return _text(field)

    def set(self, field: str) -> str:
        value = _text(field)
        return (
            f"({value} IS NOT NULL)"
            if field in TIMES
            else f"({value} IS NOT NULL AND {value} NOT IN ('', '[]', '{{}}'))"
        )

    def compare(self, field: str, operator: str, value: Any) -> Condition:
        if field in TIMES:
            return f"{_TIMES[field]} {operator} %s::bigint", [value]
        if field in _COLUMNS:
            if not isinstance(value, str):
                return self.true if operator == "<>" else self.false, []
            sql, values = f"{_COLUMNS[field]} {operator} %s::text", [value]
            if field == "uri" and operator == "=":
                return f"md5(r.uri) = md5(%s::text) AND {sql}", [value, value]
            return sql, values
        if field == self._indexed and isinstance(value, str):
            return f"r.type {operator} %s::text", [value]
        stored, text = json_value(field), _text(field)
        if isinstance(value, str):
            if operator == "=":
                return f"{sortable(field)} = to_jsonb(left(%s::text, 200)) AND {stored} = to_jsonb(%s::text)", [
                    value,
                    value,
                ]
            if operator == "<>":
                return f"({text} IS NOT NULL AND {stored} <> to_jsonb(%s::text))", [value]
            return f"(jsonb_typeof({stored}) = 'string' AND {text} COLLATE \"C\" {operator} %s::text)", [value]
        kind = "boolean" if isinstance(value, bool) else "number"
        literal = "%s::text::jsonb"
        bound = [msgspec.json.encode(value).decode()]
        if operator == "=":
            return f"{sortable(field)} = {literal}", bound
        if operator == "<>":
            return f"({text} IS NOT NULL AND {stored} <> {literal})", bound
        return f"({sortable(field)} {operator} {literal} AND jsonb_typeof({stored}) = '{kind}')", bound

    def among(self, field: str, values: list[Any]) -> Condition:
        if field in TIMES:
            return f"{_TIMES[field]} = ANY (%s::bigint[])", [values]
        if field in _COLUMNS:
            return f"{_COLUMNS[field]} = ANY (%s::text[])", [[value for value in values if isinstance(value, str)]]
        if field == self._indexed:
            return "r.type = ANY (%s::text[])", [[value for value in values if isinstance(value, str)]]
        stored = json_value(field)
        bound = [msgspec.json.encode(value).decode() for value in values]
        scalar = f"{stored} = ANY (%s::text[]::jsonb[])"
        if "." not in field and field not in LISTS:
            short = [msgspec.json.encode(value[:200] if isinstance(value, str) else value).decode() for value in values]
            return f"({sortable(field)} = ANY (%s::text[]::jsonb[]) AND {scalar})", [short, bound]
        among = (
            f"EXISTS (SELECT FROM jsonb_array_elements({stored}) x (value) WHERE x.value = ANY (%s::text[]::jsonb[]))"
        )
        return f"CASE jsonb_typeof({stored}) WHEN 'array' THEN {among} ELSE {scalar} END", [bound, bound]

    def contains(self, field: str, value: Any) -> Condition:
        text = f"strpos(lower({_text(field)}::text), lower(%s::text)) > 0"
        if "." not in field and field not in LISTS:
            return text, [str(value)]
        stored = json_value(field)
        element = "x.value = %s::text::jsonb OR (x.value -> 'name') = %s::text::jsonb"
        among = f"EXISTS (SELECT FROM jsonb_array_elements({stored}) x (value) WHERE {element})"
        bound = msgspec.json.encode(value).decode()
        return f"CASE jsonb_typeof({stored}) WHEN 'array' THEN {among} ELSE {text} END", [bound, bound, str(value)]

    def starts(self, field: str, value: str) -> Condition:
        return f"starts_with({_text(field)}::text, %s)", [value]

    def ends(self, field: str, value: str) -> Condition:
        return f"right({_text(field)}::text, {len(value)}) = %s", [value]

    def matches(self, field: str, pattern: str) -> Condition:
        return f"{_text(field)}::text ~ %s", [_advanced(pattern)]


_UNLIKE = re.compile(r"\(\?(?:P=|\(|[aiLmsux]*-[imsx]+:|[aiLmsux]+:|#)|\\[NpPX]")
_SPELLED_OTHERWISE = {r"\b": r"\y", r"\B": r"\Y", r"\Z": r"\Z"}
_TOKENS = re.compile(r"\\.|\(\?P<\w+>|[^\\(]+|\(", re.DOTALL)
_FLAGS = re.compile(r"\A\(\?([aiLmsux]+)\)")


def _advanced(pattern: str) -> str:
    """A Python regular expression as PostgreSQL's advanced ones, which differ in a few spellings.

    Raises:
        InvalidInputError: it has a part that PostgreSQL has no word for.
    """
    if unlike := _UNLIKE.search(pattern):
        raise InvalidInputError(
            f"PostgreSQL has nothing like {unlike[0]!r} in a regular expression", remedy="write the pattern without it"
        )
    given = _FLAGS.match(pattern)
    flags, rest = (given[1], pattern[given.end() :]) if given else ("", pattern)
    # As in Python: `.` stops at a newline unless (?s), `^` and `$` mean the whole text unless (?m).
    newline = "w" if "m" in flags and "s" in flags else "n" if "m" in flags else "s" if "s" in flags else "p"
    options = newline + ("i" if "i" in flags else "") + ("x" if "x" in flags else "")
    body = "".join(
        _SPELLED_OTHERWISE.get(token, "(" if token.startswith("(?P<") else token) for token in _TOKENS.findall(rest)
    )
    return f"(?{options}){body}"
