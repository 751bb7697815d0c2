"""How much a SELECT may be: its tokens before anything is parsed, a row of it once it is read.

Only words that a SELECT of ours can have reach the parser, which is slow in some others (a row of
JOINs takes it exponential time).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import pairwise, zip_longest
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn

from ..errors import QuerySyntaxError, SqlGuardError
from .columns import LONG
from .render import render
from .values import Call, Column, Expression, Json, Select, Value, children, walk

if TYPE_CHECKING:
    from sqlglot import Dialect


MAX_LENGTH = 100_000  # characters
MAX_TOKENS = 10_000
MAX_NESTING = 25  # brackets, CASEs and prefixes inside each other
MAX_COPIES = 8  # times that a long text may be repeated in a row
MAX_WRITTEN = 100_000  # characters of a row that come out of the statement, not of the record
MAX_SCANS = 200  # times that long texts may be looked through for a row
_SHORT = 0.05  # the length of a short column, in lengths of a long one
_NUMBER = 30.0  # characters of a number, time or boolean as a text
_WRITTEN = ""  # stands for the statement among the columns
_DESCRIBED = 60  # characters of a value in an error
EXAMPLE = (
    "SELECT name, category FROM resources WHERE category = 'note' ORDER BY created_at DESC LIMIT 10"
)

# Something stands between each of these and the next.
_CLAUSES = frozenset(
    {"SELECT", "FROM", "WHERE", "GROUP_BY", "HAVING", "ORDER_BY", "LIMIT", "OFFSET"}
)
_CASTS = frozenset({"CAST", "TRY_CAST", "SAFE_CAST"})
_LITERALS = frozenset({"VAR", "STRING", "NUMBER", "IDENTIFIER"})
_OPENING = frozenset({"L_PAREN", "L_BRACKET", "L_BRACE", "CASE"})
_CLOSING = frozenset({"R_PAREN", "R_BRACKET", "R_BRACE", "END"})
_PREFIXES = frozenset({"NOT", "DASH", "PLUS", "RLIKE", "IRLIKE", "INTERVAL", "DISTINCT"})
# The types of tokens that may reach the parser.
_ALLOWED = frozenset({
    "SELECT", "DISTINCT", "STAR", "FROM", "WHERE", "GROUP_BY", "HAVING", "ORDER_BY", "LIMIT",
    "OFFSET", "ALIAS", "ASC", "DESC", "AND", "OR", "NOT", "FIRST", "EQ", "NEQ", "LT", "LTE", "GT",
    "GTE", "PLUS", "DASH", "SLASH", "MOD", "DPIPE", "ARROW", "DARROW", "HASH_ARROW", "DHASH_ARROW",
    "AT_GT", "LT_AT", "DAMP", "PLACEHOLDER", "COLON", "L_PAREN", "R_PAREN", "L_BRACKET",
    "R_BRACKET", "COMMA", "DOT", "STRING", "NUMBER", "IDENTIFIER", "VAR", "NULL", "TRUE", "FALSE",
    "IN", "BETWEEN", "LIKE", "ILIKE", "RLIKE", "IRLIKE", "IS", "ISNULL", "NOTNULL", "CASE", "WHEN",
    "THEN", "ELSE", "END", "DCOLON", "INTERVAL", "ESCAPE", "FILTER", "COLLATE", "ARRAY", "ANY",
    "CURRENT_TIMESTAMP", "CURRENT_DATE", "LOCALTIMESTAMP", "FOR", "LEFT", "RIGHT", "REPLACE",
    "OVERLAPS", "USING", "INT", "BIGINT", "SMALLINT", "TINYINT", "TEXT", "VARCHAR", "CHAR",
    "NCHAR", "NVARCHAR", "NAME", "FLOAT", "DOUBLE", "DECIMAL", "BOOLEAN", "DATE", "TIMESTAMP",
    "TIMESTAMPTZ", "TIMESTAMPLTZ", "DATETIME", "TIME", "JSON", "JSONB", "SCHEMA", "TYPE", "FORMAT",
    "COMMENT", "INDEX", "ROW", "ROWS", "VIEW", "CACHE",
})  # fmt: skip


@cache
def read_dialect() -> Dialect:
    """The SQL that is read: PostgreSQL's, with names in backticks too."""
    from sqlglot.dialects.postgres import Postgres

    class ReadDialect(Postgres):
        NULL_ORDERING = "nulls_are_small"

        class Tokenizer(Postgres.Tokenizer):
            IDENTIFIERS = ['"', "`"]  # noqa: RUF012

        class Parser(Postgres.Parser):  # type: ignore[valid-type, misc]
            # an arrow goes into JSON, in the arguments of a function too
            LAMBDAS: ClassVar[dict[Any, Any]] = {}

        def to_json_path(self, path: Any) -> Any:
            return path  # `sql.operators` reads it

    return ReadDialect()


