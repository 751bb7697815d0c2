"""From the text of a statement to its value, and from a wrong text to an error that says what would
be right.

The grammar is grammar.lark, its meaning transformer.py. What a grammar cannot say is done here: a
SELECT is cut where its SQL ends, with sqlglot's tokenizer, and the parser's complaints are put into
plain words.
"""

from __future__ import annotations

import os
import re
import stat
import sys
from collections.abc import Iterable, Sequence
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from ..errors import InvalidInputError, QuerySyntaxError, SqlGuardError
from ..predicates import Predicate
from ..sql.bounds import tokenize
from .statements import Plan, Sql, Statement
from .transformer import EXAMPLES, Builder, Clause, Fault, Parsed, Raw, Tail

if TYPE_CHECKING:
    from lark import Lark

__all__ = ["parse", "parse_where"]

MAX_STATEMENT_LENGTH = 100_000  # characters

_SELECT = re.compile(r"\s*(?=SELECT[\s*('\"`])", re.IGNORECASE)
_FIRST_WORDS = ("LOOKUP", "FUZZY", "SEARCH", "TRAVERSE", "SELECT", "EXPLAIN")
_OTHER_SQL = frozenset({
    "INSERT", "UPDATE", "DELETE", "REPLACE", "MERGE", "TRUNCATE", "DROP", "ALTER", "CREATE", "ATTACH", "DETACH",
    "PRAGMA", "VACUUM", "REINDEX", "ANALYZE", "BEGIN", "COMMIT", "ROLLBACK", "SAVEPOINT", "GRANT", "REVOKE",
    "COPY", "CALL", "SET", "WITH", "VALUES",
})  # fmt: skip


def parse(text: str) -> Statement:
    """The value of a statement. Parses are cached by text.

    Raises:
        QuerySyntaxError: not a statement of the dialect, or a number out of its range.
        UnknownNameError: a direction or order field that does not exist.
        SqlGuardError: SQL that is not a SELECT.

    >>> parse("traverse manages with lookup sally depth 2").query.max_depth
    2
    """
    _check_text(text)
    return _parse(text)


def parse_where(text: str) -> Predicate:
    """The predicate of a condition, as it stands after WHERE. Raises QuerySyntaxError."""
    _check_text(text)
    predicate: Predicate = _run(text, text, 0, "where").predicate
    return predicate


@lru_cache(maxsize=1024)
def _parse(text: str) -> Statement:
    return _plain_select(text) or _parse_by_grammar(text)


def _plain_select(text: str) -> Statement | None:
    """A SELECT with nothing around it, which needs no grammar: building that takes a command 0.1 s."""
    begun = _SELECT.match(text)
    if begun is None:
        return None
    sql, tail = _cut_sql(text, Raw(begun.end()))
    return Statement(Sql(sql)) if text[tail:].strip() in ("", ";") else None


def _parse_by_grammar(text: str) -> Statement:
    parsed: Parsed = _run(text, text, 0, "statement")
    query, as_of = parsed.query, parsed.as_of
    # SELECT took the rest: cut it, and read what follows
    if isinstance(query, Raw):
        sql, tail = _cut_sql(text, query)
        rest: Tail = _run(
            text, text[tail:], tail, "after_start" if query.walk is not None else "after_select"
        )
        as_of = rest.as_of
        query = _with_sql(query, Sql(sql), rest.clauses, text, tail)
    try:
        return Statement(query, explain=parsed.explain, as_of=as_of.value if as_of else None)
    except InvalidInputError as error:
        position = as_of.position if as_of else 0
        raise QuerySyntaxError(
            error.message,
            statement=text,
            position=position,
            expected=["no AS OF"],
            example=error.remedy,
        ) from None


def _with_sql(raw: Raw, sql: Sql, clauses: Sequence[Clause], statement: str, tail: int) -> Plan:
    if raw.walk is None:
        return sql
    try:
        return raw.walk(sql, clauses)
    except Fault as fault:
        _refuse(statement, fault, tail)


def _check_text(text: str) -> None:
    if not isinstance(text, str):
        raise InvalidInputError(f"a statement must be text, not {type(text).__name__}")
    half = None if text.isascii() else re.search("[\ud800-\udfff]", text)
    if half is not None:
        raise QuerySyntaxError(
            "a statement may not hold half a character (a lone surrogate)",
            statement=text,
            position=half.start(),
        )
    if len(text) > MAX_STATEMENT_LENGTH:
        raise InvalidInputError(
            f"a statement may have {MAX_STATEMENT_LENGTH:,} characters, this one has {len(text):,}",
            remedy="store long text as a resource; ask for it in a few words",
        )


