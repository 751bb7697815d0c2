"""From the text of a statement to its value, and from a wrong text to an error with the remedy.

The grammar is grammar.lark, its meaning transformer.py. What a grammar cannot say is done here: a
SELECT is cut where its SQL ends, and the parser's complaints are put into plain words
(syntax_errors.py).
"""

from __future__ import annotations

import os
import re
import stat
import sys
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import InvalidInputError, QuerySyntaxError
from ..predicates import Predicate
from ..sql.bounds import tokenize
from .statements import Sql, Statement
from .syntax_errors import fault_error, unexpected_error
from .transformer import (
    EXAMPLES,
    Parsed,
    PendingSelect,
    StatementTail,
    SyntaxFault,
    Transformer,
)

if TYPE_CHECKING:
    from lark import Lark

MAX_STATEMENT_LENGTH = 100_000  # characters

_SELECT = re.compile(r"\s*(?=SELECT[\s*('\"`])", re.IGNORECASE)
_WRITABLE_BY_OTHERS = 0o022


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
        build_walk = query.build_walk
        sql, end = cut_sql(text, query.position, starts_walk=build_walk is not None)
        rule = "after_select" if build_walk is None else "after_start"
        tail: StatementTail = _run_grammar(text, text[end:], end, rule)
        as_of = tail.as_of
        try:
            query = Sql(sql) if build_walk is None else build_walk(Sql(sql), tail.clauses)
        except SyntaxFault as fault:
            raise fault_error(text, fault, end) from None
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


def _run_grammar(statement: str, text: str, offset: int, rule: str) -> Any:
    """Parse `text`, which stands at `offset` of the statement, by one rule of the grammar."""
    from lark.exceptions import UnexpectedInput

    try:
        return load_grammar().parse(text, start=rule)
    except SyntaxFault as fault:
        raise fault_error(statement, fault, offset) from None
    except UnexpectedInput as error:
        raise unexpected_error(statement, text, offset, error, rule) from None


@cache
def load_grammar() -> Lark:
    """The parser of every rule that a text may begin with."""
    from lark import Lark

    return Lark(
        Path(__file__).with_name("grammar.lark").read_text(encoding="utf-8"),
        parser="lalr",
        start=["statement", "after_select", "after_start", "where"],
        transformer=Transformer(),
        maybe_placeholders=True,
        cache=parse_table_path(),
    )


def parse_table_path() -> str | bool:
    """Where the parse table is kept; False when there is no place for it.

    Making the table takes 80 ms, loading it 6. lark makes it again whenever the grammar or lark
    changed. It is a pickle, so anyone who can write it can run code here: nobody else may be able
    to.
    """
    from platformdirs import user_cache_path

    folder = user_cache_path("remloom")
    file = folder / f"dialect-{sys.version_info.major}.{sys.version_info.minor}.lark"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        is_safe = _is_private(folder) and (not os.path.lexists(file) or _is_private(file))
    except OSError:
        return False
    return str(file) if is_safe else False


def _is_private(path: Path) -> bool:
    """Whether only we (and the administrator) can write to a path, or replace it."""
    # On Windows it is within the user's own, by the system's rules.
    if os.name == "nt":
        return True
    status = path.lstat()
    if stat.S_ISLNK(status.st_mode) or status.st_uid != os.geteuid():
        return False
    if status.st_mode & _WRITABLE_BY_OTHERS:
        return False
    return all(map(_is_safe_parent, path.absolute().resolve().parents))


def _is_safe_parent(folder: Path) -> bool:
    status = folder.stat()
    # In a sticky folder, such as /tmp, only its owner may replace a file.
    is_shared = status.st_mode & _WRITABLE_BY_OTHERS and not status.st_mode & stat.S_ISVTX
    return status.st_uid in (0, os.geteuid()) and not is_shared


def cut_sql(text: str, start: int, *, starts_walk: bool) -> tuple[str, int]:
    """The SQL that begins at `start`, and the position where the statement goes on.

    SQL ends at a semicolon, at AS OF with a time and, when it starts a TRAVERSE (`starts_walk`), at
    the first DEPTH, DIRECTION, BREADTH, MEMO or ORDER BY edge./node. outside brackets: so a LIMIT
    before those belongs to the SELECT, one after them to the TRAVERSE.

    Raises:
        QuerySyntaxError: a string or a quoted name in it is not closed.
    """
    try:
        tokens = tokenize(text[start:])
    except QuerySyntaxError:
        raise QuerySyntaxError(
            "a string or a quoted name in this SQL is not closed",
            statement=text,
            position=start,
            expected=["a closing quote"],
            example=EXAMPLES["SELECT"],
        ) from None
    # What begins a clause of TRAVERSE may be a name within brackets.
    depth = 0
    for index, token in enumerate(tokens):
        depth += (_kind(tokens, index) == "L_PAREN") - (_kind(tokens, index) == "R_PAREN")
        if depth > 0 or index == 0:
            continue
        begins_walk = starts_walk and _begins_clause(tokens, index)
        if begins_walk or _ends_sql(tokens, index):
            end = start + tokens[index - 1].end + 1
            return text[start:end], start + token.start
    return text[start : start + tokens[-1].end + 1], len(text)


def _kind(tokens: list[Any], index: int) -> str:
    name: str = tokens[index].token_type.name if index < len(tokens) else ""
    return name


def _word(tokens: list[Any], index: int) -> str:
    word: str = tokens[index].text.upper() if index < len(tokens) else ""
    return word


def _ends_sql(tokens: list[Any], index: int) -> bool:
    if _kind(tokens, index) == "SEMICOLON":
        return True
    is_as_of = _word(tokens, index) == "AS" and _word(tokens, index + 1) == "OF"
    return is_as_of and _kind(tokens, index + 2) in ("STRING", "NUMBER", "IDENTIFIER")


def _begins_clause(tokens: list[Any], index: int) -> bool:
    """Whether a clause of TRAVERSE begins here, rather than a column of that name standing here."""
    word = _word(tokens, index)
    next_word, next_kind = _word(tokens, index + 1), _kind(tokens, index + 1)
    kind_after = _kind(tokens, index + 2)
    if word in ("DEPTH", "BREADTH"):
        return next_kind in ("NUMBER", "DASH", "ALL") or next_word == "FIRST"
    if word == "DIRECTION":
        return next_word in ("OUT", "IN", "BOTH") and kind_after != "L_PAREN"
    if word == "MEMO":
        return next_kind in ("STRING", "IDENTIFIER", "VAR")
    return word == "ORDER BY" and next_word in ("EDGE", "NODE") and kind_after == "DOT"
