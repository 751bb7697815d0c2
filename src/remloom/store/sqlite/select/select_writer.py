"""SELECTs as SQLite's SQL."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec.structs import replace

from ....sql.answers import MAX_HELD
from ....sql.values import (
    Aggregate,
    Column,
    Computed,
    Expression,
    InPath,
    Json,
    Select,
    Type,
    substitute,
    walk,
)
from ....sql.writer import column_and_steps, order_way, requires_value
from .sql_writer import (
    JOINED,
    SqliteExpressions,
    json_path,
    mixed_json,
)

_TEXTS = ("text", "json", "any")  # types of values that may be long
_MAX_KEY = 1_000  # characters of a long text by which rows are ordered
_MAX_BODY = 4_000  # bytes of a record of which a key is not counted, if few are held
_MAX_TYPE = 64  # bytes of a type or category that is not counted


def stored_value(schema: str, value: Column | Json) -> str:
    """A column or a value within JSON, as `create_index` indexes it and `ORDER BY` has it."""
    if value.type == "json":
        # no field's name has a quote (see `Conditions.field`)
        column, steps = column_and_steps(value)
        if isinstance(value, Json) and value.is_mixed:
            return f"{mixed_json(value)} ->> '{json_path(steps[1:])}'"
        return f"r.body ->> '{json_path([column, *steps])}'"
    assert isinstance(value, Column)  # noqa: S101 - what is not JSON is a column
    return SqliteWriter(schema).column(value)


def schema_condition(schema: str) -> str:
    """The condition that a row `r` is of this schema.

    SQLite expects few rows of one schema, and would use the index of schemas where another is
    better. With this likelihood any other index is better, and this one is better than none.
    """
    return f"likelihood(r.schema = '{schema}', 0.05)"


class SqliteWriter(SqliteExpressions):
    """See `SqlWriter`: expressions, and the SELECT that they are of."""

    def __init__(self, schema: str) -> None:
        super().__init__(schema)
        # what is computed for each row before rows are grouped; None: rows are grouped as they are
        self._inner: list[str] | None = None
        self._guards: list[str] = []  # conditions that count what is held of a row, and are true

    # -- a SELECT ----------------------------------------------------------------------------------

    def select(self, select: Select, limit: int, filter: str = "") -> tuple[str, list[Type]]:
        """The SQL of a SELECT of at most `limit` rows, and the type of each of its columns.

        `filter` is another condition on its rows.
        What is ordered or grouped is held in memory, and rows may be long. So rows are ordered by
        their numbers and what they are ordered by, and grouped by what is computed of them; and
        each value that may be long is counted (`held`, `counted`).
        """
        rows = limit if select.limit is None else min(limit, select.limit)
        window = f"LIMIT {rows} OFFSET {select.offset}"
        where = self._select_where(select)
        if filter:
            where += f" AND {filter}"
        if select.aggregated or select.distinct:
            return self._select_groups(select, where, window)
        outputs, kinds = self.columns(select)
        columns = ", ".join(outputs)
        if not select.order:
            return f"SELECT {columns} FROM main.records r WHERE {where} {window}", kinds
        order = self._order_rows(select, rows + select.offset)
        way = " DESC" if select.order[-1].descending else ""
        numbers = (
            f"SELECT r.rid AS k FROM main.records r WHERE {self._guarded(where)}"
            f" ORDER BY {order}, r.rid{way} {window}"
        )
        sql = f"SELECT {columns} FROM ({numbers}) o CROSS JOIN main.records r ON r.rid = o.k"
        return sql, kinds

    def _select_groups(self, select: Select, where: str, window: str) -> tuple[str, list[Type]]:
        groups = [self._grouped(group) for group in select.groups]
        if not all(map(self._is_in_row, _read_by_groups(select))):
            self._inner = []
            groups = list(map(self.inner, groups))
            known = {
                group: Computed(name, group.type)
                for group, name in zip(select.groups, groups, strict=True)
            }
            select = _over_groups(select, known)
        columns: list[str] = []
        for index, output in enumerate(select.outputs):
            sql = self._grouped(output.value) if select.distinct else self.write(output.value)
            if select.order and not select.distinct and output.value.type in _TEXTS:
                sql = f"held({sql}, 0)"
            columns.append(f"{sql} AS c{index}")
        having = "" if select.having is None else f" HAVING {self.write(select.having)}"
        order = ", ".join(
            f"{self._sort_key(term.value)} {order_way(term)}" for term in select.order
        )
        source = f"main.records r WHERE {self._guarded(where)}"
        if self._inner is not None:
            inner = ", ".join(f"{sql} AS i{index}" for index, sql in enumerate(self._inner))
            # the limit keeps SQLite from making one SELECT of both
            source = f"(SELECT {inner or 1} FROM {source} LIMIT -1) q"
        sql = f"SELECT {'DISTINCT ' if select.distinct else ''}{', '.join(columns)} FROM {source}"
        if groups:
            sql += f" GROUP BY {', '.join(groups)}"
        sql += having
        if order:
            sql += f" ORDER BY {order}"
        return f"{sql} {window}", [output.value.type for output in select.outputs]

    def _select_where(self, select: Select) -> str:
        where = schema_condition(self.schema)
        # A name is found by its key: the plus keeps the index of schemas, which has half of all
        # rows, out of it.
        if requires_value(select.where, "name"):
            where = f"+r.schema = '{self.schema}'"
        if select.where is not None:
            where += f" AND {self.write(select.where)}"
        return where

    # -- what is held in memory --------------------------------------------------------------------

    def _guarded(self, where: str) -> str:
        return " AND ".join([where, *dict.fromkeys(self._guards)])

    def _guard(self, source: str, most: int, held: str) -> None:
        """Count what is held of each row whose source is longer than this."""
        count = f"counted(octet_length({held}))"
        self._guards.append(f"CASE WHEN octet_length({source}) > {most} THEN {count} ELSE 1 END")

    def _grouped(self, value: Expression) -> str:
        if value.type not in _TEXTS:
            return self.write(value)
        if self._is_in_row(value):
            self._guard(self.write(value), _MAX_TYPE, self.write(value))
            return self.write(value)
        written = self.write(value)
        return f"held_json({written})" if value.type == "json" else f"held({written}, 0)"

    def _is_in_row(self, value: Expression) -> bool:
        """Whether a value is a column of the table itself, and short."""
        if not isinstance(value, Column) or value.field is not None:
            return False
        kind = "category" if self.schema == "resources" else "type"
        return value.name in ("id", "schema", kind) or value.type == "time"

    def _order_rows(self, select: Select, window: int) -> str:
        """The terms by which so many rows are ordered, of which no more are held."""
        texts = sum(term.value.type in _TEXTS for term in select.order)
        share = MAX_HELD // max(1, window * texts)  # bytes of each key of text, if none is counted
        terms = []
        for term in select.order:
            value = term.value
            written = self._sort_key(value)
            if value.type not in _TEXTS:
                pass
            elif _is_in_body(value):
                # as it is: an index may have it
                source = written if self._is_in_row(value) else "r.body"
                self._guard(source, min(share, _MAX_BODY), written)
            elif value.type != "text" or share < 4 * _MAX_KEY:
                written = f"held({written}, 0)"
            terms.append(f"{written} {order_way(term)}")
        return ", ".join(terms)

    def _sort_key(self, value: Expression) -> str:
        if value.type == "json":
            return self.scalar(value)
        written = self.write(value)
        if value.type == "text" and not _is_in_body(value):
            return f"substr({written}, 1, {_MAX_KEY})"
        return written

    # -- figures of many rows ----------------------------------------------------------------------

    def aggregate(self, call: Aggregate) -> str:
        part, name, separator = call.part, call.name, call.separator
        assert part is not None  # noqa: S101 - `count(*)` is written by all stores alike
        rows = self.filtered(call)
        if call.distinct:
            written = self.inner(self._grouped(part))
            order = f" ORDER BY {written}" if name == "group_concat" else ""
            return f"{name}(DISTINCT {written}{order}){rows}"
        if name == "group_concat":
            # with the separator, as often as it is put in
            written = self.inner(f"held({self.write(part)}, {len(separator.encode())})")
            order = self.inner("r.rid")
            return f"group_concat({written}, {self.bind(separator, 'text')} ORDER BY {order}){rows}"
        if part.type == "json" and name in ("min", "max"):
            written = self.scalar(part)
        elif name == "count" and part.type in _TEXTS:
            written = f"CASE WHEN {self.write(part)} IS NOT NULL THEN 1 END"
        else:
            written = self.write(part)
        if self._inner is not None and name in ("min", "max") and part.type in _TEXTS:
            written = f"held({written}, 0)"
        return f"{name}({self.inner(written)}){rows}"

    def filtered(self, call: Aggregate) -> str:
        if call.where is None:
            return ""
        return f" FILTER (WHERE {self.inner(self.write(call.where))})"

    def inner(self, written: str) -> str:
        """What is computed for each row, as it is named where rows are grouped."""
        if self._inner is None:
            return written
        if written not in self._inner:
            self._inner.append(written)
        return f"q.i{self._inner.index(written)}"


def _read_by_groups(select: Select) -> list[Expression]:
    """What is read of a row where rows are grouped; nothing where they are not."""
    if not select.groups:
        return []
    others = [output.value for output in select.outputs]
    others += [term.value for term in select.order]
    others += [] if select.having is None else [select.having]
    calls = [part for other in others for part in walk(other) if isinstance(part, Aggregate)]
    parts = [part for group in (*select.groups, *calls) for part in walk(group)]
    return [part for part in parts if isinstance(part, Column | Json | InPath)]


def _over_groups(select: Select, known: Mapping[Expression, Expression]) -> Select:
    """The SELECT with the values of its groups instead of what they are computed of."""
    return replace(
        select,
        outputs=tuple(
            replace(output, value=substitute(output.value, known)) for output in select.outputs
        ),
        order=tuple(replace(term, value=substitute(term.value, known)) for term in select.order),
        having=None if select.having is None else substitute(select.having, known),
    )


def _is_in_body(value: Expression) -> bool:
    if not isinstance(value, Column | Json):
        return False
    name, _ = column_and_steps(value)
    return name != "content" and name not in JOINED
