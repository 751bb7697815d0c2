"""Expressions and SELECTs as PostgreSQL's SQL, over the row `r` of a record."""

from __future__ import annotations

import re
import struct
from collections.abc import Sequence
from typing import Any

import msgspec

from ...errors import InvalidInputError
from ...sql import times
from ...sql.answers import MAX_HELD
from ...sql.columns import DEFAULTS, LISTS, OBJECTS, TIMES
from ...sql.functions import Function
from ...sql.values import (
    Aggregate,
    And,
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
    Select,
    StartsWith,
    Type,
    Value,
    walk,
)
from ...sql.writer import (
    MANY,
    SqlWriter,
    column_and_steps,
    is_plain_step,
    order_way,
    quoted,
    requires_value,
)
from .rows import short

_TIMES = {
    "created_at": "r.created",
    "updated_at": "r.updated",
    "starts_at": "r.starts",
    "expires_at": "r.expires",
    "ends_at": "CASE WHEN r.body ->> 'ends_at' IS NOT NULL THEN r.ends END",
}
_OWN = {"id": "r.id", "schema": "r.schema", "uri": "r.uri"}  # columns whose collation is "C"
_C = ' COLLATE "C"'
_KEY = (
    "(SELECT coalesce(n.label, n.key) FROM remloom.names n"
    " WHERE n.tenant_id = r.tenant_id AND n.id = r.id AND n.rank = 0)"
)
# Columns that are put together from other tables.
_JOINED = {
    "parents": (
        "(SELECT coalesce(jsonb_agg(d.parent), '[]'::jsonb) FROM remloom.parents d"
        " WHERE d.tenant_id = r.tenant_id AND d.child = r.id AND d.kind = 0)"
    ),
    "graph_paths": (
        "(SELECT coalesce(jsonb_agg(jsonb_build_object('dst', e.dst, 'rel_type', e.rel,"
        " 'weight', e.weight, 'properties', coalesce(e.properties, '{}'::jsonb))), '[]'::jsonb)"
        " FROM remloom.names n"
        " JOIN remloom.edges e ON e.tenant_id = r.tenant_id AND e.src = n.key"
        " WHERE n.tenant_id = r.tenant_id AND n.id = r.id)"
    ),
}
_SQL_TYPES = {
    "text": "text",
    "integer": "bigint",
    "time": "bigint",
    "date": "bigint",
    "number": "float8",
    "real": "float8",
    "boolean": "boolean",
    "null": "text",
    "json": "jsonb",
}
_POSITION = re.compile(r"\s*[-+]?\d+\s*")  # what PostgreSQL takes for a position in a list
_INDEXED_LENGTH = 200  # characters of a text that an index of a JSON value has
_DAY, _CLOCK = r"^\d{4}-\d\d-\d\d", r"\d\d:\d\d:\d\d\.\d{6}"  # as rows have times
_MAX_ARGUMENTS = 90  # of one function of PostgreSQL's


def json_value(field: str) -> str:
    if field in DEFAULTS:
        default = msgspec.json.encode(DEFAULTS[field]).decode()
        return f"coalesce(r.body -> '{field}', '{default}'::jsonb)"
    return _json_at(field.split("."))


def _json_at(steps: Sequence[str | int]) -> str:
    """The JSON value at a path of plain words.

    PostgreSQL takes a key for a position in a list, and the other way round, where a path is one
    text. A step that might be either is taken by itself.
    """
    is_doubtful = any(isinstance(step, int) or _POSITION.fullmatch(step) for step in steps)
    if len(steps) > 1 and not is_doubtful:
        path = ",".join(f'"{step}"' for step in steps)
        return f"(r.body #> '{{{path}}}')"
    written = [str(step) if isinstance(step, int) else f"'{step}'" for step in steps]
    return _step_into("r.body", written)


def _step_into(json: str, steps: Sequence[str]) -> str:
    for step in steps:
        json = f"({json} -> {step})"
    return json


