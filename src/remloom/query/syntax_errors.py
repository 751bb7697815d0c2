"""Errors for texts that are not statements: what was wrong, where, and what would be right."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any

from ..errors import QuerySyntaxError, SqlGuardError
from .transformer import EXAMPLES, SyntaxFault

_MAX_QUOTED = 60  # characters of a text that an example has in quotes
_MODES = ("late", "vector", "words")
_FIRST_WORDS = ("LOOKUP", "FUZZY", "SEARCH", "TRAVERSE", "SELECT", "EXPLAIN")
_OTHER_SQL = frozenset({
    "INSERT", "UPDATE", "DELETE", "REPLACE", "MERGE", "TRUNCATE", "DROP", "ALTER", "CREATE",
    "ATTACH", "DETACH", "PRAGMA", "VACUUM", "REINDEX", "ANALYZE", "BEGIN", "COMMIT", "ROLLBACK",
    "SAVEPOINT", "GRANT", "REVOKE", "COPY", "CALL", "SET", "WITH", "VALUES",
})  # fmt: skip
# terminals of the grammar -> plain words
_TERMINALS = {
    "STRING": "text in quotes",
    "WORD": "a label",
    "NUMBER": "a number",
    "NAME": "a field",
    "DATE": "a date",
    "OPERATOR": "= != < <= > >=",
    "COMMA": "a comma",
    "SEMI": "the end",
    "$END": "the end",
    "LPAR": "(",
    "RPAR": ")",
    "ARROW": "->>",
    "SELECT": "SELECT",
}


def fault_error(statement: str, fault: SyntaxFault, offset: int) -> QuerySyntaxError:
    """Make the error for a fault in the text that stands at `offset` of a statement."""
    return QuerySyntaxError(
        str(fault),
        statement=statement,
        position=fault.position + offset,
        expected=fault.expected,
        example=fault.example or _example(statement),
    )


def unexpected_error(
    statement: str,
    text: str,
    offset: int,
    error: Any,
    rule: str,
) -> QuerySyntaxError | SqlGuardError:
    """Make the error for what the grammar does not expect, in the text at `offset`."""
    token = getattr(error, "token", None)
    is_end = token is not None and token.type == "$END"
    position = _error_position(text, error, token)
    word = next(iter(text[position:].split(None, 1)), "")
    expected = _expected_words(error)
    example = EXAMPLES["WHERE"]
    if rule != "where":
        example = _quote_text(statement) or _example(statement)
    if rule == "statement" and not is_end and "TRAVERSE" in expected:
        if _first_word(word) in _OTHER_SQL:
            return _other_sql_error(statement, _first_word(word))
        message, example = _explain_first_word(statement, word, example)
    elif is_end:
        message = "the statement is not finished" if statement.strip() else "the statement is empty"
    elif token is None and word[:1] in ("'", '"'):
        message, expected = "the string that begins here is not closed", ["a closing quote"]
    elif text[:position].rstrip().endswith(";"):
        message, expected = "one statement at a time", ["nothing after the semicolon"]
    elif word.upper() == "MODE" and "MODE" in expected:
        # the grammar takes MODE for a keyword in front of a mode only
        position += len(word)
        rest = text[position:]
        message, expected, example = _explain_mode(rest)
        position += len(rest) - len(rest.lstrip())
    else:
        message = f"{word[:40]!r} is not expected here"
    return QuerySyntaxError(
        message,
        statement=statement,
        position=position + offset,
        expected=expected,
        example=example,
    )


def _error_position(text: str, error: Any, token: Any) -> int:
    if token is None:
        return int(error.pos_in_stream)
    return len(text.rstrip()) if token.type == "$END" else int(token.start_pos)


def _first_word(word: str) -> str:
    return word.upper().strip("();,")


def _other_sql_error(statement: str, word: str) -> SqlGuardError:
    return SqlGuardError(
        f"{word} is not allowed: SQL is one read-only SELECT over one table",
        remedy=f"change memory through Memory's methods; read with {EXAMPLES['SELECT']}",
        statement=statement,
    )


def _explain_first_word(statement: str, word: str, example: str) -> tuple[str, str]:
    """Message and example for a statement that begins with no keyword of the dialect."""
    first = _first_word(word)
    if first in _FIRST_WORDS:  # EXPLAIN, once more
        return f"{word!r} is not expected here", example
    close = get_close_matches(first, _FIRST_WORDS, n=1, cutoff=0.75)
    if close:
        message = f"{word!r} is not a kind of query; did you mean {close[0]}?"
        return message, EXAMPLES.get(close[0], example)
    label = " ".join(statement.split()).replace('"', '""')
    if len(label) <= _MAX_QUOTED:
        example = f'LOOKUP "{label}"'
    return f"{word[:40]!r} is not a kind of query", example


def _explain_mode(rest: str) -> tuple[str, list[str], str]:
    """Message, what is expected and an example for a MODE without a mode that there is."""
    example = 'SEARCH "database migration" MODE late LIMIT 10'
    mode = next(iter(rest.split(None, 1)), "")
    if not mode:
        return "MODE needs a mode", list(_MODES), example
    close = get_close_matches(mode.lower().strip("\"';"), _MODES, n=1, cutoff=0.6)
    hint = f"; did you mean {close[0]}?" if close else ""
    return f"{mode[:40]!r} is not a mode of SEARCH{hint}", list(_MODES), example


def _example(statement: str) -> str:
    """A right statement of the kind that this one begins like."""
    words = (word.upper() for word in statement.split(None, 3)[:2])
    return next((EXAMPLES[word] for word in words if word in EXAMPLES), EXAMPLES["LOOKUP"])


def _quote_text(statement: str) -> str | None:
    """The statement with its text in quotes, if it has words of the dialect in a bare text."""
    kind, _, text = statement.strip().partition(" ")
    keyword = kind.upper()
    if keyword not in ("SEARCH", "FUZZY") or len(text) > _MAX_QUOTED:
        return None
    # what has a quote already is quoted, or cannot be so simply
    if not text.strip() or '"' in text or "'" in text:
        return None
    return f'{keyword} "{text.strip()}"'


def _expected_words(error: Any) -> list[str]:
    terminals: Iterable[str] = (
        getattr(error, "accepts", None) or getattr(error, "expected", None) or error.allowed
    )
    names = {terminal.strip("_") for terminal in terminals} - {"COMMENT"}
    words = {_TERMINALS.get(name) or name.replace("_", " ") for name in names}
    return sorted(words, key=lambda word: (word.islower(), word))
