"""Expressions and SELECTs as PostgreSQL's SQL, over the row `r` of a record."""

from __future__ import annotations

import re
import struct
from collections.abc import Sequence
from typing import Any

import msgspec

from ... import labels
from ...errors import InvalidInputError, LabelError
from ...sql import times
from ...sql.columns import DEFAULTS, LISTS, OBJECTS, TIMES
from ...sql.values import (
    And,
    Column,
    Compare,
    Expression,
    InPath,
    Json,
    Ordered,
    Select,
    Type,
    Value,
)
from ...sql.writer import Writer, asks_for, plain
from .short_keys import short

__all__ = ["PostgresWriter", "json_value", "order", "sortable"]

_TIMES = {
    "created_at": "r.created",
    "updated_at": "r.updated",
    "starts_at": "r.starts",
    "ends_at": "CASE WHEN r.body ->> 'ends_at' IS NOT NULL THEN r.ends END",
}
_OWN = {"id": "r.id", "schema": "r.schema", "uri": "r.uri"}  # columns whose collation is "C"
_C = ' COLLATE "C"'
_KEY = (
    "(SELECT coalesce(n.label, n.key) FROM remloom.names n"
    " WHERE n.tenant_id = r.tenant_id AND n.id = r.id AND n.rank = 0)"
)
_JOINED = {
    "parents": (
        "(SELECT coalesce(jsonb_agg(d.parent), '[]'::jsonb) FROM remloom.parents d"
        " WHERE d.tenant_id = r.tenant_id AND d.child = r.id AND d.kind = 0)"
    ),
    "graph_paths": (
        "(SELECT coalesce(jsonb_agg(jsonb_build_object('dst', e.dst, 'rel_type', e.rel, 'weight', e.weight,"
        " 'properties', coalesce(e.properties, '{}'::jsonb))), '[]'::jsonb) FROM remloom.names n"
        " JOIN remloom.edges e ON e.tenant_id = r.tenant_id AND e.src = n.key"
        " WHERE n.tenant_id = r.tenant_id AND n.id = r.id)"
    ),
}
_CASTS = {"text": "text", "integer": "bigint", "time": "bigint", "date": "bigint", "number": "float8", "real": "float8",
          "boolean": "boolean", "null": "text"}  # fmt: skip
_PLACE = re.compile(r"\s*[-+]?\d+\s*")  # what PostgreSQL takes for a place in a list
_INDEXED = 200  # characters of a text that an index of a JSON value has
_AT_ONCE = 90  # arguments of one function


def json_value(field: str) -> str:
    """The JSON value of a field or path within the body, as an index may have it: its names are
    plain words."""
    if field in DEFAULTS:
        return f"coalesce(r.body -> '{field}', '{msgspec.json.encode(DEFAULTS[field]).decode()}'::jsonb)"
    return _json_at(field.split("."))


def _json_at(steps: Sequence[str | int]) -> str:
    """The JSON value at a place whose keys are plain words. Where a key might be a place in a list,
    or the other way round, each step is taken by itself: a path takes either for the other."""
    if len(steps) > 1 and not any(
        isinstance(step, int) or _PLACE.fullmatch(step) for step in steps
    ):
        listed = ",".join(f'"{step}"' for step in steps)
        return f"(r.body #> '{{{listed}}}')"
    return _stepwise(
        "r.body", [str(step) if isinstance(step, int) else f"'{step}'" for step in steps]
    )


def _stepwise(json: str, steps: Sequence[str]) -> str:
    for step in steps:
        json = f"({json} -> {step})"
    return json


def sortable(field: str) -> str:
    """What `create_index` indexes of a field."""
    return f"remloom.sortable({json_value(field)}){_C}"


def order(field: str, way: str) -> str:
    """ORDER BY terms: unset values lowest, then numbers, then texts."""
    nulls = f"{way} NULLS {'FIRST' if way == 'ASC' else 'LAST'}"
    if field in TIMES:
        return f"{_TIMES[field]} {nulls}"
    if field in _OWN or field == "content":
        return f"{_OWN.get(field, f'r.content{_C}')} {nulls}"
    return f"{sortable(field)} {nulls}, ({json_value(field)} #>> '{{}}'){_C} {nulls}"


def sort_key(value: Any) -> str:
    """What `remloom.sortable` makes of a JSON value: texts behind numbers, in the order of their
    bytes."""
    if isinstance(value, str):
        return f"2{value[:_INDEXED]}"
    bits = struct.unpack(">Q", struct.pack(">d", float(value) + 0.0))[0]
    return f"1{(~bits if bits >> 63 else bits | 1 << 63) & (1 << 64) - 1:016x}"


