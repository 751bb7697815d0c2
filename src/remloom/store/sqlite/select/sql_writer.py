"""Expressions as SQLite's SQL, over the row `r` of a record.

Booleans are numbers here.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

import msgspec

from ....sql.columns import DEFAULTS, LISTS, OBJECTS, TIMES
from ....sql.functions import Function
from ....sql.values import (
    AnyOf,
    Arithmetic,
    Cast,
    Column,
    Compare,
    Contains,
    EndsWith,
    Expression,
    FieldColumn,
    InPath,
    IsSet,
    Json,
    Like,
    Matches,
    StartsWith,
    Type,
    Value,
)
from ....sql.writer import MANY, SqlWriter, column_and_steps, is_plain_step, quoted

_TIMES = {
    "created_at": "r.created",
    "updated_at": "r.updated",
    "starts_at": "r.starts",
    "expires_at": "r.expires",
    "ends_at": "CASE WHEN r.body ->> '$.ends_at' IS NOT NULL THEN r.ends END",
}
# Columns that are put together from other tables.
JOINED = {
    "key": (
        "(SELECT l.key FROM names n JOIN labels l USING (lid) WHERE n.rid = r.rid AND n.rank = 0)"
    ),
    "parents": (
        "(SELECT json_group_array(p.id) FROM parents d JOIN records p ON p.rid = d.parent"
        " WHERE d.child = r.rid AND d.kind = 0)"
    ),
    "graph_paths": (
        "(SELECT json_group_array(json_object('dst', l.key, 'rel_type', t.name,"
        " 'weight', e.weight, 'properties', json(coalesce(e.properties, '{}'))))"
        " FROM names n JOIN edges e ON e.src = n.lid JOIN rels t USING (rel)"
        " JOIN labels l ON l.lid = e.dst WHERE n.rid = r.rid)"
    ),
}
_NUMBERS = "('integer', 'real')"
_BOOLEANS = "('true', 'false')"
_MAX_NATIVE_LIKE = 50  # characters of a pattern that SQLite's own LIKE is given


def json_path(steps: Sequence[str | int]) -> str:
    return "$" + "".join(map(_json_step, steps))


def _json_step(step: str | int) -> str:
    if isinstance(step, int):
        return f"[{step}]" if step >= 0 else f"[#{step}]"
    if step.isidentifier() and step.isascii():
        return f".{step}"
    return f".{json.dumps(step, ensure_ascii=False)}"


class SqliteExpressions(SqlWriter):
    """See `SqlWriter`. A mark is a number, so that what is written twice is the same text."""

    true = "1"
    false = "0"
    mark = re.compile(r"\?(\d+)")

    @staticmethod
    def template(function: Function) -> str:
        return function.sqlite

    def bind(self, value: Any, kind: Type) -> str:
        return f"?{self.bind_number(int(value) if isinstance(value, bool) else value, kind)}"

    # -- columns and JSON --------------------------------------------------------------------------

    def column(self, value: Column) -> str:
        name = value.name
        if value.field is not None:
            return _field(value.field)
        if name in TIMES:
            return _TIMES[name]
        if name in JOINED:
            return JOINED[name]
        if name in ("id", "schema"):
            return f"r.{name}"
        if name == ("category" if self.schema == "resources" else "type"):
            return "r.type"
        if name == "content":
            return (
                "CASE WHEN r.content IS NULL THEN r.body ->> '$.content'"
                " ELSE decompress(r.content) END"
            )
        default = DEFAULTS.get(name)
        if default is None:
            return f"r.body ->> '$.{name}'"
        literal = f"'{default}'" if isinstance(default, str) else int(default)
        return f"coalesce(r.body ->> '$.{name}', {literal})"

    def time_column(self, value: Column) -> str:
        return f"r.body ->> '$.{value.name}'" if value.field is None else _time_text(value.field)

    def _source(self, value: Expression) -> tuple[str, str]:
        """The JSON that a value is in, and the path to it, as SQL."""
        if not isinstance(value, Json | Column):
            return self.write(value), "'$'"
        column, steps = column_and_steps(value)
        if isinstance(value, Json) and value.is_mixed:
            return mixed_json(value), self._path(steps[1:])
        is_joined = column in JOINED
        path = steps if is_joined else (column, *steps)
        return (JOINED[column] if is_joined else "r.body"), self._path(path)

    def _path(self, path: Sequence[str | int]) -> str:
        """A path as SQL: an index knows it only as it is written."""
        if all(map(is_plain_step, path)):
            return f"'{json_path(path)}'"
        return self.bind(json_path(path), "text")

    def json(self, value: Expression) -> str:
        if not isinstance(value, Json | Column):
            return self.write(value)
        name, steps = column_and_steps(value)
        if name in JOINED and not steps:
            return JOINED[name]
        source, path = self._source(value)
        part = f"{source} -> {path}"
        if isinstance(value, Column) and (name in LISTS or name in OBJECTS):
            return f"coalesce({part}, '{'[]' if name in LISTS else '{}'}')"
        return f"nullif({part}, 'null')"

    def scalar(self, value: Expression) -> str:
        """JSON as the SQL value that it is."""
        if not isinstance(value, Json | Column):
            return f"({self.write(value)} ->> '$')"
        source, path = self._source(value)
        return f"{source} ->> {path}"

    def _type_of_set(self, value: Expression) -> str:
        """The type of JSON; unknown of a null, as any comparison with it is."""
        return f"nullif({self._type_of(value)}, 'null')"

    def _type_of(self, value: Expression) -> str:
        if not isinstance(value, Json | Column):
            return f"json_type({self.write(value)})"
        source, path = self._source(value)
        return f"json_type({source}, {path})"

    def json_length(self, value: Expression) -> str:
        source, path = self._source(value)
        return f"json_array_length({source}, {path})"

    def json_typeof(self, value: Expression) -> str:
        kind = self._type_of(value)
        return (
            f"(CASE {kind} WHEN 'text' THEN 'string' WHEN 'integer' THEN 'number'"
            " WHEN 'real' THEN 'number' WHEN 'true' THEN 'boolean' WHEN 'false' THEN 'boolean'"
            f" ELSE {kind} END)"
        )

    # -- comparisons -------------------------------------------------------------------------------

    def compare_json(self, comparison: Compare) -> str:
        value, operator = comparison.left, comparison.operator
        literal = comparison.right
        assert isinstance(literal, Value)  # noqa: S101 - JSON is compared with literals only
        scalar = self.scalar(value)
        if literal.type == "boolean":
            return self._compare_boolean(comparison, literal, scalar)
        compared = f"{scalar} {operator} {self.bind(literal.value, literal.type)}"
        if operator == "<>":
            return self._differs(value, literal, compared)
        if operator == "=":
            return self._equals(value, [literal], compared)
        kinds = "('text')" if literal.type == "text" else _NUMBERS
        return f"({compared} AND {self._type_of_set(value)} IN {kinds})"

    def _compare_boolean(self, comparison: Compare, literal: Value, scalar: str) -> str:
        value, operator = comparison.left, comparison.operator
        word = "true" if literal.value else "false"
        compared = f"{self._type_of_set(value)} {operator} '{word}'"
        if operator == "=":
            return f"({scalar} = {int(literal.value)} AND {compared})"
        if operator == "<>":
            return f"({compared})"
        return f"({compared} AND {self._type_of_set(value)} IN {_BOOLEANS})"

    def _differs(self, value: Expression, literal: Value, compared: str) -> str:
        # SQLite takes true for 1 and false for 0
        if literal.type != "text" and literal.value in (0, 1):
            return f"({compared} OR {self._type_of_set(value)} IN {_BOOLEANS})"
        return f"({compared})"

    def _equals(self, value: Expression, literals: Sequence[Value], compared: str) -> str:
        """A comparison by `=`, where SQLite takes true for 1, and JSON for its text."""
        if literals[0].type == "text":
            is_doubtful = any(str(literal.value)[:1] in ("[", "{") for literal in literals)
            kinds = "= 'text'"
        else:
            is_doubtful = any(literal.value in (0, 1) for literal in literals)
            kinds = f"IN {_NUMBERS}"
        if is_doubtful:
            return f"({compared} AND {self._type_of_set(value)} {kinds})"
        return f"({compared})"

    def json_is_one_of(self, condition: AnyOf) -> str:
        value, literals = condition.part, condition.values
        if literals[0].type == "boolean":
            compared = (self.compare_json(Compare("=", value, literal)) for literal in literals)
            single = f"({' OR '.join(compared)})"
        else:
            placeholders = ", ".join(self.bind(literal.value, literal.type) for literal in literals)
            single = self._equals(value, literals, f"{self.scalar(value)} IN ({placeholders})")
        if not condition.lists:
            return single
        source, path = self._source(value)
        element = " OR ".join(map(self._is_element, literals))
        in_list = f"EXISTS (SELECT 1 FROM json_each({source}, {path}) j WHERE {element})"
        # in each arm, so that an index of this schema serves it
        own = f"r.schema = '{self.schema}'"
        is_list = f"{self._type_of(value)} = 'array'"
        return f"(({own} AND {single}) OR ({own} AND {is_list} AND {in_list}))"

    def _is_element(self, literal: Value) -> str:
        """Whether the element `j` of a list is this value, and of its type: SQLite would take true
        for 1, and a list for its own text."""
        if literal.type == "boolean":
            return f"(j.type = '{'true' if literal.value else 'false'}')"
        kinds = "('text')" if literal.type == "text" else _NUMBERS
        return f"(j.value = {self.bind(literal.value, literal.type)} AND j.type IN {kinds})"

    def is_one_of(self, value: Expression, literals: Sequence[Value]) -> str:
        if value.type == "boolean":
            numbers = ", ".join(str(int(literal.value)) for literal in literals)
            return f"({self.write(value)} IN ({numbers}))"
        name = value.name if isinstance(value, Column) and value.field is None else ""
        default = DEFAULTS.get(name)
        written = self.write(value)
        # The body leaves a default out, so a column without it is compared as it is stored.
        if name in DEFAULTS and all(literal.value != default for literal in literals):
            written = f"r.body ->> '$.{name}'"
        if len(literals) > MANY and value.type == "text":
            listed = msgspec.json.encode([literal.value for literal in literals]).decode()
            return f"({written} IN (SELECT value FROM json_each({self.bind(listed, 'text')})))"
        placeholders = [self.bind(literal.value, literal.type) for literal in literals]
        if len(placeholders) == 1:
            return f"({written} = {placeholders[0]})"
        return f"({written} IN ({', '.join(placeholders)}))"

    def has_key(self, key: str) -> str:
        named = (
            "SELECT n.rid FROM labels l CROSS JOIN names n ON n.lid = l.lid"
            f" WHERE l.key = {self.bind(key, 'text')}"
        )
        return f"r.rid IN ({named})"

    # -- texts and lists ---------------------------------------------------------------------------

    def contains(self, condition: Contains) -> str:
        value, needle = condition.part, condition.value
        if value.type != "json":
            return f"({self._contains_text(condition)})"
        source, path = self._source(value)
        kind = self._type_of(value)
        element = self._is_element(needle)
        if needle.type == "text":
            name = self.bind(needle.value, needle.type)
            element += f" OR (j.type = 'object' AND j.value ->> '$.name' = {name})"
        in_list = f"EXISTS (SELECT 1 FROM json_each({source}, {path}) j WHERE {element})"
        return (
            f"(CASE {kind} WHEN 'array' THEN {in_list} ELSE {self._contains_text(condition)} END)"
        )

    def _contains_text(self, condition: Contains) -> str:
        text = self.text(condition.part)
        needle = self.bind(str(condition.value.value), "text")
        return f"instr(casefold({text}), casefold({needle})) > 0"

    def starts_with(self, condition: StartsWith) -> str:
        text, start = self.text(condition.part), condition.text
        return f"(substr({text}, 1, {len(start)}) = {self.bind(start, 'text')})"

    def ends_with(self, condition: EndsWith) -> str:
        text, end = self.text(condition.part), condition.text
        # substr(text, -0) would be the whole text
        part = f"substr({text}, -{len(end)})" if end else f"substr({text}, 1, 0)"
        return f"({part} = {self.bind(end, 'text')})"

    def like(self, condition: Like) -> str:
        text, pattern = self.write(condition.part), condition.pattern
        # SQLite's own takes the length of both, and cannot be stopped
        if "_" in pattern or len(pattern) > _MAX_NATIVE_LIKE:
            return f"matches({self.bind(_like_to_regex(pattern), 'text')}, {text})"
        if pattern.isascii():
            return f"({text} LIKE {self.bind(pattern, 'text')} ESCAPE '\\')"
        return f"(lowered({text}) LIKE {self.bind(pattern.lower(), 'text')} ESCAPE '\\')"

    def matches(self, condition: Matches) -> str:
        text = self.text(condition.part)
        return f"matches({self.bind(condition.pattern, 'text')}, {text})"

    def in_path(self, path: InPath) -> str:
        tables = "edges e CROSS JOIN names n"
        conditions = ["n.lid = e.src"]
        if path.target is not None:
            tables = f"labels d CROSS JOIN {tables}"
            conditions += [f"d.key = {self.bind(path.target, 'text')}", "e.dst = d.lid"]
        if path.source is not None:
            tables = f"labels s CROSS JOIN {tables}"
            conditions += [f"s.key = {self.bind(path.source, 'text')}", "e.src = s.lid"]
        if path.rel_type is not None:
            tables += " CROSS JOIN rels t"
            conditions += [f"t.name = {self.bind(path.rel_type, 'text')}", "e.rel = t.rel"]
        if path.names_entity:
            key = "instr(p.key, 'entity/') = 1"
            if path.entity is not None:
                key = f"p.key = {self.bind(f'entity/{path.entity}', 'text')}"
            properties = "json_each(coalesce(e.properties, '{}')) p"
            conditions.append(f"EXISTS (SELECT 1 FROM {properties} WHERE {key})")
        sources = f"SELECT n.rid FROM {tables} WHERE {' AND '.join(conditions)}"
        own = "" if path.schema is None else f" AND r.schema = {self.bind(path.schema, 'text')}"
        return f"(r.rid IN ({sources}){own})"

    def is_set(self, condition: IsSet) -> str:
        value = condition.part
        write = self.scalar if value.type == "json" else self.write
        return f"({write(value)} IS NOT NULL AND {write(value)} NOT IN ('', '[]', '{{}}'))"

    def null_test(self, value: Expression) -> str:
        return self.scalar(value) if isinstance(value, Json) else self.write(value)

    # -- the others --------------------------------------------------------------------------------

    def cast(self, value: Cast) -> str:
        part, kind = value.part, value.type
        if part.type == "json":
            return self._cast_json(part, kind)
        written = self.write(part)
        if kind != "text":
            return f"CAST({written} AS REAL)" if kind in ("real", "number") else written
        if part.type == "boolean":
            return f"(CASE {written} WHEN 1 THEN 'true' WHEN 0 THEN 'false' END)"
        if part.type in ("real", "number"):
            return f"number_text({written})"
        return f"CAST({written} AS TEXT)"

    def _cast_json(self, part: Expression, kind: Type) -> str:
        by_type = f"CASE {self._type_of(part)} WHEN 'true' THEN"
        if kind == "boolean":
            return f"({by_type} 1 WHEN 'false' THEN 0 END)"
        scalar = self.scalar(part)
        if kind == "text":
            return f"({by_type} 'true' WHEN 'false' THEN 'false' ELSE CAST({scalar} AS TEXT) END)"
        return f"({by_type} NULL WHEN 'false' THEN NULL ELSE number_of({scalar}) END)"

    def arithmetic(self, value: Arithmetic) -> str:
        return f"({self.write(value.left)} {value.operator} {self.write(value.right)})"

    def format_time(self, pattern: str, at: str) -> str:
        return f"time_format({self.bind(pattern, 'text')}, {at})"


def mixed_json(value: Json) -> str:
    """The JSON of a field that some rows have by another name, or not at all."""
    names = (value.steps[0], *value.earlier)
    sources = [f"r.body -> '{json_path([value.column, name])}'" for name in names]
    if value.default:
        sources.append(quoted(value.default))
    return f"json(coalesce({', '.join(sources)}))"


def _field(field: FieldColumn) -> str:
    """A field of a row as what is computed with; NULL where it is of another kind."""
    text = _text(field)
    if field.kind == "date":
        return f"(unixepoch(substr({text}, 1, 10)) * 1000000)"
    if field.kind == "datetime":
        seconds = f"unixepoch(substr({text}, 1, 19))"
        return f"({seconds} * 1000000 + CAST(substr({text}, 21, 6) AS INTEGER))"
    if field.kind in ("decimal", "float"):
        return f"CAST({text} AS REAL)"
    if field.is_mixed and field.kind == "integer":
        return f"CAST({text} AS INTEGER)"
    if field.is_mixed and field.kind == "boolean":
        words = {"true": 1, "1": 1, "false": 0, "0": 0}
        cases = " ".join(f"WHEN '{word}' THEN {value}" for word, value in words.items())
        return f"CASE lower({text}) {cases} END"
    return text


def _time_text(field: FieldColumn) -> str:
    text = _text(field)
    if not field.is_mixed:
        return text
    if field.kind == "date":
        return f"substr({text}, 1, 10)"
    return f"CASE length({text}) WHEN 10 THEN {text} || 'T00:00:00.000000Z' ELSE {text} END"


def _text(field: FieldColumn) -> str:
    is_text = field.is_mixed and field.kind in ("string", "enum")
    read = _any_text if is_text else "r.body ->> '{}'".format
    sources = [read(json_path(path)) for path in (field.path, *field.earlier)]
    if isinstance(field.default, str):
        sources.append(quoted(field.default))
    elif field.default is not None:
        sources.append(repr(+field.default))
    return sources[0] if len(sources) == 1 else f"coalesce({', '.join(sources)})"


def _any_text(path: str) -> str:
    return (
        f"CASE json_type(r.body, '{path}') WHEN 'true' THEN 'true' WHEN 'false' THEN 'false'"
        f" ELSE CAST(r.body ->> '{path}' AS TEXT) END"
    )


def _like_to_regex(pattern: str) -> str:
    """A pattern of LIKE as a regular expression. What is between two % is searched once, where it
    comes first, and not again elsewhere when what follows is missing: that would only take time."""
    pieces = [""]
    for part in re.findall(r"\\.|%+|.", pattern, re.DOTALL):
        if part[0] == "%":
            pieces.append("")
        else:
            pieces[-1] += "." if part == "_" else re.escape(part[-1])
    flags = "isa" if pattern.isascii() else "is"
    first, *others = pieces
    if not others:
        return f"(?{flags})\\A{first}\\Z"
    *between, last = others
    middle = "".join(f"(?>.*?{piece})" for piece in between)
    return f"(?{flags})\\A{first}{middle}.*{last}\\Z"
