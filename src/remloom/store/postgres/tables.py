"""What SQL sees: each schema as a table of its fields, and nothing else.

The statement was parsed and allow-listed above the store. Here it runs over a table expression that has the tenant's
name in it, as a role to which the tables show that tenant only, in a read-only transaction: three locks on the same
door.

A statement means what it means to the embedded store, and is written in the same SQL: a JSON value taken by `->>` or
`json_extract` keeps its type, LIKE ignores case, unset values sort first.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import psycopg
from psycopg.adapt import Loader

from ...errors import InvalidInputError, SqlGuardError, StoreBusyError
from ..contract import SCHEMAS
from .predicates import shown_columns
from .server import Server

__all__ = ["Tables"]

_WRONG = (
    psycopg.errors.SyntaxErrorOrAccessRuleViolation,
    psycopg.errors.DataException,
    psycopg.errors.FeatureNotSupported,
    psycopg.errors.ProgramLimitExceeded,
)


class Tables:
    """Runs SELECT statements over one tenant."""

    def __init__(self, server: Server, tenant: str) -> None:
        self._server = server
        self._tenant = tenant

    def select(
        self, sql: str, params: Sequence[Any], limit: int, timeout: float
    ) -> tuple[list[str], list[tuple[Any, ...]], bool]:
        with self._server.read(self._tenant) as held, held.connection.cursor() as cursor:
            for name, loader in _LOADERS.items():
                cursor.adapters.register_loader(name, loader)
            try:
                cursor.execute(f"SET LOCAL statement_timeout = {max(1, round(timeout * 1000))}")
                cursor.execute(f"DECLARE answer NO SCROLL CURSOR FOR {self._over(sql)}", tuple(params) or None)
                cursor.execute(f"FETCH {limit + 1} FROM answer")
                columns = [column.name for column in cursor.description or ()]
                rows = cursor.fetchall()
                cursor.execute("CLOSE answer; SET LOCAL statement_timeout = 0")
            except psycopg.errors.QueryCanceled:
                raise StoreBusyError(
                    f"the statement took longer than {timeout:g} s", remedy="filter on an indexed field, or select less"
                ) from None
            except psycopg.errors.InsufficientPrivilege as error:
                raise SqlGuardError(f"the statement reaches beyond its table: {_said(error)}", statement=sql) from error
            except _WRONG as error:
                raise InvalidInputError(f"SQL: {_said(error)}", remedy="check the statement", statement=sql) from error
        return columns, rows[:limit], len(rows) > limit

    def explain(self, sql: str) -> list[str]:
        return [row[0] for row in self._server.fetch(self._tenant, f"EXPLAIN {self._over(sql)}".replace("%", "%%"))]

    def _over(self, sql: str) -> str:
        """The statement with the table it reads."""
        schema, rewritten = _rewritten(sql)
        columns = ", ".join(f'{value} AS "{name}"' for name, value in shown_columns(schema).items())
        rows = f"remloom.records r WHERE r.tenant_id = '{self._tenant}' AND r.schema = '{schema}'"
        return f"WITH {schema} AS (SELECT {columns} FROM {rows}) {rewritten}"


@lru_cache(maxsize=256)
def _rewritten(sql: str) -> tuple[str, str]:
    """The schema that a guarded SELECT reads, and the SELECT as PostgreSQL is to run it."""
    from sqlglot import exp, parse_one

    tree = parse_one(sql, read="sqlite")  # as the guard wrote it
    for node in list(tree.find_all(exp.Anonymous, exp.Datetime, exp.Like, exp.TimeToStr)):
        if (other := _spelled(node)) is not None:
            node.replace(other)
    extracts = [n for n in tree.find_all(exp.JSONExtract, exp.JSONExtractScalar) if not _is_json(n.parent)]
    for extract in extracts:
        extract.replace(_typed(extract))
    table = tree.find(exp.Table)
    if table is None or table.name not in SCHEMAS:
        raise SqlGuardError("a SELECT reads FROM one table by its name", statement=sql)
    return table.name, tree.sql(dialect="postgres", comments=False)


def _spelled(node: Any) -> Any:
    """A function as PostgreSQL has it, where the embedded store spells it otherwise."""
    from sqlglot import exp, parse_one

    if isinstance(node, exp.Like):
        return exp.ILike(this=node.this, expression=node.expression)
    if isinstance(node, exp.Datetime):
        return _cast_time(node.this, "YYYY-MM-DD HH24:MI:SS")
    name = node.name.lower()
    if name == "strftime" and len(node.expressions) == 2:
        return parse_one(node.sql(dialect="sqlite"), read="sqlite")
    if name == "json_array_length":
        return exp.Anonymous(this="jsonb_array_length", expressions=node.expressions)
    if name == "total":
        return exp.Coalesce(this=exp.Sum(this=node.expressions[0]), expressions=[exp.Literal.number(0)])
    return None


def _cast_time(value: Any, shown: str) -> Any:
    from sqlglot import exp

    return exp.Anonymous(this="to_char", expressions=[exp.cast(value, "timestamp"), exp.Literal.string(shown)])


def _is_json(node: Any) -> bool:
    from sqlglot import exp

    return isinstance(node, exp.JSONExtract | exp.JSONExtractScalar)


def _typed(extract: Any) -> Any:
    """A value taken out of JSON, as the place where it stands wants it: JSON (which keeps its type), number or text."""
    from sqlglot import exp

    steps: list[str] = []
    column = extract
    while _is_json(column):
        path = column.expression
        parts = [part for part in getattr(path, "expressions", ()) if not isinstance(part, exp.JSONPathRoot)]
        if not parts or not all(isinstance(part, exp.JSONPathKey | exp.JSONPathSubscript) for part in parts):
            return extract
        steps[:0] = [str(part.this) for part in parts]
        column = column.this
    quoted = ",".join('"' + step.replace("\\", "\\\\").replace('"', '\\"') + '"' for step in steps)
    literal = exp.Literal.string("{" + quoted + "}")
    json = exp.Paren(this=exp.JSONBExtract(this=column.copy(), expression=literal))
    text = exp.Paren(this=exp.JSONBExtractScalar(this=column.copy(), expression=literal.copy()))
    if isinstance(extract, exp.JSONExtract) and extract.args.get("only_json_types"):
        return json
    place = extract.parent
    while isinstance(place, exp.Paren | exp.Alias):
        place = place.parent
    if isinstance(place, exp.Select | exp.Ordered | exp.Group):
        return json
    numbers = [n for n in place.args.values() if _is_number(n)] if place is not None else []
    numbers += [n for n in (place.args.get("expressions") or ()) if _is_number(n)] if isinstance(place, exp.In) else []
    arithmetic = exp.Add | exp.Sub | exp.Mul | exp.Div | exp.Mod | exp.Neg | exp.Sum | exp.Avg
    if numbers or isinstance(place, arithmetic):
        kind = exp.Anonymous(this="jsonb_typeof", expressions=[json])
        number = exp.EQ(this=kind, expression=exp.Literal.string("number"))
        return exp.Case(ifs=[exp.If(this=number, true=exp.cast(text, "decimal"))])
    return text


def _is_number(node: Any) -> bool:
    from sqlglot import exp

    while isinstance(node, exp.Neg | exp.Paren):
        node = node.this
    return isinstance(node, exp.Literal) and not node.is_string


def _said(error: psycopg.Error) -> str:
    return error.diag.message_primary or str(error)


# -- values as the embedded store gives them ---------------------------------------------------------------------


class _Json(Loader):
    """A JSON text, number or null as itself; a list or object as text."""

    def load(self, data: Any) -> Any:
        text = bytes(data)
        if text[:1] in b"[{":
            return text.decode()
        import msgspec

        return msgspec.json.decode(text)


class _Number(Loader):
    def load(self, data: Any) -> int | float:
        text = bytes(data).decode()
        return int(text) if re.fullmatch(r"-?\d+", text) else float(text)


class _Bool(Loader):
    def load(self, data: Any) -> int:
        return int(bytes(data) == b"t")


class _Text(Loader):
    def load(self, data: Any) -> str:
        return bytes(data).decode()


_LOADERS: dict[str, type[Loader]] = {
    "jsonb": _Json, "json": _Json, "numeric": _Number, "bool": _Bool,
    "date": _Text, "time": _Text, "timestamp": _Text, "timestamptz": _Text, "interval": _Text,
}  # fmt: skip