class PostgresWriter(Writer):
    """See `Writer`. What is bound are the elements of one list of texts, `$1`, each cast to what it
    is."""

    prefix = "remloom."
    mark = re.compile(r"\(\$1\)\[(\d+)\]")

    def __init__(self, schema: str) -> None:
        super().__init__(schema)
        # whether an index of an expression is asked for: row security keeps it from use
        self.by_expression = False

    @staticmethod
    def template(sqlite: str, postgres: str) -> str:
        return postgres

    def bind(self, value: Any, kind: Type) -> str:
        if isinstance(value, bool):
            value = "true" if value else "false"
        elif value is not None and not isinstance(value, str):
            value = repr(value)
        cast = f"($1)[{self.number(value, kind)}]::{_CASTS[kind]}"
        return f"{cast}{_C}" if kind == "text" else cast

    def _json_bound(self, value: Any) -> str:
        text = msgspec.json.encode(value).decode()
        return f"($1)[{self.number(text, 'json')}]::jsonb"

    # -- columns and JSON --------------------------------------------------------------------------

    def column(self, name: str) -> str:
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
        if name in ("ordinal", "generation"):
            return f"coalesce(r.body ->> '{name}', '0')::bigint"
        text = f"r.body ->> '{name}'"
        if name in DEFAULTS:
            text = f"coalesce({text}, '{DEFAULTS[name]}')"
        return f"({text}){_C}"

    def time_column(self, name: str) -> str:
        return f"(r.body ->> '{name}'){_C}"

    def json(self, value: Expression) -> str:
        if isinstance(value, Column):
            if value.name in _JOINED:
                return _JOINED[value.name]
            taken = f"(r.body -> '{value.name}')"
            if value.name in LISTS or value.name in OBJECTS:
                return f"coalesce({taken}, '{'[]' if value.name in LISTS else '{}'}'::jsonb)"
            return taken
        if isinstance(value, Json):
            return f"nullif({self._place(value)}, 'null'::jsonb)"
        return self.write(value)

    def _place(self, value: Expression) -> str:
        """A place in JSON, as an index of it has it."""
        column, steps = (value.name, ()) if isinstance(value, Column) else self._steps(value)
        if column in _JOINED:
            return _stepwise(_JOINED[column], self._steps_bound(steps))
        if not steps:
            return json_value(column)
        every = (column, *steps)
        return (
            _json_at(every)
            if all(map(plain, every))
            else _stepwise("r.body", self._steps_bound(every))
        )

    def _steps(self, value: Expression) -> tuple[str, tuple[str | int, ...]]:
        assert isinstance(value, Json)  # noqa: S101 - `json` is the type of columns and of places in them
        return value.column, value.steps

    def _steps_bound(self, steps: Sequence[str | int]) -> list[str]:
        return [
            str(step) if isinstance(step, int) else f"({self.bind(step, 'text')})" for step in steps
        ]

    def _as_text(self, value: Expression) -> str:
        return f"({self._place(value)} #>> '{{}}'){_C}"

    def json_length(self, value: Expression) -> str:
        place = self._place(value)
        counted = f"WHEN jsonb_typeof({place}) = 'array' THEN jsonb_array_length({place})"
        return f"(CASE {counted} WHEN {place} IS NOT NULL THEN 0 END)::bigint"

    def json_typeof(self, value: Expression) -> str:
        return f"jsonb_typeof({self._place(value)}){_C}"

    # -- conditions --------------------------------------------------------------------------------

    def _key_of(self, value: Expression) -> str:
        self.by_expression = True
        return f"remloom.sortable({self._place(value)}){_C}"

    def _key_bound(self, value: Any) -> str:
        return self.bind(sort_key(value), "text")

    def compare_json(self, operator: str, value: Expression, literal: Value) -> str:
        given, place = literal.value, self._place(value)
        # what is compared with a null is neither so nor otherwise
        there = f"nullif({place}, 'null'::jsonb)"
        if operator == "<>":
            return f"(CASE WHEN jsonb_typeof({place}) <> 'null' THEN {place} <> {self._json_bound(given)} END)"
        key = self._key_of(value)
        if operator == "=":
            return f"({key} = {self._key_bound(given)} AND {there} = {self._json_bound(given)})"
        kind = {"text": "string", "boolean": "boolean"}.get(literal.type, "number")
        if kind == "boolean":
            return f"({there} {operator} {self._json_bound(given)} AND jsonb_typeof({there}) = 'boolean')"
        # texts of one beginning have one key
        wide = operator if operator.endswith("=") else f"{operator}="
        exact = (
            f"{self._as_text(value)} {operator} {self.bind(given, 'text')}"
            if kind == "string"
            else f"{there} {operator} {self._json_bound(given)}"
        )
        return f"({key} {wide} {self._key_bound(given)} AND {exact} AND jsonb_typeof({there}) = '{kind}')"

    def among(self, value: Expression, values: Sequence[Value], *, lists: bool) -> str:
        name = value.name if isinstance(value, Column) else ""
        if not values:
            return self.false
        if name == "name":
            return f"({' OR '.join(self.name_is(literal.value) for literal in values)})"
        if value.type != "json":
            return self._is_one(value, name, [literal.value for literal in values], values[0].type)
        keys = ", ".join(self._key_bound(literal.value) for literal in values)
        listed = ", ".join(self._json_bound(literal.value) for literal in values)
        place = self._place(value)
        exact = f"nullif({place}, 'null'::jsonb) = ANY (ARRAY[{listed}])"
        single = f"({self._key_of(value)} = ANY (ARRAY[{keys}]) AND {exact})"
        if not lists:
            return single
        among = f"EXISTS (SELECT FROM jsonb_array_elements({place}) x (value) WHERE x.value = ANY (ARRAY[{listed}]))"
        return f"({single} OR (CASE WHEN jsonb_typeof({place}) = 'array' THEN {among} END IS TRUE))"

    def _is_one(self, value: Expression, name: str, values: Sequence[Any], kind: Type) -> str:
        written = self.write(value)
        if name in DEFAULTS and kind == "text" and DEFAULTS[name] not in values:
            written = f"(r.body ->> '{name}'){_C}"  # what has its default has no such value
            self.by_expression = True
        marks = [self.bind(given, kind) for given in values]
        asked = f"= {marks[0]}" if len(marks) == 1 else f"= ANY (ARRAY[{', '.join(marks)}])"
        if name != "uri":
            return f"({written} {asked})"
        self.by_expression = True
        hashed = [f"md5({mark})" for mark in marks]
        found = f"= {hashed[0]}" if len(hashed) == 1 else f"= ANY (ARRAY[{', '.join(hashed)}])"
        return f"(md5({written}) {found} AND {written} {asked})"

    def name_is(self, name: str) -> str:
        exact = f"(r.body ->> 'name'){_C} = {self.bind(name, 'text')}"
        try:
            key = labels.key(name)
        except LabelError:
            return f"({exact})"
        found = f"SELECT n.id FROM remloom.names n WHERE n.key = {self.bind(short(key), 'text')}"
        return f"(r.id = ANY (ARRAY({found})) AND {exact})"

    def contains(self, value: Expression, wanted: Value) -> str:
        def inside() -> str:
            asked = self.bind(str(wanted.value), "text")
            return f'strpos(lower({self.text(value)} COLLATE "default"), lower({asked} COLLATE "default")) > 0'

        if value.type != "json":
            return f"({inside()})"
        place, bound = self._place(value), self._json_bound(wanted.value)
        element = f"x.value = {bound}"
        if wanted.type == "text":
            element += f" OR (x.value -> 'name') = {bound}"
        among = f"EXISTS (SELECT FROM jsonb_array_elements({place}) x (value) WHERE {element})"
        return f"(CASE jsonb_typeof({place}) WHEN 'array' THEN {among} ELSE {inside()} END)"

    def starts(self, text: str, wanted: str) -> str:
        return f"starts_with({text}, {self.bind(wanted, 'text')})"

    def ends(self, text: str, wanted: str) -> str:
        return f'("right"({text}, {len(wanted)}){_C} = {self.bind(wanted, "text")})'

    def like(self, text: str, pattern: str) -> str:
        if pattern.isascii():
            return f"({text} ILIKE {self.bind(pattern, 'text')})"
        return f'(lower({text} COLLATE "default"){_C} LIKE {self.bind(pattern.lower(), "text")})'

    def matches(self, text: str, pattern: str) -> str:
        return (
            f'(({text}) COLLATE "default" ~ ($1)[{self.number(_advanced(pattern), "text")}]::text)'
        )

    def in_path(self, path: InPath) -> str:
        asked = ["n.tenant_id = e.tenant_id", "n.key = e.src"]  # row security says which tenant's
        if path.source is not None:
            asked.append(f"e.src = {self.bind(short(path.source), 'text')}")
        if path.target is not None:
            asked.append(f"e.dst = {self.bind(short(path.target), 'text')}")
        if path.rel_type is not None:
            asked.append(f"e.rel = {self.bind(path.rel_type, 'text')}")
        if path.tells:
            key = "starts_with(p.key, 'entity/')"
            if path.shared is not None:
                key = f"p.key = {self.bind(f'entity/{path.shared}', 'text')}"
            asked.append(
                f"EXISTS (SELECT FROM jsonb_object_keys(coalesce(e.properties, '{{}}'::jsonb)) p (key) WHERE {key})"
            )
        own = "" if path.schema is None else f" AND r.schema = {self.bind(path.schema, 'text')}"
        found = f"SELECT n.id FROM remloom.edges e JOIN remloom.names n ON TRUE WHERE {' AND '.join(asked)}"
        return f"(r.id = ANY (ARRAY({found})){own})"

    def is_set(self, value: Expression) -> str:
        written = self._as_text(value) if value.type == "json" else self.write(value)
        if value.type != "text" and value.type != "json":
            return f"({written} IS NOT NULL)"
        return f"({written} IS NOT NULL AND {written} NOT IN ('', '[]', '{{}}'))"

    def is_null(self, value: Expression) -> str:
        return self.json(value) if value.type == "json" else self.write(value)

    # -- the others --------------------------------------------------------------------------------

    def cast(self, part: Expression, kind: Type) -> str:
        if part.type == "json":
            if kind == "text":
                return self._as_text(part)
            place = self._place(part)
            if kind == "boolean":
                return f"(CASE {place} WHEN 'true'::jsonb THEN TRUE WHEN 'false'::jsonb THEN FALSE END)"
            return f"remloom.number_of(CASE WHEN jsonb_typeof({place}) <> 'boolean' THEN {place} #>> '{{}}' END)"
        written = self.write(part)
        if kind == "text":
            return f"({written})::text{_C}"
        if kind == "integer":
            return f"({written})::integer::bigint"
        return f"({written})::{_CASTS[kind]}"

    def arithmetic(self, operator: str, left: str, right: str, kind: Type) -> str:
        if operator in "/%":
            right = f"nullif({right}, 0)"
        return f"({left} {operator} {right})"

    def aggregate(
        self, name: str, part: Expression, distinct: str, separator: str, kind: Type
    ) -> str:
        written = self.write(part)
        if name == "total":
            return f"coalesce(sum({distinct}{written}), 0)"
        if name == "sum" and kind == "integer":
            return f"sum({distinct}{written})::bigint"
        if name in ("min", "max") and part.type == "json":
            way = "ASC" if name == "min" else "DESC"
            keyed = f"remloom.sortable({self._place(part)}){_C} {way} NULLS LAST"
            return f"(array_agg({written} ORDER BY {keyed}))[1]"
        if name in ("min", "max") and part.type == "boolean":
            return f"{'bool_and' if name == 'min' else 'bool_or'}({written})"
        if name == "group_concat":
            if distinct:
                return f"string_agg(DISTINCT {written}, ',' ORDER BY {written}){_C}"
            return f"string_agg({written}, {self.bind(separator, 'text')} ORDER BY r.seq){_C}"
        return f"{name}({distinct}{written})"

    def filtered(self, figure: str, where: Expression) -> str:
        cond = f" FILTER (WHERE {self.write(where)})"
        for end in ("::bigint", _C, ")[1]", ", 0)"):  # behind the call itself
            if figure.endswith(end):
                return f"{figure[: -len(end)]}{cond}{end}"
        return figure + cond

    def formatted(self, pattern: str, at: str) -> str:
        pieces = []
        for piece in times.format_of(pattern):
            if piece[0] != "%" or piece == "%%":
                pieces.append(self.bind("%" if piece == "%%" else piece, "text"))
            elif piece == "%s":
                pieces.append(f"remloom.time_part('epoch', {at})::bigint::text")
            elif piece == "%w":
                pieces.append(f"remloom.time_part('dow', {at})::bigint::text")
            elif piece == "%f":
                pieces.append(f"remloom.time_format('SS.MS', {at})")
            else:
                pieces.append(f"remloom.time_format('{times.FORMATS[piece[1]][1]}', {at})")
        return (
            f"({' || '.join(pieces)}){_C}"
            if pieces
            else f"left(remloom.time_format('YYYY', {at}), 0){_C}"
        )

    # -- a SELECT ----------------------------------------------------------------------------------

    def select(self, select: Select, most: int) -> tuple[str, list[Type]]:
        """The SQL of a SELECT of at most so many rows, each as one JSON list, and what type each of
        its columns has."""
        grouped = select.aggregated or select.distinct
        kinds, columns = list[Type](), list[str]()
        for place, output in enumerate(select.outputs):
            sql, kind = self._output(output.value, grouped=grouped)
            columns.append(f"{sql} AS c{place}")
            kinds.append(kind)
        # What is found by a key of its own is not looked for along the index of schemas, which has
        # half of all rows.
        known = asks_for(select.where, "id", "name", "uri", "kind")
        asked = [f"(r.schema || '') = '{self.schema}'" if known else f"r.schema = '{self.schema}'"]
        if select.where is not None:
            asked.append(self.write(select.where))
        order = self._order_distinct(select) if select.distinct else self._order(select, grouped)
        parts = [f"WHERE {' AND '.join(asked)}"]
        if select.groups:
            parts.append(f"GROUP BY {', '.join(map(self.write, select.groups))}")
        if select.having is not None:
            parts.append(f"HAVING {self.write(select.having)}")
        window = f"LIMIT {min(most, most if select.limit is None else select.limit)} OFFSET {select.offset}"
        ordered = [*([f"ORDER BY {order}"] if order else []), window]
        # Under row security PostgreSQL uses no index for what is not leakproof; the view says the
        # same as the policy.
        table = "remloom.read_records" if self.by_expression else "remloom.records"
        rows = " ".join(
            [
                f"SELECT {', '.join(columns)} FROM {table} r",
                *parts,
                *([] if select.distinct else ordered),
            ]
        )
        # ordered behind it, by what is made of the columns
        if select.distinct:
            rows = f"SELECT d.* FROM (SELECT DISTINCT d.* FROM ({rows}) d) d {' '.join(ordered)}"
        names = [f"q.c{place}" for place in range(len(columns))]
        lists = [
            f"jsonb_build_array({', '.join(names[first : first + _AT_ONCE])})"
            for first in range(0, len(names), _AT_ONCE)
        ]
        return f"SELECT ({' || '.join(lists)})::text FROM ({rows}) q", kinds

    def _output(self, value: Expression, *, grouped: bool) -> tuple[str, Type]:
        if isinstance(value, Column) and value.type == "time" and not grouped:
            return self.time_column(value.name), "text"
        return self.write(value), value.type

    def _order(self, select: Select, grouped: bool) -> str:
        set_ = _set(select.where)
        terms = []
        for term in select.order:
            way = _way(term)
            if isinstance(term.value, Column) and term.value.name in set_:
                # none is NULL, and an index is read in its own order
                way = way.partition(" ")[0]
            if term.value.type == "json" and grouped:
                terms.append(f"remloom.sortable({self.write(term.value)}){_C} {way}")
            elif term.value.type == "json":
                terms += [f"{self._key_of(term.value)} {way}", f"{self._as_text(term.value)} {way}"]
            else:
                terms.append(f"{self.write(term.value)} {way}")
        if terms and not grouped:
            terms.append(f"r.seq{' DESC' if select.order[-1].descending else ''}")
        return ", ".join(terms)

    def _order_distinct(self, select: Select) -> str:
        terms = []
        values = [output.value for output in select.outputs]
        for term in select.order:
            column = f"d.c{values.index(term.value)}"
            key = f"remloom.sortable({column}){_C}" if term.value.type == "json" else column
            terms.append(f"{key} {_way(term)}")
        return ", ".join(terms)