def sortable_value(field: str) -> str:
    """The SQL that `create_index` indexes of a field."""
    return f"remloom.sortable({json_value(field)}){_C}"


def indexed_value(value: Column | Json) -> str:
    """The SQL that `create_index` indexes of a column, or of a value within JSON."""
    if isinstance(value, Column) and value.field is not None:
        return _field(value.field)
    return sortable_value(_path_of(value))


def order_terms(value: Column | Json, way: str) -> str:
    """ORDER BY terms: unset values lowest, then numbers, then texts."""
    nulls = f"{way} NULLS {'FIRST' if way == 'ASC' else 'LAST'}"
    if isinstance(value, Column) and value.field is not None:
        return f"{_field(value.field)} {nulls}"
    field = _path_of(value)
    if isinstance(value, Json) and value.is_mixed:
        steps = [str(step) if isinstance(step, int) else quoted(step) for step in value.steps[1:]]
        part = _step_into(_mixed_json(value), steps)
        return f"remloom.sortable({part}){_C} {nulls}, ({part} #>> '{{}}'){_C} {nulls}"
    if field in TIMES:
        return f"{_TIMES[field]} {nulls}"
    if field in _OWN or field == "content":
        return f"{_OWN.get(field, f'r.content{_C}')} {nulls}"
    return f"{sortable_value(field)} {nulls}, ({json_value(field)} #>> '{{}}'){_C} {nulls}"


def _path_of(value: Column | Json) -> str:
    column, steps = column_and_steps(value)
    return ".".join([column, *map(str, steps)])


def _field(field: FieldColumn) -> str:
    """A field of a row as what is computed with; NULL where it is of another kind. An index may
    have it: nothing in it depends on a setting."""
    json, text = _field_json(field), _field_text(field)
    match field.kind:
        case "integer" if field.is_mixed:
            return _whole(text)
        case "integer":
            return f"(CASE WHEN jsonb_typeof({json}) = 'number' THEN ({text})::bigint END)"
        case "float" | "decimal":
            return f"remloom.number_of({text})"
        case "boolean" if field.is_mixed:
            words = {"true": "true", "1": "true", "false": "false", "0": "false"}
            cases = " ".join(f"WHEN '{word}' THEN {value}" for word, value in words.items())
            return f"(CASE lower({text}) {cases} END)"
        case "boolean":
            return f"(CASE WHEN jsonb_typeof({json}) = 'boolean' THEN ({text})::boolean END)"
        case "date" | "datetime":
            return f"({_micros(_time_text(field))})"
    return text


def _whole(text: str) -> str:
    """A text as a whole number of 64 bits; NULL where it is none. No digit is lost."""
    in_bounds = f"abs(({text})::numeric) < 9223372036854775808"
    long = f"CASE WHEN {in_bounds} THEN ({text})::bigint END"
    return (
        f"(CASE WHEN {text} ~ '^-?[0-9]{{1,18}}$' THEN ({text})::bigint"
        f" WHEN {text} ~ '^-?[0-9]{{19}}$' THEN {long}"
        f" ELSE remloom.whole(remloom.number_of({text})) END)"
    )


def _time_text(field: FieldColumn) -> str:
    text = _field_text(field)
    if not field.is_mixed:
        return text
    if field.kind == "date":
        return f"substr({text}, 1, 10){_C}"
    return f"(CASE length({text}) WHEN 10 THEN {text} || 'T00:00:00.000000Z' ELSE {text} END){_C}"


def _field_text(field: FieldColumn) -> str:
    return f"({_field_json(field)} #>> '{{}}'){_C}"


def _field_json(field: FieldColumn) -> str:
    sources = [_json_at(path) for path in (field.path, *field.earlier)]
    if field.default is not None:
        sources.append(_json_literal(msgspec.json.encode(field.default).decode()))
    return sources[0] if len(sources) == 1 else f"coalesce({', '.join(sources)})"


