"""From the text of a SELECT to its value, or to an error that says where it is wrong."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from ..errors import RemloomError, SqlGuardError, UnknownNameError
from ..model import SchemaDefinition
from . import bounds
from .coercion import as_condition
from .columns import SCHEMAS, SqlTable, table_of
from .expressions import ExpressionReader
from .nodes import Node, kind_of, other_arguments
from .render import default_name
from .values import (
    Aggregate,
    Column,
    Expression,
    Json,
    OrderTerm,
    Output,
    Select,
    Value,
    children,
    has_aggregate,
)

NONE_REGISTERED: Mapping[str, SchemaDefinition] = MappingProxyType({})
MAX_OUTPUTS = 200  # columns of an answer
MAX_WINDOW = 1_000_000  # of LIMIT and OFFSET
_MAX_NAME = 500  # characters of the name of a column
_MAX_DIGITS = 18  # of LIMIT and OFFSET
_NOT_READ = "this is not SQL as it is read here"
_CLAUSES = frozenset({
    "expressions", "from", "from_", "where", "group", "having", "order", "limit", "offset",
    "distinct",
})  # fmt: skip


def compile_select(
    sql: str, definitions: Mapping[str, SchemaDefinition] = NONE_REGISTERED
) -> Select:
    """The SELECT that a text says.

    Args:
        definitions: of the schemas that are registered.

    Raises:
        QuerySyntaxError: the text is not SQL.
        SqlGuardError: it is more than one SELECT over one table, asks what no store can answer, or
            is too large.
        UnknownNameError: a table or column that does not exist.
        InvalidInputError: types that do not go together, such as a time column and a text that is
            not a time.

    >>> compile_select("SELECT name FROM entities LIMIT 3").limit
    3
    """
    tokens = bounds.check_tokens(sql)
    tree = _parse_tree(sql)
    try:
        return _SelectReader(sql, tokens, tree, definitions).read_select()
    except RemloomError:
        raise
    except Exception:
        # a tree of a shape that the parser is not known to make
        raise bounds.syntax_error(_NOT_READ, sql, 0) from None


def _parse_tree(sql: str) -> Node:
    from sqlglot.errors import ParseError

    try:
        trees = bounds.read_dialect().parse(sql)
    except RecursionError:
        bounds.refuse("this expression is too deeply nested", sql, 0)
    except ParseError as error:
        raise bounds.syntax_error(_NOT_READ, sql, _error_position(error, sql)) from None
    except Exception:
        # The parser was written for friendly text, and fails in many ways on other.
        raise bounds.syntax_error(_NOT_READ, sql, 0) from None
    tree = trees[0] if len(trees) == 1 else None
    if kind_of(tree) != "Select":
        bounds.refuse(f"{tree.key.upper() if tree else 'this'} is not allowed", sql, 0)
    return tree


def _error_position(error: Any, sql: str) -> int:
    """Where the parser's error is, counted in characters from the beginning."""
    first = error.errors[0] if error.errors else {}
    lines = sql.splitlines(keepends=True)
    line = first.get("line") or 1
    column = first.get("col") or 0
    highlight = first.get("highlight") or ""
    # the column is that of the end of what is wrong
    position = sum(map(len, lines[: line - 1])) + column - len(highlight)
    return min(max(position, 0), len(sql))


