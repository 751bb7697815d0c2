"""From the text of a SELECT to its value, or to an error that says where it is wrong and what would
be right."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..errors import RemloomError, SqlGuardError, UnknownNameError
from . import bounds
from .columns import LONG, SCHEMAS, columns
from .expressions import Expressions
from .show import name_of, shown
from .values import (
    Aggregate,
    Call,
    Column,
    Expression,
    Json,
    Ordered,
    Output,
    Select,
    Value,
    children,
    walk,
)

if TYPE_CHECKING:
    from sqlglot import exp

__all__ = ["compile_select"]

MAX_OUTPUTS = 200  # columns of an answer
MAX_WINDOW = 1_000_000  # of LIMIT and OFFSET
MAX_COPIES = 8  # times that a long text may be repeated in a row
MAX_LOOKS = 200  # times that long texts may be looked through for a row
_CLAUSES = {
    "expressions",
    "from",
    "from_",
    "where",
    "group",
    "having",
    "order",
    "limit",
    "offset",
    "distinct",
}


def compile_select(sql: str) -> Select:
    """The SELECT that a text says.

    Raises:
        QuerySyntaxError: it is no SQL.
        SqlGuardError: it is more than one SELECT over one table, has what no store can be asked, or
            is too large.
        UnknownNameError: a table or column that does not exist.
        InvalidInputError: types that do not go together, such as a time column and a text that is
            no time.

    >>> compile_select("SELECT name FROM entities LIMIT 3").limit
    3
    """
    tokens = bounds.check(sql)
    tree = _parsed(sql)
    try:
        return _Compiler(sql, tokens, tree).select()
    except RemloomError:
        raise
    except Exception:
        # a tree of a shape that the parser is not known to make
        raise bounds.syntax_error("this is not SQL as it is read here", sql, 0) from None


def _parsed(sql: str) -> exp.Select:
    from sqlglot import exp
    from sqlglot.errors import ParseError

    try:
        found = bounds.reading().parse(sql)
    except RecursionError:
        bounds.refuse("this expression is too deeply nested", sql, 0)
    except ParseError as error:
        first = error.errors[0] if error.errors else {}
        lines = sql.splitlines(keepends=True)
        ahead = sum(map(len, lines[: (first.get("line") or 1) - 1]))
        ahead += (first.get("col") or 0) - len(first.get("highlight") or "")
        raise bounds.syntax_error(
            "this is not SQL as it is read here", sql, min(max(ahead, 0), len(sql))
        ) from None
    except Exception:
        # of a parser that was written for friendly text
        raise bounds.syntax_error("this is not SQL as it is read here", sql, 0) from None
    select = found[0] if len(found) == 1 else None
    if not isinstance(select, exp.Select):
        bounds.refuse(f"{select.key.upper() if select else 'this'} is not allowed", sql, 0)
    return select


class _Compiler:
    """Reads one statement."""

    def __init__(self, sql: str, tokens: list[Any], tree: exp.Select) -> None:
        self.sql = sql
        self.tree = tree
        self.schema, alias = self._table(tokens)
        self.columns = columns(self.schema)
        self.read = Expressions(sql, tokens, self.columns, alias)

    def select(self) -> Select:
        tree = self.tree
        extras = sorted(name for name, value in tree.args.items() if value and name not in _CLAUSES)
        if extras:
            self.read.refuse(f"{extras[0].strip('_').upper()} is not allowed", tree)
        outputs = self._outputs()
        distinct = tree.args.get("distinct")
        if distinct is not None and distinct.args.get("on"):
            self.read.refuse(
                "DISTINCT ON is not allowed",
                distinct,
                "SELECT DISTINCT, or GROUP BY with min and max",
            )
        where = tree.args.get("where")
        condition = None if where is None else self.read.condition(where.this)
        if condition is not None and _aggregates(condition):
            self.read.refuse("WHERE looks at one row: a figure of many stands in HAVING", where)
        self.read.outputs = {output.name.lower(): output.value for output in outputs}
        groups = self._groups(outputs)
        having = tree.args.get("having")
        select = Select(
            schema=self.schema,
            outputs=outputs,
            distinct=distinct is not None,
            where=condition,
            groups=groups,
            having=None if having is None else self.read.condition(having.this, aliases=True),
            order=self._order(outputs),
            limit=self._window("limit"),
            offset=self._window("offset") or 0,
        )
        self._check_groups(select)
        self._check_lengths(select)
        return select

    def _table(self, tokens: list[Any]) -> tuple[str, str]:
        from sqlglot import exp

        source = self.tree.args.get("from_") or self.tree.args.get("from")
        table = source.this if source is not None else None
        at = next((token.start for token in tokens if token.token_type.name == "FROM"), 0)
        if self.tree.args.get("joins") or self.tree.args.get("laterals"):
            bounds.refuse(
                "JOIN is not allowed: a SELECT reads FROM one table",
                self.sql,
                at,
                "follow edges with TRAVERSE",
            )
        if not isinstance(table, exp.Table) or not isinstance(table.this, exp.Identifier):
            bounds.refuse("a SELECT reads FROM one table by its name", self.sql, at)
        if [name for name, value in table.args.items() if value and name not in ("this", "alias")]:
            bounds.refuse("a table is named alone, without database, join or hint", self.sql, at)
        alias = table.args.get("alias")
        if alias is not None and (
            [name for name, value in alias.args.items() if value and name != "this"]
            or not isinstance(alias.this, exp.Identifier)
        ):
            bounds.refuse("a table's alias may not rename its columns", self.sql, at)
        name = table.name.lower()
        if name not in SCHEMAS:
            raise UnknownNameError("table", table.name, list(SCHEMAS))
        return name, (alias.this.name if alias is not None else name).lower()

    # -- its clauses -------------------------------------------------------------------------------

    def _outputs(self) -> tuple[Output, ...]:
        from sqlglot import exp

        found: list[Output] = []
        for node in self.tree.expressions:
            if isinstance(node, exp.Star) or (
                isinstance(node, exp.Column) and isinstance(node.this, exp.Star)
            ):
                star = node if isinstance(node, exp.Star) else node.this
                if any(star.args.values()):
                    self.read.refuse("EXCEPT and REPLACE are not allowed", node, "name the columns")
                if isinstance(node, exp.Column):
                    self.read.check_table(node)
                found += [Output(column, name) for name, column in self.columns.items()]
            elif isinstance(node, exp.Alias):
                if not isinstance(node.args.get("alias"), exp.Identifier) or len(node.alias) > 500:
                    self.read.refuse("a column is given one name, of at most 500 characters", node)
                found.append(Output(self.read(node.this), node.alias))
            else:
                value = self.read(node)
                name = node.name.lower() if isinstance(node, exp.Column) else name_of(value)
                found.append(Output(value, name))
        if not found:
            raise bounds.syntax_error("nothing is selected", self.sql, len("SELECT "))
        if len(found) > MAX_OUTPUTS:
            self.read.refuse(
                f"a SELECT may have {MAX_OUTPUTS} columns, this has {len(found):,}", self.tree
            )
        return tuple(found)

    def _groups(self, outputs: tuple[Output, ...]) -> tuple[Expression, ...]:
        group = self.tree.args.get("group")
        if group is None:
            return ()
        extras = [name for name, value in group.args.items() if value and name != "expressions"]
        if extras:
            self.read.refuse(f"GROUP BY {extras[0].upper()} is not allowed", group)
        found = [
            self._place(node, outputs) or self.read(node, aliases=True)
            for node in group.expressions
        ]
        for value in found:
            if _aggregates(value):
                self.read.refuse("GROUP BY takes what each row has, not a figure of many", group)
        return tuple(dict.fromkeys(value for value in found if not isinstance(value, Value)))

    def _order(self, outputs: tuple[Output, ...]) -> tuple[Ordered, ...]:
        order = self.tree.args.get("order")
        if order is None:
            return ()
        found = []
        for node in order.expressions:
            extras = [
                name
                for name, value in node.args.items()
                if value and name not in ("this", "desc", "nulls_first")
            ]
            if extras:
                self.read.refuse(f"ORDER BY … {extras[0].upper()} is not allowed", node)
            descending = bool(node.args.get("desc"))
            value = self._place(node.this, outputs) or self.read(
                node.this, aliases=True, first=True
            )
            # unset values are lowest
            found.append(Ordered(value, descending, bool(node.args.get("nulls_first"))))
        return tuple(term for term in found if not isinstance(term.value, Value))

    def _place(self, node: exp.Expression, outputs: tuple[Output, ...]) -> Expression | None:
        """The column of the answer that a number names in GROUP BY and ORDER BY."""
        from sqlglot import exp

        if not isinstance(node, exp.Literal) or node.is_string:
            return None
        if not node.name.isdigit() or not 1 <= int(node.name[:9]) <= len(outputs):
            self.read.refuse(
                f"there is no column {node.name[:20]}: the SELECT has {len(outputs)}", node
            )
        return outputs[int(node.name) - 1].value

    def _window(self, clause: str) -> int | None:
        from sqlglot import exp

        node = self.tree.args.get(clause)
        if node is None:
            return None
        number = node.expression
        if (
            not isinstance(number, exp.Literal)
            or number.is_string
            or not number.name.isdigit()
            or node.args.get("this")
        ):
            self.read.refuse(f"{clause.upper()} takes a whole number", node, f"{clause.upper()} 10")
        count = int(number.name[:18])
        if len(number.name) > 18:
            self.read.refuse(
                f"{clause.upper()} is too large a number", node, f"{clause.upper()} 10"
            )
        if clause == "offset" and count > MAX_WINDOW:
            self.read.refuse(
                f"OFFSET may be {MAX_WINDOW:,} at most",
                node,
                "go on from the last row by a condition",
            )
        return min(count, MAX_WINDOW)

    # -- what SQL asks of the whole ----------------------------------------------------------------

    def _check_groups(self, select: Select) -> None:
        """What is not one of the groups has a figure made of it: a store would show any row's, or
        refuse."""
        if select.aggregated:
            groups = set(select.groups)
            shown_ = [output.value for output in select.outputs]
            for value in [
                *shown_,
                *(term.value for term in select.order),
                *([select.having] if select.having else []),
            ]:
                loose = _loose(value, groups)
                if loose is not None:
                    raise SqlGuardError(
                        f"{shown(loose)[:60]} has many values in a group",
                        remedy=f"add it to GROUP BY, or take one of them: max({shown(loose)[:60]})",
                        statement=self.sql,
                    )
        if select.distinct:
            chosen = {output.value for output in select.outputs}
            for term in select.order:
                if term.value not in chosen:
                    raise SqlGuardError(
                        f"SELECT DISTINCT is ordered by what it selects, not by {shown(term.value)[:60]}",
                        remedy="select it too",
                        statement=self.sql,
                    )

    def _check_lengths(self, select: Select) -> None:
        """No row may be many times as long as what is stored of it, or be looked through thousands
        of times."""
        copies: dict[str, float] = {}
        for output in select.outputs:
            if not (isinstance(output.value, Column) and copies.get(output.value.name, 0) < 1):
                for name, times in _lengths(output.value).items():
                    copies[name] = copies.get(name, 0) + times
            else:
                copies[output.value.name] = 1
        most = max(copies.values(), default=0)
        if most > MAX_COPIES:
            raise SqlGuardError(
                f"a row of this would be {most:,.0f} times as long as what is stored",
                remedy=f"repeat a long text at most {MAX_COPIES} times, or take a part of it: left(content, 200)",
                statement=self.sql,
            )
        looks = (
            [output.value for output in select.outputs]
            + [term.value for term in select.order]
            + [*select.groups]
        )
        looks += [value for value in (select.where, select.having) if value is not None]
        count = sum(
            isinstance(part, Column | Json) and _name(part) in LONG
            for value in looks
            for part in walk(value)
        )
        if count > MAX_LOOKS:
            raise SqlGuardError(
                f"this looks through long texts {count:,} times for a row, and may {MAX_LOOKS} times",
                remedy="ask for less at a time, or find texts by their words with search_text",
                statement=self.sql,
            )
        for value in looks:
            for part in walk(value):
                if max(_lengths(part).values(), default=0) > MAX_COPIES:
                    raise SqlGuardError(
                        f"{shown(part)[:60]} may become many times as long as what is stored",
                        remedy=f"repeat a long text at most {MAX_COPIES} times",
                        statement=self.sql,
                    )


def _aggregates(value: Expression) -> bool:
    return any(isinstance(part, Aggregate) for part in walk(value))


def _loose(value: Expression, groups: set[Expression]) -> Expression | None:
    """A column that is neither in a group nor in a figure."""
    waiting = [value]
    while waiting:
        part = waiting.pop()
        if part in groups or isinstance(part, Aggregate):
            continue
        if isinstance(part, Column | Json):
            return part
        waiting += children(part)
    return None


def _name(part: Column | Json) -> str:
    return part.name if isinstance(part, Column) else part.column


def _lengths(value: Expression) -> dict[str, float]:
    """How often each column may be contained in a value, in length."""
    if isinstance(value, Column | Json):
        return (
            {_name(value): 1.0}
            if _name(value) in LONG or isinstance(value, Json)
            else {_name(value): 0.05}
        )
    if value.type not in ("text", "json", "any"):
        return {}
    found: dict[str, float] = {}
    for part in children(value):
        for name, times in _lengths(part).items():
            found[name] = found.get(name, 0) + times
    if isinstance(value, Call) and value.name == "replace":
        old, new = (getattr(argument, "value", "") or "" for argument in value.arguments[1:])
        factor = max(1.0, len(str(new)) / max(1, len(str(old))))
        found = {name: times * factor for name, times in found.items()}
    return found