def _mixed_json(value: Json) -> str:
    """The first step of a value in JSON that some rows have by another name, or not at all."""
    names = (value.steps[0], *value.earlier)
    sources = [_json_at((value.column, str(name))) for name in names]
    if value.default:
        sources.append(_json_literal(value.default))
    return f"coalesce({', '.join(sources)})"


def _json_literal(json: str) -> str:
    # as JSON may write them: a driver takes a percent sign for a mark
    escaped = json.replace("%", "\\u0025").replace("'", "\\u0027")
    return f"'{escaped}'::jsonb"


def _micros(text: str) -> str:
    """The microseconds of a stored time or day, which is written in one way."""
    parts = [f"substr({text}, {first}, {count})::int" for first, count in ((1, 4), (6, 2), (9, 2))]
    clock = [f"substr({text}, {first}, {count})" for first, count in ((12, 2), (15, 2), (18, 9))]
    day = f"make_timestamp({', '.join(parts)}, 0, 0, 0)"
    time = (
        f"make_timestamp({', '.join(parts)}, {clock[0]}::int, {clock[1]}::int, {clock[2]}::float8)"
    )
    return (
        f"CASE WHEN {text} ~ '{_DAY}$' THEN remloom.micros({day})"
        f" WHEN {text} ~ '{_DAY}T{_CLOCK}Z$' THEN remloom.micros({time}) END"
    )


def _sort_key(value: Any) -> str:
    """The text that `remloom.sortable` makes of a JSON value: texts follow numbers."""
    if isinstance(value, str):
        return f"2{value[:_INDEXED_LENGTH]}"
    # The bits of a float, changed so that they are in the order of the numbers.
    bits = struct.unpack(">Q", struct.pack(">d", float(value) + 0.0))[0]
    is_negative = bits >> 63
    ordered = (~bits if is_negative else bits | 1 << 63) & ((1 << 64) - 1)
    return f"1{ordered:016x}"