# -- SQL inside a statement ------------------------------------------------------------------------


def _cut_sql(text: str, raw: Raw) -> tuple[str, int]:
    """The SQL that starts at `raw`, and the position where the statement goes on.

    SQL ends at a semicolon, at AS OF with a time and, when it starts a TRAVERSE, at the first
    DEPTH, DIRECTION, BREADTH, MEMO or ORDER BY edge./node. outside brackets: so a LIMIT before
    those belongs to the SELECT, one after them to the TRAVERSE.
    """
    try:
        tokens = tokenize(text[raw.position :])
    except QuerySyntaxError:
        message = "a string or a quoted name in this SQL is not closed"
        raise QuerySyntaxError(
            message,
            statement=text,
            position=raw.position,
            expected=["a closing quote"],
            example=EXAMPLES["SELECT"],
        ) from None
    words = [token.text.upper() for token in tokens] + ["", ""]
    kinds = [token.token_type.name for token in tokens] + ["", ""]
    depth = 0
    for index, token in enumerate(tokens):
        kind, word, following = kinds[index], words[index], kinds[index + 1]
        depth += (kind == "L_PAREN") - (kind == "R_PAREN")
        if depth > 0 or index == 0:
            continue
        if (
            kind == "SEMICOLON"
            or (
                word == "AS"
                and words[index + 1] == "OF"
                and kinds[index + 2] in ("STRING", "NUMBER", "IDENTIFIER")
            )
            or (
                raw.walk is not None
                and _starts_walk(word, following, words[index + 1], kinds[index + 2])
            )
        ):
            return text[
                raw.position : raw.position + tokens[index - 1].end + 1
            ], raw.position + token.start
    return text[raw.position : raw.position + tokens[-1].end + 1], len(text)


def _starts_walk(word: str, following: str, next_word: str, after: str) -> bool:
    """Whether a clause of TRAVERSE starts at this token of SQL, rather than a column of that name
    standing there."""
    if word in ("DEPTH", "BREADTH"):
        return following in ("NUMBER", "DASH", "ALL") or next_word == "FIRST"
    if word == "DIRECTION":
        return next_word in ("OUT", "IN", "BOTH") and after != "L_PAREN"
    if word == "MEMO":
        return following in ("STRING", "IDENTIFIER", "VAR")
    return word == "ORDER BY" and next_word in ("EDGE", "NODE") and after == "DOT"


# -- running the grammar, and saying what is wrong -------------------------------------------------


@cache
def _grammar() -> Lark:
    from lark import Lark

    return Lark(
        Path(__file__).with_name("grammar.lark").read_text(encoding="utf-8"),
        parser="lalr",
        start=["statement", "after_select", "after_start", "where"],
        transformer=Builder(),
        maybe_placeholders=True,
        cache=_table(),
    )


def _table() -> str | bool:
    """Where the parse table is kept between processes: making it takes 80 ms, loading it 6. It is
    made again whenever the grammar or lark changed; False when there is no place for it. It is a
    pickle, so whoever can write it can run code here: nobody else may be able to."""
    from platformdirs import user_cache_path

    folder = user_cache_path("remloom")
    file = folder / f"dialect-{sys.version_info.major}.{sys.version_info.minor}.lark"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return (
            str(file)
            if _is_ours(folder) and (not os.path.lexists(file) or _is_ours(file))
            else False
        )
    except OSError:
        return False


def _is_ours(path: Path) -> bool:
    """Whether nobody but us (and the administrator) can write to a path, or put something else in
    its place."""
    # it is within the user's own, by the system's rules
    if os.name == "nt":
        return True
    found = path.lstat()
    ours = (
        not stat.S_ISLNK(found.st_mode)
        and found.st_uid == os.geteuid()
        and not found.st_mode & 0o022
    )
    for above in path.absolute().resolve().parents:
        found = above.stat()
        shared = found.st_mode & 0o022 and not found.st_mode & stat.S_ISVTX
        ours = ours and found.st_uid in (0, os.geteuid()) and not shared
    return ours


