"""Predicates as SQLite expressions over the row `r` of a record."""

from __future__ import annotations

from typing import Any

from ..compiling import DEFAULTS, LISTS, OBJECTS, TIMES, Compiler, Condition, fields, renamed

__all__ = ["SqliteCompiler", "column", "view_columns"]

_TIMES = {
    "created_at": "r.created",
    "updated_at": "r.updated",
    "starts_at": "r.starts",
    "ends_at": "CASE WHEN r.body ->> '$.ends_at' IS NOT NULL THEN r.ends END",
}


def view_columns(schema: str) -> dict[str, str]:
    """Column name -> expression over `r`, for the view that SQL sees as a table."""
    columns = renamed({name: _shown(name) for name in fields(schema)})
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
    if field in TIMES:
        return _TIMES[field]
    if field in ("id", "schema"):
        return f"r.{field}"
    if field == "content":
        return "CASE WHEN r.content IS NULL THEN r.body ->> '$.content' ELSE decompress(r.content) END"
    default = DEFAULTS.get(field)
    if default is None:
        return f"r.body ->> {_path(field)}"
    literal = f"'{default}'" if isinstance(default, str) else int(default)
    return f"coalesce(r.body ->> {_path(field)}, {literal})"


def _shown(field: str) -> str:
    if field in LISTS or field in OBJECTS:
        return f"coalesce(r.body -> {_path(field)}, '{'[]' if field in LISTS else '{}'}')"
    return f"r.body ->> {_path(field)}" if field in TIMES else column(field)


def _path(field: str) -> str:
    """A JSON path as a SQL string literal. Names are quoted, and hold no quote (see `Compiler.field`)."""
    return "'$" + "".join(f'."{part}"' if not _plain(part) else f".{part}" for part in field.split(".")) + "'"


def _plain(name: str) -> bool:
    return name.isidentifier() and name.isascii()


class SqliteCompiler(Compiler):
    """See `Compiler`. Booleans are numbers here, as SQLite has them."""

    true = "1"
    false = "0"

    def value(self, field: str) -> str:
        return column(field)

    def set(self, field: str) -> str:
        value = column(field)
        return f"({value} IS NOT NULL AND {value} NOT IN ('', '[]', '{{}}'))"

    def compare(self, field: str, operator: str, value: Any) -> Condition:
        return f"{column(field)} {operator} ?", [_number(value)]

    def among(self, field: str, values: list[Any]) -> Condition:
        values = [_number(value) for value in values]
        marks = ", ".join("?" * len(values))
        scalar = f"{column(field)} IN ({marks})"
        if "." not in field and field not in LISTS:
            return scalar, values
        among = f"EXISTS (SELECT 1 FROM json_each(r.body, {_path(field)}) WHERE value IN ({marks}))"
        return f"CASE json_type(r.body, {_path(field)}) WHEN 'array' THEN {among} ELSE {scalar} END", values * 2

    def contains(self, field: str, value: Any) -> Condition:
        value = _number(value)
        text = f"instr(casefold({column(field)}), casefold(?)) > 0"
        if "." not in field and field not in LISTS:
            return text, [str(value)]
        element = "value = ? OR (type = 'object' AND value ->> '$.name' = ?)"
        among = f"EXISTS (SELECT 1 FROM json_each(r.body, {_path(field)}) WHERE {element})"
        return f"CASE json_type(r.body, {_path(field)}) WHEN 'array' THEN {among} ELSE {text} END", [
            value,
            value,
            str(value),
        ]

    def starts(self, field: str, value: str) -> Condition:
        return f"substr({column(field)}, 1, {len(value)}) = ?", [value]

    def ends(self, field: str, value: str) -> Condition:
        part = f"substr({column(field)}, -{len(value)})" if value else f"substr({column(field)}, 1, 0)"
        return f"{part} = ?", [value]

    def matches(self, field: str, pattern: str) -> Condition:
        return f"matches(?, {column(field)})", [pattern]


def _number(value: Any) -> Any:
    return int(value) if isinstance(value, bool) else value
