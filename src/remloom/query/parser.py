"""From the text of a statement to its value, and from a wrong text to an error with the remedy.

The grammar is grammar.lark, its meaning transformer.py. What a grammar cannot say is done here: a
SELECT is cut where its SQL ends (sql_text.py), and the parser's complaints are put into plain words
(syntax_errors.py).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from ..errors import InvalidInputError, QuerySyntaxError
from ..predicates import Predicate
from .grammar import load_grammar
from .sql_text import cut_sql
from .statements import Plan, Sql, Statement
from .syntax_errors import fault_error, unexpected_error
from .transformer import Clause, Fault, Parsed, PendingSelect, Tail

MAX_STATEMENT_LENGTH = 100_000  # characters

_SELECT = re.compile(r"\s*(?=SELECT[\s*('\"`])", re.IGNORECASE)


def parse(text: str) -> Statement:
    """The value of a statement. Parses are cached by text.

    Raises:
        QuerySyntaxError: the text is not a statement of the dialect, or a number out of its range.
        UnknownNameError: a direction or order field that does not exist.
        SqlGuardError: SQL that is not a SELECT.

    >>> parse("traverse manages with lookup sally depth 2").query.max_depth
    2
    """
    _check_text(text)
    return _parse(text)


def parse_where(text: str) -> Predicate:
    """The predicate of a condition, as it stands after WHERE.

    Raises:
        QuerySyntaxError: the text is not a condition; says where and what would be.

    >>> parse_where("category = 'note' AND metadata.page >= 3")
    And(predicates=(Eq(field='category', value='note'), Gte(field='metadata.page', value=3)))
    """
    _check_text(text)
    predicate: Predicate = _run_grammar(text, text, 0, "where").predicate
    return predicate


def _check_text(text: str) -> None:
    if not isinstance(text, str):
        raise InvalidInputError(f"a statement must be text, not {type(text).__name__}")
    surrogate = None if text.isascii() else re.search("[\ud800-\udfff]", text)
    if surrogate is not None:
        raise QuerySyntaxError(
            "a statement may not hold half a character (a lone surrogate)",
            statement=text,
            position=surrogate.start(),
        )
    if len(text) > MAX_STATEMENT_LENGTH:
        raise InvalidInputError(
            f"a statement may have {MAX_STATEMENT_LENGTH:,} characters, this one has {len(text):,}",
            remedy="store long text as a resource; ask for it in a few words",
        )


@lru_cache(maxsize=1024)
def _parse(text: str) -> Statement:
    return _parse_plain_select(text) or _parse_by_grammar(text)


def _parse_plain_select(text: str) -> Statement | None:
    """A SELECT with nothing around it: loading the grammar for it would take a command 0.1 s."""
    prefix = _SELECT.match(text)
    if prefix is None:
        return None
    sql, end = cut_sql(text, prefix.end(), starts_walk=False)
    is_whole = text[end:].strip() in ("", ";")
    return Statement(Sql(sql)) if is_whole else None


def _parse_by_grammar(text: str) -> Statement:
    parsed: Parsed = _run_grammar(text, text, 0, "statement")
    query, as_of = parsed.query, parsed.as_of
    # SELECT took all the rest of the text: cut it, and read what follows
    if isinstance(query, PendingSelect):
        starts_walk = query.build_walk is not None
        sql, end = cut_sql(text, query.position, starts_walk=starts_walk)
        rule = "after_start" if starts_walk else "after_select"
        tail: Tail = _run_grammar(text, text[end:], end, rule)
        as_of = tail.as_of
        query = _complete_select(query, Sql(sql), tail.clauses, text, end)
    # what takes no AS OF is known by the value alone
    try:
        return Statement(query, explain=parsed.explain, as_of=as_of.value if as_of else None)
    except InvalidInputError as error:
        raise QuerySyntaxError(
            error.message,
            statement=text,
            position=as_of.position if as_of else 0,
            expected=["no AS OF"],
            example=error.remedy,
        ) from None


def _complete_select(
    select: PendingSelect,
    sql: Sql,
    clauses: Sequence[Clause],
    statement: str,
    offset: int,
) -> Plan:
    """The query, now that its SQL and the clauses behind it are known."""
    if select.build_walk is None:
        return sql
    try:
        return select.build_walk(sql, clauses)
    except Fault as fault:
        raise fault_error(statement, fault, offset) from None


def _run_grammar(
    statement: str,
    text: str,
    offset: int,
    rule: str,
) -> Any:
    """Parse `text`, which stands at `offset` of the statement, by one rule of the grammar."""
    from lark.exceptions import UnexpectedInput

    try:
        return load_grammar().parse(text, start=rule)
    except Fault as fault:
        raise fault_error(statement, fault, offset) from None
    except UnexpectedInput as error:
        raise unexpected_error(statement, text, offset, error, rule) from None