def _run(statement: str, text: str, offset: int, start: str) -> Any:
    """Parse `text`, which stands at `offset` of the statement, by one rule of the grammar."""
    from lark.exceptions import UnexpectedInput

    try:
        return _grammar().parse(text, start=start)
    except Fault as fault:
        _refuse(statement, fault, offset)
    except UnexpectedInput as error:
        _refuse_input(statement, text, offset, error, start)


def _refuse(statement: str, fault: Fault, offset: int) -> NoReturn:
    raise QuerySyntaxError(
        str(fault), statement=statement, position=fault.position + offset, expected=fault.expected,
        example=fault.example or _example(statement),
    ) from None  # fmt: skip


def _refuse_input(statement: str, text: str, offset: int, error: Any, start: str) -> NoReturn:
    token = getattr(error, "token", None)
    ended = token is not None and token.type == "$END"
    at = (
        len(text.rstrip())
        if ended
        else int(token.start_pos if token is not None else error.pos_in_stream)
    )
    word = text[at:].split(None, 1)[0] if text[at:].strip() else ""
    expected = _plain_words(
        getattr(error, "accepts", None) or getattr(error, "expected", None) or error.allowed
    )
    example = EXAMPLES["WHERE"] if start == "where" else _quoted(statement) or _example(statement)
    if start == "statement" and not ended and "TRAVERSE" in expected:
        message, example = _refuse_first_word(statement, word, example)
    elif ended:
        message = "the statement is not finished" if statement.strip() else "the statement is empty"
    elif token is None and word[:1] in ("'", '"'):
        message, expected = "the string that begins here is not closed", ["a closing quote"]
    elif text[:at].rstrip().endswith(";"):
        message, expected = "one statement at a time", ["nothing after the semicolon"]
    else:
        message = f"{word[:40]!r} is not expected here"
    raise QuerySyntaxError(
        message, statement=statement, position=at + offset, expected=expected, example=example
    ) from None


def _refuse_first_word(statement: str, word: str, example: str) -> tuple[str, str]:
    """Message and example for a statement that begins with no keyword of the dialect."""
    from difflib import get_close_matches

    first = word.upper().strip("();,")
    if first in _OTHER_SQL:
        raise SqlGuardError(
            f"{first} is not allowed: SQL is one read-only SELECT over one table",
            remedy=f"change memory through Memory's methods; read with {EXAMPLES['SELECT']}",
            statement=statement,
        ) from None
    if first in _FIRST_WORDS:  # EXPLAIN, once more
        return f"{word!r} is not expected here", example
    near = get_close_matches(first, _FIRST_WORDS, n=1, cutoff=0.75)
    if near:
        return f"{word!r} is no kind of query; did you mean {near[0]}?", EXAMPLES.get(
            near[0], example
        )
    label = " ".join(statement.split()).replace('"', '""')
    return f"{word[:40]!r} is no kind of query", f'LOOKUP "{label}"' if len(
        label
    ) <= 60 else example


def _example(statement: str) -> str:
    words = (word.upper() for word in statement.split(None, 3)[:2])
    return next((EXAMPLES[word] for word in words if word in EXAMPLES), EXAMPLES["LOOKUP"])


def _quoted(statement: str) -> str | None:
    """The statement with its text in quotes, where words of the dialect stand in a text that has
    none."""
    kind, _, text = statement.strip().partition(" ")
    if (
        kind.upper() not in ("SEARCH", "FUZZY")
        or not text.strip()
        or '"' in text
        or "'" in text
        or len(text) > 60
    ):
        return None
    return f'{kind.upper()} "{text.strip()}"'


_PLAIN = {
    "STRING": "text in quotes", "WORD": "a label", "NUMBER": "a number", "NAME": "a field", "DATE": "a date",
    "OPERATOR": "= != < <= > >=", "COMMA": "a comma", "SEMI": "the end", "$END": "the end", "LPAR": "(", "RPAR": ")",
    "ARROW": "->>", "SELECT": "SELECT",
}  # fmt: skip


def _plain_words(terminals: Iterable[str]) -> list[str]:
    names = {terminal.strip("_") for terminal in terminals} - {"COMMENT"}
    return sorted(
        {_PLAIN.get(name) or name.replace("_", " ") for name in names},
        key=lambda word: (word.islower(), word),
    )