def tokenize(sql: str) -> list[Any]:
    """The tokens of a text.

    Raises:
        SqlGuardError: it is longer than `MAX_LENGTH`.
        QuerySyntaxError: a string or a name in it has no end.
    """
    from sqlglot.errors import TokenError

    if len(sql) > MAX_LENGTH:
        refuse(f"SQL may have {MAX_LENGTH:,} characters, this has {len(sql):,}", sql[:200], 0)
    try:
        return list(read_dialect().tokenize(sql))
    except (TokenError, ValueError, RecursionError):
        raise syntax_error("a string or a quoted name is not closed", sql, len(sql)) from None


def check_tokens(sql: str) -> list[Any]:
    """The tokens of one SELECT that is small enough to be parsed.

    Raises:
        QuerySyntaxError, SqlGuardError: it is not; says where.
    """
    _refuse_unstorable(sql)
    tokens = tokenize(sql)
    while tokens and tokens[-1].token_type.name == "SEMICOLON":
        tokens.pop()
    _check_first(tokens, sql)
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
        if kind in _CLAUSES:
            _refuse_empty_clause(token, following, sql)
        selects += kind == "SELECT"
        _check_allowed(token, sql, selects=selects)
        brackets += (kind in _OPENING) - (kind in _CLOSING)
        prefixes = prefixes + 1 if kind in _PREFIXES else 0
        if max(brackets, prefixes) > MAX_NESTING:
            refuse(f"SQL may be nested {MAX_NESTING} deep", sql, token.start)
    return tokens


def _refuse_unstorable(sql: str) -> None:
    """Refuse characters that no store can keep, and so no text can have."""
    if "\0" in sql:
        refuse("SQL may not hold a NUL character", sql, sql.index("\0"))
    if any("\ud800" <= character <= "\udfff" for character in sql):
        refuse("SQL may not hold half a character (a lone surrogate)", ascii(sql)[1:-1], 0)


def _check_first(tokens: Sequence[Any], sql: str) -> None:
    first = tokens[0] if tokens else None
    if first is None or first.token_type.name in _LITERALS:
        raise syntax_error("there is no SELECT", sql, first.start if first else 0)
    if first.token_type.name != "SELECT":
        refuse(f"{first.text.upper()[:40]} is not allowed", sql, first.start)


def _refuse_empty_clause(token: Any, following: Any, sql: str) -> None:
    if following is None or following.token_type.name in _CLAUSES:
        position = len(sql.rstrip("; \n")) if following is None else following.start
        raise syntax_error(f"nothing stands after {token.text.upper()}", sql, position)


def _check_allowed(token: Any, sql: str, *, selects: int) -> None:
    kind = token.token_type.name
    if kind == "SEMICOLON":
        refuse("one statement at a time", sql, token.start)
    if selects > 1:
        refuse("a SELECT inside a SELECT is not allowed", sql, token.start)
    if kind not in _ALLOWED:
        words = " ".join(token.text.upper().split())
        refuse(f"{words[:40]} is not allowed", sql, token.start)


def _refuse_quoted_types(tokens: list[Any], sql: str) -> None:
    """Refuse a type in quotes: the parser would keep what it knows of it, and drop the rest."""
    openers: list[str] = []  # the word before each bracket that is open
    for before, token in pairwise(tokens):
        kind = token.token_type.name
        opener = openers[-1] if openers else ""
        if kind == "IDENTIFIER" and _expects_type(before.token_type.name, opener):
            refuse(
                f"the type {token.text[:40]!r} is not allowed",
                sql,
                token.start,
                "a type stands without quotes",
            )
        if kind == "L_PAREN":
            openers.append(before.text.upper())
        elif kind == "R_PAREN" and openers:
            openers.pop()


def _expects_type(before: str, opener: str) -> bool:
    """Whether a type stands behind this kind of token, in brackets that this word opens."""
    return (
        before == "DCOLON"
        or (before == "ALIAS" and opener in _CASTS)
        or (before == "COMMA" and opener == "CONVERT")
    )


