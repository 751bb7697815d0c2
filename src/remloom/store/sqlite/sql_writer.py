"""Expressions and SELECTs as SQLite's SQL, over the row `r` of a record. Booleans are numbers here."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from ... import labels
from ...errors import LabelError
from ...sql.columns import DEFAULTS, LISTS, LONG, OBJECTS, TIMES
from ...sql.values import Column, Expression, InPath, Json, Select, Type, Value, walk
from ...sql.writer import Writer, asks_for, plain

__all__ = ["SqliteWriter", "of_schema", "path", "stored"]

_TIMES = {
    "created_at": "r.created",
    "updated_at": "r.updated",
    "starts_at": "r.starts",
    "ends_at": "CASE WHEN r.body ->> '$.ends_at' IS NOT NULL THEN r.ends END",
}
_JOINED = {
    "key": "(SELECT l.key FROM names n JOIN labels l USING (lid) WHERE n.rid = r.rid AND n.rank = 0)",
    "parents": (
        "(SELECT json_group_array(p.id) FROM parents d JOIN records p ON p.rid = d.parent"
        " WHERE d.child = r.rid AND d.kind = 0)"
    ),
    "graph_paths": (
        "(SELECT json_group_array(json_object('dst', l.key, 'rel_type', t.name, 'weight', e.weight,"
        " 'properties', json(coalesce(e.properties, '{}'))))"
        " FROM names n JOIN edges e ON e.src = n.lid JOIN rels t USING (rel) JOIN labels l ON l.lid = e.dst"
        " WHERE n.rid = r.rid)"
    ),
}
_NUMBERS = "('integer', 'real')"
_BOOLEANS = "('true', 'false')"
_NATIVE = 50  # characters of a pattern that SQLite's own LIKE is given


def path(steps: Sequence[str | int]) -> str:
    """A JSON path, as text."""
    return "$" + "".join(_step(step) for step in steps)


def _step(step: str | int) -> str:
    if isinstance(step, int):
        return f"[{step}]" if step >= 0 else f"[#{step}]"
    return (
        f".{step}"
        if step.isidentifier() and step.isascii()
        else f".{json.dumps(step, ensure_ascii=False)}"
    )


def stored(schema: str, field: str) -> str:
    """The value of a field or JSON path as SQL, as `create_index` indexes it and `ORDER BY` has it."""
    root, *rest = field.split(".")
    if rest or root in LISTS or root in OBJECTS:
        # no field's name has a quote (see `Conditions.field`)
        return f"r.body ->> '{path([root, *rest])}'"
    return SqliteWriter(schema).column(root)


def of_schema(schema: str) -> str:
    """A row `r` is of this schema. SQLite expects few rows of one, and would find by an index of
    schemas what has an index of its own. It is told of so many that any other index is better, and
    of so few that this one is better than none."""
    return f"likelihood(r.schema = '{schema}', 0.05)"


class SqliteWriter(Writer):
    """See `Writer`. What is bound stands behind numbers, so that what is written twice is the same
    text."""

    true = "1"
    false = "0"
    mark = re.compile(r"\?(\d+)")

    @staticmethod
    def template(sqlite: str, postgres: str) -> str:
        return sqlite

    def bind(self, value: Any, kind: Type) -> str:
        return f"?{self.number(int(value) if isinstance(value, bool) else value, kind)}"

    # -- columns and JSON --------------------------------------------------------------------------

    def column(self, name: str) -> str:
        if name in TIMES:
            return _TIMES[name]
        if name in _JOINED:
            return _JOINED[name]
        if name in ("id", "schema"):
            return f"r.{name}"
        if name == ("category" if self.schema == "resources" else "type"):
            return "r.type"
        if name == "content":
            return "CASE WHEN r.content IS NULL THEN r.body ->> '$.content' ELSE decompress(r.content) END"
        default = DEFAULTS.get(name)
        if default is None:
            return f"r.body ->> '$.{name}'"
        literal = f"'{default}'" if isinstance(default, str) else int(default)
        return f"coalesce(r.body ->> '$.{name}', {literal})"

    def time_column(self, name: str) -> str:
        return f"r.body ->> '$.{name}'"

    def _place(self, value: Expression) -> tuple[str, str]:
        """The JSON and the path in it, as SQL."""
        column, steps = (value.name, ()) if isinstance(value, Column) else self._steps(value)
        body = column not in _JOINED
        every = (column, *steps) if body else steps
        where = f"'{path(every)}'" if all(map(plain, every)) else self.bind(path(every), "text")
        return ("r.body" if body else _JOINED[column]), where

    def _steps(self, value: Expression) -> tuple[str, tuple[str | int, ...]]:
        assert isinstance(value, Json)  # noqa: S101 - `json` is the type of columns and of places in them
        return value.column, value.steps

    def json(self, value: Expression) -> str:
        if isinstance(value, Json | Column):
            name = value.name if isinstance(value, Column) else value.column
            if name in _JOINED and (isinstance(value, Column) or not value.steps):
                return _JOINED[name]
            source, place = self._place(value)
            taken = f"{source} -> {place}"
            if isinstance(value, Column) and (name in LISTS or name in OBJECTS):
                return f"coalesce({taken}, '{'[]' if name in LISTS else '{}'}')"
            return f"nullif({taken}, 'null')"
        return self.write(value)

    def scalar(self, value: Expression) -> str:
        """JSON as the SQL value that it is."""
        if not isinstance(value, Json | Column):
            return f"({self.write(value)} ->> '$')"
        source, place = self._place(value)
        return f"{source} ->> {place}"

    def set_kind(self, value: Expression) -> str:
        """The type of JSON, unknown of a null: what is compared with it is neither so nor
        otherwise."""
        return f"nullif({self.kind(value)}, 'null')"

    def kind(self, value: Expression) -> str:
        """The type of JSON."""
        if not isinstance(value, Json | Column):
            return f"json_type({self.write(value)})"
        source, place = self._place(value)
        return f"json_type({source}, {place})"

    def json_length(self, value: Expression) -> str:
        source, place = self._place(value)
        return f"json_array_length({source}, {place})"

    def json_typeof(self, value: Expression) -> str:
        return (
            f"(CASE {self.kind(value)} WHEN 'text' THEN 'string' WHEN 'integer' THEN 'number' WHEN 'real' THEN 'number'"
            f" WHEN 'true' THEN 'boolean' WHEN 'false' THEN 'boolean' ELSE {self.kind(value)} END)"
        )

    # -- conditions --------------------------------------------------------------------------------

    def compare_json(self, operator: str, value: Expression, literal: Value) -> str:
        scalar, given = self.scalar(value), literal.value
        if literal.type == "boolean":
            asked = f"{self.set_kind(value)} {operator} '{'true' if given else 'false'}'"
            if operator == "=":
                return f"({scalar} = {int(given)} AND {asked})"
            return (
                f"({asked})"
                if operator == "<>"
                else f"({asked} AND {self.set_kind(value)} IN {_BOOLEANS})"
            )
        compared = f"{scalar} {operator} {self.bind(given, literal.type)}"
        if operator == "<>":
            return self._differs(value, literal, compared)
        if operator == "=":
            return self._typed(value, [literal], compared)
        kinds = "('text')" if literal.type == "text" else _NUMBERS
        return f"({compared} AND {self.set_kind(value)} IN {kinds})"

    def _differs(self, value: Expression, literal: Value, compared: str) -> str:
        if literal.type != "text" and literal.value in (0, 1):
            return f"({compared} OR {self.set_kind(value)} IN {_BOOLEANS})"
        return f"({compared})"

    def _typed(self, value: Expression, literals: Sequence[Value], compared: str) -> str:
        """A comparison by `=` where SQLite takes what is of another type for equal: true for 1,
        JSON for its text."""
        if literals[0].type == "text":
            doubtful = any(str(literal.value)[:1] in ("[", "{") for literal in literals)
            return (
                f"({compared} AND {self.set_kind(value)} = 'text')" if doubtful else f"({compared})"
            )
        doubtful = any(literal.value in (0, 1) for literal in literals)
        return (
            f"({compared} AND {self.set_kind(value)} IN {_NUMBERS})"
            if doubtful
            else f"({compared})"
        )

    def among(self, value: Expression, values: Sequence[Value], *, lists: bool) -> str:
        if isinstance(value, Column) and value.name == "name":
            joined = " OR ".join(self.name_is(literal.value) for literal in values)
            return f"({joined})" if values else self.false
        if value.type == "boolean":
            return f"({self.write(value)} IN ({', '.join(str(int(literal.value)) for literal in values)}))"
        if value.type != "json":
            return self._is_one(value, values)
        if not values:
            return self.false
        if values[0].type == "boolean":
            single = (
                f"({' OR '.join(self.compare_json('=', value, literal) for literal in values)})"
            )
        else:
            marks = ", ".join(self.bind(literal.value, literal.type) for literal in values)
            single = self._typed(value, values, f"{self.scalar(value)} IN ({marks})")
        if not lists:
            return single
        source, place = self._place(value)
        element = " OR ".join(map(self._is_element, values))
        among = f"EXISTS (SELECT 1 FROM json_each({source}, {place}) j WHERE {element})"
        # in each arm, so that an index of this schema serves it
        own = f"r.schema = '{self.schema}'"
        return f"(({own} AND {single}) OR ({own} AND {self.kind(value)} = 'array' AND {among}))"

    def _is_element(self, wanted: Value) -> str:
        """Whether the element `j` of a list is this value: of its type, as true is 1 here, and a
        list its own text."""
        if wanted.type == "boolean":
            return f"(j.type = '{'true' if wanted.value else 'false'}')"
        kinds = "('text')" if wanted.type == "text" else _NUMBERS
        return f"(j.value = {self.bind(wanted.value, wanted.type)} AND j.type IN {kinds})"

    def _is_one(self, value: Expression, values: Sequence[Value]) -> str:
        name = value.name if isinstance(value, Column) else ""
        default = DEFAULTS.get(name)
        written = self.write(value)
        if name in DEFAULTS and all(literal.value != default for literal in values):
            written = f"r.body ->> '$.{name}'"  # what has its default has no such value
        if len(values) == 1:
            return f"({written} = {self.bind(values[0].value, values[0].type)})"
        marks = ", ".join(self.bind(literal.value, literal.type) for literal in values)
        return f"({written} IN ({marks}))"

    def name_is(self, name: str) -> str:
        exact = f"r.body ->> '$.name' = {self.bind(name, 'text')}"
        try:
            key = labels.key(name)
        except LabelError:
            return f"({exact})"
        found = f"SELECT n.rid FROM labels l CROSS JOIN names n ON n.lid = l.lid WHERE l.key = {self.bind(key, 'text')}"
        return f"(r.rid IN ({found}) AND {exact})"

    def contains(self, value: Expression, wanted: Value) -> str:
        def inside() -> str:
            text = self.text(value)
            return f"instr(casefold({text}), casefold({self.bind(str(wanted.value), 'text')})) > 0"

        if value.type != "json":
            return f"({inside()})"
        source, place = self._place(value)
        kind = self.kind(value)
        element = self._is_element(wanted)
        if wanted.type == "text":
            element += f" OR (j.type = 'object' AND j.value ->> '$.name' = {self.bind(wanted.value, wanted.type)})"
        among = f"EXISTS (SELECT 1 FROM json_each({source}, {place}) j WHERE {element})"
        return f"(CASE {kind} WHEN 'array' THEN {among} ELSE {inside()} END)"

    def starts(self, text: str, wanted: str) -> str:
        return f"(substr({text}, 1, {len(wanted)}) = {self.bind(wanted, 'text')})"

    def ends(self, text: str, wanted: str) -> str:
        part = f"substr({text}, -{len(wanted)})" if wanted else f"substr({text}, 1, 0)"
        return f"({part} = {self.bind(wanted, 'text')})"

    def like(self, text: str, pattern: str) -> str:
        # SQLite's own takes the length of both, and cannot be stopped
        if "_" in pattern or len(pattern) > _NATIVE:
            return f"matches({self.bind(_expression(pattern), 'text')}, {text})"
        if pattern.isascii():
            return f"({text} LIKE {self.bind(pattern, 'text')} ESCAPE '\\')"
        return f"(lowered({text}) LIKE {self.bind(pattern.lower(), 'text')} ESCAPE '\\')"

    def matches(self, text: str, pattern: str) -> str:
        return f"matches({self.bind(pattern, 'text')}, {text})"

    def in_path(self, path: InPath) -> str:
        asked = ["n.lid = e.src"]
        tables = "edges e CROSS JOIN names n"
        if path.target is not None:
            tables = f"labels d CROSS JOIN {tables}"
            asked += [f"d.key = {self.bind(path.target, 'text')}", "e.dst = d.lid"]
        if path.source is not None:
            tables = f"labels s CROSS JOIN {tables}"
            asked += [f"s.key = {self.bind(path.source, 'text')}", "e.src = s.lid"]
        if path.rel_type is not None:
            tables += " CROSS JOIN rels t"
            asked += [f"t.name = {self.bind(path.rel_type, 'text')}", "e.rel = t.rel"]
        if path.tells:
            key = "instr(p.key, 'entity/') = 1"
            if path.shared is not None:
                key = f"p.key = {self.bind(f'entity/{path.shared}', 'text')}"
            asked.append(
                f"EXISTS (SELECT 1 FROM json_each(coalesce(e.properties, '{{}}')) p WHERE {key})"
            )
        own = "" if path.schema is None else f" AND r.schema = {self.bind(path.schema, 'text')}"
        return f"(r.rid IN (SELECT n.rid FROM {tables} WHERE {' AND '.join(asked)}){own})"

    def is_set(self, value: Expression) -> str:
        def written() -> str:
            return self.scalar(value) if value.type == "json" else self.write(value)

        return f"({written()} IS NOT NULL AND {written()} NOT IN ('', '[]', '{{}}'))"

    def is_null(self, value: Expression) -> str:
        return self.scalar(value) if isinstance(value, Json) else self.write(value)

    # -- the others --------------------------------------------------------------------------------

    def cast(self, part: Expression, kind: Type) -> str:
        if part.type == "json":
            if kind == "boolean":
                return f"(CASE {self.kind(part)} WHEN 'true' THEN 1 WHEN 'false' THEN 0 END)"
            told = (
                f"CASE {self.kind(part)} WHEN 'true' THEN {{}} WHEN 'false' THEN {{}} ELSE {{}} END"
            )
            if kind == "text":
                return f"({told.format(_TRUE, _FALSE, f'CAST({self.scalar(part)} AS TEXT)')})"
            return f"({told.format('NULL', 'NULL', f'number_of({self.scalar(part)})')})"
        written = self.write(part)
        if kind == "text":
            if part.type == "boolean":
                return f"(CASE {written} WHEN 1 THEN {_TRUE} WHEN 0 THEN {_FALSE} END)"
            return (
                f"number_text({written})"
                if part.type in ("real", "number")
                else f"CAST({written} AS TEXT)"
            )
        return f"CAST({written} AS REAL)" if kind in ("real", "number") else written

    def arithmetic(self, operator: str, left: str, right: str, kind: Type) -> str:
        return f"({left} {operator} {right})"

    def aggregate(
        self, name: str, part: Expression, distinct: str, separator: str, kind: Type
    ) -> str:
        written = (
            self.scalar(part)
            if part.type == "json" and name in ("min", "max")
            else self.write(part)
        )
        if distinct:
            written = self._grouped(part)
        if name != "group_concat":
            return f"{name}({distinct}{written})"
        if distinct:
            return f"group_concat(DISTINCT {written} ORDER BY {written})"
        return f"group_concat({written}, {self.bind(separator, 'text')} ORDER BY r.rid)"

    def formatted(self, pattern: str, at: str) -> str:
        return f"time_format({self.bind(pattern, 'text')}, {at})"

    # -- a SELECT ----------------------------------------------------------------------------------

    def select(self, select: Select, most: int) -> tuple[str, list[Type]]:
        """The SQL of a SELECT of at most so many rows, and what type each column of it has.

        What is ordered is not the rows but their numbers, with what they are ordered by: rows may
        be long, and what is sorted is held in memory.
        """
        grouped = select.aggregated or select.distinct
        kinds, columns = list[Type](), list[str]()
        for place, output in enumerate(select.outputs):
            key = select.distinct or output.value in select.groups
            sql, kind = self._output(output.value, grouped=grouped, key=key)
            columns.append(f"{sql} AS c{place}")
            kinds.append(kind)
        # A name is found by its key: the plus keeps the index of schemas, which has half of all
        # rows, out of it.
        where = (
            f"+r.schema = '{self.schema}'"
            if asks_for(select.where, "name")
            else of_schema(self.schema)
        )
        if select.where is not None:
            where += f" AND {self.write(select.where)}"
        window = f"LIMIT {min(most, most if select.limit is None else select.limit)} OFFSET {select.offset}"
        listed = ", ".join(columns)
        if not grouped and select.order:
            keys = ", ".join(
                f"{self._key(term.value)} {_way(term.descending, term.nulls_first)}"
                for term in select.order
            )
            way = " DESC" if select.order[-1].descending else ""
            inner = f"SELECT r.rid AS k FROM main.records r WHERE {where} ORDER BY {keys}, r.rid{way} {window}"
            return (
                f"SELECT {listed} FROM ({inner}) o CROSS JOIN main.records r ON r.rid = o.k",
                kinds,
            )
        parts = [
            f"SELECT {'DISTINCT ' if select.distinct else ''}{listed} FROM main.records r WHERE {where}"
        ]
        if select.groups:
            parts.append("GROUP BY " + ", ".join(self._grouped(value) for value in select.groups))
        if select.having is not None:
            parts.append(f"HAVING {self.write(select.having)}")
        if select.order:
            terms = [
                f"{self._key(term.value)} {_way(term.descending, term.nulls_first)}"
                for term in select.order
            ]
            parts.append(f"ORDER BY {', '.join(terms)}")
        return " ".join([*parts, window]), kinds

    def _output(self, value: Expression, *, grouped: bool, key: bool) -> tuple[str, Type]:
        if isinstance(value, Column) and value.type == "time" and not grouped:
            return self.time_column(value.name), "text"
        return (self._grouped(value) if key else self.write(value)), value.type

    def _grouped(self, value: Expression) -> str:
        """What rows are grouped by is held in memory, so what may be long is counted."""
        written = f"one_number({self.write(value)})" if value.type == "json" else self.write(value)
        return f"held({written})" if _is_long(value) else written

    def _key(self, value: Expression) -> str:
        written = self.scalar(value) if value.type == "json" else self.write(value)
        return (
            f"substr({written}, 1, 1000)" if _is_long(value) and value.type == "text" else written
        )


_TRUE, _FALSE = "'true'", "'false'"


def _expression(pattern: str) -> str:
    """A pattern of LIKE as a regular expression. What stands between two % is looked for once,
    where it comes first, and not again elsewhere when what follows is missing: that would change
    nothing but the time."""
    pieces = [""]
    for part in re.findall(r"\\.|%+|.", pattern, re.DOTALL):
        if part[0] == "%":
            pieces.append("")
        else:
            pieces[-1] += "." if part == "_" else re.escape(part[-1])
    first, *between, last = pieces if len(pieces) > 1 else (pieces[0], None)
    told = (
        first
        + "".join(f"(?>.*?{piece})" for piece in between)
        + ("" if last is None else f".*{last}")
    )
    return f"(?{'isa' if pattern.isascii() else 'is'})\\A{told}\\Z"


def _way(descending: bool, nulls_first: bool) -> str:
    return f"{'DESC' if descending else 'ASC'} NULLS {'FIRST' if nulls_first else 'LAST'}"


def _is_long(value: Expression) -> bool:
    if value.type not in ("text", "json", "any"):
        return False
    return any(
        isinstance(part, Json) or (isinstance(part, Column) and part.name in LONG)
        for part in walk(value)
    )
