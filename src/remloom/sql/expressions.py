"""From the nodes of a parsed SELECT to expression values. What has no translation is refused."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from ..errors import InvalidInputError, SqlGuardError, UnknownNameError
from . import (
    aggregates,
    arithmetic,
    bounds,
    cases,
    casts,
    coercion,
    comparisons,
    json_nodes,
    text_nodes,
)
from .calls import read_call
from .nodes import NodeReader, sql_name
from .values import Column, Expression, Json, Value

if TYPE_CHECKING:
    from sqlglot import exp


MAX_DEPTH = 80  # expressions inside each other
_MAX_WHOLE = 2**63 - 1
_MAX_DIGITS = 400  # of a number with a fraction or an exponent

# What the parser notes of a function that changes nothing here.
_HARMLESS = frozenset({
    "big_int", "safe", "coalesce", "is_left", "ignore_nulls", "is_nvl", "is_null", "ansi",
    "requires_json", "json_subtype", "only_json_types", "scalar_only", "value_constructor",
    "bracket_notation",
})  # fmt: skip
# Functions that the parser has other names for.
_FUNCTION_NAMES = {
    "Ceil": "ceil",
    "CurrentDate": "current_date",
    "CurrentTimestamp": "now",
    "DateTrunc": "date_trunc",
    "Greatest": "greatest",
    "GroupConcat": "group_concat",
    "Least": "least",
    "Length": "length",
    "Localtimestamp": "now",
    "StrPosition": "instr",
    "Substring": "substr",
    "TimeToStr": "strftime",
    "TimestampTrunc": "date_trunc",
}


class ExpressionReader:
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
        self.sql = sql
        self.tokens = tokens
        self.columns = columns
        self.table = table
        self.outputs: dict[str, Expression] = {}  # by the names that the SELECT gives them
        self._allows_outputs = False
        self._prefers_outputs = False
        self._depth = 0

    def __call__(
        self,
        node: exp.Expression,
        *,
        aliases: bool = False,
        first: bool = False,
    ) -> Expression:
        """The value of an expression.

        Args:
            aliases: it may name outputs of the SELECT, too.
            first: a name means an output rather than a column, where it could mean either.
        """
        before = self._allows_outputs, self._prefers_outputs
        if aliases:
            self._allows_outputs, self._prefers_outputs = True, first
        try:
            return self.value(node)
        finally:
            self._allows_outputs, self._prefers_outputs = before

    def condition(self, node: exp.Expression, *, aliases: bool = False) -> Expression:
        """The value of an expression that holds or does not."""
        return coercion.as_condition(self(node, aliases=aliases))

    def value(self, node: Any) -> Expression:
        """The value of a node within an expression."""
        from sqlglot import exp

        read = _READERS.get(type(node).__name__)
        if read is None and not isinstance(node, exp.Func):
            self.refuse(f"{sql_name(node)} is not allowed", node)
        # Python's own stack would end in a RecursionError.
        self._depth += 1
        if self._depth > MAX_DEPTH:
            self.refuse(f"an expression may be nested {MAX_DEPTH} deep", node)
        try:
            return self.function(node) if read is None else read(self, node)
        except InvalidInputError as error:
            raise self.locate(error, node) from None
        finally:
            self._depth -= 1

    def function(self, node: exp.Expression) -> Expression:
        """The call of a function, by its name and its arguments in their order."""
        from sqlglot import exp

        if isinstance(node, exp.Anonymous):
            if not isinstance(node.this, str):
                self.refuse("a function has a plain name", node)
            return read_call(self, node.this.lower(), list(node.expressions), node)
        arguments: list[exp.Expression] = []
        for key in node.arg_types:
            given = node.args.get(key)
            if isinstance(given, exp.Expression):
                arguments.append(given)
            elif isinstance(given, list):
                arguments += given
            elif given and key not in _HARMLESS:
                self.refuse(f"{sql_name(node)} … {key.upper()} is not allowed", node)
        own_name = sql_name(node).removeprefix("the function ")
        name = _FUNCTION_NAMES.get(type(node).__name__) or own_name
        return read_call(self, name, arguments, node)

    # -- errors ------------------------------------------------------------------------------------

    def allow_only(self, node: Any, *known: str) -> None:
        """Refuse a node that says more than these arguments of it."""
        given = [name for name, value in node.args.items() if value]
        extras = [name for name in given if name not in known]
        if extras:
            self.refuse(f"{sql_name(node)} … {extras[0].upper()} is not allowed", node)

    def refuse(
        self,
        message: str,
        node: Any,
        remedy: str = "",
    ) -> NoReturn:
        """Refuse what a node says, at its position."""
        bounds.refuse(message, self.sql, self.position(node), remedy)

    def locate(self, error: InvalidInputError, node: Any) -> InvalidInputError:
        """Give an error a position, if it has none yet."""
        if isinstance(error, SqlGuardError) and error.fields["position"] is None:
            error.fields |= {"statement": self.sql, "position": self.position(node)}
        return error

    def position(self, node: Any) -> int:
        """Where a node stands in the text, as well as can be told."""
        from sqlglot import exp

        if not isinstance(node, exp.Expression):
            return 0
        for part in node.walk():
            if "start" in part.meta:
                return int(part.meta["start"])
        # The parser notes no position of most words: take the first that may be this one.
        words = {
            str(getattr(node, "name", "")).upper(),
            sql_name(node).rpartition(" ")[2].upper(),
            node.key.upper(),
        }
        for token in self.tokens:
            if token.text and token.text.upper() in words:
                return int(token.start)
        return 0

    def check_table(self, node: exp.Column) -> None:
        """Refuse a column of another table."""
        other_table = node.table and node.table.lower() != self.table
        # a field of a row by its path
        if other_table and node.table.lower() == "fields" and self._is_field(node.name.lower()):
            other_table = False
        if node.args.get("db") or node.args.get("catalog") or other_table:
            raise UnknownNameError("table", node.table, [self.table])

    def _is_field(self, name: str) -> bool:
        column = self.columns.get(name)
        return column is not None and (
            column.column == "fields" if isinstance(column, Json) else column.field is not None
        )

    # -- columns and literals ----------------------------------------------------------------------

    def column(self, node: exp.Column) -> Expression:
        """The value of a column, or of an output by its name."""
        from sqlglot import exp

        self.allow_only(node, "this", "table")
        self.check_table(node)
        if not isinstance(node.this, exp.Identifier):
            self.refuse("a column has a plain name", node)
        name = node.name.lower()
        may_be_output = self._allows_outputs and not node.table and name in self.outputs
        if may_be_output and self._prefers_outputs:
            return self.outputs[name]
        if name in self.columns:
            return self.columns[name]
        if may_be_output:
            return self.outputs[name]
        is_quoted = node.this.args.get("quoted")
        remedy = f"text stands in single quotes: '{node.name[:60]}'" if is_quoted else ""
        raise UnknownNameError("column", node.name[:200], list(self.columns), remedy=remedy)

    def literal(self, node: exp.Literal) -> Expression:
        """The value of a text or number."""
        if node.is_string:
            return Value(node.name, "text")
        text = node.name.replace("_", "")
        if text.isdigit() and len(text) <= 19:
            if int(text) <= _MAX_WHOLE:
                return Value(int(text), "integer")
            self.refuse(
                f"{text} is too large a number", node, f"the largest whole one is {_MAX_WHOLE}"
            )
        try:
            number = float(text[:_MAX_DIGITS])
        except ValueError:
            self.refuse(f"{text[:40]} is not a number", node)
        if number in (float("inf"), float("-inf")) or len(text) > _MAX_DIGITS:
            self.refuse("this number is too large", node, "stay below 1e308")
        return Value(number, "real")


def _read_null(_: ExpressionReader, __: Any) -> Expression:
    return Value(None, "null")


def _read_boolean(_: ExpressionReader, node: Any) -> Expression:
    return Value(bool(node.this), "boolean")


def _read_brackets(read: ExpressionReader, node: Any) -> Expression:
    return read.value(node.this)


# the name of a node's class -> what reads it
_READERS: dict[str, NodeReader] = {
    "Boolean": _read_boolean,
    "Column": ExpressionReader.column,
    "Literal": ExpressionReader.literal,
    "Null": _read_null,
    "Paren": _read_brackets,
    **aggregates.READERS,
    **arithmetic.READERS,
    **cases.READERS,
    **casts.READERS,
    **comparisons.READERS,
    **json_nodes.READERS,
    **text_nodes.READERS,
}