class _SelectReader:
    """Reads the clauses of one statement."""

    def __init__(
        self,
        sql: str,
        tokens: list[Any],
        tree: Node,
        definitions: Mapping[str, SchemaDefinition],
    ) -> None:
        self._sql = sql
        self._tree = tree
        self._definitions = definitions
        self._table, alias = self._read_table(tokens)
        self._schema = self._table.name
        self._columns = self._table.columns
        self._read = ExpressionReader(sql, tokens, self._table.named, alias)

    def read_select(self) -> Select:
        tree, read = self._tree, self._read
        given = {name for name, value in tree.args.items() if value}
        extras = sorted(given - _CLAUSES)
        if extras:
            read.refuse(f"{extras[0].strip('_').upper()} is not allowed", tree)
        outputs = self._read_outputs()
        distinct = self._read_distinct()
        where = self._read_where()
        # from here on, expressions may name what the SELECT gives a name
        read.outputs = {output.name.lower(): output.value for output in outputs}
        groups = self._read_groups(outputs)
        having = tree.args.get("having")
        select = Select(
            schema=self._schema,
            outputs=outputs,
            distinct=distinct,
            where=where,
            groups=groups,
            having=None if having is None else as_condition(read(having.this, aliases=True)),
            order=self._read_order(outputs),
            limit=self._read_window("limit"),
            offset=self._read_window("offset") or 0,
            is_star=[(output.name, output.value) for output in outputs]
            == list(self._columns.items()),
        )
        try:
            _check_groups(select)
            bounds.check_lengths(select)
        except SqlGuardError as error:
            error.fields["statement"] = self._sql
            raise
        return select

    # -- its clauses -------------------------------------------------------------------------------

    def _read_table(self, tokens: list[Any]) -> tuple[SqlTable, str]:
        """The table that is read, and the name by which the statement calls it."""
        # the parser's name for it, and that of its older versions
        source = self._tree.args.get("from_") or self._tree.args.get("from")
        table: Node = source.this if source is not None else None
        froms = (token.start for token in tokens if token.token_type.name == "FROM")
        position = next(froms, 0)
        if self._tree.args.get("joins") or self._tree.args.get("laterals"):
            bounds.refuse(
                "JOIN is not allowed: a SELECT reads FROM one table",
                self._sql,
                position,
                "follow edges with TRAVERSE",
            )
        if kind_of(table) != "Table" or kind_of(table.this) != "Identifier":
            bounds.refuse("a SELECT reads FROM one table by its name", self._sql, position)
        if other_arguments(table, "this", "alias"):
            bounds.refuse(
                "a table is named alone, without database, join or hint", self._sql, position
            )
        alias = table.args.get("alias")
        if alias is not None and (
            other_arguments(alias, "this") or kind_of(alias.this) != "Identifier"
        ):
            bounds.refuse("a table's alias may not rename its columns", self._sql, position)
        schema = table.name.lower()
        if schema not in SCHEMAS and schema not in self._definitions:
            raise UnknownNameError("table", table.name, [*SCHEMAS, *self._definitions])
        name = schema if alias is None else alias.this.name
        return table_of(schema, self._definitions.get(schema)), name.lower()

    def _read_outputs(self) -> tuple[Output, ...]:
        outputs: list[Output] = []
        for node in self._tree.expressions:
            outputs += self._read_output(node)
        if not outputs:
            raise bounds.syntax_error("nothing is selected", self._sql, len("SELECT "))
        # all columns of a table, however many it has
        if len(outputs) > max(MAX_OUTPUTS, len(self._columns)):
            self._read.refuse(
                f"a SELECT may have {MAX_OUTPUTS} columns, this has {len(outputs):,}", self._tree
            )
        return tuple(outputs)

    def _read_output(self, node: Node) -> list[Output]:
        kind = kind_of(node)
        if kind == "Star" or (kind == "Column" and kind_of(node.this) == "Star"):
            return self._read_star(node)
        if kind == "Alias":
            if kind_of(node.args.get("alias")) != "Identifier" or len(node.alias) > _MAX_NAME:
                self._read.refuse(
                    f"a column is given one name, of at most {_MAX_NAME} characters", node
                )
            return [Output(self._read(node.this), node.alias)]
        value = self._read(node)
        name = node.name.lower() if kind == "Column" else default_name(value)
        return [Output(value, name)]

    def _read_star(self, node: Node) -> list[Output]:
        star = node if kind_of(node) == "Star" else node.this
        if any(star.args.values()):
            self._read.refuse("EXCEPT and REPLACE are not allowed", node, "name the columns")
        if kind_of(node) == "Column":
            self._read.check_table(node)
        return [Output(column, name) for name, column in self._columns.items()]

    def _read_distinct(self) -> bool:
        distinct = self._tree.args.get("distinct")
        if distinct is not None and distinct.args.get("on"):
            self._read.refuse(
                "DISTINCT ON is not allowed",
                distinct,
                "SELECT DISTINCT, or GROUP BY with min and max",
            )
        return distinct is not None

    def _read_where(self) -> Expression | None:
        where = self._tree.args.get("where")
        if where is None:
            return None
        condition = self._read.condition(where.this)
        if has_aggregate(condition):
            self._read.refuse("WHERE looks at one row: a figure of many stands in HAVING", where)
        return condition

    def _read_groups(self, outputs: tuple[Output, ...]) -> tuple[Expression, ...]:
        group = self._tree.args.get("group")
        if group is None:
            return ()
        extras = other_arguments(group, "expressions")
        if extras:
            self._read.refuse(f"GROUP BY {extras[0].upper()} is not allowed", group)
        groups = [
            self._numbered_output(node, outputs) or self._read(node, aliases=True)
            for node in group.expressions
        ]
        if any(map(has_aggregate, groups)):
            self._read.refuse("GROUP BY takes what each row has, not a figure of many", group)
        # A literal is the same in all rows, and groups nothing.
        varying = [value for value in groups if not isinstance(value, Value)]
        return tuple(dict.fromkeys(varying))

    def _read_order(self, outputs: tuple[Output, ...]) -> tuple[OrderTerm, ...]:
        order = self._tree.args.get("order")
        if order is None:
            return ()
        terms = [self._read_order_term(node, outputs) for node in order.expressions]
        return tuple(term for term in terms if not isinstance(term.value, Value))

    def _read_order_term(self, node: Node, outputs: tuple[Output, ...]) -> OrderTerm:
        extras = other_arguments(node, "this", "desc", "nulls_first")
        if extras:
            self._read.refuse(f"ORDER BY … {extras[0].upper()} is not allowed", node)
        value = self._numbered_output(node.this, outputs)
        if value is None:
            value = self._read(node.this, aliases=True, first=True)
        # The parser fills in nulls_first where it is not said: unset values are lowest.
        nulls_first = bool(node.args.get("nulls_first"))
        return OrderTerm(value, bool(node.args.get("desc")), nulls_first)

    def _numbered_output(self, node: Node, outputs: tuple[Output, ...]) -> Expression | None:
        """The column of the answer that a number names in GROUP BY and ORDER BY."""
        if kind_of(node) != "Literal" or node.is_string:
            return None
        number = int(node.name[:9]) if node.name.isdigit() else 0
        if not 1 <= number <= len(outputs):
            self._read.refuse(
                f"there is no column {node.name[:20]}: the SELECT has {len(outputs)}", node
            )
        return outputs[number - 1].value

    def _read_window(self, clause: str) -> int | None:
        """The number of LIMIT or OFFSET; at most `MAX_WINDOW`, as no answer has more rows."""
        node = self._tree.args.get(clause)
        if node is None:
            return None
        word, number = clause.upper(), node.expression
        is_number = kind_of(number) == "Literal" and not number.is_string
        is_whole = is_number and number.name.isdigit()
        if not is_whole or node.args.get("this"):
            self._read.refuse(f"{word} takes a whole number", node, f"{word} 10")
        if len(number.name) > _MAX_DIGITS:
            self._read.refuse(f"{word} is too large a number", node, f"{word} 10")
        count = int(number.name)
        if clause == "offset" and count > MAX_WINDOW:
            self._read.refuse(
                f"OFFSET may be {MAX_WINDOW:,} at most",
                node,
                "go on from the last row by a condition",
            )
        return min(count, MAX_WINDOW)


