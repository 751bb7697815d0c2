"""How much a SELECT may be, looked at before anything is parsed, in one pass over its tokens.

Only words that a SELECT of ours can have reach the parser, which is slow in some others (a row of
JOINs takes it exponential time).
"""

from __future__ import annotations

from functools import cache
from itertools import pairwise, zip_longest
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn

from ..errors import QuerySyntaxError, SqlGuardError

if TYPE_CHECKING:
    from sqlglot import Dialect

__all__ = ["EXAMPLE", "check", "reading", "refuse", "syntax_error", "tokens_of"]

MAX_LENGTH = 100_000  # characters
MAX_TOKENS = 10_000
MAX_NESTING = 25  # brackets, CASEs and prefixes inside each other
EXAMPLE = (
    "SELECT name, category FROM resources WHERE category = 'note' ORDER BY created_at DESC LIMIT 10"
)

# Something stands between each of these and the next.
_CASTS = frozenset({"CAST", "TRY_CAST", "SAFE_CAST"})
_CLAUSES = frozenset(
    {"SELECT", "FROM", "WHERE", "GROUP_BY", "HAVING", "ORDER_BY", "LIMIT", "OFFSET"}
)
_ALLOWED = frozenset({
    "SELECT", "DISTINCT", "STAR", "FROM", "WHERE", "GROUP_BY", "HAVING", "ORDER_BY", "LIMIT", "OFFSET", "ALIAS",
    "ASC", "DESC", "AND", "OR", "NOT", "FIRST", "EQ", "NEQ", "LT", "LTE", "GT", "GTE", "PLUS", "DASH", "SLASH",
    "MOD", "DPIPE", "ARROW", "DARROW", "HASH_ARROW", "DHASH_ARROW", "AT_GT", "LT_AT", "DAMP", "PLACEHOLDER",
    "COLON", "L_PAREN", "R_PAREN", "L_BRACKET", "R_BRACKET", "COMMA", "DOT", "STRING", "NUMBER", "IDENTIFIER",
    "VAR", "NULL", "TRUE", "FALSE", "IN", "BETWEEN", "LIKE", "ILIKE", "RLIKE", "IRLIKE", "IS", "ISNULL",
    "NOTNULL", "CASE", "WHEN", "THEN", "ELSE", "END", "DCOLON", "INTERVAL", "ESCAPE", "FILTER", "COLLATE",
    "ARRAY", "ANY", "CURRENT_TIMESTAMP", "CURRENT_DATE", "LOCALTIMESTAMP", "FOR", "LEFT", "RIGHT", "REPLACE",
    "OVERLAPS", "USING", "INT", "BIGINT", "SMALLINT", "TINYINT", "TEXT", "VARCHAR", "CHAR", "NCHAR", "NVARCHAR",
    "NAME", "FLOAT", "DOUBLE", "DECIMAL", "BOOLEAN", "DATE", "TIMESTAMP", "TIMESTAMPTZ", "TIMESTAMPLTZ",
    "DATETIME", "TIME", "JSON", "JSONB", "SCHEMA", "TYPE", "FORMAT", "COMMENT", "INDEX", "ROW", "ROWS", "VIEW",
    "CACHE",
})  # fmt: skip


@cache
def reading() -> Dialect:
    """SQL as it is read: PostgreSQL's, with names in backticks too."""
    from sqlglot.dialects.postgres import Postgres

    class Reading(Postgres):
        NULL_ORDERING = "nulls_are_small"

        class Tokenizer(Postgres.Tokenizer):
            IDENTIFIERS = ['"', "`"]  # noqa: RUF012

        class Parser(Postgres.Parser):  # type: ignore[valid-type, misc]
            # an arrow goes into JSON, in the arguments of a function too
            LAMBDAS: ClassVar[dict[Any, Any]] = {}

        def to_json_path(self, path: Any) -> Any:
            return path  # it is read in `sql.expressions`

    return Reading()


def tokens_of(sql: str) -> list[Any]:
    """The tokens of a text.

    Raises:
        SqlGuardError: it is longer than is read.
        QuerySyntaxError: a string or a name in it has no end.
    """
    from sqlglot.errors import TokenError

    if len(sql) > MAX_LENGTH:
        refuse(f"SQL may have {MAX_LENGTH:,} characters, this has {len(sql):,}", sql[:200], 0)
    try:
        return list(reading().tokenize(sql))
    except (TokenError, ValueError, RecursionError):
        raise syntax_error("a string or a quoted name is not closed", sql, len(sql)) from None