class PostgresWriter(SqlWriter):
    """See `SqlWriter`. The bound values are one list of texts, `$1`, each cast to its type."""

    prefix = "remloom."
    mark = re.compile(r"\(\$1\)\[(\d+)\]")

    def __init__(self, schema: str) -> None:
        super().__init__(schema)
        self._joins = 1  # texts that the statement joins at the same time
        # whether an index of an expression is asked for: row security keeps it from use
        self.by_expression = False

    @staticmethod
    def template(function: Function) -> str:
        return function.postgres

    def bind(self, value: Any, kind: Type) -> str:
        if isinstance(value, bool):
            value = "true" if value else "false"
        elif value is not None and not isinstance(value, str):
            value = repr(value)
        placeholder = f"($1)[{self.bind_number(value, kind)}]::{_SQL_TYPES[kind]}"
        return f"{placeholder}{_C}" if kind == "text" else placeholder

    def _bind_json(self, value: Any) -> str:
        text = msgspec.json.encode(value).decode()
        return f"($1)[{self.bind_number(text, 'json')}]::jsonb"

    # -- columns and JSON --------------------------------------------------------------------------

    def column(self, value: Column) -> str:
        name = value.name
        if value.field is not None:
            self.by_expression = True
            return _field(value.field)
        if name in TIMES:
            return _TIMES[name]
        if name in _OWN:
            return _OWN[name]
        if name == ("category" if self.schema == "resources" else "type"):
            return "r.type"
        if name == "content":
            return f"r.content{_C}"
        if name == "key":
            return _KEY
        if name == "thin":
            return "r.thin"
        if name in ("ordinal", "generation", "version"):
            return f"coalesce(r.body ->> '{name}', '0')::bigint"
        text = f"r.body ->> '{name}'"
        if name in DEFAULTS:
            text = f"coalesce({text}, '{DEFAULTS[name]}')"
        return f"({text}){_C}"

    def time_column(self, value: Column) -> str:
        if value.field is not None:
            return _time_text(value.field)
        return f"(r.body ->> '{value.name}'){_C}"

    def json(self, value: Expression) -> str:
        if isinstance(value, Json):
            return f"nullif({self._path(value)}, 'null'::jsonb)"
        if not isinstance(value, Column):
            return self.write(value)
        name = value.name
        if name in _JOINED:
            return _JOINED[name]
        part = f"(r.body -> '{name}')"
        if name in LISTS or name in OBJECTS:
            return f"coalesce({part}, '{'[]' if name in LISTS else '{}'}'::jsonb)"
        return part

    def _path(self, value: Expression) -> str:
        if not isinstance(value, Json | Column):
            return self.write(value)
        column, steps = column_and_steps(value)
        if column in _JOINED:
            return _step_into(_JOINED[column], self._bind_steps(steps))
        if not steps:
            return json_value(column)
        path = (column, *steps)
        if isinstance(value, Json) and value.is_mixed:
            return _step_into(_mixed_json(value), self._bind_steps(steps[1:]))
        if all(map(is_plain_step, path)):
            return _json_at(path)
        return _step_into("r.body", self._bind_steps(path))

    def _bind_steps(self, steps: Sequence[str | int]) -> list[str]:
        return [
            str(step) if isinstance(step, int) else f"({self.bind(step, 'text')})" for step in steps
        ]

    def _json_text(self, value: Expression) -> str:
        return f"({self._path(value)} #>> '{{}}'){_C}"

    def json_length(self, value: Expression) -> str:
        path = self._path(value)
        length = f"WHEN jsonb_typeof({path}) = 'array' THEN jsonb_array_length({path})"
        return f"(CASE {length} WHEN {path} IS NOT NULL THEN 0 END)::bigint"

    def json_typeof(self, value: Expression) -> str:
        return f"jsonb_typeof({self._path(value)}){_C}"

    # -- comparisons -------------------------------------------------------------------------------

    def _index_key(self, value: Expression) -> str:
        """The key by which an index of a JSON value finds it."""
        self.by_expression = True
        return f"remloom.sortable({self._path(value)}){_C}"

    def _bind_key(self, value: Any) -> str:
        return self.bind(_sort_key(value), "text")

    def compare_json(self, comparison: Compare) -> str:
        value, operator = comparison.left, comparison.operator
        literal = comparison.right
        assert isinstance(literal, Value)  # noqa: S101 - JSON is compared with literals only
        path = self._path(value)
        # A comparison with a JSON null is unknown.
        set_value = f"nullif({path}, 'null'::jsonb)"
        if operator == "<>":
            differs = f"{path} <> {self._bind_json(literal.value)}"
            return f"(CASE WHEN jsonb_typeof({path}) <> 'null' THEN {differs} END)"
        key = self._index_key(value)
        if operator == "=":
            same_key = f"{key} = {self._bind_key(literal.value)}"
            return f"({same_key} AND {set_value} = {self._bind_json(literal.value)})"
        kind = {"text": "string", "boolean": "boolean"}.get(literal.type, "number")
        is_kind = f"jsonb_typeof({set_value}) = '{kind}'"
        if kind == "boolean":
            return f"({set_value} {operator} {self._bind_json(literal.value)} AND {is_kind})"
        # Texts that begin alike have one key, so the key is compared with or-equal.
        wide = operator if operator.endswith("=") else f"{operator}="
        if kind == "string":
            exact = f"{self._json_text(value)} {operator} {self.bind(literal.value, 'text')}"
        else:
            exact = f"{set_value} {operator} {self._bind_json(literal.value)}"
        return f"({key} {wide} {self._bind_key(literal.value)} AND {exact} AND {is_kind})"

    def json_is_one_of(self, condition: AnyOf) -> str:
        value, literals = condition.part, condition.values
        keys = ", ".join(self._bind_key(literal.value) for literal in literals)
        listed = ", ".join(self._bind_json(literal.value) for literal in literals)
        path = self._path(value)
        exact = f"nullif({path}, 'null'::jsonb) = ANY (ARRAY[{listed}])"
        single = f"({self._index_key(value)} = ANY (ARRAY[{keys}]) AND {exact})"
        if not condition.lists:
            return single
        in_list = (
            f"EXISTS (SELECT FROM jsonb_array_elements({path}) x (value)"
            f" WHERE x.value = ANY (ARRAY[{listed}]))"
        )
        is_list = f"jsonb_typeof({path}) = 'array'"
        return f"({single} OR (CASE WHEN {is_list} THEN {in_list} END IS TRUE))"

    def is_one_of(self, value: Expression, literals: Sequence[Value]) -> str:
        name = value.name if isinstance(value, Column) and value.field is None else ""
        texts = [literal.value for literal in literals]
        kind = literals[0].type
        written = self.write(value)
        # The body leaves a default out, so a column without it is compared as it is stored.
        if name in DEFAULTS and kind == "text" and DEFAULTS[name] not in texts:
            written = f"(r.body ->> '{name}'){_C}"
            self.by_expression = True
        if len(texts) > MANY and name == "id":
            listed = f"SELECT jsonb_array_elements_text({self._bind_json(texts)})"
            return f"({written} = ANY (ARRAY({listed})))"
        placeholders = [self.bind(text, kind) for text in texts]
        condition = f"{written} {_equals_any(placeholders)}"
        if name != "uri":
            return f"({condition})"
        # A URI may be longer than an index takes, so its hash is what is indexed.
        self.by_expression = True
        hashes = [f"md5({placeholder})" for placeholder in placeholders]
        return f"(md5({written}) {_equals_any(hashes)} AND {condition})"

    def has_key(self, key: str) -> str:
        named = f"SELECT n.id FROM remloom.names n WHERE n.key = {self.bind(short(key), 'text')}"
        return f"r.id = ANY (ARRAY({named}))"

    # -- texts and lists ---------------------------------------------------------------------------

    def contains(self, condition: Contains) -> str:
        value, needle = condition.part, condition.value
        if value.type != "json":
            return f"({self._contains_text(condition)})"
        path, element = self._path(value), self._bind_json(needle.value)
        is_element = f"x.value = {element}"
        if needle.type == "text":
            is_element += f" OR (x.value -> 'name') = {element}"
        in_list = f"EXISTS (SELECT FROM jsonb_array_elements({path}) x (value) WHERE {is_element})"
        in_text = self._contains_text(condition)
        return f"(CASE jsonb_typeof({path}) WHEN 'array' THEN {in_list} ELSE {in_text} END)"

    def _contains_text(self, condition: Contains) -> str:
        needle = self.bind(str(condition.value.value), "text")
        text = self.text(condition.part)
        return f"strpos({_lower(text)}, {_lower(needle)}) > 0"

    def starts_with(self, condition: StartsWith) -> str:
        return f"starts_with({self.text(condition.part)}, {self.bind(condition.text, 'text')})"

    def ends_with(self, condition: EndsWith) -> str:
        text, end = self.text(condition.part), condition.text
        return f'("right"({text}, {len(end)}){_C} = {self.bind(end, "text")})'

    def like(self, condition: Like) -> str:
        text, pattern = self.write(condition.part), condition.pattern
        if pattern.isascii():
            return f"({text} ILIKE {self.bind(pattern, 'text')})"
        return f"({_lower(text)}{_C} LIKE {self.bind(pattern.lower(), 'text')})"

    def matches(self, condition: Matches) -> str:
        text = self.text(condition.part)
        number = self.bind_number(_advanced_regex(condition.pattern), "text")
        return f'(({text}) COLLATE "default" ~ ($1)[{number}]::text)'

    def in_path(self, path: InPath) -> str:
        # Row security says which tenant's.
        conditions = ["n.tenant_id = e.tenant_id", "n.key = e.src"]
        if path.source is not None:
            conditions.append(f"e.src = {self.bind(short(path.source), 'text')}")
        if path.target is not None:
            conditions.append(f"e.dst = {self.bind(short(path.target), 'text')}")
        if path.rel_type is not None:
            conditions.append(f"e.rel = {self.bind(path.rel_type, 'text')}")
        if path.names_entity:
            key = "starts_with(p.key, 'entity/')"
            if path.entity is not None:
                key = f"p.key = {self.bind(f'entity/{path.entity}', 'text')}"
            keys = "jsonb_object_keys(coalesce(e.properties, '{}'::jsonb)) p (key)"
            conditions.append(f"EXISTS (SELECT FROM {keys} WHERE {key})")
        own = "" if path.schema is None else f" AND r.schema = {self.bind(path.schema, 'text')}"
        sources = (
            "SELECT n.id FROM remloom.edges e JOIN remloom.names n ON TRUE"
            f" WHERE {' AND '.join(conditions)}"
        )
        return f"(r.id = ANY (ARRAY({sources})){own})"

    def is_set(self, condition: IsSet) -> str:
        value = condition.part
        written = self._json_text(value) if value.type == "json" else self.write(value)
        if value.type not in ("text", "json"):
            return f"({written} IS NOT NULL)"
        return f"({written} IS NOT NULL AND {written} NOT IN ('', '[]', '{{}}'))"

    def null_test(self, value: Expression) -> str:
        return self.json(value) if value.type == "json" else self.write(value)

    # -- the others --------------------------------------------------------------------------------

    def cast(self, value: Cast) -> str:
        part, kind = value.part, value.type
        if part.type == "json":
            return self._cast_json(part, kind)
        written = self.write(part)
        if kind == "text":
            return f"({written})::text{_C}"
        if kind == "integer":
            return f"({written})::integer::bigint"
        return f"({written})::{_SQL_TYPES[kind]}"

    def _cast_json(self, part: Expression, kind: Type) -> str:
        if kind == "text":
            return self._json_text(part)
        path = self._path(part)
        if kind == "boolean":
            return f"(CASE {path} WHEN 'true'::jsonb THEN TRUE WHEN 'false'::jsonb THEN FALSE END)"
        text = f"CASE WHEN jsonb_typeof({path}) <> 'boolean' THEN {path} #>> '{{}}' END"
        return f"remloom.number_of({text})"

    def arithmetic(self, value: Arithmetic) -> str:
        left, right = self.write(value.left), self.write(value.right)
        # Division by 0 is an error to PostgreSQL, and NULL to us.
        if value.operator in "/%":
            right = f"nullif({right}, 0)"
        return f"({left} {value.operator} {right})"

    def aggregate(self, call: Aggregate) -> str:
        part, name = call.part, call.name
        assert part is not None  # noqa: S101 - `count(*)` is written by all stores alike
        written, rows = self.write(part), self.filtered(call)
        argument = f"DISTINCT {written}" if call.distinct else written
        if name == "total":
            return f"coalesce(sum({argument}){rows}, 0)"
        if name == "sum" and call.type == "integer":
            return f"sum({argument}){rows}::bigint"
        if name in ("min", "max") and part.type == "json":
            way = "ASC" if name == "min" else "DESC"
            key = f"remloom.sortable({self._path(part)}){_C} {way} NULLS LAST"
            return f"remloom.first_of({written} ORDER BY {key}){rows}"
        if name in ("min", "max") and part.type == "boolean":
            return f"{'bool_and' if name == 'min' else 'bool_or'}({written}){rows}"
        if name == "group_concat":
            separator, key = "','", written
            if not call.distinct:
                separator, key = self.bind(call.separator, "text"), "r.seq"
            # counted while rows are read, before any are joined
            most = MAX_HELD // self._joins
            counted = f"remloom.held({written}, {separator}, {most}){rows}"
            joined = f"string_agg({argument}, {separator} ORDER BY {key}){rows}"
            return f"(CASE WHEN {counted} >= 0 THEN {joined} END){_C}"
        return f"{name}({argument}){rows}"

    def format_time(self, pattern: str, at: str) -> str:
        pieces = [self._format_piece(piece, at) for piece in times.split_format(pattern)]
        if not pieces:
            return f"left(remloom.time_format('YYYY', {at}), 0){_C}"
        # a pattern without a unit is no text either where there is no time
        return f"(CASE WHEN {at} IS NOT NULL THEN {' || '.join(pieces)} END){_C}"

    def _format_piece(self, piece: str, at: str) -> str:
        if piece == "%%":
            return self.bind("%", "text")
        if piece[0] != "%":
            return self.bind(piece, "text")
        if piece == "%s":
            return f"remloom.time_part('epoch', {at})::bigint::text"
        if piece == "%w":
            return f"remloom.time_part('dow', {at})::bigint::text"
        postgres_format = "SS.MS" if piece == "%f" else times.FORMATS[piece[1]][1]
        return f"remloom.time_format('{postgres_format}', {at})"

    # -- a SELECT ----------------------------------------------------------------------------------

    def select(self, select: Select, limit: int, filter: str = "") -> tuple[str, list[Type]]:
        """The SQL of a SELECT of at most `limit` rows, each one JSON list, and the types of its
        columns. `filter` is another condition on the rows."""
        grouped = select.aggregated or select.distinct
        self._joins = max(1, _count_joins(select))
        columns, kinds = self.columns(select, grouped=grouped)
        where = self._select_where(select)
        if filter:
            where += f" AND {filter}"
        order = self._order_distinct(select) if select.distinct else self._order(select, grouped)
        clauses = [f"WHERE {where}"]
        if select.groups:
            clauses.append(f"GROUP BY {', '.join(map(self.write, select.groups))}")
        if select.having is not None:
            clauses.append(f"HAVING {self.write(select.having)}")
        rows = limit if select.limit is None else min(limit, select.limit)
        window = f"LIMIT {rows} OFFSET {select.offset}"
        ordered = f"ORDER BY {order} {window}" if order else window
        # Under row security PostgreSQL uses no index for what is not leakproof; the view says the
        # same as the policy.
        table = "remloom.read_records" if self.by_expression else "remloom.records"
        source = " ".join([f"SELECT {', '.join(columns)} FROM {table} r", *clauses])
        # DISTINCT rows are ordered outside, by what is made of their columns.
        if select.distinct:
            source = f"SELECT d.* FROM (SELECT DISTINCT d.* FROM ({source}) d) d {ordered}"
        else:
            source = f"{source} {ordered}"
        row = f"CASE WHEN {_fits(kinds)} THEN ({_json_row(len(columns))})::text END"
        return f"SELECT {row} FROM ({source}) q", kinds

    def _select_where(self, select: Select) -> str:
        # What is found by a key of its own is not looked for along the index of schemas, which has
        # half of all rows.
        has_own_key = requires_value(select.where, "id", "name", "uri", "kind")
        column = "(r.schema || '')" if has_own_key else "r.schema"
        where = f"{column} = '{self.schema}'"
        return where if select.where is None else f"{where} AND {self.write(select.where)}"

    def _order(self, select: Select, grouped: bool) -> str:
        set_columns = _set_columns(select.where)
        terms = []
        for term in select.order:
            value, way = term.value, order_way(term)
            # No value is NULL, and an index is read in its own order.
            if isinstance(value, Column) and value.name in set_columns:
                way = way.partition(" ")[0]
            if value.type != "json":
                terms.append(f"{self.write(value)} {way}")
            elif grouped:
                terms.append(f"remloom.sortable({self.write(value)}){_C} {way}")
            else:
                terms += [f"{self._index_key(value)} {way}", f"{self._json_text(value)} {way}"]
        if terms and not grouped:
            terms.append(f"r.seq{' DESC' if select.order[-1].descending else ''}")
        return ", ".join(terms)

    def _order_distinct(self, select: Select) -> str:
        terms = []
        values = [output.value for output in select.outputs]
        for term in select.order:
            column = f"d.c{values.index(term.value)}"
            key = f"remloom.sortable({column}){_C}" if term.value.type == "json" else column
            terms.append(f"{key} {order_way(term)}")
        return ", ".join(terms)


