"""Conditions as text: what stands after WHERE, and the predicates it becomes.

| text | predicate |
|---|---|
| `f = v`, `f != v`, `f <> v`, `<`, `<=`, `>`, `>=` | Eq, Ne, Ne, Lt, Lte, Gt, Gte |
| `f = NULL` | Eq(f, None) |
| `f IN (a, b)`, `f NOT IN (a, b)` | In, NotIn |
| `f CONTAINS v`, `f STARTS WITH v`, `f ENDS WITH v` | Contains, StartsWith, EndsWith |
| `f MATCHES 're'` | Matches |
| `f LIKE 'a%'`, `'%a'`, `'%a%'` | StartsWith, EndsWith, Contains |
| `f LIKE 'a'`, any other pattern | Eq, Matches |
| `f IS NULL`, `f IS NOT NULL` | NotExists, Exists |
| `f BETWEEN a AND b` | And(Gte, Lte) |
| `AND`, `OR`, `NOT`, `( )`, `TRUE`, `FALSE` | And, Or, Not, All, Or() |

A field is a name or a path (`metadata.source`, `metadata->>'any key'`); a value is a string, a
number, a date (compared as text), TRUE, FALSE or NULL. The grammar is in grammar.lark, the way back
in render.py.
"""

from __future__ import annotations

import re
from typing import TypeAlias

from ..predicates import (
    Contains,
    EndsWith,
    Eq,
    Gt,
    Gte,
    Lt,
    Lte,
    Matches,
    Ne,
    Predicate,
    StartsWith,
)

MAX_NESTING = 50  # brackets and NOTs inside each other

_Comparison: TypeAlias = Eq | Ne | Lt | Lte | Gt | Gte
_TextTest: TypeAlias = Contains | StartsWith | EndsWith | Matches
COMPARISONS: dict[str, type[_Comparison]] = {
    "=": Eq,
    "==": Eq,
    "!=": Ne,
    "<>": Ne,
    "<": Lt,
    "<=": Lte,
    ">": Gt,
    ">=": Gte,
}
TEXT_TESTS: dict[str, type[_TextTest]] = {
    "CONTAINS": Contains,
    "STARTS WITH": StartsWith,
    "ENDS WITH": EndsWith,
    "MATCHES": Matches,
}
_WILDCARDS = {"%": ".*", "_": "."}


def like_predicate(field: str, pattern: str, *, ignore_case: bool) -> Predicate:
    """The simplest predicate for `field LIKE pattern`: `%` is any text, `_` any character."""
    any_start = pattern.startswith("%")
    any_end = pattern.endswith("%") and len(pattern) > 1
    core = pattern[any_start : len(pattern) - any_end]
    if not ignore_case and "%" not in core and "_" not in core:
        if any_start and any_end:
            return Contains(field, core)
        if any_end:
            return StartsWith(field, core)
        return EndsWith(field, core) if any_start else Eq(field, core)
    body = "".join(_WILDCARDS.get(character) or re.escape(character) for character in pattern)
    flags = "is" if ignore_case else "s"
    return Matches(field, rf"(?{flags})\A{body}\Z")