def syntax_error(message: str, sql: str, position: int) -> QuerySyntaxError:
    """Make the error for a text that is not SQL, at this position."""
    return QuerySyntaxError(
        message,
        statement=sql,
        position=position,
        expected=["one SELECT over one table"],
        example=EXAMPLE,
    )


def refuse(
    message: str,
    sql: str,
    position: int,
    remedy: str = "",
) -> NoReturn:
    """Refuse SQL that is right, but that is not allowed here."""
    raise SqlGuardError(
        message,
        remedy=remedy or f"SQL is one read-only SELECT over one table: {EXAMPLE}",
        statement=sql,
        position=position,
    ) from None


# -- a row -----------------------------------------------------------------------------------------


def check_lengths(select: Select) -> None:
    """Refuse rows much longer than what is stored of them, or that take thousands of scans.

    Raises:
        SqlGuardError: such rows.
    """
    _check_row_length(select)
    values = [output.value for output in select.outputs]
    values += [term.value for term in select.order]
    values += select.groups
    values += [value for value in (select.where, select.having) if value is not None]
    parts = [part for value in values for part in walk(value)]
    read = [part for part in parts if isinstance(part, Column | Json)]
    # each use of a long text is a scan of it
    scans = sum(_column_name(part) in LONG for part in read)
    if scans > MAX_SCANS:
        raise SqlGuardError(
            f"this looks through long texts {scans:,} times for a row, and may {MAX_SCANS} times",
            remedy="ask for less at a time, or find texts by their words with search_text",
        )
    for part in parts:
        copies = _count_copies(part)
        written = copies.pop(_WRITTEN, 0)
        if max(copies.values(), default=0) > MAX_COPIES:
            raise SqlGuardError(
                f"{abridge(part)} may become many times as long as what is stored",
                remedy=f"repeat a long text at most {MAX_COPIES} times",
            )
        _check_written(written, part)


def _check_row_length(select: Select) -> None:
    copies: dict[str, float] = {}
    for value in [output.value for output in select.outputs]:
        # the column itself is one copy of what is stored
        if isinstance(value, Column) and copies.get(value.name, 0) < 1:
            copies[value.name] = 1
        else:
            _add_copies(copies, _count_copies(value))
    written = copies.pop(_WRITTEN, 0)
    _check_written(written, None)
    most = max(copies.values(), default=0)
    if most > MAX_COPIES:
        raise SqlGuardError(
            f"a row of this would be {most:,.0f} times as long as what is stored",
            remedy=f"repeat a long text at most {MAX_COPIES} times,"
            " or take a part of it: left(content, 200)",
        )


def _check_written(length: float, part: Expression | None) -> None:
    """Check what a part of a row has of the statement's own, or the row."""
    if length > MAX_WRITTEN:
        what = "a row of this" if part is None else abridge(part)
        raise SqlGuardError(
            f"{what} may have {length:,.0f} characters of the statement's own, and may have"
            f" {MAX_WRITTEN:,}",
            remedy="put in shorter texts, or put them in fewer times",
        )


def _count_copies(value: Expression) -> dict[str, float]:
    """How many times the length of each column a value may have, and how many characters of the
    statement's own."""
    if isinstance(value, Value):
        return {_WRITTEN: float(_literal_length(value))}
    if isinstance(value, Column | Json):
        name = _column_name(value)
        return {name: 1.0 if name in LONG or isinstance(value, Json) else _SHORT}
    if value.type not in ("text", "json", "any"):
        return {_WRITTEN: _NUMBER}
    if isinstance(value, Call) and value.name == "replace":
        text, *literals = value.arguments
        old, new = map(_literal_length, literals)
        # every character of the text may be the old one
        factor = max(1.0, new / max(1, old))
        return {name: times * factor for name, times in _count_copies(text).items()}
    copies: dict[str, float] = {}
    for part in children(value):
        _add_copies(copies, _count_copies(part))
    if isinstance(value, Call) and value.name == "concat_ws":
        separator, *texts = value.arguments
        _add_copies(copies, {_WRITTEN: float(_literal_length(separator) * len(texts))})
    return copies


def _literal_length(argument: Expression) -> int:
    text = getattr(argument, "value", "") or ""
    return len(str(text))


def _add_copies(copies: dict[str, float], more: dict[str, float]) -> None:
    for name, times in more.items():
        copies[name] = copies.get(name, 0) + times


def _column_name(part: Column | Json) -> str:
    return part.name if isinstance(part, Column) else part.column


def abridge(value: Expression) -> str:
    """The beginning of a value's text, for an error of the statement as a whole."""
    return render(value)[:_DESCRIBED]
