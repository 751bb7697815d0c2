"""What SQL may do to a memory: one read-only SELECT over one schema, and nothing else.

The text is parsed, every node of its tree must be on the list of what is allowed, and what runs is written anew from
the tree, so nothing that was not understood can pass. Tables and columns are those the caller names; a store's rows
of other tenants, its own tables and its files have no name here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, NoReturn

from msgspec import Struct

from ..errors import QuerySyntaxError, SqlGuardError, UnknownNameError
from .sql_times import spell_times

if TYPE_CHECKING:
    from sqlglot import exp

__all__ = ["Guarded", "guard"]

MAX_LENGTH = 100_000  # characters
_NAME = 63  # characters that a column's name may have in every store
MAX_NESTING = 60  # brackets, CASEs and NOTs inside each other
EXAMPLE = "SELECT name, category FROM resources WHERE category = 'note' ORDER BY created_at DESC LIMIT 10"

# Something stands between each of these and the next.
_CLAUSES = frozenset({"SELECT", "FROM", "WHERE", "GROUP_BY", "HAVING", "ORDER_BY", "LIMIT", "OFFSET"})
# Functions sqlglot has no class for, by name.
_NAMED_FUNCTIONS = frozenset({
    "date", "datetime", "time", "julianday", "strftime", "unixepoch", "json_extract", "json_array_length", "json_type",
    "json_valid", "instr", "likely", "unlikely", "total", "jsonb_array_length", "jsonb_extract_path_text", "typeof",
})  # fmt: skip


class Guarded(Struct, frozen=True):
    """A SELECT that may run."""

    sql: str  # written anew in the store's dialect, without comments
    schema: str  # the one table it reads


def guard(sql: str, schemas: Mapping[str, Sequence[str]], dialect: str = "sqlite") -> Guarded:
    """Check a SQL text and write it anew.

    Args:
        schemas: the columns of each table that exists.
        dialect: that of the store, as sqlglot names it.

    Raises:
        QuerySyntaxError: not SQL.
        SqlGuardError: more than one SELECT over one table of plain expressions; says what is not allowed.
        UnknownNameError: a table or column that does not exist.
        InvalidInputError: a time column compared with a text that is no time.

    >>> guard("select name from Resources -- all", {"resources": ["id", "name"]}).sql
    'SELECT name FROM resources'
    """
    select = _parsed(sql, dialect)
    table = _only_table(select, sql)
    schema = next((name for name in schemas if name.lower() == table.name.lower()), None)
    if schema is None:
        raise UnknownNameError("table", table.name, list(schemas))
    _check_nodes(select, table, sql)
    _check_columns(select, table, schemas[schema])
    _name_columns(select)
    spell_times(select)
    table.this.replace(_identifier(schema))
    try:
        return Guarded(select.sql(dialect=dialect, comments=False), schema)
    except RecursionError:
        _refuse("this expression is too deeply nested", sql)


def _parsed(sql: str, dialect: str) -> exp.Select:
    from sqlglot import exp, parse_one
    from sqlglot.errors import ParseError

    if len(sql) > MAX_LENGTH:
        _refuse(f"SQL may have {MAX_LENGTH:,} characters, this has {len(sql):,}", sql[:200])
    if "\0" in sql:
        _refuse("SQL may not hold a NUL character", sql)
    _check_tokens(sql, dialect)
    try:
        select = parse_one(sql, read=dialect)
    except RecursionError:
        _refuse("this expression is too deeply nested", sql)
    except ParseError as error:
        first = error.errors[0]
        lines = sql.splitlines(keepends=True)
        ahead = sum(map(len, lines[: first["line"] - 1])) + first["col"] - len(first["highlight"])
        raise _syntax_error("this is not SQL as the store reads it", sql, min(max(ahead, 0), len(sql))) from None
    if not isinstance(select, exp.Select):
        _refuse(f"{_title(select)} is not allowed", sql)
    return select


def _check_tokens(sql: str, dialect: str) -> None:
    """One statement, a SELECT by its first word, and no deeper than the parser can recurse."""
    from sqlglot import tokenize
    from sqlglot.errors import TokenError

    try:
        tokens = tokenize(sql, read=dialect)
    except TokenError:
        raise _syntax_error("a string or a quoted name is not closed", sql, len(sql)) from None
    while tokens and tokens[-1].token_type.name == "SEMICOLON":
        tokens.pop()
    first = tokens[0] if tokens else None
    if first is None or first.token_type.name in ("VAR", "STRING", "NUMBER", "IDENTIFIER"):
        raise _syntax_error("there is no SELECT", sql, first.start if first else 0)
    if first.token_type.name != "SELECT":
        _refuse(f"{first.text.upper()} is not allowed", sql)
    brackets = prefixes = 0
    for token, following in zip_longest(tokens, tokens[1:]):
        kind = token.token_type.name
        if kind in _CLAUSES and (following is None or following.token_type.name in _CLAUSES):
            position = len(sql.rstrip("; \n")) if following is None else following.start
            raise _syntax_error(f"nothing stands after {token.text.upper()}", sql, position)
        if kind == "SEMICOLON":
            _refuse("one statement at a time", sql)
        if kind in ("L_PAREN", "CASE"):
            brackets += 1
        elif kind in ("R_PAREN", "END"):
            brackets -= 1
        prefixes = prefixes + 1 if kind in ("NOT", "DASH", "PLUS", "TILDA") else 0
        if max(brackets, prefixes) > MAX_NESTING:
            _refuse(f"SQL may be nested {MAX_NESTING} deep", sql)


def _only_table(select: exp.Select, sql: str) -> exp.Table:
    from sqlglot import exp

    source = select.find(exp.From)
    table = source.this if source is not None and source.parent is select else None
    if not isinstance(table, exp.Table) or not isinstance(table.this, exp.Identifier):
        _refuse("a SELECT reads FROM one table by its name", sql)
    extras = [name for name, value in table.args.items() if value and name not in ("this", "alias")]
    if extras:
        _refuse("a table is named alone, without database, join or hint", sql)
    alias = table.args.get("alias")
    if alias is not None and alias.args.get("columns"):
        _refuse("a table's alias may not rename its columns", sql)
    return table


@cache
def _allowed() -> frozenset[type[exp.Expression]]:
    from sqlglot import exp

    names = """
        Select From Table TableAlias Identifier Column Star Alias Literal Null Boolean Paren Tuple Distinct
        Where Group Having Order Ordered Limit Offset
        And Or Not EQ NEQ NullSafeEQ NullSafeNEQ GT GTE LT LTE Is In Between Like ILike Glob Escape Exists
        Add Sub Mul Div IntDiv Mod Neg DPipe Collate Case If Coalesce Nullif Cast TryCast DataType DataTypeParam Var
        Count Sum Avg Min Max GroupConcat Filter Least Greatest
        Lower Upper Length Trim Substring Replace StrPosition Concat ConcatWs SafeConcat Left Right
        Abs Round Floor Ceil Sign
        Date Datetime Time TimestampTrunc DateTrunc Extract CurrentDate CurrentTime CurrentTimestamp Timestamp
        TimeToStr StrToTime TsOrDsToDate TsOrDsToTimestamp UnixToTime Interval Year Month Day Hour Minute
        JSONExtract JSONExtractScalar JSONPath JSONPathRoot JSONPathKey JSONPathSubscript JSONArrayLength JSONType
        JSONTypeof JSONBExtract JSONBExtractScalar Typeof
    """
    kinds = (getattr(exp, name, None) for name in names.split())  # some exist only in some versions of sqlglot
    return frozenset(kind for kind in kinds if kind is not None) - {exp.Exists}


def _check_nodes(select: exp.Select, table: exp.Table, sql: str) -> None:
    from sqlglot import exp

    allowed = _allowed()
    for node in select.walk():
        if isinstance(node, exp.Select | exp.Subquery) and node is not select:
            _refuse("a SELECT inside a SELECT is not allowed", sql)
        if isinstance(node, exp.Table) and node is not table:
            _refuse("a SELECT reads FROM one table: follow edges with TRAVERSE instead of a join", sql)
        if isinstance(node, exp.In) and (node.args.get("field") or node.args.get("unnest")):
            _refuse("IN takes a list in brackets", sql)
        if isinstance(node, exp.Anonymous):
            if node.name.lower() not in _NAMED_FUNCTIONS:
                _refuse(f"the function {node.name} is not allowed", sql)
        elif type(node) not in allowed:
            _refuse(f"{_title(node)} is not allowed", sql)
    known = {"expressions", "from", "from_", "where", "group", "having", "order", "limit", "offset", "distinct"}
    extras = sorted(name for name, value in select.args.items() if value and name not in known)
    if extras:
        _refuse(f"{extras[0].strip('_').upper()} is not allowed", sql)


def _check_columns(select: exp.Select, table: exp.Table, columns: Sequence[str]) -> None:
    from sqlglot import exp

    known = {name.lower() for name in columns}
    aliases = {expression.alias.lower() for expression in select.expressions if expression.alias}
    sources = {table.alias_or_name.lower()}
    for column in select.find_all(exp.Column):
        if column.args.get("db") or (column.table and column.table.lower() not in sources):
            raise UnknownNameError("table", column.table, sorted(sources))
        if isinstance(column.this, exp.Star):
            continue
        name = column.name.lower()
        if name in known or (name in aliases and not column.table and _may_use_alias(column)):
            continue
        remedy = f"text stands in single quotes: '{column.name}'" if column.this.args.get("quoted") else ""
        raise UnknownNameError("column", column.name, list(columns), remedy=remedy)


def _may_use_alias(column: exp.Column) -> bool:
    from sqlglot import exp

    return column.find_ancestor(exp.Order, exp.Group, exp.Having) is not None


def _name_columns(select: exp.Select) -> None:
    """Call a computed column what it says: each store would have a name of its own for it."""
    from sqlglot import exp

    for node in select.expressions:
        if not isinstance(node, exp.Column | exp.Alias | exp.Star):
            node.replace(exp.alias_(node.copy(), node.sql()[:_NAME], quoted=True))


def _identifier(name: str) -> exp.Identifier:
    from sqlglot import exp

    return exp.to_identifier(name)


def _title(node: Any) -> str:
    """What a node of the tree is called in SQL."""
    from sqlglot import exp

    return f"the function {node.sql_name()}" if isinstance(node, exp.Func) else str(node.key).upper()


def _syntax_error(message: str, sql: str, position: int) -> QuerySyntaxError:
    return QuerySyntaxError(
        message, statement=sql, position=position, expected=["one SELECT over one table"], example=EXAMPLE
    )


def _refuse(message: str, sql: str) -> NoReturn:
    remedy = f"SQL is one read-only SELECT over one table: {EXAMPLE}"
    raise SqlGuardError(message, remedy=remedy, statement=sql) from None