def _check_groups(select: Select) -> None:
    """Refuse a value that has many values in a group: a store would show any row's, or refuse.

    Raises:
        SqlGuardError: such a value, or an order of DISTINCT rows by what they do not have.
    """
    outputs = [output.value for output in select.outputs]
    ordered = [term.value for term in select.order]
    if select.aggregated:
        groups = set(select.groups)
        having = [] if select.having is None else [select.having]
        for value in (*outputs, *ordered, *having):
            column = _find_ungrouped(value, groups)
            if column is not None:
                name = bounds.abridge(column)
                raise SqlGuardError(
                    f"{name} has many values in a group",
                    remedy=f"add it to GROUP BY, or take one of them: max({name})",
                )
    if select.distinct:
        selected = set(outputs)
        for value in ordered:
            if value not in selected:
                other = bounds.abridge(value)
                raise SqlGuardError(
                    f"SELECT DISTINCT is ordered by what it selects, not by {other}",
                    remedy="select it too",
                )


def _find_ungrouped(value: Expression, groups: set[Expression]) -> Expression | None:
    """A column of the value that is neither in a group nor in an aggregate function."""
    waiting = [value]
    while waiting:
        part = waiting.pop()
        if part in groups or isinstance(part, Aggregate):
            continue
        if isinstance(part, Column | Json):
            return part
        waiting += children(part)
    return None