def _count_joins(select: Select) -> int:
    """Return how many different `group_concat` a SELECT has: they are joined at the same time."""
    values = [output.value for output in select.outputs] + [term.value for term in select.order]
    if select.having is not None:
        values.append(select.having)
    parts = {part for value in values for part in walk(value) if isinstance(part, Aggregate)}
    return sum(part.name == "group_concat" for part in parts)


def _fits(kinds: Sequence[Type]) -> str:
    """The condition that the columns c0, c1, … are short enough for one text; else an error."""
    counted = [
        f"coalesce(octet_length(q.c{index}{'' if kind == 'text' else '::text'}), 0)::bigint"
        for index, kind in enumerate(kinds)
        if kind in ("text", "json", "any")
    ]
    return f"remloom.fits({' + '.join(counted)})" if counted else "TRUE"


def _json_row(columns: int) -> str:
    names = [f"q.c{index}" for index in range(columns)]
    lists = [
        f"jsonb_build_array({', '.join(names[first : first + _MAX_ARGUMENTS])})"
        for first in range(0, columns, _MAX_ARGUMENTS)
    ]
    return " || ".join(lists)


def _equals_any(written: Sequence[str]) -> str:
    return f"= {written[0]}" if len(written) == 1 else f"= ANY (ARRAY[{', '.join(written)}])"


