"""From the text of a query to its tree: one statement, of bounded size. Every call stays a call."""

from __future__ import annotations

import re
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NoReturn

from ...errors import QuerySyntaxError, SqlGuardError

if TYPE_CHECKING:
    from sqlglot import Dialect, exp

MAX_LENGTH = 20_000  # characters
MAX_TOKENS = 4_000
MAX_NESTING = 25  # brackets, CASEs and prefixes inside each other
# of one query; the parser takes exponential time for a row of JOINs
_MAX_WORDS = {"SELECT": 40, "JOIN": 10}
_OPENING = frozenset({"L_PAREN", "L_BRACKET", "L_BRACE", "CASE"})
_CLOSING = frozenset({"R_PAREN", "R_BRACKET", "R_BRACE", "END"})
_PREFIXES = frozenset({"NOT", "DASH", "PLUS", "TILDE", "DISTINCT"})
_FENCE = re.compile(r"^\s*(?P<mark>```|~~~)[^\n]*\n(?P<sql>.*?)\n?[ \t]*(?P=mark)\s*$", re.DOTALL)
_BACKTICKS = re.compile(r"^\s*(`+)(?P<sql>[^`]+)\1\s*$")
EXAMPLE = "SELECT line_num, text FROM {table} WHERE line_num BETWEEN 1 AND 100 ORDER BY line_num"
# the first word of what is not SELECT -> what would be right
_REMEDIES = {
    "DESCRIBE": "Reader.schema() has the columns",
    "SHOW": "Reader.schema() has the tables and columns",
    "PRAGMA": "Reader.schema() has the tables and columns",
    "SUMMARIZE": "Reader.schema() has the columns; count, min and max have figures",
    "EXPLAIN": "the query alone",
}


@cache
def read_dialect() -> Dialect:
    """DuckDB's SQL, in which every call is a plain one."""
    from sqlglot.dialects.duckdb import DuckDB

    casts = {"CAST", "TRY_CAST"}
    parsers: dict[str, Any] = DuckDB.Parser.FUNCTION_PARSERS

    class ReadDialect(DuckDB):
        class Parser(DuckDB.Parser):  # type: ignore[valid-type, misc]
            FUNCTIONS: dict[str, Any] = {}  # noqa: RUF012
            FUNCTION_PARSERS = {name: parsers[name] for name in casts}  # noqa: RUF012
            NO_PAREN_FUNCTIONS: dict[Any, Any] = {}  # noqa: RUF012
            LAMBDAS: dict[Any, Any] = {}  # noqa: RUF012

    return ReadDialect()


def strip_fence(text: str) -> str:
    """Take a query out of the Markdown that it stands in, if it does.

    >>> strip_fence("```sql\\nSELECT 1\\n```"), strip_fence("`SELECT 1`")
    ('SELECT 1', 'SELECT 1')
    """
    fenced = _FENCE.match(text) or _BACKTICKS.match(text)
    return fenced["sql"] if fenced else text


def parse_query(sql: str, table: str) -> exp.Query:
    """The tree of one query; `table` is the name of the table of lines, for examples.

    Raises:
        QuerySyntaxError: the text is not SQL.
        SqlGuardError: it is not SELECT, more than one, or too large.
    """
    from sqlglot import exp
    from sqlglot.errors import ParseError

    _check_tokens(sql, table)
    try:
        trees = [*filter(_is_statement, read_dialect().parse(sql))]
    except ParseError as error:
        _fail("this is not SQL as DuckDB reads it", sql, _error_position(error, sql), table)
    except RecursionError:
        refuse("this is too deeply nested", sql, 0)
    except Exception:
        # the parser was written for friendly text, and fails in many ways on other
        _fail("this is not SQL as DuckDB reads it", sql, 0, table)
    query = trees[0] if len(trees) == 1 else None
    while isinstance(query, exp.Subquery) and [*filter(query.args.get, query.args)] == ["this"]:
        query = query.this
    if not isinstance(query, exp.Query) or isinstance(query, exp.Subquery):
        _fail("this is no SELECT", sql, 0, table)
    return query


def refuse(message: str, sql: str, position: int | None, remedy: str = "") -> NoReturn:
    """Refuse what is SQL, but not allowed here."""
    raise SqlGuardError(message, remedy=remedy, statement=sql, position=position) from None


def _check_tokens(sql: str, table: str) -> None:
    if len(sql) > MAX_LENGTH:
        refuse(
            f"a query may have {MAX_LENGTH:,} characters, this has {len(sql):,}", sql[:200], None
        )
    if "\0" in sql or any("\ud800" <= character <= "\udfff" for character in sql):
        refuse("a query may hold neither NUL nor half a surrogate pair", ascii(sql), None)
    try:
        tokens = list(read_dialect().tokenize(sql))
    except Exception:
        _fail(
            "a string or a quoted name is not closed; a quote in a text is written twice: 'it''s'",
            sql,
            len(sql),
            table,
        )
    while tokens and tokens[-1].token_type.name == "SEMICOLON":
        tokens.pop()
    if not tokens:
        _fail("there is no query", sql, 0, table)
    if len(tokens) > MAX_TOKENS:
        refuse(
            f"a query may have {MAX_TOKENS:,} words and signs, this has {len(tokens):,}",
            sql,
            tokens[MAX_TOKENS].start,
        )
    _check_first(tokens[0], sql, table)
    _check_sizes(tokens, sql)


def _check_first(token: Any, sql: str, table: str) -> None:
    if token.token_type.name in {"SELECT", "WITH", "FROM", "L_PAREN"}:
        return
    word = token.text.upper()[:40]
    if word.isalpha() and token.token_type.name != "VAR":
        example = EXAMPLE.format(table=table)
        remedy = _REMEDIES.get(word, f"read the lines with a SELECT: {example}")
        refuse(f"{word} is not allowed", sql, token.start, remedy)
    _fail("there is no SELECT", sql, token.start, table)


def _is_statement(tree: Any) -> bool:
    """Whether it is more than a semicolon with a comment behind it."""
    from sqlglot import exp

    return tree is not None and not isinstance(tree, exp.Semicolon)


def _check_sizes(tokens: list[Any], sql: str) -> None:
    brackets = prefixes = 0
    words = dict.fromkeys(_MAX_WORDS, 0)
    for token, following in pairwise([*tokens, tokens[-1]]):
        kind = token.token_type.name
        if kind == "SEMICOLON":
            refuse("one statement at a time", sql, following.start, "leave out what follows")
        brackets += (kind in _OPENING) - (kind in _CLOSING)
        prefixes = prefixes + 1 if kind in _PREFIXES else 0
        if max(brackets, prefixes) > MAX_NESTING:
            refuse(f"a query may be nested {MAX_NESTING} deep", sql, token.start)
        if kind in words:
            words[kind] += 1
            if words[kind] > _MAX_WORDS[kind]:
                refuse(f"a query may have {_MAX_WORDS[kind]} {kind}s", sql, token.start)


def _fail(message: str, sql: str, position: int, table: str) -> NoReturn:
    raise QuerySyntaxError(
        message,
        statement=sql,
        position=position,
        expected=["one SELECT"],
        example=EXAMPLE.format(table=table),
    ) from None


def _error_position(error: Any, sql: str) -> int:
    first = error.errors[0] if error.errors else {}
    lines = sql.splitlines(keepends=True)
    # the column is that of the end of what is wrong
    column = (first.get("col") or 0) - len(first.get("highlight") or "")
    position = sum(map(len, lines[: (first.get("line") or 1) - 1])) + column
    return min(max(position, 0), len(sql))