def check(sql: str) -> list[Any]:
    """The tokens of one SELECT that is small enough to be parsed.

    Raises:
        QuerySyntaxError, SqlGuardError: it is not; says where.
    """
    if "\0" in sql:
        refuse("SQL may not hold a NUL character", sql, sql.index("\0"))
    if any("\ud800" <= character <= "\udfff" for character in sql):
        refuse("SQL may not hold half a character (a lone surrogate)", ascii(sql)[1:-1], 0)
    tokens = tokens_of(sql)
    while tokens and tokens[-1].token_type.name == "SEMICOLON":
        tokens.pop()
    first = tokens[0] if tokens else None
    if first is None or first.token_type.name in ("VAR", "STRING", "NUMBER", "IDENTIFIER"):
        raise syntax_error("there is no SELECT", sql, first.start if first else 0)
    if first.token_type.name != "SELECT":
        refuse(f"{first.text.upper()[:40]} is not allowed", sql, first.start)
    if len(tokens) > MAX_TOKENS:
        refuse(
            f"SQL may have {MAX_TOKENS:,} words and signs, this has {len(tokens):,}",
            sql,
            tokens[MAX_TOKENS].start,
        )
    _refuse_quoted_types(tokens, sql)
    brackets = prefixes = selects = 0
    for token, following in zip_longest(tokens, tokens[1:]):
        kind = token.token_type.name
        if kind in _CLAUSES and (following is None or following.token_type.name in _CLAUSES):
            position = len(sql.rstrip("; \n")) if following is None else following.start
            raise syntax_error(f"nothing stands after {token.text.upper()}", sql, position)
        if kind == "SEMICOLON":
            refuse("one statement at a time", sql, token.start)
        selects += kind == "SELECT"
        if selects > 1:
            refuse("a SELECT inside a SELECT is not allowed", sql, token.start)
        if kind not in _ALLOWED:
            refuse(f"{' '.join(token.text.upper().split())[:40]} is not allowed", sql, token.start)
        if kind in ("L_PAREN", "L_BRACKET", "L_BRACE", "CASE"):
            brackets += 1
        elif kind in ("R_PAREN", "R_BRACKET", "R_BRACE", "END"):
            brackets -= 1
        prefixes = (
            prefixes + 1
            if kind in ("NOT", "DASH", "PLUS", "RLIKE", "IRLIKE", "INTERVAL", "DISTINCT")
            else 0
        )
        if max(brackets, prefixes) > MAX_NESTING:
            refuse(f"SQL may be nested {MAX_NESTING} deep", sql, token.start)
    return tokens


def _refuse_quoted_types(tokens: list[Any], sql: str) -> None:
    """A type is a word: of a quoted one the parser would keep what it knows, and drop the rest in
    silence."""
    within: list[str] = []  # the word before each bracket that is open
    for before, token in pairwise(tokens):
        ahead, opener = before.token_type.name, within[-1] if within else ""
        if token.token_type.name == "IDENTIFIER" and (
            ahead == "DCOLON"
            or (ahead == "ALIAS" and opener in _CASTS)
            or (ahead == "COMMA" and opener == "CONVERT")
        ):
            refuse(
                f"the type {token.text[:40]!r} is not allowed",
                sql,
                token.start,
                "a type stands without quotes",
            )
        if token.token_type.name == "L_PAREN":
            within.append(before.text.upper())
        elif token.token_type.name == "R_PAREN" and within:
            within.pop()


def syntax_error(message: str, sql: str, position: int) -> QuerySyntaxError:
    """The error for what is no SQL at a place."""
    return QuerySyntaxError(
        message,
        statement=sql,
        position=position,
        expected=["one SELECT over one table"],
        example=EXAMPLE,
    )


def refuse(message: str, sql: str, position: int, remedy: str = "") -> NoReturn:
    """Refuse what is SQL, but not of ours."""
    raise SqlGuardError(
        message,
        remedy=remedy or f"SQL is one read-only SELECT over one table: {EXAMPLE}",
        statement=sql,
        position=position,
    ) from None
