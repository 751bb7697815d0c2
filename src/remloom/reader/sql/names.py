"""Names in a query: each table and column is one that it can see."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec import Struct
from sqlglot import exp
from sqlglot.dialects.duckdb import DuckDB

from ...errors import SqlGuardError, UnknownNameError
from .guard import Readable, ctes_of, position, source_of
from .parse import refuse

RANKED = ("rank", "score")  # the columns that `search` has besides those of the lines
_MAX_NAME = 200  # characters
_Names = tuple[str, ...]


class _Scope(Struct):
    sources: dict[str, _Names]  # columns by what the SELECT calls a source
    outer: _Scope | None = None
    outputs: frozenset[str] = frozenset()

    def outwards(self) -> Iterator[_Scope]:
        """Itself, and those around it."""
        yield self
        if self.outer is not None:
            yield from self.outer.outwards()

    @property
    def columns(self) -> list[str]:
        every = [name for names in self.sources.values() for name in names if name]
        return list(dict.fromkeys([*every, *sorted(self.outputs)]))


def check_names(query: exp.Query, sql: str, readable: Readable) -> _Names:
    """See that each name in a query is one that it can see, and write known ones as they are.

    Returns: the names of its columns; empty for those without.
    """
    names = _NameReader(sql, readable).read_query(query, None, {})
    for identifier in query.find_all(exp.Identifier):
        _write_name(identifier)
    return names


class _NameReader:
    def __init__(self, sql: str, readable: Readable) -> None:
        self._sql = sql
        self._readable = readable

    def read_query(self, query: Any, outer: _Scope | None, ctes: dict[str, _Names]) -> _Names:
        if isinstance(query, exp.Subquery):
            return self.read_query(query.this, outer, ctes)
        if isinstance(query, exp.Table):
            refuse("a SELECT stands here", self._sql, position(query, self._sql))
        ctes = self._read_ctes(query, outer, ctes)
        if isinstance(query, exp.Union | exp.Except | exp.Intersect):
            return self._read_union(query, outer, ctes)
        scope = _Scope(self._read_sources(query, outer, ctes), outer)
        names: list[str] = []
        for output in query.expressions:
            names += self._output_names(output, scope)
        aliases = (output for output in query.expressions if isinstance(output, exp.Alias))
        scope.outputs = frozenset(output.alias.lower() for output in aliases)
        for name, part in query.args.items():
            if name.rstrip("_") not in {"from", "with", "joins"}:
                self._read_parts(part, scope, ctes)
        for join in query.args.get("joins") or []:
            self._read_parts(join.args.get("on"), scope, ctes)
            for column in join.args.get("using") or []:
                self._check_column(column.name, scope, column)
        return tuple(names)

    def _read_ctes(
        self, query: Any, outer: _Scope | None, ctes: dict[str, _Names]
    ) -> dict[str, _Names]:
        seen = dict(ctes)
        for cte in ctes_of(query):
            names = self.read_query(cte.this, outer, seen)
            alias = cte.args["alias"]
            seen[alias.name.lower()] = self._renamed(alias, names)
        return seen

    def _read_union(self, query: Any, outer: _Scope | None, ctes: dict[str, _Names]) -> _Names:
        names = self.read_query(query.this, outer, ctes)
        self.read_query(query.expression, outer, ctes)
        scope = _Scope({}, None, frozenset(filter(None, names)))
        self._read_parts(query.args.get("order"), scope, ctes)
        return names

    def _read_sources(
        self, query: Any, outer: _Scope | None, ctes: dict[str, _Names]
    ) -> dict[str, _Names]:
        first = source_of(query)
        joined = [join.this for join in query.args.get("joins") or []]
        sources: dict[str, _Names] = {}
        for source in joined if first is None else [first, *joined]:
            name, columns = self._read_source(source, outer, ctes)
            if name in sources:
                refuse(
                    f"two sources are named {name!r}",
                    self._sql,
                    position(source, self._sql),
                    f"{name} AS a, {name} AS b",
                )
            sources[name] = columns
        return sources

    def _read_source(
        self, source: Any, outer: _Scope | None, ctes: dict[str, _Names]
    ) -> tuple[str, _Names]:
        alias = source.args.get("alias")
        if isinstance(source, exp.Subquery):
            columns = self.read_query(source.this, outer, ctes)
            name = alias.name if alias is not None else f"({id(source)})"
        elif isinstance(source.this, exp.Anonymous):
            columns = (*RANKED, *self._readable.lines)
            name = alias.name if alias is not None else "search"
        else:
            columns = self._table_columns(source, ctes)
            name = alias.name if alias is not None else source.name
        if alias is not None and alias.this is None:
            refuse("a source is given a name", self._sql, position(alias, self._sql))
        return name.lower(), self._renamed(alias, columns)

    def _table_columns(self, table: Any, ctes: dict[str, _Names]) -> _Names:
        name = table.name.lower()
        # the name by which every example calls the lines
        known = {"documents": self._readable.table} | {key: key for key in self._readable.columns}
        if name in ctes:
            return ctes[name]
        if name not in known:
            self._refuse_unknown("table", table, [*self._readable.columns, *ctes])
        table.this.set("this", known[name])
        return self._readable.columns[known[name]]

    def _renamed(self, alias: Any, names: _Names) -> _Names:
        columns = alias.args.get("columns") or [] if alias is not None else []
        renamed = [column.name.lower() for column in columns]
        return (*renamed, *names[len(renamed) :])

    def _output_names(self, output: Any, scope: _Scope) -> list[str]:
        if isinstance(output, exp.Star):
            return [name for names in scope.sources.values() for name in names]
        if isinstance(output, exp.Column) and isinstance(output.this, exp.Star):
            return list(self._source(output, scope))
        if isinstance(output, exp.Alias):
            return [output.alias.lower()]
        return [output.name.lower() if isinstance(output, exp.Column) else ""]

    def _read_parts(self, part: Any, scope: _Scope, ctes: dict[str, _Names]) -> None:
        """Read the expressions of a clause, and the queries in them."""
        if isinstance(part, list):
            for item in part:
                self._read_parts(item, scope, ctes)
        if not hasattr(part, "walk"):
            return
        for node in part.walk(prune=lambda node: isinstance(node, exp.Query)):
            if isinstance(node, exp.Query):
                self.read_query(node, scope, ctes)
            elif isinstance(node, exp.Column):
                self._read_column(node, scope)

    def _read_column(self, node: Any, scope: _Scope) -> None:
        if node.table:
            names = self._source(node, scope)
            if not isinstance(node.this, exp.Star) and node.name.lower() not in names:
                self._refuse_unknown("column", node, list(names))
        elif not isinstance(node.this, exp.Star):
            self._check_column(node.name, scope, node)

    def _check_column(self, name: str, scope: _Scope, node: Any) -> None:
        if not any(name.lower() in at.columns for at in scope.outwards()):
            self._refuse_unknown("column", node, scope.columns)

    def _source(self, node: Any, scope: _Scope) -> _Names:
        for at in scope.outwards():
            if node.table.lower() in at.sources:
                return at.sources[node.table.lower()]
        self._refuse_unknown("table", node.args["table"], list(scope.sources))
        raise AssertionError

    def _refuse_unknown(self, kind: str, node: Any, known: list[str]) -> None:
        name = node.name
        error = UnknownNameError(kind, name[:_MAX_NAME], known)
        remedy = error.remedy
        identifier = node.this if isinstance(node.this, exp.Identifier) else node
        if kind == "column" and identifier.args.get("quoted") and not error.fields["nearest"]:
            remedy = f"texts stand in single quotes: '{name[:60]}'"
        raise SqlGuardError(
            error.message, remedy=remedy, statement=self._sql, position=position(node, self._sql)
        )


def _write_name(identifier: Any) -> None:
    """Write a name as it is known, in quotes where it needs them."""
    name = identifier.name[:_MAX_NAME]
    name = name.lower() if name.isascii() else name
    identifier.set("this", name)
    identifier.set("quoted", _needs_quotes(name))


def _needs_quotes(name: str) -> bool:
    is_word = name.isascii() and name.isidentifier() and name == name.lower()
    return not is_word or name in DuckDB.Generator.RESERVED_KEYWORDS or name in _SPECIAL


# words that DuckDB would read as a value
_SPECIAL = frozenset({
    "current_catalog", "current_date", "current_role", "current_schema", "current_time",
    "current_timestamp", "current_user", "localtime", "localtimestamp", "session_user", "user",
})  # fmt: skip
