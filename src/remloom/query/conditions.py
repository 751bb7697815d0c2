"""Conditions as text: what stands after WHERE, and the predicates it becomes.

| text | predicate |
|---|---|
| `f = v`, `f != v`, `f <> v`, `<`, `<=`, `>`, `>=` | Eq, Ne, Lt, Lte, Gt, Gte; `f = NULL` is Eq(f, None) |
| `f IN (a, b)`, `f NOT IN (a, b)` | In, NotIn |
| `f CONTAINS v`, `f STARTS WITH v`, `f ENDS WITH v`, `f MATCHES 're'` | Contains, StartsWith, EndsWith, Matches |
| `f LIKE 'a%'`, `'%a'`, `'%a%'`, without wildcards, else | StartsWith, EndsWith, Contains, Eq, Matches |
| `f IS NULL`, `f IS NOT NULL` | NotExists, Exists |
| `f BETWEEN a AND b` | And(Gte, Lte) |
| `AND`, `OR`, `NOT`, `( )`, `TRUE`, `FALSE` | And, Or, Not, All, Or() |

A field is a name or a path (`metadata.source`, `metadata->>'any key'`); a value is a string, a
number, a date (compared as text), TRUE, FALSE or NULL. The grammar is in grammar.lark.
"""

from __future__ import annotations

import math
import re
from datetime import date
from typing import Any

from ..errors import InvalidInputError
from ..predicates import (  # fmt: skip
    All,
    And,
    Contains,
    EndsWith,
    Eq,
    Exists,
    Gt,
    Gte,
    In,
    Lt,
    Lte,
    Matches,
    Ne,
    Not,
    NotExists,
    NotIn,
    Or,
    Predicate,
    StartsWith,
)

__all__ = ["like", "parse", "render"]

OPERATORS: dict[str, type[Eq | Ne | Lt | Lte | Gt | Gte]] = {
    "=": Eq, "==": Eq, "!=": Ne, "<>": Ne, "<": Lt, "<=": Lte, ">": Gt, ">=": Gte,
}  # fmt: skip
TESTS: dict[str, type[Contains | StartsWith | EndsWith | Matches]] = {
    "CONTAINS": Contains, "STARTS WITH": StartsWith, "ENDS WITH": EndsWith, "MATCHES": Matches,
}  # fmt: skip
MAX_NESTING = 50  # brackets and NOTs inside each other

_WORDS: dict[type[Any], str] = {
    Eq: "=", Ne: "!=", Lt: "<", Lte: "<=", Gt: ">", Gte: ">=", In: "IN", NotIn: "NOT IN",
    Contains: "CONTAINS", StartsWith: "STARTS WITH", EndsWith: "ENDS WITH", Matches: "MATCHES",
}  # fmt: skip


def parse(text: str) -> Predicate:
    """The predicate that a condition means.

    Raises:
        QuerySyntaxError: the text is not a condition; says where and what would be.

    >>> parse("category = 'note' AND metadata.page >= 3")
    And(predicates=(Eq(field='category', value='note'), Gte(field='metadata.page', value=3)))
    """
    from .parser import parse_where

    return parse_where(text)


def render(predicate: Predicate) -> str:
    """The canonical text of a predicate; parsing it gives the predicate back.

    Raises:
        InvalidInputError: it has no text form: `VectorSimilar`, or a value that is not JSON.

    >>> render(Not(Or((Eq("type", "it's"), Exists("properties.two words")))))
    "NOT (type = 'it''s' OR properties->>'two words' IS NOT NULL)"
    """
    if isinstance(predicate, And | Or):
        if not predicate.predicates:
            return "TRUE" if isinstance(predicate, And) else "FALSE"
        word = " AND " if isinstance(predicate, And) else " OR "
        return word.join(map(_operand, predicate.predicates))
    if isinstance(predicate, Not):
        return f"NOT {_operand(predicate.predicate)}"
    if isinstance(predicate, All):
        return "TRUE"
    if isinstance(predicate, Exists):
        return f"{_field(predicate.field)} IS NOT NULL"
    if isinstance(predicate, NotExists):
        return f"{_field(predicate.field)} IS NULL"
    word = _WORDS.get(type(predicate), "")
    if isinstance(predicate, In | NotIn):
        return f"{_field(predicate.field)} {word} ({', '.join(map(_value, predicate.value))})"
    if not word:
        raise InvalidInputError(
            f"{type(predicate).__name__} cannot be written in a statement",
            remedy="use it in a Query value",
        )
    return f"{_field(predicate.field)} {word} {_value(predicate.value)}"  # type: ignore[union-attr]


def like(field: str, pattern: str, *, ignore_case: bool) -> Predicate:
    """What `field LIKE pattern` asks, as the simplest predicate: `%` is any text, `_` any
    character."""
    opened, closed = pattern.startswith("%"), pattern.endswith("%") and len(pattern) > 1
    core = pattern[opened : len(pattern) - closed]
    if not ignore_case and "%" not in core and "_" not in core:
        if opened and closed:
            return Contains(field, core)
        if closed:
            return StartsWith(field, core)
        return EndsWith(field, core) if opened else Eq(field, core)
    wild = {"%": ".*", "_": "."}
    translated = "".join(wild.get(character) or re.escape(character) for character in pattern)
    return Matches(field, rf"(?{'i' if ignore_case else ''}s)\A{translated}\Z")


def _operand(predicate: Predicate) -> str:
    text = render(predicate)
    compound = isinstance(predicate, And | Or) and len(predicate.predicates) > 0
    return f"({text})" if compound else text


_NAME = re.compile(r"[^\W\d]\w*")
_SEGMENT = re.compile(r"\w+")
_RESERVED = frozenset({"not", "true", "false"})  # what a condition may begin with besides a field


def _field(path: str) -> str:
    first, *rest = path.split(".")
    plain = _NAME.fullmatch(first) and first.lower() not in _RESERVED
    if not plain and (not first or "`" in first):
        raise InvalidInputError(
            f"the field {path!r} cannot be written in a statement", remedy="use a Query value"
        )
    text = first if plain else f"`{first}`"
    for index, segment in enumerate(rest):
        if not _SEGMENT.fullmatch(segment):  # a dotted segment may not follow an arrow
            return text + "".join(f"->>{_string(later)}" for later in rest[index:])
        text += f".{segment}"
    return text


def _value(value: Any) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, str):
        return _string(value)
    if isinstance(value, int) or (isinstance(value, float) and math.isfinite(value)):
        return repr(value)
    if isinstance(value, date):
        return _string(value.isoformat())
    raise InvalidInputError(
        f"the value {value!r} cannot be written in a statement", remedy="use a Query value"
    )


def _string(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "''") + "'"