def _lower(text: str) -> str:
    return f'lower({text} COLLATE "default")'


def _set_columns(where: Expression | None) -> set[str]:
    """The columns that have a value wherever the condition holds."""
    names = {"created_at", "updated_at"}
    waiting = [] if where is None else [where]
    while waiting:
        part = waiting.pop()
        if isinstance(part, And):
            waiting += part.parts
        elif isinstance(part, Compare):
            names |= {side.name for side in (part.left, part.right) if isinstance(side, Column)}
    return names


# -- regular expressions ---------------------------------------------------------------------------

_UNSUPPORTED = re.compile(r"\(\?(?:P=|\(|[aiLmsux]*-[imsx]+:|[aiLmsux]+:|#)|\\[NpPX]")
_SPELLINGS = {r"\b": r"\y", r"\B": r"\Y", r"\Z": r"\Z"}  # Python's -> PostgreSQL's
_TOKENS = re.compile(r"\\.|\(\?P<\w+>|[^\\(]+|\(", re.DOTALL)
_FLAGS = re.compile(r"\A\(\?([aiLmsux]+)\)")


def _advanced_regex(pattern: str) -> str:
    """A Python regular expression as a PostgreSQL one; InvalidInputError where it has no equal."""
    if unsupported := _UNSUPPORTED.search(pattern):
        raise InvalidInputError(
            f"PostgreSQL has nothing like {unsupported[0]!r} in a regular expression",
            remedy="write the pattern without it",
        )
    flags, body = "", pattern
    if prefix := _FLAGS.match(pattern):
        flags, body = prefix[1], pattern[prefix.end() :]
    options = _newline_option(flags)
    options += "".join(flag for flag in "ix" if flag in flags)
    return f"(?{options})" + "".join(map(_respell, _TOKENS.findall(body)))


def _newline_option(flags: str) -> str:
    """As in Python: `.` stops at a newline unless (?s), `^` and `$` mean the whole unless (?m)."""
    if "m" in flags:
        return "w" if "s" in flags else "n"
    return "s" if "s" in flags else "p"


def _respell(token: str) -> str:
    if token in _SPELLINGS:
        return _SPELLINGS[token]
    return "(" if token.startswith("(?P<") else token
