"""Expressions of a SELECT as values: the columns of its table, literals, CASE and casts, and
whatever operators and calls make of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from ..errors import UnknownNameError
from . import bounds, calls, operators
from .coercion import cast, compare, unify
from .nodes import Handler, Node, NodeReader, kind_of
from .overloads import make_case
from .values import Column, Expression, Json, Type, Value

_MAX_WHOLE = 2**63 - 1
_MAX_DIGITS = 400  # of a number with a fraction or an exponent
_SPELLINGS: dict[Type, tuple[str, ...]] = {
    "text": ("TEXT", "VARCHAR", "CHAR", "NCHAR", "NVARCHAR", "BPCHAR", "NAME"),
    "integer": ("INT", "BIGINT", "SMALLINT", "TINYINT", "MEDIUMINT"),
    "real": ("FLOAT", "DOUBLE", "DECIMAL", "BIGDECIMAL"),
    "boolean": ("BOOLEAN",),
    "date": ("DATE",),
    "time": ("TIMESTAMP", "TIMESTAMPTZ", "TIMESTAMPLTZ", "TIMESTAMPNTZ", "DATETIME"),
    "json": ("JSON", "JSONB"),
}
_TYPES = {spelling: kind for kind, spellings in _SPELLINGS.items() for spelling in spellings}
_TYPES_REMEDY = "the types are text, integer, real, boolean, date and timestamp"


def _read_literal(read: NodeReader, node: Node) -> Expression:
    if node.is_string:
        return Value(node.name, "text")
    text = node.name.replace("_", "")
    if text.isdigit() and len(text) <= 19:
        if int(text) <= _MAX_WHOLE:
            return Value(int(text), "integer")
        read.refuse(f"{text} is too large a number", node, f"the largest whole one is {_MAX_WHOLE}")
    try:
        number = float(text[:_MAX_DIGITS])
    except ValueError:
        read.refuse(f"{text[:40]} is not a number", node)
    if number in (float("inf"), float("-inf")) or len(text) > _MAX_DIGITS:
        read.refuse("this number is too large", node, "stay below 1e308")
    return Value(number, "real")


# -- CASE and IF -----------------------------------------------------------------------------------


def _read_case(read: NodeReader, node: Node) -> Expression:
    arms, subject, default = node.args["ifs"], node.args.get("this"), node.args.get("default")
    if subject is None:
        conditions = [read.condition(arm.this) for arm in arms]
    else:
        # CASE x WHEN 1 … compares
        value = read.value(subject)
        conditions = [compare("=", value, read.value(arm.this)) for arm in arms]
    results = [arm.args["true"] for arm in arms]
    if default is not None:
        results.append(default)
    return make_case(conditions, unify([read.value(result) for result in results]))


def _read_if(read: NodeReader, node: Node) -> Expression:
    results = [node.args["true"], node.args.get("false")]
    unified = unify([read.value(result) for result in results if result is not None])
    return make_case([read.condition(node.this)], unified)


# -- casts -----------------------------------------------------------------------------------------


def _read_cast(read: NodeReader, node: Node) -> Expression:
    target: Node = node.args.get("to")
    kind = _read_type(read, target, node)
    # TIMESTAMP(3) WITH TIME ZONE, and whatever else a type may say
    for key, argument in target.args.items():
        if argument and key not in ("this", "nested", "expressions"):
            read.refuse(f"a type … {key.upper()} is not allowed", node, _TYPES_REMEDY)
    value = read.value(node.this)
    if kind == "json" and value.type != "json":
        read.refuse("only JSON can be cast to JSON", node, "metadata ->> 'page'")
    return cast(value, kind)


def _read_type(read: NodeReader, target: Node, node: Node) -> Type:
    """The type that is named; sizes such as VARCHAR(20) change nothing."""
    is_type = kind_of(target) == "DataType"
    name = target.this.name if is_type and hasattr(target.this, "name") else ""
    kind = _TYPES.get(name)
    if kind is not None and all(map(_is_size, target.expressions)):
        return kind
    # A type that the parser does not know is in `kind`, as it was written.
    written = (target.args.get("kind") if is_type else None) or target
    if not isinstance(written, str):
        written = getattr(written, "name", "") or name
    written = str(written)[:40]
    positions = (token.start for token in read.tokens if written and token.text == written)
    position = next(positions, None)
    if position is None:
        position = read.position(node)
    return bounds.refuse(f"the type {written!r} is not allowed", read.sql, position, _TYPES_REMEDY)


def _is_size(part: Node) -> bool:
    is_literal = kind_of(part) == "DataTypeParam" and kind_of(part.this) == "Literal"
    return is_literal and not part.this.is_string


_CAST = Handler(_read_cast, ("this", "to", "safe", "_type"))


class ExpressionReader(NodeReader):
    """Reads the expressions of one statement over one table.

    Args:
        columns: the table's, by name.
        table: the name by which the statement calls it.
    """

    def __init__(
        self,
        sql: str,
        tokens: Sequence[Any],
        columns: Mapping[str, Column | Json],
        table: str,
    ) -> None:
        super().__init__(sql, tokens)
        self.columns = columns
        self.table = table
        self.outputs: dict[str, Expression] = {}  # by the names that the SELECT gives them
        self._allows_outputs = False
        self._prefers_outputs = False

    def __call__(self, node: Node, *, aliases: bool = False, first: bool = False) -> Expression:
        """The value of an expression.

        Args:
            aliases: it may name outputs of the SELECT, too.
            first: a name means an output rather than a column, where it could mean either.
        """
        self._allows_outputs, self._prefers_outputs = aliases, first
        return self.value(node)

    def column(self, node: Node) -> Expression:
        """The value of a column, or of an output by its name."""
        self.check_table(node)
        if kind_of(node.this) != "Identifier":
            self.refuse("a column has a plain name", node)
        name = node.name.lower()
        may_be_output = self._allows_outputs and not node.table and name in self.outputs
        if may_be_output and (self._prefers_outputs or name not in self.columns):
            return self.outputs[name]
        if name in self.columns:
            return self.columns[name]
        is_quoted = node.this.args.get("quoted")
        remedy = f"text stands in single quotes: '{node.name[:60]}'" if is_quoted else ""
        raise UnknownNameError("column", node.name[:200], list(self.columns), remedy=remedy)

    def check_table(self, node: Node) -> None:
        """Refuse a column of another table."""
        table = node.table and node.table.lower()
        is_known = not table or table == self.table
        # a field of a row by its path
        if table == "fields" and self._is_field(node.name.lower()):
            is_known = True
        if node.args.get("db") or node.args.get("catalog") or not is_known:
            raise UnknownNameError("table", node.table, [self.table])

    def _is_field(self, name: str) -> bool:
        column = self.columns.get(name)
        return column is not None and (
            column.column == "fields" if isinstance(column, Json) else column.field is not None
        )

    handlers: ClassVar[Mapping[str, Handler]] = {
        **operators.HANDLERS,
        **calls.HANDLERS,
        "Boolean": Handler(lambda _, node: Value(bool(node.this), "boolean")),
        "Case": Handler(_read_case, ("this", "ifs", "default")),
        "Cast": _CAST,
        "Column": Handler(column, ("this", "table")),
        "If": Handler(_read_if, ("this", "true", "false")),
        "Literal": Handler(_read_literal),
        "Null": Handler(lambda _read, _node: Value(None, "null")),
        "Paren": Handler(lambda read, node: read.value(node.this)),
        "TryCast": _CAST,
    }