def _way(term: Ordered) -> str:
    return f"{'DESC' if term.descending else 'ASC'} NULLS {'FIRST' if term.nulls_first else 'LAST'}"


def _set(where: Expression | None) -> set[str]:
    """The columns that have a value wherever the condition holds."""
    found = {"created_at", "updated_at"}
    waiting = [where] if where is not None else []
    while waiting:
        part = waiting.pop()
        if isinstance(part, And):
            waiting += part.parts
        elif isinstance(part, Compare):
            found |= {side.name for side in (part.left, part.right) if isinstance(side, Column)}
    return found


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
            f"PostgreSQL has nothing like {unlike[0]!r} in a regular expression",
            remedy="write the pattern without it",
        )
    given = _FLAGS.match(pattern)
    flags, rest = (given[1], pattern[given.end() :]) if given else ("", pattern)
    # As in Python: `.` stops at a newline unless (?s), `^` and `$` mean the whole text unless (?m).
    newline = (
        "w"
        if "m" in flags and "s" in flags
        else "n"
        if "m" in flags
        else "s"
        if "s" in flags
        else "p"
    )
    options = newline + ("i" if "i" in flags else "") + ("x" if "x" in flags else "")
    body = "".join(
        _SPELLED_OTHERWISE.get(token, "(" if token.startswith("(?P<") else token)
        for token in _TOKENS.findall(rest)
    )
    return f"(?{options}){body}"
